//! A password that a program prints: the keyring of a desktop (`secret-tool`), a password manager (`pass`),
//! or what else the user has.

use std::io::Read;
use std::process::{Command, ExitStatus, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

/// So long a program may take: it may ask the user to unlock something.
const PATIENCE: Duration = Duration::from_secs(30);

/// The pause between two looks whether it has ended.
const LOOK: Duration = Duration::from_millis(5);

/// So long the end of its output may take after its own end: what it started may hold the pipes open.
const LAST_WORDS: Duration = Duration::from_secs(1);

/// So many bytes of its answer and of its complaints are read.
const MOST_BYTES: u64 = 64 << 10;

/// So many letters of its complaints are shown.
const SHOWN: usize = 200;

/// The first line that a program prints. Its words are separated by blanks, and no shell sees them.
pub(super) fn first_line(words: &str) -> Result<String, String> {
    let mut parts = words.split_whitespace();
    let name = parts.next().unwrap_or_default();
    let failed = |why: &dyn std::fmt::Display| format!("the password program {name}: {why}");
    let mut command = Command::new(name);
    command.args(parts).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().map_err(|error| failed(&error))?;
    let answer = child.stdout.take().map(read_aside);
    let complaints = child.stderr.take().map(read_aside);
    let deadline = Instant::now().checked_add(PATIENCE);
    let status = loop {
        if let Some(status) = child.try_wait().map_err(|error| failed(&error))? {
            break status;
        }
        if deadline.is_none_or(|at| Instant::now() >= at) {
            let _ = child.kill();
            let _ = child.wait();
            return Err(failed(&format!("no answer within {PATIENCE:?}")));
        }
        thread::sleep(LOOK);
    };
    if !status.success() {
        let said = complaints.map(|pipe| taken(&pipe, |_| false)).unwrap_or_default();
        return Err(failure(name, status, &String::from_utf8_lossy(&said)));
    }
    let has_line = |bytes: &[u8]| bytes.contains(&b'\n');
    let mut bytes = answer.map(|pipe| taken(&pipe, has_line)).unwrap_or_default();
    if let Some(end) = bytes.iter().position(|byte| *byte == b'\n') {
        bytes.truncate(end);
    }
    let line = String::from_utf8(bytes).map_err(|_| failed(&"its answer is not text in UTF-8"))?;
    match line.strip_suffix('\r').unwrap_or(&line) {
        "" => Err(failed(&"it printed nothing")),
        line => Ok(line.to_string()),
    }
}

/// The message about a program that ended with a failure.
fn failure(name: &str, status: ExitStatus, said: &str) -> String {
    let status = status.code().map_or_else(|| status.to_string(), |code| format!("exit status {code}"));
    let said: String =
        said.trim().chars().map(|it| if it.is_control() { ' ' } else { it }).take(SHOWN).collect();
    match said.as_str() {
        "" => format!("the password program {name} failed ({status})"),
        said => format!("the password program {name} failed ({status}): {said}"),
    }
}

/// What a program that has ended wrote into a pipe, or as much of it as is enough.
fn taken(pipe: &mpsc::Receiver<Vec<u8>>, is_enough: impl Fn(&[u8]) -> bool) -> Vec<u8> {
    let end = Instant::now().checked_add(LAST_WORDS);
    let left = || end.map_or(LAST_WORDS, |end| end.saturating_duration_since(Instant::now()));
    let mut bytes = Vec::new();
    while !is_enough(&bytes) {
        let Ok(part) = pipe.recv_timeout(left()) else { break };
        bytes.extend(part);
    }
    bytes
}

/// Reads a pipe in a thread of its own, and hands over each part as it comes.
fn read_aside(pipe: impl Read + Send + 'static) -> mpsc::Receiver<Vec<u8>> {
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || {
        let mut pipe = pipe.take(MOST_BYTES);
        let mut part = [0; 4096];
        while let Ok(length @ 1..) = pipe.read(&mut part) {
            let bytes = part.get(..length).unwrap_or_default().to_vec();
            if sender.send(bytes).is_err() {
                break;
            }
        }
    });
    receiver
}

#[cfg(all(test, unix))]
mod tests {
    use super::first_line;

    #[test]
    fn the_first_line_is_the_password() {
        assert_eq!(first_line("printf a\\040b\\nsecond\\n"), Ok("a b".to_string()));
        assert_eq!(first_line("printf secret\\r\\n\\377"), Ok("secret".to_string()));
        for (words, parts) in [
            ("/nowhere/at/all x", &["the password program /nowhere/at/all: ", "No such file"][..]),
            ("true", &["it printed nothing"]),
            ("printf \\nsecond\\n", &["it printed nothing"]),
            ("ls /nowhere/at/all", &["the password program ls failed (exit status 2): ", "/nowhere/at/all"]),
            ("printf \\377", &["not text in UTF-8"]),
        ] {
            let why = first_line(words).unwrap_err();
            assert!(parts.iter().all(|part| why.contains(part)), "{why}");
        }
        assert_eq!(
            first_line("false").unwrap_err(),
            "the password program false failed (exit status 1)".to_string()
        );
    }

    #[test]
    fn a_program_may_leave_another_one_behind() {
        let folder = tallymon_testkit::Scratch::new();
        for printed in ["echo secret", "printf secret"] {
            // Whatever stays behind holds the pipes open.
            let script = folder.join("script");
            std::fs::write(&script, format!("{printed}\nsleep 5 &\n")).unwrap();
            assert_eq!(
                first_line(&format!("sh {}", script.display())),
                Ok("secret".to_string()),
                "{printed}"
            );
        }
    }
}
