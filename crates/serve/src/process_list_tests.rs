//! The order, the filter and the tree of processes; what a request may not ask.

use std::sync::Arc;

use super::*;

fn row(name: &str, id: u32, parent: Option<u32>, processor: Option<f32>, memory: f64) -> ProcessRow {
    ProcessRow {
        name: Arc::from(name),
        id: Some(id),
        parent,
        start: u64::from(id) + (1 << 60),
        processor,
        memory: Some(memory),
        bytes: None,
        threads: Some(1.0),
    }
}

fn wanted(text: &str) -> Result<Wanted, Refused> {
    Wanted::of(&Parameters::of(&format!("/o?{text}").parse().unwrap()).unwrap())
}

fn names(text: &str, rows: &[ProcessRow]) -> Vec<(String, u64)> {
    let found = wanted(text).unwrap().json(rows, 0, None);
    let largest = found["largest"].as_array().unwrap().iter();
    largest.map(|one| (one["name"].as_str().unwrap().into(), one["depth"].as_u64().unwrap())).collect()
}

#[test]
fn processes_are_sorted_filtered_cut_and_put_below_their_parents() {
    let rows = [
        row("init", 1, None, Some(0.0), 10.0),
        row("shell", 7, Some(1), None, 50.0),
        row("Worker", 9, Some(7), Some(90.0), 20.0),
        row("worker#1", 12, Some(7), Some(5.0), 30.0),
        row("_Total", 0, None, Some(100.0), 100.0),
    ];
    let flat = |all: &[&str]| all.iter().map(|name| ((*name).to_string(), 0)).collect::<Vec<_>>();
    for (text, expected) in [
        ("", flat(&["Worker", "worker#1", "init", "shell"])),
        // What has no value is last whichever way it goes.
        ("back=1", flat(&["init", "worker#1", "Worker", "shell"])),
        ("sort=memory", flat(&["shell", "worker#1", "Worker", "init"])),
        ("sort=name", flat(&["init", "shell", "Worker", "worker#1"])),
        ("sort=id&back=1", flat(&["worker#1", "Worker", "shell", "init"])),
        ("sort=user", flat(&["shell", "worker#1", "Worker", "init"])),
        ("filter=WORK", flat(&["Worker", "worker#1"])),
        ("filter=12", flat(&["worker#1"])),
        ("filter=work+shell", flat(&[])),
        ("processes=1", flat(&["Worker"])),
        ("processes=0", flat(&[])),
        (
            "tree=1&sort=name",
            vec![("init".into(), 0), ("shell".into(), 1), ("Worker".into(), 2), ("worker#1".into(), 2)],
        ),
    ] {
        assert_eq!(names(text, &rows), expected, "{text}");
    }
    let without_id =
        [ProcessRow { id: None, ..row("ghost", 5, None, None, 1.0) }, row("init", 1, None, None, 1.0)];
    for text in ["sort=id", "sort=id&back=1"] {
        assert_eq!(names(text, &without_id), flat(&["init", "ghost"]), "{text}");
    }
    let found = wanted("filter=work&processes=1").unwrap().json(&rows, 3, None);
    assert_eq!((&found["count"], &found["found"], &found["leftOut"]), (&json!(4), &json!(2), &json!(3)));
    // A start has more digits than a number of JavaScript.
    assert_eq!(found["largest"][0]["start"], json!((9u64 + (1 << 60)).to_string()));
}

#[test]
fn wrong_wishes_are_refused_with_what_is_expected() {
    for (text, said) in [
        ("sort=cpu", "sort=\"cpu\""),
        ("back=yes", "back=\"yes\""),
        ("tree=2", "tree=\"2\""),
        ("texts=", "texts=\"\""),
        ("processes=-1", "processes=\"-1\""),
    ] {
        let refused = wanted(text).unwrap_err();
        assert!(refused.words.contains(said) && refused.words.contains("expected"), "{}", refused.words);
    }
    assert_eq!(wanted("processes=99999999").unwrap().rows, 2_000);
}
