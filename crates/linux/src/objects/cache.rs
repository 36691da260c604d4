//! Cache (86): Linux has no counterpart of NT's cache manager; the page cache has values for few of its
//! counters.

use super::spec::rows;
use super::table::Table;

rows! { COUNTERS, ORIGINS {
    88 PERF_COUNTER_COUNTER 0 ADVANCED: N;
    90 PERF_COUNTER_COUNTER 0 WIZARD: N;
    92 PERF_COUNTER_COUNTER 0 WIZARD: N;
    94 PERF_SAMPLE_FRACTION 0 WIZARD: N;
    94 PERF_SAMPLE_BASE 0 WIZARD: N;
    96 PERF_SAMPLE_FRACTION 0 WIZARD: N;
    96 PERF_SAMPLE_BASE 0 WIZARD: N;
    98 PERF_COUNTER_COUNTER 0 EXPERT: N;
    100 PERF_COUNTER_COUNTER 0 WIZARD: N;
    102 PERF_COUNTER_COUNTER 0 WIZARD: N;
    104 PERF_SAMPLE_FRACTION 0 EXPERT: N;
    104 PERF_SAMPLE_BASE 0 EXPERT: N;
    106 PERF_COUNTER_COUNTER 0 EXPERT: N;
    108 PERF_COUNTER_COUNTER 0 WIZARD: N;
    110 PERF_COUNTER_COUNTER 0 WIZARD: N;
    112 PERF_SAMPLE_FRACTION 0 EXPERT: N;
    112 PERF_SAMPLE_BASE 0 EXPERT: N;
    114 PERF_COUNTER_COUNTER 0 EXPERT: N;
    116 PERF_COUNTER_COUNTER 0 WIZARD: N;
    118 PERF_COUNTER_COUNTER 0 WIZARD: N;
    120 PERF_SAMPLE_FRACTION 0 EXPERT: N;
    120 PERF_SAMPLE_BASE 0 EXPERT: N;
    122 PERF_COUNTER_COUNTER 0 EXPERT: N;
    124 PERF_COUNTER_COUNTER -1 EXPERT: N;
    126 PERF_COUNTER_COUNTER -1 WIZARD: N;
    128 PERF_COUNTER_COUNTER -1 WIZARD: N;
    130 PERF_COUNTER_COUNTER 0 WIZARD: N;
    132 PERF_COUNTER_COUNTER 0 WIZARD: N;
    134 PERF_COUNTER_COUNTER 0 WIZARD: N;
    136 PERF_COUNTER_COUNTER 0 ADVANCED: C "/proc/vmstat:nr_written" "2.6.37";
    138 PERF_COUNTER_COUNTER 0 WIZARD: N;
    140 PERF_COUNTER_COUNTER 0 ADVANCED: N;
    906_002 PERF_COUNTER_RAWCOUNT 0 ADVANCED: E "/proc/vmstat:nr_dirty";
    906_004 PERF_COUNTER_RAWCOUNT 0 ADVANCED: E "/proc/vmstat:nr_dirty_threshold" "2.6.37";
}}

/// The object Cache.
pub(super) fn new() -> Table {
    Table::one(86, COUNTERS, ORIGINS)
}

#[cfg(test)]
mod tests {
    use super::super::fake_machine_tests::{Machine, instance, named};
    use crate::kernel::proc::fixture::fixture;
    use tallymon_provider::{Absence, ValueState};

    #[test]
    fn cache_counters_with_and_without_a_page_cache_value() {
        let text = String::from_utf8(fixture("6.18/vmstat")).unwrap();
        let line = |name: &str| {
            text.lines().find_map(|line| line.strip_prefix(name)?.trim().parse::<u64>().ok()).unwrap()
        };
        let mut machine = Machine::new(&[("proc/vmstat", text.as_bytes())]);
        let snapshot = machine.read(86);
        let values = instance(&snapshot, "");
        assert_eq!(named(&values, 136), Ok(line("nr_written ") & 0xffff_ffff));
        assert_eq!(named(&values, 906_002), Ok(line("nr_dirty ")));
        assert_eq!(named(&values, 906_004), Ok(line("nr_dirty_threshold ")));
        // The lines are read alone, or stand so far down that the whole file is read.
        for more in [0, 100, 1000] {
            let text = "nr_other 1\n".repeat(more) + &text;
            machine.write("proc/vmstat", text.as_bytes());
            assert_eq!(named(&instance(&machine.read(86), ""), 906_002), Ok(line("nr_dirty ")), "{more}");
        }
        assert_eq!(named(&values, 106), Err(ValueState::Absent(Absence::NotOnThisSystem)), "no made-up zero");
    }
}
