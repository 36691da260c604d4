//! Installing and removing names: the samples, the languages, and every fault by which Windows damages its
//! tables.
#![allow(clippy::unwrap_used, reason = "a test that fails is to panic")]

use std::fs;
use std::path::{Path, PathBuf};

use tallymon_core::text::CodePage;
use tallymon_core::title::{HelpIndex, Language, TitleIndex};
use tallymon_host::registry::{
    Installed, Manifest, Package, RegistryError, RegistryErrorKind, Roots, Scope, Service, TitleRange,
    Writer, load_perf_counter_text_strings, read_reg, unload_perf_counter_text_strings,
};
use tallymon_testkit::{Scratch, peer, shared};

/// A folder with registries in it, which is gone when the test is over.
struct RegistryFolder {
    folder: Scratch,
    roots: Roots,
}

impl RegistryFolder {
    fn new() -> RegistryFolder {
        let folder = Scratch::new();
        let roots = Roots::in_folder(&folder);
        RegistryFolder { folder, roots }
    }

    fn file(&self, name: &str, bytes: impl AsRef<[u8]>) -> PathBuf {
        let path = self.folder.join(name);
        fs::write(&path, bytes).unwrap();
        path
    }

    /// A text with the names of files, without their folder.
    fn names_only(&self, text: &str) -> String {
        let separator = std::path::MAIN_SEPARATOR;
        text.replace(&format!("{}{separator}", self.folder.display()), "")
    }

    fn writer(&self) -> Writer {
        Writer::open(&self.roots, Some(Scope::System)).unwrap()
    }

    fn user_writer(&self) -> Writer {
        Writer::open(&self.roots, Some(Scope::User)).unwrap()
    }

    fn installed(&self) -> Installed {
        Installed::read(&self.roots).unwrap()
    }

    /// Installs an INI file and its header, written here.
    fn install(&self, ini: impl AsRef<[u8]>, header: &str) -> Result<TitleRange, RegistryError> {
        self.file("s.h", header);
        let package = Package::read(&self.file("s.ini", ini), None)?;
        self.writer().install(&package, &Service::default())
    }

    /// Everything on the disk below the registry, to see that nothing was written.
    fn state(&self) -> Vec<(PathBuf, Vec<u8>)> {
        fn walk(folder: &Path, found: &mut Vec<(PathBuf, Vec<u8>)>) {
            for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
                let path = entry.path();
                if entry.file_type().unwrap().is_dir() {
                    walk(&path, found);
                } else {
                    found.push((path.clone(), fs::read(&path).unwrap_or_default()));
                }
            }
        }
        let mut found = Vec::new();
        walk(&self.roots.system, &mut found);
        found.sort();
        // Opening the lock is no change.
        found.retain(|(path, _)| !path.ends_with("private/registry.lock"));
        found
    }
}

/// An INI file of a service with these texts.
fn ini(service: &str, languages: &str, objects: &str, texts: &str) -> String {
    format!(
        "[info]\ndrivername={service}\nsymbolfile=s.h\n\
         [languages]\n{languages}\n[objects]\n{objects}\n[text]\n{texts}\n"
    )
}

fn good(service: &str) -> String {
    let texts = "OBJ_009_NAME=Object of S\nOBJ_009_HELP=Help of the object\n\
        ONE_009_NAME=One\nONE_009_HELP=Help of one";
    ini(service, "009=English", "OBJ_009_NAME=", texts).replace("of S", &format!("of {service}"))
}

const HEADER: &str = "#define OBJ 0\n#define ONE 2\n";

#[test]
fn the_samples_of_windows_are_installed_and_removed() {
    let place = RegistryFolder::new();
    let Some(folder) = shared("ini") else { return };
    let writer = place.writer();
    for (ini, reg, objects, counters) in
        [("AppMem.Ini", "AppMem.Reg", vec![], 8), ("Perfgen.Ini", "Perfgen.Reg", vec![TitleIndex(1864)], 5)]
    {
        let services = read_reg(&folder.join(reg), None).unwrap();
        writer.register(&services).unwrap();
        let package = Package::read(&folder.join(ini), None).unwrap();
        assert_eq!(package.titles.len(), counters);
        assert_eq!(package.warnings.is_empty(), !objects.is_empty(), "no [objects] is worth a warning");
        writer.install_names(&package).unwrap();
        let contents = writer.contents().unwrap();
        let service = contents.service(&package.service).unwrap();
        assert_eq!(service.object_list, objects);
        assert!(service.library.as_ref().unwrap().ends_with(".dll"));
        assert!(service.open.as_ref().unwrap().starts_with("Open"));
    }
    let installed = place.installed();
    assert_eq!((installed.system.last_counter, installed.system.last_help), (1872, 1873));
    let titles = installed.titles(Language::RUSSIAN);
    assert_eq!(titles.name(TitleIndex(1848)), Some("Application Memory"));
    assert_eq!(titles.name(TitleIndex(1854)), Some("Memory Allocs/Sec"), "without the blanks behind it");
    assert_eq!(titles.name(TitleIndex(1864)), Some("Signal Generator"));
    let help = titles.help(HelpIndex(1873)).unwrap();
    assert_eq!(help, "Displays a constant non-zero value that does not change from sample to sample.");
    writer.remove_names("perfgen").unwrap();
    let installed = place.installed();
    assert_eq!((installed.system.last_counter, installed.system.last_help), (1862, 1863));
    assert!(installed.system.service("PERFGEN").unwrap().titles.is_none(), "it stays registered");
    assert_eq!(installed.titles(Language::ENGLISH).names().count(), 8);
}

/// One name of an object and one of a counter.
const TEXTS: &str = "OBJ_009_NAME=Object\nONE_009_NAME=One";

/// A service whose INI file is right.
fn plain(service: &str) -> String {
    ini(service, "009=", "OBJ_009_NAME=", TEXTS)
}

/// A package with a fault: what is wrong, the INI file, the symbol file, and the begin of the error.
type Fault<'a> = (&'a str, String, &'a str, &'a str);

/// Symbol files with which lodctr of some Windows damages tables, or leaves an object without a name.
#[test]
fn refuses_faulty_symbol_files_without_a_change() {
    refuses_faults(&[
        (
            "negative offset",
            plain("S"),
            "#define OBJ 0\n#define ONE -2\n",
            "s.h:2: ONE is -2; a negative number",
        ),
        ("in parentheses", plain("S"), "#define OBJ (-1848)\n#define ONE 2\n", "s.h:1: OBJ is -1848"),
        ("odd offset", plain("S"), "#define OBJ 0\n#define ONE 3\n", "s.h:2: ONE is 3; numbers must be even"),
        (
            "one number twice",
            plain("S"),
            "#define OBJ 2\n#define ONE 2\n",
            "s.h:2: ONE is 2, and so is OBJ in line 1",
        ),
        (
            "overflow",
            plain("S"),
            "#define OBJ 0\n#define ONE 4294967294\n",
            "s.h:2: ONE is 4294967294; the highest",
        ),
        (
            "overflow of 64 bits",
            plain("S"),
            "#define OBJ 0\n#define ONE 18446744073709551616\n",
            "s.h:2: ONE has a text",
        ),
        (
            "no number",
            plain("S"),
            "#define OBJ 0\n#define ONE OBJ+2\n",
            "s.h:2: ONE has a text, so it needs a number",
        ),
        (
            "symbol without text",
            plain("S"),
            "#define OBJ 0\n#define ONE 2\n#define TWO 4\n",
            "s.h:3: TWO has no text",
        ),
        ("text without symbol", plain("S"), "#define OBJ 0\n#define ON 2\n", "s.ini:10: "),
    ]);
}

/// INI files with which lodctr of some Windows damages tables, or leaves an object without a name.
#[test]
fn refuses_faulty_ini_files_without_a_change() {
    let texts = TEXTS;
    refuses_faults(&[
        (
            "language without a text (KB 128404)",
            ini("S", "009=\n007=German", "OBJ_009_NAME=", texts),
            HEADER,
            "s.ini:6: language 007 is listed and has no text",
        ),
        (
            "text of another language",
            ini("S", "009=", "OBJ_009_NAME=", &format!("{texts}\nONE_019_NAME=x")),
            HEADER,
            "s.ini:11: the text is in language 019, which [languages] does not list",
        ),
        (
            "no English",
            ini("S", "019=", "", "OBJ_019_NAME=a\nONE_019_NAME=b"),
            HEADER,
            "s.ini:4: [languages] needs",
        ),
        (
            "symbol without an English name",
            ini("S", "009=\n019=", "", "OBJ_009_NAME=a\nONE_019_NAME=b"),
            HEADER,
            "s.h:2: ONE has no English name",
        ),
        ("unknown object", ini("S", "009=", "OBJECT_009_NAME=", texts), HEADER, "s.ini:7: "),
        (
            "no service name",
            plain("S").replace("drivername=S", ""),
            HEADER,
            "s.ini: [info] needs a line drivername",
        ),
        ("empty service name", plain(""), HEADER, "s.ini:2: drivername needs a value"),
        (
            "service name with a slash",
            plain("../../etc"),
            HEADER,
            "s.ini:2: \"../../etc\" cannot be the name",
        ),
        (
            "no symbol file",
            plain("S").replace("symbolfile=s.h", ""),
            HEADER,
            "s.ini: [info] needs a line symbolfile",
        ),
        ("another symbol file", plain("S").replace("s.h", "t.h"), HEADER, "s.ini:3: symbolfile"),
        ("no texts", ini("S", "009=", "", ""), "", "s.ini:5: language 009 is listed and has no text"),
        (
            "two texts",
            ini("S", "009=", "", &format!("{texts}\none_009_name=Two")),
            HEADER,
            "s.ini:11: one_009_name has",
        ),
    ]);
}

/// Refuses each package and leaves the registry as it was, whether it was empty before or not.
fn refuses_faults(faults: &[Fault<'_>]) {
    for before in [false, true] {
        for (what, ini, header, words) in faults {
            let place = RegistryFolder::new();
            if before {
                place.install(good("Before"), HEADER).unwrap();
            }
            let state = place.state();
            let error = place.install(ini, header).unwrap_err();
            let text = place.names_only(&error.to_string());
            assert!(text.lines().any(|line| line.starts_with(words)), "{what}: {text}");
            assert_eq!(place.state(), state, "{what}: nothing is written");
        }
    }
}

#[test]
fn names_that_are_not_utf_16_are_refused() {
    let place = RegistryFolder::new();
    let text: Vec<u16> = "\u{feff}".encode_utf16().chain(good("S").encode_utf16()).collect();
    let bytes = |units: &[u16]| units.iter().flat_map(|unit| unit.to_le_bytes()).collect::<Vec<u8>>();
    place.install(bytes(&text), HEADER).unwrap();
    let at = text.iter().position(|unit| *unit == u16::from(b'S')).unwrap();
    let mut half = text.clone();
    half[at] = 0xdc00;
    let mut nul = text.clone();
    let name = "Object of".encode_utf16().collect::<Vec<u16>>();
    let at = nul.windows(name.len()).position(|window| window == name).unwrap();
    nul[at + 6] = 0;
    let mut odd = bytes(&text);
    odd.pop();
    let state = place.state();
    for (bytes, words) in [
        (bytes(&half), "s.ini:2: not UTF-16: 0xdc00 is half of a pair"),
        (bytes(&nul), "s.ini:9: the text has the control character '\\0'"),
        (odd, "the last byte of the file is half of a unit"),
    ] {
        let error = place.install(bytes, HEADER).unwrap_err();
        assert_eq!(error.kind, RegistryErrorKind::Refused);
        assert!(error.to_string().contains(words), "{words}: {error}");
    }
    assert_eq!(place.state(), state);
}

/// The text says THREADS and the symbol file THREAD: on Windows the counter has no name, and nobody is told.
#[test]
fn the_broken_pair_of_pywin32_is_refused_in_both_files() {
    let Some(folder) = shared("ini") else { return };
    let place = RegistryFolder::new();
    let ini = place.file("perf_install.ini", fs::read(folder.join("pywin32_perf_install.ini")).unwrap());
    // The INI file calls it by another case than we do here, as on Windows it may.
    let header = fs::read_to_string(folder.join("pywin32_perf_install.h")).unwrap();
    place.file("Perf_Install.H", &header);
    let error = Package::read(&ini, None).unwrap_err();
    let lines: Vec<String> = error.problems.iter().map(ToString::to_string).collect();
    assert_eq!(lines.len(), 3, "{error}");
    assert!(
        lines[0].contains("perf_install.ini:17: ") && lines[0].ends_with("did you mean THREAD?"),
        "{error}"
    );
    assert!(lines[1].contains("perf_install.ini:18: "), "{error}");
    // A system that ignores case finds the file under the INI file's name for it.
    let third = lines[2].to_lowercase();
    assert!(third.contains("perf_install.h:9: thread has no text"), "{error}");
    assert!(cfg!(windows) || lines[2].contains("Perf_Install.H:9: THREAD"), "{error}");
    place.file("Perf_Install.H", header.replace("THREAD ", "THREADS "));
    let package = Package::read(&ini, None).unwrap();
    assert_eq!((package.service.as_str(), package.titles.len()), ("PipeServicePerf", 5));
}

#[test]
fn a_second_installation_is_refused_and_changes_nothing() {
    let place = RegistryFolder::new();
    let range = place.install(good("S"), HEADER).unwrap();
    let state = place.state();
    for name in ["S", "s"] {
        let error = place.install(good(name), HEADER).unwrap_err();
        assert_eq!((error.kind, error.win32_code()), (RegistryErrorKind::AlreadyInstalled, 183));
        assert!(error.to_string().contains("installed already, at 1848 to 1851"), "{error}");
    }
    assert_eq!(place.state(), state);
    assert_eq!(place.writer().contents().unwrap().service("s").unwrap().titles, Some(range));
}

#[test]
fn every_language_that_exists_gets_the_texts() {
    let place = RegistryFolder::new();
    place.install(good("One"), HEADER).unwrap();
    let texts = "OBJ_009_NAME=English\nOBJ_019_NAME=Русский\nOBJ_007_NAME=Deutsch\n\
        OBJ_007_HELP=Hilfe\nOBJ_009_HELP=Help";
    let two = place.install(ini("Two", "009=\n019=\n007=", "", texts), "#define OBJ 0").unwrap();
    let three = place.install(good("Three"), HEADER).unwrap();
    let installed = place.installed();
    let codes: Vec<String> = installed.languages().iter().map(|language| language.code()).collect();
    assert_eq!(codes, ["007", "009", "011", "012", "019"], "those of NT's own texts and the new one");
    for (language, name, help) in [
        (Language::ENGLISH, "English", "Help"),
        (Language::RUSSIAN, "Русский", "Help"),
        (Language::GERMAN, "Deutsch", "Hilfe"),
        (Language::JAPANESE, "English", "Help"),
        (Language::CHINESE_TRADITIONAL, "English", "Help"),
    ] {
        let titles = installed.titles(language);
        assert_eq!(
            titles.name(TitleIndex(1848)),
            Some("Object of One"),
            "{language}: installed before the language"
        );
        assert_eq!(titles.name(two.first_counter), Some(name), "{language}");
        assert_eq!(titles.help(two.first_help), Some(help), "{language}");
        assert_eq!(titles.name(three.first_counter), Some("Object of Three"), "{language}");
    }
}

#[test]
fn unlodctr_removes_exactly_its_range() {
    let place = RegistryFolder::new();
    let mut ranges = Vec::new();
    for name in ["One", "Two", "Three"] {
        ranges.push(place.install(good(name), HEADER).unwrap());
    }
    let before = place.installed().titles(Language::KOREAN);
    assert_eq!(place.writer().remove_names("two").unwrap(), ranges[1]);
    let installed = place.installed();
    let after = installed.titles(Language::KOREAN);
    for (index, name) in before.names() {
        let gone = ranges[1].contains(index.0);
        assert_eq!(after.name(index), (!gone).then_some(name), "{index}");
    }
    assert_eq!(before.helps().count() - after.helps().count(), 2);
    assert_eq!(installed.system.last_counter, ranges[2].last_counter.0, "a gap is not closed");
    let error = place.writer().remove_names("Two").unwrap_err();
    assert!(error.to_string().contains("has no names"), "{error}");
    let error = place.writer().remove_names("Tree").unwrap_err();
    assert!(error.to_string().contains("did you mean \"Three\"?"), "{error}");
    place.writer().remove("Three").unwrap();
    assert_eq!(place.installed().system.last_counter, ranges[0].last_counter.0);
    assert_eq!(place.install(good("Four"), HEADER).unwrap(), ranges[1]);
}

#[test]
fn the_functions_of_loadperf() {
    let place = RegistryFolder::new();
    place.file("s.h", HEADER);
    let path = place.file("my own.ini", good("S"));
    let line = format!("lodctr \"{}\"", path.display());
    let error = load_perf_counter_text_strings(&place.roots, &line).unwrap_err();
    assert_eq!((error.kind, error.win32_code()), (RegistryErrorKind::NotInstalled, 1060), "{error}");
    let service = Service { name: "S".into(), library: Some("x.so".into()), ..Service::default() };
    place.writer().register(std::slice::from_ref(&service)).unwrap();
    let alone = format!("\"{}\"", path.display());
    assert_eq!(load_perf_counter_text_strings(&place.roots, &alone).unwrap_err().win32_code(), 87);
    let range = load_perf_counter_text_strings(&place.roots, &line).unwrap();
    assert_eq!(load_perf_counter_text_strings(&place.roots, &line).unwrap_err().win32_code(), 183);
    assert_eq!(unload_perf_counter_text_strings(&place.roots, "S").unwrap_err().win32_code(), 87);
    assert_eq!(unload_perf_counter_text_strings(&place.roots, "unlodctr S").unwrap(), range);
    assert_eq!(
        place.installed().system.services().collect::<Vec<_>>(),
        [&Service { ini: Some(path.display().to_string()), ..service }]
    );
    let gone = load_perf_counter_text_strings(&place.roots, "lodctr /nowhere/x.ini").unwrap_err();
    assert_eq!(gone.win32_code(), 2, "{gone}");
}

#[test]
fn the_registry_of_the_user_wins_and_shares_no_index() {
    let place = RegistryFolder::new();
    let system = place.install(good("Both"), HEADER).unwrap();
    let package = Package::read(&place.file("s.ini", good("both")), None).unwrap();
    let library = Service { library: Some("mine.so".into()), ..Service::default() };
    let user = place.user_writer().install(&package, &library).unwrap();
    assert_eq!(user.first_counter.0, 1_000_000);
    assert!(!system.contains(user.first_counter.0));
    let installed = place.installed();
    let services: Vec<(Scope, &str)> =
        installed.services().map(|(scope, s)| (scope, s.name.as_str())).collect();
    assert_eq!(services, [(Scope::User, "both")]);
    let titles = installed.titles(Language::ENGLISH);
    assert_eq!(titles.name(system.first_counter), Some("Object of Both"));
    assert_eq!(titles.name(user.first_counter), Some("Object of both"));
    // Without a word about the scope the registry that has the service is changed.
    assert_eq!(Writer::of_service(&place.roots, None, "both").unwrap().scope(), Scope::System);
    place.writer().remove("both").unwrap();
    assert_eq!(Writer::of_service(&place.roots, None, "both").unwrap().scope(), Scope::User);
}

#[test]
fn files_in_code_pages_of_windows() {
    let place = RegistryFolder::new();
    place.file("s.h", b"// \xc4\xab\xbf\xee\xc5\xcd\n#define OBJ 0\n");
    let text = ini("S", "009=\n012=", "OBJ_009_NAME=", "OBJ_009_NAME=Counter\nOBJ_012_NAME=NAME");
    let at = text.find("NAME=NAME").unwrap() + 5;
    let bytes = [&text.as_bytes()[..at], b"\xc4\xab\xbf\xee\xc5\xcd\r\n\x1a"].concat();
    let path = place.file("s.ini", bytes);
    let package = Package::read(&path, Some(CodePage(949))).unwrap();
    assert_eq!(package.titles[0].names[&Language::KOREAN], "카운터");
    // Nothing says that the file is Korean, so that each byte is a letter of the default page.
    let package = Package::read(&path, None).unwrap();
    assert_eq!(package.titles[0].names[&Language::KOREAN], "Ä«¿îÅÍ");
}

#[test]
fn manifests_are_installed_and_removed() {
    let Some(folder) = shared("manifest") else { return };
    let place = RegistryFolder::new();
    let writer = place.writer();
    let before = place.install(good("Before"), HEADER).unwrap();
    let mut manifests = Vec::new();
    for (name, guid, sets) in [
        ("ucs.man", "{ffeeaadd-965a-4cf9-9c07-fe25378c2a23}", vec!["Geometric Waves", "Trignometric Waves"]),
        ("gas.man", "{ffddaaee-965a-4cf9-9c07-fe25378c2a24}", vec!["Aggregated Trignometric Waves"]),
    ] {
        let manifest = Manifest::read(&folder.join(name), None).unwrap();
        assert_eq!(manifest.providers[0].guid(), guid);
        assert_eq!(manifest.providers[0].sets().map(|(name, _)| name).collect::<Vec<_>>(), sets);
        assert_eq!(writer.check_manifest(&manifest).unwrap(), writer.install_manifest(&manifest).unwrap());
        assert_eq!(writer.install_manifest(&manifest).unwrap_err().kind, RegistryErrorKind::AlreadyInstalled);
        manifests.push(manifest);
    }
    let installed = place.installed();
    let service = installed.system.service("{FFDDAAEE-965a-4cf9-9c07-fe25378c2a24}").unwrap();
    let provider = service.manifest.as_ref().unwrap();
    assert!(
        std::path::Path::new(&provider.application).ends_with("manifest/gas.exe"),
        "{}",
        provider.application
    );
    let set = &provider.sets[0];
    assert_eq!((set.instances.as_str(), set.counters.len()), ("globalAggregate", 5));
    assert_eq!(service.object_list, [set.name]);
    let titles = installed.titles(Language::JAPANESE);
    assert_eq!(titles.name(set.name), Some("Aggregated Trignometric Waves"));
    let fraction = &set.counters[4];
    assert_eq!((fraction.id, fraction.base, fraction.counter_type.name()), (5, Some(4), "PERF_RAW_FRACTION"));
    assert_eq!(titles.name(fraction.name), Some("Raw Fraction"));
    assert_eq!(titles.help(fraction.help), Some("RawFraction ; Takes counter with ID = 4 as base counter"));
    assert_eq!(set.counters[3].attributes, ["noDisplay"]);
    writer.remove_manifest(&manifests[1]).unwrap();
    assert_eq!(writer.remove_manifest(&manifests[1]).unwrap_err().kind, RegistryErrorKind::NotInstalled);
    writer.remove("UsermodeCountersSample").unwrap();
    assert_eq!(place.installed().system.last_counter, before.last_counter.0);
}

#[test]
fn manifest_mistakes_are_reported_with_their_line() {
    let Some(folder) = shared("manifest") else { return };
    let text = fs::read_to_string(folder.join("gas.man")).unwrap();
    let place = RegistryFolder::new();
    for (from, to, words) in [
        ("</counters>", "</counter>", "m.man:84: no well-formed XML"),
        ("id           = \"2\"", "id = \"1\"", "m.man:39: the id 1 is that of an earlier counter"),
        ("\"perf_raw_fraction\"", "\"perf_fraction\"", "m.man:70: type: no counter type is called"),
        ("baseID       = \"4\"", "baseID = \"9\"", "m.man:70: baseID is 9, and no counter"),
        ("baseID       = \"4\"", "", "m.man:70: a counter of type PERF_RAW_FRACTION needs a baseID"),
        ("\"globalAggregate\"", "\"some\"", "m.man:22: instances: one of single,"),
        ("{ffddaaee-965a", "{ffddaae-965a", "m.man:16: providerGuid: a GUID such as"),
        ("name         = \"Cosine Wave\"", "name = \"Sine Wave\"", "m.man:39: the name \"Sine Wave\""),
        ("\"Cosine Wave\"", "\"Cosine&bad;\"", "m.man:39: attribute name: "),
        ("\"Cosine Wave\"", "\"$(string.cosine)\"", "m.man:39: no English stringTable has"),
        ("<counterSet ", "<counterset ", "m.man:36: an attribute outside of a counter"),
    ] {
        assert!(text.contains(from), "{from}");
        let path = place.file("m.man", text.replacen(from, to, 1));
        let error = Manifest::read(&path, None).unwrap_err().to_string();
        let error = place.names_only(&error);
        assert!(error.lines().any(|line| line.starts_with(words)), "{words}: {error}");
    }
    let strings = "<localization><resources culture=\"ru-RU\"><stringTable><string id=\"cosine\" value=\"Косинус\"/>\
                   </stringTable></resources><resources culture=\"en-US\"><stringTable><string id=\"cosine\" \
                   value=\"Cosine\"/></stringTable></resources></localization></instrumentationManifest>";
    let text = text
        .replacen("\"Cosine Wave\"", "\"$(string.cosine)\"", 1)
        .replace("</instrumentationManifest>", strings);
    let manifest = Manifest::read(&place.file("m.man", text), None).unwrap();
    let range = place.writer().install_manifest(&manifest).unwrap()[0];
    let titles = place.installed().titles(Language::RUSSIAN);
    assert_eq!(titles.name(TitleIndex(range.first_counter.0 + 4)), Some("Косинус"));
}

#[test]
fn backup_restores_everything() {
    let place = RegistryFolder::new();
    place.install(good("One"), HEADER).unwrap();
    let Some(folder) = shared("manifest") else { return };
    place.writer().install_manifest(&Manifest::read(&folder.join("ucs.man"), None).unwrap()).unwrap();
    place.writer().set_enabled("one", false).unwrap();
    let text = place.writer().export().unwrap();
    let before = place.installed();
    place.writer().remove("one").unwrap();
    place.writer().rollback(None).unwrap();
    place.writer().remove("UsermodeCountersSample").unwrap();
    assert_eq!(place.writer().restore(Path::new("b"), &text).unwrap(), 2);
    let after = place.installed();
    assert_eq!(after.services().collect::<Vec<_>>(), before.services().collect::<Vec<_>>());
    assert_eq!(after.titles(Language::ENGLISH), before.titles(Language::ENGLISH));
    assert!(after.system.service("one").unwrap().disabled);
    let state = place.state();
    for (from, to, words) in [
        ("# Tallymon registry backup, format 1", "# other", "b:1: "),
        ("last counter = ", "last counter = x", "b:LINE: \"last counter\": a number"),
        ("scope = system", "scope = user", "b:LINE: \"scope\": \"system\" needed"),
        ("[009.tsv]", "[009.ts]", "b: the file [009.tsv] is not in it"),
        ("[012.tsv]", "[009.tsv]", "the file 009.tsv is in line"),
        ("\n1848\t", "\n2\t", "belongs to no service"),
    ] {
        assert!(text.contains(from), "{from}");
        let error = place.writer().restore(Path::new("b"), &text.replacen(from, to, 1)).unwrap_err();
        let line = text.split(from).next().unwrap_or_default().lines().count() + 1;
        let words = words.replace("LINE", &line.to_string());
        assert!(error.to_string().contains(&words), "{words}: {error}");
    }
    assert_eq!(place.state(), state);
    let error = place.user_writer().restore(Path::new("b"), &text).unwrap_err();
    assert!(error.to_string().contains("\"user\" needed"), "{error}");
}

/// Files that were cut, or have single bytes changed: refused or taken, and the tables are whole either way.
#[test]
fn damaged_files_never_damage_tables() {
    let place = RegistryFolder::new();
    let text = ini("S", "009=\n019=", "OBJ_009_NAME=", "OBJ_009_NAME=A\nONE_009_NAME=B\nONE_019_HELP=C");
    let (mut taken, mut refused) = (0, 0);
    let mut attempt = |ini: &[u8], header: &[u8]| {
        place.file("s.h", header);
        match Package::read(&place.file("s.ini", ini), None) {
            Ok(package) => {
                let range = place.writer().check(&package).unwrap();
                assert!(range.first_counter.0 >= 1848 && range.last_help.0 > range.last_counter.0);
                taken += 1;
            }
            Err(error) => {
                assert!(!error.problems.is_empty());
                refused += 1;
            }
        }
    };
    for at in 0..text.len() {
        attempt(&text.as_bytes()[..at], HEADER.as_bytes());
        for byte in [0, b'\n', b'=', b'_', b'9', b'-', 0xff] {
            let mut bytes = text.clone().into_bytes();
            bytes[at] = byte;
            attempt(&bytes, HEADER.as_bytes());
        }
    }
    for at in 0..HEADER.len() {
        for byte in [0, b'\n', b'-', b'9', b'(', b'/', 0xff] {
            let mut bytes = HEADER.as_bytes().to_vec();
            bytes[at] = byte;
            attempt(text.as_bytes(), &bytes);
        }
    }
    assert!(taken > 50 && refused > 800, "{taken} taken, {refused} refused");
}

/// Nothing waits for somebody who writes into a pipe.
#[cfg(unix)]
#[test]
fn a_pipe_in_place_of_a_file_is_refused() {
    let Some(mkfifo) = peer("mkfifo") else { return };
    let place = RegistryFolder::new();
    let text = ini("S", "009=", "OBJ_009_NAME=", "OBJ_009_NAME=A");
    let mut make = std::process::Command::new(mkfifo);
    assert!(make.args(["pipe.ini", "s.h"]).current_dir(&*place.folder).status().unwrap().success());
    // The file of names itself, and the file that it names.
    for file in [place.folder.join("pipe.ini"), place.file("s.ini", text)] {
        let error = Package::read(&file, None).unwrap_err().to_string();
        assert!(error.contains("not a regular file"), "{error}");
    }
    assert!(Manifest::read(&place.folder.join("pipe.ini"), None).is_err());
    assert!(read_reg(&place.folder.join("pipe.ini"), None).is_err());
}
