//! Selects counters and times of a log.

use tallymon_core::path::{CounterPath, InstanceIndex, Part, PathError, Pattern};

use crate::clock::{LogClock, LogTime, Moment, TimeRange};
use crate::error::{LogError, LogErrorKind};
use crate::reader::Column;

/// Which counters and records of logs to read. The default is all of them.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Selection {
    /// Paths and patterns of the counters; an empty list means all.
    pub counters: Vec<CounterPath>,
    /// Records at or after this time.
    pub from: Option<LogTime>,
    /// Records at or before this time.
    pub to: Option<LogTime>,
}

impl Selection {
    /// The range by the clock of a log.
    pub fn range(&self, clock: &LogClock) -> TimeRange {
        TimeRange {
            from: self.from.map(|time| clock.moment(time, Moment::First)),
            to: self.to.map(|time| clock.moment(time, Moment::Last)),
        }
    }

    /// The range if it is the same for every log: no bound is by a log's own clock.
    pub(crate) fn fixed_range(&self) -> Option<TimeRange> {
        let is_fixed = |time: &Option<LogTime>| time.is_none_or(|time| matches!(time, LogTime::Utc(_)));
        (is_fixed(&self.from) && is_fixed(&self.to)).then(|| self.range(&LogClock::default()))
    }
}

/// Whether a path or pattern matches a counter. A path without a machine matches every machine.
/// As [`columns_of`] for one column, of which no other is known.
pub fn is_meant(wanted: &CounterPath, counter: &CounterPath) -> bool {
    let part = |wanted: &Part, found: &Part| match (wanted, found) {
        (Part::Index(one), Part::Index(other)) => one == other,
        (wanted, found) => Pattern::new(&wanted.to_string()).matches(&found.to_string()),
    };
    let machine = match (&wanted.machine, &counter.machine) {
        (None, _) => true,
        (Some(wanted), Some(found)) => Pattern::new(wanted).matches(found),
        (Some(_), None) => false,
    };
    let instance = match (&wanted.instance, &counter.instance) {
        (None, None) => true,
        (Some(wanted), Some(found)) => {
            let index = match found.index() {
                InstanceIndex::At(index) => index,
                _ => 0,
            };
            let pattern = wanted.pattern();
            pattern.matches(None, found.text()) && pattern.matches_index(index)
        }
        _ => false,
    };
    machine && instance && part(&wanted.object, &counter.object) && part(&wanted.counter, &counter.counter)
}

/// The columns that a path or pattern means, by their positions. A path without a machine means every
/// machine.
///
/// Case is ignored and `*` is a wildcard, unless there is an instance of exactly the name that is written.
/// Names of instances may look like other parts of a path; the object of the path decides then.
///
/// # Errors
///
/// The text is not a counter path.
pub fn columns_of(text: &str, columns: &[Column]) -> Result<Vec<usize>, PathError> {
    let selection = Selection { counters: vec![CounterPath::of_text(text)?], ..Selection::default() };
    let mut matcher = PathMatcher::new(&selection);
    matcher.learn(columns);
    Ok((0..columns.len()).filter(|at| columns.get(*at).is_some_and(|column| matcher.keep(column))).collect())
}

/// A requested path in all its readings.
#[derive(Debug)]
struct Wanted {
    /// As the grammar reads it, and the others.
    readings: Vec<CounterPath>,
    is_found: bool,
    /// A column has an instance of exactly this name.
    is_exact: bool,
}

/// How well a column matches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Fit {
    None,
    /// By a wildcard or in another case.
    Alike,
    Exact,
}

impl Wanted {
    fn fit(&self, counter: &[CounterPath]) -> Fit {
        let mut best = Fit::None;
        for (at, wanted) in self.readings.iter().enumerate() {
            for (behind, counter) in counter.iter().enumerate() {
                // Other readings than those of the grammar must agree about the object.
                let is_usual = at == 0 && behind == 0;
                let same =
                    |one: &Part, other: &Part| one.to_string().eq_ignore_ascii_case(&other.to_string());
                if (is_usual || same(&wanted.object, &counter.object)) && is_meant(wanted, counter) {
                    best = best.max(exactness(wanted, counter));
                }
            }
        }
        best
    }
}

/// A single `*` always means all instances.
fn exactness(wanted: &CounterPath, counter: &CounterPath) -> Fit {
    match (&wanted.instance, &counter.instance) {
        (Some(wanted), Some(found)) if wanted.text() == found.text() && wanted.text() != "*" => Fit::Exact,
        _ => Fit::Alike,
    }
}

/// The readings of the path of a column.
fn readings(parts: Option<&CounterPath>, text: &str) -> Vec<CounterPath> {
    let mut all: Vec<CounterPath> = parts.cloned().into_iter().collect();
    // A usual path has one reading.
    if parts.is_none() || text.matches('(').count() > 1 || text.matches(')').count() > 1 {
        for other in CounterPath::alternatives(text) {
            if !all.contains(&other) {
                all.push(other);
            }
        }
    }
    all
}

/// Matches columns against paths, and remembers which paths matched.
#[derive(Debug)]
pub(crate) struct PathMatcher {
    wanted: Vec<Wanted>,
}

impl PathMatcher {
    pub(crate) fn new(selection: &Selection) -> PathMatcher {
        let wanted = |path: &CounterPath| Wanted {
            readings: readings(Some(path), &path.to_string()),
            is_found: false,
            is_exact: false,
        };
        PathMatcher { wanted: selection.counters.iter().map(wanted).collect() }
    }

    /// Looks which paths name an instance of these columns exactly. It is then the only one that is meant.
    pub(crate) fn learn(&mut self, columns: &[Column]) {
        let mut open: Vec<&mut Wanted> = self.wanted.iter_mut().filter(|wanted| !wanted.is_exact).collect();
        if open.is_empty() {
            return;
        }
        for column in columns {
            let readings = readings(column.parts.as_ref(), &column.path);
            for wanted in &mut open {
                wanted.is_exact |= wanted.fit(&readings) == Fit::Exact;
            }
        }
    }

    /// Whether a column is selected.
    pub(crate) fn keep(&mut self, column: &Column) -> bool {
        if self.wanted.is_empty() {
            return true;
        }
        let readings = readings(column.parts.as_ref(), &column.path);
        let mut any = false;
        for wanted in &mut self.wanted {
            let needed = if wanted.is_exact { Fit::Exact } else { Fit::Alike };
            if wanted.fit(&readings) >= needed {
                (wanted.is_found, any) = (true, true);
            }
        }
        any
    }

    /// The paths that matched no column so far.
    pub(crate) fn not_found(&self) -> Vec<String> {
        let missed = self.wanted.iter().filter(|wanted| !wanted.is_found);
        missed.filter_map(|wanted| wanted.readings.first()).map(ToString::to_string).collect()
    }
}

/// The error if none of the requested counters is in the log.
pub(crate) fn nothing_found(paths: &[String]) -> LogError {
    LogError::new(LogErrorKind::Request(format!("no counter of the log is meant by {}", paths.join(", "))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_match_counters() {
        let path = |text: &str| text.parse::<CounterPath>().unwrap();
        let counter = path(r"\\SRV1\Process(svchost#1)\% Processor Time");
        for (wanted, meant) in [
            (r"\Process(svchost#1)\% Processor Time", true),
            (r"\\srv1\process(svchost#1)\% processor time", true),
            (r"\\srv2\process(svchost#1)\% processor time", false),
            (r"\Process(*)\*", true),
            (r"\Process(svc*)\% Processor Time", true),
            (r"\Process(svchost)\% Processor Time", false),
            (r"\Process(svchost#*)\% Processor Time", true),
            (r"\Process\% Processor Time", false),
            (r"\Thread(*)\*", false),
        ] {
            assert_eq!(is_meant(&path(wanted), &counter), meant, "{wanted}");
        }
    }

    #[test]
    fn the_instance_of_exactly_that_name_is_meant() {
        let names = ["a", "A", r"k)l\m", "w)(z", "", "st*r", "star", "n#3", "#2", "x/y"];
        let columns: Vec<Column> = names
            .iter()
            .map(|name| {
                let path = format!(r"\\box\Thing({name})\Size");
                Column {
                    parts: CounterPath::parse(&path).ok().map(|parsed| parsed.path),
                    path,
                    counter_type: tallymon_core::counter::CounterType::PERF_DOUBLE_RAW,
                    scale: 0,
                    time_base: tallymon_core::time::Frequency(0),
                    group: 0,
                    wild: true,
                    live: None,
                }
            })
            .collect();
        for (at, name) in names.iter().enumerate() {
            for path in [format!(r"\Thing({name})\Size"), format!(r"\\BOX\Thing({name})\*")] {
                assert_eq!(columns_of(&path, &columns).unwrap(), [at], "{path}");
            }
        }
        assert_eq!(columns_of(r"\thing(*)\size", &columns).unwrap().len(), names.len());
        assert_eq!(columns_of(r"\Thing(s*R)\Size", &columns).unwrap(), [5, 6]);
        assert_eq!(columns_of(r"\Thing(K)L\M)\Size", &columns).unwrap(), [2]);
        assert!(columns_of(r"\Thing(b)\Size", &columns).unwrap().is_empty());
        assert!(columns_of("Thing", &columns).is_err());
    }
}
