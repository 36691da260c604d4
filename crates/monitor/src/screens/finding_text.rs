//! A finding in words, for the list of findings and for the chart that shows one.

use ratatui::style::Style;
use tallymon::analyze::{Evidence, Finding, Severity};
use tallymon::human::of_path;

use crate::model::findings::longest;
use crate::model::format;
use crate::term::list::Cell;
use crate::term::theme::Theme;
use crate::words::{Word, Words};
use crate::workspace::state::Workspace;

/// The counters that are named which moved with a finding.
const MOST_TOGETHER: usize = 2;

/// The letter of a severity in the chart, its word, and its style.
pub(crate) fn severity(
    severity: Severity,
    words: Words,
    theme: Theme,
) -> (&'static str, &'static str, Style) {
    match severity {
        Severity::Critical => ("C", words.get(Word::Critical), theme.bad()),
        Severity::Warning => ("W", words.get(Word::Warning), theme.warning()),
        Severity::Note => ("N", words.get(Word::Note), theme.dim()),
    }
}

/// Title, numbers, who caused it, what it usually means, what to look at next, and what found it and how sure
/// it is; a text for each.
pub(crate) fn texts(workspace: &Workspace, found: &Finding) -> Vec<Cell> {
    let (words, theme) = (workspace.words, workspace.theme);
    let (letter, name, style) = severity(found.severity, words, theme);
    let title = words.of_finding(&found.title);
    let mut texts = vec![(format!("{letter} {title} ({name})"), style.patch(theme.bold()))];
    if let Some(first) = found.instances.first() {
        texts.push((numbers(workspace, found, first), theme.plain()));
    }
    let causes: Vec<String> =
        workspace.causes_of(found).into_iter().map(|(name, value)| format!("{name} {value}")).collect();
    if !causes.is_empty() {
        texts.push((format!("{}: {}", words.get(Word::Who), causes.join(", ")), theme.plain()));
    }
    let together: Vec<&str> =
        found.together.iter().take(MOST_TOGETHER).map(|other| other.path.as_str()).collect();
    if !together.is_empty() {
        let chance = found.chance().map_or_else(String::new, |chance| words.of_finding(&chance));
        let together = together.join(", ");
        texts.push((format!("{}: {together} ({chance})", words.get(Word::MovesWith)), theme.dim()));
    }
    texts.push((words.of_finding(&found.means), theme.plain()));
    if !found.next.is_empty() {
        let next = words.of_finding(&found.next);
        texts.push((format!("{}: {next}", words.get(Word::NextStep)), theme.plain()));
    }
    texts.push((words.of_phrase(&found.found_by()), theme.dim()));
    texts
}

/// The counter, when and how long it was so, the worst value and the usual one.
fn numbers(workspace: &Workspace, found: &Finding, first: &Evidence) -> String {
    let words = workspace.words;
    let value = |number| of_path(number, &first.path, first.counter_type);
    let mut parts = vec![first.path.clone()];
    if let Some(range) = longest(found) {
        let clock = |time| workspace.clock_between(time, range.from, range.to);
        let lasts = format::duration(range.from, range.to);
        parts.push(format!("{}-{} ({lasts})", clock(range.from), clock(range.to)));
    }
    parts.push(format!("{} {:.0} %", words.get(Word::ShareOfTime), found.share * 100.0));
    parts.push(format!("{} {}", words.get(Word::Worst), value(first.worst)));
    if let Some(usual) = first.usual {
        parts.push(format!("{} {}", words.get(Word::Usual), value(usual)));
    }
    parts.join(", ")
}
