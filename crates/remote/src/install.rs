//! Copies a program to another machine over ssh: it runs there once under another name, and takes its place
//! only then.

use std::io::{self, Read, Write};
use std::process::{Child, Stdio};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

use tallymon_core::flow::{SourceError, SourceErrorKind};

use crate::address::{Address, SshAddress};
use crate::program::Machine;
use crate::ssh;

/// So much of what the other machine says is read.
const MOST_WORDS: u64 = 16 << 10;

/// So much is written at once.
const PART: usize = 1 << 16;

/// A copy that makes no progress for so long is given up.
const STUCK: Duration = Duration::from_secs(60);

/// Where a program is put: a folder of a few letters and signs, so that it means nothing else to any shell.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place(String);

impl Place {
    /// Checks a folder.
    ///
    /// # Errors
    ///
    /// It is not absolute, or has other signs than `._-+`.
    pub fn parse(folder: &str) -> Result<Place, String> {
        let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "/._-+".contains(letter);
        if folder.starts_with('/') && folder.chars().all(is_plain) {
            let folder = folder.trim_end_matches('/');
            return Ok(Place(folder.to_string()));
        }
        Err(format!("{folder:?}: name a folder from / on, with letters, digits and . _ - + only"))
    }

    /// The program in it.
    pub fn program(&self) -> String {
        format!("{}/tally", self.0)
    }

    fn folder(&self) -> &str {
        if self.0.is_empty() { "/" } else { &self.0 }
    }
}

/// Asks a machine what it is, and what is in the place.
///
/// # Errors
///
/// ssh fails, or there is no answer within the time.
pub fn probe(address: &SshAddress, place: &Place, timeout: Duration) -> Result<Machine, SourceError> {
    let folder = place.folder();
    let program = place.program();
    // One argument of ssh; the shell of the user starts `sh`, whatever it is itself.
    let words = format!(
        "exec sh -c 'echo system=$(uname -s); echo processor=$(uname -m); \
         echo glibc=$(getconf GNU_LIBC_VERSION 2>/dev/null || ldd --version 2>/dev/null | head -n 1); \
         if [ -x {program} ]; then echo installed=$({program} --version 2>&1 | head -n 1); fi; \
         if [ -w {folder} ]; then echo folder=open; elif [ -d {folder} ]; then echo folder=closed; fi'"
    );
    let said = run(address, &words, &[], (timeout, timeout), &mut |_| {})?;
    let machine = Machine::parse(&said);
    if machine.system.is_empty() {
        let words =
            format!("{}: it does not say what it is; a login script there may hide it", name(address));
        return Err(SourceError::new(SourceErrorKind::BadData, words));
    }
    Ok(machine)
}

/// Copies a program to its place, and returns what it calls itself there. `progress` gets the number of
/// bytes.
///
/// # Errors
///
/// ssh fails, nothing moves for a minute, the copy is not whole, or does not run there: then what was there
/// stays.
pub fn copy(
    address: &SshAddress,
    place: &Place,
    program: &[u8],
    timeout: Duration,
    progress: &mut dyn FnMut(usize),
) -> Result<String, SourceError> {
    let (folder, whole) = (place.folder(), program.len());
    let target = place.program();
    let words = format!(
        "exec sh -c 'umask 022; new={folder}/.tally.new.$$; trap \"rm -f $new\" 0; set -e; cat > $new; \
         if [ $(wc -c < $new) -ne {whole} ]; then echo the copy is not whole >&2; exit 3; fi; \
         chmod 755 $new; $new --version; mv -f $new {target}'"
    );
    run(address, &words, program, (timeout, STUCK), progress)
        .map(|said| said.lines().next().unwrap_or_default().chars().take(200).collect())
}

fn name(address: &SshAddress) -> String {
    Address::Ssh(address.clone()).to_string()
}

/// A program that ends with its owner.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// What the threads at the pipes of ssh report.
enum Event {
    Written(usize),
    Said(Vec<u8>),
}

/// Runs words there with this input. The first time is that of ssh for a connection, the second one the
/// longest without anything that happens.
fn run(
    address: &SshAddress,
    words: &str,
    input: &[u8],
    (connecting, stuck): (Duration, Duration),
    progress: &mut dyn FnMut(usize),
) -> Result<String, SourceError> {
    let name = name(address);
    let failed = |kind, words: String| SourceError::new(kind, format!("{name}: {words}"));
    let mut command = ssh::command(address, connecting);
    command.args(["-o", "ServerAliveInterval=10", "-o", "ServerAliveCountMax=3", "--"]);
    command.arg(&address.host).arg(words);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let child =
        command.spawn().map_err(|error| failed(SourceErrorKind::Unreachable, ssh::start_error(&error)))?;
    let mut running = Running(child);
    let pipes = (running.0.stdin.take(), running.0.stdout.take(), running.0.stderr.take());
    let (Some(mut stdin), Some(stdout), Some(stderr)) = pipes else {
        return Err(failed(SourceErrorKind::Io, "ssh has no pipes".to_string()));
    };
    let (sender, events) = channel();
    let (input, written) = (input.to_vec(), sender.clone());
    let write = move || {
        for part in input.chunks(PART) {
            // What ssh says when it fails is worth more than a broken pipe.
            if stdin.write_all(part).is_err() || written.send(Event::Written(part.len())).is_err() {
                return;
            }
        }
    };
    let errors = thread::Builder::new().name("tally ssh".to_string()).spawn(move || said(stderr));
    let writer = thread::Builder::new().name("tally ssh".to_string()).spawn(write);
    let reader = thread::Builder::new().name("tally ssh".to_string()).spawn(move || {
        let _ = sender.send(Event::Said(said(stdout)));
    });
    let no_thread = |error: io::Error| failed(SourceErrorKind::Io, format!("no thread: {error}"));
    let errors = errors.map_err(no_thread)?;
    writer.and(reader).map_err(no_thread)?;
    let mut done = 0usize;
    let answer = loop {
        match events.recv_timeout(stuck) {
            Ok(Event::Written(count)) => {
                done = done.saturating_add(count);
                progress(done);
            }
            Ok(Event::Said(answer)) => break answer,
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {
                let words = format!("nothing happens for {stuck:?}; --timeout waits longer for an answer");
                return Err(failed(SourceErrorKind::Unreachable, words));
            }
        }
    };
    let code = exit_code(&mut running.0);
    drop(running);
    let answer = String::from_utf8_lossy(&answer).into_owned();
    if code == Some(0) {
        return Ok(answer);
    }
    let errors = errors.join().unwrap_or_default();
    let errors = String::from_utf8_lossy(&errors);
    let last = errors.lines().rev().map(str::trim).find(|line| !line.is_empty()).unwrap_or("without a word");
    let (kind, words) = match code {
        Some(255) => {
            let advice = format!("; check with: ssh -o BatchMode=yes {} true", address.host);
            let is_denied = last.contains("Permission denied") || last.contains("verification failed");
            let kind = if is_denied { SourceErrorKind::AccessDenied } else { SourceErrorKind::Unreachable };
            (kind, format!("ssh: {last}{advice}"))
        }
        code => {
            let is_denied = last.contains("Permission denied") || last.contains("Read-only");
            let kind = if is_denied { SourceErrorKind::AccessDenied } else { SourceErrorKind::Io };
            (
                kind,
                format!(
                    "the host says: {last} (code {})",
                    code.map_or("none".to_string(), |code| code.to_string())
                ),
            )
        }
    };
    Err(failed(kind, words))
}

/// What a pipe says, up to a limit; the rest is read and dropped, so that nobody waits at it.
fn said(mut pipe: impl Read) -> Vec<u8> {
    let mut bytes = Vec::new();
    let _ = (&mut pipe).take(MOST_WORDS).read_to_end(&mut bytes);
    let _ = io::copy(&mut pipe, &mut io::sink());
    bytes
}

/// The exit code, once it has ended; its pipes are closed.
fn exit_code(child: &mut Child) -> Option<i32> {
    let begin = Instant::now();
    loop {
        match child.try_wait() {
            Ok(Some(status)) => return status.code(),
            Ok(None) if begin.elapsed() < Duration::from_secs(5) => thread::sleep(Duration::from_millis(5)),
            _ => return None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places() {
        for (folder, program) in
            [("/usr/local/bin", "/usr/local/bin/tally"), ("/opt/x/", "/opt/x/tally"), ("/", "/tally")]
        {
            assert_eq!(Place::parse(folder).map(|place| place.program()), Ok(program.to_string()));
        }
        for folder in ["", "bin", "~/bin", "/a b", "/a;id", "/$(id)", "/a'b", "/a\nb", "/é"] {
            assert!(Place::parse(folder).is_err(), "{folder}");
        }
    }
}
