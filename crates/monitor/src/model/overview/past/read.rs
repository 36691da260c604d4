//! Reads the seconds of a chunk, one after another.

use crate::model::overview::past::columns::{Last, Numbers, bits, id};
use crate::model::overview::process_row::ProcessRow;
use crate::model::packed::Packed;

/// Reads the seconds of a chunk.
#[derive(Debug, Default)]
pub(super) struct Reader<'b> {
    slots: Vec<Option<Known<'b>>>,
    names: Vec<&'b str>,
    last: Last,
}

/// A process at the second that was read last.
#[derive(Debug, Default)]
struct Known<'b> {
    base: &'b str,
    number: u64,
    id: Option<u32>,
    parent: Option<u32>,
    start: u64,
    numbers: Numbers,
    is_kept: bool,
}

impl<'b> Reader<'b> {
    /// Reads a second; `None` if these are not the bytes of one.
    pub(super) fn read(&mut self, bytes: &'b [u8]) -> Option<()> {
        let mut part = Packed::new(bytes);
        let mut next = 0usize;
        while !part.is_empty() {
            let slot = next.checked_add(usize::try_from(part.number()?).ok()?)?;
            next = slot.checked_add(1)?;
            let head = part.byte()?;
            if head & bits::NEW != 0 && slot == self.slots.len() {
                self.slots.push(None);
            }
            let place = self.slots.get_mut(slot)?;
            if head & bits::GONE != 0 {
                *place = None;
                continue;
            }
            let mut known = if head & bits::NEW != 0 { Known::default() } else { place.take()? };
            known.is_kept = head & bits::LEFT_OUT == 0;
            if head & bits::NAME != 0 {
                known.base = match part.number()?.checked_sub(1) {
                    Some(nth) => self.names.get(usize::try_from(nth).ok()?)?,
                    None => {
                        let length = usize::try_from(part.number()?).ok()?;
                        let base = std::str::from_utf8(part.bytes(length)?).ok()?;
                        self.names.push(base);
                        base
                    }
                };
                known.number = part.number()?;
                known.parent = id(&mut self.last.parent, &mut part)?;
            }
            if head & bits::NEW != 0 {
                known.id = id(&mut self.last.id, &mut part)?;
                known.start = self.last.start.wrapping_add(part.signed()?);
                self.last.start = known.start;
            }
            known.numbers.read(head, &mut part)?;
            *place = Some(known);
        }
        Some(())
    }

    fn kept(&self) -> impl Iterator<Item = &Known<'b>> {
        self.slots.iter().flatten().filter(|known| known.is_kept)
    }

    pub(super) fn find(&self, who: (u32, u64)) -> Option<&Numbers> {
        let is_it = |known: &&Known<'_>| (known.id, known.start) == (Some(who.0), who.1);
        self.kept().find(is_it).map(|known| &known.numbers)
    }

    pub(super) fn rows(&self) -> Vec<ProcessRow> {
        self.kept()
            .map(|known| ProcessRow {
                name: match known.number {
                    0 => known.base.into(),
                    number => format!("{}#{number}", known.base).into(),
                },
                id: known.id,
                parent: known.parent,
                start: known.start,
                processor: known.numbers.processor,
                memory: known.numbers.memory,
                bytes: known.numbers.bytes,
                threads: known.numbers.threads,
            })
            .collect()
    }
}
