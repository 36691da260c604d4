//! A counter of every type, read by each way there is: here, over ssh, over TLS, and through Samba, with
//! messages that SMB encrypts and with calls that RPC seals.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use serde_json::Value as Json;
use tallymon::core::counter::{CounterType, TYPES, TypeInfo};
use tallymon_provider::shm::{CounterSet, NewInstance, Publisher};

use crate::export::{Export, empty, said, until_written, values};
use crate::smbd::{PASSWORD, STRICT, Samba, passwords};
use crate::support::{Net, TALLY, good, has};
use crate::tls::Server;

/// A program that publishes a counter of every type, and steps them until it is dropped.
struct Steps {
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Drop for Steps {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        self.thread.take().unwrap().join().unwrap();
    }
}

/// The text of the counter that has one.
const WORDS: &str = "Größe 7";

/// Starts a program with a set of every type that a program can publish. Types whose value needs two samples
/// go up with the time since `begin`, all at the same pace; the others stay as they are.
fn every_type(root: &Path, begin: Instant) -> Steps {
    let folder = root.join("pub");
    fs::create_dir_all(&folder).unwrap();
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o1777)).unwrap();
    let stop = Arc::new(AtomicBool::new(false));
    let ends = Arc::clone(&stop);
    let (ready, is_ready) = channel();
    let thread = thread::spawn(move || publish(&folder, begin, &ends, &ready));
    is_ready.recv().unwrap();
    Steps { stop, thread: Some(thread) }
}

fn publish(folder: &Path, begin: Instant, ends: &AtomicBool, ready: &Sender<()>) {
    let visible = |info: &&TypeInfo| info.visible && !info.ours && !info.value.is_text();
    let types: Vec<&TypeInfo> = TYPES.iter().filter(visible).collect();
    let set = types.iter().fold(CounterSet::new("Every Type").instances(), |set, info| match info.base {
        Some(_) => set.with_usual_base(info.name, info.value),
        None => set.counter(info.name, info.value),
    });
    let set = set.text("PERF_COUNTER_TEXT", 40);
    let publisher = Publisher::start_in(folder, "types", &[set]).unwrap();
    let one =
        publisher.instance("Every Type", &NewInstance { name: "one", ..NewInstance::default() }).unwrap();
    let text = one.text("PERF_COUNTER_TEXT").unwrap();
    text.set(WORDS);
    let (mut alone, mut based) = (Vec::new(), Vec::new());
    for (number, info) in (3_000_000_000..).zip(&types) {
        match info.base {
            Some(base) => based.push((number, info, base, one.average(info.name).unwrap())),
            None => alone.push((number, info, one.gauge(info.name).unwrap())),
        }
    }
    let mut is_first = true;
    while !ends.load(Ordering::Relaxed) {
        // Two million a second: 20 % of a clock of 10 MHz.
        let steps = u64::try_from(begin.elapsed().as_micros()).unwrap() * 2;
        for (number, info, gauge) in &alone {
            match info.two_samples {
                true => gauge.set(number + steps),
                false if !is_first => {}
                false if info.value == CounterType::PERF_DOUBLE_RAW => gauge.set(2.5f64.to_bits()),
                false => gauge.set(*number),
            }
        }
        for (number, info, base, average) in &mut based {
            match info.two_samples {
                // A number of clocks, not one of their ticks.
                true if *base == CounterType::PERF_COUNTER_MULTI_BASE => average.set(*number + steps, 4),
                true => average.set(*number + steps, 3_000_000_000 + steps / 1_000 * 4),
                false if is_first => average.set(*number, 4_000_000_000),
                false => {}
            }
        }
        if std::mem::take(&mut is_first) {
            ready.send(()).unwrap();
        }
        thread::sleep(Duration::from_millis(2));
    }
}

/// Writes the set into the databases of a Samba until it is dropped.
fn export(root: &Path, folder: &Path) -> Export {
    let mut command = Command::new(TALLY);
    command.args(["serve", "--interval", "200ms", "--object", "Every Type", "--samba"]).arg(folder);
    command.env("TALLY_ROOT", root).stdout(Stdio::null()).stderr(Stdio::piped());
    let export = Export(command.spawn().unwrap());
    until_written(folder);
    export
}

/// How a value is compared. Of a type that needs one sample it is the number that was published, and what is
/// computed from it; of others it is a rate that is the same at any time, as exactly as a busy machine reads
/// it. A time since a moment goes on.
fn is_same(path: &str, here: &Json, there: &Json) -> bool {
    if path.contains("ELAPSED") {
        return here["value"].is_number() == there["value"].is_number();
    }
    let is_rate = TYPES.iter().any(|info| info.two_samples && path.ends_with(info.name));
    match (here["value"].as_f64(), there["value"].as_f64()) {
        (Some(here), Some(there)) if is_rate => {
            here != 0.0 && (here - there).abs() <= 0.5 * here.abs().max(there.abs())
        }
        _ => {
            here["value"] == there["value"]
                && here["text"] == there["text"]
                && (is_rate || here["first"] == there["first"])
        }
    }
}

/// How many values say something.
fn count(values: &[Json]) -> usize {
    values.iter().filter(|value| value["value"].as_f64().is_some_and(|value| value != 0.0)).count()
}

/// What Samba cannot say is named by the command that writes its databases; everything else is the same by
/// each way, and ssh and TLS leave nothing out.
#[test]
fn every_counter_type_has_the_same_value_by_each_way() {
    let net = Net::new(&[("far", &good())]);
    let root = net.folder.join("root");
    let begin = Instant::now();
    let _here = every_type(&root, begin);
    // The same set, published below the root of the server.
    let _there = every_type(&net.folder.join("server"), begin);
    let server = Server::start(&net, "server", &[]);
    server.pair(&net);
    let mut ways = vec![("ssh", "ssh://far".to_string(), None), ("TLS", server.address.clone(), None)];
    let sealed = "server signing = mandatory\nserver smb encrypt = off";
    let mut sambas = Vec::new();
    for (name, settings) in [("Samba, encrypted", STRICT), ("Samba, sealed", sealed)] {
        let folder = name.replace(", ", "-");
        let Some(samba) = Samba::start(&net.folder, &folder, settings) else { break };
        passwords(&net, &format!("nobody@* {PASSWORD}\n"));
        let databases: PathBuf = empty(&samba);
        let export = export(&root, &databases);
        ways.push((name, format!("rrp://127.0.0.1:{}", samba.port), Some(export)));
        sambas.push(samba);
    }
    let words = [r"\Every Type(one)\*", "-i", "2s"];
    let here = values(&net, &words);
    assert!(count(&here) >= 25, "{here:?}");
    for (way, address, export) in ways {
        let there = values(&net, &[&words[..], &["-H", &address]].concat());
        let left_out = export.map(said);
        let mut compared = 0;
        for value in &here {
            let path = value["path"].as_str().unwrap();
            let words = format!("left out: {}: ", path.replace("(one)", ""));
            let is_named = left_out.as_ref().is_some_and(|said| said.contains(&words));
            match there.iter().find(|other| other["path"] == path) {
                Some(other) => {
                    assert!(!is_named && is_same(path, value, other), "{way}: {path}: {value} {other}");
                    compared += count(std::slice::from_ref(value));
                }
                None => assert!(is_named, "{way}: {path} is missing without a word"),
            }
        }
        let least = if left_out.is_some() { 20 } else { 25 };
        assert!(compared >= least, "{way}: {compared} of {} say something", here.len());
        // Samba has no texts.
        if left_out.is_none() {
            let text = net.tally(&["get", r"\Every Type(one)\PERF_COUNTER_TEXT", "-H", &address]).data();
            has(&text, &[WORDS]);
        }
    }
}
