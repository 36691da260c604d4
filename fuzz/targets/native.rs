//! Any bytes as records of a native log with correct checksums, so that the code after the checksum is tested
//! too.
//!
//! The input itself says where its records end, so that the fuzzer need not find checksums or headers. If it
//! has contents, the two records that lead there are added.
#![no_main]

use std::io::Cursor;

use libfuzzer_sys::fuzz_target;
use tallymon_core::time::FileTime;
use tallymon_log::LogReader;
use tallymon_log::native::NativeReader;

fn sum(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(u32::MAX, |sum, byte| {
        (0..8).fold(sum ^ u32::from(*byte), |sum, _| (sum >> 1) ^ (0x82f6_3b78 & (sum & 1).wrapping_neg()))
    })
}

fn put(log: &mut Vec<u8>, kind: u8, body: &[u8]) {
    let mut summed = vec![kind];
    summed.extend_from_slice(&(body.len() as u32).to_le_bytes());
    summed.extend_from_slice(body);
    log.extend_from_slice(&[0xa7, b'T', b'L']);
    log.extend_from_slice(&summed[..5]);
    log.extend_from_slice(&sum(&summed).to_le_bytes());
    log.extend_from_slice(body);
}

/// Goes to what the contents of a log name.
fn by_contents(log: &[u8]) {
    let Ok(mut reader) = NativeReader::seekable(Cursor::new(log)) else { return };
    let Ok(Some(contents)) = reader.contents(true) else { return };
    assert!(contents.columns.len() == reader.about().columns.len());
    for (nth, part) in contents.parts.iter().enumerate().take(8) {
        let _ = reader.statistics(nth, &[0, 1], false);
        for place in reader.places(nth).unwrap_or_default().into_iter().chain([part.place]).take(4) {
            if reader.seek_to(place.position).unwrap_or(false) {
                let _ = reader.next_record();
            }
        }
    }
}

fuzz_target!(|data: &[u8]| {
    let mut log = b"\x89TALLY\r\n\x01\0\0\0\0\0\0\0".to_vec();
    let (mut contents, mut index) = (None, 0);
    // Kind, length in two bytes, body.
    let mut rest = data;
    while let [kind, low, high, more @ ..] = rest {
        let length = usize::from(u16::from_le_bytes([*low, *high])).min(more.len());
        let (body, after) = more.split_at(length);
        let kind = [b'L', b'D', b'C', b'I', b'E', b'R', b'T', b'K', b'S'][usize::from(*kind) % 9];
        match kind {
            b'T' => contents = Some(log.len() as u64),
            b'I' => index = log.len() as u64,
            _ => {}
        }
        put(&mut log, kind, body);
        rest = after;
    }
    if let Some(contents) = contents {
        put(&mut log, b'P', &contents.to_le_bytes());
        put(&mut log, b'E', &index.to_le_bytes());
        by_contents(&log);
    }
    let Ok(mut reader) = NativeReader::new(Cursor::new(&log)) else { return };
    // A small chunk may have many rows in which nothing changes; some of these rows are enough.
    for _ in 0..64 {
        match reader.next_record() {
            Ok(Some(record)) => assert!(record.cells.len() <= reader.about().columns.len()),
            _ => break,
        }
    }
    let _ = reader.seek(FileTime(134_000_000_000_000_000));
});
