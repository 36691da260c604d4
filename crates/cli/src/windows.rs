//! The programs of Windows under their own names and with their own options: `typeperf`, `relog`, `logman`, `lodctr`,
//! `unlodctr`, `perfmon`.
//!
//! The same file answers as all of them: to the name that it was started by, and behind `tally compat`. Nothing of it is
//! put into anybody's way unless `tally compat install` is run.

pub(crate) mod install;
pub(crate) mod lodctr;
mod logman;
mod perfmon;
mod relog;
mod typeperf;
mod words;

use std::ffi::OsString;
use std::path::Path;

use crate::exit::{Failure, Kind};

/// A program of Windows.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Program {
    pub(crate) name: &'static str,
    run: fn(&[String]) -> Result<(), Failure>,
}

/// All of them.
pub(crate) const PROGRAMS: &[Program] = &[
    Program { name: "typeperf", run: typeperf::run },
    Program { name: "relog", run: relog::run },
    Program { name: "logman", run: logman::run },
    Program { name: "lodctr", run: lodctr::lodctr },
    Program { name: "unlodctr", run: lodctr::unlodctr },
    Program { name: "perfmon", run: perfmon::run },
];

impl Program {
    /// The program of a name, with or without `.exe`, in any case.
    pub(crate) fn of_name(name: &str) -> Option<Program> {
        let stem = match name.rsplit_once('.') {
            Some((stem, end)) if end.eq_ignore_ascii_case("exe") => stem,
            _ => name,
        };
        PROGRAMS.iter().find(|program| program.name.eq_ignore_ascii_case(stem)).copied()
    }

    /// The program that the first word of a command line means, which is how this file was called.
    pub(crate) fn called(first_word: &std::ffi::OsStr) -> Option<Program> {
        Program::of_name(&Path::new(first_word).file_name()?.to_string_lossy())
    }

    pub(crate) fn run(self, words: &[String]) -> Result<(), Failure> {
        (self.run)(words)
    }
}

/// Runs the program that the first word names with the others.
pub(crate) fn run(words: &[OsString]) -> Result<(), Failure> {
    let words: Vec<String> = words.iter().map(|word| word.to_string_lossy().into_owned()).collect();
    let found = words.split_first().and_then(|(name, line)| Some((Program::of_name(name)?, line)));
    match found {
        Some((program, line)) => program.run(line),
        None => {
            let names: Vec<&str> = PROGRAMS.iter().map(|program| program.name).collect();
            let words = format!("no program {:?}; there are {}", words.join(" "), names.join(", "));
            Err(Failure::new(Kind::Usage, words))
        }
    }
}

/// What every program of Windows says at its end. It is no data, so it goes to standard error.
fn completed() {
    eprintln!("The command completed successfully.");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_programs() {
        for (word, name) in [
            ("typeperf", Some("typeperf")),
            ("/usr/lib/tallymon/bin/relog", Some("relog")),
            ("./TypePerf.EXE", Some("typeperf")),
            ("tally", None),
            ("relog.sh", None),
            ("", None),
        ] {
            assert_eq!(Program::called(word.as_ref()).map(|program| program.name), name, "{word}");
        }
    }
}
