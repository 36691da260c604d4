//! Splits lines into fields, and parses times and numbers.

use std::borrow::Cow;

use tallymon_core::time::{FileTime, SystemTime};

use super::esxtop;

/// A field of a line.
#[derive(Debug)]
pub(super) struct Field<'a> {
    pub(super) text: Cow<'a, str>,
    /// Its byte offset in the line.
    pub(super) at: usize,
    /// It is in quotation marks.
    pub(super) quoted: bool,
    /// Its closing quotation mark is there, or it is not quoted.
    pub(super) closed: bool,
    /// Text follows between the closing quotation mark and the separator. It is no part of the field.
    pub(super) is_followed: bool,
}

/// Splits a line into fields. Fields may be quoted; a quotation mark inside a quoted field is written twice.
pub(super) fn split(line: &str, separator: char) -> Vec<Field<'_>> {
    let mut fields = Vec::new();
    let mut rest = line;
    loop {
        let at = line.len().saturating_sub(rest.len());
        let trimmed = rest.trim_start_matches(' ');
        let (field, after) = match trimmed.strip_prefix('"') {
            Some(quoted) => quoted_field(quoted, separator),
            None => match esxtop::without_separator(rest, separator).or_else(|| rest.split_once(separator)) {
                Some((field, after)) => ((Cow::Borrowed(field.trim_end()), true), Some(after)),
                None => ((Cow::Borrowed(rest.trim_end()), true), None),
            },
        };
        let quoted = trimmed.starts_with('"');
        // The field with its quotation marks; two letters in it may stand for one.
        let length = field.0.len().saturating_add(field.0.matches('"').count()).saturating_add(2);
        let until = after.map_or(trimmed.len(), |after: &str| {
            trimmed.len().saturating_sub(after.len()).saturating_sub(separator.len_utf8())
        });
        let behind = trimmed.get(length.min(until)..until).unwrap_or_default();
        let is_followed = quoted && field.1 && !behind.trim().is_empty();
        fields.push(Field { text: field.0, at, quoted, closed: field.1, is_followed });
        match after {
            Some(after) => rest = after,
            None => return fields,
        }
    }
}

type Split<'a> = ((Cow<'a, str>, bool), Option<&'a str>);

fn quoted_field(quoted: &str, separator: char) -> Split<'_> {
    let mut from = 0usize;
    let mut doubled = false;
    loop {
        let Some(end) = quoted.get(from..).and_then(|rest| rest.find('"')) else {
            return ((Cow::Borrowed(quoted), false), None);
        };
        let end = from.saturating_add(end);
        let after = quoted.get(end.saturating_add(1)..).unwrap_or_default();
        if after.starts_with('"') {
            doubled = true;
            from = end.saturating_add(2);
            continue;
        }
        let text = quoted.get(..end).unwrap_or_default();
        let text = if doubled { Cow::Owned(text.replace("\"\"", "\"")) } else { Cow::Borrowed(text) };
        // Text between the closing quotation mark and the separator is ignored.
        return ((text, true), after.split_once(separator).map(|(_, after)| after));
    }
}

/// `MM/dd/yyyy HH:mm:ss.fff`; the fraction is optional.
pub(super) fn parse_time(text: &str) -> Option<FileTime> {
    let (date, time) = text.trim().split_once(' ')?;
    let mut date = date.split('/');
    let mut time = time.trim().split(':');
    let number = |text: Option<&str>| -> Option<u16> {
        text.filter(|text| text.bytes().all(|byte| byte.is_ascii_digit()))?.parse().ok()
    };
    let (month, day, year) = (number(date.next())?, number(date.next())?, number(date.next())?);
    let (hour, minute) = (number(time.next())?, number(time.next())?);
    let (second, fraction) = time.next().map(|second| second.split_once('.').unwrap_or((second, "")))?;
    if date.next().is_some() || time.next().is_some() || !fraction.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let thousandths = format!("{fraction:0<3}");
    let (second, milliseconds) = (number(Some(second))?, number(thousandths.get(..3))?);
    let time = SystemTime { month, day, year, hour, minute, second, milliseconds, ..SystemTime::default() };
    time.file_time()
}

/// Why a cell has no value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Blank {
    Missing,
    NotFinite,
    Bad,
}

/// Whether a cell consists of digits and at most one point. It is a number then, and this check is faster
/// than parsing it.
pub(super) fn is_plain(text: &str) -> bool {
    let digits = text.bytes().filter(u8::is_ascii_digit).count();
    let points = text.bytes().filter(|byte| *byte == b'.').count();
    digits > 0 && points < 2 && digits.saturating_add(points) == text.len()
}

/// Parses the number in a cell. Systems with a decimal comma may write a comma, and C has names for infinite
/// and invalid numbers.
pub(super) fn parse_value(text: &str) -> Result<f64, Blank> {
    let text = text.trim();
    if text.is_empty() {
        return Err(Blank::Missing);
    }
    if text.contains(".#") {
        return Err(Blank::NotFinite);
    }
    let number = match text.parse::<f64>() {
        Ok(number) => number,
        Err(_) => text.replacen(',', ".", 1).parse().map_err(|_| Blank::Bad)?,
    };
    if number.is_finite() { Ok(number) } else { Err(Blank::NotFinite) }
}
