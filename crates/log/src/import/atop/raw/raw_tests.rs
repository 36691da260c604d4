//! Raw logs in which every field has a value of its own: what is written of them is what atop prints of them.
#![allow(clippy::arithmetic_side_effects, reason = "a test fails by panicking")]

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use flate2::Compression;
use flate2::write::ZlibEncoder;
use tallymon_testkit::{Scratch, peer, skip};

use super::layout::{Layout, Stored};
use super::lines::{Of, Word, lines_of};
use super::*;
use crate::format::Format;
use crate::reader::About;

/// Writes other values into all fields of a structure, and into the first two of each row of structures.
fn fill(layout: &Layout, structure: &str, bytes: &mut [u8], seed: &mut u32) {
    let mut fields: Vec<_> = layout.fields(structure).collect();
    fields.sort_by_key(|(_, place)| place.at);
    for (_, place) in fields {
        let structures = matches!(place.stored, Stored::Structure(_));
        for nth in 0..place.count.min(if structures { 2 } else { usize::MAX }) {
            let at = place.at + nth * place.step;
            let bytes = &mut bytes[at..at + place.step];
            *seed += 1;
            match place.stored {
                Stored::Structure(inner) => fill(layout, inner, bytes, seed),
                Stored::Byte => bytes[0] = 1,
                Stored::Signed(2) => bytes.copy_from_slice(&(*seed as u16 % 9_000).to_le_bytes()),
                Stored::Signed(4) => bytes.copy_from_slice(&(*seed % 90_000).to_le_bytes()),
                Stored::Signed(_) => bytes.copy_from_slice(&(u64::from(*seed) * 37).to_le_bytes()),
                Stored::Float => bytes.copy_from_slice(&(*seed as f32 / 7.0).to_le_bytes()),
                Stored::Text(length) => {
                    let text = format!("n{seed}");
                    bytes[..text.len().min(length)].copy_from_slice(text.as_bytes());
                }
            }
        }
    }
}

fn set(layout: &Layout, structure: &str, path: &str, bytes: &mut [u8], number: i64) {
    let Some(place) = layout.find(structure, path) else { return };
    let length = match place.stored {
        Stored::Byte => 1,
        Stored::Signed(length) => length,
        _ => panic!("{path} is not a number"),
    };
    bytes[place.at..place.at + length].copy_from_slice(&number.to_le_bytes()[..length]);
}

fn packed(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn machine(layout: &Layout) -> Vec<u8> {
    let mut bytes = vec![0; layout.length("system")];
    fill(layout, "system", &mut bytes, &mut 0);
    for path in ["cpu.count", "cpu.most", "interface.count", "node_memory.count", "node_processor.count"] {
        set(layout, "system", path, &mut bytes, 2);
    }
    for path in ["nfs.count", "graphics.count", "port.count", "cache.count"] {
        set(layout, "system", path, &mut bytes, 2);
    }
    set(layout, "system", "container.count", &mut bytes, 0);
    // Absent on most machines.
    for path in ["mem.balloon", "mem.zfs", "mem.ksm_shared"] {
        set(layout, "system", path, &mut bytes, -1);
    }
    bytes
}

fn tasks(layout: &Layout) -> Vec<u8> {
    let mut all = Vec::new();
    let mut seed = 500;
    for (is_process, state) in [(1, b'S'), (0, b'S'), (1, b'R'), (1, b'E')] {
        let mut bytes = vec![0; layout.length("task")];
        fill(layout, "task", &mut bytes, &mut seed);
        set(layout, "task", "is_process", &mut bytes, is_process);
        set(layout, "task", "state", &mut bytes, i64::from(state));
        set(layout, "task", "gpu_state", &mut bytes, i64::from(b'A'));
        set(layout, "task", "inactive", &mut bytes, 0);
        all.extend(bytes);
    }
    all
}

/// Three control groups: the first one, one in it, and one in that.
fn groups(layout: &Layout) -> (Vec<u8>, usize) {
    let mut all = Vec::new();
    let mut seed = 900;
    let names = [("", -1, 0_i64, 0_i64), ("user.slice", 0, 10, 1), ("job@1", 1, 15, 2)];
    for (place, (name, parent, path, depth)) in names.into_iter().enumerate() {
        let fixed = layout.length("control_group");
        let mut bytes = vec![0; (fixed + name.len() + 1).next_multiple_of(8)];
        fill(layout, "control_group", &mut bytes[..fixed], &mut seed);
        let length = bytes.len() as i64;
        for (field, number) in [
            ("length", length),
            ("place", place as i64),
            ("parent", parent),
            ("depth", depth),
            ("processes", 1),
            ("name_length", name.len() as i64),
            ("path_length", path),
            ("memory_most", -1),
            ("swap_most", -2),
        ] {
            set(layout, "control_group", field, &mut bytes, number);
        }
        bytes[fixed..fixed + name.len()].copy_from_slice(name.as_bytes());
        all.extend(bytes);
    }
    (all, names.len())
}

/// A raw log of this version with two records.
fn raw_log(version: Version) -> Vec<u8> {
    let layout = Layout::of(version);
    let mut file = vec![0; HEADER.into()];
    let mut put = |at: usize, bytes: &[u8]| file[at..at + bytes.len()].copy_from_slice(bytes);
    put(0, &0xfeed_beef_u32.to_le_bytes());
    put(4, &(version | 0x8000).to_le_bytes());
    put(10, &480_u16.to_le_bytes());
    put(12, &96_u16.to_le_bytes());
    put(14, &100_u16.to_le_bytes());
    put(28, &(layout.length("system") as u32).to_le_bytes());
    put(32, &(layout.length("task") as u32).to_le_bytes());
    put(36, b"Linux");
    put(101, b"web01");
    put(436, &4096_u32.to_le_bytes());
    put(440, &SAYS_EACH.to_le_bytes());
    put(456, &(layout.length("control_group") as u32).to_le_bytes());
    let has_groups = version >= 0x20b;
    let (group_bytes, count) = groups(&layout);
    let ids: Vec<u8> = (1..=count as u32).flat_map(u32::to_le_bytes).collect();
    let (system, tasks) = (packed(&machine(&layout)), packed(&tasks(&layout)));
    let (groups, ids) = (packed(&group_bytes), packed(&ids));
    for (nth, first) in [SINCE_START, 0].into_iter().enumerate() {
        let mut record = vec![0; RECORD.into()];
        let mut put = |at: usize, number: u32| record[at..at + 4].copy_from_slice(&number.to_le_bytes());
        put(0, 1_795_444_800 + nth as u32 * 10);
        // With graphics and control groups.
        put(8, u32::from(first | HAS_NETWORK | HAS_DISKS | 0x180) | if has_groups { 3 << 16 } else { 0 });
        put(16, system.len() as u32);
        put(20, tasks.len() as u32);
        put(24, 10);
        put(28, 4);
        for (at, number) in (32..).step_by(4).zip([3, 4, 3, 1, 1, 1, 0, 1, 0, 5]) {
            put(at, number);
        }
        if has_groups {
            put(72, groups.len() as u32);
            put(76, group_bytes.len() as u32);
            put(80, count as u32);
            put(84, ids.len() as u32);
        }
        file.extend(record);
        file.extend(&system);
        file.extend(&tasks);
        if has_groups {
            file.extend(&groups);
            file.extend(&ids);
        }
    }
    file
}

/// The lines that are made of a log, and the damage that is said.
fn lines(log: &[u8]) -> (Vec<String>, Vec<String>) {
    let (mut raw, _) = Raw::open(log, 0).unwrap();
    let mut columns = Columns::new(About::new(Format::Atop));
    let mut lines = Vec::new();
    while let Some(line) = raw.next(&mut columns).unwrap() {
        lines.push(line.text);
    }
    (lines, columns.about.notes.damage.iter().map(|damage| damage.what.clone()).collect())
}

/// Every atop that is here: what to run it with, and its version. `cargo xtask engines` fetches those of
/// other versions of Debian, with the libraries that they need; `TALLYMON_ATOP` names further programs.
fn programs() -> Vec<(Vec<PathBuf>, Version)> {
    if !cfg!(unix) {
        skip("atop is not run from Windows");
        return Vec::new();
    }
    let mut commands: Vec<Vec<PathBuf>> = peer("atop").into_iter().map(|atop| vec![atop]).collect();
    let named = std::env::var_os("TALLYMON_ATOP").unwrap_or_default();
    commands.extend(std::env::split_paths(&named).filter(|path| path.is_file()).map(|path| vec![path]));
    let peers = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/peers");
    for version in ["bullseye", "trixie", "sid"] {
        let root = peers.join(version);
        let libraries = root.join("usr/lib/x86_64-linux-gnu");
        let loader = libraries.join("ld-linux-x86-64.so.2");
        let atop = root.join("usr/bin/atop");
        if atop.is_file() && loader.is_file() {
            commands.push(vec![loader, PathBuf::from("--library-path"), libraries, atop]);
        } else if atop.is_file() {
            commands.push(vec![atop]);
        } else {
            skip(&format!("atop of Debian {version} was not fetched by `cargo xtask engines`"));
        }
    }
    let with_version = commands.into_iter().map(|command| {
        let out = Command::new(&command[0]).args(&command[1..]).arg("-V").output().unwrap();
        let text = String::from_utf8_lossy(&out.stdout).into_owned();
        let version = text.split_whitespace().nth(1).unwrap_or_else(|| panic!("{command:?}: {text} {out:?}"));
        let mut parts = version.split('.').map(|part| part.parse::<Version>().unwrap());
        let (major, minor) = (parts.next().unwrap(), parts.next().unwrap());
        (command, major << 8 | minor)
    });
    with_version.collect()
}

/// The words of a line behind its label, and which of them are only there to fill a place.
fn fillers(version: Version, label: &str, words: &[&str]) -> Vec<bool> {
    let layout = Layout::of(version);
    let all = lines_of(&layout);
    let is_upper = words.get(6) == Some(&"upper");
    let mut line = all.iter().filter(|line| line.label == label);
    let line = line.find(|line| label != "NET" || (line.of == Of::System) == is_upper).unwrap();
    let own = line.words().iter().map(|word| matches!(word, Word::Just(_)));
    let before = match line.of {
        Of::Task => 9,
        Of::ControlGroup => 8,
        Of::System | Of::Each(..) => 6,
    };
    std::iter::repeat_n(false, before).chain(own).collect()
}

#[test]
fn what_is_written_of_every_field_is_what_atop_prints() {
    let folder = Scratch::new();
    for (command, version) in programs() {
        let log = raw_log(version);
        let path = folder.join("a.raw");
        std::fs::write(&path, &log).unwrap();
        let mut atop = Command::new(&command[0]);
        atop.args(&command[1..]).arg("-r").arg(&path).args(["-P", "ALL"]).env("TZ", "UTC");
        let out = atop.output().unwrap();
        let printed = String::from_utf8_lossy(&out.stdout).into_owned();
        assert!(
            out.status.success() && !printed.is_empty(),
            "{command:?}: {} {}",
            out.status,
            path.display()
        );
        let (ours, damage) = lines(&log);
        assert_eq!(damage, Vec::<String>::new());
        let ours: Vec<&str> =
            ours.iter().map(String::as_str).filter(|line| !line.starts_with("tasks ")).collect();
        // Neither lines of threads nor lists of processes are written.
        let layout = Layout::of(version);
        let all = tasks(&layout);
        let id = layout.find("task", "id").unwrap();
        let thread = Memory { bytes: &all[layout.length("task")..] }.number(id).to_string();
        let is_thread = |line: &&str| line.starts_with("PR") && line.split(' ').nth(6) == Some(&thread);
        let is_list = |line: &&str| line.starts_with("CGR") && line.split(' ').nth(6) == Some("P");
        let printed: Vec<&str> = printed.lines().filter(|line| !is_thread(line) && !is_list(line)).collect();
        // The control groups come last here.
        let sorted = |mut lines: Vec<String>| {
            lines.sort_by_key(|line| line.split(' ').next().unwrap_or_default().to_owned());
            lines
        };
        let ours = sorted(ours.into_iter().map(str::to_owned).collect());
        let printed = sorted(printed.into_iter().map(str::to_owned).collect());
        let mut compared = 0;
        for (ours, printed) in ours.iter().zip(&printed) {
            let (mine, theirs): (Vec<&str>, Vec<&str>) =
                (ours.split(' ').collect(), printed.split(' ').collect());
            if mine.len() < 6 {
                assert_eq!(ours, printed);
                continue;
            }
            let fillers = fillers(version, mine[0], &mine);
            for (nth, (word, expected)) in mine.iter().zip(&theirs).enumerate() {
                if fillers.get(nth) != Some(&true) {
                    assert_eq!(word, expected, "{version:#x} word {nth}\n{ours}\n{printed}");
                    compared += 1;
                }
            }
        }
        assert_eq!(ours.len(), printed.len(), "{version:#x}: {ours:#?} {printed:#?}");
        assert!(compared > 1_000, "{version:#x}: only {compared} words");
    }
}
