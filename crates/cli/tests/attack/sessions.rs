//! Recording sessions of a user who is not root, to whose logs and disk somebody does harm.

use std::fs::{self, OpenOptions};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::Command;

use tallymon_testkit::{attack, other_user, skip};

use crate::support::{Place, run, wait_for};

const AREA: &str = "Recordings";

/// A user's place, with a session that records there until it is dropped.
struct Session {
    place: Place,
    user: u32,
}

impl Session {
    fn start(user: u32, folder: &str) -> Session {
        let place = Place::new();
        fs::create_dir(place.0.join(folder)).unwrap();
        place.give_to(user);
        let session = Session { place, user };
        session.prepare(folder);
        let folder = session.place.0.join(folder).display().to_string();
        let counter = r"\Processor(*)\*";
        let (code, _, error) =
            session.run(&["log", "start", "s", "-c", counter, "-i", "10ms", "-o", &folder]);
        assert_eq!(code, 0, "{error}");
        wait_for("records", || session.number("records") > 5);
        session
    }

    /// A folder called `disk` is a small file system of the user.
    fn prepare(&self, folder: &str) {
        if folder == "disk" {
            let options = format!("size=128k,uid={0},gid={0},mode=755", self.user);
            let mount = ["-t", "tmpfs", "-o", &options, "none"];
            let status = Command::new("mount").args(mount).arg(self.place.0.join(folder)).status();
            assert!(status.unwrap().success());
        }
    }

    /// Runs the command as the user.
    fn run(&self, words: &[&str]) -> (i32, String, String) {
        let mut command = self.place.command(words);
        command.uid(self.user).gid(self.user).env("HOME", &*self.place.0).current_dir(&*self.place.0);
        run(command)
    }

    fn status(&self) -> serde_json::Value {
        let (code, out, error) = self.run(&["log", "show", "s", "--json"]);
        assert_eq!(code, 0, "{error}");
        serde_json::from_str(&out).unwrap()
    }

    fn number(&self, name: &str) -> u64 {
        self.status()[name].as_u64().unwrap()
    }

    fn logs(&self) -> Vec<PathBuf> {
        let status = self.status();
        let logs = status["logs"].as_array().unwrap().iter();
        logs.map(|log| PathBuf::from(log["path"].as_str().unwrap())).collect()
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        let _ = self.run(&["log", "stop", "s"]);
        let _ = Command::new("umount").arg(self.place.0.join("disk")).output();
    }
}

#[test]
fn attack_the_log_of_a_session_of_a_user() {
    let Some(user) = other_user() else { return };
    let session = Session::start(user, "logs");
    let log = session.logs().remove(0);
    // A second writer.
    let path = log.display().to_string();
    let (code, out, error) =
        session.run(&["watch", r"\Memory\Available MBytes", "-c", "1", "--force", "-o", &path]);
    let holder = format!("process {}", session.number("process"));
    assert!(
        code != 0 && error.contains("another recorder") && error.contains(&holder),
        "{code} {out}{error}"
    );
    // Root cuts the log.
    OpenOptions::new().write(true).open(&log).unwrap().set_len(100).unwrap();
    wait_for("the next log", || session.logs().len() > 1);
    let words = session.status()["last_error"].as_str().unwrap().to_owned();
    assert!(words.contains("cut to 100 of") && words.contains(log.to_str().unwrap()), "{words}");
    let (_, out, _) = session.run(&["log", "show", "s"]);
    assert!(out.contains("cut to 100 of"), "{out}");
    let before = session.number("records");
    wait_for("records in the next log", || session.number("records") > before);
    attack(
        AREA,
        "write to, or cut, the log of a session of a user",
        "a second writer is refused with the process of the first; log show names the cut, and the next log \
         begins",
    );
}

#[test]
fn attack_the_disk_of_a_session_of_a_user() {
    let Some(user) = other_user() else { return };
    let trial = Place::new();
    let mount = Command::new("mount").args(["-t", "tmpfs", "none"]).arg(&*trial.0).output();
    if !mount.is_ok_and(|output| output.status.success()) {
        skip("a small file system cannot be mounted here, so that no disk can be full");
        return;
    }
    assert!(Command::new("umount").arg(&*trial.0).status().unwrap().success());
    let session = Session::start(user, "disk");
    let filler = session.place.0.join("disk/filler");
    fs::write(&filler, vec![1; 1 << 20]).unwrap_err();
    wait_for("records without room", || session.number("lost") > 0);
    let status = session.status();
    assert!(status["last_error"].as_str().unwrap().contains("s_000001.tally"), "{status}");
    let (_, out, _) = session.run(&["log", "show", "s"]);
    assert!(out.contains("waiting") && out.contains("lost"), "{out}");
    fs::remove_file(&filler).unwrap();
    let before = session.number("records");
    wait_for("records again", || session.number("records") > before + 200);
    attack(
        AREA,
        "fill the disk of a session of a user",
        "log show says what is recorded, waiting and lost; it goes on when there is room",
    );
}
