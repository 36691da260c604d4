//! Publishers that are killed: before each system call that they make from start to end, and at any time.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "a test that fails is to panic")]

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use tallymon_provider::CounterType;
use tallymon_provider::shm::{CounterSet, NewInstance, Published, Publisher, Reader, RefusalReason};

mod common;
use common::{number, reader_of};
use tallymon_testkit::Scratch;

fn set() -> CounterSet {
    CounterSet::new("Life").instances_about(1).counter("Steps", CounterType::PERF_COUNTER_LARGE_RAWCOUNT)
}

/// The example that is killed; `None` when it is not there.
fn program() -> Option<PathBuf> {
    let own = std::env::current_exe().unwrap();
    let program = own.parent()?.parent()?.join("examples/lifetime");
    if program.is_file() {
        return Some(program);
    }
    tallymon_testkit::skip("the example lifetime is not built; 'cargo test -p tallymon-provider' makes it");
    None
}

/// The program behind a command that runs it, silently.
fn life(mut command: Command, program: &Path, directory: &Path) -> Command {
    command.arg(program).arg(directory).stdout(Stdio::null()).stderr(Stdio::null());
    command
}

/// The calls that the program makes from the first one on that names its directory: each with how many of its
/// name there were before it, from the start of the process on.
fn calls(strace: &Path, program: &Path, directory: &Path) -> Vec<(String, usize)> {
    let log = directory.with_extension("calls");
    let mut command = Command::new(strace);
    command.args(["-qqq", "-s", "4096", "-o"]).arg(&log);
    assert!(life(command, program, directory).status().unwrap().success());
    let text = std::fs::read_to_string(&log).unwrap();
    std::fs::remove_file(&log).unwrap();
    let own = directory.to_str().unwrap();
    let mut counts: HashMap<&str, usize> = HashMap::new();
    let mut calls = Vec::new();
    for line in text.lines() {
        let Some((name, _)) = line.split_once('(') else { continue };
        let count = counts.entry(name).or_default();
        *count += 1;
        // The first one is the start of the program, to which the directory is told.
        if !calls.is_empty() || (name != "execve" && line.contains(own)) {
            calls.push((name.to_string(), *count));
        }
    }
    calls
}

/// What a reader must never see: anything but what the program writes. Gives the number of values.
fn look(reader: &mut Reader) -> u64 {
    reader.scan();
    let mut values = 0;
    for publication in reader.publications_mut() {
        publication.read();
        for instance in publication.instances(0) {
            assert!(["a", "b", "c", "d", "one"].contains(&instance.name()), "{}", instance.name());
            match instance.value(0) {
                Some(Published::Number(0 | 1 | 7)) => values += 1,
                other => panic!("{}: {other:?}", instance.name()),
            }
        }
    }
    for refusal in reader.refusals() {
        // A file can be removed between the list of names and the opening.
        let gone = matches!(&refusal.reason, RefusalReason::Io(error) if error.kind() == std::io::ErrorKind::NotFound);
        assert!(gone || matches!(refusal.reason, RefusalReason::Dead { .. }), "{refusal}");
    }
    values
}

/// What must hold behind a publisher that was killed.
fn nothing_wrong_is_left(scratch: &Scratch, when: &str) {
    let directory = &scratch;
    let mut reader = reader_of(scratch);
    assert_eq!(look(&mut reader), 0, "killed at {when}");
    assert!(reader.publications().is_empty(), "killed at {when}");
    let left = std::fs::read_dir(directory).unwrap().count();
    assert!(left <= 1, "killed at {when}: {left} files");
    // The next one removes what was left, and is seen as if nothing had been.
    let publisher = Publisher::start_in(directory, "next", &[set()]).unwrap();
    let one = NewInstance { name: "one", ..NewInstance::default() };
    let one = publisher.instance("Life", &one).unwrap();
    one.counter("Steps").unwrap().add(1);
    assert_eq!(std::fs::read_dir(directory).unwrap().count(), 1, "killed at {when}");
    assert_eq!(look(&mut reader), 1, "killed at {when}");
    assert_eq!(number(reader.publications()[0].instances(0).next().unwrap(), 0), 1);
    drop((one, publisher));
    assert_eq!(std::fs::read_dir(directory).unwrap().count(), 0);
}

/// Runs something while readers look at a directory, one that stays and ever new ones.
fn watched(scratch: &Scratch, job: impl FnOnce(&AtomicU64)) -> u64 {
    let (stop, values) = (AtomicBool::new(false), AtomicU64::new(0));
    std::thread::scope(|scope| {
        let watching = scope.spawn(|| {
            let mut stays = reader_of(scratch);
            while !stop.load(Ordering::Relaxed) {
                let seen = look(&mut stays) + look(&mut reader_of(scratch));
                values.fetch_add(seen, Ordering::Relaxed);
                std::thread::sleep(Duration::from_micros(300));
            }
        });
        let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| job(&values)));
        stop.store(true, Ordering::Relaxed);
        watching.join().unwrap();
        result.unwrap();
    });
    values.into_inner()
}

#[test]
fn a_publisher_that_dies_before_any_system_call_leaves_nothing_that_is_wrong() {
    let (Some(strace), Some(program)) = (tallymon_testkit::peer("strace"), program()) else { return };
    let scratch = Scratch::new();
    let calls = calls(&strace, &program, &scratch);
    assert!(calls.iter().any(|(name, _)| name.starts_with("rename")), "{calls:?}");
    assert!(calls.len() > 30, "{calls:?}");
    let mut killed = 0;
    let values = watched(&scratch, |_| {
        for (name, count) in &calls {
            let mut command = Command::new(&strace);
            command.args(["-qqq", "-o", "/dev/null", "-e", &format!("trace={name}")]);
            command.args(["-e", &format!("inject={name}:signal=KILL:when={count}")]);
            // How often memory is asked for differs from run to run; who gets to the end was not killed.
            killed += usize::from(!life(command, &program, &scratch).status().unwrap().success());
            nothing_wrong_is_left(&scratch, &format!("{name} {count}"));
        }
    });
    println!("killed before {killed} of {} calls; {values} values were seen", calls.len());
    assert!(killed * 10 >= calls.len() * 9, "only {killed} of {} were killed", calls.len());
}

/// `TALLYMON_KILLS=10000` is the long form.
#[test]
fn a_publisher_that_is_killed_at_any_time_leaves_nothing_that_is_wrong() {
    let Some(program) = program() else { return };
    let asked = std::env::var("TALLYMON_KILLS").ok().and_then(|number| number.parse::<u64>().ok());
    let kills = asked.unwrap_or(40);
    let scratch = Scratch::new();
    let values = watched(&scratch, |values| {
        let mut round = 0;
        // On a busy machine the readers may begin late.
        while round < kills || values.load(Ordering::Relaxed) == 0 && round < 100 * kills {
            let mut child = life(Command::new("env"), &program, &scratch).arg("1000").spawn().unwrap();
            // The start takes some milliseconds; the times are spread over it and what follows.
            std::thread::sleep(Duration::from_micros(round * 7919 % 40_000));
            child.kill().unwrap();
            child.wait().unwrap();
            nothing_wrong_is_left(&scratch, &format!("round {round}"));
            round += 1;
        }
    });
    println!("{kills} were killed; {values} values were seen");
    assert!(values > 0);
}
