//! Attacks: tests that play another user, a hostile program or a hostile file, and report what came of it.
//!
//! `cargo xtask attack` runs every test whose name begins with `attack_`, in namespaces of its own, and
//! compares what they report with the table in `docs/security.md`.

use std::fs;
use std::io::Write;

use crate::skip;

/// Reports what an attack achieved: a row of the table in `docs/security.md`.
///
/// Call it at the end of the test, when everything was checked. The words go into the page as they are, so
/// they are the same on every machine: no measured number, no path, no process id.
///
/// # Panics
///
/// When a part is empty or cannot stand in a table.
pub fn attack(area: &str, attack: &str, result: &str) {
    for part in [area, attack, result] {
        assert!(
            !part.trim().is_empty() && !part.contains(['|', '\n']),
            "it cannot stand in a table: {part:?}"
        );
    }
    let row = format!("{area} | {attack} | {result}");
    println!("attack: {row}");
    if let Some(file) = std::env::var_os("TALLYMON_ATTACK_ROWS") {
        let written =
            fs::OpenOptions::new().append(true).open(file).and_then(|mut file| writeln!(file, "{row}"));
        assert!(written.is_ok(), "the row cannot be written to TALLYMON_ATTACK_ROWS: {written:?}");
    }
}

/// How often to repeat an attack: `full` times under `cargo xtask attack`, `short` times in the other runs.
pub fn attack_count(short: usize, full: usize) -> usize {
    if std::env::var_os("TALLYMON_ATTACK").is_some_and(|value| value == "full") { full } else { short }
}

/// The user id of somebody else, for tests that play another user; `None` (and a reported skip) when this
/// process may not become another user.
pub fn other_user() -> Option<u32> {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let map = fs::read_to_string("/proc/self/uid_map").unwrap_or_default();
    if !is_root(&status) {
        skip("only root can play another user");
        return None;
    }
    if !has_user(&map, OTHER_USER) {
        skip(&format!("this user namespace has no user {OTHER_USER} to play"));
        return None;
    }
    Some(OTHER_USER)
}

/// The user that tests play: high enough that nobody has it, low enough for every namespace with a range.
const OTHER_USER: u32 = 61_003;

/// Whether this process has a mount namespace of its own, in which the folders of the system may be changed
/// (`cargo xtask attack` makes one); else a skip is reported.
pub fn has_own_machine() -> bool {
    let own = std::env::var_os("TALLYMON_OWN_MACHINE").is_some();
    if !own {
        skip(
            "it changes folders of the system: only 'cargo xtask attack' runs it, in a namespace of its own",
        );
    }
    own
}

fn is_root(status: &str) -> bool {
    let users = status.lines().find_map(|line| line.strip_prefix("Uid:")).unwrap_or_default();
    users.split_whitespace().nth(1) == Some("0")
}

/// Whether a `uid_map` has a user.
fn has_user(map: &str, user: u32) -> bool {
    map.lines().any(|line| {
        let mut numbers = line.split_whitespace().map_while(|number| number.parse::<u32>().ok());
        let (Some(first), Some(_), Some(count)) = (numbers.next(), numbers.next(), numbers.next()) else {
            return false;
        };
        user.checked_sub(first).is_some_and(|position| position < count)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn users_of_a_namespace() {
        assert!(has_user("         0          0 4294967295\n", OTHER_USER));
        assert!(!has_user("         0       1000          1\n", OTHER_USER));
        assert!(has_user("0 1000 1\n1 100000 65536\n", OTHER_USER));
        assert!(!has_user("", OTHER_USER));
        assert!(is_root("Name:\tx\nUid:\t1000\t0\t0\t0\n") && !is_root("Uid:\t0\t1000\t0\t0\n"));
    }

    #[test]
    #[should_panic(expected = "cannot stand in a table")]
    fn a_row_that_breaks_the_table_is_refused() {
        attack("area", "two | cells", "result");
    }
}
