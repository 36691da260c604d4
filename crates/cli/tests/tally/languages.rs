//! Logs in other languages, read with tables of names that their systems have.

use super::support::{Folder, has, tally, tally_with};

/// A log of a German system, with a counter of a provider of its own.
const LOG: &str = concat!(
    "\"(PDH-CSV 4.0) (UTC)(0)\",\"\\\\S1\\Prozessor(_Total)\\Prozessorzeit (%)\",",
    "\"\\\\S1\\Arbeitsspeicher\\Verfügbare MB\",\"\\\\S1\\Dienst\\Aufträge/s\",\"\\\\S1\\Fremdes\\Ding\"\r\n",
    "\"01/31/2026 12:00:00.000\",\"25\",\"1024\",\"7\",\"1\"\r\n",
    "\"01/31/2026 12:00:01.000\",\"75\",\"512\",\"9\",\"2\"\r\n",
);

/// Its table, as `lodctr` and Windows keep it. The numbers of the service are those of this system only.
const INI: &str = "[Perflib]\r\nBaseIndex=1847\r\n\
    [Perfstrings_009]\r\n238=Processor\r\n6=% Processor Time\r\n4=Memory\r\n1382=Available MBytes\r\n\
    5000=Service\r\n5002=Jobs/sec\r\n\
    [Perfstrings_007]\r\n238=Prozessor\r\n6=Prozessorzeit (%)\r\n4=Arbeitsspeicher\r\n1382=Verfügbare MB\r\n\
    5000=Dienst\r\n5002=Aufträge/s\r\n";

#[test]
fn english_paths_work_on_a_german_log() {
    let folder = Folder::new();
    let log = folder.write("german.csv", LOG.as_bytes());
    let wide: Vec<u8> = INI.encode_utf16().flat_map(u16::to_le_bytes).collect();
    let table = folder.write("PerfStringBackup.INI", &wide);
    let path = r"\Processor(_Total)\% Processor Time";
    // Without a table the name is not known.
    assert_eq!(tally(&["get", path, "--log", &log]).code, Some(3));
    for arguments in [
        &["get", path, r"\Memory\Available MBytes", r"\Service\Jobs/sec", "--plain", "--log", &log][..],
        &["stats", "-c", path, "--json", &log],
        &["relog", "-c", path, &log],
        &["info", "--columns", &log],
        &["watch", path, "--csv", "--log", &log],
    ] {
        let ran = tally(&[arguments, &["--name-table", &table]].concat());
        assert_eq!(ran.code, Some(0), "{arguments:?} {}", ran.err);
        assert!(ran.out.contains("75") || ran.out.contains("% Processor Time"), "{arguments:?} {}", ran.out);
    }
    let values =
        tally(&["get", path, r"\Service\Jobs/sec", "--plain", "--log", &log, "--name-table", &table]);
    assert_eq!(values.out, "75\n9\n");
}

#[test]
fn relog_translates_names() {
    let folder = Folder::new();
    let log = folder.write("german.csv", LOG.as_bytes());
    let table = folder.write("PerfStringBackup.INI", INI.as_bytes());
    let ran = tally(&["relog", &log, "--language", "en", "--name-table", &table]);
    let first = ran.out.lines().next().unwrap();
    assert_eq!(
        first,
        "\"(PDH-CSV 4.0) (UTC)(0)\",\"\\\\S1\\Processor(_Total)\\% Processor Time\",\
         \"\\\\S1\\Memory\\Available MBytes\",\"\\\\S1\\Service\\Jobs/sec\",\"\\\\S1\\Fremdes\\Ding\""
    );
    // What no table has is said.
    has(&ran.err, &["1 of 4 columns keep their names"]);
    // There and back.
    let english = folder.file("english.csv");
    tally(&["relog", &log, "--name-table", &table, "-o", &english]);
    let back = tally(&["relog", &english, "--language", "de", "--name-table", &table]);
    assert_eq!(back.out, LOG, "{}", back.err);
    // Our own tables need no file.
    let russian =
        LOG.replace("Prozessor(", "Процессор(").replace("Prozessorzeit (%)", "% загруженности процессора");
    let russian = folder.write("russian.csv", russian.as_bytes());
    let ran = tally(&["relog", &russian, "--language", "en"]);
    has(ran.out.lines().next().unwrap(), &[r"\\S1\Processor(_Total)\% Processor Time"]);
}

#[test]
fn files_without_names_are_refused_by_name() {
    let folder = Folder::new();
    let log = folder.write("german.csv", LOG.as_bytes());
    let helps: Vec<u8> = "3\0Das Objekt System\0\0".encode_utf16().flat_map(u16::to_le_bytes).collect();
    for (name, bytes, words) in [
        ("perfh007.dat", helps.as_slice(), "help texts and no names"),
        ("empty.ini", &b"[Perfstrings_007]\r\n"[..], "no names of counters"),
        ("garbage.dat", &[0x80, 0x81, 0x82, 0xfe, 0x00][..], "no names of counters"),
    ] {
        let table = folder.write(name, bytes);
        let ran = tally(&["info", &log, "--name-table", &table]);
        assert_ne!(ran.code, Some(0), "{name}");
        has(&ran.err, &[name, words]);
    }
}

#[test]
fn messages_are_in_the_language_of_the_user() {
    let folder = Folder::new();
    let text = folder.write("text", b"no log");
    let absent = folder.file("absent.blg");
    for (arguments, code, [korean, japanese, russian]) in [
        (
            &["get", r"\Memry\Available MBytes"][..],
            3,
            [
                "\"Memry\" 개체가 없습니다; \"Memory\"을(를) 뜻했습니까?",
                "オブジェクト \"Memry\" はありません; もしかして \"Memory\" ですか?",
                "нет объекта \"Memry\"; возможно, \"Memory\"?",
            ],
        ),
        (
            &["gett"],
            2,
            [
                "알 수 없는 하위 명령 'gett'",
                "サブコマンド 'gett' はありません",
                "неизвестная подкоманда 'gett'",
            ],
        ),
        (
            &["stats", &absent],
            3,
            [
                "파일이나 디렉터리가 없습니다",
                "そのようなファイルやディレクトリはありません",
                "Нет такого файла или каталога",
            ],
        ),
        (&["stats", &text], 7, ["성능 로그가 아님: ", "性能ログではありません: ", "это не журнал: "]),
    ] {
        for (language, words) in [("ko", korean), ("ja", japanese), ("ru", russian)] {
            let ran = tally(&[arguments, &["--lang", language]].concat());
            assert_eq!(ran.code, Some(code), "{arguments:?} {}", ran.err);
            has(&ran.err, &[words]);
        }
    }
    // By the environment; and a name that looks like messages changes none that is behind it.
    let odd = folder.write("x; --force replaces it: no object {}", b"no log");
    let ran = tally_with(&["stats", &odd], |command| {
        command.env("TALLY_LANG", "ko");
    });
    has(
        &ran.err,
        &[
            "성능 로그가 아님: text \"no log\"(으)로 시작하며",
            "Windows 바이너리 성능 로그; PDH-CSV: 계산된 값",
        ],
    );
}
