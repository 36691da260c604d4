//! What a library's process may do, as the kernel tells it.

use std::fs;
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::Path;
use std::process::{Command, Output, Stdio};

use tallymon::Host;
use tallymon::registry::Service;
use tallymon_testkit::{Scratch, attack, peer, skip};

use crate::listings::ok;
use crate::support::{Place, Provider, ask, objects};

/// A file of the process of the only library.
fn of_process(host: &Host, file: &str) -> String {
    let process = host.libraries().first().and_then(|status| status.process).unwrap();
    fs::read_to_string(format!("/proc/{process}/{file}")).unwrap()
}

/// The words behind the name of a line.
fn words<'a>(text: &'a str, name: &str) -> Vec<&'a str> {
    let line = text.lines().find_map(|line| line.strip_prefix(name)).unwrap_or_default();
    line.split_whitespace().collect()
}

#[test]
fn a_library_has_limits_and_gains_no_rights() {
    let place = Place::new();
    let Some(index) = place.install(&Provider::default()) else { return };
    let mut host = place.host();
    assert_eq!(objects(&ask(&mut host, "Global")), [index]);
    let limits = of_process(&host, "limits");
    for (name, most) in [
        ("Max address space", 1u64 << 30),
        ("Max open files", 256),
        ("Max file size", 64 << 20),
        ("Max core file size", 0),
    ] {
        let found: Vec<u64> =
            words(&limits, name).iter().take(2).map(|number| number.parse().unwrap()).collect();
        assert!(found.len() == 2 && found.iter().all(|limit| *limit <= most), "{limits}");
    }
    assert_eq!(words(&of_process(&host, "status"), "NoNewPrivs:"), ["1"]);
}

#[test]
fn root_can_have_a_library_loaded_by_nobody() {
    let own = fs::read_to_string("/proc/self/status").unwrap();
    if words(&own, "Uid:").first() != Some(&"0") {
        tallymon_testkit::skip("only root can give its rights away");
        return;
    }
    let place = Place::new();
    let Some(index) = place.install(&Provider::default()) else { return };
    let registration = Service { name: "MyPerf".to_string(), as_nobody: true, ..Service::default() };
    place.writer().register(&[registration]).unwrap();
    let mut host = place.host();
    assert_eq!(objects(&ask(&mut host, "Global")), [index]);
    let status = of_process(&host, "status");
    for name in ["Uid:", "Gid:"] {
        assert_eq!(words(&status, name), ["65534"; 4], "{status}");
    }
    assert!(words(&status, "Groups:").is_empty(), "{status}");
    assert_eq!(words(&status, "CapEff:"), ["0000000000000000"], "{status}");
    // Without the option it has a user of its own, and with another one the rights of whoever asks.
    let other = Provider { service: "Other", ..Provider::default() };
    place.writer().remove("MyPerf").unwrap();
    place.install(&other).unwrap();
    ask(&mut host, "Global");
    let status = of_process(&host, "status");
    let user: u32 = words(&status, "Uid:")[0].parse().unwrap();
    assert!((61_184..65_519).contains(&user), "{status}");
    assert_eq!(words(&status, "CapEff:"), ["0000000000000000"], "{status}");
    let registration = Service { name: "Other".to_string(), as_caller: true, ..Service::default() };
    place.writer().register(&[registration]).unwrap();
    ask(&mut host, "Global");
    assert_eq!(words(&of_process(&host, "status"), "Uid:"), ["0"; 4]);
}

/// A user who is not root.
const USER: u32 = 65534;

/// Gives everything in a folder to that user.
fn give(path: &Path) {
    chown(path, Some(USER), Some(USER)).unwrap();
    if path.is_dir() {
        fs::read_dir(path).unwrap().for_each(|entry| give(&entry.unwrap().path()));
    }
}

/// Runs a copy of the command as that user, whose registry is in the place.
fn as_user(place: &Place, programs: &Scratch, words: &[&str]) -> Option<Output> {
    let mut command = Command::new(peer("setpriv")?);
    command.args(["--reuid=65534", "--regid=65534", "--clear-groups", "--inh-caps=-all"]);
    command.arg(programs.join("tally")).args(words).current_dir("/");
    command.env("TALLYMON_ROOT", &place.0).env_remove("TALLYMON_HOST").stdin(Stdio::null());
    Some(command.output().unwrap())
}

/// A user registers a library of hers to be loaded into whoever asks, and runs a `tally` that was given
/// rights.
#[test]
fn attack_a_library_of_a_user_and_a_program_with_rights() {
    if !rustix::process::geteuid().is_root() {
        skip("no right to give a file capabilities");
        return;
    }
    let place = Place::new();
    let Some(index) = place.install(&Provider::default()) else { return };
    ok(&place, &["provider", "--system", "set", "in process=1", "--service", "MyPerf"]);
    ok(&place, &["lodctr", "/T:MyPerf"]);
    fs::set_permissions(&*place.0, fs::Permissions::from_mode(0o755)).unwrap();
    give(&place.0);
    let programs = Scratch::new();
    fs::set_permissions(&*programs, fs::Permissions::from_mode(0o755)).unwrap();
    let built = Path::new(env!("CARGO_BIN_EXE_tally"));
    for name in ["tally", "tally-host"] {
        fs::copy(built.with_file_name(name), programs.join(name)).unwrap();
        fs::set_permissions(programs.join(name), fs::Permissions::from_mode(0o755)).unwrap();
    }
    let said = |words: &[&str]| {
        as_user(&place, &programs, words).map(|output| {
            let text = [output.stdout, output.stderr].concat();
            String::from_utf8_lossy(&text).into_owned()
        })
    };
    let path = format!("\\{index}\\{}", index + 2);
    // Without rights it is loaded as she wants: it is her own process.
    let Some(before) = said(&["doctor", "--json"]) else { return };
    assert!(before.contains("in the process of whoever asks"), "{before}");
    let granted = Command::new(programs.join("tally")).args(["doctor", "--grant", "--yes"]).output().unwrap();
    assert!(granted.status.success(), "{}", String::from_utf8_lossy(&granted.stderr));
    let value = said(&["get", &path]).unwrap();
    let after = said(&["doctor", "--json"]).unwrap();
    assert!(!after.contains("in the process of whoever asks"), "{value} {after}");
    let events = said(&["events", "--json"]).unwrap();
    assert!(events.contains("1022") && events.contains("rights that its user has not"), "{events}");
    attack(
        "other users",
        "a user registers a library to be loaded into a tally that was given rights",
        "it is loaded into a process of its own, without them, and an event says so",
    );
}
