//! Packets of StatsD: <https://github.com/statsd/statsd/blob/master/docs/metric_types.md>.
//!
//! StatsD has no labels: the instance is the last part of the name. It has no numbers since the start either,
//! so a counter is the difference from the row before, and an average is that of the interval. Texts are left
//! out. A packet has as many lines as fit into it.

use std::collections::HashMap;

use tallymon_core::flow::Row;

use crate::metric::Figure;
use crate::series::{Family, Point, Series};

/// Writes rows as packets of StatsD.
#[derive(Debug)]
pub struct Statsd {
    /// Bytes of a packet.
    limit: usize,
    /// The sums and counts of the row before.
    before: HashMap<String, (Figure, Figure)>,
}

impl Statsd {
    /// A writer of packets of at most so many bytes: 1432 fit through every Ethernet.
    pub fn new(limit: usize) -> Statsd {
        Statsd { limit, before: HashMap::new() }
    }

    /// The packets of a row. A line that is longer than a packet is left out.
    pub fn packets(&mut self, families: &[Family], row: &Row<'_>) -> Vec<String> {
        let (mut packets, mut packet) = (Vec::new(), String::new());
        let mut now = HashMap::with_capacity(self.before.len());
        for family in families {
            for series in &family.series {
                let Some(point) = family.point(series, row) else { continue };
                let end = if matches!(point, Point::Counter(_)) { "_total" } else { "" };
                let name = name(family, end, series);
                let Some(line) = self.line(name, point, &mut now) else { continue };
                if line.len() > self.limit {
                    continue;
                }
                if packet.len().saturating_add(line.len()).saturating_add(1) > self.limit {
                    packets.push(std::mem::take(&mut packet));
                }
                if !packet.is_empty() {
                    packet.push('\n');
                }
                packet.push_str(&line);
            }
        }
        self.before = now;
        if !packet.is_empty() {
            packets.push(packet);
        }
        packets
    }

    fn line(
        &self,
        name: String,
        point: Point<'_>,
        now: &mut HashMap<String, (Figure, Figure)>,
    ) -> Option<String> {
        let none = Figure::Whole(0);
        match point {
            Point::Gauge(value) => {
                // A sign would mean a change of the gauge.
                let value = value.real();
                (value.is_finite() && value >= 0.0).then(|| format!("{name}:{value}|g"))
            }
            Point::Counter(sum) => {
                let before = self.before.get(&name).copied();
                let line = before.and_then(|before| Some(format!("{name}:{}|c", grown(before.0, sum)?)));
                now.insert(name, (sum, none));
                line
            }
            Point::Summary { sum, count } => {
                let before = self.before.get(&name).copied();
                let line = before.and_then(|before| {
                    let average = grown(before.0, sum)? / grown(before.1, count)?;
                    average.is_finite().then(|| format!("{name}:{average}|g"))
                });
                now.insert(name, (sum, count));
                line
            }
            Point::Info(_) => None,
        }
    }
}

/// How much a number has grown; `None` after a reset.
fn grown(before: Figure, now: Figure) -> Option<f64> {
    let difference = match (before, now) {
        (Figure::Whole(before), Figure::Whole(now)) => now.checked_sub(before)? as f64,
        _ => now.real() - before.real(),
    };
    (difference.is_finite() && difference >= 0.0).then_some(difference)
}

/// The name with host and instance behind it. Characters that have a meaning for StatsD or Graphite become
/// `_`.
fn name(family: &Family, end: &str, series: &Series) -> String {
    let mut name = format!("{}{end}", family.name);
    for (_, value) in &series.labels {
        name.push('.');
        let plain = |letter: char| if letter.is_alphanumeric() || letter == '-' { letter } else { '_' };
        name.extend(value.chars().map(plain));
    }
    name
}
