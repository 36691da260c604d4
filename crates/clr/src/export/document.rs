//! Writes all of a profile as one JSON document; `docs/formats/profile.md` describes it.
//!
//! Times are in nanoseconds. The calls of a thread are rows of numbers in the order of [`CALL_FIELDS`],
//! because there may be hundreds of thousands.

use super::json;
use crate::reader::{Call, EventKind, Exact, Method, MethodTotal, Profile, Thread};
use crate::settings::Mode;
use std::io::{self, Write};

/// The columns of a row of `calls`; -1 means none.
pub const CALL_FIELDS: [&str; 15] = [
    "method",
    "parent",
    "enters",
    "leaves",
    "tails",
    "unwinds",
    "dropped",
    "exceptions",
    "total",
    "own",
    "correctedTotal",
    "correctedOwn",
    "shortest",
    "longest",
    "open",
];

/// Writes the whole profile as one JSON document.
///
/// # Errors
///
/// Write errors of `out`.
pub fn document(profile: &Profile, out: &mut dyn Write) -> io::Result<()> {
    write_document(profile, usize::MAX, out)
}

/// The same with the newest events only: about so many of all threads together.
pub(super) fn write_document(profile: &Profile, events: usize, out: &mut dyn Write) -> io::Result<()> {
    let with_events = profile.threads.iter().filter(|thread| !thread.events.is_empty()).count();
    let events = events.div_ceil(with_events.max(1));
    write!(out, "{{\"process\":")?;
    process(profile, out)?;
    write!(out, ",\"modules\":[")?;
    list(&profile.modules, out, |module, out| {
        write!(out, "{{\"path\":{},\"user\":{}", json(&module.path), module.user)?;
        write!(out, ",\"unloaded\":{},\"domain\":{}}}", module.unloaded, json(&module.domain))
    })?;
    write!(out, "],\"methods\":[")?;
    let mut totals: Vec<Option<MethodTotal>> = vec![None; profile.methods.len()];
    for total in profile.method_totals() {
        if let Some(slot) = totals.get_mut(total.method) {
            *slot = Some(total);
        }
    }
    list(profile.methods.iter().zip(&totals), out, |(method, total), out| {
        self::method(method, total.as_ref(), out)
    })?;
    write!(out, "],\"threads\":[")?;
    list(&profile.threads, out, |thread, out| self::thread(thread, events, out))?;
    write!(out, "],\"callFields\":[")?;
    list(CALL_FIELDS, out, |name, out| write!(out, "\"{name}\""))?;
    write!(out, "],\"calls\":[")?;
    list(&profile.calls, out, call)?;
    writeln!(out, "]}}")
}

/// Writes elements with commas between them.
fn list<T>(
    elements: impl IntoIterator<Item = T>,
    out: &mut dyn Write,
    mut element: impl FnMut(T, &mut dyn Write) -> io::Result<()>,
) -> io::Result<()> {
    for (n, item) in elements.into_iter().enumerate() {
        if n > 0 {
            out.write_all(b",")?;
        }
        element(item, out)?;
    }
    Ok(())
}

fn process(profile: &Profile, out: &mut dyn Write) -> io::Result<()> {
    let mode = match profile.mode {
        Mode::Dormant => "dormant",
        Mode::User => "user",
        Mode::All => "all",
    };
    let exact = match profile.exact {
        Exact::No => "no",
        Exact::User => "user",
        Exact::All => "all",
    };
    let [major, minor, build, revision] = profile.runtime;
    write!(out, "{{\"pid\":{},\"command\":{}", profile.pid, json(&profile.command))?;
    write!(out, ",\"runtime\":\"{major}.{minor}.{build}.{revision}\",\"ended\":{}", profile.ended)?;
    write!(out, ",\"started\":{},\"duration\":{}", profile.started, profile.duration)?;
    write!(out, ",\"mode\":\"{mode}\",\"exact\":\"{exact}\",\"hooksOn\":{}", profile.hooks_on)?;
    if let Some(samples) = profile.samples {
        write!(out, ",\"samples\":{samples}")?;
    }
    write!(out, ",\"inliningCounted\":{}", profile.inlining_counted)?;
    write!(out, ",\"unwindEvents\":{}", profile.unwind_events)?;
    write!(out, ",\"timeStampCounter\":{}", profile.time_stamp_counter)?;
    write!(out, ",\"settings\":{},\"problem\":{}", json(&profile.settings), json(&profile.problem))?;
    write!(out, ",\"overheadInner\":{:.3}", profile.overhead_inner)?;
    write!(out, ",\"overheadOuter\":{:.3}", profile.overhead_outer)?;
    let (least, most) = profile.overhead_range;
    write!(out, ",\"overheadLeast\":{least:.3},\"overheadMost\":{most:.3}")?;
    write!(out, ",\"uncorrected\":{}", profile.uncorrected)?;
    write!(out, ",\"overheadClock\":{:.3}", profile.overhead_clock)?;
    write!(out, ",\"overhead\":{},\"enters\":{}", profile.overhead(), profile.enters())?;
    let lost = profile.lost;
    write!(out, ",\"lost\":{{\"methods\":{},\"threads\":{}", lost.methods, lost.threads)?;
    write!(out, ",\"modules\":{},\"text\":{},\"rings\":{}}}", lost.modules, lost.text, lost.rings)?;
    write!(out, ",\"runtimeName\":{},\"losses\":[", json(&profile.runtime_name()))?;
    list(super::losses(profile), out, |line, out| write!(out, "{}", json(&line)))?;
    write!(out, "]}}")
}

fn method(method: &Method, total: Option<&MethodTotal>, out: &mut dyn Write) -> io::Result<()> {
    write!(out, "{{\"name\":{},\"raw\":{}", json(&method.name), json(&method.raw.raw()))?;
    write!(out, ",\"module\":{},\"token\":{}", index(method.module), method.token)?;
    write!(out, ",\"compiled\":{},\"inlined\":{}", method.compiled, method.inlined)?;
    write!(out, ",\"inlinedInto\":{}", index(method.inlined_into))?;
    let more = &method.elsewhere;
    if more.enters > 0 {
        write!(out, ",\"elsewhere\":{{\"calls\":{},\"total\":{}", more.enters, more.total)?;
        write!(out, ",\"own\":{},\"longest\":{}}}", more.own, more.longest)?;
    }
    let Some(total) = total else { return write!(out, ",\"calls\":0}}") };
    write!(out, ",\"calls\":{},\"tails\":{},\"unwinds\":{}", total.enters, total.tails, total.unwinds)?;
    write!(out, ",\"exceptions\":{},\"total\":{},\"own\":{}", total.exceptions, total.total, total.own)?;
    write!(out, ",\"correctedTotal\":{}", total.corrected_total)?;
    write!(out, ",\"correctedOwn\":{}", total.corrected_own)?;
    write!(out, ",\"shortest\":{},\"longest\":{}", number(total.shortest), number(total.longest))?;
    for (name, part) in [("p50", 0.5), ("p90", 0.9), ("p99", 0.99)] {
        write!(out, ",\"{name}\":{}", number(total.percentile(part)))?;
    }
    write!(out, ",\"histogram\":[")?;
    list(&total.histogram, out, |(end, count), out| write!(out, "[{end},{count}]"))?;
    write!(out, "]}}")
}

fn thread(thread: &Thread, most: usize, out: &mut dyn Write) -> io::Result<()> {
    write!(out, "{{\"id\":{},\"name\":{},\"ended\":{}", thread.os_id, json(&thread.name), thread.ended)?;
    write!(out, ",\"root\":{},\"first\":{}", thread.root, thread.first)?;
    write!(out, ",\"exceptions\":{},\"lostCalls\":{}", thread.exceptions, thread.lost_calls)?;
    write!(out, ",\"lostNodes\":{},\"unmatched\":{}", thread.lost_nodes, thread.unmatched)?;
    let older = thread.events.len().saturating_sub(most);
    let lost = thread.lost_events.saturating_add(older as u64);
    write!(out, ",\"lostEvents\":{lost},\"events\":[")?;
    let events = thread.events.get(older..).unwrap_or_default();
    list(events, out, |event, out| {
        let kind = match event.kind {
            EventKind::Enter => "enter",
            EventKind::Leave => "leave",
            EventKind::Tail => "tail",
            EventKind::Unwind => "unwind",
            EventKind::Drop => "drop",
            EventKind::Throw => "throw",
        };
        write!(out, "[{},{},\"{kind}\"]", event.at, index(event.method))
    })?;
    write!(out, "]}}")
}

fn call(call: &Call, out: &mut dyn Write) -> io::Result<()> {
    write!(out, "[{},{},{}", index(call.method), index(call.parent), call.enters)?;
    write!(out, ",{},{},{},{}", call.leaves, call.tails, call.unwinds, call.dropped)?;
    write!(out, ",{},{},{}", call.exceptions, call.total, call.own)?;
    write!(out, ",{},{}", call.corrected_total, call.corrected_own)?;
    write!(out, ",{},{}", number(call.shortest), number(call.longest))?;
    write!(out, ",{}]", u8::from(call.open))
}

/// An index, -1 for none.
fn index(value: Option<usize>) -> String {
    value.map_or_else(|| "-1".into(), |value| value.to_string())
}

/// A number, -1 for none.
fn number(value: Option<u64>) -> String {
    value.map_or_else(|| "-1".into(), |value| value.to_string())
}
