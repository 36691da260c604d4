//! `tally dashboard`: dashboards for Grafana and Perses, with the query that shows what each counter shows.

mod kept;

use std::io::Write;

use clap::{Args, ValueEnum};
use serde_json::{Value as Json, json};
use tallymon::Query;
use tallymon::core::counter::{CounterType, Formula};
use tallymon::core::flow::{Column, LiveColumn};
use tallymon::core::path::{CounterPath, InstancePath, Part};
use tallymon::core::title::TitleIndex;
use tallymon_export::profile::Profile;
use tallymon_export::promql::query as promql;
use tallymon_export::series::families;

use crate::arguments::Common;
use crate::border;
use crate::exit::Failure;
use crate::paths;
use kept::{Kept, KeptObject};

/// The objects of a dashboard that names none: what people look at first.
const OVERVIEW: [&str; 6] =
    ["System", "Processor", "Memory", "PhysicalDisk", "LogicalDisk", "Network Interface"];
/// The range of rates, which both programs replace by one that fits the scrapes.
const RANGE: &str = "$__rate_interval";
/// The columns of a grid.
const GRID: usize = 24;
/// Width and height of a panel in the grid.
const PANEL: (usize, usize) = (8, 7);

#[derive(Debug, Args)]
pub(crate) struct Dashboard {
    /// The program that shows it.
    #[arg(value_enum, value_name = "PROGRAM")]
    program: Program,
    /// Objects to show, by name in any language or by index. Without one: system, processors, memory, disks
    /// and network.
    #[arg(value_name = "OBJECT")]
    objects: Vec<String>,
    /// Print a kept dashboard: a choice of counters for a purpose.
    #[arg(long, value_enum, value_name = "NAME", conflicts_with = "objects")]
    kept: Option<Kept>,
    /// The title of the dashboard.
    #[arg(long, value_name = "TEXT")]
    title: Option<String>,
}

/// A program that shows dashboards.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Program {
    /// JSON for Grafana's "Import dashboard".
    Grafana,
    /// JSON for 'percli apply', or Perses' "Import dashboard".
    Perses,
}

/// A counter of an object.
struct Panel {
    title: String,
    description: String,
    query: String,
    legend: &'static str,
    unit: Unit,
}

/// What the number of a panel is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Unit {
    Number,
    Percent,
    Seconds,
    Bytes,
    PerSecond,
    BytesPerSecond,
}

impl Unit {
    fn of(counter_type: CounterType, unit: &str) -> Unit {
        let bytes = |of_bytes, other| if unit == "bytes" { of_bytes } else { other };
        match Formula::of(counter_type) {
            Some(Formula::Delta | Formula::Rate) => bytes(Unit::BytesPerSecond, Unit::PerSecond),
            Some(Formula::AverageTime | Formula::Elapsed) => Unit::Seconds,
            Some(Formula::Raw | Formula::Double | Formula::AverageBulk) => bytes(Unit::Bytes, Unit::Number),
            Some(
                Formula::Share
                | Formula::InverseShare
                | Formula::MultiShare
                | Formula::InverseMultiShare
                | Formula::Fraction
                | Formula::BaseShare,
            ) => Unit::Percent,
            _ => Unit::Number,
        }
    }

    const fn name(self, program: Program) -> &'static str {
        match (program, self) {
            (Program::Grafana, Unit::Number) => "short",
            (Program::Perses, Unit::Number) => "decimal",
            (_, Unit::Percent) => "percent",
            (Program::Grafana, Unit::Seconds) => "s",
            (Program::Perses, Unit::Seconds) => "seconds",
            (_, Unit::Bytes) => "bytes",
            (Program::Grafana, Unit::PerSecond) => "cps",
            (Program::Perses, Unit::PerSecond) => "counts/sec",
            (Program::Grafana, Unit::BytesPerSecond) => "Bps",
            (Program::Perses, Unit::BytesPerSecond) => "bytes/sec",
        }
    }
}

pub(crate) fn run(common: &Common, wanted: &Dashboard) -> Result<(), Failure> {
    let mut query = paths::query(common)?;
    let mut rows = Vec::new();
    if let Some(kept) = wanted.kept {
        for object in kept.objects() {
            rows.push(kept_row(&mut query, object)?);
        }
    } else if wanted.objects.is_empty() {
        for name in OVERVIEW {
            // Another system may lack one of them.
            if let Ok(object) = query.object(name, &Part::Name(name.to_owned())) {
                rows.push(row(&query, object));
            }
        }
    }
    for name in &wanted.objects {
        let object = query.object(name, &Part::parse(name))?;
        rows.push(row(&query, object));
    }
    let usual = wanted.kept.map_or("Tallymon", Kept::title);
    let title = wanted.title.as_deref().unwrap_or(usual);
    let made = match wanted.program {
        Program::Grafana => grafana(title, &rows),
        Program::Perses => perses(title, &rows),
    };
    let mut out = border::stdout();
    writeln!(out, "{made:#}")?;
    Ok(out.flush()?)
}

/// A counter that gets a panel.
struct Shown {
    column: Column,
    title: String,
    description: String,
}

/// The name of an object, and a panel for each of its counters that has a number.
fn row(query: &Query, object: TitleIndex) -> (String, Vec<Panel>) {
    let names = query.names();
    let Some(known) = query.catalog().object(object) else { return (names.name(object), Vec::new()) };
    let object_name = names.english(object);
    let shown = known.counters.iter().map(|counter| {
        let name = names.english(counter.name);
        let mut column = column(&object_name, known.has_instances, &name, counter.counter_type);
        let (instance, process, local_path) = (None, None, String::new());
        column.live = Some(LiveColumn { object, counter: counter.name, instance, process, local_path });
        let description = names.help(counter.help).unwrap_or_default().to_owned();
        Shown { column, title: names.name(counter.name), description }
    });
    (names.name(object), panels(&shown.collect::<Vec<_>>(), known.has_instances))
}

/// A row of a kept dashboard.
fn kept_row(query: &mut Query, object: &KeptObject) -> Result<(String, Vec<Panel>), Failure> {
    match object {
        KeptObject::Own(name, counters) => {
            let object = query.object(name, &Part::Name((*name).to_owned()))?;
            let (title, panels) = row(query, object);
            let names = query.names();
            // In the order of the dashboard; a panel has the counter's name in the user's language.
            let local = |counter: &str| {
                let known = query.catalog().object(object)?.counters.iter();
                let found = known.map(|known| known.name).find(|known| names.english(*known) == counter);
                found.map(|found| names.name(found))
            };
            let places: Vec<Option<String>> = counters.iter().map(|counter| local(counter)).collect();
            let place = |panel: &Panel| places.iter().position(|name| name.as_ref() == Some(&panel.title));
            let mut chosen: Vec<(usize, Panel)> =
                panels.into_iter().filter_map(|panel| Some((place(&panel)?, panel))).collect();
            chosen.sort_by_key(|(place, _)| *place);
            Ok((title, chosen.into_iter().map(|(_, panel)| panel).collect()))
        }
        KeptObject::Other(name, has_instances, counters) => {
            let shown = counters.iter().map(|(counter, counter_type, meaning)| Shown {
                column: column(name, *has_instances, counter, *counter_type),
                title: (*counter).to_owned(),
                description: (*meaning).to_owned(),
            });
            Ok(((*name).to_owned(), panels(&shown.collect::<Vec<_>>(), *has_instances)))
        }
    }
}

/// The column of a counter of any instance.
fn column(object: &str, has_instances: bool, counter: &str, counter_type: CounterType) -> Column {
    Column {
        path: String::new(),
        parts: Some(CounterPath {
            machine: None,
            object: Part::Name(object.to_owned()),
            instance: has_instances.then(|| InstancePath::new(None, "x", 0)),
            counter: Part::Name(counter.to_owned()),
        }),
        counter_type,
        scale: 0,
        time_base: tallymon::core::time::Frequency(0),
        group: 0,
        wild: has_instances,
        live: None,
    }
}

/// The panels of the counters of an object that have a number.
fn panels(shown: &[Shown], has_instances: bool) -> Vec<Panel> {
    let columns: Vec<Column> = shown.iter().map(|shown| shown.column.clone()).collect();
    // The same names as in a scrape; a counter in larger units beside one in bytes has none.
    let made = families(&columns, "", Profile::Nt);
    let panels = shown.iter().enumerate().filter_map(|(position, shown)| {
        let mut own = made
            .iter()
            .filter(|family| family.series.first().is_some_and(|series| series.column() == position));
        let first = own.next()?;
        let base = first.name.strip_suffix(first.suffix)?;
        let selector = if has_instances { "job=~\"$job\",name=~\"$name\"" } else { "job=~\"$job\"" };
        let counter_type = shown.column.counter_type;
        Some(Panel {
            title: shown.title.clone(),
            description: shown.description.clone(),
            query: promql(counter_type, base, selector, RANGE)?,
            legend: if has_instances { "{{instance}} {{name}}" } else { "{{instance}}" },
            unit: Unit::of(counter_type, first.unit),
        })
    });
    panels.collect()
}

/// Where the panels of a row stand, and where the next row begins.
fn places(first: usize, count: usize) -> (Vec<(usize, usize)>, usize) {
    let (width, height) = PANEL;
    let across = GRID / width;
    let places = (0..count).map(|panel| (panel % across * width, first + panel / across * height));
    (places.collect(), first + count.div_ceil(across) * height)
}

fn grafana(title: &str, rows: &[(String, Vec<Panel>)]) -> Json {
    let source = json!({ "type": "prometheus", "uid": "${datasource}" });
    let (mut panels, mut y, mut id) = (Vec::new(), 0, 0u32);
    for (object, row) in rows {
        id += 1;
        panels.push(json!({
            "id": id, "type": "row", "title": object, "collapsed": false, "panels": [],
            "gridPos": { "h": 1, "w": GRID, "x": 0, "y": y },
        }));
        let (places, next) = places(y + 1, row.len());
        for (panel, (x, y)) in row.iter().zip(places) {
            id += 1;
            let target = json!({ "refId": "A", "datasource": source, "expr": panel.query,
                                 "legendFormat": panel.legend });
            panels.push(json!({
                "id": id, "type": "timeseries", "title": panel.title, "description": panel.description,
                "datasource": source,
                "gridPos": { "h": PANEL.1, "w": PANEL.0, "x": x, "y": y },
                "fieldConfig": { "defaults": { "unit": panel.unit.name(Program::Grafana) }, "overrides": [] },
                "targets": [target],
            }));
        }
        y = next;
    }
    let variable = |name: &str, label: &str, query: &str| {
        json!({
            "name": name, "label": label, "type": "query", "datasource": source, "query": query,
            "multi": true, "includeAll": true, "allValue": ".*", "refresh": 2, "sort": 1,
            "current": { "selected": true, "text": ["All"], "value": ["$__all"] },
        })
    };
    json!({
        "title": title, "tags": ["tallymon"], "schemaVersion": 39, "editable": true, "refresh": "30s",
        "time": { "from": "now-1h", "to": "now" },
        "templating": { "list": [
            { "name": "datasource", "label": "Data source", "type": "datasource", "query": "prometheus" },
            variable("job", "Job", "label_values({__name__=~\"nt_.+\"}, job)"),
            variable("name", "Instance", "label_values({__name__=~\"nt_.+\", job=~\"$job\"}, name)"),
        ] },
        "panels": panels,
    })
}

fn perses(title: &str, rows: &[(String, Vec<Panel>)]) -> Json {
    let (mut panels, mut layouts, mut id) = (serde_json::Map::new(), Vec::new(), 0u32);
    for (object, row) in rows {
        let (places, _) = places(0, row.len());
        let mut items = Vec::new();
        for (panel, (x, y)) in row.iter().zip(places) {
            id += 1;
            let name = format!("panel{id}");
            let query = json!({ "kind": "TimeSeriesQuery", "spec": { "plugin": {
                "kind": "PrometheusTimeSeriesQuery",
                "spec": { "query": panel.query, "seriesNameFormat": panel.legend },
            } } });
            let format = json!({ "unit": panel.unit.name(Program::Perses) });
            items.push(json!({ "x": x, "y": y, "width": PANEL.0, "height": PANEL.1,
                               "content": { "$ref": format!("#/spec/panels/{name}") } }));
            panels.insert(
                name,
                json!({ "kind": "Panel", "spec": {
                "display": { "name": panel.title, "description": panel.description },
                "plugin": { "kind": "TimeSeriesChart", "spec": { "yAxis": { "format": format } } },
                "queries": [query],
            } }),
            );
        }
        layouts.push(json!({ "kind": "Grid", "spec": { "display": { "title": object }, "items": items } }));
    }
    let variable = |name: &str, label: &str, matchers: &[&str]| {
        json!({ "kind": "ListVariable", "spec": {
            "name": name, "display": { "name": label }, "allowMultiple": true, "allowAllValue": true,
            "customAllValue": ".*", "defaultValue": "$__all",
            "plugin": { "kind": "PrometheusLabelValuesVariable",
                        "spec": { "labelName": name, "matchers": matchers } },
        } })
    };
    let plain = |letter: char| if letter.is_ascii_alphanumeric() { letter.to_ascii_lowercase() } else { '-' };
    let name: String = title.chars().map(plain).collect();
    json!({
        "kind": "Dashboard",
        "metadata": { "name": name, "project": "default" },
        "spec": {
            "display": { "name": title },
            "duration": "1h",
            "refreshInterval": "30s",
            "variables": [
                variable("job", "Job", &["{__name__=~\"nt_.+\"}"]),
                variable("name", "Instance", &["{__name__=~\"nt_.+\", job=~\"$job\"}"]),
            ],
            "panels": panels,
            "layouts": layouts,
        },
    })
}
