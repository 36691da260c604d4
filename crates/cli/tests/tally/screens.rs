//! The screens of the monitor beside its chart, on a real terminal: what they show and do is so outside of it.

use tallymon::registry::{Roots, Scope, Service, Writer};
use tallymon_testkit::terminal::Terminal;

use super::support::{Folder, has, tally_with};
use super::terminal::{SWITCHES, Session};

/// What `tally` prints with these folders.
fn elsewhere(folder: &Folder, arguments: &[&str]) -> serde_json::Value {
    let folders = |command: &mut std::process::Command| {
        command.env("TALLYMON_ROOT", folder.file("root"));
    };
    let ran = tally_with(arguments, folders);
    assert_eq!(ran.code, Some(0), "{arguments:?}: {}", ran.err);
    serde_json::from_str(&ran.out).unwrap()
}

#[test]
fn providers_of_this_machine_and_a_library_that_is_disabled() {
    let Some(terminal) = Terminal::open() else { return };
    let folder = Folder::new();
    let roots = Roots::in_folder(folder.file("root").as_ref());
    let function = |name: &str| Some(name.to_string());
    let gadgets = Service {
        name: "Gadgets".into(),
        library: Some("/nowhere/gadgets.so".into()),
        open: function("Open"),
        collect: function("Collect"),
        close: function("Close"),
        ..Service::default()
    };
    Writer::open(&roots, Some(Scope::User)).unwrap().register(&[gadgets]).unwrap();
    let prefix = format!("TALLYMON_ROOT='{}'", folder.file("root"));
    terminal.start_with(&prefix, "Context Switches/sec", SWITCHES);
    terminal.types("D");
    // A built-in object that was asked for, and the library that was tried and is not there.
    let screen = terminal.wait("the library", |screen| {
        screen.contains("Providers: ") && screen.lines().any(|line| line.contains("service Gadgets"))
    });
    has(&screen, &["Name", "State", "Took", "built-in", "library"]);
    // What is wrong comes first.
    let at = screen.lines().position(|line| line.contains("service Gadgets")).unwrap();
    assert_eq!(at, 2, "{screen}");
    terminal.types("d");
    terminal.wait("the question", |screen| screen.contains("disable: Gadgets? y n"));
    terminal.types("y");
    terminal.wait("the answer", |screen| screen.contains("Gadgets: disabled"));
    let listed = elsewhere(&folder, &["provider", "list", "--json"]);
    assert_eq!((&listed[0]["service"], &listed[0]["enabled"]), (&"Gadgets".into(), &false.into()));
    terminal.types("e");
    terminal.wait("the question", |screen| screen.contains("enable: Gadgets? y n"));
    terminal.types("y");
    terminal.wait("the answer", |screen| screen.contains("Gadgets: enabled"));
    assert_eq!(elsewhere(&folder, &["provider", "list", "--json"])[0]["enabled"], true);
    terminal.key("Escape");
    terminal.wait("the chart", |screen| screen.contains(" 100┤"));
    terminal.key("q");
    terminal.is_restored();
}

#[test]
fn a_recording_session_is_looked_at_stopped_and_started() {
    let Some(terminal) = Terminal::open() else { return };
    let folder = Folder::new();
    let root = |command: &mut std::process::Command| {
        command.env("TALLYMON_ROOT", folder.file("root"));
    };
    let begun =
        tally_with(&["log", "start", "mine", "-c", r"\System\Context Switches/sec", "-i", "100ms"], root);
    assert_eq!(begun.code, Some(0), "{}", begun.err);
    let prefix = format!("TALLYMON_ROOT='{}'", folder.file("root"));
    terminal.start_with(&prefix, "Context Switches/sec", SWITCHES);
    terminal.types("R");
    let listed = |state: &'static str| {
        move |screen: &str| screen.lines().any(|line| line.contains("mine ") && line.contains(state))
    };
    terminal.wait("the session", |screen| {
        screen.contains("Recording sessions (1)") && listed("recording")(screen)
    });
    terminal.types("s");
    terminal.wait("the question", |screen| screen.contains("stop: mine? y n"));
    terminal.types("y");
    terminal.wait("the end of it", |screen| screen.contains("mine: stopped") || listed("stopped")(screen));
    terminal.wait("the list", listed("stopped"));
    let shown = elsewhere(&folder, &["log", "show", "mine", "--json"]);
    assert_eq!(shown["status"], "stopped");
    terminal.types("s");
    terminal.wait("the question", |screen| screen.contains("start: mine? y n"));
    terminal.types("y");
    terminal.wait("the list", listed("recording"));
    assert_eq!(elsewhere(&folder, &["log", "show", "mine", "--json"])["status"], "recording");
    // Its log, while it is recorded.
    terminal.key("Enter");
    terminal
        .wait("the log", |screen| screen.contains("─ LOG ─ mine") && screen.contains("Context Switches/sec"));
    terminal.key("q");
    terminal.is_restored();
    // A session outlives the monitor that started it.
    let shown = elsewhere(&folder, &["log", "show", "mine", "--json"]);
    assert_eq!(shown["status"], "recording");
    assert_eq!(tally_with(&["log", "stop", "mine"], root).code, Some(0));
}

#[test]
fn alerts_of_a_threshold_lead_to_their_times_and_are_saved() {
    let Some(terminal) = Terminal::open() else { return };
    let folder = Folder::new();
    terminal.start_with("", "Context Switches/sec", SWITCHES);
    // Some value is above 0, and the first that was is an event.
    terminal.types("L0");
    terminal.key("Enter");
    terminal.types("E");
    terminal.wait("the event", |screen| {
        screen.contains("Alerts (")
            && screen.lines().any(|line| line.contains("▲ ") && line.contains("Switches"))
    });
    terminal.types("w");
    terminal.wait("the question", |screen| screen.contains("save the list as"));
    terminal.key("C-u");
    terminal.types(&folder.file("list.csv"));
    terminal.key("Enter");
    terminal.wait("the answer", |screen| screen.contains("saved: ") && screen.contains("Alerts ("));
    let list = std::fs::read_to_string(folder.file("list.csv")).unwrap();
    has(&list, &["\"Threshold\"", r"\System\Context Switches/sec", "\"above\""]);
    terminal.key("Enter");
    terminal.wait("the cursor", |screen| screen.contains("At\n") && screen.contains(" 100┤"));
    terminal.key("q");
    terminal.is_restored();
}

#[test]
fn a_process_that_is_ticked_filters_its_threads_and_the_chart() {
    if !super::support::has_object("Thread") {
        return;
    }
    let Some(terminal) = Terminal::open() else { return };
    let folder = Folder::new();
    // A name that no other process has.
    let name = "ticked-one";
    std::os::unix::fs::symlink(super::support::TALLY, folder.file(name)).unwrap();
    let paths = r"'\System\Context Switches/sec' '\Process(*)\Thread Count' -i 300ms";
    terminal.line("unset LANG LC_ALL LC_MESSAGES TALLY_LANG NO_COLOR COLORTERM; echo before");
    terminal.line(&format!("'{}' mon {paths}; echo \"ended with $?\"", folder.file(name)));
    terminal.wait_for(&[" 100┤", "Context Switches/sec"]);
    terminal.types("T");
    terminal.wait("the table", |screen| screen.contains("Process: "));
    terminal.types("/ticked-one");
    terminal.key("Enter");
    terminal.wait("the monitor itself", |screen| {
        screen.contains("/ticked-one") && screen.contains("\nticked-one")
    });
    terminal.types(" ");
    terminal
        .wait("the mark", |screen| screen.contains("─ ✓ ticked-one") && screen.contains("\n✓ ticked-one"));
    // The threads of the same process, and of nobody else.
    terminal.types("n");
    let screen = terminal.wait("the threads", |screen| {
        screen.contains("Thread: ")
            && screen.contains("ticked instances only")
            && screen.contains("\nticked-one")
    });
    let rows = screen.lines().skip(5).take_while(|line| !line.is_empty() && !line.starts_with(' '));
    let names: Vec<&str> = rows.filter_map(|line| line.split_whitespace().next()).collect();
    assert!(!names.is_empty() && names.iter().all(|one| one.starts_with(name)), "{names:?}\n{screen}");
    terminal.types("g");
    let screen = terminal.wait("the chart", |screen| screen.contains(" 100┤"));
    let lines: Vec<&str> = screen.lines().filter(|line| line.starts_with(['▶', '✓'])).collect();
    assert!(!lines.is_empty() && lines.iter().all(|line| line.contains(name)), "{screen}");
    terminal.types("U");
    terminal.wait("everything", |screen| {
        let others = screen.lines().filter(|line| line.starts_with(['▶', '✓']) && !line.contains(name));
        !screen.contains("─ ✓ ticked-one") && others.count() > 0
    });
    terminal.key("q");
    terminal.is_restored();
}
