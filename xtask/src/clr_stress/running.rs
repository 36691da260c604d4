//! One run of a program: what it did, and the switches meanwhile.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use tallymon_clr::reader::{self, Profile};
use tallymon_clr::settings::Filter;

use super::cases::Case;
use super::{MODES, Mode};
use crate::target_folder;

/// A run that takes longer stands still. On a busy machine a compiler takes minutes.
pub(super) const PATIENCE: Duration = Duration::from_secs(600);
/// Time between the answer to a switch and the next one, which is longer if the switch took longer: all the
/// methods of a large program take a second, and the program is to do something in between.
const SWITCH: Duration = Duration::from_millis(50);
/// Requests to a server in each run.
const REQUESTS: usize = 200;

/// What a run did. What is `None` is not compared: two runs without the profiler differ in it.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Outcome {
    /// As a shell has it: 128 more than a signal.
    pub(super) code: i32,
    output: Option<Text>,
    error: Option<Text>,
    file: Option<Vec<u8>>,
}

/// Bytes that are printed as text.
#[derive(PartialEq, Eq)]
struct Text(Vec<u8>);

impl std::fmt::Debug for Text {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:?}", String::from_utf8_lossy(&self.0))
    }
}

impl Outcome {
    /// Whether a run did what is expected.
    pub(super) fn is_as(&self, expected: &Outcome) -> bool {
        let same = |of: fn(&Outcome) -> Option<&[u8]>| of(expected).is_none() || of(self) == of(expected);
        self.code == expected.code
            && same(|outcome| outcome.output.as_ref().map(|text| text.0.as_slice()))
            && same(|outcome| outcome.error.as_ref().map(|text| text.0.as_slice()))
            && same(|outcome| outcome.file.as_deref())
    }
}

/// What two runs without the profiler did alike.
pub(super) fn expected(case: &Case, folder: &Path) -> Result<Outcome, String> {
    let run = || -> Result<Outcome, String> {
        let outcome = one(case, None, folder)?.0;
        outcome.ok_or_else(|| format!("{}: it stands still without a profiler", case.name))
    };
    let (mut first, second) = (run()?, run()?);
    let same = |is_same: bool, what: &str| {
        if !is_same {
            eprintln!("{} of .NET {}: {what} is never the same, and not compared", case.name, case.runtime);
        }
        is_same
    };
    if first.code != second.code {
        return Err(format!("{}: it ends differently without a profiler: {first:?} {second:?}", case.name));
    }
    if !same(first.output == second.output, "the output") {
        first.output = None;
    }
    if !same(first.error == second.error, "what it says on standard error") {
        first.error = None;
    }
    if !same(first.file == second.file, "its file") {
        first.file = None;
    }
    if first.code != 0 {
        let code = first.code;
        eprintln!("{} of .NET {} ends with code {code}: {:?}", case.name, case.runtime, first.error);
    }
    Ok(first)
}

/// What became of switching.
pub(super) enum Switched {
    Times(u32),
    Refused,
}

/// Switches a program on and off all the time.
pub(super) struct Switcher {
    on: bool,
    next: Instant,
    /// When the last request was made, until it is answered.
    asked: Option<Instant>,
    pub(super) switched: Switched,
}

impl Switcher {
    pub(super) fn new() -> Switcher {
        Switcher { on: false, next: Instant::now(), asked: None, switched: Switched::Times(0) }
    }

    /// Counts the answer to the last switch, or requests the next one when it is time.
    pub(super) fn look(&mut self, profile: &Path) {
        let Switched::Times(times) = &mut self.switched else { return };
        // It has no profile yet.
        let Ok(head) = Profile::open_head(profile) else { return };
        if head.asked {
            return;
        }
        if let Some(asked) = self.asked.take() {
            // The head has no words of what did not work.
            let refused = |profile: Profile| profile.problem.contains("not switched: .NET before 9");
            if head.hooks_on != self.on && Profile::open(profile).is_ok_and(refused) {
                self.switched = Switched::Refused;
                return;
            }
            *times += u32::from(head.hooks_on == self.on);
            self.next = Instant::now() + asked.elapsed().max(SWITCH);
        }
        if Instant::now() >= self.next && !head.ended {
            self.on = !self.on;
            let request = reader::switch(profile, self.on, &Filter::default());
            self.asked = request.is_ok().then(Instant::now);
        }
    }
}

/// The command for a program, plain or under the profiler. No core dump fills the disk.
pub(super) fn command(case: &Case, mode: Option<Mode>, folder: &Path, profile: &Path) -> Command {
    let mut command = Command::new("sh");
    command.args(["-c", "ulimit -c 0; exec \"$@\"", "sh"]);
    if let Some(mode) = mode {
        let word = match mode {
            Mode::Switched => "dormant",
            mode => MODES.iter().find(|(known, _)| *known == mode).map_or("user", |(_, word)| word),
        };
        command.arg(target_folder().join("debug/tally")).args(["prof", "run", "--mode", word, "-o"]);
        command.arg(profile).arg("--");
    }
    command.args(&case.words).current_dir(folder).process_group(0);
    // Another test on this machine that reads the counters of all .NET programs would be a part of the run: a
    // program of .NET 10 once ended in the thread that counts for readers.
    command.env("DOTNET_EnableDiagnostics_IPC", "0");
    command.stdin(Stdio::piped()).stdout(Stdio::piped());
    command
}

/// One run; no outcome when it stands still.
pub(super) fn one(
    case: &Case,
    mode: Option<Mode>,
    folder: &Path,
) -> Result<(Option<Outcome>, Switched), String> {
    let profile = folder.join("run.prof");
    for file in [Some(&profile), case.file.as_ref()].into_iter().flatten() {
        // It may not be there.
        let _ = fs::remove_file(file);
    }
    let mut command = command(case, mode, folder, &profile);
    let said = folder.join("run.err");
    command.stderr(fs::File::create(&said).map_err(|error| format!("{}: {error}", said.display()))?);
    let mut child = command.spawn().map_err(|error| format!("{}: {error}", case.name))?;
    let (mut input, output) = (child.stdin.take(), child.stdout.take().ok_or("no output")?);
    let server = case.is_server;
    let talking = std::thread::spawn(move || {
        let mut output = BufReader::new(output);
        let mut all = if server { load(&mut output) } else { Vec::new() };
        // The program may have ended already.
        if let Some(input) = &mut input {
            let _ = input.write_all(b"\n");
        }
        drop(input);
        let _ = output.read_to_end(&mut all);
        all
    });
    let begun = Instant::now();
    let mut switcher = Switcher::new();
    let status = loop {
        if let Some(status) = child.try_wait().map_err(|error| error.to_string())? {
            break status;
        }
        if begun.elapsed() > PATIENCE {
            end(&mut child);
            return Ok((None, switcher.switched));
        }
        if mode == Some(Mode::Switched) {
            switcher.look(&profile);
        }
        std::thread::sleep(Duration::from_millis(2));
    };
    let output = talking.join().map_err(|_| "reading the output failed")?;
    let file = case.file.as_ref().map(|file| fs::read(file).unwrap_or_default());
    let error = Some(Text(said_by_the_program(&fs::read(&said).unwrap_or_default())));
    let outcome = Outcome { code: code_of(status), output: Some(Text(output)), error, file };
    Ok((Some(outcome), switcher.switched))
}

/// The exit code that a shell has for a program.
pub(super) fn code_of(status: ExitStatus) -> i32 {
    status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or(0))
}

/// The lines on standard error without those of the command, which say where the profile is.
fn said_by_the_program(error: &[u8]) -> Vec<u8> {
    let lines = error.split_inclusive(|byte| *byte == b'\n');
    lines.filter(|line| !line.starts_with(b"tally: ")).collect::<Vec<_>>().concat()
}

/// Ends a run with all that it started.
pub(super) fn end(child: &mut Child) {
    let group = format!("-{}", child.id());
    // What is gone already needs no end.
    let _ = Command::new("kill").args(["-KILL", "--", &group]).status();
    let _ = child.wait();
}

/// The address that a server says; empty without one.
pub(super) fn address(output: &mut impl BufRead) -> String {
    let mut address = String::new();
    // Without an address there are no answers, which is another output.
    let _ = output.read_line(&mut address);
    address.trim().trim_start_matches("http://").to_string()
}

/// Asks a server one of four things; the path and the status of the answer.
pub(super) fn ask(address: &str, number: usize) -> (&'static str, String) {
    let path = ["/", "/orders/7", "/fail", "/call"][number % 4];
    let answer = || -> std::io::Result<String> {
        let mut stream = TcpStream::connect(address)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        write!(stream, "GET {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")?;
        let mut text = String::new();
        stream.read_to_string(&mut text)?;
        Ok(text.split(' ').nth(1).unwrap_or_default().to_string())
    };
    (path, answer().unwrap_or_else(|error| error.to_string()))
}

/// Asks a server from four threads; what it answered, in one order.
fn load(output: &mut impl BufRead) -> Vec<u8> {
    let address = address(output);
    let said = |number| {
        let (path, status) = ask(&address, number);
        format!("{path} {status}\n")
    };
    let part = REQUESTS / 4;
    let mut answers: Vec<String> = std::thread::scope(|scope| {
        let said = &said;
        let clients: Vec<_> = (0..4)
            .map(|client| scope.spawn(move || (client * part..(client + 1) * part).map(said).collect()))
            .collect();
        clients.into_iter().flat_map(|client| client.join().unwrap_or_else(|_| Vec::new())).collect()
    });
    answers.sort();
    answers.concat().into_bytes()
}
