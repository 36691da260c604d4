//! Text from outside, made safe to show.
//!
//! Names and texts come from logs, data blocks, other programs' publications, libraries and files. Some
//! characters in them would change what a terminal shows: they move the cursor, turn the direction of the
//! text, break the line, or have no width, so that two names look equal. [`visible`] replaces them, and every
//! output for people uses it.

use alloc::borrow::Cow;
use alloc::string::String;
use core::fmt::Write as _;

/// Replaces each character that a terminal would obey or not show by U+FFFD. See [`Inspector`] for which
/// these are.
///
/// Line ends and tabs are replaced too, so the result stays on one line.
pub fn visible(text: &str) -> Cow<'_, str> {
    let is_plain = |byte: u8| matches!(byte, b' '..=b'~');
    if text.bytes().all(is_plain) {
        return Cow::Borrowed(text);
    }
    let mut inspector = Inspector::default();
    if !text.chars().any(|letter| inspector.deceives(letter)) {
        return Cow::Borrowed(text);
    }
    let mut inspector = Inspector::default();
    let shown = |letter| if inspector.deceives(letter) { char::REPLACEMENT_CHARACTER } else { letter };
    Cow::Owned(text.chars().map(shown).collect::<String>())
}

/// JSON with `\u` escapes for what a terminal would obey or hide. That changes none of its values.
pub fn escape_json(json: &str) -> Cow<'_, str> {
    // Most answers have nothing but the visible letters of ASCII, which deceive nobody.
    if json.bytes().all(|byte| matches!(byte, b' '..=b'~')) {
        return Cow::Borrowed(json);
    }
    let mut inspector = Inspector::default();
    if !json.chars().any(|letter| inspector.deceives(letter)) {
        return Cow::Borrowed(json);
    }
    let (mut inspector, mut escaped) = (Inspector::default(), String::with_capacity(json.len()));
    for letter in json.chars() {
        if !inspector.deceives(letter) {
            escaped.push(letter);
            continue;
        }
        for unit in letter.encode_utf16(&mut [0; 2]) {
            // Writing into a string cannot fail.
            let _ = write!(escaped, "\\u{unit:04x}");
        }
    }
    Cow::Owned(escaped)
}

/// Looks at the characters of a text one after the other and finds those that deceive.
///
/// These deceive everywhere:
///
/// * C0 and C1 controls and DEL: terminals obey them. C1 includes U+009B, which begins a sequence as ESC `[`
///   does.
/// * Controls of the direction of text: U+061C, U+200E, U+200F, U+202A to U+202E, U+2066 to U+2069.
/// * Line and paragraph separators: U+2028, U+2029.
/// * Characters without width or shape: zero-width spaces and non-characters of formatting (U+00AD, U+034F,
///   U+180E, U+200B, U+2060 to U+206F, U+FEFF, U+FFF9 to U+FFFB), blank letters (U+115F, U+1160, U+17B4,
///   U+17B5, U+3164, U+FFA0), hidden musical marks, and tags (U+E0000 to U+E00FF).
///
/// Joiners (U+200C, U+200D) and variation selectors belong to the spelling of some scripts and of emoji. One
/// of them is accepted after a character of such a script; elsewhere it only hides a difference.
#[derive(Debug, Clone, Copy, Default)]
pub struct Inspector {
    before: Option<char>,
}

impl Inspector {
    /// Whether the next character of the text deceives.
    pub fn deceives(&mut self, letter: char) -> bool {
        let before = self.before.replace(letter);
        match letter {
            ' '..='~' => false,
            letter if letter.is_control() => true,
            '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' => true,
            '\u{180e}' | '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' => true,
            '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}' => true,
            '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e00ff}' => true,
            // The end of a variation may be joined to something, as in many emoji.
            '\u{200c}' | '\u{200d}' => !before.is_some_and(|one| takes_joiners(one) || is_variation(one)),
            letter if is_variation(letter) => !before.is_some_and(takes_joiners),
            _ => false,
        }
    }
}

/// Whether a character selects a shape of the one before it.
const fn is_variation(letter: char) -> bool {
    matches!(letter, '\u{180b}'..='\u{180d}' | '\u{fe00}'..='\u{fe0f}' | '\u{e0100}'..='\u{e01ef}')
}

/// Whether a character is of a script whose spelling has joiners or variations: Arabic to Myanmar, Khmer,
/// Mongolian, ideographs, symbols and emoji.
const fn takes_joiners(letter: char) -> bool {
    match letter {
        letter if is_variation(letter) => false,
        '\u{61c}' | '\u{17b4}' | '\u{17b5}' | '\u{180e}' => false,
        '\u{600}'..='\u{109f}' | '\u{1780}'..='\u{18af}' | '\u{2190}'..='\u{2bff}' => true,
        '\u{2e80}'..='\u{2fff}' | '\u{3021}'..='\u{3029}' | '\u{3400}'..='\u{9fff}' => true,
        '\u{f900}'..='\u{faff}' | '\u{1f000}'..='\u{1faff}' | '\u{20000}'..='\u{3fffd}' => true,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::format;

    #[test]
    fn characters_that_deceive_are_replaced() {
        let ranges = [
            ('\0', '\u{1f}'),
            ('\u{7f}', '\u{9f}'),
            ('\u{ad}', '\u{ad}'),
            ('\u{61c}', '\u{61c}'),
            ('\u{180b}', '\u{180e}'),
            ('\u{200b}', '\u{200f}'),
            ('\u{2028}', '\u{202e}'),
            ('\u{2060}', '\u{206f}'),
            ('\u{fe00}', '\u{fe0f}'),
            ('\u{feff}', '\u{feff}'),
            ('\u{fff9}', '\u{fffb}'),
            ('\u{e0000}', '\u{e007f}'),
            ('\u{e0100}', '\u{e01ef}'),
        ];
        for (first, last) in ranges {
            for letter in first..=last {
                assert_eq!(visible(&format!("a{letter}b")), "a\u{fffd}b", "U+{:04X}", u32::from(letter));
            }
        }
    }

    #[test]
    fn words_of_every_language_stay() {
        for text in [
            "",
            r"\Processor(_Total)\% Processor Time",
            "% время процессора",
            "사용 가능한 바이트",
            "プロセッサ時間（％）",
            "نمی\u{200c}خواهم",
            "क्\u{200d}ष",
            "👩\u{200d}💻 ❤\u{fe0f}\u{200d}🔥",
            "葛\u{e0100}城",
            "naïve café\u{301}",
            "\u{2800}\u{28ff}",
        ] {
            assert!(matches!(visible(text), Cow::Borrowed(_)), "{text}");
        }
    }

    #[test]
    fn joiners_that_join_nothing_are_replaced() {
        for (text, expected) in [
            ("Mem\u{200d}ory", "Mem\u{fffd}ory"),
            ("Пам\u{200c}ять", "Пам\u{fffd}ять"),
            ("\u{200d}", "\u{fffd}"),
            ("م\u{200c}\u{200c}", "م\u{200c}\u{fffd}"),
            ("葛\u{e0100}\u{e0101}", "葛\u{e0100}\u{fffd}"),
            ("1\u{fe0f}", "1\u{fffd}"),
        ] {
            assert_eq!(visible(text), expected);
        }
    }
}
