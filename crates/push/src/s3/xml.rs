//! Answers of a server: pages of a list, and errors.

use quick_xml::Reader;
use quick_xml::escape::unescape;
use quick_xml::events::Event;

/// How deep elements may lie in each other; answers have three levels.
const DEEPEST: usize = 16;

/// An object in a bucket.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Found {
    /// Its key.
    pub key: String,
    /// Its length in bytes.
    pub size: u64,
    /// When it was written, by the clock of the server: `2026-11-26T14:15:00.000Z`.
    pub modified: String,
}

/// A page of a list.
#[derive(Debug, PartialEq, Eq, Default)]
pub(super) struct Page {
    pub(super) found: Vec<Found>,
    /// What the request for the next page has, if there is one.
    pub(super) next: Option<String>,
}

/// What a server says about an error.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Said {
    pub(super) code: String,
    pub(super) message: String,
    /// The region or the server that it names.
    pub(super) region: Option<String>,
}

/// The texts of all elements that have some: their names from the outermost on, and the text.
fn texts(xml: &[u8], mut each: impl FnMut(&[String], String)) -> Result<(), String> {
    let xml = std::str::from_utf8(xml).map_err(|_| "it is not UTF-8".to_owned())?;
    let mut reader = Reader::from_str(xml);
    let mut path: Vec<String> = Vec::new();
    let mut text = String::new();
    loop {
        match reader.read_event().map_err(|error| error.to_string())? {
            Event::Start(start) => {
                if path.len() >= DEEPEST {
                    return Err(format!("more than {DEEPEST} elements lie in each other"));
                }
                path.push(String::from_utf8_lossy(start.local_name().as_ref()).into_owned());
                text.clear();
            }
            Event::Text(part) => {
                let part = part.decode().map_err(|error| error.to_string())?;
                text.push_str(&part);
            }
            Event::CData(part) => text.push_str(&String::from_utf8_lossy(&part)),
            Event::GeneralRef(name) => {
                let name = format!("&{};", String::from_utf8_lossy(&name));
                text.push_str(&unescape(&name).map_err(|error| error.to_string())?);
            }
            Event::End(_) => {
                each(&path, std::mem::take(&mut text));
                path.pop();
            }
            Event::Eof if path.is_empty() => return Ok(()),
            Event::Eof => return Err("it ends in the middle".to_owned()),
            _ => {}
        }
    }
}

/// Reads a page.
///
/// # Errors
///
/// It is no page, in words.
pub(super) fn page(xml: &[u8]) -> Result<Page, String> {
    let mut page = Page::default();
    let mut found = Found::default();
    let mut wrong = None;
    let (mut is_page, mut is_cut, mut next) = (false, false, None);
    texts(xml, |path, text| {
        let names: Vec<&str> = path.iter().map(String::as_str).collect();
        match names.as_slice() {
            ["ListBucketResult"] => is_page = true,
            ["ListBucketResult", "IsTruncated"] => is_cut = text.trim() == "true",
            ["ListBucketResult", "NextContinuationToken"] => next = Some(text),
            ["ListBucketResult", "Contents", "Key"] => found.key = text,
            ["ListBucketResult", "Contents", "LastModified"] => found.modified = text,
            ["ListBucketResult", "Contents", "Size"] => match text.trim().parse() {
                Ok(size) => found.size = size,
                Err(_) => wrong = Some(format!("the size {text:?} of {:?} is not a number", found.key)),
            },
            ["ListBucketResult", "Contents"] => page.found.push(std::mem::take(&mut found)),
            _ => {}
        }
    })?;
    if let Some(wrong) = wrong {
        return Err(wrong);
    }
    if !is_page {
        return Err("it has no ListBucketResult".to_owned());
    }
    if is_cut {
        page.next = Some(next.ok_or("it has no NextContinuationToken, though more follows")?);
    }
    Ok(page)
}

/// What the answer to a failed request says. Anything else than an error of S3 says nothing.
pub(super) fn said(xml: &[u8]) -> Said {
    let mut said = Said::default();
    let read = texts(xml, |path, text| {
        let names: Vec<&str> = path.iter().map(String::as_str).collect();
        match names.as_slice() {
            ["Error", "Code"] => said.code = text,
            ["Error", "Message"] => said.message = text,
            ["Error", "Region" | "Endpoint"] => said.region = Some(text),
            _ => {}
        }
    });
    if read.is_ok() { said } else { Said::default() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_have_objects_and_where_the_next_one_begins() {
        let xml = br#"<?xml version="1.0"?><ListBucketResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/">
            <IsTruncated>true</IsTruncated><NextContinuationToken>a&amp;b=</NextContinuationToken>
            <Contents><Key>x/a &lt;1&gt;</Key><LastModified>2026-11-26T14:15:00.000Z</LastModified>
            <Owner><ID>7</ID></Owner><Size>12</Size></Contents><Contents><Key>y</Key><Size>0</Size></Contents>
            <CommonPrefixes><Prefix>z/</Prefix></CommonPrefixes></ListBucketResult>"#;
        let page = page(xml).unwrap();
        let first = Found { key: "x/a <1>".into(), size: 12, modified: "2026-11-26T14:15:00.000Z".into() };
        assert_eq!(page.found, [first, Found { key: "y".into(), ..Found::default() }]);
        assert_eq!(page.next.as_deref(), Some("a&b="));
    }

    #[test]
    fn pages_that_are_none_are_refused() {
        let deep = format!("{}{}", "<a>".repeat(100_000), "</a>".repeat(100_000));
        for (xml, words) in [
            (&b"<html></html>"[..], "no ListBucketResult"),
            (b"", "no ListBucketResult"),
            (b"<ListBucketResult>", "middle"),
            (b"<ListBucketResult></x>", "x"),
            (
                b"<ListBucketResult><IsTruncated>true</IsTruncated></ListBucketResult>",
                "NextContinuationToken",
            ),
            (b"<ListBucketResult><Contents><Size>-1</Size></Contents></ListBucketResult>", "not a number"),
            (b"\xff\xfe", "UTF-8"),
            (deep.as_bytes(), "lie in each other"),
            (b"<!DOCTYPE a [<!ENTITY b \"c\">]><ListBucketResult><Contents><Key>&b;</Key>", "b"),
        ] {
            let error = page(xml).unwrap_err();
            assert!(error.contains(words), "{words}: {error}");
        }
    }

    #[test]
    fn errors_say_what_they_can() {
        let xml = b"<Error><Code>AuthorizationHeaderMalformed</Code><Message>wrong</Message>\
                    <Region>eu-west-1</Region></Error>";
        let said = said(xml);
        assert_eq!(
            (said.code.as_str(), said.region.as_deref()),
            ("AuthorizationHeaderMalformed", Some("eu-west-1"))
        );
        assert_eq!(super::said(b"<Error><Code>x"), Said::default());
        assert_eq!(super::said(b"Bad Gateway"), Said::default());
    }
}
