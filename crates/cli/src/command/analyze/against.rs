//! Before and after as text and JSON.

use std::io::{self, Write};

use serde_json::{Value, json};
use tallymon::analyze::{Against, Analysis, Change, Effect, Finding};
use tallymon::clock::rfc3339;

use super::{json, text};
use crate::words::visible;

pub(super) fn print(out: &mut impl Write, found: &Against, top: usize, verbose: bool) -> io::Result<()> {
    for (title, side) in [("Before", &found.before), ("After", &found.after)] {
        let clock = &side.clock;
        let range = side.first.zip(side.last).map_or(String::new(), |(first, last)| {
            format!(", {} to {}", clock.text(first), clock.text(last))
        });
        writeln!(out, "{title}: {} records of {} counters{range}", side.records, side.counters)?;
    }
    let count = |effect: Effect| found.changes.iter().filter(|change| change.effect == effect).count();
    writeln!(
        out,
        "Of {} counters that were compared, {} became worse, {} better, and {} different beyond their noise.",
        found.compared,
        count(Effect::Worse),
        count(Effect::Better),
        count(Effect::Different)
    )?;
    if found.too_short > 0 {
        writeln!(out, "{} counters have too few records to be compared: 10 s at least", found.too_short)?;
    }
    for change in found.changes.iter().take(top) {
        writeln!(out, "   {}", line(change))?;
    }
    let hidden = found.changes.len().saturating_sub(top);
    if hidden > 0 {
        writeln!(out, "   {hidden} more; use a larger --top to show them")?;
    }
    let (new, gone) = (found.new_findings(), found.gone_findings());
    writeln!(out, "{} findings are new, {} are gone.", new.len(), gone.len())?;
    for finding in new.iter().take(top) {
        writeln!(out)?;
        writeln!(out, "new: {}", named(finding))?;
        text::details(out, finding, &found.after.clock, verbose)?;
    }
    for finding in gone.iter().take(top) {
        writeln!(out, "gone: {}", named(finding))?;
    }
    Ok(())
}

fn line(change: &Change) -> String {
    let shown = |number: f64| text::value(number, &change.path, change.counter_type);
    let (before, after) = (shown(change.before), shown(change.after));
    let noise = if change.deviations.is_finite() {
        format!("{:.1} times its noise", change.deviations)
    } else {
        "without noise".to_owned()
    };
    format!("{:9}  {}  {before} -> {after} ({noise})", change.effect.name(), visible(&change.path))
}

fn named(finding: &Finding) -> String {
    let host = if finding.host.is_empty() { String::new() } else { format!(" on {}", finding.host) };
    visible(&format!("{}: {}{host}", finding.severity.name(), finding.title)).into_owned()
}

pub(super) fn as_json(found: &Against) -> Value {
    let side = |side: &Analysis| {
        json!({
            "records": side.records,
            "counters": side.counters,
            "first": side.first.map(rfc3339),
            "last": side.last.map(rfc3339),
        })
    };
    let findings = |of: Vec<&Finding>| of.into_iter().map(json::finding).collect::<Vec<_>>();
    json!({
        "before": side(&found.before),
        "after": side(&found.after),
        "compared": found.compared,
        "too_short": found.too_short,
        "changes": found.changes.iter().map(|change| json!({
            "path": change.path,
            "type": change.counter_type.to_string(),
            "effect": change.effect.name(),
            "before": change.before,
            "after": change.after,
            "share": change.share(),
            // JSON has no infinite number.
            "deviations": change.deviations.is_finite().then_some(change.deviations),
        })).collect::<Vec<_>>(),
        "new_findings": findings(found.new_findings()),
        "gone_findings": findings(found.gone_findings()),
    })
}
