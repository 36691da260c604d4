//! Values, histories and logs through the server.

use std::io::Write;
use std::path::PathBuf;

use serde_json::{Value, json};
use tallymon_testkit::Scratch;

use crate::client::{Reply, Running, options, stream};

/// A log of a day and a half, every 15 seconds, with one peak and one hole.
pub(crate) fn log(scratch: &Scratch) -> PathBuf {
    let mut text = String::from(
        "\"(PDH-CSV 4.0) (UTC)(0)\",\"\\\\WEB01\\System\\Processes\",\
         \"\\\\WEB01\\Process(<b>a&b)\\% Processor Time\",\"\\\\WEB01\\Process(sh)\\% Processor Time\"\r\n",
    );
    for nth in 0..8_640u32 {
        let seconds = nth * 15;
        let (day, hour) = (seconds / 86_400 + 1, seconds / 3_600 % 24);
        let (minute, second) = (seconds / 60 % 60, seconds % 60);
        let busy = if nth == 5_000 { 98.5 } else { f64::from(nth % 10) };
        let processes = if nth == 77 { " ".to_string() } else { nth.to_string() };
        text.push_str(&format!(
            "\"03/{day:02}/2026 {hour:02}:{minute:02}:{second:02}.000\",\"{processes}\",\"{busy}\",\"1\"\r\n"
        ));
    }
    let path = scratch.join("day.csv");
    std::fs::write(&path, text).unwrap();
    path
}

#[test]
fn the_gaps_of_a_log() {
    let scratch = Scratch::new();
    let mut text = String::from("\"(PDH-CSV 4.0) (UTC)(0)\",\"\\\\WEB01\\System\\Processes\"");
    for second in (0..60u32).chain(660..720) {
        let (minute, rest) = (second / 60, second % 60);
        text.push_str(&format!("\r\n\"03/01/2026 00:{minute:02}:{rest:02}.000\",\"7\""));
    }
    let path = scratch.join("gap.csv");
    std::fs::write(&path, text).unwrap();
    let server = Running::start(true, &[path]);
    server
        .wait("/api/v1/hosts", |hosts| hosts.as_array().unwrap().iter().all(|host| host["state"] == "ready"));
    let found = server.get("/api/v1/gaps?host=log1");
    assert_eq!((&found["count"], &found["objects"]), (&1.into(), &1.into()), "{found}");
    assert_eq!(found["gaps"][0]["time"], BEGIN + 59_000.0, "{found}");
    assert_eq!(found["gaps"][0]["seconds"], 601.0, "{found}");
    for (target, status) in [("gaps", 400), ("gaps?host=live", 400), ("gaps?host=log9", 404)] {
        assert_eq!(
            server.send(&format!("{}\r\n", server.head("GET", &format!("/api/v1/{target}")))).status,
            status
        );
    }
}

const BEGIN: f64 = 1_772_323_200_000.0;

fn is_ready(hosts: &Value) -> bool {
    hosts.as_array().unwrap().iter().all(|host| host["state"] == "ready")
}

#[test]
fn a_log_has_its_values_its_extremes_and_its_causes() {
    let scratch = Scratch::new();
    let server = Running::start(false, &[log(&scratch)]);
    let hosts = server.wait("/api/v1/hosts", is_ready);
    let about = &hosts[0];
    assert_eq!(
        (&about["records"], &about["columns"], &about["hosts"][0]),
        (&8_640.into(), &3.into(), &"WEB01".into())
    );
    assert_eq!((about["first"].as_f64(), about["interval"].as_f64()), (Some(BEGIN), Some(15.0)));

    // All rows of ten minutes.
    let (from, to) = (BEGIN + 75.0 * 15e3, BEGIN + 80.0 * 15e3);
    let chart = server.get(&format!("/api/v1/query?path=%5CSystem%5CProcesses&from={from}&to={to}"));
    assert_eq!(chart["decimated"], false);
    assert_eq!(chart["series"][0]["values"], serde_json::json!([75, 76, null, 78, 79, 80]));
    assert_eq!(chart["times"][0].as_f64(), Some(from));
    let statistics = &chart["series"][0]["statistics"];
    assert_eq!((&statistics["count"], &statistics["max"]), (&5.into(), &80.0.into()));

    // A day in few points still has its peak, and statistics of all values.
    let chart = server.get("/api/v1/query?path=%5CProcess(*)%5C%25%20Processor%20Time&points=100");
    assert_eq!((&chart["decimated"], &chart["rows"]), (&true.into(), &8_640.into()));
    let series = chart["series"].as_array().unwrap();
    assert_eq!(series.len(), 2);
    let peak = &series[0];
    assert_eq!(peak["instance"], "<b>a&b");
    assert!(peak["values"].as_array().unwrap().len() <= 100);
    assert!(peak["values"].as_array().unwrap().contains(&98.5.into()));
    assert_eq!((&peak["statistics"]["max"], &peak["statistics"]["count"]), (&98.5.into(), &8_640.into()));

    // Who caused it.
    let time = BEGIN + 5_000.0 * 15e3;
    let causes = server.get(&format!("/api/v1/contributors?time={time}"));
    let first = &causes["groups"][0]["instances"][0];
    assert_eq!((&first["name"], &first["value"]), (&"<b>a&b".into(), &98.5.into()));

    // Without a live machine there is no stream.
    let reply =
        server.send(&format!("{}\r\n", server.head("GET", "/api/v1/stream?path=%5CSystem%5CProcesses")));
    assert_eq!(reply.status, 404);
    let missing =
        server.send(&format!("{}\r\n", server.head("GET", "/api/v1/query?path=%5CSystem%5CProceses")));
    assert!(missing.status == 404 && missing.text().contains("did you mean"), "{}", missing.text());
}

#[test]
fn a_stream_continues_without_a_hole_and_all_see_the_same_rows() {
    let server = Running::start(true, &[]);
    let target =
        "/api/v1/stream?path=%5CProcessor(_Total)%5C%25%20Processor%20Time&path=%5CSystem%5CProcesses";
    let first = stream(&server, target, "", 3);
    let last = first.last().unwrap()["row"].as_u64().unwrap();
    // Rows go on while nobody is connected.
    server.wait("/api/v1/hosts", |hosts| hosts[0]["next"].as_u64() > Some(last + 4));
    let rest = stream(&server, target, &format!("Last-Event-ID: {last}\r\n"), 4);
    let rows: Vec<u64> = rest.iter().map(|row| row["row"].as_u64().unwrap()).collect();
    assert_eq!(rows, [last + 1, last + 2, last + 3, last + 4]);

    // Ten who look get rows of one collection: the same times and values.
    let after = rows[3];
    let target = format!("{target}&after={after}");
    let all: Vec<Vec<Value>> = std::thread::scope(|scope| {
        let looks: Vec<_> = (0..10).map(|_| scope.spawn(|| stream(&server, &target, "", 5))).collect();
        looks.into_iter().map(|look| look.join().unwrap()).collect()
    });
    assert!(all.iter().all(|rows| *rows == all[0]), "{all:?}");
    assert_eq!(all[0][0]["row"], after + 1);
    let processes = all[0][4]["values"][1].as_f64().unwrap();
    assert!(processes >= 1.0);
    // Asking again and again gives the same rows as the stream.
    let rows = server.get(&format!("/api/v1/rows?{}", target.split_once('?').unwrap().1));
    assert_eq!(rows["rows"].as_array().unwrap()[..5], all[0][..]);
}

#[test]
fn the_overview_has_the_processes_of_now_and_of_the_past() {
    let server = Running::start(true, &[]);
    let has_processes = |answer: &Value| {
        let available = &answer["memory"]["available"]["value"];
        answer["processes"]["count"].as_u64() > Some(0) && available.as_f64() > Some(1e6)
    };
    let now = server.wait("/api/v1/overview", has_processes);
    assert!(!now["processors"]["each"].as_array().unwrap().is_empty());
    let time = now["time"].as_f64().unwrap();
    server.wait("/api/v1/overview", |later| later["time"].as_f64() > Some(time));
    let past = server.get(&format!("/api/v1/overview?time={time}"));
    assert_eq!(
        (&past["time"], &past["memory"]["available"]["value"]),
        (&now["time"], &now["memory"]["available"]["value"])
    );
}

/// With names of process ids, the page lists and charts them.
#[test]
fn processes_are_named_with_their_ids_if_asked() {
    let locale = tallymon::Locale {
        instances: tallymon::InstanceNames::ProcessId,
        ..tallymon::core::title::Language::ENGLISH.into()
    };
    let live = Some(tallymon::Location::Local);
    let server = Running::with(tallymon_serve::Options { live, locale, ..options() });
    let own = format!("_{}", std::process::id());
    let listed = server.get("/api/v1/instances?object=230").to_string();
    assert!(listed.contains(&own), "{listed}");
    let target = format!("/api/v1/query?path=%5CProcess(*{own})%5CID%20Process");
    let queried = server.wait(&target, |queried| queried.to_string().contains(&own)).to_string();
    assert!(queried.contains(&format!("{}.0", std::process::id())), "{queried}");
}

/// The first chart of a long log does not wait for all of it: what has come is shown, and what needs all of
/// it waits.
#[test]
fn a_long_log_is_shown_while_it_comes() {
    let server = Running::with(tallymon_serve::Options { uploads: 1 << 30, ..options() });
    let digits = "0".repeat(2000);
    let mut text = String::from("\"(PDH-CSV 4.0) (UTC)(0)\"");
    (0..4).for_each(|nth| text.push_str(&format!(",\"\\\\W\\Processor({nth})\\% Processor Time\"")));
    for row in 0..4_000u32 {
        let (hour, minute, second) = (row / 3600, row / 60 % 60, row % 60);
        text.push_str(&format!("\r\n\"11/21/2026 {hour:02}:{minute:02}:{second:02}.000\""));
        (0..4).for_each(|nth| text.push_str(&format!(",\"{}.{digits}\"", row % 100 + nth)));
    }
    let half = text.len() * 3 / 4;
    assert!(half > 17 << 20, "{half} bytes are less than what is shown first");
    let begin = |name: &str| {
        let head = server.head("POST", &format!("/api/v1/logs?name={name}&tag={name}-here"));
        let mut stream = server.connect();
        stream.write_all(format!("{head}Content-Length: {}\r\n\r\n", text.len()).as_bytes()).unwrap();
        stream.write_all(&text.as_bytes()[..half]).unwrap();
        stream
    };
    let one = |hosts: &Value, name: &str| -> Option<Value> {
        hosts.as_array().unwrap().iter().find(|host| host["name"] == name).cloned()
    };
    let mut stream = begin("long.csv");
    let hosts = server
        .wait("/api/v1/hosts", |hosts| one(hosts, "long.csv").is_some_and(|log| log["last"].is_number()));
    let log = one(&hosts, "long.csv").unwrap();
    assert_eq!((&log["state"], &log["tag"]), (&json!("opening"), &json!("long.csv-here")), "{log}");
    assert_eq!(log["bytes"], text.len());
    let part = log["records"].as_u64().unwrap();
    assert!((1_000..4_000).contains(&part), "{log}");
    let id = log["id"].as_str().unwrap();
    let path = r"%5CProcessor(1)%5C%25%20Processor%20Time";
    let chart = server.get(&format!("/api/v1/query?host={id}&path={path}&points=100"));
    assert_eq!(chart["series"][0]["statistics"]["max"].as_f64(), Some(100.0), "{chart}");
    // What would be about a part of it only is refused.
    for target in [format!("findings?host={id}"), format!("convert?host={id}&format=csv")] {
        let reply = server.send(&format!("{}\r\n", server.head("GET", &format!("/api/v1/{target}"))));
        assert_eq!(reply.status, 409, "{target}: {}", reply.text());
        assert!(reply.text().contains("long.csv is still on its way"), "{}", reply.text());
    }
    let closing = server.send(&format!("{}\r\n", server.head("DELETE", &format!("/api/v1/logs?id={id}"))));
    assert_eq!(closing.status, 409, "{}", closing.text());
    stream.write_all(&text.as_bytes()[half..]).unwrap();
    let reply = Reply::read(stream);
    assert_eq!(reply.status, 200, "{}", reply.text());
    let hosts = server
        .wait("/api/v1/hosts", |hosts| one(hosts, "long.csv").is_some_and(|log| log["state"] == "ready"));
    let log = one(&hosts, "long.csv").unwrap();
    assert_eq!((&log["id"], &log["records"], &log["tag"]), (&json!(id), &json!(4_000), &Value::Null));
    assert_eq!(log["damage"], 0, "{log}");
    // One that breaks off is gone, and its room is free again.
    let broken = begin("broken.csv");
    server.wait("/api/v1/hosts", |hosts| one(hosts, "broken.csv").is_some());
    drop(broken);
    server.wait("/api/v1/hosts", |hosts| one(hosts, "broken.csv").is_none());
}

#[test]
fn an_uploaded_log_is_shown_until_it_is_closed() {
    let scratch = Scratch::new();
    let text = std::fs::read(log(&scratch)).unwrap();
    let server = Running::start(false, &[]);
    let head = format!(
        "{}Content-Length: {}\r\n\r\n",
        server.head("POST", "/api/v1/logs?name=a%20day.csv"),
        text.len()
    );
    let reply = server.send(&(head + &String::from_utf8(text).unwrap()));
    assert_eq!(reply.status, 200, "{}", reply.text());
    let hosts = server.wait("/api/v1/hosts", is_ready);
    assert_eq!((&hosts[0]["name"], &hosts[0]["records"]), (&"a day.csv".into(), &8_640.into()));
    let id = hosts[0]["id"].as_str().unwrap();
    let usual = server.get(&format!("/api/v1/usual?host={id}"));
    assert_eq!(usual, serde_json::json!(["\\System\\Processes"]));
    let closed = server.send(&format!("{}\r\n", server.head("DELETE", &format!("/api/v1/logs?id={id}"))));
    assert_eq!(closed.status, 200);
    assert_eq!(server.get("/api/v1/hosts"), serde_json::json!([]));
    // A file that is not a log says why.
    let head = format!("{}Content-Length: 5\r\n\r\nhello", server.head("POST", "/api/v1/logs?name=x"));
    assert_eq!(server.send(&head).status, 200);
    let failed = server.wait("/api/v1/logs", |logs| logs[0]["state"] == "failed");
    assert!(failed[0]["error"].as_str().unwrap().contains('x'), "{failed}");
}

#[test]
fn a_usual_counter_that_the_machine_lacks_takes_no_other_from_the_first_chart() {
    let [lacks, has] = [r"\No Such Object\Nothing", r"\System\Processes"];
    let usual = vec![lacks.to_string(), has.to_string()];
    let server =
        Running::with(tallymon_serve::Options { usual, live: Some(tallymon::Location::Local), ..options() });
    assert_eq!(server.get("/api/v1/usual"), serde_json::json!([has]));
    // It is sampled from the beginning, so that its rows are there whoever asks.
    let rows = server.get("/api/v1/rows?path=%5CSystem%5CProcesses&after=0");
    assert_eq!(rows["series"].as_array().unwrap().len(), 1, "{rows}");
}

/// Each page has names in its own language, and the English ones beside them.
#[test]
fn names_are_in_the_language_that_is_asked_for() {
    let scratch = Scratch::new();
    let server = Running::start(true, &[log(&scratch)]);
    server.wait("/api/v1/hosts", |hosts| hosts[1]["state"] == "ready");
    let memory = "path=%5CMemory%5CAvailable%20Bytes";
    let is_russian = |text: &Value| text.as_str().unwrap().contains(|letter| ('а'..='я').contains(&letter));
    for target in [
        format!("/api/v1/query?{memory}"),
        format!("/api/v1/rows?{memory}&after=0"),
        "/api/v1/query?host=log1&path=%5CSystem%5CProcesses".to_string(),
    ] {
        let of = |language: &str| {
            let wanted = |answer: &Value| answer["series"].as_array().is_some_and(|all| !all.is_empty());
            server.wait(&format!("{target}&lang={language}"), wanted)["series"][0].clone()
        };
        let (english, russian) = (of("en"), of("ru"));
        for (own, other) in [("object", "objectEnglish"), ("counter", "counterEnglish")] {
            assert_eq!(english[own], english[other], "{target}");
            assert_eq!(russian[other], english[own], "{target}");
            assert!(is_russian(&russian[own]), "{target}: {russian}");
        }
    }
    let groups = |answer: &Value| answer["groups"].as_array().is_some_and(|groups| !groups.is_empty());
    let newest =
        server.wait("/api/v1/hosts", |hosts| hosts[0]["last"].is_number())[0]["last"].as_f64().unwrap();
    let found = server.wait(&format!("/api/v1/contributors?time={}&lang=ru", newest + 1e6), groups);
    assert!(
        is_russian(&found["groups"][0]["title"]) && !is_russian(&found["groups"][0]["english"]),
        "{found}"
    );
}

/// A line says when its instance ended, and what an explanation is about.
#[test]
fn an_instance_that_ended_says_when() {
    let scratch = Scratch::new();
    let program = scratch.join("endsoon");
    let Ok(_) = std::fs::copy("/bin/sleep", &program) else { return tallymon_testkit::skip("no /bin/sleep") };
    let mut child = std::process::Command::new(&program).arg("600").spawn().unwrap();
    let server = Running::start(true, &[]);
    let target = "/api/v1/query?path=%5CProcess(endsoon)%5CID%20Process";
    let value = |answer: &Value| answer["series"][0]["statistics"]["last"].is_number();
    let answer = server.wait(target, value);
    assert_eq!(
        (&answer["series"][0]["ended"], &answer["series"][0]["missing"]),
        (&Value::Null, &Value::Null),
        "{answer}"
    );
    let stream = crate::client::stream(&server, &target.replace("query", "stream"), "", 1);
    assert_eq!(stream.len(), 1);
    child.kill().unwrap();
    child.wait().unwrap();
    let answer = server.wait(target, |answer| answer["series"][0]["ended"].is_number());
    let last = answer["times"].as_array().unwrap().last().unwrap().as_f64().unwrap();
    assert!(answer["series"][0]["ended"].as_f64().unwrap() <= last, "{answer}");
}

/// An explanation says where the number comes from, and has its text in every language.
#[test]
fn an_explanation_says_where_the_number_comes_from() {
    let scratch = Scratch::new();
    let server = Running::start(true, &[log(&scratch)]);
    let path = "path=%5CSystem%5CProcesses";
    let is_there = |answer: &Value| answer.get("pending").is_none();
    let live = server.wait(&format!("/api/v1/explain?{path}"), is_there);
    if cfg!(target_os = "linux") {
        assert_eq!(live["origin"], "/proc: folders with a number");
    }
    let languages: Vec<_> = live["helps"].as_array().unwrap().iter().map(|help| &help["language"]).collect();
    assert!(languages.len() >= 4 && live["helps"][1]["text"] != live["helps"][0]["text"], "{live}");
    server.wait("/api/v1/hosts", |hosts| hosts[1]["state"] == "ready");
    let log = server.wait(&format!("/api/v1/explain?host=log1&{path}"), is_there);
    assert_eq!(log["origin"], server.get("/api/v1/hosts")[1]["name"]);
}

/// A damaged log says where its first faults are.
#[test]
fn a_damaged_log_says_where() {
    let scratch = Scratch::new();
    let path = log(&scratch);
    let text = std::fs::read_to_string(&path).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    let damaged =
        format!("{}\r\n\"03/01/2026 00:00\r\n{}\r\n", lines[..40].join("\r\n"), lines[40..].join("\r\n"));
    std::fs::write(&path, damaged).unwrap();
    let server = Running::start(false, &[path]);
    let hosts = server.wait("/api/v1/hosts", |hosts| hosts[0]["last"].is_number());
    let (count, faults) = (hosts[0]["damage"].as_u64().unwrap(), hosts[0]["faults"].as_array().unwrap());
    assert!(count > 0 && !faults.is_empty() && faults.len() <= 5, "{hosts}");
    assert!(faults[0].as_str().unwrap().contains("line 41"), "{hosts}");
}
