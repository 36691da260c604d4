//! `tally prof list`: the running .NET programs, and whether they are profiled.

use std::io::Write;
use std::path::PathBuf;

use serde_json::json;
use tallymon_clr::reader::Profile;
use unicode_width::UnicodeWidthStr;

use super::{attach, locate};
use crate::border;
use crate::exit::Failure;
use crate::words::{say, visible};

/// A running .NET program.
pub(super) struct Listed {
    /// Its process id here, also when it is in a container.
    pub(super) pid: u32,
    /// The name of its assembly, or of its program file.
    pub(super) name: String,
    /// The version of its runtime, empty before .NET 6; or why the runtime does not say it.
    pub(super) runtime: Result<String, String>,
    /// The profile that it writes.
    pub(super) profile: Option<PathBuf>,
}

impl Listed {
    /// What the profiler does in the program.
    fn state(&self) -> &'static str {
        match self.profile.as_deref().map(Profile::open_head) {
            Some(Ok(profile)) if profile.hooks_on => "profiled",
            Some(Ok(_)) => "dormant",
            Some(Err(_)) => "unreadable",
            None => "-",
        }
    }
}

pub(super) fn run(as_json: bool) -> Result<(), Failure> {
    let mut programs = attach::programs();
    // The diagnostics port of a program may be switched off.
    for (profile, file) in locate::running() {
        if programs.iter().all(|program| program.pid != profile.pid) {
            let runtime = Err("it has no diagnostics port".to_string());
            programs.push(Listed { pid: profile.pid, name: profile.command, runtime, profile: Some(file) });
        }
    }
    programs.sort_by_key(|program| program.pid);
    let mut out = border::stdout();
    if as_json {
        let row = |program: &Listed| {
            json!({
                "pid": program.pid,
                "name": program.name,
                "runtime": program.runtime.as_ref().ok().filter(|version| !version.is_empty()),
                "problem": program.runtime.as_ref().err(),
                "profiler": program.profile.as_ref().map(|_| program.state()),
                "profile": program.profile.as_ref().map(|file| file.to_string_lossy()),
            })
        };
        let rows: Vec<_> = programs.iter().map(row).collect();
        writeln!(out, "{}", border::json(&json!(rows)))?;
        return Ok(());
    }
    if programs.is_empty() {
        say("no .NET program of version 3.1 or later runs that can be seen from here");
        return Ok(());
    }
    let width = programs.iter().map(|program| program.name.width()).max().unwrap_or(0).max(4);
    writeln!(out, "{:>8}  {:<10}  {:width$}  RUNTIME", "PID", "PROFILER", "NAME")?;
    for program in &programs {
        let gap = " ".repeat(width.saturating_sub(program.name.width()));
        let runtime = match &program.runtime {
            Ok(version) if version.is_empty() => "before .NET 6",
            Ok(version) => version,
            Err(problem) => problem,
        };
        let (pid, state) = (program.pid, program.state());
        writeln!(out, "{}", visible(&format!("{pid:>8}  {state:<10}  {}{gap}  {runtime}", program.name)))?;
    }
    Ok(())
}
