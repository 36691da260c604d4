//! Energy Meter: one instance per energy meter of the CPU (RAPL).
//!
//! Only root may read the energy, because its course reveals what is being computed.

use std::collections::BTreeMap;

use tallymon_provider::{
    Absence, CollectRequest, DetailLevel, Frequency, InstanceKind, ObjectLayout, ObjectSpec, ObjectsWriter,
    PerfTime,
};

use super::object::Object;
use super::spec::{Origin, object, rows};
use super::table::{folders, write};
use crate::kernel::proc::scan::decimal;
use crate::sources::Sources;

rows! { COUNTERS, ORIGINS {
    900_802 PERF_COUNTER_LARGE_RAWCOUNT -3 NOVICE: D "energy_uj" "3.13";
    900_804 PERF_COUNTER_LARGE_RAWCOUNT 0 ADVANCED: E "energy_uj * 2500 / 9" "3.13";
    900_806 PERF_COUNTER_LARGE_RAWCOUNT 0 ADVANCED: D "the clock of the sample";
}}

const SPEC: ObjectSpec<'static> =
    object(900_800, 900_801, DetailLevel::ADVANCED, 0, InstanceKind::Many, COUNTERS);

/// The object Energy Meter.
pub(super) struct EnergyMeter {
    layout: ObjectLayout<'static>,
    meters: BTreeMap<String, Meter>,
}

/// What is remembered of a meter between two samples.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Meter {
    /// The last reading, in microjoules.
    seen: u64,
    /// Microjoules of the wraps of the file.
    rounds: u64,
    /// The time of the reading, in 100 ns units.
    time: i64,
}

impl Meter {
    /// The next sample: the new state, the total in microjoules, and the milliwatts since the last one.
    fn next(
        before: Option<Meter>,
        seen: u64,
        range: Option<u64>,
        time: i64,
    ) -> (Meter, u64, Result<u64, Absence>) {
        let Some(before) = before else {
            return (Meter { seen, rounds: 0, time }, seen, Err(Absence::FirstSample));
        };
        let round = if seen < before.seen { range.unwrap_or(0).saturating_add(1) } else { 0 };
        let meter = Meter { seen, rounds: before.rounds.wrapping_add(round), time };
        let total = meter.rounds.wrapping_add(seen);
        let used = total.wrapping_sub(before.rounds.wrapping_add(before.seen));
        let units = time.saturating_sub(before.time).max(0).cast_unsigned();
        // 1 µJ in 100 ns is 10 W.
        let power = used.checked_mul(10_000).and_then(|used| used.checked_div(units));
        (meter, total, power.ok_or(Absence::FirstSample))
    }
}

impl EnergyMeter {
    pub(super) fn new() -> EnergyMeter {
        EnergyMeter { layout: ObjectLayout::new(SPEC), meters: BTreeMap::new() }
    }
}

impl Object for EnergyMeter {
    fn spec(&self) -> &ObjectSpec<'static> {
        self.layout.spec()
    }

    fn origins(&self) -> &'static [Origin] {
        ORIGINS
    }

    fn collect(&mut self, _ask: &CollectRequest<'_>, sources: &mut Sources, out: &mut ObjectsWriter<'_>) {
        // `intel-rapl` itself is the driver; names with a colon are meters or parts of one.
        let found = folders(sources, "class/powercap", |name| name.contains(':')).unwrap_or_default();
        let mut object = out.object(&self.layout, PerfTime(0), Frequency(0));
        let mut meters = BTreeMap::new();
        let time = sources.perf_time.0;
        for (number, folder) in found {
            let mut text = |file: &str| -> Result<Vec<u8>, Absence> {
                sources.text_of(folder.join(file)).map(|text| text.trim_ascii().to_vec())
            };
            let kind = text("name").unwrap_or_default();
            let name = format!("{} {}", number, String::from_utf8_lossy(&kind));
            let energy = text("energy_uj").and_then(|text| decimal(&text).ok_or(Absence::ReadFailed));
            let range = text("max_energy_range_uj").ok().and_then(|text| decimal(&text));
            let values = match energy {
                Ok(energy) => {
                    let before = self.meters.get(&number).copied();
                    let (meter, total, power) = Meter::next(before, energy, range, time);
                    meters.insert(number, meter);
                    let energy = u128::from(total).saturating_mul(2500).wrapping_div(9);
                    [power, u64::try_from(energy).map_err(|_| Absence::OutOfRange), Ok(time.cast_unsigned())]
                }
                Err(absence) => [Err(absence); 3],
            };
            write(COUNTERS, &mut object.instance(&name, None, None), &values, 0);
        }
        self.meters = meters;
    }
}

#[cfg(test)]
mod tests {
    use super::super::fake_machine_tests::{Machine, instance, named, names};
    use super::*;
    use tallymon_provider::ValueState;

    #[test]
    fn a_wrap_of_the_energy_file_is_no_decrease() {
        // 500 µJ before the end of the range, then 500 after it: 1001 µJ in 1 ms.
        let (meter, total, power) = Meter::next(None, 9_500, Some(10_000), 0);
        assert_eq!((total, power), (9_500, Err(Absence::FirstSample)));
        let (meter, total, power) = Meter::next(Some(meter), 500, Some(10_000), 10_000);
        assert_eq!((total, power), (10_501, Ok(1_001)));
        assert_eq!(
            Meter::next(Some(meter), 500, None, 10_000).2,
            Err(Absence::FirstSample),
            "no time passed"
        );
    }

    #[test]
    fn meters_and_their_parts() {
        let mut machine = Machine::new(&[
            ("sys/class/powercap/intel-rapl/enabled", b"1\n"),
            ("sys/class/powercap/intel-rapl:0/name", b"package-0\n"),
            ("sys/class/powercap/intel-rapl:0/energy_uj", b"9000000\n"),
            ("sys/class/powercap/intel-rapl:0/max_energy_range_uj", b"262143328850\n"),
            ("sys/class/powercap/intel-rapl:0:0/name", b"core\n"),
        ]);
        let snapshot = machine.read(900_800);
        assert_eq!(names(&snapshot), ["intel-rapl:0 package-0", "intel-rapl:0:0 core"]);
        let package = instance(&snapshot, "intel-rapl:0 package-0");
        // 9 J are 2.5 mWh.
        assert_eq!(named(&package, 900_804), Ok(2_500_000_000));
        assert_eq!(named(&package, 900_802), Err(ValueState::Absent(Absence::FirstSample)));
        let core = instance(&snapshot, "intel-rapl:0:0 core");
        assert_eq!(named(&core, 900_804), Err(ValueState::Absent(Absence::NotInThisKernel)));
        machine.write("sys/class/powercap/intel-rapl:0/energy_uj", b"9000001\n");
        let snapshot = machine.read(900_800);
        assert!(named(&instance(&snapshot, "intel-rapl:0 package-0"), 900_802).is_ok());
    }
}
