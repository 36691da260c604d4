//! Name and help tables, and their languages.
//!
//! A data block contains no names, only indexes into two tables that exist for every language: names at even
//! indexes, help texts at odd ones. Objects and counters share the tables. Nothing in a table says which text
//! belongs to which, and the same text may appear at several indexes.

use alloc::borrow::Cow;
use alloc::collections::BTreeMap;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt;

use crate::bytes::ByteOrder;
use crate::error::Error;
use crate::text::{WideStr, append_wide, eq_ignore_case, fold};

/// Index of a name in the name table; even by NT's convention.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct TitleIndex(pub u32);

/// Index of a help text in the help table; odd by NT's convention.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct HelpIndex(pub u32);

impl TitleIndex {
    /// The help text of the name by NT's convention: the next number.
    pub const fn help(self) -> HelpIndex {
        HelpIndex(self.0.saturating_add(1))
    }
}

impl fmt::Display for TitleIndex {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Display for HelpIndex {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// The index that holds not a name, but the highest index of the system's own names, as decimal text.
const BASE_INDEX: TitleIndex = TitleIndex(1);

/// How many errors in a damaged table are reported. Data that is not a table at all would have one every few
/// bytes.
const MOST_ERRORS: usize = 1000;

/// A name or help text: of a table in the program, or of its own.
type Text = Cow<'static, str>;

/// The names and help texts of one language.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Titles {
    names: BTreeMap<TitleIndex, Text>,
    helps: BTreeMap<HelpIndex, Text>,
}

impl Titles {
    /// No names and no help texts.
    pub const fn new() -> Titles {
        Titles { names: BTreeMap::new(), helps: BTreeMap::new() }
    }

    /// Parses the answers to the queries `Counter 009` and `Help 009`, or those of another language.
    ///
    /// Each answer is a `REG_MULTI_SZ` of pairs: a decimal index, then the text. An empty answer is an empty
    /// table. The empty text at the end of the list may be missing.
    ///
    /// # Errors
    ///
    /// Fails at the first faulty pair: an index that is not a number from 1 to 4294967295, an index without a
    /// text, a text without its terminating NUL, half a UTF-16 unit, a repeated index with another text, or
    /// anything but zeros after the end of the list. The offset is in `names` or in `helps`; the error's
    /// field name says which.
    pub fn from_multi_sz(names: &[u8], helps: &[u8], order: ByteOrder) -> Result<Titles, Error> {
        let mut first = None;
        let titles = Titles::read(names, helps, order, |error| {
            first.get_or_insert(error);
        });
        first.map_or(Ok(titles), Err)
    }

    /// Like [`Titles::from_multi_sz`], but skips faulty pairs: damaged tables are common on Windows machines,
    /// and the rest of such a table is still good.
    ///
    /// Also returns what was skipped, at most the first thousand errors, names before help texts. After a bad
    /// index, or an index without a text, parsing continues at the next text that is a number. Of several
    /// texts for one index the first one is used.
    pub fn from_damaged_multi_sz(names: &[u8], helps: &[u8], order: ByteOrder) -> (Titles, Vec<Error>) {
        let mut errors = Vec::new();
        let titles = Titles::read(names, helps, order, |error| {
            if errors.len() < MOST_ERRORS {
                errors.push(error);
            }
        });
        (titles, errors)
    }

    fn read(names: &[u8], helps: &[u8], order: ByteOrder, mut report: impl FnMut(Error)) -> Titles {
        let mut titles = Titles::new();
        read_pairs(names, order, "name table", &mut report, |index, text| {
            titles.add_name(TitleIndex(index), text)
        });
        read_pairs(helps, order, "help table", &mut report, |index, text| {
            titles.add_help(HelpIndex(index), text)
        });
        titles
    }

    /// Parses lines of index, tab, text: even indexes are names, odd ones help texts, and 1 is the base
    /// index.
    ///
    /// Empty lines and lines that start with `#` are ignored. Lines may end with CRLF.
    ///
    /// # Errors
    ///
    /// Fails at a line of another form, and at a repeated index.
    pub fn from_tsv(text: &str) -> Result<Titles, TsvError> {
        Titles::from_lines(text, |text| Cow::Owned(text.to_string()))
    }

    /// As [`Titles::from_tsv`], of texts that are part of the program: they are not copied.
    ///
    /// # Errors
    ///
    /// As [`Titles::from_tsv`].
    pub fn from_static_tsv(text: &'static str) -> Result<Titles, TsvError> {
        Titles::from_lines(text, Cow::Borrowed)
    }

    fn from_lines<'t>(text: &'t str, mut keep: impl FnMut(&'t str) -> Text) -> Result<Titles, TsvError> {
        // Sorted at once: most tables are in order already.
        let (mut names, mut helps) = (Vec::new(), Vec::new());
        let mut fault = None;
        for (line, text) in text.strip_prefix('\u{feff}').unwrap_or(text).lines().enumerate() {
            if text.is_empty() || text.starts_with('#') {
                continue;
            }
            let line = line.saturating_add(1);
            match parse_line(text) {
                Ok((index, text)) if is_name(index) => names.push((TitleIndex(index), (line, keep(text)))),
                Ok((index, text)) => helps.push((HelpIndex(index), (line, keep(text)))),
                Err(kind) => {
                    fault = Some(TsvError { line, kind });
                    break;
                }
            }
        }
        let name = |index: TitleIndex| index.0;
        let help = |index: HelpIndex| index.0;
        let repeated = [first_repeated(&mut names, name), first_repeated(&mut helps, help)];
        // The first fault of the file is reported.
        let faults = repeated.into_iter().chain([fault]).flatten();
        if let Some(fault) = faults.min_by_key(|fault| fault.line) {
            return Err(fault);
        }
        Ok(Titles {
            names: names.into_iter().map(|(index, (_, text))| (index, text)).collect(),
            helps: helps.into_iter().map(|(index, (_, text))| (index, text)).collect(),
        })
    }

    /// Builds tables from pairs of index and text: even indexes are names, odd ones help texts, and 1 is the
    /// base index. Of several texts for one index the last one is used.
    pub fn from_pairs<T: Into<String>>(pairs: impl IntoIterator<Item = (u32, T)>) -> Titles {
        let mut titles = Titles::new();
        for (index, text) in pairs {
            if is_name(index) {
                titles.insert_name(TitleIndex(index), text);
            } else {
                titles.insert_help(HelpIndex(index), text);
            }
        }
        titles
    }

    /// Sets the name at an index.
    pub fn insert_name(&mut self, index: TitleIndex, name: impl Into<String>) {
        self.names.insert(index, Cow::Owned(name.into()));
    }

    /// Sets the help text at an index.
    pub fn insert_help(&mut self, index: HelpIndex, help: impl Into<String>) {
        self.helps.insert(index, Cow::Owned(help.into()));
    }

    /// Sets the name if the index is free. Returns false if the index has another text.
    fn add_name(&mut self, index: TitleIndex, name: String) -> bool {
        *self.names.entry(index).or_insert_with(|| Cow::Owned(name.clone())) == name
    }

    fn add_help(&mut self, index: HelpIndex, help: String) -> bool {
        *self.helps.entry(index).or_insert_with(|| Cow::Owned(help.clone())) == help
    }

    /// Fills the free indexes with texts of `other`: those of another source, or of English for texts missing
    /// in this language. Existing texts stay.
    pub fn merge(&mut self, other: &Titles) {
        for (index, name) in &other.names {
            self.names.entry(*index).or_insert_with(|| name.clone());
        }
        for (index, help) in &other.helps {
            self.helps.entry(*index).or_insert_with(|| help.clone());
        }
    }

    /// Whether there are no names and no help texts.
    pub fn is_empty(&self) -> bool {
        self.names.is_empty() && self.helps.is_empty()
    }

    /// The name at an index.
    pub fn name(&self, index: TitleIndex) -> Option<&str> {
        self.names.get(&index).map(|name| &**name)
    }

    /// The help text at an index.
    pub fn help(&self, index: HelpIndex) -> Option<&str> {
        self.helps.get(&index).map(|help| &**help)
    }

    /// The highest index of the system's own names, which is the text at index 1; 1847 on every Windows.
    pub fn base_index(&self) -> Option<u32> {
        self.name(BASE_INDEX).and_then(parse_index)
    }

    /// All names in ascending order of index, without the base index.
    pub fn names(&self) -> impl DoubleEndedIterator<Item = (TitleIndex, &str)> + Clone {
        self.names.iter().filter(|(index, _)| **index != BASE_INDEX).map(|(index, name)| (*index, &**name))
    }

    /// All help texts in ascending order of index.
    pub fn helps(&self) -> impl DoubleEndedIterator<Item = (HelpIndex, &str)> + Clone {
        self.helps.iter().map(|(index, help)| (*index, &**help))
    }

    /// All indexes of this name in any case, ascending. There may be several; the object decides which of
    /// them a counter has.
    pub fn indexes_of<'a>(&'a self, name: &'a str) -> impl Iterator<Item = TitleIndex> + 'a {
        self.names().filter(move |(_, other)| eq_ignore_case(name, other)).map(|(index, _)| index)
    }

    /// At most `most` names similar to `wanted`, see [`nearest`].
    pub fn nearest(&self, wanted: &str, most: usize) -> Vec<&str> {
        nearest(wanted, self.names().map(|(_, name)| name), most)
    }

    /// The name table as a `REG_MULTI_SZ`, as in the answer to the query `Counter`. Empty texts are left out,
    /// because the format cannot hold them; a text ends at its first NUL.
    pub fn to_multi_sz_names(&self, order: ByteOrder) -> Vec<u8> {
        write_pairs(self.names.iter().map(|(index, name)| (index.0, &**name)), order)
    }

    /// The help table as a `REG_MULTI_SZ`, as in the answer to the query `Help`; see
    /// [`Titles::to_multi_sz_names`].
    pub fn to_multi_sz_helps(&self, order: ByteOrder) -> Vec<u8> {
        write_pairs(self.helps.iter().map(|(index, help)| (index.0, &**help)), order)
    }
}

/// The index and the text of a line of a table.
fn parse_line(line: &str) -> Result<(u32, &str), TsvErrorKind> {
    let (index, text) = line.split_once('\t').ok_or(TsvErrorKind::NoTab)?;
    let index = parse_index(index).ok_or(TsvErrorKind::BadIndex)?;
    if text.is_empty() { Err(TsvErrorKind::NoText) } else { Ok((index, text)) }
}

/// Sorts the texts of a table by index; returns the first line with an index that a line before it has.
fn first_repeated<I: Ord + Copy>(texts: &mut [(I, (usize, Text))], number: fn(I) -> u32) -> Option<TsvError> {
    // Stable, so that lines of one index stay in order.
    texts.sort_by_key(|(index, _)| *index);
    let pairs = texts.windows(2).filter_map(|pair| match pair {
        [(one, _), (other, (line, _))] if one == other => {
            Some(TsvError { line: *line, kind: TsvErrorKind::Repeated(number(*one)) })
        }
        _ => None,
    });
    pairs.min_by_key(|fault| fault.line)
}

/// Whether an index of a file with both tables is a name.
const fn is_name(index: u32) -> bool {
    index.is_multiple_of(2) || index == BASE_INDEX.0
}

/// The candidates that `wanted` probably means, best first, at most `most`, each text once.
///
/// A candidate qualifies if it contains `wanted`, or differs from it in few single characters (added,
/// omitted, replaced or swapped with a neighbour): at most a third of the length of `wanted`, but at least
/// one. Case is ignored. A `wanted` of more than 256 characters is not a typing error, so it has no similar
/// names.
///
/// ```
/// let names = ["Memory", "Processor", "Process"];
/// assert_eq!(tallymon_core::title::nearest("procesor", names, 3), ["Processor", "Process"]);
/// ```
pub fn nearest<'a>(wanted: &str, candidates: impl IntoIterator<Item = &'a str>, most: usize) -> Vec<&'a str> {
    const LONGEST: usize = 256;
    let wanted: Vec<char> = fold(wanted.chars()).take(LONGEST.saturating_add(1)).collect();
    if wanted.is_empty() || wanted.len() > LONGEST {
        return Vec::new();
    }
    let limit = wanted.len().div_ceil(3).max(1);
    let mut found: Vec<(usize, &str)> = Vec::new();
    for text in candidates {
        let candidate: Vec<char> = fold(text.chars()).take(LONGEST.saturating_mul(2)).collect();
        let distance = match edit_distance(&wanted, &candidate, limit) {
            Some(distance) => distance,
            // Half of all names contain any given two characters.
            None if wanted.len() > 2 && candidate.windows(wanted.len()).any(|part| part == wanted) => {
                limit.saturating_add(1)
            }
            None => continue,
        };
        found.push((distance, text));
    }
    found.sort();
    found.dedup();
    found.into_iter().take(most).map(|(_, text)| text).collect()
}

/// Number of single-character changes (added, omitted, replaced, swapped with a neighbour) between two texts;
/// `None` above `limit`.
fn edit_distance(one: &[char], other: &[char], limit: usize) -> Option<usize> {
    if one.len().abs_diff(other.len()) > limit {
        return None;
    }
    // Computes the table of distances between all prefixes row by row; a swap looks two rows back.
    let mut before: Vec<usize> = Vec::new();
    let mut above: Vec<usize> = (0..=other.len()).collect();
    let mut previous = None;
    for (row, char) in one.iter().enumerate() {
        let mut here = Vec::with_capacity(above.len());
        let mut left = row.saturating_add(1);
        here.push(left);
        let mut previous_other = None;
        for (column, other_char) in other.iter().enumerate() {
            let at = |row: &[usize], column: usize| row.get(column).copied().unwrap_or(usize::MAX);
            let replaced = at(&above, column).saturating_add(usize::from(char != other_char));
            let added = left.saturating_add(1);
            let left_out = at(&above, column.saturating_add(1)).saturating_add(1);
            let mut best = replaced.min(added).min(left_out);
            if previous == Some(other_char) && previous_other == Some(char) {
                best = best.min(at(&before, column.saturating_sub(1)).saturating_add(1));
            }
            here.push(best);
            left = best;
            previous_other = Some(other_char);
        }
        if here.iter().all(|distance| *distance > limit) {
            return None;
        }
        previous = Some(char);
        before = core::mem::replace(&mut above, here);
    }
    above.last().copied().filter(|distance| *distance <= limit)
}

/// Parses the pairs of a table and passes each to `take`, which returns whether it accepts the pair.
fn read_pairs(
    bytes: &[u8],
    order: ByteOrder,
    table: &'static str,
    report: &mut impl FnMut(Error),
    mut take: impl FnMut(u32, String) -> bool,
) {
    let mut strings = Strings { bytes, order, at: 0 };
    // The index that waits for its text, and its offset.
    let mut index: Option<(u32, usize)> = None;
    while let Some(Piece { text, at, whole }) = strings.next() {
        if !whole {
            report(Error::truncated(table, at.saturating_add(text.as_bytes().len()), 2, strings.odd()));
        }
        match index.take() {
            None if text.is_empty() => {
                let rest = strings.rest();
                let Some(stray) = rest.iter().position(|byte| *byte != 0) else {
                    return;
                };
                // Continue there and not after the next zero, because a long run of zeros would be scanned
                // again and again.
                strings.at = strings.at.saturating_add(stray & !1);
                report(Error::syntax(table, strings.at, "only zeros after the end of the list"));
            }
            None => match parse_index(&text.to_string_lossy()) {
                Some(number) => index = Some((number, at)),
                None => report(Error::syntax(table, at, "an index in decimal digits, from 1 to 4294967295,")),
            },
            Some((_, index_at)) if text.is_empty() => {
                report(Error::syntax(table, index_at, "a text after this index"))
            }
            Some((number, index_at)) => {
                if !take(number, text.to_string_lossy()) {
                    report(Error::value(
                        table,
                        index_at,
                        "an index that has no other text yet",
                        number.into(),
                    ));
                }
            }
        }
    }
    if let Some((_, at)) = index {
        report(Error::syntax(table, at, "a text after this index"));
    }
}

/// The NUL-terminated texts of a `REG_MULTI_SZ`, including empty ones.
struct Strings<'a> {
    bytes: &'a [u8],
    order: ByteOrder,
    at: usize,
}

/// One text; `whole` if its NUL is present.
struct Piece<'a> {
    text: WideStr<'a>,
    at: usize,
    whole: bool,
}

impl<'a> Strings<'a> {
    fn next(&mut self) -> Option<Piece<'a>> {
        let at = self.at;
        let rest = self.rest();
        if rest.is_empty() {
            return None;
        }
        let (units, _) = rest.as_chunks::<2>();
        let found = units.iter().position(|unit| *unit == [0, 0]);
        let length = found.unwrap_or(units.len()).saturating_mul(2);
        let text = WideStr::new(rest.get(..length).unwrap_or(rest), self.order);
        self.at = match found {
            Some(_) => at.saturating_add(length).saturating_add(2),
            None => self.bytes.len(),
        };
        Some(Piece { text, at, whole: found.is_some() })
    }

    fn rest(&self) -> &'a [u8] {
        self.bytes.get(self.at..).unwrap_or_default()
    }

    /// 1 if the last byte is half a unit, else 0.
    fn odd(&self) -> u64 {
        u64::from(!self.bytes.len().is_multiple_of(2))
    }
}

fn write_pairs<'a>(pairs: impl Iterator<Item = (u32, &'a str)>, order: ByteOrder) -> Vec<u8> {
    let mut out = Vec::new();
    for (index, text) in pairs {
        let text = text.split('\0').next().unwrap_or_default();
        if text.is_empty() {
            continue;
        }
        append_wide(&mut out, &index.to_string(), order);
        out.extend_from_slice(&[0, 0]);
        append_wide(&mut out, text, order);
        out.extend_from_slice(&[0, 0]);
    }
    out.extend_from_slice(&[0, 0]);
    out
}

/// Parses a decimal index from 1 on. A sign, which `str::parse` accepts, is rejected.
fn parse_index(text: &str) -> Option<u32> {
    if !text.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    text.parse().ok().filter(|index| *index != 0)
}

/// A line of a title file that cannot be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct TsvError {
    /// Number of the line, from 1.
    pub line: usize,
    /// What is wrong with it.
    pub kind: TsvErrorKind,
}

/// What is wrong with the line of a [`TsvError`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum TsvErrorKind {
    /// The line has no tab.
    NoTab,
    /// The text before the tab is not a decimal number from 1 to 4294967295.
    BadIndex,
    /// There is no text after the tab.
    NoText,
    /// An earlier line has this index.
    Repeated(u32),
}

impl fmt::Display for TsvError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "title file line {}: ", self.line)?;
        match self.kind {
            TsvErrorKind::NoTab => f.write_str("index, tab and text needed, found no tab"),
            TsvErrorKind::BadIndex => f.write_str("an index from 1 to 4294967295 needed before the tab"),
            TsvErrorKind::NoText => f.write_str("a text needed after the tab"),
            TsvErrorKind::Repeated(index) => write!(f, "index {index} is already on an earlier line"),
        }
    }
}

impl core::error::Error for TsvError {}

/// A language as Windows identifies it in name tables: a primary language identifier such as 0x009, with a
/// sublanguage for Chinese and Portuguese, whose variants differ in writing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Language(u16);

impl Language {
    /// English, 009. Every table exists in English.
    pub const ENGLISH: Language = Language(0x009);
    /// Korean, 012.
    pub const KOREAN: Language = Language(0x012);
    /// Japanese, 011.
    pub const JAPANESE: Language = Language(0x011);
    /// Russian, 019.
    pub const RUSSIAN: Language = Language(0x019);
    /// German, 007.
    pub const GERMAN: Language = Language(0x007);
    /// Chinese as written in Taiwan, 404.
    pub const CHINESE_TRADITIONAL: Language = Language(0x404);
    /// Chinese as written in the People's Republic, 804.
    pub const CHINESE_SIMPLIFIED: Language = Language(0x804);
    /// Portuguese of Brazil, 416.
    pub const PORTUGUESE_BRAZIL: Language = Language(0x416);
    /// Portuguese of Portugal, 816.
    pub const PORTUGUESE: Language = Language(0x816);

    /// The language of a `LANGID`. The sublanguage is dropped where tables do not have it: 0x409 (United
    /// States) is 009. A `LANGID` that names no language is English, as in queries.
    pub const fn new(langid: u16) -> Language {
        match langid & 0x3ff {
            // Neutral, user default and system default: a table without a language.
            0 => Language::ENGLISH,
            0x004 | 0x016 => Language(langid),
            primary => Language(primary),
        }
    }

    /// Parses a language from user input, a registry key, a query or `$LANG`:
    ///
    /// * a code of three or four hexadecimal digits, at least one of them decimal: `009`, `404`, `0409`,
    ///   `0x409`;
    /// * a tag: `ko`, `ko-KR.UTF-8`, `zh-TW`, `zh-Hant`, `pt_BR`; `zh` alone is 804, `pt` alone is 416;
    /// * the English name: `Korean`;
    /// * `C` or `POSIX`, which mean English.
    ///
    /// Case is ignored. `None` for everything else, and for the neutral language 0.
    pub fn parse(text: &str) -> Option<Language> {
        let text = text.trim();
        let hex = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X"));
        let digits = hex.unwrap_or(text);
        let looks_hex = digits.bytes().all(|byte| byte.is_ascii_hexdigit())
            && (3..=4).contains(&digits.len())
            && digits.bytes().any(|byte| byte.is_ascii_digit());
        if looks_hex {
            let langid = u16::from_str_radix(digits, 16).ok()?;
            return (langid & 0x3ff != 0).then_some(Language::new(langid));
        }
        if hex.is_some() {
            return None;
        }
        // The character set and the modifier of `$LANG` do not affect the language.
        let text = text.split(['.', '@']).next().unwrap_or_default();
        if eq_ignore_case(text, "C") || eq_ignore_case(text, "POSIX") {
            return Some(Language::ENGLISH);
        }
        if let Some(known) = VARIANTS.iter().chain(LANGUAGES).find(|known| eq_ignore_case(text, known.name)) {
            return Some(known.language());
        }
        let mut subtags = text.split(['-', '_']);
        let primary = subtags.next().unwrap_or_default();
        let alias = ALIASES.iter().find(|(alias, _)| alias.eq_ignore_ascii_case(primary));
        let primary = alias.map_or(primary, |(_, tag)| *tag);
        let subtags: Vec<&str> = subtags.collect();
        let of_primary = |known: &&Known| {
            let (tag, subtag) = known.tag.split_once('-').unwrap_or((known.tag, ""));
            tag.eq_ignore_ascii_case(primary)
                && subtags.iter().any(|given| given.eq_ignore_ascii_case(subtag))
        };
        let script = |tag: &str| subtags.iter().any(|given| given.eq_ignore_ascii_case(tag));
        if let Some(variant) = VARIANTS.iter().find(of_primary) {
            return Some(variant.language());
        }
        match LANGUAGES.iter().find(|known| known.tag.eq_ignore_ascii_case(primary))?.language() {
            Language(0x004) if script("Hant") => Some(Language::CHINESE_TRADITIONAL),
            Language(0x004) => Some(Language::CHINESE_SIMPLIFIED),
            Language(0x016) => Some(Language::PORTUGUESE_BRAZIL),
            other => Some(other),
        }
    }

    /// The number, with a sublanguage only where tables have one.
    pub const fn langid(self) -> u16 {
        self.0
    }

    /// The code in the form of Windows' registry keys and `.ini` files: at least three hexadecimal digits,
    /// `009`.
    pub fn code(self) -> String {
        alloc::format!("{:03x}", self.0)
    }

    /// The language tag, such as `en` or `zh-TW`; `und` if it is not in our list.
    pub fn tag(self) -> &'static str {
        self.known().map_or("und", |known| known.tag)
    }

    /// The English name; `unknown` if it is not in our list.
    pub fn name(self) -> &'static str {
        self.known().map_or("unknown", |known| known.name)
    }

    fn known(self) -> Option<&'static Known> {
        VARIANTS.iter().chain(LANGUAGES).find(|known| known.langid == self.0)
    }
}

impl fmt::Display for Language {
    /// The code, see [`Language::code`].
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:03x}", self.0)
    }
}

/// A language with a tag and a name.
struct Known {
    langid: u16,
    tag: &'static str,
    name: &'static str,
}

impl Known {
    const fn new(langid: u16, tag: &'static str, name: &'static str) -> Known {
        Known { langid, tag, name }
    }

    const fn language(&self) -> Language {
        Language(self.langid)
    }
}

/// Languages with a sublanguage.
const VARIANTS: &[Known] = &[
    Known::new(0x404, "zh-TW", "Chinese (Taiwan)"),
    Known::new(0x804, "zh-CN", "Chinese (China)"),
    Known::new(0xc04, "zh-HK", "Chinese (Hong Kong)"),
    Known::new(0x1004, "zh-SG", "Chinese (Singapore)"),
    Known::new(0x1404, "zh-MO", "Chinese (Macao)"),
    Known::new(0x416, "pt-BR", "Portuguese (Brazil)"),
    Known::new(0x816, "pt-PT", "Portuguese (Portugal)"),
];

/// Tags of languages that share another one's identifier, and old tags.
const ALIASES: &[(&str, &str)] =
    &[("bs", "hr"), ("in", "id"), ("iw", "he"), ("nn", "nb"), ("no", "nb"), ("sr", "hr")];

/// Primary languages by their Windows identifier.
const LANGUAGES: &[Known] = &[
    Known::new(0x001, "ar", "Arabic"),
    Known::new(0x002, "bg", "Bulgarian"),
    Known::new(0x003, "ca", "Catalan"),
    Known::new(0x004, "zh", "Chinese"),
    Known::new(0x005, "cs", "Czech"),
    Known::new(0x006, "da", "Danish"),
    Known::new(0x007, "de", "German"),
    Known::new(0x008, "el", "Greek"),
    Known::new(0x009, "en", "English"),
    Known::new(0x00a, "es", "Spanish"),
    Known::new(0x00b, "fi", "Finnish"),
    Known::new(0x00c, "fr", "French"),
    Known::new(0x00d, "he", "Hebrew"),
    Known::new(0x00e, "hu", "Hungarian"),
    Known::new(0x00f, "is", "Icelandic"),
    Known::new(0x010, "it", "Italian"),
    Known::new(0x011, "ja", "Japanese"),
    Known::new(0x012, "ko", "Korean"),
    Known::new(0x013, "nl", "Dutch"),
    Known::new(0x014, "nb", "Norwegian"),
    Known::new(0x015, "pl", "Polish"),
    Known::new(0x016, "pt", "Portuguese"),
    Known::new(0x017, "rm", "Romansh"),
    Known::new(0x018, "ro", "Romanian"),
    Known::new(0x019, "ru", "Russian"),
    Known::new(0x01a, "hr", "Croatian"),
    Known::new(0x01b, "sk", "Slovak"),
    Known::new(0x01c, "sq", "Albanian"),
    Known::new(0x01d, "sv", "Swedish"),
    Known::new(0x01e, "th", "Thai"),
    Known::new(0x01f, "tr", "Turkish"),
    Known::new(0x020, "ur", "Urdu"),
    Known::new(0x021, "id", "Indonesian"),
    Known::new(0x022, "uk", "Ukrainian"),
    Known::new(0x023, "be", "Belarusian"),
    Known::new(0x024, "sl", "Slovenian"),
    Known::new(0x025, "et", "Estonian"),
    Known::new(0x026, "lv", "Latvian"),
    Known::new(0x027, "lt", "Lithuanian"),
    Known::new(0x029, "fa", "Persian"),
    Known::new(0x02a, "vi", "Vietnamese"),
    Known::new(0x02b, "hy", "Armenian"),
    Known::new(0x02c, "az", "Azerbaijani"),
    Known::new(0x02d, "eu", "Basque"),
    Known::new(0x02f, "mk", "Macedonian"),
    Known::new(0x036, "af", "Afrikaans"),
    Known::new(0x037, "ka", "Georgian"),
    Known::new(0x039, "hi", "Hindi"),
    Known::new(0x03e, "ms", "Malay"),
    Known::new(0x03f, "kk", "Kazakh"),
    Known::new(0x056, "gl", "Galician"),
];
