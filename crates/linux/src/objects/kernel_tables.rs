//! Kernel Objects, System Extended and Soft Interrupts: counters of the kernel itself.

use super::spec::rows;
use super::table::Table;

rows! { OBJECT_COUNTERS, OBJECT_ORIGINS {
    902_202 PERF_COUNTER_LARGE_RAWCOUNT 0 NOVICE: E "/proc/sys/fs/file-nr:#1";
    902_204 PERF_COUNTER_LARGE_RAWCOUNT 0 ADVANCED: E "/proc/sys/fs/file-nr:#3";
    902_206 PERF_COUNTER_LARGE_RAWCOUNT -3 ADVANCED: E "/proc/sys/fs/inode-nr:#1";
    902_208 PERF_COUNTER_LARGE_RAWCOUNT -3 ADVANCED: E "/proc/sys/fs/inode-nr:#2";
    902_210 PERF_COUNTER_LARGE_RAWCOUNT -3 ADVANCED: E "/proc/sys/fs/dentry-state:#1";
    902_212 PERF_COUNTER_LARGE_RAWCOUNT -3 ADVANCED: E "/proc/sys/fs/dentry-state:#2";
    902_214 PERF_COUNTER_LARGE_RAWCOUNT -3 EXPERT: E "/proc/sys/fs/dentry-state:#5 > 0" "5.0";
    902_216 PERF_COUNTER_LARGE_RAWCOUNT 0 ADVANCED: E "/proc/sys/fs/aio-nr";
    902_218 PERF_COUNTER_LARGE_RAWCOUNT 0 ADVANCED: E "/proc/sys/kernel/pty/nr";
    902_220 PERF_COUNTER_LARGE_RAWCOUNT 0 ADVANCED: E "/proc/sys/kernel/random/entropy_avail";
    902_222 PERF_COUNTER_LARGE_RAWCOUNT 0 ADVANCED: E "/proc/net/sockstat:sockets.used";
    902_224 PERF_COUNTER_LARGE_RAWCOUNT 0 ADVANCED: E "/proc/sys/kernel/pid_max";
    902_226 PERF_COUNTER_LARGE_RAWCOUNT 0 ADVANCED: E "/proc/sys/kernel/threads-max";
}}

rows! { SYSTEM_COUNTERS, SYSTEM_ORIGINS {
    905_802 PERF_RAW_FRACTION 2 NOVICE: E "/proc/loadavg:#1";
    905_802 PERF_RAW_BASE 2 NOVICE: E "10000";
    905_804 PERF_RAW_FRACTION 2 ADVANCED: E "/proc/loadavg:#2";
    905_804 PERF_RAW_BASE 2 ADVANCED: E "10000";
    905_806 PERF_RAW_FRACTION 2 ADVANCED: E "/proc/loadavg:#3";
    905_806 PERF_RAW_BASE 2 ADVANCED: E "10000";
    905_808 PERF_COUNTER_LARGE_RAWCOUNT 0 NOVICE: E "/proc/stat:procs_running";
    905_810 PERF_COUNTER_LARGE_RAWCOUNT 0 NOVICE: E "/proc/stat:procs_blocked";
    905_812 PERF_COUNTER_BULK_COUNT 0 NOVICE: E "/proc/stat:processes";
    905_814 PERF_COUNTER_BULK_COUNT 0 ADVANCED: E "/proc/stat:softirq" "2.6.31";
    905_816 PERF_100NSEC_TIMER 0 ADVANCED: E "/proc/stat:cpu#8 * 100000" "2.6.11";
    905_818 PERF_100NSEC_TIMER 0 ADVANCED: A "/proc/stat:cpu#5 * 100000";
    905_820 PERF_100NSEC_TIMER 0 ADVANCED: E "/proc/stat:cpu#2 * 100000";
    905_822 PERF_100NSEC_TIMER 0 ADVANCED: E "/proc/stat:cpu#9 + :cpu#10 * 100000" "2.6.33";
    905_824 PERF_COUNTER_LARGE_RAWCOUNT 0 ADVANCED: E "/proc/uptime:#1 / 100";
    905_826 PERF_COUNTER_LARGE_RAWCOUNT 0 ADVANCED: E "/proc/uptime:#2 / 100";
}}

rows! { SOFTIRQ_COUNTERS, SOFTIRQ_ORIGINS {
    901_802 PERF_COUNTER_COUNTER 0 NOVICE: E "/proc/stat:softirq#1" "2.6.31";
    901_804 PERF_COUNTER_COUNTER 0 ADVANCED: E "/proc/stat:softirq#2" "2.6.31";
    901_806 PERF_COUNTER_COUNTER 0 ADVANCED: E "/proc/stat:softirq#3" "2.6.31";
    901_808 PERF_COUNTER_COUNTER 0 ADVANCED: E "/proc/stat:softirq#4" "2.6.31";
    901_810 PERF_COUNTER_COUNTER 0 ADVANCED: E "/proc/stat:softirq#5" "2.6.31";
    901_812 PERF_COUNTER_COUNTER 0 ADVANCED: E "/proc/stat:softirq#6" "2.6.31";
    901_814 PERF_COUNTER_COUNTER 0 ADVANCED: E "/proc/stat:softirq#7" "2.6.31";
    901_816 PERF_COUNTER_COUNTER 0 ADVANCED: E "/proc/stat:softirq#8" "2.6.31";
    901_818 PERF_COUNTER_COUNTER 0 ADVANCED: E "/proc/stat:softirq#9" "2.6.31";
    901_820 PERF_COUNTER_COUNTER 0 ADVANCED: E "/proc/stat:softirq#10" "2.6.31";
    901_822 PERF_COUNTER_COUNTER 0 ADVANCED: E "/proc/stat:softirq#11" "2.6.31";
}}

/// The object Kernel Objects.
pub(super) fn objects() -> Table {
    Table::one(902_200, OBJECT_COUNTERS, OBJECT_ORIGINS)
}

/// The object System Extended. Its times are those of all CPUs together.
pub(super) fn system() -> Table {
    Table::one(905_800, SYSTEM_COUNTERS, SYSTEM_ORIGINS)
}

/// The object Soft Interrupts. The line has no names; its order is part of the kernel's interface since
/// 2.6.31.
pub(super) fn softirqs() -> Table {
    Table::one(901_800, SOFTIRQ_COUNTERS, SOFTIRQ_ORIGINS)
}

#[cfg(test)]
mod tests {
    use super::super::fake_machine_tests::{Machine, System, collect, instance, named};
    use crate::kernel::proc::fixture::fixture;
    use tallymon_provider::{Absence, Interest, ValueState};

    #[test]
    fn counts_and_times() {
        let mut machine = Machine::new(&[
            (
                "proc/stat",
                b"cpu  10 20 30 40 50 60 70 80 90 7\nsoftirq 15 1 2 3 4 5\nprocs_running \
                4\nprocs_blocked 1\nprocesses 4711\n",
            ),
            ("proc/sys/fs/file-nr", b"834\t0\t2466177\n"),
            ("proc/sys/fs/dentry-state", b"294146\t292301\t45\t0\t88459\t0\n"),
            ("proc/loadavg", b"1.25 0.50 12.00 3/240 812\n"),
            ("proc/uptime", b"1829.59 3603.12\n"),
        ]);
        let snapshot = machine.read(902_200);
        let values = instance(&snapshot, "");
        let found = [902_202, 902_204, 902_212, 902_214].map(|counter| named(&values, counter));
        assert_eq!(found, [Ok(834), Ok(2_466_177), Ok(292_301), Ok(88_459)]);
        // Before 5.0 this column is 0, which is no count.
        let mut old = Machine::new(&[("proc/sys/fs/dentry-state", b"294146\t292301\t45\t0\t0\t0\n")]);
        let absent = named(&instance(&old.read(902_200), ""), 902_214);
        assert_eq!(absent, Err(ValueState::Absent(Absence::NotInThisKernel)));
        let snapshot = machine.read(905_800);
        let values = instance(&snapshot, "");
        for (counter, value) in [
            (905_802, 125),
            (905_806, 1200),
            (905_808, 4),
            (905_812, 4711),
            (905_816, 8_000_000),
            (905_822, 9_700_000),
            (905_826, 3603),
        ] {
            assert_eq!(named(&values, counter), Ok(value), "{counter}");
        }
        let snapshot = machine.read(901_800);
        let values = instance(&snapshot, "");
        assert_eq!((named(&values, 901_802), named(&values, 901_810)), (Ok(15), Ok(4)));
        assert!(named(&values, 901_822).is_err(), "no number in the line");
    }

    /// The kinds have the same order as in the file that names them.
    #[test]
    fn soft_interrupt_kinds_have_the_order_of_the_named_file() {
        let [stat, softirqs] =
            ["6.18/stat", "6.18/softirqs"].map(|file| String::from_utf8(fixture(file)).unwrap());
        let line: Vec<u64> = stat
            .lines()
            .find_map(|line| line.strip_prefix("softirq "))
            .unwrap()
            .split_whitespace()
            .map(|number| number.parse().unwrap())
            .collect();
        let kinds = [
            "HI:",
            "TIMER:",
            "NET_TX:",
            "NET_RX:",
            "BLOCK:",
            "IRQ_POLL:",
            "TASKLET:",
            "SCHED:",
            "HRTIMER:",
            "RCU:",
        ];
        for (position, (kind, row)) in kinds.iter().zip(softirqs.lines().skip(1)).enumerate() {
            let mut fields = row.split_whitespace();
            assert_eq!(fields.next(), Some(*kind));
            assert_eq!(
                fields.map(|number| number.parse::<u64>().unwrap()).sum::<u64>(),
                line[position + 1],
                "{kind}"
            );
        }
    }

    #[test]
    fn opened_files_are_counted() {
        let mut system = System::open().unwrap();
        let mut open = || {
            let snapshot = collect(&mut system, 902_200, &Interest::everything());
            named(&instance(&snapshot, ""), 902_202).unwrap()
        };
        // The kernel counts per CPU in batches, and other programs open and close files too: sometimes
        // thousands at once.
        let mut seen = Vec::new();
        for _ in 0..5 {
            let before = open();
            let files: Vec<_> = (0..4000).map(|_| std::fs::File::open("/dev/null")).collect();
            let opened = files.iter().filter(|file| file.is_ok()).count() as u64;
            let after = open();
            if after + 600 >= before + opened {
                return;
            }
            seen.push((before, opened, after));
        }
        panic!("files before, opened, files after: {seen:?}");
    }
}
