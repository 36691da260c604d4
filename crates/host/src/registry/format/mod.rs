//! Writes and reads the files of a version. `docs/formats/registry.md` describes them.

mod manifest;

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;

use tallymon_core::title::{HelpIndex, Language, TitleIndex};

use super::contents::Contents;
use super::error::Problem;
use super::roots::Scope;
use super::service::{ManifestProvider, Service, TitleRange, folded};
use super::setting::{PerflibSetting, ServiceSetting};
use super::trust::ValidationCode;
use manifest::{manifest_text, read_manifest_line};

/// Number of the format: the one that is written, and the only one that is read.
const FORMAT: &str = "1";

/// The file that is read first and names all others.
pub(crate) const MAIN_FILE: &str = "registry.conf";

/// The files of a version, by name.
pub(crate) fn to_files(contents: &Contents) -> BTreeMap<String, String> {
    let mut files = BTreeMap::new();
    let mut main = Lines::new("Services and texts of performance counters; see docs/formats/registry.md.");
    main.add("format", FORMAT);
    main.add("scope", contents.scope.word());
    main.add("base index", contents.base_index);
    main.add("last counter", contents.last_counter);
    main.add("last help", contents.last_help);
    main.add("parent", contents.parent);
    main.add("change", &contents.change);
    for setting in PerflibSetting::ALL {
        main.add_some(&setting.text().key(), contents.perflib.get(&setting));
    }
    for language in contents.languages() {
        main.add("language", language);
        let mut text = String::new();
        for (index, title) in contents.table(language).into_iter().flatten() {
            // Writing into a String cannot fail.
            let _ = writeln!(text, "{index}\t{}", escape(title));
        }
        files.insert(table_file(language), text);
    }
    for service in contents.services() {
        main.add("service", &service.name);
        files.insert(service_file(&service.name), service_text(service));
    }
    files.insert(MAIN_FILE.to_string(), main.text);
    files
}

/// The contents of a version; `read` returns the text of a file.
pub(crate) fn from_files<E: From<Problem>>(
    scope: Scope,
    folder: &Path,
    mut read: impl FnMut(&str) -> Result<String, E>,
) -> Result<Contents, E> {
    let mut contents = Contents::new(scope);
    let path = folder.join(MAIN_FILE);
    let text = read(MAIN_FILE)?;
    let (mut services, mut languages) = (Vec::new(), Vec::new());
    let mut seen: Vec<&str> = Vec::new();
    for line in lines(&path, &text)? {
        match line.key {
            "format" if line.value != FORMAT => {
                return Err(line.wrong(&format!("format {FORMAT}; a newer tally wrote this")).into());
            }
            "scope" if line.value != scope.word() => {
                return Err(line.wrong(&format!("{:?}", scope.word())).into());
            }
            "format" | "scope" => {}
            "base index" => contents.base_index = line.number()?,
            "last counter" => contents.last_counter = line.number()?,
            "last help" => contents.last_help = line.number()?,
            "parent" => contents.parent = line.number()?,
            "change" => contents.change = line.value.clone(),
            "language" => languages.push(line.language()?),
            "service" => services.push((line.value.clone(), line.line)),
            key => match PerflibSetting::of_name(key) {
                Some(setting) => _ = contents.perflib.insert(setting, line.number()?),
                None => return Err(line.unknown().into()),
            },
        }
        seen.push(line.key);
    }
    for needed in ["format", "scope", "base index", "last counter", "last help"] {
        if !seen.contains(&needed) {
            return Err(Problem::of(&path, format!("there is no line \"{needed} = ...\"")).into());
        }
    }
    for language in languages {
        let name = table_file(language);
        let table = read_table(&folder.join(&name), &read(&name)?)?;
        contents.insert_table(language, table);
    }
    for (name, line) in services {
        if contents.service(&name).is_some() {
            return Err(
                Problem::at(&path, line, format!("the service {name:?} is in an earlier line")).into()
            );
        }
        let file = service_file(&name);
        let service = read_service(&folder.join(&file), &read(&file)?)?;
        if folded(&service.name) != folded(&name) {
            let words = format!("the service {name:?} needed, found {:?}", service.name);
            return Err(Problem::of(&folder.join(&file), words).into());
        }
        contents.insert(service);
    }
    contents.check().map_err(|words| Problem::of(folder, words))?;
    Ok(contents)
}

fn table_file(language: Language) -> String {
    format!("{language}.tsv")
}

fn service_file(name: &str) -> String {
    format!("service-{}.conf", folded(name))
}

fn service_text(service: &Service) -> String {
    let mut lines = Lines::new("A service that has performance counters.");
    lines.add("service", &service.name);
    lines.add_some("library", service.library.as_ref());
    lines.add_some("open", service.open.as_ref());
    lines.add_some("collect", service.collect.as_ref());
    lines.add_some("close", service.close.as_ref());
    for text in &service.export {
        lines.add("export", text);
    }
    for setting in ServiceSetting::ALL {
        lines.add_some(&setting.text().key(), setting.get(service));
    }
    if service.trusted {
        lines.add("trusted", 1);
    }
    lines.add_some("library validation code", service.validation_code);
    if let Some(range) = service.titles {
        lines.add("first counter", range.first_counter);
        lines.add("last counter", range.last_counter);
        lines.add("first help", range.first_help);
        lines.add("last help", range.last_help);
    }
    if !service.object_list.is_empty() {
        let objects: Vec<String> = service.object_list.iter().map(TitleIndex::to_string).collect();
        lines.add("object list", objects.join(" "));
    }
    if !service.wrapped_objects.is_empty() {
        let objects: Vec<String> = service.wrapped_objects.iter().map(TitleIndex::to_string).collect();
        lines.add("wrapped objects", objects.join(" "));
    }
    lines.add_some("ini", service.ini.as_ref());
    if let Some(provider) = &service.manifest {
        manifest_text(&mut lines, provider);
    }
    lines.text
}

fn read_service(path: &Path, text: &str) -> Result<Service, Problem> {
    let mut service = Service::default();
    let (mut first_counter, mut last_counter, mut first_help, mut last_help) = (None, None, None, None);
    let mut manifest = ManifestProvider::default();
    for line in lines(path, text)? {
        let value = line.value.clone();
        match line.key {
            "service" => service.name = value,
            "library" => service.library = Some(value),
            "open" => service.open = Some(value),
            "collect" => service.collect = Some(value),
            "close" => service.close = Some(value),
            "export" => service.export.push(value),
            "trusted" => service.trusted = line.number()? != 0,
            "library validation code" => {
                let code =
                    ValidationCode::parse(&value).ok_or_else(|| line.wrong("64 hexadecimal digits"))?;
                service.validation_code = Some(code);
            }
            "first counter" => first_counter = Some(line.number()?),
            "last counter" => last_counter = Some(line.number()?),
            "first help" => first_help = Some(line.number()?),
            "last help" => last_help = Some(line.number()?),
            "object list" => service.object_list = line.indexes()?,
            "wrapped objects" => service.wrapped_objects = line.indexes()?,
            "ini" => service.ini = Some(value),
            key => match ServiceSetting::of_name(key) {
                Some(setting) => setting.set(&mut service, Some(line.number()?)),
                None => read_manifest_line(&line, &mut manifest)?,
            },
        }
    }
    service.titles = match (first_counter, last_counter, first_help, last_help) {
        (None, None, None, None) => None,
        (Some(first_counter), Some(last_counter), Some(first_help), Some(last_help)) => Some(TitleRange {
            first_counter: TitleIndex(first_counter),
            last_counter: TitleIndex(last_counter),
            first_help: HelpIndex(first_help),
            last_help: HelpIndex(last_help),
        }),
        _ => {
            let words = "first and last counter, first and last help: all four needed, or none";
            return Err(Problem::of(path, words));
        }
    };
    if manifest != ManifestProvider::default() {
        service.manifest = Some(manifest);
    }
    Ok(service)
}

fn read_table(path: &Path, text: &str) -> Result<BTreeMap<u32, String>, Problem> {
    let mut table = BTreeMap::new();
    for (number, line) in text.lines().enumerate() {
        let number = number.saturating_add(1);
        let wrong = |words: &str| Problem::at(path, number, words);
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let (index, title) = line.split_once('\t').ok_or_else(|| wrong("index, tab and text needed"))?;
        let index: u32 = index.parse().map_err(|_| wrong("an index needed before the tab"))?;
        let title = unescape(title).ok_or_else(|| wrong("behind \\ one of \\ t n r needed"))?;
        if title.is_empty() || title.contains('\0') {
            return Err(wrong("a text without NUL needed behind the tab"));
        }
        if table.insert(index, title).is_some() {
            return Err(wrong("the index is in an earlier line"));
        }
    }
    Ok(table)
}

/// Builds a file of lines `key = value`.
struct Lines {
    text: String,
}

impl Lines {
    fn new(comment: &str) -> Lines {
        Lines { text: format!("# {comment}\n") }
    }

    fn add(&mut self, key: &str, value: impl std::fmt::Display) {
        // Writing into a String cannot fail.
        let _ = writeln!(self.text, "{key} = {}", escape(&value.to_string()));
    }

    fn add_some(&mut self, key: &str, value: Option<impl std::fmt::Display>) {
        if let Some(value) = value {
            self.add(key, value);
        }
    }
}

/// A line `key = value` of a file.
struct Line<'a> {
    path: &'a Path,
    /// Number of the line, from 1.
    line: usize,
    key: &'a str,
    value: String,
}

impl Line<'_> {
    fn number(&self) -> Result<u32, Problem> {
        self.value.parse().map_err(|_| self.wrong("a number from 0 to 4294967295"))
    }

    fn indexes(&self) -> Result<Vec<TitleIndex>, Problem> {
        let index = |text: &str| text.parse().map(TitleIndex);
        let indexes: Result<_, _> = self.value.split_whitespace().map(index).collect();
        indexes.map_err(|_| self.wrong("indexes with blanks between"))
    }

    fn language(&self) -> Result<Language, Problem> {
        Language::parse(&self.value)
            .filter(|language| language.code() == self.value)
            .ok_or_else(|| self.wrong("the code of a language such as 009"))
    }

    fn wrong(&self, needed: &str) -> Problem {
        let words = format!("\"{}\": {needed} needed, found {:?}", self.key, self.value);
        Problem::at(self.path, self.line, words)
    }

    fn unknown(&self) -> Problem {
        Problem::at(self.path, self.line, format!("\"{}\" is no key that is known here", self.key))
    }
}

/// The lines `key = value` of a text, without empty lines and lines that start with `#`.
fn lines<'a>(path: &'a Path, text: &'a str) -> Result<Vec<Line<'a>>, Problem> {
    let mut found = Vec::new();
    for (number, text) in text.lines().enumerate() {
        let line = number.saturating_add(1);
        let text = text.trim_start();
        if text.is_empty() || text.starts_with('#') {
            continue;
        }
        let (key, value) =
            text.split_once(" =").ok_or_else(|| Problem::at(path, line, "\"key = value\" needed"))?;
        let value = value.strip_prefix(' ').unwrap_or(value);
        let value =
            unescape(value).ok_or_else(|| Problem::at(path, line, "behind \\ one of \\ t n r needed"))?;
        found.push(Line { path, line, key, value });
    }
    Ok(found)
}

/// The text without tabs and line ends, so that it fits into one line.
fn escape(text: &str) -> String {
    let mut out = String::new();
    for letter in text.chars() {
        match letter {
            '\\' => out.push_str("\\\\"),
            '\t' => out.push_str("\\t"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            other => out.push(other),
        }
    }
    out
}

/// The opposite of [`escape`]; `None` when another character follows a backslash.
fn unescape(text: &str) -> Option<String> {
    let mut out = String::new();
    let mut letters = text.chars();
    while let Some(letter) = letters.next() {
        out.push(match letter {
            '\\' => match letters.next()? {
                '\\' => '\\',
                't' => '\t',
                'n' => '\n',
                'r' => '\r',
                _ => return None,
            },
            other => other,
        });
    }
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::super::contents::Texts;
    use super::super::service::{CounterSet, SetCounter};
    use super::*;
    use tallymon_core::counter::CounterType;

    pub(crate) fn sample() -> Contents {
        let mut contents = Contents::new(Scope::System);
        contents.add_languages([Language::ENGLISH, Language::KOREAN]);
        let text = |name: &str, help: &str| Texts {
            names: BTreeMap::from([(Language::ENGLISH, name.to_string()), (Language::KOREAN, "신호".into())]),
            helps: BTreeMap::from([(Language::ENGLISH, help.to_string())]),
        };
        let texts = BTreeMap::from([(0, text("Signal\tGenerator", "a\\b\nc")), (4, text(" = x # y", "h"))]);
        let titles = contents.allocate(&texts, 0).unwrap();
        contents.change = "install PERFGEN\nand more".into();
        contents.perflib = PerflibSetting::ALL.into_iter().zip(1..).collect();
        contents.insert(Service {
            name: "PerfGen 생성".into(),
            library: Some("C:\\new\\perf gen.so ".into()),
            open: Some("Open".into()),
            collect: Some("Collect".into()),
            close: Some(String::new()),
            export: vec!["one".into(), "".into()],
            titles: Some(titles),
            object_list: vec![titles.first_counter],
            wrapped_objects: vec![TitleIndex(2), TitleIndex(238)],
            disabled: true,
            trusted: true,
            as_nobody: true,
            as_caller: true,
            unprotected: true,
            in_process: true,
            validation_code: ValidationCode::parse(&"0f".repeat(32)),
            open_timeout: Some(5),
            collect_timeout: Some(u32::MAX),
            deadline: Some(0),
            ini: Some("/a/b.ini".into()),
            manifest: Some(ManifestProvider {
                guid: "{1}".into(),
                name: "n".into(),
                application: "/x".into(),
                kernel_mode: true,
                sets: vec![CounterSet {
                    guid: "{2}".into(),
                    name: titles.first_counter,
                    help: titles.first_help,
                    instances: "single".into(),
                    counters: vec![SetCounter {
                        id: 7,
                        name: titles.last_counter,
                        help: titles.last_help,
                        counter_type: CounterType::PERF_RAW_FRACTION,
                        detail_level: 200,
                        default_scale: -3,
                        base: Some(4),
                        perf_time: Some(5),
                        perf_freq: Some(6),
                        multi: Some(8),
                        aggregate: Some("avg".into()),
                        attributes: vec!["reference".into(), "noDisplay".into()],
                    }],
                }],
            }),
        });
        contents.insert(Service { name: "bare".into(), ..Service::default() });
        contents.check().unwrap();
        contents
    }

    fn read(files: &BTreeMap<String, String>) -> Result<Contents, Problem> {
        from_files(Scope::System, Path::new("v"), |name| {
            files.get(name).cloned().ok_or_else(|| Problem::of(Path::new(name), "missing"))
        })
    }

    #[test]
    fn everything_survives_the_files() {
        let contents = sample();
        let files = to_files(&contents);
        let names: Vec<&str> = files.keys().map(String::as_str).collect();
        assert_eq!(
            names,
            ["009.tsv", "012.tsv", "registry.conf", "service-bare.conf", "service-perfgen 생성.conf"]
        );
        assert_eq!(read(&files).unwrap(), contents);
    }

    /// Every line of every file is left out, doubled or cut: an error with the file, or contents that are
    /// whole.
    #[test]
    fn damaged_files_are_reported_with_file_and_line() {
        let files = to_files(&sample());
        let (mut refused, mut taken) = (0, 0);
        for (name, text) in &files {
            let all: Vec<&str> = text.lines().collect();
            for position in 0..all.len() {
                for damage in 0..4 {
                    let mut lines: Vec<String> = all.iter().map(|line| line.to_string()).collect();
                    match damage {
                        0 => _ = lines.remove(position),
                        1 => lines.insert(position, all[position].to_string()),
                        2 => lines[position] = "nonsense".into(),
                        _ => lines[position] = all[position].replace(['1', '4'], "\\x"),
                    }
                    let mut files = files.clone();
                    files.insert(name.clone(), lines.join("\n"));
                    match read(&files) {
                        Ok(contents) => {
                            contents.check().unwrap();
                            taken += 1;
                        }
                        Err(problem) => {
                            assert!(!problem.path.as_os_str().is_empty(), "{problem}");
                            if damage == 2 {
                                assert_eq!(problem.line, Some(position + 1), "{name} {problem}");
                            }
                            refused += 1;
                        }
                    }
                }
            }
        }
        assert!(refused > 100 && taken > 20, "{refused} refused, {taken} taken");
    }
}
