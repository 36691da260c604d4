//! Encodes columns of numbers. Which encoding fits is seen from some of them: where few are different (times
//! and clocks that many counters share, counters that rest), a dictionary; else differences, or the numbers
//! as they are.

use parquet::basic::Encoding;

use super::chunk::{positions_width, run, varint};

/// Values of a block of differences, and of each of its parts.
const BLOCK: usize = 128;
const PART: usize = 32;
const PARTS: usize = BLOCK / PART;

/// How many numbers are looked at before one is encoded.
const LOOKED_AT: usize = 1 << 10;

/// The most different numbers of a dictionary.
const MOST_DIFFERENT: usize = 1 << 15;

/// Spreads numbers over the table.
const HASH: u64 = 0x9e37_79b9_7f4a_7c15;

/// How many places of the table are looked at for one number. Numbers chosen to have the same hash would need
/// all of them.
const MOST_PROBES: usize = 1 << 8;

/// How numbers are written that have no dictionary.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fallback {
    /// Differences: whole numbers that mostly change by little.
    Differences,
    /// The bits of each number.
    Plain,
}

/// Encoded numbers, without levels.
pub(super) struct Encoded {
    /// The different numbers behind each other, and how many they are.
    pub(super) dictionary: Option<(Vec<u8>, usize)>,
    pub(super) encoding: Encoding,
}

/// Writes numbers of 64 bits behind what `out` has.
pub(super) fn encode(out: &mut Vec<u8>, numbers: &[u64], fallback: Fallback) -> Encoded {
    if let Some(Dictionary { values, positions, .. }) = Dictionary::of(numbers) {
        let width = positions_width(out, values.len());
        hybrid(out, &positions, width);
        let mut bytes = Vec::new();
        plain(&mut bytes, &values);
        return Encoded { dictionary: Some((bytes, values.len())), encoding: Encoding::RLE_DICTIONARY };
    }
    // As many bytes as differences mostly take.
    out.reserve(numbers.len().saturating_mul(3));
    let encoding = match fallback {
        // Not every reader expects differences of nothing.
        Fallback::Differences if !numbers.is_empty() => {
            differences(out, numbers);
            Encoding::DELTA_BINARY_PACKED
        }
        _ => {
            plain(out, numbers);
            Encoding::PLAIN
        }
    };
    Encoded { dictionary: None, encoding }
}

/// Writes numbers as they are.
fn plain(out: &mut Vec<u8>, numbers: &[u64]) {
    let begin = out.len();
    out.resize(begin.saturating_add(numbers.len().saturating_mul(8)), 0);
    let places = out.get_mut(begin..).unwrap_or_default().chunks_exact_mut(8);
    places.zip(numbers).for_each(|(place, number)| place.copy_from_slice(&number.to_le_bytes()));
}

/// Different numbers, and the position of each number among them.
struct Dictionary {
    values: Vec<u64>,
    positions: Vec<u32>,
    /// For each position, the position that came after it last time: rows are sorted by counter, so that
    /// sequences come again.
    follows: Vec<u32>,
    /// Positions by a hash of their numbers, plus 1; 0 is free.
    table: Vec<u32>,
}

impl Dictionary {
    /// The dictionary of numbers; `None` if too many are different.
    fn of(numbers: &[u64]) -> Option<Dictionary> {
        let mut some: Vec<u64> = Vec::with_capacity(LOOKED_AT);
        // Not a divisor of the usual numbers of records.
        let step = numbers.len().checked_div(LOOKED_AT).unwrap_or(0) | 1;
        some.extend(numbers.iter().step_by(step));
        some.sort_unstable();
        let looked_at = some.len();
        some.dedup();
        if some.len() > looked_at.div_ceil(2) || numbers.is_empty() {
            return None;
        }
        let mut dictionary = Dictionary {
            values: Vec::new(),
            positions: Vec::with_capacity(numbers.len()),
            follows: Vec::new(),
            table: vec![0; numbers.len().min(MOST_DIFFERENT).saturating_mul(2).next_power_of_two()],
        };
        let mut last = u32::MAX;
        for number in numbers {
            let expected = dictionary.follows.get(last as usize).copied().unwrap_or(u32::MAX);
            let position = match dictionary.values.get(expected as usize) {
                Some(value) if value == number => expected,
                _ => {
                    let found = dictionary.find(*number)?;
                    if let Some(place) = dictionary.follows.get_mut(last as usize) {
                        *place = found;
                    }
                    found
                }
            };
            dictionary.positions.push(position);
            last = position;
        }
        Some(dictionary)
    }

    /// The position of a number, which is added if it is new; `None` if there is no room.
    fn find(&mut self, number: u64) -> Option<u32> {
        let mask = self.table.len().saturating_sub(1);
        let mut at = usize::try_from(number.wrapping_mul(HASH) >> 44).unwrap_or(0) & mask;
        for _ in 0..MOST_PROBES {
            let place = self.table.get_mut(at)?;
            let Some(position) = place.checked_sub(1) else {
                if self.values.len() >= MOST_DIFFERENT {
                    return None;
                }
                let position = u32::try_from(self.values.len()).ok()?;
                *place = position.checked_add(1)?;
                self.values.push(number);
                self.follows.push(position);
                return Some(position);
            };
            if self.values.get(position as usize) == Some(&number) {
                return Some(position);
            }
            at = at.wrapping_add(1) & mask;
        }
        None
    }
}

/// Writes small numbers as runs, where they follow themselves often, and packed in groups of eight.
fn hybrid(out: &mut Vec<u8>, numbers: &[u32], width: u32) {
    // Where the numbers begin that are not written yet, and how many they are.
    let (mut begin, mut waiting) = (0usize, 0usize);
    for same in numbers.chunk_by(|one, other| one == other) {
        // A group is filled before a run begins.
        let fill = waiting.wrapping_neg() & 7;
        let count = same.len().saturating_sub(fill);
        if count < 8 {
            waiting = waiting.saturating_add(same.len());
            continue;
        }
        let end = begin.saturating_add(waiting).saturating_add(fill);
        packed(out, numbers.get(begin..end).unwrap_or_default(), width);
        run(out, count as u64, same.first().copied().unwrap_or_default(), width);
        (begin, waiting) = (end.saturating_add(count), 0);
    }
    packed(out, numbers.get(begin..).unwrap_or_default(), width);
}

/// Writes small numbers packed in groups of eight, the last of which is filled with zeros.
fn packed(out: &mut Vec<u8>, numbers: &[u32], width: u32) {
    if numbers.is_empty() {
        return;
    }
    let groups = numbers.len().div_ceil(8);
    varint(out, (groups as u64) << 1 | 1);
    let mut bits = Bits { out, held: 0, count: 0 };
    numbers.iter().for_each(|number| bits.put(u64::from(*number), width));
    (numbers.len()..groups.saturating_mul(8)).for_each(|_| bits.put(0, width));
    bits.end();
}

/// Writes whole numbers as differences in blocks: `DELTA_BINARY_PACKED`.
fn differences(out: &mut Vec<u8>, numbers: &[u64]) {
    varint(out, BLOCK as u64);
    varint(out, PARTS as u64);
    varint(out, numbers.len() as u64);
    varint(out, zigzag(numbers.first().copied().unwrap_or_default()));
    let later = numbers.get(1..).unwrap_or_default();
    for (block, before) in later.chunks(BLOCK).zip(numbers.chunks(BLOCK)) {
        let mut found = [0i64; BLOCK];
        for ((difference, number), before) in found.iter_mut().zip(block).zip(before) {
            *difference = number.wrapping_sub(*before).cast_signed();
        }
        let found = found.get_mut(..block.len()).unwrap_or_default();
        let least = found.iter().copied().fold(i64::MAX, i64::min);
        found.iter_mut().for_each(|difference| *difference = difference.wrapping_sub(least));
        varint(out, zigzag(least.cast_unsigned()));
        let mut widths = [0u8; PARTS];
        for (width, part) in widths.iter_mut().zip(found.chunks(PART)) {
            let all = part.iter().fold(0, |all, difference| all | difference.cast_unsigned());
            *width = u8::try_from(u64::BITS.saturating_sub(all.leading_zeros())).unwrap_or(64);
        }
        out.extend_from_slice(&widths);
        for (width, part) in widths.iter().zip(found.chunks(PART)) {
            let width = u32::from(*width);
            let mut bits = Bits { out, held: 0, count: 0 };
            part.iter().for_each(|difference| bits.put(difference.cast_unsigned(), width));
            (part.len()..PART).for_each(|_| bits.put(0, width));
            bits.end();
        }
    }
}

/// 0, -1, 1, -2, 2 … as 0, 1, 2, 3, 4 …
pub(super) const fn zigzag(number: u64) -> u64 {
    (number << 1) ^ (number.cast_signed() >> 63).cast_unsigned()
}

/// Collects bits, the lowest first.
struct Bits<'o> {
    out: &'o mut Vec<u8>,
    held: u64,
    /// Fewer than 64.
    count: u32,
}

impl Bits<'_> {
    /// Adds a number of `width` bits, 64 at most.
    #[inline]
    fn put(&mut self, number: u64, width: u32) {
        self.held |= number.wrapping_shl(self.count);
        let total = self.count.wrapping_add(width);
        if total < 64 {
            self.count = total;
            return;
        }
        self.out.extend_from_slice(&self.held.to_le_bytes());
        // The bits that did not fit; none if the word was filled exactly.
        self.held = number.checked_shr(64u32.wrapping_sub(self.count)).unwrap_or(0);
        self.count = total.wrapping_sub(64);
    }

    /// Writes the last bits.
    fn end(self) {
        let bytes = self.count.div_ceil(8) as usize;
        self.out.extend(self.held.to_le_bytes().iter().take(bytes));
    }
}

#[cfg(test)]
#[allow(clippy::arithmetic_side_effects, reason = "small numbers of a test")]
mod tests {
    use super::super::bytes::Input;
    use super::super::decode::{deltas, hybrid as read_hybrid};
    use super::*;

    /// Numbers that no encoding likes, and those that each one likes.
    fn series() -> Vec<Vec<u64>> {
        let mut state = 7u64;
        let mut random = move || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state
        };
        let noise: Vec<u64> = (0..5000).map(|_| random()).collect();
        vec![
            vec![],
            vec![5],
            vec![u64::MAX; 1000],
            noise.clone(),
            noise.iter().map(|number| number % 3).collect(),
            noise.iter().map(|number| if number % 40 == 0 { 1 } else { 0 }).collect(),
            (0..4000).map(|nth| nth % 131 * 10_000_000).collect(),
            (0..4000).map(|nth| nth * nth).collect(),
            (0..40_000).map(|nth| nth / 7 * 3).collect(),
            vec![0, u64::MAX, 1 << 63, (1 << 63) - 1, 0, 1, u64::MAX],
            (0..129).collect(),
            (0..128).map(|nth| u64::MAX - nth).collect(),
        ]
    }

    #[test]
    fn numbers_of_every_kind_are_read_back() {
        for numbers in series() {
            for fallback in [Fallback::Differences, Fallback::Plain] {
                let mut out = vec![9];
                let Encoded { dictionary, encoding } = encode(&mut out, &numbers, fallback);
                let mut input = Input::new(&out[1..]);
                let found: Vec<u64> = match (dictionary, encoding) {
                    (Some((values, count)), _) => {
                        assert_eq!(values.len(), count * 8);
                        let width = u32::from(input.byte().unwrap());
                        let mut found = Vec::new();
                        read_hybrid(&mut input, width, numbers.len(), |position| {
                            let at = position as usize * 8;
                            found.push(u64::from_le_bytes(values[at..at + 8].try_into().unwrap()));
                            Ok(())
                        })
                        .unwrap();
                        found
                    }
                    (None, Encoding::PLAIN) => {
                        let words = out[1..].chunks(8);
                        words.map(|word| u64::from_le_bytes(word.try_into().unwrap())).collect()
                    }
                    (None, _) => {
                        let found = deltas(&mut input, numbers.len()).unwrap();
                        found.into_iter().map(i64::cast_unsigned).collect()
                    }
                };
                assert_eq!(found, numbers);
            }
        }
    }

    #[test]
    fn few_different_numbers_are_a_dictionary() {
        let is_dictionary = |numbers: &[u64]| Dictionary::of(numbers).is_some();
        let found: Vec<bool> = series().iter().map(|numbers| is_dictionary(numbers)).collect();
        assert_eq!(found, [false, true, true, false, true, true, true, false, false, false, false, false]);
        // More than there is room for, which some do not show.
        let many: Vec<u64> = (0..200_000u64).map(|nth| if nth % 196 < 98 { 0 } else { nth }).collect();
        assert!(!is_dictionary(&many));
    }

    #[test]
    fn numbers_of_one_hash_are_no_long_dictionary() {
        // The number by which the hash becomes 1.
        let inverse =
            (0..6).fold(1u64, |found, _| found.wrapping_mul(2u64.wrapping_sub(HASH.wrapping_mul(found))));
        assert_eq!(HASH.wrapping_mul(inverse), 1);
        let same = |different: u64| -> Vec<u64> {
            (0..40_000).map(|nth| inverse.wrapping_mul(nth * 7 % different)).collect()
        };
        assert!(Dictionary::of(&same(MOST_PROBES as u64)).is_some());
        assert!(Dictionary::of(&same(MOST_PROBES as u64 + 1)).is_none());
    }
}
