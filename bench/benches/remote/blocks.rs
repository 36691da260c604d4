//! A block by itself: the frames of `docs/formats/frames.md`, asked for one after the other.

use std::fs;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{ChildStdin, ChildStdout, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use tallymon::core::flow::{Source, SourceError, SourceErrorKind};
use tallymon::core::request::Request;
use tallymon::remote::frames::FrameError;
use tallymon::remote::peer::{Connection, Dial, PeerSource};
use tallymon::remote::tls::{self, Identity};
use tallymon::remote::{Address, TlsAddress};
use tallymon_bench::running::{Group, Running};

use crate::servers::{Net, Sshd, Tls};
use crate::times::middle;

const BLOCKS: usize = 300;
const GREETING: &[u8; 12] = b"TALLYMON\x01\0\x01\0";

pub(crate) fn run(net: &Net) {
    let mut here = Command::new(tallymon_bench::built("tally"));
    here.args(["serve", "--stdio"]).env("TALLY_ROOT", net.folder.join("here"));
    let mut ways = vec![Way::new("a pipe", &mut here, None), Way::by_pipe(&net.folder.join("here"))];
    let sshd = Sshd::start(net);
    if let Some(sshd) = &sshd {
        let mut ssh = Command::new("/usr/bin/ssh");
        ssh.arg("-F").arg(&sshd.settings).args(["far", "tally serve --stdio"]);
        ways.push(Way::new("ssh", &mut ssh, Some(sshd.program.id())));
    }
    let tls = Tls::start(net, "web");
    tls.pair(net, "web", tls.port);
    let identity = net.folder.join("root/user/remote/identity.pem");
    let mut openssl = Command::new("openssl");
    openssl.args(["s_client", "-quiet", "-connect", &format!("127.0.0.1:{}", tls.port), "-tls1_3"]);
    openssl.args(["-alpn", "tallymon/1", "-cert"]).arg(&identity).arg("-key").arg(&identity);
    ways.push(Way::new("TLS, by openssl s_client", &mut openssl, Some(tls.program.id())));
    ways.push(Way {
        name: "TLS, by this library",
        beside: 1,
        talk: Talk::Library(Box::new(library(&tls, &identity))),
        client: Group::of([std::process::id()]),
        behind: Some(Group::below(tls.program.id())),
    });
    println!(
        "A block in frames, µs: median (best) of {BLOCKS}, in turns; and how much longer than by a pipe with \
         the same reader"
    );
    println!("{:32}{:>9}{:>15}{:>9}{:>15}{:>15}", "", "bytes", "wall", "longer", "client CPU", "server CPU");
    for (what, request) in [("Global", "Global"), ("Memory", "4")] {
        measure(&mut ways, what, request);
    }
    println!();
}

/// The source that a reader has of a server, which also compares what it gets with the format.
fn library(server: &Tls, identity: &Path) -> PeerSource {
    let pem = fs::read_to_string(identity).expect("pairing made it");
    let identity = Identity::from_pem(&pem).expect("it is ours");
    let address: TlsAddress = match format!("tls://127.0.0.1:{}", server.port).parse() {
        Ok(Address::Tls(address)) => address,
        other => panic!("no address of TLS: {other:?}"),
    };
    tls::source(address, identity, server.key, Duration::from_secs(10))
}

/// A server that the library reads by pipes.
struct OverPipes {
    root: PathBuf,
    started: Arc<Mutex<u32>>,
}

impl Dial for OverPipes {
    fn dial(&mut self) -> Result<Box<dyn Connection>, SourceError> {
        let mut command = Command::new(tallymon_bench::built("tally"));
        command.args(["serve", "--stdio"]).env("TALLY_ROOT", &self.root);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let program = Running::start(&mut command);
        *self.started.lock().expect("nobody panicked") = program.id();
        Ok(Box::new(Pipes(program)))
    }

    fn name(&self) -> String {
        "a pipe".to_owned()
    }
}

struct Pipes(Running);

impl Connection for Pipes {
    fn streams(&mut self) -> Option<(Box<dyn Read + Send>, Box<dyn Write + Send>)> {
        Some((Box::new(self.0.0.stdout.take()?), Box::new(self.0.0.stdin.take()?)))
    }

    fn diagnosis(&mut self, _failed: &FrameError) -> Option<(SourceErrorKind, String)> {
        None
    }
}

/// Who asks a server for frames.
enum Talk {
    Program(Program),
    Library(Box<PeerSource>),
}

impl Talk {
    /// Asks for the objects of a request; the bytes of the answer.
    fn ask(&mut self, request: &str) -> usize {
        match self {
            Talk::Program(program) => program.ask(request),
            Talk::Library(source) => {
                let block = source.snapshot(&Request::parse(request)).expect("it answers");
                block.bytes().len()
            }
        }
    }
}

/// A server of frames behind a program.
struct Program {
    program: Running,
    input: ChildStdin,
    output: ChildStdout,
}

impl Program {
    fn start(command: &mut Command) -> Program {
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut program = Running::start(command);
        let mut input = program.0.stdin.take().expect("it is a pipe");
        let mut output = program.0.stdout.take().expect("it is a pipe");
        let mut greeting = [0; GREETING.len()];
        output.read_exact(&mut greeting).unwrap_or_else(|error| panic!("{command:?}: {error}"));
        assert_eq!(&greeting, GREETING);
        input.write_all(GREETING).expect("it reads");
        Program { program, input, output }
    }

    /// Asks for the objects of a request; the bytes of the answer.
    fn ask(&mut self, request: &str) -> usize {
        let mut body = vec![1];
        body.extend((request.len() as u32).to_le_bytes());
        body.extend(request.as_bytes());
        body.extend(0_u32.to_le_bytes());
        let mut frame = (body.len() as u32).to_le_bytes().to_vec();
        frame.extend(body);
        self.input.write_all(&frame).expect("it reads");
        let mut length = [0; 4];
        self.output.read_exact(&mut length).expect("it answers");
        let mut answer = vec![0; u32::from_le_bytes(length) as usize];
        self.output.read_exact(&mut answer).expect("it answers whole");
        assert_eq!(answer.first(), Some(&129), "no block: {}", String::from_utf8_lossy(&answer));
        answer.len()
    }
}

/// A way to a server of frames.
struct Way {
    name: &'static str,
    /// The place of the way by a pipe with the same reader.
    beside: usize,
    talk: Talk,
    client: Group,
    /// The processes behind the client, if the client is not the server itself.
    behind: Option<Group>,
}

impl Way {
    fn new(name: &'static str, command: &mut Command, server: Option<u32>) -> Way {
        let program = Program::start(command);
        let client = Group::below(program.program.id());
        Way { name, beside: 0, talk: Talk::Program(program), client, behind: server.map(Group::below) }
    }

    /// The library over a pipe: what the transport alone adds is the difference to this.
    fn by_pipe(root: &Path) -> Way {
        let started = Arc::new(Mutex::new(0));
        let dial = OverPipes { root: root.to_owned(), started: Arc::clone(&started) };
        let mut source = PeerSource::new(Box::new(dial), Duration::from_secs(10));
        source.snapshot(&Request::parse("4")).expect("it answers");
        let server = *started.lock().expect("nobody panicked");
        Way {
            name: "a pipe, by this library",
            beside: 1,
            talk: Talk::Library(Box::new(source)),
            client: Group::of([std::process::id()]),
            behind: Some(Group::below(server)),
        }
    }

    fn cpu(&self) -> [Duration; 2] {
        [self.client.cpu(), self.behind.as_ref().map(Group::cpu).unwrap_or_default()]
    }
}

/// What some blocks by one way used.
#[derive(Default)]
struct Used {
    bytes: usize,
    wall: Vec<Duration>,
    client: Vec<Duration>,
    server: Vec<Duration>,
}

fn measure(ways: &mut [Way], what: &str, request: &str) {
    let mut all: Vec<Used> = ways.iter().map(|_| Used::default()).collect();
    for nth in 0..BLOCKS + 10 {
        for (way, used) in ways.iter_mut().zip(&mut all) {
            let before = way.cpu();
            let begin = Instant::now();
            used.bytes = way.talk.ask(request);
            let took = begin.elapsed();
            // Until all have gone to sleep again, which is when the kernel counts their time.
            thread::sleep(Duration::from_millis(3));
            if nth >= 10 {
                let after = way.cpu();
                used.wall.push(took);
                used.client.push(after[0] - before[0]);
                used.server.push(after[1] - before[1]);
            }
        }
    }
    let walls: Vec<Vec<Duration>> = all.iter().map(|used| used.wall.clone()).collect();
    for (way, used) in ways.iter().zip(all) {
        let pipe = &walls[way.beside];
        let mut longer: Vec<f64> = used
            .wall
            .iter()
            .zip(pipe)
            .map(|(one, by_pipe)| one.as_secs_f64() - by_pipe.as_secs_f64())
            .collect();
        longer.sort_by(f64::total_cmp);
        let longer = format!("{:+.0}", 1e6 * longer[longer.len() / 2]);
        // The client of the pipe is the server.
        let (client, server) =
            if way.behind.is_some() { (used.client, used.server) } else { (Vec::new(), used.client) };
        print!("{:32}{:>9}{:>15}", format!("{what}: {}", way.name), used.bytes, middle(used.wall));
        println!("{longer:>9}{:>15}{:>15}", middle(client), middle(server));
    }
}
