//! Where the text logs of VMware's `esxtop -b` are unlike others. Its last column of each processor in `PCPU
//! Power State` is padded with blanks, without a separator behind it, and has `-` in place of its name:
//!
//! ```text
//! …,"\\esx\PCPU Power State(PCPU 0)\%T-State T7",   -"\\esx\PCPU Power State(PCPU 1)\%C-State C0",…
//! …,"0.00",    73.1"8.93",…
//! ```

use std::collections::HashMap;

use super::fields::{Field, is_plain};

/// The object whose last column has no name in some versions, and the name that it has in others.
const POWER_STATE: &str = "\\PCPU Power State(";
const FREQUENCY_SHARE: &str = "% of aperf/mperf";
/// What stands in place of the name.
const NO_NAME: &str = "-";

/// What is said of [`names`].
pub(super) const NAMED: &str = "esxtop writes the last column of each processor in PCPU Power State without a \
                                name; it is called % of aperf/mperf, as in newer versions";

/// A field at the start of a line's rest that has no separator behind it, and what follows.
pub(super) fn without_separator(rest: &str, separator: char) -> Option<(&str, &str)> {
    let end = rest.starts_with(' ').then(|| rest.find(['"', separator]))??;
    let (field, after) = (rest.get(..end)?, rest.get(end..)?);
    let text = field.trim();
    (after.starts_with('"') && (text == NO_NAME || is_plain(text))).then_some((field, after))
}

/// The names of the columns that have none, by their fields.
pub(super) fn names(fields: &[Field<'_>]) -> HashMap<usize, String> {
    let name = |(at, pair): (usize, &[Field<'_>])| {
        let [before, field] = pair else { return None };
        let (object, _) = before.text.rsplit_once('\\')?;
        let is_nameless = field.text.trim() == NO_NAME && object.contains(POWER_STATE);
        is_nameless.then(|| (at.saturating_add(1), format!("{object}\\{FREQUENCY_SHARE}")))
    };
    fields.windows(2).enumerate().filter_map(name).collect()
}
