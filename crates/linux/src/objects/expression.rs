//! A source expression: one line that the collector evaluates, and that the reference of the counters shows
//! to people.
//!
//! ```text
//! /proc/vmstat:nr_dirty + :nr_writeback * page | /proc/meminfo:Dirty * 1024
//! ```
//!
//! A term is a file and a key in it ([`Key`]); without a file, that of the term before is meant. A path that
//! does not begin with `/` is relative to the directory of the instance. `*`, `/` or `-` after the terms
//! scale their sum; `> 0` after them means that 0 is no value, because kernels that do not count it write 0;
//! `|` separates alternative sources, of which the first existing one is used. A single number stands for
//! itself.

use tallymon_provider::Absence;

use crate::kernel::proc::flat::{Form, Key, Number};

/// A parsed source expression.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Expression {
    alternatives: Vec<Sum>,
}

/// Terms, and what is done with their sum.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Sum {
    terms: Vec<(Sign, Term)>,
    scale: Vec<Scale>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sign {
    Plus,
    Minus,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Term {
    Constant(i128),
    Key(File, Key),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Scale {
    Times(i128),
    TimesPage,
    Over(i128),
    /// The sum, unless it is 0: kernels that do not count it write 0.
    AboveZero,
}

/// A file of an expression.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct File(pub(crate) &'static str);

impl File {
    /// The format of the file.
    pub(crate) fn form(self) -> Form {
        let name = self.0.rsplit('/').next().unwrap_or(self.0);
        match name {
            "netstat" | "snmp" => Form::Columns,
            "sockstat" | "sockstat6" => Form::Sections,
            "io.stat" => Form::Sums,
            "cgroup.procs" => Form::Count,
            "softnet_stat" | "nf_conntrack" | "arp_cache" | "ndisc_cache" => Form::Hexadecimal,
            "ip_vs_stats" => Form::Totals,
            _ if self.0 == "net/dev" => Form::Interfaces,
            _ if name.ends_with(".tdb") => Form::Records,
            _ if self.0.contains("pressure") => Form::Assignments,
            _ => Form::Lines,
        }
    }
}

impl Expression {
    /// Parses an expression; `None` when it does not have the form described above.
    pub(crate) fn parse(text: &'static str) -> Option<Expression> {
        let alternatives = text.split('|').map(Sum::parse).collect::<Option<Vec<Sum>>>()?;
        Some(Expression { alternatives })
    }

    /// The largest step in which the value grows: what one more in a file adds to it.
    pub(crate) fn quantum(&self) -> u64 {
        let page = rustix::param::page_size();
        let steps = self.alternatives.iter().map(|sum| {
            sum.scale.iter().fold(1_i128, |step, scale| match scale {
                Scale::Times(by) => step.saturating_mul(*by),
                Scale::TimesPage => step.saturating_mul(i128::try_from(page).unwrap_or(4096)),
                Scale::Over(by) => step.checked_div(*by).unwrap_or(step),
                Scale::AboveZero => step,
            })
        });
        steps.filter_map(|step| u64::try_from(step).ok()).max().unwrap_or(1).max(1)
    }

    /// All files and keys of the expression.
    pub(crate) fn keys(&self) -> impl Iterator<Item = (File, Key)> {
        self.alternatives.iter().flat_map(|sum| &sum.terms).filter_map(|(_, term)| match term {
            Term::Key(file, key) => Some((*file, *key)),
            Term::Constant(_) => None,
        })
    }

    /// The value. `look` returns the number of a key, `None` if its file does not have it, or why the file is
    /// absent. A negative sum is 0: its parts were not read at the same moment.
    pub(crate) fn value(
        &self,
        page_size: u64,
        mut look: impl FnMut(File, Key) -> Result<Option<Number>, Absence>,
    ) -> Result<u64, Absence> {
        let mut first = None;
        for sum in &self.alternatives {
            match sum.value(page_size, &mut look) {
                Ok(value) => return Ok(value),
                // Missing rights, and a limit that there is not, are more important to know than a missing file.
                Err(Absence::AccessDenied) => first = Some(Absence::AccessDenied),
                Err(Absence::OutOfRange) if first != Some(Absence::AccessDenied) => {
                    first = Some(Absence::OutOfRange);
                }
                Err(absence) => first = first.or(Some(absence)),
            }
        }
        Err(first.unwrap_or(Absence::NotOnThisSystem))
    }
}

impl Sum {
    fn parse(text: &'static str) -> Option<Sum> {
        let mut sum = Sum::default();
        let mut words = text.split_whitespace();
        let mut file = None;
        let mut word = words.next()?;
        let mut sign = Sign::Plus;
        loop {
            sum.terms.push((sign, term(word, &mut file)?));
            sign = match words.next() {
                None => return Some(sum),
                Some("+") => Sign::Plus,
                Some("-") => Sign::Minus,
                Some(operator) => return sum.scale(operator, words),
            };
            word = words.next()?;
        }
    }

    fn scale(
        mut self,
        mut operator: &'static str,
        mut words: impl Iterator<Item = &'static str>,
    ) -> Option<Sum> {
        loop {
            let by = words.next()?;
            let scale = match (operator, by) {
                ("*", "page") => Scale::TimesPage,
                ("*", by) => Scale::Times(by.parse().ok()?),
                ("/", by) => Scale::Over(by.parse().ok().filter(|by| *by > 0)?),
                (">", "0") => Scale::AboveZero,
                _ => return None,
            };
            self.scale.push(scale);
            match words.next() {
                None => return Some(self),
                Some(next) => operator = next,
            }
        }
    }

    fn value(
        &self,
        page_size: u64,
        look: &mut impl FnMut(File, Key) -> Result<Option<Number>, Absence>,
    ) -> Result<u64, Absence> {
        let mut total = 0_i128;
        for (sign, term) in &self.terms {
            let number = match term {
                Term::Constant(number) => *number,
                Term::Key(file, key) => match look(*file, *key)?.ok_or(Absence::NotInThisKernel)? {
                    Number::Of(number) => number,
                    Number::Unlimited => return Err(Absence::OutOfRange),
                },
            };
            total = match sign {
                Sign::Plus => total.saturating_add(number),
                Sign::Minus => total.saturating_sub(number),
            };
        }
        for scale in &self.scale {
            total = match scale {
                Scale::Times(by) => total.saturating_mul(*by),
                Scale::TimesPage => total.saturating_mul(i128::from(page_size)),
                Scale::Over(by) => total.checked_div(*by).unwrap_or(0),
                Scale::AboveZero if total <= 0 => return Err(Absence::NotInThisKernel),
                Scale::AboveZero => total,
            };
        }
        // A sum of counts wraps, as a counter does.
        u64::try_from(total.max(0) & i128::from(u64::MAX)).map_err(|_| Absence::OutOfRange)
    }
}

fn term(word: &'static str, file: &mut Option<File>) -> Option<Term> {
    if let Ok(number) = word.parse() {
        return Some(Term::Constant(number));
    }
    let (path, key) = word.split_once(':').unwrap_or((word, ""));
    if !path.is_empty() {
        *file = Some(File(path));
    }
    let file = (*file)?;
    Some(Term::Key(file, Key::new(file.form(), key)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(text: &'static str, numbers: &[(&str, i128)]) -> Result<u64, Absence> {
        Expression::parse(text).unwrap().value(4096, |file, key| {
            let found = numbers.iter().find(|(name, _)| {
                let (path, name) = name.split_once(':').unwrap_or((name, ""));
                path == file.0 && key.text() == name
            });
            match found {
                Some((_, -1)) => Ok(Some(Number::Unlimited)),
                Some((_, number)) => Ok(Some(Number::Of(*number))),
                None if file.0 == "denied" => Err(Absence::AccessDenied),
                None => Ok(None),
            }
        })
    }

    #[test]
    fn sums_scales_and_alternatives() {
        let numbers = [("/proc/vmstat:a", 2), ("/proc/vmstat:b", 5), ("temp", -1500), ("limit", -1)];
        assert_eq!(value("/proc/vmstat:a + :b * page", &numbers), Ok(7 * 4096));
        assert_eq!(value("/proc/vmstat:b - :a", &numbers), Ok(3));
        assert_eq!(value("/proc/vmstat:a - :b", &numbers), Ok(0), "not below nothing");
        assert_eq!(value("temp + 273150 / 1000", &numbers), Ok(271));
        assert_eq!(value("100", &numbers), Ok(100));
        assert_eq!(value("/proc/vmstat:a > 0", &numbers), Ok(2));
        assert_eq!(value("/proc/vmstat:a - 2 > 0", &numbers), Err(Absence::NotInThisKernel));
        assert_eq!(value("/proc/vmstat:c | /proc/vmstat:b * 10", &numbers), Ok(50));
        assert_eq!(value("limit", &numbers), Err(Absence::OutOfRange));
        assert_eq!(value("/proc/vmstat:c", &numbers), Err(Absence::NotInThisKernel));
        assert_eq!(value("/proc/vmstat:c | denied", &numbers), Err(Absence::AccessDenied));
        assert_eq!(Expression::default().value(1, |_, _| Ok(None)), Err(Absence::NotOnThisSystem));
    }

    #[test]
    fn malformed_expressions_are_rejected() {
        for text in ["", ":a", "/f:a +", "/f:a * x", "/f:a / 0", "/f:a > 1", "/f:a b", "/f:a |"] {
            assert_eq!(Expression::parse(text), None, "{text}");
        }
    }
}
