//! Writes parts.

use std::fs::File;
use std::io::{self, BufWriter};

use parquet::data_type::ByteArray;
use serde_json::{Map, Value as Json, json};
use tallymon_core::time::FileTime;

use super::action::Part;
use super::random::random;
use super::store::{NewPart, Store};
use super::{path, times};
use crate::parquet::{GroupBuffer, Names, Packer, Shape, TableWriter, into_io};

/// Texts up to this length are statistics; longer ones would have to be cut.
const LONGEST_BOUND: usize = 32;

/// A part that is being written. Dropping it removes it.
pub(super) struct PartWriter {
    file: Box<dyn NewPart>,
    table: TableWriter<BufWriter<File>>,
    /// Its path below the table.
    below: String,
    day: String,
    object: Option<String>,
    rows: u64,
    least: i64,
    largest: i64,
    /// Bounds of texts, and the number of NULLs.
    texts: [Bounds; 3],
}

/// The least and the largest text of a column, and how many values are NULL.
#[derive(Default)]
struct Bounds {
    least: Option<ByteArray>,
    largest: Option<ByteArray>,
    nulls: u64,
}

/// A complete part, and when it was complete: milliseconds since 1970.
pub(super) struct Added {
    pub(super) part: Part,
    stats: String,
    pub(super) milliseconds: u64,
}

impl PartWriter {
    /// Begins a part of a partition.
    ///
    /// # Errors
    ///
    /// Those of the place where the table is.
    pub(super) fn new(store: &dyn Store, day: &str, object: Option<&str>) -> io::Result<PartWriter> {
        let folder = path::folder(day, object);
        let name = format!("part-{:032x}.parquet", random());
        let file = store.create(&folder, &name)?;
        let out = BufWriter::with_capacity(1 << 16, file.file()?);
        Ok(PartWriter {
            table: TableWriter::new(out, Shape::Part).map_err(into_io)?,
            file,
            below: format!("{folder}/{name}"),
            day: day.to_owned(),
            object: object.map(str::to_owned),
            rows: 0,
            least: i64::MAX,
            largest: i64::MIN,
            texts: Default::default(),
        })
    }

    /// How many values it has.
    pub(super) const fn rows(&self) -> u64 {
        self.rows
    }

    /// Writes values as a row group, whose columns are in their [`order`].
    ///
    /// # Errors
    ///
    /// Those of the file.
    pub(super) fn write(
        &mut self,
        packer: &mut Packer,
        names: &[&Names],
        values: &GroupBuffer,
    ) -> io::Result<()> {
        self.note(names, values);
        self.table.group(packer, names, values).map_err(into_io)
    }

    /// Takes values into the statistics.
    fn note(&mut self, names: &[&Names], values: &GroupBuffer) {
        self.rows = self.rows.saturating_add(values.rows() as u64);
        for (names, (count, times)) in names.iter().zip(values.by_column()) {
            let Some((first, last)) = times else { continue };
            (self.least, self.largest) = (self.least.min(first), self.largest.max(last));
            let texts = [names.host.as_ref(), Some(&names.counter), names.instance.as_ref()];
            for (bounds, text) in self.texts.iter_mut().zip(texts) {
                match text {
                    None => bounds.nulls = bounds.nulls.saturating_add(count),
                    Some(text) => bounds.note(text),
                }
            }
        }
    }

    /// Completes the part.
    ///
    /// # Errors
    ///
    /// Those of the file, which is removed then.
    pub(super) fn close(self) -> io::Result<Added> {
        let time = |microseconds: i64| {
            let nanoseconds = i128::from(microseconds).saturating_mul(1000);
            FileTime::from_unix_nanoseconds(nanoseconds).unwrap_or_default()
        };
        let (least, largest) = (time(self.least), time(self.largest));
        let mut least_of = Map::new();
        let mut largest_of = Map::new();
        let mut nulls = Map::new();
        least_of.insert("time".to_owned(), times::bound(least, false).into());
        largest_of.insert("time".to_owned(), times::bound(largest, true).into());
        nulls.insert("time".to_owned(), 0.into());
        for (name, bounds) in ["host", "counter", "instance"].into_iter().zip(&self.texts) {
            nulls.insert(name.to_owned(), bounds.nulls.into());
            if let Some((one, other)) = text(bounds.least.as_ref()).zip(text(bounds.largest.as_ref())) {
                least_of.insert(name.to_owned(), one);
                largest_of.insert(name.to_owned(), other);
            }
        }
        let stats = json!({
            "numRecords": self.rows,
            "minValues": least_of,
            "maxValues": largest_of,
            "nullCount": nulls,
        });
        self.table.close().map_err(into_io)?;
        let (size, modified) = self.file.keep()?;
        let part = Part {
            path: path::spelled(&self.below),
            size,
            day: Some(self.day),
            object: self.object,
            rows: Some(self.rows),
            least: Some(least),
            largest: Some(largest),
        };
        let milliseconds = times::unix_milliseconds(modified);
        Ok(Added { part, stats: stats.to_string(), milliseconds })
    }
}

/// A bound, if it need not be cut.
fn text(bound: Option<&ByteArray>) -> Option<Json> {
    let text = std::str::from_utf8(bound?.data()).ok()?;
    (text.chars().count() <= LONGEST_BOUND).then(|| text.into())
}

impl Bounds {
    fn note(&mut self, text: &ByteArray) {
        if self.least.as_ref().is_none_or(|least| text.data() < least.data()) {
            self.least = Some(text.clone());
        }
        if self.largest.as_ref().is_none_or(|largest| text.data() > largest.data()) {
            self.largest = Some(text.clone());
        }
    }
}

impl Added {
    /// The action that adds the part. `is_new` says whether its values are new to the table.
    pub(super) fn action(&self, is_new: bool) -> Json {
        let Part { path, size, day, object, .. } = &self.part;
        json!({"add": {
            "path": path,
            "partitionValues": {"day": day, "object": object},
            "size": size,
            "modificationTime": self.milliseconds,
            "dataChange": is_new,
            "stats": self.stats,
        }})
    }

    /// Removes the file of a part that no version names.
    pub(super) fn discard(&self, store: &dyn Store) {
        if let Ok(below) = path::meant(&self.part.path) {
            // One that stays is removed by the next vacuum.
            let _ = store.remove(&below);
        }
    }
}

/// The columns by counter, instance and host: the order of their values in a row group.
pub(super) fn order(columns: &[Names]) -> Vec<usize> {
    let key = |at: &usize| {
        let bytes = |text: &Option<ByteArray>| text.as_ref().map(|text| text.data().to_vec());
        columns
            .get(*at)
            .map(|names| (names.counter.data().to_vec(), bytes(&names.instance), bytes(&names.host)))
    };
    let mut order: Vec<usize> = (0..columns.len()).collect();
    order.sort_by_cached_key(key);
    order
}
