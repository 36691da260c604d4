//! Text logs as `esxtop -b` of VMware's hosts writes them, with its oddities: all values are there, each in
//! its column, without a word of damage.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

use std::collections::HashMap;

use tallymon_log::relog::{Options, relog};
use tallymon_log::{About, Format, ReadOptions, Record, open, read_bytes};
use tallymon_testkit::Scratch;

/// Columns of a host, as its paths say them behind the name of the host.
const COLUMNS: [&str; 10] = [
    r"Memory\Memory Overcommit (1 Minute Avg)",
    r"Physical Cpu(_Total)\% Util Time",
    r"Group Cpu(1302698:web (old), copy)\% Used",
    r"Vcpu(1302698:web (old), copy:444774:vmx-vcpu-0:web (old), copy)\% Ready",
    r"Group Cpu(1302698:web (old), copy)\Effective Min (MHz)",
    r"Network Port(vSwitch0:33554449:444768:web (old), copy)\Average Packet Size  Received (Bytes)",
    r"Virtual Disk(web:scsi0:0)\Average MilliSec/Read",
    r"Physical Disk SCSI Device(t10.ATA_____DREVO_X1_SSD____________________________TW17________)\Aborts/sec",
    r"Group Memory(1302698:web)\Memctl?",
    r"Interrupt Cookie(0x0:CPU0)\Interrupts/second",
];
/// States of a processor; the last one has no name, and no comma behind it.
const STATES: [&str; 3] = ["%C-State C0", "%P-State P15", "%T-State T7"];

/// A log of a host with some processors. `wide` adds columns of worlds.
fn log(host: &str, processors: usize, wide: usize, rows: usize) -> String {
    let mut text = String::from("\"(PDH-CSV 4.0) (UTC)(0)\"");
    for column in COLUMNS {
        text.push_str(&format!(",\"\\\\{host}\\{column}\""));
    }
    for world in 0..wide {
        text.push_str(&format!(",\"\\\\{host}\\Vcpu(1:system:{}:idle{world})\\% Used\"", 65537 + world));
    }
    for processor in 0..processors {
        for (at, state) in STATES.iter().enumerate() {
            let comma = if processor > 0 && at == 0 { "" } else { "," };
            text.push_str(&format!("{comma}\"\\\\{host}\\PCPU Power State(PCPU {processor})\\{state}\""));
        }
        text.push_str(",   -");
    }
    text.push('\n');
    for row in 0..rows {
        text.push_str(&format!("\"04/26/2018 14:{:02}:{:02}\"", row / 12, row % 12 * 5));
        let values = (0..COLUMNS.len() + wide).map(|column| format!(",\"{}.{row:02}\"", column + 1));
        text.extend(values);
        for processor in 0..processors {
            for at in 0..STATES.len() {
                let comma = if processor > 0 && at == 0 { "" } else { "," };
                text.push_str(&format!("{comma}\"{processor}{at}.{row:02}\""));
            }
            text.push_str(&format!(",{:>8}", format!("{}.5", 70 + processor)));
        }
        text.push('\n');
    }
    text
}

fn read(bytes: &[u8]) -> (About, Vec<Record>) {
    let mut log = read_bytes(bytes, &ReadOptions::default()).unwrap();
    let mut records = Vec::new();
    while let Some(record) = log.next_record().unwrap() {
        records.push(record);
    }
    (log.about().clone(), records)
}

fn number(record: &Record, about: &About, path: &str) -> f64 {
    let column = about.columns.iter().position(|column| column.path == path);
    f64::from_bits(record.cells[column.unwrap_or_else(|| panic!("no {path}"))].unwrap().first)
}

#[test]
fn columns_without_a_name_and_a_comma_are_columns() {
    let (about, records) = read(log("esx01.example.com", 4, 0, 3).as_bytes());
    assert_eq!((about.columns.len(), records.len()), (COLUMNS.len() + 4 * 4, 3));
    assert_eq!((about.notes.damage_count, about.caption.as_deref()), (0, None), "{:?}", about.notes);
    assert!(about.notes.remarks.iter().any(|remark| remark.contains("aperf/mperf")), "{:?}", about.notes);
    assert!(about.columns.iter().all(|column| column.parts.is_some()), "{:?}", about.columns);
    for (row, record) in records.iter().enumerate() {
        for processor in 0..4 {
            let path =
                |name: &str| format!("\\\\esx01.example.com\\PCPU Power State(PCPU {processor})\\{name}");
            let first: f64 = format!("{processor}0.{row:02}").parse().unwrap();
            assert_eq!(number(record, &about, &path("%C-State C0")), first);
            assert_eq!(number(record, &about, &path("% of aperf/mperf")), 70.5 + processor as f64);
        }
        assert!(record.cells.iter().all(Result::is_ok));
    }
}

#[test]
fn instances_may_have_any_sign_of_a_name() {
    for (name, latin) in [("web (old), copy", false), ("Zürich & Söhne #2", true), ("サーバー", false)]
    {
        let text = log("esx", 2, 0, 2).replace("web (old), copy", name);
        let bytes = match latin {
            true => text.chars().map(|letter| u8::try_from(u32::from(letter)).unwrap()).collect(),
            false => text.into_bytes(),
        };
        let (about, records) = read(&bytes);
        assert_eq!((records.len(), about.notes.damage_count), (2, 0), "{:?}", about.notes);
        let parts = about.columns[3].parts.as_ref().unwrap();
        let instance = parts.instance.as_ref().unwrap().to_string();
        assert_eq!(instance, format!("1302698:{name}:444774:vmx-vcpu-0:{name}"));
        assert_eq!(
            (parts.object.to_string().as_str(), parts.counter.to_string().as_str()),
            ("Vcpu", "% Ready")
        );
        assert_eq!(about.columns[4].parts.as_ref().unwrap().counter.to_string(), "Effective Min (MHz)");
        assert_eq!(number(&records[1], &about, &about.columns[3].path), 4.01);
    }
}

#[test]
fn twenty_thousand_columns_go_through_every_format() {
    let folder = Scratch::new();
    let path = folder.join("esxtop.csv");
    std::fs::write(&path, log("esx", 64, 20_000, 2)).unwrap();
    let expected = read(&std::fs::read(&path).unwrap());
    assert_eq!((expected.0.columns.len(), expected.0.notes.damage_count), (COLUMNS.len() + 20_000 + 256, 0));
    for format in [Format::Tally, Format::Csv, Format::Blg] {
        let out = folder.join(format!("out.{}", format.info().extension));
        relog(std::slice::from_ref(&path), &out, &Options { format, ..Options::default() }).unwrap();
        let mut log = open(&out, &ReadOptions::default()).unwrap();
        let mut row = 0;
        while let Some(record) = log.next_record().unwrap() {
            // Formats may have another order of columns.
            let found: HashMap<&str, u64> = log
                .about()
                .columns
                .iter()
                .zip(&record.cells)
                .map(|(column, cell)| (column.path.as_str(), cell.unwrap().first))
                .collect();
            for (column, wanted) in expected.0.columns.iter().zip(&expected.1[row].cells) {
                let first = wanted.unwrap().first;
                assert_eq!(found.get(column.path.as_str()), Some(&first), "{format:?}: {}", column.path);
            }
            row += 1;
        }
        assert_eq!(row, 2);
    }
}

#[test]
fn damage_of_such_a_line_is_said() {
    let text = log("esx", 3, 0, 3);
    // A cut row, a row of another program, and a value that is none.
    for (from, to, records) in [
        ("\"04/26/2018 14:00:05\"", "\"04/26/2018 14:00:05", 2),
        ("\"20.01\"", "", 2),
        ("    71.5\"20.01\"", "    7x.5\"20.01\"", 2),
        ("    71.5\"20.01\"", "        \"20.01\"", 2),
    ] {
        assert!(text.contains(from), "{from}");
        let (about, found) = read(text.replacen(from, to, 1).as_bytes());
        assert!(about.notes.damage_count > 0, "{from}: {:?}", about.notes);
        assert!(found.len() >= records, "{from}: {}", found.len());
    }
    // Without the end, only the last row is lost.
    let (_, found) = read(&text.as_bytes()[..text.len() - 40]);
    assert_eq!(found.len(), 2);
}

#[test]
fn blanks_and_quotation_marks_take_no_time_that_grows_with_the_square() {
    let blanks = format!("\"(PDH-CSV 4.0) (UTC)(0)\"{}\n", ", -,  1".repeat(20_000));
    let (about, _) = read(blanks.as_bytes());
    assert_eq!(about.columns.len(), 40_000);
    let quotes = format!("\"(PDH-CSV 4.0) (UTC)(0)\"{}\n", ",  -\"\\\\h\\o\\c\"".repeat(20_000));
    assert_eq!(read(quotes.as_bytes()).0.columns.len(), 40_000);
}
