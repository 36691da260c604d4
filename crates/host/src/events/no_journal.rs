//! A system without a journal.

use tallymon_provider::library::event::Event;

/// The events are in the file only.
pub(super) fn send(_event: &Event) {}
