//! Writes the processed profile format of profiler.firefox.com, version 55.
//!
//! Each place of a thread's call tree is one stack and one sample, whose weight is its own time in
//! milliseconds. The samples' times follow each other, because the file does not have the times of single
//! calls.

use super::{json, thread_name};
use crate::reader::{Profile, Thread};
use std::io::{self, Write};

/// Writes the JSON that profiler.firefox.com opens.
///
/// # Errors
///
/// Write errors of `out`.
pub fn firefox(profile: &Profile, out: &mut dyn Write) -> io::Result<()> {
    write!(out, "{{\"meta\":{{\"version\":24,\"preprocessedProfileVersion\":55,\"processType\":0")?;
    write!(out, ",\"product\":{},\"interval\":1,\"debug\":false", json(&profile.command))?;
    write!(out, ",\"startTime\":{},\"symbolicated\":true", profile.started / 1_000_000)?;
    write!(out, ",\"stackwalk\":0,\"pausedRanges\":[],\"usesOnlyOneStackType\":true")?;
    write!(out, ",\"sourceCodeIsNotOnSearchfox\":true,\"markerSchema\":[]")?;
    write!(out, ",\"extensions\":{{\"length\":0,\"baseURL\":[],\"id\":[],\"name\":[]}}")?;
    write!(out, ",\"sampleUnits\":{{\"time\":\"ms\",\"eventDelay\":\"ms\",\"threadCPUDelta\":\"\u{b5}s\"}}")?;
    write!(out, ",\"categories\":[{}]", CATEGORIES)?;
    write!(out, "}},\"libs\":[],\"pages\":[],\"profilerOverhead\":[],\"counters\":[],\"threads\":[")?;
    let mut separator = "";
    let seen =
        |thread: &&Thread| profile.calls.get(thread.root).is_some_and(|root| !root.children.is_empty());
    for (number, thread) in profile.threads.iter().filter(seen).enumerate() {
        write!(out, "{separator}")?;
        separator = ",\n";
        self::thread(profile, thread, number == 0, out)?;
    }
    writeln!(out, "]}}")
}

/// The user's modules, and those of the framework.
const CATEGORIES: &str = concat!(
    "{\"name\":\"User\",\"color\":\"blue\",\"subcategories\":[\"Other\"]},",
    "{\"name\":\"Framework\",\"color\":\"grey\",\"subcategories\":[\"Other\"]}"
);

fn thread(profile: &Profile, thread: &Thread, is_main: bool, out: &mut dyn Write) -> io::Result<()> {
    let unknown = profile.methods.len();
    let n_methods = unknown.saturating_add(1);
    let mut prefixes = Vec::new();
    let mut frames = Vec::new();
    let (mut stacks, mut times, mut weights) = (Vec::new(), Vec::new(), Vec::new());
    let mut at = thread.first;
    // The stacks of the calls that are open on the way, callers first.
    let mut path: Vec<usize> = Vec::new();
    profile.walk(thread.root, |call, step| {
        if call.parent.is_none() {
            return;
        }
        if step == crate::reader::Step::Up {
            path.pop();
            return;
        }
        let stack = prefixes.len();
        prefixes.push(path.last().map_or_else(|| "null".into(), usize::to_string));
        frames.push(call.method.unwrap_or(unknown).to_string());
        path.push(stack);
        if call.own > 0 {
            stacks.push(stack.to_string());
            times.push(milliseconds(at));
            weights.push(milliseconds(call.own));
            at = at.saturating_add(call.own);
        }
    });
    let (pid, tid, end) = (profile.pid, thread.os_id, milliseconds(profile.duration));
    write!(out, "{{\"name\":{},\"isMainThread\":{is_main}", json(&thread_name(thread)))?;
    write!(out, ",\"pid\":\"{pid}\",\"tid\":\"{tid}\",\"processName\":{}", json(&profile.command))?;
    write!(out, ",\"processType\":\"default\",\"processStartupTime\":0,\"processShutdownTime\":{end}")?;
    write!(out, ",\"registerTime\":{},\"unregisterTime\":null", milliseconds(thread.first))?;
    write!(out, ",\"pausedRanges\":[],\"showMarkersInTimeline\":false")?;
    write!(out, ",\"samples\":{{\"length\":{},\"weightType\":\"tracing-ms\"", stacks.len())?;
    write!(out, ",\"stack\":[{}],\"time\":[{}]", stacks.join(","), times.join(","))?;
    write!(out, ",\"weight\":[{}]}}", weights.join(","))?;
    write!(out, ",\"stackTable\":{{\"length\":{}", prefixes.len())?;
    write!(out, ",\"prefix\":[{}],\"frame\":[{}]}}", prefixes.join(","), frames.join(","))?;
    let same = |value: &str| vec![value; n_methods].join(",");
    let count = || (0..n_methods).map(|n| n.to_string()).collect::<Vec<_>>().join(",");
    let is_user = |module: Option<usize>| {
        module.and_then(|module| profile.modules.get(module)).is_none_or(|module| module.user)
    };
    let mut categories: Vec<&str> =
        profile.methods.iter().map(|method| if is_user(method.module) { "0" } else { "1" }).collect();
    categories.push("0");
    write!(out, ",\"frameTable\":{{\"length\":{n_methods},\"address\":[{}]", same("-1"))?;
    write!(out, ",\"inlineDepth\":[{}],\"category\":[{}]", same("0"), categories.join(","))?;
    write!(out, ",\"subcategory\":[{}],\"func\":[{}]", same("0"), count())?;
    write!(out, ",\"nativeSymbol\":[{}],\"innerWindowID\":[{}]", same("null"), same("0"))?;
    write!(out, ",\"line\":[{}],\"column\":[{}]}}", same("null"), same("null"))?;
    // The table of texts has the names first, then the paths of modules.
    let files = profile.methods.iter().map(|method| match method.module {
        Some(module) => n_methods.saturating_add(module).to_string(),
        None => "null".into(),
    });
    let files: Vec<String> = files.chain(["null".to_string()]).collect();
    write!(out, ",\"funcTable\":{{\"length\":{n_methods},\"name\":[{}]", count())?;
    write!(out, ",\"isJS\":[{}],\"relevantForJS\":[{}]", same("false"), same("false"))?;
    write!(out, ",\"resource\":[{}],\"fileName\":[{}]", same("-1"), files.join(","))?;
    write!(out, ",\"lineNumber\":[{}],\"columnNumber\":[{}]}}", same("null"), same("null"))?;
    write!(out, ",\"resourceTable\":{{\"length\":0,\"lib\":[],\"name\":[],\"host\":[],\"type\":[]}}")?;
    write!(out, ",\"nativeSymbols\":{{\"length\":0,\"address\":[],\"functionSize\":[]")?;
    write!(out, ",\"libIndex\":[],\"name\":[]}}")?;
    write!(out, ",\"markers\":{{\"length\":0,\"category\":[],\"data\":[],\"endTime\":[]")?;
    write!(out, ",\"name\":[],\"phase\":[],\"startTime\":[]}}")?;
    let names = profile.methods.iter().map(|method| json(&method.name));
    let texts = names
        .chain([json("(unknown method)")])
        .chain(profile.modules.iter().map(|module| json(&module.path)))
        .collect::<Vec<_>>();
    write!(out, ",\"stringArray\":[{}]}}", texts.join(","))
}

/// Nanoseconds as milliseconds.
fn milliseconds(nanoseconds: u64) -> String {
    format!("{}.{:06}", nanoseconds / 1_000_000, nanoseconds % 1_000_000)
}
