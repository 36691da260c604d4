//! The report as one SVG picture: a chart for each object, on the clock of the logs.

use std::fmt::Write as _;

use tallymon::core::time::FileTime;
use tallymon::log::zone::add_minutes;
use tallymon_monitor::model::format;
use tallymon_monitor::save::{COLOURS, DASHES, escaped};

use super::{Busy, Line, Report};
use crate::chart::Chart;
use crate::statistics::Figures;

const LEFT: f64 = 60.0;
const WIDTH: f64 = 960.0;
const HEIGHT: f64 = 200.0;
/// A line of text.
const LINE: f64 = 18.0;
/// The times below a chart.
const TIMES: u8 = 6;
/// Points of a line: the smallest and the largest value of each stretch.
const MOST_POINTS: usize = 1_920;
/// The most gaps and restarts.
const MOST_HOLES: usize = 5;
/// From here on times have their date.
const DAY: u64 = 24 * 3_600 * 10_000_000;

impl Report {
    /// The report as a picture: a chart for each object with its legend.
    pub fn svg(&mut self) -> String {
        let lines = self.lines();
        let mut objects: Vec<&str> = Vec::new();
        for line in &lines {
            if !objects.contains(&line.object.as_str()) {
                objects.push(&line.object);
            }
        }
        let mut body = String::new();
        let mut y = 2.0 * LINE;
        for object in objects {
            let own = lines.iter().enumerate().filter(|(_, line)| line.object == object);
            y = self.panel(object, &own.collect::<Vec<_>>(), y + LINE, &mut body);
        }
        y = self.words(y + LINE, &mut body);
        let title = self.logs.names.join(", ");
        let before = self.earlier.as_ref().map(|earlier| format!(" \u{2248} {}", earlier.names.join(", ")));
        let clock = &self.logs.summary.clock;
        let span = format!("{} - {}", clock.text(self.logs.first), clock.text(self.logs.last));
        // Writing to a string cannot fail, here and below.
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {} {}\" font-family=\"sans-serif\" \
             font-size=\"12\">\n<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n\
             <text x=\"8\" y=\"24\" font-size=\"15\">{}  {}</text>\n{body}</svg>\n",
            LEFT + WIDTH + 12.0,
            y + LINE,
            escaped(title + &before.unwrap_or_default()),
            escaped(span),
        )
    }

    /// Gaps, restarts and the busiest instances as lines of text below `top`; returns where they end.
    fn words(&self, top: f64, text: &mut String) -> f64 {
        let numbers = format::Numbers::default();
        let busiest = self.busiest.iter().map(|one| {
            let busy = |busy: &Busy| format!("{} {} {}", busy.name, numbers.number(busy.mean), one.unit);
            format!("{}: {}", one.title, one.instances.iter().map(busy).collect::<Vec<_>>().join(", "))
        });
        let mut y = top;
        for line in self.logs.holes(MOST_HOLES).into_iter().chain(busiest) {
            let _ = writeln!(text, "<text x=\"8\" y=\"{y}\">{}</text>", escaped(line));
            y += LINE;
        }
        y
    }

    /// The chart of an object below `top`; returns where it ends.
    fn panel(&self, object: &str, lines: &[(usize, &Line)], top: f64, text: &mut String) -> f64 {
        let _ = writeln!(text, "<text x=\"8\" y=\"{top}\" font-size=\"14\">{}</text>", escaped(object));
        let top = top + 10.0;
        let powers: Vec<i32> = lines.iter().map(|(_, line)| power(line)).collect();
        let scaled = lines.iter().zip(&powers).filter_map(|((_, line), power)| {
            let ends = [line.figures?, line.before.unwrap_or(line.figures?)];
            let (least, most) = (ends[0].min.min(ends[1].min), ends[0].max.max(ends[1].max));
            Some((least * 10f64.powi(*power), most * 10f64.powi(*power)))
        });
        let (least, most) =
            scaled.fold((0f64, 100f64), |(least, most), (low, high)| (least.min(low), most.max(high)));
        self.axes(top, least, most, text);
        let mut below = top + HEIGHT + 2.0 * LINE;
        for (nth, ((at, line), power)) in lines.iter().zip(&powers).enumerate() {
            let colour = COLOURS.get(nth % COLOURS.len()).copied().unwrap_or("#555555");
            let dash = DASHES.get(nth / COLOURS.len() % DASHES.len()).copied().unwrap_or_default();
            let y = |value: f64| {
                let share = (value * 10f64.powi(*power) - least) / (most - least);
                top + HEIGHT * (1.0 - share.clamp(0.0, 1.0))
            };
            let mut draw = |chart: &Chart, at: usize, shift: i64, more: &str| {
                let path = self.path(chart, at, shift, &y);
                let _ = writeln!(
                    text,
                    "<path d=\"{path}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"1.2\" \
                     stroke-linejoin=\"round\" {more}/>"
                );
            };
            if let (Some(before), Some(series)) = (&self.before, self.chart.series.get(*at))
                && let Some(at) = before.series.iter().position(|one| one.path == series.path)
            {
                draw(before, at, self.shift(), "stroke-dasharray=\"1 3\" opacity=\"0.8\"");
            }
            draw(&self.chart, *at, 0, &format!("stroke-dasharray=\"{dash}\""));
            let instance = line.instance.as_ref().map_or_else(String::new, |one| format!(" ({one})"));
            let words = format!("{}{instance}  x{}", line.counter, format::scale(*power));
            let _ = writeln!(
                text,
                "<path d=\"M{LEFT} {}h24\" stroke=\"{colour}\" stroke-width=\"2\" \
                 stroke-dasharray=\"{dash}\"/>\
                 <text x=\"{}\" y=\"{below}\">{}{}{}</text>",
                below - 4.0,
                LEFT + 32.0,
                escaped(words),
                figures(line.figures.as_ref(), line.unit),
                line.before.map_or_else(String::new, |before| format!(
                    "  \u{2248} {}",
                    figures(Some(&before), line.unit).trim_start()
                )),
            );
            below += LINE;
        }
        below
    }

    fn axes(&self, top: f64, least: f64, most: f64, text: &mut String) {
        for quarter in 0..=4u8 {
            let share = f64::from(quarter) / 4.0;
            let y = top + HEIGHT * (1.0 - share);
            let value = least + (most - least) * share;
            let _ = writeln!(
                text,
                "<path d=\"M{LEFT} {y}h{WIDTH}\" stroke=\"#dddddd\"/>\
                 <text x=\"{}\" y=\"{}\" text-anchor=\"end\">{value:.0}</text>",
                LEFT - 6.0,
                y + 4.0
            );
        }
        let (first, last) = (self.logs.first, self.logs.last);
        let range = last.0.saturating_sub(first.0);
        for nth in 0..=TIMES {
            let time =
                FileTime(first.0.saturating_add(range.saturating_mul(u64::from(nth)) / u64::from(TIMES)));
            let anchor = match nth {
                0 => "start",
                TIMES => "end",
                _ => "middle",
            };
            let x = LEFT + WIDTH * f64::from(nth) / f64::from(TIMES);
            let (y, clock) = (top + HEIGHT + 15.0, self.clock(time, range));
            let _ = writeln!(text, "<text x=\"{x:.1}\" y=\"{y}\" text-anchor=\"{anchor}\">{clock}</text>");
        }
    }

    /// A time on the clock of the logs.
    fn clock(&self, time: FileTime, range: u64) -> String {
        let local = add_minutes(time, self.logs.summary.clock.minutes(time)).system_time();
        let clock = format!("{:02}:{:02}:{:02}", local.hour, local.minute, local.second);
        match range {
            ..DAY => clock,
            _ => format!("{:04}-{:02}-{:02} {clock}", local.year, local.month, local.day),
        }
    }

    /// The line of a series. Of many rows it has the smallest and the largest value of each stretch.
    fn path(&self, chart: &Chart, at: usize, shift: i64, y: &impl Fn(f64) -> f64) -> String {
        let Some(values) = chart.rows.columns.get(at) else { return String::new() };
        let (first, last) = (self.logs.first.0, self.logs.last.0);
        let range = last.saturating_sub(first).max(1) as f64;
        let step = chart.rows.times.len().div_ceil(MOST_POINTS / 2).max(2);
        let mut path = String::new();
        let mut pen = 'M';
        let mut point = |time: FileTime, value: f64| {
            let away = time.0.saturating_add_signed(shift).saturating_sub(first);
            if value.is_nan() || away as f64 > range {
                pen = 'M';
                return;
            }
            let _ = write!(path, "{pen}{:.1} {:.1}", LEFT + WIDTH * away as f64 / range, y(value));
            pen = 'L';
        };
        for (times, values) in chart.rows.times.chunks(step).zip(values.chunks(step)) {
            let known = || values.iter().enumerate().filter(|(_, value)| !value.is_nan());
            let least = known().min_by(|(_, one), (_, other)| one.total_cmp(other));
            let most = known().max_by(|(_, one), (_, other)| one.total_cmp(other));
            let mut ends: Vec<usize> = least.into_iter().chain(most).map(|(at, _)| at).collect();
            ends.sort_unstable();
            if step == 2 {
                ends = (0..times.len()).collect();
            } else if ends.is_empty() {
                ends = vec![0];
            }
            for at in ends {
                if let (Some(time), Some(value)) = (times.get(at), values.get(at)) {
                    point(*time, *value);
                }
            }
        }
        path
    }
}

/// The power of ten that brings the largest value to at most 100; a percentage stays what it is.
fn power(line: &Line) -> i32 {
    let ends = [line.figures, line.before].into_iter().flatten().flat_map(|one| [one.min, one.max]);
    let most = ends.map(f64::abs).fold(0.0, f64::max);
    if most == 0.0 || !most.is_finite() || (line.unit == "%" && most <= 1000.0) {
        return 0;
    }
    ((2.0 - most.log10() + 1e-9).floor() as i32).clamp(-9, 7)
}

fn figures(figures: Option<&Figures>, unit: &str) -> String {
    let numbers = format::Numbers::default();
    let Some(found) = figures else { return "  no values".to_string() };
    let [last, mean, least, most] =
        [found.last, found.avg, found.min, found.max].map(|number| numbers.number(number));
    let unit = if unit.is_empty() { String::new() } else { format!(" {}", escaped(unit)) };
    format!("  last {last} avg {mean} min {least} max {most}{unit}")
}
