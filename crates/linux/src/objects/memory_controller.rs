//! Memory Controller: errors that controllers of memory found and corrected, or could not correct (EDAC).

use super::spec::rows;
use super::table::{Table, folders};

rows! { COUNTERS, ORIGINS {
    910_802 PERF_COUNTER_LARGE_RAWCOUNT 0 NOVICE: E "ce_count" "2.6.16";
    910_804 PERF_COUNTER_LARGE_RAWCOUNT 0 NOVICE: E "ue_count" "2.6.16";
    910_806 PERF_COUNTER_LARGE_RAWCOUNT -9 ADVANCED: E "size_mb * 1048576" "2.6.16";
}}

/// The object Memory Controller. A machine without memory that corrects errors, or without a driver for its
/// controllers, has no instance.
pub(super) fn controllers() -> Table {
    Table::many(910_800, COUNTERS, ORIGINS, |sources| {
        let is_controller = |name: &str| {
            let number = name.strip_prefix("mc").unwrap_or_default();
            !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit())
        };
        folders(sources, "devices/system/edac/mc", is_controller)
    })
}

#[cfg(test)]
mod tests {
    use super::super::fake_machine_tests::{Machine, instance, named, names};
    use tallymon_provider::{Absence, ValueState};

    /// The files have the form of the kernel's driver-api/edac.rst.
    #[test]
    fn errors_of_each_controller() {
        let mut machine = Machine::new(&[
            ("sys/devices/system/edac/mc/mc0/ce_count", b"3\n"),
            ("sys/devices/system/edac/mc/mc0/ue_count", b"0\n"),
            ("sys/devices/system/edac/mc/mc0/size_mb", b"16384\n"),
            ("sys/devices/system/edac/mc/mc0/rank0/dimm_ce_count", b"3\n"),
            ("sys/devices/system/edac/mc/mc10/ce_count", b"18446744073709551615\n"),
            ("sys/devices/system/edac/mc/mc10/ue_count", b"not a number\n"),
            ("sys/devices/system/edac/mc/mc2/ce_count", b"0\n"),
            ("sys/devices/system/edac/mc/power/control", b"auto\n"),
            ("sys/devices/system/edac/mc/mcx/ce_count", b"1\n"),
        ]);
        let snapshot = machine.read(910_800);
        assert_eq!(names(&snapshot), ["mc0", "mc2", "mc10"]);
        let first = instance(&snapshot, "mc0");
        assert_eq!([910_802, 910_804, 910_806].map(|name| named(&first, name)), [Ok(3), Ok(0), Ok(16 << 30)]);
        let last = instance(&snapshot, "mc10");
        assert_eq!(named(&last, 910_802), Ok(u64::MAX));
        assert!(named(&last, 910_804).is_err());
        assert_eq!(named(&last, 910_806), Err(ValueState::Absent(Absence::NotInThisKernel)));
        machine.write("sys/devices/system/edac/mc/mc0/ue_count", b"1\n");
        assert_eq!(named(&instance(&machine.read(910_800), "mc0"), 910_804), Ok(1));
    }

    #[test]
    fn a_machine_without_such_memory_has_none() {
        let mut machine = Machine::new(&[("sys/devices/system/edac/power/control", b"auto\n")]);
        assert!(names(&machine.read(910_800)).is_empty());
    }
}
