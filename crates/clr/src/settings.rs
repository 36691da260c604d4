//! The settings of a profiled process, which it gets through environment variables, and the environment of
//! such a process.
//!
//! You pass a function that looks up variables; you get [`Settings`], or what is wrong with them. The
//! reverse, [`environment`], returns the variables with which the runtime of a child process loads the
//! profiler. `docs/profiler.md` lists them all.

use crate::names::RawName;
use std::ffi::OsString;
use std::fmt;
use std::path::{Path, PathBuf};

/// The class id of the profiler, as the runtime wants it in `CORECLR_PROFILER`.
pub const CLASS_ID: &str = "{9E2B38F2-7355-4C61-A54F-434B7AC266C0}";

/// The file name of the profiler's library.
pub const LIBRARY: &str = if cfg!(windows) { "tallymon_clr.dll" } else { "libtallymon_clr.so" };

/// Smallest and largest size of a profile file in MiB.
pub const SIZES: std::ops::RangeInclusive<u32> = 8..=1024;

/// Smallest and largest number of MiB for events.
pub const EVENTS: std::ops::RangeInclusive<u32> = 0..=1024;

/// What is recorded from the start.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Mode {
    /// Nothing, until it is switched on; calls cost the same as without a profiler.
    Dormant,
    /// Calls of the user's own modules; the framework keeps its precompiled code.
    #[default]
    User,
    /// Every call of every method that is compiled while the program runs, the framework included.
    All,
}

/// How calls end that an exception ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Unwinding {
    /// By reports of the runtime where they are right (before .NET 9), else by the stack pointer.
    #[default]
    Auto,
    /// By reports of the runtime.
    Events,
    /// By the stack pointer; exceptions and the functions that handle them are still reported.
    Stack,
    /// By the stack pointer, without any report; exceptions are not counted.
    Off,
}

/// Which clock measures.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ClockChoice {
    /// The processor's time stamp counter where it is steady, else the system's clock.
    #[default]
    Auto,
    /// The system's clock `CLOCK_MONOTONIC`.
    Monotonic,
}

/// What the profiler does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// `TALLYMON_PROF_MODE`: what is recorded from the start.
    pub mode: Mode,
    /// `TALLYMON_PROF_INCLUDE` and `TALLYMON_PROF_EXCLUDE`: which methods.
    pub filter: Filter,
    /// `TALLYMON_PROF_EXACT`: whether calls are kept from being inlined, so that counts are exact.
    pub exact: bool,
    /// `TALLYMON_PROF_EXCEPTIONS`.
    pub unwinding: Unwinding,
    /// `TALLYMON_PROF_CLOCK`.
    pub clock: ClockChoice,
    /// `TALLYMON_PROF_FILE`: the file, `%p` standing for the process id; the temporary folder without it.
    pub file: Option<PathBuf>,
    /// `TALLYMON_PROF_SIZE`: size of the file in MiB, within [`SIZES`].
    pub size: u32,
    /// `TALLYMON_PROF_EVENTS`: MiB in addition for the newest events of threads, one for each thread, within
    /// [`EVENTS`].
    pub events: u32,
    /// `TALLYMON_PROF_EVENTS_MIN`: calls that take fewer nanoseconds leave no events, so that the newest ones
    /// cover more time.
    pub events_min: u64,
    /// `TALLYMON_PROF_RUN`: a word in the settings of all files of one run, to find those of child processes.
    pub run: String,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            mode: Mode::default(),
            filter: Filter::default(),
            exact: false,
            unwinding: Unwinding::default(),
            clock: ClockChoice::default(),
            file: None,
            size: 64,
            events: 0,
            events_min: 0,
            run: String::new(),
        }
    }
}

/// Which methods are seen, by the beginning of their raw names.
///
/// `N.C` selects the type, its nested types and its methods (`N.C::Run` one of these), but not a type
/// `N.Cat`; with a star at the end it selects that type too.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Filter {
    /// If not empty, only these.
    pub include: Vec<String>,
    /// Never these.
    pub exclude: Vec<String>,
}

/// A setting that is not one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SettingsError {
    /// The variable.
    pub name: &'static str,
    /// The required value.
    pub needed: &'static str,
    /// The value in the environment.
    pub found: String,
}

/// The variable for the profiler's path on this kind of processor.
const PROCESSOR_PATH: &str =
    if cfg!(target_arch = "aarch64") { "CORECLR_PROFILER_PATH_ARM64" } else { "CORECLR_PROFILER_PATH_64" };

/// The environment variables with which a .NET process loads the profiler at `library`, to add to those of
/// the process.
///
/// Child processes inherit it and are profiled too, each into its own file.
pub fn environment(settings: &Settings, library: &Path) -> Vec<(&'static str, OsString)> {
    let mut variables: Vec<(&'static str, OsString)> = vec![
        ("CORECLR_ENABLE_PROFILING", "1".into()),
        ("CORECLR_PROFILER", CLASS_ID.into()),
        ("CORECLR_PROFILER_PATH", library.into()),
        // The variable for the processor wins over the plain one, so a leftover of another profiler would win
        // over ours.
        (PROCESSOR_PATH, library.into()),
    ];
    variables.extend(settings.variables());
    variables
}

/// The profiler's library beside a program's folder, as installed (`lib`), or in it, as built.
pub fn find_library(program_folder: &Path) -> Option<PathBuf> {
    let places = ["", "../lib", "../lib/tallymon", "deps"];
    places.iter().map(|place| program_folder.join(place).join(LIBRARY)).find(|file| file.is_file())
}

impl Settings {
    /// Reads the settings from variables.
    ///
    /// # Errors
    ///
    /// The first variable whose value is not one of those that `docs/profiler.md` lists.
    pub fn read(variable: impl Fn(&str) -> Option<OsString>) -> Result<Settings, SettingsError> {
        let mut settings = Settings::default();
        let text = |name: &'static str| variable(name).map(|value| value.to_string_lossy().into_owned());
        let wrong = |name, needed, found| Err(SettingsError { name, needed, found });
        if let Some(value) = text("TALLYMON_PROF_MODE") {
            settings.mode = match value.as_str() {
                "dormant" => Mode::Dormant,
                "user" => Mode::User,
                "all" => Mode::All,
                _ => return wrong("TALLYMON_PROF_MODE", "dormant, user or all", value),
            };
        }
        if let Some(value) = text("TALLYMON_PROF_EXACT") {
            settings.exact = match value.as_str() {
                "0" => false,
                "1" => true,
                _ => return wrong("TALLYMON_PROF_EXACT", "0 or 1", value),
            };
        }
        if let Some(value) = text("TALLYMON_PROF_EXCEPTIONS") {
            settings.unwinding = match value.as_str() {
                "auto" => Unwinding::Auto,
                "events" => Unwinding::Events,
                "stack" => Unwinding::Stack,
                "off" => Unwinding::Off,
                _ => return wrong("TALLYMON_PROF_EXCEPTIONS", "auto, events, stack or off", value),
            };
        }
        if let Some(value) = text("TALLYMON_PROF_CLOCK") {
            settings.clock = match value.as_str() {
                "auto" => ClockChoice::Auto,
                "monotonic" => ClockChoice::Monotonic,
                _ => return wrong("TALLYMON_PROF_CLOCK", "auto or monotonic", value),
            };
        }
        if let Some(value) = text("TALLYMON_PROF_SIZE") {
            settings.size = match value.parse() {
                Ok(size) if SIZES.contains(&size) => size,
                _ => return wrong("TALLYMON_PROF_SIZE", "8 to 1024 (MiB)", value),
            };
        }
        if let Some(value) = text("TALLYMON_PROF_EVENTS") {
            settings.events = match value.parse() {
                Ok(events) if EVENTS.contains(&events) => events,
                _ => return wrong("TALLYMON_PROF_EVENTS", "0 to 1024 (MiB, one for each thread)", value),
            };
        }
        if let Some(value) = text("TALLYMON_PROF_EVENTS_MIN") {
            settings.events_min = match value.parse() {
                Ok(nanoseconds) => nanoseconds,
                Err(_) => return wrong("TALLYMON_PROF_EVENTS_MIN", "a number of nanoseconds", value),
            };
        }
        settings.run = text("TALLYMON_PROF_RUN").unwrap_or_default();
        let list = |value: Option<String>| -> Vec<String> {
            let value = value.unwrap_or_default();
            value.split(',').map(str::trim).filter(|part| !part.is_empty()).map(str::to_string).collect()
        };
        settings.filter.include = list(text("TALLYMON_PROF_INCLUDE"));
        settings.filter.exclude = list(text("TALLYMON_PROF_EXCLUDE"));
        settings.file = variable("TALLYMON_PROF_FILE").filter(|value| !value.is_empty()).map(PathBuf::from);
        Ok(settings)
    }

    /// The variables that [`Settings::read`] reads as these settings.
    pub fn variables(&self) -> Vec<(&'static str, OsString)> {
        let mode = match self.mode {
            Mode::Dormant => "dormant",
            Mode::User => "user",
            Mode::All => "all",
        };
        let unwinding = match self.unwinding {
            Unwinding::Auto => "auto",
            Unwinding::Events => "events",
            Unwinding::Stack => "stack",
            Unwinding::Off => "off",
        };
        let clock = match self.clock {
            ClockChoice::Auto => "auto",
            ClockChoice::Monotonic => "monotonic",
        };
        let mut variables: Vec<(&'static str, OsString)> = vec![
            ("TALLYMON_PROF_MODE", mode.into()),
            ("TALLYMON_PROF_EXACT", if self.exact { "1" } else { "0" }.into()),
            ("TALLYMON_PROF_EXCEPTIONS", unwinding.into()),
            ("TALLYMON_PROF_CLOCK", clock.into()),
            ("TALLYMON_PROF_SIZE", self.size.to_string().into()),
            ("TALLYMON_PROF_EVENTS", self.events.to_string().into()),
            ("TALLYMON_PROF_EVENTS_MIN", self.events_min.to_string().into()),
            ("TALLYMON_PROF_INCLUDE", self.filter.include.join(",").into()),
            ("TALLYMON_PROF_EXCLUDE", self.filter.exclude.join(",").into()),
        ];
        if !self.run.is_empty() {
            variables.push(("TALLYMON_PROF_RUN", self.run.clone().into()));
        }
        if let Some(file) = &self.file {
            variables.push(("TALLYMON_PROF_FILE", file.into()));
        }
        variables
    }

    /// The file of the process `pid`: `%p` in the name stands for that number.
    pub fn file_of(&self, pid: u32) -> PathBuf {
        let file = self.file.clone().unwrap_or_else(|| std::env::temp_dir().join("tallymon-%p.prof"));
        match file.to_str() {
            Some(text) => PathBuf::from(text.replace("%p", &pid.to_string())),
            // A name that is not text is taken as it is.
            None => file,
        }
    }
}

impl Filter {
    /// Whether a method is seen; `by_default` decides when nothing is included by name.
    pub fn takes(&self, name: &RawName, by_default: bool) -> bool {
        let raw = name.raw();
        let any = |prefixes: &[String]| prefixes.iter().any(|prefix| begins(&raw, prefix));
        let wanted = if self.include.is_empty() { by_default } else { any(&self.include) };
        wanted && !any(&self.exclude)
    }
}

impl Filter {
    /// One line per name: a plus before an included name, a minus before an excluded one.
    pub fn lines(&self) -> String {
        let line = |sign: char| move |name: &String| format!("{sign}{name}\n");
        self.include.iter().map(line('+')).chain(self.exclude.iter().map(line('-'))).collect()
    }

    /// The reverse of [`Filter::lines`]; other lines mean nothing.
    pub fn from_lines(text: &str) -> Filter {
        let named = |sign| text.lines().filter_map(move |line| line.strip_prefix(sign)).map(str::to_string);
        Filter { include: named('+').collect(), exclude: named('-').collect() }
    }
}

/// Whether a raw name begins with a prefix, which ends where a part of the name ends or at a star.
fn begins(raw: &str, prefix: &str) -> bool {
    if let Some(open) = prefix.strip_suffix('*') {
        return raw.starts_with(open);
    }
    let Some(rest) = raw.strip_prefix(prefix) else { return false };
    rest.is_empty() || rest.starts_with(['.', '+', '`', ':']) || prefix.ends_with(['.', '+', ':'])
}

impl fmt::Display for SettingsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: needed {}, found \"{}\"", self.name, self.needed, self.found)
    }
}

impl std::error::Error for SettingsError {}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(variables: &[(&str, &str)]) -> Result<Settings, SettingsError> {
        Settings::read(|name| variables.iter().find(|(n, _)| *n == name).map(|(_, value)| value.into()))
    }

    #[test]
    fn filters_survive_their_lines() {
        let filter = Filter { include: vec!["A".into(), "B::C".into()], exclude: vec!["-A.D".into()] };
        assert_eq!(filter.lines(), "+A\n+B::C\n--A.D\n");
        assert_eq!(Filter::from_lines(&filter.lines()), filter);
        assert_eq!(Filter::from_lines("x\n\n"), Filter::default());
    }

    #[test]
    fn settings_survive_the_environment() {
        assert_eq!(read(&[]), Ok(Settings::default()));
        let settings = Settings {
            mode: Mode::All,
            filter: Filter { include: vec!["A".into(), "B.C".into()], exclude: vec!["A.D".into()] },
            exact: true,
            unwinding: Unwinding::Stack,
            clock: ClockChoice::Monotonic,
            file: Some("/x/%p.prof".into()),
            size: 100,
            events: 7,
            events_min: 5000,
            run: "12-345".into(),
        };
        let variables = settings.variables();
        let back = Settings::read(|name| variables.iter().find(|(n, _)| *n == name).map(|(_, v)| v.clone()));
        assert_eq!(back.as_ref(), Ok(&settings));
        assert_eq!(settings.file_of(12), Path::new("/x/12.prof"));
        let all = environment(&settings, Path::new("/lib/x.so"));
        assert!(all.contains(&("CORECLR_PROFILER_PATH_64", "/lib/x.so".into())), "{all:?}");
    }

    #[test]
    fn wrong_values_are_named() {
        let error = read(&[("TALLYMON_PROF_MODE", "fast")]).unwrap_err();
        assert_eq!(error.to_string(), "TALLYMON_PROF_MODE: needed dormant, user or all, found \"fast\"");
        for (name, value) in [
            ("TALLYMON_PROF_EXACT", "yes"),
            ("TALLYMON_PROF_EXCEPTIONS", ""),
            ("TALLYMON_PROF_CLOCK", "tsc"),
            ("TALLYMON_PROF_SIZE", "7"),
            ("TALLYMON_PROF_SIZE", "1025"),
            ("TALLYMON_PROF_SIZE", "x"),
            ("TALLYMON_PROF_EVENTS", "1025"),
            ("TALLYMON_PROF_EVENTS_MIN", "5us"),
        ] {
            assert_eq!(read(&[(name, value)]).unwrap_err().name, name);
        }
    }

    #[test]
    fn filters_match_whole_parts_of_names() {
        let check = |include: &str, exclude: &str, type_name: &str, method: &str| {
            let list = |text: &str| text.split_whitespace().map(str::to_string).collect();
            let filter = Filter { include: list(include), exclude: list(exclude) };
            let name = RawName { type_name: type_name.into(), method: method.into(), ..RawName::default() };
            filter.takes(&name, type_name.starts_with('U'))
        };
        assert!(check("", "", "U.C", "m"));
        assert!(!check("", "", "S.C", "m"));
        assert!(!check("", "U.C", "U.C", "m"));
        assert!(check("", "U.C::n", "U.C", "m"));
        assert!(!check("", "U.C::m", "U.C", "m"));
        assert!(check("S", "", "S.C", "m"));
        assert!(check("S.C", "", "S.C`1+D", "m"));
        assert!(!check("S.C", "", "S.Cat", "m"));
        assert!(check("S.C*", "", "S.Cat", "m"));
        assert!(check("S.", "S.D", "S.C", "m"));
        assert!(!check("S.", "S.D", "S.D", "m"));
    }
}
