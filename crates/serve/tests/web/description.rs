//! `openapi.json` says what the server answers: every address is asked, and its answer checked against its
//! schema.

use serde_json::Value;
use tallymon_testkit::Scratch;

use crate::answers::log;
use crate::client::{Running, stream};
use crate::machine::{Kept, machine};
use crate::profiles::profile;

/// What an answer lacks of its schema.
fn faults(all: &Value, schema: &Value, value: &Value, at: &str, into: &mut Vec<String>) {
    if let Some(name) = schema["$ref"].as_str() {
        let known = all.pointer(name.trim_start_matches('#')).unwrap();
        return faults(all, known, value, at, into);
    }
    for part in schema["allOf"].as_array().into_iter().flatten() {
        faults(all, part, value, at, into);
    }
    let kinds: Vec<&str> = match &schema["type"] {
        Value::String(kind) => vec![kind],
        Value::Array(kinds) => kinds.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    };
    let fits = |kind: &&str| match *kind {
        "string" => value.is_string(),
        "number" => value.is_number(),
        "integer" => value.is_i64() || value.is_u64(),
        "boolean" => value.is_boolean(),
        "null" => value.is_null(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        other => panic!("a schema with {other}"),
    };
    if !kinds.is_empty() && !kinds.iter().any(fits) {
        into.push(format!("{at}: {value} is not {kinds:?}"));
        return;
    }
    if let Some(known) = schema["enum"].as_array()
        && !known.contains(value)
    {
        into.push(format!("{at}: {value} is not in {known:?}"));
    }
    for name in schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str) {
        if value.get(name).is_none() {
            into.push(format!("{at}: lacks {name}"));
        }
    }
    for (name, known) in schema["properties"].as_object().into_iter().flatten() {
        if let Some(value) = value.get(name) {
            faults(all, known, value, &format!("{at}.{name}"), into);
        }
    }
    for (nth, one) in value.as_array().into_iter().flatten().enumerate() {
        if schema.get("items").is_some() {
            faults(all, &schema["items"], one, &format!("{at}[{nth}]"), into);
        }
    }
}

#[test]
fn every_answer_is_as_described() {
    let scratch = Scratch::new();
    let server = Running::with(machine(&Kept::new(), &scratch, true, &[log(&scratch), profile(&scratch)]));
    let all = server.get("/api/v1/openapi.json");
    let all_ready = |hosts: &Value| hosts.as_array().unwrap().iter().all(|host| host["state"] == "ready");
    let hosts = server.wait("/api/v1/hosts", all_ready);
    let time = hosts[1]["last"].as_f64().unwrap();
    let memory = r"%5CMemory%5CAvailable%20Bytes";
    server.wait(&format!("/api/v1/explain?path={memory}"), |answer| answer.get("pending").is_none());
    let mut asked = 0;
    for (path, methods) in all["paths"].as_object().unwrap() {
        let parameters = match path.as_str() {
            "/api/v1/counters" => ["object=Memory", "search=ram", "host=log1&object=System"].as_slice(),
            "/api/v1/instances" => &["object=Processor", "object=238&lang=ru"],
            "/api/v1/query" => {
                &["path=%5CProcessor(*)%5C6&points=10", "host=log1&path=%5CSystem%5CProcesses&points=4"]
            }
            "/api/v1/rows" => &["path=%5CProcessor(*)%5C6&after=0"],
            "/api/v1/explain" => &["path=%5CMemory%5CAvailable%20Bytes"],
            "/api/v1/contributors" => &["time=TIME", "host=log1&time=TIME"],
            "/api/v1/overview" | "/api/v1/findings" => &["", "host=log1"],
            "/api/v1/providers" => &["", "host=log1&lang=ja"],
            "/api/v1/events" => &["", "filter=night&level=error&last=3"],
            "/api/v1/gaps" => &["host=log1"],
            "/api/v1/alerts" => &[
                "path=%5CMemory%5CAvailable%20Bytes&alert=1+%5CMemory%5CAvailable%20Bytes",
                "host=log1&path=%5CSystem%5CProcesses&alert=7+%5CSystem%5CProcesses",
            ],
            "/api/v1/compare" => &["first=log1&second=log1&align=clock"],
            "/api/v1/profile" | "/api/v1/profile/busiest" => &["id=file1"],
            "/api/v1/profile/differences" => &["before=file1&after=file1"],
            "/api/v1/convert"
            | "/api/v1/settings"
            | "/api/v1/stream"
            | "/api/v1/sessions/estimate"
            | "/api/v1/sessions/delete"
            | "/api/v1/sessions/open"
            | "/api/v1/providers/enable"
            | "/api/v1/sessions/start"
            | "/api/v1/sessions/stop" => {
                continue;
            }
            _ => &[""],
        };
        for parameters in parameters {
            let target = format!("{path}?{}", parameters.replace("TIME", &time.to_string()));
            let answer = server.get(&target);
            let schema = &methods["get"]["responses"]["200"]["content"]["application/json"]["schema"];
            assert!(schema.is_object(), "{path} has no schema");
            let mut found = Vec::new();
            faults(&all, schema, &answer, "", &mut found);
            assert!(found.is_empty(), "{target}: {found:#?}");
            asked += 1;
        }
    }
    assert!(asked > 12);
    let reply = server.send(&format!(
        "{}Content-Length: 0\r\n\r\n",
        server.head("POST", "/api/v1/sessions/stop?name=night")
    ));
    let mut found = Vec::new();
    let schema =
        &all["paths"]["/api/v1/sessions/stop"]["post"]["responses"]["200"]["content"]["application/json"];
    faults(&all, &schema["schema"], &serde_json::from_slice(&reply.body).unwrap(), "", &mut found);
    assert!(found.is_empty() && schema["schema"].is_object(), "{found:?}");
    let reply = server.send(&format!(
        "{}Content-Length: 0\r\n\r\n",
        server.head("POST", &format!("/api/v1/sessions/estimate?path={memory}"))
    ));
    let schema =
        &all["paths"]["/api/v1/sessions/estimate"]["post"]["responses"]["200"]["content"]["application/json"];
    faults(&all, &schema["schema"], &serde_json::from_slice(&reply.body).unwrap(), "", &mut found);
    assert!(found.is_empty() && schema["schema"].is_object(), "{found:?}");
    let rows = stream(&server, &format!("/api/v1/stream?path={memory}&after=0"), "", 2);
    let mut found = Vec::new();
    faults(&all, &all["components"]["schemas"]["Row"], &rows[1], "", &mut found);
    assert!(found.is_empty(), "{found:?}");
}

#[test]
fn a_check_that_finds_nothing_would_find_this() {
    let schema = serde_json::json!({
        "type": "object", "required": ["a", "b"],
        "properties": { "a": { "type": "integer" }, "c": { "type": "array", "items": { "enum": [1] } } },
    });
    let mut found = Vec::new();
    faults(&Value::Null, &schema, &serde_json::json!({ "a": "x", "c": [1, 2] }), "", &mut found);
    assert_eq!(found.len(), 3, "{found:?}");
}
