//! A row of `tally watch` with one counter, by each way, and the same key read by impacket.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use crate::servers::{Net, Relay, Samba, Sshd, Tls};
use crate::times::mean;
use tallymon_bench::running::{Group, Running};

const ROWS: usize = 200;
const INTERVAL: Duration = Duration::from_millis(40);
const COUNTER: &str = r"\System\Processes";

/// The processes behind the reader.
type Behind<'a> = &'a dyn Fn() -> Group;

pub(crate) fn run(net: &Net) {
    println!("A row of `tally watch {COUNTER}` each 40 ms, µs: median (mean) of {ROWS}");
    println!("{:40}{:>16}{:>16}{:>16}", "", "exchange, wall", "reader CPU", "server CPU");
    measure("this machine", &mut watch(net, None), None, &Group::default);
    if let Some(sshd) = Sshd::start(net) {
        let behind = || Group::below(sshd.program.id());
        measure("ssh", &mut watch(net, Some("ssh://far")), Some(&sshd.relay), &behind);
    }
    let tls = Tls::start(net, "web2");
    tls.pair(net, "web2", tls.relay.port);
    let behind = || Group::below(tls.program.id());
    let address = format!("tls://127.0.0.1:{}", tls.relay.port);
    measure("TLS", &mut watch(net, Some(&address)), Some(&tls.relay), &behind);
    if let Some(samba) = Samba::start(net) {
        let behind = || Group::named(&samba.folder);
        let address = format!("rrp://nobody@127.0.0.1:{}", samba.relay.port);
        let mut command = watch(net, Some(&address));
        measure("SMB (all that Samba has)", &mut command, Some(&samba.relay), &behind);
        impacket(net, &samba, &behind);
    }
    println!();
}

fn watch(net: &Net, host: Option<&str>) -> Command {
    let mut command = net.tally();
    command.args(["watch", COUNTER, "--plain", "--timeout", "60s", "-i", "40ms", "-c"]);
    command.arg((ROWS + 40).to_string());
    command.args(host.iter().flat_map(|host| ["-H", host]));
    command
}

/// Prints what a row costs the program that prints it, and those behind it.
fn measure(name: &str, command: &mut Command, relay: Option<&Relay>, behind: Behind<'_>) {
    let mut reader = Running::start(command.stdout(Stdio::piped()));
    let mut lines = BufReader::new(reader.0.stdout.take().expect("it is a pipe")).lines();
    let mut next = || {
        let line = lines.next().and_then(Result::ok);
        // Most of the interval later all have gone to sleep, which is when the kernel counts their time.
        thread::sleep(INTERVAL * 5 / 8);
        line.unwrap_or_else(|| panic!("{name}: the reader ended too early"))
    };
    for _ in 0..20 {
        next();
    }
    let near = Group::below(reader.id());
    let far = behind().without(&near);
    if let Some(relay) = relay {
        relay.exchanges(INTERVAL / 4);
    }
    let mut before = (near.cpu(), far.cpu());
    let (mut of_reader, mut of_server) = (Vec::new(), Vec::new());
    for _ in 0..ROWS {
        next();
        let now = (near.cpu(), far.cpu());
        of_reader.push(now.0 - before.0);
        of_server.push(now.1 - before.1);
        before = now;
    }
    let wall = relay.map(|relay| relay.exchanges(INTERVAL / 4)).unwrap_or_default();
    let of_server = if relay.is_some() { of_server } else { Vec::new() };
    println!("{name:40}{:>16}{:>16}{:>16}", mean(wall), mean(of_reader), mean(of_server));
}

/// The same key, as programs with impacket read it.
fn impacket(net: &Net, samba: &Samba, behind: Behind<'_>) {
    let there = Command::new("python3").args(["-c", "import impacket"]).stderr(Stdio::null()).status();
    if !there.is_ok_and(|status| status.success()) {
        return println!("impacket is not installed (pip install impacket)");
    }
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("programs/rrp.py");
    for (title, way) in [("impacket, its own helper", "helper"), ("impacket, an empty buffer", "empty")] {
        let mut command = Command::new("python3");
        command.arg(&script).arg(samba.relay.port.to_string()).arg(net.folder.join("password"));
        command.args([way, &(ROWS + 40).to_string(), "0.04"]);
        measure(title, &mut command, Some(&samba.relay), behind);
    }
}
