//! Before and after as text, Markdown and JSON.

use std::io::{self, Write};
use std::path::PathBuf;

use serde_json::{Value, json};
use tallymon::analyze::{Against, Analysis, Change, Effect, Finding};
use tallymon::clock::rfc3339;

use super::json;
use super::text::{self, Tongue};
use crate::words::visible;

pub(super) fn print(
    out: &mut impl Write,
    found: &Against,
    (top, verbose): (usize, bool),
    tongue: Tongue,
) -> io::Result<()> {
    for (title, side) in [("Before", &found.before), ("After", &found.after)] {
        let clock = &side.clock;
        let range = side.first.zip(side.last).map_or(String::new(), |(first, last)| {
            format!(", {} to {}", clock.text(first), clock.text(last))
        });
        let words = format!("{title}: {} records of {} counters{range}", side.records, side.counters);
        writeln!(out, "{}", tongue.text(words))?;
    }
    writeln!(out, "{}", tongue.text(counts(found)))?;
    if found.too_short > 0 {
        writeln!(out, "{}", tongue.text(too_short(found)))?;
    }
    for change in found.changes.iter().take(top) {
        writeln!(out, "   {}", line(change, tongue))?;
    }
    let hidden = found.changes.len().saturating_sub(top);
    if hidden > 0 {
        writeln!(out, "   {}", tongue.text(format!("{hidden} more; use a larger --top to show them")))?;
    }
    let (new, gone) = (found.new_findings(), found.gone_findings());
    let words = format!("{} findings are new, {} are gone.", new.len(), gone.len());
    writeln!(out, "{}", tongue.text(words))?;
    for finding in new.iter().take(top) {
        writeln!(out)?;
        writeln!(out, "{}: {}", tongue.text("new"), named(finding, tongue))?;
        text::details(out, finding, (&found.after.clock, tongue), verbose)?;
    }
    for finding in gone.iter().take(top) {
        writeln!(out, "{}: {}", tongue.text("gone"), named(finding, tongue))?;
    }
    Ok(())
}

fn line(change: &Change, tongue: Tongue) -> String {
    let shown = |number: f64| text::value(number, &change.path, change.counter_type);
    let (before, after) = (shown(change.before), shown(change.after));
    let noise = if change.deviations.is_finite() {
        format!("{:.1} times its noise", change.deviations)
    } else {
        "without noise".to_owned()
    };
    let (effect, noise) = (tongue.text(change.effect.name()), tongue.text(noise));
    format!("{effect:9}  {}  {before} -> {after} ({noise})", visible(&change.path))
}

fn named(finding: &Finding, tongue: Tongue) -> String {
    let title = tongue.text(visible(&finding.title));
    format!("{}: {title}{}", tongue.text(finding.severity.name()), text::on_host(finding, tongue))
}

/// As a Markdown document.
pub(super) fn markdown(
    out: &mut impl Write,
    found: &Against,
    (before, after): (&[PathBuf], &[PathBuf]),
    (top, tongue): (usize, Tongue),
) -> io::Result<()> {
    let names = |logs: &[PathBuf]| {
        let names = logs.iter().map(|log| log.file_name().unwrap_or(log.as_os_str()).to_string_lossy());
        text::escaped(&names.collect::<Vec<_>>().join(", "))
    };
    writeln!(out, "# {}\n", tongue.text("Before and after"))?;
    writeln!(out, "| | | |\n|---|---|---|")?;
    for (title, logs, side) in [("Before", before, &found.before), ("After", after, &found.after)] {
        let clock = &side.clock;
        let range = side.first.zip(side.last).map_or(String::new(), |(first, last)| {
            tongue.text(format!("{} to {}", clock.text(first), clock.text(last)))
        });
        writeln!(out, "| {} | {} | {range} |", tongue.text(title), names(logs))?;
    }
    writeln!(out)?;
    changes_markdown(out, found, &names(before), (top, tongue))?;
    let new: Vec<Finding> = found.new_findings().into_iter().cloned().collect();
    if !new.is_empty() {
        writeln!(out, "## {}\n", tongue.text("New findings"))?;
        text::list_markdown(out, &new, top, (&found.after.clock, "###", tongue))?;
    }
    Ok(())
}

/// What changed since the logs from before, whose names are Markdown already.
pub(crate) fn changes_markdown(
    out: &mut impl Write,
    found: &Against,
    before: &str,
    (top, tongue): (usize, Tongue),
) -> io::Result<()> {
    writeln!(out, "## {}\n\n{}\n", tongue.text(format!("Since {before}")), tongue.text(counts(found)))?;
    if found.too_short > 0 {
        writeln!(out, "{}\n", tongue.text(too_short(found)))?;
    }
    if !found.changes.is_empty() {
        let heads = ["counter", "before", "after", ""].map(|head| tongue.text(head));
        writeln!(out, "| {} |\n|---|--:|--:|---|", heads.join(" | "))?;
    }
    for change in found.changes.iter().take(top) {
        let shown = |number: f64| text::escaped(&text::value(number, &change.path, change.counter_type));
        let (path, effect) = (text::escaped(&change.path), tongue.text(change.effect.name()));
        writeln!(out, "| {path} | {} | {} | {effect} |", shown(change.before), shown(change.after))?;
    }
    let hidden = found.changes.len().saturating_sub(top);
    if hidden > 0 {
        writeln!(out, "\n{}", tongue.text(format!("{hidden} more changed.")))?;
    }
    writeln!(out)?;
    for (word, findings) in [("new", found.new_findings()), ("gone", found.gone_findings())] {
        for one in findings.iter().take(top) {
            writeln!(out, "- {}: {}", tongue.text(word), text::escaped(&named(one, tongue)))?;
        }
    }
    writeln!(out)
}

fn counts(found: &Against) -> String {
    let count = |effect: Effect| found.changes.iter().filter(|change| change.effect == effect).count();
    format!(
        "Of {} counters that were compared, {} became worse, {} better, and {} different beyond their noise.",
        found.compared,
        count(Effect::Worse),
        count(Effect::Better),
        count(Effect::Different)
    )
}

fn too_short(found: &Against) -> String {
    format!("{} counters have too few records to be compared: 10 s at least", found.too_short)
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
