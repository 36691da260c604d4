//! The page: one HTML file that `page/build.mjs` makes, in the program, with the answers to its first
//! questions in it.

use std::io::Write;

use bytes::Bytes;
use flate2::{Compress, Compression, Crc, FlushCompress};
use hyper::header::{
    ACCEPT_ENCODING, CONTENT_ENCODING, CONTENT_SECURITY_POLICY, HeaderMap, HeaderValue, VARY,
};
use hyper::{Response, StatusCode};
use serde_json::Value;

use crate::http::{Answer, answer};

/// The page. Its rules for the browser (Content-Security-Policy) allow the one script and the one style
/// sheet in it, by their hashes, and requests to this server only.
pub(crate) const PAGE: &str = include_str!("../page/dist/index.html");

/// What stands before and behind the rules in the page.
const RULES: (&str, &str) = ("http-equiv=\"Content-Security-Policy\" content=\"", "\"");
/// Where the first answers go: the browser takes what is in there for text.
const PLACE: &str = "<script type=\"application/json\" id=\"first\">";
/// The head of a gzip file without a name and a time.
const GZIP_HEAD: [u8; 10] = [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 2, 0xff];

/// The page, ready to be sent.
#[derive(Debug)]
pub(crate) struct Page {
    /// What is before and behind the first answers.
    parts: [Part; 2],
    rules: Option<HeaderValue>,
}

/// A part of the page: as it is, and compressed by itself, so that other parts can stand before and behind
/// it.
#[derive(Debug)]
struct Part {
    plain: Bytes,
    short: Option<Vec<u8>>,
    sum: Crc,
}

impl Part {
    fn new(plain: impl Into<Bytes>, level: Compression, is_last: bool) -> Part {
        let plain = plain.into();
        let mut sum = Crc::new();
        sum.update(&plain);
        Part { short: deflated(&plain, level, is_last), plain, sum }
    }
}

impl Page {
    /// Compresses the page once.
    pub(crate) fn new() -> Page {
        let rules = rules(PAGE).map(|rules| format!("{rules}; frame-ancestors 'none'"));
        let (before, behind) = PAGE.split_at(PAGE.find(PLACE).map_or(0, |at| at.saturating_add(PLACE.len())));
        let best = Compression::best();
        Page {
            parts: [Part::new(before, best, false), Part::new(behind, best, true)],
            rules: rules.and_then(|rules| HeaderValue::from_str(&rules).ok()),
        }
    }

    /// The answer with the page, and with the first answers in it.
    pub(crate) fn answer(&self, asked: &HeaderMap, first: &Value) -> Response<Answer> {
        let accepted = asked.get(ACCEPT_ENCODING).and_then(|value| value.to_str().ok());
        let takes_gzip = accepted.is_some_and(|value| value.contains("gzip"));
        let [before, behind] = &self.parts;
        // A script ends where `</script` stands, also within a string; names come from anywhere.
        let first = first.to_string().replace('<', "\\u003c");
        let first = Part::new(first, Compression::fast(), false);
        let parts = [before, &first, behind];
        let short = if takes_gzip { gzip(parts) } else { None };
        let is_short = short.is_some();
        let plain = || parts.iter().flat_map(|part| part.plain.iter().copied()).collect::<Vec<u8>>();
        let body = Bytes::from(short.unwrap_or_else(plain));
        let mut response = answer(StatusCode::OK, "text/html; charset=utf-8", Answer::Whole(Some(body)));
        let headers = response.headers_mut();
        if is_short {
            headers.insert(CONTENT_ENCODING, HeaderValue::from_static("gzip"));
        }
        headers.insert(VARY, HeaderValue::from_static("Accept-Encoding"));
        if let Some(rules) = &self.rules {
            headers.insert(CONTENT_SECURITY_POLICY, rules.clone());
        }
        response
    }
}

/// Bytes as blocks of deflate that end with a whole byte, and need nothing that is before them.
fn deflated(plain: &[u8], level: Compression, is_last: bool) -> Option<Vec<u8>> {
    let mut compress = Compress::new(level, false);
    let mut short = Vec::with_capacity(plain.len().saturating_add(64));
    let flush = if is_last { FlushCompress::Finish } else { FlushCompress::Full };
    let mut rest = plain;
    loop {
        let before = compress.total_in();
        short.reserve(64);
        compress.compress_vec(rest, &mut short, flush).ok()?;
        let taken = usize::try_from(compress.total_in().checked_sub(before)?).ok()?;
        rest = rest.get(taken..)?;
        // With room left, all has been written.
        if rest.is_empty() && short.len() < short.capacity() {
            return Some(short);
        }
    }
}

/// Parts as one file of gzip.
fn gzip(parts: [&Part; 3]) -> Option<Vec<u8>> {
    let mut file = GZIP_HEAD.to_vec();
    let mut sum = Crc::new();
    for part in parts {
        file.write_all(part.short.as_ref()?).ok()?;
        sum.combine(&part.sum);
    }
    file.extend(sum.sum().to_le_bytes());
    file.extend(sum.amount().to_le_bytes());
    Some(file)
}

/// The rules that the page states.
fn rules(page: &str) -> Option<&str> {
    page.split_once(RULES.0)?.1.split_once(RULES.1).map(|(rules, _)| rules)
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use flate2::read::GzDecoder;
    use serde_json::json;

    use super::*;

    #[test]
    fn the_page_allows_its_own_script_and_nothing_else() {
        let rules = rules(PAGE).unwrap();
        for needed in
            ["default-src 'none'", "script-src 'sha256-", "style-src 'sha256-", "connect-src 'self'"]
        {
            assert!(rules.contains(needed), "{rules}");
        }
        assert!(!rules.contains("unsafe") && !rules.contains('*') && Page::new().rules.is_some());
    }

    fn body(first: &Value, encoding: &'static str) -> Bytes {
        let mut asked = HeaderMap::new();
        asked.insert(ACCEPT_ENCODING, HeaderValue::from_static(encoding));
        let Answer::Whole(Some(body)) = Page::new().answer(&asked, first).into_body() else { panic!() };
        body
    }

    #[test]
    fn the_page_is_at_most_60_kb() {
        let short = body(&Value::Null, "gzip").len();
        assert!(short <= 60_000, "{short} bytes");
    }

    #[test]
    fn the_first_answers_are_in_the_page() {
        let hostile = "</script><script>alert(1)</script><!--";
        for length in [0, 1, 50, 1000, 65_535, 65_536, 300_000] {
            let first = json!({ "name": hostile, "more": "x7Ж\u{2028}".repeat(length) });
            let plain = String::from_utf8(body(&first, "identity").to_vec()).unwrap();
            let (before, rest) = plain.split_once(PLACE).unwrap();
            let (text, behind) = rest.split_once("</script>").unwrap();
            assert_eq!(serde_json::from_str::<Value>(text).unwrap(), first);
            assert_eq!(format!("{before}{PLACE}</script>{behind}"), PAGE);
            let mut unpacked = String::new();
            GzDecoder::new(&*body(&first, "br, gzip")).read_to_string(&mut unpacked).unwrap();
            assert_eq!(unpacked, plain);
        }
    }

    #[test]
    fn the_page_names_no_other_server() {
        // Addresses of namespaces and of licences are not requested.
        for (at, _) in PAGE.match_indices("http") {
            let text: String = PAGE[at..].chars().take(40).collect();
            let is_known = ["http://www.w3.org/", "http-equiv"];
            let is_address = text.starts_with("http://") || text.starts_with("https://");
            assert!(!is_address || is_known.iter().any(|known| text.starts_with(known)), "{text}");
        }
    }
}
