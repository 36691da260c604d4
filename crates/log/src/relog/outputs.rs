//! The sinks of a copy, made for its columns, times and zone.

use std::io::{self, Seek, Write};
#[cfg(feature = "sqlite")]
use std::path::Path;

use tallymon_core::counter::TextStyle;
use tallymon_core::time::FileTime;

use super::Options;
use super::plan::{Chosen, Plan};
use crate::blg::{self, BlgSink, FileHeader};
use crate::csv::{CsvOptions, CsvWriter};
#[cfg(feature = "sqlite")]
use crate::error::LogError;
use crate::format::Format;
use crate::json::JsonSink;
use crate::native::{self, NativeSink, NativeWriter, Output};
#[cfg(feature = "sqlite")]
use crate::sqlite::{SetOptions, SqliteSink};
use crate::zone::{Zone, ZoneRules};

impl Plan {
    pub(super) fn text_sink<W: Write>(&self, out: W, options: &Options) -> CsvWriter<W> {
        let (zone_name, bias) = self.zone.label(self.minutes);
        let tabs = options.format == Format::Tsv;
        let style = TextStyle::Windows(options.digits);
        let Options { line_end, no_formulas, .. } = *options;
        let zone = Some(self.zone.header(self.minutes));
        let caption = self.caption.clone();
        CsvWriter::new(out, CsvOptions { tabs, line_end, zone_name, bias, zone, caption, style, no_formulas })
    }

    pub(super) fn json_sink<W: Write>(&self, out: W) -> JsonSink<W> {
        let mut hosts = self.chosen.iter().map(|chosen| chosen.column.parts.as_ref()?.machine.as_deref());
        let first = hosts.next().flatten();
        let host = first.filter(|_| hosts.all(|host| host == first)).unwrap_or_default();
        let sink = JsonSink::new(out, host);
        let (name, bias) = self.zone_label();
        if self.zone.is_unknown() { sink } else { sink.with_zone(&name, bias) }
    }

    pub(super) fn native_sink<W: Output>(&self, out: W) -> io::Result<NativeSink<W>> {
        let options = native::WriteOptions {
            zone: self.zone.clone(),
            caption: self.caption.clone(),
            keep_instances: true,
            writer: self.writer.clone(),
            ..native::WriteOptions::sealed()
        };
        Ok(NativeSink::new(NativeWriter::new(out, options)?))
    }

    #[cfg(feature = "sqlite")]
    pub(super) fn sqlite_sink(&self, part: &Path, output: &Path) -> Result<SqliteSink, LogError> {
        let guid = guid(u128::from_le_bytes(id_of(&self.chosen, self.start())));
        let name = output.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        SqliteSink::create(part, SetOptions { guid, name, zone: self.zone_label() })
    }

    pub(super) fn blg_sink<W: Write + Seek>(&self, out: W, options: &Options) -> BlgSink<W> {
        let zone = match &self.zone {
            Zone::Rules(rules) => (**rules).clone(),
            _ => {
                let (name, bias) = self.zone_label();
                ZoneRules { bias, standard_name: name, ..ZoneRules::default() }
            }
        };
        let file_name = match self.report.inputs.first().map(|input| &input.path) {
            Some(path) if !options.strip_path => {
                path.file_name().unwrap_or_default().to_string_lossy().into_owned()
            }
            _ => String::new(),
        };
        let base = blg::WriteOptions::default();
        let header = FileHeader { start: self.start(), zone, file_name, ..base.header };
        let id = id_of(&self.chosen, self.start());
        BlgSink::new(out, blg::WriteOptions { id, header, ..base })
    }

    /// Name and bias of the zone. An unknown zone has no name, and readers take that as unknown.
    pub(super) fn zone_label(&self) -> (String, i32) {
        let (name, bias) = self.zone.label(self.minutes);
        (if self.zone.is_unknown() { String::new() } else { name }, bias)
    }

    /// The time of the first record of the inputs.
    fn start(&self) -> FileTime {
        self.report.inputs.first().and_then(|input| input.first).unwrap_or_default()
    }
}

/// An identifier for a log that is the same whenever the same is written: a hash (FNV-1a) of columns and
/// first time.
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
