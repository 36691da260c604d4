//! C programs, compiled with the headers and linked with the library: old ones, and the table of statuses.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "a failed assumption of a test is its failure")]

use std::path::Path;
use std::process::Command;

use tallymon::core::counter::{CounterType, Format, TYPES, apply, compute, g17};
use tallymon::core::flow::{NoValue, Sample, Value};
use tallymon::core::path::InstancePath;
use tallymon::core::time::{FileTime, Frequency};
use tallymon::registry::{Roots, Scope, Service, Writer};
use tallymon::{Location, Query};
use tallymon_testkit::raw::Random;
use tallymon_testkit::{peer, shared};

mod bench;

use bench::{Bench, SANITIZED, lines};

/// Each call of the helper and of the registry, and the status that NT gives.
#[test]
fn statuses_equal_those_of_nt() {
    let Some(gcc) = peer("gcc") else { return };
    let bench = Bench::new("conformance");
    let warnings = ["-Wall", "-Wextra", "-Wno-sign-compare", "-Wno-missing-field-initializers"];
    let program = bench.compile(&gcc, &[SANITIZED, &warnings].concat(), &["tests/c/conformance.c"]);
    let log = shared("logs/PowerShell_CounterSamples.blg").unwrap_or_default();
    let said = lines(&bench.run(&program).arg(log).arg(&bench.0).output().unwrap());
    let [summary] = &said[..] else { panic!("{said:#?}") };
    assert!(summary.ends_with("0 wrong"), "{summary}");
    let checked: u32 = summary.split(' ').next().unwrap().parse().unwrap();
    assert!(checked > 250, "{summary}");
}

/// Handles that are none, places that are not there, sizes that are too small, and paths of every form.
#[test]
fn wrong_arguments_return_the_status_of_nt() {
    let Some(gcc) = peer("gcc") else { return };
    let bench = Bench::new("arguments");
    let warnings = ["-Wall", "-Wextra", "-Wno-sign-compare"];
    let program = bench.compile(&gcc, &[SANITIZED, &warnings].concat(), &["tests/c/arguments.c"]);
    let said = lines(&bench.run(&program).output().unwrap());
    let [summary] = &said[..] else { panic!("{said:#?}") };
    assert!(summary.ends_with(" 0 on purpose not, 0 wrong"), "{summary}");
}

/// Logs that are continued, circular or in a database, and records as they stand in a file. The program has
/// no terminal.
#[test]
fn writes_logs_in_every_way() {
    let (Some(gcc), Some(setsid)) = (peer("gcc"), peer("setsid")) else { return };
    let bench = Bench::new("logs");
    let warnings = ["-Wall", "-Wextra", "-Wno-sign-compare"];
    let program = bench.compile(&gcc, &[SANITIZED, &warnings].concat(), &["tests/c/logs.c"]);
    let sample = |end: &str| shared(&format!("logs/PowerShell_CounterSamples.{end}")).unwrap_or_default();
    let mut command = bench.run(&setsid);
    command.arg("--wait").arg(&program).arg(&bench.0).arg(sample("blg")).arg(sample("csv"));
    let said = lines(&command.output().unwrap());
    let [summary] = &said[..] else { panic!("{said:#?}") };
    assert!(summary.ends_with("0 wrong"), "{summary}");
}

/// A language that comes with a later service has a table of everything, as `MULTI_SZ`.
#[test]
fn a_language_added_later_has_name_tables() {
    let Some(gcc) = peer("gcc") else { return };
    let bench = Bench::new("languages");
    let warnings = ["-Wall", "-Wextra", "-Wno-sign-compare"];
    let program = bench.compile(&gcc, &[SANITIZED, &warnings].concat(), &["tests/c/languages.c"]);
    let file = |service: &str, languages: &str, texts: &str| {
        let (header, ini) = (format!("{service}.h"), bench.0.join(format!("{service}.ini")));
        let text = format!(
            "[info]\ndrivername={service}\nsymbolfile={header}\n[languages]\n009=\n{languages}\n[objects]\n\
             A_009_NAME=\n[text]\nA_009_NAME={service}\nA_009_HELP=Help of {service}\n{texts}\n"
        );
        std::fs::write(&ini, text).unwrap();
        std::fs::write(bench.0.join(header), "#define A 0\n").unwrap();
        ini
    };
    let one = file("One", "", "");
    let two = file("Two", "007=", "A_007_NAME=Zwei\nA_007_HELP=Hilfe zu Zwei");
    // As on Windows a service is registered before its names are loaded.
    let writer = Writer::open(&Roots::in_folder(&bench.0.join("root")), Some(Scope::System)).unwrap();
    let services = ["One", "Two"].map(|name| Service { name: name.to_string(), ..Service::default() });
    writer.register(&services).unwrap();
    let said = lines(&bench.run(&program).arg(one).arg(two).output().unwrap());
    let [summary] = &said[..] else { panic!("{said:#?}") };
    assert!(summary.ends_with("0 wrong"), "{summary}");
}

#[test]
fn the_program_of_the_article_prints_the_load() {
    assert_eq!(the_article_prints_the_load("article", &[]), "");
}

/// The article makes two arrays of as many entries as the highest index is, and writes to that index. The
/// sanitizers find these two writes, and nothing else.
#[test]
fn the_program_of_the_article_under_the_sanitizers() {
    let going_on = [SANITIZED, &["-fsanitize-recover=address"]].concat();
    let errors = the_article_prints_the_load("article-sanitized", &going_on);
    let found: Vec<&str> = errors.lines().filter(|line| line.starts_with("SUMMARY: ")).collect();
    let is_known = |line: &&str| line.contains("heap-buffer-overflow") && line.ends_with(" in Initialize()");
    assert!(found.len() <= 2 && found.iter().all(is_known), "{errors}");
}

/// The program of the article prints the load once a second; what it writes to standard error.
fn the_article_prints_the_load(name: &str, sanitizers: &[&str]) -> String {
    let (Some(compiler), Some(timeout)) = (peer("g++"), peer("timeout")) else { return String::new() };
    let bench = Bench::new(name);
    // The compiler of the article took a main without a value, and texts that may be written to.
    let options = ["-fpermissive", "-w", "-DUNICODE", "-D_UNICODE", "-Dmain=article_main", "-c"];
    let object = bench.0.join("article.o");
    let home = Path::new(env!("CARGO_MANIFEST_DIR"));
    let compiled = Command::new(&compiler)
        .args(options)
        .args(sanitizers)
        .arg("-fshort-wchar")
        .arg("-I")
        .arg(home.join("include"))
        .arg(home.join("examples/c/article_cpu_load.cpp"))
        .arg("-o")
        .arg(&object)
        .output()
        .unwrap();
    assert!(compiled.status.success(), "{}", String::from_utf8_lossy(&compiled.stderr));
    let object = object.to_string_lossy().into_owned();
    let program = bench.compile(&compiler, sanitizers, &["examples/c/article_main.cpp", &object]);
    let mut command = bench.run(&timeout);
    let output = command.env("ASAN_OPTIONS", "halt_on_error=0").arg("3.5").arg(&program).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    // It goes on until it is ended.
    assert_eq!(output.status.code(), Some(124), "{text}{errors}");
    let loads: Vec<i64> = text
        .lines()
        .filter_map(|line| line.strip_prefix("[ CPU Load : ")?.strip_suffix(" ]"))
        // It prints a difference of clocks that were not read together, which may be just below 0, without
        // its sign.
        .map(|load| load.parse::<u64>().unwrap().cast_signed())
        .collect();
    assert!(!loads.is_empty(), "{text}{errors}");
    assert!(loads.iter().all(|load| (-10..=100).contains(load)), "{loads:?}");
    assert!(
        text.starts_with("\nObject 238: Processor\n\n\tInstance 0: \n\t\tCounter 6: % Processor Time\n"),
        "{text}"
    );
    errors
}

/// A program that walks the block by hand finds what a query finds, for a counter of every type that there
/// is, and computes from the same raw values the same value.
#[test]
fn paths_expanded_by_the_program_give_the_same_values() {
    let Some(gcc) = peer("gcc") else { return };
    let bench = Bench::new("resolve");
    let program =
        bench.compile(&gcc, &[SANITIZED, &["-Wall", "-Wextra"]].concat(), &["examples/c/resolve_path.c"]);
    let mut query = Query::open(&Location::Local).unwrap();
    let objects: Vec<(String, bool)> = query
        .catalog()
        .objects()
        .iter()
        .filter(|object| object.name.0 <= 1847)
        .map(|object| (query.names().english(object.name), object.has_instances))
        .collect();
    for (object, instances) in &objects {
        let pattern = if *instances { format!("\\{object}(*)\\*") } else { format!("\\{object}\\*") };
        query.add(&pattern).unwrap();
    }
    query.collect().unwrap();
    // One counter of every type of every object, of an instance that stays; counters told by number have no
    // name to look up.
    let mut seen = Vec::new();
    let mut paths = Vec::new();
    for reading in query.readings() {
        let key = (reading.object, reading.definition.counter_type);
        let stays = reading.instance.as_ref().is_none_or(|instance| {
            let name = instance.name.as_str();
            instance.parent.is_none() && ["_Total", "lo", "0"].contains(&name)
        });
        let named = reading.path.ends_with(&query.names().english(reading.counter));
        if reading.cell.sample.is_some() && stays && named && !seen.contains(&key) {
            seen.push(key);
            paths.push(reading.path);
        }
    }
    assert!(paths.len() > 20, "{paths:?}");
    let output = bench.run(&program).args(["-i", "20"]).args(&paths).output().unwrap();
    let mut types = std::collections::BTreeSet::new();
    let mut values = 0;
    for (path, line) in paths.iter().zip(lines(&output)) {
        let words: Vec<&str> = line.split(' ').collect();
        let [kind, n0, n1, d0, d1, frequency, count, value] = words[..] else { panic!("{path}: {line}") };
        let number = |word: &str| word.parse::<i64>().unwrap();
        let sample = |first: &str, second: &str| Sample {
            counter_type: CounterType(kind.parse().unwrap()),
            first: number(first).cast_unsigned(),
            second: number(second).cast_unsigned(),
            frequency: Frequency(number(frequency)),
            multi_count: count.parse().unwrap(),
            time: FileTime(0),
        };
        let found = compute(Some(&sample(n0, d0)), &sample(n1, d1));
        let expected = found.map_or("none".to_string(), |value| g17(value.as_f64().unwrap()).to_string());
        assert_eq!(value, expected, "{path}: {line}");
        types.insert(kind.to_string());
        values += usize::from(value != "none");
    }
    assert!(types.len() >= 8 && values > paths.len() / 2, "{types:?} {values} of {}", paths.len());
}

const FREQUENCY: i64 = 2_630_633;

/// Value and clock or base, old and new: growing, standing still, and going back in each of the two.
const SAMPLES: &[[i64; 4]] = &[
    [1_000, 5_000, 1_450, 6_000],
    [4_903_144_765_625, 131_246_703_908_743_382, 4_903_168_515_625, 131_246_703_938_773_618],
    [7, 9, 7, 9],
    [0, 0, 0, 0],
    [100, 50, 90, 60],
    [100, 50, 110, 40],
    [0, 10, 1_000, 20],
    [4_294_967_290, 4_294_967_280, 10, 20],
    [1, 1, i64::MAX, 2],
];

/// Every counter type through C and through Rust: the same values, and the same reasons why there is none.
#[test]
fn every_type_has_the_same_value_in_c_and_rust() {
    let Some(gcc) = peer("gcc") else { return };
    let bench = Bench::new("types");
    let program =
        bench.compile(&gcc, &[SANITIZED, &["-Wall", "-Wextra"]].concat(), &["tests/c/format_raw.c"]);
    let (long, double, large, uncapped) = (0x100u32, 0x200u32, 0x400u32, 0x8000u32);
    let mut input = String::new();
    let mut expected = Vec::new();
    let numbers = TYPES.iter().map(|info| info.value).chain([CounterType(0x1234_5678)]);
    for counter_type in numbers {
        for [n0, d0, n1, d1] in SAMPLES {
            for flags in [double | uncapped, double, long, large] {
                input += &format!("{} {n0} {d0} {n1} {d1} 2 {FREQUENCY} {flags}\n", counter_type.0);
                let sample = |first: &i64, second: &i64| Sample {
                    counter_type,
                    first: first.cast_unsigned(),
                    second: second.cast_unsigned(),
                    frequency: Frequency(FREQUENCY),
                    multi_count: 2,
                    time: FileTime(0),
                };
                let format = Format { cap100: flags & uncapped == 0, ..Format::default() };
                let value = match compute(Some(&sample(n0, d0)), &sample(n1, d1)) {
                    // An average without operations is 0 for PDH.
                    Err(NoValue::NoOperations) => Ok(Value::Number(0.0)),
                    value => value,
                };
                let value = value.map(|value| apply(value, counter_type, 0, &format));
                expected.push((counter_type, flags, value));
            }
        }
    }
    let mut child = bench
        .run(&program)
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let writer = std::thread::spawn(move || std::io::Write::write_all(&mut stdin, input.as_bytes()));
    let said = lines(&child.wait_with_output().unwrap());
    writer.join().unwrap().unwrap();
    assert_eq!(said.len(), expected.len());
    for (line, (counter_type, flags, value)) in said.iter().zip(expected) {
        let words: Vec<&str> = line.split(' ').collect();
        let [status, of_value, number] = words[..] else { panic!("{line}") };
        match value {
            Ok(value) => {
                assert_eq!((status, of_value), ("00000000", "00000000"), "{counter_type} {value:?}");
                let exact = value.as_f64().unwrap();
                if flags & double != 0 {
                    assert_eq!(number, g17(exact).to_string(), "{counter_type}");
                } else {
                    let ends = if flags & long != 0 {
                        (f64::from(i32::MIN), f64::from(i32::MAX))
                    } else {
                        (i64::MIN as f64, i64::MAX as f64)
                    };
                    let near = number.parse::<f64>().unwrap() - exact.clamp(ends.0, ends.1);
                    assert!(near.abs() <= 0.5, "{counter_type}: {number} for {value:?}");
                }
            }
            Err(why) => {
                assert_ne!(status, "00000000", "{counter_type} {why}");
                // A reason with a status of its own is that status; the others are invalid data or argument.
                let own = format!("{:08X}", why.pdh_status().code);
                let plain = ["C0000BC6", "C0000BBD"];
                assert!(status == own || plain.contains(&status), "{counter_type} {why}: {line}");
                assert_eq!(of_value.starts_with('8'), own.starts_with('8'), "{counter_type} {why}: {line}");
            }
        }
    }
}

/// The same cycles, seen by what finds memory that is used wrongly or left behind.
#[test]
fn many_queries_under_the_sanitizers() {
    let Some(gcc) = peer("gcc") else { return };
    let bench = Bench::new("soak-sanitized");
    let program = bench.compile(&gcc, &[SANITIZED, &["-Wall", "-Wextra"]].concat(), &["tests/c/soak.c"]);
    let said = lines(&bench.run(&program).arg("200").output().unwrap());
    assert_eq!(said.len(), 1, "{said:#?}");
}

/// Queries and counters that come and go leave nothing behind.
#[test]
fn memory_stays_the_same_over_many_queries() {
    let Some(gcc) = peer("gcc") else { return };
    let bench = Bench::new("soak");
    let program = bench.compile(&gcc, &["-Wall", "-Wextra"], &["tests/c/soak.c"]);
    // TALLYMON_SOAK is how many cycles there are, for a run that takes longer.
    let cycles = std::env::var("TALLYMON_SOAK").unwrap_or_else(|_| "1000".to_string());
    let [line] = &lines(&bench.run(&program).arg(cycles).output().unwrap())[..] else { panic!("one line") };
    let (first, last) = line.split_once(' ').unwrap();
    let grown = last.parse::<i64>().unwrap() - first.parse::<i64>().unwrap();
    assert!(grown < 2_048, "it grew from {first} to {last} KB");
}

/// Names of instances that look like other parts of a path, of an object of this machine in a log: every path
/// that is expanded is the same after it was split and put together again, and reads the value of its own
/// instance.
#[test]
fn expanded_paths_are_accepted_and_split_and_made_again() {
    let Some(gcc) = peer("gcc") else { return };
    let bench = Bench::new("paths");
    let program = bench.compile(&gcc, &[SANITIZED, &["-Wall", "-Wextra"]].concat(), &["tests/c/paths.c"]);
    let fixed =
        [r"k)l\m", "w)(z", r"a)b\c#3", "st*r", "star", "Star", "x#*", "", "n#1", "n", ")(", "(", " a", "x/y"];
    let letters: Vec<char> = r"()\/#*aAb1 .".chars().collect();
    let mut random = Random::new(19);
    let mut letter = |_| letters[usize::try_from(random.below(letters.len() as u64)).unwrap()];
    let mut names: Vec<String> = fixed.map(str::to_string).to_vec();
    names.extend((0..60).map(|at| (0..=at % 7).map(&mut letter).collect::<String>()));
    // A single star means all instances, and `#1` also the second one without a name.
    names.retain(|name| name != "*" && !name.starts_with('#'));
    names.sort();
    names.dedup();
    let paths =
        names.iter().map(|name| format!(r"\\box\Process({})\ID Process", InstancePath::new(None, name, 0)));
    let paths: Vec<String> = paths.collect();
    let log = bench.0.join("paths.csv");
    let head: String = paths.iter().map(|path| format!(",\"{path}\"")).collect();
    let row: String = (1..=paths.len()).map(|value| format!(",\"{value}\"")).collect();
    let text = format!("\"(PDH-CSV 4.0) (UTC)(0)\"{head}\r\n\"01/02/2026 00:00:00.000\"{row}\r\n");
    std::fs::write(&log, text).unwrap();
    let output = bench.run(&program).arg(&log).output().unwrap();
    let expected: Vec<String> =
        paths.iter().zip(1u32..).map(|(path, value)| format!("{value} {path}")).collect();
    assert!(names.len() > 50);
    assert_eq!(lines(&output), expected, "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn a_program_with_wildcards() {
    let Some(gcc) = peer("gcc") else { return };
    let bench = Bench::new("wildcards");
    let program =
        bench.compile(&gcc, &[SANITIZED, &["-Wall", "-Wextra"]].concat(), &["examples/c/pdh_wildcards.c"]);
    let paths = [r"\Processor(*)\% Processor Time", r"\Memory\Available Bytes"];
    let said = lines(&bench.run(&program).args(["-i", "50"]).args(paths).output().unwrap());
    let begins = |start: &str| said.iter().filter(|line| line.starts_with(start)).count();
    let processors = begins("path ") - 1;
    assert!(processors >= 2, "{said:?}");
    assert_eq!(begins("sample 0x00000000"), 2, "{said:?}");
    // The first sample of a rate says that its data is not valid; the count is there at once.
    assert_eq!(begins("none "), processors, "{said:?}");
    assert_eq!(begins("value "), processors + 2, "{said:?}");
}
