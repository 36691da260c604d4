//! This machine as Samba shows it to Windows' tools, read back through Samba.

use std::fs;
use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value as Json;
use tallymon::core::block::Snapshot;
use tallymon::core::title::TitleIndex;
use tallymon_testkit::skip;

use crate::smbd::{PASSWORD, STRICT, Samba, passwords};
use crate::support::{Net, TALLY, has};

/// An export that ends with its test.
pub(crate) struct Export(pub(crate) Child);

impl Drop for Export {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Starts the export of these objects, and waits until both files are there.
fn export(folder: &Path, objects: &[&str], options: &[&str]) -> Export {
    let mut command = Command::new(TALLY);
    command.args(["serve", "--interval", "200ms", "--samba"]).arg(folder).args(options);
    for object in objects {
        command.args(["--object", object]);
    }
    let export = Export(command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap());
    until_written(folder);
    export
}

pub(crate) fn until_written(folder: &Path) {
    let begin = Instant::now();
    while !folder.join("names.tdb").exists() || !folder.join("data.tdb").exists() {
        assert!(begin.elapsed() < Duration::from_secs(60), "no names.tdb or no data.tdb");
        thread::sleep(Duration::from_millis(20));
    }
}

/// Ends an export, and returns what it said.
pub(crate) fn said(mut export: Export) -> String {
    export.0.kill().unwrap();
    let mut text = String::new();
    export.0.stderr.take().unwrap().read_to_string(&mut text).unwrap();
    text
}

/// The folder of a Samba without what it had.
pub(crate) fn empty(samba: &Samba) -> PathBuf {
    let folder = PathBuf::from(format!("{}/state/perfmon", samba.folder));
    ["names.tdb", "data.tdb"].iter().for_each(|name| fs::remove_file(folder.join(name)).unwrap());
    folder
}

/// Users outside of the group read nothing, and those in it everything.
#[test]
fn attack_users_outside_of_the_group_read_no_counters() {
    let net = Net::new(&[]);
    let Some(samba) = Samba::start(&net.folder, "samba", STRICT) else { return };
    passwords(&net, &format!("nobody@* {PASSWORD}\n"));
    let folder = empty(&samba);
    let host = format!("rrp://127.0.0.1:{}", samba.port);
    let list = || net.tally(&["list", "-H", &host, "--timeout", "60s"]);
    let modes = || {
        ["names.tdb", "data.tdb"].map(|name| {
            let about = fs::metadata(folder.join(name)).unwrap();
            (about.mode() & 0o777, about.gid())
        })
    };
    let outside = export(&folder, &["Memory"], &["--group", "daemon"]);
    assert_eq!(modes(), [(0o640, 1); 2]);
    let ran = list();
    assert_eq!((ran.code, ran.out.as_str()), (Some(5), ""), "{}", ran.err);
    drop(outside);
    // nobody is in it.
    ["names.tdb", "data.tdb"].iter().for_each(|name| fs::remove_file(folder.join(name)).unwrap());
    let _inside = export(&folder, &["Memory"], &["--group", "nogroup"]);
    assert_eq!(modes(), [(0o640, 65534); 2]);
    has(&list().data(), &["Memory"]);
    for (group, words) in [("no such group", "no group \"no such group\""), ("4294967295", "no group")] {
        let wrong = net.tally(&["serve", "--samba", &folder.display().to_string(), "--group", group]);
        assert_eq!((wrong.code, wrong.out.as_str()), (Some(3), ""), "{}", wrong.err);
        has(&wrong.err, &[words, "getent group"]);
    }
    tallymon_testkit::attack(
        "other machines",
        "read the counters that `serve --samba --group` wrote, as a user of Samba outside of the group",
        "the files have mode 0640 from their first byte on; Samba answers with nothing",
    );
}

/// The values of paths, as JSON.
pub(crate) fn values(net: &Net, words: &[&str]) -> Vec<Json> {
    let ran = net.tally(&[&["get", "--json", "--timeout", "60s"], words].concat());
    let row: Json = serde_json::from_str(&ran.out).unwrap_or_else(|_| panic!("{}\n{}", ran.out, ran.err));
    row["values"].as_array().unwrap().clone()
}

#[test]
fn samba_serves_this_machine() {
    let net = Net::new(&[]);
    let Some(samba) = Samba::start(&net.folder, "samba", STRICT) else { return };
    passwords(&net, &format!("nobody@* {PASSWORD}\n"));
    let folder = empty(&samba);
    let _export = export(&folder, &["Memory", "Processor", "System"], &[]);
    let host = format!("rrp://127.0.0.1:{}", samba.port);
    let list = net.tally(&["list", "-H", &host, "--timeout", "60s"]).data();
    assert_eq!(list.lines().count(), 3, "{list}");
    has(&list, &["Memory", "Processor", "System"]);
    // A size of this machine that does not change, one that hardly does, and a rate of each instance.
    let paths = [
        r"\Memory\Commit Limit",
        r"\System\Processes",
        r"\Processor(*)\% Processor Time",
        r"\Memory\Page Faults/sec",
    ];
    let here = values(&net, &paths);
    let there = values(&net, &[&paths[..], &["-H", &host]].concat());
    assert_eq!(here.len(), there.len(), "{here:?} {there:?}");
    for (here, there) in here.iter().zip(&there) {
        assert_eq!(here["path"], there["path"]);
        let (path, here, there) = (&here["path"], here["value"].as_f64(), there["value"].as_f64());
        let (here, there) = (here.unwrap(), there.unwrap_or_else(|| panic!("{path} has no value")));
        match path.as_str().unwrap() {
            r"\Memory\Commit Limit" => assert_eq!(here, there),
            r"\System\Processes" => assert!((here - there).abs() < 200.0, "{here} {there}"),
            processor if processor.contains("Processor Time") => {
                assert!((0.0..=100.0).contains(&there), "{there}")
            }
            _ => assert!(there >= 0.0),
        }
    }
}

/// A client of Samba that we did not write: it prints the block of a host in hexadecimal. `level` says how
/// calls are protected; 6 seals them.
const IMPACKET: &str = r"
import sys
from impacket.dcerpc.v5 import transport, rrp
port, password, level = int(sys.argv[1]), sys.argv[2], int(sys.argv[3])
t = transport.DCERPCTransportFactory(r'ncacn_np:127.0.0.1[\pipe\winreg]')
t.set_dport(port)
t.set_credentials('nobody', password)
d = t.get_dce_rpc()
if level:
    d.set_auth_level(level)
d.connect()
d.bind(rrp.MSRPC_UUID_RRP)
h = rrp.hOpenPerformanceData(d)['phKey']
k, v = rrp.hBaseRegQueryValue(d, h, 'Global\x00', dataLen=65536)
print(v.hex())
";

/// What impacket reads, and what we read, are the same values, however the messages are protected.
#[test]
fn impacket_reads_the_same_values() {
    let peer = Command::new("python3").args(["-c", "import impacket"]).output().unwrap();
    if !peer.status.success() {
        return skip("impacket is not installed (pip install impacket)");
    }
    let net = Net::new(&[]);
    passwords(&net, &format!("nobody@* {PASSWORD}\n"));
    let clear = "server signing = mandatory\nserver smb encrypt = off";
    for (row, (settings, level)) in [
        (STRICT, "0"),
        ("server smb encrypt = required", "0"),
        (clear, "0"),
        // Calls that are signed, and sealed.
        (clear, "5"),
        (clear, "6"),
    ]
    .into_iter()
    .enumerate()
    {
        let Some(samba) = Samba::start(&net.folder, &format!("samba{row}"), settings) else { return };
        // Its values stay as they are from here on: the export has ended.
        drop(export(&empty(&samba), &["Memory", "Processor", "System", "Network Interface"], &[]));
        let port = samba.port.to_string();
        let read = Command::new("python3").args(["-c", IMPACKET, &port, PASSWORD, level]).output().unwrap();
        let (hex, err) = (String::from_utf8(read.stdout).unwrap(), String::from_utf8_lossy(&read.stderr));
        let hex = hex.trim().as_bytes();
        let digit = |byte: u8| char::from(byte).to_digit(16).unwrap_or_else(|| panic!("{settings}: {err}"));
        let bytes: Vec<u8> =
            hex.chunks(2).map(|pair| u8::try_from(digit(pair[0]) * 16 + digit(pair[1])).unwrap()).collect();
        assert!(bytes.len() > 1_000, "{settings} {level}: {err}");
        let theirs = net.file("theirs.bin", &bytes);
        let ours = net.folder.join("ours.bin");
        let host = format!("rrp://127.0.0.1:{port}");
        let save = ["dump", "Global", "--timeout", "60s", "--force", "--raw"];
        net.tally(&[&save[..], &[ours.to_str().unwrap(), "-H", &host]].concat());
        let fields = |file: &Path| -> Vec<String> {
            let dump = net.tally(&["dump", file.to_str().unwrap()]).data();
            // The clocks are those of the reading.
            let is_clock = |line: &str| {
                ["PerfTime ", "PerfTime100nSec ", "SystemTime "].iter().any(|it| line.contains(it))
            };
            dump.lines().filter(|line| !is_clock(line)).map(str::to_string).collect()
        };
        let (theirs, ours) = (fields(&theirs), fields(&ours));
        assert!(theirs.len() > 200, "{}", theirs.len());
        assert_eq!(theirs, ours, "{settings} {level}");
        // And these values are those that a user sees, each found by its numbers.
        let wanted = [r"\Memory\*", r"\Processor(*)\*", r"\System\*", r"\Network Interface(*)\*"];
        let seen = values(&net, &[&wanted[..], &["-H", &host]].concat());
        assert!(seen.len() > 50, "{seen:?}");
        let block = Snapshot::new(bytes).unwrap();
        for value in &seen {
            assert_eq!(raw(&block, value).as_deref(), value["first"].as_str(), "{settings} {level}: {value}");
        }
    }
}

/// The raw value of a block that a value was computed from.
fn raw(block: &Snapshot, value: &Json) -> Option<String> {
    let index = |name: &str| Some(TitleIndex(u32::try_from(value[name].as_u64()?).ok()?));
    let object = block.object(index("object")?)?;
    let position = object.position(index("counter")?)?;
    let is_it = |name: &str| value["instance"].as_str().is_none_or(|wanted| wanted == name);
    let instance = object.instances().find(|instance| is_it(&instance.name().to_string()))?;
    Some(instance.sample(position).ok()?.first.to_string())
}

#[test]
fn instances_that_come_and_go_leave_no_hole() {
    let net = Net::new(&[]);
    let Some(samba) = Samba::start(&net.folder, "samba", STRICT) else { return };
    passwords(&net, &format!("nobody@* {PASSWORD}\n"));
    let _export = export(&empty(&samba), &["Process"], &[]);
    let host = format!("rrp://127.0.0.1:{}", samba.port);
    for _ in 0..8 {
        // Processes of other tests begin and end all the time, and these do.
        let mut more: Vec<Child> =
            (0..5).map(|_| Command::new("sleep").arg("60").stdin(Stdio::null()).spawn().unwrap()).collect();
        let got = values(&net, &["-H", &host, r"\Process(*)\Thread Count"]);
        assert!(got.len() > 5, "{got:?}");
        assert!(got.iter().all(|value| value["value"].is_number()), "{got:?}");
        more.iter_mut().for_each(|child| {
            let _ = child.kill();
            let _ = child.wait();
        });
    }
}

#[test]
fn a_folder_that_is_missing_is_named() {
    let net = Net::new(&[]);
    let ran = net.tally(&["serve", "--samba", "/no/such/folder"]);
    assert_eq!((ran.code, ran.out.as_str()), (Some(3), ""), "{}", ran.err);
    has(&ran.err, &["/no/such/folder", "smbd -b"]);
    let ran = net.tally(&["serve", "--object", "Memory"]);
    assert_eq!(ran.code, Some(2), "{}", ran.err);
}
