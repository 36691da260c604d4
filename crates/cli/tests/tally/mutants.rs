//! Logs of every format, changed where their structure is, and read through the command: each ends in time,
//! within its memory, with an exit code of ours and with words for a failure.
//!
//! The seed is fixed, so a failure repeats. `TALLYMON_MUTANTS` is the number of mutants of each format.

use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use tallymon_testkit::peer;
use tallymon_testkit::raw::Random;

use super::support::{Folder, TALLY, clean, tally};

/// Mutants of each format, if nothing else is asked for.
const MUTANTS: u64 = 15;

/// Far more than a small log needs. Only a reader that loops takes as long.
const DEADLINE: Duration = Duration::from_secs(60);

/// Address space in KiB: a reader that allocates by a number of the file ends here.
const MEMORY: u32 = 2 << 20;

/// Numbers that lengths, counts and offsets are replaced by.
const NUMBERS: [u64; 12] =
    [0, 1, 2, 7, 0x7f, 0xff, 0x7fff, 0xffff, 0x7fff_ffff, 0x8000_0000, 0xffff_ffff, 0x7fff_ffff_ffff_ffff];

/// What the cell of a text log is replaced by.
const CELLS: [&str; 16] = [
    "",
    " ",
    "-1",
    "nan",
    "inf",
    "1e999",
    "-1e-999",
    "99999999999999999999999999",
    "0x10",
    "1,5",
    "\"",
    "\"\"",
    "a\nb",
    "02/30/2026 25:61:61.999",
    "13/45/99999 00:00:00.000",
    r"\\h\a(b\c",
];

/// A lake is a folder: what becomes a mutant is a file of its log, or one with values.
const LAKE: [&str; 2] = ["lake-log.json", "lake-part"];

fn is_text(format: &str) -> bool {
    ["csv", "tsv", "json", ".txt", ".nmon"].iter().any(|end| format.ends_with(end))
}

/// One more change of a file, by the kind of its format.
fn mutate(bytes: &mut Vec<u8>, is_text: bool, random: &mut Random) {
    if bytes.is_empty() {
        return;
    }
    if is_text {
        return mutate_text(bytes, random);
    }
    let length = bytes.len() as u64;
    let at = random.below(length) as usize;
    match random.below(8) {
        // A field that may be a length, a count or an offset: it holds a small number, in either byte order.
        0..=3 => {
            let width = [2, 4, 8][random.below(3) as usize];
            let big = random.below(4) == 0;
            let number = |bytes: &[u8]| {
                let fold = |number: u64, byte: &u8| number << 8 | u64::from(*byte);
                if big { bytes.iter().fold(0, fold) } else { bytes.iter().rev().fold(0, fold) }
            };
            let is_field = |at: &usize| {
                bytes.get(*at..at + width).is_some_and(|field| (1..=length).contains(&number(field)))
            };
            let Some(at) = (at & !1..bytes.len()).step_by(2).find(is_field) else { return };
            let old = number(&bytes[at..at + width]);
            let new = match random.below(4) {
                0 => old.wrapping_add(1),
                1 => old.wrapping_sub(1),
                2 => length.wrapping_add(random.below(3)).wrapping_sub(1),
                _ => NUMBERS[random.below(NUMBERS.len() as u64) as usize],
            };
            let raw = if big { new.to_be_bytes() } else { new.to_le_bytes() };
            let part = if big { &raw[8 - width..] } else { &raw[..width] };
            bytes[at..at + width].copy_from_slice(part);
        }
        // A part is gone, comes twice, or comes elsewhere.
        4 => drop(bytes.drain(at..(at + random.below(4096) as usize).min(length as usize))),
        5 => {
            let part = bytes[at..(at + random.below(4096) as usize).min(length as usize)].to_vec();
            bytes.splice(at..at, part);
        }
        6 => bytes.truncate(at),
        _ => bytes[at] ^= 1 << random.below(8),
    }
}

fn mutate_text(bytes: &mut Vec<u8>, random: &mut Random) {
    let text = String::from_utf8_lossy(bytes).into_owned();
    // Reports are columns of words.
    let count = |separator: &char| text.matches(*separator).count();
    let separator = ['\t', ',', ' '].into_iter().max_by_key(count).unwrap_or(',');
    let mut rows: Vec<Vec<String>> =
        text.lines().map(|line| line.split(separator).map(str::to_owned).collect()).collect();
    let row = random.below(rows.len().max(1) as u64) as usize;
    let Some(cells) = rows.get_mut(row).filter(|cells| !cells.is_empty()) else { return };
    let cell = random.below(cells.len() as u64) as usize;
    match random.below(9) {
        0..=2 => {
            let new = CELLS[random.below(CELLS.len() as u64) as usize];
            cells[cell] = if random.below(2) == 0 { new.to_owned() } else { format!("\"{new}\"") };
        }
        3 => drop(cells.remove(cell)),
        4 => {
            let again = cells[cell].clone();
            cells.resize(cells.len() + random.below(200) as usize, again);
        }
        5 => drop(rows.remove(row)),
        6 => {
            let other = random.below(rows.len() as u64) as usize;
            rows.swap(row, other);
        }
        7 => cells[cell] = "x".repeat(1 << 16),
        _ => {
            *bytes = text.encode_utf16().flat_map(u16::to_le_bytes).collect();
            return;
        }
    }
    let lines: Vec<String> = rows.iter().map(|cells| cells.join(&separator.to_string())).collect();
    *bytes = lines.join("\r\n").into_bytes();
}

/// Runs the command with little memory; `None` when it does not end.
fn run(arguments: &[&str], folder: &Folder) -> Option<(ExitStatus, Vec<u8>)> {
    let err = folder.file("err");
    let mut command: Command = clean("sh");
    let script = format!("ulimit -v {MEMORY} && exec \"$0\" \"$@\"");
    command.args(["-c", &script, TALLY]).args(arguments);
    command.stdout(Stdio::null()).stderr(fs::File::create(&err).unwrap());
    let mut child = command.spawn().unwrap();
    let end = Instant::now() + DEADLINE;
    loop {
        if let Some(status) = child.try_wait().unwrap() {
            return Some((status, fs::read(&err).unwrap()));
        }
        if Instant::now() > end {
            child.kill().unwrap();
            child.wait().unwrap();
            return None;
        }
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// Packed logs, and the programs that pack them.
const PACKED: [(&str, &str); 3] = [("gz", "gzip"), ("xz", "xz"), ("zst", "zstd")];

/// Logs of other collectors, as they wrote them.
fn imported() -> &'static str {
    concat!(env!("CARGO_MANIFEST_DIR"), "/../log/fixtures/import")
}

/// An archive of PCP has its names and its values in two files; the other one is sound.
fn sound_part(format: &str, folder: &Folder) {
    let other = match format {
        "pcp-v3.meta" => "pcp-v3.0",
        "pcp-v3.0" => "pcp-v3.meta",
        _ => return,
    };
    fs::copy(format!("{}/{other}", imported()), folder.file(&format!("mutant.{other}"))).unwrap();
}

/// The file of the lake that a mutant of this kind replaces.
fn file_of_lake(format: &str, folder: &Folder) -> std::path::PathBuf {
    fn below(folder: &std::path::Path, files: &mut Vec<std::path::PathBuf>) {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() { below(&path, files) } else { files.push(path) }
        }
    }
    let mut files = Vec::new();
    below(folder.file("sound.lake").as_ref(), &mut files);
    files.sort();
    let end = if format == "lake-part" { ".parquet" } else { "1.json" };
    files.into_iter().find(|file| file.to_str().unwrap().ends_with(end)).unwrap()
}

/// Sound logs of every format: all counters of a few objects, recorded for some rows.
fn originals(folder: &Folder) -> Vec<(&'static str, Vec<u8>)> {
    let native = folder.file("sound.tally");
    let paths = [r"\Processor(*)\*", r"\Memory\*", r"\System\*"];
    let recorded = tally(&[&["watch", "-i", "10ms", "-c", "12", "-o", &native], &paths[..]].concat());
    assert_eq!(recorded.code, Some(0), "{}", recorded.err);
    let mut formats = vec!["tally", "blg", "csv", "tsv", "json"];
    formats.extend(cfg!(feature = "sqlite").then_some("sqlite"));
    formats.extend(cfg!(feature = "parquet").then_some("parquet"));
    if cfg!(feature = "parquet") {
        let lake = folder.file("sound.lake");
        let made = tally(&["relog", &native, "-f", "lake", "-o", &lake]);
        assert_eq!(made.code, Some(0), "{}", made.err);
        formats.extend(LAKE);
    }
    // Of other collectors, as they wrote them.
    const IMPORTED: [&str; 16] = [
        "sysstat-10.0.5.sa",
        "sysstat-11.6.1.sa",
        "sysstat-12.6.1.sa",
        "vmstat.txt",
        "iostat.txt",
        "mpstat.txt",
        "pidstat.txt",
        "nmon.nmon",
        "atop-2.8.1.raw",
        "atop-2.8.1.txt",
        "collectl.txt",
        "collectl-processes.txt",
        "perf.csv",
        "promtool.txt",
        "pcp-v3.meta",
        "pcp-v3.0",
    ];
    let imported = imported();
    formats.extend(IMPORTED);
    formats.extend(
        cfg!(feature = "compressed").then_some(PACKED.map(|(format, _)| format)).into_iter().flatten(),
    );
    let read = |format: &'static str| {
        if IMPORTED.contains(&format) {
            return (format, fs::read(format!("{imported}/{format}")).unwrap());
        }
        if LAKE.contains(&format) {
            return (format, fs::read(file_of_lake(format, folder)).unwrap());
        }
        if let Some((_, program)) = PACKED.iter().find(|(packed, _)| *packed == format) {
            let Some(program) = peer(program) else { return (format, Vec::new()) };
            let packed = Command::new(program).arg("-c").arg(folder.file("sound.blg")).output().unwrap();
            assert!(packed.status.success(), "{format}: {}", String::from_utf8_lossy(&packed.stderr));
            return (format, packed.stdout);
        }
        let log = folder.file(&format!("sound.{format}"));
        if format != "tally" {
            assert_eq!(tally(&["relog", &native, "-o", &log]).code, Some(0), "{format}");
        }
        (format, fs::read(log).unwrap())
    };
    formats.into_iter().map(read).collect()
}

#[test]
fn mutants_of_every_log_end_in_words() {
    let folder = Folder::new();
    let count = std::env::var("TALLYMON_MUTANTS").map_or(MUTANTS, |count| count.parse().unwrap());
    let mut codes = std::collections::BTreeMap::<(&str, i32), u64>::new();
    for (format, original) in originals(&folder) {
        let mut random = Random::new(20);
        sound_part(format, &folder);
        for number in 0..count {
            let mut bytes = original.clone();
            for _ in 0..=random.below(4) {
                mutate(&mut bytes, is_text(format), &mut random);
            }
            let log = if LAKE.contains(&format) {
                fs::write(file_of_lake(format, &folder), &bytes).unwrap();
                folder.file("sound.lake")
            } else {
                folder.write(&format!("mutant.{format}"), &bytes)
            };
            let out = folder.file(["out.csv", "out.tally", "out.blg"][random.below(3) as usize]);
            for arguments in [
                &["info", "--columns", &log][..],
                &["stats", "--json", &log],
                &["relog", &log, "-o", &out],
                &["get", r"\Processor(*)\% Processor Time", "--log", &log],
            ] {
                let kept = || {
                    let place = std::env::temp_dir().join(format!("tallymon-mutant-{number}.{format}"));
                    fs::write(&place, &bytes).unwrap();
                    format!("{arguments:?} of mutant {number}, kept as {}", place.display())
                };
                let Some((status, err)) = run(arguments, &folder) else { panic!("no end: {}", kept()) };
                let err = String::from_utf8(err).unwrap_or_else(|_| panic!("no UTF-8: {}", kept()));
                assert_eq!(status.signal(), None, "{}: {err}", kept());
                let code = status.code().unwrap();
                assert!((0..=7).contains(&code) && !err.contains("panicked"), "{code}: {}: {err}", kept());
                // Why a value is missing is said in its place.
                let says = arguments[0] == "info" || (arguments[0] == "get" && code == 4);
                assert!(code == 0 || !err.is_empty() || says, "no words: {}", kept());
                *codes.entry((format, code)).or_default() += 1;
                // A copy that failed left nothing, and one that was written can be read.
                if arguments[0] == "relog" && fs::exists(&out).unwrap() {
                    let (status, err) = run(&["info", &out], &folder).unwrap();
                    let err = String::from_utf8_lossy(&err).into_owned();
                    assert_eq!(status.code(), Some(0), "the copy: {}: {err}", kept());
                    fs::remove_file(&out).unwrap();
                }
            }
        }
        if LAKE.contains(&format) {
            fs::write(file_of_lake(format, &folder), &original).unwrap();
        }
    }
    // Some mutants are still sound, and some are not: both kinds were tried.
    eprintln!("exit codes: {codes:?}");
    for format in ["tally", "blg", "csv", "sysstat-12.6.1.sa", "nmon.nmon"] {
        assert!(codes.keys().any(|(of, code)| *of == format && *code == 7), "{format}: {codes:?}");
    }
}
