//! Counts the records in a file of Samba's Trivial Database, in which its server keeps sessions and open
//! files.
//!
//! ```text
//!     0  "TDB file\n", filled with zeros to 32 bytes
//!    32  version (0x26011967 + 6)    36  chains    60  features    64  bytes of locks before all offsets
//! ```
//!
//! `base` is the size of the lock area if the first feature is set, else 0. At base + 168 is the first free
//! record, then the first record of each chain. A record begins with the next one of its chain, and has its
//! kind at offset 20. All numbers have 4 bytes in one byte order, which the version shows.

use super::error::ParseError;
use super::scan::Location;

const MAGIC: &[u8] = b"TDB file\n";
const VERSION: u32 = 0x2601_1967 + 6;
/// The feature flag of locks in the file itself.
const LOCKS: u32 = 1;
/// Where the chains begin: after the header and the first free record.
const CHAINS: usize = 172;
/// The size of a record's header, before its key and data.
const RECORD: usize = 24;
/// The kind of a record that is neither free nor deleted.
const USED: u32 = 0x2601_1999;

/// The number of records. A server may write meanwhile, so a broken chain just ends.
///
/// # Errors
///
/// The bytes are no such database.
pub(crate) fn records(file: &'static str, bytes: &[u8]) -> Result<u64, ParseError> {
    let place = Location { file, line: 1 };
    let start = bytes.get(..MAGIC.len()).unwrap_or(bytes);
    let orders = [u32::from_le_bytes as fn([u8; 4]) -> u32, u32::from_be_bytes];
    let order = orders.into_iter().find(|order| Words { bytes, order: *order }.at(32) == Some(VERSION));
    let Some(order) = order.filter(|_| start == MAGIC) else {
        return Err(place.error("header", "\"TDB file\" and version 6", start));
    };
    let header = Words { bytes, order };
    let chains = header.size(36).unwrap_or(0);
    let has_locks = header.at(60).is_some_and(|features| features & LOCKS != 0);
    let base = if has_locks { header.size(64).unwrap_or(0) } else { 0 };
    let all = Words { bytes: bytes.get(base..).unwrap_or_default(), order };
    // No record is shorter, which bounds their number; a circle of records ends here.
    let mut left = all.bytes.len() / RECORD;
    let mut count = 0_u64;
    let heads = all.bytes.get(CHAINS..).unwrap_or_default().chunks_exact(4).take(chains);
    for head in heads {
        let mut at = Words { bytes: head, order }.size(0).filter(|at| *at != 0);
        while let Some(record) = at.filter(|_| left > 0) {
            left = left.saturating_sub(1);
            let kind = record.checked_add(20).and_then(|kind| all.at(kind));
            count = count.saturating_add(u64::from(kind == Some(USED)));
            at = all.size(record).filter(|next| *next != 0);
        }
    }
    Ok(count)
}

/// The 4-byte numbers of a file, in its byte order.
#[derive(Clone, Copy)]
struct Words<'a> {
    bytes: &'a [u8],
    order: fn([u8; 4]) -> u32,
}

impl Words<'_> {
    fn at(self, at: usize) -> Option<u32> {
        let bytes = self.bytes.get(at..)?.first_chunk()?;
        Some((self.order)(*bytes))
    }

    fn size(self, at: usize) -> Option<usize> {
        usize::try_from(self.at(at)?).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A database of two chains: two records and a deleted one, then one record.
    fn written(base: usize, order: fn(u32) -> [u8; 4]) -> Vec<u8> {
        let header = [(32, VERSION), (36, 2), (60, u32::from(base > 0)), (64, base as u32)];
        let heads = [(168, 300), (172, 200), (176, 260)];
        let records = [
            (200, 230),
            (220, USED),
            (230, 290),
            (250, 0xFEE1_DEAD),
            (280, USED),
            (310, USED),
            (320, 0xD9FE_E666),
        ];
        let mut bytes = vec![0; 400];
        for (at, value) in heads.into_iter().chain(records) {
            bytes[at..][..4].copy_from_slice(&order(value));
        }
        let mut all = vec![0; base];
        all.append(&mut bytes);
        for (at, value) in header {
            all[at..][..4].copy_from_slice(&order(value));
        }
        all[..MAGIC.len()].copy_from_slice(MAGIC);
        all
    }

    #[test]
    fn used_records_are_counted_with_and_without_a_lock_area() {
        for base in [0, 8192] {
            assert_eq!(records("f", &written(base, u32::to_le_bytes)), Ok(3));
            assert_eq!(records("f", &written(base, u32::to_be_bytes)), Ok(3));
        }
    }

    #[test]
    fn damaged_databases_end() {
        let whole = written(0, u32::to_le_bytes);
        for end in 0..whole.len() {
            let result = records("f", &whole[..end]);
            assert!(result.is_err() || result.is_ok_and(|count| count <= 3), "{end}");
        }
        let mut ring = whole.clone();
        ring[230..234].copy_from_slice(&200_u32.to_le_bytes());
        assert!(records("f", &ring).unwrap() <= (ring.len() / RECORD) as u64);
        assert_eq!(
            records("sessions.tdb", b"TDB 2").unwrap_err().to_string(),
            "sessions.tdb line 1: header: needed \"TDB file\" and version 6, found \"TDB 2\""
        );
    }
}
