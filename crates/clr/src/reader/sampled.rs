//! Makes a profile of samples: what a thread ran at some moments instead of every call.

use std::collections::{BTreeMap, HashMap};

use super::{Call, Elsewhere, Exact, Lost, Method, Module, Profile, Thread};
use crate::names::RawName;
use crate::settings::Mode;

/// The longest time that one sample stands for, in nanoseconds: what is longer was not sampled.
const LONGEST: u64 = 1_000_000_000;

/// A program that was sampled.
#[derive(Debug, Clone, Default)]
pub struct SampledProgram {
    /// Process id.
    pub pid: u32,
    /// Nanoseconds from 1970 to the start.
    pub started: u64,
    /// Nanoseconds from the start to the end.
    pub duration: u64,
    /// Major, minor, build and revision number of the runtime.
    pub runtime: [u16; 4],
    /// The command line.
    pub command: String,
    /// What did not work, in words.
    pub problem: String,
    /// The modules.
    pub modules: Vec<Module>,
    /// The methods.
    pub methods: Vec<SampledMethod>,
}

/// A method of a program that was sampled.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SampledMethod {
    /// Its name as in metadata.
    pub raw: RawName,
    /// Where it belongs in the modules.
    pub module: Option<usize>,
    /// Its metadata token.
    pub token: u32,
}

/// Collects samples as call trees.
#[derive(Debug, Default)]
pub struct SampledTree {
    nodes: Vec<Node>,
    places: HashMap<(usize, usize), usize>,
    threads: BTreeMap<u32, Last>,
    samples: u64,
}

#[derive(Debug)]
struct Node {
    method: Option<usize>,
    parent: Option<usize>,
    samples: u64,
    own: u64,
}

/// The last sample of a thread.
#[derive(Debug)]
struct Last {
    root: usize,
    first: u64,
    at: u64,
    place: usize,
    samples: u64,
}

impl SampledTree {
    /// Adds a sample of a thread: the moment in nanoseconds from the start, and the methods on its stack, the
    /// outermost first. The samples of a thread come in the order of their times. The time until the next one
    /// belongs to the innermost method.
    pub fn add(&mut self, thread: u32, at: u64, stack: impl IntoIterator<Item = usize>) {
        self.samples = self.samples.saturating_add(1);
        let nodes = &mut self.nodes;
        let last = self.threads.entry(thread).or_insert_with(|| {
            nodes.push(Node { method: None, parent: None, samples: 0, own: 0 });
            let root = nodes.len().saturating_sub(1);
            Last { root, first: at, at, place: root, samples: 0 }
        });
        let time = at.saturating_sub(last.at).min(LONGEST);
        if let Some(node) = nodes.get_mut(last.place) {
            node.own = node.own.saturating_add(time);
        }
        let mut place = last.root;
        for method in stack {
            place = *self.places.entry((place, method)).or_insert_with(|| {
                nodes.push(Node { method: Some(method), parent: Some(place), samples: 0, own: 0 });
                nodes.len().saturating_sub(1)
            });
            if let Some(node) = nodes.get_mut(place) {
                node.samples = node.samples.saturating_add(1);
            }
        }
        last.samples = last.samples.saturating_add(1);
        (last.at, last.place) = (at, place);
    }

    /// The profile of all samples.
    pub fn finish(mut self, program: SampledProgram) -> Profile {
        for last in self.threads.values() {
            // What the last sample stands for is not known: the mean of the others.
            let intervals = last.samples.saturating_sub(1);
            let mean = last.at.saturating_sub(last.first).checked_div(intervals).unwrap_or(0).min(LONGEST);
            if let Some(node) = self.nodes.get_mut(last.place) {
                node.own = node.own.saturating_add(mean);
            }
        }
        let mut callees: Vec<Vec<usize>> = vec![Vec::new(); self.nodes.len()];
        for (at, node) in self.nodes.iter().enumerate() {
            if let Some(callees) = node.parent.and_then(|parent| callees.get_mut(parent)) {
                callees.push(at);
            }
        }
        let mut calls: Vec<Call> = Vec::with_capacity(self.nodes.len());
        let mut threads = Vec::new();
        for (id, last) in &self.threads {
            let root = calls.len();
            self.place_calls(last.root, &callees, &mut calls);
            threads.push(thread(*id, root, last.first));
        }
        add_up(&mut calls);
        let methods = program.methods.into_iter().zip(1..).map(|(method, number)| Method {
            number,
            name: method.raw.display(),
            raw: method.raw,
            module: method.module,
            token: method.token,
            compiled: 1,
            inlined: 0,
            inlined_into: None,
            elsewhere: Elsewhere::default(),
        });
        Profile {
            pid: program.pid,
            ended: true,
            mode: Mode::All,
            hooks_on: false,
            asked: false,
            exact: Exact::No,
            inlining_counted: false,
            unwind_events: false,
            time_stamp_counter: false,
            started: program.started,
            duration: program.duration,
            runtime: program.runtime,
            command: program.command,
            settings: String::new(),
            problem: program.problem,
            overhead_inner: 0.0,
            overhead_outer: 0.0,
            overhead_range: (0.0, 0.0),
            uncorrected: 0,
            overhead_clock: 0.0,
            lost: Lost::default(),
            modules: program.modules,
            methods: methods.collect(),
            threads,
            calls,
            samples: Some(self.samples),
            elsewhere: None,
        }
    }

    /// Adds the calls from a node on, callers before callees, those of a thread together.
    fn place_calls(&self, root: usize, callees: &[Vec<usize>], calls: &mut Vec<Call>) {
        let mut open = vec![(root, None)];
        while let Some((at, parent)) = open.pop() {
            let Some(node) = self.nodes.get(at) else { continue };
            let place = calls.len();
            if let Some(caller) = parent.and_then(|parent: usize| calls.get_mut(parent)) {
                caller.children.push(place);
            }
            calls.push(Call {
                method: node.method,
                parent,
                enters: node.samples,
                leaves: node.samples,
                own: node.own,
                corrected_own: node.own,
                ..Call::default()
            });
            let below = callees.get(at).map(Vec::as_slice).unwrap_or_default();
            open.extend(below.iter().rev().map(|callee| (*callee, Some(place))));
        }
    }
}

/// Adds the times of callees to their callers, which come before them.
fn add_up(calls: &mut [Call]) {
    for at in (0..calls.len()).rev() {
        let Some(call) = calls.get_mut(at) else { continue };
        call.total = call.total.saturating_add(call.own);
        (call.corrected_total, call.ended_total) = (call.total, call.total);
        let (parent, total) = (call.parent, call.total);
        if let Some(caller) = parent.and_then(|parent| calls.get_mut(parent)) {
            caller.total = caller.total.saturating_add(total);
        }
    }
    // The root of a thread has no time of its own, as in a profile of calls.
    for root in calls.iter_mut().filter(|call| call.parent.is_none()) {
        root.total = root.total.saturating_sub(root.own);
        (root.own, root.corrected_own) = (0, 0);
        (root.corrected_total, root.ended_total) = (root.total, root.total);
    }
}

fn thread(os_id: u32, root: usize, first: u64) -> Thread {
    Thread {
        os_id,
        name: String::new(),
        ended: false,
        root,
        exceptions: 0,
        lost_calls: 0,
        lost_nodes: 0,
        unmatched: 0,
        first,
        lost_events: 0,
        events: Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::export::{self, TreeOptions, Weight};

    #[test]
    fn samples_become_a_tree_with_times() {
        let named = |name: &str| SampledMethod {
            raw: RawName {
                type_name: "T".into(),
                method: name.into(),
                signature: "()".into(),
                ..RawName::default()
            },
            ..SampledMethod::default()
        };
        let mut tree = SampledTree::default();
        // Every 10 nanoseconds: main in a, in b, in b again, alone; another thread once.
        let stacks: [&[usize]; 4] = [&[0, 1], &[0, 2], &[0, 2], &[0]];
        for (at, stack) in stacks.iter().enumerate() {
            tree.add(7, 100 + at as u64 * 10, stack.iter().copied());
        }
        tree.add(9, 500, [2]);
        let methods = ["main", "a", "b"].map(named).to_vec();
        let program = SampledProgram { pid: 5, duration: 400, methods, ..SampledProgram::default() };
        let profile = tree.finish(program);
        let text = |write: &dyn Fn(&mut Vec<u8>) -> std::io::Result<()>| {
            let mut out = Vec::new();
            write(&mut out).unwrap();
            String::from_utf8(out).unwrap()
        };
        let options = TreeOptions::default();
        let expected = "thread 7
     samples       total        self  method
           4       40 ns       10 ns  T.main()
           1       10 ns       10 ns    T.a()
           2       20 ns       20 ns    T.b()
thread 9
     samples       total        self  method
           1        0 ns        0 ns  T.b()
";
        assert_eq!(text(&|out| export::tree(&profile, &options, out)), expected);
        let stacks = text(&|out| export::collapsed(&profile, Weight::Calls, out));
        assert_eq!(stacks, "7;T.main() 1\n7;T.main();T.a() 1\n7;T.main();T.b() 2\n9;T.b() 1\n");
        let words = text(&|out| export::summary(&profile, out));
        assert!(words.contains("mode     sampled: 5 samples of 2 threads"), "{words}");
        assert!(!words.contains("inlined") && !words.contains("cost"), "{words}");
        let json = text(&|out| export::document(&profile, out));
        assert!(json.contains("\"samples\":5"));
        for thread in &profile.threads {
            assert!(profile.calls[thread.root].parent.is_none());
        }
        // Callers come before their callees.
        assert!(
            profile.calls.iter().enumerate().all(|(at, call)| call.parent.is_none_or(|parent| parent < at))
        );
    }
}
