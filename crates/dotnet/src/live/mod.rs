//! Counters of running .NET programs: [`DotnetPrograms`], a provider.
//!
//! A program is asked only while somebody reads these objects: the first request begins a session with each
//! program, and a session ends two minutes after the last request or with the reader. The first request for a
//! program waits for its first values, at most a second for all programs together; later requests wait
//! for nothing. So a program that stands still costs only its own values.

mod session;
mod state;
mod tables;
mod totals;

use std::collections::BTreeMap;
use std::sync::LazyLock;
use std::time::{Duration, Instant};

use tallymon_provider::{
    Absence, CollectRequest, CounterBlockMut, CounterSpec, CounterType, DetailLevel, Frequency, HelpIndex,
    InstanceKind, Language, ObjectLayout, ObjectSpec, ObjectsWriter, PerfTime, Provider, ProviderError,
    TitleIndex, Titles,
};

use crate::port::{Program, programs};
use session::{Begin, Live, Phase};
use state::State;
use tables::{From, Row, TABLES};

/// How long a request waits for programs that it asks for the first time.
const FIRST_WAIT: Duration = Duration::from_secs(1);
/// How often to look for new programs.
const LOOK: Duration = Duration::from_secs(1);
/// Ticks per second of the times of objects.
const FREQUENCY: Frequency = Frequency(10_000_000);

/// The declarations of all objects, in the order of [`TABLES`].
static SPECS: LazyLock<Vec<ObjectSpec<'static>>> = LazyLock::new(|| TABLES.iter().map(spec).collect());

/// The base of a share follows it.
fn has_base(row: &Row) -> bool {
    row.kind == CounterType::PERF_RAW_FRACTION
}

/// The indexes of the names of a table's counters.
fn indexes(table: &tables::Table) -> impl Iterator<Item = (TitleIndex, &Row)> {
    let numbers = (table.index.saturating_add(2)..).step_by(2);
    numbers.map(TitleIndex).zip(table.counters)
}

fn spec(table: &tables::Table) -> ObjectSpec<'static> {
    let mut counters = Vec::new();
    let mut default = 0;
    for (position, (name, row)) in indexes(table).enumerate() {
        if position == usize::from(table.default) {
            default = u16::try_from(counters.len()).unwrap_or(0);
        }
        let counter = CounterSpec { scale: row.scale, ..CounterSpec::new(name, row.kind) };
        counters.push(counter);
        if has_base(row) {
            counters.push(CounterSpec { counter_type: CounterType::PERF_RAW_BASE, ..counter });
        }
    }
    ObjectSpec {
        detail: DetailLevel::NOVICE,
        default_counter: default,
        status: true,
        ..ObjectSpec::new(TitleIndex(table.index), InstanceKind::Many, Vec::leak(counters))
    }
}

/// The names of the objects, which no other program may publish.
pub fn object_names() -> impl Iterator<Item = &'static str> {
    TABLES.iter().map(|table| table.name)
}

/// Answers for the objects of running .NET programs.
#[derive(Default)]
pub struct DotnetPrograms {
    sessions: BTreeMap<Program, Live>,
    looked: Option<Instant>,
    /// The time of the last answer, which the next one is not before.
    time: u64,
}

impl Drop for DotnetPrograms {
    fn drop(&mut self) {
        // They end at the same time, however many there are.
        self.sessions.values().for_each(Live::stop);
    }
}

impl DotnetPrograms {
    /// Begins sessions with new programs, ends those with programs that are gone.
    fn look(&mut self) {
        if self.looked.is_none_or(|looked| looked.elapsed() >= LOOK) {
            self.looked = Some(Instant::now());
            let found = programs();
            self.sessions.retain(|program, _| found.binary_search(program).is_ok());
            for program in found {
                self.sessions.entry(program.clone()).or_insert_with(|| Live::start(program, Begin::Awaited));
            }
        }
        for (program, live) in &mut self.sessions {
            if let Some(begin) = live.shared.is_to_begin_again() {
                *live = Live::start(program.clone(), begin);
            }
            live.shared.ask();
        }
        let deadline = Instant::now().checked_add(FIRST_WAIT).unwrap_or_else(Instant::now);
        self.sessions.values().for_each(|live| live.shared.wait(deadline));
    }

    /// The newest moment at which the sums of all programs are known.
    fn moment(&self) -> u64 {
        let newest = self.sessions.values().filter_map(|live| {
            live.shared.look(|phase, state| state.newest().filter(|_| phase == Phase::Running))
        });
        newest.min().unwrap_or(0)
    }
}

/// The place of a user's programs: root's and own ones are before those of others, so that nobody takes the
/// name of an instance without a number from them.
fn place(user: u32) -> u8 {
    u8::from(user != 0 && user != rustix::process::geteuid().as_raw())
}

/// Writes the values of a program.
fn write(
    block: &mut CounterBlockMut<'_>,
    table: &tables::Table,
    program: &Program,
    phase: Phase,
    state: &State,
    time: u64,
) {
    let absence = match phase {
        Phase::Running => None,
        Phase::Starting | Phase::Idle => Some(Absence::FirstSample),
        Phase::Denied => Some(Absence::AccessDenied),
        Phase::Failed => Some(Absence::ReadFailed),
    };
    let mut position = 0usize;
    for row in table.counters {
        let here = position;
        position = position.saturating_add(if has_base(row) { 2 } else { 1 });
        let known = |value: Option<f64>| match absence {
            Some(why) => Err(why),
            None => value.map(|value| value.max(0.0)).ok_or(Absence::Other),
        };
        let value = match row.source {
            From::Pid => Ok(f64::from(program.pid)),
            From::Always(number) => Ok(number as f64),
            From::Level(of) | From::Share(of) => known(of(state)),
            From::Sum(name) => known(state.sum(name, time)),
            From::Nowhere => Err(Absence::NotOnThisSystem),
        };
        match value {
            // Hundredths of a percent.
            Ok(value) if has_base(row) => block.set_fraction(here, (value * 100.0) as u64, 10_000),
            Ok(value) => block.set(here, value as u64),
            Err(why) => block.absent(here..position, why),
        }
    }
}

impl Provider for DotnetPrograms {
    fn objects(&self) -> &[ObjectSpec<'static>] {
        &SPECS
    }

    /// Attaching to every program is nothing to do for somebody who asks for everything.
    fn is_costly(&self, _object: TitleIndex) -> bool {
        true
    }

    fn collect(
        &mut self,
        request: &CollectRequest<'_>,
        out: &mut ObjectsWriter<'_>,
    ) -> Result<(), ProviderError> {
        self.look();
        self.time = self.time.max(self.moment());
        let time = PerfTime(i64::try_from(self.time).unwrap_or(i64::MAX));
        let mut sessions: Vec<_> = self.sessions.iter().collect();
        sessions.sort_by_key(|(program, _)| place(program.user));
        for (table, spec) in TABLES.iter().zip(SPECS.iter()) {
            if !request.wants(spec.name) {
                continue;
            }
            let layout = ObjectLayout::new(*spec);
            let mut writer = out.object(&layout, time, FREQUENCY);
            for (program, live) in &sessions {
                let mut block = writer.instance(&program.name, None, i32::try_from(program.pid).ok());
                live.shared.look(|phase, state| write(&mut block, table, program, phase, state, self.time));
            }
        }
        Ok(())
    }

    fn titles(&self, _language: Language) -> Titles {
        let mut titles = Titles::new();
        let mut add = |index: TitleIndex, name: &str, help: &str| {
            titles.insert_name(index, name);
            titles.insert_help(HelpIndex(index.0.saturating_add(1)), help);
        };
        for table in TABLES {
            add(TitleIndex(table.index), table.name, table.help);
            for (index, row) in indexes(table) {
                add(index, row.name, row.help);
            }
        }
        titles
    }
}

#[cfg(test)]
#[path = "live_tests.rs"]
mod tests;
