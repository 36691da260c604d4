//! Counters of running .NET programs: [`DotnetPrograms`], a provider.
//!
//! A program is asked only while somebody reads these objects: the first request begins a session with each
//! program, and a session ends two minutes after the last request or with the reader. The first request for a
//! program waits for its first values, at most a second for all programs together; later requests wait
//! for nothing. So a program that stands still costs only its own values.
//!
//! Meters become objects when they are known: a request for `.NET Meters`, or for an object that nobody else
//! has, asks the programs which meters they have. Their values are asked for meter by meter.

mod meters;
mod objects;
mod session;
mod state;
mod tables;
mod totals;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;
use std::time::{Duration, Instant};

use tallymon_provider::{
    Absence, CollectRequest, CounterBlockMut, CounterSpec, CounterType, DetailLevel, Finding, FindingState,
    Frequency, HelpIndex, InstanceKind, Language, ObjectLayout, ObjectSpec, ObjectsWriter, PerfTime,
    Provider, ProviderError, TitleIndex, Titles,
};

use crate::port::{Program, programs};
use objects::{MeterObjects, NamesLater, folded, identity, instance_name};
use session::{Begin, Live, Phase};
use state::State;
use tables::{From, METERS, Row, TABLES};

/// How long a request waits for programs that it asks for the first time.
const FIRST_WAIT: Duration = Duration::from_secs(1);
/// How long a request waits for the meters of programs that it asks for the first time, two sets of which
/// come in two seconds.
const METERS_WAIT: Duration = Duration::from_secs(5);
/// How often to look for new programs.
const LOOK: Duration = Duration::from_secs(1);
/// Meters are written for a moment so far back, in units of 100 ns: a set and some more.
const BEHIND: u64 = 12_000_000;
/// A program whose newest set is so old does not keep those of others back.
const MOST_BEHIND: u64 = 100_000_000;
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
pub struct DotnetPrograms {
    sessions: BTreeMap<Program, Live>,
    looked: Option<Instant>,
    /// The time of the last answer, which the next one is not before.
    time: u64,
    /// The same for the objects of meters.
    meters_time: u64,
    meters: MeterObjects,
    /// How many instruments were known when the objects were made.
    learned: u64,
    /// All objects: those of the tables, then those of meters.
    specs: Vec<ObjectSpec<'static>>,
}

impl Default for DotnetPrograms {
    fn default() -> DotnetPrograms {
        DotnetPrograms::new(None)
    }
}

impl Drop for DotnetPrograms {
    fn drop(&mut self) {
        // They end at the same time, however many there are.
        self.sessions.values().for_each(Live::stop);
    }
}

impl DotnetPrograms {
    /// The objects of running programs. No meter becomes an object of one of these names, which are asked for
    /// when the first meter is seen.
    pub fn except_later(names: impl FnOnce() -> Vec<String> + Send + 'static) -> DotnetPrograms {
        DotnetPrograms::new(Some(Box::new(names)))
    }

    fn new(names: Option<Box<NamesLater>>) -> DotnetPrograms {
        DotnetPrograms {
            sessions: BTreeMap::new(),
            looked: None,
            time: 0,
            meters_time: 0,
            meters: MeterObjects::new(object_names(), names),
            learned: 0,
            specs: SPECS.clone(),
        }
    }

    /// Waits for the meters of all programs, and for the values that were asked for.
    fn wait_for_meters(&mut self) {
        let deadline = Instant::now().checked_add(METERS_WAIT).unwrap_or_else(Instant::now);
        for (program, live) in &self.sessions {
            live.shared.wait_for_meters(program, deadline);
        }
        self.learn();
    }

    /// Makes objects of new meters.
    fn learn(&mut self) {
        let generation = |live: &Live| live.shared.look(|_, state| state.meters.generation);
        let known: u64 = self.sessions.values().map(generation).fold(0, u64::saturating_add);
        // Programs that are gone take their part with them.
        if known == self.learned {
            return;
        }
        self.learned = known;
        let mut sessions: Vec<_> = self.sessions.iter().collect();
        sessions.sort_by_key(|(program, _)| place(program.user));
        for (program, live) in sessions {
            let is_own = place(program.user) == 0;
            live.shared.look(|_, state| self.meters.learn(&state.meters, is_own));
        }
        self.specs =
            SPECS.iter().copied().chain(self.meters.objects.iter().map(|meter| meter.spec)).collect();
    }

    /// The moment for which meters are written: one at which the sums of all programs are known, and so far
    /// back that the next one is later whenever it is asked for.
    fn meters_moment(&self) -> u64 {
        let now = session::now();
        let newest = self.sessions.values().filter_map(|live| {
            live.shared.look(|phase, state| state.meters.newest.filter(|_| phase == Phase::Running))
        });
        newest
            .filter(|newest| now.saturating_sub(*newest) < MOST_BEHIND)
            .min()
            .map_or(0, |newest| newest.min(now.saturating_sub(BEHIND)))
    }

    /// Writes the object that lists the meters of all programs.
    fn write_list(&self, out: &mut ObjectsWriter<'_>, sessions: &[(&Program, &Live)]) {
        let Some(spec) = SPECS.iter().find(|spec| spec.name.0 == METERS.index) else { return };
        let layout = ObjectLayout::new(*spec);
        let time = PerfTime(i64::try_from(self.meters_time).unwrap_or(i64::MAX));
        let mut writer = out.object(&layout, time, FREQUENCY);
        for (program, live) in sessions {
            live.shared.look(|_, state| {
                for (meter, (instruments, series)) in objects::sizes(&state.meters) {
                    let name = instance_name(&program.name, &meter);
                    let mut block = writer.instance(&name, None, identity(program.pid, &meter));
                    let limit = u64::from(state.meters.limit_reached);
                    let values = [instruments, series, limit, u64::from(program.pid)];
                    values.into_iter().enumerate().for_each(|(position, value)| block.set(position, value));
                }
            });
        }
    }

    /// Writes the object of a meter.
    fn write_meter(
        &self,
        meter: &objects::MeterObject,
        out: &mut ObjectsWriter<'_>,
        sessions: &[(&Program, &Live)],
    ) {
        let layout = ObjectLayout::new(meter.spec);
        let time = PerfTime(i64::try_from(self.meters_time).unwrap_or(i64::MAX));
        let mut writer = out.object(&layout, time, FREQUENCY);
        for (program, live) in sessions {
            live.shared.look(|phase, state| {
                let meters = &state.meters;
                if !meters.has(&meter.meter) {
                    return;
                }
                let absence = match phase {
                    Phase::Running if meters.newest.is_none() && meters.problem.is_some() => {
                        Some(Absence::ReadFailed)
                    }
                    Phase::Running => meters.newest.is_none().then_some(Absence::FirstSample),
                    phase => why(phase),
                };
                for tags in meter.tags(meters) {
                    let name = instance_name(&program.name, tags);
                    let mut block = writer.instance(&name, None, identity(program.pid, tags));
                    meter.write(&mut block, meters, tags, self.meters_time, absence);
                }
            });
        }
    }

    /// Begins sessions with new programs, ends those with programs that are gone. Asks for meters, and for
    /// the values of some, if somebody wants them.
    fn look(&mut self, meters: Option<&BTreeSet<String>>) {
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
            if let Some(wanted) = meters {
                live.shared.ask_meters(wanted);
            }
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

/// Why a program has no values; `None` when it has.
fn why(phase: Phase) -> Option<Absence> {
    match phase {
        Phase::Running => None,
        Phase::Starting | Phase::Idle => Some(Absence::FirstSample),
        Phase::Denied => Some(Absence::AccessDenied),
        Phase::Failed => Some(Absence::ReadFailed),
    }
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
    let absence = why(phase);
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
            From::Nowhere | From::Listed => Err(Absence::NotOnThisSystem),
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
        &self.specs
    }

    fn refresh(&mut self) {
        self.learn();
    }

    fn discover(&mut self, object: &str) -> bool {
        self.look(Some(&BTreeSet::new()));
        self.wait_for_meters();
        let name = folded(object);
        self.meters.objects.iter().any(|meter| folded(&meter.name) == name)
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
        let asked = self.meters.objects.iter().filter(|meter| request.wants(meter.spec.name));
        let asked: BTreeSet<String> = asked.map(|meter| meter.meter.clone()).collect();
        let wants_list = request.wants(TitleIndex(METERS.index));
        let wants_meters = wants_list || !asked.is_empty();
        self.look(wants_meters.then_some(&asked));
        if wants_meters {
            self.wait_for_meters();
            self.meters_time = self.meters_time.max(self.meters_moment());
        }
        self.time = self.time.max(self.moment());
        let time = PerfTime(i64::try_from(self.time).unwrap_or(i64::MAX));
        let mut sessions: Vec<_> = self.sessions.iter().collect();
        sessions.sort_by_key(|(program, _)| place(program.user));
        if wants_list {
            self.write_list(out, &sessions);
        }
        for meter in self.meters.objects.iter().filter(|meter| request.wants(meter.spec.name)) {
            self.write_meter(meter, out, &sessions);
        }
        for (table, spec) in TABLES.iter().zip(SPECS.iter()) {
            if !request.wants(spec.name) || table.index == METERS.index {
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
        self.meters.add_titles(&mut titles);
        titles
    }

    fn trouble(&self, object: TitleIndex) -> Option<String> {
        let meter = self.meters.objects.iter().find(|meter| meter.spec.name == object)?;
        self.sessions.iter().find_map(|(program, live)| {
            live.shared.look(|_, state| {
                let meters = &state.meters;
                let problem = meters.problem.as_ref().filter(|_| meters.newest.is_none())?;
                let is_there = meters.has(&meter.meter);
                is_there.then(|| format!("meters of {} ({}): {problem}", program.name, program.pid))
            })
        })
    }

    fn findings(&mut self) -> Vec<Finding> {
        let finding = |(program, live): (&Program, &Live)| {
            let (limit, problem) =
                live.shared.look(|_, state| (state.meters.limit_reached, state.meters.problem.clone()));
            let remedy = "read fewer meters of it, or have it use fewer different tags";
            let (state, detail, remedy) = match (problem, limit) {
                (Some(problem), _) => {
                    (FindingState::Missing, problem, "end the other reader, and wait 30 seconds")
                }
                (None, true) => {
                    (FindingState::Limited, "it has more series than are read".to_string(), remedy)
                }
                (None, false) => return None,
            };
            let subject = format!("meters of {} ({})", program.name, program.pid);
            Some(Finding { subject, state, detail, remedy: remedy.into() })
        };
        self.sessions.iter().filter_map(finding).collect()
    }
}

#[cfg(test)]
#[path = "live_tests.rs"]
mod tests;
