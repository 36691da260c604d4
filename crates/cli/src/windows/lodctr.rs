//! `tally lodctr` and `tally unlodctr`: install and remove counter names with Windows' options and messages.

use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use tallymon::core::block::ByteOrder;
use tallymon::core::title::{Language, Titles};
use tallymon::log::open_regular;
use tallymon::registry::{
    BASE_INDEX, Installed, Manifest, Package, RegistryError, Roots, Service, TitleRange, Trust, Writer,
    read_text,
};

use crate::border;
use crate::command::provider::log;
use crate::exit::{Failure, Kind};
use crate::words::{note, visible};

const LODCTR_USAGE: &str = "\
lodctr FILE.ini           install the names of a registered service
lodctr /S:FILE [/Y]       save all names and settings; /Y replaces a file without asking
lodctr /R:FILE            restore them from a file
lodctr /R                 restore the newest undamaged version if the current one is damaged
lodctr /T:SERVICE         mark the library of a service as trusted
lodctr /E:SERVICE         enable a service
lodctr /D:SERVICE         disable a service
lodctr /Q                 show all services
lodctr /Q:SERVICE         show one service
lodctr /L:LANGUAGE /C:FILE /H:FILE
                          replace names and help texts of a language
lodctr /M:FILE.man [PATH] install the counter sets of a manifest; PATH is its program or the program's folder
Options begin with / or -. Names with blanks stand in quotation marks.";

const UNLODCTR_USAGE: &str = "\
unlodctr SERVICE          remove the names of a service
unlodctr /M:FILE.man      remove the counter sets of a manifest
unlodctr /G:{GUID}        remove the counter sets of a provider, by its GUID
unlodctr /P:NAME          remove the counter sets of a provider, by its name
Options begin with / or -. Names with blanks stand in quotation marks.";

/// One argument.
#[derive(Debug, PartialEq, Eq)]
enum Word<'a> {
    /// An option: its letter in upper case, and the text after its colon.
    Option(char, Option<&'a str>),
    /// Anything else.
    Name(&'a str),
}

/// Reads an argument. An option is `-` or `/`, a letter, then nothing or a colon; so `/tmp/my.ini` is a path.
fn word(text: &str) -> Word<'_> {
    let mut letters = text.chars();
    let option = letters.next().filter(|mark| matches!(mark, '-' | '/')).and_then(|_| letters.next());
    let rest = letters.as_str();
    match option {
        Some('?') if rest.is_empty() => Word::Option('?', None),
        Some(letter) if letter.is_ascii_alphabetic() && rest.is_empty() => {
            Word::Option(letter.to_ascii_uppercase(), None)
        }
        Some(letter) if letter.is_ascii_alphabetic() && rest.starts_with(':') => {
            let value = rest.get(1..).unwrap_or_default().trim_matches('"');
            Word::Option(letter.to_ascii_uppercase(), Some(value).filter(|value| !value.is_empty()))
        }
        _ => Word::Name(text),
    }
}

pub(crate) fn lodctr(words: &[String]) -> Result<(), Failure> {
    let roots = Roots::of_environment();
    let writer = || Writer::open(&roots, None);
    let writer_of = |service: &str| Writer::of_service(&roots, None, service);
    let mut parsed: Vec<Word<'_>> = words.iter().map(|text| word(text)).collect();
    let given = parsed.len();
    parsed.retain(|word| *word != Word::Option('Y', None));
    let yes = parsed.len() < given;
    match parsed.as_slice() {
        [Word::Option('?', None)] | [] => usage(LODCTR_USAGE, parsed.is_empty()),
        [Word::Name(file)] => {
            let log = log();
            let package = Package::read_to_install(Path::new(file), &log)?;
            for warning in &package.warnings {
                note(format_args!("lodctr: {warning}"));
            }
            let range = writer_of(&package.service)?.reporting(&log).install_names(&package)?;
            loaded(&package.service, range);
            Ok(())
        }
        [Word::Option('S', Some(file))] => {
            let file = Path::new(file);
            let text = writer()?.export()?;
            super::relog::save_as(file, yes, text.as_bytes())?;
            note(format_args!("lodctr: names and settings are saved in {}", file.display()));
            Ok(())
        }
        [Word::Option('R', Some(file))] => {
            let file = Path::new(file);
            let services = writer()?.restore(file, &backup(file)?)?;
            note(format_args!(
                "lodctr: names and settings of {services} services are restored from {}",
                file.display()
            ));
            Ok(())
        }
        [Word::Option('R', None)] => {
            let writer = writer()?;
            let scope = writer.scope().word();
            match writer.reporting(&log()).repair()? {
                Some((from, to)) => {
                    note(format_args!(
                        "lodctr: version {from} of the {scope} registry is damaged; restored version {to}"
                    ));
                }
                None => note(format_args!("lodctr: the {scope} registry is undamaged; nothing to rebuild")),
            }
            Ok(())
        }
        [Word::Option('T', Some(service))] => {
            if writer_of(service)?.trust(service)? != Trust::Trusted {
                note(format_args!(
                    "lodctr: the library of {service} has no absolute path, so changes of the file cannot be \
                     detected; it is not loaded in process"
                ));
            }
            Ok(())
        }
        [Word::Option('E', Some(service))] => Ok(writer_of(service)?.set_enabled(service, true)?),
        [Word::Option('D', Some(service))] => Ok(writer_of(service)?.set_enabled(service, false)?),
        [Word::Option('Q', service)] => query(&roots, *service),
        [Word::Option('M', Some(file))] => install_manifest(writer, file, None),
        [Word::Option('M', Some(file)), Word::Name(path)] => {
            install_manifest(writer, file, Some(PathBuf::from(path)))
        }
        options if options.iter().any(|word| matches!(word, Word::Option('L', Some(_)))) => {
            match update(options)? {
                Some((language, texts)) => {
                    let n = writer()?.update_texts(language, &texts)?;
                    note(format_args!("lodctr: {n} texts in {language} are in use"));
                    Ok(())
                }
                None => wrong("lodctr", words, LODCTR_USAGE),
            }
        }
        _ => wrong("lodctr", words, LODCTR_USAGE),
    }
}

pub(crate) fn unlodctr(words: &[String]) -> Result<(), Failure> {
    let roots = Roots::of_environment();
    let writer_of = |service: &str| Writer::of_service(&roots, None, service);
    let parsed: Vec<Word<'_>> = words.iter().map(|text| word(text)).collect();
    match parsed.as_slice() {
        [Word::Option('?', None)] | [] => usage(UNLODCTR_USAGE, parsed.is_empty()),
        [Word::Name(service)] => {
            let range = writer_of(service)?.reporting(&log()).remove_names(service)?;
            note(format_args!(
                "unlodctr: the names of {service} are removed: {} to {}",
                range.first_counter, range.last_help
            ));
            Ok(())
        }
        [Word::Option('M', Some(file))] => {
            let manifest = Manifest::read(Path::new(file), None)?;
            let guid = manifest.providers.first().map_or("", |provider| provider.guid());
            for removed in writer_of(guid)?.reporting(&log()).remove_manifest(&manifest)? {
                note(format_args!("unlodctr: the counter sets of {} are removed", removed.service));
            }
            Ok(())
        }
        [Word::Option('G' | 'P', Some(provider))] => {
            let removed = writer_of(provider)?.reporting(&log()).remove(provider)?;
            note(format_args!("unlodctr: the counter sets of {} are removed", removed.service));
            Ok(())
        }
        _ => wrong("unlodctr", words, UNLODCTR_USAGE),
    }
}

/// The language and the texts of `/L:LANGUAGE`, `/C:FILE` and `/H:FILE`; `None` if there are other options or
/// no file.
fn update(words: &[Word<'_>]) -> Result<Option<(Language, Titles)>, Failure> {
    let (mut language, mut names, mut helps) = (None, None, None);
    for word in words {
        let Word::Option(letter, Some(value)) = *word else { return Ok(None) };
        let place = match letter {
            'L' => &mut language,
            'C' => &mut names,
            'H' => &mut helps,
            _ => return Ok(None),
        };
        if place.replace(value).is_some() {
            return Ok(None);
        }
    }
    let Some(language) = language.filter(|_| names.is_some() || helps.is_some()) else { return Ok(None) };
    let language = Language::parse(language).ok_or_else(|| {
        Failure::new(Kind::Usage, format_args!("/L: expected a language such as 012, found {language:?}"))
    })?;
    let mut titles = Titles::new();
    for (file, is_help) in [(names, false), (helps, true)] {
        if let Some(file) = file {
            titles.merge(&texts(Path::new(file), is_help)?);
        }
    }
    Ok(Some((language, titles)))
}

/// Reads a file of texts: zero-terminated pairs as in Windows' `perfc009.dat`, or lines of index, tab and
/// text.
fn texts(path: &Path, is_help: bool) -> Result<Titles, Failure> {
    let bytes = read(path)?;
    let wrong = |words: String| Failure::new(Kind::BadFile, format_args!("{}: {words}", path.display()));
    let (names, helps) = if is_help { (&[][..], &bytes[..]) } else { (&bytes[..], &[][..]) };
    let titles = if bytes.contains(&0) {
        Titles::from_multi_sz(names, helps, ByteOrder::Little).map_err(|error| wrong(error.to_string()))?
    } else {
        let text = read_text(path, None)?;
        Titles::from_tsv(&text).map_err(|error| wrong(error.to_string()))?
    };
    let (n_names, n_helps) = (titles.names().count(), titles.helps().count());
    match if is_help { n_names } else { n_helps } {
        0 => Ok(titles),
        n => Err(wrong(format!("{n} indexes belong to {}", if is_help { "names" } else { "help texts" }))),
    }
}

fn usage(text: &str, is_mistake: bool) -> Result<(), Failure> {
    if is_mistake {
        return Err(Failure::new(Kind::Usage, format_args!("an option or a file is needed:\n{text}")));
    }
    writeln!(border::stdout(), "{text}")?;
    Ok(())
}

fn wrong(command: &str, words: &[String], text: &str) -> Result<(), Failure> {
    Err(Failure::new(Kind::Usage, format_args!("{command} does not take {:?}:\n{text}", words.join(" "))))
}

fn loaded(service: &str, range: TitleRange) {
    note(format_args!(
        "lodctr: the names of {service} are installed: First Counter {}, Last Counter {}, First Help {}, \
         Last Help {}",
        range.first_counter, range.last_counter, range.first_help, range.last_help
    ));
}

fn install_manifest(
    writer: impl FnOnce() -> Result<Writer, RegistryError>,
    file: &str,
    binary: Option<PathBuf>,
) -> Result<(), Failure> {
    let manifest = Manifest::read(Path::new(file), binary.as_deref())?;
    let ranges = writer()?.reporting(&log()).install_manifest(&manifest)?;
    for (range, provider) in ranges.into_iter().zip(&manifest.providers) {
        loaded(provider.name(), range);
    }
    Ok(())
}

/// What `lodctr /Q` prints on Windows.
fn query(roots: &Roots, only: Option<&str>) -> Result<(), Failure> {
    let installed = Installed::read(roots)?;
    let mut out = border::stdout();
    // If the user's registry has services, its indexes are higher than the system's.
    let shown = if installed.user.services().next().is_some() { &installed.user } else { &installed.system };
    writeln!(out, "Performance Counter ID Queries [PERFLIB]:")?;
    number(&mut out, "Base Index", BASE_INDEX)?;
    number(&mut out, "Last Counter Text ID", shown.last_counter)?;
    number(&mut out, "Last Help Text ID", shown.last_help)?;
    writeln!(out)?;
    let mut found = false;
    for (_, service) in installed.services() {
        let called = |name: &str| {
            let provider = service.manifest.as_ref().map(|manifest| manifest.name.as_str());
            service.name.eq_ignore_ascii_case(name)
                || provider.is_some_and(|own| own.eq_ignore_ascii_case(name))
        };
        if only.is_none_or(called) {
            one_service(&mut out, service)?;
            found = true;
        }
    }
    match only {
        Some(name) if !found => {
            let words = format!("no service {name:?} is registered; 'tally lodctr /Q' lists all");
            Err(Failure::new(Kind::NotFound, words))
        }
        _ => Ok(()),
    }
}

fn one_service(out: &mut impl Write, service: &Service) -> io::Result<()> {
    let state = if service.disabled { "Disabled" } else { "Enabled" };
    writeln!(out, "[{}] Performance Counters ({state})", visible(&service.name))?;
    let rows = [
        ("DLL Name", &service.library),
        ("Open Procedure", &service.open),
        ("Collect Procedure", &service.collect),
        ("Close Procedure", &service.close),
    ];
    for (name, value) in rows {
        if let Some(value) = value {
            writeln!(out, "    {name}: {}", visible(value))?;
        }
    }
    if let Some(manifest) = &service.manifest {
        writeln!(out, "    Provider Name: {}", visible(&manifest.name))?;
        writeln!(out, "    Application Identity: {}", visible(&manifest.application))?;
    }
    if let Some(range) = service.titles {
        number(out, "First Counter ID", range.first_counter.0)?;
        number(out, "Last Counter ID", range.last_counter.0)?;
        number(out, "First Help ID", range.first_help.0)?;
        number(out, "Last Help ID", range.last_help.0)?;
    }
    writeln!(out)
}

fn number(out: &mut impl Write, name: &str, value: u32) -> io::Result<()> {
    writeln!(out, "    {name}: 0x{value:08X} ({value})")
}

/// The bytes of a regular file: a pipe would wait for somebody who writes into it.
fn read(path: &Path) -> Result<Vec<u8>, Failure> {
    let mut bytes = Vec::new();
    let read = open_regular(path).and_then(|mut file| file.read_to_end(&mut bytes));
    read.map_err(|error| Failure::file(path, &error))?;
    Ok(bytes)
}

/// The text of a backup that `/S` wrote. Those of Windows have the names of another machine, for its logs.
fn backup(file: &Path) -> Result<String, Failure> {
    let bytes = read(file)?;
    // In UTF-16, with or without a mark, every second byte of these words is 0.
    let plain: Vec<u8> = bytes.iter().copied().filter(|byte| *byte != 0).collect();
    let plain = String::from_utf8_lossy(&plain).to_lowercase();
    let is_of_windows = plain.lines().any(|line| {
        let line = line.trim_start_matches(|letter: char| !letter.is_ascii()).trim();
        line == "[perflib]" || line.starts_with("[perf_")
    });
    let words = if is_of_windows {
        "a backup of Windows' lodctr: its names belong to another machine and are not installed here; \
         'tally get --log LOG --name-table FILE' and 'tally relog --name-table FILE' read its logs with them"
    } else {
        match String::from_utf8(bytes) {
            Ok(text) => return Ok(text),
            Err(_) => "not a backup that 'tally lodctr /S:FILE' wrote: it is not UTF-8",
        }
    };
    Err(Failure::new(Kind::BadFile, format_args!("{}: {words}", file.display())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distinguishes_options_and_paths() {
        for (text, wanted) in [
            ("/Q", Word::Option('Q', None)),
            ("-q", Word::Option('Q', None)),
            ("/q:PerfProc", Word::Option('Q', Some("PerfProc"))),
            ("-R:\"my file\"", Word::Option('R', Some("my file"))),
            ("/R:", Word::Option('R', None)),
            ("/M:/a/b:c.man", Word::Option('M', Some("/a/b:c.man"))),
            ("/?", Word::Option('?', None)),
            ("/tmp/my.ini", Word::Name("/tmp/my.ini")),
            ("/é", Word::Name("/é")),
            ("my.ini", Word::Name("my.ini")),
            ("-", Word::Name("-")),
            ("", Word::Name("")),
        ] {
            assert_eq!(word(text), wanted, "{text}");
        }
    }
}
