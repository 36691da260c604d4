//! Words as fish gives them: the last one still has its quotes and backslashes.

/// The text of a word. A quote may still be open.
pub(super) fn plain(raw: &str) -> String {
    let mut text = String::new();
    let mut quote: Option<char> = None;
    let mut letters = raw.chars().peekable();
    while let Some(letter) = letters.next() {
        match (quote, letter) {
            (None, '\'' | '"') => quote = Some(letter),
            (Some(open), letter) if open == letter => quote = None,
            (_, '\\') => {
                let next = letters.peek().copied();
                let escapes = match quote {
                    Some('\'') => next.is_some_and(|next| "'\\".contains(next)),
                    Some(_) => next.is_some_and(|next| "\"$\\".contains(next)),
                    // `\M` is no escape that fish knows; a user who types it means the backslash.
                    None => next.is_some_and(|next| !next.is_alphanumeric()),
                };
                match (escapes, next) {
                    (true, Some(next)) => {
                        text.push(next);
                        letters.next();
                    }
                    _ => text.push('\\'),
                }
            }
            (_, letter) => text.push(letter),
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotes_and_backslashes_are_removed() {
        for (raw, text) in [
            ("", ""),
            ("'\\Memory\\Av", "\\Memory\\Av"),
            ("'\\\\Memory", "\\Memory"),
            ("'it\\'s", "it's"),
            ("\\\\Memory\\\\Available\\ M", "\\Memory\\Available M"),
            ("\\Mem", "\\Mem"),
            ("\"\\$x\\Mem", "$x\\Mem"),
        ] {
            assert_eq!(plain(raw), text, "{raw}");
        }
    }
}
