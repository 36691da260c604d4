//! The screens of the monitor beside its chart, on a real terminal: what they show and do is so outside of it.

use tallymon::registry::{Roots, Scope, Service, Writer};
use tallymon_testkit::terminal::Terminal;

use super::support::{Folder, has};
use super::terminal::{SWITCHES, Session};

/// What `tally` prints with these folders.
fn elsewhere(folder: &Folder, arguments: &[&str]) -> serde_json::Value {
    let mut command = std::process::Command::new(super::support::TALLY);
    let output = command.env("TALLYMON_ROOT", folder.file("root")).args(arguments).output().unwrap();
    assert!(output.status.success(), "{arguments:?}: {output:?}");
    serde_json::from_slice(&output.stdout).unwrap()
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
