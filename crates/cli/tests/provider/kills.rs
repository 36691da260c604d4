//! Many processes that install and remove, of which some are killed.

use std::fs;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use tallymon::core::title::Language;
use tallymon_testkit::peer;

use crate::support::Place;

/// Eight processes at a time install and remove at random, and many of them are killed while they do.
/// `TALLYMON_SOAK` is how many changes there are, for a run that takes longer.
#[test]
fn killed_processes_leave_whole_tables() {
    const WRITERS: u32 = 8;
    let soak = std::env::var("TALLYMON_SOAK").ok().and_then(|number| number.parse::<u32>().ok());
    let changes = soak.unwrap_or(1_600).div_ceil(WRITERS).max(200);
    let place = Place::new();
    let killed = AtomicU32::new(0);
    let finished = AtomicU32::new(0);
    let writer = |number: u32| {
        // Each has services of its own, so that it knows what must be there when nobody was killed.
        let services: Vec<String> = (0..3).map(|service| format!("Writer{number}Service{service}")).collect();
        let files: Vec<String> =
            (1..).zip(&services).map(|(counters, name)| place.ini(name, counters)).collect();
        let mut random = Random(u64::from(number) + 1);
        for _ in 0..changes {
            let which = random.below(3);
            let (name, file) = (&services[which], &files[which]);
            let there = place.installed().system.service(name).is_some();
            let words = if there { ["provider", "remove", name] } else { ["provider", "add", file] };
            let mut child = place.command(&words).stderr(Stdio::null()).spawn().unwrap();
            let kill = random.below(3) > 0;
            if kill {
                std::thread::sleep(Duration::from_micros(random.below(12_000) as u64));
                // It may have ended already.
                let _ = child.kill();
            }
            let status = child.wait().unwrap();
            // Reading checks that no index is used twice, and that every text has an owner in every language.
            let installed = place.installed();
            let service = installed.system.service(name);
            if status.success() {
                assert_eq!(service.is_some(), !there, "{words:?}");
                finished.fetch_add(1, Ordering::Relaxed);
            } else {
                assert!(kill, "{words:?} fails without being killed: {status}");
                killed.fetch_add(1, Ordering::Relaxed);
            }
            if let Some(range) = service.and_then(|service| service.titles) {
                let titles = installed.titles(Language::JAPANESE);
                assert_eq!(titles.name(range.first_counter), Some(format!("{name} 0").as_str()));
                assert_eq!(range.last_counter.0 - range.first_counter.0, (which as u32 + 1) * 2);
            }
        }
    };
    let writer = &writer;
    std::thread::scope(|scope| {
        for number in 0..WRITERS {
            scope.spawn(move || writer(number));
        }
    });
    let (killed, finished) = (killed.into_inner(), finished.into_inner());
    let all = WRITERS * changes;
    eprintln!("{killed} of {all} changes were killed, {finished} finished");
    assert_eq!(killed + finished, all);
    assert!(killed > all / 16 && finished > all / 4, "{killed} killed, {finished} finished");
    // One more change sweeps up what the killed ones left.
    place.ok(&["provider", "add", &place.ini("Last", 1)]);
    let mut left: Vec<String> = fs::read_dir(place.0.join("registry"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| !name.starts_with("v0"))
        .collect();
    left.sort();
    assert_eq!(left, ["current", "private"]);
    for service in place.installed().system.services().map(|service| service.name.clone()) {
        place.ok(&["provider", "remove", &service]);
    }
    let installed = place.installed();
    assert_eq!((installed.system.last_counter, installed.system.last_help), (1846, 1847));
}

/// A change is killed at its system calls, one run a call, by strace: at every call with `TALLYMON_SOAK`,
/// else at some.
#[cfg(unix)]
#[test]
fn a_change_killed_at_a_system_call_is_made_or_not() {
    use std::os::unix::process::ExitStatusExt;

    let Some(strace) = peer("strace") else { return };
    let place = Place::new();
    place.ok(&["provider", "add", &place.ini("Before", 1)]);
    let file = place.ini("Killed", 2);
    let (add, remove) = (["provider", "add", &file], ["provider", "remove", "Killed"]);
    let traced = |options: &[&str], words: &[&str]| {
        let tally = place.command(words);
        let mut command = Command::new(&strace);
        command.args(["-qq", "-o"]).args(options).arg(tally.get_program()).args(words);
        command.envs(tally.get_envs().filter_map(|(name, value)| Some((name, value?))));
        command.stderr(Stdio::null()).status().unwrap()
    };
    let is_there = |place: &Place| {
        // Reading checks that the tables are whole.
        let installed = place.installed();
        assert!(installed.system.service("Before").is_some_and(|service| service.titles.is_some()));
        installed.system.service("Killed").is_some()
    };
    let step = if std::env::var_os("TALLYMON_SOAK").is_some() { 1 } else { 29 };
    for (words, back) in [(add, remove), (remove, add)] {
        let adds = words == add;
        if is_there(&place) == adds {
            place.ok(&back);
        }
        let log = place.0.join("calls").display().to_string();
        assert!(traced(&[&log], &words).success());
        let log = fs::read_to_string(&log).unwrap();
        let names: Vec<&str> = log.lines().filter_map(|line| Some(line.split_once('(')?.0)).collect();
        place.ok(&back);
        let (mut made, mut not_made, mut killed) = (0u32, 0u32, 0u32);
        for (call, name) in names.iter().enumerate().step_by(step) {
            // strace counts the calls of each name for itself.
            let number = names.iter().take(call + 1).filter(|other| *other == name).count();
            let kill = format!("inject={name}:signal=KILL:when={number}");
            let status = traced(&["/dev/null", "-e", &kill], &words);
            killed += u32::from(status.signal() == Some(9));
            if is_there(&place) == adds {
                made += 1;
                place.ok(&back);
            } else {
                not_made += 1;
            }
        }
        let (all, tried) = (names.len(), made + not_made);
        eprintln!("{}: killed at {killed} of {all} calls: {made} made, {not_made} not", words[1]);
        // A call more or less depends on the moment.
        assert!(not_made > 0 && killed >= tried - tried.div_ceil(8), "{killed} of {tried} were killed");
        // The last calls come behind the change.
        assert!(step > 1 || made > 0);
    }
}

/// Numbers that look random and are the same in every run.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from((self.0 >> 33) % limit).unwrap()
    }
}
