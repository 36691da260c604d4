//! The functions of `loadperf.h` that programs call instead of starting lodctr and unlodctr.

use std::path::Path;

use super::error::{Problem, RegistryError, RegistryErrorKind};
use super::package::Package;
use super::roots::Roots;
use super::service::TitleRange;
use super::writer::Writer;
use crate::events::EventLog;

/// Installs the names that an INI file has, as `LoadPerfCounterTextStrings` does.
///
/// The first word of the command line is ignored, whatever it is: the function was written for the command
/// line of lodctr. So the line is `lodctr FILE.ini`, and one with only a file is refused with error 87, as on
/// Windows (Q188769). A path with blanks needs quotation marks.
///
/// # Errors
///
/// There is no second word; any error of [`Package::read`] and [`Writer::install_names`]. The error has its
/// [code of Windows](RegistryError::win32_code).
#[doc(alias = "LoadPerfCounterTextStrings")]
pub fn load_perf_counter_text_strings(
    roots: &Roots,
    command_line: &str,
) -> Result<TitleRange, RegistryError> {
    let file = second_word(command_line, "lodctr FILE.ini")?;
    let log = EventLog::of(roots);
    let package = Package::read_to_install(Path::new(&file), &log)?;
    Writer::of_service(roots, None, &package.service)?.reporting(&log).install_names(&package)
}

/// Removes the names of a service, as `UnloadPerfCounterTextStrings` does. The first word of the command line
/// is ignored, see [`load_perf_counter_text_strings`].
///
/// # Errors
///
/// There is no second word; any error of [`Writer::remove_names`].
#[doc(alias = "UnloadPerfCounterTextStrings")]
pub fn unload_perf_counter_text_strings(
    roots: &Roots,
    command_line: &str,
) -> Result<TitleRange, RegistryError> {
    let service = second_word(command_line, "unlodctr SERVICE")?;
    let log = EventLog::of(roots);
    Writer::of_service(roots, None, &service)?.reporting(&log).remove_names(&service)
}

fn second_word(command_line: &str, needed: &str) -> Result<String, RegistryError> {
    let wrong = |words: String| {
        RegistryError::of(RegistryErrorKind::Usage, Problem { path: "".into(), line: None, words })
    };
    let words = split(command_line);
    match words.as_slice() {
        [_, word] if !word.is_empty() => Ok(word.clone()),
        [] | [_] | [_, _] => Err(wrong(format!(
            "\"{needed}\" needed, found {command_line:?}; the first word is thrown away, so the name must \
            be the second"
        ))),
        _ => Err(wrong(format!(
            "\"{needed}\" needed, found {command_line:?}, which has {} words; put a name with blanks in \
            quotation marks",
            words.len()
        ))),
    }
}

/// The words of a line; quotation marks hold words together.
fn split(line: &str) -> Vec<String> {
    let mut words = Vec::new();
    let (mut word, mut quoted): (Option<String>, bool) = (None, false);
    for letter in line.chars() {
        match letter {
            '"' => {
                quoted = !quoted;
                word.get_or_insert_default();
            }
            letter if letter.is_whitespace() && !quoted => words.extend(word.take()),
            letter => word.get_or_insert_default().push(letter),
        }
    }
    words.extend(word);
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_word_is_ignored() {
        for (line, word) in [
            ("lodctr my.ini", Some("my.ini")),
            ("anything \"my own.ini\"", Some("my own.ini")),
            ("  \"C:\\a b\\lodctr\"   x  ", Some("x")),
            ("my.ini", None),
            ("\"my own.ini\"", None),
            ("lodctr \"\"", None),
            ("lodctr a b", None),
            ("", None),
        ] {
            match (second_word(line, "lodctr FILE.ini"), word) {
                (Ok(found), Some(word)) => assert_eq!(found, word, "{line}"),
                (Err(error), None) => assert_eq!(error.win32_code(), 87, "{line}"),
                (found, _) => panic!("{line}: {found:?}"),
            }
        }
    }
}
