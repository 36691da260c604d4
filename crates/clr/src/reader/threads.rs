//! Merges threads that do the same work, such as those of a thread pool, into one tree.

use super::{Call, Profile, Thread};
use std::collections::{BTreeMap, HashMap};

impl Profile {
    /// Merges the threads whose names are equal but for numbers in them, and those without a name, and
    /// returns how many are gone. The first thread of the process stays as it is.
    ///
    /// A merged thread has the id of its first one, and no events. Its places have the sums of all; one is
    /// open when it is open in any of them.
    pub fn merge_threads(&mut self) -> usize {
        let mut groups: Vec<Vec<Thread>> = Vec::new();
        let mut by_name: HashMap<String, usize> = HashMap::new();
        let before = self.threads.len();
        for thread in std::mem::take(&mut self.threads) {
            let new = groups.len();
            let at = if thread.os_id == self.pid {
                new
            } else {
                *by_name.entry(without_numbers(&thread.name)).or_insert(new)
            };
            match groups.get_mut(at) {
                Some(group) => group.push(thread),
                None => groups.push(vec![thread]),
            }
        }
        let old = std::mem::take(&mut self.calls);
        for group in groups {
            let roots = group.iter().map(|thread| thread.root).collect();
            let root = merge(&old, roots, &mut self.calls);
            let count = group.len();
            if let Some(mut thread) = group.into_iter().reduce(join) {
                thread.root = root;
                if count > 1 {
                    thread.name = format!("({count} threads) {}", thread.name).trim_end().to_string();
                }
                self.threads.push(thread);
            }
        }
        before.saturating_sub(self.threads.len())
    }
}

/// A name with one sign for each number in it.
fn without_numbers(name: &str) -> String {
    let mut out = String::new();
    for letter in name.chars() {
        match letter.is_ascii_digit() {
            true if out.ends_with('\u{1}') => {}
            true => out.push('\u{1}'),
            false => out.push(letter),
        }
    }
    out
}

/// Two threads as one, which has no events.
fn join(one: Thread, other: Thread) -> Thread {
    let events = [&one, &other].map(|thread| thread.lost_events.saturating_add(thread.events.len() as u64));
    Thread {
        ended: one.ended && other.ended,
        exceptions: one.exceptions.saturating_add(other.exceptions),
        lost_calls: one.lost_calls.saturating_add(other.lost_calls),
        lost_nodes: one.lost_nodes.saturating_add(other.lost_nodes),
        unmatched: one.unmatched.saturating_add(other.unmatched),
        first: one.first.min(other.first),
        lost_events: events.into_iter().fold(0, u64::saturating_add),
        events: Vec::new(),
        ..one
    }
}

/// Adds the tree that some trees are together, callers before callees, and returns where its root is.
fn merge(old: &[Call], roots: Vec<usize>, out: &mut Vec<Call>) -> usize {
    let root = out.len();
    out.push(sum(old, &roots, None));
    let mut work = vec![(root, roots)];
    while let Some((at, parts)) = work.pop() {
        // By the order of the first calls.
        let mut children: Vec<(Option<usize>, Vec<usize>)> = Vec::new();
        let mut places: HashMap<Option<usize>, usize> = HashMap::new();
        let callees = parts.iter().filter_map(|part| old.get(*part)).flat_map(|call| &call.children);
        for callee in callees {
            let Some(method) = old.get(*callee).map(|call| call.method) else { continue };
            let place = *places.entry(method).or_insert(children.len());
            match children.get_mut(place) {
                Some((_, parts)) => parts.push(*callee),
                None => children.push((method, vec![*callee])),
            }
        }
        for (_, parts) in children {
            let child = out.len();
            out.push(sum(old, &parts, Some(at)));
            if let Some(call) = out.get_mut(at) {
                call.children.push(child);
            }
            work.push((child, parts));
        }
    }
    root
}

/// Places of several trees as one, without its callees.
fn sum(old: &[Call], parts: &[usize], parent: Option<usize>) -> Call {
    let mut parts = parts.iter().filter_map(|part| old.get(*part));
    let Some(first) = parts.next() else { return Call { parent, ..Call::default() } };
    let mut all = Call { parent, children: Vec::new(), ..first.clone() };
    let mut histogram: BTreeMap<u64, u32> = all.histogram.iter().copied().collect();
    for part in parts {
        let sums = [
            (&mut all.enters, part.enters),
            (&mut all.leaves, part.leaves),
            (&mut all.tails, part.tails),
            (&mut all.unwinds, part.unwinds),
            (&mut all.dropped, part.dropped),
            (&mut all.exceptions, part.exceptions),
            (&mut all.total, part.total),
            (&mut all.ended_total, part.ended_total),
            (&mut all.own, part.own),
            (&mut all.corrected_total, part.corrected_total),
            (&mut all.corrected_own, part.corrected_own),
        ];
        for (sum, more) in sums {
            *sum = sum.saturating_add(more);
        }
        all.shortest = [all.shortest, part.shortest].into_iter().flatten().min();
        all.longest = all.longest.max(part.longest);
        all.open |= part.open;
        for (limit, count) in &part.histogram {
            let sum = histogram.entry(*limit).or_default();
            *sum = sum.saturating_add(*count);
        }
    }
    all.histogram = histogram.into_iter().collect();
    all
}

#[cfg(test)]
mod tests {
    use crate::reader::tests::sample;
    use crate::reader::{Profile, Thread};

    #[test]
    fn threads_of_a_pool_become_one_with_the_sums_of_all() {
        let mut profile = Profile::from_bytes(&sample()).unwrap();
        let (one, calls) = (profile.threads[0].clone(), profile.calls.clone());
        profile.pid = one.os_id;
        // The same tree for five more threads.
        let names = ["worker 1", "worker 22", "worker", "", ""];
        for (number, name) in (1..).zip(names) {
            let shift = profile.calls.len();
            profile.calls.extend(calls.iter().cloned().map(|mut call| {
                call.parent = call.parent.map(|at| at + shift);
                call.children.iter_mut().for_each(|at| *at += shift);
                call
            }));
            let (os_id, name) = (one.os_id + number, name.to_string());
            profile.threads.push(Thread { os_id, name, root: one.root + shift, ..one.clone() });
        }
        let whole = profile.clone();
        assert_eq!(profile.merge_threads(), 2);
        let names: Vec<&str> = profile.threads.iter().map(|thread| &*thread.name).collect();
        assert_eq!(names, [&one.name, "(2 threads) worker 1", "worker", "(2 threads)"]);
        assert_eq!(profile.calls.len(), calls.len() * 4);
        let sums = |profile: &Profile| {
            let totals = profile.method_totals().into_iter();
            totals.map(|sum| (sum.method, sum.enters, sum.total, sum.own)).collect::<Vec<_>>()
        };
        assert_eq!(sums(&profile), sums(&whole));
        for (at, call) in profile.calls.iter().enumerate() {
            let callees: u64 = call.children.iter().map(|at| profile.calls[*at].total).sum();
            assert_eq!(call.total, call.own + callees);
            assert!(call.parent.is_none_or(|parent| parent < at));
            let count: u64 = call.histogram.iter().map(|(_, count)| u64::from(*count)).sum();
            assert!(count <= call.enters);
        }
        let [first, pool] =
            [0, 1].map(|at| &profile.calls[profile.calls[profile.threads[at].root].children[0]]);
        assert_eq!((first.enters * 2, first.total * 2), (pool.enters, pool.total));
        assert_eq!((first.shortest, first.longest), (pool.shortest, pool.longest));
        assert_eq!(profile.merge_threads(), 0);
    }
}
