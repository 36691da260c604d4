//! Paging File (700): one instance per swap area, and `_Total`.

use std::collections::BTreeMap;

use tallymon_provider::{
    CollectRequest, DetailLevel, Frequency, InstanceKind, ObjectLayout, ObjectSpec, ObjectsWriter, PerfTime,
};

use super::object::Object;
use super::spec::{Origin, counters, object};
use crate::sources::Sources;

counters! {
    /// Positions of the counters.
    At, COUNTERS, ORIGINS {
        PercentUsage: 702, 703, PERF_RAW_FRACTION, 0, ADVANCED: E "/proc/swaps:Used";
        PercentUsageBase: 702, 703, PERF_RAW_BASE, 0, ADVANCED: E "/proc/swaps:Size";
        PercentUsagePeak: 704, 705, PERF_RAW_FRACTION, 0, ADVANCED:
            D "the largest Used of /proc/swaps since the reader started";
        PercentUsagePeakBase: 704, 705, PERF_RAW_BASE, 0, ADVANCED: E "/proc/swaps:Size";
    }
}

const SPEC: ObjectSpec<'static> =
    object(700, 701, DetailLevel::ADVANCED, At::PercentUsage.at(), InstanceKind::Many, COUNTERS);

/// The object Paging File.
pub(super) struct PagingFile {
    layout: ObjectLayout<'static>,
    /// The most KiB in use of each area since this process started: the kernel keeps no peak.
    peaks: BTreeMap<String, u64>,
    /// The most KiB in use of all areas together.
    peak: u64,
}

impl PagingFile {
    pub(super) fn new() -> PagingFile {
        PagingFile { layout: ObjectLayout::new(SPEC), peaks: BTreeMap::new(), peak: 0 }
    }
}

impl Object for PagingFile {
    fn spec(&self) -> &ObjectSpec<'static> {
        self.layout.spec()
    }

    fn origins(&self) -> &'static [Origin] {
        ORIGINS
    }

    fn collect(&mut self, _ask: &CollectRequest<'_>, sources: &mut Sources, out: &mut ObjectsWriter<'_>) {
        let mut object = out.object(&self.layout, PerfTime(0), Frequency(0));
        let areas = match sources.swaps() {
            Ok(areas) => areas,
            Err(absence) => {
                object.instance("_Total", None, None).absent(0..COUNTERS.len(), absence);
                return;
            }
        };
        self.peaks.retain(|path, _| areas.iter().any(|area| area.path == *path));
        let (mut size, mut used) = (0u64, 0u64);
        for area in areas {
            size = size.saturating_add(area.size);
            used = used.saturating_add(area.used);
            let peak = self.peaks.entry(area.path.clone()).or_default();
            // An area that was removed and came back smaller cannot have been fuller than full.
            *peak = (*peak).max(area.used).min(area.size);
            let mut values = object.instance(&area.path, None, None);
            values.set_fraction(At::PercentUsage.at(), area.used, area.size);
            values.set_fraction(At::PercentUsagePeak.at(), *peak, area.size);
        }
        self.peak = self.peak.max(used).min(size);
        // Without swap nothing is in use; a base of 0 would be no valid share.
        let size = size.max(1);
        let mut values = object.instance("_Total", None, None);
        values.set_fraction(At::PercentUsage.at(), used, size);
        values.set_fraction(At::PercentUsagePeak.at(), self.peak, size);
    }
}

#[cfg(test)]
mod tests {
    use super::super::fake_machine_tests::{Machine, System, collect, instance, names, raw};
    use super::*;
    use crate::kernel::proc::fixture::fixture;
    use tallymon_provider::{Absence, Interest, ValueState};

    const HEADER: &str = "Filename\t\t\t\tType\t\tSize\t\tUsed\t\tPriority\n";

    /// The four numbers of an instance.
    fn numbers(machine: &mut Machine, name: &str) -> [u64; 4] {
        let snapshot = machine.read(700);
        std::array::from_fn(|position| raw(&instance(&snapshot, name), position).unwrap())
    }

    #[test]
    fn areas_and_their_sum() {
        let mut machine = Machine::new(&[("proc/swaps", &fixture("4.18/swaps"))]);
        let expected = ["/dev/dm-1", "/var/swap file", "/swap (deleted)", "/old (deleted)", "_Total"];
        assert_eq!(names(&machine.read(700)), expected);
        assert_eq!(numbers(&mut machine, "/dev/dm-1"), [1204, 8388604, 1204, 8388604]);
        assert_eq!(numbers(&mut machine, "/swap (deleted)"), [12, 65532, 12, 65532]);
        let size = 8388604 + 1048572 + 65532 + 65532;
        assert_eq!(numbers(&mut machine, "_Total"), [1216, size, 1216, size]);
    }

    #[test]
    fn the_highest_use_is_remembered() {
        let text = |a: u64, b: u64| format!("{HEADER}/a file 100 {a} -2\n/b file 200 {b} -3\n").into_bytes();
        let mut machine = Machine::new(&[("proc/swaps", &text(90, 10))]);
        assert_eq!(numbers(&mut machine, "/a"), [90, 100, 90, 100]);
        machine.write("proc/swaps", &text(20, 70));
        assert_eq!(numbers(&mut machine, "/a"), [20, 100, 90, 100]);
        assert_eq!(numbers(&mut machine, "/b"), [70, 200, 70, 200]);
        assert_eq!(numbers(&mut machine, "_Total"), [90, 300, 100, 300], "not the sum of 90 and 70");
        // One area is removed: its peak goes with it, and the total cannot exceed the rest.
        machine.write("proc/swaps", format!("{HEADER}/a file 80 0 -2\n").as_bytes());
        assert_eq!(names(&machine.read(700)), ["/a", "_Total"]);
        assert_eq!(numbers(&mut machine, "/a"), [0, 80, 80, 80]);
        assert_eq!(numbers(&mut machine, "_Total"), [0, 80, 80, 80]);
        machine.write("proc/swaps", &text(1, 2));
        assert_eq!(numbers(&mut machine, "/b"), [2, 200, 2, 200]);
    }

    #[test]
    fn areas_above_four_tebibytes_keep_their_share() {
        let text = format!("{HEADER}/a file {} {} -2\n", 1_u64 << 33, 1_u64 << 32);
        let mut machine = Machine::new(&[("proc/swaps", text.as_bytes())]);
        assert_eq!(numbers(&mut machine, "_Total"), [1 << 30, 1 << 31, 1 << 30, 1 << 31]);
    }

    #[test]
    fn without_swap_nothing_is_in_use() {
        for text in [HEADER, ""] {
            let mut machine = Machine::new(&[("proc/swaps", text.as_bytes())]);
            assert_eq!(names(&machine.read(700)), ["_Total"]);
            assert_eq!(numbers(&mut machine, "_Total"), [0, 1, 0, 1]);
        }
    }

    #[test]
    fn a_file_that_is_missing_or_damaged() {
        for (files, absence) in [
            (&[][..], Absence::NotInThisKernel),
            (&[("proc/swaps", b"Name\n".as_slice())], Absence::ReadFailed),
        ] {
            let snapshot = Machine::new(files).read(700);
            assert_eq!(names(&snapshot), ["_Total"]);
            let states = [0, 1, 2, 3].map(|position| instance(&snapshot, "_Total").state(position));
            assert_eq!(states, [ValueState::Absent(absence); 4]);
        }
    }

    #[test]
    fn the_running_kernel() {
        let snapshot = collect(&mut System::open().unwrap(), 700, &Interest::everything());
        let text = std::fs::read_to_string("/proc/swaps").unwrap();
        let size: u64 = text.lines().skip(1).map(|line| column(line, 2)).sum();
        let total = instance(&snapshot, "_Total");
        assert_eq!(names(&snapshot).len(), text.lines().count().max(1));
        if size <= u64::from(u32::MAX) {
            assert_eq!(raw(&total, At::PercentUsageBase.at()), Ok(size.max(1)));
        }
        assert!(raw(&total, 0).unwrap() <= raw(&total, 1).unwrap());
    }

    /// A column counted from the end, because the path may contain blanks.
    fn column(line: &str, number: usize) -> u64 {
        let fields: Vec<&str> = line.split_whitespace().collect();
        fields[fields.len() - 5 + number].parse().unwrap()
    }
}
