//! PDH-CSV and PDH-TSV: the text logs of Windows.
//!
//! ```text
//! "(PDH-CSV 4.0) (Pacific Standard Time)(480)","\\HOST\Memory\Pages/sec"
//! "11/26/2016 13:46:30.874"," "
//! "11/26/2016 13:46:33.877","0.33300142472592542"
//! ```
//!
//! Values are already computed, so a reader returns samples of the type `PERF_DOUBLE_RAW`; a column that has
//! only texts is a text counter. Times are local;
//! the number in the first line is the minutes to add to get UTC.

mod esxtop;
mod fields;
mod guess;
mod lines;
mod read;
mod texts;
mod write;

use tallymon_core::text::ByteOrder;

pub(crate) use lines::encoding;
pub use read::{CsvReader, NO_TYPES};
pub use write::{CsvOptions, CsvWriter, LineEnd};

use crate::utf16::order_without_mark;

/// The separator of a text log; `None` if the bytes are not the beginning of one.
pub(crate) fn detect(head: &[u8]) -> Option<u8> {
    // The first line is read as ASCII, which all encodings but UTF-16 contain.
    let head = head.get(..head.len().min(4096)).unwrap_or_default();
    let ascii: Vec<u8> = match head {
        [0xff, 0xfe, rest @ ..] => rest.iter().step_by(2).copied().collect(),
        [0xfe, 0xff, rest @ ..] => rest.iter().skip(1).step_by(2).copied().collect(),
        [0xef, 0xbb, 0xbf, rest @ ..] => rest.to_vec(),
        _ => match order_without_mark(head) {
            Some(ByteOrder::Little) => head.iter().step_by(2).copied().collect(),
            Some(ByteOrder::Big) => head.iter().skip(1).step_by(2).copied().collect(),
            None => head.to_vec(),
        },
    };
    let line = ascii.trim_ascii_start().split(|byte| matches!(byte, b'\r' | b'\n')).next()?;
    let mark = line.windows(MARK.len()).take(16).position(|part| part.eq_ignore_ascii_case(MARK))?;
    let kind = line.get(mark.saturating_add(MARK.len())..)?;
    match kind.first()? {
        b'C' | b'c' => Some(b','),
        b'T' | b't' => Some(b'\t'),
        // The word is damaged or unknown: a tab in the line decides.
        _ => Some(if line.contains(&b'\t') { b'\t' } else { b',' }),
    }
}

/// Every first line has this near its beginning.
const MARK: &[u8] = b"(PDH-";
