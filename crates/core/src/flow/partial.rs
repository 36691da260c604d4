//! Sums that lack some of their parts.

use core::fmt;

use super::absence::Absence;

/// A sum that lacks some of its parts, because they could not be read: how many, of how many, and why.
///
/// The value beside it is the sum of the other parts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct PartialSum {
    /// How many parts are missing, from 1 to `whole`.
    pub missing: u32,
    /// How many parts there are, with the missing ones.
    pub whole: u32,
    /// Why the first of the missing parts could not be read.
    pub reason: Absence,
}

impl PartialSum {
    /// `None` if nothing is missing, or more than there is.
    pub const fn new(missing: u32, whole: u32, reason: Absence) -> Option<PartialSum> {
        if missing == 0 || missing > whole { None } else { Some(PartialSum { missing, whole, reason }) }
    }

    /// Why parts are missing, in a word that follows the numbers.
    const fn word(self) -> &'static str {
        match self.reason {
            Absence::AccessDenied => "refused",
            Absence::Vanished => "disappeared during the read",
            Absence::ReadFailed => "not readable",
            _ => "missing",
        }
    }

    const REASONS: [Absence; 4] =
        [Absence::AccessDenied, Absence::Vanished, Absence::ReadFailed, Absence::Other];

    /// The sum with these words, as [`Display`](fmt::Display) writes them.
    ///
    /// ```
    /// use tallymon_core::flow::{Absence, PartialSum};
    /// let sum = PartialSum::new(1, 117, Absence::AccessDenied).unwrap();
    /// assert_eq!(sum.to_string(), "1 of 117 refused");
    /// assert_eq!(PartialSum::from_words("1 of 117 refused"), Some(sum));
    /// assert_eq!(PartialSum::from_words("118 of 117 refused"), None);
    /// ```
    pub fn from_words(words: &str) -> Option<PartialSum> {
        let (missing, rest) = words.split_once(" of ")?;
        let (whole, word) = rest.split_once(' ')?;
        let (missing, whole) = (missing.parse().ok()?, whole.parse().ok()?);
        let mut sums = PartialSum::REASONS.into_iter().filter_map(|why| PartialSum::new(missing, whole, why));
        sums.find(|sum| sum.word() == word)
    }
}

impl fmt::Display for PartialSum {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of {} {}", self.missing, self.whole, self.word())
    }
}
