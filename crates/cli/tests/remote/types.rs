//! A counter of every type, read by each way there is: here, over ssh, over TLS, and through Samba, with
//! messages that SMB encrypts and with calls that RPC seals.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value as Json;
use tallymon::core::counter::{TYPES, TypeInfo};
use tallymon_provider::shm::{CounterSet, Instance, NewInstance, Publisher};

use crate::export::{Export, empty, said, until_written, values};
use crate::smbd::{PASSWORD, STRICT, Samba, passwords};
use crate::support::{Net, TALLY, good};
use crate::tls::Server;

/// A set with a counter of every type that a program can publish, and their values.
fn every_type(root: &Path) -> (Publisher, Instance) {
    let visible = |info: &&TypeInfo| info.visible && !info.ours && !info.value.is_text();
    let types: Vec<&TypeInfo> = TYPES.iter().filter(visible).collect();
    let set = types.iter().fold(CounterSet::new("Every Type").instances(), |set, info| match info.base {
        Some(_) => set.with_usual_base(info.name, info.value),
        None => set.counter(info.name, info.value),
    });
    fs::create_dir_all(root.join("pub")).unwrap();
    fs::set_permissions(root.join("pub"), fs::Permissions::from_mode(0o1777)).unwrap();
    let publisher = Publisher::start_in(&root.join("pub"), "types", &[set]).unwrap();
    let one =
        publisher.instance("Every Type", &NewInstance { name: "one", ..NewInstance::default() }).unwrap();
    for (number, info) in (0..).zip(&types) {
        match info.base {
            Some(_) => one.average(info.name).unwrap().set(3_000_000_000 + number, 4_000_000_000),
            None => one.gauge(info.name).unwrap().set(3_000_000_000 + number),
        }
    }
    (publisher, one)
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

/// How a value is compared: the number that was published, and what is computed from it. A time since a
/// moment goes on.
fn is_same(path: &str, here: &Json, there: &Json) -> bool {
    let is_value_same = match path.contains("ELAPSED") {
        true => here["value"].is_number() == there["value"].is_number(),
        false => here["value"] == there["value"],
    };
    is_value_same && here["first"] == there["first"] && here["first"].is_string()
}

/// What Samba cannot say is named by the command that writes its databases; everything else is the same by
/// each way, and ssh and TLS leave nothing out.
#[test]
fn every_counter_type_has_the_same_value_by_each_way() {
    let net = Net::new(&[("far", &good())]);
    let root = net.folder.join("root");
    let _here = every_type(&root);
    // The same set, published below the root of the server.
    let _there = every_type(&net.folder.join("server"));
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
    let path = r"\Every Type(one)\*";
    let here = values(&net, &[path]);
    assert!(here.len() > 25, "{here:?}");
    for (way, address, export) in ways {
        let there = values(&net, &[path, "-H", &address]);
        let left_out = export.map(said);
        let mut compared = 0;
        for value in &here {
            let path = value["path"].as_str().unwrap();
            let words = format!("left out: {}: ", path.replace("(one)", ""));
            let is_named = left_out.as_ref().is_some_and(|said| said.contains(&words));
            match there.iter().find(|other| other["path"] == path) {
                Some(other) => {
                    assert!(!is_named && is_same(path, value, other), "{way}: {path}: {value} {other}");
                    compared += usize::from(value["value"].as_f64().is_some_and(|value| value != 0.0));
                }
                None => assert!(is_named, "{way}: {path} is missing without a word"),
            }
        }
        let least = if left_out.is_some() { 5 } else { 10 };
        assert!(compared >= least, "{way}: {compared} of {} say something", here.len());
    }
}
