//! Writes a profile: the call tree and a comparison as text, and the formats of other programs.
//!
//! You pass a [`Profile`] and a writer. Deep recursion does no harm: nothing here recurses, and formats that
//! repeat the whole stack in each line cut it at [`MAX_STACK`] calls.

mod callgrind;
mod chrome;
mod diff;
mod document;
mod firefox;
mod html;
mod pprof;

pub use callgrind::callgrind;
pub use chrome::chrome;
pub use diff::{Difference, diff, differences};
pub use document::{CALL_FIELDS, document};
pub use firefox::firefox;
pub use html::{Viewer, html, viewer, viewer_document};
pub use pprof::pprof;

use crate::reader::{Call, Exact, Profile, Step, Thread};
use crate::settings::Mode;
use std::cmp::Reverse;
use std::io::{self, Write};

/// The most calls of a stack in a line of collapsed stacks; deeper ones count as the last of these.
pub const MAX_STACK: usize = 1000;

/// A program that made fewer calls than this probably has its code in other modules.
const FEW_CALLS: u64 = 1000;

/// The longest command line of a summary, in characters.
const MAX_COMMAND: usize = 160;

/// The most levels that the tree indents; deeper ones show their depth as a number.
const MAX_INDENT: usize = 40;

/// Selects what a tree shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TreeOptions {
    /// Times without the measured work of the profiler.
    pub corrected: bool,
    /// Calls with less time are left out together with all under them, in nanoseconds.
    pub least: u64,
    /// Levels that are shown; 0 for all.
    pub depth: usize,
    /// Threads that ran nothing that is shown.
    pub empty_threads: bool,
}

/// The meaning of a stack's width.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Weight {
    /// Time without callees, in nanoseconds.
    Time,
    /// The same without the measured work of the profiler.
    CorrectedTime,
    /// Calls.
    Calls,
}

/// Writes what was recorded and how that affects the program: mode, clock, cost, losses.
///
/// # Errors
///
/// Write errors of `out`.
pub fn summary(profile: &Profile, out: &mut dyn Write) -> io::Result<()> {
    let mode = match profile.mode {
        Mode::Dormant => "dormant until switched on",
        Mode::User => "user code",
        Mode::All => "everything",
    };
    writeln!(out, "process  {} {}", profile.pid, shortened(&one_line(&profile.command), MAX_COMMAND))?;
    let state = if profile.ended { "ended" } else { "running or killed" };
    writeln!(out, "runtime  {}, {state}, {}", profile.runtime_name(), time(profile.duration))?;
    if let Some(samples) = profile.samples {
        writeln!(out, "mode     {}", sampled_words(profile, samples))?;
        for line in losses(profile) {
            writeln!(out, "lost     {line}")?;
        }
        return Ok(());
    }
    let counts = match profile.exact {
        Exact::No if profile.mode == Mode::Dormant => {
            "while switched on, methods of user modules are not inlined, and all their calls are counted"
        }
        Exact::No => "calls that the compiler inlined are not counted",
        Exact::User => "counts of user modules are exact (not inlined)",
        Exact::All => "counts are exact (nothing is inlined)",
    };
    writeln!(out, "mode     {mode}; {counts}")?;
    let clock = if profile.time_stamp_counter { "time stamp counter" } else { "system clock" };
    let clock = match profile.overhead_clock {
        0.0 => clock.to_string(),
        looks => format!("{looks:.1} ns of it two looks at the {clock}"),
    };
    let (inner, outer) = (profile.overhead_inner, profile.overhead_outer);
    let range = match profile.overhead_range {
        (_, 0.0) => String::new(),
        (least, most) => format!(", {least:.1} to {most:.1} ns together"),
    };
    writeln!(
        out,
        "cost     {inner:.1} ns in each call and {outer:.1} ns in its caller{range} ({clock}); {} in \
         {} calls",
        time(profile.overhead()),
        profile.enters()
    )?;
    if profile.uncorrected > 0 {
        writeln!(
            out,
            "raw      {} places of the tree have no corrected time: the cost is not known well enough",
            profile.uncorrected
        )?;
    }
    for line in losses(profile) {
        writeln!(out, "lost     {line}")?;
    }
    let hidden = profile.methods.iter().filter(|method| method.inlined > 0);
    let (n_methods, n_never) = (hidden.clone().count(), hidden.filter(|method| method.compiled == 0).count());
    if n_methods > 0 {
        writeln!(
            out,
            "inlined  perhaps: {n_methods} methods, of which {n_never} were never compiled by themselves; \
            --exact counts all"
        )?;
    }
    if let Some(names) = framework_by_name(profile) {
        writeln!(
            out,
            "hint     {names} came with the program but count as framework because of their names; \
            --include NAMESPACE records them"
        )?;
    }
    if !profile.problem.is_empty() {
        writeln!(out, "problem  {}", one_line(&profile.problem))?;
    }
    Ok(())
}

/// What the numbers of a profile of samples mean.
fn sampled_words(profile: &Profile, samples: u64) -> String {
    let threads = profile.threads.len().max(1) as u64;
    let between = profile.duration.saturating_mul(threads).checked_div(samples).unwrap_or(0);
    format!(
        "sampled: {samples} samples of {threads} threads, one in about {} of each; numbers of calls are \
         numbers of samples, and times are estimates from them",
        time(between)
    )
}

/// The modules that came with the program and were not recorded because they are named like a framework's,
/// when hardly anything else was recorded.
fn framework_by_name(profile: &Profile) -> Option<String> {
    let selected = profile
        .settings
        .lines()
        .any(|line| line.strip_prefix("TALLYMON_PROF_INCLUDE=").is_some_and(|names| !names.is_empty()));
    if profile.mode != Mode::User || selected || profile.enters() >= FEW_CALLS {
        return None;
    }
    let own = |path: &str| {
        let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
        let name = name.strip_suffix(".dll").unwrap_or(name);
        let framework = ["Microsoft.Win32", "Microsoft.CSharp", "Microsoft.VisualBasic"];
        let named = name.starts_with("Microsoft.") && !framework.iter().any(|begin| name.starts_with(begin));
        (named && !folder.contains("/shared/Microsoft.")).then(|| name.to_string())
    };
    let mut names: Vec<String> =
        profile.modules.iter().filter(|module| !module.user).filter_map(|module| own(&module.path)).collect();
    names.dedup();
    let more = names.len().saturating_sub(3);
    names.truncate(3);
    let mut words = one_line(&names.join(", "));
    if more > 0 {
        words.push_str(&format!(" and {more} more modules"));
    }
    (!names.is_empty()).then_some(words)
}

/// What the profile lacks, a line for each kind; empty when it has everything.
pub fn losses(profile: &Profile) -> Vec<String> {
    let sum = |field: fn(&Thread) -> u64| profile.threads.iter().map(field).fold(0, u64::saturating_add);
    let mut lines = Vec::new();
    let (elsewhere, all) = (sum(|thread| thread.lost_nodes), profile.enters());
    if elsewhere > 0 {
        let part = 100.0 * elsewhere as f64 / all.max(1) as f64;
        lines.push(format!(
            "the place of {elsewhere} of {all} calls ({part:.1} %): they count for their methods, and the tree \
             has them as (elsewhere); a larger --size gives room"
        ));
    }
    let lost = [
        (profile.lost.methods, "methods, whose calls are not counted"),
        (profile.lost.threads, "threads, whose calls are not counted"),
        (profile.lost.modules, "modules"),
        (profile.lost.text, "names"),
        (profile.lost.rings, "threads without events"),
        (sum(|thread| thread.lost_events), "older events"),
        (sum(|thread| thread.lost_calls), "calls, which were too deep"),
        (sum(|thread| thread.unmatched), "ends without a beginning"),
    ];
    let found = lost.into_iter().filter(|(count, _)| *count > 0);
    lines.extend(found.map(|(count, what)| format!("{count} {what}")));
    lines
}

/// Writes the call tree of each thread: calls, time with callees, time without, and the method, callees
/// indented.
///
/// # Errors
///
/// Write errors of `out`.
pub fn tree(profile: &Profile, options: &TreeOptions, out: &mut dyn Write) -> io::Result<()> {
    let total = |call: &Call| if options.corrected { call.corrected_total } else { call.total };
    let own = |call: &Call| if options.corrected { call.corrected_own } else { call.own };
    for thread in &profile.threads {
        let Some(root) = profile.calls.get(thread.root) else { continue };
        if root.children.is_empty() && !options.empty_threads {
            continue;
        }
        writeln!(out, "thread {}", thread_name(thread))?;
        let counted = if profile.samples.is_some() { "samples" } else { "calls" };
        writeln!(out, "{counted:>12} {:>11} {:>11}  method", "total", "self")?;
        let mut depth = 0usize;
        // The depth of a hidden call; all calls below it are hidden too.
        let mut hidden: Option<usize> = None;
        let mut result = Ok(());
        profile.walk(thread.root, |call, step| {
            if step == Step::Up {
                depth = depth.saturating_sub(1);
                if hidden == Some(depth) {
                    hidden = None;
                }
                return;
            }
            let level = depth;
            depth = depth.saturating_add(1);
            if level == 0 || hidden.is_some() || result.is_err() {
                return;
            }
            if total(call) < options.least || (options.depth > 0 && level > options.depth) {
                hidden = Some(level);
                return;
            }
            result = line(out, level, profile.name(call), call, time(total(call)), time(own(call)));
        });
        result?;
    }
    Ok(())
}

/// Writes one line for each stack: its methods from the thread on with a semicolon between them, a blank, and
/// the weight. Stacks of weight 0 are left out.
///
/// # Errors
///
/// Write errors of `out`.
pub fn collapsed(profile: &Profile, weight: Weight, out: &mut dyn Write) -> io::Result<()> {
    for thread in &profile.threads {
        let mut stack = String::new();
        // The length of the stack before each open call.
        let mut lengths: Vec<usize> = Vec::new();
        let mut result = Ok(());
        profile.walk(thread.root, |call, step| {
            if step == Step::Up {
                stack.truncate(lengths.pop().unwrap_or_default());
                return;
            }
            lengths.push(stack.len());
            if lengths.len() <= MAX_STACK {
                if !stack.is_empty() {
                    stack.push(';');
                }
                if call.parent.is_none() {
                    stack.push_str(&frame(&thread_name(thread)));
                } else {
                    stack.push_str(&frame(profile.name(call)));
                }
            }
            let weight = match weight {
                Weight::Time => call.own,
                Weight::CorrectedTime => call.corrected_own,
                // Samples of a place are those of its callees too.
                Weight::Calls if profile.samples.is_some() => {
                    let callees = call.children.iter().filter_map(|child| profile.calls.get(*child));
                    callees.fold(call.enters, |own, callee| own.saturating_sub(callee.enters))
                }
                Weight::Calls => call.enters,
            };
            if weight > 0 && call.parent.is_some() && result.is_ok() {
                result = writeln!(out, "{stack} {weight}");
            }
        });
        result?;
    }
    Ok(())
}

/// Writes the file format of speedscope.app: one profile for each thread, with every place of the tree once,
/// as wide as all its calls together. The thread with the most calls is shown first.
///
/// # Errors
///
/// Write errors of `out`.
pub fn speedscope(profile: &Profile, out: &mut dyn Write) -> io::Result<()> {
    let has_calls =
        |thread: &&Thread| profile.calls.get(thread.root).is_some_and(|it| !it.children.is_empty());
    let threads: Vec<&Thread> = profile.threads.iter().filter(has_calls).collect();
    let calls = |thread: &Thread| {
        let mut sum = 0u64;
        profile.walk(thread.root, |call, step| {
            if step == Step::Down {
                sum = sum.saturating_add(call.enters);
            }
        });
        sum
    };
    let busiest = threads.iter().enumerate().min_by_key(|(_, thread)| Reverse(calls(thread)));
    let active = busiest.map_or(0, |(at, _)| at);
    write!(
        out,
        "{{\"$schema\":\"https://www.speedscope.app/file-format-schema.json\",\"exporter\":\"tallymon\","
    )?;
    write!(
        out,
        "\"name\":{},\"activeProfileIndex\":{active},\"shared\":{{\"frames\":[",
        json(&profile.command)
    )?;
    // The last frame is for methods without a record.
    for method in &profile.methods {
        write!(out, "{{\"name\":{}", json(&method.name))?;
        if let Some(module) = method.module.and_then(|module| profile.modules.get(module)) {
            write!(out, ",\"file\":{}", json(&module.path))?;
        }
        write!(out, "}},")?;
    }
    write!(out, "{{\"name\":\"(unknown method)\"}}]}},\"profiles\":[")?;
    let mut separator = "";
    for thread in threads {
        let total = profile.calls.get(thread.root).map_or(0, |root| root.total);
        write!(
            out,
            "{separator}{{\"type\":\"evented\",\"name\":{},",
            json(&format!("thread {}", thread_name(thread)))
        )?;
        write!(out, "\"unit\":\"nanoseconds\",\"startValue\":0,\"endValue\":{total},\"events\":[")?;
        events(profile, thread, out)?;
        write!(out, "]}}")?;
        separator = ",";
    }
    writeln!(out, "]}}")
}

fn events(profile: &Profile, thread: &Thread, out: &mut dyn Write) -> io::Result<()> {
    let unknown = profile.methods.len();
    // Where the next callee of each open call begins: callees follow each other from the start of their
    // caller.
    let mut starts: Vec<(u64, u64)> = Vec::new();
    let mut result = Ok(());
    let mut separator = "";
    profile.walk(thread.root, |call, step| {
        let frame = call.method.unwrap_or(unknown);
        let mut event = |kind: char, at: u64| {
            if call.parent.is_some() && result.is_ok() {
                result = write!(out, "{separator}{{\"type\":\"{kind}\",\"frame\":{frame},\"at\":{at}}}");
                separator = ",";
            }
        };
        if step == Step::Down {
            let at = starts.last().map_or(0, |(next, _)| *next);
            starts.push((at, at.saturating_add(call.total)));
            event('O', at);
        } else {
            let end = starts.pop().map_or(0, |(_, end)| end);
            event('C', end);
            if let Some((next, _)) = starts.last_mut() {
                *next = end;
            }
        }
    });
    result
}

fn line(
    out: &mut dyn Write,
    level: usize,
    name: &str,
    call: &Call,
    total: String,
    own: String,
) -> io::Result<()> {
    let indent = level.saturating_sub(1);
    let mut place = "  ".repeat(indent.min(MAX_INDENT));
    if indent > MAX_INDENT {
        place.push_str(&format!("[{level}] "));
    }
    write!(out, "{:>12} {total:>11} {own:>11}  {place}{}", call.enters, one_line(name))?;
    let notes = [
        (call.tails, "by tail call"),
        (call.unwinds, "unwound"),
        (call.dropped, "ended unseen"),
        (call.exceptions, "thrown"),
    ];
    for (count, what) in notes.into_iter().filter(|(count, _)| *count > 0) {
        write!(out, "  {count} {what}")?;
    }
    if call.open {
        write!(out, "  still running")?;
    }
    writeln!(out)
}

/// A time in nanoseconds with the unit that keeps it short.
pub fn time(nanoseconds: u64) -> String {
    let value = nanoseconds as f64;
    match nanoseconds {
        0..=999 => format!("{nanoseconds} ns"),
        1_000..=999_999 => format!("{:.2} us", value / 1e3),
        1_000_000..=999_999_999 => format!("{:.2} ms", value / 1e6),
        _ => format!("{:.3} s", value / 1e9),
    }
}

fn thread_name(thread: &Thread) -> String {
    if thread.name.is_empty() {
        thread.os_id.to_string()
    } else {
        format!("{} {}", thread.os_id, one_line(&thread.name))
    }
}

/// A name as a frame of a collapsed stack, where semicolons and line ends have a meaning.
fn frame(name: &str) -> String {
    one_line(name).replace(';', ":")
}

/// Text from a foreign file, without characters that move the cursor of a terminal.
pub(crate) fn one_line(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}

/// The beginning and the end of a text that is longer than `most` characters.
fn shortened(text: &str, most: usize) -> String {
    let length = text.chars().count();
    if length <= most {
        return text.to_string();
    }
    let half = most / 2;
    let begin: String = text.chars().take(half).collect();
    let end: String = text.chars().skip(length.saturating_sub(half)).collect();
    format!("{begin} ... {end}")
}

/// A JSON string.
fn json(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            c if c.is_control() => out.push_str(&format!("\\u{:04x}", u32::from(c))),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reader::tests::{RawNode, file, sample};

    fn text(write: impl Fn(&Profile, &mut Vec<u8>) -> io::Result<()>, bytes: &[u8]) -> String {
        let profile = Profile::from_bytes(bytes).unwrap();
        let mut out = Vec::new();
        write(&profile, &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn a_tree_indents_callees() {
        let all = text(|profile, out| tree(profile, &TreeOptions::default(), out), &sample());
        let expected = "thread 99 main
       calls       total        self  method
           1      500 ns      300 ns  N.A.Main()
           3      200 ns      150 ns    N.A.Work(int)
           2       50 ns       50 ns      N.A.Main()
";
        assert_eq!(all, expected);
        let options = TreeOptions { least: 100, corrected: true, ..TreeOptions::default() };
        let some = text(|profile, out| tree(profile, &options, out), &sample());
        assert!(some.contains("Work") && some.matches("Main()").count() == 1, "{some}");
        let options = TreeOptions { depth: 1, ..TreeOptions::default() };
        let flat = text(|profile, out| tree(profile, &options, out), &sample());
        assert_eq!(flat.lines().count(), 3);
    }

    #[test]
    fn stacks_collapse_with_their_weights() {
        let time = text(|profile, out| collapsed(profile, Weight::Time, out), &sample());
        let expected = "99 main;N.A.Main() 300
99 main;N.A.Main();N.A.Work(int) 150
99 main;N.A.Main();N.A.Work(int);N.A.Main() 50
";
        assert_eq!(time, expected);
        let calls = text(|profile, out| collapsed(profile, Weight::Calls, out), &sample());
        assert!(calls.ends_with(";N.A.Main() 2\n"), "{calls}");
        let names = file(&["A;\n\0\0b\0\0()"], &[RawNode(0, 0, 0, 2, 0), RawNode(1, 1, 2, 0, 0)]);
        let odd = text(|profile, out| collapsed(profile, Weight::CorrectedTime, out), &names);
        assert_eq!(odd, "", "the profiler's own work is all of it");
        let odd = text(|profile, out| collapsed(profile, Weight::Time, out), &names);
        assert_eq!(odd, "99 main;A: .b() 1\n");
    }

    #[test]
    fn speedscope_opens_and_closes_each_place_in_order() {
        let json = text(|profile, out| speedscope(profile, out), &sample());
        let events = json.split("\"events\":[").nth(1).unwrap();
        let expected = concat!(
            "{\"type\":\"O\",\"frame\":0,\"at\":0},{\"type\":\"O\",\"frame\":1,\"at\":0},",
            "{\"type\":\"O\",\"frame\":0,\"at\":0},{\"type\":\"C\",\"frame\":0,\"at\":50},",
            "{\"type\":\"C\",\"frame\":1,\"at\":200},{\"type\":\"C\",\"frame\":0,\"at\":500}]}]}\n"
        );
        assert_eq!(events, expected);
        assert!(json.contains(
            "\"name\":\"thread 99 main\",\"unit\":\"nanoseconds\",\"startValue\":0,\"endValue\":500"
        ));
        assert!(json.contains("{\"name\":\"N.A.Work(int)\",\"file\":\"/app/a.dll\"}"));
    }

    #[test]
    fn the_summary_says_what_the_mode_hides_and_costs() {
        let words = text(|profile, out| summary(profile, out), &sample());
        assert!(
            words.contains("mode     user code; calls that the compiler inlined are not counted"),
            "{words}"
        );
        assert!(words.contains(
            "cost     2.0 ns in each call and 1.0 ns in its caller (time stamp counter); 18 ns in 6"
        ));
        assert!(!words.contains("lost"));
    }

    #[test]
    fn deep_recursion_is_written_without_recursion() {
        let mut nodes = vec![RawNode(0, 0, 0, 2, 0)];
        nodes.extend((0..150).map(|n| RawNode(1, 1, 1000 - n, n as u32 + 3, 0)));
        let bytes = file(&["A\0\0b\0\0()"], &nodes);
        let all = text(|profile, out| tree(profile, &TreeOptions::default(), out), &bytes);
        assert_eq!(all.lines().count(), 152);
        assert!(all.lines().last().unwrap().contains("[150] A.b()"), "{all}");
    }

    #[test]
    fn long_commands_are_shortened() {
        assert_eq!(shortened("short", 5), "short");
        assert_eq!(shortened("a rather long text", 8), "a ra ... text");
    }

    #[test]
    fn text_is_escaped() {
        assert_eq!(json("a\"\\\n\u{1}"), "\"a\\\"\\\\\\u000a\\u0001\"");
        assert_eq!(
            [time(999), time(1500), time(2_000_000), time(3_000_000_000)],
            ["999 ns", "1.50 us", "2.00 ms", "3.000 s"]
        );
    }
}
