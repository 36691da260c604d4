//! Writes the report: one HTML file that contains the profile and loads nothing else.

use super::document::write_document;
use crate::reader::Profile;
use std::io::{self, Write};

/// The page, in whose places the other parts go, the profile last.
const PAGE: &str = include_str!("report/page.html");
const STYLE: &str = include_str!("report/style.css");
const SCRIPT: [&str; 3] =
    [include_str!("report/model.js"), include_str!("report/views.js"), include_str!("report/draw.js")];

/// Writes the report as one HTML file.
///
/// # Errors
///
/// Write errors of `out`.
pub fn html(profile: &Profile, out: &mut dyn Write) -> io::Result<()> {
    let page = PAGE.replace("/*STYLE*/", STYLE).replace("/*SCRIPT*/", &SCRIPT.concat());
    let (before, after) = page.split_once("/*PROFILE*/").unwrap_or((&page, ""));
    out.write_all(before.as_bytes())?;
    write_document(profile, false, &mut Harmless(out))?;
    out.write_all(after.as_bytes())
}

/// Escapes every `<`, so that a name in the profile can not end the script element: each `<` is inside of a
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
        assert!(!page.contains("PROFILE*/") && !page.contains("STYLE*/") && !page.contains("SCRIPT*/"));
        // What would be loaded from elsewhere.
        for word in ["src=", "href=", "url(", "@import", "fetch(", "XMLHttpRequest"] {
            assert!(!page.contains(word), "{word}");
        }
    }
}
