//! Writes Samba's trivial database (TDB), as one block of bytes.
//!
//! A reader opens the file, and a writer replaces it by another one, so it needs no locks and no library.

use std::collections::BTreeMap;

/// What the file begins with, padded to 32 bytes.
const MAGIC_TEXT: &[u8] = b"TDB file\n\0";

const VERSION: u32 = 0x2601_196d;

/// The magic number of a record that is in use.
const RECORD: u32 = 0x2601_1999;

/// Bytes before the list of free records, and before each record's key.
const HEADER: usize = 168;
const RECORD_HEADER: usize = 24;

/// The fewest chains: as many as Samba creates.
const FEWEST_CHAINS: usize = 131;

/// Fills a record behind its value.
const PADDING: u8 = 0x42;

/// The bytes of a database with these keys and values; `None` if they are more than offsets of 32 bits reach.
pub(crate) fn database(records: &BTreeMap<Vec<u8>, Vec<u8>>) -> Option<Vec<u8>> {
    let chains = records.len().max(FEWEST_CHAINS) | 1;
    let mut heads = vec![0u32; chains];
    let begin = HEADER.checked_add(4)?.checked_add(chains.checked_mul(4)?)?;
    let mut body: Vec<u8> = Vec::new();
    for (key, value) in records {
        let full = hash(key);
        let length = key.len().checked_add(value.len())?.checked_add(4)?.next_multiple_of(4);
        let at = u32::try_from(begin.checked_add(body.len())?).ok()?;
        let chain = usize::try_from(full).ok()?.checked_rem(chains)?;
        let head = heads.get_mut(chain)?;
        let size = |length: usize| u32::try_from(length).ok();
        let words = [*head, size(length)?, size(key.len())?, size(value.len())?, full, RECORD];
        *head = at;
        let end = body.len().checked_add(RECORD_HEADER)?.checked_add(length)?;
        body.extend(words.iter().flat_map(|word| word.to_le_bytes()));
        body.extend_from_slice(key);
        body.extend_from_slice(value);
        body.resize(end.checked_sub(4)?, PADDING);
        body.extend_from_slice(&u32::try_from(length.checked_add(RECORD_HEADER)?).ok()?.to_le_bytes());
    }
    let mut file = MAGIC_TEXT.to_vec();
    file.resize(32, 0);
    let chains = u32::try_from(chains).ok()?;
    let words = [VERSION, chains, 0, 0, 0, hash(MAGIC_TEXT), hash(&RECORD.to_le_bytes())];
    file.extend(words.iter().flat_map(|word| word.to_le_bytes()));
    // The rest of the header, and the list of free records.
    file.resize(HEADER.checked_add(4)?, 0);
    file.extend(heads.iter().flat_map(|head| head.to_le_bytes()));
    file.extend_from_slice(&body);
    Some(file)
}

/// The hash of a key.
fn hash(key: &[u8]) -> u32 {
    let mut sum = 0x238f_13af_u32.wrapping_mul(u32::try_from(key.len()).unwrap_or(u32::MAX));
    let mut shift = 0u32;
    for byte in key {
        sum = sum.wrapping_add(u32::from(*byte) << shift);
        shift = shift.saturating_add(5) % 24;
    }
    sum.wrapping_mul(1_103_515_243).wrapping_add(12_345)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bytes_are_those_of_a_database_that_samba_read() {
        let Some(path) = tallymon_testkit::shared("samba/data-puretdb.tdb") else { return };
        let sample = std::fs::read(path).unwrap();
        let word = |at: usize| u32::from_le_bytes(*sample[at..].first_chunk::<4>().unwrap());
        // Its records, by its chains.
        let mut records = BTreeMap::new();
        for chain in 0..131 {
            let mut at = word(172 + 4 * chain) as usize;
            while at != 0 {
                let (key, value) = (word(at + 8) as usize, word(at + 12) as usize);
                let text = &sample[at + 24..];
                assert_eq!(word(at + 16), hash(&text[..key]));
                records.insert(text[..key].to_vec(), text[key..key + value].to_vec());
                at = word(at) as usize;
            }
        }
        assert!(records.len() > 5);
        let ours = database(&records).unwrap();
        assert_eq!(ours[..172], sample[..172]);
        assert_eq!(ours.len(), sample.len());
    }
}
