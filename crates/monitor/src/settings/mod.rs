//! Settings files: which counters are shown and how, as TOML, to open a view again another day.
//!
//! ```
//! use tallymon_monitor::settings::Settings;
//!
//! let text = "counters = ['\\Memory\\Available MBytes']\nview = 'area'\n";
//! let settings = Settings::parse(text)?;
//! assert_eq!(settings.counters, [r"\Memory\Available MBytes"]);
//! assert_eq!(Settings::parse(&settings.to_string())?, settings);
//! # Ok::<(), String>(())
//! ```

mod alerts;
mod columns;
mod overview;
mod view;

use std::fmt;
use std::io::Read;
use std::path::Path;
use std::time::Duration;

use tallymon::NameForm;
use tallymon::registry::read_text;
use toml::{Table, Value};

use crate::model::overview::OverviewLook;
use crate::model::{Axis, ColumnChoices, Crossing, Grid, Look, MOST_WIDTH, Picture, Scale, Switch};

/// The extension of settings files.
pub const EXTENSION: &str = "tallymon";

/// The longest settings file that is read.
pub const LONGEST: u64 = 4 << 20;

/// The content of a settings file. Missing keys change nothing.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Settings {
    /// Counter paths as the user wrote them.
    pub counters: Vec<String>,
    /// Name of the view.
    pub view: Option<String>,
    /// Time between samples.
    pub interval: Option<Duration>,
    /// How many rows are in view.
    pub points: Option<usize>,
    /// New rows overwrite the oldest from left to right.
    pub sweep: Option<bool>,
    /// Axis, grid, title and parts of the chart.
    pub picture: Option<Picture>,
    /// How series are shown, by their paths.
    pub looks: Vec<(String, Look)>,
    /// Crossed thresholds.
    pub alerts: Vec<Crossing>,
    /// What the overview shows and how.
    pub overview: Option<OverviewLook>,
    /// The columns of tables, where they are not all of them.
    pub columns: Option<ColumnChoices>,
    /// Which names of counters are shown.
    pub names: Option<NameForm>,
    /// What a view of Windows' Performance Monitor has and the monitor does not. It is not written.
    pub left_out: Vec<String>,
}

impl Settings {
    /// Reads a settings file, or a view that Windows' Performance Monitor saved.
    ///
    /// # Errors
    ///
    /// The file cannot be read or is longer than [`LONGEST`], or an error of [`Settings::parse`]; the
    /// message names the file.
    pub fn open(path: &Path) -> Result<Settings, String> {
        let named = |error: &dyn fmt::Display| format!("{}: {error}", path.display());
        let mut bytes = Vec::new();
        let file = tallymon::log::open_regular(path).map_err(|error| named(&error))?;
        file.take(LONGEST).read_to_end(&mut bytes).map_err(|error| named(&error))?;
        // Windows writes UTF-16.
        let text = match String::from_utf8(bytes) {
            Ok(text) => text,
            Err(_) => read_text(path, None).map_err(|error| error.to_string())?,
        };
        let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
        if view::is_markup(text) { view::parse(text) } else { Settings::parse(text) }
            .map_err(|error| named(&error))
    }

    /// Reads the text of a settings file. Unknown keys are skipped.
    ///
    /// # Errors
    ///
    /// The text is not TOML, with the line, or a value is not what its key needs.
    pub fn parse(text: &str) -> Result<Settings, String> {
        if text.trim_start().starts_with(['{', '[']) && text.parse::<Table>().is_err() {
            let words = "JSON or the like, but settings are TOML, such as counters = ['\\Memory\\Available MBytes']; \
                         'w' in the monitor saves them";
            return Err(words.to_string());
        }
        let not_toml = |error: toml::de::Error| {
            let fault = tallymon::toml_fault(text, error.span(), error.message());
            format!("{fault}; correct this line, or save the settings again with 'w' in the monitor")
        };
        let table: Table = text.parse().map_err(not_toml)?;
        let mut settings = Settings {
            view: text_of(&table, "view")?,
            interval: number_of(&table, "interval_ms")?.map(Duration::from_millis),
            points: number_of(&table, "points")?.and_then(|points| usize::try_from(points).ok()),
            sweep: flag_of(&table, "sweep")?,
            picture: picture_of(&table)?,
            alerts: alerts::parse(&table)?,
            overview: overview::parse(&table)?,
            columns: columns::parse(&table)?,
            names: text_of(&table, "names")?
                .map(|name| {
                    NameForm::parse(&name)
                        .ok_or_else(|| format!("names: needed nt or translated, found {name}"))
                })
                .transpose()?,
            ..Settings::default()
        };
        if settings.interval.is_some_and(|interval| interval.is_zero()) {
            return Err("interval_ms: needed more than 0".to_string());
        }
        for value in list_of(&table, "counters")? {
            let path = value.as_str().ok_or_else(|| wrong("counters", "texts", value))?;
            settings.counters.push(path.to_string());
        }
        for value in list_of(&table, "line")? {
            let line = value.as_table().ok_or_else(|| wrong("line", "a table", value))?;
            let path = text_of(line, "path")?.ok_or("line: needed a path, found none")?;
            let scale = match line.get("scale") {
                None => Scale::Auto,
                Some(Value::String(word)) if word == "fit" => Scale::Fit,
                Some(Value::Integer(power)) => Scale::Power(i32::try_from(*power).unwrap_or(0).clamp(-9, 9)),
                Some(other) => return Err(wrong("scale", "a power of ten or \"fit\"", other)),
            };
            let threshold = real_of(line, "threshold")?;
            let place =
                |key| Ok::<_, String>(number_of(line, key)?.and_then(|number| usize::try_from(number).ok()));
            let look = Look {
                scale,
                hidden: flag_of(line, "hidden")?.unwrap_or(false),
                colour: place("colour")?,
                pattern: place("pattern")?,
                width: width_of(line)?,
                threshold: threshold.filter(|threshold| threshold.is_finite()),
            };
            settings.looks.push((path, look));
        }
        Ok(settings)
    }
}

impl fmt::Display for Settings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(interval) = self.interval {
            writeln!(f, "interval_ms = {}", interval.as_millis())?;
        }
        if let Some(view) = &self.view {
            writeln!(f, "view = {}", quoted(view))?;
        }
        if let Some(names) = self.names {
            writeln!(f, "names = {}", quoted(names.name()))?;
        }
        if let Some(points) = self.points {
            writeln!(f, "points = {points}")?;
        }
        if let Some(sweep) = self.sweep {
            writeln!(f, "sweep = {sweep}")?;
        }
        if let Some(picture) = &self.picture {
            writeln!(f, "minimum = {:?}\nmaximum = {:?}", picture.axis.minimum(), picture.axis.maximum())?;
            let grid = Grid::NAMES.iter().find(|(_, grid)| *grid == picture.grid);
            writeln!(f, "grid = {}", quoted(grid.map_or("none", |(name, _)| name)))?;
            for (key, text) in [("title", &picture.title), ("label", &picture.label)] {
                if !text.is_empty() {
                    writeln!(f, "{key} = {}", quoted(text))?;
                }
            }
            for (key, switch) in Switch::NAMES {
                if !picture.parts.has(switch) {
                    writeln!(f, "{key} = false")?;
                }
            }
        }
        writeln!(f, "counters = [")?;
        for path in &self.counters {
            writeln!(f, "    {},", quoted(path))?;
        }
        writeln!(f, "]")?;
        for (path, look) in &self.looks {
            writeln!(f, "\n[[line]]\npath = {}", quoted(path))?;
            match look.scale {
                Scale::Auto => {}
                Scale::Fit => writeln!(f, "scale = \"fit\"")?,
                Scale::Power(power) => writeln!(f, "scale = {power}")?,
            }
            if look.hidden {
                writeln!(f, "hidden = true")?;
            }
            if let Some(colour) = look.colour {
                writeln!(f, "colour = {colour}")?;
            }
            if let Some(pattern) = look.pattern {
                writeln!(f, "pattern = {pattern}")?;
            }
            if look.is_thick() {
                writeln!(f, "width = {}", look.width)?;
            }
            if let Some(threshold) = look.threshold {
                writeln!(f, "threshold = {threshold:?}")?;
            }
        }
        alerts::write(&self.alerts, f)?;
        self.overview.as_ref().map_or(Ok(()), |look| overview::write(look, f))?;
        self.columns.as_ref().map_or(Ok(()), |choices| columns::write(choices, f))
    }
}

/// How thick a line is; older files only say that it is thick.
fn width_of(line: &Table) -> Result<u8, String> {
    let thick = flag_of(line, "thick")?.unwrap_or(false);
    let width = number_of(line, "width")?.unwrap_or(if thick { 2 } else { 1 });
    Ok(u8::try_from(width).unwrap_or(MOST_WIDTH).clamp(1, MOST_WIDTH))
}

/// The chart, when a key of it is present; its other keys have their defaults then.
fn picture_of(table: &Table) -> Result<Option<Picture>, String> {
    let own = ["minimum", "maximum", "grid", "title", "label"].into_iter();
    if !own.chain(Switch::NAMES.map(|(key, _)| key)).any(|key| table.contains_key(key)) {
        return Ok(None);
    }
    let mut picture = Picture::default();
    let minimum = real_of(table, "minimum")?.unwrap_or(picture.axis.minimum());
    let maximum = real_of(table, "maximum")?.unwrap_or(picture.axis.maximum());
    picture.axis = Axis::new(minimum, maximum)
        .ok_or_else(|| format!("maximum: needed more than the minimum, {minimum}, found {maximum}"))?;
    if let Some(name) = text_of(table, "grid")? {
        let grid = Grid::NAMES.iter().find(|(known, _)| *known == name);
        let names = Grid::NAMES.map(|(name, _)| name).join(", ");
        picture.grid =
            grid.map(|(_, grid)| *grid).ok_or(format!("grid: needed one of {names}, found {name}"))?;
    }
    picture.title = text_of(table, "title")?.unwrap_or_default();
    picture.label = text_of(table, "label")?.unwrap_or_default();
    for (key, switch) in Switch::NAMES {
        picture.parts.set(switch, flag_of(table, key)?.unwrap_or(true));
    }
    Ok(Some(picture))
}

fn real_of(table: &Table, key: &str) -> Result<Option<f64>, String> {
    match table.get(key) {
        None => Ok(None),
        Some(Value::Float(number)) => Ok(Some(*number)),
        Some(Value::Integer(number)) => Ok(Some(*number as f64)),
        Some(other) => Err(wrong(key, "a number", other)),
    }
}

fn text_of(table: &Table, key: &str) -> Result<Option<String>, String> {
    let Some(value) = table.get(key) else { return Ok(None) };
    value.as_str().map(|text| Some(text.to_string())).ok_or_else(|| wrong(key, "a text", value))
}

fn flag_of(table: &Table, key: &str) -> Result<Option<bool>, String> {
    let Some(value) = table.get(key) else { return Ok(None) };
    value.as_bool().map(Some).ok_or_else(|| wrong(key, "true or false", value))
}

fn number_of(table: &Table, key: &str) -> Result<Option<u64>, String> {
    let Some(value) = table.get(key) else { return Ok(None) };
    let number = value.as_integer().and_then(|number| u64::try_from(number).ok());
    number.map(Some).ok_or_else(|| wrong(key, "a whole number that is not negative", value))
}

fn list_of<'t>(table: &'t Table, key: &str) -> Result<&'t [Value], String> {
    let Some(value) = table.get(key) else { return Ok(&[]) };
    value.as_array().map(Vec::as_slice).ok_or_else(|| wrong(key, "a list", value))
}

fn wrong(key: &str, needed: &str, found: &Value) -> String {
    let found = match found {
        Value::String(_) => "a text",
        Value::Integer(_) => "a whole number",
        Value::Float(_) => "a number",
        Value::Boolean(_) => "true or false",
        Value::Datetime(_) => "a date",
        Value::Array(_) => "a list",
        Value::Table(_) => "a table",
    };
    format!("{key}: needed {needed}, found {found}")
}

/// A text in TOML: without escapes where possible, since paths are full of backslashes.
fn quoted(text: &str) -> String {
    if !text.contains('\'') && !text.contains(char::is_control) {
        return format!("'{text}'");
    }
    let mut quoted = String::from('"');
    for letter in text.chars() {
        match letter {
            '"' | '\\' => quoted.extend(['\\', letter]),
            letter if letter.is_control() => quoted.push_str(&format!("\\u{:04X}", u32::from(letter))),
            letter => quoted.push(letter),
        }
    }
    quoted.push('"');
    quoted
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::model::Switches;
    use crate::model::overview::{Arrangement, Pane, ProcessMetric};

    #[test]
    fn settings_survive_writing_and_reading() {
        let look = |scale, hidden, colour: Option<usize>, threshold| {
            let pattern = colour.map(|colour| colour + 1);
            Look { scale, hidden, colour, pattern, width: if hidden { 4 } else { 1 }, threshold }
        };
        let mut parts = Switches::default();
        parts.toggle(Switch::Legend);
        parts.toggle(Switch::DigitGrouping);
        let picture = Picture {
            axis: Axis::new(-0.5, 1e9).unwrap(),
            grid: Grid::Both,
            title: "It's \"it\"".into(),
            label: "%".into(),
            parts,
        };
        let settings = Settings {
            counters: vec![
                r"\Process(a'b)\% Processor Time".into(),
                "\\a\u{1}\"b(*)\\C".into(),
                r"\프로세서(*)\시간".into(),
            ],
            view: Some("stacked".into()),
            interval: Some(Duration::from_millis(250)),
            points: Some(300),
            sweep: Some(false),
            picture: Some(picture),
            looks: vec![
                (r"\Memory\Available MBytes".into(), look(Scale::Auto, false, None, None)),
                (r"\A(b)\C".into(), look(Scale::Fit, true, Some(3), Some(1e21))),
                (r"\A(c)\C".into(), look(Scale::Power(-3), false, Some(0), Some(80.0))),
            ],
            names: Some(NameForm::Translated),
            alerts: Vec::new(),
            overview: Some(OverviewLook {
                panes: vec![Pane::Memory, Pane::Processes],
                order: ProcessMetric::InputOutput,
                ascending: true,
                arrangement: Arrangement::Groups,
                presets: vec![vec![Pane::Disks], vec![Pane::Processors, Pane::Network]],
            }),
            columns: Some(ColumnChoices(BTreeMap::from([
                ("Process".into(), vec!["ID Process".into(), "It's".into()]),
                ("네트워크".into(), Vec::new()),
            ]))),
            left_out: Vec::new(),
        };
        let text = settings.to_string();
        assert_eq!(Settings::parse(&text), Ok(settings), "{text}");
    }

    #[test]
    fn errors_name_the_key_and_the_problem() {
        for (text, words) in [
            (
                "view = 'all'\ncounters = [",
                "line 2, column 13: unclosed array, expected `]`; correct this line",
            ),
            ("counters = 7", "counters: needed a list, found a whole number"),
            ("counters = [7]", "counters: needed texts"),
            ("interval_ms = -1", "interval_ms: needed a whole number"),
            ("interval_ms = 0", "more than 0"),
            ("maximum = 0", "maximum: needed more than the minimum, 0, found 0"),
            ("maximum = nan", "found NaN"),
            ("grid = 'much'", "grid: needed one of none, horizontal, vertical, both, found much"),
            ("sweep = 1", "sweep: needed true or false"),
            ("legend = 0", "legend: needed true or false"),
            ("overview = 7", "overview: needed a table"),
            ("[overview]\npanes = ['gpu']", "panes: needed some of processors, memory"),
            ("[overview]\norder = 'age'", "order: needed one of cpu, memory"),
            ("[overview]\ntree = true\ngroups = true", "groups: needed false"),
            ("[overview]\npresets = ['disks']", "presets: needed lists"),
            ("columns = 3", "columns: needed a table"),
            ("[columns]\nProcess = 3", "Process: needed a list"),
            ("[columns]\nProcess = [3]", "columns of Process: needed texts"),
            ("[[line]]\nscale = 2", "needed a path"),
            ("[[line]]\npath = 'a'\nscale = true", "scale: needed a power of ten"),
        ] {
            let error = Settings::parse(text).unwrap_err();
            assert!(error.contains(words), "{error}");
        }
        assert_eq!(Settings::parse("future = 1"), Ok(Settings::default()));
    }

    #[test]
    fn lines_of_older_files_are_thin_or_thick() {
        for (keys, width) in
            [("", 1), ("thick = true", 2), ("thick = true\nwidth = 3", 3), ("width = 900", 5)]
        {
            let settings = Settings::parse(&format!("[[line]]\npath = 'a'\n{keys}\n")).unwrap();
            assert_eq!(settings.looks[0].1.width, width, "{keys}");
        }
    }
}
