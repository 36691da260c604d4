//! The providers screen, over a source with provider data and over one without.

use crossterm::event::{KeyCode, MouseEventKind};
use tallymon::Query;
use tallymon::core::block::{
    BlockWriter, CounterSpec, InstanceKind, ObjectLayout, ObjectSpec, Snapshot, WriteHeader,
};
use tallymon::core::counter::CounterType;
use tallymon::core::flow::{Absence, Source, SourceError, ValueState};
use tallymon::core::request::{Request, RequestKind};
use tallymon::core::time::{FileTime, Frequency, PerfTime};
use tallymon::core::title::{Language, TitleIndex, Titles};
use tallymon::registry::{Installed, Roots, Scope, Service, Writer};
use tallymon_monitor::chart::Glyphs;
use tallymon_monitor::{App, Colours, Options};
use tallymon_testkit::Scratch;

use crate::fake::{Bench, DEFAULTS, START};
use crate::mouse::{LEFT, at};
use crate::screens::{check, has};

const RAW: CounterType = CounterType::PERF_COUNTER_LARGE_RAWCOUNT;
const COUNTERS: &[CounterSpec] = &[
    CounterSpec::new(TitleIndex(990_008), RAW),
    CounterSpec::new(TitleIndex(990_010), RAW),
    CounterSpec::new(TitleIndex(990_012), RAW),
    CounterSpec::new(TitleIndex(990_014), RAW),
    CounterSpec::new(TitleIndex(990_016), RAW),
    CounterSpec::new(TitleIndex(990_018), RAW),
    CounterSpec { size: Some(256), ..CounterSpec::new(TitleIndex(990_020), CounterType::PERF_COUNTER_TEXT) },
    CounterSpec { size: Some(64), ..CounterSpec::new(TitleIndex(990_022), CounterType::PERF_COUNTER_TEXT) },
];
const OBJECT: ObjectSpec<'static> =
    ObjectSpec { status: true, ..ObjectSpec::new(TitleIndex(990_000), InstanceKind::Many, COUNTERS) };

/// The providers: name, nanoseconds, state, reason.
const SOURCES: &[(&str, u64, u64, &str)] = &[
    ("Processor", 20_400, 1, "healthy"),
    ("Process", 1_250_000, 2, "12 values: more rights are needed to read it"),
    ("Redirector", 3_000, 3, "37 values: the running kernel does not provide it"),
    ("GPU Engine", 0, 0, "not asked"),
    ("program web", 900, 1, "healthy"),
    ("service Gadgets", 52_000_000, 4, "it crashed: signal 11"),
];

/// A machine with provider data and nothing else.
struct Told;

impl Source for Told {
    fn snapshot(&mut self, request: &Request) -> Result<Snapshot, SourceError> {
        let header = WriteHeader {
            system_name: "web01",
            default_object: -1,
            perf_time: PerfTime(1),
            perf_freq: Frequency(10_000_000),
            perf_time_100ns: START,
            system_time: FileTime(START.0),
        };
        let mut bytes = Vec::new();
        let mut writer = BlockWriter::growing(&mut bytes, &header);
        let is_costly = matches!(&request.kind, RequestKind::Metadata { costly: true, .. });
        if !is_costly {
            let layout = ObjectLayout::new(OBJECT);
            if matches!(request.kind, RequestKind::Metadata { .. }) {
                writer.objects().object(&layout, PerfTime(0), Frequency(0)).metadata();
                writer.finish().unwrap();
                return Ok(Snapshot::new(bytes)?);
            }
            let mut object = writer.objects().object(&layout, PerfTime(0), Frequency(0));
            for (name, last, state, reason) in SOURCES {
                let mut block = object.instance(name, None, None);
                let values = [*last, 3, u64::from(*state > 1), 2, 4, *state];
                for (position, value) in values.into_iter().enumerate() {
                    block.set(position, value);
                }
                if !name.starts_with("service") {
                    for position in [3, 4] {
                        block.state(position, ValueState::Absent(Absence::NotFromThisDevice));
                    }
                }
                block.set_text(6, reason);
                block.set_text(7, if name.starts_with("service") { "009 012" } else { "" });
            }
        }
        writer.finish().unwrap();
        Ok(Snapshot::new(bytes)?)
    }

    fn titles(&mut self, _language: Language) -> Result<Titles, SourceError> {
        Ok(Titles::from_pairs([
            (990_000, "Tallymon Provider"),
            (990_008, "Last Collection Nanoseconds"),
            (990_010, "Collections"),
            (990_012, "Errors"),
            (990_014, "Late Answers"),
            (990_016, "Restarts"),
            (990_018, "State"),
            (990_020, "State Reason"),
            (990_022, "Languages"),
        ]))
    }

    fn languages(&self) -> Vec<Language> {
        vec![Language::ENGLISH, Language::KOREAN, Language::JAPANESE]
    }
}

/// The monitor over it.
fn told(language: Language, registry: Option<Roots>) -> Bench {
    let query = move || Query::new(Box::new(Told), language);
    let mut options = Options::new(query);
    (options.glyphs, options.colours, options.registry) = (Glyphs::Braille, Colours::Sixteen, registry);
    Bench::of(App::new(query().unwrap(), options))
}

#[test]
fn failed_providers_come_first_with_their_reasons() {
    let mut bench = told(Language::ENGLISH, None);
    bench.run(2).types("D");
    let screen = check("providers", &mut bench);
    has(&screen, &["Providers: web01 (6)", "52 ms", "it crashed: signal 11", "shared memory"]);
    has(&screen, &["p50 52 ms (1) · p99 52 ms (1) · en ko"]);
    assert!(!screen.lines().any(|line| line.contains("Kind") && line.contains("p99")), "{screen}");
    let order: Vec<usize> = ["service Gadgets", "Process ", "program web", "Processor", "Redirector", "GPU"]
        .iter()
        .map(|name| screen.lines().position(|line| line.starts_with(&format!("│ {name}"))).unwrap())
        .collect();
    assert!(order.is_sorted(), "{order:?}\n{screen}");
    // A wide screen has a column for each.
    let wide = bench.resize(140, 20).screen();
    assert!(wide.lines().any(|line| line.contains("Kind") && line.contains("p99")), "{wide}");
    bench.resize(100, 30);
    // The next one has a remedy, and stays chosen when others are listed before it.
    bench.key(KeyCode::Down).run(1);
    has(&bench.screen(), &["run tally as root"]);
    bench.key(KeyCode::Esc);
    has(&bench.screen(), &["No counters"]);
}

#[test]
fn a_small_screen_shows_all_data_of_the_chosen_provider() {
    let mut bench = told(Language::ENGLISH, None);
    let screen = check("providers-small", bench.resize(40, 12).run(1).types("D"));
    has(&screen, &["service Gadgets", "failed", "it crashed", "Restarts 4", "p50 52 ms (1)"]);
    for (name, language) in [("korean", Language::KOREAN), ("japanese", Language::JAPANESE)] {
        check(&format!("providers-{name}"), told(language, None).run(1).types("D"));
    }
}

#[test]
fn a_source_without_provider_data_lists_its_objects() {
    let mut bench = Bench::new(DEFAULTS);
    bench.run(3).key(KeyCode::Down);
    bench.types("p");
    has(&bench.screen(), &["counter path:"]);
    bench.key(KeyCode::Esc);
    // The line of a late provider leads to it.
    bench.script.memory.set(Some(ValueState::Stale));
    bench.run(1);
    has(&bench.screen(), &["old value", "p: Providers"]);
    let screen = check("providers-elsewhere", bench.types("p"));
    has(&screen, &["this source has no provider data", "elsewhere"]);
    let detail = screen.lines().rfind(|line| line.contains("Memory")).unwrap();
    assert_eq!(detail.trim_matches(['│', ' ']), "Memory", "{screen}");
    // Samples continue behind the screen.
    let rows = bench.app.monitor().rows().end;
    assert_eq!(bench.run(2).app.monitor().rows().end, rows + 2);
}

#[test]
fn a_library_is_disabled_and_enabled_after_a_question() {
    let folder = Scratch::in_memory();
    let roots = Roots::in_folder(&folder);
    let writer = Writer::open(&roots, Some(Scope::User)).unwrap();
    writer.register(&[Service { name: "Gadgets".into(), ..Service::default() }]).unwrap();
    let is_disabled = || {
        let installed = Installed::read(&roots).unwrap();
        installed.services().any(|(_, service)| service.name == "Gadgets" && service.disabled)
    };
    let mut bench = told(Language::ENGLISH, Some(roots.clone()));
    bench.run(1).types("Dd");
    has(&bench.screen(), &["disable: Gadgets? y n"]);
    bench.types("n");
    assert!(!bench.screen().contains("? y n") && !is_disabled());
    bench.types("dy");
    has(&bench.screen(), &["Gadgets: disabled", "Providers: web01"]);
    assert!(is_disabled());
    at(&mut bench, "Redirector", LEFT);
    has(&bench.screen(), &["37 values"]);
    at(&mut bench, "Name", MouseEventKind::ScrollUp);
    at(&mut bench, "service Gadgets", LEFT);
    bench.types("ey");
    has(&bench.screen(), &["Gadgets: enabled"]);
    assert!(!is_disabled());
    // Only libraries can be disabled, and an error is shown.
    bench.key(KeyCode::Down).types("d");
    has(&bench.screen(), &["only libraries can be enabled and disabled"]);
    let mut bench = told(Language::ENGLISH, None);
    has(&bench.types("Dd").screen(), &["only for live data of this machine"]);
    let nowhere = Roots::in_folder(&folder.join("nowhere"));
    let mut bench = told(Language::ENGLISH, Some(nowhere));
    has(&bench.types("Ddy").screen(), &["Gadgets"]);
    assert!(!bench.screen().contains("Gadgets: disabled"), "{}", bench.screen());
}

#[test]
fn a_log_has_what_was_recorded_of_them_at_the_time_of_the_cursor() {
    let folder = Scratch::in_memory();
    let path = |counter: &str| format!("\"\\\\web01\\Tallymon Provider(Process)\\{counter}\"");
    let names = ["State", "Errors", "Last Collection Nanoseconds", "Collections"].map(path);
    let mut text = format!("\"(PDH-CSV 4.0) (UTC)(0)\",{}\r\n", names.join(","));
    // The last collection is that of the record before.
    for (second, state, errors, last, count) in [(0, 1, 0, 1, 1), (1, 1, 0, 3, 2), (2, 2, 7, 3, 2)] {
        let values = [state, errors, last * 1_000_000, count].map(|value| format!("\"{value}\""));
        text += &format!("\"03/01/2026 09:40:0{second}.000\",{}\r\n", values.join(","));
    }
    std::fs::write(folder.join("told.csv"), text).unwrap();
    let mut bench =
        crate::log::open(&folder.join("told.csv"), &[r"\Tallymon Provider(Process)\Errors"], 1 << 20);
    bench.types("D");
    let line = |bench: &mut Bench| {
        let screen = bench.screen();
        screen.lines().find(|line| line.starts_with("│ Process")).unwrap_or(&screen).to_string()
    };
    has(&line(&mut bench), &["degraded", " 7 "]);
    // How long collections took is of all of the log.
    bench.settle();
    has(&bench.screen(), &["p50 1.0 ms (2)", "p99 3.0 ms (2)"]);
    assert!(!bench.screen().contains("tally get"), "that would be of another time: {}", bench.screen());
    bench.key(KeyCode::Esc).key(KeyCode::Left).key(KeyCode::Left).types("D");
    has(&line(&mut bench), &["healthy", " 0 "]);
    // They are known: the log is not read again, which would take a while.
    has(&bench.screen(), &["p99 3.0 ms (2)"]);
    assert!(!bench.app.has_jobs(), "it is read again");
    // Missing data stay missing, and nothing of this machine can be changed from a log.
    assert!(line(&mut bench).contains('–'), "{}", bench.screen());
    has(&bench.types("d").screen(), &["only libraries"]);
}
