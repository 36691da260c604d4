//! The overview: all panes in every size and language, in the past, in a log, and what its keys do.

use std::sync::{Arc, Mutex};

use crossterm::event::{Event, KeyCode, KeyEvent, KeyModifiers, MouseButton, MouseEvent, MouseEventKind};
use tallymon::core::title::Language;
use tallymon::log::ReadOptions;
use tallymon::process::{
    OpenFile, ProcessAction, ProcessDetails, ProcessFacts, ProcessId, Processes, ThreadDetails,
};
use tallymon::{Log, Query};
use tallymon_monitor::chart::Glyphs;
use tallymon_monitor::model::overview::Arrangement;
use tallymon_monitor::settings::Settings;
use tallymon_monitor::{App, Colours, Options};
use tallymon_testkit::{shared, skip};

use crate::fake::{Bench, DEFAULTS};
use crate::machine::{Load, Machine};
use crate::screens::{check, has};

/// A monitor over the machine, with its overview.
struct Overview {
    load: Arc<Load>,
    bench: Bench,
}

impl Overview {
    fn new() -> Overview {
        Overview::with(Language::ENGLISH, |_| ())
    }

    fn with(language: Language, change: impl FnOnce(&mut Options)) -> Overview {
        Overview::of(Load::default(), language, change)
    }

    fn of(load: Load, language: Language, change: impl FnOnce(&mut Options)) -> Overview {
        let load = Arc::new(load);
        load.processors.set(4);
        let query = move |load: &Arc<Load>| Query::new(Box::new(Machine(Arc::clone(load))), language);
        let again = Arc::clone(&load);
        let mut options = Options::new(move || query(&again));
        options.paths = vec![r"\Processor(_Total)\% Processor Time".to_string()];
        options.glyphs = Glyphs::Braille;
        options.colours = Colours::Sixteen;
        options.overview = true;
        change(&mut options);
        let app = App::new(query(&load).unwrap(), options);
        Overview { load, bench: Bench::of(app) }
    }

    fn run(&mut self, samples: u64) -> &mut Overview {
        for _ in 0..samples {
            self.bench.app.sample();
            self.bench.settle();
            self.load.step.set(self.load.step.get() + 1);
        }
        self
    }

    /// The panes: the screen without title and footer.
    fn panes(&mut self) -> String {
        let screen = self.bench.screen();
        let lines: Vec<&str> = screen.lines().collect();
        lines[1..lines.len() - 1].join("\n")
    }

    /// Draws, and takes the facts that drawing asked for.
    fn draw(&mut self) -> String {
        self.bench.screen();
        self.bench.settle();
        self.bench.screen()
    }
}

const SIZES: [(u16, u16); 3] = [(200, 50), (80, 24), (40, 12)];

#[test]
fn every_pane_in_every_size_and_language() {
    for (name, language) in [
        ("en", Language::ENGLISH),
        ("ko", Language::KOREAN),
        ("ja", Language::JAPANESE),
        ("ru", Language::RUSSIAN),
    ] {
        let mut overview = Overview::with(language, |_| ());
        overview.run(40);
        for (columns, rows) in SIZES {
            overview.bench.resize(columns, rows);
            let screen = check(&format!("overview-{columns}x{rows}-{name}"), &mut overview.bench);
            has(&screen, &["java", "nvme0n1", "eth0"].map(|text| if columns > 40 { text } else { "java" }));
            for line in screen.lines() {
                assert!(unicode_width::UnicodeWidthStr::width(line) <= usize::from(columns), "{line}");
            }
        }
    }
}

#[test]
fn the_numbers_are_those_of_the_machine() {
    let mut overview = Overview::new();
    overview.run(41);
    overview.bench.resize(200, 50);
    let screen = overview.bench.screen();
    // The second 40: waves of 40 are at 0 there, those of 20 as well; processors follow 9 seconds later each.
    has(&screen, &["of 32.0 GiB", "swap 12 %", "321 processes", "1.2k threads", "up 5 d 03:22"]);
    has(
        &screen,
        &["█ used 13.0 GiB", "▒ cache 11.0 GiB", "· free 8.0 GiB", "committed 11.0 GiB of 24.0 GiB"],
    );
    has(&screen, &["500 µs", "idle, virtual (3)", "docker0, eth1, lo", "idle (1): 1 sr0"]);
    let java = screen.lines().find(|line| line.ends_with("java")).unwrap();
    let words: Vec<&str> = java.split_whitespace().collect();
    assert_eq!(words, ["1204", "77.0", "3.0", "GiB", "20.0", "kB/s", "112", "java"]);
}

#[test]
fn interfaces_have_addresses_and_bytes_since_the_start_and_processors_a_name() {
    let addresses = || [("eth0".to_owned(), vec!["192.0.2.7/24".to_owned(), "fe80::1/64".to_owned()])].into();
    let mut overview = Overview::with(Language::ENGLISH, |options| {
        options.addresses = Some(addresses);
        options.processor = Some("AMD EPYC 7763".to_owned());
    });
    overview.run(41);
    overview.bench.resize(200, 50);
    let of_eth0 = |screen: &str| {
        let line = screen.lines().find(|line| line.contains("since the start")).unwrap().to_owned();
        has(&line, &["192.0.2.7/24  fe80::1/64"]);
        line
    };
    let screen = overview.bench.screen();
    has(screen.lines().nth(1).unwrap(), &["1 Processors", "AMD EPYC 7763"]);
    let now = of_eth0(&screen);
    // A past second has its own counts.
    overview.bench.key(KeyCode::Left).key(KeyCode::Left);
    let earlier = of_eth0(&overview.bench.screen());
    assert_ne!(now, earlier);
    overview.bench.resize(80, 24);
    assert!(!overview.bench.screen().contains("192.0.2.7"));
}

#[test]
fn space_and_sensors_are_those_of_the_machine() {
    let mut overview = Overview::new();
    overview.run(41);
    overview.bench.resize(200, 50);
    let screen = overview.bench.screen();
    has(&screen, &["96 % 933 GiB of 1.0 TiB", "others (3): /run, /dev/shm, /snap/core/17200"]);
    has(&screen, &["load 1.91 0.90 0.50", "disk wait 4.0 %", "2.6 GHz", "swap 12 % of 8.0 GiB"]);
    has(&screen, &["coretemp Package id 0", "nvme Composite", "BAT0 87 %", "9.4 W", "1180 rpm"]);
    // A sensor that its driver does not fill, and a battery's value of a mains.
    assert!(!screen.contains("dead") && !screen.contains("AC "), "{screen}");
    let at = |name: &str| screen.lines().position(|line| line.starts_with(name));
    assert!(at("/home") < at("/ ") && at("/ ") < at("/boot"), "the fullest first: {screen}");
    // Their charts.
    overview.bench.types("g");
    overview.bench.app.event(&Event::Key(KeyEvent::new(KeyCode::Char('o'), KeyModifiers::NONE)));
    let screen = overview.bench.screen();
    let row = screen.lines().position(|line| line.starts_with("/home")).unwrap() as u16;
    let click = Event::Mouse(MouseEvent {
        kind: MouseEventKind::Down(MouseButton::Left),
        column: 1,
        row,
        modifiers: KeyModifiers::NONE,
    });
    overview.bench.app.event(&click);
    overview.bench.app.event(&click);
    overview.bench.settle();
    let chosen = overview.bench.app.monitor().chosen().map(|series| series.path.clone());
    assert_eq!(chosen.as_deref(), Some(r"\File System(/home)\Available Bytes"));
}

#[test]
fn a_machine_without_sensors_has_no_pane_for_them() {
    for (columns, rows) in SIZES {
        let mut overview = Overview::new();
        overview.load.no_sensors.set(true);
        overview.bench.resize(columns, rows);
        overview.run(3);
        let screen = overview.bench.screen();
        assert!(!screen.contains("Sensors") && !screen.contains("°C"), "{screen}");
        has(&screen, &["java"]);
    }
}

#[test]
fn a_machine_without_containers_and_graphics_has_no_panes_for_them() {
    for (columns, rows) in SIZES {
        let mut overview = Overview::new();
        overview.load.no_guests.set(true);
        overview.bench.resize(columns, rows);
        overview.run(3);
        let screen = overview.bench.screen();
        assert!(!screen.contains("Containers") && !screen.contains("Graphics"), "{screen}");
        has(&screen, &["java"]);
    }
}

#[test]
fn containers_and_graphics_are_those_of_the_machine() {
    let mut overview = Overview::new();
    overview.run(41);
    overview.bench.resize(200, 50);
    let screen = overview.bench.screen();
    has(&screen, &["9 Containers ─ 4", "2.3 GiB", "0 Graphics", "0000:03:00.0", "3.0 GiB +210 MiB"]);
    // From the processes back past what lies before them.
    overview.bench.key(KeyCode::BackTab);
    has(&overview.bench.screen(), &["9 Containers"]);
    overview.bench.key(KeyCode::Esc);
    let at = |name: &str| screen.lines().position(|line| line.contains(name));
    assert!(at("shop-queue") < at("shop-web"), "the busiest first: {screen}");
    assert!(at("shop-web") < at("idle    "), "{screen}");
    // The digits hide and show them.
    overview.bench.types("9");
    assert!(!overview.bench.screen().contains("Containers"));
    overview.bench.types("09");
    let screen = overview.bench.screen();
    assert!(screen.contains("Containers") && !screen.contains("Graphics"), "{screen}");
    // Two clicks lead to the chart.
    let row = screen.lines().position(|line| line.contains("shop-database")).unwrap() as u16;
    let line = screen.lines().nth(row.into()).unwrap();
    let column = line[..line.find("shop-database").unwrap()].chars().count();
    let click = Event::Mouse(MouseEvent {
        kind: MouseEventKind::Down(MouseButton::Left),
        column: column as u16 + 1,
        row,
        modifiers: KeyModifiers::NONE,
    });
    overview.bench.app.event(&click);
    overview.bench.app.event(&click);
    overview.bench.settle();
    let chosen = overview.bench.app.monitor().chosen().map(|series| series.path.clone());
    assert_eq!(chosen.as_deref(), Some(r"\Container(shop-database)\% Processor Time"));
}

#[test]
fn processes_stand_below_those_that_started_them() {
    let mut overview = Overview::new();
    overview.run(3);
    overview.bench.resize(120, 40).types("H");
    let tree = |screen: &str| -> Vec<String> {
        let lines = screen.lines().skip_while(|line| !line.trim_start().starts_with("PID"));
        // The command is the last column; its spaces before are the depth.
        let lines = lines.skip(1).take_while(|line| line.trim().chars().next().is_some_and(char::is_numeric));
        lines.map(|line| line.chars().skip(38).collect::<String>().trim_end().to_string()).collect()
    };
    let screen = overview.bench.screen();
    let shown = tree(&screen);
    let names: Vec<&str> = shown.iter().map(|line| line.trim()).collect();
    let depths: Vec<usize> = shown.iter().map(|line| (line.len() - line.trim_start().len()) / 2).collect();
    assert_eq!(names, ["systemd", "postgres", "nginx", "nginx#1", "sh", "java"], "{screen}");
    assert_eq!(depths, [0, 1, 1, 2, 1, 2].map(|depth| depth + depths[0]), "{screen}");
    // The choice follows the order of the screen; without the tree, that of the processor.
    overview.bench.key(KeyCode::Down).key(KeyCode::Down).types("HH");
    let screen = overview.bench.screen();
    assert_eq!(tree(&screen)[0].trim(), "java", "{screen}");
    // It is kept in the settings.
    overview.bench.types("H");
    let saved = overview.bench.app.settings().to_string();
    has(&saved, &["tree = true"]);
    assert!(Settings::parse(&saved).unwrap().overview.unwrap().arrangement == Arrangement::Tree);
}

#[test]
fn space_of_windows_follows_from_its_share() {
    let load = Load::default();
    load.letters.set(true);
    let mut overview = Overview::of(load, Language::ENGLISH, |_| ());
    overview.bench.resize(200, 50);
    overview.run(3);
    let screen = overview.bench.screen();
    // Of a full disk only the share is known; one without a letter is folded.
    has(&screen, &["D:             100 % 0 B free", "C:              90 % 36.0 GiB of 40.0 GiB"]);
    has(&screen, &["others (1): HarddiskVolume1"]);
}

#[test]
fn every_pane_shows_the_second_of_the_cursor() {
    for (columns, rows) in SIZES {
        let mut overview = Overview::new();
        overview.bench.resize(columns, rows);
        overview.run(30);
        let then = overview.panes();
        overview.load.more.set(vec![("newcomer", 7_000)]);
        overview.run(20);
        assert_ne!(overview.panes(), then);
        has(&overview.panes(), &["newcomer"]);
        // The cursor begins at the newest second.
        for _ in 0..21 {
            overview.bench.key(KeyCode::Left);
        }
        let now = overview.panes();
        assert_eq!(now.replace('─', ""), then.replace('─', ""), "twenty seconds back at {columns}x{rows}");
        has(&overview.bench.screen(), &["PAST", "09:40:29"]);
        overview.bench.types("t");
        has(&overview.panes(), &["newcomer"]);
    }
}

#[test]
fn a_second_that_is_not_kept_says_so() {
    // As little memory as possible: the processes of a few seconds.
    let mut overview = Overview::with(Language::ENGLISH, |options| options.budget = 4 << 10);
    overview.run(300);
    overview.bench.resize(80, 24);
    for _ in 0..200 {
        overview.bench.key(KeyCode::Left);
    }
    has(&overview.bench.screen(), &["nothing is kept of this second"]);
}

#[test]
fn a_second_of_which_the_largest_are_kept_says_so() {
    let mut overview = Overview::with(Language::ENGLISH, |options| options.budget = 64 << 10);
    let names: Vec<String> = (0..300).map(|number| format!("small{number}")).collect();
    let names: &'static [String] = names.leak();
    let more = names.iter().zip(20_000..).map(|(name, id)| (name.as_str(), id));
    overview.load.more.set(more.collect());
    overview.run(10);
    overview.bench.resize(80, 24);
    assert!(!overview.bench.screen().contains("the largest"), "all of the newest second are there");
    overview.bench.key(KeyCode::Left).key(KeyCode::Left);
    has(&overview.bench.screen(), &["PAST", "the largest "]);
}

#[test]
fn enter_on_a_processor_opens_its_chart_with_its_past() {
    let mut overview = Overview::new();
    overview.bench.resize(200, 50);
    overview.run(30).bench.screen();
    // From the processes on, the next pane is the first: its heading, then the processors.
    overview.bench.key(KeyCode::Tab).key(KeyCode::Down).key(KeyCode::Down);
    overview.bench.screen();
    overview.bench.key(KeyCode::Enter);
    let screen = overview.bench.screen();
    has(&screen, &["% Processor Time", "▶"]);
    let monitor = overview.bench.app.monitor();
    let chosen = monitor.chosen().unwrap();
    assert_eq!(chosen.path, r"\Processor(1)\% Processor Time");
    assert_eq!(monitor.statistics(chosen).count, 30, "its past came along");
    overview.run(3);
    let monitor = overview.bench.app.monitor();
    assert_eq!(monitor.statistics(monitor.chosen().unwrap()).count, 33, "and it goes on");
    let other = monitor.series().iter().find(|series| series.path.contains("_Total")).unwrap();
    assert_eq!(monitor.series().len(), 2, "{:?}", other.path);
    // Back: nothing is lost meanwhile.
    overview.bench.types("o");
    has(&overview.bench.screen(), &["1 Processors", "8 Processes"]);
}

#[test]
fn a_click_chooses_and_a_second_one_opens() {
    let mut overview = Overview::new();
    overview.bench.resize(80, 24);
    overview.run(5);
    let screen = overview.bench.screen();
    let row = screen.lines().position(|line| line.contains("eth0")).unwrap();
    let column = screen.lines().nth(row).unwrap().chars().position(|letter| letter == 'e').unwrap();
    let (column, row) = (column as u16, row as u16);
    let click = Event::Mouse(MouseEvent {
        kind: MouseEventKind::Down(MouseButton::Left),
        column,
        row,
        modifiers: KeyModifiers::NONE,
    });
    overview.bench.app.event(&click);
    has(&overview.bench.screen(), &["8 Processes"]);
    overview.bench.app.event(&click);
    overview.bench.settle();
    let chosen = overview.bench.app.monitor().chosen().map(|series| series.path.clone());
    assert_eq!(chosen.as_deref(), Some(r"\Network Interface(eth0)\Bytes Received/sec"));
}

#[test]
fn panes_orders_and_filters_follow_their_keys() {
    let mut overview = Overview::new();
    overview.bench.resize(80, 24);
    overview.run(10);
    let first = |overview: &mut Overview| {
        let screen = overview.bench.screen();
        let at = screen.lines().position(|line| line.contains("Command")).unwrap();
        screen.lines().nth(at + 1).unwrap().split_whitespace().last().unwrap().to_string()
    };
    assert_eq!(first(&mut overview), "java");
    overview.bench.types("ss");
    assert_eq!(first(&mut overview), "postgres", "by bytes");
    overview.bench.types("i");
    assert!(["systemd", "sh"].contains(&first(&mut overview).as_str()), "the other way around");
    overview.bench.types("/NGINX").key(KeyCode::Enter);
    let screen = overview.bench.screen();
    has(&screen, &["/nginx", "nginx"]);
    assert!(!screen.contains("java"), "{screen}");
    overview.bench.key(KeyCode::Esc).types("23");
    let screen = overview.bench.screen();
    assert!(
        screen.contains("java") && !screen.contains("2 Memory") && !screen.contains("3 Disks"),
        "{screen}"
    );
    // A settings file keeps all of it.
    let kept = overview.bench.app.settings().to_string();
    has(&kept, &["view = 'overview'", "[overview]", "order = 'io'", "ascending = true"]);
    let mut other = Overview::new();
    other.bench.app.apply(&Settings::parse(&kept).unwrap());
    other.bench.resize(80, 24);
    other.run(10);
    assert!(!other.bench.screen().contains("2 Memory"));
    other.bench.types("p");
    has(&other.bench.screen(), &["2 Memory", "3 Disks"]);
    other.bench.types("p");
    assert!(!other.bench.screen().contains("2 Memory"), "the second preset");
}

#[test]
fn every_pane_has_a_digit() {
    let mut overview = Overview::new();
    overview.bench.resize(200, 50);
    overview.run(3);
    for (digit, pane) in [("4", "4 File systems"), ("7", "7 Sensors"), ("8", "8 Processes")] {
        has(&overview.bench.screen(), &[pane]);
        overview.bench.types(digit);
        assert!(!overview.bench.screen().contains(pane), "{pane}");
        overview.bench.types(digit);
    }
}

#[test]
fn keys_of_the_chart_change_nothing_that_is_not_on_the_screen() {
    let mut overview = Overview::new();
    overview.run(5).bench.types("e cLx+-=SFYd#P");
    overview.run(2);
    assert_eq!(overview.bench.app.monitor().series().len(), 1);
    has(&overview.bench.screen(), &["1 Processors"]);
}

#[test]
fn hundreds_of_processors_have_a_letter_each() {
    for (processors, columns) in [(64, 200), (64, 80), (300, 200), (300, 80)] {
        let mut overview = Overview::new();
        overview.load.processors.set(processors);
        overview.bench.resize(columns, 50);
        overview.run(6);
        let screen = overview.bench.screen();
        has(&screen, &["1 Processors", "java"]);
        let bars = screen.chars().filter(|letter| ('▁'..='█').contains(letter)).count();
        assert!(bars >= processors as usize, "{bars} of {processors}\n{screen}");
    }
}

#[test]
fn a_pane_without_data_names_its_counters_or_the_reason() {
    // The script of the other tests has few counters.
    let mut bench = Bench::with(DEFAULTS, Language::ENGLISH, |options| options.overview = true);
    bench.resize(120, 40).run(5);
    let screen = check("overview-lacks", &mut bench);
    has(&screen, &[r"no data for \Pressure\% Processor Pressure Some", "myapp"]);
    let mut overview = Overview::new();
    overview.load.no_pressure.set(true);
    overview.bench.resize(80, 24);
    overview.run(3);
    has(&overview.bench.screen(), &["CPU –  memory –"]);
}

#[test]
fn the_total_of_memory_agrees_with_what_is_available() {
    let screen_of = |mebibytes: u64, only_nodes: bool| {
        let load = Load::default();
        load.node_mebibytes.set(mebibytes);
        load.only_nodes.set(only_nodes);
        let mut overview = Overview::of(load, Language::ENGLISH, |_| ());
        overview.bench.resize(200, 50);
        overview.run(6);
        overview.bench.screen()
    };
    // Nodes that contradict `\Memory` are not asked where something better is there.
    has(&screen_of(3 * 1_024, false), &["used 12.", "of 32.0 GiB"]);
    // Without it the nodes are all memory, unless they cannot be.
    has(&screen_of(40 * 1_024, true), &["used 20.", "of 40.0 GiB"]);
    let screen = screen_of(3 * 1_024, true);
    assert!(!screen.contains("used 0") && !screen.contains("of 3.0 GiB"), "{screen}");
}

#[test]
fn a_source_that_fails_leaves_a_gap_and_the_past_stays() {
    let mut bench = Bench::with(DEFAULTS, Language::ENGLISH, |options| options.overview = true);
    bench.resize(80, 24).run(10);
    let kind = tallymon::core::flow::SourceErrorKind::Io;
    bench.script.failure.set(Some(tallymon::core::flow::SourceError::new(kind, "it is gone")));
    bench.run(3);
    has(&bench.screen(), &["it is gone"]);
    bench.script.failure.set(None);
    bench.run(5);
    for _ in 0..12 {
        bench.key(KeyCode::Left);
    }
    has(&bench.screen(), &["myapp", "PAST"]);
}

#[test]
fn a_log_of_windows_is_an_overview_of_its_machine() {
    let Some(path) = shared("logs/PAL_SampleLog.blg") else { return skip("no sample log") };
    let log = Log::open(&path, &ReadOptions::default()).unwrap();
    let again = log.clone();
    let mut options = Options::new(move || Query::new(Box::new(again.source()), Language::ENGLISH));
    options.paths = vec![r"\Processor(_Total)\% Processor Time".to_string()];
    options.glyphs = Glyphs::Braille;
    options.log = Some(log.clone());
    options.overview = true;
    let query = Query::new(Box::new(log.source()), Language::ENGLISH).unwrap();
    let mut bench = Bench::of(App::new(query, options));
    bench.settle();
    bench.resize(200, 50);
    let last = check("overview-log", &mut bench);
    has(&last, &["LOG", "11 records", "1 Processors", r"no data for \Pressure"]);
    // Another record: other numbers, in every pane.
    for _ in 0..5 {
        bench.key(KeyCode::Left);
    }
    bench.settle();
    let earlier = check("overview-log-earlier", &mut bench);
    let part = |screen: &str, word: &str| {
        screen.lines().find(|line| line.contains(word)).map(str::to_string).unwrap_or_default()
    };
    for pane in ["1 Processors", "3 Disks", "explorer"] {
        assert_ne!(part(&last, pane), part(&earlier, pane), "{pane}");
    }
    // A process of a log has no details here, and nothing can be done to it.
    bench.key(KeyCode::Enter);
    has(&bench.screen(), &["details are read from this machine only"]);
    bench.key(KeyCode::Esc).types("K");
    has(&bench.screen(), &["only processes of this machine can be changed"]);
}

#[test]
fn a_log_opened_meanwhile_is_an_overview_and_leads_back() {
    let Some(path) = shared("logs/PAL_SampleLog.blg") else { return skip("no sample log") };
    let mut overview = Overview::new();
    overview.bench.resize(200, 50);
    overview.run(12);
    overview.bench.types("O").types(&path.to_string_lossy()).key(KeyCode::Enter);
    overview.bench.settle();
    has(&overview.bench.screen(), &["LOG", "1 Processors", "explorer"]);
    let control = KeyEvent::new(KeyCode::Char('t'), KeyModifiers::CONTROL);
    overview.bench.app.event(&Event::Key(control));
    overview.bench.settle();
    overview.run(3);
    let screen = overview.bench.screen();
    has(&screen, &["live", "java"]);
    for _ in 0..8 {
        overview.bench.key(KeyCode::Left);
    }
    has(&overview.bench.screen(), &["java", "09:40:07"]);
}

/// Facts as the test wants them; it notes what was done.
#[derive(Default)]
struct People {
    done: Mutex<Vec<(u32, ProcessAction)>>,
}

impl Processes for People {
    fn facts(&self, wanted: &[ProcessId]) -> Vec<Option<ProcessFacts>> {
        let facts = |id: &ProcessId| {
            (id.id != 1).then(|| ProcessFacts {
                user: if id.id == 990 { "postgres" } else { "www-data" }.to_string(),
                command: format!("/usr/bin/program-{} --serve\u{1b}[31m", id.id),
                unit: (id.id < 900).then(|| "nginx.service".to_string()),
            })
        };
        wanted.iter().map(facts).collect()
    }

    fn details(&self, wanted: ProcessId) -> Result<ProcessDetails, String> {
        let facts = self.facts(&[wanted]).remove(0).ok_or("it has ended")?;
        let file =
            |number, target: &str, is_socket| OpenFile { number, target: target.to_string(), is_socket };
        Ok(ProcessDetails {
            facts,
            parent: 1,
            state: 'S',
            nice: 0,
            places: vec![("cwd", "/var/lib".to_string()), ("exe", "/usr/bin/java".to_string())],
            memory: vec![("VmRSS", 3_100 << 20), ("VmSwap", 0)],
            threads: vec![ThreadDetails {
                id: wanted.id,
                name: "main".into(),
                state: 'R',
                time: 650_000_000,
            }],
            files: Ok(vec![file(0, "/dev/null", false), file(3, "tcp 127.0.0.1:8080 LISTEN", true)]),
            limits: vec![["Max open files".into(), "1024".into(), "4096 files".into()]],
            group: "/system.slice/java.service".to_string(),
            group_limits: vec![("memory.max", "4294967296".to_string())],
        })
    }

    fn act(&self, wanted: ProcessId, action: ProcessAction) -> Result<(), String> {
        self.done.lock().unwrap().push((wanted.id, action));
        Ok(())
    }

    fn may_act(&self, wanted: ProcessId) -> Result<(), String> {
        if wanted.id == 990 { Err("the process 990 belongs to postgres".to_string()) } else { Ok(()) }
    }
}

#[test]
fn facts_and_details_of_a_process() {
    let people = Arc::new(People::default());
    let mut overview = Overview::with(Language::ENGLISH, |options| options.processes = Some(people));
    overview.run(10);
    overview.bench.resize(120, 40);
    let screen = overview.draw();
    has(&screen, &["User", "Service", "www-data", "nginx.service", "/usr/bin/program-1204 --serve"]);
    assert!(!screen.contains('\u{1b}'), "control characters of a command line");
    overview.bench.key(KeyCode::Enter);
    overview.bench.settle();
    let screen = check("overview-process", &mut overview.bench);
    has(&screen, &["java (1204)", "3.0 GiB", "/system.slice/java.service", "the past, where it is kept"]);
    for (page, expected) in [
        ("threads", "main"),
        ("files", "/dev/null"),
        ("sockets", "tcp 127.0.0.1:8080 LISTEN"),
        ("limits", "Max open files"),
    ] {
        overview.bench.key(KeyCode::Tab);
        has(&overview.bench.screen(), &[page, expected]);
    }
    overview.bench.types("c");
    overview.run(2);
    let chosen = overview.bench.app.monitor().chosen().map(|series| series.path.clone());
    assert_eq!(chosen.as_deref(), Some(r"\Process(java)\% Processor Time"));
}

fn line_of_java(screen: &str) -> String {
    screen.lines().find(|line| line.contains("program-1204")).unwrap_or_default().to_string()
}

#[test]
fn processes_of_a_service_are_one_line_that_opens() {
    let people = Arc::new(People::default());
    let mut overview = Overview::with(Language::ENGLISH, |options| options.processes = Some(people.clone()));
    overview.run(10);
    overview.bench.resize(120, 40).types("HH");
    overview.draw();
    let screen = check("overview-groups", &mut overview.bench);
    let line = |screen: &str, word: &str| -> String {
        screen.lines().find(|line| line.contains(word)).unwrap_or_default().to_string()
    };
    let number = |text: &str, nth: usize| -> f64 {
        text.split_whitespace().nth(nth).and_then(|word| word.parse().ok()).unwrap_or_default()
    };
    let folded = line(&screen, "▸ nginx.service");
    has(&folded, &["www-data", "(2)"]);
    assert!(!screen.contains("program-812"), "{screen}");
    // One that is alone keeps its own line.
    has(&screen, &["/usr/bin/program-1204 --serve"]);
    // Enter opens the group; the choice moves through its processes, which have details.
    let at = screen.lines().skip_while(|line| !line.trim_start().starts_with("PID"));
    let at = at.skip(1).position(|line| line.contains("nginx.service (")).unwrap();
    for _ in 0..=at {
        overview.bench.key(KeyCode::Down);
    }
    overview.bench.key(KeyCode::Enter);
    let screen = overview.draw();
    has(&screen, &["▾ nginx.service (2)"]);
    let column = |text: &str| text.split("/usr/bin").next().map(|before| before.chars().count());
    let members: Vec<&str> = screen.lines().filter(|line| line.contains("/usr/bin/program-81")).collect();
    assert!(members.iter().all(|line| column(line) > column(&line_of_java(&screen))), "{screen}");
    assert_eq!(members.len(), 2, "{screen}");
    let sum: f64 = members.iter().map(|line| number(line, 2)).sum();
    let of_group = number(&line(&screen, "▾ nginx.service"), 1);
    assert!((sum - of_group).abs() < 0.2, "{sum} {of_group}: {screen}");
    // Nothing can be done to a whole group; a click folds it again.
    overview.bench.types("K");
    assert_eq!(overview.bench.screen(), screen);
    let row = screen.lines().position(|line| line.contains("▾ nginx.service")).unwrap() as u16;
    let click = Event::Mouse(MouseEvent {
        kind: MouseEventKind::Down(MouseButton::Left),
        column: 60,
        row,
        modifiers: KeyModifiers::NONE,
    });
    overview.bench.app.event(&click);
    has(&overview.bench.screen(), &["▸ nginx.service (2)"]);
    let saved = overview.bench.app.settings().to_string();
    assert_eq!(Settings::parse(&saved).unwrap().overview.unwrap().arrangement, Arrangement::Groups);
}

#[test]
fn without_facts_the_processes_of_a_program_are_one_line() {
    for (columns, rows) in SIZES {
        let mut overview = Overview::new();
        overview.bench.resize(columns, rows);
        overview.run(10).bench.types("HH");
        let screen = overview.bench.screen();
        has(&screen, &["java", "▸ nginx (2)"]);
        assert!(!screen.contains("nginx#1"), "{screen}");
    }
}

#[test]
fn values_of_the_table_have_the_colour_of_their_load() {
    use ratatui::style::Color;
    let mut overview = Overview::with(Language::ENGLISH, |options| {
        options.paths = vec![r"\Process(java)\% Processor Time".to_string()];
    });
    overview.bench.resize(200, 50);
    overview.run(3).bench.types("T");
    overview.run(3);
    let screen = overview.bench.screen();
    let value = |name: &str| {
        let line = screen.lines().find(|line| line.starts_with(name)).unwrap_or_default();
        // The first column is the id of the process.
        line.split_whitespace().nth(2).unwrap_or_default().to_string()
    };
    for (name, least, most, colour) in
        [("java", 50.0, 80.0, Color::Yellow), ("nginx ", 5.0, 50.0, Color::Green)]
    {
        let text = value(name);
        let number: f64 = text.parse().unwrap_or_default();
        assert!((least..most).contains(&number), "{name} {text}: {screen}");
        assert_eq!(overview.bench.style_of(&text).fg, Some(colour), "{name} {text}: {screen}");
    }
    // The sum of all processes is no load of one.
    let sum = overview.bench.style_of(&value("_Total")).fg;
    assert!(sum.is_none_or(|colour| colour == Color::Reset), "{sum:?}");
}

#[test]
fn the_table_of_processes_says_whose_they_are_and_what_they_run() {
    for (name, columns, rows) in [("table-details", 200, 50), ("table-details-80", 80, 24)] {
        let load = Load::default();
        load.details.set(true);
        let mut overview = Overview::of(load, Language::ENGLISH, |options| {
            options.paths = vec![r"\Process(java)\% Processor Time".to_string()];
        });
        overview.bench.resize(columns, rows);
        overview.run(3).bench.types("T");
        overview.run(3);
        let screen = check(name, &mut overview.bench);
        has(&screen, &["User", "Command Line", "www-data", "nginx: worker", "% Processor"]);
        if columns > 100 {
            has(&screen, &["Service", "docker shop", "java -jar /srv/shop/shop-server.jar --p…"]);
        }
        // A filter looks at texts too.
        overview.bench.types("/shop").key(KeyCode::Enter);
        let screen = overview.bench.screen();
        assert!(screen.contains("java") && !screen.contains("nginx"), "{screen}");
    }
}

#[test]
fn texts_of_processes_are_read_while_a_column_shows_them() {
    let load = Load::default();
    load.details.set(true);
    let mut overview = Overview::of(load, Language::ENGLISH, |options| {
        options.paths = vec![r"\Process(java)\% Processor Time".to_string()];
    });
    overview.bench.resize(200, 50);
    overview.run(3).bench.types("T");
    overview.run(3);
    has(&overview.bench.screen(), &["User", "Command Line", "Service", "www-data"]);
    assert!(overview.load.details_read.get() > 0);
    // The columns before and behind the one that the table is sorted by are hidden, and stay so in the next
    // table.
    overview.bench.key(KeyCode::Left).types("X").key(KeyCode::Left).types("X");
    for _ in 0..3 {
        overview.bench.key(KeyCode::Right);
    }
    overview.bench.types("X");
    let screen = overview.bench.screen();
    assert!(!["User", "Command Line", "Service"].iter().any(|name| screen.contains(name)), "{screen}");
    overview.bench.types("gT");
    overview.run(2);
    let before = overview.load.details_read.get();
    overview.run(3);
    assert_eq!(overview.load.details_read.get(), before, "{}", overview.bench.screen());
    // All columns are asked for again, with what they show.
    overview.bench.types("M");
    overview.run(3);
    has(&overview.bench.screen(), &["User", "Command Line", "Service", "www-data"]);
    assert!(overview.load.details_read.get() > before);
}

#[test]
fn nothing_is_done_to_a_process_without_a_question_and_the_right() {
    let people = Arc::new(People::default());
    let known = Arc::clone(&people);
    let mut overview = Overview::with(Language::ENGLISH, |options| options.processes = Some(known));
    overview.run(10);
    overview.bench.resize(80, 24);
    overview.draw();
    let done = || people.done.lock().unwrap().clone();
    // The list, the question, and no.
    overview.bench.types("K");
    check("overview-act", &mut overview.bench);
    overview.bench.key(KeyCode::Enter);
    has(&overview.bench.screen(), &["y: do it"]);
    overview.bench.types("n").key(KeyCode::Esc);
    assert_eq!(done(), []);
    // The choice of another action, and yes.
    overview.bench.types("K").key(KeyCode::Down).key(KeyCode::Down).key(KeyCode::Enter).types("y");
    assert_eq!(done(), [(1204, ProcessAction::Stop)]);
    has(&overview.bench.screen(), &["java (1204): stop it (SIGSTOP): done"]);
    // A process of another user.
    overview.bench.key(KeyCode::Down).key(KeyCode::Down).types("K");
    has(&overview.bench.screen(), &["the process 990 belongs to postgres"]);
    assert_eq!(done().len(), 1);
    // Ctrl-C in the question closes it.
    overview.bench.key(KeyCode::Esc).key(KeyCode::Enter).types("K").key(KeyCode::Enter);
    overview.bench.app.event(&Event::Key(KeyEvent::new(KeyCode::Char('c'), KeyModifiers::CONTROL)));
    assert!(!overview.bench.app.has_quit());
    assert_eq!(done().len(), 1);
}
