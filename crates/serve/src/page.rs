//! The page: one HTML file that `page/build.mjs` makes, in the program.

use bytes::Bytes;
use flate2::Compression;
use hyper::header::{
    ACCEPT_ENCODING, CONTENT_ENCODING, CONTENT_SECURITY_POLICY, HeaderMap, HeaderValue, VARY,
};
use hyper::{Response, StatusCode};

use crate::http::{Answer, answer, gzip};

/// The page. Its rules for the browser (Content-Security-Policy) allow the one script and the one style
/// sheet in it, by their hashes, and requests to this server only.
pub(crate) const PAGE: &str = include_str!("../page/dist/index.html");

/// What stands before and behind the rules in the page.
const RULES: (&str, &str) = ("http-equiv=\"Content-Security-Policy\" content=\"", "\"");

/// The page, ready to be sent.
#[derive(Debug)]
pub(crate) struct Page {
    plain: Bytes,
    short: Option<Bytes>,
    rules: Option<HeaderValue>,
}

impl Page {
    /// Compresses the page once.
    pub(crate) fn new() -> Page {
        let rules = rules(PAGE).map(|rules| format!("{rules}; frame-ancestors 'none'"));
        Page {
            plain: Bytes::from_static(PAGE.as_bytes()),
            short: gzip(PAGE.as_bytes(), Compression::best()).map(Bytes::from),
            rules: rules.and_then(|rules| HeaderValue::from_str(&rules).ok()),
        }
    }

    /// The answer with the page.
    pub(crate) fn answer(&self, asked: &HeaderMap) -> Response<Answer> {
        let accepted = asked.get(ACCEPT_ENCODING).and_then(|value| value.to_str().ok());
        let takes_gzip = accepted.is_some_and(|value| value.contains("gzip"));
        let short = self.short.clone().filter(|_| takes_gzip);
        let is_short = short.is_some();
        let body = short.unwrap_or_else(|| self.plain.clone());
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

/// The rules that the page states.
fn rules(page: &str) -> Option<&str> {
    page.split_once(RULES.0)?.1.split_once(RULES.1).map(|(rules, _)| rules)
}

#[cfg(test)]
mod tests {
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

    #[test]
    fn the_page_is_at_most_60_kb() {
        let short = gzip(PAGE.as_bytes(), Compression::best()).unwrap().len();
        assert!(short <= 60_000, "{short} bytes");
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
