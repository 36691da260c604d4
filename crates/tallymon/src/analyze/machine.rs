//! What the machine of a log is: its processors and its memory, from the first records.

use std::path::Path;

use tallymon_core::flow::NoValue;
use tallymon_core::path::CounterPath;
use tallymon_log::{Column, LogError, NumberCooker, ReadOptions, open};

use super::pass::names_of;
use super::rule::RuleSet;

/// How many records at the start of the first log are looked at for what the machine is.
pub(super) const MACHINE_RECORDS: usize = 100;

/// The memory of a machine, in megabytes.
#[derive(Debug, Default)]
pub(super) struct Memory {
    /// The most that was available.
    available: Option<f64>,
    /// All of it, where a counter says so.
    total: Option<f64>,
}

impl Memory {
    /// Takes the values of a record.
    pub(super) fn record(&mut self, columns: &[Column], values: &[Result<f64, NoValue>]) {
        for (column, value) in columns.iter().zip(values) {
            let value = value.as_ref().ok().copied();
            let Some((parts, value)) = column.parts.as_ref().zip(value) else { continue };
            let names = names_of(parts);
            let mega = match (names.0.as_str(), names.1.as_str()) {
                ("memory", "available mbytes") => value,
                ("memory", "available kbytes") => value / 1024.0,
                ("memory", "available bytes") => value / 1_048_576.0,
                ("memory", "machine mbytes") => {
                    self.total = Some(value);
                    continue;
                }
                ("numa node memory", "total mbytes") if is_total(parts) => {
                    self.total = Some(value);
                    continue;
                }
                ("memory extended", "total physical bytes") => {
                    self.total = Some(value / 1_048_576.0);
                    continue;
                }
                _ => continue,
            };
            self.available = Some(self.available.map_or(mega, |most| most.max(mega)));
        }
    }

    /// Gives the rules the memory and the number of processors, unless they were given.
    pub(super) fn tell(&self, columns: &[Column], rules: &mut RuleSet) {
        let memory = self.total.or(self.available);
        for (name, value) in [("memory_mb", memory), ("processors", processors(columns))] {
            let known = rules.parameters.iter_mut().find(|(known, _)| known == name);
            if let Some((_, kept)) = known {
                *kept = kept.or(value);
            }
        }
        // The first question of PAL's files is this one, in gigabytes.
        let known = memory.filter(|_| !rules.is_given("PhysicalMemory"));
        let asked = rules.parameters.iter_mut().find(|(name, _)| name == "PhysicalMemory");
        if let (Some(memory), Some((_, kept))) = (known, asked) {
            *kept = Some(memory / 1024.0);
        }
    }
}

/// Takes the number of processors and the memory from the first records of a log, unless they were given.
pub(super) fn of_log(path: &Path, rules: &mut RuleSet, options: &ReadOptions) -> Result<(), LogError> {
    let mut log = open(path, options)?;
    let mut memory = Memory::default();
    let (mut cooker, mut values, mut records) = (NumberCooker::default(), Vec::new(), 0_usize);
    while let Some(mut record) = log.next_record().map_err(|error| error.in_file(path))? {
        cooker.take(&mut record, &mut values);
        memory.record(&log.about().columns, &values);
        records = records.saturating_add(1);
        if records >= MACHINE_RECORDS {
            break;
        }
    }
    memory.tell(&log.about().columns, rules);
    Ok(())
}

/// How many processors some columns are about.
fn processors(columns: &[Column]) -> Option<f64> {
    let is_processor = |column: &&Column| {
        column.parts.as_ref().is_some_and(|parts| {
            let (object, counter) = names_of(parts);
            ["processor", "physical cpu"].contains(&object.as_str())
                && ["% processor time", "% idle time"].contains(&counter.as_str())
                && !is_total(parts)
        })
    };
    let instance = |column: &Column| Some(column.parts.as_ref()?.instance.as_ref()?.text().to_owned());
    let mut processors: Vec<String> = columns.iter().filter(is_processor).filter_map(instance).collect();
    processors.sort_unstable();
    processors.dedup();
    Some(processors.len()).filter(|count| *count > 0).map(|count| count as f64)
}

fn is_total(parts: &CounterPath) -> bool {
    parts.instance.as_ref().is_some_and(|instance| instance.text().eq_ignore_ascii_case("_total"))
}
