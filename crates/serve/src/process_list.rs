//! The processes of an overview as a request wants them: sorted, filtered, as a tree, at most so many; and
//! who runs each of them and what it is, where somebody wants to know.

use std::cmp::Ordering;
use std::collections::HashMap;

use hyper::StatusCode;
use serde_json::{Value, json};
use tallymon::core::time::FileTime;
use tallymon::core::title::TitleIndex;
use tallymon::core::visible::visible;
use tallymon::process::{ProcessAction, ProcessId, Processes};
use tallymon::{InstanceIdentity, Query, SourceInfo};
use tallymon_monitor::model::overview::{PROCESS_OBJECT, ProcessRow};
use tallymon_monitor::model::{details_of, tree};

use crate::chart::number;
use crate::http::Refused;
use crate::parameters::Parameters;

/// How many processes are sent when nobody says it, and at most.
const USUAL_ROWS: u64 = 40;
const MOST_ROWS: u64 = 2_000;
/// The texts of the object with the details, in their order in an answer.
const TEXTS: [(TitleIndex, &str); 3] =
    [(TitleIndex(910_402), "user"), (TitleIndex(910_404), "command"), (TitleIndex(910_406), "service")];
/// Samples for which the texts of a process that has ended are kept: the hour that a history has.
const KEPT_ROUNDS: u64 = 3_600;
/// More are not kept.
const MOST_KNOWN: usize = 50_000;

/// What processes are sorted by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Order {
    Name,
    Id,
    Processor,
    Memory,
    Bytes,
    Threads,
    /// One of [`TEXTS`].
    Text(usize),
}

/// Which processes a request wants, and in which order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Wanted {
    order: Order,
    back: bool,
    /// Words in small letters, all of which a process must have.
    words: Vec<String>,
    rows: usize,
    is_tree: bool,
    /// Who runs them, and what: the source is asked for it.
    pub(crate) texts: bool,
}

impl Default for Wanted {
    fn default() -> Wanted {
        let rows = usize::try_from(USUAL_ROWS).unwrap_or(usize::MAX);
        Wanted { order: Order::Processor, back: false, words: Vec::new(), rows, is_tree: false, texts: false }
    }
}

impl Wanted {
    /// Those of a request.
    pub(crate) fn of(parameters: &Parameters) -> Result<Wanted, Refused> {
        let order = match parameters.text("sort") {
            None | Some("processor") => Order::Processor,
            Some("name") => Order::Name,
            Some("id") => Order::Id,
            Some("memory") => Order::Memory,
            Some("bytes") => Order::Bytes,
            Some("threads") => Order::Threads,
            Some(text) => Order::Text(TEXTS.iter().position(|(_, known)| *known == text).ok_or_else(|| {
                Refused::bad_request(format!(
                    "sort={:?}: name, id, processor, memory, bytes, threads, user, command or service is expected",
                    visible(text)
                ))
            })?),
        };
        let rows = parameters.number("processes")?.unwrap_or(USUAL_ROWS).min(MOST_ROWS);
        let filter = parameters.text("filter").unwrap_or_default();
        Ok(Wanted {
            order,
            back: parameters.flag("back")?,
            words: filter.split_whitespace().map(str::to_lowercase).collect(),
            rows: usize::try_from(rows).unwrap_or(usize::MAX),
            is_tree: parameters.flag("tree")?,
            texts: parameters.flag("texts")?,
        })
    }

    /// The processes of a time as JSON.
    pub(crate) fn json(&self, rows: &[ProcessRow], left_out: usize, known: Option<&ProcessTexts>) -> Value {
        let mut rows: Vec<Line<'_>> = rows
            .iter()
            .filter(|row| !matches!(&*row.name, "_Total" | "Idle"))
            .map(|row| Line { row, texts: known.and_then(|known| known.of(row)) })
            .collect();
        let count = rows.len();
        // Where the kernel shows I/O of some, it hides that of the others. A rate needs two samples of a
        // process.
        let shows = rows.iter().any(|line| line.row.bytes.is_some());
        let is_hidden = |line: &&Line<'_>| shows && line.row.processor.is_some() && line.row.bytes.is_none();
        let hidden = rows.iter().filter(is_hidden).count();
        rows.retain(|line| line.has_all(&self.words));
        rows.sort_by(|left, right| self.compare(left, right));
        let order: Vec<(usize, usize)> = if self.is_tree {
            let ids = |line: &Line<'_>| (line.row.id.map(u64::from), line.row.parent.map(u64::from));
            tree(&rows.iter().map(ids).collect::<Vec<_>>())
        } else {
            (0..rows.len()).map(|position| (position, 0)).collect()
        };
        let shown = order.iter().take(self.rows);
        let shown: Vec<Value> =
            shown.filter_map(|(position, depth)| Some(rows.get(*position)?.json(*depth))).collect();
        json!({
            "count": count, "found": rows.len(), "hiddenIo": hidden, "leftOut": left_out, "largest": shown,
        })
    }

    /// The largest first, texts from their first letter on, ids from the smallest on; what has no value comes
    /// last.
    fn compare(&self, left: &Line<'_>, right: &Line<'_>) -> Ordering {
        let turned = |order: Ordering| if self.back { order.reverse() } else { order };
        let texts = |one: Option<&str>, other: Option<&str>| match (one, other) {
            (Some(one), Some(other)) => turned(one.to_lowercase().cmp(&other.to_lowercase())),
            (one, other) => other.is_some().cmp(&one.is_some()),
        };
        let numbers = |one: Option<f64>, other: Option<f64>| match (one, other) {
            (Some(one), Some(other)) => turned(other.total_cmp(&one)),
            (one, other) => other.is_some().cmp(&one.is_some()),
        };
        let (one, other) = (left.row, right.row);
        let order = match self.order {
            Order::Name => texts(Some(&one.name), Some(&other.name)),
            Order::Id => match (one.id, other.id) {
                (Some(one), Some(other)) => turned(one.cmp(&other)),
                (one, other) => other.is_some().cmp(&one.is_some()),
            },
            Order::Processor => numbers(one.processor.map(f64::from), other.processor.map(f64::from)),
            Order::Memory => numbers(one.memory, other.memory),
            Order::Bytes => numbers(one.bytes.map(f64::from), other.bytes.map(f64::from)),
            Order::Threads => numbers(one.threads.map(f64::from), other.threads.map(f64::from)),
            Order::Text(which) => texts(left.text(which), right.text(which)),
        };
        order.then_with(|| numbers(one.memory, other.memory)).then_with(|| one.id.cmp(&other.id))
    }
}

/// Ends, stops, continues or renices a process of this machine, which its start time distinguishes from a
/// later one with its id.
pub(crate) fn act(processes: Option<&dyn Processes>, parameters: &Parameters) -> Result<Value, Refused> {
    let none = || Refused::not_found("this server changes no processes: they are those of another machine");
    let processes = processes.ok_or_else(none)?;
    let bad = |name: &str, text: &str, expected: &str| {
        Refused::bad_request(format!("{name}={:?}: {expected} is expected", visible(text)))
    };
    let (id, start) = (parameters.needed("id")?, parameters.needed("start")?);
    let process = ProcessId {
        // 0 is the group of the server, for kill.
        id: id.parse().ok().filter(|id| *id != 0).ok_or_else(|| bad("id", id, "the number of a process"))?,
        start: start.parse().map(FileTime).map_err(|_| bad("start", start, "the start of a process"))?,
    };
    let action = match parameters.needed("do")? {
        "end" => ProcessAction::End,
        "kill" => ProcessAction::Kill,
        "stop" => ProcessAction::Stop,
        "continue" => ProcessAction::Continue,
        "nice" => {
            let nice = parameters.needed("nice")?;
            let within = nice.parse().ok().filter(|nice| (-20..=19).contains(nice));
            ProcessAction::Nice(within.ok_or_else(|| bad("nice", nice, "a number from -20 to 19"))?)
        }
        other => return Err(bad("do", other, "end, kill, stop, continue or nice")),
    };
    let failed = |words: String| Refused::new(StatusCode::CONFLICT, visible(&words));
    processes.may_act(process).map_err(failed)?;
    processes.act(process, action).map_err(failed)?;
    Ok(json!({}))
}

/// A process with what is known of it.
struct Line<'l> {
    row: &'l ProcessRow,
    texts: Option<&'l [String; TEXTS.len()]>,
}

impl Line<'_> {
    fn text(&self, which: usize) -> Option<&str> {
        self.texts?.get(which).map(String::as_str).filter(|text| !text.is_empty())
    }

    fn has_all(&self, words: &[String]) -> bool {
        let id = self.row.id.map(|id| id.to_string());
        let has = |word: &String| {
            let has = |text: &str| text.to_lowercase().contains(word.as_str());
            has(&self.row.name)
                || id.as_ref() == Some(word)
                || self.texts.into_iter().flatten().any(|text| has(text))
        };
        words.iter().all(has)
    }

    fn json(&self, depth: usize) -> Value {
        let row = self.row;
        let mut one = json!({
            "name": visible(&row.name), "instance": &*row.name, "id": row.id, "processor": row.processor,
            "memory": row.memory.map(number), "bytes": row.bytes, "threads": row.threads,
            "parent": row.parent, "depth": depth,
            // More digits than a number of JavaScript has.
            "start": (row.start != 0).then(|| row.start.to_string()),
        });
        for (which, (_, name)) in TEXTS.iter().enumerate() {
            one[*name] = json!(self.text(which).map(visible));
        }
        one
    }
}

/// What distinguishes a process: its id and its start, else its name.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Who {
    Ids(u32, u64),
    Name(String),
}

/// Who runs each process and what it is, as the object with the details of processes says it.
pub(crate) struct ProcessTexts {
    pub(crate) query: Query,
    has_any: bool,
    known: HashMap<Who, (u64, [String; TEXTS.len()])>,
    round: u64,
}

impl ProcessTexts {
    /// A query for them; one of nothing where the source does not have the object.
    pub(crate) fn new(info: SourceInfo) -> ProcessTexts {
        ProcessTexts::over(Query::over(info))
    }

    /// The same over a query without paths.
    pub(crate) fn over(mut query: Query) -> ProcessTexts {
        let mut has_any = false;
        if let Some(details) = details_of(PROCESS_OBJECT) {
            for (text, _) in TEXTS {
                // A source may have none of it, or the object without one of its texts.
                has_any |= query.add(&format!("\\{}(*)\\{}", details.0, text.0)).is_ok();
            }
        }
        ProcessTexts { query, has_any, known: HashMap::new(), round: 0 }
    }

    /// Whether the source has any of it.
    pub(crate) const fn has_any(&self) -> bool {
        self.has_any
    }

    /// Uses names and objects that were read anew; what is known stays.
    pub(crate) fn renew(&mut self, info: SourceInfo) {
        ProcessTexts { query: self.query, has_any: self.has_any, .. } = ProcessTexts::new(info);
    }

    /// Takes what the query has collected.
    pub(crate) fn take(&mut self) {
        self.round = self.round.saturating_add(1);
        let (known, round) = (&mut self.known, self.round);
        self.query.for_each(|value| {
            let Some(which) = TEXTS.iter().position(|(text, _)| *text == value.definition.name) else {
                return;
            };
            let (Some(key), Ok(tallymon::core::flow::Value::Text(text))) =
                (value.instance, &value.cell.value)
            else {
                return;
            };
            let who = match value.identity {
                Some(InstanceIdentity::Ids([id, _, start])) if start != 0 => {
                    u32::try_from(id).map_or_else(|_| Who::Name(key.to_string()), |id| Who::Ids(id, start))
                }
                _ => Who::Name(key.to_string()),
            };
            let (last, texts) = known.entry(who).or_default();
            *last = round;
            if let Some(place) = texts.get_mut(which)
                && place != text
            {
                place.clone_from(text);
            }
        });
        if known.len() > MOST_KNOWN {
            known.retain(|_, (last, _)| *last == round);
        } else if round % 60 == 0 {
            known.retain(|_, (last, _)| round.saturating_sub(*last) < KEPT_ROUNDS);
        }
    }

    /// Forgets what is known: nobody looks any longer.
    pub(crate) fn clear(&mut self) {
        self.known = HashMap::new();
    }

    fn of(&self, row: &ProcessRow) -> Option<&[String; TEXTS.len()]> {
        let who = match row.identity() {
            Some((id, start)) if start != 0 => Who::Ids(id, start),
            _ => Who::Name(row.name.to_string()),
        };
        self.known.get(&who).map(|(_, texts)| texts)
    }
}

#[cfg(test)]
#[path = "process_list_tests.rs"]
mod tests;
