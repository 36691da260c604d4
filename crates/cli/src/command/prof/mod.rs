//! `tally prof`: runs .NET programs under the function profiler and shows its recordings.

pub(crate) mod arguments;
#[cfg_attr(not(target_os = "linux"), path = "attach_elsewhere.rs")]
mod attach;
mod incidents;
mod list;
mod locate;
#[cfg_attr(not(any(target_os = "linux", windows)), path = "publish_elsewhere.rs")]
mod publish;
mod requests;
mod run;
mod sampled;
mod top;

use std::io::{BufWriter, Write};
use std::time::{Duration, Instant};

use tallymon::log::new_file::NewFile;
use tallymon_clr::export::{self, TreeOptions, Weight};
use tallymon_clr::reader::Profile;
use tallymon_clr::settings::Filter;
use tallymon_serve::ProfileAccess;

use crate::border;
use crate::exit::{Failure, Kind};
use crate::output::refuse_input;
use crate::stop::without_half_files;
use crate::words::{say, shown};
use arguments::{
    Prof, ProfAction, ProfDiff, ProfExport, ProfFold, ProfForm, ProfReport, ProfStatus, ProfTree,
};
use incidents::Subject;
use locate::open;

pub(crate) fn run(prof: &Prof) -> Result<(), Failure> {
    match &prof.action {
        ProfAction::List { json } => list::run(*json),
        ProfAction::Run(arguments) => run::run(arguments),
        ProfAction::Sample(arguments) => attach::sample(arguments),
        ProfAction::Gc(arguments) => incidents::run(Subject::Collections, arguments),
        ProfAction::Exceptions(arguments) => incidents::run(Subject::Exceptions, arguments),
        ProfAction::Contention(arguments) => incidents::run(Subject::Contention, arguments),
        ProfAction::Threads(arguments) => incidents::run(Subject::Threads, arguments),
        ProfAction::Http(arguments) => requests::run(requests::Kind::Http, arguments),
        ProfAction::Db(arguments) => requests::run(requests::Kind::Db, arguments),
        ProfAction::Tree(arguments) => tree(arguments),
        ProfAction::Report(arguments) => report(arguments),
        ProfAction::Diff(arguments) => diff(arguments),
        ProfAction::Export(arguments) => export(arguments),
        ProfAction::Top(arguments) => top::run(arguments),
        ProfAction::Publish(arguments) => publish::run(arguments),
        ProfAction::Status(arguments) => status(arguments),
        ProfAction::On(arguments) => {
            let (include, exclude) = (arguments.include.clone(), arguments.exclude.clone());
            switch(&arguments.program, true, &Filter { include, exclude })
        }
        ProfAction::Off(arguments) => switch(&arguments.program, false, &Filter::default()),
    }
}

/// How a server finds and reads profiles; those of running programs only if it shows this machine.
pub(crate) fn of_server(programs: bool) -> ProfileAccess {
    ProfileAccess {
        is_profile: locate::is_profile,
        open: |file| locate::open(file).map_err(|failure| failure.message.unwrap_or_default()),
        running: locate::running,
        programs,
    }
}

fn tree(arguments: &ProfTree) -> Result<(), Failure> {
    let options =
        TreeOptions { corrected: arguments.corrected, depth: arguments.depth, ..TreeOptions::default() };
    let mut profile = open(&locate::find(Some(&arguments.program))?)?;
    fold(&mut profile, &arguments.fold, usize::MAX);
    print_profile(&profile, &options)
}

/// The most places of a report or an export, unless the arguments say otherwise: browsers and other tools
/// take this many.
const MOST_PLACES: usize = 50_000;

/// Folds what the arguments say, and says what that hides.
fn fold(profile: &mut Profile, fold: &ProfFold, most: usize) {
    if fold.merge_threads {
        profile.merge_threads();
    }
    if fold.fold_framework
        && let Some(folded) = profile.fold_framework()
    {
        say(format_args!("{} places within the framework are folded into (elsewhere)", folded.places));
    }
    let least = fold.min.map_or(0, |min| u64::try_from(min.as_nanos()).unwrap_or(u64::MAX));
    let most = fold.places.unwrap_or(if least > 0 { usize::MAX } else { most });
    if let Some(folded) = profile.fold(least, most) {
        let longest = export::time(folded.longest);
        say(format_args!(
            "{} places of the tree, of up to {longest} each, are folded into (elsewhere); --places shows more",
            folded.places
        ));
    }
}

fn print_profile(profile: &Profile, options: &TreeOptions) -> Result<(), Failure> {
    let mut out = BufWriter::new(border::stdout());
    export::summary(profile, &mut out)?;
    export::tree(profile, options, &mut out)?;
    Ok(out.flush()?)
}

fn report(arguments: &ProfReport) -> Result<(), Failure> {
    let file = locate::find(Some(&arguments.program))?;
    refuse_input(&arguments.output, &[&file])?;
    let mut profile = open(&file)?;
    fold(&mut profile, &arguments.fold, MOST_PLACES);
    let failed = |error| Failure::file(&arguments.output, &error);
    without_half_files()?;
    let new = NewFile::create(&arguments.output, arguments.replacing.overwrite()).map_err(failed)?;
    let mut out = BufWriter::new(new.file().map_err(failed)?);
    export::html(&profile, &mut out).and_then(|()| out.flush()).map_err(failed)?;
    new.keep().map_err(failed)
}

fn diff(arguments: &ProfDiff) -> Result<(), Failure> {
    let read = |program: &str| open(&locate::find(Some(program))?);
    let (before, after) = (read(&arguments.before)?, read(&arguments.after)?);
    let mut out = BufWriter::new(border::stdout());
    export::diff(&before, &after, arguments.rows, &mut out)?;
    Ok(out.flush()?)
}

fn export(arguments: &ProfExport) -> Result<(), Failure> {
    let mut profile = open(&locate::find(Some(&arguments.program))?)?;
    // Everything is what JSON is for.
    let most = if arguments.format == ProfForm::Json { usize::MAX } else { MOST_PLACES };
    fold(&mut profile, &arguments.fold, most);
    let mut out = BufWriter::new(border::data());
    match arguments.format {
        ProfForm::Speedscope => export::speedscope(&profile, &mut out)?,
        ProfForm::Chrome => export::chrome(&profile, &mut out)?,
        ProfForm::Callgrind => export::callgrind(&profile, &mut out)?,
        ProfForm::Pprof => export::pprof(&profile, &mut out)?,
        ProfForm::Firefox => export::firefox(&profile, &mut out)?,
        ProfForm::Json => export::document(&profile, &mut out)?,
        ProfForm::Collapsed => export::collapsed(&profile, Weight::Time, &mut out)?,
        ProfForm::CollapsedCalls => export::collapsed(&profile, Weight::Calls, &mut out)?,
    }
    Ok(out.flush()?)
}

fn status(arguments: &ProfStatus) -> Result<(), Failure> {
    let file = locate::find(arguments.program.as_deref())?;
    let profile = open(&file)?;
    let mut out = BufWriter::new(border::stdout());
    writeln!(out, "file     {}", shown(&file))?;
    export::summary(&profile, &mut out)?;
    let (hooks, life) = (profile.hooks_on, locate::is_running(&profile));
    writeln!(out, "hooks    {}", if hooks { "on" } else { "off" })?;
    writeln!(out, "program  {}", if life { "running" } else { "gone" })?;
    let live = profile.threads.iter().filter(|thread| !thread.ended).count();
    writeln!(out, "threads  {} seen, {live} still running", profile.threads.len())?;
    writeln!(out, "methods  {} seen", profile.methods.len())?;
    Ok(out.flush()?)
}

/// How long a program may take to answer a request. It checks for requests ten times a second, and a large
/// program gets much new code.
const PATIENCE: Duration = Duration::from_secs(20);

/// Requests that a program switches its hooks, and waits for its answer.
fn switch(program: &str, on: bool, filter: &Filter) -> Result<(), Failure> {
    let file = locate::find(Some(program))?;
    tallymon_clr::reader::switch(&file, on, filter).map_err(|error| locate::failure(&file, error))?;
    let deadline = Instant::now() + PATIENCE;
    loop {
        let profile = open(&file)?;
        if !profile.asked && profile.problem.is_empty() {
            return Ok(());
        }
        let failed = |words: &dyn std::fmt::Display| {
            Failure::new(Kind::Other, format_args!("{}: {words}", file.display()))
        };
        if !profile.asked {
            return Err(failed(&profile.problem));
        }
        if !locate::is_running(&profile) {
            return Err(failed(&format_args!("process {} has ended", profile.pid)));
        }
        if Instant::now() >= deadline {
            return Err(failed(&format_args!("process {} does not answer", profile.pid)));
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}
