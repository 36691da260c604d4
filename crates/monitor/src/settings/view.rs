//! Views that Windows' Performance Monitor saved: a page with an object whose parameters are the counters and
//! the chart. Of other XML, such as a data collector set, the counters are taken.

use std::time::Duration;

use super::Settings;
use crate::model::{Axis, Grid, Look, MOST_WIDTH, Picture, Scale, Switch};

/// Names of views by the numbers of `DisplayType`, which begin with 1.
const DISPLAYS: [&str; 5] = ["graph", "bars", "report", "area", "stacked"];

/// Parameters that describe the window and not what it shows.
const OF_THE_WINDOW: &[&str] = &[
    "_version",
    "_extentx",
    "_extenty",
    "_stockprops",
    "ambientfont",
    "countercount",
    "selected",
    "highlight",
    "readonly",
    "showtoolbar",
    "legendcolumnwidths",
    "legendsortcolumn",
    "legendsortdirection",
    "samplecount",
    "samplesindex",
    "currentstate",
    "stepnumber",
    "nextcountercolor",
    "nextcounterwidth",
    "nextcounterlinestyle",
];

/// Whether a text is markup, and so no TOML.
pub(super) fn is_markup(text: &str) -> bool {
    text.trim_start().starts_with('<')
}

/// Reads a view. What it has and the monitor does not is in [`Settings::left_out`].
pub(super) fn parse(text: &str) -> Result<Settings, String> {
    let mut view = View::default();
    for tag in tags(text) {
        if tag.name.eq_ignore_ascii_case("param") {
            let attributes = attributes(tag.inside);
            let of = |name: &str| attributes.iter().find(|(key, _)| key.eq_ignore_ascii_case(name));
            if let (Some((_, name)), Some((_, value))) = (of("name"), of("value")) {
                view.take(name, value);
            }
        } else if tag.name.eq_ignore_ascii_case("counter") {
            let path = tag.behind.split('<').next().unwrap_or_default().trim();
            if !path.is_empty() {
                view.counters.push((usize::MAX, path_of(path)));
            }
        }
    }
    view.settings()
}

/// A view as far as it is read.
#[derive(Default)]
struct View {
    /// Numbers and paths of the counters.
    counters: Vec<(usize, String)>,
    looks: Vec<(usize, Look)>,
    settings: Settings,
    picture: Option<Picture>,
    minimum: Option<f64>,
    maximum: Option<f64>,
}

impl View {
    fn take(&mut self, name: &str, value: &str) {
        let name = name.to_lowercase();
        if let Some((number, field)) = name.strip_prefix("counter").and_then(|rest| rest.split_once('.'))
            && let Ok(number) = number.parse::<usize>()
        {
            self.take_of_counter(number, field, value);
            return;
        }
        let is_on = !matches!(value, "0" | "");
        let mut part = |switch| {
            self.picture.get_or_insert_default().parts.set(switch, is_on);
        };
        match name.as_str() {
            "displaytype" => {
                let number = value.parse::<usize>().ok().and_then(|number| number.checked_sub(1));
                match number.and_then(|number| DISPLAYS.get(number)) {
                    Some(view) => self.settings.view = Some((*view).to_owned()),
                    None => self.leave_out(&format!("displaytype {value}")),
                }
            }
            "updateinterval" => {
                let seconds = value.parse::<f64>().ok().filter(|seconds| *seconds > 0.0);
                self.settings.interval = seconds.and_then(|time| Duration::try_from_secs_f64(time).ok());
            }
            "minimumscale" => self.minimum = value.parse().ok(),
            "maximumscale" => self.maximum = value.parse().ok(),
            "graphtitle" => self.picture.get_or_insert_default().title = value.to_owned(),
            "yaxislabel" => self.picture.get_or_insert_default().label = value.to_owned(),
            "showlegend" => part(Switch::Legend),
            "showvaluebar" => part(Switch::ValueBar),
            "showscalelabels" => part(Switch::ScaleLabels),
            "showhorizontalgrid" | "showverticalgrid" => {
                let is_horizontal = name == "showhorizontalgrid";
                let picture = self.picture.get_or_insert_default();
                let (mut across, mut down) = (picture.grid.is_horizontal(), picture.grid.is_vertical());
                *(if is_horizontal { &mut across } else { &mut down }) = is_on;
                picture.grid = match (across, down) {
                    (false, false) => Grid::None,
                    (true, false) => Grid::Horizontal,
                    (false, true) => Grid::Vertical,
                    (true, true) => Grid::Both,
                };
            }
            known if OF_THE_WINDOW.contains(&known) => {}
            // A value of nothing sets nothing.
            _ if value.is_empty() => {}
            other => self.leave_out(other),
        }
    }

    fn take_of_counter(&mut self, number: usize, field: &str, value: &str) {
        if field == "path" {
            let path = path_of(value);
            if !path.is_empty() {
                self.counters.push((number, path));
            }
            return;
        }
        if !self.looks.iter().any(|(known, _)| *known == number) {
            self.looks.push((number, Look::default()));
        }
        let Some((_, look)) = self.looks.iter_mut().find(|(known, _)| *known == number) else { return };
        match (field, value.parse::<i64>()) {
            // The largest number of 32 bits stands for the counter's own scale.
            ("scalefactor", Ok(power)) if (-9..=9).contains(&power) => {
                look.scale = Scale::Power(i32::try_from(power).unwrap_or_default());
            }
            ("scalefactor", _) => {}
            ("width", Ok(width)) => {
                let widest = i64::from(MOST_WIDTH);
                look.width = u8::try_from(width.clamp(1, widest)).unwrap_or(MOST_WIDTH);
            }
            ("linestyle", Ok(style)) if style > 0 => look.pattern = usize::try_from(style).ok(),
            ("linestyle", _) => {}
            ("show" | "visible", Ok(shown)) => look.hidden = shown == 0,
            _ => self.leave_out(&format!("counter.{field}")),
        }
    }

    fn leave_out(&mut self, name: &str) {
        if !self.settings.left_out.iter().any(|known| known == name) {
            self.settings.left_out.push(name.to_owned());
        }
    }

    fn settings(mut self) -> Result<Settings, String> {
        if self.counters.is_empty() {
            return Err("it has no counters; views of Performance Monitor, data collector sets and the \
                        monitor's own settings are read"
                .to_owned());
        }
        if let Some(maximum) = self.maximum {
            match Axis::new(self.minimum.unwrap_or(0.0), maximum) {
                Some(axis) => self.picture.get_or_insert_default().axis = axis,
                None => self.leave_out("maximumscale"),
            }
        }
        // The numbers decide, also where parameters are not in their order.
        self.counters.sort_by_key(|(number, _)| *number);
        for (number, path) in self.counters {
            let look = self.looks.iter().find(|(known, _)| *known == number && *known != usize::MAX);
            if let Some((_, look)) = look.filter(|(_, look)| *look != Look::default()) {
                self.settings.looks.push((path.clone(), *look));
            }
            self.settings.counters.push(path);
        }
        self.settings.picture = self.picture;
        Ok(self.settings)
    }
}

/// A path as markup has it.
fn path_of(text: &str) -> String {
    unescaped(text).trim().to_owned()
}

/// A tag: its name, what is inside, and the text behind it.
struct Tag<'t> {
    name: &'t str,
    inside: &'t str,
    behind: &'t str,
}

/// The tags of a text, in order. A tag ends at the next `>` that is not in quotation marks.
fn tags(text: &str) -> impl Iterator<Item = Tag<'_>> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let (_, tag) = rest.split_once('<')?;
        let mut mark = None;
        let end = tag.find(|letter| match (mark, letter) {
            (None, '>') => true,
            (None, '"' | '\'') => {
                mark = Some(letter);
                false
            }
            (Some(open), letter) => {
                if letter == open {
                    mark = None;
                }
                false
            }
            _ => false,
        });
        // A quotation mark that never ends, as in a text between tags, ends nothing.
        let end = end.or_else(|| tag.find('>')).unwrap_or(tag.len());
        let (inside, behind) = tag.split_at(end);
        rest = behind;
        let name = inside.split(|letter: char| letter.is_whitespace()).next().unwrap_or_default();
        let behind = behind.strip_prefix('>').unwrap_or(behind);
        Some(Tag { name, inside: inside.get(name.len()..).unwrap_or_default(), behind })
    })
}

/// Names and values of the attributes of a tag.
fn attributes(mut text: &str) -> Vec<(&str, String)> {
    let mut found = Vec::new();
    while let Some((name, rest)) = text.split_once('=') {
        let rest = rest.trim_start();
        let mark = rest.chars().next().filter(|mark| matches!(mark, '"' | '\''));
        let (value, behind) = match mark {
            Some(mark) => {
                let inside = rest.get(1..).unwrap_or_default();
                inside.split_once(mark).unwrap_or((inside, ""))
            }
            None => rest.split_once(char::is_whitespace).unwrap_or((rest, "")),
        };
        let name = name.trim();
        // An attribute without a value stands before this one.
        let name = name.rsplit(char::is_whitespace).next().unwrap_or(name);
        found.push((name, unescaped(value)));
        text = behind;
    }
    found
}

/// A text without the escapes of markup; what is no escape stays.
fn unescaped(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, escape)) = rest.split_once('&') {
        plain.push_str(before);
        let known = escape.split_once(';').and_then(|(name, behind)| Some((letter_of(name)?, behind)));
        match known {
            Some((letter, behind)) => {
                plain.push(letter);
                rest = behind;
            }
            None => {
                plain.push('&');
                rest = escape;
            }
        }
    }
    plain.push_str(rest);
    plain
}

fn letter_of(name: &str) -> Option<char> {
    Some(match name {
        "amp" => '&',
        "lt" => '<',
        "gt" => '>',
        "quot" => '"',
        "apos" => '\'',
        "nbsp" => ' ',
        _ => {
            let number = name.strip_prefix('#')?;
            let number = match number.strip_prefix(['x', 'X']) {
                Some(hex) => u32::from_str_radix(hex, 16),
                None => number.parse(),
            };
            char::from_u32(number.ok()?).filter(|letter| !letter.is_control())?
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: &str = r##"<HTML><HEAD><META HTTP-EQUIV="Content-Type" CONTENT="text/html;" /></HEAD><BODY>
        <OBJECT ID="DISystemMonitor1" CLASSID="CLSID:C4D2D8E0-D1DD-11CE-940F-008029004347">
        <PARAM NAME="_Version" VALUE="196611"/><PARAM NAME="LogFileName" VALUE="C:\PerfLogs\a.blg"/>
        <PARAM NAME="DisplayType" VALUE="3"/><PARAM NAME="UpdateInterval" VALUE="2.5"/>
        <PARAM NAME="MaximumScale" VALUE="200"/><PARAM NAME="MinimumScale" VALUE="-10"/>
        <PARAM NAME="ShowLegend" VALUE="0"/><PARAM NAME="ShowVerticalGrid" VALUE="1"/>
        <PARAM NAME="ShowHorizontalGrid" VALUE="0"/><PARAM NAME="GraphTitle" VALUE="a > b &amp; c"/>
        <PARAM NAME="BackColor" VALUE="-2147483633"/><PARAM NAME="CounterCount" VALUE="2"/>
        <param value='\SQLServer:Locks(_Total)\Lock Waits/sec' name='Counter00002.Path'>
        <PARAM NAME="Counter00001.Path" VALUE="\Processor(a&lt;b&#62;)\% Processor Time"/>
        <PARAM NAME="Counter00001.Color" VALUE="255"/><PARAM NAME="Counter00001.Width" VALUE="3"/>
        <PARAM NAME="Counter00001.LineStyle" VALUE="2"/><PARAM NAME="Counter00001.ScaleFactor" VALUE="-3"/>
        <PARAM NAME="Counter00002.ScaleFactor" VALUE="2147483647"/>
        </OBJECT></BODY></HTML>"##;

    #[test]
    fn reads_views_of_performance_monitor() {
        let settings = parse(PAGE).unwrap();
        let paths = [r"\Processor(a<b>)\% Processor Time", r"\SQLServer:Locks(_Total)\Lock Waits/sec"];
        assert_eq!(settings.counters, paths);
        assert_eq!(
            (settings.view.as_deref(), settings.interval),
            (Some("report"), Some(Duration::from_millis(2500)))
        );
        let picture = settings.picture.unwrap();
        assert_eq!((picture.axis.minimum(), picture.axis.maximum()), (-10.0, 200.0));
        assert_eq!((picture.grid, picture.title.as_str()), (Grid::Vertical, "a > b & c"));
        assert!(!picture.parts.has(Switch::Legend) && picture.parts.has(Switch::ValueBar));
        let look = Look { scale: Scale::Power(-3), pattern: Some(2), width: 3, ..Look::default() };
        assert_eq!(settings.looks, [(paths[0].to_owned(), look)]);
        // What is not taken is named, each once.
        assert_eq!(settings.left_out, ["logfilename", "backcolor", "counter.color"]);
    }

    #[test]
    fn takes_the_counters_of_other_markup() {
        let text = "<?xml version=\"1.0\"?><DataCollectorSet><PerformanceCounterDataCollector>\
            <Counter>\\Memory\\Pages/sec</Counter><Counter>\\A(b &amp; c)\\D</Counter><Counter/>\
            </PerformanceCounterDataCollector></DataCollectorSet>";
        assert_eq!(parse(text).unwrap().counters, [r"\Memory\Pages/sec", r"\A(b & c)\D"]);
    }

    #[test]
    fn every_cut_and_every_other_byte_is_harmless() {
        for cut in 0..PAGE.len() {
            let _ = PAGE.get(..cut).map(parse);
            for other in ["<", ">", "\"", "'", "&", "=", "\u{e9}"] {
                if let (Some(before), Some(behind)) = (PAGE.get(..cut), PAGE.get(cut.saturating_add(1)..)) {
                    let _ = parse(&[before, other, behind].concat());
                }
            }
        }
        for text in
            ["<", "<a", "<param", "<param name=", "<html></html>", "<param name=\"Counter1.Path\" value=\""]
        {
            assert!(parse(text).is_err(), "{text}");
        }
    }
}
