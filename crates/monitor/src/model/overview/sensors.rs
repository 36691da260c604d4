//! Temperatures, batteries, power and fans.

use crate::model::overview::counters::Metric;
use crate::model::overview::gather::Gatherer;
use crate::model::overview::view::{Sensor, SensorKind};

/// Tenths of a kelvin at 0 degrees Celsius.
const FREEZING: f64 = 2731.5;

impl Gatherer<'_> {
    /// The sensors that have a value or had one. A machine without sensors has none, and a sensor that its
    /// driver does not fill is left out.
    pub(super) fn sensors(&self) -> Vec<Sensor> {
        let milli = |number: f64| number / 1000.0;
        let mut all = self.of_kind(Metric::Temperature, SensorKind::Temperature, |number| number);
        if all.is_empty() {
            // The chips have the temperatures of zones too, with better names.
            all = self.of_kind(Metric::Zone, SensorKind::Temperature, |number| (number - FREEZING) / 10.0);
        }
        let heat = |sensor: &Sensor| sensor.gauge.number().unwrap_or(f64::NEG_INFINITY);
        all.sort_by(|one, other| heat(other).total_cmp(&heat(one)));
        all.extend(self.of_kind(Metric::Charge, SensorKind::Charge, |number| number));
        all.extend(self.of_kind(Metric::BatteryPower, SensorKind::Power, milli));
        all.extend(self.of_kind(Metric::Power, SensorKind::Power, milli));
        all.extend(self.of_kind(Metric::Fan, SensorKind::Fan, |number| number));
        all
    }

    fn of_kind(&self, metric: Metric, kind: SensorKind, change: impl Fn(f64) -> f64) -> Vec<Sensor> {
        let sensor = |instance: String| Sensor {
            gauge: self.instance(metric, &instance, &change),
            name: short_name(&instance),
            kind,
        };
        let has_value = |sensor: &Sensor| {
            sensor.gauge.value.is_ok() || sensor.gauge.history.iter().any(|number| number.is_finite())
        };
        self.instances(&[metric]).into_iter().map(sensor).filter(has_value).collect()
    }
}

/// The chip and the label of a sensor: `2 coretemp temp1 Package id 0` is `coretemp Package id 0`.
fn short_name(instance: &str) -> String {
    let is_number =
        |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit() || byte == b':');
    let words: Vec<&str> = instance.split_whitespace().collect();
    let rest = match words.as_slice() {
        [number, rest @ ..] if is_number(number) && !rest.is_empty() => rest,
        all => all,
    };
    let is_input =
        |word: &str| ["temp", "fan"].iter().any(|kind| word.strip_prefix(kind).is_some_and(is_number));
    match rest {
        [chip, input, label @ ..] if is_input(input) && !label.is_empty() => {
            format!("{chip} {}", label.join(" "))
        }
        _ => rest.join(" "),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_chip_and_label() {
        for (instance, name) in [
            ("2 coretemp temp1 Package id 0", "coretemp Package id 0"),
            ("0 nvme temp1", "nvme temp1"),
            ("0 acpitz", "acpitz"),
            ("0", "0"),
            ("BAT0", "BAT0"),
            ("intel-rapl:0 package-0", "intel-rapl:0 package-0"),
            ("TZ00", "TZ00"),
            ("1 nct6775 fan2 CPU", "nct6775 CPU"),
            ("1  temp1", "temp1"),
            ("", ""),
        ] {
            assert_eq!(short_name(instance), name);
        }
    }
}
