//! Options of both kinds, and their exit codes.

use std::fs;

use tallymon_testkit::shared;

use crate::support::Place;

#[test]
fn names_are_installed_and_removed() {
    let place = Place::new();
    let ini = place.ini("Demo", 2);
    let out = place.ok(&["provider", "check", &ini]);
    assert!(out.contains("service Demo: names 1848 to 1852, help texts 1849 to 1853"), "{out}");
    assert!(out.contains("  1848  009  object   Demo 0\n  1850  009  counter  Demo 1\n"), "{out}");
    assert_eq!(place.ok(&["provider", "list"]), "", "a check installs nothing");
    place.ok(&[
        "provider",
        "add",
        &ini,
        "--library",
        "libdemo.so",
        "--open",
        "O",
        "--collect",
        "C",
        "--close",
        "X",
    ]);
    for language in ["009", "012"] {
        let names = place.ok(&["dump", &format!("Counter {language}")]);
        assert!(names.contains("\n1848\tDemo 0\n1850\tDemo 1\n1852\tDemo 2\n"), "{names}");
        let helps = place.ok(&["dump", &format!("Help {language}")]);
        assert!(helps.contains("\n1853\tHelp of Demo 2\n"), "{helps}");
    }
    let list = place.ok(&["provider", "list"]);
    let wanted = "Demo (system)\n  library  libdemo.so\n  open     O\n  collect  C\n  close    X\n  \
                  indexes  names 1848 to 1852, help texts 1849 to 1853\n  objects  Demo 0\n";
    assert_eq!(list, wanted);
    place.ok(&["provider", "disable", "demo"]);
    assert!(place.ok(&["provider", "list"]).starts_with("Demo (system, disabled)\n"));
    place.ok(&["provider", "enable", "demo"]);
    place.ok(&["provider", "remove", "demo"]);
    assert_eq!(place.ok(&["provider", "list"]), "");
    place.ok(&["provider", "rollback"]);
    assert_eq!(place.ok(&["provider", "list"]), wanted);
    let versions = place.ok(&["provider", "rollback", "--list"]);
    assert_eq!(
        versions,
        "       1  install Demo\n       2  disable Demo\n*      3  enable Demo\n       4  remove Demo\n"
    );
    place.ok(&["provider", "rollback", "--to", "4"]);
    assert_eq!(place.ok(&["provider", "list"]), "");
    place.ok(&["provider", "add", "--user", &ini]);
    let json = place.ok(&["provider", "list", "--user", "--json"]);
    assert!(json.contains("\"scope\":\"user\"") && json.contains("\"first_counter\":1000000"), "{json}");
    assert_eq!(place.ok(&["provider", "list", "--system"]), "");
}

#[test]
fn options_of_windows() {
    let Some(samples) = shared("ini") else { return };
    let sample = |name: &str| samples.join(name).display().to_string();
    let place = Place::new();
    let (code, _, err) = place.run(&["lodctr", &sample("Perfgen.Ini")]);
    assert_eq!(code, 3, "{err}");
    assert!(err.contains("no service \"PERFGEN\" is registered"), "{err}");
    place.ok(&["provider", "add", &sample("Perfgen.Reg"), &sample("AppMem.Reg")]);
    place.ok(&["lodctr", &sample("Perfgen.Ini")]);
    let (code, _, err) = place.run(&["lodctr", &sample("Perfgen.Ini")]);
    assert_eq!((code, err.contains("installed already")), (1, true), "{err}");
    let wanted = "\
Performance Counter ID Queries [PERFLIB]:
    Base Index: 0x00000737 (1847)
    Last Counter Text ID: 0x00000740 (1856)
    Last Help Text ID: 0x00000741 (1857)

[PerfGen] Performance Counters (Enabled)
    DLL Name: perfgen.dll
    Open Procedure: OpenSigGenPerformanceData
    Collect Procedure: CollectSigGenPerformanceData
    Close Procedure: CloseSigGenPerformanceData
    First Counter ID: 0x00000738 (1848)
    Last Counter ID: 0x00000740 (1856)
    First Help ID: 0x00000739 (1849)
    Last Help ID: 0x00000741 (1857)

";
    assert_eq!(place.ok(&["lodctr", "/Q:PERFGEN"]), wanted);
    let all = place.ok(&["lodctr", "-q"]);
    assert!(all.contains("[AppMem] Performance Counters (Enabled)") && all.contains("[PerfGen]"), "{all}");
    place.ok(&["lodctr", "/D:PerfGen"]);
    assert!(place.ok(&["lodctr", "/Q:PerfGen"]).contains("[PerfGen] Performance Counters (Disabled)"));
    place.ok(&["lodctr", "-E:PerfGen"]);
    place.ok(&["lodctr", "/T:PerfGen"]);
    assert!(place.installed().system.service("PerfGen").unwrap().trusted);
    let backup = place.0.join("names saved").display().to_string();
    place.ok(&["lodctr", &format!("/S:{backup}")]);
    place.ok(&["unlodctr", "PERFGEN"]);
    assert!(!place.ok(&["lodctr", "/Q:PerfGen"]).contains("First Counter ID"));
    place.ok(&["lodctr", &format!("/R:\"{backup}\"")]);
    assert_eq!(place.ok(&["lodctr", "/Q:PERFGEN"]), wanted);
    if let Some(manifests) = shared("manifest") {
        let manifest = |name: &str| format!("/M:{}", manifests.join(name).display());
        place.ok(&["lodctr", &manifest("ucs.man"), "/opt/demo/ucs"]);
        place.ok(&["lodctr", &manifest("gas.man")]);
        let shown = place.ok(&["lodctr", "/Q:UsermodeCountersSample"]);
        assert!(shown.contains("    Application Identity: /opt/demo/ucs\n"), "{shown}");
        place.ok(&["unlodctr", "/P:Global Aggregate Sample"]);
        place.ok(&["unlodctr", "/G:{FFEEAADD-965A-4CF9-9C07-FE25378C2A23}"]);
        let (code, _, _) = place.run(&["unlodctr", &manifest("gas.man")]);
        assert_eq!(code, 3);
    }
    for (words, code, needed) in [
        (&["lodctr", "/X"][..], 2, "lodctr does not take \"/X\""),
        (&["lodctr", "/E:"], 2, "lodctr does not take"),
        (&["lodctr"], 2, "an option or a file is needed"),
        (&["unlodctr", "a", "b"], 2, "unlodctr does not take \"a b\""),
        (&["lodctr", "/nowhere/x.ini"], 3, "/nowhere/x.ini: reading: No such file"),
        (&["lodctr", "/Q:nothing"], 3, "no service \"nothing\" is registered"),
        (&["unlodctr", "PerfGe"], 3, "did you mean \"PerfGen\"?"),
        (&["provider", "add", "--library", "x", "a.reg"], 3, "a.reg: reading"),
        (&["provider", "rollback", "--to", "99"], 3, "version 99 is not kept"),
    ] {
        let (found, _, err) = place.run(words);
        assert!(found == code && err.contains(needed), "{words:?}: {found} {err}");
    }
    assert!(place.ok(&["lodctr", "/?"]).starts_with("lodctr FILE.ini"));
    // Damage is told with file and line, costs no other command its work, and is repaired by /R.
    let current = fs::read_link(place.0.join("registry/current")).unwrap();
    let damaged = place.0.join("registry").join(current).join("registry.conf");
    fs::write(&damaged, "format = 1\nnonsense\n").unwrap();
    let (code, _, err) = place.run(&["provider", "list"]);
    assert!(code == 7 && err.contains("registry.conf:2: \"key = value\" needed"), "{code} {err}");
    assert!(place.ok(&["dump", "Counter 009"]).contains("\n238\tProcessor\n"));
    assert!(place.ok(&["doctor", "--verbose"]).contains("'tally lodctr /R' goes back"));
    place.ok(&["lodctr", "/R"]);
    assert!(place.ok(&["doctor", "--verbose"]).contains("registry"));
    place.ok(&["provider", "list"]);
}

/// Names may be installed before their library is there; what keeps it from being asked is said.
#[test]
fn backups_of_windows_and_other_files_are_refused_with_the_reason() {
    let place = Place::new();
    place.ok(&["provider", "add", &place.ini("Demo", 2)]);
    let before = place.ok(&["lodctr", "/Q"]);
    let text = "[Perflib]\r\nBase Index=1847\r\n[PERF_007]\r\n238=Prozessor\r\n24=Verfügbare Bytes\r\n";
    let wide = |mark: &[u8]| -> Vec<u8> {
        mark.iter().copied().chain(text.encode_utf16().flat_map(u16::to_le_bytes)).collect()
    };
    // The one letter that is not ASCII as code page 1252 has it.
    let ansi = text.chars().map(|letter| u8::try_from(letter).unwrap()).collect();
    for bytes in [wide(&[]), wide(&[0xff, 0xfe]), text.as_bytes().to_vec(), ansi] {
        let file = place.file("PerfStringBackup.INI", bytes);
        let (code, _, err) = place.run(&["lodctr", &format!("/R:{file}")]);
        assert!(code == 7 && err.contains("--name-table") && err.contains(&file), "{code} {err}");
    }
    for bytes in [&b"\xff\xfe\x00\xd8 no text"[..], b"\x80\x81"] {
        let file = place.file("other", bytes);
        let (code, _, err) = place.run(&["lodctr", &format!("/R:{file}")]);
        assert!(code == 7 && err.contains("lodctr /S"), "{code} {err}");
    }
    assert_eq!(place.ok(&["lodctr", "/Q"]), before);
}

#[test]
fn libraries_that_can_not_be_loaded_are_reported() {
    let place = Place::new();
    let missing = place.0.join("with blanks").join("libone.so").display().to_string();
    let functions = ["--open", "Open", "--collect", "Collect", "--close", "Close"];
    let add = |service: &str, options: &[&str]| {
        let file = place.ini(service, 1);
        let (code, _, err) = place.run(&[&["provider", "add", &file], options].concat());
        assert_eq!(code, 0, "{err}");
        err
    };
    let told = add("One", &[&["--library", &missing][..], &functions].concat());
    assert!(told.contains(&format!("{missing} does not exist yet")) && !told.contains("--open"), "{told}");
    let there = place.file("libtwo.so", "");
    let told = add("Two", &["--library", &there, "--open", "Open"]);
    assert!(
        told.contains("Two is not loaded without its three functions") && !told.contains("does not exist")
    );
    let told = add("Three", &[&["--library", &there][..], &functions].concat());
    assert_eq!(told.lines().count(), 1, "{told}");
    assert_eq!(add("Four", &[]).lines().count(), 1, "names alone are no fault");
}
