//! Tests: profile files assembled from the numbers in the format description.

#![allow(clippy::arithmetic_side_effects, reason = "offsets of a file that the test makes up")]

use super::*;
use tallymon_testkit::raw::Random;

/// A node to be written: method, calls, ticks, first child, next sibling.
pub(crate) struct RawNode(pub u32, pub u64, pub u64, pub u32, pub u32);

/// Assembles a file by the offsets of the format description, not by the structures of the writer: 1 module,
/// the named methods from number 1, one thread whose root is node 1, nodes from number 1, 2 ticks per
/// nanosecond.
pub(crate) fn file(methods: &[&str], nodes: &[RawNode]) -> Vec<u8> {
    let mut bytes = vec![0; 65536];
    let mut put = |at: usize, value: &[u8]| bytes[at..at + value.len()].copy_from_slice(value);
    put(0, b"TLMPROF\0");
    for (at, value) in [(8, 1u32), (12, 4096), (16, 64), (20, 128), (24, 64), (28, 256)] {
        put(at, &value.to_le_bytes());
    }
    let mut text = String::from("dotnet app.dll");
    let mut reference = |words: &str| {
        let at = text.len() as u64;
        text.push_str(words);
        (at << 32) | words.len() as u64
    };
    let regions = [
        (32, 4096u64, 4u64, 1u64),
        (56, 8192, 4, 1),
        (80, 12288, 64, methods.len() as u64 + 1),
        (104, 20480, 4096, 4096),
        (128, 24576, 160, nodes.len() as u64 + 1),
    ];
    for (at, offset, capacity, used) in regions {
        for (number, value) in [offset, capacity, used].into_iter().enumerate() {
            put(at + 8 * number, &value.to_le_bytes());
        }
    }
    for (at, value) in [(152, 77u32), (156, 2), (160, 1), (164, 4), (168, 1), (172, 1)] {
        put(at, &value.to_le_bytes());
    }
    // Started, sequence, first ticks and nanoseconds, last ticks and nanoseconds, overheads of 4 and 2 ticks.
    for (number, value) in
        [5u64, 2, 1000, 500, 3000, 1500, 1024, 512, 0x0008_0000_0001_0002, 14].into_iter().enumerate()
    {
        put(176 + 8 * number, &value.to_le_bytes());
    }
    put(4096, &[1, 0, 0, 0, 1]);
    put(4112, &reference("/app/a.dll").to_le_bytes());
    put(8192, &[1, 0, 0, 0, 99, 0, 0, 0, 1]);
    put(8208, &reference("main").to_le_bytes());
    for (number, name) in methods.iter().enumerate() {
        let at = 12288 + 64 * (number + 1);
        put(at, &[1, 0, 0, 0, 1, 0, 0, 0, 1]);
        put(at + 24, &reference(name).to_le_bytes());
    }
    for (number, RawNode(method, calls, ticks, child, sibling)) in nodes.iter().enumerate() {
        let at = 24576 + 256 * (number + 1);
        for (field, value) in [(0, method), (8, child), (12, sibling)] {
            put(at + field, &value.to_le_bytes());
        }
        for (field, value) in [(24, *calls), (32, *calls), (64, *ticks), (80, *ticks), (88, *ticks)] {
            put(at + field, &value.to_le_bytes());
        }
        put(at + 120, &(*calls as u32).to_le_bytes());
    }
    put(20480, text.as_bytes());
    bytes
}

pub(crate) fn sample() -> Vec<u8> {
    let methods = ["N.A\0\0Main\0\0()", "N.A\0\0Work\0\0(int)"];
    let nodes = [
        RawNode(0, 0, 0, 2, 0),
        RawNode(1, 1, 1000, 4, 0),
        RawNode(1, 2, 100, 0, 0),
        RawNode(2, 3, 400, 3, 0),
    ];
    file(&methods, &nodes)
}

/// A time is corrected only where the cost is known better than what is left.
#[test]
fn times_within_the_doubt_stay_raw() {
    let mut bytes = sample();
    // 2.5 to 4 ns together, of 3.
    for (at, value) in [(360, 1280u64), (368, 2048)] {
        bytes[at..at + 8].copy_from_slice(&value.to_le_bytes());
    }
    let profile = Profile::from_bytes(&bytes).unwrap();
    assert_eq!((profile.overhead_range, profile.uncorrected), ((2.5, 4.0), 0));
    assert_eq!(profile.calls[1].corrected_own, 295);
    let mut small = profile.clone();
    // Two calls that cost 4 ns, with a doubt of 2 ns: 1 ns would be left of 5, and 3 of 7.
    for (own, corrected, uncorrected) in [(5, 5, 1), (6, 2, 0), (7, 3, 0), (3, 3, 1)] {
        small.calls[3].own = own;
        small.correct();
        assert_eq!((small.calls[3].corrected_own, small.uncorrected), (corrected, uncorrected), "{own}");
    }
}

#[test]
fn a_file_reads_as_the_format_says() {
    let profile = Profile::from_bytes(&sample()).unwrap();
    assert_eq!((profile.pid, profile.ended, profile.mode, profile.exact), (77, true, Mode::User, Exact::No));
    assert_eq!((profile.unwind_events, profile.hooks_on, profile.time_stamp_counter), (true, true, true));
    assert_eq!((profile.duration, profile.runtime), (1000, [8, 0, 1, 2]));
    assert_eq!((profile.command.as_str(), profile.problem.as_str()), ("dotnet app.dll", ""));
    assert_eq!((profile.overhead_inner, profile.overhead_outer), (2.0, 1.0));
    assert_eq!(
        profile.modules,
        [Module { path: "/app/a.dll".into(), user: true, unloaded: false, domain: String::new() }]
    );
    assert_eq!(profile.methods[1].name, "N.A.Work(int)");
    assert_eq!(profile.methods[1].module, Some(0));
    assert_eq!((profile.threads[0].os_id, profile.threads[0].name.as_str()), (99, "main"));
    let names: Vec<&str> = profile.calls.iter().map(|call| profile.name(call)).collect();
    assert_eq!(names, ["(unknown method)", "N.A.Main()", "N.A.Work(int)", "N.A.Main()"]);
    let main = &profile.calls[1];
    assert_eq!((main.total, main.own, main.enters, main.open), (500, 300, 1, false));
    // 2 for the call itself and 1 for each of three callees.
    assert_eq!(main.corrected_own, 295);
    assert_eq!(main.histogram, [(32, 1)]);
    assert_eq!(main.percentile(0.5), Some(500));
    assert_eq!(profile.overhead(), 18);
    let totals = profile.method_totals();
    assert_eq!((totals[0].method, totals[0].enters, totals[0].total, totals[0].own), (0, 3, 500, 350));
    assert_eq!((totals[1].method, totals[1].enters, totals[1].total, totals[1].own), (1, 3, 200, 150));
}

#[test]
fn open_calls_last_until_the_last_sign_of_life() {
    let mut bytes = sample();
    let main = 24576 + 256 * 2;
    bytes[main + 24] = 2; // a second call began
    bytes[main + 104..main + 112].copy_from_slice(&2000u64.to_le_bytes());
    let profile = Profile::from_bytes(&bytes).unwrap();
    assert!(profile.calls[1].open);
    assert_eq!((profile.calls[1].total, profile.calls[1].ended_total), (500 + 500, 500));
    // The average covers the calls that ended; of recursive calls, each counts.
    let totals = profile.method_totals();
    let main = totals.iter().find(|total| total.method == 0).unwrap();
    assert_eq!((main.total, main.ended_total, main.ended, main.enters), (1000, 550, 3, 4));
}

#[test]
fn errors_name_field_and_offset() {
    let message = |bytes: &[u8]| Profile::from_bytes(bytes).unwrap_err().to_string();
    assert_eq!(message(b"TLM"), "Header at byte 3: needed 0x1000, found 0x3");
    let mut bytes = sample();
    bytes[8] = 3;
    assert_eq!(message(&bytes), "Header.version at byte 8: needed 0x2, found 0x3");
    bytes[8] = 2;
    assert_eq!(message(&bytes), "Header.method_size at byte 24: needed 0xc0, found 0x40");
    bytes[0] = b'X';
    assert_eq!(message(&bytes), "Header.magic at byte 0: needed 0x464f52504d4c54, found 0x464f52504d4c58");
}

#[test]
fn circles_end_and_nodes_count_once() {
    let nodes = [RawNode(0, 0, 0, 2, 1), RawNode(1, 1, 10, 1, 3), RawNode(1, 1, 10, 2, 2)];
    let profile = Profile::from_bytes(&file(&["A\0\0b\0\0()"], &nodes)).unwrap();
    assert_eq!(profile.calls.len(), 3);
    assert_eq!(profile.enters(), 2);
}

#[test]
fn any_bytes_give_a_result_or_an_error() {
    let good = sample();
    let mut random = Random::new(11);
    let mut read = 0;
    for _ in 0..3000 {
        let mut bytes = good.clone();
        for _ in 0..random.below(40) {
            // Mostly in the records, sometimes in the header after the checked fields.
            let at = match random.below(3) {
                0 => 32 + random.below(300),
                1 => 24576 + random.below(2048),
                _ => random.below(bytes.len() as u64),
            } as usize;
            bytes[at] = random.below(256) as u8;
        }
        bytes.truncate(if random.below(4) == 0 { random.below(65536) as usize } else { 65536 });
        if let Ok(profile) = Profile::from_bytes(&bytes) {
            read += 1;
            assert!(profile.calls.len() <= bytes.len() / 256);
            profile.method_totals();
            for call in &profile.calls {
                assert!(call.corrected_own <= call.own && call.own <= call.total);
                call.percentile(0.99);
            }
        }
    }
    assert!(read > 1000, "{read}");
}
