//! Makes a profile smaller: places of the call trees with little time become calls elsewhere.

use super::{Call, Elsewhere, Method, Profile, Step};
use std::cmp::Reverse;

/// What [`Profile::fold`] did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Folded {
    /// Places that were folded.
    pub places: usize,
    /// The longest of them, in nanoseconds.
    pub longest: u64,
}

impl Profile {
    /// Folds the places of the call trees that took less than `least` nanoseconds, callees included, and of
    /// the others all but about `most` with the most time. Their callers then have one callee `(elsewhere)`
    /// with the calls and the time of all that was folded under them, and their calls are in
    /// `Method::elsewhere`: sums of methods and threads stay as they are, but for histograms and shortest
    /// times. Returns `None` when there was nothing to fold.
    pub fn fold(&mut self, least: u64, most: usize) -> Option<Folded> {
        let placed = |call: &&Call| call.parent.is_some();
        let mut least = least;
        let mut times: Vec<u64> = self.calls.iter().filter(placed).map(|call| call.total).collect();
        if times.len() > most {
            times.sort_unstable_by_key(|time| Reverse(*time));
            least = least.max(times.get(most).map_or(0, |time| time.saturating_add(1)));
        }
        // A call takes at least as much time as its callees, so what stays is a tree.
        let stays: Vec<bool> =
            self.calls.iter().map(|call| call.parent.is_none() || call.total >= least).collect();
        self.fold_others(&stays)
    }

    /// Folds what methods of the framework call within it: of each way into the framework its first method
    /// stays, and the ways back to methods of the program.
    pub fn fold_framework(&mut self) -> Option<Folded> {
        let is_framework = |call: &Call| {
            let method = call.method.and_then(|method| self.methods.get(method));
            let module = method.and_then(|method| self.modules.get(method.module?));
            module.is_some_and(|module| !module.user)
        };
        // Callees follow their callers, so a walk from the end meets all callees first.
        let mut leads_to_program = vec![false; self.calls.len()];
        for (at, call) in self.calls.iter().enumerate().rev() {
            let leads = leads_to_program.get(at).copied().unwrap_or(false) || !is_framework(call);
            if let Some(caller) = call.parent.and_then(|parent| leads_to_program.get_mut(parent)) {
                *caller |= leads;
            }
        }
        let stays = self.calls.iter().zip(&leads_to_program).map(|(call, leads)| {
            let caller = call.parent.and_then(|parent| self.calls.get(parent));
            *leads || !is_framework(call) || !caller.is_some_and(is_framework)
        });
        let stays: Vec<bool> = stays.collect();
        self.fold_others(&stays)
    }

    /// Folds all calls but those that stay, with their callees.
    fn fold_others(&mut self, stays: &[bool]) -> Option<Folded> {
        let gone = |at: usize| !stays.get(at).copied().unwrap_or(true);
        let folded = self.calls.iter().enumerate().filter(|(at, _)| gone(*at)).map(|(_, call)| call.total);
        let (places, longest) =
            folded.fold((0usize, 0), |(n, max), time| (n.saturating_add(1), time.max(max)));
        if places == 0 {
            return None;
        }
        self.count_folded(stays);
        self.remove(stays);
        Some(Folded { places, longest })
    }

    /// Adds the calls that will be folded to their methods.
    fn count_folded(&mut self, stays: &[bool]) {
        let mut more = vec![Elsewhere::default(); self.methods.len()];
        let mut open = vec![0u32; self.methods.len()];
        for thread in &self.threads {
            // A walk passes the calls by reference; their positions follow from their order in it.
            let mut path = vec![(thread.root, 0usize)];
            while let Some(last) = path.last_mut() {
                let Some(call) = self.calls.get(last.0) else { break };
                let step = if last.1 == 0 { Some(Step::Down) } else { None };
                let method = call.method.filter(|method| Some(*method) != self.elsewhere);
                let slot = method.and_then(|method| more.get_mut(method).zip(open.get_mut(method)));
                let next = call.children.get(last.1).copied();
                last.1 = last.1.saturating_add(1);
                if let Some((sum, open)) = slot {
                    if step.is_some() {
                        if !stays.get(path.last().map_or(0, |last| last.0)).copied().unwrap_or(true) {
                            sum.add(call, *open == 0);
                        }
                        *open = open.saturating_add(1);
                    }
                    if next.is_none() {
                        *open = open.saturating_sub(1);
                    }
                }
                match next {
                    Some(child) => path.push((child, 0)),
                    None => {
                        path.pop();
                    }
                }
            }
        }
        for (method, more) in self.methods.iter_mut().zip(more) {
            method.elsewhere.join(&more);
        }
    }

    /// Removes calls, and gives their callers a callee `(elsewhere)` for them.
    fn remove(&mut self, stays: &[bool]) {
        let pseudo = *self.elsewhere.get_or_insert_with(|| {
            self.methods.push(Method::elsewhere());
            self.methods.len().saturating_sub(1)
        });
        let old = std::mem::take(&mut self.calls);
        // The new position of each call that stays.
        let mut places: Vec<Option<usize>> = Vec::with_capacity(old.len());
        for (at, call) in old.iter().enumerate() {
            let parent = call.parent.and_then(|parent| places.get(parent).copied().flatten());
            if !stays.get(at).copied().unwrap_or(true) || (call.parent.is_some() && parent.is_none()) {
                places.push(None);
                continue;
            }
            places.push(Some(self.calls.len()));
            if let Some(parent) = parent.and_then(|parent| self.calls.get_mut(parent)) {
                parent.children.push(places.len());
            }
            self.calls.push(Call { parent, children: Vec::new(), ..call.clone() });
        }
        // Above, the old position plus one of each callee was remembered.
        for at in 0..self.calls.len() {
            let Some(call) = self.calls.get_mut(at) else { continue };
            for child in &mut call.children {
                *child = places.get(child.saturating_sub(1)).copied().flatten().unwrap_or(0);
            }
        }
        for (call, place) in old.iter().zip(&places) {
            let Some(caller) = call.parent.and_then(|parent| places.get(parent).copied().flatten()) else {
                continue;
            };
            if place.is_none() {
                self.add_to_elsewhere(pseudo, caller, call);
            }
        }
        for thread in &mut self.threads {
            thread.root = places.get(thread.root).copied().flatten().unwrap_or(0);
        }
    }

    /// Adds a folded call, with its callees, to the callee `(elsewhere)` of its caller.
    fn add_to_elsewhere(&mut self, pseudo: usize, caller: usize, call: &Call) {
        let children = self.calls.get(caller).map(|caller| caller.children.clone()).unwrap_or_default();
        let is_pseudo = |at: &usize| self.calls.get(*at).is_some_and(|call| call.method == Some(pseudo));
        let at = children.into_iter().find(is_pseudo).unwrap_or_else(|| {
            let at = self.calls.len();
            if let Some(caller) = self.calls.get_mut(caller) {
                caller.children.push(at);
            }
            self.calls.push(Call { method: Some(pseudo), parent: Some(caller), ..Call::default() });
            at
        });
        let Some(sum) = self.calls.get_mut(at) else { return };
        let all = [
            (&mut sum.enters, call.enters),
            (&mut sum.leaves, call.enters),
            (&mut sum.total, call.total),
            (&mut sum.ended_total, call.ended_total),
            (&mut sum.own, call.total),
            (&mut sum.corrected_total, call.corrected_total),
            (&mut sum.corrected_own, call.corrected_total),
        ];
        for (sum, more) in all {
            *sum = sum.saturating_add(more);
        }
    }
}

impl Elsewhere {
    /// Adds the calls of one place.
    fn add(&mut self, call: &Call, outermost: bool) {
        self.join(&Elsewhere {
            enters: call.enters,
            leaves: call.leaves,
            tails: call.tails,
            unwinds: call.unwinds,
            dropped: call.dropped,
            total: if outermost { call.total } else { 0 },
            ended_total: call.ended_total,
            own: call.own,
            longest: call.longest.unwrap_or(0),
            exceptions: call.exceptions,
        });
    }

    fn join(&mut self, more: &Elsewhere) {
        let all = [
            (&mut self.enters, more.enters),
            (&mut self.leaves, more.leaves),
            (&mut self.tails, more.tails),
            (&mut self.unwinds, more.unwinds),
            (&mut self.dropped, more.dropped),
            (&mut self.total, more.total),
            (&mut self.ended_total, more.ended_total),
            (&mut self.own, more.own),
            (&mut self.exceptions, more.exceptions),
        ];
        for (sum, more) in all {
            *sum = sum.saturating_add(more);
        }
        self.longest = self.longest.max(more.longest);
    }
}

#[cfg(test)]
mod tests {
    use crate::reader::tests::{RawNode, file, sample};
    use crate::reader::{Module, Profile};

    /// Program, framework, framework, program, framework, framework.
    #[test]
    fn calls_within_the_framework_are_folded() {
        let methods = ["N.A\0\0Main\0\0()", "S.L\0\0Sort\0\0()", "S.L\0\0Swap\0\0()", "N.A\0\0Compare\0\0()"];
        let nodes = [
            RawNode(0, 0, 0, 2, 0),
            RawNode(1, 1, 1000, 3, 0),
            RawNode(2, 1, 900, 4, 0),
            RawNode(3, 2, 800, 5, 0),
            RawNode(4, 2, 600, 6, 0),
            RawNode(2, 2, 400, 7, 0),
            RawNode(3, 2, 200, 0, 0),
        ];
        let mut profile = Profile::from_bytes(&file(&methods, &nodes)).unwrap();
        profile.modules.push(Module { user: false, ..profile.modules[0].clone() });
        for method in [1, 2] {
            profile.methods[method].module = Some(1);
        }
        let whole = profile.clone();
        let folded = profile.fold_framework().unwrap();
        assert_eq!((folded.places, folded.longest), (1, 100));
        let names: Vec<&str> = profile.calls.iter().map(|call| profile.name(call)).collect();
        let [sort, swap, compare] = ["S.L.Sort()", "S.L.Swap()", "N.A.Compare()"];
        assert_eq!(names, ["(unknown method)", "N.A.Main()", sort, swap, compare, sort, "(elsewhere)"]);
        let sum = |profile: &Profile| profile.method_totals().iter().map(|sum| sum.own).sum::<u64>();
        assert_eq!((profile.enters(), sum(&profile)), (whole.enters(), sum(&whole)));
        assert_eq!(profile.fold_framework(), None);
    }

    #[test]
    fn folded_places_keep_their_sums() {
        let whole = Profile::from_bytes(&sample()).unwrap();
        assert_eq!(whole.clone().fold(0, 100), None);
        // Of 500, 200 and 50 nanoseconds.
        for (least, most, left) in [(100, 100, 2), (0, 2, 2), (0, 1, 1), (0, 0, 0)] {
            let mut folded = whole.clone();
            let done = folded.fold(least, most).unwrap();
            assert_eq!(done.places, 3 - left);
            let place = |profile: &Profile| {
                let placed =
                    profile.calls.iter().filter(|c| c.parent.is_some() && c.method != profile.elsewhere);
                placed.count()
            };
            assert_eq!(place(&folded), left);
            let sums = |profile: &Profile| {
                let mut all: Vec<_> = profile
                    .method_totals()
                    .into_iter()
                    .map(|sum| (sum.method, sum.enters, sum.ended, sum.total, sum.ended_total, sum.own))
                    .collect();
                all.sort_unstable();
                all
            };
            assert_eq!(sums(&folded), sums(&whole), "{least} {most}");
            assert_eq!(folded.enters(), whole.enters());
            // The time of each caller is still that of itself and its callees.
            for call in &folded.calls {
                let callees: u64 = call.children.iter().map(|at| folded.calls[*at].total).sum();
                assert_eq!(call.total, call.own + callees);
            }
            let root = &folded.calls[folded.threads[0].root];
            assert_eq!((root.total, root.children.len()), (500, 1));
        }
    }
}
