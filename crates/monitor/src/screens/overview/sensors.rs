//! Draws temperatures, batteries, power and fans.

use ratatui::layout::Rect;
use ratatui::style::Style;

use crate::model::overview::{Folded, Limits, Pane, Sensor, SensorKind};
use crate::screens::overview::bars::{self, Scale};
use crate::screens::overview::draw::{MOST_HISTORY, Painter};
use crate::screens::overview::layout::Room;
use crate::screens::overview::words;
use crate::term::text::{cut_middle, put, put_right};

impl Painter<'_> {
    pub(super) fn sensors(&mut self, area: Rect) {
        let view = self.view;
        let theme = self.theme;
        let all = &view.sensors;
        if self.room == Room::Lines {
            let values: Vec<String> = one_of_each_kind(all).map(brief).collect();
            let path = all.first().map_or("", |sensor| sensor.gauge.path.as_str());
            let style = all.first().map_or(theme.plain(), |sensor| self.sensor_style(sensor));
            return self.line(Pane::Sensors, area, &values.join("  "), style, None, None, path);
        }
        let parts: Vec<(String, Style)> =
            one_of_each_kind(all).map(|sensor| (brief(sensor), self.sensor_style(sensor))).collect();
        self.heading(Pane::Sensors, area, &parts);
        let rows = usize::from(area.height.saturating_sub(1));
        let shown = if all.len() > rows { rows.saturating_sub(1) } else { all.len() };
        let mut lines = area.rows().skip(1);
        for sensor in all.iter().take(shown) {
            if let Some(line) = lines.next() {
                self.sensor(line, sensor);
            }
        }
        if let Some(line) = lines.next() {
            let names = all.iter().skip(shown);
            let names = names.map(|one| format!("{} {}", one.name, words::sensor_value(one))).collect();
            self.folded(line, &Folded { names, ..Folded::default() }, words::OTHERS);
        }
    }

    /// One sensor: its name, its value, and a history.
    fn sensor(&mut self, area: Rect, sensor: &Sensor) {
        let name = area.width.saturating_sub(9).min(32);
        put(self.buffer, area.x, area.y, name, &cut_middle(&sensor.name, name), self.theme.plain());
        let x = area.x.saturating_add(name);
        let value = match sensor.gauge.value {
            Ok(_) => words::sensor_value(sensor),
            Err(why) => self.missing(why),
        };
        put_right(self.buffer, x, area.y, 9, &value, self.sensor_style(sensor));
        let x = x.saturating_add(10);
        let left = area.right().saturating_sub(x);
        if left >= 6 {
            let history = &sensor.gauge.history;
            let (most, limits) = match sensor.kind {
                SensorKind::Temperature => (100.0, Some(Limits::HEAT)),
                SensorKind::Charge => (100.0, None),
                SensorKind::Power | SensorKind::Fan => {
                    (bars::round_most([&history[..]].into_iter(), 10.0), None)
                }
            };
            let scale = Scale { most, limits };
            bars::history(self.buffer, (x, area.y), left.min(MOST_HISTORY), history, scale, self.theme);
        }
        self.item(Pane::Sensors, area, &sensor.gauge.path);
    }

    /// Heat is coloured by its level, and an almost empty battery.
    fn sensor_style(&self, sensor: &Sensor) -> Style {
        match (sensor.kind, sensor.gauge.number()) {
            (SensorKind::Temperature, _) => self.percent_style(&sensor.gauge, Limits::HEAT),
            (SensorKind::Charge, Some(charge)) if charge <= LOW_CHARGE => self.theme.warning(),
            (_, None) => self.theme.dim(),
            _ => self.theme.plain(),
        }
    }
}

/// The charge in per cent from which on a battery is coloured.
const LOW_CHARGE: f64 = 15.0;

/// The first sensor of each kind: the hottest, the battery, the power, a fan.
fn one_of_each_kind(all: &[Sensor]) -> impl Iterator<Item = &Sensor> {
    let is_first =
        move |nth: usize, sensor: &Sensor| all.iter().take(nth).all(|earlier| earlier.kind != sensor.kind);
    let with_value = all.iter().enumerate().filter(move |(nth, sensor)| is_first(*nth, sensor));
    with_value.map(|(_, sensor)| sensor).filter(|sensor| sensor.gauge.value.is_ok())
}

/// A value that says what it is: per cent could be of anything.
fn brief(sensor: &Sensor) -> String {
    let value = words::sensor_value(sensor);
    if sensor.kind == SensorKind::Charge { format!("{} {value}", sensor.name) } else { value }
}

/// Rows that sensors need below their heading.
pub(super) fn rows_of(sensors: usize, room: Room) -> usize {
    let most = if room == Room::Wide { 5 } else { 2 };
    sensors.min(most)
}
