//! `cargo xtask engines`: receivers of metrics that are newer than this system's, and the tests that send to
//! them.
//!
//! They are packages of later versions of Debian. `apt` fetches them with lists of its own and checks their
//! signatures; they are unpacked beside the peers of other tests, and nothing is installed.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::{cargo, output, run as execute, target_folder};

/// What is fetched: a version of Debian, a package, and the program in it.
const ENGINES: [(&str, &str, &str); 2] =
    [("trixie", "victoria-metrics", "usr/bin/victoria-metrics"), ("sid", "prometheus", "usr/bin/prometheus")];

/// The keys of all versions of Debian.
const KEYS: &str = "/usr/share/keyrings/debian-archive-keyring.gpg";

/// The tests, as words of `cargo test`.
const TESTS: [&[&str]; 3] = [
    &["--package", "tallymon-export", "--test", "prometheus"],
    &["--package", "tallymon-cli", "--test", "tally", "push::"],
    &["--package", "tallymon-serve", "--test", "web", "metrics::"],
];

pub(crate) fn run(arguments: &[String]) -> Result<(), String> {
    if let Some(word) = arguments.first() {
        return Err(format!("unknown argument {word:?}; engines takes none"));
    }
    let folder = target_folder().join("peers/engines");
    make_folder(&folder)?;
    for (version, package, program) in ENGINES {
        if !folder.join(program).is_file() {
            fetch(&folder, version, package)?;
        }
    }
    let path = std::env::var("PATH").unwrap_or_default();
    let path = format!("{}:{path}", folder.join("usr/bin").display());
    for words in TESTS {
        let mut test = cargo();
        test.arg("test").args(words).env("PATH", &path).env("TALLYMON_ENGINES", &folder);
        execute(test.env("TALLYMON_PEERS", "required"))?;
    }
    Ok(())
}

fn make_folder(folder: &Path) -> Result<(), String> {
    fs::create_dir_all(folder).map_err(|error| format!("{}: {error}", folder.display()))
}

/// Unpacks a package of a version of Debian into the folder.
fn fetch(folder: &Path, version: &str, package: &str) -> Result<(), String> {
    let work = folder.join(format!("fetching-{version}"));
    let (lists, cache) = (work.join("lists"), work.join("cache"));
    for one in [lists.join("partial"), cache.join("archives/partial")] {
        make_folder(&one)?;
    }
    // The mirror that this system has.
    let mut targets = Command::new("apt-get");
    targets.args(["indextargets", "--format", "$(REPO_URI)", "Created-By: Packages", "Label: Debian"]);
    let mirrors = output(&mut targets)?;
    let mirror = mirrors.lines().next().ok_or("the sources of apt have no mirror of Debian")?;
    let sources = work.join("sources.list");
    let line = format!("deb [signed-by={KEYS}] {mirror} {version} main\n");
    fs::write(&sources, line).map_err(|error| format!("{}: {error}", sources.display()))?;
    for words in [["update"].as_slice(), &["download", package]] {
        let mut apt = Command::new("apt-get");
        apt.current_dir(&work).arg("-qq");
        for (name, value) in [
            ("Dir::Etc::SourceList", sources.as_path()),
            ("Dir::Etc::SourceParts", Path::new("/dev/null")),
            ("Dir::State::Lists", lists.as_path()),
            ("Dir::Cache", cache.as_path()),
        ] {
            apt.arg("-o").arg(format!("{name}={}", value.display()));
        }
        execute(apt.args(["-o", "APT::Sandbox::User=root"]).args(words))?;
    }
    let files = fs::read_dir(&work).map_err(|error| format!("{}: {error}", work.display()))?;
    let package_file = files.filter_map(Result::ok).map(|file| file.path());
    let mut package_file = package_file.filter(|file| file.extension().is_some_and(|end| end == "deb"));
    let file = package_file.next().ok_or_else(|| format!("apt fetched no file of {package}"))?;
    execute(Command::new("dpkg-deb").arg("-x").arg(&file).arg(folder))?;
    println!("{} of Debian {version}", file.file_name().unwrap_or_default().display());
    fs::remove_dir_all(&work).map_err(|error| format!("{}: {error}", work.display()))
}
