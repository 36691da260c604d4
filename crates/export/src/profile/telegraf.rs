//! The names of Telegraf's input `win_perf_counters`: a measurement of each object, a field of each counter.
//! Its values are computed ones.

use tallymon_core::counter::CounterType;

use super::{InstanceForm, InstanceLabels, Target};
use crate::metric::{MetricKind, Number, metrics};

/// Every object's instances have this tag.
pub(super) const INSTANCE: InstanceLabels = InstanceLabels::new("instance", InstanceForm::Whole);

/// The measurement of objects without one of their own.
const OTHER: &str = "win_perf_counters";

/// The measurements of Telegraf's sample configuration.
const MEASUREMENTS: &[(&str, &str)] = &[
    ("Processor", "win_cpu"),
    ("LogicalDisk", "win_disk"),
    ("PhysicalDisk", "win_diskio"),
    ("Network Interface", "win_net"),
    ("System", "win_system"),
    ("Memory", "win_mem"),
    ("Paging File", "win_swap"),
    ("Process", "win_proc"),
    (".NET CLR Exceptions", "win_dotnet_exceptions"),
    (".NET CLR Jit", "win_dotnet_jit"),
    (".NET CLR Loading", "win_dotnet_loading"),
    (".NET CLR LocksAndThreads", "win_dotnet_locks"),
    (".NET CLR Memory", "win_dotnet_mem"),
    (".NET CLR Security", "win_dotnet_security"),
];

/// The metric of a counter; `None` for what has no number.
pub(super) fn target(object: &str, counter: &str, counter_type: CounterType) -> Option<Target> {
    if counter_type.is_text() || metrics(counter_type).is_empty() {
        return None;
    }
    let known = MEASUREMENTS.iter().find(|(known, _)| known.eq_ignore_ascii_case(object));
    let measurement = known.map_or(OTHER, |(_, measurement)| measurement);
    let field = field(counter);
    let plain = |letter: char| if letter.is_ascii_alphanumeric() { letter } else { '_' };
    let mut name = format!("{measurement}_{}", field.chars().map(plain).collect::<String>());
    if measurement == OTHER {
        // Two objects may have counters of one name.
        name = format!("{OTHER}_{}_{}", object, field).chars().map(plain).collect();
    }
    Some(Target {
        name,
        kind: MetricKind::Gauge(Number::Value),
        unit: "",
        factor: 1,
        labels: vec![("objectname", object.to_owned())],
        semantic: None,
        field: Some((measurement.to_owned(), field)),
        meaning: "the computed value",
    })
}

/// The name of a field, with Telegraf's words for characters.
fn field(counter: &str) -> String {
    let text = counter.replace("/sec", "_persec").replace("/Sec", "_persec");
    text.replace(' ', "_").replace('%', "Percent").replace('\\', "")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_called_as_telegraf_calls_them() {
        let kind = CounterType::PERF_COUNTER_RAWCOUNT;
        for (object, counter, expected, metric) in [
            ("Processor", "% Processor Time", "Percent_Processor_Time", "win_cpu_Percent_Processor_Time"),
            ("PhysicalDisk", "Split IO/Sec", "Split_IO_persec", "win_diskio_Split_IO_persec"),
            (
                "system",
                "Context Switches/sec",
                "Context_Switches_persec",
                "win_system_Context_Switches_persec",
            ),
            ("DNS", "A b", "A_b", "win_perf_counters_DNS_A_b"),
        ] {
            let target = target(object, counter, kind).unwrap();
            assert_eq!(target.field.unwrap().1, expected);
            assert_eq!(target.name, metric);
        }
        assert!(target("Thread", "Text", CounterType::PERF_COUNTER_TEXT).is_none());
        assert!(target("Processor", "Base", CounterType::PERF_AVERAGE_BASE).is_none());
    }
}
