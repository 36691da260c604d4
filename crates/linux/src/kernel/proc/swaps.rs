//! `/proc/swaps`: one line per swap area, sizes in KiB.

use std::borrow::Cow;

use super::error::ParseError;
use super::scan::{lines, unescape};

const FILE: &str = "/proc/swaps";

/// One swap area: a partition, a file or a compressed memory device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Swap<'a> {
    /// The path, unescaped. A file that was removed while in use ends with ` (deleted)`.
    pub path: Cow<'a, [u8]>,
    /// `partition` or `file`, in the kernel's words.
    pub kind: &'a [u8],
    /// The size in KiB.
    pub size: u64,
    /// What is in use, in KiB.
    pub used: u64,
    /// Higher priority is used first; those that the kernel chose itself are negative.
    pub priority: i64,
}

/// Parses the whole file; the areas keep the order of the file.
///
/// # Errors
///
/// A header without one of the columns `Filename Type Size Used Priority`, or a malformed number. A file
/// without any line has no areas, as in a kernel without swap.
pub(crate) fn parse_swaps(bytes: &[u8]) -> Result<Vec<Swap<'_>>, ParseError> {
    let mut lines = lines(FILE, bytes);
    let Some(header) = lines.next() else {
        return Ok(Vec::new());
    };
    let mut columns = header.fields();
    // Every kernel has these names in this order; another header means an unknown format.
    for name in ["Filename", "Type", "Size", "Used", "Priority"] {
        let found = columns.next_field().unwrap_or_default();
        if found != name.as_bytes() {
            return Err(header.location.error(name, "a header with this column next", found));
        }
    }
    let mut swaps = Vec::new();
    for line in lines {
        let mut fields = line.fields();
        let path = unescape(fields.word("Filename")?);
        // The kernel escapes the blanks of the path, but not the one before this mark.
        let mut kind = fields.word("Type")?;
        let path = if kind == b"(deleted)" {
            kind = fields.word("Type")?;
            Cow::Owned([&path, &b" (deleted)"[..]].concat())
        } else {
            path
        };
        swaps.push(Swap {
            path,
            kind,
            size: fields.number("Size")?,
            used: fields.number("Used")?,
            priority: fields.signed("Priority")?,
        });
    }
    Ok(swaps)
}

#[cfg(test)]
mod tests {
    use super::super::fixture::{check_damage, fixture};
    use super::*;

    #[test]
    fn machine_without_swap() {
        assert_eq!(parse_swaps(&fixture("6.18/swaps")), Ok(Vec::new()));
        assert_eq!(parse_swaps(b""), Ok(Vec::new()));
    }

    #[test]
    fn partition_file_with_blank_and_deleted_file() {
        let bytes = fixture("4.18/swaps");
        let swaps = parse_swaps(&bytes).unwrap();
        let area = |path: &'static [u8], kind, size, used, priority| Swap {
            path: Cow::Borrowed(path),
            kind,
            size,
            used,
            priority,
        };
        assert_eq!(
            swaps,
            [
                area(b"/dev/dm-1", b"partition", 8_388_604, 1_204, -2),
                area(b"/var/swap file", b"file", 1_048_572, 0, -3),
                area(b"/swap (deleted)", b"file", 65_532, 12, 5),
                area(b"/old (deleted)", b"file", 65_532, 0, -4),
            ]
        );
    }

    #[test]
    fn errors() {
        for (text, message) in [
            (
                "Filename Type Used Size\n",
                "/proc/swaps line 1: Size: needed a header with this column next, found \"Used\"",
            ),
            (
                "Filename Type Size Used Priority\n/dev/sda2 partition 1k 0 -2\n",
                "/proc/swaps line 2: Size: needed a decimal number below 2^64, found \"1k\"",
            ),
            (
                "Filename Type Size Used Priority\n\n",
                "/proc/swaps line 2: Filename: needed a word, found nothing",
            ),
        ] {
            assert_eq!(parse_swaps(text.as_bytes()).unwrap_err().to_string(), message);
        }
    }

    #[test]
    fn damaged_files_do_not_panic() {
        check_damage("6.18/swaps", |bytes| parse_swaps(bytes).map(|swaps| swaps.len()));
        check_damage("4.18/swaps", |bytes| parse_swaps(bytes).map(|swaps| swaps.len()));
    }
}
