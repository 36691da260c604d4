//! Folders and files that `push`, `serve` and `-H` use: those of others are refused before anything is done.

use std::fs;
use std::os::unix::fs::{PermissionsExt, chown, symlink};
use std::path::Path;
use std::process::Command;

use tallymon_testkit::{attack, other_user, peer};

use crate::support::{Place, run};

const AREA: &str = "other users";

fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

#[test]
fn attack_root_queues_samples_in_a_folder_of_a_user() {
    let Some(other) = other_user() else { return };
    let place = Place::new();
    let (state, victim) = (place.0.join("state"), place.0.join("victim"));
    for folder in [&state, &victim] {
        fs::create_dir(folder).unwrap();
    }
    // Whoever follows the link finds a folder of its own.
    fs::write(victim.join("precious.new"), "precious").unwrap();
    fs::create_dir_all(state.join("tallymon")).unwrap();
    symlink(&victim, state.join("tallymon/push")).unwrap();
    symlink(&victim, state.join("queue")).unwrap();
    std::os::unix::fs::lchown(state.join("tallymon/push"), Some(other), None).unwrap();
    std::os::unix::fs::lchown(state.join("queue"), Some(other), None).unwrap();
    for folder in [state.join("tallymon"), state.clone()] {
        chown(folder, Some(other), None).unwrap();
    }
    let queue = state.join("queue").display().to_string();
    let words = ["push", r"\Memory\Available MBytes", "--otlp", "http://127.0.0.1:9", "--count", "1"];
    let with_queue = ["--queue", &queue];
    for more in [&[][..], &with_queue[..]] {
        let mut command = place.command(&[&words[..], more].concat());
        command.env_remove("TALLYMON_ROOT").env("XDG_STATE_HOME", &state);
        let (code, out, error) = run(command);
        assert_eq!(code, 5, "{out}{error}");
        assert!(error.contains(&format!("belongs to user {other}")), "{error}");
    }
    let left: Vec<_> = fs::read_dir(&victim).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left, ["precious.new"]);
    attack(
        AREA,
        "root pushes samples with XDG_STATE_HOME of a user, who leads the queue to another folder",
        "refused by name and owner; nothing is made or removed where the link leads",
    );
}

#[test]
fn attack_a_token_that_everybody_can_read() {
    let place = Place::new();
    let file = place.0.join("token");
    fs::write(&file, "0123456789abcdef0123456789abcdef\n").unwrap();
    let path = file.display().to_string();
    let words = ["serve", "--port", "0", "--token-file", &path];
    for (mode, words_of_mode) in [(0o644, "everybody can read it"), (0o666, "can be written by every user")] {
        set_mode(&file, mode);
        let (code, out, error) = place.run(&words);
        assert!(code != 0 && out.is_empty() && error.contains(words_of_mode), "{mode:o}: {out}{error}");
        assert!(!error.contains("0123456789abcdef"), "{error}");
    }
    attack(
        AREA,
        "read the file with the token of the pages, which its user left open",
        "the file is refused; the message names what to take away, and never the token",
    );
}

#[test]
fn attack_the_token_of_a_webhook() {
    let Some(other) = other_user() else { return };
    let place = Place::new();
    let file = place.0.join("token");
    fs::write(&file, "0123456789abcdef0123456789abcdef\n").unwrap();
    let path = file.display().to_string();
    let limit = r"\Memory\Available MBytes > 1";
    let hook = ["--webhook", "http://127.0.0.1:9/", "--webhook-token", &path];
    let start = [&["log", "start", "hook", "--alert", limit], &hook[..]].concat();
    let belongs = format!("belongs to user {other}");
    for (mode, owner, words) in [
        (0o644, None, "others can read it"),
        (0o640, None, "others can read it"),
        (0o600, Some(other), &*belongs),
    ] {
        set_mode(&file, mode);
        chown(&file, owner, None).unwrap();
        let (code, out, error) = place.run(&start);
        assert!(code == 5 && out.is_empty() && error.contains(words), "{mode:o}: {code} {out}{error}");
        assert!(!error.contains("0123456789abcdef"), "{error}");
    }
    let (_, list, error) = place.run(&["log", "list", "--json"]);
    assert_eq!(list, "[]\n", "{error}");
    attack(
        AREA,
        "own the file with the token of a webhook, or read it because its user left it open",
        "the file is refused before the session starts; the message names its owner or what to take away, \
         and never the token",
    );
}

#[test]
fn attack_settings_of_a_user_in_the_way_of_root() {
    let Some(other) = other_user() else { return };
    let Some(mkfifo) = peer("mkfifo") else { return };
    let place = Place::new();
    let settings = place.0.join("settings");
    fs::create_dir_all(settings.join("tallymon")).unwrap();
    let table = settings.join("tallymon/hosts");
    assert!(Command::new(mkfifo).arg(&table).status().unwrap().success());
    let get = || {
        let mut command = place.command(&["get", "-H", "web1", r"\Memory\Available MBytes"]);
        command.env_remove("TALLYMON_ROOT").env("XDG_CONFIG_HOME", &settings);
        run(command)
    };
    // A pipe of its own, at whose other end is nobody.
    let (code, _, error) = get();
    assert!(code != 0 && error.contains("a plain file is needed"), "{code} {error}");
    for path in [&settings.join("tallymon"), &table] {
        chown(path, Some(other), None).unwrap();
    }
    let (code, _, error) = get();
    assert!(code != 0 && error.contains(&format!("belongs to user {other}")), "{code} {error}");
    fs::remove_file(&table).unwrap();
    // It never ends.
    symlink("/dev/zero", &table).unwrap();
    chown(settings.join("tallymon"), Some(0), None).unwrap();
    let (code, _, error) = get();
    assert!(code != 0 && error.contains("hosts"), "{code} {error}");
    attack(
        AREA,
        "put a pipe or an endless file in place of the table of hosts, with XDG_CONFIG_HOME of a user",
        "it is refused by name before it is opened; nothing waits for it",
    );
}

/// A file of root that must not change, and a folder of another user with a link to it.
fn link_to_a_file_of_root(place: &Place, folder: &Path, name: &str, other: u32) -> std::path::PathBuf {
    let precious = place.0.join("precious");
    fs::write(&precious, "precious").unwrap();
    fs::create_dir_all(folder).unwrap();
    symlink(&precious, folder.join(name)).unwrap();
    std::os::unix::fs::lchown(folder.join(name), Some(other), None).unwrap();
    chown(folder, Some(other), None).unwrap();
    precious
}

#[test]
fn attack_root_writes_databases_for_samba_in_a_folder_of_a_user() {
    let Some(other) = other_user() else { return };
    let place = Place::new();
    let folder = place.0.join("perfmon");
    let precious = link_to_a_file_of_root(&place, &folder, "data.tdb", other);
    let path = folder.display().to_string();
    for (owner, mode, words) in [
        (other, 0o755, format!("belongs to user {other}")),
        (0, 0o777, "can be written by every user".to_string()),
        (0, 0o1777, "can be written by every user".to_string()),
    ] {
        chown(&folder, Some(owner), None).unwrap();
        set_mode(&folder, mode);
        let (code, out, error) = place.run(&["serve", "--samba", &path]);
        assert!(code == 5 && error.contains(&words), "{mode:o}: {code} {out}{error}");
        assert_eq!(fs::read_to_string(&precious).unwrap(), "precious");
    }
    attack(
        AREA,
        "own, or be able to write, the folder into which root writes databases for Samba, with links in it",
        "the folder is refused by owner or mode; nothing is written where the links lead",
    );
}

#[test]
fn attack_root_keeps_samples_in_a_folder_of_a_user() {
    let Some(other) = other_user() else { return };
    let Some(mkfifo) = peer("mkfifo") else { return };
    let place = Place::new();
    let state = place.0.join("state");
    fs::create_dir(&state).unwrap();
    let check = || {
        let words = ["check", r"\Processor(_Total)\% Processor Time", "--since-last", "15m", "-w", "100"];
        let mut command = place.command(&words);
        command.env_remove("TALLYMON_ROOT").env("XDG_STATE_HOME", &state);
        run(command)
    };
    // Where it keeps them.
    let (_, out, error) = check();
    let folder = state.join("tallymon/check");
    let kept = fs::read_dir(&folder).unwrap_or_else(|_| panic!("{out}{error}"));
    let kept = kept.map(|entry| entry.unwrap().path()).next().unwrap();
    let name = kept.file_name().unwrap().to_str().unwrap().to_string();
    fs::remove_file(&kept).unwrap();
    let precious = link_to_a_file_of_root(&place, &folder, &name, other);
    let belongs = format!("belongs to user {other}");
    let (code, out, error) = check();
    assert!(code == 3 && format!("{out}{error}").contains(&belongs), "{code} {out}{error}");
    assert_eq!(fs::read_to_string(&precious).unwrap(), "precious");
    // A pipe at whose other end is nobody.
    fs::remove_file(&kept).unwrap();
    assert!(Command::new(mkfifo).arg(&kept).status().unwrap().success());
    let (code, out, error) = check();
    assert!(code == 3 && format!("{out}{error}").contains(&belongs), "{code} {out}{error}");
    attack(
        AREA,
        "root keeps samples of 'check' with XDG_STATE_HOME of a user, who puts a link or a pipe there",
        "refused by name and owner; nothing is written where the link leads, and nothing waits for the pipe",
    );
}
