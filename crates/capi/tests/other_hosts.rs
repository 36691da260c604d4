//! A program that uses `pdh.h` with counters of another machine, which this test plays.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "a failed assumption of a test is its failure")]

use std::fs;
use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::thread;

use tallymon::core::request::Request;
use tallymon::core::title::{Language, TitleIndex};
use tallymon::log::ReadOptions;
use tallymon::remote::tls::Identity;
use tallymon::{Location, Log};
use tallymon_export::samba::SambaTables;
use tallymon_testkit::{Samba, Scratch, peer};

#[allow(dead_code, reason = "here the program has the shared library")]
mod bench;
mod far;

use bench::{Bench, SANITIZED, lines};

/// Names the file without which the other machine is gone. This program is that machine if it is set.
const PLAYS: &str = "TALLYMON_TEST_PLAYS_A_HOST";

/// What this program prints before it is another machine: the harness says something of its own first.
const READY: &str = "READY";

/// Reads from another machine's end, until the file is gone.
struct WhileThere<R>(R, PathBuf);

impl<R: Read> Read for WhileThere<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.0.read(buffer)?;
        Ok(if self.1.exists() { count } else { 0 })
    }
}

/// Not a test unless the variable is set: then it answers as another machine does.
#[test]
fn plays_another_machine() {
    let Some(file) = std::env::var_os(PLAYS) else { return };
    let mut source = tallymon::open(&Location::Local).unwrap();
    let mut output = io::stdout();
    writeln!(output, "{READY}").unwrap();
    output.flush().unwrap();
    let mut input = WhileThere(io::stdin(), file.into());
    let _ = tallymon::remote::serve(source.as_mut(), &mut input, &mut output);
    std::process::exit(0);
}

/// What the program prints about a machine that answers until its file is gone, and one that never does.
const EXPECTED: [&str; 22] = [
    "connect 00000000",
    "unknown 800007d0",
    "dead 800007d0",
    r"machines 00000000 \\far",
    "objects 00000000",
    "expand 00000000 1",
    "validate 00000000 c0000bb9",
    "index 00000000 MEMORY",
    "other c0000bc3",
    "add 00000000 00000000 00000000 800007d0 c0000bb9",
    "open log 00000000",
    "update 00000000",
    "here 00000000 00000000 positive",
    "there 00000000 00000000 positive",
    "update 00000000",
    "collect 00000000",
    "here 00000000 00000000 positive",
    "there c0000bc6 800007d0 none",
    "update 00000000",
    "close 00000000",
    "remove 00000000 00000000",
    "gone 800007d0",
];

/// A program that reads the machine `far` of a table of hosts, and the file without which that one is gone.
struct Reader {
    bench: Bench,
    program: PathBuf,
    alive: PathBuf,
}

impl Reader {
    /// `None` where no compiler is.
    fn new(name: &str) -> Option<Reader> {
        let gcc = peer("gcc")?;
        let bench = Bench::new(name);
        let options = [SANITIZED, &["-Wall", "-Wextra"]].concat();
        let program = bench.compile(&gcc, &options, &["tests/c/other_hosts.c"]);
        let alive = bench.0.join("alive");
        fs::write(&alive, "").unwrap();
        fs::create_dir_all(bench.0.join("root")).unwrap();
        Some(Reader { bench, program, alive })
    }

    fn file(&self, name: &str, text: &str, mode: u32) -> PathBuf {
        let file = self.bench.0.join(name);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(&file, text).unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(mode)).unwrap();
        file
    }

    /// Runs the program with its own programs in front of `PATH`. `memory` is the number that the other
    /// machine has for the object.
    fn check(&self, memory: u32) {
        let path = format!("{}:{}", self.bench.0.join("bin").display(), std::env::var("PATH").unwrap());
        let log = self.bench.0.join("log.blg");
        let mut command = self.bench.run(&self.program);
        let output = command.env("PATH", path).arg(&self.alive).arg(&log).output().unwrap();
        let expected = EXPECTED.map(|line| line.replace("MEMORY", &memory.to_string()));
        assert_eq!(lines(&output), expected);
        // The log has the columns of both machines, and this one in every record.
        let log = Log::open(&log, &ReadOptions::default()).unwrap();
        let of_far = log.columns().iter().filter(|column| column.path.starts_with(r"\\far\")).count();
        let here = log.columns().iter().filter(|column| !column.path.starts_with(r"\\far\")).count();
        assert!(of_far > 1 && here == 1, "{:?}", log.columns());
        assert_eq!(log.summary().records, 3);
    }
}

#[test]
fn a_machine_that_goes_costs_only_its_own_counters() {
    let Some(reader) = Reader::new("other-hosts") else { return };
    reader.file("root/hosts", "far ssh://far\ndead ssh://dead\n", 0o644);
    let script = format!(
        "#!/bin/sh\nwhile [ \"$1\" != -- ]; do shift; done\n\
         [ \"$2\" = far ] && [ -e '{alive}' ] || exit 255\n\
         {PLAYS}='{alive}' '{this}' --exact plays_another_machine --nocapture | {{\n\
         while read -r line; do [ \"${{line##* }}\" = {READY} ] && exec cat; done; }}\n",
        alive = reader.alive.display(),
        this = std::env::current_exe().unwrap().display(),
    );
    reader.file("bin/ssh", &script, 0o755);
    reader.check(4);
}

/// Passes bytes on to a server and back, as long as the file is there. Returns its port.
fn relay(server: SocketAddr, alive: PathBuf) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    thread::spawn(move || {
        for client in listener.incoming().flatten() {
            if !alive.exists() {
                continue;
            }
            let there = TcpStream::connect(server).unwrap();
            let (mut from, mut to) = (there.try_clone().unwrap(), client.try_clone().unwrap());
            thread::spawn(move || io::copy(&mut from, &mut to));
            let mut from = WhileThere(client, alive.clone());
            thread::spawn(move || {
                let mut to = &there;
                let _ = io::copy(&mut from, &mut to);
                let _ = from.0.shutdown(Shutdown::Both);
                let _ = there.shutdown(Shutdown::Both);
            });
        }
    });
    port
}

#[test]
fn a_machine_over_tls_that_goes_costs_only_its_own_counters() {
    let Some(reader) = Reader::new("other-hosts-tls") else { return };
    let own = Identity::new_pem("desk").unwrap();
    let key = Identity::from_pem(&own).unwrap().hash();
    let (address, far) = far::serve(key);
    let port = relay(address, reader.alive.clone());
    let (address, nobody) = (format!("tls://127.0.0.1:{port}"), "tls://127.0.0.1:1");
    reader.file("root/hosts", &format!("far {address}\ndead {nobody}\n"), 0o644);
    let servers = [("far", far, address.as_str()), ("dead", far, nobody)];
    far::write_keys(&reader.bench.0.join("root"), &own, &servers);
    reader.check(4);
}

/// Writes two objects of this machine into the databases of a Samba, as `tally serve --samba` does.
fn export(samba: &Samba) {
    let mut source = tallymon::open(&Location::Local).unwrap();
    let titles = source.titles(Language::ENGLISH).unwrap();
    // Some values need a sample before them.
    let request = Request::objects([TitleIndex(4), TitleIndex(238)]);
    source.snapshot(&request).unwrap();
    let snapshot = source.snapshot(&request).unwrap();
    let files = SambaTables::new(&snapshot, &titles).files(&snapshot).unwrap();
    for (name, bytes) in [("data.tdb", files.data), ("names.tdb", files.names)] {
        fs::write(format!("{}/state/perfmon/{name}", samba.folder), bytes).unwrap();
    }
}

#[test]
fn a_machine_with_a_remote_registry_that_goes_costs_only_its_own_counters() {
    let folder = Scratch::new();
    let settings = "server signing = mandatory\nserver min protocol = SMB3_11\nrestrict anonymous = 2";
    let Some(samba) = Samba::start(&folder, "samba", settings) else { return };
    let Some(reader) = Reader::new("other-hosts-rrp") else { return };
    export(&samba);
    let port = relay(SocketAddr::from(([127, 0, 0, 1], samba.port)), reader.alive.clone());
    let table = format!("far rrp://nobody@127.0.0.1:{port}\ndead rrp://nobody@127.0.0.1:1\n");
    reader.file("root/hosts", &table, 0o644);
    reader.file("root/credentials", &format!("nobody@* {}\n", Samba::PASSWORD), 0o600);
    // Samba counts its objects from 2 on.
    reader.check(2);
}
