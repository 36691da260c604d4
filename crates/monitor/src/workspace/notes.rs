//! Notes about an opened log: damage, overlaps, and records that are not in memory.

use std::path::Path;

use tallymon::Overlap;

use crate::log::names;
use crate::words::Word;
use crate::workspace::state::Workspace;

impl Workspace {
    /// The notes of the banner, if there are any.
    pub(crate) fn log_notes(&self) -> Option<String> {
        let replay = self.replay.as_ref()?;
        let summary = replay.log.summary();
        let mut notes = Vec::new();
        for part in replay.log.parts() {
            let mut known = part.summary().notes.clone();
            known.extend(&part.met());
            if let Some(first) = known.damage.first() {
                let which =
                    if replay.log.parts().len() > 1 { names::title(part) + ": " } else { String::new() };
                notes.push(format!(
                    "{which}{} ({}): {first}",
                    self.words.get(Word::Damaged),
                    known.damage_count
                ));
            }
        }
        notes.extend(replay.log.overlaps().iter().map(|overlap| self.overlap_note(overlap)));
        if replay.loading.is_none() && (replay.is_cut || replay.from.0 > 0) {
            let rows = self.monitor.rows();
            let shown = rows.end.saturating_sub(rows.start);
            notes.push(format!("{} {shown} / {}", self.words.get(Word::InMemory), summary.records));
        }
        (!notes.is_empty()).then(|| notes.join(" · "))
    }

    /// Which of two overlapping logs the counters are taken from.
    fn overlap_note(&self, overlap: &Overlap) -> String {
        let name = |path: &Path| path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let clock = |time| self.clock_between(time, overlap.first, overlap.last);
        format!(
            "{} {}: {} ({}, {} - {})",
            self.words.get(Word::InBothLogs),
            name(&overlap.taken),
            overlap.counters,
            name(&overlap.other),
            clock(overlap.first),
            clock(overlap.last)
        )
    }
}
