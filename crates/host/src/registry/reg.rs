//! `.reg` files, with which services of Windows ship the key for their library.

use std::collections::BTreeMap;
use std::path::Path;

use tallymon_core::text::CodePage;
use tallymon_core::title::TitleIndex;

use super::decode::decode;
use super::error::{Problem, RegistryError, RegistryErrorKind};
use super::files::read_limited;
use super::ini::MOST_PROBLEMS;
use super::service::{Service, folded, wrong_name};
use super::setting::ServiceSetting;

/// The services that a `.reg` file registers: those with a key `Services\NAME\Performance` or
/// `Services\NAME\Linkage`. All other keys are left out.
///
/// # Errors
///
/// The file cannot be read, has a line that does not belong in a `.reg` file, or registers no service.
pub fn read_reg(path: &Path, code_page: Option<CodePage>) -> Result<Vec<Service>, RegistryError> {
    let refused = |problems| RegistryError { kind: RegistryErrorKind::Refused, problems };
    let bytes = read_limited(path).map_err(|error| RegistryError::io(path, "reading", &error))?;
    let text = decode(path, &bytes, code_page).map_err(|problem| refused(vec![problem]))?;
    parse(path, &text).map_err(refused)
}

/// How the first line of a `.reg` file begins: on Windows 2000 and later, and before.
const HEADERS: [&str; 2] = ["Windows Registry Editor Version 5.00", "REGEDIT4"];

fn parse(path: &Path, text: &str) -> Result<Vec<Service>, Vec<Problem>> {
    let mut problems = Vec::new();
    let mut services: BTreeMap<String, Service> = BTreeMap::new();
    let mut key = None;
    let mut header_seen = false;
    let mut lines = text.lines().enumerate();
    while let Some((position, line)) = lines.next() {
        let number = position.saturating_add(1);
        let mut line = line.trim().to_string();
        if line.is_empty() || line.starts_with(';') {
            continue;
        }
        if !header_seen {
            if !HEADERS.contains(&line.as_str()) {
                let words = format!("one of {HEADERS:?} needed, found {line:?}");
                return Err(vec![Problem::at(path, number, words)]);
            }
            header_seen = true;
            continue;
        }
        // A backslash at the end of a line continues a long value on the next.
        while line.starts_with(['"', '@']) && line.ends_with('\\') {
            line.pop();
            match lines.next() {
                Some((_, more)) => line.push_str(more.trim()),
                None => break,
            }
        }
        let done = if let Some(name) = line.strip_prefix('[') {
            name.strip_suffix(']')
                .ok_or("a ] needed at the end of the key".to_string())
                .map(|name| key = service_key(name))
        } else {
            match &key {
                None => Ok(()),
                Some((name, is_linkage)) => {
                    let service = services
                        .entry(folded(name))
                        .or_insert_with(|| Service { name: name.clone(), ..Service::default() });
                    wrong_name(name).map_or(Ok(()), Err).and_then(|()| value(service, *is_linkage, &line))
                }
            }
        };
        if let Err(words) = done {
            problems.push(Problem::at(path, number, words));
        }
        if problems.len() >= MOST_PROBLEMS {
            break;
        }
    }
    if problems.is_empty() && services.is_empty() {
        problems.push(Problem::of(
            path,
            r"it has no key ...\Services\NAME\Performance, so it registers no service",
        ));
    }
    if problems.is_empty() { Ok(services.into_values().collect()) } else { Err(problems) }
}

/// The service that a key belongs to, and whether the key is `Linkage`.
fn service_key(key: &str) -> Option<(String, bool)> {
    let parts: Vec<&str> = key.split('\\').collect();
    match parts.as_slice() {
        [_, system, _, services, name, last]
            if system.eq_ignore_ascii_case("SYSTEM") && services.eq_ignore_ascii_case("Services") =>
        {
            let is_linkage = last.eq_ignore_ascii_case("Linkage");
            (is_linkage || last.eq_ignore_ascii_case("Performance")).then(|| (name.to_string(), is_linkage))
        }
        _ => None,
    }
}

/// A value in a `.reg` file.
#[derive(Debug, PartialEq, Eq)]
enum Data {
    Text(String),
    Number(u32),
    Texts(Vec<String>),
    /// A kind that nothing here needs.
    Other,
}

impl Data {
    /// What it is, in the words of a `.reg` file.
    const fn kind(&self) -> &'static str {
        match self {
            Data::Text(_) => "a text",
            Data::Number(_) => "a dword",
            Data::Texts(_) => "several texts, hex(7)",
            Data::Other => "binary data",
        }
    }
}

fn value(service: &mut Service, is_linkage: bool, line: &str) -> Result<(), String> {
    if line.starts_with('@') {
        return Ok(());
    }
    let (name, rest) = quoted(line).ok_or_else(|| format!("\"name\"=value needed, found {line:?}"))?;
    let rest = rest.trim_start().strip_prefix('=').ok_or_else(|| format!("a = needed behind {name:?}"))?;
    let data = data(rest.trim())?;
    let name = name.to_ascii_lowercase();
    match (is_linkage, name.as_str(), data) {
        (true, "export", Data::Texts(texts)) => service.export = texts,
        (true, "export", Data::Text(text)) => service.export = vec![text],
        (true, _, _) => {}
        (false, "library", Data::Text(text)) => service.library = Some(text),
        (false, "open", Data::Text(text)) => service.open = Some(text),
        (false, "collect", Data::Text(text)) => service.collect = Some(text),
        (false, "close", Data::Text(text)) => service.close = Some(text),
        (false, "wrapped objects", Data::Text(text)) => service.wrapped_objects = indexes(&name, &text)?,
        (false, "object list", Data::Text(text)) => service.object_list = indexes(&name, &text)?,
        (false, "library" | "open" | "collect" | "close" | "wrapped objects" | "object list", found) => {
            return Err(format!("{name:?} must be a text, found {}", found.kind()));
        }
        (false, name, data) => match (ServiceSetting::of_name(name), data) {
            (Some(setting), Data::Number(number)) => setting.set(service, Some(number)),
            (Some(_), found) => return Err(format!("{name:?} must be a dword, found {}", found.kind())),
            (None, _) if FOR_WINDOWS.contains(&name) => {}
            (None, _) => {
                let names = ServiceSetting::ALL.map(|setting| setting.text().name.to_lowercase()).join(", ");
                return Err(format!(
                    "the value {name:?} is unknown; a service has library, open, collect, close, object list, \
                     wrapped objects, {names}"
                ));
            }
        },
    }
    Ok(())
}

/// Values of a key `Performance` that Windows writes itself, in lower case. Indexes, sizes and codes of
/// another machine mean nothing here.
const FOR_WINDOWS: &[&str] = &[
    "first counter",
    "last counter",
    "first help",
    "last help",
    "library validation code",
    "error count",
    "install type",
    "installtype",
    "perfinifile",
    "keep library loaded",
    "wbemadapfilesignature",
    "wbemadapfiletime",
    "wbemadapfilesize",
    "wbemadapstatus",
    "providers",
    "categoryoptions",
    "counter names",
    "counter types",
    "isdynamic",
    "ismultiinstance",
    "filemappingsize",
];

/// The indexes in a text, with blanks between.
pub(crate) fn indexes(name: &str, text: &str) -> Result<Vec<TitleIndex>, String> {
    let index = |text: &str| text.parse().map(TitleIndex);
    let indexes: Result<_, _> = text.split_whitespace().map(index).collect();
    indexes.map_err(|_| format!("{name:?} must be indexes with blanks between, found {text:?}"))
}

fn data(text: &str) -> Result<Data, String> {
    let wrong = || format!("\"text\", dword:00000000 or hex:00,... needed, found {text:?}");
    if let Some((text, rest)) = quoted(text) {
        return rest.trim().is_empty().then_some(Data::Text(text)).ok_or_else(wrong);
    }
    let (kind, digits) = text.split_once(':').ok_or_else(wrong)?;
    match kind.trim().to_ascii_lowercase().as_str() {
        "dword" => u32::from_str_radix(digits.trim(), 16).map(Data::Number).map_err(|_| wrong()),
        kind @ ("hex(1)" | "hex(2)" | "hex(7)") => {
            let mut bytes = Vec::new();
            for pair in digits.split(',').map(str::trim).filter(|pair| !pair.is_empty()) {
                bytes.push(u8::from_str_radix(pair, 16).map_err(|_| wrong())?);
            }
            // REGEDIT4 wrote bytes of a code page here; every tool since then writes UTF-16.
            let (units, _) = bytes.as_chunks::<2>();
            let text =
                String::from_utf16(&units.iter().map(|unit| u16::from_le_bytes(*unit)).collect::<Vec<_>>())
                    .map_err(|_| format!("{text:?} is no UTF-16"))?;
            let mut texts = text.split('\0').map(str::to_string).filter(|text| !text.is_empty());
            Ok(match kind {
                "hex(7)" => Data::Texts(texts.collect()),
                _ => Data::Text(texts.next().unwrap_or_default()),
            })
        }
        kind if kind.starts_with("hex") => Ok(Data::Other),
        _ => Err(wrong()),
    }
}

/// The text between quotation marks, where a backslash escapes the next character, and the rest of the line.
fn quoted(text: &str) -> Option<(String, &str)> {
    let inner = text.strip_prefix('"')?;
    let mut out = String::new();
    let mut letters = inner.char_indices();
    while let Some((at, letter)) = letters.next() {
        match letter {
            '"' => return Some((out, inner.get(at.saturating_add(1)..)?)),
            '\\' => out.push(letters.next()?.1),
            other => out.push(other),
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn services_are_found_among_other_keys() {
        let text = r#"REGEDIT4
; a comment
[HKEY_LOCAL_MACHINE\SYSTEM\CurrentControlSet\Services\My Cool\Performance]
"Library" = "%SystemRoot%\\cool.dll"
"open"="O\"pen"
"Collect"=hex(2):43,00,\
  6f,00,00,00
"Close"="Close"
"Collect Timeout"=dword:000003e8
"First Counter"=dword:00000800
"Object List"="2 230"
@="nothing"
"Library Validation Code"=hex:01,02
[HKEY_LOCAL_MACHINE\SYSTEM\CurrentControlSet\Services\MY COOL\Linkage]
"Export"=hex(7):61,00,00,00,62,00,00,00,00,00
[HKEY_LOCAL_MACHINE\SYSTEM\CurrentControlSet\Services\EventLog\Application\My Cool]
"EventMessageFile"="x"
"#;
        let services = parse(Path::new("f.reg"), text).unwrap();
        let wanted = Service {
            name: "My Cool".into(),
            library: Some(r"%SystemRoot%\cool.dll".into()),
            open: Some("O\"pen".into()),
            collect: Some("Co".into()),
            close: Some("Close".into()),
            collect_timeout: Some(1000),
            object_list: vec![TitleIndex(2), TitleIndex(230)],
            export: vec!["a".into(), "b".into()],
            ..Service::default()
        };
        assert_eq!(services, [wanted]);
    }

    #[test]
    fn mistakes_are_reported_with_their_line() {
        let key = r"[HKEY_LOCAL_MACHINE\SYSTEM\CurrentControlSet\Services\A\Performance]";
        for (lines, words) in [
            ("[x]", "f.reg:1: one of [\"Windows Registry Editor"),
            ("REGEDIT4\n[x", "f.reg:2: a ] needed"),
            ("REGEDIT4", "f.reg: it has no key"),
            ("REGEDIT4\nKEY\nLibrary=x", "f.reg:3: \"name\"=value needed"),
            ("REGEDIT4\nKEY\n\"Library\"", "f.reg:3: a = needed"),
            ("REGEDIT4\nKEY\n\"Library\"=x", "f.reg:3: \"text\", dword"),
            ("REGEDIT4\nKEY\n\"Library\"=dword:1", "f.reg:3: \"library\" must be a text"),
            ("REGEDIT4\nKEY\n\"Object Liste\"=\"2\"", "f.reg:3: the value \"object liste\" is unknown"),
            ("REGEDIT4\nKEY\n\"Object List\"=\"2 x\"", "f.reg:3: \"object list\" must be indexes"),
            (
                "REGEDIT4\nKEY\n\"Object List\"=dword:2",
                "f.reg:3: \"object list\" must be a text, found a dword",
            ),
            ("REGEDIT4\nKEY\n\"Open Timeout\"=\"1\"", "f.reg:3: \"open timeout\" must be a dword"),
            ("REGEDIT4\nKEY\n\"Library\"=hex(2):00,d8", "f.reg:3: \"hex(2):00,d8\" is no UTF-16"),
            ("REGEDIT4\nKEY\n\"Library\"=hex(2):zz", "f.reg:3: "),
        ] {
            let problems = parse(Path::new("f.reg"), &lines.replace("KEY", key)).unwrap_err();
            assert!(problems[0].to_string().starts_with(words), "{words}: {}", problems[0]);
        }
    }
}
