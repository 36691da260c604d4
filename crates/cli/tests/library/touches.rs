//! A request touches the libraries that it means, and a sick one silences no other.

use std::fs;
use std::path::Path;

use tallymon_testkit::peer;

use crate::listings::{ok, tally};
use crate::support::{Place, Provider, started, traced, wait_for};

/// A service whose objects are listed, one whose are not, and one that hangs in Open.
fn three_services(place: &Place) -> Option<[u32; 3]> {
    let listed = place.install(&Provider::default())?;
    let unlisted = place.install(&Provider { service: "Unlisted", listed: false, ..Provider::default() })?;
    let hangs = Provider { service: "Hangs", fault: "OPEN_SLEEPS", listed: true, deadline: None };
    Some([listed, unlisted, place.install(&hangs)?])
}

/// How many library processes a command starts, by the system calls of all its threads.
fn started_by(place: &Place, strace: &Path, words: &[&str]) -> usize {
    let trace = place.0.join("trace");
    let status = traced(place, strace, &trace).args(words).status().unwrap();
    assert!(status.code().is_some(), "{words:?}: {status}");
    let text = fs::read_to_string(&trace).unwrap();
    assert!(text.contains("execve("), "strace shows nothing: {text}");
    started(&trace)
}

#[test]
fn only_meant_libraries_are_started() {
    let Some(strace) = peer("strace") else { return };
    let place = Place::new();
    let Some([listed, unlisted, _]) = three_services(&place) else { return };
    let (by_index, unknown) = (format!("\\{listed}(one)\\{}", listed + 2), "\\22222\\2");
    let of_unlisted = format!("\\{unlisted}(one)\\{}", unlisted + 2);
    let table: &[(&[&str], usize)] = &[
        (&["get", r"\Memory\Available MBytes"], 0),
        (&["get", r"\4\1382"], 0),
        (&["get", r"\Memory(*)\Nonsense"], 0),
        (&["get", r"\Print Queue(*)\Jobs"], 0),
        (&["get", unknown], 0),
        (&["list"], 0),
        (&["list", "Memory"], 0),
        (&["explain", r"\Memory\Available MBytes"], 0),
        (&["dump", "4"], 0),
        (&["dump", "Counter 009"], 0),
        (&["report"], 0),
        (&["watch", "-c", "1", r"\Memory\Available MBytes"], 0),
        (&["check", r"\Memory\Available MBytes", "-w", "1:"], 0),
        (&["stat", "cpu", "10ms", "1"], 0),
        (&["stat", "proc", "10ms", "1"], 0),
        (&["top", "-1"], 0),
        (&["dashboard", "grafana", "Memory"], 0),
        (&["serve", "--stdio"], 0),
        (&["typeperf", r"\Memory\Available MBytes", "-sc", "1"], 0),
        (&["events"], 0),
        (&["log", "list"], 0),
        (&["check", r"\MyPerf Object(one)\MyPerf Calls", "-w", "1:"], 1),
        (&["get", r"\MyPerf Object(one)\MyPerf Calls"], 1),
        (&["get", &by_index], 1),
        (&["get", &of_unlisted], 1),
        (&["get", r"\Unlisted Object(one)\Unlisted Calls", r"\Memory\Available MBytes"], 1),
        (&["list", "Hangs Object"], 1),
        (&["list", "MyPerf Object"], 1),
        // The user asked for everything.
        (&["dump", "Global"], 3),
        (&["find", "Calls of Collect"], 3),
    ];
    for (words, wanted) in table {
        assert_eq!(started_by(&place, &strace, words), *wanted, "{words:?}");
    }
}

#[test]
fn registered_objects_are_listed_without_starting_their_libraries() {
    let place = Place::new();
    let Some([listed, ..]) = three_services(&place) else { return };
    let (code, out, err) = tally(&place, &["list"]);
    assert_eq!(code, 0, "{err}");
    let line = out.lines().find(|line| line.starts_with("MyPerf Object")).unwrap();
    assert!(line.contains(&listed.to_string()) && line.ends_with("registered"), "{line}");
    assert!(err.contains("service Unlisted does not list its objects"), "{err}");
    ok(&place, &["provider", "disable", "Hangs", "--system"]);
    let json: serde_json::Value = serde_json::from_str(&ok(&place, &["list", "--json"])).unwrap();
    let object =
        |name: &str| json.as_array().unwrap().iter().find(|one| one["name"] == name).cloned().unwrap();
    assert_eq!(object("MyPerf Object")["registered"], true);
    assert!(object("Hangs Object")["trouble"].as_str().unwrap().contains("disabled"), "{json}");
    assert_eq!(place.calls("MyPerf"), [] as [String; 0]);
    // Near names of registered objects are suggested too.
    let (code, _, err) = tally(&place, &["get", r"\MyPerf Objekt(*)\MyPerf Calls"]);
    assert!(code == 3 && err.contains("\"MyPerf Object\""), "{code} {err}");
}

#[test]
fn a_sick_library_silences_no_healthy_counter() {
    let place = Place::new();
    let crashing = Provider { service: "Bad", fault: "CRASH", ..Provider::default() };
    if place.install(&Provider::default()).is_none() || place.install(&crashing).is_none() {
        return;
    }
    let paths =
        [r"\Bad Object(one)\Bad Calls", r"\MyPerf Object(one)\MyPerf Calls", r"\Memory\Available MBytes"];
    for command in [&["get"][..], &["watch", "-c", "1", "-i", "100ms"]] {
        let (code, out, err) = tally(&place, &[command, &paths].concat());
        assert_eq!(code, 3, "{command:?}: {err}");
        assert!(out.contains("MyPerf Calls") && out.contains("Available MBytes"), "{out}");
        assert!(err.contains("service Bad: its process ended with signal 11"), "{command:?}: {err}");
    }
    let (code, _, err) = tally(&place, &["get", paths[0]]);
    assert!(code == 6 && err.contains("signal 11"), "{code} {err}");
}

#[test]
fn a_session_records_beside_a_crashing_library_and_takes_it_up_later() {
    let place = Place::new();
    // It crashes as long as there is a file of this name.
    let sick = place.log("Later").with_extension("sick");
    fs::write(&sick, "").unwrap();
    let later = Provider { service: "Later", fault: "SICK", ..Provider::default() };
    if place.install(&later).is_none() {
        return;
    }
    let (folder, counter) = (place.0.join("logs").display().to_string(), r"\Later Object(one)\Later Calls");
    let start = ["log", "start", "later", "-o", &folder, "-i", "200ms", "-c", counter];
    let (code, _, err) = tally(&place, &[&start[..], &["-c", r"\Memory\Available MBytes"]].concat());
    assert!(code == 0 && err.contains("signal 11") && err.contains("as soon as"), "{code} {err}");
    let columns = || {
        let copy = place.0.join("copy.tally").display().to_string();
        let _ = fs::remove_file(&copy);
        let _ = tally(&place, &["log", "snapshot", "later", "-o", &copy]);
        tally(&place, &["info", "--json", "--columns", &copy]).1
    };
    wait_for("a record without the library", || columns().contains("Available MBytes"));
    assert!(!columns().contains("Later Calls"));
    fs::remove_file(&sick).unwrap();
    wait_for("a record of the library", || {
        let columns = columns();
        columns.contains("Later Calls") && columns.contains("Available MBytes")
    });
    ok(&place, &["log", "stop", "later"]);
}
