//! An INI file and its symbol file, read and checked: the input of lodctr.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use tallymon_core::text::CodePage;
use tallymon_core::title::{Language, nearest};

use super::contents::Texts;
use super::decode::decode;
use super::error::{Problem, RegistryError, RegistryErrorKind};
use super::files::read_limited;
use super::ini::{self, Ini, MOST_PROBLEMS};
use super::service::wrong_name;
use super::symbols::{self, Symbol};

/// The highest number that a symbol may have: 32,768 names are more than any service has, and few enough that
/// one wrong number does not use up all indexes.
pub const HIGHEST_OFFSET: u32 = 65_534;

/// Names and help texts of one service, ready to be installed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Package {
    /// Name of the service (`drivername`).
    pub service: String,
    /// The INI file.
    pub path: PathBuf,
    /// The symbol file.
    pub symbol_path: PathBuf,
    /// Whether the INI file has the key `trusted`.
    pub trusted: bool,
    /// The languages that it has texts in.
    pub languages: Vec<Language>,
    /// The titles by ascending offset.
    pub titles: Vec<PackageTitle>,
    /// How many more titles there is to be room for behind them, so that others can be added later.
    pub room: u32,
    /// Things that are allowed and yet worth knowing.
    pub warnings: Vec<Problem>,
}

/// A symbol with its texts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PackageTitle {
    /// The symbol as the symbol file writes it.
    pub symbol: String,
    /// Its number: the offset from First Counter and from First Help.
    pub offset: u32,
    /// Whether `[objects]` names it.
    pub is_object: bool,
    /// Its names by language, always including English.
    pub names: BTreeMap<Language, String>,
    /// Its help texts by language.
    pub helps: BTreeMap<Language, String>,
}

impl Package {
    /// Reads an INI file and its symbol file, which must be in the same folder; the case of its name does not
    /// matter.
    ///
    /// # Errors
    ///
    /// A file cannot be read, or has a mistake that would damage the tables; all mistakes are reported.
    pub fn read(path: &Path, code_page: Option<CodePage>) -> Result<Package, RegistryError> {
        let refused = |problems| RegistryError { kind: RegistryErrorKind::Refused, problems };
        let bytes = read_limited(path).map_err(|error| RegistryError::io(path, "reading", &error))?;
        let text = decode(path, &bytes, code_page).map_err(|problem| refused(vec![problem]))?;
        let ini = ini::parse(path, &text).map_err(refused)?;
        let Some((symbol_file, line)) = &ini.symbol_file else {
            let words =
                "[info] needs a line symbolfile=NAME.h, which names the file with the numbers of the symbols";
            return Err(refused(vec![Problem::of(path, words)]));
        };
        let symbol_path = symbol_path(path, symbol_file);
        let bytes = read_limited(&symbol_path).map_err(|error| {
            let words = format!("symbolfile {}: {error}", symbol_path.display());
            RegistryError::of(RegistryErrorKind::NotFound, Problem::at(path, *line, words))
        })?;
        // Comments may be in any code page; symbols are in ASCII, which all of them share.
        let text = decode(&symbol_path, &bytes, code_page)
            .or_else(|problem| match bytes.contains(&0) {
                true => Err(problem),
                false => Ok(String::from_utf8_lossy(&bytes).into_owned()),
            })
            .map_err(|problem| refused(vec![problem]))?;
        let symbols = symbols::parse(&symbol_path, &text).map_err(refused)?;
        Package::check(path, ini, &symbol_path, symbols).map_err(|mut problems| {
            problems.truncate(MOST_PROBLEMS);
            refused(problems)
        })
    }

    /// The texts by offset.
    pub(crate) fn texts(&self) -> BTreeMap<u32, Texts> {
        let one = |title: &PackageTitle| {
            (title.offset, Texts { names: title.names.clone(), helps: title.helps.clone() })
        };
        self.titles.iter().map(one).collect()
    }

    fn check(
        path: &Path,
        ini: Ini,
        symbol_path: &Path,
        symbols: Vec<Symbol>,
    ) -> Result<Package, Vec<Problem>> {
        let mut problems = Vec::new();
        let service = match &ini.service {
            None => {
                let words = "[info] needs a line drivername=NAME, which names the service";
                problems.push(Problem::of(path, words));
                String::new()
            }
            Some((name, line)) => {
                if let Some(words) = wrong_name(name) {
                    problems.push(Problem::at(path, *line, words));
                }
                name.clone()
            }
        };
        check_languages(path, &ini, &mut problems);
        let mut known: BTreeMap<String, &Symbol> = BTreeMap::new();
        for symbol in &symbols {
            known.insert(symbol.name.to_ascii_lowercase(), symbol);
        }
        let mut titles: BTreeMap<String, PackageTitle> = BTreeMap::new();
        for text in &ini.texts {
            let key = text.symbol.to_ascii_lowercase();
            let Some(symbol) = known.get(&key) else {
                let words = unknown_symbol(&text.symbol, symbol_path, &symbols);
                problems.push(Problem::at(path, text.line, words));
                continue;
            };
            if !ini.languages.contains_key(&text.language) {
                let words =
                    format!("the text is in language {}, which [languages] does not list", text.language);
                problems.push(Problem::at(path, text.line, words));
            }
            let title = titles.entry(key).or_insert_with_key(|key| PackageTitle {
                symbol: symbol.name.clone(),
                offset: 0,
                is_object: ini.objects.contains_key(key),
                names: BTreeMap::new(),
                helps: BTreeMap::new(),
            });
            let of_kind = if text.is_help { &mut title.helps } else { &mut title.names };
            if !text.text.is_empty() {
                of_kind.insert(text.language, text.text.clone());
            }
        }
        check_symbols(path, symbol_path, &symbols, &mut titles, &mut problems);
        for (object, line) in &ini.objects {
            if !known.contains_key(object) {
                let words = unknown_symbol(object, symbol_path, &symbols);
                problems.push(Problem::at(path, *line, words));
            }
        }
        if titles.is_empty() && problems.is_empty() {
            problems.push(Problem::of(path, "[text] needs a line SYMBOL_009_NAME=..., found none"));
        }
        if !problems.is_empty() {
            return Err(problems);
        }
        let mut warnings = Vec::new();
        if ini.objects.is_empty() {
            let words = "without [objects] there is no Object List, and the library is asked for every \
                unknown object";
            warnings.push(Problem {
                path: path.to_path_buf(),
                line: ini.objects_section,
                words: words.to_string(),
            });
        }
        let mut titles: Vec<PackageTitle> = titles.into_values().collect();
        titles.sort_by_key(|title| title.offset);
        Ok(Package {
            service,
            path: path.to_path_buf(),
            symbol_path: symbol_path.to_path_buf(),
            trusted: ini.trusted,
            languages: ini.languages.keys().copied().collect(),
            titles,
            room: 0,
            warnings,
        })
    }
}

/// Every language that is listed has a text, and English is among them.
fn check_languages(path: &Path, ini: &Ini, problems: &mut Vec<Problem>) {
    if !ini.languages.contains_key(&Language::ENGLISH) {
        let words = "[languages] needs a line 009=English, because the English texts stand in for every \
            language that has \
                     none of its own";
        problems.push(Problem {
            path: path.to_path_buf(),
            line: ini.languages_section,
            words: words.to_string(),
        });
    }
    let with_text: BTreeSet<Language> = ini.texts.iter().map(|text| text.language).collect();
    for (language, line) in &ini.languages {
        if !with_text.contains(language) {
            let words = format!(
                "language {language} is listed and has no text; add lines SYMBOL_{language}_NAME=... to \
                [text], or remove \
                 it from [languages]"
            );
            problems.push(Problem::at(path, *line, words));
        }
    }
}

/// Every symbol with a number has an English name, and no two have one number; numbers are even, and neither
/// negative nor too high.
fn check_symbols(
    path: &Path,
    symbol_path: &Path,
    symbols: &[Symbol],
    titles: &mut BTreeMap<String, PackageTitle>,
    problems: &mut Vec<Problem>,
) {
    let mut taken: BTreeMap<u32, &Symbol> = BTreeMap::new();
    for symbol in symbols {
        let name = &symbol.name;
        let mut wrong = |words: String| problems.push(Problem::at(symbol_path, symbol.line, words));
        let title = titles.get_mut(&name.to_ascii_lowercase());
        let number = match (&symbol.value, &title) {
            (Ok(number), _) => *number,
            (Err(value), Some(_)) => {
                wrong(format!("{name} has a text, so it needs a number, found {value:?}"));
                continue;
            }
            // Whatever it is, it is not for us.
            (Err(_), None) => continue,
        };
        let Some(title) = title else {
            wrong(format!(
                "{name} has no text; add a line {name}_009_NAME=... to [text] of {}, or remove the symbol",
                path.display()
            ));
            continue;
        };
        if !title.names.contains_key(&Language::ENGLISH) {
            wrong(format!(
                "{name} has no English name; add a line {name}_009_NAME=... to [text] of {}",
                path.display()
            ));
        }
        let offset = match u32::try_from(number) {
            Err(_) if number < 0 => {
                wrong(format!("{name} is {number}; a negative number would overwrite the texts of others"));
                continue;
            }
            Ok(offset) if offset <= HIGHEST_OFFSET => offset,
            _ => {
                wrong(format!(
                    "{name} is {number}; the highest number that a symbol may have is {HIGHEST_OFFSET}"
                ));
                continue;
            }
        };
        if !offset.is_multiple_of(2) {
            wrong(format!(
                "{name} is {offset}; numbers must be even, because odd indexes are those of help texts"
            ));
        }
        match taken.insert(offset, symbol) {
            Some(first) => {
                wrong(format!("{name} is {offset}, and so is {} in line {}", first.name, first.line));
            }
            None => title.offset = offset,
        }
    }
}

fn unknown_symbol(symbol: &str, symbol_path: &Path, symbols: &[Symbol]) -> String {
    let mut words = format!("{} does not define {symbol}", symbol_path.display());
    if let Some(best) = nearest(symbol, symbols.iter().map(|symbol| symbol.name.as_str()), 1).first() {
        words.push_str(&format!("; did you mean {best}?"));
    }
    words
}

/// The symbol file: a Windows path, in the INI file's folder, ignoring case.
fn symbol_path(ini: &Path, symbol_file: &str) -> PathBuf {
    let relative = symbol_file.replace('\\', "/");
    let path = ini.parent().unwrap_or(Path::new("")).join(&relative);
    if path.is_file() {
        return path;
    }
    let Some(name) = path.file_name().and_then(|name| name.to_str()) else {
        return path;
    };
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let same = entries
        .map(|entry| entry.file_name())
        .find(|entry| entry.to_str().is_some_and(|entry| tallymon_core::text::eq_ignore_case(entry, name)));
    same.map_or(path.clone(), |name| path.with_file_name(name))
}
