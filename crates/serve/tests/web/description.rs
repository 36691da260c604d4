//! `openapi.json` says what the server answers: every address is asked, and its answer checked against its
//! schema.

use std::collections::BTreeSet;

use serde_json::Value;
use tallymon_testkit::Scratch;

use crate::answers::log;
use crate::client::{Reply, Running, stream};
use crate::machine::{Kept, machine};
use crate::profiles::profile;

/// What an answer lacks of its schema.
fn faults(all: &Value, schema: &Value, value: &Value, at: &str, into: &mut Vec<String>) {
    if let Some(name) = schema["$ref"].as_str() {
        let known = all.pointer(name.trim_start_matches('#')).unwrap();
        return faults(all, known, value, at, into);
    }
    for part in schema["allOf"].as_array().into_iter().flatten() {
        // Each part has some of the fields.
        let mut of_part = Vec::new();
        faults(all, part, value, at, &mut of_part);
        into.extend(
            of_part.into_iter().filter(|fault| {
                !fault.starts_with(&format!("{at}: ")) || !fault.contains("is not described")
            }),
        );
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
    // What nobody has described is a fault, too.
    let described = properties(all, schema);
    for (name, value) in value.as_object().into_iter().flatten() {
        if !described.is_empty() && !described.contains(&name.as_str()) {
            into.push(format!("{at}: {name} is not described: {value}"));
        }
    }
    for (nth, one) in value.as_array().into_iter().flatten().enumerate() {
        if schema.get("items").is_some() {
            faults(all, &schema["items"], one, &format!("{at}[{nth}]"), into);
        }
    }
}

/// The fields that a schema describes, with those of its parts.
fn properties<'s>(all: &'s Value, schema: &'s Value) -> Vec<&'s str> {
    if let Some(name) = schema["$ref"].as_str() {
        return properties(all, all.pointer(name.trim_start_matches('#')).unwrap());
    }
    let parts = schema["allOf"].as_array().into_iter().flatten();
    let own = schema["properties"].as_object().into_iter().flat_map(|known| known.keys().map(String::as_str));
    own.chain(parts.flat_map(|part| properties(all, part))).collect()
}

/// What an answer lacks of the description of its address, with its status.
fn check(all: &Value, (method, path): (&str, &str), reply: &Reply, into: &mut Vec<String>) {
    let told = format!("{method} {path} {}", reply.status);
    let described = &all["paths"][path][method]["responses"][reply.status.to_string()];
    let described = match described["$ref"].as_str() {
        Some(name) => all.pointer(name.trim_start_matches('#')).unwrap(),
        None => described,
    };
    if described.is_null() {
        into.push(format!("{told} is not described: {}", reply.text()));
        return;
    }
    let kind = reply.header("content-type").unwrap_or_default();
    let kind = kind.split(';').next().unwrap_or_default();
    let content = &described["content"][kind];
    if content.is_null() && described["content"].as_object().is_some_and(|known| !known.is_empty()) {
        into.push(format!("{told}: {kind} is not described"));
    }
    if kind == "application/json" {
        let answer = serde_json::from_slice(&reply.body).unwrap();
        faults(all, &content["schema"], &answer, &told, into);
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
    let (mut asked, mut found) = (0, Vec::new());
    for (path, methods) in all["paths"].as_object().unwrap() {
        let parameters = match path.as_str() {
            "/api/v1/counters" => ["object=Memory", "search=ram", "host=log1&object=System"].as_slice(),
            "/api/v1/instances" => &["object=Processor", "object=238&lang=ru"],
            "/api/v1/query" => &[
                "path=%5CProcessor(*)%5C6&points=10",
                "host=log1&path=%5CSystem%5CProcesses&points=4",
                "host=log1&path=%5CSystem%5CProcesses&points=4&agg=avg",
            ],
            "/api/v1/rows" => &["path=%5CProcessor(*)%5C6&after=0"],
            "/api/v1/explain" => &["path=%5CMemory%5CAvailable%20Bytes"],
            "/api/v1/contributors" => &["time=TIME", "host=log1&time=TIME"],
            "/api/v1/overview" => {
                &["", "host=log1&texts=1", "texts=1&tree=1&sort=user&back=1&filter=a&processes=3"]
            }
            "/api/v1/findings" => &["", "host=log1"],
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
            // These are no JSON, or change something: see below.
            "/api/v1/convert" | "/api/v1/settings" | "/api/v1/stream" | "/api/v1/report" => continue,
            _ if methods.get("get").is_none() => continue,
            _ => &[""],
        };
        for parameters in parameters {
            let target = format!("{path}?{}", parameters.replace("TIME", &time.to_string()));
            let answer = server.get(&target);
            let schema = &methods["get"]["responses"]["200"]["content"]["application/json"]["schema"];
            assert!(schema.is_object(), "{path} has no schema");
            let known: Vec<&str> = names_of(&methods["get"]).collect();
            let asked_for =
                parameters.split('&').filter_map(|pair| pair.split_once('=')).map(|(name, _)| name);
            for name in asked_for {
                assert!(known.contains(&name), "{path} has no parameter {name}: {known:?}");
            }
            faults(&all, schema, &answer, path, &mut found);
            asked += 1;
        }
    }
    assert!(asked > 12);
    let rows = stream(&server, &format!("/api/v1/stream?path={memory}&after=0"), "", 2);
    faults(&all, &all["components"]["schemas"]["Row"], &rows[1], "", &mut found);
    assert!(found.is_empty(), "{found:#?}");
}

/// The parameters of an address.
fn names_of(method: &Value) -> impl Iterator<Item = &str> {
    method["parameters"].as_array().into_iter().flatten().filter_map(|one| one["name"].as_str())
}

/// Requests that change something, that give files, and that are refused: their statuses and answers are
/// described.
#[test]
fn what_is_refused_and_what_changes_something_is_as_described() {
    let scratch = Scratch::new();
    let server = Running::with(machine(&Kept::new(), &scratch, true, &[log(&scratch), profile(&scratch)]));
    let all = server.get("/api/v1/openapi.json");
    let all_ready = |hosts: &Value| hosts.as_array().unwrap().iter().all(|host| host["state"] == "ready");
    server.wait("/api/v1/hosts", all_ready);
    let mut found = Vec::new();
    let memory = "path=%5CMemory%5CAvailable%20Bytes";
    for (method, path, parameters, status) in [
        ("get", "/api/v1/convert", "host=log1&format=blg", 200),
        ("get", "/api/v1/convert", "host=log9&format=blg", 404),
        ("get", "/api/v1/convert", "host=log1&format=gif", 400),
        ("get", "/api/v1/settings", memory, 200),
        ("get", "/api/v1/settings", "path=%FF", 400),
        ("get", "/api/v1/report", "host=log1&lang=ja", 200),
        ("get", "/api/v1/report", "host=log1&last=soon", 400),
        ("get", "/api/v1/report", "host=log1/WEB01", 400),
        ("get", "/api/v1/report", "host=nobody", 404),
        ("get", "/api/v1/overview", "sort=cpu", 400),
        ("get", "/api/v1/query", "path=%5CMemory%5C6&agg=median", 400),
        ("get", "/api/v1/query", "", 400),
        ("get", "/api/v1/query", "host=log7&path=%5C2%5C6", 404),
        ("get", "/api/v1/counters", "", 400),
        ("get", "/api/v1/explain", "path=%5CNothing%5CAt%20All", 404),
        ("get", "/api/v1/compare", "first=live&second=log1", 400),
        ("get", "/api/v1/profile", "id=none", 404),
        ("post", "/api/v1/sessions/estimate", memory, 200),
        ("post", "/api/v1/sessions/estimate", "", 400),
        ("post", "/api/v1/sessions/estimate", "allObjects=1&limit=x&after=30s&event=1", 200),
        ("post", "/api/v1/sessions/stop", "name=night", 200),
        ("post", "/api/v1/sessions/start", "name=night", 200),
        ("post", "/api/v1/sessions/start", "name=nobody", 409),
        ("post", "/api/v1/sessions/start", "name=../x", 400),
        ("post", "/api/v1/sessions/open", "name=night", 409),
        ("post", "/api/v1/sessions", "name=new&path=%5C2%5C6", 200),
        ("post", "/api/v1/sessions", "name=new&path=%5C2%5C6&run=id", 400),
        ("post", "/api/v1/sessions/delete", "name=night", 200),
        ("post", "/api/v1/providers/enable", "name=nobody&on=1", 409),
        ("post", "/api/v1/providers/enable", "name=nobody&on=2", 400),
        ("post", "/api/v1/interval", "seconds=0.2", 200),
        ("post", "/api/v1/interval", "seconds=0", 400),
        ("post", "/api/v1/interval", "host=log1&seconds=1", 404),
        ("post", "/api/v1/processes/act", "id=0&start=1&do=end", 400),
        ("post", "/api/v1/processes/act", "id=999999999&start=1&do=end", 409),
        ("delete", "/api/v1/logs", "id=log1", 403),
        ("delete", "/api/v1/logs", "id=log8", 404),
        ("delete", "/api/v1/profile", "id=none", 404),
    ] {
        let head = server.head(&method.to_uppercase(), &format!("{path}?{parameters}"));
        let reply = server.send(&format!("{head}Content-Length: 0\r\n\r\n"));
        assert_eq!(reply.status, status, "{method} {path}?{parameters}: {}", reply.text());
        let described: Vec<&str> = names_of(&all["paths"][path][method]).collect();
        for (name, _) in parameters.split('&').filter_map(|pair| pair.split_once('=')) {
            if status == 200 && !described.contains(&name) {
                found.push(format!("{method} {path} has no parameter {name}: {described:?}"));
            }
        }
        check(&all, (method, path), &reply, &mut found);
    }
    // Without the token nothing is answered.
    for (path, methods) in all["paths"].as_object().unwrap() {
        for method in methods.as_object().unwrap().keys() {
            let head = format!("{} {path} HTTP/1.1\r\nHost: {}\r\n", method.to_uppercase(), server.at);
            let reply = server.send(&format!("{head}Content-Length: 0\r\nConnection: close\r\n\r\n"));
            assert_eq!(reply.status, 401, "{method} {path}: {}", reply.text());
            check(&all, (method, path), &reply, &mut found);
        }
    }
    assert!(found.is_empty(), "{found:#?}");
}

/// Every address that the server knows is described, and every one that is described is known.
#[test]
fn every_address_of_the_server_is_described() {
    let all: Value = serde_json::from_str(include_str!("../../openapi.json")).unwrap();
    let described: BTreeSet<&str> = all["paths"].as_object().unwrap().keys().map(String::as_str).collect();
    let known: BTreeSet<&str> = [include_str!("../../src/route.rs"), include_str!("../../src/sessions.rs")]
        .into_iter()
        .flat_map(|source| source.split('"').filter(|text| text.starts_with("/api/v1/") && text.len() > 8))
        .filter(|text| text.bytes().all(|byte| byte.is_ascii_lowercase() || b"/1.".contains(&byte)))
        .collect();
    assert_eq!(described, known);
}

#[test]
fn a_check_that_finds_nothing_would_find_this() {
    let schema = serde_json::json!({
        "type": "object", "required": ["a", "b"],
        "properties": { "a": { "type": "integer" }, "c": { "type": "array", "items": { "enum": [1] } } },
    });
    let mut found = Vec::new();
    faults(&Value::Null, &schema, &serde_json::json!({ "a": "x", "c": [1, 2], "d": 1 }), "", &mut found);
    assert_eq!(found.len(), 4, "{found:?}");
}
