//! `cargo xtask samba`: the Samba of a later Debian, and the tests of other machines with it.
//!
//! `debootstrap` makes the system in a folder beside the peers of other tests, and nothing is installed. The
//! programs run in it as root with the folder of temporary files, `/proc` and `/dev` of this system, which
//! only they see there.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use crate::fetch::{complete_folder, make_folder};
use crate::{cargo, no_arguments, output, run as execute, target_folder};

/// The version of Debian, and the least version of Samba that it must have.
const DEBIAN: &str = "trixie";
const LEAST: (u32, u32) = (4, 22);

/// Programs that tests start.
const PROGRAMS: [&str; 2] = ["smbd", "smbpasswd"];

/// The tests that talk to Samba, as names of tests of `tallymon-cli`.
const TESTS: [&str; 8] =
    ["smbd::", "export::", "protected::", "kerberos::", "pipe::", "tickets::", "types::", "languages::"];

pub(crate) fn run(arguments: &[String]) -> Result<(), String> {
    no_arguments(arguments)?;
    let peers = target_folder().join("peers");
    let system = peers.join(DEBIAN);
    if !system.join("usr/sbin/smbd").is_file() {
        make(&system)?;
    }
    let programs = peers.join(format!("{DEBIAN}-programs"));
    make_folder(&programs)?;
    for program in PROGRAMS {
        write_program(&programs.join(program), &system, program)?;
    }
    let said = output(Command::new(programs.join("smbd")).arg("--version"))?;
    check_version(&said)?;
    println!("{}", said.trim_end());
    let path = std::env::var("PATH").unwrap_or_default();
    let mut test = cargo();
    test.args(["test", "--package", "tallymon-cli", "--test", "remote", "--"]).args(TESTS);
    test.env("PATH", format!("{}:{path}", programs.display())).env("TALLYMON_PEERS", "required");
    execute(&mut test)
}

/// Makes the system.
fn make(system: &Path) -> Result<(), String> {
    complete_folder(system, |part| {
        let mut make = Command::new("debootstrap");
        make.args(["--variant=minbase", "--include=samba", DEBIAN]).arg(part);
        execute(&mut make).map_err(|error| {
            format!("{error}; it needs root and the program debootstrap (`apt-get install debootstrap`)")
        })
    })
}

/// Writes a script that becomes the program of the system: its process has the number of the script's. The
/// scripts are in the `PATH` of tests, and must not find themselves in the system.
fn write_program(file: &Path, system: &Path, program: &str) -> Result<(), String> {
    let text = format!(
        "#!/bin/sh\n\
         PATH=/usr/sbin:/usr/bin:/sbin:/bin\n\
         export PATH\n\
         exec unshare --mount --propagation private sh -c '\n\
         system=$1; temporary=$2; shift 2\n\
         mkdir -p \"$system$temporary\" &&\n\
         mount --bind \"$temporary\" \"$system$temporary\" &&\n\
         mount --rbind /proc \"$system/proc\" &&\n\
         mount --rbind /dev \"$system/dev\" &&\n\
         exec chroot \"$system\" \"$@\"' sh '{}' \"${{TMPDIR:-/tmp}}\" {program} \"$@\"\n",
        system.display()
    );
    let is_written =
        fs::write(file, text).and_then(|()| fs::set_permissions(file, fs::Permissions::from_mode(0o755)));
    is_written.map_err(|error| format!("{}: {error}", file.display()))
}

/// Refuses a Samba that is older, which is what a mistake here would start.
fn check_version(said: &str) -> Result<(), String> {
    let numbers = said.strip_prefix("Version ").and_then(|rest| {
        let mut parts = rest.split('.');
        Some((parts.next()?.parse::<u32>().ok()?, parts.next()?.parse::<u32>().ok()?))
    });
    match numbers {
        Some(found) if found >= LEAST => Ok(()),
        _ => Err(format!("smbd says {said:?}; Samba {}.{} or later was expected", LEAST.0, LEAST.1)),
    }
}
