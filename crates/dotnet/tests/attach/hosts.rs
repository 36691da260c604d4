//! Runs the program `attach.cs` in each runtime.

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use tallymon_dotnet::port::{Program, find};
use tallymon_testkit::Scratch;

use crate::bundle;
use crate::runtimes::{foreign_program, peers, runtimes};

/// A runtime, and the compiler for its programs.
pub(crate) struct Host {
    pub(crate) version: &'static str,
    dotnet: PathBuf,
    /// The program lies beside the runtime, under a fixed name.
    beside: bool,
    mcs: PathBuf,
}

/// Each runtime that is there; none, said once for each test, without one or without a compiler.
pub(crate) fn hosts() -> &'static [Host] {
    static HOSTS: OnceLock<Vec<Host>> = OnceLock::new();
    let hosts = HOSTS.get_or_init(|| {
        let Some(mcs) = tallymon_testkit::peer("mcs") else { return Vec::new() };
        let host = |version, dotnet, beside| Host { version, dotnet, beside, mcs: mcs.clone() };
        let mut all: Vec<Host> =
            runtimes().into_iter().map(|(version, dotnet)| host(version, dotnet, false)).collect();
        let newest =
            foreign_program().map(|program| bundle::own_host(&program, &mcs, &peers().join("dotnet-10.0.9")));
        all.extend(newest.map(|dotnet| host("10.0", dotnet, true)));
        all
    });
    if hosts.is_empty() {
        tallymon_testkit::skip("no .NET runtime or no C# compiler for the tests that attach");
    }
    hosts
}

/// `cargo xtask attack` runs this first, where there is a network: its attacks have none.
#[test]
fn fetch_the_runtimes() {
    let versions: Vec<&str> = hosts().iter().map(|host| host.version).collect();
    if std::env::var_os("TALLYMON_PEERS").is_some_and(|value| value == "required") {
        assert_eq!(versions, ["3.1", "8.0", "9.0", "10.0"]);
    }
}

/// The test program, compiled for a runtime, in a folder of its own.
pub(crate) struct Compiled {
    version: &'static str,
    command: Vec<PathBuf>,
    folder: Scratch,
}

/// The test program, which does what it is told and answers each line with one.
pub(crate) struct Running {
    pub(crate) child: Child,
    /// That of the program itself, which may be a child of what was started.
    pub(crate) pid: u32,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
    _compiled: Arc<Compiled>,
}

impl Host {
    /// Whether the framework lacks what its own program does not need, such as `GC.Collect`.
    pub(crate) fn is_trimmed(&self) -> bool {
        self.beside
    }

    /// Compiles and starts the program.
    pub(crate) fn start(&self) -> Running {
        self.compile().start()
    }

    /// Compiles the program, to start it several times.
    pub(crate) fn compile(&self) -> Arc<Compiled> {
        self.compile_one("attach")
    }

    /// A server of ASP.NET Core, whose parts are in a folder, and its address.
    pub(crate) fn start_server(&self, parts: &Path) -> (Running, String) {
        let compiled = self.compile_one("web");
        let mut running = compiled.spawn(&[parts]);
        let address = running.line();
        assert!(address.starts_with("http://"), "{address}");
        (running, address)
    }

    fn compile_one(&self, name: &str) -> Arc<Compiled> {
        let folder = Scratch::new();
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/attach/{name}.cs"));
        let own_name = format!("{name}.exe");
        let program = folder.join(if self.beside { bundle::PROGRAM } else { &own_name });
        let mut mcs = Command::new(&self.mcs);
        mcs.args(["-optimize+", "-r:System.Net.Http"]).arg(format!("-out:{}", program.display())).arg(source);
        let out = mcs.output().unwrap();
        assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
        let command = if self.beside {
            let host = folder.join("host");
            std::fs::copy(&self.dotnet, &host).unwrap();
            vec![host]
        } else {
            let config = folder.join("program.runtimeconfig.json");
            let text = r#"{"runtimeOptions":{"rollForward":"LatestMajor","framework":
                {"name":"Microsoft.NETCore.App","version":"3.1.0"},
                "configProperties":{"System.Globalization.Invariant":true}}}"#;
            std::fs::write(&config, text).unwrap();
            vec![self.dotnet.clone(), "exec".into(), "--runtimeconfig".into(), config, program]
        };
        Arc::new(Compiled { version: self.version, command, folder })
    }
}

impl Compiled {
    /// Starts the program, and waits until it takes orders.
    pub(crate) fn start(self: &Arc<Compiled>) -> Running {
        let mut running = self.spawn(&[]);
        assert_eq!(running.line(), "ready", ".NET {}", self.version);
        running
    }

    fn spawn(self: &Arc<Compiled>, arguments: &[&Path]) -> Running {
        let mut command = Command::new(&self.command[0]);
        command.args(&self.command[1..]).args(arguments);
        self.spawn_by(command)
    }

    /// Starts the program in mount, process and network namespaces of its own, with its own `/tmp`; it is
    /// process 1 there.
    pub(crate) fn start_in_container(self: &Arc<Compiled>) -> Running {
        // Its folder is below the `/tmp` that is hidden.
        let script =
            "mount --bind \"$0\" /mnt && mount -t tmpfs none /tmp && mount -t proc none /proc && exec \"$@\"";
        let mut command = Command::new("unshare");
        command.args(["-m", "-p", "-n", "--fork", "--kill-child", "sh", "-c", script]).arg(&*self.folder);
        command.args(self.command.iter().map(|word| match word.strip_prefix(&*self.folder) {
            Ok(rest) => Path::new("/mnt").join(rest),
            Err(_) => word.clone(),
        }));
        let mut running = self.spawn_by(command);
        assert_eq!(running.line(), "ready", ".NET {}", self.version);
        let parent = running.child.id();
        let children = std::fs::read_to_string(format!("/proc/{parent}/task/{parent}/children")).unwrap();
        running.pid = children.trim().parse().unwrap();
        running
    }

    fn spawn_by(self: &Arc<Compiled>, mut command: Command) -> Running {
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        command.env("DOTNET_CLI_TELEMETRY_OPTOUT", "1");
        // The test looks for the socket where every program does.
        command.env_remove("TMPDIR");
        // Another test that starts a program just now has the copy open for writing, for a moment.
        let mut child = loop {
            match command.spawn() {
                Err(error) if error.kind() == std::io::ErrorKind::ExecutableFileBusy => {}
                result => break result.unwrap(),
            }
        };
        let (input, output) = (child.stdin.take(), BufReader::new(child.stdout.take().unwrap()));
        Running { pid: child.id(), child, input, output, _compiled: self.clone() }
    }
}

impl Running {
    fn line(&mut self) -> String {
        let mut line = String::new();
        self.output.read_line(&mut line).unwrap();
        line.trim_end().to_string()
    }

    /// Has the program do something; returns its answer.
    pub(crate) fn ask(&mut self, words: &str) -> String {
        let input = self.input.as_mut().unwrap();
        writeln!(input, "{words}").unwrap();
        input.flush().unwrap();
        self.line()
    }

    /// The same for an answer that is a number.
    pub(crate) fn number(&mut self, words: &str) -> u64 {
        let answer = self.ask(words);
        answer.parse().unwrap_or_else(|_| panic!("{words}: {answer}"))
    }

    /// Has the program end, which takes a moment.
    pub(crate) fn end(&mut self) {
        self.input = None;
    }

    /// Whether the program has ended within a time, as it does when all is well.
    pub(crate) fn ends_within(&mut self, patience: Duration) -> bool {
        let deadline = Instant::now() + patience;
        loop {
            match self.child.try_wait().unwrap() {
                Some(status) => break status.success(),
                None if Instant::now() > deadline => break false,
                None => std::thread::sleep(Duration::from_millis(5)),
            }
        }
    }

    pub(crate) fn program(&self) -> Program {
        find(self.pid).unwrap()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
