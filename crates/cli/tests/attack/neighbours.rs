//! Folders, links, pipes and locks of other users.

use std::fs;
use std::os::unix::fs::{PermissionsExt, chown, symlink};
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};

use tallymon_testkit::{attack, other_user, peer};

use crate::support::{Helper, Place, run, wait_for};

const AREA: &str = "other users";

#[test]
fn attack_root_reads_the_registry_of_a_user() {
    let Some(other) = other_user() else { return };
    let place = Place::with_service();
    assert!(place.run(&["provider", "list"]).1.contains("My"));
    place.give_to(other);
    let named = format!("belongs to user {other}");
    // `su` keeps both variables.
    for (variable, folder) in [("TALLYMON_ROOT", "."), ("XDG_STATE_HOME", "state")] {
        let state = place.0.join(folder);
        if variable == "XDG_STATE_HOME" {
            fs::create_dir_all(state.join("tallymon")).unwrap();
            fs::rename(place.0.join("registry"), state.join("tallymon/registry")).unwrap();
            chown(&state, Some(other), None).unwrap();
        }
        let with = |words: &[&str]| {
            let mut command = place.command(words);
            run({
                command.env_remove("TALLYMON_ROOT").env(variable, &state);
                command
            })
        };
        let (code, out, error) = with(&["provider", "list"]);
        assert!(code != 0 && error.contains(&named), "{variable}: {code} {out} {error}");
        let (_, out, _) = with(&["doctor"]);
        let out = out.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(out.contains(&named) && out.contains("registry"), "{variable}: {out}");
        if variable == "TALLYMON_ROOT" {
            let (code, _, error) = with(&["provider", "remove", "My"]);
            assert!(code != 0 && error.contains(&named), "{variable}: {error}");
        }
        // What is not in that folder works.
        let (code, out, error) = with(&["get", r"\Memory\Available MBytes"]);
        assert_eq!(code, 0, "{variable}: {out} {error}");
    }
    attack(
        AREA,
        "root runs with TALLYMON_ROOT or XDG_STATE_HOME of a user (su keeps them)",
        "the user's registry is refused by name and owner, also by doctor; other counters work",
    );
}

#[test]
fn attack_registry_that_others_can_write() {
    let place = Place::with_service();
    for (folder, mode) in [("registry", 0o777), ("registry/v000001", 0o777), (".", 0o777)] {
        let path = place.0.join(folder);
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        let (code, _, error) = place.run(&["provider", "list"]);
        assert!(code != 0 && error.contains("can be written by every user"), "{folder}: {error}");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    }
    let file = place.0.join("registry/v000001/registry.conf");
    fs::set_permissions(&file, fs::Permissions::from_mode(0o666)).unwrap();
    assert!(place.run(&["provider", "list"]).2.contains("registry.conf"));
    // Links and pipes in place of a file.
    for plant in ["link", "pipe"] {
        let original = place.0.join("original");
        fs::rename(&file, &original).unwrap();
        fs::set_permissions(&original, fs::Permissions::from_mode(0o644)).unwrap();
        if plant == "link" {
            symlink(&original, &file).unwrap();
        } else {
            let Some(mkfifo) = peer("mkfifo") else { return };
            assert!(Command::new(mkfifo).arg(&file).status().unwrap().success());
        }
        let (code, _, error) = place.run(&["provider", "list"]);
        assert!(code != 0 && error.contains("a plain file is needed"), "{plant}: {error}");
        fs::remove_file(&file).unwrap();
        fs::rename(&original, &file).unwrap();
    }
    assert_eq!(place.run(&["provider", "list"]).0, 0);
    attack(
        AREA,
        "make a folder or file of the registry writable, or a link or a pipe in its place",
        "the registry is refused by name and mode; nothing waits for the pipe",
    );
}

#[test]
fn attack_lock_everything_in_the_registry() {
    let Some(other) = other_user() else { return };
    let Some(flock) = peer("flock") else { return };
    let place = Place::with_service();
    // Another user locks each file and folder that can be opened: a writer does not wait for them.
    let mut held = Vec::new();
    let version = place.0.join("registry/v000001");
    let files = fs::read_dir(&version).unwrap().map(|entry| entry.unwrap().path());
    for path in files.chain([place.0.join("registry"), version.clone()]) {
        let ready = place.0.join(format!("ready{}", held.len()));
        let mut command = Command::new(&flock);
        let script = "touch \"$0\"; exec sleep 600";
        command.args(["--exclusive", "--no-fork"]).arg(&path).args(["sh", "-c", script]).arg(&ready);
        fs::write(&ready, "").unwrap();
        chown(&ready, Some(other), None).unwrap();
        let before = fs::metadata(&ready).unwrap().modified().unwrap();
        held.push(Helper(
            command.uid(other).gid(other).process_group(0).stderr(Stdio::null()).spawn().unwrap(),
        ));
        wait_for("a lock", || fs::metadata(&ready).unwrap().modified().unwrap() != before);
    }
    let (code, _, error) = place.run(&["provider", "remove", "My"]);
    assert_eq!(code, 0, "{error}");
    drop(held);
    // A change of our own that hangs: readers read on.
    let lock = place.0.join("registry/private/registry.lock");
    let mut command = Command::new(&flock);
    let child =
        command.args(["--exclusive", "--no-fork"]).arg(&lock).args(["sleep", "600"]).process_group(0).spawn();
    let _held = Helper(child.unwrap());
    wait_for("the lock", || {
        !Command::new(&flock).args(["--nonblock"]).arg(&lock).arg("true").status().unwrap().success()
    });
    let (code, out, error) = place.run(&["provider", "list"]);
    assert_eq!(code, 0, "{out} {error}");
    let (code, _, error) = place.run(&["provider", "rollback"]);
    assert!(code != 0 && error.contains("holds the lock"), "{error}");
    attack(
        AREA,
        "lock every file of the registry that can be opened",
        "readers and writers go on; behind a change of our own that hangs, readers go on and a writer stops \
         after its deadline and names the process",
    );
}

#[test]
fn attack_sessions_in_a_folder_of_others() {
    let Some(other) = other_user() else { return };
    let named = format!("belongs to user {other}");
    for folder in ["sessions", "state", "state/private"] {
        let place = Place::new();
        let path = place.0.join(folder);
        fs::create_dir_all(&path).unwrap();
        chown(&path, Some(other), None).unwrap();
        let words =
            ["log", "start", "mine", "-c", r"\Memory\Available MBytes", "-i", "1s", "--max-size", "1M"];
        let (code, out, error) = place.run(&words[..7]);
        let _ = place.run(&["log", "stop", "mine"]);
        assert!(code != 0 && error.contains(&named), "{folder}: {code} {out} {error}");
    }
    // What others put beside, where they could: it is not read, and nothing waits for it.
    let place = Place::new();
    let settings = place.0.join("sessions");
    fs::create_dir_all(&settings).unwrap();
    let Some(mkfifo) = peer("mkfifo") else { return };
    assert!(Command::new(mkfifo).arg(settings.join("pipe.json")).status().unwrap().success());
    fs::write(settings.join("theirs.json"), "{}").unwrap();
    chown(settings.join("theirs.json"), Some(other), None).unwrap();
    fs::write(place.0.join("real.json"), "{}").unwrap();
    symlink(place.0.join("real.json"), settings.join("link.json")).unwrap();
    for (name, expected) in
        [("pipe", "no session"), ("theirs", named.as_str()), ("link", "plain file is needed")]
    {
        let (code, out, error) = place.run(&["log", "show", name]);
        assert!(code != 0 && error.contains(expected), "{name}: {code} {out} {error}");
    }
    attack(
        AREA,
        "own a folder of recording sessions, or plant settings, links and pipes in it",
        "the folder or file is refused by name and owner; nothing waits",
    );
}
