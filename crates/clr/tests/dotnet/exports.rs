//! What is written for other programs, read by them or by code of theirs.

use crate::runtimes::npm_package;
use crate::support::{Program, benches};
use fxprof_processed_profile as fxprof;
use serde_json::Value as Json;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, SystemTime};
use tallymon_clr::export;
use tallymon_clr::reader::Profile;
use tallymon_clr::settings::Settings;

type Writer = fn(&Profile, &mut dyn std::io::Write) -> std::io::Result<()>;

/// A profile of two threads with known counts and the newest events of each; `None` without a runtime.
fn profile(test: &str) -> Option<(Program<'static>, Profile)> {
    let program = benches().first()?.program("threads", test);
    let settings = Settings { exact: true, events: 8, ..Settings::default() };
    let profile = program.check(&settings, |_| {});
    Some((program, profile))
}

fn written(program: &Program<'_>, profile: &Profile, name: &str, write: Writer) -> PathBuf {
    let path = program.profile().with_file_name(name);
    let mut file = std::io::BufWriter::new(std::fs::File::create(&path).unwrap());
    write(profile, &mut file).unwrap();
    path
}

fn json(profile: &Profile, write: Writer) -> Json {
    let mut bytes = Vec::new();
    write(profile, &mut bytes).unwrap();
    serde_json::from_slice(&bytes).unwrap()
}

/// What a program that succeeds prints.
fn run(program: &Path, words: &[&std::ffi::OsStr]) -> String {
    let out = Command::new(program).args(words).output().unwrap();
    assert!(out.status.success(), "{program:?}: {}", String::from_utf8_lossy(&out.stderr));
    String::from_utf8_lossy(&out.stdout).into_owned()
}

#[test]
fn callgrind_annotate_reads_the_counts() {
    let Some(reader) = tallymon_testkit::peer("callgrind_annotate") else { return };
    let Some((program, profile)) = profile("callgrind") else { return };
    let file = written(&program, &profile, "out.callgrind", export::callgrind);
    let text = run(&reader, &["--auto=no".as_ref(), "--tree=calling".as_ref(), file.as_os_str()]);
    // The count of a pair of caller and callee, exact.
    assert!(text.contains("Threads.Program.Leaf(int) (200,000x)"), "{text}");
}

#[test]
fn pprof_is_read_by_protoc_and_by_another_library() {
    let Some((program, profile)) = profile("pprof") else { return };
    let file = written(&program, &profile, "out.pprof", export::pprof);
    if let Some(protoc) = tallymon_testkit::peer("protoc") {
        let raw = std::fs::read(&file).unwrap();
        // One stored block: 10 bytes of gzip and 5 of the block before, 8 behind.
        let plain = file.with_file_name("out.proto");
        std::fs::write(&plain, raw.get(15..raw.len() - 8).unwrap()).unwrap();
        let input = std::fs::File::open(plain).unwrap();
        let out = Command::new(protoc).arg("--decode_raw").stdin(input).output().unwrap();
        assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
        assert!(String::from_utf8_lossy(&out.stdout).contains("Threads.Program.Leaf(int)"));
    }
    let Some(node) = tallymon_testkit::peer("node") else { return };
    let Some(package) = npm_package("pprof-format-2.3.2", "pprof-format@2.3.2") else { return };
    // Kinds of values, and calls and nanoseconds by the name of the innermost function of each sample.
    let script = "const { Profile } = require(process.argv[1]); const zlib = require('zlib'), fs = require('fs'); \
        const p = Profile.decode(zlib.gunzipSync(fs.readFileSync(process.argv[2]))); \
        const text = n => p.stringTable.strings[Number(n)]; \
        console.log(p.sampleType.map(t => text(t.type) + '/' + text(t.unit)).join(' ')); \
        const functions = new Map(p.function.map(f => [String(f.id), text(f.name)])); \
        const locations = new Map(p.location.map(l => [String(l.id), functions.get(String(l.line[0].functionId))])); \
        const calls = {}; \
        for (const s of p.sample) { const n = locations.get(String(s.locationId[0])); \
            calls[n] = (calls[n] || 0) + Number(s.value[0]); } \
        console.log(JSON.stringify(calls));";
    let library = package.join("dist/commonjs/index.js");
    let text = run(&node, &["-e".as_ref(), script.as_ref(), library.as_os_str(), file.as_os_str()]);
    let (kinds, calls) = text.trim().split_once('\n').unwrap();
    assert!(kinds.starts_with("calls/count ") && kinds.contains("/nanoseconds"), "{kinds}");
    let calls: BTreeMap<String, u64> = serde_json::from_str(calls).unwrap();
    assert_eq!(calls.get("Threads.Program.Leaf(int)"), Some(&200_000));
    assert_eq!(calls.get("Threads.Program.Small(int)"), Some(&100_000));
}

#[test]
fn speedscope_fits_its_schema() {
    let Some((program, profile)) = profile("speedscope") else { return };
    let file = written(&program, &profile, "out.speedscope.json", export::speedscope);
    // What its importer asks for beyond the schema: events in order, and each closed as it was opened.
    let document = json(&profile, export::speedscope);
    let mut n_events = 0;
    for thread in document["profiles"].as_array().unwrap() {
        let (mut open, mut last) = (Vec::new(), thread["startValue"].as_u64().unwrap());
        for event in thread["events"].as_array().unwrap() {
            let (frame, at) = (event["frame"].as_u64().unwrap(), event["at"].as_u64().unwrap());
            assert!(at >= last && document["shared"]["frames"][frame as usize].is_object());
            last = at;
            n_events += 1;
            match event["type"].as_str().unwrap() {
                "O" => open.push(frame),
                _ => assert_eq!(open.pop(), Some(frame)),
            }
        }
        assert!(open.is_empty() && last <= thread["endValue"].as_u64().unwrap());
    }
    assert!(n_events > 20, "{n_events}");
    // Not the first thread, which does nothing but wait for the others.
    let active = &document["profiles"][document["activeProfileIndex"].as_u64().unwrap() as usize];
    assert!(active["events"].as_array().unwrap().len() > 4, "{}", active["name"]);
    let Some(python) = tallymon_testkit::peer("python3") else { return };
    let Some(package) = npm_package("speedscope-1.25.0", "speedscope@1.25.0") else { return };
    let has_validator = Command::new(&python).args(["-c", "import jsonschema"]).output().unwrap();
    if !has_validator.status.success() {
        return tallymon_testkit::skip("no Python package jsonschema for the schema of speedscope");
    }
    let script = "import json,sys,jsonschema; load=lambda p: json.load(open(p)); \
        jsonschema.validate(load(sys.argv[2]), load(sys.argv[1])); print('valid')";
    let schema = package.join("dist/release/file-format-schema.json");
    let text = run(&python, &["-c".as_ref(), script.as_ref(), schema.as_os_str(), file.as_os_str()]);
    assert_eq!(text.trim(), "valid");
}

#[test]
fn chrome_gets_events_that_nest() {
    let Some((_, profile)) = profile("chrome") else { return };
    let document = json(&profile, export::chrome);
    let mut threads: BTreeMap<u64, (Vec<String>, f64)> = BTreeMap::new();
    let (mut begins, mut ends) = (0, 0);
    for event in document["traceEvents"].as_array().unwrap() {
        let kind = event["ph"].as_str().unwrap();
        if kind == "M" {
            assert!(event["args"]["name"].is_string());
            continue;
        }
        let (open, last) = threads.entry(event["tid"].as_u64().unwrap()).or_default();
        let at = event["ts"].as_f64().unwrap();
        assert!(at >= *last, "{event} is before {last}");
        *last = at;
        match kind {
            "B" => {
                begins += 1;
                open.push(event["name"].as_str().unwrap().to_string());
            }
            "E" => {
                ends += 1;
                let begun = open.pop().unwrap();
                assert!(event.get("name").is_none_or(|name| name == &begun), "{event} ends {begun}");
            }
            "X" => assert!(event["dur"].as_f64().unwrap() >= 0.0),
            other => assert_eq!(other, "i"),
        }
    }
    assert!(begins > 1000 && begins == ends, "{begins} {ends}");
    assert!(threads.values().all(|(open, _)| open.is_empty()));
}

/// A profile with one of everything, as the crate of Firefox's makers writes it.
fn of_their_own() -> Json {
    let start = fxprof::ReferenceTimestamp::from(SystemTime::UNIX_EPOCH);
    let interval = fxprof::SamplingInterval::from(Duration::from_millis(1));
    let mut profile = fxprof::Profile::new("program", start, interval);
    let at = fxprof::Timestamp::from_millis_since_reference;
    let process = profile.add_process("program", 7, at(0.0));
    let thread = profile.add_thread(process, 8, at(0.0), true);
    let info = fxprof::FrameInfo {
        frame: fxprof::Frame::Label(profile.intern_string("N.C.Run()")),
        category_pair: fxprof::CategoryHandle::OTHER.into(),
        flags: fxprof::FrameFlags::empty(),
    };
    let frame = profile.intern_frame(thread, info);
    let stack = profile.intern_stack(thread, None, frame);
    profile.add_sample(thread, at(1.0), Some(stack), fxprof::CpuDelta::ZERO, 1);
    serde_json::to_value(&profile).unwrap()
}

/// Asserts that ours has what theirs has, of the same kind; in a table every column has as many values as it
/// says.
fn like(ours: &Json, theirs: &Json, place: &str) {
    match (ours, theirs) {
        (Json::Object(ours), Json::Object(theirs)) => {
            for (key, value) in theirs {
                // Processor time is optional, and the reader takes the times themselves as well as their
                // differences.
                let of_samples = place.ends_with("samples");
                if of_samples
                    && (key == "threadCPUDelta" || (key == "timeDeltas" && ours.contains_key("time")))
                {
                    continue;
                }
                let place = format!("{place}.{key}");
                like(ours.get(key).unwrap_or_else(|| panic!("{place} is missing")), value, &place);
            }
            let Some(length) =
                ours.get("length").and_then(Json::as_u64).filter(|_| place.contains("threads"))
            else {
                return;
            };
            for (key, column) in ours.iter().filter(|(_, column)| column.is_array()) {
                assert_eq!(column.as_array().unwrap().len() as u64, length, "{place}.{key}");
            }
        }
        (Json::Array(ours), Json::Array(theirs)) => {
            if let (Some(our), Some(their)) = (ours.first(), theirs.first()) {
                like(our, their, &format!("{place}[0]"));
            }
        }
        (Json::Null, _) | (_, Json::Null) => {}
        (ours, theirs) => {
            let kind = |value: &Json| (value.is_string(), value.is_number(), value.is_boolean());
            assert_eq!(kind(ours), kind(theirs), "{place}: {ours} {theirs}");
        }
    }
}

#[test]
fn firefox_gets_the_fields_that_its_makers_write() {
    let Some((_, profile)) = profile("firefox") else { return };
    let (ours, theirs) = (json(&profile, export::firefox), of_their_own());
    let version = |document: &Json| document["meta"]["preprocessedProfileVersion"].clone();
    assert_eq!(version(&ours), version(&theirs));
    like(&ours, &theirs, "profile");
    // Numbers lead to where there is something, and stacks to earlier ones.
    for thread in ours["threads"].as_array().unwrap() {
        let column = |table: &str, name: &str| thread[table][name].as_array().unwrap().clone();
        let count = |table: &str| thread[table]["length"].as_u64().unwrap();
        let all = |values: Vec<Json>, below: u64| {
            assert!(values.iter().filter_map(Json::as_u64).all(|value| value < below));
        };
        all(column("samples", "stack"), count("stackTable"));
        all(column("stackTable", "frame"), count("frameTable"));
        all(column("frameTable", "func"), count("funcTable"));
        all(column("funcTable", "name"), thread["stringArray"].as_array().unwrap().len() as u64);
        for (number, prefix) in column("stackTable", "prefix").iter().enumerate() {
            assert!(prefix.as_u64().is_none_or(|prefix| prefix < number as u64));
        }
    }
}
