//! The synthetic series through general compressors, in blocks like those of the native log.

use std::time::Duration;

use tallymon_bench::cpu_time;

use crate::made_up::rows;

/// A compressor for a block; the second function decompresses.
type Codec = (&'static str, fn(&[u8]) -> Vec<u8>, fn(&[u8], usize) -> Vec<u8>);

const CODECS: [Codec; 3] = [
    ("no compressor", <[u8]>::to_vec, |bytes, _| bytes.to_vec()),
    ("lz4", lz4_flex::block::compress, |bytes, length| {
        lz4_flex::block::decompress(bytes, length).expect("it was compressed just now")
    }),
    (
        "zstd -3",
        |bytes| zstd::bulk::compress(bytes, 3).expect("memory is there"),
        |bytes, length| zstd::bulk::decompress(bytes, length).expect("it was compressed just now"),
    ),
];

/// A block of rows as 8-byte numbers, series after series.
fn plain(rows: &[Vec<u64>]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for series in 0..rows[0].len() {
        rows.iter().for_each(|row| bytes.extend_from_slice(&row[series].to_le_bytes()));
    }
    bytes
}

/// A block of rows as differences of seven bits per byte, series after series; the first difference is from
/// 0.
fn differences(rows: &[Vec<u64>]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for series in 0..rows[0].len() {
        let mut before = 0u64;
        for row in rows {
            let difference = row[series].wrapping_sub(before).cast_signed();
            before = row[series];
            let mut number = ((difference << 1) ^ (difference >> 63)).cast_unsigned();
            while number >= 0x80 {
                bytes.push(number as u8 | 0x80);
                number >>= 7;
            }
            bytes.push(number as u8);
        }
    }
    bytes
}

/// The sum of the numbers of [`differences`], to measure the time for reading them.
fn sum(bytes: &[u8]) -> u64 {
    let (mut sum, mut number, mut shift) = (0u64, 0u64, 0);
    for byte in bytes {
        number |= u64::from(byte & 0x7f) << shift;
        shift += 7;
        if byte & 0x80 == 0 {
            sum = sum.wrapping_add(number);
            (number, shift) = (0, 0);
        }
    }
    sum
}

/// Encodes a block of rows.
type Layout = fn(&[Vec<u64>]) -> Vec<u8>;

pub(crate) fn run() {
    let rows = rows();
    let values = (rows.len() * rows[0].len()) as f64;
    println!("\nthe same series through general compressors");
    println!("{:46} {:>9} {:>14} {:>14}", "", "B/value", "written M/s", "read M/s");
    let layouts: [(&str, Layout); 2] =
        [("numbers of 8 bytes", plain), ("differences, 7 bits a byte", differences)];
    for (layout, make) in layouts {
        for (name, compress, undo) in CODECS {
            for block in [10, 60] {
                let (mut size, mut written, mut read) = (0, Duration::ZERO, Duration::ZERO);
                for rows in rows.chunks(block) {
                    let start = cpu_time();
                    let bytes = make(rows);
                    let packed = compress(&bytes);
                    written += cpu_time() - start;
                    size += packed.len();
                    let start = cpu_time();
                    let again = undo(&packed, bytes.len());
                    std::hint::black_box(sum(&again));
                    read += cpu_time() - start;
                    assert_eq!(again, bytes);
                }
                let name = format!("{layout}, {name}, {block} rows a block");
                let speed = |time: Duration| values / time.as_secs_f64() / 1e6;
                println!(
                    "{name:46} {:9.3} {:14.1} {:14.1}",
                    size as f64 / values,
                    speed(written),
                    speed(read)
                );
            }
        }
    }
}
