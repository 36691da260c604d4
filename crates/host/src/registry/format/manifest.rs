//! The part of a service's file that comes from a manifest.

use tallymon_core::counter::CounterType;
use tallymon_core::title::{HelpIndex, TitleIndex};

use super::super::error::Problem;
use super::super::service::{CounterSet, ManifestProvider, SetCounter};
use super::{Line, Lines};

pub(super) fn manifest_text(lines: &mut Lines, provider: &ManifestProvider) {
    lines.add("provider guid", &provider.guid);
    lines.add("provider name", &provider.name);
    lines.add("application identity", &provider.application);
    lines.add("provider type", if provider.kernel_mode { "kernelMode" } else { "userMode" });
    for set in &provider.sets {
        lines.add("counter set", &set.guid);
        lines.add("  name", set.name);
        lines.add("  help", set.help);
        lines.add("  instances", &set.instances);
        for counter in &set.counters {
            lines.add("  counter", counter.id);
            lines.add("    name", counter.name);
            lines.add("    help", counter.help);
            lines.add("    type", format!("{:#010x}", counter.counter_type.0));
            lines.add("    detail level", counter.detail_level);
            lines.add("    default scale", counter.default_scale);
            lines.add_some("    base", counter.base);
            lines.add_some("    perf time", counter.perf_time);
            lines.add_some("    perf freq", counter.perf_freq);
            lines.add_some("    multi counter", counter.multi);
            lines.add_some("    aggregate", counter.aggregate.as_ref());
            for attribute in &counter.attributes {
                lines.add("    attribute", attribute);
            }
        }
    }
}

/// A line of that part; the properties of a set or counter follow its own line.
pub(super) fn read_manifest_line(line: &Line<'_>, provider: &mut ManifestProvider) -> Result<(), Problem> {
    let value = line.value.clone();
    match line.key {
        "provider guid" => provider.guid = value,
        "provider name" => provider.name = value,
        "application identity" => provider.application = value,
        "provider type" => provider.kernel_mode = value == "kernelMode",
        "counter set" => provider.sets.push(CounterSet { guid: value, ..CounterSet::default() }),
        _ => {
            let set = provider.sets.last_mut().ok_or_else(|| line.unknown())?;
            if line.key == "counter" {
                set.counters.push(SetCounter {
                    id: line.number()?,
                    name: TitleIndex(0),
                    help: HelpIndex(0),
                    counter_type: CounterType(0),
                    detail_level: 100,
                    default_scale: 0,
                    base: None,
                    perf_time: None,
                    perf_freq: None,
                    multi: None,
                    aggregate: None,
                    attributes: Vec::new(),
                });
                return Ok(());
            }
            match (line.key, set.counters.last_mut()) {
                ("name", None) => set.name = TitleIndex(line.number()?),
                ("help", None) => set.help = HelpIndex(line.number()?),
                ("instances", None) => set.instances = value,
                ("name", Some(counter)) => counter.name = TitleIndex(line.number()?),
                ("help", Some(counter)) => counter.help = HelpIndex(line.number()?),
                ("type", Some(counter)) => {
                    let digits = value.strip_prefix("0x").unwrap_or_default();
                    let number = u32::from_str_radix(digits, 16).map_err(|_| line.wrong("a number 0x..."))?;
                    counter.counter_type = CounterType(number);
                }
                ("detail level", Some(counter)) => counter.detail_level = line.number()?,
                ("default scale", Some(counter)) => {
                    counter.default_scale = value.parse().map_err(|_| line.wrong("a number"))?;
                }
                ("base", Some(counter)) => counter.base = Some(line.number()?),
                ("perf time", Some(counter)) => counter.perf_time = Some(line.number()?),
                ("perf freq", Some(counter)) => counter.perf_freq = Some(line.number()?),
                ("multi counter", Some(counter)) => counter.multi = Some(line.number()?),
                ("aggregate", Some(counter)) => counter.aggregate = Some(value),
                ("attribute", Some(counter)) => counter.attributes.push(value),
                _ => return Err(line.unknown()),
            }
        }
    }
    Ok(())
}
