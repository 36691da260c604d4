//! `tally remote install`: copies tally to other machines over ssh, asked first.

use std::io::{self, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;
use tallymon::hosts::{HostTable, KnownHost};
use tallymon::remote::install::{self, Place};
use tallymon::remote::program::{Folder, Machine, Program};
use tallymon::remote::{Address, SshAddress, USUAL_TIMEOUT};

use crate::arguments::Common;
use crate::border;
use crate::exit::{Failure, Kind};
use crate::hosts::Outcome;
use crate::question::is_wanted;
use crate::words::{say, visible};

/// The longest program that is copied.
const LONGEST: u64 = 1 << 30;

#[derive(Debug, Args)]
pub(crate) struct InstallArguments {
    /// The host, such as ssh://web1, or a name or a group of the table of hosts.
    #[arg(value_name = "HOST")]
    target: String,
    /// Copy this program, such as a static one. Default: the one that runs now.
    #[arg(long, value_name = "FILE")]
    program: Option<PathBuf>,
    /// The folder there. It must be in the PATH of commands that ssh runs.
    #[arg(long, value_name = "FOLDER", default_value = "/usr/local/bin")]
    to: String,
    /// Say what would be done, and do nothing.
    #[arg(long)]
    dry_run: bool,
    /// Do not ask.
    #[arg(long)]
    yes: bool,
}

pub(crate) fn run(common: &Common, arguments: &InstallArguments) -> Result<(), Failure> {
    let place =
        Place::parse(&arguments.to).map_err(|why| Failure::new(Kind::Usage, format_args!("--to {why}")))?;
    let hosts = hosts(&arguments.target)?;
    let file = match &arguments.program {
        Some(file) => file.clone(),
        None => std::env::current_exe()?,
    };
    let bytes = read(&file)?;
    let program = Program::parse(&bytes).map_err(|why| {
        Failure::new(
            Kind::BadFile,
            format_args!("{}: {why}; name another one with --program", file.display()),
        )
    })?;
    if !arguments.dry_run && !arguments.yes && !io::stdin().is_terminal() {
        let words = "nobody can be asked here: add --yes, or --dry-run to see what would be done";
        return Err(Failure::new(Kind::Usage, words));
    }
    let timeout = common.timeout.unwrap_or(USUAL_TIMEOUT);
    let mut outcome = Outcome::default();
    for (name, address) in hosts {
        let job =
            Job { name, address, place: &place, file: &file, program: &program, bytes: &bytes, timeout };
        match job.run(arguments) {
            Ok(()) => outcome.good(),
            Err(failure) => outcome.failed(failure),
        }
    }
    outcome.result()
}

/// The hosts that a word names, all of them over ssh.
fn hosts(word: &str) -> Result<Vec<(String, SshAddress)>, Failure> {
    let is_address = word.contains("://");
    let table = if is_address { HostTable::default() } else { HostTable::of_environment()? };
    let known = match table.resolve(&[word.to_string()]) {
        // A host that no table has may be known to ssh.
        Err(_) if !is_address && !word.starts_with('@') => {
            vec![KnownHost {
                name: word.to_string(),
                address: format!("ssh://{word}").parse().map_err(|error| Failure::new(Kind::Usage, error))?,
                groups: Vec::new(),
            }]
        }
        known => known?,
    };
    let ssh = |host: KnownHost| match host.address {
        Address::Ssh(address) => Ok((host.name, address)),
        other => {
            let words = format!("{other}: a program is copied over ssh only; write ssh://{}", other.host());
            Err(Failure::new(Kind::Usage, words))
        }
    };
    known.into_iter().map(ssh).collect()
}

fn read(file: &Path) -> Result<Vec<u8>, Failure> {
    let failed = |error: io::Error| Failure::file(file, &error);
    let about = std::fs::metadata(file).map_err(failed)?;
    if !about.is_file() || about.len() > LONGEST {
        let words = format_args!("{}: no plain file of at most 1 GiB", file.display());
        return Err(Failure::new(Kind::Usage, words));
    }
    std::fs::read(file).map_err(failed)
}

/// A copy to a host.
struct Job<'j> {
    name: String,
    address: SshAddress,
    place: &'j Place,
    file: &'j Path,
    program: &'j Program,
    bytes: &'j [u8],
    timeout: Duration,
}

impl Job<'_> {
    fn run(&self, arguments: &InstallArguments) -> Result<(), Failure> {
        let machine = install::probe(&self.address, self.place, self.timeout)?;
        self.check(&machine)?;
        let there = match &machine.installed {
            Some(version) => format!("instead of {}", visible(version)),
            None => "where none is now".to_string(),
        };
        let plan = format!(
            "{}: copy {} ({} bytes, {}) to {} on {} {}, {there}",
            self.name,
            self.file.display(),
            self.bytes.len(),
            self.program,
            self.place.program(),
            visible(&machine.system),
            visible(&machine.processor),
        );
        if arguments.dry_run {
            let mut out = border::stdout();
            writeln!(out, "{plan}")?;
            return Ok(out.flush()?);
        }
        say(&plan);
        if !arguments.yes && !is_wanted("Copy it?")? {
            return Err(Failure::new(Kind::Other, format_args!("{}: nothing was copied", self.name)));
        }
        let mut tenths = 0usize;
        let mut progress = |done: usize| {
            let now = done.saturating_mul(10) / self.bytes.len().max(1);
            if now > tenths && io::stderr().is_terminal() {
                tenths = now;
                say(format_args!("{}: {} %", self.name, now.saturating_mul(10)));
            }
        };
        let version = install::copy(&self.address, self.place, self.bytes, self.timeout, &mut progress)?;
        let mut out = border::stdout();
        writeln!(out, "{}: {} is there: {}", self.name, self.place.program(), visible(&version))?;
        Ok(out.flush()?)
    }

    /// Whether the program would run there, and may be put there.
    fn check(&self, machine: &Machine) -> Result<(), Failure> {
        if let Some(why) = self.program.obstacle(machine) {
            let words = format!(
                "{}: {} would not run there: {}; name another one with --program",
                self.name,
                self.file.display(),
                visible(&why)
            );
            return Err(Failure::new(Kind::Usage, words));
        }
        let folder = self.place.program();
        match machine.folder {
            Folder::Open => Ok(()),
            Folder::Closed => {
                let words = format_args!(
                    "{}: the user who logs in may not write {folder}; choose a folder with --to, or log in as root",
                    self.name
                );
                Err(Failure::new(Kind::AccessDenied, words))
            }
            Folder::Missing => {
                let words =
                    format_args!("{}: the folder of {folder} is not there; choose one with --to", self.name);
                Err(Failure::new(Kind::NotFound, words))
            }
        }
    }
}
