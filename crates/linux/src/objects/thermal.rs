//! Thermal Zone Information: one instance a thermal zone.

use std::path::Path;

use super::spec::rows;
use super::table::{Table, folders};

rows! { COUNTERS, ORIGINS {
    900_602 PERF_COUNTER_RAWCOUNT -1 NOVICE: E "temp + 273150 / 1000";
    900_604 PERF_COUNTER_RAWCOUNT -2 ADVANCED: E "temp + 273150 / 100";
    900_606 PERF_COUNTER_RAWCOUNT 0 ADVANCED: N;
    900_608 PERF_COUNTER_RAWCOUNT 0 ADVANCED: N;
}}

/// The object Thermal Zone Information. Temperatures are in kelvins and in tenths of a kelvin, as Windows gives them.
pub(super) fn new() -> Table {
    Table::many(900_600, COUNTERS, ORIGINS, |sources| {
        let zones = folders(sources, "class/thermal", |name| name.starts_with("thermal_zone"))?;
        Ok(zones.into_iter().map(|(zone, folder)| (name(&zone, &folder), folder)).collect())
    })
}

/// The number of the zone and its kind: `0 x86_pkg_temp`. Kinds alone may be equal.
fn name(zone: &str, folder: &Path) -> String {
    let number = zone.strip_prefix("thermal_zone").unwrap_or(zone);
    match std::fs::read_to_string(folder.join("type")) {
        Ok(kind) => format!("{number} {}", kind.trim()),
        Err(_) => number.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::fake::{Machine, instance, named, names};

    #[test]
    fn zones_in_kelvins() {
        let mut machine = Machine::new(&[
            ("sys/class/thermal/thermal_zone0/type", b"acpitz\n"),
            ("sys/class/thermal/thermal_zone0/temp", b"27850\n"),
            ("sys/class/thermal/thermal_zone1/type", b"x86_pkg_temp\n"),
            ("sys/class/thermal/thermal_zone1/temp", b"-5500\n"),
            ("sys/class/thermal/cooling_device0/cur_state", b"0\n"),
        ]);
        let snapshot = machine.read(900_600);
        assert_eq!(names(&snapshot), ["0 acpitz", "1 x86_pkg_temp"]);
        let zone = instance(&snapshot, "0 acpitz");
        assert_eq!((named(&zone, 900_602), named(&zone, 900_604)), (Ok(301), Ok(3010)));
        assert_eq!(named(&instance(&snapshot, "1 x86_pkg_temp"), 900_602), Ok(267), "below freezing");
        assert!(Machine::new(&[]).read(900_600).objects().next().unwrap().instances().next().is_none());
    }
}
