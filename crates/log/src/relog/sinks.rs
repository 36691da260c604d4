//! The outputs of a copy: each takes rows of chosen cells, and makes its format of them.

use std::io::{self, Seek, Write};
#[cfg(feature = "sqlite")]
use std::path::Path;
use std::sync::Arc;

use tallymon_core::flow::{NoValue, Sample, Value};
use tallymon_core::path::CounterPath;
use tallymon_core::time::FileTime;

use super::{Chosen, Options, Plan};
use crate::blg::{BlgWriter, Data, Entry, FileHeader, RawCounter, WriteOptions, flags};
use crate::csv::{CsvOptions, CsvWriter};
use crate::error::LogError;
use crate::format::Format;
use crate::native::{self, NativeWriter, Output, RowTime, RowWriter};
use crate::reader::{Column, Cooker};
use crate::zone::{Zone, ZoneRules, add_minutes};

/// Takes the chosen cells of records.
pub(super) trait RecordSink {
    /// The next record is of another input.
    fn restart(&mut self);
    /// Takes one record: its time in UTC, how far local time is from that, and its cells.
    fn record(&mut self, time: FileTime, minutes: i32, row: &[Result<Sample, NoValue>]) -> io::Result<()>;
    /// Ends the output.
    fn finish(self: Box<Self>) -> io::Result<()>;
}

impl Plan {
    pub(super) fn text_sink<W: Write>(&self, out: W, options: &Options) -> Result<TextSink<W>, LogError> {
        let (zone_name, bias) = self.zone.label(self.minutes);
        let tabs = options.format == Format::Tsv;
        let options = CsvOptions { tabs, line_end: options.line_end, zone_name, bias };
        let mut writer = CsvWriter::new(out, options);
        writer.header(self.chosen.iter().map(|chosen| &chosen.column.path))?;
        Ok(TextSink { writer, cooked: Cooked::default() })
    }

    pub(super) fn native_sink<W: Output>(&self, out: W) -> Result<NativeSink<W>, LogError> {
        let options = native::WriteOptions {
            zone: self.zone.clone(),
            keep_instances: true,
            ..native::WriteOptions::sealed()
        };
        let columns = self.chosen.iter().map(|chosen| &chosen.column);
        Ok(NativeSink { writer: RowWriter::new(NativeWriter::new(out, options)?, columns)? })
    }

    #[cfg(feature = "sqlite")]
    pub(super) fn database_sink(
        &self,
        part: &Path,
        output: &Path,
    ) -> Result<TableSink<crate::sqlite::SqliteWriter>, LogError> {
        // A rest of an earlier try that was killed is in the way of the library.
        match std::fs::remove_file(part) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error.into()),
            _ => {}
        }
        let first = self.report.inputs.first().and_then(|input| input.first).unwrap_or_default();
        let id = u128::from_le_bytes(id_of(&self.chosen, first));
        let name = output.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let columns = self.chosen.iter().map(|chosen| &chosen.column);
        let zone = self.zone.label(self.minutes);
        let writer = crate::sqlite::SqliteWriter::create(part, guid(id), name, zone, columns)?;
        Ok(TableSink { writer, cooked: Cooked::default() })
    }

    #[cfg(feature = "parquet")]
    pub(super) fn parquet_sink<W: Write + Send>(
        &self,
        out: W,
    ) -> Result<TableSink<crate::parquet::ParquetWriter<W>>, LogError> {
        let columns = self.chosen.iter().map(|chosen| &chosen.column);
        let writer = crate::parquet::ParquetWriter::new(out, columns)?;
        Ok(TableSink { writer, cooked: Cooked::default() })
    }

    pub(super) fn binary_sink<W: Write + Seek>(
        &mut self,
        out: W,
        options: &Options,
    ) -> Result<BinarySink<W>, LogError> {
        let mut entries: Vec<Entry> = Vec::new();
        let mut places: Vec<Place> = Vec::new();
        let mut group = None;
        for (position, chosen) in self.chosen.iter().enumerate() {
            let Column { parts: Some(parts), counter_type, scale, time_base, .. } = &chosen.column else {
                let words = format!("{:?} is no counter path and can not be in a BLG", chosen.column.path);
                self.report.remarks.push(words);
                continue;
            };
            let wild = chosen.column.wild && parts.instance.is_some();
            // Instances of one wildcard stand together in the table, and become one entry again.
            let this =
                (parts.machine.clone(), parts.object.clone(), parts.counter.clone(), *counter_type, *scale);
            if wild
                && group.as_ref() == Some(&this)
                && let Some(Place::Multi(members)) = places.last_mut()
            {
                members.push((position, instance_text(parts).into()));
                continue;
            }
            let instance =
                if wild { Some("*".to_owned()) } else { parts.instance.as_ref().map(ToString::to_string) };
            entries.push(Entry {
                flags: if wild { flags::EXPORTED | flags::WILDCARD } else { flags::EXPORTED },
                user: 0,
                counter_type: *counter_type,
                time_base: time_base.0,
                scale: *scale,
                machine: parts.machine.as_ref().map(|machine| format!("\\\\{machine}")),
                object: Some(parts.object.to_string()),
                instance,
                parent: None,
                instance_index: 0,
                counter: Some(parts.counter.to_string()),
            });
            if wild {
                places.push(Place::Multi(vec![(position, instance_text(parts).into())]));
                group = Some(this);
            } else {
                places.push(Place::Single(position));
                group = None;
            }
        }
        let zone = match &self.zone {
            Zone::Rules(rules) => (**rules).clone(),
            zone => {
                let (name, bias) = zone.label(self.minutes);
                ZoneRules { bias, standard_name: name, ..ZoneRules::default() }
            }
        };
        let first = self.report.inputs.first();
        let start = first.and_then(|input| input.first).unwrap_or_default();
        let file_name = match first.map(|input| &input.path) {
            Some(path) if !options.strip_path => {
                path.file_name().unwrap_or_default().to_string_lossy().into_owned()
            }
            _ => String::new(),
        };
        let frequency = self.chosen.iter().map(|chosen| chosen.column.time_base).max().unwrap_or_default();
        let base = WriteOptions::default();
        let header = FileHeader { start, zone, file_name, perf_frequency: frequency, ..base.header };
        let id = id_of(&self.chosen, start);
        let writer = BlgWriter::new(out, WriteOptions { id, header, ..base }, entries)?;
        Ok(BinarySink { writer, places, values: Vec::new() })
    }
}

fn instance_text(parts: &CounterPath) -> String {
    parts.instance.as_ref().map(ToString::to_string).unwrap_or_default()
}

/// An identifier for a log that is the same whenever the same is written: a hash (FNV-1a) of columns and first time.
fn id_of(chosen: &[Chosen], start: FileTime) -> [u8; 16] {
    let mut hash = 0x6c62_272e_07bb_0142_62b8_2175_6295_c58d_u128;
    let paths = chosen.iter().flat_map(|chosen| chosen.column.path.bytes());
    for byte in paths.chain(start.0.to_le_bytes()) {
        hash = (hash ^ u128::from(byte)).wrapping_mul(0x0000_0000_0100_0000_0000_0000_0000_013b);
    }
    hash.to_le_bytes()
}

/// An identifier in the usual spelling.
#[cfg(feature = "sqlite")]
fn guid(id: u128) -> String {
    let hex = format!("{id:032X}");
    let part = |range: std::ops::Range<usize>| hex.get(range).unwrap_or_default();
    format!("{{{}-{}-{}-{}-{}}}", part(0..8), part(8..12), part(12..16), part(16..20), part(20..32))
}

/// Computes the values of rows from one to the next.
#[derive(Default)]
struct Cooked {
    cooker: Cooker,
    values: Vec<Result<Value, NoValue>>,
}

impl Cooked {
    fn values(&mut self, row: &[Result<Sample, NoValue>]) -> &[Result<Value, NoValue>] {
        self.cooker.cook_cells(row, &mut self.values);
        &self.values
    }
}

pub(super) struct TextSink<W> {
    writer: CsvWriter<W>,
    cooked: Cooked,
}

impl<W: Write> RecordSink for TextSink<W> {
    fn restart(&mut self) {
        self.cooked.cooker.restart();
    }

    fn record(&mut self, time: FileTime, minutes: i32, row: &[Result<Sample, NoValue>]) -> io::Result<()> {
        self.writer.record(add_minutes(time, minutes), self.cooked.values(row))
    }

    fn finish(self: Box<Self>) -> io::Result<()> {
        self.writer.into_inner().map(drop)
    }
}

/// Writes the raw and the computed values of records into a table of some kind.
#[cfg(any(feature = "sqlite", feature = "parquet"))]
pub(crate) trait TableWriter {
    /// Takes one record: its cells, and their values.
    fn record(
        &mut self,
        time: FileTime,
        cells: &[Result<Sample, NoValue>],
        values: &[Result<Value, NoValue>],
    ) -> io::Result<()>;
    /// Ends the table.
    fn finish(self) -> io::Result<()>;
}

#[cfg(any(feature = "sqlite", feature = "parquet"))]
pub(super) struct TableSink<T> {
    writer: T,
    cooked: Cooked,
}

#[cfg(any(feature = "sqlite", feature = "parquet"))]
impl<T: TableWriter> RecordSink for TableSink<T> {
    fn restart(&mut self) {
        self.cooked.cooker.restart();
    }

    fn record(&mut self, time: FileTime, _minutes: i32, row: &[Result<Sample, NoValue>]) -> io::Result<()> {
        self.writer.record(time, row, self.cooked.values(row))
    }

    fn finish(self: Box<Self>) -> io::Result<()> {
        self.writer.finish()
    }
}

/// Where the value of an entry of the counter list comes from.
enum Place {
    Single(usize),
    /// Columns with the names of their instances.
    Multi(Vec<(usize, Arc<str>)>),
}

pub(super) struct BinarySink<W> {
    writer: BlgWriter<W>,
    places: Vec<Place>,
    values: Vec<Data>,
}

impl<W: Write + Seek> RecordSink for BinarySink<W> {
    fn restart(&mut self) {}

    fn record(&mut self, time: FileTime, minutes: i32, row: &[Result<Sample, NoValue>]) -> io::Result<()> {
        let local = add_minutes(time, minutes);
        let cell = |position: usize| row.get(position).copied().unwrap_or(Err(NoValue::NoInstance));
        // The lists of items are used again, as there is one for each instance of each record.
        let mut old = std::mem::take(&mut self.values).into_iter();
        for place in &self.places {
            let list = old.next();
            self.values.push(match place {
                Place::Single(position) => Data::Single(match cell(*position) {
                    Ok(sample) => RawCounter {
                        status: 0,
                        time: add_minutes(sample.time, minutes),
                        first: sample.first.cast_signed(),
                        second: sample.second.cast_signed(),
                        multi_count: sample.multi_count,
                    },
                    Err(reason) => {
                        RawCounter { status: reason.pdh_status().code, time: local, ..RawCounter::default() }
                    }
                }),
                Place::Multi(members) => {
                    let mut stamp = None;
                    let mut status = None;
                    let mut items = match list {
                        Some(Data::Multi { mut items, .. }) => {
                            items.clear();
                            items
                        }
                        _ => Vec::new(),
                    };
                    for (position, name) in members {
                        match cell(*position) {
                            Ok(sample) => {
                                stamp = stamp.or(Some(add_minutes(sample.time, minutes)));
                                let values = (sample.first.cast_signed(), sample.second.cast_signed());
                                items.push((Arc::clone(name), sample.multi_count, values.0, values.1));
                            }
                            Err(NoValue::NoInstance) => {}
                            Err(reason) => status = status.or(Some(reason.pdh_status().code)),
                        }
                    }
                    // The status is one for all instances: it is told only when there are none.
                    let status = if items.is_empty() { status.unwrap_or(0) } else { 0 };
                    Data::Multi { status, time: stamp.unwrap_or(local), items }
                }
            });
        }
        self.writer.record(time, local, &self.values)
    }

    fn finish(self: Box<Self>) -> io::Result<()> {
        self.writer.finish().map(drop)
    }
}

pub(super) struct NativeSink<W: Output> {
    writer: RowWriter<W>,
}

impl<W: Output> RecordSink for NativeSink<W> {
    fn restart(&mut self) {}

    fn record(&mut self, time: FileTime, minutes: i32, row: &[Result<Sample, NoValue>]) -> io::Result<()> {
        self.writer.row(RowTime { time, local_minutes: minutes }, row)
    }

    fn finish(self: Box<Self>) -> io::Result<()> {
        self.writer.into_inner().seal().map(drop)
    }
}
