//! Names of files as the user types or drags them: one file, or several logs to show as one.

use std::path::{Path, PathBuf};

use tallymon::Log;

/// How many letters of names fit into a title.
const LONGEST: usize = 40;

/// The files that a text names: one whose name may have spaces, or several, each in quotes or without spaces.
pub(crate) fn files(text: &str) -> Vec<PathBuf> {
    let text = text.trim();
    let whole = Path::new(text.trim_matches(['"', '\'']));
    if whole.is_file() {
        return vec![whole.to_path_buf()];
    }
    let words = words(text);
    // The error of a missing file has the whole text as its name.
    if words.iter().any(|name| Path::new(name).exists()) {
        words.into_iter().map(PathBuf::from).collect()
    } else {
        vec![whole.to_path_buf()]
    }
}

/// The files whose names a terminal pastes when they are dragged onto it; `None` for another text.
pub(crate) fn dragged(text: &str) -> Option<Vec<PathBuf>> {
    let files = files(text);
    let is_all = !files.is_empty() && files.iter().all(|file| file.is_absolute() && file.is_file());
    is_all.then_some(files)
}

/// Splits a text into words as a shell does, with quotes and backslashes.
fn words(text: &str) -> Vec<String> {
    placed_words(text).into_iter().map(|(_, word)| word).collect()
}

/// The words of a text as a shell has them, each with the byte at which it begins.
pub(crate) fn placed_words(text: &str) -> Vec<(usize, String)> {
    let mut words = Vec::new();
    let mut word: Option<(usize, String)> = None;
    let mut quote = None;
    let mut letters = text.char_indices().peekable();
    while let Some((at, letter)) = letters.next() {
        let begin = || (at, String::new());
        match (quote, letter) {
            (Some(known), letter) if known == letter => quote = None,
            (None, '"' | '\'') => {
                quote = Some(letter);
                word.get_or_insert_with(begin);
            }
            // Other backslashes separate folders of Windows.
            (None, '\\') if letters.peek().is_some_and(|(_, next)| " \"'\\".contains(*next)) => {
                word.get_or_insert_with(begin).1.extend(letters.next().map(|(_, next)| next));
            }
            (None, letter) if letter.is_whitespace() => words.extend(word.take()),
            (_, letter) => word.get_or_insert_with(begin).1.push(letter),
        }
    }
    words.extend(word);
    words
}

/// The name of a log in the title.
pub(crate) fn title(log: &Log) -> String {
    let name = |log: &Log| log.path().file_name().unwrap_or_default().to_string_lossy().into_owned();
    let names: Vec<String> = log.parts().iter().map(name).collect();
    let all = names.join(", ");
    match names.split_first() {
        Some((first, others)) if !others.is_empty() && all.chars().count() > LONGEST => {
            format!("{first} +{}", others.len())
        }
        _ => all,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_words_of_a_shell() {
        for (text, wanted) in [
            ("a.blg b.csv", &["a.blg", "b.csv"][..]),
            ("'/tmp/a b.blg' '/tmp/c.blg' ", &["/tmp/a b.blg", "/tmp/c.blg"]),
            ("/tmp/a\\ b.blg\n\"c d\"", &["/tmp/a b.blg", "c d"]),
            (r"C:\logs\a.blg  C:\logs\b.blg", &[r"C:\logs\a.blg", r"C:\logs\b.blg"]),
            ("it''s 'open", &["its", "open"]),
            ("   ", &[]),
        ] {
            assert_eq!(words(text), wanted, "{text}");
        }
    }

    #[test]
    fn one_name_may_have_spaces() {
        let folder = std::env::temp_dir().join(format!("tallymon names {}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let (one, other) = (folder.join("a b.csv"), folder.join("c.csv"));
        std::fs::write(&one, "").unwrap();
        std::fs::write(&other, "").unwrap();
        let (plain, quoted) = (one.display().to_string(), format!("'{}'", one.display()));
        assert_eq!(files(&plain), std::slice::from_ref(&one));
        assert_eq!(dragged(&quoted), Some(vec![one.clone()]));
        let both = format!("{quoted} '{}'", other.display());
        assert_eq!(dragged(&both), Some(vec![one, other]));
        assert_eq!(dragged(r"\Memory\Available Bytes"), None);
        assert_eq!(files("nowhere at all.blg"), [PathBuf::from("nowhere at all.blg")]);
        std::fs::remove_dir_all(folder).unwrap();
    }
}
