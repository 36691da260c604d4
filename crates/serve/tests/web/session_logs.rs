//! The logs of a session that begins new ones are shown as one.

use std::path::PathBuf;
use std::sync::Arc;

use serde_json::{Value, json};
use tallymon_testkit::Scratch;

use crate::client::Running;
use crate::machine::{Kept, machine};

/// 2026-03-01T00:00:00Z.
const BEGIN: f64 = 1_772_323_200_000.0;

/// A log of a minute with ten records; its load is its number.
pub(crate) fn segment(scratch: &Scratch, number: u32) -> PathBuf {
    let mut text =
        String::from("\"(PDH-CSV 4.0) (UTC)(0)\",\"\\\\WEB01\\Processor(_Total)\\% Processor Time\"\r\n");
    for nth in 0..10u32 {
        text.push_str(&format!(
            "\"03/01/2026 {:02}:{:02}:{:02}.000\",\"{number}\"\r\n",
            number / 60,
            number % 60,
            nth * 6
        ));
    }
    let path = scratch.join("ring").join(format!("night-{number:06}.csv"));
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(&path, text).unwrap();
    path
}

/// A server with the session `night`, whose logs are in a folder of the test.
fn server(scratch: &Scratch, kept: &Arc<Kept>) -> Running {
    kept.put_in(&scratch.join("ring"));
    Running::with(machine(kept, scratch, false, &[]))
}

fn open(server: &Running) -> Value {
    let head = server.head("POST", "/api/v1/sessions/open?name=night");
    let reply = server.send(&format!("{head}Content-Length: 0\r\n\r\n"));
    assert_eq!(reply.status, 200, "{}", reply.text());
    serde_json::from_slice(&reply.body).unwrap()
}

fn ready(server: &Running) -> Value {
    server.wait("/api/v1/hosts", |hosts| hosts[1]["state"] == "ready")[1].clone()
}

#[test]
fn all_logs_of_a_ring_are_one() {
    let scratch = Scratch::new();
    (1..=3).for_each(|number| drop(segment(&scratch, number)));
    // One that is damaged, and one that has no record yet.
    std::fs::write(scratch.join("ring/night-000004.csv"), "\"(PDH-CSV 4.0) (UTC)(0)\"\r\n").unwrap();
    let kept = Kept::new();
    let server = server(&scratch, &kept);
    assert_eq!(open(&server), json!({ "id": "log1", "logs": 4, "all": 4 }));
    let log = ready(&server);
    assert_eq!(
        (&log["name"], &log["records"], &log["first"], &log["last"], &log["closable"]),
        (&"night (4)".into(), &30.into(), &json!(BEGIN + 60e3), &json!(BEGIN + 234e3), &true.into())
    );
    assert_eq!(log["damage"], 1);
    assert!(log["faults"][0].as_str().unwrap().contains("night-000004.csv"), "{log}");
    // Chart, alerts, gaps, findings, overview, converting: all of them have all logs.
    let path = "%5CProcessor(_Total)%5C%25%20Processor%20Time";
    let chart = server.get(&format!("/api/v1/query?host=log1&path={path}"));
    assert_eq!((&chart["rows"], &chart["series"][0]["statistics"]["sum"]), (&json!(30), &json!(60.0)));
    let found = server.get(&format!("/api/v1/alerts?host=log1&path={path}&alert=2.5+{path}"));
    assert_eq!((&found["count"], &found["alerts"][0]["time"]), (&json!(1), &json!(BEGIN + 180e3)));
    assert_eq!(server.get("/api/v1/gaps?host=log1")["count"], 0);
    assert!(server.get("/api/v1/findings?host=log1")["findings"].is_array());
    let same = server.get("/api/v1/compare?first=log1&second=log1");
    assert_eq!((&same["sides"][0]["records"], &same["sides"][0]["name"]), (&json!(30), &"night (4)".into()));
    let target = "/api/v1/convert?host=log1&format=csv";
    let text = server.send(&format!("{}\r\n", server.head("GET", target))).text();
    assert!(text.contains("00:01:00.000") && text.contains("00:03:54.000"), "{text}");

    // The ring goes on: its oldest log is gone, and a new one has begun. It is the same log of the page.
    std::fs::remove_file(scratch.join("ring/night-000001.csv")).unwrap();
    segment(&scratch, 4);
    assert_eq!(open(&server), json!({ "id": "log1", "logs": 3, "all": 3 }));
    let log = server.wait("/api/v1/hosts", |hosts| hosts[1]["last"] == json!(BEGIN + 294e3))[1].clone();
    assert_eq!(
        (&log["records"], &log["first"], &log["damage"]),
        (&30.into(), &json!(BEGIN + 120e3), &0.into())
    );
    let closed = server.send(&format!("{}\r\n", server.head("DELETE", "/api/v1/logs?id=log1")));
    assert_eq!((closed.status, server.get("/api/v1/hosts").as_array().unwrap().len()), (200, 1));
    assert!(scratch.join("ring/night-000002.csv").exists(), "the logs of a session stay");
}

#[test]
fn logs_that_are_too_large_to_copy_are_named() {
    let scratch = Scratch::new();
    [1, 2, 5].iter().for_each(|number| drop(segment(&scratch, *number)));
    let kept = Kept::new();
    kept.put_in(&scratch.join("ring"));
    let machine = machine(&kept, &scratch, false, &[]);
    let server = Running::with(tallymon_serve::Options { uploads: 100, ..machine });
    open(&server);
    ready(&server);
    for target in ["compare?first=log1&second=log1", "convert?host=log1&format=blg"] {
        let reply = server.send(&format!("{}\r\n", server.head("GET", &format!("/api/v1/{target}"))));
        assert_eq!(reply.status, 413, "{}", reply.text());
        for words in ["night (3) has 1 MiB", "may have 0 MiB together (--uploads)", "larger --uploads"] {
            assert!(reply.text().contains(words), "{}", reply.text());
        }
    }
    // Gaps need no copy, and those between the logs are found.
    let found = server.get("/api/v1/gaps?host=log1");
    assert_eq!((&found["count"], &found["objects"]), (&json!(1), &json!(1)));
    assert_eq!(found["gaps"][0], json!({ "time": BEGIN + 174e3, "seconds": 126.0 }));
}

#[test]
fn of_very_many_logs_the_newest_are_shown_and_the_answer_says_it() {
    let scratch = Scratch::new();
    (1..=203).for_each(|number| drop(segment(&scratch, number)));
    let kept = Kept::new();
    let server = server(&scratch, &kept);
    assert_eq!(open(&server), json!({ "id": "log1", "logs": 200, "all": 203 }));
    let log = ready(&server);
    assert_eq!((&log["name"], &log["records"]), (&"night (200)".into(), &2_000.into()));
    assert_eq!(log["first"], json!(BEGIN + 4.0 * 60e3));
}

#[test]
fn a_session_with_only_damaged_logs_says_why() {
    let scratch = Scratch::new();
    std::fs::create_dir_all(scratch.join("ring")).unwrap();
    for number in 1..3 {
        std::fs::write(scratch.join(format!("ring/night-{number}.csv")), "no log").unwrap();
    }
    let kept = Kept::new();
    let server = server(&scratch, &kept);
    open(&server);
    let hosts = server.wait("/api/v1/hosts", |hosts| hosts[1]["state"] == "failed");
    assert!(hosts[1]["error"].as_str().unwrap().contains("night-1.csv"), "{hosts}");
}
