//! The .NET profiler's command, as far as it goes without a runtime; the profiler itself is tested in its own
//! crate.

use super::support::{Folder, has, tally};

#[test]
fn a_program_without_dotnet_leaves_no_profile() {
    let folder = Folder::new();
    let ran = tally(&["prof", "run", "--output", &folder.file("%p.prof"), "--", "true"]);
    assert_eq!((ran.code, ran.out.as_str()), (Some(4), ""), "{}", ran.err);
    has(&ran.err, &["true left no profile in", ".prof", "not a .NET program"]);
    // Who runs a program by this command gets its exit code all the same.
    for (script, code) in [("exit 150", 150), ("exit 1", 1), ("exit 255", 255), ("kill -KILL $$", 137)] {
        let ran = tally(&["prof", "run", "--output", &folder.file("%p.prof"), "--", "sh", "-c", script]);
        assert_eq!((ran.code, ran.out.as_str()), (Some(code), ""), "{}", ran.err);
        has(&ran.err, &["sh left no profile in", "not a .NET program", "the program ended: "]);
    }
    let missing = folder.file("no-such-program");
    has(&tally(&["prof", "run", "--", &missing]).words(3), &["no-such-program"]);
}

#[test]
fn files_that_are_not_profiles_are_refused() {
    let folder = Folder::new();
    let file = folder.write("x.prof", &[7; 5000]);
    for arguments in [&["prof", "tree", &file][..], &["prof", "export", &file], &["prof", "on", &file]] {
        has(&tally(arguments).words(7), &["x.prof", "byte", "needed"]);
    }
    for arguments in
        [&["prof", "tree", "/nowhere/x"][..], &["prof", "off", "/nowhere/x"], &["prof", "on", "4194305"]]
    {
        tally(arguments).words(3);
    }
    tally(&["prof", "run"]).words(2);
    tally(&["prof", "run", "--size", "1", "--", "true"]).words(2);
}

#[test]
fn what_can_not_be_sampled_is_refused() {
    let folder = Folder::new();
    let file = folder.file("x.nettrace");
    // No process has this id.
    has(
        &tally(&["prof", "sample", "4194305", "-o", &file]).words(3),
        &["process 4194305 has no diagnostics socket", "DOTNET_EnableDiagnostics=0"],
    );
    has(
        &tally(&["prof", "sample", "no such program", "-o", &file]).words(3),
        &["\"no such program\"", "'tally prof list' shows all"],
    );
    assert!(!std::path::Path::new(&file).exists());
    tally(&["prof", "sample", "1", "--duration", "x"]).words(2);
    let damaged = folder.write("damaged.nettrace", b"Nettrace\x14\0\0\0!FastSerialization.2");
    has(&tally(&["prof", "tree", &damaged]).words(7), &["damaged.nettrace", "byte 8", "serialization"]);
    // A whole stream without a sample.
    let mut empty =
        b"Nettrace\x14\0\0\0!FastSerialization.1\x05\x05\x01\x04\0\0\0\x04\0\0\0\x05\0\0\0Trace\x06".to_vec();
    empty.extend([0; 16]);
    for number in [1000u64, 1_000_000] {
        empty.extend(number.to_le_bytes());
    }
    for number in [8u32, 77, 2, 0] {
        empty.extend(number.to_le_bytes());
    }
    empty.extend([6, 1]);
    let empty = folder.write("empty.nettrace", &empty);
    has(&tally(&["prof", "tree", &empty]).words(4), &["empty.nettrace", "no samples of threads"]);
}

/// A profile of this process without any call, made by the numbers of the format.
pub(crate) fn empty_profile() -> Vec<u8> {
    let mut bytes = vec![0; 4096];
    bytes[..8].copy_from_slice(b"TLMPROF\0");
    let sizes = [(8, 1u32), (12, 4096), (16, 64), (20, 128), (24, 64), (28, 256)];
    for (at, value) in sizes.into_iter().chain([(152, std::process::id()), (156, 1), (172, 1)]) {
        bytes[at..at + 4].copy_from_slice(&value.to_le_bytes());
    }
    bytes
}

#[test]
fn every_export_format_works_for_an_empty_profile() {
    let folder = Folder::new();
    let file = folder.write("x.prof", &empty_profile());
    for form in ["speedscope", "chrome", "firefox", "json"] {
        let json = tally(&["prof", "export", "--format", form, &file]).json();
        assert!(json.is_object(), "{form}");
    }
    has(&tally(&["prof", "export", "--format", "callgrind", &file]).data(), &["events: ns", "totals: 0"]);
    has(&tally(&["prof", "status", &file]).data(), &["hooks    on", "program  running", "methods  0 seen"]);
    has(&tally(&["prof", "top", "--count", "1", "--interval", "50ms", &file]).data(), &["CALLS/S"]);
    has(&tally(&["prof", "diff", &file, &file]).data(), &["(all methods)"]);
    let page = folder.file("x.html");
    assert_eq!(tally(&["prof", "report", &file, "--output", &page]).data(), "");
    let page = std::fs::read_to_string(page).unwrap();
    has(&page, &["<!DOCTYPE html>", "\"pid\":", "</html>"]);
    has(&tally(&["prof", "report", &file, "--output", "/nowhere/x.html"]).words(3), &["/nowhere/x.html"]);
}

#[test]
fn a_program_ends_after_its_time() {
    let folder = Folder::new();
    let ran = tally(&["prof", "run", "--duration", "100ms", "-o", &folder.file("%p"), "--", "sleep", "600"]);
    // Without the limit nobody would wait for it.
    assert_eq!(ran.code, Some(4), "it is no .NET program: {}", ran.err);
}
