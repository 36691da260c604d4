//! Saved data blocks: `dump`, `--raw`, `--file`.

use std::fs;

use super::support::{AVAILABLE, Folder, PROCESSOR_TIME, has, tally, tally_with};
use tallymon_testkit::{shared, skip};

/// A block of this machine in a file.
fn saved(folder: &Folder) -> String {
    let file = folder.file("block.bin");
    assert_eq!(tally(&["dump", "--raw", &file]).data(), "");
    file
}

#[test]
fn dump_names_every_field() {
    let out = tally(&["dump"]).data();
    has(
        &out,
        &[
            "PERF_DATA_BLOCK at 0",
            "TotalByteLength",
            "PerfTime100nSec",
            "PERF_OBJECT_TYPE at ",
            ": Processor\n",
            "PERF_100NSEC_TIMER_INV % Processor Time",
            "instance at ",
            "\"_Total\"",
            "PERF_COUNTER_BLOCK at ",
        ],
    );
    // The length in the header is the length of the bytes.
    let folder = Folder::new();
    let bytes = fs::read(saved(&folder)).unwrap();
    assert_eq!(bytes.get(..8), Some(&b"P\0E\0R\0F\0"[..]));
    let length = u32::from_le_bytes(bytes[20..24].try_into().unwrap());
    assert_eq!(usize::try_from(length).unwrap(), bytes.len());
}

#[test]
fn dump_takes_queries() {
    for query in ["238", "238 4", "  238  "] {
        let out = tally(&["dump", query]).data();
        has(&out, &[": Processor\n"]);
        assert_eq!(out.contains(": Memory\n"), query == "238 4", "{out}");
    }
    // A query that nothing answers is an empty block, as on Windows.
    let out = tally(&["dump", "99998"]).data();
    has(&out, &["NumObjectTypes    0"]);
    has(&tally(&["dump", "bogus"]).words(2), &["bogus", "Global", "nor a file"]);
}

#[test]
fn dump_prints_the_names() {
    let out = tally(&["dump", "Counter 009"]).data();
    has(&out, &["2\tSystem\n", "6\t% Processor Time\n", "238\tProcessor\n"]);
    has(&tally(&["dump", "Counter 012"]).data(), &["238\tProcessor\n"]);
    has(&tally(&["dump", "Counter 019"]).data(), &["238\tПроцессор\n"]);
    has(&tally(&["dump", "Counter"]).data(), &["238\tProcessor\n"]);
    let out = tally(&["dump", "Help 019"]).data();
    assert!(
        out.lines().all(|line| line.split('\t').next().unwrap().parse::<u32>().unwrap() % 2 == 1),
        "{out}"
    );
    // As bytes they are pairs of UTF-16 texts with a zero behind each.
    let folder = Folder::new();
    let file = folder.file("names.bin");
    tally(&["dump", "Counter 009", "--raw", &file]).data();
    let bytes = fs::read(file).unwrap();
    let units: Vec<u16> = bytes.chunks(2).map(|pair| u16::from_le_bytes(pair.try_into().unwrap())).collect();
    let text = String::from_utf16(&units).unwrap();
    assert!(text.contains("\x00238\0Processor\0") && text.ends_with("\0\0"));
}

#[test]
fn a_saved_block_is_a_source() {
    let folder = Folder::new();
    let file = saved(&folder);
    has(&tally(&["list", "--file", &file]).data(), &["Memory", "Processor", "System"]);
    has(&tally(&["list", "Processor", "--instances", "--file", &file]).data(), &[r"\Processor(_Total)"]);
    has(&tally(&["find", "available", "--file", &file]).data(), &[AVAILABLE]);
    // The same value however often it is asked for.
    let value = tally(&["get", AVAILABLE, "--file", &file, "--plain"]).data();
    assert!(value.trim().parse::<u64>().is_ok_and(|value| value > 0), "{value}");
    assert_eq!(tally(&["get", AVAILABLE, "--file", &file, "--plain"]).data(), value);
    assert_eq!(tally(&["dump", &file]).data(), tally(&["dump", "--file", &file]).data());
    // The report has the time of the block, so it is the same too.
    let report = tally(&["--file", &file]);
    has(&report.out, &[AVAILABLE]);
    assert_eq!(tally(&["--file", &file]).out, report.out);
}

#[test]
fn a_file_has_one_sample() {
    let folder = Folder::new();
    let file = saved(&folder);
    // It does not wait for another either: the test would take an hour.
    let ran = tally(&["get", PROCESSOR_TIME, "--file", &file, "--interval", "1h"]);
    assert_eq!(ran.code, Some(4));
    has(&ran.out, &["a second sample is needed"]);
    has(&tally(&["watch", AVAILABLE, "--file", &file]).words(2), &["does not change"]);
}

#[test]
fn a_block_of_windows_is_a_source() {
    let Some(file) = shared("blocks/s00_obj230.bin") else { return };
    let file = file.to_str().unwrap();
    has(&tally(&["list", "--file", file]).data(), &["Process"]);
    let instances = tally(&["list", "Process", "--instances", "--file", file]).data();
    has(
        &instances,
        &["\\Process(Idle)\n", "\\Process(svchost)\n", "\\Process(svchost#1)\n", "\\Process(_Total)\n"],
    );
    let id = tally(&["get", r"\Process(System)\ID Process", "--file", file, "--plain"]).data();
    assert_eq!(id, "4\n");
    has(&tally(&["dump", file]).data(), &["PERF_OBJECT_TYPE at ", ": Process\n", "\"svchost\""]);
    // What the file does not have is not found, and none of the default counters is in it.
    has(&tally(&["get", AVAILABLE, "--file", file]).words(3), &[r#"no object "Memory""#]);
    has(&tally(&["--file", file]).words(3), &["none of the default counters", "tally list --file"]);
}

#[test]
fn a_damaged_block_names_file_and_byte() {
    let folder = Folder::new();
    let bytes = fs::read(saved(&folder)).unwrap();
    let cut = folder.write("cut.bin", bytes.get(..300).unwrap());
    let empty = folder.write("empty.bin", b"");
    let text = folder.write(
        "text.bin",
        b"This is not a data block, but it is long enough to be taken for one by somebody careless.......",
    );
    for file in [&cut, &empty, &text] {
        for arguments in [
            &["list", "--file", file][..],
            &["get", AVAILABLE, "--file", file],
            &["dump", file],
            &["--file", file],
        ] {
            has(&tally(arguments).words(7), &[file.as_str(), "not a valid data block", "at byte 0"]);
        }
    }
    // A length inside that is wrong: what comes before the fault is printed.
    let mut wrong = bytes.clone();
    let second = 96 + usize::try_from(u32::from_le_bytes(bytes[96..100].try_into().unwrap())).unwrap();
    wrong[second + 4..second + 8].copy_from_slice(&[0xff; 4]);
    let wrong = folder.write("wrong.bin", &wrong);
    let ran = tally(&["dump", &wrong]);
    assert_eq!(ran.code, Some(7), "{}", ran.err);
    has(&ran.out, &["PERF_DATA_BLOCK at 0", "PERF_OBJECT_TYPE at 96"]);
    has(&ran.err, &[wrong.as_str(), "not a valid data block", "at byte "]);
    has(&tally(&["list", "--file", &wrong]).words(7), &["at byte "]);
}

#[test]
fn any_byte_of_a_block_may_be_damaged() {
    let folder = Folder::new();
    let bytes = fs::read(saved(&folder)).unwrap();
    // A few places of every kind of structure; the library's own tests try all of them. The block is as long
    // as this machine has objects.
    for at in (0..bytes.len()).step_by((bytes.len() / 300).max(97)) {
        let mut wrong = bytes.clone();
        wrong[at] ^= 0xff;
        let file = folder.write("wrong.bin", &wrong);
        let ran = tally(&["dump", &file]);
        assert!(matches!(ran.code, Some(0 | 7)), "byte {at}: {:?} {}", ran.code, ran.err);
    }
}

#[test]
fn missing_files_and_folders_are_errors() {
    let folder = Folder::new();
    let missing = folder.file("missing.bin");
    has(&tally(&["list", "--file", &missing]).words(3), &[&missing, "No such file"]);
    let folder_path = folder.path().to_str().unwrap();
    has(&tally(&["list", "--file", folder_path]).words(1), &[folder_path, "directory"]);
    has(&tally(&["dump", "--raw", &folder.file("no/such/folder")]).words(3), &["no/such/folder"]);
}

#[test]
fn files_without_read_permission_are_errors() {
    let folder = Folder::new();
    let file = saved(&folder);
    fs::set_permissions(&file, std::os::unix::fs::PermissionsExt::from_mode(0o000)).unwrap();
    let ran = if fs::File::open(&file).is_ok() {
        // Root may read everything, so this has to be somebody else.
        let Some(nobody) = super::environment::nobody() else {
            skip("no right to become another user");
            return;
        };
        super::support::ran(nobody.command(&["list", "--file", &file]).output().unwrap())
    } else {
        tally(&["list", "--file", &file])
    };
    has(&ran.words(5), &[&file, "ermission denied"]);
}

#[test]
fn a_block_keeps_the_language_of_the_user() {
    let folder = Folder::new();
    let file = saved(&folder);
    let ran = tally_with(&["list", "--file", &file], |command| {
        command.env("LC_ALL", "ru_RU.UTF-8");
    });
    has(&ran.data(), &["Память", "Процессор"]);
}

#[test]
fn compressed_logs_are_read_and_leave_nothing_behind() {
    let Some(xz) = tallymon_testkit::peer("xz") else { return };
    let folder = Folder::new();
    let rows = (0..60).map(|row| format!("\"01/31/2026 12:00:{row:02}.000\",\"{row}\"\n"));
    let text = String::from("\"(PDH-CSV 4.0) (UTC)(0)\",\"\\\\S\\Memory\\Available MBytes\"\n")
        + &rows.collect::<String>();
    let plain = folder.write("plain.csv", text.as_bytes());
    let packed = std::process::Command::new(xz).arg("-c").arg(&plain).output().unwrap().stdout;
    let log = folder.write("plain.csv.xz", &packed);
    let room = folder.file("room");
    std::fs::create_dir(&room).unwrap();
    let own = |command: &mut std::process::Command| {
        command.env("TMPDIR", &room);
    };
    for arguments in [&["stats"][..], &["relog"], &["analyze"]] {
        let (expected, ran) =
            (tally(&[arguments, &[&plain]].concat()), tally_with(&[arguments, &[&log]].concat(), own));
        assert_eq!(
            (ran.code, ran.out.replace("plain.csv.xz", "plain.csv")),
            (Some(0), expected.out),
            "{}",
            ran.err
        );
    }
    let info = tally_with(&["info", &log], own).data();
    has(&info, &[&format!("size  {} bytes", packed.len()), "records  60, "]);
    assert_eq!(std::fs::read_dir(&room).unwrap().count(), 0);
    let nowhere = |command: &mut std::process::Command| {
        command.env("TMPDIR", folder.file("nowhere"));
    };
    let ran = tally_with(&["stats", &log], nowhere);
    assert_eq!(ran.code, Some(1));
    has(
        &ran.err,
        &["plain.csv.xz: its unpacked form does not fit into ", "nowhere", "unpack it with 'unxz'"],
    );
    // Cut: what is there is shown, and the damage is said.
    let cut = folder.write("cut.csv.xz", &packed[..packed.len() - 8]);
    let ran = tally_with(&["stats", &cut], own);
    assert_eq!(ran.code, Some(7), "{}", ran.err);
    has(&ran.err, &["the compressed file is damaged"]);
}
