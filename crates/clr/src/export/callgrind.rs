//! Writes callgrind's format, which KCachegrind, QCachegrind and `callgrind_annotate` read.
//!
//! The format has a cost for each function and each pair of caller and callee, so the paths of the tree are
//! added up. Of recursive calls, only the outermost counts for a pair's time; otherwise that time would
//! exceed the program's.

use super::{one_line, thread_name};
use crate::reader::{Call, Method, Profile, Step};
use std::collections::{BTreeMap, HashMap};
use std::io::{self, Write};

/// A function of the output: a method, or a thread.
type Place = usize;

/// Calls from one function to another.
#[derive(Default)]
struct Edge {
    calls: u64,
    total: u64,
    /// How often it is open on the way to the current call.
    open: u32,
}

/// Writes callgrind's format with nanoseconds as its event; calls are exact.
///
/// # Errors
///
/// Write errors of `out`.
pub fn callgrind(profile: &Profile, out: &mut dyn Write) -> io::Result<()> {
    // Methods first, then the unknown method, then threads.
    let unknown: Place = profile.methods.len();
    let place = |call: &Call, thread: usize| match (call.method, call.parent) {
        (Some(method), _) => method,
        (None, Some(_)) => unknown,
        (None, None) => unknown.saturating_add(1).saturating_add(thread),
    };
    let mut own: BTreeMap<Place, u64> = BTreeMap::new();
    let mut edges: HashMap<(Place, Place), Edge> = HashMap::new();
    for (number, thread) in profile.threads.iter().enumerate() {
        let mut path: Vec<Place> = Vec::new();
        profile.walk(thread.root, |call, step| {
            let here = place(call, number);
            if step == Step::Up {
                path.pop();
                if let Some(edge) = path.last().and_then(|caller| edges.get_mut(&(*caller, here))) {
                    edge.open = edge.open.saturating_sub(1);
                }
                return;
            }
            let cost = own.entry(here).or_default();
            *cost = cost.saturating_add(call.own);
            if let Some(caller) = path.last() {
                let edge = edges.entry((*caller, here)).or_default();
                edge.calls = edge.calls.saturating_add(call.enters);
                if edge.open == 0 {
                    edge.total = edge.total.saturating_add(call.total);
                }
                edge.open = edge.open.saturating_add(1);
            }
            path.push(here);
        });
    }
    let mut callees: BTreeMap<Place, Vec<(Place, &Edge)>> = BTreeMap::new();
    for ((caller, callee), edge) in &edges {
        callees.entry(*caller).or_default().push((*callee, edge));
    }
    writeln!(out, "# callgrind format\nversion: 1\ncreator: tallymon")?;
    writeln!(out, "pid: {}\ncmd: {}", profile.pid, one_line(&profile.command))?;
    writeln!(out, "positions: line\nevents: ns")?;
    let summary = own.values().copied().fold(0, u64::saturating_add);
    writeln!(out, "summary: {summary}\n")?;
    let names = Names { profile, functions: functions(profile), unknown };
    for (place, cost) in &own {
        writeln!(out, "fl={}\nfn={}\n0 {cost}", names.file(*place), names.function(*place))?;
        let mut called = callees.remove(place).unwrap_or_default();
        called.sort_unstable_by_key(|(callee, _)| *callee);
        for (callee, edge) in called {
            writeln!(out, "cfi={}\ncfn={}", names.file(callee), names.function(callee))?;
            writeln!(out, "calls={} 0\n0 {}", edge.calls, edge.total)?;
        }
        writeln!(out)?;
    }
    writeln!(out, "totals: {summary}")
}

/// Names of files and functions.
struct Names<'a> {
    profile: &'a Profile,
    functions: Vec<String>,
    unknown: Place,
}

impl Names<'_> {
    fn file(&self, place: Place) -> String {
        let module = self.profile.methods.get(place).and_then(|method| method.module);
        match module.and_then(|module| self.profile.modules.get(module)) {
            Some(module) if !module.path.is_empty() => one_line(&module.path),
            _ => "???".into(),
        }
    }

    fn function(&self, place: Place) -> String {
        if let Some(name) = self.functions.get(place) {
            return name.clone();
        }
        let thread = place.checked_sub(self.unknown.saturating_add(1));
        match thread.and_then(|thread| self.profile.threads.get(thread)) {
            Some(thread) => format!("thread {}", thread_name(thread)),
            None => "(unknown method)".into(),
        }
    }
}

/// The names of the methods; when methods share a name, such as instantiations, the later ones get a number.
fn functions(profile: &Profile) -> Vec<String> {
    let mut seen: HashMap<&str, u32> = HashMap::new();
    let name = |method: &Method| one_line(&method.name);
    let mut names = Vec::new();
    for method in &profile.methods {
        let count = seen.entry(&method.name).or_default();
        *count = count.saturating_add(1);
        names.push(if *count == 1 { name(method) } else { format!("{} #{count}", name(method)) });
    }
    names
}
