//! Whether two logs that were read as one look like before and after.

use std::collections::BTreeSet;
use std::path::PathBuf;

use tallymon_core::time::FileTime;

use super::course::Course;

/// Logs of one recording follow each other within so many usual distances of records.
const FOLLOWS: u64 = 10;

/// A log of those that were read as one.
pub(super) struct Piece {
    pub(super) path: PathBuf,
    /// The times of its oldest and its newest record.
    pub(super) range: Option<(FileTime, FileTime)>,
    /// The courses that it has values of.
    pub(super) columns: Vec<usize>,
}

/// The earlier and the later of two logs of the same hosts and the same counters that are looked at, whatever
/// their instances, if one begins long after the other has ended: the parts of one recording follow each
/// other. Logs without such a counter have nothing in common.
pub(super) fn before_and_after(
    pieces: &[Piece],
    courses: &[Course],
    distance: Option<u64>,
) -> Option<(PathBuf, PathBuf)> {
    let [one, other] = pieces else { return None };
    let (first, second) = if one.range <= other.range { (one, other) } else { (other, one) };
    let ((begin, end), (next, last)) = (first.range?, second.range?);
    // Most distances are those within the later log; a log of few records has none that is usual.
    let pause = distance?.saturating_mul(FOLLOWS);
    let is_apart = next.0.saturating_sub(end.0) > pause && begin < end && next < last;
    let (names, others) = (names(first, courses), names(second, courses));
    (is_apart && names == others && !names.is_empty()).then(|| (first.path.clone(), second.path.clone()))
}

/// Host, object and counter of each column.
fn names(piece: &Piece, courses: &[Course]) -> BTreeSet<(String, String, String)> {
    let of = |column: &usize| {
        let course = courses.get(*column)?;
        let parts = course.parts.as_ref()?;
        Some((course.host().to_lowercase(), course.object()?, parts.counter.to_string().to_lowercase()))
    };
    piece.columns.iter().filter_map(of).collect()
}
