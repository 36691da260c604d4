//! Starting a session with the machine, by a unit of systemd.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use tallymon::log::new_file::{Overwrite, write_file};
use tallymon::record::session::SessionStore;
use tallymon_provider::trust::check_path;

use crate::exit::{Failure, Kind};

/// Whether systemd runs on this machine.
fn is_there(store: &SessionStore) -> bool {
    store.root().is_some() || Path::new("/run/systemd/system").is_dir()
}

/// The name of the unit of a session. Characters that units cannot have are escaped by their numbers.
fn name_of(session: &str) -> String {
    let mut unit = String::from("tallymon-log-");
    for letter in session.chars() {
        if letter.is_ascii_alphanumeric() || letter == '_' || letter == '.' {
            unit.push(letter);
        } else {
            let mut bytes = [0; 4];
            letter.encode_utf8(&mut bytes).bytes().for_each(|byte| unit.push_str(&format!("\\x{byte:02x}")));
        }
    }
    unit + ".service"
}

fn folder(store: &SessionStore) -> Result<PathBuf, Failure> {
    if let Some(root) = store.root() {
        return Ok(root.join("systemd"));
    }
    if store.is_system() {
        return Ok(PathBuf::from("/etc/systemd/system"));
    }
    let absolute = |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let settings = absolute("XDG_CONFIG_HOME").or_else(|| Some(absolute("HOME")?.join(".config")));
    let settings =
        settings.ok_or_else(|| Failure::new(Kind::Other, "no place for a unit: HOME is not set"))?;
    Ok(settings.join("systemd").join("user"))
}

/// Fails where no unit can be installed, before anything is changed.
pub(crate) fn check(store: &SessionStore) -> Result<(), Failure> {
    if is_there(store) {
        return Ok(());
    }
    let words = "--at-boot needs systemd, which does not run here: start the session from this machine's start \
                 scripts";
    Err(Failure::new(Kind::Other, words))
}

/// Installs a unit that starts a session with the machine; a session of a user starts when the user logs
/// in, or with the machine if the user may linger.
pub(crate) fn install(store: &SessionStore, session: &str) -> Result<(), Failure> {
    check(store)?;
    let program = std::env::current_exe()
        .map_err(|error| Failure::new(Kind::Other, format_args!("this program is not found: {error}")))?;
    let folder = folder(store)?;
    check_path(&folder).map_err(|untrusted| Failure::new(Kind::AccessDenied, untrusted))?;
    fs::create_dir_all(&folder).map_err(|error| Failure::file(&folder, &error))?;
    let unit = name_of(session);
    let text = text(&program, session, store.is_system());
    let file = folder.join(&unit);
    let written = write_file(&file, Overwrite::Replace, text.as_bytes());
    written.map_err(|error| Failure::file(&file, &error))?;
    control(store, &["daemon-reload"])?;
    control(store, &["enable", &unit])
}

/// The text of a unit of the system or of a user.
fn text(program: &Path, session: &str, system: bool) -> String {
    // systemd expands % and $, and reads quotes and backslashes.
    let quoted = |text: &str| {
        format!(
            "\"{}\"",
            text.replace('\\', "\\\\").replace('"', "\\\"").replace('%', "%%").replace('$', "$$")
        )
    };
    let target = if system { "multi-user.target" } else { "default.target" };
    format!(
        "[Unit]\nDescription=Tallymon recording session {session}\n\n\
         [Service]\nExecStart={} log run {}\nRestart=on-failure\nRestartSec=10\n\n\
         [Install]\nWantedBy={target}\n",
        quoted(&program.to_string_lossy()),
        quoted(session),
    )
}

/// Removes the unit of a session.
pub(crate) fn remove(store: &SessionStore, session: &str) -> Result<(), Failure> {
    let unit = name_of(session);
    let path = folder(store)?.join(&unit);
    if !path.exists() {
        return Ok(());
    }
    control(store, &["disable", &unit])?;
    fs::remove_file(&path).map_err(|error| Failure::file(&path, &error))?;
    control(store, &["daemon-reload"])
}

/// Whether sessions can be started as units: not those of a folder that is used in place of the system's.
pub(crate) fn can_start(store: &SessionStore) -> bool {
    store.root().is_none()
}

/// Starts a session as a unit, so that systemd keeps its messages and restarts it.
pub(crate) fn start(store: &SessionStore, session: &str) -> Result<(), Failure> {
    control(store, &["start", &name_of(session)])
}

fn control(store: &SessionStore, words: &[&str]) -> Result<(), Failure> {
    if store.root().is_some() {
        return Ok(());
    }
    let mut command = Command::new("systemctl");
    if !store.is_system() {
        command.arg("--user");
    }
    let output = command.args(words).output();
    let output = output.map_err(|error| Failure::new(Kind::Other, format_args!("systemctl: {error}")))?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    Err(Failure::new(Kind::Other, format_args!("systemctl {}: {}", words.join(" "), said.trim())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_names_of_units() {
        assert_eq!(name_of("web"), "tallymon-log-web.service");
        assert_eq!(name_of("a b-1"), "tallymon-log-a\\x20b\\x2d1.service");
        assert_eq!(name_of("é"), "tallymon-log-\\xc3\\xa9.service");
    }

    #[test]
    fn escapes_what_systemd_expands() {
        let text = text(Path::new("/a b/100%\\$x/\"tally"), "a b", false);
        assert!(text.contains("ExecStart=\"/a b/100%%\\\\$$x/\\\"tally\" log run \"a b\"\n"), "{text}");
        assert!(text.ends_with("WantedBy=default.target\n"), "{text}");
    }
}
