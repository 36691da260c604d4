//! The texts in sources, as a catalogue of messages has them: for tests that look for missing translations.

use std::fs;
use std::path::{Path, PathBuf};

/// A text of a source.
#[derive(Debug, Clone)]
pub struct SourceText {
    /// The source.
    pub path: PathBuf,
    /// The code before it, without blanks: up to 60 letters.
    pub before: String,
    /// One line of it, without punctuation at its ends, and with `{}` for each value.
    pub text: String,
}

/// The blocks of a table of translations, which are English and three other languages, with the values of
/// the English text in each of them.
///
/// # Panics
///
/// A block is none.
pub fn translations(table: &'static str) -> Vec<[&'static str; 4]> {
    let block = |block: &'static str| {
        let lines: Vec<&str> = block.lines().collect();
        let Ok(lines) = <[&str; 4]>::try_from(lines) else {
            panic!("English, Korean, Japanese, Russian: {block}");
        };
        let [english, others @ ..] = lines;
        let places = english.matches("{}").count();
        for line in others {
            let unnumbered = line.matches("{}").count();
            let numbered = (0..places).filter(|nth| line.contains(&format!("{{{nth}}}"))).count();
            assert!(unnumbered == places || unnumbered == 0 && numbered == places, "{line}");
            assert!(!line.trim().is_empty(), "{english}");
        }
        lines
    };
    table.split("\n\n").map(block).collect()
}

/// The texts in all sources below a folder, but not those of tests.
///
/// # Panics
///
/// A source cannot be read.
pub fn source_texts(folder: &Path) -> Vec<SourceText> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_path_buf()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display())) {
            let path = entry.unwrap_or_else(|error| panic!("{}: {error}", folder.display())).path();
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            if path.is_dir() {
                folders.push(path);
            } else if name.ends_with(".rs") && !name.ends_with("_tests.rs") {
                let source = fs::read_to_string(&path);
                let source = source.unwrap_or_else(|error| panic!("{}: {error}", path.display()));
                let own = source.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
                texts_of(own, &path, &mut found);
            }
        }
    }
    found
}

fn texts_of(source: &str, path: &Path, found: &mut Vec<SourceText>) {
    let mut add = |code: &str, text: &str| {
        let before = tail(code);
        let line = |line| SourceText { path: path.to_owned(), before: before.clone(), text: normal(line) };
        found.extend(text.lines().map(line));
    };
    let mut code = String::new();
    let mut letters = source.chars().peekable();
    while let Some(letter) = letters.next() {
        match letter {
            '/' if letters.peek() == Some(&'/') => {
                letters.by_ref().find(|letter| *letter == '\n');
            }
            // A letter such as '"' is no begin of a text.
            '\'' if letters.peek() == Some(&'"') => {
                letters.next();
                code.push_str("' '");
                letters.next();
            }
            '"' if is_raw(&code) => {
                let hashes = code.len() - code.trim_end_matches('#').len();
                let end = format!("\"{}", "#".repeat(hashes));
                let mut text = String::new();
                while !text.ends_with(&end) {
                    let Some(letter) = letters.next() else { break };
                    text.push(letter);
                }
                add(&code, text.trim_end_matches(&end));
                code.push_str("\"\"");
            }
            '"' => {
                let mut text = String::new();
                while let Some(letter) = letters.next().filter(|letter| *letter != '"') {
                    match letter {
                        '\\' => match letters.next() {
                            Some('\n') => while letters.next_if(|letter| letter.is_whitespace()).is_some() {},
                            Some('n') => text.push('\n'),
                            Some(other) => text.push(other),
                            None => {}
                        },
                        letter => text.push(letter),
                    }
                }
                add(&code, &text);
                code.push_str("\"\"");
            }
            letter if letter.is_whitespace() => {}
            letter => code.push(letter),
        }
    }
}

/// Whether a text after this code is a raw one: `r"` or `r#"`.
fn is_raw(code: &str) -> bool {
    let before = code.trim_end_matches('#').strip_suffix('r');
    before.is_some_and(|before| !before.ends_with(|letter: char| letter.is_alphanumeric() || letter == '_'))
}

/// The end of the code.
fn tail(code: &str) -> String {
    let begin = code.char_indices().rev().nth(59).map_or(0, |(at, _)| at);
    code[begin..].to_owned()
}

/// A line with `{}` for each value, without punctuation at its ends.
fn normal(line: &str) -> String {
    let mut text = String::new();
    let mut rest = line;
    while let Some(at) = rest.find(['{', '}']) {
        let (before, behind) = rest.split_at(at);
        text.push_str(before);
        let twice = ["{{", "}}"].into_iter().find(|twice| behind.starts_with(twice));
        let end = behind.find('}').map_or(behind.len(), |end| end + 1);
        match twice {
            Some(twice) => {
                text.push_str(&twice[1..]);
                rest = &behind[2..];
            }
            None => {
                text.push_str(if behind.starts_with('{') { "{}" } else { "}" });
                rest = &behind[end.max(1)..];
            }
        }
    }
    text.push_str(rest);
    let begun = text.trim_start_matches(|letter: char| letter.is_whitespace() || ";:,.(".contains(letter));
    begun.trim_end_matches(|letter: char| letter.is_whitespace() || ";:,".contains(letter)).to_owned()
}
