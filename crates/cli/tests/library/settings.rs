//! Numbers of the registry that say how libraries are asked: each is set by `tally provider set`, and
//! honoured.

use std::fs;

use tallymon::core::flow::ValueState;
use tallymon::registry::{Installed, Trust};

use crate::faults::{PRESENT, value};
use crate::listings::{ok, tally};
use crate::support::{Place, Provider, ask, objects, wait_for};

fn set(place: &Place, service: Option<&str>, value: &str) {
    let mut words = vec!["provider", "--system", "set", value];
    words.extend(service.iter().flat_map(|service| ["--service", service]));
    ok(place, &words);
}

#[test]
fn a_trusted_library_runs_in_process_until_it_is_changed() {
    let place = Place::new();
    let Some(index) = place.install(&Provider::default()) else { return };
    set(&place, Some("myperf"), "in process=1");
    // Nobody has said that it is trusted.
    let mut host = place.host();
    assert_eq!(value(&ask(&mut host, "Global"), index), Some((41, PRESENT)));
    assert!(host.libraries().iter().all(|status| !status.in_process && status.process.is_some()));
    assert_eq!(place.events(), [1022]);
    drop(host);
    ok(&place, &["lodctr", "/T:MyPerf"]);
    let environment: Vec<_> = std::env::vars_os().collect();
    let mut host = place.host();
    fs::remove_file(place.log("MyPerf")).unwrap();
    for number in [41, 42] {
        assert_eq!(value(&ask(&mut host, &index.to_string()), index), Some((number, PRESENT)));
    }
    assert!(host.libraries().iter().all(|status| status.in_process && status.process.is_none()));
    assert_eq!(std::env::vars_os().collect::<Vec<_>>(), environment, "it is as it was");
    drop(host);
    let number = format!("Collect {index}");
    let calls = ["attach", "OpenIndexes M...", "Open NULL", &number, &number, "Close", "detach"];
    assert_eq!(place.calls("MyPerf"), calls);
    assert_eq!(place.events(), [1022], "nothing more");
    // Everybody is told.
    let list = ok(&place, &["provider", "list"]);
    assert!(list.contains("In Process 1") && list.contains("  trusted\n"), "{list}");
    let json: serde_json::Value = serde_json::from_str(&ok(&place, &["provider", "list", "--json"])).unwrap();
    assert_eq!((&json[0]["in_process"], &json[0]["trust"]), (&true.into(), &"trusted".into()));
    let doctor = ok(&place, &["doctor", "--json"]);
    assert!(doctor.contains("in the process of whoever asks"), "{doctor}");
    // Another library under its name is another one.
    let library = place.0.join("MyPerf.so");
    let mut bytes = fs::read(&library).unwrap();
    bytes.push(0);
    fs::write(place.0.join("copy"), bytes).unwrap();
    fs::rename(place.0.join("copy"), &library).unwrap();
    assert_eq!(
        Installed::read(&place.roots()).unwrap().system.service("MyPerf").unwrap().trust(),
        Trust::Changed
    );
    // The file of its calls is this user's since it ran in this process; its own user may not change it.
    fs::remove_file(place.log("MyPerf")).unwrap();
    let mut host = place.host();
    assert_eq!(value(&ask(&mut host, "Global"), index), Some((41, PRESENT)));
    ask(&mut host, "Global");
    assert!(host.libraries().iter().all(|status| !status.in_process && status.process.is_some()));
    assert_eq!(place.events(), [1022, 2003, 1022]);
    assert!(ok(&place, &["doctor", "--json"]).contains("no longer the one that was trusted"));
}

#[test]
fn what_is_installed_in_process_is_trusted() {
    let place = Place::new();
    let Some(_) = place.install(&Provider::default()) else { return };
    let (library, ini) = (place.0.join("MyPerf.so"), place.0.join("MyPerf.ini"));
    let (library, ini) = (library.to_str().unwrap(), ini.to_str().unwrap());
    ok(&place, &["provider", "remove", "MyPerf"]);
    let functions = ["--open", "Open", "--collect", "Collect", "--close", "Close", "--in-process"];
    // What has no path cannot be told from something else.
    let nameless = [&["provider", "add", ini, "--library", "libMyPerf.so"][..], &functions].concat();
    assert_eq!(tally(&place, &nameless).0, 2);
    ok(
        &place,
        &[&["provider", "add", ini, "--library", library, "--deadline", "8000"][..], &functions].concat(),
    );
    let mut host = place.host();
    ask(&mut host, "Global");
    let status = host.libraries();
    assert!(
        status.iter().all(|one| one.in_process && one.trust == Trust::Trusted && one.counts.answered == 1)
    );
}

#[test]
fn one_setting_disables_all_libraries() {
    let place = Place::new();
    let Some(index) = place.install(&Provider::default()) else { return };
    set(&place, None, "Disable Performance Counters=1");
    let mut host = place.host();
    assert_eq!(objects(&ask(&mut host, "Global")), [] as [u32; 0]);
    assert_eq!(place.calls("MyPerf"), [] as [&str; 0]);
    let doctor = ok(&place, &["doctor", "--json"]);
    assert!(doctor.contains("disabled, as all libraries are"), "{doctor}");
    // A host that runs already sees it too.
    set(&place, None, "Disable Performance Counters=");
    assert_eq!(objects(&ask(&mut host, "Global")), [index]);
}

#[test]
fn flags_and_test_levels() {
    // The ids of the events and whether it is disabled, for a library that does not set its sizes.
    let table: [(&str, &[u64], bool); 4] = [
        ("Configuration Flags=0", &[2000, 1017], true),
        ("Configuration Flags=2", &[2000], false),
        ("Configuration Flags=4", &[], false),
        ("ExtCounterTestLevel=4", &[], false),
    ];
    for (words, events, disabled) in table {
        let place = Place::new();
        let Some(_) = place.install(&Provider { fault: "SIZES_LEFT", ..Provider::default() }) else { return };
        set(&place, None, words);
        assert_eq!(objects(&ask(&mut place.host(), "Global")), [] as [u32; 0], "{words}");
        assert_eq!((place.events().as_slice(), place.disabled("MyPerf")), (events, disabled), "{words}");
    }
    for (words, events) in [("Configuration Flags=0", &[1016u64][..]), ("Configuration Flags=1", &[])] {
        let place = Place::new();
        let Some(index) = place.install(&Provider { fault: "UNALIGNED", ..Provider::default() }) else {
            return;
        };
        set(&place, None, words);
        assert_eq!(objects(&ask(&mut place.host(), "Global")), [index], "{words}");
        assert_eq!(place.events(), events, "{words}");
    }
}

#[test]
fn levels_of_events() {
    // An error and a warning.
    for (level, events) in [(0, &[][..]), (1, &[1017u64]), (2, &[2000, 1017]), (3, &[2000, 1017])] {
        let place = Place::new();
        let Some(_) = place.install(&Provider { fault: "SIZES_LEFT", ..Provider::default() }) else { return };
        set(&place, None, &format!("EventLogLevel={level}"));
        ask(&mut place.host(), "Global");
        assert_eq!(place.events(), events, "{level}");
    }
}

#[test]
fn deadline_and_timeout_are_separate() {
    let place = Place::new();
    let late = Provider { fault: "LONG_SLEEP", deadline: Some(8000), ..Provider::default() };
    let Some(index) = place.install(&late) else { return };
    let mut host = place.host();
    assert_eq!(value(&ask(&mut host, "Global"), index), Some((41, PRESENT)));
    // It is the same library, loaded anew, whose first answer comes in time.
    set(&place, Some("MyPerf"), "Deadline=30");
    set(&place, Some("MyPerf"), "Collect Timeout=100");
    wait_for("an answer of the process that was started anew", || {
        value(&ask(&mut host, "Global"), index) == Some((41, PRESENT))
    });
    let process = host.libraries().first().unwrap().process;
    wait_for("its values are old, then it is killed", || {
        let stale =
            value(&ask(&mut host, "Global"), index).is_none_or(|(_, state)| state == ValueState::Stale);
        assert!(stale);
        host.libraries().first().unwrap().process != process
    });
    assert!(place.events().starts_with(&[1015]));
    // With a long patience the process stays.
    set(&place, Some("MyPerf"), "Collect Timeout=");
    set(&place, Some("MyPerf"), "Deadline=1");
    let service = Installed::read(&place.roots()).unwrap();
    let service = service.system.service("MyPerf").unwrap();
    assert_eq!((service.collect_timeout, service.deadline), (None, Some(1)));
}

#[test]
fn set_shows_settings_and_reports_errors() {
    let place = Place::new();
    let Some(_) = place.install(&Provider::default()) else { return };
    set(&place, None, "OpenProcedureWaitTime=250");
    let shown = ok(&place, &["provider", "set"]);
    assert!(
        shown.lines().any(|line| line.starts_with("OpenProcedureWaitTime") && line.contains("250")),
        "{shown}"
    );
    assert_eq!(shown.matches("  not set  ").count(), 4, "{shown}");
    let shown = ok(&place, &["provider", "set", "--service", "myperf"]);
    assert!(shown.lines().any(|line| line.starts_with("Deadline") && line.contains("8000")), "{shown}");
    for (words, wanted) in [
        (&["Deadlin=1"][..], "OpenProcedureWaitTime"),
        (&["--service", "MyPerf", "Deadlin=1"], "did you mean \"Deadline\""),
        (&["--service", "MyPerf", "Deadline"], "expected NAME=NUMBER"),
        (&["--service", "MyPerf", "Deadline=x"], "expected a number"),
        (&["--service", "MyPerf", "In Process=2"], "at most 1 needed"),
        (&["ExtCounterTestLevel=5"], "at most 4 needed"),
        (&["--service", "nobody", "Deadline=1"], "no service \"nobody\""),
    ] {
        let (code, _, errors) = tally(&place, &[&["provider", "set"], words].concat());
        assert!(code != 0 && errors.contains(wanted), "{words:?}: {errors}");
    }
}
