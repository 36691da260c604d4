//! The parts that a long record is cut into.

use super::container::Event;
use crate::error::Damage;

/// A record, or the parts of it that are there so far.
#[derive(Debug)]
pub(super) struct Pending {
    /// The event of its first part.
    pub(super) event: Event,
    pub(super) next_part: u32,
    pub(super) body: Vec<u8>,
    /// Where in the body each part begins, and its event.
    parts: Vec<(usize, Event)>,
}

impl Pending {
    pub(super) const fn new(event: Event) -> Pending {
        Pending { event, next_part: 1, body: Vec::new(), parts: Vec::new() }
    }

    /// A new one in the memory of this one.
    pub(super) fn again(self, event: Event) -> Pending {
        let Pending { mut body, mut parts, .. } = self;
        body.clear();
        parts.clear();
        Pending { event, next_part: 1, body, parts }
    }

    pub(super) fn push(&mut self, event: Event, body: &[u8]) {
        self.parts.push((self.body.len(), event));
        self.body.extend_from_slice(body);
        self.next_part = self.next_part.saturating_add(1);
    }

    /// A fault at an offset of the body.
    pub(super) fn damage(&self, offset: usize, record: u64, what: String) -> Damage {
        let part = self.parts.iter().rfind(|(begin, _)| *begin <= offset);
        let (begin, event) = part.map_or((0, &self.event), |(begin, event)| (*begin, event));
        let byte = event.body_byte().saturating_add(offset.saturating_sub(begin) as u64);
        Damage { byte, buffer: Some(event.buffer), record: Some(record), line: None, what }
    }
}
