//! `cargo xtask engines`: programs that are newer or older than this system's, or too large for every run, and the
//! tests with them: receivers of metrics, Nagios, Spark, and atop, whose logs differ between its versions.
//!
//! They are packages of Debian and of Python, unpacked beside the peers of other tests; nothing is installed.
//! Spark needs a `java` of version 17 or later in the PATH.

use std::process::Command;

use crate::{cargo, fetch, run as execute, target_folder};

/// What is fetched: a version of Debian, the packages, the program in them, and the folder below `peers`.
const ENGINES: [(&str, &[&str], &str, &str); 6] = [
    ("bookworm", &["nagios4-core"], "usr/sbin/nagios4", "engines"),
    ("trixie", &["victoria-metrics"], "usr/bin/victoria-metrics", "engines"),
    ("sid", &["prometheus"], "usr/bin/prometheus", "engines"),
    ("bullseye", &["atop"], "usr/bin/atop", "bullseye"),
    ("trixie", ATOP, "usr/bin/atop", "trixie"),
    ("sid", ATOP, "usr/bin/atop", "sid"),
];

/// atop with the libraries that are newer than this system's.
const ATOP: &[&str] = &[
    "atop",
    "libc6",
    "libglib2.0-0t64",
    "zlib1g",
    "libncursesw6",
    "libtinfo6",
    "libpcre2-8-0",
    "libatomic1",
];

/// The tests, as words of `cargo test`.
const TESTS: [&[&str]; 6] = [
    &["--package", "tallymon-cli", "--test", "tally", "nagios::"],
    &["--package", "tallymon-log", "--all-features", "--test", "lake", "spark"],
    &["--package", "tallymon-export", "--test", "prometheus"],
    &["--package", "tallymon-cli", "--test", "tally", "push::"],
    &["--package", "tallymon-serve", "--test", "web", "metrics::"],
    &["--package", "tallymon-log", "--all-features", "--lib", "atop::raw"],
];

pub(crate) fn run(arguments: &[String]) -> Result<(), String> {
    if let Some(word) = arguments.first() {
        return Err(format!("unknown argument {word:?}; engines takes none"));
    }
    let peers = target_folder().join("peers");
    for (version, packages, program, folder) in ENGINES {
        let folder = peers.join(folder);
        if !folder.join(program).is_file() {
            fetch::unpack(&folder, Some(version), packages)?;
        }
    }
    let spark = peers.join("spark");
    if !spark.is_dir() {
        fetch::complete_folder(&spark, |part| {
            let mut pip = Command::new("python3");
            pip.args(["-m", "pip", "install", "--quiet", "--no-cache-dir", "--target"]).arg(part);
            execute(pip.arg("pyspark"))
        })?;
    }
    let folder = peers.join("engines");
    let path = std::env::var("PATH").unwrap_or_default();
    let path = format!("{}:{path}", folder.join("usr/bin").display());
    for words in TESTS {
        let mut test = cargo();
        test.arg("test").args(words).env("PATH", &path).env("TALLYMON_ENGINES", &folder);
        execute(test.env("TALLYMON_SPARK", &spark).env("TALLYMON_PEERS", "required"))?;
    }
    Ok(())
}
