//! Thresholds are looked for in all of a log and of the history, not only in what a chart shows.

use serde_json::{Value, json};
use tallymon_testkit::Scratch;

use crate::answers::log;
use crate::client::Running;

const PROCESS: &str = "%5CProcess(*)%5C%25%20Processor%20Time";

#[test]
fn the_peak_of_a_long_log_is_found_wherever_the_chart_is() {
    let scratch = Scratch::new();
    let server = Running::start(false, &[log(&scratch)]);
    server.wait("/api/v1/hosts", |hosts| hosts[0]["state"] == "ready");
    // The peak is one of 8,640 rows: the 5,000th, 15 s each.
    let begin = 1_772_323_200_000.0;
    let peak = begin + 5_000.0 * 15_000.0;
    let hostile = r"\Process(<b>a&b)\% Processor Time";
    for alert in [format!("90+{PROCESS}"), "90+%5CProcess(%3Cb%3Ea%26b)%5C%25%20Processor%20Time".to_string()]
    {
        let found = server.get(&format!("/api/v1/alerts?host=log1&path={PROCESS}&alert={alert}"));
        let expected = json!({
            "count": 2, "from": begin, "to": begin + 8_639.0 * 15_000.0,
            "alerts": [
                { "time": peak + 15_000.0, "begins": false, "path": hostile, "value": 1 },
                { "time": peak, "begins": true, "path": hostile, "value": 98.5 },
            ],
        });
        assert_eq!(found, expected, "{alert}");
    }
    // The threshold of a series comes before that of its path; a path that is not charted has none.
    let both = format!("path={PROCESS}&alert=-1+{PROCESS}&alert=200+%5CProcess(sh)%5C%25%20Processor%20Time");
    let found = server.get(&format!("/api/v1/alerts?host=log1&{both}&alert=0+%5CSystem%5CProcesses"));
    assert_eq!((&found["count"], &found["alerts"][0]["path"]), (&json!(1), &json!(hostile)));
    // A long list is cut, and counted.
    let found = server.get(&format!("/api/v1/alerts?host=log1&path={PROCESS}&alert=8.5+{PROCESS}"));
    assert_eq!((&found["count"], found["alerts"].as_array().unwrap().len()), (&json!(1_727), 50));
    // What is no threshold is refused.
    for (bad, words) in [
        ("", "is missing"),
        ("&alert=%5CSystem%5CProcesses", "a number, a space and a path"),
        ("&alert=NaN+%5CSystem%5CProcesses", "a number, a space and a path"),
        ("&alert=inf+x", "a number, a space and a path"),
        ("&alert=1%0A2+x", "a number, a space and a path"),
    ] {
        let target = format!("/api/v1/alerts?host=log1&path={PROCESS}{bad}");
        let reply = server.send(&format!("{}\r\n", server.head("GET", &target)));
        assert!(reply.status == 400 && reply.text().contains(words), "{bad}: {}", reply.text());
    }
    let many = "&alert=1+x".repeat(257);
    let target = format!("/api/v1/alerts?host=log1&path={PROCESS}{many}");
    assert_eq!(server.send(&format!("{}\r\n", server.head("GET", &target))).status, 400);
}

#[test]
fn the_history_of_a_live_machine_is_looked_through_beyond_the_chart() {
    let server = Running::start(true, &[]);
    let target = "/api/v1/alerts?path=%5CSystem%5CProcesses&alert=0.5+%5CSystem%5CProcesses";
    let found = server.wait(target, |found: &Value| found["count"] == 1);
    assert_eq!(
        (&found["alerts"][0]["begins"], &found["alerts"][0]["path"]),
        (&json!(true), &json!(r"\System\Processes"))
    );
    let found = server.wait(target, |found: &Value| found["to"].as_f64() > found["from"].as_f64());
    // It rose once, with its first value, and stays above.
    assert_eq!((&found["count"], found["alerts"][0]["time"] == found["from"]), (&json!(1), true), "{found}");
    let none = server.get("/api/v1/alerts?path=%5CSystem%5CProcesses&alert=1e9+%5CSystem%5CProcesses");
    assert_eq!((&none["count"], none["from"].is_number()), (&json!(0), true));
}
