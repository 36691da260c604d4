//! A report as Markdown: what the logs are, what changed, what stands out, statistics.

use std::io::{self, Write};

use tallymon::analyze::{Against, MACHINE_PARAMETERS};
use tallymon_monitor::model::format::Numbers;
use tallymon_serve::{Busy, Figures, Line, Report};

use super::analyze::against::changes_markdown;
use super::analyze::text::{self, Tongue};

/// The most findings and changes.
const MOST: usize = 30;

pub(super) fn write(out: &mut impl Write, report: &mut Report, tongue: Tongue) -> io::Result<()> {
    let lines = report.lines();
    let title = format!("Performance report: {}", names(&report.logs.names));
    writeln!(out, "# {}\n", tongue.text(title))?;
    about(out, report, tongue)?;
    if let Some(against) = report.against() {
        changes(out, report, against, tongue)?;
    }
    holes_and_busiest(out, report, tongue)?;
    let found = report.findings();
    let count = match found.findings.len() {
        0 => "Nothing was found.".to_owned(),
        1 => "One finding.".to_owned(),
        count => format!("{count} findings, those that hurt most first."),
    };
    writeln!(out, "## {}\n\n{}\n", tongue.text("Findings"), tongue.text(count))?;
    text::findings_markdown(out, found, MOST, ("###", tongue))?;
    let mut objects: Vec<&str> = Vec::new();
    for line in &lines {
        if !objects.contains(&line.object.as_str()) {
            objects.push(&line.object);
        }
    }
    for object in objects {
        let own: Vec<&Line> = lines.iter().filter(|line| line.object == object).collect();
        statistics(out, object, &own, (report.earlier.is_some(), tongue))?;
    }
    Ok(())
}

fn names(names: &[String]) -> String {
    text::escaped(&names.join(", "))
}

/// The heads of a table, which may be empty.
fn heads(tongue: Tongue, heads: &[&str]) -> String {
    heads.iter().map(|head| format!("| {} ", tongue.text(head))).collect::<String>() + "|"
}

/// What the logs are.
fn about(out: &mut impl Write, report: &Report, tongue: Tongue) -> io::Result<()> {
    let logs = &report.logs;
    let clock = &logs.summary.clock;
    let machine = report.findings().parameters.iter();
    let machine = machine.filter(|(name, _)| MACHINE_PARAMETERS.contains(&name.as_str()));
    let machine = machine.map(|(name, value)| match value {
        Some(value) => format!("{name} {value:.0}"),
        None => tongue.text(format!("{name} unknown")),
    });
    let system = logs.summary.recorded_on.clone();
    let machine: Vec<String> = system.into_iter().chain(machine).collect();
    let range = |first, last| tongue.text(format!("{} to {}", clock.text(first), clock.text(last)));
    writeln!(out, "| | |\n|---|---|")?;
    for (title, words) in [
        ("Hosts", text::escaped(&logs.summary.hosts.join(", "))),
        ("Machine", text::escaped(&machine.join(", "))),
        ("Time", range(logs.first, logs.last)),
        ("Records", logs.records.to_string()),
        ("Counters", tongue.text(format!("{}, of which {} are below", logs.columns, report.series()))),
        ("Damage", tongue.text(format!("{} places", logs.summary.notes.damage_count))),
    ] {
        if title != "Damage" || logs.summary.notes.damage_count > 0 {
            writeln!(out, "| {} | {words} |", tongue.text(title))?;
        }
    }
    if let Some(earlier) = &report.earlier {
        let clock = &earlier.summary.clock;
        let time = format!("{} to {}", clock.text(earlier.first), clock.text(earlier.last));
        let (title, time) = (tongue.text("Compared with"), tongue.text(time));
        writeln!(out, "| {title} | {}, {time} |", names(&earlier.names))?;
    }
    writeln!(out)
}

/// Gaps and restarts, and the busiest instances over the whole time.
fn holes_and_busiest(out: &mut impl Write, report: &Report, tongue: Tongue) -> io::Result<()> {
    let holes = report.logs.holes(MOST);
    if !holes.is_empty() {
        writeln!(out, "## {}\n", tongue.text("Gaps and restarts"))?;
        holes.iter().try_for_each(|line| writeln!(out, "- {}", text::escaped(line)))?;
        writeln!(out)?;
    }
    if report.busiest.is_empty() {
        return Ok(());
    }
    let numbers = Numbers::default();
    let columns = heads(tongue, &["counter", "instance", "mean of all records", "max", "unit"]);
    writeln!(out, "## {}\n\n{columns}\n|---|---|--:|--:|---|", tongue.text("Busiest"))?;
    for group in &report.busiest {
        for Busy { name, mean, max } in &group.instances {
            let [title, name] = [&group.title, name].map(|text| text::escaped(text));
            let (mean, max) = (numbers.number(*mean), numbers.number(*max));
            writeln!(out, "| {title} | {name} | {mean} | {max} | {} |", group.unit)?;
        }
    }
    writeln!(out)
}

/// What changed since the logs from before.
fn changes(out: &mut impl Write, report: &Report, against: &Against, tongue: Tongue) -> io::Result<()> {
    let before = report.earlier.as_ref().map_or_else(String::new, |earlier| names(&earlier.names));
    changes_markdown(out, against, &before, (MOST, tongue))
}

fn statistics(
    out: &mut impl Write,
    object: &str,
    lines: &[&Line],
    (is_compared, tongue): (bool, Tongue),
) -> io::Result<()> {
    let numbers = Numbers::default();
    let number = |number: Option<f64>| number.map_or_else(|| "-".to_owned(), |one| numbers.number(one));
    writeln!(out, "## {}\n", text::escaped(object))?;
    let before: &[&str] = if is_compared { &["mean before"] } else { &[] };
    let columns = ["mean", "min", "max", "last", "95 %", "deviation", "per minute"];
    writeln!(out, "{}", heads(tongue, &[&["counter", "unit"], before, &columns].concat()))?;
    writeln!(out, "|---|---|{}--:|--:|--:|--:|--:|--:|--:|", if is_compared { "--:|" } else { "" })?;
    for line in lines {
        let instance = line.instance.as_ref().map_or_else(String::new, |one| format!(" ({one})"));
        let name = text::escaped(&format!("{}{instance}", line.counter));
        write!(out, "| {name} | {} |", line.unit)?;
        if is_compared {
            write!(out, " {} |", number(line.before.map(|before| before.avg)))?;
        }
        let columns: [fn(&Figures) -> Option<f64>; 7] = [
            |found| Some(found.avg),
            |found| Some(found.min),
            |found| Some(found.max),
            |found| Some(found.last),
            |found| found.p95,
            |found| found.stddev,
            |found| found.slope,
        ];
        for column in columns {
            write!(out, " {} |", number(line.figures.as_ref().and_then(column)))?;
        }
        writeln!(out)?;
    }
    writeln!(out)
}
