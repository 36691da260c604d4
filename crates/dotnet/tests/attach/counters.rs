//! The counters of running programs, compared with what their runtimes say themselves.

use std::fs;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tallymon_core::block::{BlockWriter, RawValue, Snapshot, SnapshotInstance, WriteHeader};
use tallymon_dotnet::live::DotnetPrograms;
use tallymon_provider::{Absence, CollectRequest, Frequency, Language, Provider, TitleIndex, ValueState};

use crate::hosts::{Host, Running, hosts};

/// Longer than anything takes, also on a busy machine.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// Readers attach to every .NET program, those of other tests too, and one that leaves can disturb the others
/// in an old runtime: only one test reads at a time.
pub(crate) fn alone() -> MutexGuard<'static, ()> {
    static READING: Mutex<()> = Mutex::new(());
    READING.lock().unwrap_or_else(PoisonError::into_inner)
}

/// One answer of a provider.
pub(crate) fn snapshot(provider: &mut DotnetPrograms) -> Snapshot {
    let objects: Vec<TitleIndex> = provider.objects().iter().map(|object| object.name).collect();
    let header = WriteHeader { perf_freq: Frequency(1), ..WriteHeader::named("test") };
    let mut bytes = Vec::new();
    let mut writer = BlockWriter::growing(&mut bytes, &header);
    provider.collect(&CollectRequest::everything(&objects), writer.objects()).unwrap();
    writer.finish().unwrap();
    Snapshot::new(bytes).unwrap()
}

/// A value of a program by the names that people use.
pub(crate) fn value(
    snapshot: &Snapshot,
    running: &Running,
    object: &str,
    counter: &str,
) -> Result<u64, ValueState> {
    let titles = DotnetPrograms::default().titles(Language::ENGLISH);
    let index = titles.indexes_of(object).next().unwrap();
    let object = snapshot.object(index).unwrap();
    let named = |position: &usize| titles.name(object.counters()[*position].name) == Some(counter);
    let position = (0..object.counters().len()).find(named).unwrap();
    let id = i32::try_from(running.pid).unwrap();
    let mut instances = object.instances();
    let instance: Option<SnapshotInstance<'_>> = instances.find(|instance| instance.unique_id() == Some(id));
    // New programs are looked for once a second.
    let Some(instance) = instance else { return Err(ValueState::Absent(Absence::Vanished)) };
    match (instance.state(position), instance.raw(position)) {
        (ValueState::Present, Some(RawValue::Number(number))) => Ok(number),
        (state, _) => Err(state),
    }
}

/// Asks until a value is what is wanted; fails with the last value.
pub(crate) fn until(
    provider: &mut DotnetPrograms,
    running: &Running,
    path: (&str, &str),
    wanted: impl Fn(u64) -> bool,
) -> u64 {
    let end = Instant::now() + PATIENCE;
    loop {
        let now = value(&snapshot(provider), running, path.0, path.1);
        if let Ok(now) = now
            && wanted(now)
        {
            return now;
        }
        assert!(Instant::now() < end, "{path:?}: {now:?}");
    }
}

pub(crate) const MEMORY: &str = ".NET CLR Memory";
pub(crate) const EXCEPTIONS: (&str, &str) = (".NET CLR Exceptions", "# of Exceps Thrown / sec");

#[test]
fn counters_agree_with_the_runtime() {
    let _alone = alone();
    for host in hosts() {
        let mut running = host.start();
        let mut provider = DotnetPrograms::default();
        let before = until(&mut provider, &running, EXCEPTIONS, |_| true);
        assert_eq!(running.ask("throw 100"), "ok");
        let thrown = until(&mut provider, &running, EXCEPTIONS, |now| now - before >= 100);
        assert_eq!(thrown - before, 100, ".NET {}", host.version);
        let pid = value(&snapshot(&mut provider), &running, MEMORY, "Process ID");
        assert_eq!(pid, Ok(u64::from(running.child.id())));
        let nothing = value(&snapshot(&mut provider), &running, MEMORY, "# Induced GC");
        assert_eq!(nothing, Err(ValueState::Absent(Absence::NotOnThisSystem)));
        if !host.is_trimmed() {
            collections_agree(host, &mut running, &mut provider);
            allocations_agree(host, &mut running, &mut provider);
            contentions_agree(host, &mut running, &mut provider);
        }
    }
}

fn collections_agree(host: &Host, running: &mut Running, provider: &mut DotnetPrograms) {
    let pauses = ("System.Runtime", "% GC Pause Time");
    let (pause_before, seen_before) = (running.ask("pause"), until(provider, running, pauses, |_| true));
    for generation in [0, 1, 2, 2, 1, 0, 0] {
        running.ask(&format!("collect {generation}"));
    }
    let counts: Vec<u64> =
        (0..3).map(|generation| running.number(&format!("collections {generation}"))).collect();
    assert_eq!(until(provider, running, (MEMORY, "# Gen 0 Collections"), |now| now >= counts[0]), counts[0]);
    for (generation, count) in counts.iter().enumerate().skip(1) {
        let name = format!("# Gen {generation} Collections");
        if host.version == "9.0" {
            assert_eq!(until(provider, running, (MEMORY, &name), |now| now >= *count), *count);
        } else {
            // Not 0, which would be wrong.
            let now = value(&snapshot(provider), running, MEMORY, &name);
            assert_eq!(now, Err(ValueState::Absent(Absence::Other)), ".NET {}", host.version);
        }
    }
    // The runtime has its pauses in units of 100 ns; events of it begin and end them a little outside.
    let pause = match (pause_before.parse::<u64>(), running.ask("pause").parse::<u64>()) {
        (Ok(before), Ok(after)) => after - before,
        _ => return,
    };
    // On a busy machine a thread may wait between an event and the runtime's look at its clock, on either
    // side.
    let least = pause - pause / 20;
    let seen = until(provider, running, pauses, |now| now - seen_before >= least) - seen_before;
    eprintln!(".NET {}: pauses of {pause} x 100 ns by the runtime, {seen} by its events", host.version);
    assert!(seen <= pause * 2 + 10_000, ".NET {}: {pause} {seen}", host.version);
}

fn allocations_agree(host: &Host, running: &mut Running, provider: &mut DotnetPrograms) {
    let rate = (MEMORY, "Allocated Bytes/sec");
    let (seen_before, before) = (until(provider, running, rate, |_| true), running.number("allocated"));
    running.ask("allocate 100000");
    let after = running.number("allocated");
    // Asking for the number before the sum would add what was allocated between both.
    let least = (after - before) / 100 * 99;
    assert!(least > 100_000_000, "{least}");
    let seen = until(provider, running, rate, |now| now - seen_before >= least) - seen_before;
    let most = running.number("allocated") - before;
    eprintln!(".NET {}: {} bytes by the runtime, {seen} by the counter", host.version, after - before);
    // The sum began up to two intervals before the number.
    assert!(seen <= most + most / 50, ".NET {}: {seen} {most}", host.version);
}

fn contentions_agree(host: &Host, running: &mut Running, provider: &mut DotnetPrograms) {
    let rate = (".NET CLR LocksAndThreads", "Contention Rate / sec");
    let before = (until(provider, running, rate, |_| true), running.number("contentions"));
    running.ask("contend 3");
    let more = running.number("contentions") - before.1;
    assert!(more >= 3, ".NET {}: {more}", host.version);
    until(provider, running, rate, |now| now - before.0 >= more);
}

/// A program that stands still costs its own values, and nothing else.
#[test]
fn attack_a_stopped_program_costs_its_own_values_only() {
    let _alone = alone();
    let Some(host) = hosts().first() else { return };
    let (stopped, mut running) = (host.start(), host.start());
    let mut provider = DotnetPrograms::default();
    let assemblies = (".NET CLR Loading", "Current Assemblies");
    for program in [&stopped, &running] {
        until(&mut provider, program, assemblies, |now| now > 0);
    }
    let signal = |name: &str| {
        let id = stopped.child.id().to_string();
        assert!(std::process::Command::new("kill").args([name, &id]).status().unwrap().success());
    };
    signal("-STOP");
    let end = Instant::now() + PATIENCE;
    loop {
        let answer = snapshot(&mut provider);
        assert!(value(&answer, &running, assemblies.0, assemblies.1).unwrap() > 0);
        match value(&answer, &stopped, assemblies.0, assemblies.1) {
            Err(state) => {
                assert_eq!(state, ValueState::Absent(Absence::ReadFailed));
                break;
            }
            Ok(_) => assert!(Instant::now() < end, "a stopped program still has values"),
        }
    }
    // A reader that begins now does not wait for it either.
    let mut other = DotnetPrograms::default();
    let before = until(&mut other, &running, EXCEPTIONS, |_| true);
    running.ask("throw 7");
    assert_eq!(until(&mut other, &running, EXCEPTIONS, |now| now - before >= 7) - before, 7);
    let state = value(&snapshot(&mut other), &stopped, assemblies.0, assemblies.1);
    assert!(matches!(state, Err(ValueState::Absent(_))), "{state:?}");
    signal("-CONT");
    until(&mut provider, &stopped, assemblies, |now| now > 0);
    tallymon_testkit::attack(
        "published counters",
        "stop a .NET program whose counters are read",
        "its values are absent with a reason; those of other programs are read as before",
    );
}

/// Nothing is asked of a program before somebody asks, nor after the reader is gone.
#[test]
fn sessions_begin_and_end_with_their_reader() {
    let _alone = alone();
    for host in hosts() {
        let running = host.start();
        let sockets = || {
            let files = fs::read_dir(format!("/proc/{}/fd", running.child.id())).unwrap().flatten();
            let links = files.filter_map(|file| fs::read_link(file.path()).ok());
            links.filter(|link| link.to_string_lossy().starts_with("socket:")).count()
        };
        let before = sockets();
        let mut provider = DotnetPrograms::default();
        assert!(!provider.objects().is_empty() && provider.is_costly(TitleIndex(930_000)));
        assert_eq!(sockets(), before);
        until(&mut provider, &running, EXCEPTIONS, |_| true);
        assert!(sockets() > before);
        drop(provider);
        let end = Instant::now() + PATIENCE;
        while sockets() > before {
            assert!(Instant::now() < end, ".NET {}", host.version);
            std::thread::yield_now();
        }
    }
}
