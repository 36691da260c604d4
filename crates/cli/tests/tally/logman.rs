//! `logman` of Windows, on top of the sessions.

use std::fs;

use crate::record::{Sessions, until};
use crate::support::{AVAILABLE, PROCESSOR_TIME, Ran, clean, has, ran, tally};

pub(crate) fn logman(sessions: &Sessions, words: &[&str]) -> Ran {
    let mut command = clean(crate::support::TALLY);
    command.args(["compat", "logman"]).args(words).env("TALLYMON_ROOT", sessions.0.path());
    ran(command.output().unwrap())
}

/// The data of a run that did what it was to do.
#[track_caller]
pub(crate) fn done(ran: Ran) -> String {
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    assert_eq!(ran.err, "The command completed successfully.\n");
    ran.out
}

#[test]
fn a_set_from_its_beginning_to_its_end() {
    let sessions = Sessions::new();
    let empty = done(logman(&sessions, &["query"]));
    has(&empty, &["Data Collector Set                      Type                          Status\n-----"]);
    let folder = sessions.0.file("here");
    let log = format!("{folder}/perf.blg");
    let list = sessions.0.write("counters.txt", format!("{AVAILABLE}\n").as_bytes());
    let options = ["-c", PROCESSOR_TIME, "-cf", &list, "-si", "00:00:01", "-o", &log, "-max", "20", "-y"];
    done(logman(&sessions, &[&["create", "counter", "web"], &options[..]].concat()));
    has(&logman(&sessions, &["create", "counter", "web", "-c", AVAILABLE]).words(2), &["already exists"]);
    let line = format!("web{}Counter{}Stopped\n", " ".repeat(37), " ".repeat(23));
    has(&done(logman(&sessions, &["query"])), &[&line]);
    done(logman(&sessions, &["start", "web"]));
    let about = done(logman(&sessions, &["query", "web"]));
    let name = r"Name:                 web\perf";
    has(&about, &["\nName:                 web\nStatus:               Running\n", &folder, name]);
    has(&about, &["Segment Max Size:     20 MB", "Sample Interval:      1 second(s)\nCounters:\n"]);
    has(&about, &[&format!("{}{PROCESSOR_TIME}\n{}{AVAILABLE}\n", " ".repeat(22), " ".repeat(22))]);
    done(logman(&sessions, &["stop", "web"]));
    has(&logman(&sessions, &["stop", "web"]).words(1), &["not running"]);
    let info = tally(&["info", "--json", &format!("{folder}/perf_000001.blg")]).json();
    assert_eq!(info["format"], "blg");
    done(logman(&sessions, &["delete", "web"]));
    has(&logman(&sessions, &["query", "web"]).words(3), &["no session \"web\""]);
}

#[test]
fn sets_change_and_move() {
    let sessions = Sessions::new();
    let create = ["create", "counter", "a", "-c", AVAILABLE, "-f", "csv", "-max", "5", "-cnf", "00:10:00"];
    done(logman(&sessions, &create));
    let settings = |name: &str| sessions.status(name);
    assert_eq!(settings("a")["rotate_size"], 5 << 20);
    assert_eq!((&settings("a")["rotate_time"], &settings("a")["interval"]), (&600.0.into(), &15.0.into()));
    done(logman(&sessions, &["update", "a", "-si", "5", "-sc", "3"]));
    assert_eq!((&settings("a")["interval"], &settings("a")["samples"]), (&5.0.into(), &3.into()));
    assert_eq!(settings("a")["rotate_size"], 5 << 20, "what was not given stays");
    done(logman(&sessions, &["update", "counter", "a", "--cnf", "--sc"]));
    assert_eq!(settings("a")["max_size"], 5 << 20);
    assert!(settings("a")["rotate_time"].is_null() && settings("a")["samples"].is_null());
    done(logman(&sessions, &["update", "a", "/f", "bincirc", "/max:8"]));
    assert_eq!((&settings("a")["segments"], &settings("a")["rotate_size"]), (&4.into(), &(2 << 20).into()));
    let xml = sessions.0.file("a.xml");
    done(logman(&sessions, &["export", "a", "-xml", &xml]));
    has(&fs::read_to_string(&xml).unwrap(), &["<DataCollectorSet>", "<LogCircular>-1</LogCircular>"]);
    done(logman(&sessions, &["import", "b", "-xml", &xml]));
    for key in ["counters", "segments", "rotate_size", "format", "interval"] {
        assert_eq!(settings("a")[key], settings("b")[key], "{key}");
    }
    done(logman(&sessions, &["update", "b", "-si", "1", "-rf", "1"]));
    done(logman(&sessions, &["start", "b"]));
    until("the end", || settings("b")["status"] == "stopped");
}

#[test]
fn what_is_not_done_here_is_said() {
    let sessions = Sessions::new();
    for (line, code, words) in [
        (
            &["create", "trace", "x", "-p", "{GUID}", "-ets"][..],
            2,
            "trace needs Windows: there are no trace sessions",
        ),
        (&["create", "alert", "x", "-th", "a>x"], 2, "-th: \"a>x\" is not a limit"),
        (&["create", "cfg", "x"], 2, "cfg needs Windows: the configuration"),
        (&["create", "api", "x"], 2, "api needs Windows: there are no trace sessions"),
        (&["query", "providers"], 2, "'tally provider list'"),
        (&["create", "counter", "x", "-o", "SQL:Perf!set"], 2, "SQL:Perf!set: no data source of ODBC"),
        (&["create", "counter", "x", "-c", AVAILABLE, "-f", "evtx"], 2, "-f evtx: no such format"),
        (&["create", "counter", "x"], 2, "nothing to record"),
        (&["create", "counter"], 2, "which session"),
        (&["create", "counter", "x", "-c", r"\Memory\Nonsense"], 3, "Nonsense"),
        (&["create", "counter", "x", "-c", AVAILABLE, "-f", "bincirc"], 2, "-max"),
        (&["create", "counter", "x", "-c", AVAILABLE, "-v", "mmddhhmm"], 2, "numbered"),
        (&["create", "counter", "x", "-c", AVAILABLE, "-u", "me"], 2, "-u: a session runs as"),
        (&["create", "counter", "x", "-c", AVAILABLE, "-r"], 2, "-r: a session does not repeat"),
        (&["create", "counter", "x", "-c", AVAILABLE, "-rc", "task"], 2, "-rc: no program"),
        (&["create", "counter", "x", "-c", AVAILABLE, "-ets"], 2, "-ets: there are no trace sessions"),
        (&["create", "counter", "x", "-c", AVAILABLE, "-pid", "1"], 2, "-pid: "),
        (
            &["create", "counter", "x", "-c", AVAILABLE, "-s", "OTHER"],
            3,
            "no host or group is called \"OTHER\"",
        ),
        (
            &["create", "counter", "x", "-c", AVAILABLE, "-m", "later"],
            2,
            "-m later: there are start and stop",
        ),
        (&["jump", "x"], 2, "no verb"),
        (&["import", "x"], 2, "-xml"),
    ] {
        has(&logman(&sessions, line).words(code), &[words]);
    }
    // The options of the other kinds say what does the same here.
    for (options, words) in [
        (&["-ni", "--ni", "-reg", "-mgt", "-ftc"][..], "'tally doctor'"),
        (
            &[
                "-mode", "-ct", "-ln", "-ft", "-p", "--p", "-pf", "-rt", "--rt", "-ul", "--ul", "-bs", "-nb",
                "-fd", "-ets",
            ],
            "there are no trace sessions",
        ),
    ] {
        for option in options {
            let told = logman(&sessions, &["create", "counter", "x", option, "y"]).words(2);
            let name = option.trim_start_matches('-');
            has(&told, &[&format!("logman: -{name}: "), words]);
        }
    }
    assert_eq!(sessions.log(&["list", "--json"]).data(), "[]\n");
    has(&logman(&sessions, &["-?"]).data(), &["create counter NAME"]);
}

/// Every option of Windows for sessions of counters, by itself and with its sign for taking it back: what the
/// settings say afterwards.
/// Sessions are of this computer: with the name of another one nothing of theirs is read or changed.
#[test]
fn sessions_of_another_computer_are_refused() {
    let sessions = Sessions::new();
    done(logman(&sessions, &["create", "counter", "perf", "-c", AVAILABLE]));
    let file = sessions.0.file("perf.xml");
    for (verb, more) in [
        ("query", &["perf"][..]),
        ("query", &[]),
        ("start", &["perf"]),
        ("stop", &["perf"]),
        ("delete", &["perf"]),
        ("export", &["perf", "-xml", &file]),
        ("import", &["perf", "-xml", &file, "-y"]),
    ] {
        let words = [&[verb][..], more, &["-s", "ssh://web1"]].concat();
        let ran = logman(&sessions, &words).words(2);
        has(&ran, &[&format!("logman {verb} -s: sessions are of this computer")]);
    }
    assert!(!std::path::Path::new(&file).exists());
    has(&done(logman(&sessions, &["query", "perf", "-s", "localhost"])), &["Status:               Stopped"]);
    done(logman(&sessions, &["delete", "perf"]));
}

#[test]
fn every_option_is_understood() {
    for (options, field, value) in [
        (&["-si", "00:00:07"][..], "interval", "7"),
        (&["-sc", "9"], "samples", "9"),
        (&["-sc", "9", "--sc"], "samples", "9"),
        (&["-f", "csv"], "format", "csv"),
        (&["-f", "tsv"], "format", "tsv"),
        (&["-f", "sql"], "format", "sqlite"),
        (&["-f", "bin"], "format", "blg"),
        (&["-rf", "01:00:00"], "duration", "3600"),
        (&["-max", "2"], "max_size", "2097152"),
        (&["-max", "2", "-cnf"], "rotate_size", "2097152"),
        (&["-cnf", "00:10:00"], "rotate_time", "600"),
        (&["-f", "bincirc", "-max", "4"], "segments", "4"),
        (&["-f", "bincirc", "-max", "4"], "rotate_size", "1048576"),
        (&["-b", "1/2/2030 3:04:05AM"], "begin", "2030-01-02"),
        (&["-b", "1/2/2030 3:04:05AM", "-m", "start"], "begin", "null"),
        (&["-e", "1/2/2030 3:04:05PM", "-m", "stop"], "end", "null"),
        (&["-e", "1/2/2030 3:04:05PM"], "end", "2030-01-02"),
        (&["-v", "nnnnnn", "-ow", "-a", "-as", "-y", "-s", "localhost"], "interval", "15"),
        (&["/si", "8"], "interval", "8"),
        (&["/SI:8"], "interval", "8"),
    ] {
        let sessions = Sessions::new();
        let line = [&["create", "counter", "x", "-c", AVAILABLE], options].concat();
        let ran = logman(&sessions, &line);
        assert_eq!(ran.code, Some(0), "{options:?}: {}", ran.err);
        let shown = sessions.log(&["export", "x"]).data();
        let settings: serde_json::Value = serde_json::from_str(&shown).unwrap();
        let found = settings[field].to_string();
        assert!(found.trim_matches('"').starts_with(value), "{options:?}: {field} is {found} in {shown}");
    }
}

/// A set of a machine with programs that are not here records what is here.
#[test]
fn a_set_of_windows_begins_with_the_counters_that_are_here() {
    let sessions = Sessions::new();
    let text = r"<?xml version='1.0' encoding='UTF-16'?><DataCollectorSet><Name>SQL</Name>
        <RootPath>%systemdrive%\PerfLogs\Admin\SQL</RootPath>
        <TraceDataCollector><Name>NT Kernel</Name></TraceDataCollector>
        <PerformanceCounterDataCollector><FileName>SQL</FileName><SampleInterval>1</SampleInterval>
        <LogFileFormat>3</LogFileFormat>
        <Counter>\SQLServer:Buffer Manager\Page life expectancy</Counter>
        <Counter>\SQLServer:Buffer Manager\Lazy writes/sec</Counter>
        <Counter>\ASP.NET\Requests Queued</Counter><Counter>\Memory\Available MBytes</Counter>
        </PerformanceCounterDataCollector></DataCollectorSet>";
    let units = [0xfeff].into_iter().chain(text.encode_utf16());
    let set = sessions.0.write("set.xml", &units.flat_map(u16::to_le_bytes).collect::<Vec<u8>>());
    let imported = logman(&sessions, &["import", "sql", "-xml", &set]);
    assert_eq!(imported.code, Some(0), "{}", imported.err);
    has(
        &imported.err,
        &["\"NT Kernel\" is left out", r"RootPath %systemdrive%\PerfLogs\Admin\SQL: logs are in"],
    );
    // The command with our own options reads the same file, under the name that the set has.
    let ours = sessions.log(&["import", &set]);
    assert_eq!(ours.code, Some(0), "{}", ours.err);
    has(&ours.err, &["\"NT Kernel\" is left out", r"RootPath %systemdrive%\PerfLogs\Admin\SQL: logs are in"]);
    assert_eq!(logman(&sessions, &["query", "SQL"]).code, Some(0));
    let again = sessions.log(&["import", &set]);
    assert_eq!(again.code, Some(2), "{}", again.err);
    let started = logman(&sessions, &["start", "sql"]);
    assert_eq!(started.code, Some(0), "{}", started.err);
    let words = [
        "SQLServer:Buffer Manager",
        "(2 of 4 counters)",
        "ASP.NET",
        "(1 of 4 counters)",
        "as soon as they are here",
    ];
    has(&started.err, &words);
    assert_eq!(started.err.matches("Buffer Manager").count(), 1, "{}", started.err);
    done(logman(&sessions, &["stop", "sql"]));
    let shown = |name: &str| logman(&sessions, &["query", name]).out;
    let log = shown("sql");
    let log = log.lines().find_map(|line| line.strip_prefix("Output Location:")).unwrap().trim();
    has(&tally(&["info", "--columns", log]).data(), &[r"\Memory\Available MBytes"]);
    // A set without any counter that is here does not begin.
    let none = text.replace(r"<Counter>\Memory\Available MBytes</Counter>", "");
    let set = sessions.0.write("none.xml", none.replace("UTF-16", "UTF-8").as_bytes());
    assert_eq!(logman(&sessions, &["import", "none", "-xml", &set]).code, Some(0));
    has(&logman(&sessions, &["start", "none"]).words(3), &["none of the counters"]);
    // A counter that is mistyped on the command line is an error.
    let mistyped = logman(&sessions, &["create", "counter", "x", "-c", r"\Memory\Avail"]);
    assert_eq!(mistyped.code, Some(3), "{}", mistyped.err);
}
