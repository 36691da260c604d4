//! Symbol files: C headers with lines `#define SYMBOL number`.

use std::collections::BTreeMap;
use std::path::Path;

use super::error::Problem;
use super::ini::MOST_PROBLEMS;

/// A symbol and its number.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Symbol {
    pub(crate) name: String,
    /// Number of the line, from 1.
    pub(crate) line: usize,
    /// Its value; the text in the file if that is not a number.
    pub(crate) value: Result<i64, String>,
}

/// The symbols of a header in the order of the file, without those that have no value.
///
/// Conditions are not regarded: both branches count. A symbol that is defined twice must have one number.
pub(crate) fn parse(path: &Path, text: &str) -> Result<Vec<Symbol>, Vec<Problem>> {
    let (mut symbols, mut problems): (Vec<Symbol>, Vec<Problem>) = (Vec::new(), Vec::new());
    // Where in `symbols` a name in small letters is.
    let mut places: BTreeMap<String, usize> = BTreeMap::new();
    let mut in_comment = false;
    for (position, line) in text.lines().enumerate() {
        let number = position.saturating_add(1);
        let line = without_comments(line, &mut in_comment);
        let Some((name, value)) = define(&line) else {
            continue;
        };
        let value = parse_number(value).ok_or_else(|| value.to_string());
        match places.get(&name.to_ascii_lowercase()).and_then(|at| symbols.get(*at)) {
            None => {
                places.insert(name.to_ascii_lowercase(), symbols.len());
                symbols.push(Symbol { name: name.to_string(), line: number, value });
            }
            Some(first) if first.value == value && first.name == name => {}
            Some(first) => {
                let words = format!(
                    "{name} is defined a second time and differently; line {} has {}. Keys of the INI file \
                    do not \
                     tell capital from small letters, so neither may symbols",
                    first.line, first.name
                );
                problems.push(Problem::at(path, number, words));
            }
        }
        if problems.len() >= MOST_PROBLEMS {
            break;
        }
    }
    if problems.is_empty() { Ok(symbols) } else { Err(problems) }
}

/// The line without comments, which may begin and end in other lines.
fn without_comments(line: &str, in_comment: &mut bool) -> String {
    let mut out = String::new();
    let mut rest = line;
    loop {
        if *in_comment {
            let Some((_, behind)) = rest.split_once("*/") else {
                return out;
            };
            *in_comment = false;
            rest = behind;
        }
        let (line_comment, block) = (rest.find("//"), rest.find("/*"));
        match (line_comment, block) {
            (Some(line_comment), _) if block.is_none_or(|block| line_comment < block) => {
                out.push_str(rest.get(..line_comment).unwrap_or_default());
                return out;
            }
            (_, Some(block)) => {
                out.push_str(rest.get(..block).unwrap_or_default());
                // A comment separates words as a blank does.
                out.push(' ');
                rest = rest.get(block.saturating_add(2)..).unwrap_or_default();
                *in_comment = true;
            }
            _ => {
                out.push_str(rest);
                return out;
            }
        }
    }
}

/// The name and value of a definition that has a value and no parameters.
fn define(line: &str) -> Option<(&str, &str)> {
    let rest = line.trim().strip_prefix('#')?.trim_start().strip_prefix("define")?;
    if !rest.starts_with([' ', '\t']) {
        return None;
    }
    let (name, value) = rest.trim().split_once([' ', '\t'])?;
    let is_name = name.chars().all(|letter| letter == '_' || letter.is_alphanumeric());
    (is_name && !name.starts_with(|first: char| first.is_ascii_digit())).then(|| (name, value.trim()))
}

/// A number as C writes it: decimal, hexadecimal or octal, with a sign, a suffix, and parentheses around it.
fn parse_number(text: &str) -> Option<i64> {
    let text = text.trim();
    if let Some(inner) = text.strip_prefix('(') {
        // One pair at a time, so that they must match; the depth is bounded, since each pair is two bytes
        // less.
        return parse_number_flat(inner.strip_suffix(')')?, 16);
    }
    signed(text)
}

fn parse_number_flat(text: &str, depth: u32) -> Option<i64> {
    let text = text.trim();
    match text.strip_prefix('(') {
        Some(inner) => parse_number_flat(inner.strip_suffix(')')?, depth.checked_sub(1)?),
        None => signed(text),
    }
}

fn signed(text: &str) -> Option<i64> {
    if let Some(positive) = text.strip_prefix('+') {
        return unsigned(positive.trim_start());
    }
    match text.strip_prefix('-') {
        Some(negative) => unsigned(negative.trim_start())?.checked_neg(),
        None => unsigned(text),
    }
}

fn unsigned(text: &str) -> Option<i64> {
    let hex = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X"));
    let digits = hex.unwrap_or(text).trim_end_matches(['u', 'U', 'l', 'L']);
    let radix = match hex {
        Some(_) => 16,
        None if digits.len() > 1 && digits.starts_with('0') => 8,
        None => 10,
    };
    if !digits.starts_with(|first: char| first.is_ascii_hexdigit()) {
        return None;
    }
    i64::from_str_radix(digits, radix).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_as_c_writes_them() {
        for (text, number) in [
            ("0", Some(0)),
            ("10", Some(10)),
            ("0x10", Some(16)),
            ("0X1eUL", Some(30)),
            ("010", Some(8)),
            ("(2)", Some(2)),
            ("( (4) )", Some(4)),
            ("-2", Some(-2)),
            ("(-2)", Some(-2)),
            ("- 2", Some(-2)),
            ("+6", Some(6)),
            ("2u", Some(2)),
            ("9223372036854775807", Some(i64::MAX)),
            ("9223372036854775808", None),
            ("(2", None),
            ("2)", None),
            ("--2", None),
            ("0x", None),
            ("09", None),
            ("L", None),
            ("\"2\"", None),
            ("A+2", None),
            ("", None),
        ] {
            assert_eq!(parse_number(text), number, "{text}");
        }
        assert_eq!(parse_number(&"(".repeat(100_000)), None);
        assert_eq!(parse_number(&format!("{}2{}", "(".repeat(1000), ")".repeat(1000))), None);
    }

    #[test]
    fn everything_but_definitions_is_left_out() {
        let text = "\
#ifndef GUARD_H /* once */
#define GUARD_H
# All these simply list the counters in order.
  #  define\tONE\t0 // first
#define TWO (2) /* a comment
#define NOT 99
*/ #define THREE 0x4
#define MACRO(x) 5
#define TEXT \"words\"
/* #define GONE 7 */
typedef struct { int define; } other;
#define TWO (2)
#defined 8
#endif
";
        let symbols = parse(Path::new("f.h"), text).unwrap();
        let found: Vec<(&str, usize, Result<i64, &str>)> = symbols
            .iter()
            .map(|s| (s.name.as_str(), s.line, s.value.as_ref().map(|v| *v).map_err(String::as_str)))
            .collect();
        assert_eq!(
            found,
            [("ONE", 4, Ok(0)), ("TWO", 5, Ok(2)), ("THREE", 7, Ok(4)), ("TEXT", 9, Err("\"words\""))]
        );
    }

    #[test]
    fn one_symbol_with_two_numbers_is_refused() {
        let problems =
            parse(Path::new("f.h"), "#define A 0\n#define B 2\n#define a 4\n#define B 6\n").unwrap_err();
        let words: Vec<String> = problems.iter().map(Problem::to_string).collect();
        assert!(
            words[0].starts_with("f.h:3: a is defined a second time") && words[0].contains("line 1 has A")
        );
        assert!(words[1].starts_with("f.h:4: B is defined a second time"));
    }
}
