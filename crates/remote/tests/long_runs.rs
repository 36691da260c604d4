//! Peers for a long time: what a day of answers leaves open and takes of memory, also when a peer does harm.
//!
//! One test, in a program of its own: memory and descriptors belong to the whole process.
#![forbid(unsafe_code)]
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "a test that fails is to panic")]

use std::fs;
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::thread;
use std::time::Duration;

use tallymon_core::block::{
    BlockWriter, CounterSpec, InstanceKind, ObjectLayout, ObjectSpec, Snapshot, WriteHeader,
};
use tallymon_core::counter::CounterType;
use tallymon_core::flow::{Source, SourceError, SourceErrorKind};
use tallymon_core::request::Request;
use tallymon_core::time::{FileTime, Frequency, PerfTime};
use tallymon_core::title::{Language, TitleIndex, Titles};
use tallymon_remote::frames::{
    Answer, FrameError, Question, read_frame, read_greeting, write_frame, write_greeting,
};
use tallymon_remote::peer::{Connection, Dial, PeerSource};
use tallymon_remote::serve;
use tallymon_testkit::{attack, attack_count};

/// Samples in an hour, one a second.
const HOUR: u64 = 3_600;
/// Of anonymous memory, within which the hours after the first one stay: an allocator keeps some pages.
const SLACK: u64 = 4 << 20;
/// Longer than any answer takes, also on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);
const OBJECT: TitleIndex = TitleIndex(10_000);

/// A machine whose processes come and go: in each sample other instances.
struct Machine {
    second: u64,
}

/// The block of a moment.
fn block(second: u64, instances: u64) -> Snapshot {
    let counters = [CounterSpec::new(TitleIndex(10_002), CounterType::PERF_COUNTER_RAWCOUNT)];
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
    for number in 0..instances {
        object.instance(&format!("job {}", second * 3 + number), None, None).set(0, second);
    }
    drop(object);
    writer.finish().unwrap();
    Snapshot::new(bytes).unwrap()
}

impl Source for Machine {
    fn snapshot(&mut self, _: &Request) -> Result<Snapshot, SourceError> {
        self.second += 1;
        Ok(block(self.second, 50))
    }

    fn titles(&mut self, _: Language) -> Result<Titles, SourceError> {
        let mut titles = Titles::new();
        titles.insert_name(OBJECT, "Jobs");
        Ok(titles)
    }

    fn trouble(&self, object: TitleIndex) -> Option<String> {
        (object == OBJECT).then(|| format!("a reason at second {}", self.second))
    }
}

/// Names other objects in each answer, and says more about each of them than anybody reads.
fn answer_with_more_and_more(input: &mut UnixStream, output: &mut UnixStream) -> Result<(), FrameError> {
    write_greeting(output)?;
    read_greeting(input)?;
    for round in 0u32.. {
        let answer = match Question::decode(&read_frame(input)?)? {
            Question::Languages => Answer::Languages((0..20_000).map(Language::new).collect()),
            Question::Titles(_) | Question::Translations(_) => {
                let mut titles = Titles::new();
                (1..40).for_each(|index| titles.insert_name(TitleIndex(index), "x".repeat(60_000)));
                Answer::Titles(titles)
            }
            _ => {
                let objects = (0..1000).map(|number| TitleIndex(round * 1000 + number));
                let troubles = objects.map(|object| (object, "why ".repeat(400))).collect();
                Answer::Block { bytes: block(1, 1).into_bytes(), read_infos: Vec::new(), troubles }
            }
        };
        write_frame(output, &answer.encode())?;
    }
    Ok(())
}

/// Connects to a thread that is the other machine.
struct Threads {
    is_hostile: bool,
}

struct Stream(UnixStream);

impl Dial for Threads {
    fn dial(&mut self) -> Result<Box<dyn Connection>, SourceError> {
        let (here, there) = UnixStream::pair().unwrap();
        let is_hostile = self.is_hostile;
        thread::spawn(move || {
            let (mut input, mut output) = (there.try_clone().unwrap(), there);
            if is_hostile {
                return answer_with_more_and_more(&mut input, &mut output);
            }
            serve(&mut Machine { second: 0 }, &mut input, &mut output)
        });
        Ok(Box::new(Stream(here)))
    }

    fn name(&self) -> String {
        "test://far".to_string()
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

fn peer(is_hostile: bool) -> PeerSource {
    PeerSource::new(Box::new(Threads { is_hostile }), PATIENCE)
}

/// Open descriptors, threads, and anonymous resident bytes of this process.
fn taken() -> (usize, usize, u64) {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("RssAnon")).unwrap();
    let kilobytes: u64 = line.split_whitespace().nth(1).unwrap().parse().unwrap();
    let count = |folder: &str| fs::read_dir(folder).unwrap().count();
    (count("/proc/self/fd"), count("/proc/self/task"), kilobytes << 10)
}

/// What is taken once the threads of connections that were given up have ended.
fn settled(files: usize, threads: usize) -> u64 {
    loop {
        let now = taken();
        if (now.0, now.1) == (files, threads) {
            return now.2;
        }
        assert!(now.0 >= files && now.1 >= threads, "{now:?}, {files} {threads}");
        thread::sleep(Duration::from_millis(1));
    }
}

#[test]
fn attack_a_day_of_another_machine() {
    let hours = attack_count(2, 24) as u64;
    let request = Request::objects(vec![OBJECT]);
    let mut lasting = peer(false);
    let mut hour = || {
        for _ in 0..HOUR {
            let snapshot = lasting.snapshot(&request).unwrap();
            assert_eq!(snapshot.object(OBJECT).unwrap().instances().count(), 50);
            lasting.give_back(snapshot);
        }
        assert!(lasting.trouble(OBJECT).unwrap().starts_with("a reason"));
        // Others come, ask once, and go.
        for _ in 0..20 {
            peer(false).snapshot(&request).unwrap();
        }
    };
    let before = taken();
    hour();
    // The connection that lasts: a descriptor at each end for each direction, and a thread at each end.
    let (files, threads) = (before.0 + 5, before.1 + 2);
    let memory = settled(files, threads);
    let mut most = memory;
    for number in 1..hours {
        hour();
        let now = settled(files, threads);
        assert!(now <= memory + SLACK, "{now} bytes after hour {number}, {memory} after one");
        most = most.max(now);
    }
    println!("{hours} h, {files} descriptors, {memory} bytes after an hour, {most} at most");
    drop(lasting);
    attack(
        "other machines",
        "a day of samples of another machine through frames, with connections that come and go",
        "descriptors, threads and memory stay as they were after an hour",
    );
    hostile();
}

fn hostile() {
    let mut source = peer(true);
    let request = Request::objects(vec![OBJECT]);
    for _ in 0..20 {
        source.snapshot(&request).unwrap();
    }
    let reasons = (0..20_000).filter_map(|object| source.trouble(TitleIndex(object)));
    let (count, longest) = reasons.fold((0, 0), |(count, longest), why| (count + 1, why.len().max(longest)));
    assert_eq!((count, longest), (4096, 1000));
    let refused = (0..20_000).map(Language::new).find_map(|language| source.titles(language).err());
    let words = refused.unwrap().to_string();
    assert!(words.contains("test://far: its names have more than 67108864 bytes"), "{words}");
    assert_eq!(source.languages().len(), 64);
    // The connection goes on, with the names that it has.
    source.snapshot(&request).unwrap();
    attack(
        "other machines",
        "a host that names new objects, languages and texts in every answer, for ever",
        "4,096 reasons of 1,000 letters, 64 languages and 64 MiB of names are kept; more is left out",
    );
}
