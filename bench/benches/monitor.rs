//! The monitor at 200x50: drawing time and terminal bytes per update (`chart`, `overview`), going back
//! through an hour of 1,000 processes (`hour`), and the cost of the whole program compared with others
//! (`programs`).

#[path = "monitor/hour.rs"]
mod hour;
#[path = "monitor/programs.rs"]
mod programs;

use std::cell::Cell;
use std::io::{self, Write};
use std::rc::Rc;
use std::time::Duration;

use ratatui::backend::CrosstermBackend;
use ratatui::layout::Rect;
use ratatui::{Terminal, TerminalOptions, Viewport};
use tallymon::{Location, Query};
use tallymon_bench::{Parts, cpu_time};
use tallymon_core::block::{
    BlockWriter, CounterSpec, InstanceKind, ObjectLayout, ObjectSpec, Snapshot, WriteHeader,
};
use tallymon_core::counter::CounterType;
use tallymon_core::flow::{Source, SourceError};
use tallymon_core::request::{Request, RequestKind};
use tallymon_core::time::{FileTime, Frequency, PerfTime};
use tallymon_core::title::{Language, TitleIndex, Titles};
use tallymon_monitor::chart::Glyphs;
use tallymon_monitor::{App, Colours, Options};

const SECOND: u64 = 10_000_000;

/// Shares of this many instances that rise and fall, each with its own period.
struct Waves {
    instances: u64,
    step: u64,
}

const COUNTERS: [CounterSpec; 2] = {
    let name = TitleIndex(6);
    [
        CounterSpec::new(name, CounterType::PERF_RAW_FRACTION),
        CounterSpec::new(name, CounterType::PERF_RAW_BASE),
    ]
};

impl Source for Waves {
    fn snapshot(&mut self, request: &Request) -> Result<Snapshot, SourceError> {
        let metadata = matches!(request.kind, RequestKind::Metadata { .. });
        let now = FileTime(134_000_000_000_000_000 + self.step * SECOND);
        let header = WriteHeader { perf_time_100ns: now, system_time: now, ..WriteHeader::named("BENCH") };
        let layout = ObjectLayout::new(ObjectSpec::new(TitleIndex(238), InstanceKind::Many, &COUNTERS));
        let mut bytes = Vec::new();
        let mut writer = BlockWriter::growing(&mut bytes, &header);
        {
            let mut object = writer.objects().object(&layout, PerfTime(0), Frequency(0));
            if metadata {
                object.metadata();
            } else {
                for number in 0..self.instances {
                    let time = self.step as f64 / (7.0 + number as f64);
                    // The load of a busy machine jumps; it does not glide.
                    let noise = (self.step * 2_654_435_761 + number * 40_503) % 23;
                    let share = 50.0 + 38.0 * time.sin() + noise as f64 - 11.0;
                    object.instance(&number.to_string(), None, None).set_fraction(
                        0,
                        (share * 100.0) as u64,
                        10_000,
                    );
                }
                self.step += 1;
            }
        }
        writer.finish().expect("the buffer grows");
        Ok(Snapshot::new(bytes)?)
    }

    fn titles(&mut self, _language: Language) -> Result<Titles, SourceError> {
        Ok(Titles::from_pairs([(6, "% Processor Time"), (238, "Processor")]))
    }
}

/// Counts the bytes sent to a terminal.
#[derive(Clone, Default)]
struct Counted(Rc<Cell<usize>>);

impl Write for Counted {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.set(self.0.get() + bytes.len());
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn main() {
    let Some(parts) = Parts::wanted(&["chart", "overview", "hour", "programs"]) else { return };
    if parts.has("chart") {
        charts();
    }
    if parts.has("overview") {
        overview();
    }
    if parts.has("hour") {
        hour::measure();
    }
    if parts.has("programs") {
        programs::measure();
    }
}

fn charts() {
    println!("\none update at 200x50, medians of 400: CPU of the sample, of drawing it, and bytes sent");
    println!("{:>6} {:>6} {:>8} {:>10} {:>10} {:>8}", "series", "points", "", "sample", "draw", "bytes");
    for (series, points, scroll) in [
        (8, 100, false),
        (8, 600, false),
        (32, 100, false),
        (32, 600, false),
        (128, 100, false),
        (8, 100, true),
        (32, 600, true),
    ] {
        measure(series, points, scroll);
    }
}

/// The overview of this machine on a terminal of 200 by 50.
fn on_a_terminal() -> (App, Terminal<CrosstermBackend<Counted>>, Counted) {
    let open = || Query::open(&Location::Local);
    let mut options = Options::new(open);
    options.glyphs = Glyphs::Braille;
    options.colours = Colours::True;
    options.overview = true;
    options.processes = tallymon::Host::processes();
    let app = App::new(open().expect("it opens"), options);
    let sent = Counted::default();
    let viewport = Viewport::Fixed(Rect::new(0, 0, 200, 50));
    let backend = CrosstermBackend::new(sent.clone());
    let terminal = Terminal::with_options(backend, TerminalOptions { viewport }).expect("it opens");
    (app, terminal, sent)
}

/// The overview of this machine, one sample a second as for a person.
fn overview() {
    const UPDATES: usize = 30;
    let (mut app, mut terminal, sent) = on_a_terminal();
    let mut measured: [Vec<f64>; 3] = Default::default();
    for update in 0..UPDATES + 5 {
        std::thread::sleep(Duration::from_secs(1));
        let before = cpu_time();
        app.sample();
        let sample = cpu_time() - before;
        sent.0.set(0);
        let before = cpu_time();
        terminal.draw(|frame| app.draw(frame)).expect("it draws");
        let draw = cpu_time() - before;
        while app.has_jobs() {
            app.jobs_end(Duration::from_millis(20));
        }
        // The first updates draw everything.
        if update >= 5 {
            let numbers = [sample.as_secs_f64() * 1e3, draw.as_secs_f64() * 1e3, sent.0.get() as f64];
            for (list, number) in measured.iter_mut().zip(numbers) {
                list.push(number);
            }
        }
    }
    let [sample, draw, bytes] = measured.map(|mut list| {
        list.sort_by(f64::total_cmp);
        list.get(UPDATES / 2).copied().unwrap_or_default()
    });
    println!("\nthe overview of this machine at 200x50, medians of {UPDATES} updates, one a second");
    println!("{sample:>7.3} ms sample {draw:>7.3} ms draw {bytes:>8.0} bytes");
}

fn measure(series: u64, points: usize, scroll: bool) {
    let source = move || Query::new(Box::new(Waves { instances: series, step: 0 }), Language::ENGLISH);
    let mut options = Options::new(source);
    options.paths = vec![r"\Processor(*)\% Processor Time".to_string()];
    options.glyphs = Glyphs::Braille;
    options.colours = Colours::True;
    let mut app = App::new(source().expect("it opens"), options);
    app.set_points(points);
    app.set_sweep(!scroll);
    let sent = Counted::default();
    let viewport = Viewport::Fixed(Rect::new(0, 0, 200, 50));
    let backend = CrosstermBackend::new(sent.clone());
    let mut terminal = Terminal::with_options(backend, TerminalOptions { viewport }).expect("it opens");
    for _ in 0..points * 2 {
        app.sample();
    }
    terminal.draw(|frame| app.draw(frame)).expect("it draws");
    let mut samples = Vec::new();
    let mut draws = Vec::new();
    let mut bytes = Vec::new();
    for _ in 0..400 {
        let before = cpu_time();
        app.sample();
        samples.push(cpu_time() - before);
        sent.0.set(0);
        let before = cpu_time();
        terminal.draw(|frame| app.draw(frame)).expect("it draws");
        draws.push(cpu_time() - before);
        bytes.push(sent.0.get());
    }
    samples.sort();
    draws.sort();
    bytes.sort();
    let milliseconds = |times: &[Duration]| times.get(200).map_or(0.0, Duration::as_secs_f64) * 1e3;
    println!(
        "{series:>6} {points:>6} {:>8} {:>7.3} ms {:>7.3} ms {:>8}",
        if scroll { "scroll" } else { "sweep" },
        milliseconds(&samples),
        milliseconds(&draws),
        bytes.get(200).copied().unwrap_or(0)
    );
}
