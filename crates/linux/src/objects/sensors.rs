//! Power Supply, Fan and Voltage Sensor: values from the drivers of batteries and sensors.

use std::path::{Path, PathBuf};

use tallymon_provider::Absence;

use super::spec::rows;
use super::table::{Table, folders, list};
use crate::sources::Sources;

rows! { SUPPLY_COUNTERS, SUPPLY_ORIGINS {
    904_002 PERF_COUNTER_RAWCOUNT 0 NOVICE: E "capacity" "2.6.23";
    904_004 PERF_COUNTER_LARGE_RAWCOUNT -3 NOVICE: E "energy_now / 1000" "2.6.23";
    904_006 PERF_COUNTER_LARGE_RAWCOUNT -3 ADVANCED: E "energy_full / 1000" "2.6.23";
    904_008 PERF_COUNTER_LARGE_RAWCOUNT -3 ADVANCED: E "energy_full_design / 1000" "2.6.23";
    904_010 PERF_COUNTER_RAWCOUNT -2 NOVICE: E "power_now / 1000" "2.6.30";
    904_012 PERF_COUNTER_RAWCOUNT -2 ADVANCED: E "voltage_now / 1000" "2.6.23";
    904_014 PERF_COUNTER_RAWCOUNT 0 ADVANCED: E "cycle_count" "2.6.34";
    904_016 PERF_COUNTER_RAWCOUNT 0 ADVANCED: E "online" "2.6.23";
}}

rows! { FAN_COUNTERS, FAN_ORIGINS {
    904_202 PERF_COUNTER_RAWCOUNT -2 NOVICE: E "input";
    904_204 PERF_COUNTER_RAWCOUNT -2 ADVANCED: E "min";
    904_206 PERF_COUNTER_RAWCOUNT 0 ADVANCED: E "alarm";
}}

rows! { VOLTAGE_COUNTERS, VOLTAGE_ORIGINS {
    904_402 PERF_COUNTER_RAWCOUNT -2 NOVICE: E "input";
    904_404 PERF_COUNTER_RAWCOUNT -2 ADVANCED: E "min";
    904_406 PERF_COUNTER_RAWCOUNT -2 ADVANCED: E "max";
    904_408 PERF_COUNTER_RAWCOUNT 0 ADVANCED: E "alarm";
}}

/// The object Power Supply: batteries and mains, by the names of their drivers. Energy is in milliwatt hours.
pub(super) fn supplies() -> Table {
    Table::many(904_000, SUPPLY_COUNTERS, SUPPLY_ORIGINS, |sources| {
        folders(sources, "class/power_supply", |_| true)
    })
}

/// The object Fan.
pub(super) fn fans() -> Table {
    Table::many(904_200, FAN_COUNTERS, FAN_ORIGINS, |sources| sensors(sources, "fan")).at(file_of_sensor)
}

/// The object Voltage Sensor. A negative voltage is shown as 0, because raw counts have no sign.
pub(super) fn voltages() -> Table {
    Table::many(904_400, VOLTAGE_COUNTERS, VOLTAGE_ORIGINS, |sources| sensors(sources, "in"))
        .at(file_of_sensor)
}

/// The files of a sensor are in the directory of its chip and begin with its name: `fan1_input`.
pub(super) fn file_of_sensor(_: &mut Sources, sensor: &Path, file: &str) -> Result<PathBuf, Absence> {
    let mut path = sensor.as_os_str().to_owned();
    path.push("_");
    path.push(file);
    Ok(PathBuf::from(path))
}

/// The sensors of one kind: the number and name of the chip, and the label or name of the sensor.
pub(super) fn sensors(sources: &mut Sources, kind: &str) -> Result<Vec<(String, PathBuf)>, Absence> {
    let read = |path: PathBuf| std::fs::read_to_string(path).ok().map(|text| text.trim().to_string());
    let mut found = Vec::new();
    for (chip, folder) in folders(sources, "class/hwmon", |name| name.starts_with("hwmon"))? {
        let number = chip.strip_prefix("hwmon").unwrap_or(&chip);
        let chip = read(folder.join("name")).unwrap_or_default();
        let is_sensor = |file: &str| {
            let number = file.strip_prefix(kind).and_then(|rest| rest.strip_suffix("_input"));
            number.is_some_and(|number| number.bytes().all(|byte| byte.is_ascii_digit()))
        };
        for (file, _) in list(folder.clone(), is_sensor)? {
            let sensor = file.strip_suffix("_input").unwrap_or(&file);
            let label = read(folder.join(format!("{sensor}_label")));
            // Labels on a chip may be equal, its own names never are.
            let label = label.map_or(sensor.to_string(), |label| format!("{sensor} {label}"));
            found.push((format!("{number} {chip} {label}"), folder.join(sensor)));
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::super::fake_machine_tests::{Machine, instance, named, names};
    use tallymon_provider::{Absence, ValueState};

    const MISSING: Result<u64, ValueState> = Err(ValueState::Absent(Absence::NotInThisKernel));

    #[test]
    fn batteries_and_mains() {
        let mut machine = Machine::new(&[
            ("sys/class/power_supply/AC/online", b"1\n"),
            ("sys/class/power_supply/BAT0/capacity", b"87\n"),
            ("sys/class/power_supply/BAT0/energy_now", b"43500000\n"),
            ("sys/class/power_supply/BAT0/voltage_now", b"12345000\n"),
        ]);
        let snapshot = machine.read(904_000);
        assert_eq!(names(&snapshot), ["AC", "BAT0"]);
        let mains = instance(&snapshot, "AC");
        assert_eq!((named(&mains, 904_016), named(&mains, 904_002)), (Ok(1), MISSING));
        let battery = instance(&snapshot, "BAT0");
        assert_eq!((named(&battery, 904_002), named(&battery, 904_004)), (Ok(87), Ok(43_500)));
        assert_eq!((named(&battery, 904_012), named(&battery, 904_010)), (Ok(12_345), MISSING));
    }

    #[test]
    fn fans_and_voltages_by_chip_and_label() {
        let mut machine = Machine::new(&[
            ("sys/class/hwmon/hwmon0/name", b"nct6775\n"),
            ("sys/class/hwmon/hwmon0/fan1_input", b"1200\n"),
            ("sys/class/hwmon/hwmon0/fan1_label", b"CPU\n"),
            ("sys/class/hwmon/hwmon0/fan10_input", b"0\n"),
            ("sys/class/hwmon/hwmon0/fan2_input", b"700\n"),
            ("sys/class/hwmon/hwmon0/fan2_min", b"300\n"),
            ("sys/class/hwmon/hwmon0/in0_input", b"1056\n"),
            ("sys/class/hwmon/hwmon0/in1_input", b"-12\n"),
            ("sys/class/hwmon/hwmon0/intrusion0_input", b"1\n"),
        ]);
        let snapshot = machine.read(904_200);
        assert_eq!(names(&snapshot), ["0 nct6775 fan1 CPU", "0 nct6775 fan2", "0 nct6775 fan10"]);
        assert_eq!(named(&instance(&snapshot, "0 nct6775 fan1 CPU"), 904_202), Ok(1200));
        let second = instance(&snapshot, "0 nct6775 fan2");
        assert_eq!((named(&second, 904_204), named(&second, 904_206)), (Ok(300), MISSING));
        let snapshot = machine.read(904_400);
        assert_eq!(names(&snapshot), ["0 nct6775 in0", "0 nct6775 in1"]);
        assert_eq!(named(&instance(&snapshot, "0 nct6775 in0"), 904_402), Ok(1056));
        assert_eq!(named(&instance(&snapshot, "0 nct6775 in1"), 904_402), Ok(0));
    }
}
