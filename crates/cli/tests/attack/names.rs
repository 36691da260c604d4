//! Names that belong to somebody else.

use std::fs;
use std::process::Stdio;

use tallymon_testkit::{attack, peer};

use crate::support::{Helper, Place, wait_for};

#[test]
fn attack_process_that_calls_itself_a_total() {
    let Some(sleep) = peer("sleep") else { return };
    let place = Place::new();
    let start = |name: &str| {
        let program = place.0.join(name);
        // A copy could be busy: another test that starts a program has it open for a moment.
        std::os::unix::fs::symlink(&sleep, &program).unwrap();
        let child = std::process::Command::new(&program).arg("600").stdout(Stdio::null()).spawn().unwrap();
        let file = format!("/proc/{}/comm", child.id());
        let child = Helper(child);
        wait_for("its name", || fs::read_to_string(&file).is_ok_and(|text| text.trim() == name));
        child
    };
    let (total, idle) = (start("_Total"), start("Idle"));
    let value = |path: &str| {
        let (code, out, error) = place.run(&["get", path, "--json"]);
        assert_eq!(code, 0, "{path}: {error}");
        let json: serde_json::Value = serde_json::from_str(&out).unwrap();
        let values = json.get("values").or(Some(&json)).and_then(|values| values.get(0)).unwrap();
        values.get("value").and_then(serde_json::Value::as_f64).unwrap_or_else(|| panic!("{path}: {out}"))
    };
    // The total has the threads of everybody, and no process number of its own.
    assert!(value(r"\Process(_Total)\Thread Count") > 2.0);
    assert_eq!(value(r"\Process(_Total)\ID Process"), 0.0);
    assert_eq!(value(r"\Process([_Total])\ID Process"), f64::from(total.0.id()));
    assert_eq!(value(r"\Process(Idle)\ID Process"), 0.0);
    assert_eq!(value(r"\Process(Idle#1)\ID Process"), f64::from(idle.0.id()));
    attack(
        "other users",
        "run a process that is called _Total, or Idle",
        "the total and Idle stay what they are; the processes are shown as [_Total] and Idle#1",
    );
}
