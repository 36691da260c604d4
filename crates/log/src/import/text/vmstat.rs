//! Reads the reports of `vmstat -t`.

use std::io::BufRead;

use tallymon_core::time::FileTime;

use super::tables::{VMSTAT, VMSTAT_CPU};
use super::times::{date, join, time_of_day};
use crate::error::{LogError, LogErrorKind};
use crate::format::Format;
use crate::import::columns::Columns;
use crate::import::lines::Lines;
use crate::import::reader::Decoder;
use crate::import::table::{Field, Number, VALUE};
use crate::reader::About;
use crate::zone::{Zone, add_minutes};

/// Decodes a report of `vmstat`.
pub(crate) struct VmstatDecoder<R> {
    lines: Lines<R>,
    /// The names of the columns, without the time.
    names: Vec<String>,
    layout: u64,
    bias: i32,
}

impl<R: BufRead + Send> VmstatDecoder<R> {
    /// Reads the two lines of the header.
    pub(crate) fn open(input: R, bias: Option<i32>) -> Result<(VmstatDecoder<R>, Columns), LogError> {
        let mut decoder = VmstatDecoder { lines: Lines::new(input), names: Vec::new(), layout: 0, bias: 0 };
        let mut columns = Columns::new(About::new(Format::Vmstat));
        let mut has_times = false;
        while let Some(line) = decoder.lines.next()? {
            if line.text.trim_start().starts_with("procs") {
                has_times = line.text.contains("timestamp");
                continue;
            }
            if !has_times {
                let words = "a report of vmstat without times; `vmstat -t` prints them".to_owned();
                return Err(LogError::new(LogErrorKind::NotALog(words)));
            }
            let zone = decoder.header(&line.text);
            decoder.bias = bias.unwrap_or(0);
            columns.about.zone = match (bias, zone.as_str()) {
                (Some(bias), _) => Zone::Fixed { name: zone, bias },
                (None, "UTC" | "GMT") => Zone::Fixed { name: zone, bias: 0 },
                (None, _) => {
                    let words = format!("the zone {zone:?} is taken as UTC; --bias sets its distance");
                    columns.about.notes.remark(words);
                    Zone::Words(zone)
                }
            };
            columns.about.writer = Some("vmstat".to_owned());
            columns.about.notes.remark("the first row is the average since the start of the machine");
            return Ok((decoder, columns));
        }
        Err(LogError::new(LogErrorKind::NotALog("a report of vmstat without a header".to_owned())))
    }

    /// Takes the names of the columns, and returns the zone, which is the last of them.
    fn header(&mut self, line: &str) -> String {
        self.names = line.split_whitespace().map(str::to_owned).collect();
        self.layout = self.layout.saturating_add(1);
        self.names.pop().unwrap_or_default()
    }
}

impl<R: BufRead + Send> Decoder for VmstatDecoder<R> {
    fn next(&mut self, columns: &mut Columns) -> Result<Option<(FileTime, i32)>, LogError> {
        while let Some(line) = self.lines.next()? {
            let words: Vec<&str> = line.text.split_whitespace().collect();
            match words.first() {
                None | Some(&"procs") => continue,
                Some(&"r") => {
                    self.header(&line.text);
                    continue;
                }
                Some(_) => {}
            }
            let count = self.names.len();
            let stamp = words.get(count..).unwrap_or_default();
            let time = match stamp {
                [day, time] => date(day).zip(time_of_day(time)),
                _ => None,
            };
            let numbers: Option<Vec<f64>> = words
                .iter()
                .take(count)
                .map(|word| word.parse().ok().filter(|number: &f64| number.is_finite()))
                .collect();
            let (Some((day, time)), Some(numbers)) = (time, numbers) else {
                let words = format!("a row needs {count} numbers, a date and a time; it is left out");
                columns.damage_line(line.byte, line.number, words);
                continue;
            };
            let time = add_minutes(join(day, time), self.bias);
            columns.begin(time, time.0);
            let fields: Vec<Field<'_>> = self
                .names
                .iter()
                .zip(numbers)
                .map(|(name, number)| Field {
                    name,
                    number: Some(Number::F64(number)),
                    own: VALUE,
                    source: 0,
                })
                .collect();
            columns.put(&VMSTAT, self.layout, None, &fields);
            columns.put(&VMSTAT_CPU, self.layout, Some(("_Total", "_Total")), &fields);
            return Ok(Some((time, self.bias.saturating_neg())));
        }
        Ok(None)
    }
}
