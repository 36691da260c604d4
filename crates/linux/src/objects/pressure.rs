//! Pressure: how long tasks waited for CPUs, memory, disks and interrupts.

use super::spec::rows;
use super::table::Table;

rows! { COUNTERS, ORIGINS {
    900_202 PERF_100NSEC_TIMER 0 NOVICE: E "/proc/pressure/cpu:some.total * 10" "4.20";
    900_204 PERF_100NSEC_TIMER 0 NOVICE: E "/proc/pressure/memory:some.total * 10" "4.20";
    900_206 PERF_100NSEC_TIMER 0 NOVICE: E "/proc/pressure/memory:full.total * 10" "4.20";
    900_208 PERF_100NSEC_TIMER 0 NOVICE: E "/proc/pressure/io:some.total * 10" "4.20";
    900_210 PERF_100NSEC_TIMER 0 NOVICE: E "/proc/pressure/io:full.total * 10" "4.20";
    900_212 PERF_100NSEC_TIMER 0 ADVANCED: E "/proc/pressure/irq:full.total * 10" "6.1";
    900_214 PERF_RAW_FRACTION 0 ADVANCED: E "/proc/pressure/cpu:some.avg10" "4.20";
    900_214 PERF_RAW_BASE 0 ADVANCED: E "10000";
    900_216 PERF_RAW_FRACTION 0 ADVANCED: E "/proc/pressure/memory:some.avg10" "4.20";
    900_216 PERF_RAW_BASE 0 ADVANCED: E "10000";
    900_218 PERF_RAW_FRACTION 0 ADVANCED: E "/proc/pressure/memory:full.avg10" "4.20";
    900_218 PERF_RAW_BASE 0 ADVANCED: E "10000";
    900_220 PERF_RAW_FRACTION 0 ADVANCED: E "/proc/pressure/io:some.avg10" "4.20";
    900_220 PERF_RAW_BASE 0 ADVANCED: E "10000";
    900_222 PERF_RAW_FRACTION 0 ADVANCED: E "/proc/pressure/io:full.avg10" "4.20";
    900_222 PERF_RAW_BASE 0 ADVANCED: E "10000";
    900_224 PERF_RAW_FRACTION 0 ADVANCED: E "/proc/pressure/cpu:some.avg60" "4.20";
    900_224 PERF_RAW_BASE 0 ADVANCED: E "10000";
    900_226 PERF_RAW_FRACTION 0 ADVANCED: E "/proc/pressure/memory:some.avg60" "4.20";
    900_226 PERF_RAW_BASE 0 ADVANCED: E "10000";
    900_228 PERF_RAW_FRACTION 0 ADVANCED: E "/proc/pressure/io:some.avg60" "4.20";
    900_228 PERF_RAW_BASE 0 ADVANCED: E "10000";
    900_230 PERF_RAW_FRACTION 0 ADVANCED: E "/proc/pressure/cpu:some.avg300" "4.20";
    900_230 PERF_RAW_BASE 0 ADVANCED: E "10000";
    900_232 PERF_RAW_FRACTION 0 ADVANCED: E "/proc/pressure/memory:some.avg300" "4.20";
    900_232 PERF_RAW_BASE 0 ADVANCED: E "10000";
    900_234 PERF_RAW_FRACTION 0 ADVANCED: E "/proc/pressure/io:some.avg300" "4.20";
    900_234 PERF_RAW_BASE 0 ADVANCED: E "10000";
}}

/// The object Pressure.
pub(super) fn new() -> Table {
    Table::one(900_200, COUNTERS, ORIGINS)
}

#[cfg(test)]
mod tests {
    use super::super::fake_machine_tests::{Machine, System, collect, instance, named};
    use tallymon_provider::{Absence, Interest, ValueState};

    #[test]
    fn shares_of_time_and_means() {
        let cpu = b"some avg10=1.53 avg60=0.00 avg300=100.00 total=1234\nfull avg10=0.00 avg60=0.00 \
            avg300=0.00 total=0\n";
        let mut machine = Machine::new(&[("proc/pressure/cpu", cpu)]);
        let snapshot = machine.read(900_200);
        let values = instance(&snapshot, "");
        assert_eq!(named(&values, 900_202), Ok(12_340), "microseconds in units of 100 ns");
        assert_eq!(named(&values, 900_214), Ok(153));
        assert_eq!(named(&values, 900_230), Ok(10_000));
        let missing = Err(ValueState::Absent(Absence::NotInThisKernel));
        assert_eq!((named(&values, 900_204), named(&values, 900_216)), (missing, missing));
    }

    #[test]
    fn the_running_kernel() {
        let Ok(text) = std::fs::read_to_string("/proc/pressure/cpu") else {
            return tallymon_testkit::skip("this kernel tells no pressure");
        };
        let total = |text: &str| {
            text.split_whitespace()
                .find_map(|word| word.strip_prefix("total="))
                .unwrap()
                .parse::<u64>()
                .unwrap()
        };
        let snapshot = collect(&mut System::open().unwrap(), 900_200, &Interest::everything());
        let found = named(&instance(&snapshot, ""), 900_202).unwrap();
        let after = std::fs::read_to_string("/proc/pressure/cpu").unwrap();
        assert!((total(&text) * 10..=total(&after) * 10).contains(&found), "{found} {text} {after}");
    }
}
