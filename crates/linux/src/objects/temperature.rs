//! Temperature Sensor: one instance per sensor of a chip (hwmon).

use tallymon_provider::{
    Absence, CollectRequest, DetailLevel, Frequency, InstanceKind, ObjectLayout, ObjectSpec, ObjectsWriter,
    PerfTime,
};

use super::object::Object;
use super::sensors::{file_of_sensor, sensors};
use super::spec::{Origin, object, rows};
use super::table::write;
use crate::kernel::proc::scan::signed_decimal;
use crate::sources::Sources;

rows! { COUNTERS, ORIGINS {
    910_202 PERF_DOUBLE_RAW 0 NOVICE: E "input / 1000";
    910_204 PERF_DOUBLE_RAW 0 ADVANCED: E "max / 1000";
    910_206 PERF_DOUBLE_RAW 0 ADVANCED: E "crit / 1000";
}}

/// The files of the counters, in their order.
const FILES: [&str; 3] = ["input", "max", "crit"];

const SPEC: ObjectSpec<'static> =
    object(910_200, 910_201, DetailLevel::ADVANCED, 0, InstanceKind::Many, COUNTERS);

/// The object Temperature Sensor, in degrees Celsius.
pub(super) struct TemperatureSensors {
    layout: ObjectLayout<'static>,
}

impl TemperatureSensors {
    pub(super) fn new() -> TemperatureSensors {
        TemperatureSensors { layout: ObjectLayout::new(SPEC) }
    }
}

impl Object for TemperatureSensors {
    fn spec(&self) -> &ObjectSpec<'static> {
        self.layout.spec()
    }

    fn origins(&self) -> &'static [Origin] {
        ORIGINS
    }

    fn collect(&mut self, ask: &CollectRequest<'_>, sources: &mut Sources, out: &mut ObjectsWriter<'_>) {
        let mut object = out.object(&self.layout, PerfTime(0), Frequency(0));
        for (name, sensor) in sensors(sources, "temp").unwrap_or_default() {
            // Chips can be slow, so a limit that nobody wants is not read.
            let values: Vec<Result<u64, Absence>> = COUNTERS
                .iter()
                .zip(FILES)
                .map(|(counter, file)| {
                    if !ask.interest.wants(SPEC.name, counter.name) {
                        return Err(Absence::NotRequested);
                    }
                    let path = file_of_sensor(sources, &sensor, file)?;
                    celsius(sources.text_of(path)?).map(f64::to_bits)
                })
                .collect();
            write(COUNTERS, &mut object.instance(&name, None, None), &values, 0);
        }
    }
}

/// `thousandths / 1000`, in degrees Celsius. Drivers write impossible numbers for sensors that nothing is
/// connected to.
fn celsius(text: &[u8]) -> Result<f64, Absence> {
    /// The coldest and the hottest reading that is believed, in thousandths of a degree.
    const POSSIBLE: std::ops::RangeInclusive<i32> = -273_150..=1_000_000;
    let thousandths = signed_decimal(text.trim_ascii()).ok_or(Absence::ReadFailed)?;
    let thousandths = i32::try_from(thousandths).map_err(|_| Absence::OutOfRange)?;
    if POSSIBLE.contains(&thousandths) {
        Ok(f64::from(thousandths) / 1000.0)
    } else {
        Err(Absence::OutOfRange)
    }
}

#[cfg(test)]
mod tests {
    use super::super::fake_machine_tests::{Machine, instance, named, names};
    use super::*;
    use tallymon_provider::{Interest, TitleIndex, ValueState};

    const CHIP: &str = "sys/class/hwmon/hwmon2";

    #[test]
    fn sensors_by_chip_and_label() {
        let mut machine = Machine::new(&[
            ("sys/class/hwmon/hwmon2/name", b"coretemp\n"),
            ("sys/class/hwmon/hwmon2/temp1_label", b"Package id 0\n"),
            ("sys/class/hwmon/hwmon2/temp1_input", b"61250\n"),
            ("sys/class/hwmon/hwmon2/temp1_max", b"80000\n"),
            ("sys/class/hwmon/hwmon2/temp1_crit", b"100000\n"),
            ("sys/class/hwmon/hwmon2/temp10_input", b"-5500\n"),
            ("sys/class/hwmon/hwmon2/temp2_input", b"1\n"),
            ("sys/class/hwmon/hwmon2/temperature_input", b"1\n"),
        ]);
        let snapshot = machine.read(910_200);
        let (package, cold) = ("2 coretemp temp1 Package id 0", "2 coretemp temp10");
        assert_eq!(names(&snapshot), [package, "2 coretemp temp2", cold]);
        let degrees = |name: &str, counter| named(&instance(&snapshot, name), counter).map(f64::from_bits);
        assert_eq!(degrees(package, 910_202), Ok(61.25));
        assert_eq!((degrees(package, 910_204), degrees(package, 910_206)), (Ok(80.0), Ok(100.0)));
        assert_eq!(degrees(cold, 910_202), Ok(-5.5), "below freezing");
        let absent = Err(ValueState::Absent(Absence::NotInThisKernel));
        assert_eq!(degrees(cold, 910_204), absent);
        // Limits that nobody wants are not read.
        let mut interest = Interest::everything();
        interest.add(TitleIndex(910_200), TitleIndex(910_202));
        let snapshot = machine.read_only(910_200, &interest);
        let not_requested = Err(ValueState::Absent(Absence::NotRequested));
        assert_eq!(named(&instance(&snapshot, package), 910_204), not_requested);
    }

    #[test]
    fn no_chips_and_impossible_readings() {
        let empty = Machine::new(&[]).read(910_200);
        assert!(names(&empty).is_empty());
        let mut machine = Machine::new(&[]);
        let input = format!("{CHIP}/temp1_input");
        for (text, reason) in [
            (&b"65261850\n"[..], Absence::OutOfRange),
            (b"-273151", Absence::OutOfRange),
            (b"9223372036854775807", Absence::OutOfRange),
            (b"99999999999999999999", Absence::ReadFailed),
            (b"", Absence::ReadFailed),
            (b"hot", Absence::ReadFailed),
            (b"61\xff00", Absence::ReadFailed),
        ] {
            machine.write(&input, text);
            let snapshot = machine.read(910_200);
            let value = named(&instance(&snapshot, "2  temp1"), 910_202);
            assert_eq!(value, Err(ValueState::Absent(reason)), "{text:?}");
        }
    }
}
