#![allow(clippy::arithmetic_side_effects, reason = "small numbers of the tests")]

use super::*;
use std::cell::Cell;
use tallymon_testkit::raw::Random;

/// Storage for one thread; `clock` ticks by hand.
struct Bench {
    nodes: Vec<Node>,
    region: Region,
    methods: Vec<MethodRecord>,
    index: Vec<AtomicU32>,
    record: ThreadRecord,
    frames: Vec<Frame>,
}

impl Bench {
    fn new(n_nodes: usize, n_frames: usize) -> Bench {
        let region = Region::default();
        region.capacity.store(n_nodes as u64, Relaxed);
        region.take();
        Bench {
            nodes: (0..n_nodes).map(|_| Node::new()).collect(),
            region,
            methods: (0..16).map(|_| MethodRecord::default()).collect(),
            index: (0..2 * n_nodes).map(|_| AtomicU32::new(0)).collect(),
            record: ThreadRecord::default(),
            frames: vec![Frame::default(); n_frames],
        }
    }

    fn thread(&mut self) -> ThreadProfile<'_> {
        let tree = Nodes::new(&self.nodes, &self.region, &self.methods, &self.index, || {});
        ThreadProfile::new(tree, &self.record, &mut self.frames)
    }

    /// The tree as text: `method*enters total/callees (leaves tails unwinds dropped)`.
    fn show(&self) -> String {
        let mut out = String::new();
        self.show_node(self.record.root.load(Relaxed), 0, &mut out);
        out
    }

    fn show_node(&self, number: u32, depth: usize, out: &mut String) {
        let node = &self.nodes[number as usize];
        if depth > 0 {
            let n = |counter: &std::sync::atomic::AtomicU64| counter.load(Relaxed);
            let ends = [&node.leaves, &node.tails, &node.unwinds, &node.dropped].map(n);
            out.push_str(&format!(
                "{}{}*{} {}/{} {:?}\n",
                " ".repeat(depth - 1),
                node.method.load(Relaxed),
                n(&node.enters),
                n(&node.total),
                n(&node.callees),
                ends
            ));
        }
        let mut children = Vec::new();
        let mut child = node.first_child.load(Relaxed);
        while child != 0 {
            children.push(child);
            child = self.nodes[child as usize].next_sibling.load(Relaxed);
        }
        for child in children.into_iter().rev() {
            self.show_node(child, depth + 1, out);
        }
    }
}

/// Plays events on a fresh thread. `+m@s` enters, `-m@s` leaves, `t m@s` tail-calls, `{m` and `}` unwind,
/// `c m` catches, `C m@s` handles where unwinding is not reported, `!` throws; each event advances the
/// clock by 10.
fn play(events: &str) -> (Bench, String) {
    let mut bench = Bench::new(64, 16);
    let now = Cell::new(0);
    let mut thread = bench.thread();
    for event in events.split_whitespace() {
        now.set(now.get() + 10);
        let (kind, rest) = event.split_at(1);
        let (method, stack) = rest.split_once('@').unwrap_or((rest, "0"));
        let (method, stack) = (method.parse().unwrap_or(0), stack.parse().unwrap());
        match kind {
            "+" => thread.enter(method, stack, || now.get()),
            "-" => thread.leave(method, stack, now.get()),
            "t" => thread.tail_call(method, stack, now.get()),
            "{" => thread.unwind_enter(method),
            "}" => thread.unwind_leave(now.get()),
            "c" => thread.catcher_enter(method),
            "C" => thread.handler_enter(method, stack, now.get()),
            "!" => thread.thrown(now.get()),
            _ => panic!("no such event: {event}"),
        }
    }
    let text = bench.show();
    (bench, text)
}

#[test]
fn calls_nest_and_times_add_up() {
    let (bench, text) = play("+1@100 +2@90 -2@90 +2@90 -2@90 +3@90 +3@80 -3@80 -3@90 -1@100");
    let expected = "1*1 90/50 [1, 0, 0, 0]\n 2*2 20/0 [2, 0, 0, 0]\n\
        \x203*1 30/10 [1, 0, 0, 0]\n  3*1 10/0 [1, 0, 0, 0]\n";
    assert_eq!(text, expected);
    assert_eq!(bench.record.unmatched.load(Relaxed), 0);
    let twice = bench.nodes.iter().find(|node| node.enters.load(Relaxed) == 2).unwrap();
    assert_eq!((twice.shortest.load(Relaxed), twice.longest.load(Relaxed)), (10, 10));
    assert_eq!(twice.histogram[0].load(Relaxed), 2);
}

#[test]
fn a_tail_call_makes_siblings() {
    let (_, text) = play("+1@100 +2@90 t2@90 +3@90 -3@90 -1@100");
    assert_eq!(text, "1*1 50/20 [1, 0, 0, 0]\n 2*1 10/0 [0, 1, 0, 0]\n 3*1 10/0 [1, 0, 0, 0]\n");
}

#[test]
fn unwound_frames_end_at_the_reports() {
    // 3 throws, 2 has a finally block that calls 4, 1 catches.
    let (bench, text) = play("+1@100 +2@90 +3@80 ! {3 } {2 +4@70 -4@70 } {1 c1 +5@60 -5@60 -1@100");
    let expected = "1*1 140/90 [1, 0, 0, 0]\n 2*1 80/40 [0, 0, 1, 0]\n  3*1 30/0 [0, 0, 1, 0]\n\
        \x20 4*1 10/0 [1, 0, 0, 0]\n 5*1 10/0 [1, 0, 0, 0]\n";
    assert_eq!(text, expected);
    assert_eq!(bench.record.exceptions.load(Relaxed), 1);
    let thrower = bench.nodes.iter().find(|node| node.exceptions.load(Relaxed) == 1).unwrap();
    assert_eq!(thrower.method.load(Relaxed), 3);
}

#[test]
fn a_rethrow_and_a_throw_in_finally_leave_no_stale_report() {
    // 2 catches and throws again, 1 catches.
    let (_, text) = play("+1@100 +2@90 +3@80 ! {3 } {2 c2 ! {2 } {1 c1 -1@100");
    assert_eq!(text, "1*1 130/90 [1, 0, 0, 0]\n 2*1 90/30 [0, 0, 1, 0]\n  3*1 30/0 [0, 0, 1, 0]\n");
    // The finally block of 2 throws: the first unwinding of 2 never ends.
    let (_, text) = play("+1@100 +2@90 ! {2 +4@70 ! {4 } {2 } {1 c1 -1@100");
    assert_eq!(text, "1*1 120/80 [1, 0, 0, 0]\n 2*1 80/30 [0, 0, 1, 0]\n  4*1 30/0 [0, 0, 1, 0]\n");
}

#[test]
fn functions_without_hooks_unwind_without_effect() {
    let (_, text) = play("+1@100 {0 } {0 {1 } } -1@100");
    assert_eq!(text, "1*1 50/0 [0, 0, 1, 0]\n");
}

#[test]
fn a_report_that_comes_twice_ends_one_call() {
    let (_, text) = play("+1@100 +2@90 {2 } {2 } {1 c1 -1@100");
    assert_eq!(text, "1*1 80/20 [1, 0, 0, 0]\n 2*1 20/0 [0, 0, 1, 0]\n");
}

#[test]
fn stack_pointer_drops_ended_calls() {
    // No reports at all: 3 and 2 have ended when 1 calls 4.
    let (bench, text) = play("+1@100 +2@90 +3@80 +4@90 -4@90 -1@100");
    assert_eq!(
        text,
        "1*1 50/30 [1, 0, 0, 0]\n 2*1 20/10 [0, 0, 0, 1]\n\
            \x20 3*1 10/0 [0, 0, 0, 1]\n 4*1 10/0 [1, 0, 0, 0]\n"
    );
    assert_eq!(bench.record.unmatched.load(Relaxed), 0);
    // Ended when 1 returns.
    let (_, text) = play("+1@100 +2@90 -1@100");
    assert_eq!(text, "1*1 20/10 [1, 0, 0, 0]\n 2*1 10/0 [0, 0, 0, 1]\n");
    // Ended when 1 catches.
    let (_, text) = play("+1@100 +2@90 +3@80 C1 -1@100");
    assert_eq!(text, "1*1 40/20 [1, 0, 0, 0]\n 2*1 20/10 [0, 0, 1, 0]\n  3*1 10/0 [0, 0, 1, 0]\n");
}

#[test]
fn handler_stack_pointer_drops_ended_calls() {
    // Of the three calls of 2, the outermost one handles the exception: the others have ended, and it
    // calls 3.
    let (bench, text) = play("+1@100 +2@90 +2@80 +2@70 C2@80 +3@75 -3@75 -2@90 -1@100");
    assert_eq!(
        text,
        "1*1 80/60 [1, 0, 0, 0]\n 2*1 60/30 [1, 0, 0, 0]\n  2*1 20/10 [0, 0, 1, 0]\n   2*1 10/0 [0, 0, 1, 0]\n  \
         3*1 10/0 [1, 0, 0, 0]\n"
    );
    assert_eq!(bench.record.unmatched.load(Relaxed), 0);
    // The same for a function without hooks that 1 called, and for one whose caller is not recorded.
    let (_, text) = play("+1@100 +2@80 C0@85 -1@100");
    assert_eq!(text, "1*1 30/10 [1, 0, 0, 0]\n 2*1 10/0 [0, 0, 1, 0]\n");
    let (_, text) = play("+1@100 +2@80 C0@100");
    assert_eq!(text, "1*1 20/10 [0, 0, 1, 0]\n 2*1 10/0 [0, 0, 1, 0]\n");
}

#[test]
fn ends_without_a_beginning_are_counted_only() {
    let (bench, text) = play("-1@100 +1@100 -2@100 t1@90 } c1 C7 -1@100");
    assert_eq!(text, "1*1 60/0 [1, 0, 0, 0]\n");
    assert_eq!(bench.record.unmatched.load(Relaxed), 3);
}

#[test]
fn calls_too_deep_are_counted() {
    let mut bench = Bench::new(8, 2);
    let mut thread = bench.thread();
    for _ in 0..3 {
        thread.enter(1, 100, || 0);
        thread.enter(2, 90, || 0);
        thread.enter(3, 80, || 0); // one frame too deep
        thread.leave(3, 80, 5);
        thread.leave(2, 90, 5);
        thread.leave(1, 100, 5);
    }
    assert_eq!(thread.depth(), 0);
    assert_eq!(bench.show(), "1*3 15/15 [3, 0, 0, 0]\n 2*3 15/0 [3, 0, 0, 0]\n");
    assert_eq!([&bench.record.lost_calls, &bench.record.lost_nodes].map(|n| n.load(Relaxed)), [3, 0]);
}

#[test]
fn calls_without_a_node_count_for_their_method_and_for_no_other_caller() {
    let clock = Cell::new(0);
    let tick = || {
        clock.set(clock.get() + 10);
        clock.get()
    };
    // A root, 1 and its callee 3; no room for 2, which calls 3 a thousand times.
    let mut bench = Bench::new(4, 8);
    let mut thread = bench.thread();
    thread.enter(1, 100, tick);
    thread.enter(3, 90, tick);
    thread.leave(3, 90, tick());
    thread.enter(2, 90, tick);
    for _ in 0..1000 {
        thread.enter(3, 80, tick);
        thread.enter(3, 70, tick); // calls itself
        thread.leave(3, 70, tick());
        thread.thrown(tick());
        thread.leave(3, 80, tick());
    }
    thread.tail_call(2, 90, tick());
    thread.leave(1, 100, tick());
    // 20 ticks of the second 3, 50 of the first, 10 from its end to its next beginning.
    let expected = "1*1 50050/50020 [1, 0, 0, 0]\n 3*1 10/0 [1, 0, 0, 0]\n";
    assert_eq!(bench.show(), expected);
    let flat = |method: usize| {
        let record = &bench.methods[method];
        let ends = [&record.leaves, &record.tails, &record.unwinds, &record.dropped].map(|n| n.load(Relaxed));
        let times = [&record.total, &record.ended_total, &record.own, &record.longest];
        (record.enters.load(Relaxed), ends, times.map(|n| n.load(Relaxed)), record.exceptions.load(Relaxed))
    };
    assert_eq!(flat(2), (1, [0, 1, 0, 0], [50_010, 50_010, 10_010, 50_010], 0));
    assert_eq!(flat(3), (2000, [2000, 0, 0, 0], [40_000, 50_000, 40_000, 40], 1000));
    assert_eq!(flat(1).0, 0);
    let caller = bench.nodes.iter().find(|node| node.elsewhere.load(Relaxed) > 0).unwrap();
    assert_eq!((caller.method.load(Relaxed), caller.elsewhere.load(Relaxed)), (1, 1));
    assert_eq!(bench.record.unmatched.load(Relaxed), 0);
}

#[test]
fn a_thread_without_a_root_counts_all_its_calls() {
    let mut bench = Bench::new(1, 8);
    let mut thread = bench.thread();
    thread.enter(1, 100, || 5);
    thread.enter(2, 90, || 6);
    thread.leave(2, 90, 8);
    thread.unwind_enter(1);
    thread.unwind_leave(15);
    assert_eq!(thread.depth(), 0);
    let of =
        |method: usize| [&bench.methods[method].enters, &bench.methods[method].own].map(|n| n.load(Relaxed));
    assert_eq!([of(1), of(2)], [[1, 8], [1, 2]]);
    assert_eq!((bench.methods[1].unwinds.load(Relaxed), bench.record.root.load(Relaxed)), (1, 0));
}

#[test]
fn many_callees_are_found_by_the_index() {
    let mut bench = Bench::new(600, 8);
    bench.methods = (0..300).map(|_| MethodRecord::default()).collect();
    let mut thread = bench.thread();
    thread.enter(299, 100, || 0);
    for _ in 0..3 {
        for method in 1..200 {
            thread.enter(method, 90, || 0);
            thread.enter(299, 80, || 0);
            thread.leave(299, 80, 0);
            thread.leave(method, 90, 0);
        }
    }
    thread.leave(299, 100, 0);
    // A root, its callee, and two nodes for each method.
    assert_eq!(bench.region.used.load(Relaxed), 1 + 2 + 2 * 199);
    let counts: Vec<u64> = bench.nodes.iter().map(|node| node.enters.load(Relaxed)).collect();
    assert_eq!(counts.iter().filter(|count| **count == 3).count(), 2 * 199);
    assert_eq!(bench.record.lost_nodes.load(Relaxed), 0);
}

#[test]
fn the_newest_events_stay_in_the_ring() {
    let mut bench = Bench::new(8, 8);
    let ring: Vec<Event> = (0..4).map(|_| Event::default()).collect();
    let mut thread = bench.thread();
    thread.enter(1, 100, || 1);
    thread.keep_events(&ring, 0);
    thread.enter(2, 90, || 2);
    thread.thrown(3);
    thread.tail_call(2, 90, 4);
    thread.enter(3, 90, || 5);
    thread.leave(1, 100, 6);
    let event = |n: usize| {
        let event = &ring[n % 4];
        (event.kind.load(Relaxed), event.method.load(Relaxed), event.ticks.load(Relaxed))
    };
    assert_eq!(bench.record.events.load(Relaxed), 6);
    let kept = [event(2), event(3), event(4), event(5)];
    assert_eq!(kept, [(EVENT_TAIL, 2, 4), (EVENT_ENTER, 3, 5), (EVENT_DROP, 3, 6), (EVENT_LEAVE, 1, 6)]);
}

/// Short calls leave no events, whatever they called, and long ones keep theirs in their order.
#[test]
fn short_calls_leave_no_events() {
    let mut bench = Bench::new(16, 8);
    let ring: Vec<Event> = (0..4).map(|_| Event::default()).collect();
    let mut thread = bench.thread();
    thread.keep_events(&ring, 10);
    thread.enter(1, 100, || 0);
    for call in 0..50 {
        thread.enter(2, 90, || call * 10);
        thread.enter(3, 80, || call * 10 + 1);
        thread.leave(3, 80, call * 10 + 4);
        thread.leave(2, 90, call * 10 + 5);
    }
    thread.enter(2, 90, || 600);
    thread.leave(2, 90, 610);
    // It threw, which is kept.
    thread.enter(3, 90, || 611);
    thread.thrown(612);
    thread.leave(3, 90, 613);
    let (events, most) = (bench.record.events.load(Relaxed), bench.record.most_events.load(Relaxed));
    assert_eq!((events, most), (6, 6));
    let event = |n: usize| {
        let event = &ring[n % 4];
        (event.kind.load(Relaxed), event.method.load(Relaxed), event.ticks.load(Relaxed))
    };
    let kept = [event(2), event(3), event(4), event(5)];
    assert_eq!(
        kept,
        [(EVENT_LEAVE, 2, 610), (EVENT_ENTER, 3, 611), (EVENT_THROW, 3, 612), (EVENT_LEAVE, 3, 613)]
    );
}

#[test]
fn any_events_keep_the_balance() {
    let mut random = Random::new(3);
    for round in 0..200 {
        // Every other time there are too few nodes.
        let mut bench = Bench::new(if round % 2 == 0 { 200 } else { 12 }, 12);
        let mut thread = bench.thread();
        for now in 0..500 {
            let (method, stack) = (random.below(4) as u32, random.below(12) as usize);
            match random.below(8) {
                0..=2 => thread.enter(method, stack, || now),
                3 => thread.leave(method, stack, now),
                4 => thread.tail_call(method, stack, now),
                5 => thread.unwind_enter(method),
                6 => thread.unwind_leave(now),
                _ => thread.handler_enter(method, stack, now),
            }
        }
        let open = thread.depth() as u64;
        let sum = |field: fn(&Node) -> u64| bench.nodes.iter().map(field).sum::<u64>();
        let flat = |field: fn(&MethodRecord) -> u64| bench.methods.iter().map(field).sum::<u64>();
        let flat_enters = flat(|record| record.enters.load(Relaxed));
        let flat_ends = flat(|record| {
            [&record.leaves, &record.tails, &record.unwinds, &record.dropped]
                .map(|n| n.load(Relaxed))
                .iter()
                .sum()
        });
        let enters = sum(|node| node.enters.load(Relaxed));
        let ends = sum(|node| {
            [&node.leaves, &node.tails, &node.unwinds, &node.dropped].map(|n| n.load(Relaxed)).iter().sum()
        });
        assert_eq!(enters + flat_enters, ends + flat_ends + open);
        assert_eq!(sum(|node| node.histogram.iter().map(|n| u64::from(n.load(Relaxed))).sum()), ends);
        assert!(enters > 10);
    }
}
