//! The command line as bash and its line editor see it.
//!
//! Bash gives the line to the script as typed, quotes and all. Its line editor replaces the last word from
//! where the last open quote begins, or behind the last character of `COMP_WORDBREAKS`; candidates must be
//! what stands there afterwards.

use super::{Answer, Candidate};

/// Characters outside of quotes behind which the line editor begins a word, except for blanks.
const BREAKS: &str = "=:><;|&(@";

/// The last word of a line, as far as quoting is concerned.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Word {
    /// The open quote at its end.
    quote: Option<char>,
    /// As it was typed, from its beginning to the place that the line editor replaces.
    before: String,
    /// Without quotes, the part of `before` that is outside of the value: `--counter=`.
    is_plain_before: bool,
}

/// Takes the words of the last command on a line apart. The first is the first argument.
pub(super) fn words(line: &str) -> (Vec<String>, Word) {
    let mut words: Vec<String> = Vec::new();
    let mut text = String::new();
    let mut raw = String::new();
    // Whether a word has begun: `''` is one, though it is empty.
    let mut is_begun = false;
    let mut quote: Option<char> = None;
    // Bytes of `raw` before the place that is replaced.
    let mut kept = 0usize;
    let mut letters = line.chars().peekable();
    while let Some(letter) = letters.next() {
        match (quote, letter) {
            (None, ' ' | '\t' | '\n') => {
                if is_begun {
                    words.push(std::mem::take(&mut text));
                }
                raw.clear();
                (is_begun, kept) = (false, 0);
                continue;
            }
            // Another command begins.
            (None, ';' | '|' | '&') => {
                words.clear();
                text.clear();
                raw.clear();
                (is_begun, kept) = (false, 0);
                continue;
            }
            (None, '\'' | '"') => {
                quote = Some(letter);
                raw.push(letter);
                kept = raw.len();
            }
            (Some(open), letter) if open == letter => {
                quote = None;
                raw.push(letter);
            }
            (None, '\\') | (Some('"'), '\\') => {
                raw.push(letter);
                let escapes = |next: char| quote.is_none() || "$`\"\\\n".contains(next);
                match letters.peek().copied() {
                    // Outside of quotes, a backslash before a letter is what users type who do not know
                    // better: the shell would remove it, but they mean it.
                    Some(next) if escapes(next) && !(quote.is_none() && next.is_alphanumeric()) => {
                        text.push(next);
                        raw.push(next);
                        letters.next();
                    }
                    _ => text.push('\\'),
                }
            }
            (_, letter) => {
                text.push(letter);
                raw.push(letter);
                if quote.is_none() && BREAKS.contains(letter) {
                    kept = raw.len();
                }
            }
        }
        is_begun = true;
    }
    words.push(text);
    let before: String = raw.get(..kept).unwrap_or_default().to_string();
    let is_plain_before = !before.contains(['\'', '"', '\\']);
    // Settings of the environment in front of the command.
    while words.len() > 1 && words.first().is_some_and(|word| word.contains('=')) {
        words.remove(0);
    }
    (words.split_off(1.min(words.len())), Word { quote, before, is_plain_before })
}

/// Candidates as the line editor must get them.
pub(super) fn quoted(answer: Answer, word: &Word) -> Answer {
    let quote_all = |all: Vec<Candidate>, is_whole: bool| {
        let quoted = |one: Candidate| Some(Candidate { text: word.replacement(&one.text, is_whole)?, ..one });
        all.into_iter().filter_map(quoted).collect()
    };
    match answer {
        Answer::Words(all) => Answer::Words(quote_all(all, true)),
        Answer::Parts(all) => Answer::Parts(quote_all(all, false)),
        Answer::Files(_) => answer,
    }
}

impl Word {
    /// What replaces the end of the word, so that the shell reads a text.
    fn replacement(&self, text: &str, is_whole: bool) -> Option<String> {
        match self.quote {
            Some('"') => {
                let text = self.rest(&double_quoted(text))?;
                Some(text)
            }
            Some(_) => self.rest(&format!("'{}", text.replace('\'', r"'\''"))),
            // A part of the word is quoted already, and the quote is closed: nothing can follow it.
            None if !self.is_plain_before => None,
            None => {
                let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "-_.,/%+".contains(letter);
                if text.chars().all(is_plain) && !text.is_empty() {
                    return Some(text.to_string());
                }
                let end = if is_whole { "'" } else { "" };
                Some(format!("'{}{end}", text.replace('\'', r"'\''")))
            }
        }
    }

    /// A quoted word without what stands before the place that is replaced; `None` if it begins otherwise.
    fn rest(&self, quoted: &str) -> Option<String> {
        // An option in front of the quote is no part of the value.
        let quote = self.before.find(['\'', '"'])?;
        let before = self.before.get(quote..)?;
        // The quote itself is before the place.
        quoted.strip_prefix(before).map(str::to_string)
    }
}

/// A text behind a double quote.
fn double_quoted(text: &str) -> String {
    let mut quoted = String::from('"');
    for letter in text.chars() {
        if "$`\"\\".contains(letter) {
            quoted.push('\\');
        }
        quoted.push(letter);
    }
    quoted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_taken_apart_as_bash_does() {
        for (line, expected, quote, before) in [
            ("tally ", &[""][..], None, ""),
            ("tally get ", &["get", ""], None, ""),
            ("tally get '\\Memory\\Av", &["get", "\\Memory\\Av"], Some('\''), "'"),
            ("tally get '\\A\\b c' '\\Me", &["get", "\\A\\b c", "\\Me"], Some('\''), "'"),
            ("tally get \"\\\\Me", &["get", "\\Me"], Some('"'), "\""),
            ("tally get \"\\Me", &["get", "\\Me"], Some('"'), "\""),
            ("tally get \\Me", &["get", "\\Me"], None, ""),
            ("tally get \\\\Me", &["get", "\\Me"], None, ""),
            ("tally get 'it'\\''s", &["get", "it's"], Some('\''), "'it'\\''"),
            ("tally stats a\\ b -c", &["stats", "a b", "-c"], None, ""),
            ("tally get --log=x", &["get", "--log=x"], None, "--log="),
            ("cd /x; ls | tally g", &["g"], None, ""),
            ("TZ=UTC tally g", &["g"], None, ""),
        ] {
            let (words, word) = words(line);
            assert_eq!(words, expected, "{line}");
            assert_eq!((word.quote, word.before.as_str()), (quote, before), "{line}");
        }
    }

    #[test]
    fn candidates_replace_what_the_line_editor_replaces() {
        for (line, text, whole, expected) in [
            ("tally get ", r"\Memory\", false, Some(r"'\Memory\")),
            ("tally get ", r"\Memory\Available MBytes", true, Some(r"'\Memory\Available MBytes'")),
            ("tally get '", r"\Memory\Available MBytes", true, Some(r"\Memory\Available MBytes")),
            ("tally get \"", r"\Memory\", false, Some(r"\\Memory\\")),
            ("tally get 'it'\\''s\\", r"it's\x", false, Some(r"s\x")),
            ("tally get 'it", r"it's\x", false, Some(r"it'\''s\x")),
            ("tally get 'x'", r"x\y", false, None),
            ("tally watch --interval=", "5s", true, Some("5s")),
            ("tally relog a -c", "--counter", true, Some("--counter")),
        ] {
            assert_eq!(words(line).1.replacement(text, whole).as_deref(), expected, "{line}");
        }
    }
}
