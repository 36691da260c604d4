//! The actions of a version, and what all versions together say.

use std::collections::{BTreeMap, HashSet};

use serde_json::{Value as Json, json};
use tallymon_core::time::FileTime;

use super::{MOST_PARTS, times};

/// The most logs that a table may name: 60 bytes of memory each.
const MOST_LOGS: usize = 1 << 24;

/// The columns of the table: name and type. The last two are those that partition it.
const COLUMNS: [(&str, &str); 15] = [
    ("time", "timestamp"),
    ("host", "string"),
    ("instance", "string"),
    ("counter", "string"),
    ("path", "string"),
    ("type", "string"),
    ("value", "double"),
    ("first", "long"),
    ("second", "long"),
    ("frequency", "long"),
    ("multi_count", "integer"),
    ("scale", "integer"),
    ("missing", "string"),
    ("day", "date"),
    ("object", "string"),
];

/// A file of values.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Part {
    /// Its path, as the table spells it.
    pub(super) path: String,
    /// Its length in bytes.
    pub(super) size: u64,
    /// Its partition.
    pub(super) day: Option<String>,
    pub(super) object: Option<String>,
    /// Statistics, if the table has some: values, and the least and the largest time.
    pub(super) rows: Option<u64>,
    pub(super) least: Option<FileTime>,
    pub(super) largest: Option<FileTime>,
}

/// What a table is after some of its versions.
#[derive(Debug, Default)]
pub(super) struct State {
    /// The number of the next version.
    pub(super) next: u64,
    /// Parts by their spelled paths.
    pub(super) parts: BTreeMap<String, Part>,
    /// Parts that were removed, and when: milliseconds since 1970.
    pub(super) removed: BTreeMap<String, u64>,
    /// The logs that were put in.
    pub(super) logs: HashSet<String>,
    /// Whether the columns are ours; `None` before the table has some.
    columns: Option<Result<(), String>>,
    /// What a reader or writer must be able to do and this one is not.
    unread: Option<String>,
    unwritten: Option<String>,
}

impl State {
    /// Adds one action.
    ///
    /// # Errors
    ///
    /// What is wrong with it.
    pub(super) fn add(&mut self, line: &str) -> Result<(), String> {
        let action: Json = serde_json::from_str(line).map_err(|error| format!("no JSON: {error}"))?;
        let fields = action.as_object().ok_or("an action is an object with one field")?;
        for (kind, action) in fields {
            match kind.as_str() {
                "add" => self.add_part(action)?,
                "remove" => {
                    let path = text(action, "path")?;
                    let at = action.get("deletionTimestamp").and_then(Json::as_u64).unwrap_or_default();
                    self.parts.remove(path);
                    if self.removed.len() < MOST_PARTS {
                        self.removed.insert(path.to_owned(), at);
                    }
                }
                "txn" if self.logs.len() < MOST_LOGS => {
                    self.logs.insert(text(action, "appId")?.to_owned());
                }
                "metaData" => self.columns = Some(check_columns(action)),
                "protocol" => self.protocol(action),
                // What else there is says nothing about values.
                _ => {}
            }
        }
        Ok(())
    }

    fn add_part(&mut self, action: &Json) -> Result<(), String> {
        let path = text(action, "path")?.to_owned();
        let partition = |name: &str| {
            let value = action.get("partitionValues").and_then(|values| values.get(name));
            value.and_then(Json::as_str).filter(|value| !value.is_empty()).map(str::to_owned)
        };
        if action.get("deletionVector").is_some_and(|vector| !vector.is_null()) {
            self.unread = Some("deletion vectors".to_owned());
        }
        let stats = action.get("stats").and_then(Json::as_str).unwrap_or_default();
        let stats: Json = serde_json::from_str(stats).unwrap_or_default();
        let bound = |which: &str| stats.get(which)?.get("time")?.as_str().and_then(times::parse);
        let part = Part {
            size: action.get("size").and_then(Json::as_u64).unwrap_or_default(),
            day: partition("day"),
            object: partition("object"),
            rows: stats.get("numRecords").and_then(Json::as_u64),
            least: bound("minValues"),
            // Writers may cut what is below a millisecond.
            largest: bound("maxValues").map(|time| FileTime(time.0.saturating_add(10_000))),
            path,
        };
        if self.parts.len() >= MOST_PARTS {
            return Err(format!("more than {MOST_PARTS} parts; compact the table"));
        }
        self.removed.remove(&part.path);
        self.parts.insert(part.path.clone(), part);
        Ok(())
    }

    fn protocol(&mut self, action: &Json) {
        let version = |name: &str| action.get(name).and_then(Json::as_u64).unwrap_or(u64::MAX);
        let features = |name: &str| {
            let names = action.get(name).and_then(Json::as_array);
            let names: Vec<&str> = names.into_iter().flatten().filter_map(Json::as_str).collect();
            names.join(", ")
        };
        let needed = |name: &str, most: u64, features_of: &str| {
            let version = version(name);
            (version > most).then(|| format!("{name} {version} ({})", features(features_of)))
        };
        self.unread = needed("minReaderVersion", 1, "readerFeatures");
        self.unwritten = needed("minWriterVersion", 2, "writerFeatures");
    }

    /// Whether its values can be read.
    ///
    /// # Errors
    ///
    /// Why not, in words.
    pub(super) fn check_readable(&self) -> Result<(), String> {
        if let Some(needed) = &self.unread {
            return Err(format!(
                "the table needs a reader of Delta Lake with {needed}; write it again without"
            ));
        }
        match &self.columns {
            None => Err("no version says the columns of the table (metaData)".to_owned()),
            Some(checked) => checked.clone(),
        }
    }

    /// Whether values can be added.
    ///
    /// # Errors
    ///
    /// Why not, in words.
    pub(super) fn check_writable(&self) -> Result<(), String> {
        if let Some(needed) = &self.unwritten {
            return Err(format!("the table needs a writer of Delta Lake with {needed}; begin another one"));
        }
        self.check_readable()
    }
}

fn text<'j>(action: &'j Json, name: &str) -> Result<&'j str, String> {
    action.get(name).and_then(Json::as_str).ok_or_else(|| format!("an action without {name:?}"))
}

/// Whether the table has our columns and partitions, and no rules for values.
fn check_columns(action: &Json) -> Result<(), String> {
    let foreign = |what: &str| format!("{what}; only tables that tally began are read and continued");
    let schema: Json = serde_json::from_str(text(action, "schemaString")?)
        .map_err(|error| foreign(&format!("the schema of the table is no JSON: {error}")))?;
    let fields = schema.get("fields").and_then(Json::as_array).cloned().unwrap_or_default();
    for (name, kind) in COLUMNS {
        let field = fields.iter().find(|field| field.get("name").and_then(Json::as_str) == Some(name));
        if field.and_then(|field| field.get("type")).and_then(Json::as_str) != Some(kind) {
            return Err(foreign(&format!("the table has no column {name:?} of the type {kind}")));
        }
        let rules = field.and_then(|field| field.get("metadata")).and_then(Json::as_object);
        if rules.is_some_and(|rules| rules.contains_key("delta.invariants")) {
            return Err(foreign(&format!("the column {name:?} has rules for its values")));
        }
    }
    let partitions = json!(["day", "object"]);
    if action.get("partitionColumns") != Some(&partitions) {
        return Err(foreign("the table is not partitioned by day and object"));
    }
    Ok(())
}

/// The actions of the first version. `id` tells tables apart.
pub(super) fn first(id: u128, milliseconds: u64) -> Vec<Json> {
    let hex = format!("{id:032x}");
    let part = |range: std::ops::Range<usize>| hex.get(range).unwrap_or_default().to_owned();
    let id = [part(0..8), part(8..12), part(12..16), part(16..20), part(20..32)].join("-");
    let fields: Vec<Json> = COLUMNS
        .iter()
        .map(|(name, kind)| json!({"name": name, "type": kind, "nullable": true, "metadata": {}}))
        .collect();
    let schema = json!({"type": "struct", "fields": fields}).to_string();
    vec![
        json!({"protocol": {"minReaderVersion": 1, "minWriterVersion": 2}}),
        json!({"metaData": {
            "id": id,
            "name": "counters",
            "description": "Performance counters, one row a value, with the raw numbers behind it (tallymon)",
            "format": {"provider": "parquet", "options": {}},
            "schemaString": schema,
            "partitionColumns": ["day", "object"],
            "createdTime": milliseconds,
            "configuration": {"delta.enableExpiredLogCleanup": "false"},
        }}),
    ]
}
