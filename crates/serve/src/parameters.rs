//! The parameters of an address: `?path=…&from=…`.

use hyper::Uri;
use tallymon::core::time::FileTime;
use tallymon::core::title::Language;
use tallymon::core::visible::visible;
use tallymon_export::percent;

use crate::http::Refused;

/// The most parameters that are read.
const MOST: usize = 600;

/// The parameters of a request, in their order.
#[derive(Debug, Clone, Default)]
pub(crate) struct Parameters(Vec<(String, String)>);

impl Parameters {
    /// Reads the parameters of an address.
    pub(crate) fn of(uri: &Uri) -> Result<Parameters, Refused> {
        let mut all = Vec::new();
        for pair in uri.query().unwrap_or_default().split('&').filter(|pair| !pair.is_empty()) {
            if all.len() >= MOST {
                return Err(Refused::bad_request(format!("there are more than {MOST} parameters")));
            }
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            let bad = || Refused::bad_request(format!("the parameter {name:?} is no UTF-8 in % form"));
            all.push((decoded(name).ok_or_else(bad)?, decoded(value).ok_or_else(bad)?));
        }
        Ok(Parameters(all))
    }

    /// All values of a parameter.
    pub(crate) fn all(&self, name: &str) -> impl Iterator<Item = &str> {
        self.0.iter().filter(move |(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// The names of all parameters.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|(name, _)| name.as_str())
    }

    /// The value of a parameter, if it is there.
    pub(crate) fn text(&self, name: &str) -> Option<&str> {
        self.all(name).next()
    }

    /// The value of a parameter that must be there.
    pub(crate) fn needed(&self, name: &str) -> Result<&str, Refused> {
        self.text(name).ok_or_else(|| Refused::bad_request(format!("the parameter {name:?} is missing")))
    }

    /// A whole number.
    pub(crate) fn number(&self, name: &str) -> Result<Option<u64>, Refused> {
        let Some(text) = self.text(name) else { return Ok(None) };
        let number = text.parse();
        number
            .map(Some)
            .map_err(|_| Refused::bad_request(format!("{name}={text:?}: a whole number is expected")))
    }

    /// Whether something is wanted: `1`, or `0`, as without it.
    pub(crate) fn flag(&self, name: &str) -> Result<bool, Refused> {
        match self.text(name) {
            None | Some("0") => Ok(false),
            Some("1") => Ok(true),
            Some(other) => {
                Err(Refused::bad_request(format!("{name}={:?}: 0 or 1 is expected", visible(other))))
            }
        }
    }

    /// A time in milliseconds since 1970, UTC.
    pub(crate) fn time(&self, name: &str) -> Result<Option<FileTime>, Refused> {
        self.text(name).map(|text| time(name, text)).transpose()
    }

    /// All times of a parameter that stands several times.
    pub(crate) fn times(&self, name: &str) -> Result<Vec<FileTime>, Refused> {
        self.all(name).map(|text| time(name, text)).collect()
    }

    /// The language of names and texts; English by default.
    pub(crate) fn language(&self) -> Language {
        language_of(self.text("lang"))
    }
}

/// A language of the page by its code; English by default.
pub(crate) fn language_of(code: Option<&str>) -> Language {
    match code {
        Some("ko") => Language::KOREAN,
        Some("ja") => Language::JAPANESE,
        Some("ru") => Language::RUSSIAN,
        _ => Language::ENGLISH,
    }
}

/// The code of the language that the page begins with in a browser which accepts these, in their order, as
/// `ko-KR,ko;q=0.9,en;q=0.8`.
pub(crate) fn language_of_browser(accepted: &str) -> &'static str {
    let codes = accepted.split(',').filter_map(|one| one.trim().get(..2));
    let known =
        |code: &str| ["en", "ko", "ja", "ru"].into_iter().find(|known| code.eq_ignore_ascii_case(known));
    codes.into_iter().find_map(known).unwrap_or("en")
}

/// A time in milliseconds since 1970, UTC.
fn time(name: &str, text: &str) -> Result<FileTime, Refused> {
    let milliseconds: Option<f64> = text.parse().ok().filter(|number: &f64| number.is_finite());
    let parsed = milliseconds.and_then(|number| {
        // A float of this size has microseconds; more is not asked for.
        FileTime::from_unix_nanoseconds(((number * 1000.0).round() as i128).checked_mul(1000)?)
    });
    let bad = || Refused::bad_request(format!("{name}={text:?}: milliseconds since 1970 (UTC) are expected"));
    parsed.ok_or_else(bad)
}

/// A text with `%41` and `+`; `None` if it is not UTF-8.
fn decoded(text: &str) -> Option<String> {
    percent::decoded(&text.replace('+', " "))
}

/// A time in milliseconds since 1970, UTC.
pub(crate) fn milliseconds(time: FileTime) -> f64 {
    (time.unix_nanoseconds() / 1000) as f64 / 1000.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_browser_begins_in_a_language_of_its_own() {
        for (accepted, code) in [
            ("ko-KR,ko;q=0.9,en-US;q=0.8", "ko"),
            ("de, RU;q=0.7", "ru"),
            ("", "en"),
            ("*", "en"),
            ("é,ja", "ja"),
        ] {
            assert_eq!(language_of_browser(accepted), code, "{accepted}");
        }
    }

    #[test]
    fn parameters_are_read_in_order_and_checked() {
        let uri: Uri = "/q?path=%5CA+%2B%5CB&path=c&from=1000.5&points=12&bad=x".parse().unwrap();
        let parameters = Parameters::of(&uri).unwrap();
        assert_eq!(parameters.all("path").collect::<Vec<_>>(), [r"\A +\B", "c"]);
        assert_eq!(milliseconds(parameters.time("from").unwrap().unwrap()), 1000.5);
        assert_eq!(
            (parameters.number("points").unwrap(), parameters.number("none").unwrap()),
            (Some(12), None)
        );
        assert!(parameters.flag("bad").is_err() && !parameters.flag("none").unwrap());
        let flags: Uri = "/q?on=1&off=0&empty=".parse().unwrap();
        let flags = Parameters::of(&flags).unwrap();
        let read = ["on", "off", "empty"].map(|name| flags.flag(name).map_err(|refused| refused.words));
        let empty = "empty=\"\": 0 or 1 is expected".to_string();
        assert_eq!(read, [Ok(true), Ok(false), Err(empty)]);
        assert!(parameters.number("bad").is_err() && parameters.time("bad").is_err());
        let many: Uri = format!("/q?{}", "a=1&".repeat(MOST + 1)).parse().unwrap();
        assert!(Parameters::of(&many).is_err());
    }
}
