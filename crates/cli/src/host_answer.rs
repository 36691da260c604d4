//! What the answer of another machine cost, and what it says of its clock.

use std::time::{Duration, Instant};

use tallymon::clock::now;
use tallymon::core::time::FileTime;
use tallymon::{ClockOffset, Query};

use crate::exit::Failure;
use crate::words::say;

/// An answer of a source.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Answer {
    clock: Option<ClockOffset>,
    /// From the question until the values were there.
    took: Duration,
    /// Bytes of the block.
    bytes: usize,
}

impl Answer {
    /// Collects, and measures it.
    pub(crate) fn collect(query: &mut Query) -> Result<(FileTime, Answer), Failure> {
        let (asked, begun) = (now(), Instant::now());
        let time = query.collect()?;
        let took = begun.elapsed();
        let block = query.snapshot();
        let clock = block.and_then(|block| ClockOffset::of_block(asked, now(), block));
        Ok((time, Answer { clock, took, bytes: block.map_or(0, |block| block.bytes().len()) }))
    }

    /// The same with a newer answer: the better clock, and the newer cost, because the first one also opened
    /// the connection.
    #[must_use]
    pub(crate) fn or_newer(self, newer: Answer) -> Answer {
        let clock = match (self.clock, newer.clock) {
            (Some(older), Some(newer)) => Some(older.or_newer(newer)),
            (older, newer) => newer.or(older),
        };
        Answer { clock, ..newer }
    }

    /// Says what a host answered.
    pub(crate) fn say(self, host: &str) {
        let millis = self.took.as_secs_f64() * 1e3;
        let (bytes, millis) = (self.bytes, format!("{millis:.1} ms"));
        say(format_args!("{host}: an answer of {bytes} bytes took {millis}"));
        let Some(clock) = self.clock else { return };
        let by = clock.to_string();
        let by = by.trim_start_matches(['+', '-', '±']);
        if !clock.is_certain() {
            say(format_args!("{host}: its clock agrees with that of this machine within {by}"));
        } else if clock.seconds() > 0.0 {
            say(format_args!("{host}: its clock is {by} ahead of that of this machine"));
        } else {
            say(format_args!("{host}: its clock is {by} behind that of this machine"));
        }
    }
}
