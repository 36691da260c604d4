//! Completes the path of a file that is being typed.

use std::path::{MAIN_SEPARATOR, Path, PathBuf};

use crate::log::names::placed_words;

/// The most names of a folder that are looked at.
const MOST_NAMES: usize = 100_000;

/// What Tab makes of a text.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Completion {
    /// The text, as far as all names agree.
    pub(crate) text: String,
    /// The names that are possible; one or none when there is nothing to choose.
    pub(crate) names: Vec<String>,
}

/// Completes a path at the end of a text. With `several` the text may be several paths, as a shell has them:
/// the last one is completed, and blanks in names get a backslash.
pub(crate) fn complete(text: &str, several: bool) -> Completion {
    let (start, typed) = if several { last_word(text) } else { (0, text.to_owned()) };
    let before = text.get(..start).unwrap_or_default();
    let typed = match (typed.strip_prefix("~/"), std::env::home_dir()) {
        (Some(rest), Some(home)) => home.join(rest).to_string_lossy().into_owned(),
        _ => typed,
    };
    let is_separator = |letter| letter == '/' || letter == MAIN_SEPARATOR;
    let cut = typed.rfind(is_separator).map_or(0, |at| at.saturating_add(1));
    let (folder, begun) = typed.split_at_checked(cut).unwrap_or(("", &typed));
    let mut names = names_in(folder, begun);
    names.sort();
    let Some(agreed) = agreed(&names) else {
        return Completion { text: text.to_owned(), names };
    };
    let path = format!("{folder}{agreed}");
    let path = if several { quoted(&path) } else { path };
    Completion { text: format!("{before}{path}"), names }
}

/// The names in a folder that begin with these letters; a folder's name ends with a separator. Hidden files are
/// only found by their dot. Names that no terminal can show are left out.
fn names_in(folder: &str, begun: &str) -> Vec<String> {
    let place = if folder.is_empty() { PathBuf::from(".") } else { PathBuf::from(folder) };
    let Ok(entries) = std::fs::read_dir(&place) else { return Vec::new() };
    let name = |entry: std::fs::DirEntry| {
        let name = entry.file_name().into_string().ok()?;
        let is_wanted = name.starts_with(begun)
            && (begun.starts_with('.') || !name.starts_with('.'))
            && !name.chars().any(char::is_control);
        let is_folder = is_wanted && Path::new(&place).join(&name).is_dir();
        is_wanted.then(|| if is_folder { format!("{name}{MAIN_SEPARATOR}") } else { name })
    };
    entries.flatten().take(MOST_NAMES).filter_map(name).collect()
}

/// What all names begin with; `None` without names.
fn agreed(names: &[String]) -> Option<String> {
    let (first, rest) = names.split_first()?;
    let mut agreed = first.as_str();
    for name in rest {
        let same = agreed.char_indices().zip(name.chars()).take_while(|((_, one), other)| one == other);
        let end = same.last().map_or(0, |((at, letter), _)| at.saturating_add(letter.len_utf8()));
        agreed = agreed.get(..end).unwrap_or_default();
    }
    Some(agreed.to_owned())
}

/// The word that is being typed at the end of a text, and where it begins: an empty one after a blank.
fn last_word(text: &str) -> (usize, String) {
    // With a letter more the end always belongs to a word.
    let (start, mut word) = placed_words(&format!("{text}x")).pop().unwrap_or_default();
    word.pop();
    (start, word)
}

/// A path as one word.
fn quoted(path: &str) -> String {
    let is_special = |letter: char| letter.is_whitespace() || matches!(letter, '"' | '\'');
    let mut word = String::with_capacity(path.len());
    for letter in path.chars() {
        if is_special(letter) || letter == '\\' && MAIN_SEPARATOR != '\\' {
            word.push('\\');
        }
        word.push(letter);
    }
    word
}

#[cfg(test)]
mod tests {
    use tallymon_testkit::Scratch;

    use super::*;

    #[test]
    fn paths_are_completed_as_far_as_names_agree() {
        let folder = Scratch::new();
        for name in ["monday one.blg", "monday two.blg", "tuesday's.csv", ".hidden"] {
            std::fs::write(folder.join(name), "").unwrap();
        }
        std::fs::create_dir(folder.join("old logs")).unwrap();
        std::fs::write(folder.join("old logs").join("a.blg"), "").unwrap();
        let at = |rest: &str| format!("{}{rest}", folder.join("").display());
        let text = |typed: &str, several| complete(&at(typed), several).text;
        // One path.
        assert_eq!(text("mon", false), at("monday "));
        assert_eq!(complete(&at("mon"), false).names, ["monday one.blg", "monday two.blg"]);
        assert_eq!(text("monday o", false), at("monday one.blg"));
        assert_eq!(text("x", false), at("x"), "no name begins so");
        assert_eq!(complete(&at(""), false).names.len(), 4, "without the hidden one");
        assert_eq!(text(".h", false), at(".hidden"));
        assert_eq!(text("ol", false), at(&format!("old logs{MAIN_SEPARATOR}")));
        // Several, as words of a shell.
        #[cfg(unix)]
        {
            assert_eq!(text("mon", true), at("monday\\ "));
            assert_eq!(text("monday\\ t", true), at("monday\\ two.blg"));
            assert_eq!(text("tue", true), at("tuesday\\'s.csv"));
            let both = format!("{} '{}", at("a.blg"), at("old logs/"));
            let found = complete(&both, true).text;
            assert_eq!(found, format!("{} {}", at("a.blg"), at("old\\ logs/a.blg")));
            assert_eq!(placed_words(&found)[1].1, at("old logs/a.blg"));
        }
        // A folder that is not there, and no folder.
        assert_eq!(complete("/no/such/pl", true).text, "/no/such/pl");
    }
}
