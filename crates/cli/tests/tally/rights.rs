//! Rights of the program file: `tally doctor --grant` and `--revoke`.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use tallymon_testkit::{peer, skip};

use super::environment::nobody;
use super::support::{Folder, TALLY, clean};

/// A copy of the command that may be given rights.
fn copy() -> (Folder, String) {
    let folder = Folder::new();
    fs::set_permissions(folder.path(), Permissions::from_mode(0o755)).unwrap();
    let program = folder.file("tally");
    fs::copy(TALLY, &program).unwrap();
    fs::set_permissions(&program, Permissions::from_mode(0o755)).unwrap();
    (folder, program)
}

/// Runs it: what it printed, on standard error as well, and its exit code.
fn ran(program: &str, arguments: &[&str]) -> (String, String, i32) {
    let output = clean(program).args(arguments).output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (text(&output.stdout), text(&output.stderr), output.status.code().unwrap())
}

/// What libcap says of a file.
fn getcap(program: &str) -> Option<String> {
    let output = Command::new(peer("getcap")?).arg(program).output().unwrap();
    assert!(output.status.success());
    Some(String::from_utf8(output.stdout).unwrap().trim_start_matches(program).trim().to_string())
}

#[test]
fn rights_are_given_after_a_question_and_taken_away() {
    let (_folder, program) = copy();
    let (_, words, code) = ran(&program, &["doctor", "--grant"]);
    assert!(code == 2 && words.contains("nobody can be asked here: add --yes"), "{code} {words}");
    if !rustix::process::geteuid().is_root() {
        let (_, words, code) = ran(&program, &["doctor", "--grant", "--yes"]);
        assert!(code == 5 && words.contains("only root gives rights"), "{code} {words}");
        skip("no right to give a file capabilities");
        return;
    }
    let (said, words, code) = ran(&program, &["doctor", "--grant", "--yes"]);
    assert!(code == 0 && said == format!("{program}: rights given\n"), "{code} {said} {words}");
    for name in ["cap_bpf", "cap_perfmon", "cap_sys_ptrace"] {
        assert!(words.contains(name), "{words}");
    }
    if let Some(known) = getcap(&program) {
        assert_eq!(known, "cap_sys_ptrace,cap_perfmon,cap_bpf=ep");
    }
    // It still runs, and says that there is nothing to do.
    let (said, _, code) = ran(&program, &["doctor", "--grant"]);
    assert!(code == 0 && said.contains("has all rights already"), "{said}");
    let (said, words, code) = ran(&program, &["doctor", "--revoke", "--yes"]);
    assert!(code == 0 && said == format!("{program}: rights taken away\n"), "{code} {said} {words}");
    if let Some(known) = getcap(&program) {
        assert_eq!(known, "");
    }
}

#[test]
fn a_file_that_others_can_write_gets_no_rights() {
    let (folder, program) = copy();
    for (path, mode) in [(program.as_str(), 0o775), (folder.path().to_str().unwrap(), 0o777)] {
        fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
        let (_, words, code) = ran(&program, &["doctor", "--grant", "--yes"]);
        assert!(code == 2 && words.contains(&format!("{path}: others may write to it")), "{code} {words}");
        fs::set_permissions(path, Permissions::from_mode(0o755)).unwrap();
    }
}

#[test]
fn a_user_cannot_give_rights() {
    let Some(nobody) = nobody() else {
        skip("no right to become another user");
        return;
    };
    let output = nobody.command(&["doctor", "--grant", "--yes"]).output().unwrap();
    let words = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.code() == Some(5) && words.contains("only root gives rights to a file"), "{words}");
}
