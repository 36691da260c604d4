//! Start-up: wall time from the start of the command to its end, for one value that needs one sample.

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

fn main() {
    if std::env::args().any(|argument| argument == "--test") {
        return;
    }
    let tally = tallymon_bench::built("tally");
    let tally = tally.as_os_str().to_string_lossy().into_owned();
    println!("\nwall time of a whole process, median and fastest of 50 runs");
    for command in [
        vec![tally.as_str(), "get", r"\Memory\Available MBytes"],
        vec![tally.as_str(), "get", r"\Process(*)\Working Set"],
        vec![tally.as_str(), "--version"],
        vec!["ps", "-e"],
        vec!["true"],
    ] {
        let mut times: Vec<Duration> = (0..51).map(|_| run(&command)).skip(1).collect();
        times.sort();
        let words =
            command.iter().map(|word| word.rsplit('/').next().unwrap_or(word)).collect::<Vec<_>>().join(" ");
        let milliseconds = |time: Option<&Duration>| time.map_or(0.0, Duration::as_secs_f64) * 1e3;
        println!("{words:45} {:8.2} ms {:8.2} ms", milliseconds(times.get(25)), milliseconds(times.first()));
    }
}

fn run(command: &[&str]) -> Duration {
    let (program, arguments) = command.split_first().expect("a command has a program");
    let start = Instant::now();
    let status = Command::new(program).args(arguments).stdout(Stdio::null()).status().expect("it starts");
    assert!(status.success(), "{command:?}");
    start.elapsed()
}
