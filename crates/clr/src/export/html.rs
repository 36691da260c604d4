//! Writes the report: one HTML file that contains the profile and loads nothing else; and the page of a
//! server, which asks for profiles.

use super::document::write_document;
use crate::reader::Profile;
use std::io::{self, Write};

/// The page, in whose places the other parts go, the profile last.
const PAGE: &str = include_str!("report/page.html");
const STYLE: &str = include_str!("report/style.css");
const SCRIPT: [&str; 4] = [
    include_str!("report/words.js"),
    include_str!("report/model.js"),
    include_str!("report/views.js"),
    include_str!("report/draw.js"),
];
/// What the browser may do with a report: run what is in it. A server sends rules of its own.
const RULES: &str = concat!(
    "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; ",
    "script-src 'unsafe-inline'\">\n"
);
/// What a report does at last.
const START: &str = "start();";
/// What the page of a server does besides.
const SERVED: &str = include_str!("report/served.js");

/// The most events of all threads in a page: what a browser draws without a wait.
const MOST_EVENTS: usize = 200_000;

/// The page that shows the profiles of a server, without one in it.
#[derive(Debug, Clone)]
pub struct Viewer {
    /// The page.
    pub page: String,
    /// The only script in it, for the rules that allow it by its hash.
    pub script: String,
    /// The only style sheet in it.
    pub style: String,
}

/// The page of a server: it asks `api/v1/profiles`, `profile`, `profile/busiest` and `profile/differences`
/// beside its own address.
pub fn viewer() -> Viewer {
    let script = [SCRIPT.concat().as_str(), SERVED].concat();
    let page = whole_page("", &script).replace("/*PROFILE*/", "");
    Viewer { page, script, style: STYLE.into() }
}

fn whole_page(rules: &str, script: &str) -> String {
    PAGE.replace("/*RULES*/", rules).replace("/*STYLE*/", STYLE).replace("/*SCRIPT*/", script)
}

/// Writes the report as one HTML file.
///
/// # Errors
///
/// Write errors of `out`.
pub fn html(profile: &Profile, out: &mut dyn Write) -> io::Result<()> {
    let page = whole_page(RULES, &[SCRIPT.concat().as_str(), START].concat());
    let (before, after) = page.split_once("/*PROFILE*/").unwrap_or((&page, ""));
    out.write_all(before.as_bytes())?;
    write_document(profile, MOST_EVENTS, &mut Harmless(out))?;
    out.write_all(after.as_bytes())
}

/// Writes what [`viewer`] shows as JSON: [`super::document`] with the newest events only.
///
/// # Errors
///
/// Write errors of `out`.
pub fn viewer_document(profile: &Profile, out: &mut dyn Write) -> io::Result<()> {
    write_document(profile, MOST_EVENTS, out)
}

/// Escapes every `<`, so that a name in the profile cannot end the script element: each `<` is inside of a
/// JSON string.
struct Harmless<'a>(&'a mut dyn Write);

impl Write for Harmless<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut rest = bytes;
        while let Some(at) = rest.iter().position(|byte| *byte == b'<') {
            let (before, from) = rest.split_at(at);
            self.0.write_all(before)?;
            self.0.write_all(b"\\u003c")?;
            rest = from.get(1..).unwrap_or_default();
        }
        self.0.write_all(rest)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reader::tests::{RawNode, file};

    #[test]
    fn page_contains_the_profile_and_loads_nothing() {
        let name = "C\0\0</script><script>alert(1)//\0\0()";
        let bytes = file(&[name], &[RawNode(0, 0, 0, 2, 0), RawNode(1, 1, 2, 0, 0)]);
        let mut out = Vec::new();
        html(&Profile::from_bytes(&bytes).unwrap(), &mut out).unwrap();
        let page = String::from_utf8(out).unwrap();
        assert!(page.contains("C.\\u003c/script>\\u003cscript>alert(1)//()"));
        assert_eq!(page.matches("</script>").count(), PAGE.matches("</script>").count());
        assert!(page.starts_with("<!DOCTYPE html>") && page.trim_end().ends_with("</html>"));
        assert!(page.contains("default-src 'none'"));
        assert!(
            !page.contains("RULES*/")
                && !page.contains("PROFILE*/")
                && !page.contains("STYLE*/")
                && !page.contains("SCRIPT*/")
        );
        // What would be loaded from elsewhere.
        for word in ["src=", "href=", "url(", "@import", "fetch(", "XMLHttpRequest"] {
            assert!(!page.contains(word), "{word}");
        }
    }

    #[test]
    fn the_page_of_a_server_has_one_script_and_one_style_sheet() {
        let Viewer { page, script, style } = viewer();
        assert!(page.contains(&format!("<script>{script}</script>")));
        assert!(page.contains(&format!("<style>\n{style}\n</style>")));
        assert_eq!((page.matches("<script").count(), page.matches("<style").count()), (2, 1));
        // No rule allows the attribute.
        assert!(!script.contains("setAttribute(\"style\""));
    }

    /// The texts of a script that people read: what it passes to `t`, also on both sides of a condition.
    fn texts(script: &str) -> impl Iterator<Item = &str> {
        let after = ["t(\"", "? \"", ": \""].into_iter();
        let all = after.flat_map(|mark| script.split(mark).skip(1).filter_map(|rest| rest.split('"').next()));
        all.filter(|text| text.starts_with(|c: char| c.is_uppercase()) && text.contains(' '))
    }

    #[test]
    fn every_text_has_its_translations() {
        let words = include_str!("report/words.js");
        let known = |text: &str| words.contains(&format!("\n  \"{text}\": ["));
        for script in SCRIPT.iter().skip(1).chain([&SERVED]) {
            for text in texts(script) {
                assert!(known(text), "{text:?} has no translations");
            }
            for direct in script.split(" t(\"").skip(1).filter_map(|rest| rest.split('"').next()) {
                assert!(known(direct), "{direct:?} has no translations");
            }
        }
        for line in words.lines().filter(|line| line.starts_with("  \"")) {
            let places = line.split_once("\": [").map(|(text, rest)| (text.matches("{}").count(), rest));
            let (places, rest) = places.unwrap();
            assert_eq!(rest.matches("{}").count(), 3 * places, "{line}");
            assert!(rest.split("\", \"").count() == 3, "{line}");
        }
    }
}
