//! `tally info`: summarizes a performance log.

use std::io::{self, Write};

use serde_json::json;
use tallymon::clock::rfc3339;
use tallymon::log::info::{Info, info_of};

use super::relog::{in_range, reading};
use crate::arguments::{self, Common};
use crate::border;
use crate::exit::{Failure, Kind};
use crate::progress::Progress;
use crate::words::visible;

pub(crate) fn run(_common: &Common, arguments: &arguments::Info) -> Result<(), Failure> {
    let options = reading(&arguments.reading)?;
    let progress = Progress::of(&options.bytes_read, &[&arguments.log], 1);
    let info = info_of(&arguments.log, &in_range(&arguments.range)?, &options)?;
    drop(progress);
    let mut out = border::stdout();
    if arguments.json {
        writeln!(out, "{}", border::json(&as_json(&info, arguments.columns)))?;
    } else {
        print(&mut out, &info, arguments.columns)?;
    }
    if info.notes.damage_count > 0 { Err(Failure::silent(Kind::BadFile)) } else { Ok(()) }
}

/// How many counters are listed without `--columns`: those that take the most bytes.
const LARGEST: usize = 10;

fn print(out: &mut impl Write, info: &Info, columns: bool) -> io::Result<()> {
    let mut line = |title: &str, text: String| writeln!(out, "{title:>10}  {}", visible(&text));
    line("log", format!("{}, {}", info.path.display(), info.format.info().description))?;
    line("size", format!("{} bytes", info.bytes))?;
    let (zone, bias) = &info.zone;
    let unknown = if info.zone_unknown { "unknown, taken as " } else { "" };
    line("zone", format!("{unknown}{zone}, UTC = local time {bias:+} minutes"))?;
    if let Some((first, last)) = info.first.zip(info.last) {
        line("range", format!("{} to {}", info.clock.text(first), info.clock.text(last)))?;
    }
    let interval = info.interval.map_or(String::new(), |seconds| format!(", usually {seconds:.3} s apart"));
    line("records", format!("{}{interval}", info.records))?;
    let each = info.bytes_per_value.map_or(String::new(), |bytes| format!(", {bytes:.1} bytes each"));
    line("values", format!("{}{each}", info.values))?;
    for host in &info.hosts {
        let name = if host.name.is_empty() { "(no name)" } else { &host.name };
        line("host", format!("{name}: {} columns", host.columns))?;
        for restart in &host.restarts {
            line("", format!("restarted before {}", info.clock.text(*restart)))?;
        }
    }
    for object in &info.objects {
        let counts = format!(
            "{} counters, {} instances, {} columns",
            object.counters, object.instances, object.columns
        );
        line("object", format!("{}: {counts}", object.name))?;
    }
    let shown = if columns { info.counters.len() } else { LARGEST };
    for counter in info.counters.iter().take(shown) {
        let Some(bytes) = counter.bytes else { break };
        let text =
            format!("{bytes} bytes in {} values: {}\\{}", counter.values, counter.object, counter.name);
        line("counter", text)?;
    }
    let rest = info.counters.iter().skip(shown).filter_map(|counter| counter.bytes);
    let (count, bytes) =
        rest.fold((0u64, 0u64), |(count, sum), bytes| (count.saturating_add(1), sum.saturating_add(bytes)));
    if count > 0 {
        line("counter", format!("{bytes} bytes in {count} more counters; --columns lists them"))?;
    }
    for bad in &info.bad {
        line("missing", format!("{} values: {} ({})", bad.count, bad.reason, bad.reason.pdh_status().name))?;
    }
    if info.backward_records > 0 {
        line("backward", format!("{} records are older than the one before them", info.backward_records))?;
    }
    for gap in &info.gaps {
        line("gap", format!("{:.3} s after {}", gap.seconds, info.clock.text(gap.after)))?;
    }
    let untold = info.gap_count.saturating_sub(info.gaps.len() as u64);
    if untold > 0 {
        line("gap", format!("{untold} more"))?;
    }
    for damage in &info.notes.damage {
        line("damaged", damage.to_string())?;
    }
    for remark in &info.notes.remarks {
        line("note", remark.clone())?;
    }
    if columns {
        for path in &info.columns {
            line("column", path.clone())?;
        }
    }
    Ok(())
}

fn as_json(info: &Info, columns: bool) -> serde_json::Value {
    let mut value = json!({
        "path": info.path.display().to_string(),
        "format": info.format.info().name,
        "bytes": info.bytes,
        "zone": info.zone.0,
        "bias": info.zone.1,
        "zone_unknown": info.zone_unknown,
        "first": info.first.map(rfc3339),
        "last": info.last.map(rfc3339),
        "records": info.records,
        "interval": info.interval,
        "values": info.values,
        "bytes_per_value": info.bytes_per_value,
        "backward_records": info.backward_records,
        "hosts": info.hosts.iter().map(|host| json!({
            "name": host.name,
            "columns": host.columns,
            "restarts": host.restarts.iter().copied().map(rfc3339).collect::<Vec<_>>(),
        })).collect::<Vec<_>>(),
        "objects": info.objects.iter().map(|object| json!({
            "name": object.name,
            "counters": object.counters,
            "instances": object.instances,
            "columns": object.columns,
        })).collect::<Vec<_>>(),
        "counters": info.counters.iter().map(|counter| json!({
            "object": counter.object,
            "name": counter.name,
            "columns": counter.columns,
            "values": counter.values,
            "bytes": counter.bytes,
        })).collect::<Vec<_>>(),
        "missing": info.bad.iter().map(|bad| json!({
            "reason": bad.reason.to_string(),
            "status": bad.reason.pdh_status().name,
            "count": bad.count,
        })).collect::<Vec<_>>(),
        "gaps": info.gaps.iter().map(|gap| json!({
            "after": rfc3339(gap.after),
            "seconds": gap.seconds,
        })).collect::<Vec<_>>(),
        "gap_count": info.gap_count,
        "damage": info.notes.damage.iter().map(|damage| damage.to_string()).collect::<Vec<_>>(),
        "remarks": info.notes.remarks,
    });
    if columns && let Some(object) = value.as_object_mut() {
        object.insert("columns".into(), json!(info.columns));
    }
    value
}
