//! `tally prof run`: runs a program and its child processes under the profiler.

use std::ffi::OsStr;
use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus};
use std::time::{Duration, Instant, SystemTime};

use tallymon_clr::export::{self, TreeOptions};
use tallymon_clr::settings::{Filter, LIBRARY, Mode, Settings, environment, find_library};

use super::arguments::{ProfMode, ProfRun};
use super::locate;
use super::publish::{self, Live};
use crate::exit::{Failure, Kind};
use crate::stop::Stop;
use crate::words::{say, shown};

/// How long a program may take to end after SIGTERM before it is killed.
const PATIENCE: Duration = Duration::from_secs(5);

pub(super) fn run(arguments: &ProfRun) -> Result<(), Failure> {
    let program = std::env::current_exe().map_err(|error| Failure::file(Path::new("tally"), &error))?;
    let library = program.parent().and_then(find_library).ok_or_else(|| {
        let words = "the profiler's library, is not beside tally; build it or install it there";
        Failure::new(Kind::NotFound, format_args!("{LIBRARY}, {words}"))
    })?;
    let settings = settings(arguments)?;
    let Some((name, words)) = arguments.command.split_first() else { return Ok(()) };
    let since = SystemTime::now();
    // The terminal sends Ctrl-C to the program too, and its profile is wanted all the same.
    let stop = Stop::on_signals()?;
    let mut child = Command::new(name)
        .args(words)
        .envs(environment(&settings, &library))
        .spawn()
        .map_err(|error| Failure::file(Path::new(name), &error))?;
    let file = settings.file_of(child.id());
    if settings.mode == Mode::Dormant {
        let name = match &arguments.output {
            Some(_) => shown(&file).to_string(),
            None => child.id().to_string(),
        };
        say(format_args!("the profiler is dormant; 'tally prof on {name}' switches it on"));
    }
    let mut live = arguments.publish.then(|| LiveFile { file, live: None, next: Instant::now() });
    let status = wait(&mut child, arguments.duration, live.as_mut(), &stop)
        .map_err(|error| Failure::file(Path::new(name), &error))?;
    let found = locate::of_run(&settings, since);
    for (profile, file) in &found {
        let whose =
            if profile.pid == child.id() { String::new() } else { format!(" of process {}", profile.pid) };
        say(format_args!("the profile{whose} is in {}", file.display()));
        if arguments.output.is_some() {
            for line in export::losses(profile) {
                say(format_args!("lost {line}"));
            }
        }
    }
    let report = match found.first() {
        Some((profile, _)) if arguments.output.is_none() => {
            super::print_profile(profile, &TreeOptions::default())
        }
        Some(_) => Ok(()),
        None => Err(no_profile(name, &settings.file_of(child.id()))),
    };
    match status {
        // Who runs a program by this command gets its exit code, also when there is nothing to report.
        Some(status) if !status.success() => {
            if let Err(Failure { message: Some(words), .. }) = report {
                say(format_args!("{words}"));
            }
            say(format_args!("the program ended: {status}"));
            std::process::exit(code_of(status))
        }
        // Without a status, --duration ended the program.
        _ => report,
    }
}

fn no_profile(name: &OsStr, file: &Path) -> Failure {
    let words = format!(
        "{} left no profile in {}: it is not a .NET program, or the runtime's messages above say why it \
         could not load the profiler",
        name.to_string_lossy(),
        file.display()
    );
    Failure::new(Kind::NoData, words)
}

/// The exit code that a shell has for a program.
#[cfg(unix)]
fn code_of(status: ExitStatus) -> i32 {
    match std::os::unix::process::ExitStatusExt::signal(&status) {
        Some(signal) => 128 + signal,
        None => status.code().unwrap_or(1),
    }
}

#[cfg(not(unix))]
fn code_of(status: ExitStatus) -> i32 {
    status.code().unwrap_or(1)
}

fn settings(arguments: &ProfRun) -> Result<Settings, Failure> {
    // The program may change its folder, so the path must be absolute.
    let file = arguments.output.as_deref().map(std::path::absolute).transpose();
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    Ok(Settings {
        mode: match arguments.mode {
            ProfMode::Dormant => Mode::Dormant,
            ProfMode::User => Mode::User,
            ProfMode::All => Mode::All,
        },
        filter: Filter { include: arguments.include.clone(), exclude: arguments.exclude.clone() },
        exact: arguments.exact,
        size: arguments.size.unwrap_or(match arguments.mode {
            ProfMode::All => 256,
            _ => Settings::default().size,
        }),
        events: arguments.events,
        events_min: arguments.events_min.map_or(0, |min| u64::try_from(min.as_nanos()).unwrap_or(u64::MAX)),
        file: file.map_err(|error| Failure::new(Kind::Usage, format_args!("--output: {error}")))?,
        run: format!("{}-{}", std::process::id(), now.as_nanos()),
        ..Settings::default()
    })
}

/// Waits for the end of a program. After `duration` it gets SIGTERM, then SIGKILL, and there is no status.
fn wait(
    child: &mut Child,
    duration: Option<Duration>,
    live: Option<&mut LiveFile>,
    stop: &Stop,
) -> std::io::Result<Option<ExitStatus>> {
    let deadline = duration.map(|duration| Instant::now() + duration);
    if let Some(status) = wait_until(child, deadline, live, Some(stop))? {
        return Ok(Some(status));
    }
    // SIGTERM gives the runtime time to end in order. Without the command `kill` the program is killed at
    // once, which loses only its open calls.
    if !terminate(child) || wait_until(child, Some(Instant::now() + PATIENCE), None, None)?.is_none() {
        child.kill()?;
        child.wait()?;
    }
    Ok(None)
}

/// Sends SIGTERM to a program; false when that is not possible.
fn terminate(child: &Child) -> bool {
    Command::new("kill").arg(child.id().to_string()).status().is_ok_and(|status| status.success())
}

fn wait_until(
    child: &mut Child,
    deadline: Option<Instant>,
    mut live: Option<&mut LiveFile>,
    stop: Option<&Stop>,
) -> std::io::Result<Option<ExitStatus>> {
    // Without a terminal the signal came to this process alone, and it is passed on. On a terminal the
    // program got it too and may take its time; a second one ends it.
    let mut patient = std::io::stdin().is_terminal();
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        if stop.is_some_and(Stop::is_wanted) && !std::mem::take(&mut patient) && !terminate(child) {
            child.kill()?;
        }
        if deadline.is_some_and(|deadline| Instant::now() >= deadline) {
            return Ok(None);
        }
        if let Some(live) = &mut live {
            live.update();
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// The counters of a program that is being run.
struct LiveFile {
    file: PathBuf,
    /// None until the program has a profile.
    live: Option<Live>,
    next: Instant,
}

impl LiveFile {
    /// Updates the counters when it is time. A profile that cannot be read does not exist yet. If the
    /// counters cannot be published, that is reported once and the program goes on.
    fn update(&mut self) {
        if Instant::now() < self.next {
            return;
        }
        self.next = Instant::now() + publish::PERIOD;
        let Ok(profile) = locate::open(&self.file) else { return };
        let result = match &mut self.live {
            Some(live) => live.update(&profile),
            None => Live::start(&profile, Filter::default(), 25).map(|live| self.live = Some(live)),
        };
        if let Err(failure) = result {
            say(format_args!("{}", failure.message.unwrap_or_default()));
            self.next += Duration::from_secs(u32::MAX.into());
        }
    }
}
