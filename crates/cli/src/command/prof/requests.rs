//! `tally prof http` and `db`: what a running program is asked and asks, and how long it takes.

use std::cmp::Reverse;
use std::io::{BufWriter, Write};

use serde_json::{Value, json};
use tallymon_clr::export::time;
use tallymon_dotnet::requests::{self, Asked, Durations, Requests};

use super::arguments::ProfRequests;
use super::attach;
use crate::border;
use crate::exit::Failure;
use crate::words::say;

/// Which report.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Http,
    Db,
}

pub(super) fn run(kind: Kind, arguments: &ProfRequests) -> Result<(), Failure> {
    let wanted = match kind {
        Kind::Http => requests::http(),
        Kind::Db => requests::db(),
    };
    let mut show = |known: &Requests| print(kind, known, arguments);
    let known = attach::requests(&arguments.program, arguments.duration, wanted, arguments.every, &mut show)?;
    if let Some(damage) = &known.damage {
        say(format_args!("{damage}; what came before it is shown"));
    }
    if known.lost > 0 {
        say(format_args!("{} reports are missing: the runtime dropped them", known.lost));
    }
    for (from, to) in &known.gaps {
        let [from, to] = [*from, *to].map(time);
        say(format_args!(
            "reports from {from} to {to} after the start are missing: another reader of the program took them"
        ));
    }
    print(kind, &known, arguments)
}

/// The rows, those that took the most time first.
fn sorted(known: &Requests) -> Vec<(&Asked, &Durations)> {
    let mut rows: Vec<_> = known.rows.iter().collect();
    rows.sort_by_key(|(_, durations)| Reverse(durations.total));
    rows
}

fn print(kind: Kind, known: &Requests, arguments: &ProfRequests) -> Result<(), Failure> {
    let mut out = BufWriter::new(border::stdout());
    if arguments.json {
        writeln!(out, "{}", border::json(&document(known)))?;
    } else {
        table(kind, known, arguments.rows, &mut out)?;
    }
    Ok(out.flush()?)
}

fn document(known: &Requests) -> Value {
    let seconds = |nanoseconds: u64| nanoseconds as f64 / 1e9;
    let row = |(asked, durations): (&Asked, &Durations)| {
        json!({
            "by": asked.by, "what": asked.what, "status": asked.status,
            "count": durations.count, "errors": durations.errors,
            "mean": seconds(durations.mean()), "p50": seconds(durations.quantile(0.5)),
            "p95": seconds(durations.quantile(0.95)), "p99": seconds(durations.quantile(0.99)),
            "max": seconds(durations.longest), "total": seconds(durations.total),
        })
    };
    let rows: Vec<Value> = sorted(known).into_iter().map(row).collect();
    let gap = |(from, to): &(u64, u64)| json!({ "from": seconds(*from), "to": seconds(*to) });
    let gaps: Vec<Value> = known.gaps.iter().map(gap).collect();
    json!({ "seconds": seconds(known.duration), "lost": known.lost, "gaps": gaps, "rows": rows })
}

fn table(kind: Kind, known: &Requests, rows: usize, out: &mut dyn Write) -> std::io::Result<()> {
    let count: u64 = known.rows.values().map(|durations| durations.count).sum();
    let errors: u64 = known.rows.values().map(|durations| durations.errors).sum();
    let what = match kind {
        Kind::Http => "requests",
        Kind::Db => "commands",
    };
    writeln!(out, "{count} {what} in {}, {errors} with errors", time(known.duration))?;
    let all = sorted(known);
    if !all.is_empty() {
        let names = ["mean", "50 %", "95 %", "99 %", "longest"].map(|name| format!("{name:>11}")).join("");
        writeln!(out, "\n{:>9} {:>7}{names}  what", "number", "errors")?;
    }
    for (asked, durations) in all.iter().take(rows) {
        let quantiles = [0.5, 0.95, 0.99].map(|share| durations.quantile(share));
        let [half, most, nearly_all] = quantiles;
        let times = [durations.mean(), half, most, nearly_all, durations.longest];
        let times = times.map(|length| format!("{:>11}", time(length))).join("");
        let status = if asked.status.is_empty() { String::new() } else { format!(" {}", asked.status) };
        let Durations { count, errors, .. } = durations;
        writeln!(out, "{count:>9} {errors:>7}{times}  {}:{status} {}", asked.by, asked.what)?;
    }
    super::incidents::more(all.len(), rows, out)
}
