//! The language of the user.

use std::ffi::OsString;

use tallymon::core::title::Language;

/// The language of `--lang`, which a request for help does not parse, else that of the environment.
pub(crate) fn of_arguments(arguments: &[OsString]) -> Language {
    let mut words = arguments.iter().skip(1).map(|word| word.to_string_lossy());
    while let Some(word) = words.next().filter(|word| word != "--") {
        let value = match word.strip_prefix("--lang") {
            Some("") => words.next().map(String::from),
            Some(rest) => rest.strip_prefix('=').map(str::to_owned),
            None => None,
        };
        if let Some(found) = value.and_then(|value| Language::parse(&value)) {
            return found;
        }
    }
    let own = std::env::var(tallymon::environment::LANG.name).ok().filter(|text| !text.is_empty());
    own.map_or_else(|| Some(of_locale()), |text| Language::parse(&text)).unwrap_or(Language::ENGLISH)
}

/// The language of the locale. The locale C and locales without texts mean English.
pub(crate) fn of_locale() -> Language {
    let variables = ["LC_ALL", "LC_MESSAGES", "LANG"];
    let set = variables.iter().find_map(|name| std::env::var(name).ok().filter(|value| !value.is_empty()));
    set.and_then(|value| Language::parse(&value)).unwrap_or(Language::ENGLISH)
}
