//! Messages of wrong counter paths.

use tallymon::{PathError, PathPart, PathProblem};

use crate::words::visible;

/// Where the counters of a path come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Home {
    /// A machine, or a saved data block.
    Machine,
    /// A performance log.
    Log,
}

/// The message of a path error, with the path below it and a mark under the wrong part.
pub(crate) fn drawn(error: &PathError, home: Home) -> String {
    let before = error.path.get(..error.span.start).unwrap_or_default();
    let part = error.path.get(error.span.clone()).unwrap_or_default();
    let width = |text: &str| unicode_width::UnicodeWidthStr::width(&*visible(text));
    let marks = "^".repeat(width(part).max(1));
    if let PathProblem::Source(_) = &error.problem {
        // The source failed; the path may be right.
        return error.to_string();
    }
    let words = format!("{}{}", error.problem_words(), error.nearest_words());
    if error.problem == PathProblem::NotAPath {
        return match (error.nearest.is_empty(), home) {
            (true, Home::Machine) => {
                format!("{words}\n  'tally list' lists all objects, 'tally find WORD' searches them")
            }
            (true, Home::Log) => format!("{words}\n  'tally list --log FILE' lists all objects of the log"),
            (false, _) => words,
        };
    }
    let hint = match (&error.problem, error.part, home) {
        (PathProblem::InstanceMissing(_), _, Home::Machine) => {
            "\n  'tally list OBJECT --instances' lists the current instances"
        }
        (PathProblem::InstanceMissing(_), _, Home::Log) => {
            "\n  'tally list OBJECT --instances --log FILE' lists the log's instances"
        }
        (PathProblem::NotAnswering(_), _, _) => {
            "\n  'tally provider list' lists the libraries, 'tally provider check SERVICE' tests one,\
             \n  'tally events' lists what went wrong"
        }
        (_, PathPart::Object, Home::Machine) => {
            "\n  'tally list' lists all objects, 'tally find WORD' searches them,\
             \n  'tally provider check SERVICE' reports why objects of a library are missing"
        }
        (_, PathPart::Object, Home::Log) => "\n  'tally list --log FILE' lists the log's objects",
        (_, PathPart::Counter, Home::Machine) => "\n  'tally list OBJECT' lists all counters of an object",
        (_, PathPart::Counter, Home::Log) => {
            "\n  'tally list OBJECT --log FILE' lists the log's counters of an object"
        }
        _ => "",
    };
    format!("{words}\n  {}\n  {}{marks}{hint}", visible(&error.path), " ".repeat(width(before)))
}
