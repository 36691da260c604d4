//! A program that uses `pdh.h` with counters of another machine, which this test plays.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "a failed assumption of a test is its failure")]

use std::fs;
use std::io::{self, Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use tallymon::{Location, Log, log::ReadOptions};
use tallymon_testkit::peer;

#[allow(dead_code, reason = "here the program has the shared library")]
mod bench;

use bench::{Bench, SANITIZED, lines};

/// Names the file without which the other machine is gone. This program is that machine if it is set.
const PLAYS: &str = "TALLYMON_TEST_PLAYS_A_HOST";

/// What this program prints before it is another machine: the harness says something of its own first.
const READY: &str = "READY";

/// Reads from another machine's end, until the file is gone.
struct WhileThere(io::Stdin, PathBuf);

impl Read for WhileThere {
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

#[test]
fn a_machine_that_goes_costs_only_its_own_counters() {
    let Some(gcc) = peer("gcc") else { return };
    let bench = Bench::new("other-hosts");
    let program =
        bench.compile(&gcc, &[SANITIZED, &["-Wall", "-Wextra"]].concat(), &["tests/c/other_hosts.c"]);
    let alive = bench.0.join("alive");
    fs::write(&alive, "").unwrap();
    fs::create_dir_all(bench.0.join("root")).unwrap();
    fs::create_dir_all(bench.0.join("bin")).unwrap();
    fs::write(bench.0.join("root/hosts"), "far ssh://far\ndead ssh://dead\n").unwrap();
    let script = format!(
        "#!/bin/sh\nwhile [ \"$1\" != -- ]; do shift; done\n\
         [ \"$2\" = far ] && [ -e '{alive}' ] || exit 255\n\
         {PLAYS}='{alive}' '{this}' --exact plays_another_machine --nocapture | {{\n\
         while read -r line; do [ \"${{line##* }}\" = {READY} ] && exec cat; done; }}\n",
        alive = alive.display(),
        this = std::env::current_exe().unwrap().display(),
    );
    let ssh = bench.0.join("bin/ssh");
    fs::write(&ssh, script).unwrap();
    fs::set_permissions(&ssh, fs::Permissions::from_mode(0o755)).unwrap();
    let path = format!("{}:{}", bench.0.join("bin").display(), std::env::var("PATH").unwrap());
    let log = bench.0.join("log.blg");
    let output = bench.run(&program).env("PATH", path).arg(&alive).arg(&log).output().unwrap();
    let said = lines(&output);
    let expected = [
        "connect 00000000",
        "unknown 800007d0",
        "dead 800007d0",
        r"machines 00000000 \\far",
        "objects 00000000",
        "expand 00000000 1",
        "validate 00000000 c0000bb9",
        "index 00000000 4",
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
    assert_eq!(said, expected);
    // The log has the columns of both machines, and this one in every record.
    let log = Log::open(&log, &ReadOptions::default()).unwrap();
    let of_far = log.columns().iter().filter(|column| column.path.starts_with(r"\\far\")).count();
    let here = log.columns().iter().filter(|column| !column.path.starts_with(r"\\far\")).count();
    assert!(of_far > 1 && here == 1, "{:?}", log.columns());
    assert_eq!(log.summary().records, 3);
}
