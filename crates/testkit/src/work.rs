//! Counts the work of a test in instructions: the same number on every machine, however busy it is.

use std::process::Command;

use crate::peer;

/// How much a child test has to do; it returns when this is not set.
const SIZE: &str = "TALLYMON_WORK";

/// The size that [`assert_linear`] has started this test with; `None` in an ordinary run.
pub fn work_size() -> Option<usize> {
    std::env::var(SIZE).ok()?.parse().ok()
}

/// Runs a test of this program under valgrind with [`work_size`] `size` and twice that, and checks that twice
/// as much takes at most 2.5 times the instructions. Without valgrind it reports a skip and returns `false`.
///
/// # Panics
///
/// When the work grows faster than its size, or the test fails.
pub fn assert_linear(test: &str, size: usize) -> bool {
    let Some(valgrind) = peer("valgrind") else { return false };
    let run = |size: usize| -> u64 {
        let mut command = Command::new(&valgrind);
        command.args(["--tool=cachegrind", "--cache-sim=no", "--cachegrind-out-file=/dev/null"]);
        let program = std::env::current_exe().unwrap_or_default();
        let output = command.arg(program).args(["--exact", test]).env(SIZE, size.to_string()).output();
        let output = match output {
            Ok(output) => output,
            Err(error) => panic!("valgrind does not start: {error}"),
        };
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{test} of {size}: {}: {errors}", output.status);
        let line = errors.lines().find_map(|line| line.split_once("I   refs:"));
        let number = line.and_then(|(_, number)| number.trim().replace(',', "").parse().ok());
        number.unwrap_or_else(|| panic!("valgrind counted nothing: {errors}"))
    };
    // What a test needs to start is no part of its work.
    let start = run(0);
    let (once, twice) = (run(size).saturating_sub(start), run(size.saturating_mul(2)).saturating_sub(start));
    println!("{test}: {once} instructions for {size}, {twice} for twice as many");
    assert!(once > start / 4, "{test}: {once} instructions are too few to compare, it starts with {start}");
    assert!(twice <= once / 2 * 5, "{test}: {once} instructions for {size}, {twice} for twice as many");
    true
}
