//! Without a command: a live table of the default counters on a terminal, one report of them elsewhere.

use std::io::{self, Write};
use std::time::{Duration, Instant};

use crossterm::cursor::{Hide, MoveTo, Show};
use crossterm::event::{Event, KeyCode, KeyEventKind, KeyModifiers, poll, read};
use crossterm::style::{Attribute, SetAttribute};
use crossterm::terminal::{
    Clear, ClearType, EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode, size,
};
use crossterm::{execute, queue};
use tallymon::{Query, Reading};
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use super::collect;
use super::get::{SEE_DOCTOR, is_curable};
use crate::arguments::{Common, Form};
use crate::exit::{Failure, Kind};
use crate::output::{Rows, shown};
use crate::paths;
use crate::stop::{Stop, Ticks};
use crate::words::{say, visible};

/// What somebody who asked for nothing in particular wants to see.
const DEFAULT_COUNTERS: &[&str] = &[
    r"\Processor(_Total)\% Processor Time",
    r"\Processor(_Total)\% User Time",
    r"\Processor(_Total)\% Privileged Time",
    r"\System\Processor Queue Length",
    r"\System\Context Switches/sec",
    r"\System\Processes",
    r"\System\Threads",
    r"\System\System Up Time",
    r"\Memory\Available MBytes",
    r"\Memory\% Committed Bytes In Use",
    r"\Memory\Page Faults/sec",
    r"\Memory\Pages/sec",
    r"\PhysicalDisk(*)\Disk Read Bytes/sec",
    r"\PhysicalDisk(*)\Disk Write Bytes/sec",
    r"\PhysicalDisk(*)\Avg. Disk sec/Transfer",
    r"\LogicalDisk(*)\% Free Space",
    r"\Network Interface(*)\Bytes Received/sec",
    r"\Network Interface(*)\Bytes Sent/sec",
    r"\TCPv4\Connections Established",
    r"\TCPv4\Segments Retransmitted/sec",
];

const INTERVAL: Duration = Duration::from_secs(1);

/// How long a signal to end may wait, since it does not wake whoever waits for a key.
const ATTENTION: Duration = Duration::from_millis(200);

/// One report: two samples a second apart, then the values.
pub(crate) fn report(common: &Common) -> Result<(), Failure> {
    let mut query = default_query(common)?;
    let time = collect(&mut query, common, INTERVAL)?;
    let readings = query.readings();
    if let (Some(file), true) = (&common.file, readings.is_empty()) {
        let file = file.display();
        let words = format_args!(
            "{file} has none of the default counters; 'tally list --file {file}' names those it has"
        );
        return Err(Failure::new(Kind::NotFound, words));
    }
    let mut rows = Rows::new(io::stdout().lock(), Form::Table, query.system_name(), true);
    rows.row(time, &readings, query.names())?;
    let curable =
        readings.iter().any(|reading| reading.cell.value.as_ref().is_err_and(|why| is_curable(*why)));
    if curable && common.file.is_none() {
        say(SEE_DOCTOR);
    }
    Ok(())
}

/// The live table, until `q`, Escape or Ctrl-C.
pub(crate) fn run(common: &Common) -> Result<(), Failure> {
    let mut query = default_query(common)?;
    let stop = Stop::on_signals()?;
    let _screen = Screen::open()?;
    let mut ticks = Ticks::start(INTERVAL);
    query.collect()?;
    draw(&query, &query.readings())?;
    loop {
        let next = ticks.next();
        loop {
            let left = next.saturating_duration_since(Instant::now());
            if stop.stopped() {
                return Ok(());
            }
            if left.is_zero() {
                break;
            }
            if !poll(left.min(ATTENTION))? {
                continue;
            }
            match read()? {
                Event::Key(key) if key.kind == KeyEventKind::Press => {
                    let interrupt =
                        key.code == KeyCode::Char('c') && key.modifiers.contains(KeyModifiers::CONTROL);
                    if interrupt || matches!(key.code, KeyCode::Char('q' | 'Q') | KeyCode::Esc) {
                        return Ok(());
                    }
                }
                Event::Resize(_, _) => draw(&query, &query.readings())?,
                _ => {}
            }
        }
        query.collect()?;
        draw(&query, &query.readings())?;
    }
}

/// The default counters that this source has.
fn default_query(common: &Common) -> Result<Query, Failure> {
    let mut query = paths::query(common)?;
    for path in DEFAULT_COUNTERS {
        // A saved block has the objects that it has.
        let _ = query.add(path);
    }
    Ok(query)
}

/// The terminal in raw mode on its alternate screen; put back when this goes away, also by a panic.
struct Screen;

impl Screen {
    fn open() -> io::Result<Screen> {
        enable_raw_mode()?;
        let screen = Screen;
        // The words of a panic would go down with the alternate screen.
        let print = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            Screen::restore();
            print(panic);
        }));
        execute!(io::stdout(), EnterAlternateScreen, Hide)?;
        Ok(screen)
    }
}

impl Screen {
    /// Puts the terminal back; twice does no harm.
    fn restore() {
        // A terminal that is gone needs no restoring.
        let _ = execute!(io::stdout(), Show, LeaveAlternateScreen);
        let _ = disable_raw_mode();
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        Screen::restore();
    }
}

/// Draws the whole screen with one write, so that nobody sees half of it.
fn draw(query: &Query, readings: &[Reading]) -> io::Result<()> {
    let (columns, lines) = size().unwrap_or((80, 24));
    let (columns, lines) = (usize::from(columns).max(1), usize::from(lines).max(1));
    let plain = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    let mut rows = rows(query, readings, columns);
    if rows.len() > lines {
        rows.truncate(lines.saturating_sub(1));
        let more = readings.len().saturating_sub(rows.iter().filter(|row| !row.is_title).count());
        rows.push(ScreenRow { text: format!("  and {more} more lines in a taller window"), is_title: false });
    }
    let mut frame: Vec<u8> = Vec::new();
    queue!(frame, MoveTo(0, 0))?;
    for (number, row) in rows.iter().enumerate() {
        if number > 0 {
            write!(frame, "\r\n")?;
        }
        // Cleared first: behind a full line the cursor still stands on its last letter.
        queue!(frame, Clear(ClearType::UntilNewLine))?;
        if row.is_title && !plain {
            queue!(frame, SetAttribute(Attribute::Bold))?;
        }
        write!(frame, "{}", cut(&row.text, columns))?;
        queue!(frame, SetAttribute(Attribute::Reset))?;
    }
    if rows.len() < lines {
        write!(frame, "\r\n")?;
        queue!(frame, Clear(ClearType::FromCursorDown))?;
    }
    let mut out = io::stdout().lock();
    out.write_all(&frame)?;
    out.flush()
}

/// A line of the screen.
struct ScreenRow {
    text: String,
    is_title: bool,
}

/// A title, and for each object its name and its values.
fn rows(query: &Query, readings: &[Reading], columns: usize) -> Vec<ScreenRow> {
    let names = query.names();
    let title = |text: String| ScreenRow { text, is_title: true };
    let mut rows = vec![title(format!(
        "Tallymon - {} - every {} s - q quits",
        visible(query.system_name()),
        INTERVAL.as_secs()
    ))];
    let mut object = None;
    for reading in readings {
        if object != Some(reading.object) {
            object = Some(reading.object);
            rows.push(title(names.name(reading.object)));
        }
        let mut label = names.name(reading.counter);
        if let Some(instance) = &reading.instance {
            label = visible(&format!("{label}  {instance}")).into_owned();
        }
        let value = shown(reading);
        // A dash has no unit.
        let unit = match reading.cell.value {
            Ok(_) => reading.definition.counter_type.suffix().as_str(),
            Err(_) => "",
        };
        // Value and unit stand right; a narrow terminal cuts the label.
        let right = format!("{value:>16} {unit:4}");
        let left = cut(&label, columns.saturating_sub(right.width() + 3).min(56));
        let gap = " ".repeat(columns.min(80).saturating_sub(left.width() + right.width() + 2));
        rows.push(ScreenRow { text: format!("  {left}{gap}{right}"), is_title: false });
    }
    rows
}

/// The beginning of a text that fits into a number of terminal columns.
fn cut(text: &str, columns: usize) -> String {
    let mut width = 0;
    text.chars()
        .take_while(|letter| {
            width += letter.width().unwrap_or(0);
            width <= columns
        })
        .collect()
}
