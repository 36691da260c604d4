//! `tally prof run`: runs a program and its child processes under the profiler.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus};
use std::time::{Duration, Instant, SystemTime};

use tallymon_clr::export::TreeOptions;
use tallymon_clr::settings::{Filter, Mode, Settings, environment, find_library};

use super::arguments::{ProfMode, ProfRun};
use super::locate;
use super::publish::{self, Live};
use crate::exit::{Failure, Kind};
use crate::words::say;

/// How long a program may take to end after SIGTERM before it is killed.
const PATIENCE: Duration = Duration::from_secs(5);

pub(super) fn run(arguments: &ProfRun) -> Result<(), Failure> {
    let program = std::env::current_exe().map_err(|error| Failure::file(Path::new("tally"), &error))?;
    let library = program.parent().and_then(find_library).ok_or_else(|| {
        let words =
            "libtallymon_clr.so, the profiler's library, is not beside tally; build it or install it there";
        Failure::new(Kind::NotFound, words)
    })?;
    let settings = settings(arguments)?;
    let Some((name, words)) = arguments.command.split_first() else { return Ok(()) };
    let since = SystemTime::now();
    let mut child = Command::new(name)
        .args(words)
        .envs(environment(&settings, &library))
        .spawn()
        .map_err(|error| Failure::file(Path::new(name), &error))?;
    if settings.mode == Mode::Dormant {
        say(format_args!("the profiler is dormant; 'tally prof on {}' switches it on", child.id()));
    }
    let file = settings.file_of(child.id());
    let mut live = arguments.publish.then(|| LiveFile { file, live: None, next: Instant::now() });
    let status = wait(&mut child, arguments.duration, live.as_mut())
        .map_err(|error| Failure::file(Path::new(name), &error))?;
    let found = locate::of_run(&settings, since);
    for (profile, file) in &found {
        let whose =
            if profile.pid == child.id() { String::new() } else { format!(" of process {}", profile.pid) };
        say(format_args!("the profile{whose} is in {}", file.display()));
    }
    let Some((_, file)) = found.first() else {
        let words = format!(
            "{} left no profile in {}: it is not a .NET program, or the runtime's messages above say \
             why it could not load the profiler",
            name.to_string_lossy(),
            settings.file_of(child.id()).display()
        );
        return Err(Failure::new(Kind::NoData, words));
    };
    if arguments.output.is_none() {
        super::print_tree(file, &TreeOptions::default())?;
    }
    match status {
        // --duration ended the program.
        None => Ok(()),
        Some(status) if status.success() => Ok(()),
        Some(status) => Err(Failure::new(Kind::Other, format_args!("the program ended: {status}"))),
    }
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
        size: arguments.size,
        events: arguments.events,
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
) -> std::io::Result<Option<ExitStatus>> {
    let deadline = duration.map(|duration| Instant::now() + duration);
    if deadline.is_none() && live.is_none() {
        return child.wait().map(Some);
    }
    if let Some(status) = wait_until(child, deadline, live)? {
        return Ok(Some(status));
    }
    // SIGTERM gives the runtime time to end in order. Without the command `kill` the program is killed at
    // once, which loses only its open calls.
    let asked =
        Command::new("kill").arg(child.id().to_string()).status().is_ok_and(|status| status.success());
    if !asked || wait_until(child, Some(Instant::now() + PATIENCE), None)?.is_none() {
        child.kill()?;
        child.wait()?;
    }
    Ok(None)
}

fn wait_until(
    child: &mut Child,
    deadline: Option<Instant>,
    mut live: Option<&mut LiveFile>,
) -> std::io::Result<Option<ExitStatus>> {
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
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
    /// Updates the counters when it is time. A profile that can not be read does not exist yet. If the
    /// counters can not be published, that is reported once and the program goes on.
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
