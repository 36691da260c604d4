//! Compares two profiles, method by method.

use super::{losses, one_line, time};
use crate::reader::Profile;
use std::collections::BTreeMap;
use std::io::{self, Write};

/// A method in two profiles.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Difference {
    /// Its name as people write it; instantiations of one name are added up.
    pub name: String,
    /// Calls, before and after.
    pub calls: [u64; 2],
    /// Time of its own in nanoseconds without the measured work of the profiler, before and after.
    pub own: [u64; 2],
}

/// The methods of two profiles, the one whose own time changed most first.
pub fn differences(before: &Profile, after: &Profile) -> Vec<Difference> {
    let mut all: BTreeMap<&str, Difference> = BTreeMap::new();
    for (side, profile) in [before, after].into_iter().enumerate() {
        for total in profile.method_totals() {
            let Some(method) = profile.methods.get(total.method) else { continue };
            let difference = all.entry(&method.name).or_insert_with(|| Difference {
                name: method.name.clone(),
                calls: [0; 2],
                own: [0; 2],
            });
            for (sums, value) in
                [(&mut difference.calls, total.enters), (&mut difference.own, total.corrected_own)]
            {
                if let Some(sum) = sums.get_mut(side) {
                    *sum = sum.saturating_add(value);
                }
            }
        }
    }
    let mut all: Vec<Difference> = all.into_values().collect();
    all.sort_by_key(|difference| std::cmp::Reverse(difference.own[0].abs_diff(difference.own[1])));
    all
}

/// Writes the methods that changed: calls and own time in both profiles, the change, and the time per call.
///
/// # Errors
///
/// Write errors of `out`.
pub fn diff(before: &Profile, after: &Profile, rows: usize, out: &mut dyn Write) -> io::Result<()> {
    for (side, profile) in [("before", before), ("after", after)] {
        for line in losses(profile) {
            writeln!(out, "{side} lost {line}")?;
        }
    }
    let all = differences(before, after);
    let sum = |field: fn(&Difference) -> u64| all.iter().map(field).fold(0, u64::saturating_add);
    let columns = ["calls before", "calls after", "self before", "self after", "change", "per call"];
    for column in columns {
        write!(out, "{column:>13}")?;
    }
    writeln!(out, "  method")?;
    let whole = Difference {
        name: "(all methods)".into(),
        calls: [sum(|d| d.calls[0]), sum(|d| d.calls[1])],
        own: [sum(|d| d.own[0]), sum(|d| d.own[1])],
    };
    let changed = all.iter().filter(|d| d.calls[0] != d.calls[1] || d.own[0] != d.own[1]);
    for difference in std::iter::once(&whole).chain(changed.take(rows)) {
        let Difference { name, calls, own } = difference;
        write!(out, "{:>13}{:>13}{:>13}{:>13}", calls[0], calls[1], time(own[0]), time(own[1]))?;
        write!(out, "{:>13}{:>13}", change(own[0], own[1]), per_call(difference))?;
        writeln!(out, "  {}", one_line(name))?;
    }
    Ok(())
}

/// A change of time, with its sign.
fn change(before: u64, after: u64) -> String {
    let sign = if after < before { "-" } else { "+" };
    format!("{sign}{}", time(before.abs_diff(after)))
}

/// The change of a call's own time, in per cent; a method in only one of the profiles is new or gone.
fn per_call(difference: &Difference) -> String {
    match difference.calls {
        [0, 0] => String::new(),
        [0, _] => "new".into(),
        [_, 0] => "gone".into(),
        [before, after] => {
            let [was, is] =
                [difference.own[0] as f64 / before as f64, difference.own[1] as f64 / after as f64];
            if was == 0.0 { "-".into() } else { format!("{:+.1} %", (is - was) / was * 100.0) }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reader::tests::{RawNode, file, sample};

    #[test]
    fn changes_are_sorted_by_size() {
        let before = Profile::from_bytes(&sample()).unwrap();
        let nodes = [RawNode(0, 0, 0, 2, 0), RawNode(1, 3, 3000, 0, 3), RawNode(2, 1, 40, 0, 0)];
        let after = file(&["N.A\0\0Main\0\0()", "N.A\0\0New\0\0()"], &nodes);
        let after = Profile::from_bytes(&after).unwrap();
        let mut out = Vec::new();
        diff(&before, &after, 10, &mut out).unwrap();
        let text = String::from_utf8(out).unwrap();
        let rows: Vec<Vec<&str>> = text.lines().map(|line| line.split_whitespace().collect()).collect();
        assert_eq!(rows[1].last(), Some(&"methods)"));
        assert!(rows[2].contains(&"N.A.Main()") && rows[2].contains(&"%"), "{text}");
        assert!(rows[3].contains(&"N.A.Work(int)") && rows[3].contains(&"gone"), "{text}");
        assert!(rows[4].contains(&"N.A.New()") && rows[4].contains(&"new"), "{text}");
        // The same twice: nothing but the sum.
        let mut out = Vec::new();
        diff(&before, &before, 10, &mut out).unwrap();
        assert_eq!(out.iter().filter(|byte| **byte == b'\n').count(), 2);
    }
}
