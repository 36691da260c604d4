//! Thermal Zone Information: one instance per thermal zone.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use tallymon_provider::{
    Absence, CollectRequest, DetailLevel, Frequency, InstanceKind, ObjectLayout, ObjectSpec, ObjectsWriter,
    PerfTime, TitleIndex,
};

use super::object::Object;
use super::spec::{Origin, object, rows};
use super::table::{folders, list, write};
use crate::kernel::proc::scan::{decimal, signed_decimal};
use crate::sources::Sources;

rows! { COUNTERS, ORIGINS {
    900_602 PERF_COUNTER_RAWCOUNT -1 NOVICE: E "temp + 273150 / 1000" "2.6.25";
    900_604 PERF_COUNTER_RAWCOUNT -2 ADVANCED: E "temp + 273150 / 100" "2.6.25";
    900_606 PERF_COUNTER_RAWCOUNT 0 ADVANCED: A "cdev*/cur_state, cdev*/max_state" "2.6.25";
    900_608 PERF_COUNTER_RAWCOUNT 0 ADVANCED:
        A "cdev*/cur_state, /sys/devices/system/cpu/cpu*/thermal_throttle/package_throttle_count" "2.6.25";
}}

/// The bit of Throttle Reasons for heat.
const TOO_HOT: u64 = 1;

/// The object Thermal Zone Information. Temperatures are in kelvins and in tenths of a kelvin, as on Windows.
pub(super) struct ThermalZones {
    layout: ObjectLayout<'static>,
    /// The package throttling count of the CPUs at the last sample.
    throttled: Option<u64>,
}

impl ThermalZones {
    pub(super) fn new() -> ThermalZones {
        let spec = object(900_600, 900_601, DetailLevel::ADVANCED, 0, InstanceKind::Many, COUNTERS);
        ThermalZones { layout: ObjectLayout::new(spec), throttled: None }
    }

    /// Whether CPUs were throttled since the last sample. That takes two files per CPU, so it is only read
    /// when requested.
    fn slowed(&mut self, ask: &CollectRequest<'_>, sources: &mut Sources) -> Result<u64, Absence> {
        if ask.interest.is_everything() || !ask.interest.wants(TitleIndex(900_600), TitleIndex(900_608)) {
            return Err(Absence::NotRequested);
        }
        let count = package_throttles(sources)?;
        let before = self.throttled.replace(count).ok_or(Absence::FirstSample)?;
        Ok(if before == count { 0 } else { TOO_HOT })
    }
}

impl Object for ThermalZones {
    fn spec(&self) -> &ObjectSpec<'static> {
        self.layout.spec()
    }

    fn origins(&self) -> &'static [Origin] {
        ORIGINS
    }

    fn collect(&mut self, ask: &CollectRequest<'_>, sources: &mut Sources, out: &mut ObjectsWriter<'_>) {
        let slowed = self.slowed(ask, sources);
        let mut object = out.object(&self.layout, PerfTime(0), Frequency(0));
        let zones = folders(sources, "class/thermal", |name| name.starts_with("thermal_zone"));
        for (zone, folder) in zones.unwrap_or_default() {
            let kind = std::fs::read_to_string(folder.join("type")).ok();
            let kind = kind.as_deref().map(str::trim);
            let temperature = temperature(sources, folder.join("temp"));
            let limit = passive_limit(sources, folder);
            let mut reasons = limit.map(|limit| if limit < 100 { TOO_HOT } else { 0 });
            // The zone of the CPU package: CPUs throttle themselves, and count it.
            if kind == Some("x86_pkg_temp") {
                reasons = match (reasons, slowed) {
                    (Ok(one), Ok(other)) => Ok(one | other),
                    (Ok(TOO_HOT), _) => Ok(TOO_HOT),
                    (Ok(_) | Err(_), Err(Absence::NotRequested)) => reasons,
                    (_, slowed) => slowed,
                };
            }
            let values = [
                temperature.map(|thousandths| thousandths / 1000),
                temperature.map(|thousandths| thousandths / 100),
                limit,
                reasons,
            ];
            write(COUNTERS, &mut object.instance(&name(&zone, kind), None, None), &values, 0);
        }
    }
}

/// The number of the zone and its type: `0 x86_pkg_temp`. Types alone need not be unique.
fn name(zone: &str, kind: Option<&str>) -> String {
    let number = zone.strip_prefix("thermal_zone").unwrap_or(zone);
    match kind {
        Some(kind) => format!("{number} {kind}"),
        None => number.to_string(),
    }
}

/// A temperature of the zone in thousandths of a kelvin; values below absolute zero are invalid.
fn temperature(sources: &mut Sources, file: PathBuf) -> Result<u64, Absence> {
    let celsius = signed_decimal(sources.text_of(file)?.trim_ascii()).ok_or(Absence::ReadFailed)?;
    u64::try_from(celsius.saturating_add(273_150)).map_err(|_| Absence::OutOfRange)
}

/// How much of their speed the devices of a zone may still use, in percent: `100 - 100 * state / highest
/// state` of the most limited one. Fans cool without limiting. A zone with only fans, or nothing, has no
/// value.
fn passive_limit(sources: &mut Sources, zone: PathBuf) -> Result<u64, Absence> {
    let is_link =
        |name: &str| name.strip_prefix("cdev").is_some_and(|number| decimal(number.as_bytes()).is_some());
    let mut least = Err(Absence::NotFromThisDevice);
    for (_, device) in list(zone, is_link)? {
        if is_fan(&device) {
            continue;
        }
        let mut state = |file: &str| -> Result<u64, Absence> {
            decimal(sources.text_of(device.join(file))?.trim_ascii()).ok_or(Absence::ReadFailed)
        };
        let (Ok(now), Ok(highest)) = (state("cur_state"), state("max_state")) else { continue };
        let Some(taken) = now.min(highest).saturating_mul(100).checked_div(highest) else { continue };
        let left = 100_u64.saturating_sub(taken);
        least = Ok(least.unwrap_or(100).min(left));
    }
    least
}

fn is_fan(device: &Path) -> bool {
    let kind = std::fs::read_to_string(device.join("type")).unwrap_or_default();
    kind.to_ascii_lowercase().contains("fan")
}

/// How often CPUs were throttled because of the heat of their package. Every CPU shows the count of its
/// package, so the largest per package counts.
fn package_throttles(sources: &mut Sources) -> Result<u64, Absence> {
    let is_processor =
        |name: &str| name.strip_prefix("cpu").is_some_and(|number| decimal(number.as_bytes()).is_some());
    let mut packages: BTreeMap<Vec<u8>, u64> = BTreeMap::new();
    for (_, folder) in folders(sources, "devices/system/cpu", is_processor)? {
        let count =
            sources.text_of(folder.join("thermal_throttle/package_throttle_count")).map(<[u8]>::to_vec);
        let Some(count) = count.ok().and_then(|text| decimal(text.trim_ascii())) else { continue };
        let package = sources.text_of(folder.join("topology/physical_package_id")).map(<[u8]>::to_vec);
        let largest = packages.entry(package.unwrap_or_default()).or_default();
        *largest = count.max(*largest);
    }
    if packages.is_empty() {
        return Err(Absence::NotFromThisDevice);
    }
    Ok(packages.values().fold(0_u64, |sum, count| sum.wrapping_add(*count)))
}

#[cfg(test)]
mod tests {
    use super::super::fake_machine_tests::{Machine, instance, named, names};
    use super::*;
    use tallymon_provider::{Interest, ValueState};

    const NO_DEVICE: Result<u64, ValueState> = Err(ValueState::Absent(Absence::NotFromThisDevice));

    #[test]
    fn zones_in_kelvins() {
        let mut machine = Machine::new(&[
            ("sys/class/thermal/thermal_zone0/type", b"acpitz\n"),
            ("sys/class/thermal/thermal_zone0/temp", b"27850\n"),
            ("sys/class/thermal/thermal_zone1/type", b"x86_pkg_temp\n"),
            ("sys/class/thermal/thermal_zone1/temp", b"-5500\n"),
            ("sys/class/thermal/thermal_zone2/temp", b"-300000\n"),
            ("sys/class/thermal/cooling_device0/cur_state", b"0\n"),
        ]);
        let snapshot = machine.read(900_600);
        assert_eq!(names(&snapshot), ["0 acpitz", "1 x86_pkg_temp", "2"]);
        let zone = instance(&snapshot, "0 acpitz");
        assert_eq!((named(&zone, 900_602), named(&zone, 900_604)), (Ok(301), Ok(3010)));
        assert_eq!((named(&zone, 900_606), named(&zone, 900_608)), (NO_DEVICE, NO_DEVICE));
        assert_eq!(named(&instance(&snapshot, "1 x86_pkg_temp"), 900_602), Ok(267), "below freezing");
        let impossible = Err(ValueState::Absent(Absence::OutOfRange));
        assert_eq!(named(&instance(&snapshot, "2"), 900_602), impossible);
        assert!(Machine::new(&[]).read(900_600).objects().next().unwrap().instances().next().is_none());
    }

    #[test]
    fn throttled_devices_of_a_zone() {
        let zone = "sys/class/thermal/thermal_zone0";
        let device = |number: u32, kind: &str, now: &str, highest: &str| {
            [("type", kind), ("cur_state", now), ("max_state", highest)]
                .map(|(file, text)| (format!("{zone}/cdev{number}/{file}"), format!("{text}\n")))
        };
        let mut files = vec![(format!("{zone}/cdev0_trip_point"), "1\n".to_string())];
        files.extend(device(0, "Processor", "2", "8"));
        files.extend(device(1, "Fan", "9", "10"));
        files.extend(device(2, "thermal-cpufreq-0", "1", "3"));
        files.extend(device(3, "intel_powerclamp", "-1", "50"));
        let files: Vec<(&str, &[u8])> =
            files.iter().map(|(path, text)| (path.as_str(), text.as_bytes())).collect();
        let mut machine = Machine::new(&files);
        let snapshot = machine.read(900_600);
        let values = instance(&snapshot, "0");
        assert_eq!((named(&values, 900_606), named(&values, 900_608)), (Ok(67), Ok(TOO_HOT)));
        machine.write(&format!("{zone}/cdev0/cur_state"), b"0\n");
        machine.write(&format!("{zone}/cdev2/cur_state"), b"0\n");
        let snapshot = machine.read(900_600);
        let values = instance(&snapshot, "0");
        assert_eq!((named(&values, 900_606), named(&values, 900_608)), (Ok(100), Ok(0)));
    }

    #[test]
    fn a_throttled_cpu_package() {
        let count = |processor: u32| {
            format!("sys/devices/system/cpu/cpu{processor}/thermal_throttle/package_throttle_count")
        };
        let (first, second) = (count(0), count(1));
        let mut machine = Machine::new(&[
            ("sys/class/thermal/thermal_zone0/type", b"x86_pkg_temp\n"),
            (&first, b"7\n"),
            (&second, b"7\n"),
        ]);
        let mut interest = Interest::everything();
        interest.add_object(TitleIndex(900_600));
        let reasons = |machine: &mut Machine| {
            let snapshot = machine.read_only(900_600, &interest);
            named(&instance(&snapshot, "0 x86_pkg_temp"), 900_608)
        };
        assert_eq!(reasons(&mut machine), Err(ValueState::Absent(Absence::FirstSample)));
        assert_eq!(reasons(&mut machine), Ok(0));
        machine.write(&second, b"8\n");
        assert_eq!(reasons(&mut machine), Ok(TOO_HOT));
        assert_eq!(reasons(&mut machine), Ok(0), "not any more");
        let snapshot = machine.read(900_600);
        assert_eq!(named(&instance(&snapshot, "0 x86_pkg_temp"), 900_608), NO_DEVICE, "never in a sweep");
    }
}
