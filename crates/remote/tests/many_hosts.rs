//! 500 hosts side by side: one that hangs and one that lies delay nobody.
//!
//! With `TALLYMON_MANY_SECONDS=30` the hosts are read once a second for so long, and the test prints what that
//! costs:
//! `TALLYMON_MANY_SECONDS=30 cargo test --release -p tallymon-remote --test many_hosts -- --nocapture`.
#![forbid(unsafe_code)]
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "a test that fails is to panic")]

use std::collections::HashMap;
use std::fs;
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

use tallymon_core::block::{
    BlockWriter, CounterSpec, InstanceKind, ObjectLayout, ObjectSpec, Snapshot, WriteHeader,
};
use tallymon_core::counter::CounterType;
use tallymon_core::flow::{Source, SourceError, SourceErrorKind};
use tallymon_core::request::Request;
use tallymon_core::time::{FileTime, Frequency, PerfTime};
use tallymon_core::title::{Language, TitleIndex, Titles};
use tallymon_remote::frames::{FrameError, read_frame, read_greeting, write_greeting};
use tallymon_remote::peer::{Connection, Dial, PeerSource};
use tallymon_remote::serve;
use tallymon_testkit::attack;

const HOSTS: usize = 500;
const HANGS: usize = 100;
const LIES: usize = 200;
/// Longer than any answer takes, also on a busy machine.
const PATIENCE: Duration = Duration::from_secs(120);
const OBJECT: TitleIndex = TitleIndex(10_000);

/// A machine with 64 instances of 10 counters, as a block of processors has.
struct Machine {
    number: u64,
    second: u64,
}

fn block(number: u64, second: u64) -> Snapshot {
    let counter = |at: u32| CounterSpec::new(TitleIndex(10_002 + 2 * at), CounterType::PERF_COUNTER_RAWCOUNT);
    let counters: Vec<CounterSpec> = (0..10).map(counter).collect();
    let layout = ObjectLayout::new(ObjectSpec::new(OBJECT, InstanceKind::Many, &counters));
    let time = 132_000_000_000_000_000 + second * 10_000_000;
    let header = WriteHeader {
        system_name: "FAR",
        default_object: -1,
        perf_time: PerfTime(second.cast_signed() * 1000),
        perf_freq: Frequency(1000),
        perf_time_100ns: FileTime(time),
        system_time: FileTime(time),
    };
    let mut bytes = Vec::new();
    let mut writer = BlockWriter::growing(&mut bytes, &header);
    let mut object = writer.objects().object(&layout, PerfTime(second.cast_signed() * 1000), Frequency(1000));
    for instance in 0..64u64 {
        object.instance(&instance.to_string(), None, None).set(0, number * 1000 + second);
    }
    drop(object);
    writer.finish().unwrap();
    Snapshot::new(bytes).unwrap()
}

impl Source for Machine {
    fn snapshot(&mut self, _: &Request) -> Result<Snapshot, SourceError> {
        self.second += 1;
        Ok(block(self.number, self.second))
    }

    fn titles(&mut self, _: Language) -> Result<Titles, SourceError> {
        let mut titles = Titles::new();
        titles.insert_name(OBJECT, "Jobs");
        Ok(titles)
    }
}

/// Connects to a thread that is the other machine.
struct Threads(usize);

struct Stream(UnixStream);

impl Dial for Threads {
    fn dial(&mut self) -> Result<Box<dyn Connection>, SourceError> {
        let (here, there) = UnixStream::pair().unwrap();
        let number = self.0;
        thread::Builder::new().stack_size(256 << 10).spawn(move || answer(number, there)).unwrap();
        Ok(Box::new(Stream(here)))
    }

    fn name(&self) -> String {
        format!("host {}", self.0)
    }
}

fn answer(number: usize, stream: UnixStream) -> Result<(), FrameError> {
    let (mut input, mut output) = (stream.try_clone().unwrap(), stream);
    match number {
        HANGS => {
            write_greeting(&mut output)?;
            read_greeting(&mut input)?;
            read_frame(&mut input)?;
            // The answer never comes; this ends with the connection.
            let _ = input.read(&mut [0]);
            Ok(())
        }
        LIES => {
            write_greeting(&mut output)?;
            read_greeting(&mut input)?;
            read_frame(&mut input)?;
            output.write_all(&[0xff; 64])?;
            Ok(())
        }
        _ => {
            let mut machine = Machine { number: number as u64, second: 0 };
            serve(&mut machine, &mut input, &mut output)
        }
    }
}

impl Connection for Stream {
    fn streams(&mut self) -> Option<(Box<dyn Read + Send>, Box<dyn Write + Send>)> {
        Some((Box::new(self.0.try_clone().ok()?), Box::new(self.0.try_clone().ok()?)))
    }

    fn diagnosis(&mut self, _: &FrameError) -> Option<(SourceErrorKind, String)> {
        None
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        let _ = self.0.shutdown(std::net::Shutdown::Both);
    }
}

type Report = (usize, Result<u64, String>);

/// Reads a host once for each tick.
fn read(number: usize, ticks: &Receiver<()>, reports: &Sender<Report>) {
    let mut host =
        PeerSource::new(Box::new(Threads(number)), Duration::from_secs(3600)).named(&format!("h{number}"));
    while ticks.recv().is_ok() {
        let result = host.snapshot(&Request::objects([OBJECT])).map(|snapshot| {
            let object = snapshot.object(OBJECT).unwrap();
            let value = object.instances().next().unwrap().sample(0).unwrap().first;
            host.give_back(snapshot);
            value
        });
        if reports.send((number, result.map_err(|error| error.to_string()))).is_err() {
            return;
        }
    }
}

/// Ticks of the processors that this process has used.
fn used() -> u64 {
    let stat = fs::read_to_string("/proc/self/stat").unwrap();
    let fields: Vec<&str> = stat.rsplit_once(')').unwrap().1.split_whitespace().collect();
    fields[11..13].iter().map(|field| field.parse::<u64>().unwrap()).sum()
}

#[test]
fn attack_five_hundred_hosts_beside_one_that_hangs_and_one_that_lies() {
    let limits = fs::read_to_string("/proc/self/limits").unwrap();
    let files = limits.lines().find_map(|line| line.strip_prefix("Max open files")).unwrap();
    if files.split_whitespace().next().unwrap().parse().is_ok_and(|most: usize| most < 8 * HOSTS) {
        return tallymon_testkit::skip("fewer than 4,000 files may be open (ulimit -n)");
    }
    let (sender, reports) = channel();
    let mut hosts = Vec::new();
    for number in 0..HOSTS {
        let ((tick, ticks), sender) = (channel(), sender.clone());
        let thread = thread::Builder::new().stack_size(256 << 10);
        thread.spawn(move || read(number, &ticks, &sender)).unwrap();
        hosts.push(tick);
    }
    let seconds: u64 = std::env::var("TALLYMON_MANY_SECONDS").map_or(0, |text| text.parse().unwrap());
    let (mut begin, mut before) = (Instant::now(), used());
    let mut lies = 0;
    for round in 1..=3 + seconds {
        for tick in &hosts {
            tick.send(()).unwrap();
        }
        let mut answered: HashMap<usize, Result<u64, String>> = HashMap::new();
        while answered.len() < HOSTS - 1 {
            let (number, result) = reports.recv_timeout(PATIENCE).unwrap();
            assert!(answered.insert(number, result).is_none(), "{number} twice");
        }
        assert!(!answered.contains_key(&HANGS));
        for (number, result) in answered {
            if number == LIES {
                let error = result.unwrap_err();
                assert!(error.contains("host 200"), "{error}");
                lies += 1;
                continue;
            }
            assert_eq!(result, Ok(number as u64 * 1000 + round), "{number}");
        }
        if round == 3 {
            // Everything is open from here on.
            (begin, before) = (Instant::now(), used());
        }
        if round >= 3 && seconds > 0 {
            let next = Duration::from_secs(round - 2);
            thread::sleep(next.saturating_sub(begin.elapsed()));
        }
    }
    assert_eq!(lies, 3 + seconds);
    if seconds > 0 {
        let percent = (used() - before) as f64 / begin.elapsed().as_secs_f64();
        let bytes = block(0, 0).into_bytes().len();
        println!(
            "{HOSTS} hosts with blocks of {bytes} bytes at 1 Hz, both sides: {percent:.1} % of one processor"
        );
    }
    attack(
        "other machines",
        "of 500 hosts one hangs and one answers with garbage",
        "the other 498 have their values in each round; the liar is named, and nobody waits for the other",
    );
}
