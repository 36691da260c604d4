//! A source whose values, instances and failures follow a script, and an application over it.

use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use crossterm::event::{Event, KeyCode, KeyEvent, KeyModifiers};
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use tallymon::Query;
use tallymon::core::block::{
    BlockWriter, CounterBlockMut, CounterSpec, InstanceKind, ObjectLayout, ObjectSpec, Snapshot, WriteHeader,
};
use tallymon::core::counter::CounterType;
use tallymon::core::flow::{Absence, Source, SourceError, ValueState};
use tallymon::core::request::{Request, RequestKind};
use tallymon::core::time::{FileTime, Frequency, PerfTime};
use tallymon::core::title::{HelpIndex, Language, TitleIndex, Titles};
use tallymon_monitor::chart::Glyphs;
use tallymon_monitor::{App, Colours, Options};

/// 2026-03-01 09:40:00 UTC.
pub(crate) const START: FileTime = FileTime(134_168_316_000_000_000);
const SECOND: u64 = 10_000_000;

/// A value that the test sets and the source reads, on any thread.
#[derive(Default)]
pub(crate) struct Shared<T>(Mutex<T>);

impl<T> Shared<T> {
    pub(crate) fn lock(&self) -> MutexGuard<'_, T> {
        self.0.lock().unwrap()
    }

    pub(crate) fn set(&self, value: T) {
        *self.lock() = value;
    }
}

impl<T: Copy> Shared<T> {
    pub(crate) fn get(&self) -> T {
        *self.lock()
    }
}

/// The state of the scripted machine; the test changes it.
#[derive(Default)]
pub(crate) struct Script {
    pub(crate) step: Shared<u64>,
    pub(crate) failure: Shared<Option<SourceError>>,
    /// Processes that exist.
    pub(crate) processes: Shared<Vec<&'static str>>,
    /// Their process ids, where the script sets them.
    pub(crate) ids: Shared<Vec<i32>>,
    /// A state for the memory counters.
    pub(crate) memory: Shared<Option<ValueState>>,
    /// Threads that wait for a processor, where the script sets them.
    pub(crate) queue: Shared<Option<u64>>,
    /// The counters of the disk go backwards.
    pub(crate) backwards: Shared<bool>,
    /// How many snapshots were taken.
    pub(crate) snapshots: Shared<u64>,
    /// The request of the last sample.
    pub(crate) sampled: Shared<Request>,
}

/// A machine with six objects.
pub(crate) struct Fake(pub(crate) Arc<Script>);

const fn counter(name: u32, counter_type: CounterType, scale: i32) -> CounterSpec {
    CounterSpec { scale, ..CounterSpec::new(TitleIndex(name), counter_type) }
}

const SHARE: CounterType = CounterType::PERF_RAW_FRACTION;
const SHARE_BASE: CounterType = CounterType::PERF_RAW_BASE;
const RAW: CounterType = CounterType::PERF_COUNTER_LARGE_RAWCOUNT;
const RATE: CounterType = CounterType::PERF_COUNTER_BULK_COUNT;

const PROCESSOR: &[CounterSpec] = &[counter(6, SHARE, 0), counter(6, SHARE_BASE, 0), counter(148, RATE, -2)];
const MEMORY: &[CounterSpec] = &[counter(1382, RAW, 0), counter(28, RATE, 0)];
const DISK: &[CounterSpec] = &[counter(218, RATE, -4)];
const PROCESS: &[CounterSpec] =
    &[counter(6, SHARE, 0), counter(6, SHARE_BASE, 0), counter(180, RAW, -5), counter(684, RAW, 0)];
const NETWORK: &[CounterSpec] = &[counter(388, RATE, -4)];
const SYSTEM: &[CounterSpec] = &[
    CounterSpec { size: Some(64), ..counter(5000, CounterType::PERF_COUNTER_TEXT, 0) },
    counter(44, RAW, 1),
];

const fn object(name: u32, instances: InstanceKind, counters: &'static [CounterSpec]) -> ObjectSpec<'static> {
    ObjectSpec { status: true, ..ObjectSpec::new(TitleIndex(name), instances, counters) }
}

const OBJECTS: [ObjectSpec<'static>; 6] = [
    object(2, InstanceKind::None, SYSTEM),
    object(4, InstanceKind::None, MEMORY),
    object(230, InstanceKind::Many, PROCESS),
    object(234, InstanceKind::Many, DISK),
    object(238, InstanceKind::Many, PROCESSOR),
    object(510, InstanceKind::Many, NETWORK),
];

const NAMES: &[(u32, &str, &str)] = &[
    (2, "System", "시스템"),
    (4, "Memory", "메모리"),
    (6, "% Processor Time", "% 프로세서 시간"),
    (28, "Page Faults/sec", "페이지 폴트/초"),
    (44, "Processor Queue Length", "프로세서 큐 길이"),
    (148, "Interrupts/sec", "인터럽트/초"),
    (180, "Working Set", "작업 집합"),
    (218, "Disk Bytes/sec", "디스크 바이트/초"),
    (230, "Process", "프로세스"),
    (234, "PhysicalDisk", "실제 디스크"),
    (238, "Processor", "프로세서"),
    (388, "Bytes Total/sec", "총 바이트/초"),
    (510, "Network Interface", "네트워크 인터페이스"),
    (684, "Elapsed Time", "경과 시간"),
    (1382, "Available MBytes", "사용 가능한 메가바이트"),
    (5000, "Kernel", "커널"),
];

/// A wave between 0 and 100 that is the same on every machine.
pub(crate) fn wave(step: u64, period: u64) -> u64 {
    let place = step % period;
    let half = period / 2;
    if place < half { place * 100 / half } else { (period - place) * 100 / (period - half) }
}

impl Fake {
    fn write(&self, name: TitleIndex, position: usize, block: &mut CounterBlockMut<'_>) {
        let script = &self.0;
        let step = script.step.get();
        let bias = position as u64;
        match name.0 {
            2 => {
                block.set_text(0, "6.1.0-generic");
                block.set(1, script.queue.get().unwrap_or(wave(step, 30) / 20));
            }
            4 => {
                block.set(0, 3_000 + wave(step, 80) * 10);
                block.set(1, step * 40 + step * step % 17);
                if let Some(state) = script.memory.get() {
                    block.state(0, state);
                }
            }
            230 => {
                block.set_fraction(0, wave(step + bias * 11, 50) / 2, 100);
                block.set(2, (bias + 1) * 12_345_678 + step * 4_096);
                block.set(3, step);
            }
            234 => {
                let total = (0..=step).map(|step| wave(step, 20) * 9_000).sum::<u64>();
                block.set(0, if script.backwards.get() { 1_000_000_000 - total } else { total });
            }
            238 => {
                block.set_fraction(0, wave(step + bias * 9, 40), 100);
                block.set(2, step * 700 + step % 7 * 50);
            }
            _ => block.set(0, (0..=step).map(|step| wave(step * (bias + 2), 33) * 500).sum::<u64>()),
        }
    }

    fn instances(&self, name: TitleIndex) -> Vec<&'static str> {
        match name.0 {
            230 => self.0.processes.lock().clone(),
            234 => vec!["0 sda", "_Total"],
            238 => vec!["0", "1", "_Total"],
            _ => vec!["eth0", "lo"],
        }
    }
}

impl Source for Fake {
    fn snapshot(&mut self, request: &Request) -> Result<Snapshot, SourceError> {
        let script = &self.0;
        script.snapshots.set(script.snapshots.get() + 1);
        if matches!(request.kind, RequestKind::Objects(_)) {
            script.sampled.set(request.clone());
        }
        let metadata = match &request.kind {
            RequestKind::Metadata { costly, .. } => Some(*costly),
            _ => None,
        };
        if metadata.is_none()
            && let Some(failure) = script.failure.lock().clone()
        {
            return Err(failure);
        }
        let wanted = |name: TitleIndex| match &request.kind {
            RequestKind::Metadata { costly, .. } => !costly,
            RequestKind::Objects(objects) => objects.contains(&name),
            _ => true,
        };
        let step = script.step.get();
        let now = FileTime(START.0 + step * SECOND);
        let header = WriteHeader {
            system_name: "web01",
            default_object: 238,
            perf_time: PerfTime((step * SECOND) as i64),
            perf_freq: Frequency(SECOND as i64),
            perf_time_100ns: now,
            system_time: now,
        };
        let mut bytes = Vec::new();
        let mut writer = BlockWriter::growing(&mut bytes, &header);
        for spec in OBJECTS.iter().filter(|spec| wanted(spec.name)) {
            let layout = ObjectLayout::new(*spec);
            let mut object = writer.objects().object(&layout, PerfTime(0), Frequency(0));
            if metadata.is_some() {
                object.metadata();
                continue;
            }
            match spec.instances {
                InstanceKind::None => self.write(spec.name, 0, &mut object.single_sums()),
                InstanceKind::Many => {
                    for (position, name) in self.instances(spec.name).into_iter().enumerate() {
                        let ids = script.ids.lock();
                        let id = ids.get(position).copied().filter(|_| spec.name == TitleIndex(230));
                        self.write(spec.name, position, &mut object.instance(name, None, id));
                    }
                }
            }
        }
        writer.finish().unwrap();
        Ok(Snapshot::new(bytes)?)
    }

    fn titles(&mut self, language: Language) -> Result<Titles, SourceError> {
        let korean = language == Language::KOREAN;
        let mut titles = Titles::from_pairs(
            NAMES.iter().map(|(index, english, other)| (*index, if korean { *other } else { *english })),
        );
        for (index, english, _) in NAMES {
            titles.insert_help(HelpIndex(index + 1), format!("{english} as the script of the test has it."));
        }
        Ok(titles)
    }

    fn languages(&self) -> Vec<Language> {
        vec![Language::ENGLISH, Language::KOREAN]
    }
}

/// The paths that `tally` starts with.
pub(crate) const DEFAULTS: &[&str] = &[
    r"\Processor(_Total)\% Processor Time",
    r"\Memory\Available MBytes",
    r"\PhysicalDisk(_Total)\Disk Bytes/sec",
    r"\Network Interface(*)\Bytes Total/sec",
];

/// An application over the script, with its screen.
pub(crate) struct Bench {
    pub(crate) script: Arc<Script>,
    pub(crate) app: App,
    terminal: Terminal<TestBackend>,
}

impl Bench {
    pub(crate) fn new(paths: &[&str]) -> Bench {
        Bench::with(paths, Language::ENGLISH, |_| ())
    }

    pub(crate) fn with(paths: &[&str], language: Language, change: impl FnOnce(&mut Options)) -> Bench {
        let script = Arc::new(Script::default());
        *script.processes.lock() = vec!["myapp", "myapp", "shell", "_Total"];
        let query = move |script: &Arc<Script>| Query::new(Box::new(Fake(Arc::clone(script))), language);
        let again = Arc::clone(&script);
        let mut options = Options::new(move || query(&again));
        options.paths = paths.iter().map(|path| (*path).to_string()).collect();
        options.glyphs = Glyphs::Braille;
        options.colours = Colours::Sixteen;
        change(&mut options);
        let app = App::new(query(&script).unwrap(), options);
        Bench { script, app, terminal: Terminal::new(TestBackend::new(100, 30)).unwrap() }
    }

    /// A bench over another application.
    pub(crate) fn of(app: App) -> Bench {
        let terminal = Terminal::new(TestBackend::new(100, 30)).unwrap();
        let mut bench = Bench { script: Arc::default(), app, terminal };
        bench.settle();
        bench
    }

    /// Waits until files are open, values are read, and jobs have ended.
    pub(crate) fn settle(&mut self) {
        while self.app.is_opening() || self.app.is_reading() || self.app.has_jobs() || self.app.is_waiting() {
            let minute = Duration::from_secs(60);
            if self.app.is_waiting() {
                self.app.sample_comes(minute)
            } else if self.app.has_jobs() {
                self.app.jobs_end(minute)
            } else if self.app.is_opening() {
                self.app.file_comes(minute)
            } else {
                self.app.rows_come(minute)
            };
        }
    }

    /// Takes some samples, a second apart.
    pub(crate) fn run(&mut self, samples: u64) -> &mut Bench {
        for _ in 0..samples {
            self.app.sample();
            self.script.step.set(self.script.step.get() + 1);
        }
        self
    }

    /// Types letters.
    pub(crate) fn types(&mut self, letters: &str) -> &mut Bench {
        for letter in letters.chars() {
            self.key(KeyCode::Char(letter));
        }
        self
    }

    pub(crate) fn key(&mut self, code: KeyCode) -> &mut Bench {
        self.app.event(&Event::Key(KeyEvent::new(code, KeyModifiers::NONE)));
        self.settle();
        self
    }

    pub(crate) fn resize(&mut self, columns: u16, rows: u16) -> &mut Bench {
        self.terminal = Terminal::new(TestBackend::new(columns, rows)).unwrap();
        self
    }

    /// The screen as lines of text.
    pub(crate) fn screen(&mut self) -> String {
        self.terminal.draw(|frame| self.app.draw(frame)).unwrap();
        let buffer = self.terminal.backend().buffer();
        let mut text = String::new();
        for row in buffer.area.rows() {
            let mut line = String::new();
            let mut skip = 0;
            for place in row.columns() {
                // A wide letter covers the cell behind it.
                if skip > 0 {
                    skip -= 1;
                    continue;
                }
                let symbol = buffer[(place.x, place.y)].symbol();
                skip = unicode_width::UnicodeWidthStr::width(symbol).saturating_sub(1);
                line.push_str(symbol);
            }
            text.push_str(line.trim_end());
            text.push('\n');
        }
        text
    }

    /// The style of a text that is on the screen once.
    #[track_caller]
    pub(crate) fn style_of(&mut self, text: &str) -> ratatui::style::Style {
        let screen = self.screen();
        let found = screen.lines().enumerate().find_map(|(row, line)| Some((row, line.find(text)?, line)));
        let (row, at, line) = found.unwrap_or_else(|| panic!("{text:?} is not on\n{screen}"));
        let column = unicode_width::UnicodeWidthStr::width(&line[..at]);
        self.terminal.backend().buffer()[(column as u16, row as u16)].style()
    }
}

/// A state of the memory counters without access rights.
pub(crate) const DENIED: ValueState = ValueState::Absent(Absence::AccessDenied);

/// A block of all objects of the script.
pub(crate) fn block() -> Vec<u8> {
    let snapshot = Fake(Arc::new(Script::default())).snapshot(&Request::default()).unwrap();
    snapshot.bytes().to_vec()
}
