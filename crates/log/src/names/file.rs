//! Files with names of counters: `perfc009.dat` and `perfh009.dat`, `PerfStringBackup.INI`, the backups of
//! `lodctr /S`, and lines of index and name.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::io::Read;
use std::path::Path;

use tallymon_core::text::ByteOrder;
use tallymon_core::title::{HelpIndex, Language, TitleIndex, Titles};

use super::code_page;
use crate::csv::encoding;
use crate::error::{LogError, LogErrorKind};
use crate::file::open_regular;
use crate::utf16::order_without_mark;

/// The largest file of names. Those of Windows have up to a few megabytes.
const MOST_BYTES: u64 = 64 << 20;

/// The names in one file.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct NameFile {
    /// The tables by language; `None` for a table whose language the file does not say.
    pub tables: BTreeMap<Option<Language>, Titles>,
    /// What could not be read, in words.
    pub remarks: Vec<String>,
}

impl NameFile {
    /// Reads a file. The language of a file without sections is that of its name: `perfc007.dat`.
    ///
    /// UTF-16 needs no mark. Text that is neither UTF-16 nor UTF-8 has the code page of each section's
    /// language, or `code_page`.
    ///
    /// # Errors
    ///
    /// The file cannot be read, has more than 64 MiB, or has no names.
    pub fn read(path: &Path, code_page: Option<&str>) -> Result<NameFile, LogError> {
        let in_file = |error: LogError| error.in_file(path);
        let file = open_regular(path).map_err(|error| in_file(error.into()))?;
        let mut bytes = Vec::new();
        let read = file.take(MOST_BYTES.saturating_add(1)).read_to_end(&mut bytes);
        read.map_err(|error| in_file(error.into()))?;
        let refused = |words: String| in_file(LogError::new(LogErrorKind::Request(words)));
        if bytes.len() as u64 > MOST_BYTES {
            return Err(refused(format!("a table of names has up to {MOST_BYTES} bytes")));
        }
        let name = path.file_stem().unwrap_or_default().to_string_lossy();
        let names = NameFile::parse(&bytes, language_of(&name), code_page).map_err(in_file)?;
        if names.tables.values().all(|titles| titles.names().next().is_none()) {
            let helps = names.tables.values().any(|titles| titles.helps().next().is_some());
            let words = if helps {
                "it has help texts and no names of counters; give the file of names too, such as perfc007.dat"
            } else {
                "it has no names of counters; perfc007.dat, PerfStringBackup.INI and backups of lodctr /S have"
            };
            return Err(refused(words.to_owned()));
        }
        Ok(names)
    }

    /// Parses the bytes of a file, see [`NameFile::read`].
    ///
    /// # Errors
    ///
    /// An unknown code page.
    pub fn parse(
        bytes: &[u8],
        language: Option<Language>,
        code_page: Option<&str>,
    ) -> Result<NameFile, LogError> {
        let mut names = NameFile::default();
        let (order, text) = match bytes {
            [0xff, 0xfe, rest @ ..] => (Some(ByteOrder::Little), rest),
            [0xfe, 0xff, rest @ ..] => (Some(ByteOrder::Big), rest),
            [0xef, 0xbb, 0xbf, rest @ ..] => (None, rest),
            _ => (order_without_mark(bytes), bytes),
        };
        let Some(order) = order else {
            names.narrow(text, language, code_page)?;
            return Ok(names);
        };
        // A list of pairs has a NUL behind each text; lines have none.
        let inner = text.get(..text.len().saturating_sub(2)).unwrap_or_default();
        if inner.chunks_exact(2).any(|unit| unit == [0, 0]) {
            let (titles, errors) = Titles::from_damaged_multi_sz(text, &[], order);
            if let Some(first) = errors.first() {
                names.remarks.push(format!("{} texts are damaged; the first: {first}", errors.len()));
            }
            let (mut all, mut sorted) = (titles, Titles::new());
            sort(&mut all, &mut sorted);
            names.tables.insert(language, sorted);
            return Ok(names);
        }
        let encoding = if order == ByteOrder::Little { encoding_rs::UTF_16LE } else { encoding_rs::UTF_16BE };
        let (text, _) = encoding.decode_without_bom_handling(text);
        let mut section = language;
        for (number, line) in text.lines().enumerate() {
            names.line(&mut section, number, Cow::Borrowed(line));
        }
        Ok(names)
    }

    /// Lines of UTF-8, or of the code page of each section's language.
    fn narrow(
        &mut self,
        text: &[u8],
        language: Option<Language>,
        given: Option<&str>,
    ) -> Result<(), LogError> {
        let given = given.map(encoding).transpose()?;
        let is_utf8 = std::str::from_utf8(text).is_ok();
        let mut section = language;
        for (number, line) in text.split(|byte| *byte == b'\n').enumerate() {
            let line = line.strip_suffix(b"\r").unwrap_or(line);
            let page = match (is_utf8, given) {
                (true, _) => encoding_rs::UTF_8,
                (false, Some(given)) => given,
                (false, None) => encoding(code_page(section))?,
            };
            let (line, _) = page.decode_without_bom_handling(line);
            self.line(&mut section, number, line);
        }
        Ok(())
    }

    /// A line: a section, or an index and its text.
    fn line(&mut self, section: &mut Option<Language>, number: usize, line: Cow<'_, str>) {
        // A NUL ends a text in every table of names, so a name cannot have one.
        let line = line.split('\0').next().unwrap_or_default();
        if let Some(name) = line.trim().strip_prefix('[').and_then(|name| name.strip_suffix(']')) {
            *section = language_of(name);
            return;
        }
        let pair = line.split_once(['=', '\t']);
        let Some((index, text)) =
            pair.and_then(|(index, text)| Some((index.trim().parse().ok()?, text.trim())))
        else {
            return;
        };
        if text.is_empty() {
            return;
        }
        let titles = self.tables.entry(*section).or_default();
        let is_new = put(titles, index, text);
        if !is_new && self.remarks.len() < 20 {
            self.remarks
                .push(format!("line {}: index {index} has another text already", number.saturating_add(1)));
        }
    }
}

/// Even indexes are names, odd ones help texts, and 1 is the base index, which is no name here. `false` if
/// the index has another text.
fn put(titles: &mut Titles, index: u32, text: &str) -> bool {
    match index {
        0 | 1 => true,
        index if index % 2 == 0 => match titles.name(TitleIndex(index)) {
            Some(known) => known == text,
            None => {
                titles.insert_name(TitleIndex(index), text);
                true
            }
        },
        index => {
            titles.insert_help(HelpIndex(index), text);
            true
        }
    }
}

/// Sorts texts that were read as names into names and help texts.
fn sort(all: &mut Titles, sorted: &mut Titles) {
    for (index, text) in all.names() {
        put(sorted, index.0, text);
    }
}

/// The language in the name of a section or a file: `Perfstrings_007`, `009.tsv`, `perfc012`.
fn language_of(name: &str) -> Option<Language> {
    let digits = |part: &str| -> Option<Language> {
        let is_code = (3..=4).contains(&part.len()) && part.bytes().all(|byte| byte.is_ascii_hexdigit());
        is_code.then(|| Language::parse(part)).flatten()
    };
    let by_part = name.split(|letter: char| !letter.is_ascii_alphanumeric()).find_map(digits);
    // Windows has no separator in perfc007; the letter before the number is no part of it.
    let stem = name.to_ascii_lowercase();
    let of_stem = ["perfc", "perfh", "perfd", "perfi"].iter().find_map(|stem_of| stem.strip_prefix(stem_of));
    by_part.or_else(|| of_stem.and_then(digits))
}

#[cfg(test)]
mod tests {
    use super::*;

    const GERMAN: Option<Language> = Some(Language::GERMAN);

    fn wide(text: &str, order: ByteOrder) -> Vec<u8> {
        tallymon_core::text::encode_wide(text, order)
    }

    #[test]
    fn a_nul_ends_a_name() {
        let names = NameFile::parse(b"2=Sys\0tem\n4\0=Memory\n6=Time\0\n", GERMAN, None).unwrap();
        let german: Vec<&str> = names.tables[&GERMAN].names().map(|(_, name)| name).collect();
        assert_eq!(german, ["Sys", "Time"]);
    }

    #[test]
    fn every_form_has_the_same_names() {
        let ini = "[Perflib]\r\nBaseIndex=1847\r\nLast Counter=4\r\n[PERF_x]\r\nFirst Counter=2\r\n\
                   [Perfstrings_009]\r\n1=1847\r\n2=System\r\n238=Processor\r\n6=% Processor Time\r\n\
                   [Perfstrings_007]\r\n1=1847\r\n2=System\r\n3=Das Objekt\r\n238=Prozessor\r\n\
                   6=Prozessorzeit (%)\r\n142=% Benutzerzeit für alle\r\n";
        let pairs = "1\x001847\x002\0System\x00238\0Prozessor\x006\0Prozessorzeit (%)\x00142\0% Benutzerzeit für alle\0\0";
        let cp1252 = encoding_rs::WINDOWS_1252.encode(ini).0.into_owned();
        let marked = |order: ByteOrder, mark: &[u8]| [mark, &wide(ini, order)].concat();
        let forms = [
            ("UTF-8", ini.as_bytes().to_vec()),
            ("1252", cp1252),
            ("UTF-16 without a mark", wide(ini, ByteOrder::Little)),
            ("UTF-16 with a mark", marked(ByteOrder::Little, &[0xff, 0xfe])),
            ("big-endian", marked(ByteOrder::Big, &[0xfe, 0xff])),
            ("perfc007.dat", wide(pairs, ByteOrder::Little)),
        ];
        for (form, bytes) in forms {
            let language = (form == "perfc007.dat").then_some(Language::GERMAN);
            let names = NameFile::parse(&bytes, language, None).unwrap();
            let german = names.tables.get(&GERMAN).unwrap_or_else(|| panic!("{form}: {names:?}"));
            let found: Vec<(u32, &str)> = german.names().map(|(index, name)| (index.0, name)).collect();
            let wanted = [
                (2, "System"),
                (6, "Prozessorzeit (%)"),
                (142, "% Benutzerzeit für alle"),
                (238, "Prozessor"),
            ];
            assert_eq!(found, wanted, "{form}");
            assert!(names.remarks.is_empty(), "{form}: {:?}", names.remarks);
        }
    }

    #[test]
    fn languages_have_their_code_pages() {
        for (section, page, name) in [
            ("019", encoding_rs::WINDOWS_1251, "Процессор"),
            ("012", encoding_rs::EUC_KR, "프로세서"),
            ("011", encoding_rs::SHIFT_JIS, "プロセッサ"),
            ("804", encoding_rs::GBK, "处理器"),
            ("015", encoding_rs::WINDOWS_1250, "Czas procesora — łącznie"),
        ] {
            let bytes = page.encode(&format!("[Perfstrings_{section}]\n238={name}\n")).0.into_owned();
            let names = NameFile::parse(&bytes, None, None).unwrap();
            let titles = names.tables.get(&Language::parse(section)).unwrap();
            assert_eq!(titles.name(TitleIndex(238)), Some(name), "{section}");
        }
    }

    #[test]
    fn names_of_files_and_sections() {
        for (name, code) in [
            ("perfc007", Some("007")),
            ("PERFH00C", Some("00c")),
            ("Perfstrings_009", Some("009")),
            ("009.tsv", Some("009")),
            ("perflib_names_009_vista6000", Some("009")),
            ("PerfStringBackup", None),
            ("PERF_.NET CLR Data", None),
        ] {
            assert_eq!(language_of(name).map(Language::code).as_deref(), code, "{name}");
        }
    }
}
