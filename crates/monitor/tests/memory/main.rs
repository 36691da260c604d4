//! Live heap bytes of the monitor and its source while thousands of processes start and exit. Freed memory
//! that the allocator keeps is not counted.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that fails is to panic")]
#![allow(dead_code, reason = "of the script the other tests use more")]

#[path = "../monitor/fake.rs"]
mod fake;

use std::alloc::System;

use cap::Cap;
use fake::Bench;
use tallymon::core::title::Language;

#[global_allocator]
static ALLOCATOR: Cap<System> = Cap::new(System, usize::MAX);

/// How many processes exist at the peak, and in between.
const MANY: usize = 2_000;
const FEW: usize = 20;

#[test]
fn memory_of_thousands_of_ended_processes_is_given_back() {
    let budget = 256 << 10;
    let paths = [r"\Process(*)\% Processor Time", r"\Processor(*)\% Processor Time"];
    let mut bench = Bench::with(&paths, Language::ENGLISH, |options| options.budget = budget);
    // Allocate the names before anything is counted.
    let names: Vec<&'static str> =
        (0..3 * MANY).map(|number| &*Box::leak(format!("job {number} of many").into_boxed_str())).collect();
    // A wave of new processes, then few for a while.
    let wave = |bench: &mut Bench, number: usize| {
        let first = number * MANY % names.len();
        for (processes, samples) in [(MANY, 3), (FEW, 200)] {
            *bench.script.processes.lock() =
                names.iter().cycle().skip(first).take(processes).copied().collect();
            bench.run(samples);
            bench.screen();
        }
        ALLOCATOR.allocated()
    };
    bench.run(3).types("T");
    let before = wave(&mut bench, 0);
    let full = wave(&mut bench, 1);
    assert!(bench.app.monitor().rows().start > 0, "the ring is not full");
    for number in 2..6 {
        let live = wave(&mut bench, number);
        // Hash tables may be filled differently.
        assert!(
            live <= full + full / 20,
            "{live} bytes after wave {number}, {full} when the ring was full, {before} before"
        );
        let (bytes, stated) = bench.app.monitor().memory();
        assert!(bytes <= stated, "{bytes} of {stated}");
    }
}
