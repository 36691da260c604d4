//! Why a counter path cannot be used: which part is wrong, and the nearest names that exist.

use std::fmt;
use std::ops::Range;

use tallymon_core::flow::SourceError;
use tallymon_core::path;
use tallymon_core::visible::visible;

/// A part of a counter path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum PathPart {
    /// The whole path.
    Path,
    /// The host.
    Host,
    /// The object.
    Object,
    /// The instance in parentheses.
    Instance,
    /// The counter.
    Counter,
}

impl PathPart {
    /// The part in one word.
    pub const fn word(self) -> &'static str {
        match self {
            PathPart::Path => "path",
            PathPart::Host => "host",
            PathPart::Object => "object",
            PathPart::Instance => "instance",
            PathPart::Counter => "counter",
        }
    }
}

impl PathError {
    /// A text that does not follow the grammar of counter paths.
    pub fn syntax(path: &str, error: path::PathError) -> PathError {
        PathError {
            path: path.to_string(),
            part: match error.part {
                path::PathPart::Machine => PathPart::Host,
                path::PathPart::Object => PathPart::Object,
                path::PathPart::Instance => PathPart::Instance,
                path::PathPart::Counter => PathPart::Counter,
            },
            span: error.at..path.len(),
            problem: PathProblem::Syntax(error.to_string()),
            nearest: Vec::new(),
        }
    }
}

impl PathError {
    /// What is wrong, without the path and the nearest names.
    pub fn problem_words(&self) -> String {
        match &self.problem {
            PathProblem::Syntax(needed) => needed.clone(),
            PathProblem::NotAPath => format!("{} is not a counter path", quoted(&self.path)),
            PathProblem::Unknown(text) => format!("no {} {}", self.part.word(), quoted(text)),
            PathProblem::InstanceMissing(object) => {
                format!("{object} has instances: name one as in {object}(_Total), or all with {object}(*)")
            }
            PathProblem::NoInstances(object) => {
                format!("{object} has no instances: leave the parentheses out")
            }
            PathProblem::OtherHost(host) => {
                format!(
                    "this is {}: leave the host out, or say where the other one is with -H, as in -H ssh://HOST",
                    quoted(host)
                )
            }
            PathProblem::NotAnswering(why) => format!("the provider of this object does not answer: {why}"),
            PathProblem::Source(error) => error.to_string(),
        }
    }

    /// The nearest names as a question, to put behind the problem; empty when there are none.
    pub fn nearest_words(&self) -> String {
        nearest_words(&self.nearest)
    }
}

/// Some names as a question; empty when there are none.
pub fn nearest_words(nearest: &[String]) -> String {
    let names: Vec<String> = nearest.iter().map(|name| quoted(name)).collect();
    if names.is_empty() { String::new() } else { format!("; did you mean {}?", names.join(", ")) }
}

/// A name in quotation marks, safe to show. Backslashes stay single, as the user writes them.
fn quoted(name: &str) -> String {
    format!("\"{}\"", visible(name))
}

/// A counter path that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PathError {
    /// The path as it was given.
    pub path: String,
    /// The part at fault.
    pub part: PathPart,
    /// Where that part stands in the path, in bytes.
    pub span: Range<usize>,
    /// What is wrong.
    pub problem: PathProblem,
    /// The nearest names that exist, best first.
    pub nearest: Vec<String>,
}

/// What is wrong with a counter path.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum PathProblem {
    /// It does not follow the grammar: what was expected, in words.
    Syntax(String),
    /// It has no separator: it is words and not a path. The nearest names are paths that these words may
    /// mean.
    NotAPath,
    /// Nothing has this name.
    Unknown(String),
    /// The object has instances and the path names none; the name of the object.
    InstanceMissing(String),
    /// The object has no instances and the path names one; the name of the object.
    NoInstances(String),
    /// The path names another host than the source, whose name this is.
    OtherHost(String),
    /// The object is registered, and its provider does not define it: why, as far as the source knows.
    NotAnswering(String),
    /// The source did not answer.
    Source(SourceError),
}

impl fmt::Display for PathError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let PathProblem::Source(error) = &self.problem {
            return write!(f, "{error}");
        }
        f.write_str(&self.problem_words())?;
        if self.problem != PathProblem::NotAPath {
            write!(f, " in {}", quoted(&self.path))?;
        }
        f.write_str(&self.nearest_words())
    }
}

impl std::error::Error for PathError {}
