//! INI files of counters: `[info]`, `[languages]`, `[objects]`, `[text]`.

use std::collections::BTreeMap;
use std::path::Path;

use tallymon_core::title::Language;

use super::error::Problem;

/// The contents of an INI file, before its symbols are looked up.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Ini {
    /// `drivername`, and its line.
    pub(crate) service: Option<(String, usize)>,
    /// `symbolfile`, and its line.
    pub(crate) symbol_file: Option<(String, usize)>,
    /// Whether `trusted` is there.
    pub(crate) trusted: bool,
    /// The languages of `[languages]`, and their lines.
    pub(crate) languages: BTreeMap<Language, usize>,
    /// Line of the header of `[languages]`.
    pub(crate) languages_section: Option<usize>,
    /// The symbols of `[objects]` in small letters, and their lines.
    pub(crate) objects: BTreeMap<String, usize>,
    /// Line of the header of `[objects]`.
    pub(crate) objects_section: Option<usize>,
    /// The texts in the order of the file.
    pub(crate) texts: Vec<Text>,
    /// Where in `texts` a key is: symbol in small letters, language, whether it is the help text.
    places: BTreeMap<(String, Language, bool), usize>,
}

/// How many mistakes of one file are reported.
pub(crate) const MOST_PROBLEMS: usize = 50;

/// A line of `[text]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Text {
    /// The symbol as it is written.
    pub(crate) symbol: String,
    pub(crate) language: Language,
    pub(crate) is_help: bool,
    pub(crate) text: String,
    /// Number of the line, from 1.
    pub(crate) line: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Section {
    Info,
    Languages,
    Objects,
    Text,
    /// A section that has no meaning here.
    Other,
}

/// Reads an INI file. Reports all mistakes in it, not only the first.
pub(crate) fn parse(path: &Path, text: &str) -> Result<Ini, Vec<Problem>> {
    let mut ini = Ini::default();
    let mut problems = Vec::new();
    let mut section = None;
    for (position, line) in text.lines().enumerate() {
        let number = position.saturating_add(1);
        let line = line.trim();
        if line.is_empty() || line.starts_with([';', '#']) || line.starts_with("//") {
            continue;
        }
        let done = match line.strip_prefix('[') {
            Some(header) => section_of(header).map(|found| {
                section = Some(found);
                match found {
                    Section::Languages => _ = ini.languages_section.get_or_insert(number),
                    Section::Objects => _ = ini.objects_section.get_or_insert(number),
                    _ => {}
                }
            }),
            None => match section {
                None => Err("a section such as [info] needed before the first key".to_string()),
                Some(section) => ini.line(section, line, number),
            },
        };
        if let Err(words) = done {
            problems.push(Problem::at(path, number, words));
        }
        if problems.len() >= MOST_PROBLEMS {
            break;
        }
    }
    if problems.is_empty() { Ok(ini) } else { Err(problems) }
}

fn section_of(header: &str) -> Result<Section, String> {
    let (name, behind) = header.split_once(']').ok_or("a ] needed at the end of the section's name")?;
    let behind = behind.trim_start();
    if !behind.is_empty() && !behind.starts_with([';', '#']) && !behind.starts_with("//") {
        return Err(format!("nothing may stand behind the section's name, found {behind:?}"));
    }
    Ok(match name.trim().to_ascii_lowercase().as_str() {
        "info" => Section::Info,
        "languages" => Section::Languages,
        "objects" => Section::Objects,
        "text" => Section::Text,
        _ => Section::Other,
    })
}

impl Ini {
    fn line(&mut self, section: Section, line: &str, number: usize) -> Result<(), String> {
        if section == Section::Other {
            return Ok(());
        }
        let (key, value) =
            line.split_once('=').map_or((line, None), |(key, value)| (key.trim(), Some(value)));
        let value = value.map(|value| unquoted(value.trim()));
        match (section, value) {
            (Section::Info, value) => self.info(key, value, number),
            // The values of these keys mean nothing, and may be missing.
            (Section::Languages, _) => {
                let language = parse_language(key).ok_or_else(|| {
                    format!("a language of three hexadecimal digits such as 009 needed, found {key:?}")
                })?;
                self.languages.entry(language).or_insert(number);
                Ok(())
            }
            (Section::Objects, _) => {
                let (symbol, _, _) = parse_key(key)?;
                self.objects.entry(symbol.to_ascii_lowercase()).or_insert(number);
                Ok(())
            }
            (_, None) => Err(format!("\"key = text\" needed, found {line:?}")),
            (_, Some(value)) => self.text(key, value, number),
        }
    }

    fn info(&mut self, key: &str, value: Option<&str>, number: usize) -> Result<(), String> {
        let set = |slot: &mut Option<(String, usize)>| match (&slot, value.filter(|value| !value.is_empty()))
        {
            (Some((_, line)), _) => Err(format!("{key} is in line {line} already")),
            (None, Some(value)) => {
                *slot = Some((value.to_string(), number));
                Ok(())
            }
            (None, None) => Err(format!("{key} needs a value: {key}=...")),
        };
        match key.to_ascii_lowercase().as_str() {
            "drivername" => set(&mut self.service),
            "symbolfile" => set(&mut self.symbol_file),
            "trusted" => {
                self.trusted = true;
                Ok(())
            }
            // Other keys are for other tools.
            _ => Ok(()),
        }
    }

    fn text(&mut self, key: &str, value: &str, number: usize) -> Result<(), String> {
        let (symbol, language, is_help) = parse_key(key)?;
        if let Some(letter) = value.chars().find(|letter| letter.is_control() && *letter != '\t') {
            return Err(format!(
                "the text has the control character {letter:?}; if it should be a letter, name the code \
                page of the file \
                 with --code-page or save it as UTF-8"
            ));
        }
        if value.is_empty() && !is_help {
            return Err("a name needed behind the =".to_string());
        }
        let place = (symbol.to_ascii_lowercase(), language, is_help);
        match self.places.get(&place).and_then(|at| self.texts.get(*at)) {
            Some(first) if first.text == value => Ok(()),
            Some(first) => Err(format!("{key} has another text in line {}", first.line)),
            None => {
                let text = value.to_string();
                self.places.insert(place, self.texts.len());
                self.texts.push(Text { symbol: symbol.to_string(), language, is_help, text, line: number });
                Ok(())
            }
        }
    }
}

/// A key `SYMBOL_009_NAME` or `SYMBOL_009_HELP` taken apart: symbol, language, whether it is the help text.
fn parse_key(key: &str) -> Result<(&str, Language, bool), String> {
    let wrong = || format!("SYMBOL_009_NAME or SYMBOL_009_HELP needed before the =, found {key:?}");
    let (rest, kind) = key.rsplit_once('_').ok_or_else(wrong)?;
    let is_help = match kind.to_ascii_lowercase().as_str() {
        "name" => false,
        "help" => true,
        _ => return Err(wrong()),
    };
    let (symbol, language) = rest.rsplit_once('_').ok_or_else(wrong)?;
    let language = parse_language(language).ok_or_else(wrong)?;
    if symbol.is_empty() {
        return Err(wrong());
    }
    Ok((symbol, language, is_help))
}

/// A language as three or four hexadecimal digits; none other of the ways to name one is allowed here.
fn parse_language(text: &str) -> Option<Language> {
    if !(3..=4).contains(&text.len()) || !text.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return None;
    }
    let langid = u16::from_str_radix(text, 16).ok()?;
    // Neutral and default are no languages that a table could be of.
    (langid & 0x3ff != 0).then(|| Language::new(langid))
}

/// The text without the quotation marks around it, as Windows reads INI files.
fn unquoted(text: &str) -> &str {
    for mark in ['"', '\''] {
        if let Some(inner) = text.strip_prefix(mark).and_then(|rest| rest.strip_suffix(mark)) {
            return inner;
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_as_they_really_are() {
        let text = "
; a comment
# another // and
// a third
[ INFO ] ; of the driver
DriverName =  PipeServicePerf\t
symbolfile=\"perf install.h\"
trusted
other=ignored
[PERF_OTHER]
anything at all
[Text]
A_b_009_name = 'Quoted'
A_B_009_HELP=
a_b_019_NAME=Имя=с равно
a_b_019_NAME=Имя=с равно
[languages]\r
009 = English
0419=
404
[objects]
A_B_009_NAME=
A_B_019_NAME=x
[text]
C_009_NAME=Two  blanks\tand a tab   \r
";
        let ini = parse(Path::new("f.ini"), text).unwrap();
        assert_eq!(ini.service, Some(("PipeServicePerf".into(), 6)));
        assert_eq!(ini.symbol_file, Some(("perf install.h".into(), 7)));
        assert!(ini.trusted);
        let languages: Vec<u16> = ini.languages.keys().map(|language| language.langid()).collect();
        assert_eq!(languages, [0x009, 0x019, 0x404]);
        assert_eq!(ini.objects, BTreeMap::from([("a_b".to_string(), 22)]));
        let texts: Vec<(&str, u16, bool, &str, usize)> = ini
            .texts
            .iter()
            .map(|t| (t.symbol.as_str(), t.language.langid(), t.is_help, t.text.as_str(), t.line))
            .collect();
        assert_eq!(
            texts,
            [
                ("A_b", 9, false, "Quoted", 13),
                ("A_B", 9, true, "", 14),
                ("a_b", 0x19, false, "Имя=с равно", 15),
                ("C", 9, false, "Two  blanks\tand a tab", 25),
            ]
        );
    }

    #[test]
    fn every_mistake_is_reported_with_its_line() {
        for (text, words) in [
            ("a=b", "f.ini:1: a section such as [info] needed"),
            ("[info\n", "f.ini:1: a ] needed"),
            ("[info] x\n", "f.ini:1: nothing may stand behind"),
            ("[info]\ndrivername=\n", "f.ini:2: drivername needs a value"),
            ("[info]\ndrivername=a\ndrivername=b\n", "f.ini:3: drivername is in line 2 already"),
            ("[languages]\nEnglish=009\n", "f.ini:2: a language of three hexadecimal digits"),
            ("[languages]\n000=Neutral\n", "f.ini:2: a language"),
            ("[objects]\nA=x\n", "f.ini:2: SYMBOL_009_NAME or"),
            ("[text]\nA_009_NAME\n", "f.ini:2: \"key = text\" needed"),
            ("[text]\nA_009_TITLE=x\n", "f.ini:2: SYMBOL_009_NAME or"),
            ("[text]\nA_9_NAME=x\n", "f.ini:2: SYMBOL_009_NAME or"),
            ("[text]\n_009_NAME=x\n", "f.ini:2: SYMBOL_009_NAME or"),
            ("[text]\nA_009_NAME=\n", "f.ini:2: a name needed"),
            ("[text]\nA_009_NAME=x\na_009_name=y\n", "f.ini:3: a_009_name has another text in line 2"),
            ("[text]\nA_009_NAME=x\u{81}\n", "f.ini:2: the text has the control character '\\u{81}'"),
            ("[text]\nA_009_NAME=x\0y\n", "f.ini:2: the text has the control character '\\0'"),
        ] {
            let problems = parse(Path::new("f.ini"), text).unwrap_err();
            assert!(problems[0].to_string().starts_with(words), "{words}: {}", problems[0]);
        }
        let problems = parse(Path::new("f.ini"), "x\n[text]\ny\nz\n").unwrap_err();
        assert_eq!(problems.iter().filter_map(|problem| problem.line).collect::<Vec<_>>(), [1, 3, 4]);
    }
}
