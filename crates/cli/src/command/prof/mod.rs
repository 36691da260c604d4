//! `tally prof`: runs .NET programs under the function profiler and prints what it recorded.

use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::Command;

use tallymon_clr::export::{self, TreeOptions, Weight};
use tallymon_clr::reader::{Profile, ReadError};
use tallymon_clr::settings::{Filter, Mode, Settings, environment, find_library};

use crate::arguments::{Prof, ProfAction, ProfExport, ProfForm, ProfMode, ProfRun, ProfTree};
use crate::exit::{Failure, Kind};

pub(crate) fn run(prof: &Prof) -> Result<(), Failure> {
    match &prof.action {
        ProfAction::Run(arguments) => run_program(arguments),
        ProfAction::Tree(arguments) => tree(arguments),
        ProfAction::Export(arguments) => export(arguments),
        ProfAction::On(arguments) => switch(&arguments.program, true),
        ProfAction::Off(arguments) => switch(&arguments.program, false),
    }
}

fn run_program(arguments: &ProfRun) -> Result<(), Failure> {
    let program = std::env::current_exe().map_err(|error| Failure::file(Path::new("tally"), &error))?;
    let library = program.parent().and_then(find_library).ok_or_else(|| {
        let words =
            "the profiler's library, libtallymon_clr.so, is not beside the command; build or install it too";
        Failure::new(Kind::NotFound, words)
    })?;
    // A path from the folder of the command that is run would be another file there.
    let file = arguments.output.as_deref().map(std::path::absolute).transpose();
    let settings = Settings {
        mode: match arguments.mode {
            ProfMode::Dormant => Mode::Dormant,
            ProfMode::User => Mode::User,
            ProfMode::All => Mode::All,
        },
        filter: Filter { include: arguments.include.clone(), exclude: arguments.exclude.clone() },
        exact: arguments.exact,
        size: arguments.size,
        file: file.map_err(|error| Failure::new(Kind::Usage, format_args!("--output: {error}")))?,
        ..Settings::default()
    };
    let Some((name, words)) = arguments.command.split_first() else { return Ok(()) };
    let mut child = Command::new(name)
        .args(words)
        .envs(environment(&settings, &library))
        .spawn()
        .map_err(|error| Failure::file(Path::new(name), &error))?;
    let file = settings.file_of(child.id());
    if settings.mode == Mode::Dormant {
        eprintln!("tally: dormant; 'tally prof on {}' switches it on", child.id());
    }
    let status = child.wait().map_err(|error| Failure::file(Path::new(name), &error))?;
    if file.is_file() {
        eprintln!("tally: the profile is in {}", file.display());
        if arguments.output.is_none() {
            print_tree(&file, &TreeOptions::default())?;
        }
    } else {
        let words = format!(
            "{} left no profile in {}: it is no .NET program, or its runtime said above why it could not load the profiler",
            name.to_string_lossy(),
            file.display()
        );
        return Err(Failure::new(Kind::NoData, words));
    }
    if status.success() {
        Ok(())
    } else {
        Err(Failure::new(Kind::Other, format_args!("the program ended: {status}")))
    }
}

fn tree(arguments: &ProfTree) -> Result<(), Failure> {
    let options =
        TreeOptions { corrected: arguments.corrected, depth: arguments.depth, ..TreeOptions::default() };
    print_tree(&arguments.file, &options)
}

fn print_tree(file: &Path, options: &TreeOptions) -> Result<(), Failure> {
    let profile = open(file)?;
    let mut out = BufWriter::new(io::stdout().lock());
    export::summary(&profile, &mut out)?;
    export::tree(&profile, options, &mut out)?;
    Ok(out.flush()?)
}

fn export(arguments: &ProfExport) -> Result<(), Failure> {
    let profile = open(&arguments.file)?;
    let mut out = BufWriter::new(io::stdout().lock());
    match arguments.format {
        ProfForm::Speedscope => export::speedscope(&profile, &mut out)?,
        ProfForm::Collapsed => export::collapsed(&profile, Weight::Time, &mut out)?,
        ProfForm::CollapsedCalls => export::collapsed(&profile, Weight::Calls, &mut out)?,
    }
    Ok(out.flush()?)
}

fn open(file: &Path) -> Result<Profile, Failure> {
    Profile::open(file).map_err(|error| failure(file, error))
}

/// A number is a process whose profile is where profiles are without an option; anything else is a file.
fn switch(program: &str, on: bool) -> Result<(), Failure> {
    let file =
        program.parse().map_or_else(|_| PathBuf::from(program), |pid| Settings::default().file_of(pid));
    switch_file(&file, on).map_err(|error| failure(&file, error))
}

#[cfg(unix)]
fn switch_file(file: &Path, on: bool) -> Result<(), ReadError> {
    tallymon_clr::reader::switch(file, on)
}

#[cfg(not(unix))]
fn switch_file(_file: &Path, _on: bool) -> Result<(), ReadError> {
    Err(ReadError::Io(io::Error::from(io::ErrorKind::Unsupported)))
}

fn failure(file: &Path, error: ReadError) -> Failure {
    match error {
        ReadError::Io(error) => Failure::file(file, &error),
        error => Failure::new(Kind::BadFile, format_args!("{}: {error}", file.display())),
    }
}
