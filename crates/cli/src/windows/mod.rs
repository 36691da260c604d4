//! Windows' programs with their own names and options: `typeperf`, `relog`, `logman`, `lodctr`, `unlodctr`,
//! `perfmon`.
//!
//! `tally` runs as one of them if it is started under that name or as `tally compat NAME`. Links with these
//! names exist only after `tally compat install`.

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
use crate::words::note;

/// A program of Windows.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Program {
    pub(crate) name: &'static str,
    run: fn(&[String]) -> Result<(), Failure>,
}

/// All programs.
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

    /// The program that the first word of the command line names.
    pub(crate) fn called(first_word: &std::ffi::OsStr) -> Option<Program> {
        Program::of_name(&Path::new(first_word).file_name()?.to_string_lossy())
    }

    pub(crate) fn run(self, words: &[String]) -> Result<(), Failure> {
        (self.run)(words)
    }
}

/// Runs the program that the first word names. The other words are its arguments.
pub(crate) fn run(words: &[OsString]) -> Result<(), Failure> {
    let words: Vec<String> = words.iter().map(|word| word.to_string_lossy().into_owned()).collect();
    let found = words.split_first().and_then(|(name, line)| Some((Program::of_name(name)?, line)));
    match found {
        Some((program, line)) => program.run(line),
        None => {
            let names: Vec<&str> = PROGRAMS.iter().map(|program| program.name).collect();
            let words = format!("no program {:?}; choose one of {}", words.join(" "), names.join(", "));
            Err(Failure::new(Kind::Usage, words))
        }
    }
}

/// Prints the last line of every Windows program. It is a message, not data, so it goes to standard error.
fn completed() {
    note(format_args!("The command completed successfully."));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_the_program_that_a_path_names() {
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
