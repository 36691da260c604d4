//! `logman`: recording sessions with the options and words of Windows, on top of `tally log`.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use tallymon::log::Format;
use tallymon::other_machine;
use tallymon::record::session::{Limit, SessionSettings, SessionState, SessionStore};

use super::completed;
use super::words::{Known, Takes, Words};
use crate::arguments::Common;
use crate::arguments::parse::interval;
use crate::border;
use crate::command::relog::machine_time;
use crate::exit::{Failure, Kind};
use crate::session::collector_set::{MEGABYTE, RING, quoted};
use crate::session::{self, collector_set};
use crate::words::{say, visible};

const USAGE: &str = "\
logman VERB [counter] NAME [OPTIONS]

  create counter NAME   create a session
  create alert NAME     create a session that looks at limits
  query [NAME]          list the sessions, or describe one
  start NAME            start recording
  stop NAME             stop recording
  update [counter] NAME change a session
  delete NAME           delete a session; its logs stay
  import NAME -xml FILE create a session from a file
  export NAME -xml FILE write a session to a file

  -c PATH...            counters, such as '\\Processor(*)\\% Processor Time'
  -cf FILE              counters from a file, one a line
  -f bin|bincirc|csv|tsv|sql  format of the logs, bin by default; bincirc is a ring of logs here
  -si [[HH:]MM:]SS      time between samples, 15 seconds by default
  -sc N                 end after N samples
  -o PATH               where the logs are, and what their names begin with
  -b TIME, -e TIME      begin and end: M/d/yyyy h:mm:ss[AM|PM]
  -rf [[HH:]MM:]SS      end after this time
  -th 'PATH>VALUE'...   limits of an alert, with > or <
  -el                   at an alert write an event; what an alert does if nothing else is said
  -rdcs NAME            at an alert start this session
  -tn PROGRAM           at an alert run this program; -targ ARGUMENTS gives it arguments
  -max MB               end at this size; with -cnf begin a new log
  -cnf [[[HH:]MM:]SS]   begin a new log at that size, or after this time
  -v nnnnnn             number the logs; they always are here
  -m [start] [stop]     start or stop by hand, not at the times of -b and -e
  -s COMPUTER           for create and update: the computer of counters that name none, one of the table
                        of hosts. Sessions are of this computer, whichever they record
  -y                    replace a file or a session without asking
  -a, -ow, -as          accepted and ignored: a session that was killed continues its log, and every log has its own
                        number
  -config FILE          read options from a file
Options begin with - or /; --max, --cnf, --sc, --rf, --b, --e, --el, --rdcs and --tn remove a setting.";

const KNOWN: &[Known] = &[
    Known { name: "a", takes: Takes::Nothing },
    Known { name: "as", takes: Takes::Nothing },
    Known { name: "b", takes: Takes::One },
    Known { name: "c", takes: Takes::Many },
    Known { name: "cf", takes: Takes::One },
    Known { name: "cnf", takes: Takes::Optional },
    Known { name: "config", takes: Takes::One },
    Known { name: "e", takes: Takes::One },
    Known { name: "f", takes: Takes::One },
    Known { name: "ets", takes: Takes::Nothing },
    Known { name: "m", takes: Takes::Many },
    Known { name: "max", takes: Takes::One },
    Known { name: "n", takes: Takes::One },
    Known { name: "o", takes: Takes::One },
    Known { name: "ow", takes: Takes::Nothing },
    Known { name: "pid", takes: Takes::One },
    Known { name: "r", takes: Takes::Nothing },
    Known { name: "rc", takes: Takes::One },
    Known { name: "rf", takes: Takes::One },
    Known { name: "s", takes: Takes::One },
    Known { name: "sc", takes: Takes::One },
    Known { name: "si", takes: Takes::One },
    Known { name: "u", takes: Takes::Many },
    Known { name: "v", takes: Takes::Optional },
    Known { name: "xml", takes: Takes::One },
    Known { name: "y", takes: Takes::Nothing },
    Known { name: "?", takes: Takes::Nothing },
    Known { name: "el", takes: Takes::Nothing },
    Known { name: "rdcs", takes: Takes::Optional },
    Known { name: "targ", takes: Takes::Many },
    Known { name: "th", takes: Takes::Many },
    Known { name: "tn", takes: Takes::Optional },
    // Options of kinds that do not exist here.
    Known { name: "bs", takes: Takes::One },
    Known { name: "ct", takes: Takes::One },
    Known { name: "fd", takes: Takes::Nothing },
    Known { name: "ft", takes: Takes::One },
    Known { name: "ftc", takes: Takes::Many },
    Known { name: "ln", takes: Takes::One },
    Known { name: "mgt", takes: Takes::Many },
    Known { name: "mode", takes: Takes::Many },
    Known { name: "nb", takes: Takes::Many },
    Known { name: "ni", takes: Takes::Nothing },
    Known { name: "p", takes: Takes::Many },
    Known { name: "pf", takes: Takes::One },
    Known { name: "reg", takes: Takes::Many },
    Known { name: "rt", takes: Takes::Nothing },
    Known { name: "ul", takes: Takes::Nothing },
];

/// Options that a second dash removes.
const NEGATED: &[&str] = &[
    "--max", "--cnf", "--sc", "--rf", "--b", "--e", "--v", "--ow", "--a", "--r", "--rc", "--u", "--el",
    "--rdcs", "--tn", "--targ",
];

/// Options of Windows for what sessions here do not have, with what to use instead.
const NOT_HERE: &[(&[&str], &str)] = &[
    (
        &["r"],
        "a session does not repeat each day; start it from a timer of systemd or from cron with \
         'tally log start'",
    ),
    (&["u"], "a session runs as the user who starts it; start it as that user"),
    (
        &["rc"],
        "no program is run when a log ends; watch for new logs with 'tally log show NAME --json' in a loop",
    ),
    (&["ets"], "there are no trace sessions; 'logman start' needs a session that exists"),
    (&["pid"], "there are no sessions of single processes; choose instances, as in \\Process(name)\\*"),
    (&["ni", "reg", "mgt", "ftc"], CONFIGURATIONS),
    (&["bs", "ct", "fd", "ft", "ln", "mode", "nb", "p", "pf", "rt", "ul"], TRACES),
];

/// What to use instead of configuration collectors.
const CONFIGURATIONS: &str =
    "the configuration of the machine is not recorded; 'tally doctor' describes it, and files can be copied";

/// What to use instead of trace sessions.
const TRACES: &str =
    "there are no trace sessions; 'tally prof' traces the functions of .NET programs, perf everything else";

/// The kinds of collectors of `logman` on Windows, and why a kind is not here.
const KINDS: &[(&str, Option<&str>)] = &[
    ("counter", None),
    ("trace", Some(TRACES)),
    ("alert", None),
    ("cfg", Some(CONFIGURATIONS)),
    ("api", Some(TRACES)),
    ("providers", Some("there are no providers of traces; 'tally provider list' shows those of counters")),
];

pub(super) fn run(line: &[String]) -> Result<(), Failure> {
    let (negated, line): (Vec<String>, Vec<String>) =
        line.iter().cloned().partition(|word| NEGATED.iter().any(|known| known.eq_ignore_ascii_case(word)));
    let words = Words::parse("logman", KNOWN, &line)?;
    if words.has("?") || line.is_empty() {
        writeln!(border::stdout(), "{USAGE}")?;
        return Ok(());
    }
    let mut names = words.names.iter().map(String::as_str);
    let verb = names.next().unwrap_or("query").to_ascii_lowercase();
    let mut names = names.peekable();
    let kind = names.next_if(|name| KINDS.iter().any(|(kind, _)| kind.eq_ignore_ascii_case(name)));
    let other = kind.and_then(|name| KINDS.iter().find(|(kind, _)| kind.eq_ignore_ascii_case(name)));
    if let Some((kind, Some(reason))) = other {
        return Err(Failure::new(Kind::Usage, format_args!("logman: {kind} needs Windows: {reason}")));
    }
    let refused = NOT_HERE.iter().find_map(|(names, reason)| {
        names.iter().find(|name| words.has(name)).map(|name| format!("logman: -{name}: {reason}"))
    });
    if let Some(refused) = refused {
        return Err(Failure::new(Kind::Usage, refused));
    }
    let of_computer = computer(&words, &verb)?;
    let name = words.one("n").or_else(|| names.next());
    let store = SessionStore::of_environment()?;
    if verb == "query" && name.is_none() {
        return list(&store);
    }
    let Some(name) = name else {
        return Err(Failure::new(Kind::Usage, format_args!("logman {verb}: which session?\n{USAGE}")));
    };
    let common = Common::default();
    match verb.as_str() {
        "create" => {
            if store.has(name) {
                let words = format!("Error: Data Collector Set already exists: {name}");
                return Err(Failure::new(Kind::Usage, words));
            }
            let mut settings = SessionSettings::new(name, store.default_folder(name));
            settings.format = Format::Blg;
            let mut settings = changed(settings, &of_computer, &words, &negated)?;
            as_kind(&mut settings, kind)?;
            // A counter that does not exist is an error now, not later when nobody looks.
            if settings.check().is_ok() {
                session::check_counters(&common, &settings)?;
            }
            session::keep(&store, &settings)?;
        }
        "update" => session::keep(&store, &changed(store.read(name)?, &of_computer, &words, &negated)?)?,
        "query" => describe(&store, &store.read(name)?)?,
        "start" => start(&common, &store, name)?,
        "stop" => {
            if !store.stop(name)? {
                let words = format!("Error: Data Collector Set is not running: {name}");
                return Err(Failure::new(Kind::Other, words));
            }
        }
        "delete" => drop(session::delete(&store, name)?),
        "import" => {
            let (settings, dropped) = collector_set::read(file(&words)?, name, store.default_folder(name))?;
            if store.has(name) && !words.has("y") {
                let words = format!("session {name:?} is there already; -y replaces it");
                return Err(Failure::new(Kind::Usage, words));
            }
            session::keep(&store, &settings)?;
            let file = file(&words)?.display();
            dropped.iter().for_each(|dropped| say(format_args!("{file}: {dropped}")));
        }
        "export" => {
            let settings = store.read(name)?;
            let xml = collector_set::write(&settings, store.is_running(name));
            super::relog::save_as(file(&words)?, words.has("y"), xml.as_bytes())?;
        }
        _ => return Err(Failure::new(Kind::Usage, format_args!("logman: no verb {verb:?}\n{USAGE}"))),
    }
    completed();
    Ok(())
}

/// The options that choose the computer of `-s`, for counters that name none.
fn computer(words: &Words, verb: &str) -> Result<Common, Failure> {
    let mut common = Common::default();
    if let Some(computer) = words.one("s")
        && other_machine(computer)?.is_some()
    {
        if !matches!(verb, "create" | "update") {
            let words = format!(
                "logman {verb} -s: sessions are of this computer; -s is for the counters of create and update"
            );
            return Err(Failure::new(Kind::Usage, words));
        }
        common.host = vec![computer.to_owned()];
    }
    Ok(common)
}

/// Starts a session, and says once which of its counters are not here.
fn start(common: &Common, store: &SessionStore, name: &str) -> Result<(), Failure> {
    let settings = store.read(name)?;
    if settings.await_missing {
        session::say_missing(common, &settings)?;
    }
    session::start(common, store, &settings)
}

fn file(words: &Words) -> Result<&Path, Failure> {
    let missing = || Failure::new(Kind::Usage, "say with -xml which file");
    words.one("xml").map(Path::new).ok_or_else(missing)
}

/// Settings with the options of a command line in them.
fn changed(
    mut settings: SessionSettings,
    of_computer: &Common,
    words: &Words,
    negated: &[String],
) -> Result<SessionSettings, Failure> {
    let off = |name: &str| negated.iter().any(|word| word.trim_start_matches('-').eq_ignore_ascii_case(name));
    let counters = words.counters(&[])?;
    if !counters.is_empty() {
        settings.all_objects = false;
    }
    session::hosts::choose(of_computer, &mut settings, &counters)?;
    settings.interval = words.parsed("si", interval)?.unwrap_or(settings.interval);
    if let Some(output) = words.output()?.map(|path| path.to_string_lossy()) {
        (settings.folder, settings.base) = place(&output, &settings.name)?;
    }
    if let Some(version) = words.one("v").filter(|version| !version.eq_ignore_ascii_case("nnnnnn")) {
        let words = format!("-v {version}: logs are numbered here (nnnnnn)");
        return Err(Failure::new(Kind::Usage, words));
    }
    let number = |text: &str| match text.parse::<u64>() {
        Ok(number) if number > 0 => Ok(number),
        _ => Err(format!("{text:?} is not a number")),
    };
    settings.samples = words.parsed("sc", number)?.or_else(|| settings.samples.filter(|_| !off("sc")));
    settings.duration = words.parsed("rf", interval)?.or_else(|| settings.duration.filter(|_| !off("rf")));
    settings.begin =
        words.one("b").map(machine_time).transpose()?.or_else(|| settings.begin.filter(|_| !off("b")));
    settings.end =
        words.one("e").map(machine_time).transpose()?.or_else(|| settings.end.filter(|_| !off("e")));
    for by_hand in words.all("m") {
        match by_hand.to_ascii_lowercase().as_str() {
            "start" => settings.begin = None,
            "stop" => (settings.end, settings.duration) = (None, None),
            other => {
                let words = format!("-m {other}: there are start and stop");
                return Err(Failure::new(Kind::Usage, words));
            }
        }
    }
    limits(&mut settings, words, (off("max"), off("cnf")))?;
    alerts(&mut settings, words, off)?;
    Ok(settings)
}

/// Makes a new session one of alerts, or refuses limits for one of another kind.
fn as_kind(settings: &mut SessionSettings, kind: Option<&str>) -> Result<(), Failure> {
    let alerts = &mut settings.alerts;
    if kind.is_some_and(|kind| kind.eq_ignore_ascii_case("alert")) {
        // An alert that does nothing else is seen in the event log.
        alerts.event |= alerts.start.is_none() && alerts.run.is_none() && alerts.webhook.is_none();
    } else if !alerts.is_empty() {
        return Err(Failure::new(Kind::Usage, "logman: -th: 'logman create alert' has limits"));
    }
    Ok(())
}

/// Sets limits and what is done at an alert.
fn alerts(settings: &mut SessionSettings, words: &Words, off: impl Fn(&str) -> bool) -> Result<(), Failure> {
    let limits: Result<Vec<Limit>, _> = words.all("th").map(Limit::parse).collect();
    let limits = limits.map_err(|fault| Failure::new(Kind::Usage, format_args!("-th: {fault}")))?;
    let alerts = &mut settings.alerts;
    if !limits.is_empty() {
        alerts.limits = limits;
    }
    alerts.event = words.has("el") || alerts.event && !off("el");
    let old = alerts.start.take().filter(|_| !off("rdcs"));
    alerts.start = words.one("rdcs").map(str::to_owned).or(old);
    let old = alerts.run.take().filter(|_| !off("tn"));
    alerts.run = words.one("tn").map(|task| {
        let arguments = words.all("targ").map(quoted);
        [quoted(task)].into_iter().chain(arguments).collect::<Vec<_>>().join(" ")
    });
    alerts.run = alerts.run.take().or(old);
    Ok(())
}

/// Sets sizes and rotation: the meaning of `-max` depends on `-cnf` and on the format.
fn limits(
    settings: &mut SessionSettings,
    words: &Words,
    (no_size, no_new): (bool, bool),
) -> Result<(), Failure> {
    let megabytes = |text: &str| {
        let bytes = text.parse::<u64>().ok().and_then(|number| number.checked_mul(MEGABYTE));
        bytes.filter(|bytes| *bytes > 0).ok_or_else(|| format!("{text:?} is not a size in MB"))
    };
    let format = words.one("f").map(str::to_ascii_lowercase);
    let was_ring = settings.segments.is_some();
    let ring = format.as_deref().map_or(was_ring, |format| format == "bincirc");
    settings.format = match format.as_deref() {
        None => settings.format,
        Some("bin" | "bincirc") => Format::Blg,
        Some(name @ ("csv" | "tsv" | "sql")) => Format::from_name(name).unwrap_or(Format::Blg),
        Some(other) => {
            let words = format!("-f {other}: no such format; there are bin, bincirc, csv, tsv and sql");
            return Err(Failure::new(Kind::Usage, words));
        }
    };
    let kept = settings
        .max_size
        .or(settings.rotate_size.map(|size| size.saturating_mul(if was_ring { RING.into() } else { 1 })));
    let size = words.parsed("max", megabytes)?.or(kept.filter(|_| !no_size));
    let new = words.has("cnf")
        || (!no_new && (settings.rotate_size.is_some() && !was_ring || settings.rotate_time.is_some()));
    let every: Option<Duration> = words.parsed("cnf", interval)?.or(settings.rotate_time.filter(|_| !no_new));
    if ring && size.is_none() {
        return Err(Failure::new(Kind::Usage, "-f bincirc: say with -max how many MB the ring has"));
    }
    settings.segments = ring.then_some(RING);
    settings.rotate_time = every;
    (settings.rotate_size, settings.max_size) = match (ring, new) {
        (true, _) => (size.map(|size| (size / u64::from(RING)).max(1)), None),
        (false, true) => (size, None),
        (false, false) => (None, size),
    };
    Ok(())
}

/// The folder of the logs, and the beginning of their names.
fn place(output: &str, name: &str) -> Result<(PathBuf, String), Failure> {
    let path = std::path::absolute(output).map_err(|error| Failure::file(Path::new(output), &error))?;
    if output.ends_with('/') || path.is_dir() {
        return Ok((path, name.to_owned()));
    }
    // Sessions add the number and the extension themselves.
    let known = path.extension().is_some_and(|end| Format::from_name(&end.to_string_lossy()).is_some());
    let base = if known { path.file_stem() } else { path.file_name() };
    let base = base.map_or_else(|| name.to_owned(), |base| base.to_string_lossy().into_owned());
    Ok((path.parent().map_or_else(PathBuf::new, Path::to_path_buf), base))
}

/// The kind of collector, in Windows' word.
fn kind_of(settings: &SessionSettings) -> &'static str {
    if settings.takes_samples() { "Counter" } else { "Alert" }
}

/// What a session does, in Windows' word.
fn status(store: &SessionStore, settings: &SessionSettings) -> &'static str {
    match store.state(&settings.name) {
        SessionState::Recording => "Running",
        SessionState::Waiting => "Pending",
        SessionState::Stopped | SessionState::Killed => "Stopped",
    }
}

fn list(store: &SessionStore) -> Result<(), Failure> {
    let mut out = border::stdout();
    writeln!(out, "\n{:<40}{:<30}Status\n{}", "Data Collector Set", "Type", "-".repeat(79))?;
    for name in store.names()? {
        let settings = store.read(&name)?;
        let name = visible(&name);
        writeln!(out, "{name:<40}{:<30}{}", kind_of(&settings), status(store, &settings))?;
    }
    writeln!(out)?;
    completed();
    Ok(())
}

fn describe(store: &SessionStore, settings: &SessionSettings) -> io::Result<()> {
    let mut out = border::stdout();
    let on = |is: bool| if is { "On" } else { "Off" };
    let new_logs = settings.rotate_size.is_some() || settings.rotate_time.is_some();
    let SessionSettings { name, .. } = settings;
    let user = std::env::var("USER").unwrap_or_default();
    writeln!(out)?;
    let mut line =
        |title: &str, text: &str| writeln!(out, "{}", visible(format!("{title:<22}{text}").trim_end()));
    line("Name:", name)?;
    line("Status:", status(store, settings))?;
    line("Root Path:", &settings.place().to_string_lossy())?;
    line("Segment:", on(new_logs))?;
    if let Some(time) = settings.rotate_time {
        line("Segment Max Duration:", &format!("{} second(s)", time.as_secs_f64()))?;
    }
    if let Some(size) = settings.rotate_size.or(settings.max_size) {
        line("Segment Max Size:", &format!("{} MB", size as f64 / MEGABYTE as f64))?;
    }
    line("Schedules:", on(settings.begin.is_some() || settings.end.is_some()))?;
    line("Run as:", &user)?;
    line("", "")?;
    line("Name:", &format!("{name}\\{}", settings.base))?;
    line("Type:", kind_of(settings))?;
    if let Some(number) = store.status(name).segment {
        line("Output Location:", &settings.segment(number).to_string_lossy())?;
    }
    line("Append:", "Off")?;
    line("Circular:", on(settings.segments.is_some()))?;
    line("Overwrite:", "Off")?;
    line("Sample Interval:", &format!("{} second(s)", settings.interval.as_secs_f64()))?;
    line("Counters:", "")?;
    for counter in settings.paths() {
        line("", &counter)?;
    }
    if settings.all_objects {
        line("", "(all objects)")?;
    }
    if !settings.alerts.is_empty() {
        line("Event Log:", on(settings.alerts.event))?;
        line("Run Collector Set:", settings.alerts.start.as_deref().unwrap_or_default())?;
        line("Task:", settings.alerts.run.as_deref().unwrap_or_default())?;
        line("Thresholds:", "")?;
        for limit in &settings.alerts.limits {
            line("", &limit.to_string())?;
        }
    }
    line("", "")
}
