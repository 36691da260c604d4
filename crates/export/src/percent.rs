//! Texts in which a byte may be written as `%` and two hexadecimal digits (RFC 3986, 2.1).

/// A text with its bytes put back: `%41` is `A`. `None` if a `%` has no two digits behind it, or if the bytes
/// are no UTF-8.
#[must_use]
pub fn decoded(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'%' => {
                let digit = |byte: Option<u8>| char::from(byte?).to_digit(16);
                let (high, low) = (digit(rest.next())?, digit(rest.next())?);
                u8::try_from(high << 4 | low).ok()?
            }
            other => other,
        });
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_decoded_or_refused() {
        for (text, expected) in [
            ("a+b%20c", Some("a+b c")),
            ("%5CProcessor(*)%5C%25%20Idle", Some(r"\Processor(*)\% Idle")),
            ("%D0%B0", Some("а")),
            ("%", None),
            ("%4", None),
            ("%zz", None),
            ("%ff", None),
        ] {
            assert_eq!(decoded(text).as_deref(), expected, "{text}");
        }
    }
}
