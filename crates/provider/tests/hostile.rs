//! Published files that are damaged, cut, replaced or lies; and one of version 1 as it was first written.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that fails is to panic")]

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tallymon_core::title::Language;
use tallymon_provider::CounterType;
use tallymon_provider::shm::{
    CounterSet, HistogramShape, NewInstance, Published, Publisher, Reader, RefusalReason,
};
use tallymon_testkit::{Scratch, attack, attack_count, other_user};

/// Places of the fields that differ from process to process: its number, its start time, the time of the
/// file.
const PID: usize = 24;
const START_TIME: usize = 32;
const CREATED: usize = 48;

/// A folder with one for publications in it.
fn scratch() -> Scratch {
    let scratch = Scratch::new();
    fs::create_dir(scratch.join("pub")).unwrap();
    scratch
}

/// Where the tested file is.
fn file_in(scratch: &Path) -> PathBuf {
    scratch.join("pub/1-1-1.pub")
}

fn reader_of(scratch: &Path) -> Reader {
    Reader::new([scratch.join("pub")])
}

/// A file with every structure of the format, as its publisher leaves it.
fn sample(scratch: &Path) -> Vec<u8> {
    let set = CounterSet::new("Sample")
        .help("Help text.")
        .name_in(Language::GERMAN, "Muster")
        .help_in(Language::GERMAN, "Hilfetext.")
        .instances_about(3)
        .counter("Count", CounterType::PERF_COUNTER_BULK_COUNT)
        .help("Counts.")
        .scale(-3)
        .counter("Shared", CounterType::PERF_COUNTER_LARGE_RAWCOUNT)
        .shared_lanes(2)
        .text("Text", 16)
        .average("Average")
        .first_shown()
        .unit("kg")
        .histogram("Histogram", &HistogramShape { bits: 0, most: 100, percentiles: vec![50_000] });
    let single = CounterSet::new("Single").elapsed("Elapsed");
    let publisher = Publisher::start_in(&scratch.join("own"), "sample", &[set, single]).unwrap();
    let first =
        publisher.instance("Sample", &NewInstance { name: "first", id: Some(1), parent: None }).unwrap();
    let second = NewInstance { name: "zweite ☃", id: None, parent: Some(&first) };
    let second = publisher.instance("Sample", &second).unwrap();
    let _single = publisher.single("Single").unwrap();
    first.counter("Count").unwrap().add(0x0102_0304_0506_0708);
    second.counter("Count").unwrap().add(1);
    first.shared("Shared").unwrap().add(40);
    first.text("Text").unwrap().set("snow ☃");
    let mut average = first.average("Average").unwrap();
    average.record(5);
    average.record(6);
    first.histogram("Histogram").unwrap().record(9);
    fs::read(publisher.path()).unwrap()
}

/// Looks at everything that a reader can see, and says how many values there were.
fn look(reader: &mut Reader) -> usize {
    reader.scan();
    let mut values = 0;
    for publication in reader.publications_mut() {
        publication.read();
        for (position, object) in publication.objects().iter().enumerate() {
            let n = publication.instances(position).len();
            for instance in publication.instances(position) {
                assert!(
                    instance.parent().is_none_or(|parent| {
                        parent.position < publication.instances(parent.object).len()
                    })
                );
                assert!(instance.name().len() <= 216 && n <= 100_000);
                values += (0..object.counters.len()).filter(|at| instance.value(*at).is_some()).count();
                for first in 0..=object.counters.len() {
                    for (at, number) in (first..).zip(instance.numbers_from(first)) {
                        assert_eq!(instance.value(at), Some(Published::Number(number)));
                    }
                }
            }
        }
    }
    values
}

/// Replaces the tested file, so that the reader sees a new one.
fn put(scratch: &Path, bytes: &[u8]) {
    let _ = fs::remove_file(file_in(scratch));
    fs::write(file_in(scratch), bytes).unwrap();
    fs::set_permissions(file_in(scratch), fs::Permissions::from_mode(0o644)).unwrap();
}

fn refusal(scratch: &Path) -> RefusalReason {
    let mut reader = reader_of(scratch);
    assert_eq!(look(&mut reader), 0);
    assert_eq!(reader.publications().len(), 0);
    let mut reader = reader_of(scratch);
    reader.scan();
    assert_eq!(reader.refusals().len(), 1, "{:?}", reader.refusals());
    match &reader.refusals()[0].reason {
        RefusalReason::NotAFile => RefusalReason::NotAFile,
        RefusalReason::Writable => RefusalReason::Writable,
        RefusalReason::UnsafeDirectory => RefusalReason::UnsafeDirectory,
        RefusalReason::Truncated => RefusalReason::Truncated,
        RefusalReason::Dead { pid } => RefusalReason::Dead { pid: *pid },
        RefusalReason::WrongOwner { pid, owner } => RefusalReason::WrongOwner { pid: *pid, owner: *owner },
        RefusalReason::Format(error) => RefusalReason::Format(error.clone()),
        other => panic!("{other}"),
    }
}

#[test]
fn every_byte_changed() {
    let scratch = scratch();
    let good = sample(&scratch);
    put(&scratch, &good);
    let all = look(&mut reader_of(&scratch));
    assert_eq!(all, 2 * 9 + 1);
    let (mut whole, mut refused) = (0, 0);
    for at in 0..good.len() {
        for change in [|byte: u8| byte ^ 1, |byte: u8| byte ^ 0x80, |_| 0, |_| 0xff] {
            let mut bytes = good.clone();
            bytes[at] = change(bytes[at]);
            if bytes == good {
                continue;
            }
            put(&scratch, &bytes);
            let mut reader = reader_of(&scratch);
            let values = look(&mut reader);
            assert!(values <= 200, "byte {at}");
            whole += usize::from(values == all);
            refused += reader.refusals().len();
        }
    }
    // Some changes only make other numbers; others must be found out.
    assert!(whole > 1000 && refused > 500, "{whole} whole, {refused} refused");
}

#[test]
fn every_beginning() {
    let scratch = scratch();
    let good = sample(&scratch);
    for length in 0..good.len() {
        put(&scratch, &good[..length]);
        let mut reader = reader_of(&scratch);
        assert_eq!(look(&mut reader), 0, "{length}");
        assert_eq!((reader.publications().len(), reader.refusals().len()), (0, 1), "{length}");
    }
}

/// SplitMix64, so that a failure can be repeated.
fn random(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut z = *state;
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[test]
fn random_words_in_random_places() {
    let scratch = scratch();
    let good = sample(&scratch);
    let mut state = 1;
    for round in 0..8_000 {
        let mut bytes = good.clone();
        for _ in 0..=random(&mut state) % 4 {
            let at = random(&mut state) as usize % (bytes.len() / 4) * 4;
            let word = match random(&mut state) % 5 {
                0 => 0,
                1 => u32::MAX,
                2 => random(&mut state) as u32,
                3 => random(&mut state) as u32 % 256,
                _ => bytes.len() as u32,
            };
            // What names the process stays, or nothing else would be looked at.
            if !(PID..START_TIME + 8).contains(&at) {
                bytes[at..at + 4].copy_from_slice(&word.to_le_bytes());
            }
        }
        put(&scratch, &bytes);
        assert!(look(&mut reader_of(&scratch)) <= 1000, "round {round}");
    }
}

#[test]
fn wrong_length_allocates_nothing() {
    let scratch = scratch();
    let mut bytes = sample(&scratch);
    // The file says that it is as long as it can be, and as a file with holes it even is.
    bytes[16..24].copy_from_slice(&(64u64 << 20).to_le_bytes());
    put(&scratch, &bytes);
    let file = fs::File::options().write(true).open(file_in(&scratch)).unwrap();
    file.set_len(64 << 20).unwrap();
    assert!(matches!(refusal(&scratch), RefusalReason::Format(error) if error.what == "magic of an extent"));
    file.set_len(1 << 40).unwrap();
    bytes[16..24].copy_from_slice(&(1u64 << 40).to_le_bytes());
    fs::write(file_in(&scratch), &bytes).unwrap();
    file.set_len(1 << 40).unwrap();
    assert!(matches!(refusal(&scratch), RefusalReason::Format(error) if error.what == "used length"));
}

#[test]
fn attack_cut_a_file_while_it_is_read() {
    let scratch = scratch();
    let good = sample(&scratch);
    let stop = AtomicBool::new(false);
    let path = file_in(&scratch);
    put(&scratch, &good);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut state = 7;
            let file = fs::File::options().write(true).open(&path).unwrap();
            while !stop.load(Ordering::Relaxed) {
                let length = random(&mut state) % good.len() as u64;
                std::thread::sleep(Duration::from_micros(500));
                file.set_len(length).unwrap();
                fs::write(&path, &good).unwrap();
            }
        });
        let (mut ended, mut rounds) = (0, 0);
        let start = std::time::Instant::now();
        // The other thread may begin late on a busy machine.
        while rounds < 300 || ended == 0 && start.elapsed() < Duration::from_secs(60) {
            rounds += 1;
            let mut reader = reader_of(&scratch);
            look(&mut reader);
            for publication in reader.publications_mut() {
                for _ in 0..500 {
                    ended += usize::from(!publication.read());
                }
            }
        }
        stop.store(true, Ordering::Relaxed);
        assert!(ended > 0);
    });
    attack("published counters", "cut a file short while it is read", "its counters end; the reader goes on");
}

/// Whether it is read by a system call each time, or mapped because it was read often, and wherever it is
/// cut.
#[test]
fn a_publication_that_was_cut_is_dropped() {
    let scratch = scratch();
    let good = sample(&scratch);
    for reads in [0, 1, 5] {
        for length in [0, 20, 200, good.len() / 2, good.len() - 1] {
            put(&scratch, &good);
            let mut reader = reader_of(&scratch);
            (0..reads).for_each(|_| assert_eq!(look(&mut reader), 19));
            reader.scan();
            let file = fs::File::options().write(true).open(file_in(&scratch)).unwrap();
            file.set_len(length as u64).unwrap();
            if reader.publications_mut()[0].read() {
                // Then only names are cut off, which are known already.
                assert_eq!(look(&mut reader), 19, "{length} bytes after {reads} readings");
                assert!(length > 200, "{length} bytes after {reads} readings");
                continue;
            }
            assert_eq!(reader.publications()[0].instances(0).len(), 0);
            assert!(reader.scan());
            assert_eq!(reader.publications().len(), 0);
        }
    }
}

/// Publications that are read often are mapped, each once, also when they grow, and until they end.
#[test]
fn publications_that_are_read_often_are_mapped() {
    let scratch = scratch();
    let set =
        || CounterSet::new("Few").instances_about(1).counter("Count", CounterType::PERF_COUNTER_RAWCOUNT);
    let publishers: Vec<Publisher> =
        (0..20).map(|_| Publisher::start_in(&scratch.join("pub"), "few", &[set()]).unwrap()).collect();
    let new = |publisher: &Publisher, name: &str| {
        let instance = publisher.instance("Few", &NewInstance { name, id: None, parent: None }).unwrap();
        instance.counter("Count").unwrap().add(5);
        instance
    };
    let mut instances: Vec<_> = publishers.iter().map(|publisher| new(publisher, "0")).collect();
    let mappings = || {
        let maps = fs::read_to_string("/proc/self/maps").unwrap();
        let folder = scratch.join("pub").to_string_lossy().into_owned();
        maps.lines().filter(|line| line.contains(" r--s ") && line.contains(&folder)).count()
    };
    let sum = |reader: &Reader| {
        let all = reader.publications().iter().flat_map(|publication| publication.instances(0));
        all.map(|instance| instance.numbers_from(0).sum::<u64>()).sum::<u64>()
    };
    let mut reader = reader_of(&scratch);
    reader.scan();
    assert_eq!((mappings(), sum(&reader)), (0, 100), "whoever reads once maps nothing");
    (0..3).for_each(|_| reader.read(|_| true));
    assert_eq!((mappings(), sum(&reader)), (20, 100));
    instances.extend((1..500).map(|number| new(&publishers[3], &number.to_string())));
    (0..2).for_each(|_| reader.read(|_| true));
    assert_eq!((mappings(), sum(&reader)), (20, 100 + 499 * 5));
    drop((instances, publishers));
    reader.scan();
    assert_eq!((mappings(), reader.publications().len()), (0, 0));
}

#[test]
fn attack_unsafe_files_and_folders() {
    let scratch = scratch();
    let good = sample(&scratch);
    put(&scratch, &good);
    fs::rename(file_in(&scratch), scratch.join("elsewhere")).unwrap();
    symlink(scratch.join("elsewhere"), file_in(&scratch)).unwrap();
    assert!(matches!(refusal(&scratch), RefusalReason::NotAFile));
    fs::remove_file(file_in(&scratch)).unwrap();
    fs::create_dir(file_in(&scratch)).unwrap();
    assert!(matches!(refusal(&scratch), RefusalReason::NotAFile));
    fs::remove_dir(file_in(&scratch)).unwrap();
    // Opening a pipe must not wait for somebody to write.
    rustix::fs::mkfifoat(rustix::fs::CWD, file_in(&scratch), rustix::fs::Mode::from_raw_mode(0o644)).unwrap();
    assert!(matches!(refusal(&scratch), RefusalReason::NotAFile));
    put(&scratch, &good);
    for mode in [0o664, 0o646, 0o666, 0o622] {
        fs::set_permissions(file_in(&scratch), fs::Permissions::from_mode(mode)).unwrap();
        assert!(matches!(refusal(&scratch), RefusalReason::Writable), "{mode:o}");
    }
    fs::set_permissions(file_in(&scratch), fs::Permissions::from_mode(0o600)).unwrap();
    assert_eq!(look(&mut reader_of(&scratch)), 19);
    fs::set_permissions(scratch.join("pub"), fs::Permissions::from_mode(0o777)).unwrap();
    assert!(matches!(refusal(&scratch), RefusalReason::UnsafeDirectory));
    fs::set_permissions(scratch.join("pub"), fs::Permissions::from_mode(0o1777)).unwrap();
    assert_eq!(look(&mut reader_of(&scratch)), 19);
    // A directory that is a link, and one that is not there.
    symlink(scratch.join("pub"), scratch.join("link")).unwrap();
    let mut reader = Reader::new([scratch.join("link"), scratch.join("missing")]);
    assert_eq!(look(&mut reader), 0);
    assert_eq!(reader.refusals().len(), 1);
    attack(
        "published counters",
        "links, folders and pipes as files; files and folders that others can write",
        "each is refused by name; nothing waits",
    );
}

#[test]
fn attack_file_of_a_process_of_others() {
    let scratch = scratch();
    let good = sample(&scratch);
    let with = |pid: u32, start: Option<u64>| {
        let mut bytes = good.clone();
        bytes[PID..PID + 4].copy_from_slice(&pid.to_le_bytes());
        if let Some(start) = start {
            bytes[START_TIME..START_TIME + 8].copy_from_slice(&start.to_le_bytes());
        }
        put(&scratch, &bytes);
    };
    for pid in [0, u32::MAX, 0x7fff_ffff] {
        with(pid, None);
        assert!(matches!(refusal(&scratch), RefusalReason::Dead { .. }), "{pid}");
    }
    with(std::process::id(), Some(1));
    assert!(matches!(refusal(&scratch), RefusalReason::Dead { .. }));
    put(&scratch, &good);
    let owner = rustix::process::getuid();
    let nobody = rustix::fs::Uid::from_raw(65534);
    if owner.is_root() && rustix::fs::chown(file_in(&scratch), Some(nobody), None).is_ok() {
        assert!(matches!(refusal(&scratch), RefusalReason::WrongOwner { owner: 65534, .. }));
    } else {
        tallymon_testkit::skip("only root can give a file to another owner");
    }
    attack(
        "published counters",
        "a file that names a process of another user, or one that ended",
        "it is refused",
    );
}

/// A process of another user that does nothing, with its number and start time; it ends with the test.
struct Other(std::process::Child);

impl Other {
    fn start(user: u32) -> Other {
        use std::os::unix::process::CommandExt;
        let mut sleep = std::process::Command::new("sleep");
        Other(sleep.arg("600").uid(user).gid(user).process_group(0).spawn().unwrap())
    }

    /// The file as this process would publish it.
    fn publishes(&self, good: &[u8]) -> Vec<u8> {
        let text = fs::read_to_string(format!("/proc/{}/stat", self.0.id())).unwrap();
        let start: u64 =
            text.rsplit(')').next().unwrap().split_whitespace().nth(19).unwrap().parse().unwrap();
        let mut bytes = good.to_vec();
        bytes[PID..PID + 4].copy_from_slice(&self.0.id().to_le_bytes());
        bytes[START_TIME..START_TIME + 8].copy_from_slice(&start.to_le_bytes());
        bytes
    }
}

impl Drop for Other {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Makes the first extent as long as a file can be; it is a hole behind its head.
fn stretched(good: &[u8], most: usize) -> (Vec<u8>, u64) {
    let number = |at: usize| u32::from_le_bytes(good[at..at + 4].try_into().unwrap()) as usize;
    // Length of the definitions; magic, object, slots, stride and length of the extent.
    let first = (128 + number(40)).next_multiple_of(64);
    let stride = number(first + 12);
    let slots = (most - first - 256) / (stride + 256);
    let length = (64 + stride * slots).next_multiple_of(64) + slots * 256;
    let mut bytes = good[..first + 64].to_vec();
    bytes[first + 8..first + 12].copy_from_slice(&(slots as u32).to_le_bytes());
    bytes[first + 16..first + 24].copy_from_slice(&(length as u64).to_le_bytes());
    let used = (first + length) as u64;
    bytes[16..24].copy_from_slice(&used.to_le_bytes());
    (bytes, used)
}

/// Writes a file of another user that is one large hole behind these bytes.
fn plant(path: &Path, bytes: &[u8], length: u64, user: u32) {
    fs::write(path, bytes).unwrap();
    fs::File::options().write(true).open(path).unwrap().set_len(length).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o644)).unwrap();
    std::os::unix::fs::chown(path, Some(user), None).unwrap();
}

/// Bytes that this process has read so far, of any file.
fn bytes_read() -> u64 {
    let text = fs::read_to_string("/proc/self/io").unwrap();
    text.lines().find_map(|line| line.strip_prefix("rchar: ")).unwrap().parse().unwrap()
}

#[test]
fn attack_sparse_publications() {
    let Some(user) = other_user() else { return };
    let scratch = scratch();
    let good = sample(&scratch);
    put(&scratch, &good);
    let other = Other::start(user);
    let theirs = other.publishes(&good);
    let n = attack_count(100, 1000);
    // Of 64 MiB, of which a page is there; and of 1 MiB, of which many fit.
    let large = stretched(&theirs, 64 << 20);
    for number in 0..n {
        plant(&scratch.join(format!("pub/2-{number}.pub")), &large.0, large.1, user);
    }
    // What the whole process reads meanwhile, other tests too, is far less than the 64 MiB of a single file.
    let before = bytes_read();
    let mut reader = reader_of(&scratch);
    assert_eq!(look(&mut reader), 19);
    assert!(bytes_read() - before < 32 << 20, "{} bytes were read", bytes_read() - before);
    let too_large = |reader: &Reader| {
        let refusals = reader.refusals().iter();
        refusals.filter(|refusal| matches!(refusal.reason, RefusalReason::TooLarge { .. })).count()
    };
    assert_eq!((reader.publications().len(), too_large(&reader)), (1, n.min(256)));
    let small = stretched(&theirs, 1 << 20);
    for number in 0..n {
        fs::remove_file(scratch.join(format!("pub/2-{number}.pub"))).unwrap();
        plant(&scratch.join(format!("pub/3-{number}.pub")), &small.0, small.1, user);
    }
    let mut reader = reader_of(&scratch);
    assert_eq!(look(&mut reader), 19);
    let theirs = reader.publications().iter().filter(|publication| publication.user() == user).count();
    assert_eq!(theirs, 16, "of 1 MiB each in 16 MiB");
    // A hole where the head of an extent must be: nothing behind it is read.
    let mut hole = small.0.clone();
    let end = hole.len();
    hole[end - 64..].fill(0);
    fs::remove_dir_all(scratch.join("pub")).unwrap();
    fs::create_dir(scratch.join("pub")).unwrap();
    plant(&scratch.join("pub/4.pub"), &hole, small.1, user);
    assert!(matches!(refusal(&scratch), RefusalReason::Format(error) if error.what == "magic of an extent"));
    attack(
        "published counters",
        "publish many sparse files of 64 MiB",
        "only heads are read: another user has room for 16 MiB; root's and own counters stay",
    );
}

#[test]
fn attack_junk_files_hide_a_publication() {
    let Some(user) = other_user() else { return };
    let scratch = scratch();
    let good = sample(&scratch);
    // Its name sorts last, and it is the last one that the folder gets.
    for number in 0..10_000 {
        let path = scratch.join(format!("pub/0-{number}.pub"));
        fs::write(&path, "junk").unwrap();
        std::os::unix::fs::chown(&path, Some(user), None).unwrap();
    }
    put(&scratch, &good);
    let mut reader = reader_of(&scratch);
    assert_eq!(look(&mut reader), 19);
    assert_eq!(reader.publications().len(), 1);
    let refusals = reader.refusals();
    assert_eq!(refusals.len(), 257, "256 files, and one line about the rest");
    let rest = |refusal: &&tallymon_provider::shm::Refusal| matches!(refusal.reason, RefusalReason::TooMany { user: of, left_out: 9744 } if of == user);
    assert_eq!(refusals.iter().filter(rest).count(), 1);
    // A second look reads none of the refused files again, and forgets those that are gone.
    fs::remove_file(scratch.join("pub/0-0.pub")).unwrap();
    reader.scan();
    for number in 1..10_000 {
        fs::remove_file(scratch.join(format!("pub/0-{number}.pub"))).unwrap();
    }
    let mut reader = reader_of(&scratch);
    assert_eq!(look(&mut reader), 19);
    assert_eq!(reader.refusals().len(), 0);
    attack(
        "published counters",
        "10,000 junk files in the folder of publications",
        "256 files of a user are looked at, the others are one line; root's and own files are found first",
    );
}

/// The file with some words in place of others of the same length, wherever they stand.
fn replaced(good: &[u8], words: &str, others: &str) -> Vec<u8> {
    assert_eq!(words.len(), others.len());
    let mut bytes = good.to_vec();
    let places: Vec<usize> =
        (0..good.len() - words.len()).filter(|at| good[*at..].starts_with(words.as_bytes())).collect();
    assert!(!places.is_empty(), "{words}");
    for at in places {
        bytes[at..at + words.len()].copy_from_slice(others.as_bytes());
    }
    bytes
}

#[test]
fn attack_names_that_move_the_cursor() {
    let scratch = scratch();
    let good = sample(&scratch);
    // Names lead to values, so one that cannot be shown is none.
    for (name, hostile) in [("Count", "\u{1b}[2J."), ("Muster", "\u{9b}31m!"), ("Single", "Sin\ng\r")] {
        put(&scratch, &replaced(&good, name, hostile));
        assert!(matches!(refusal(&scratch), RefusalReason::Format(error) if error.what == "name"), "{name}");
    }
    // Of other words what can be shown stays.
    let mut bytes = replaced(&good, "Hilfetext.", "Hilf\n\u{1b}[0m.");
    bytes = replaced(&bytes, "kg", "k\t");
    // The name of the program, at byte 64.
    bytes[64..70].copy_from_slice(b"a\x1b]0;b");
    put(&scratch, &bytes);
    let mut reader = reader_of(&scratch);
    assert_eq!(look(&mut reader), 19);
    let publication = &reader.publications()[0];
    assert_eq!(publication.name(), "a\u{fffd}]0;b");
    assert_eq!(publication.objects()[0].texts[1].help, "Hilf\n\u{fffd}[0m.");
    let units: Vec<&str> =
        publication.objects()[0].counters.iter().map(|counter| counter.texts[0].unit.as_str()).collect();
    assert!(units.contains(&"k\u{fffd}"), "{units:?}");
    // An instance whose name cannot be shown is not there; others are.
    put(&scratch, &replaced(&good, "zweite ☃", "\u{1b}[1;31m☃"));
    let mut reader = reader_of(&scratch);
    look(&mut reader);
    let names: Vec<&str> = reader.publications()[0].instances(0).map(|instance| instance.name()).collect();
    assert_eq!(names, ["first"]);
    // What parts a path is no reason to refuse it: the path that leads there quotes it.
    put(&scratch, &replaced(&good, "first", r"(\)*#"));
    let mut reader = reader_of(&scratch);
    assert_eq!(look(&mut reader), 19);
    attack(
        "published counters",
        "names and texts with control characters",
        "a name makes the file unreadable; in other texts they are replaced",
    );
}

/// Links out of the directory, to what exists everywhere and to nothing; and what nobody could read.
#[test]
fn links_lead_nowhere() {
    let scratch = scratch();
    let good = sample(&scratch);
    for target in ["/etc/passwd", "/etc", "/dev/zero", "/proc/self/mem", "/nowhere/at/all", "1-1-1.pub"] {
        symlink(target, file_in(&scratch)).unwrap();
        assert!(matches!(refusal(&scratch), RefusalReason::NotAFile), "{target}");
        fs::remove_file(file_in(&scratch)).unwrap();
    }
    // A second name of a file is that file; its process vouches for it.
    put(&scratch, &good);
    fs::hard_link(file_in(&scratch), scratch.join("pub/2-2-2.pub")).unwrap();
    assert_eq!(look(&mut reader_of(&scratch)), 2 * 19);
}

/// A published file as it was first written in a version of the format.
fn fixture(version: u32) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("fixtures/shm-v{version}.bin"))
}

/// The file without what differs from process to process.
fn masked(mut bytes: Vec<u8>) -> Vec<u8> {
    for range in [PID..PID + 4, START_TIME..START_TIME + 8, CREATED..CREATED + 8] {
        bytes[range].fill(0);
    }
    bytes
}

fn golden() -> CounterSet {
    CounterSet::new("Golden")
        .help("All that version 1 has.")
        .name_in(Language::JAPANESE, "黄金")
        .instances_about(2)
        .counter("Number", CounterType::PERF_COUNTER_BULK_COUNT)
        .scale(-1)
        .counter("Sum", CounterType::PERF_COUNTER_LARGE_RAWCOUNT)
        .shared_lanes(1)
        .text("Text", 10)
        .average("Average")
}

/// The set with what version 2 added.
fn golden_2() -> CounterSet {
    golden()
        .unit("ounces")
        .histogram("Histogram", &HistogramShape { bits: 1, most: 1000, percentiles: vec![50_000, 99_900] })
}

/// The set with what version 3 added. Nobody records in what has two lanes: in which one is the processor's
/// business.
fn golden_3() -> CounterSet {
    let shape = HistogramShape { bits: 1, most: 1000, percentiles: vec![50_000] };
    let set =
        golden_2().histogram("Shared", &shape).shared_lanes(1).histogram("Spread", &shape).shared_lanes(2);
    set.average("Shared Average").shared_lanes(1)
}

/// `TALLYMON_BLESS=1 cargo test -p tallymon-provider` writes the fixtures anew: only for a new version of the
/// format.
#[test]
fn every_version_is_written_as_ever() {
    for (version, set) in [(1, golden()), (2, golden_2()), (3, golden_3())] {
        let scratch = scratch();
        let publisher = Publisher::start_in(&scratch.join("own"), "golden", &[set]).unwrap();
        let one = NewInstance { name: "one", id: Some(1), parent: None };
        let one = publisher.instance("Golden", &one).unwrap();
        let two = NewInstance { name: "two", id: None, parent: Some(&one) };
        let _two = publisher.instance("Golden", &two).unwrap();
        one.counter("Number").unwrap().add(4711);
        one.shared("Sum").unwrap().add(17);
        one.text("Text").unwrap().set("gold");
        one.average("Average").unwrap().record(12);
        if version >= 2 {
            let mut histogram = one.histogram("Histogram").unwrap();
            [1, 2, 3, 1000, 100_000].into_iter().for_each(|value| histogram.record(value));
        }
        if version >= 3 {
            let shared = one.shared_histogram("Shared").unwrap();
            shared.record_many(3, 3);
            shared.record(1000);
            one.shared_average("Shared Average").unwrap().add(7, 2);
        }
        let bytes = masked(fs::read(publisher.path()).unwrap());
        if std::env::var_os("TALLYMON_BLESS").is_some_and(|value| value == "1") {
            fs::write(fixture(version), &bytes).unwrap();
        }
        let kept = fs::read(fixture(version)).unwrap();
        let differs = kept.iter().zip(&bytes).position(|(a, b)| a != b);
        assert_eq!((kept.len(), None), (bytes.len(), differs), "version {version}");
    }
}

#[test]
fn every_version_is_read_as_ever() {
    let scratch = scratch();
    let current = sample(&scratch);
    let put_fixture = |version, change: fn(&mut [u8])| {
        let mut bytes = fs::read(fixture(version)).unwrap();
        for range in [PID..PID + 4, START_TIME..START_TIME + 8] {
            bytes[range.clone()].copy_from_slice(&current[range]);
        }
        change(&mut bytes);
        put(&scratch, &bytes);
    };
    for (version, n_counters) in [(1, 5), (2, 10), (3, 20)] {
        put_fixture(version, |_| {});
        let mut reader = reader_of(&scratch);
        assert_eq!(look(&mut reader), 2 * n_counters);
        let publication = &reader.publications()[0];
        assert_eq!(publication.name(), "golden");
        assert_eq!(publication.objects()[0].texts[1].name, "黄金");
        let instances: Vec<_> = publication.instances(0).collect();
        let seen: Vec<_> =
            instances.iter().map(|one| (one.name(), one.id(), one.parent().is_some())).collect();
        assert_eq!(seen, [("one", Some(1), false), ("two", None, true)]);
        let numbers = [0, 1, 3, 4].map(|at| instances[0].value(at));
        assert_eq!(numbers, [4711, 17, 12, 1].map(|number| Some(Published::Number(number))));
        assert_eq!(instances[0].value(2), Some(Published::Text("gold")));
        if version >= 2 {
            let numbers = [5, 6, 7, 8, 9].map(|at| instances[0].value(at));
            assert_eq!(numbers, [101_006, 5, 5, 3, 768].map(|number| Some(Published::Number(number))));
        }
        if version >= 3 {
            let numbers = [10, 11, 12, 13, 14, 15, 16, 17, 18, 19].map(|at| instances[0].value(at));
            let expected = [1009, 4, 4, 3, 0, 0, 0, 0, 7, 2];
            assert_eq!(numbers, expected.map(|number| Some(Published::Number(number))));
        }
    }
    // What a version added is nothing that the one before knows.
    put_fixture(2, |bytes| bytes[8] = 1);
    assert!(matches!(refusal(&scratch), RefusalReason::Format(_)));
    put_fixture(3, |bytes| bytes[8] = 2);
    assert!(matches!(refusal(&scratch), RefusalReason::Format(_)));
    // A version that is not known is refused.
    put_fixture(2, |bytes| bytes[8] = 4);
    let words = "version at byte 8: 1, 2 or 3 needed, found 4";
    assert!(matches!(refusal(&scratch), RefusalReason::Format(error) if error.to_string() == words));
}
