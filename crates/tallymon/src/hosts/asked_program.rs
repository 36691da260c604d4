//! A password that a program says: the keyring of a desktop (`secret-tool`), a password manager (`pass`), or
//! what else the user has.

use std::io::Read;
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

/// So long a program may take: it may ask the user to unlock something.
const PATIENCE: Duration = Duration::from_secs(30);

/// How often it is looked whether it has ended.
const LOOK: Duration = Duration::from_millis(5);

/// So many bytes of its answer and of its complaints are read.
const MOST_BYTES: u64 = 64 << 10;

/// So many letters of its complaints are shown.
const SHOWN: usize = 200;

/// The first line that a program prints. Its words are separated by blanks, and no shell sees them.
pub(super) fn first_line(words: &str) -> Result<String, String> {
    let mut parts = words.split_whitespace();
    let name = parts.next().unwrap_or_default();
    let failed = |why: &dyn std::fmt::Display| format!("the program {name}, which says the password: {why}");
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
    // What it started may hold the pipes open.
    let taken = |pipe: Option<mpsc::Receiver<Vec<u8>>>| {
        pipe.and_then(|pipe| pipe.recv_timeout(Duration::from_secs(1)).ok()).unwrap_or_default()
    };
    if !status.success() {
        let said = String::from_utf8_lossy(&taken(complaints)).into_owned();
        let said: String =
            said.trim().chars().map(|it| if it.is_control() { ' ' } else { it }).take(SHOWN).collect();
        return Err(failed(&format!("it ended with {status}; it said: {said:?}")));
    }
    let text = String::from_utf8(taken(answer)).map_err(|_| failed(&"its answer is no text in UTF-8"))?;
    match text.lines().next() {
        Some(line) if !line.is_empty() => Ok(line.to_string()),
        _ => Err(failed(&"it printed nothing")),
    }
}

/// Reads a pipe in a thread of its own.
fn read_aside(pipe: impl Read + Send + 'static) -> mpsc::Receiver<Vec<u8>> {
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || {
        let mut bytes = Vec::new();
        let _ = pipe.take(MOST_BYTES).read_to_end(&mut bytes);
        let _ = sender.send(bytes);
    });
    receiver
}

#[cfg(all(test, unix))]
mod tests {
    use super::first_line;

    #[test]
    fn the_first_line_is_the_password() {
        assert_eq!(first_line("printf a\\040b\\nsecond\\n"), Ok("a b".to_string()));
        for (words, parts) in [
            ("/nowhere/at/all x", &["/nowhere/at/all, which says", "No such file"][..]),
            ("true", &["it printed nothing"]),
            ("ls /nowhere/at/all", &["it ended with exit status: 2", "/nowhere/at/all"]),
            ("printf \\377", &["no text in UTF-8"]),
        ] {
            let why = first_line(words).unwrap_err();
            assert!(parts.iter().all(|part| why.contains(part)), "{why}");
        }
    }
}
