//! The counters of processors, memory and network, read over a connection and stored each second: by this
//! program over TLS, by pmcd and pmlogger, and by node_exporter and Prometheus.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use tallymon_bench::running::{Group, Running, free_port, get, wait_for};
use tallymon_testkit::Pcp;

use crate::servers::{Net, Tls};

const COUNTERS: [&str; 3] = [r"\Processor(*)\*", r"\Memory\*", r"\Network Interface(*)\*"];

/// The same in Performance Co-Pilot.
const METRICS: [&str; 3] = ["kernel.percpu.cpu", "mem.util", "network.interface"];

/// After a pair has begun, and how many seconds are measured.
const BEGIN: Duration = Duration::from_secs(3);
const SECONDS: u32 = 20;

pub(crate) fn run(net: &Net) {
    println!("Processors, memory and network of another machine, stored each second, for {SECONDS} s");
    println!("{:44}{:>8}{:>16}{:>16}{:>14}", "", "values", "reader, a value", "server", "both, a second");
    ours(net);
    pcp(net);
    prometheus(net);
    println!();
}

/// Measures a server and its reader, which run already.
fn measure(name: &str, values: usize, reader: &Running, server: &Running) {
    thread::sleep(BEGIN);
    let (reader, server) = (Group::below(reader.id()), Group::below(server.id()));
    let before = (reader.cpu(), server.cpu());
    thread::sleep(Duration::from_secs(SECONDS.into()));
    let took = [reader.cpu() - before.0, server.cpu() - before.1].map(|took| took / SECONDS);
    let one = |time: Duration| format!("{:.2} µs", 1e6 * time.as_secs_f64() / values as f64);
    let both = format!("{:.2} ms", 1e3 * (took[0] + took[1]).as_secs_f64());
    println!("{name:44}{values:>8}{:>16}{:>16}{both:>14}", one(took[0]), one(took[1]));
}

fn ours(net: &Net) {
    let tls = Tls::start(net, "web3");
    tls.pair(net, "web3", tls.port);
    let address = format!("tls://127.0.0.1:{}", tls.port);
    let once = net.tally().arg("get").args(COUNTERS).args(["-H", &address, "--plain"]).output();
    let once = once.expect("it runs").stdout;
    let values = once.iter().filter(|byte| **byte == b'\n').count();
    let mut command = net.tally();
    command.arg("watch").args(COUNTERS).args(["-H", &address, "-i", "1s", "--output"]);
    let reader = Running::start(command.arg(net.folder.join("day.tally")).stdout(Stdio::null()));
    measure("tally serve --tls, tally watch --output", values, &reader, &tls.program);
}

fn pcp(net: &Net) {
    let Some(pcp) = Pcp::find() else { return println!("pmcd and pmlogger are not here (pcp)") };
    let agent = pcp.path("/var/lib/pcp/pmdas/linux/pmda_linux.so");
    let (port, folder) = (free_port(), net.path("pcp"));
    fs::create_dir_all(&folder).expect("the folder is new");
    let agents = net.file("pcp/pmcd.conf", &format!("linux 60 dso linux_init {}\n", agent.display()), 0o644);
    let program = |path: &str| {
        let mut command = pcp.command(path);
        for name in ["PCP_RUN_DIR", "PCP_TMP_DIR", "PCP_LOG_DIR"] {
            command.env(name, &folder);
        }
        command.current_dir(&folder).stdout(Stdio::null()).stderr(Stdio::null());
        command
    };
    let mut command = program("/usr/lib/pcp/bin/pmcd");
    command.args(["-A", "-f", "-i", "127.0.0.1", "-U", "root", "-p", &port.to_string(), "-s", "pmcd.socket"]);
    let server = Running::start(command.args(["-l", "pmcd.log", "-x", "pmcd.fatal", "-c"]).arg(&agents));
    wait_for(port);
    let host = format!("127.0.0.1:{port}");
    let shown =
        program("/usr/bin/pminfo").args(["-f", "-h", &host]).args(METRICS).stdout(Stdio::piped()).output();
    let shown = String::from_utf8_lossy(&shown.expect("pminfo is there").stdout).into_owned();
    let values = shown.lines().filter(|line| line.contains("value ")).count();
    let wanted = METRICS.join("\n");
    let settings = format!("log mandatory on 1 second {{\n{wanted}\n}}\n");
    let settings = net.file("pcp/pmlogger.conf", &settings, 0o644);
    let mut command = program("/usr/bin/pmlogger");
    command.args(["-h", &host, "-c"]).arg(&settings).args(["-l", "pmlogger.log", "day"]);
    let reader = Running::start(&mut command);
    measure("pmcd, pmlogger", values, &reader, &server);
}

fn prometheus(net: &Net) {
    let [exporter, engine] =
        ["prometheus-node-exporter", "prometheus"].map(|name| Path::new("/usr/bin").join(name));
    if !exporter.exists() || !engine.exists() {
        return println!(
            "node_exporter and Prometheus are not installed (prometheus, prometheus-node-exporter)"
        );
    }
    let quiet = |command: &mut Command| {
        Running::start(command.current_dir(&*net.folder).stdout(Stdio::null()).stderr(Stdio::null()))
    };
    let (port, own) = (free_port(), free_port());
    let mut command = Command::new(exporter);
    command.arg("--collector.disable-defaults");
    command.args(["cpu", "meminfo", "netdev"].map(|name| format!("--collector.{name}")));
    // Without the metrics of the exporter itself.
    command.arg("--web.disable-exporter-metrics").arg(format!("--web.listen-address=127.0.0.1:{port}"));
    let server = quiet(&mut command);
    wait_for(port);
    let page = get(&format!("127.0.0.1:{port}"), "/metrics");
    let values = page.lines().filter(|line| line.starts_with("node_")).count();
    let jobs = format!(
        "global:\n  scrape_interval: 1s\nscrape_configs:\n  - job_name: node\n    static_configs:\n\
         \x20     - targets: ['127.0.0.1:{port}']\n"
    );
    let settings = net.file("prometheus.yml", &jobs, 0o644);
    let mut command = Command::new(engine);
    command.arg(format!("--config.file={}", settings.display()));
    command.arg(format!("--storage.tsdb.path={}", net.path("tsdb")));
    let reader = quiet(command.arg(format!("--web.listen-address=127.0.0.1:{own}")));
    wait_for(own);
    measure("node_exporter, Prometheus", values, &reader, &server);
}
