//! The diagnostics port, and the streams that it sends.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::os::unix::net::UnixListener;
use std::sync::mpsc::{Sender, channel};
use std::time::Duration;

use tallymon_dotnet::events::{self, Meaning, meaning};
use tallymon_dotnet::nettrace::{Trace, TraceError};
use tallymon_dotnet::port::{EventProvider, PortError, Program, Session, Stream, find};
use tallymon_dotnet::samples::Samples;

use crate::hosts::hosts;

/// Longer than any of these programs needs, also on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);

fn provider(name: &str, keywords: u64, level: u32, arguments: &str) -> EventProvider {
    EventProvider { name: name.into(), keywords, level, arguments: arguments.into() }
}

#[test]
fn a_program_says_what_it_is() {
    for host in hosts() {
        let running = host.start();
        let program = running.program();
        assert_eq!(program.name, if host.version == "10.0" { "host" } else { "attach" });
        match program.info(PATIENCE) {
            Ok(info) => {
                assert_eq!(info.pid, u64::from(running.child.id()));
                assert!(info.version.starts_with(host.version), "{info:?}");
                assert!(!info.assembly.is_empty() && !info.command.is_empty(), "{info:?}");
            }
            Err(error) => {
                assert_eq!(host.version, "3.1");
                assert!(error.to_string().contains("too old"), "{error}");
            }
        }
    }
}

/// What the events of a session say must be what the program's own runtime says.
#[test]
fn events_agree_with_the_runtime() {
    for host in hosts() {
        let mut running = host.start();
        let session = Session {
            providers: vec![
                provider(events::SYSTEM_RUNTIME, u64::MAX, 4, "EventCounterIntervalSec=0.1"),
                provider(events::RUNTIME, events::GC | events::EXCEPTION, 4, ""),
            ],
            method_names: false,
            buffer: 16,
        };
        let stream = running.program().start(&session, PATIENCE).unwrap();
        let finish = stream.finisher();
        // Closing its input would end the program, so one thread reads and this one asks.
        let (counting, counts) = channel();
        let reader = std::thread::spawn(move || {
            let mut trace = Trace::new(stream)?;
            let mut all = Vec::new();
            while trace.next(&mut |event| {
                all.extend(meaning(event));
                if matches!(all.last(), Some(Meaning::Counter(_))) {
                    let _ = counting.send(());
                }
            })? {}
            Ok::<_, TraceError>((all, trace.lost(), *trace.start()))
        });
        // Counters begin to count a moment after the session.
        counts.recv_timeout(PATIENCE).unwrap();
        assert_eq!(running.ask("throw 25"), "ok");
        let mut collections = 0;
        if !host.is_trimmed() {
            for generation in [0, 1, 2] {
                assert_eq!(running.ask(&format!("collect {generation}")), "ok");
            }
            collections = running.number("collections 0");
        }
        // What happened is in the next values or in those after them: a set of values has this many.
        for _ in 0..3 * counts.try_iter().count().max(30) {
            counts.recv_timeout(PATIENCE).unwrap();
        }
        finish.finish(PATIENCE).unwrap();
        let (all, lost, start) = reader.join().unwrap().unwrap();
        assert_eq!(lost, 0, ".NET {}", host.version);
        assert_eq!(start.pid, running.child.id());
        let thrown = all.iter().filter(|event| {
            matches!(event, Meaning::Exception(thrown)
            if thrown.type_name == "System.InvalidOperationException" && thrown.message == "on purpose")
        });
        assert_eq!(thrown.count(), 25, ".NET {}", host.version);
        let mut counted = BTreeMap::new();
        for event in &all {
            if let Meaning::Counter(counter) = event {
                *counted.entry(counter.name.as_str()).or_insert(0.0) += counter.value;
                assert!(counter.interval < 5.0, "{counter:?}");
            }
        }
        assert_eq!(counted["exception-count"], 25.0, ".NET {}: {counted:?}", host.version);
        if !host.is_trimmed() {
            assert_eq!(counted["gen-2-gc-count"], 1.0, ".NET {}: {counted:?}", host.version);
            check_collections(&all, collections);
        }
        // The program goes on as if nothing had been.
        assert_eq!(running.ask("throw 1"), "ok");
    }
}

/// Three collections: the last has the number that the runtime counts.
fn check_collections(all: &[Meaning], collections: u64) {
    let mut starts = all.iter().filter_map(|event| match event {
        Meaning::GcStart(start) => Some(*start),
        _ => None,
    });
    let last = starts.clone().next_back().unwrap();
    assert_eq!(u64::from(last.number), collections);
    assert!(starts.any(|start| start.is_induced() && start.generation == 2));
    let stats = all.iter().filter(|event| {
        matches!(event, Meaning::HeapStats(stats)
            if stats.sizes.iter().sum::<u64>() > 0 && stats.handles > 0)
    });
    assert!(stats.count() >= 3);
}

#[test]
fn attaching_again_and_again_does_no_harm() {
    for host in hosts() {
        let mut running = host.start();
        let session = Session {
            providers: vec![provider(events::SYSTEM_RUNTIME, u64::MAX, 4, "EventCounterIntervalSec=0.1")],
            method_names: false,
            buffer: 4,
        };
        for round in 0..20 {
            let stream = running.program().start(&session, PATIENCE).unwrap();
            let ender = stream.ender().unwrap();
            let mut trace = Trace::new(stream).unwrap();
            let mut seen = 0;
            while seen == 0 && round % 2 == 0 {
                trace.next(&mut |_| seen += 1).unwrap();
            }
            // The stream ends without a word, as it does when a reader is killed. The oldest runtime can lose
            // its port by that, once in 1,700 times, so it is asked to end the session.
            if host.version == "3.1" {
                ender.end(PATIENCE).unwrap();
            }
            drop(trace);
            assert_eq!(running.ask("throw 3"), "ok");
        }
    }
}

/// At least a hundred samples of a thread that computes.
pub(crate) fn sampled(program: &Program) -> Samples {
    let session = Session {
        providers: vec![
            provider(events::SAMPLER, 0xf000_0000_0000, 4, ""),
            provider(events::RUNTIME, 0x0014_c14f_ccbd, 4, ""),
        ],
        method_names: true,
        buffer: 64,
    };
    let mut stream = program.start(&session, PATIENCE).unwrap();
    stream.set_patience(PATIENCE);
    let finish = stream.finisher();
    let (reading, amounts) = channel();
    let reader = std::thread::spawn(move || Samples::read(Counted { stream, reading }));
    // A sample takes some bytes.
    let mut bytes = 0;
    while bytes < 120_000 {
        bytes += amounts.recv_timeout(PATIENCE).unwrap();
    }
    finish.finish(PATIENCE).unwrap();
    reader.join().unwrap().unwrap()
}

/// A program that is three quarters of its time in one method: the samples show it within their error.
#[test]
fn samples_show_where_a_program_spends_its_time() {
    for host in hosts() {
        let mut running = host.start();
        assert_eq!(running.ask("spin"), "ok");
        let samples = sampled(&running.program());
        assert_eq!((samples.damage.as_deref(), samples.lost), (None, 0), ".NET {}", host.version);
        let named = |stack: usize, name: &str| {
            let methods = samples.stacks[stack].iter().filter_map(|address| samples.method_at(*address));
            let mut methods = methods.map(|method| samples.methods[method].name.as_str());
            methods.any(|method| method == name)
        };
        let all = || samples.threads.values().flatten().filter(|sample| named(sample.stack, "Spin"));
        let part = |name| all().filter(|sample| named(sample.stack, name)).count() as f64;
        let (three, one, spin) = (part("Three"), part("One"), all().count() as f64);
        assert!(spin > 100.0 && three + one > 0.95 * spin, ".NET {}: {three} {one} {spin}", host.version);
        let (share, error) = (three / (three + one), (0.75 * 0.25 / spin).sqrt());
        eprintln!(".NET {}: {share:.3} of {spin} samples, standard error {error:.3}", host.version);
        assert!((share - 0.75).abs() < 5.0 * error, ".NET {}: {share} {spin}", host.version);
        assert!(samples.command.contains("attach.exe") || host.is_trimmed(), "{}", samples.command);
        let expected =
            if host.version == "3.1" { 4 } else { host.version.split('.').next().unwrap().parse().unwrap() };
        assert_eq!(samples.runtime[0], expected, "{:?}", samples.runtime);
    }
}

/// A stream that says how much was read.
pub(crate) struct Counted {
    pub(crate) stream: Stream,
    pub(crate) reading: Sender<usize>,
}

impl Read for Counted {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let read = self.stream.read(buffer)?;
        let _ = self.reading.send(read);
        Ok(read)
    }
}

/// A program as a test plays it: another socket, the process id of this test.
fn played(name: &str) -> (tallymon_testkit::Scratch, UnixListener, Program) {
    let folder = tallymon_testkit::Scratch::new();
    let socket = folder.join("socket");
    let listener = UnixListener::bind(&socket).unwrap();
    (folder, listener, Program { pid: std::process::id(), started: 0, name: name.into(), user: 0, socket })
}

const SHORT: Duration = Duration::from_millis(300);

#[test]
fn attack_hostile_sockets_are_errors_with_a_reason() {
    let missing = find(u32::MAX).unwrap_err().to_string();
    assert!(missing.contains("process 4294967295 has no diagnostics socket"), "{missing}");
    let mut header = b"DOTNET_IPC_V1\0".to_vec();
    header.extend([24, 0, 0xff, 0xff, 0, 0]);
    let refused = [&header[..], &[0x85, 0x13, 0x13, 0x80]].concat();
    let huge = [b"DOTNET_IPC_V1\0".as_slice(), &[0xff, 0xff, 0xff, 0, 0, 0]].concat();
    let answers: [(&[u8], &str); 6] = [
        (b"", "waiting for an answer"),
        (b"HTTP/1.1 400 Bad Request\r\n\r\n", "the word DOTNET_IPC_V1"),
        (&refused, "refused the command ProcessInfo with error 0x80131385, because it is too old"),
        (&huge, "waiting for an answer"),
        (b"DOTNET_IPC_V1\0\x14\0\xff\0\0\0", "the process id in the answer"),
        (b"DOTNET_IPC_V1\0\x14\0\x02\0\0\0", "the kind of the message"),
    ];
    for (answer, expected) in answers {
        let (_folder, listener, program) = played("hostile");
        let answer = answer.to_vec();
        let thread = std::thread::spawn(move || {
            // A refused command is asked for in its older form.
            for _ in 0..2 {
                let (mut stream, _) = listener.accept().unwrap();
                stream.read_exact(&mut [0; 20]).unwrap();
                stream.write_all(&answer).unwrap();
                if !answer.starts_with(b"DOTNET_IPC_V1\0\x18") {
                    break;
                }
            }
        });
        let error = program.info(PATIENCE).unwrap_err().to_string();
        assert!(error.contains(expected), "{expected}: {error}");
        thread.join().unwrap();
    }
    // Nobody accepts: the queue takes some connections, which get no answer, and then none.
    let (_folder, _listener, program) = played("hung");
    for _ in 0..200 {
        let error = program.info(Duration::from_millis(1)).unwrap_err();
        assert!(error.to_string().contains("waiting for"), "{error}");
    }
    let (_folder, listener, program) = played("dead");
    drop(listener);
    let error = program.info(SHORT).unwrap_err().to_string();
    assert!(error.contains("opening its diagnostics socket") && error.contains("refused"), "{error}");
    let (_folder, _listener, mut program) = played("impostor");
    // In a namespace of its own this program may be process 1.
    let other = std::process::id() + 1;
    program.pid = other;
    let error = program.info(SHORT).unwrap_err();
    assert!(matches!(error, PortError::Impostor { pid, .. } if pid == other), "{error}");
    tallymon_testkit::attack(
        "other users",
        "listen on the diagnostics socket of a .NET program, answer nonsense or nothing",
        "an error with the reason after a deadline; a socket of another process is not used",
    );
}

#[test]
fn attack_a_socket_of_another_user_does_not_hide_that_of_a_program() {
    let Some(other) = tallymon_testkit::other_user() else { return };
    let pid = std::process::id();
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap();
    let key = stat.rsplit_once(')').unwrap().1.split_whitespace().nth(19).unwrap().to_string();
    let folder = tallymon_testkit::Scratch::new();
    // The kernel lists both; the folder that sorts first is the attacker's.
    let listeners = ["a", "b"].map(|name| {
        std::fs::create_dir(folder.join(name)).unwrap();
        let socket = folder.join(name).join(format!("dotnet-diagnostic-{pid}-{key}-socket"));
        (UnixListener::bind(&socket).unwrap(), socket)
    });
    let [(_, theirs), (_, ours)] = &listeners;
    std::os::unix::fs::chown(theirs, Some(other), Some(other)).unwrap();
    assert_eq!(find(pid).unwrap().socket, *ours);
    std::fs::remove_file(ours).unwrap();
    assert!(matches!(find(pid), Err(PortError::NotFound { .. })));
    tallymon_testkit::attack(
        "other users",
        "put a socket with the numbers of a .NET program of another user where it is found first",
        "it is not looked at; the program's own socket is used",
    );
}
