//! Text logs of every writer that is known, as they look in the wild.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

use std::slice::from_ref;
use tallymon_core::flow::NoValue;
use tallymon_log::relog::{Options, relog, relog_to};
use tallymon_log::zone::Zone;
use tallymon_log::{About, Format, ReadOptions, Record, Records, read_bytes};
use tallymon_testkit::Scratch;

fn read(bytes: &[u8], options: &ReadOptions) -> (About, Vec<Record>) {
    let mut log = read_bytes(bytes, options).unwrap();
    let records = Records::new(&mut *log).map(Result::unwrap).collect();
    (log.about().clone(), records)
}

fn plain(bytes: &[u8]) -> (About, Vec<Record>) {
    read(bytes, &ReadOptions::default())
}

fn number(record: &Record, column: usize) -> f64 {
    f64::from_bits(record.cells[column].unwrap().first)
}

fn time(record: &Record) -> String {
    record.time.system_time().to_string()
}

#[test]
fn zones_of_many_countries() {
    for (field, name, bias) in [
        ("(PDH-CSV 4.0) (Pacific Standard Time)(480)", "Pacific Standard Time", Some(480)),
        ("(PDH-CSV 4.0) (India Standard Time)(-330)", "India Standard Time", Some(-330)),
        ("(PDH-CSV 4.0) ()(-540)", "", Some(-540)),
        ("(PDH-CSV 4.0) (UTC)(0)", "UTC", Some(0)),
        ("(PDH-CSV 4.0) (Maroc (heure)(-60)", "Maroc (heure", Some(-60)),
        ("(PDH-CSV 4.0) (RTZ 2 (", " (RTZ 2 (", None),
        ("(PDH-CSV 4.0) (Maroc (heure d", " (Maroc (heure d", None),
        ("(PDH-CSV 4.0) (", " (", None),
        ("(PDH-CSV 4.0)", "", None),
        ("(PDH-CSV 4.0) (Far away)(99999999999)", " (Far away)(99999999999)", None),
    ] {
        let text = format!("\"{field}\",\"\\\\h\\o\\c\"\r\n\"03/13/2021 02:00:00.000\",\"1\"\r\n");
        let (about, records) = plain(text.as_bytes());
        match bias {
            Some(bias) => {
                assert_eq!(about.zone, Zone::Fixed { name: name.into(), bias }, "{field}");
                assert_eq!(about.notes, Default::default());
            }
            None => {
                assert_eq!(about.zone, Zone::Words(name.into()), "{field}");
                assert!(about.notes.remarks[0].contains("time zone is not told"), "{field}");
            }
        }
        // The short names of Russian zones say the distance.
        let guessed = if field.contains("RTZ 2") { 180 } else { 0 };
        assert_eq!(records[0].local_minutes, bias.map_or(guessed, |bias| -bias));
        assert_eq!(
            about.notes.remarks.iter().any(|remark| remark.contains("guessed as UTC+03:00")),
            guessed > 0
        );
    }
    let text = b"\"(PDH-CSV 4.0) (RTZ 2 (\",\"\\\\h\\o\\c\"\r\n\"03/13/2021 02:00:00.000\",\"1\"\r\n";
    let (_, records) = read(text, &ReadOptions { bias: Some(-180), ..ReadOptions::default() });
    assert_eq!(time(&records[0]), "2021-03-12 23:00:00.000");
}

#[test]
fn russian_in_its_code_page_with_20_digits() {
    let text = "\"(PDH-CSV 4.0) (RTZ 2 (\",\"\\\\ПК\\Процессор(_Total)\\% загруженности\"\n\
                \"03/13/2021 02:00:00.123\",\"1057.2496111067921447\"\n";
    let (bytes, _, _) = encoding_rs::WINDOWS_1251.encode(text);
    for code_page in ["windows-1251", "1251", "CP1251", "cp1251"] {
        let options = ReadOptions { code_page: Some(code_page.into()), ..ReadOptions::default() };
        let (about, records) = read(&bytes, &options);
        assert_eq!(about.columns[0].path, r"\\ПК\Процессор(_Total)\% загруженности");
        assert_eq!(number(&records[0], 0), 1057.2496111067921);
    }
    let (about, records) = plain(&bytes);
    let told = |words: &str| about.notes.remarks.iter().any(|remark| remark.contains(words));
    assert!(told("read as windows-1251, which is a guess; --code-page"), "{:?}", about.notes);
    assert_eq!(
        (records.len(), about.columns[0].path.as_str()),
        (1, r"\\ПК\Процессор(_Total)\% загруженности")
    );
    let unknown = ReadOptions { code_page: Some("klingon".into()), ..ReadOptions::default() };
    assert!(read_bytes(&bytes, &unknown).err().unwrap().to_string().contains("klingon"));
}

#[test]
fn every_encoding_of_unicode() {
    let text = "\"(PDH-TSV 4.0) (Korea)(-540)\"\t\"\\\\h\\메모리\\상\"\r\n\"01/02/2020 09:00:00.000\"\t\"5\"\r\n\"01/02/2020 09:00:01.000\"\t\" \"\r\n";
    let little: Vec<u8> =
        [0xfeffu16].into_iter().chain(text.encode_utf16()).flat_map(u16::to_le_bytes).collect();
    let big: Vec<u8> =
        [0xfeffu16].into_iter().chain(text.encode_utf16()).flat_map(u16::to_be_bytes).collect();
    let marked = [b"\xef\xbb\xbf", text.as_bytes()].concat();
    for bytes in [text.as_bytes(), &little, &big, &marked, &little[2..], &big[2..]] {
        let (about, records) = plain(bytes);
        assert_eq!(about.format, Format::Tsv);
        assert_eq!(about.columns[0].path, r"\\h\메모리\상");
        assert_eq!(records.len(), 2);
        assert_eq!((number(&records[0], 0), records[1].cells[0].is_err()), (5.0, true));
        assert_eq!(time(&records[0]), "2020-01-02 00:00:00.000");
        assert_eq!(about.notes, Default::default());
    }
    // U+0A0A and U+0D0A hold bytes that look like line ends.
    let text =
        "\"(PDH-CSV 4.0) (UTC)(0)\",\"\\\\h\\\u{0a0a}\u{0d0a}\u{0a00}\\c\"\n\"01/02/2020 09:00:00\",\"5\"\n";
    let little: Vec<u8> =
        [0xfeffu16].into_iter().chain(text.encode_utf16()).flat_map(u16::to_le_bytes).collect();
    let big: Vec<u8> =
        [0xfeffu16].into_iter().chain(text.encode_utf16()).flat_map(u16::to_be_bytes).collect();
    for bytes in [&little, &big] {
        let (about, records) = plain(bytes);
        assert_eq!(
            (about.columns[0].path.as_str(), records.len()),
            ("\\\\h\\\u{0a0a}\u{0d0a}\u{0a00}\\c", 1)
        );
    }
}

#[test]
fn esxtop_writes_no_milliseconds() {
    let text = b"\"(PDH-CSV 4.0) (UTC)(0)\",\"\\\\esx\\Group Cpu(1:system)\\% Used\",\"\\\\esx\\Memory\\Free MBytes\"\n\
                 \"11/26/2016 13:46:30\",\"0.25\",\"1024\"\n\"11/26/2016 13:46:35\",\"0.5\",\"1023\"\n";
    let (about, records) = plain(text);
    assert_eq!((records.len(), about.notes.damage_count), (2, 0));
    assert_eq!(about.columns[0].parts.as_ref().unwrap().instance.as_ref().unwrap().text(), "1:system");
    assert_eq!((number(&records[1], 0), time(&records[1]).as_str()), (0.5, "2016-11-26 13:46:35.000"));
}

#[test]
fn typeperf_on_the_console() {
    let text = b"\r\n\"(PDH-CSV 4.0)\",\"\\\\PC\\Memory\\Pages/sec\"\r\n\"11/26/2016 13:46:30.874\",\"0.000000\"\r\n\
                 \"11/26/2016 13:46:31.874\",\"12.345678\"\r\n\r\nExiting, please wait...                         \r\n\
                 The command completed successfully.\r\n\r\n";
    let (about, records) = plain(text);
    assert_eq!(records.len(), 2);
    assert_eq!(number(&records[1], 0), 12.345678);
    assert_eq!(about.notes.damage_count, 0);
    assert!(about.notes.remarks.iter().any(|remark| remark.contains("Exiting")), "{:?}", about.notes.remarks);
}

#[test]
fn duplicates_captions_blanks_and_odd_numbers() {
    let text = b"\"(PDH-CSV 4.0) (UTC)(0)\",\"\\\\h\\o\\c\",\"\\\\h\\o\\c\",\"\\\\h\\o\\d\",\"my caption\"\n\
                 \"11/26/2016 13:46:30.874\",\" \",\"1,5\",\"-1.#IND\"\n\
                 \"11/26/2016 13:46:31.874\",\"\",\"1e+300\",\"inf\",\"ignored\"\n\
                 \"11/26/2016 13:46:32.874\",7,\"x\",8\n";
    let (about, records) = plain(text);
    assert_eq!(about.columns.len(), 3);
    assert_eq!(about.columns[0].path, about.columns[1].path);
    assert_eq!(about.notes.remarks, ["caption: my caption"]);
    let missing = Err(NoValue::NoData(tallymon_core::flow::Absence::Other));
    assert_eq!((records[0].cells[0], number(&records[0], 1)), (missing, 1.5));
    assert_eq!(records[0].cells[2], Err(NoValue::NotFinite));
    assert_eq!((number(&records[1], 1), records[1].cells[2]), (1e300, Err(NoValue::NotFinite)));
    assert_eq!((number(&records[2], 0), number(&records[2], 2), records[2].cells[1]), (7.0, 8.0, missing));
    assert_eq!(about.notes.damage_count, 1);
    let damage = &about.notes.damage[0];
    assert_eq!((damage.line, damage.record), (Some(4), Some(3)));
    assert_eq!(text[damage.byte as usize..][..3], *b"\"x\"");
}

#[test]
fn concatenated_logs_are_read() {
    let one = "\"(PDH-CSV 4.0) (UTC)(0)\",\"\\\\h\\o\\c\",\"\\\\h\\o\\d\"\n\"11/26/2016 13:46:30.874\",\"1\",\"2\"\n";
    let two = "\"(PDH-CSV 4.0) (X)(60)\",\"\\\\h\\o\\e\",\"\\\\h\\o\\c\"\n\"11/26/2016 13:46:30.874\",\"3\",\"4\"\n";
    let (about, records) = plain([one, two].concat().as_bytes());
    let paths: Vec<&str> = about.columns.iter().map(|column| column.path.as_str()).collect();
    assert_eq!(paths, [r"\\h\o\c", r"\\h\o\d", r"\\h\o\e"]);
    assert_eq!(records[1].cells.iter().map(|cell| cell.is_ok()).collect::<Vec<_>>(), [true, false, true]);
    assert_eq!((number(&records[1], 0), number(&records[1], 2)), (4.0, 3.0));
    assert_eq!(time(&records[1]), "2016-11-26 14:46:30.874");
}

#[test]
fn damaged_rows_cost_only_themselves() {
    let text = "\"(PDH-CSV 4.0) (UTC)(0)\",\"\\\\h\\o\\c\",\"\\\\h\\o\\d\"\n\
                \"11/26/2016 13:46:30.874\",\"1\",\"2\"\n\
                \"11/26/2016 13:46:31.874\",\"1\"\n\
                \"13/26/2016 13:46:31.874\",\"1\",\"2\"\n\
                \"11/26/2016 13:46:32.874\",\"1\",\"2\"\n\
                \"11/26/2016 13:46:33.874\",\"1\",\"2";
    let (about, records) = plain(text.as_bytes());
    assert_eq!(records.len(), 2);
    let lines: Vec<_> = about.notes.damage.iter().map(|damage| damage.line.unwrap()).collect();
    assert_eq!(lines, [3, 4, 6]);
    assert!(about.notes.damage[2].what.contains("cut off"), "{}", about.notes.damage[2]);
}

/// Copies a text log, through a log of another format if one is named.
fn copied(folder: &Scratch, text: &str, through: Option<Format>) -> String {
    let log = folder.join("log.csv");
    std::fs::write(&log, text).unwrap();
    let to = |format| Options { format, ..Options::default() };
    let mut from = log;
    if let Some(format) = through {
        let copy = folder.join(format!("copy.{}", format.info().extension));
        // Nothing replaces a file of an earlier copy.
        let _ = std::fs::remove_file(&copy);
        relog(from_ref(&from), &copy, &to(format)).unwrap();
        from = copy;
    }
    let mut out = Vec::new();
    relog_to(from_ref(&from), &mut out, &to(Format::Csv)).unwrap();
    String::from_utf8(out).unwrap()
}

#[test]
fn zones_and_captions_stay_when_a_log_is_copied() {
    let folder = Scratch::new();
    let formats = [Format::Blg, Format::Sqlite];
    let rows = "\"03/13/2021 02:00:00.123\",\"1\"\r\n\"03/13/2021 02:00:01.123\",\"2\"\r\n";
    for zone in [
        "",
        " (",
        " (RTZ 2 (",
        " (Maroc (heure d",
        " ()(-540)",
        " (Maroc (heure)(-60)",
        " (Pacific Standard Time)(480)",
        " (Coordinated Universal Time)(0)",
        " (RTZ 2 (winter))(-180)",
    ] {
        for caption in ["", ",\"Log of a server\"", ",\"\""] {
            let head =
                |zone: &str, caption: &str| format!("\"(PDH-CSV 4.0){zone}\",\"\\\\h\\o\\c\"{caption}\r\n");
            let text = head(zone, caption) + rows;
            assert_eq!(copied(&folder, &text, None), text);
            assert_eq!(copied(&folder, &text, Some(Format::Tally)), text);
            for format in formats.into_iter().filter(|format| format.info().reads && format.info().writes) {
                let out = copied(&folder, &text, Some(format));
                // The times of the rows stay, and so does what is not known.
                assert!(out.ends_with(rows), "{zone} {format:?}: {out}");
                let is_told = out.lines().next().unwrap().contains(")(");
                assert_eq!(is_told, zone.ends_with(')'), "{zone} {format:?}: {out}");
                let has_name = zone.contains("Time)") || zone.contains("winter");
                assert!(!has_name || out.contains(zone), "{zone} {format:?}: {out}");
            }
        }
    }
}
