//! Generates the reference of all built-in counters, `docs/reference/linux-counters.md`, from their tables,
//! and tests that the file is up to date.
#![allow(clippy::unwrap_used, reason = "test code")]

use std::fmt::Write;
use std::path::Path;

use tallymon_core::title::Language;
use tallymon_linux::{Quality, System};
use tallymon_provider::{CounterType, Profile, Provider, TitleIndex};

use crate::titles;

const HEAD: &str = "# The counters of Linux

`TALLYMON_BLESS=1 cargo test -p tallymon-host --lib reference` generates this page from the counter tables.

* *Unit*: the unit of the displayed value.
* *Source*: the file and the key that the value comes from. `file:key + :key * 10` is a sum with a factor.
  `or` separates alternatives: the second is used where the first is missing. A file without a leading `/`
  is in the folder of the instance.
* *Quality*: E exact; C close; A an approximation; D kept by the collector itself; O read only on request,
  because it is expensive or needs rights; Z always 0, which is the true value; `-` no data, because Linux
  has nothing like it or it is not collected.
* *Tier*: how processes, processors and network protocols are read (see `tally doctor`): T0 from files, T2
  by an eBPF program in the kernel. *As root* needs CAP_SYS_PTRACE. `all` means that the tier makes no
  difference.
* *Since*: the first kernel that has the source, or one of its alternatives. `all` means every kernel from
  2.6.20 on, or a source that is not a file.

How *since* was checked: the source exists in the kernel code of that release and not in that of the release
before. The checked releases are 2.6.12 to 2.6.39, 3.0 to 3.2, 3.4 to 3.6, 3.9 to 3.11, 3.14 to 3.16, 3.18,
4.2, 4.3, 4.10, 4.12, 4.15, 4.18 to 4.20, 5.0, 5.2 to 5.4, 5.8 to 5.10, 5.14, 5.15, 5.17, 5.19, 6.0 and 6.2;
`all` was checked in 2.6.20. For 3.3, 3.4, 3.7, 3.12 to 3.14, 3.18, 4.2, 4.4 to 4.8, 4.13, 4.18, 5.2, 5.5,
5.13, 5.16, 5.19, 6.1, 6.2 and 6.5 the release before was not among them: proc(5), the kernel's
documentation and other records of the change say which release in between added the source. Versions before
2.6.12 come from proc(5).
";

/// The whole page.
fn page(honest: &System, system: &System) -> String {
    let names = titles::titles(Language::ENGLISH).unwrap();
    let mut text = HEAD.to_string();
    let mut objects: Vec<_> = system.objects().iter().collect();
    objects.sort_by_key(|object| object.name);
    for object in objects {
        let costly = if system.is_costly(object.name) { ", read by name only" } else { "" };
        let honest = honest.objects().iter().any(|shown| shown.name == object.name);
        let hidden = if honest { "" } else { ", in the profile `nt-strict` only" };
        let name = names.name(object.name).unwrap();
        writeln!(text, "\n## {name} ({}{costly}{hidden})\n", object.name.0).unwrap();
        writeln!(text, "{}\n", names.help(object.help).unwrap()).unwrap();
        text.push_str("| index | counter | type | unit | source | quality | tier | since |\n|---|---|---|---|---|---|---|---|\n");
        let origins = system.origins(object.name);
        assert_eq!(origins.len(), object.counters.len(), "{name}");
        for (counter, origin) in object.counters.iter().zip(origins) {
            if counter.counter_type.info().is_some_and(|info| info.name.ends_with("_BASE")) {
                continue;
            }
            let source = match origin.source {
                "" => "none".to_string(),
                source => format!("`{}`", source.replace(" | ", "` or `")),
            };
            let since = match (origin.source, origin.since) {
                ("", _) => "-",
                (_, "") => "all",
                (_, since) => since,
            };
            let name = names.name(counter.name).unwrap();
            let kind = counter.counter_type;
            let cells = [
                counter.name.0.to_string(),
                name.to_string(),
                kind.name().to_string(),
                unit(kind, name).to_string(),
                source,
                origin.quality.letter().to_string(),
                tier(object.name, counter.name, origin.quality).to_string(),
                since.to_string(),
            ];
            assert!(cells.iter().all(|cell| !cell.is_empty()), "{}: {cells:?}", object.name.0);
            writeln!(text, "| {} |", cells.join(" | ")).unwrap();
        }
    }
    text
}

/// The unit of a counter's displayed value, from its type and its English name.
fn unit(kind: CounterType, name: &str) -> &'static str {
    const RATES: [CounterType; 2] = [CounterType::PERF_COUNTER_COUNTER, CounterType::PERF_COUNTER_BULK_COUNT];
    const SHARES: [CounterType; 5] = [
        CounterType::PERF_100NSEC_TIMER,
        CounterType::PERF_100NSEC_TIMER_INV,
        CounterType::PERF_PRECISION_100NS_TIMER,
        CounterType::PERF_RAW_FRACTION,
        CounterType::PERF_SAMPLE_FRACTION,
    ];
    const BY_NAME: [(&str, &str); 39] = [
        ("KBytes", "KiB"),
        ("MBytes", "MiB"),
        ("Megabytes", "MiB"),
        ("Bytes", "bytes"),
        ("Out of Memory", "count"),
        ("Memory", "bytes"),
        ("Working Set", "bytes"),
        ("Dedicated Usage", "bytes"),
        ("Shared Usage", "bytes"),
        ("Pool Paged Peak", "bytes"),
        ("Pool Nonpaged Peak", "bytes"),
        ("Percent Compression", "%"),
        ("Running Time", "100 ns"),
        ("ID Process", "-"),
        ("ID Thread", "-"),
        ("Process ID Limit", "count"),
        ("Process ID", "-"),
        ("Thread State", "-"),
        ("Thread Wait Reason", "-"),
        ("Start Address", "-"),
        ("Committed", "bytes"),
        ("Commit Limit", "bytes"),
        ("Bandwidth", "bit/s"),
        ("mSec", "ms"),
        ("mWh", "mWh"),
        ("mW", "mW"),
        ("mV", "mV"),
        ("RPM", "1/min"),
        ("Charge Cycles", "count"),
        ("Charge", "%"),
        ("Processor Frequency", "MHz"),
        ("High Precision Temperature", "0.1 K"),
        ("Temperature", "K"),
        ("Energy", "pWh"),
        ("Power", "mW"),
        ("Degrees Celsius", "°C"),
        ("Up Time", "s"),
        ("Idle Time", "s"),
        ("% ", "%"),
    ];
    if kind == CounterType::PERF_COUNTER_TEXT {
        "text"
    } else if SHARES.contains(&kind) && !name.starts_with("Load Average") {
        "%"
    } else if RATES.contains(&kind) {
        if name.contains("Bytes") { "bytes/s" } else { "1/s" }
    } else if kind == CounterType::PERF_ELAPSED_TIME || kind == CounterType::PERF_AVERAGE_TIMER {
        "s"
    } else if kind == CounterType::PERF_AVERAGE_BULK && !name.contains("Bytes") {
        "100 ns"
    } else {
        BY_NAME.iter().find(|(part, _)| name.contains(part)).map_or("count", |(_, unit)| unit)
    }
}

/// The tiers that give a counter: what others do with files is shown to those with rights.
fn tier(object: TitleIndex, counter: TitleIndex, quality: Quality) -> &'static str {
    const OF_PROCESSES: [u32; 3] = [230, 232, 1548];
    const IO: [u32; 6] = [1412, 1414, 1416, 1420, 1422, 1424];
    const SYSTEM_IO: [u32; 5] = [10, 12, 16, 18, 406];
    const OF_PROTOCOLS: [u32; 7] = [546, 548, 582, 638, 658, 1532, 1534];
    /// Interrupts and soft interrupts of processors, and events of memory.
    const COUNTS: [(&[u32], &[u32]); 2] =
        [(&[238, 900_000], &[148, 1334, 1336, 900_010]), (&[4], &[28, 34, 40, 42, 48, 50, 822, 824])];
    let is_count =
        |(objects, counters): &(&[u32], &[u32])| objects.contains(&object.0) && counters.contains(&counter.0);
    if quality == Quality::N {
        "-"
    } else if OF_PROCESSES.contains(&object.0) {
        if IO.contains(&counter.0) { "T0 as root or of own processes, T2" } else { "T0, T2" }
    } else if object.0 == 2 && SYSTEM_IO.contains(&counter.0) {
        "T0 as root, T2"
    } else if OF_PROTOCOLS.contains(&object.0) || COUNTS.iter().any(is_count) {
        "T0, T2"
    } else {
        "all"
    }
}

#[test]
fn units_of_types_and_names() {
    for (kind, name, expected) in [
        (CounterType::PERF_COUNTER_BULK_COUNT, "Disk Read Bytes/sec", "bytes/s"),
        (CounterType::PERF_COUNTER_COUNTER, "Page Faults/sec", "1/s"),
        (CounterType::PERF_PRECISION_100NS_TIMER, "% Disk Time", "%"),
        (CounterType::PERF_COUNTER_LARGE_RAWCOUNT, "Available MBytes", "MiB"),
        (CounterType::PERF_COUNTER_RAWCOUNT, "Thread Count", "count"),
        (CounterType::PERF_AVERAGE_TIMER, "Avg. Disk sec/Read", "s"),
        (CounterType::PERF_COUNTER_LARGE_RAWCOUNT, "Working Set", "bytes"),
        (CounterType::PERF_COUNTER_LARGE_RAWCOUNT, "Working Set - Private", "bytes"),
        (CounterType::PERF_COUNTER_LARGE_RAWCOUNT, "Out of Memory Kills", "count"),
        (CounterType::PERF_COUNTER_RAWCOUNT, "ID Process", "-"),
    ] {
        assert_eq!(unit(kind, name), expected, "{name}");
    }
}

#[test]
fn the_readme_names_every_object() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../README.md");
    let text = std::fs::read_to_string(path).unwrap();
    let part = text.split("\n## ").find(|part| part.starts_with("What it reads")).unwrap();
    // A name may continue on the next line.
    let part = part.split_whitespace().collect::<Vec<_>>().join(" ");
    let system = System::open().unwrap().with_profile(Profile::NtStrict);
    let names = titles::titles(Language::ENGLISH).unwrap();
    for object in system.objects().iter().chain([&crate::provider_object::SPEC]) {
        let name = names.name(object.name).unwrap();
        assert!(part.contains(name), "\"What it reads\" of the README does not name {name}");
    }
}

#[test]
fn the_reference_is_that_of_the_tables() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference/linux-counters.md");
    let page = page(&System::open().unwrap(), &System::open().unwrap().with_profile(Profile::NtStrict));
    if std::env::var_os("TALLYMON_BLESS").is_some_and(|value| value == "1") {
        std::fs::write(&path, &page).unwrap();
    }
    let written = std::fs::read_to_string(&path).unwrap_or_default();
    let difference = page.lines().zip(written.lines()).find(|(one, other)| one != other);
    assert!(
        page == written,
        "{} is not up to date: {difference:?}; TALLYMON_BLESS=1 writes it",
        path.display()
    );
}

/// `titles/counters.tsv`: which help text belongs to each counter of each object.
#[test]
fn the_counters_of_objects_are_those_of_the_tables() {
    let system = System::open().unwrap().with_profile(Profile::NtStrict);
    let mut lines = std::collections::BTreeSet::new();
    for object in system.objects().iter().chain([&crate::provider_object::SPEC]) {
        lines.extend(object.counters.iter().map(|counter| (object.name.0, counter.name.0, counter.help.0)));
    }
    let mut text =
        "# object, counter, help: TALLYMON_BLESS=1 cargo test -p tallymon-host --lib writes it\n".to_string();
    for (object, counter, help) in lines {
        writeln!(text, "{object}\t{counter}\t{help}").unwrap();
    }
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("titles/counters.tsv");
    if std::env::var_os("TALLYMON_BLESS").is_some_and(|value| value == "1") {
        std::fs::write(&path, &text).unwrap();
    }
    assert_eq!(std::fs::read_to_string(&path).unwrap_or_default(), text, "{}", path.display());
    // Names of Process mean the times of the process, not those of a processor.
    let helps = titles::counter_helps().unwrap();
    assert_eq!(helps.get(&(TitleIndex(230), TitleIndex(6))).map(|help| help.0), Some(189));
}

/// A help text for data of other systems mentions nothing of Linux, and every counter keeps one.
#[test]
fn neutral_help_does_not_mention_linux() {
    for language in titles::languages() {
        let neutral = titles::neutral_titles(language).unwrap();
        for (index, help) in titles::titles(language).unwrap().helps().filter(|(index, _)| index.0 <= 1847) {
            let place = format!("{language:?} {}: {help}", index.0);
            let text = neutral.help(index).unwrap_or_else(|| panic!("{place}"));
            for word in ["Linux", "/proc", "MemAvailable", "cgroup", "; .", ".."] {
                assert!(!text.contains(word), "{place}: {text}");
            }
            for word in
                ["namespace", "eth0", "loopback interface", "loop and", "off by default", "the folder where"]
            {
                assert!(!text.contains(word), "{place}: {text}");
            }
            for word in
                ["пространства имен", "петлев", "имя устройства", "папка,", "名前空間", "네임스페이스"]
            {
                assert!(!text.contains(word), "{place}: {text}");
            }
        }
    }
}

/// Windows keeps the names of these languages in English; the translations are separate.
#[test]
fn korean_and_japanese_names_are_english() {
    let english = titles::titles(Language::ENGLISH).unwrap();
    for (language, memory) in [(Language::KOREAN, "메모리"), (Language::JAPANESE, "メモリ")] {
        let nt = titles::titles(language).unwrap();
        assert!(nt.names().eq(english.names()), "{language:?}");
        assert_ne!(nt.help(TitleIndex(4).help()), english.help(TitleIndex(4).help()));
        assert_eq!(titles::translations(language).unwrap().name(TitleIndex(4)), Some(memory));
    }
    assert!(titles::translations(Language::RUSSIAN).unwrap().is_empty());
    assert_eq!(titles::titles(Language::RUSSIAN).unwrap().name(TitleIndex(4)), Some("Память"));
}

/// Every index that Vista's table names, as far as it means the same on every machine.
#[test]
fn every_name_of_vista_is_known() {
    let Some(path) = tallymon_testkit::shared("titles/perflib_names_009_vista6000.tsv") else { return };
    let own = titles::titles(Language::ENGLISH).unwrap();
    let vista = tallymon_core::title::Titles::from_tsv(&std::fs::read_to_string(path).unwrap()).unwrap();
    let standard: Vec<_> = vista.names().filter(|(index, _)| index.0 <= 1847).collect();
    assert_eq!(standard.len(), 632);
    for (index, name) in standard {
        assert_eq!(own.name(index), Some(name), "{}", index.0);
    }
}
