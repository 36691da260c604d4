//! The demonstration: starts the service, registers the library, and shows both ways and the manager by
//! running the commands that a reader of `docs/samples/behemoth.md` can run too.

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use behemoth::manager::PATIENCE;
use behemoth::socket::ask;
use behemoth::table::{INI, SYMBOLS};

/// The commands, in this order. The world starts with 900 steps behind it, so that there are calves.
const COMMANDS: &[&[&str]] = &[
    &["behemoth", "list"],
    &["tally", "get", r"\Behemoth(*)\Weight"],
    &["tally", "get", r"\Behemoths Summary\*"],
    &["tally", "lodctr", "/Q:Behemoth"],
    &["tally", "get", r"\Behemoth via Library(*)\Weight"],
    &["tally", "get", r"\Behemoths Summary via Library\*"],
    &["behemoth", "add", "female", "Tamara"],
    &["behemoth", "feed", "Tamara", "100"],
    &["tally", "get", r"\Behemoth(Tamara)\*", r"\Behemoth via Library(Tamara)\*"],
    &["tally", "--lang", "ko", "list", "Behemoth"],
    &["tally", "--lang", "ja", "list", "Behemoths Summary"],
    &[
        "tally",
        "--lang",
        "ru",
        "get",
        r"\Бегемот(Tamara)\Вес",
        r"\Сводка по бегемотам через библиотеку\Бегемотов",
    ],
    &["behemoth", "remove", "Tamara"],
    &["tally", "get", r"\Behemoths Summary\Behemoths", r"\Behemoths Summary via Library\Behemoths"],
];

/// Starts everything, shows it, and waits until it is stopped. Returns the final message.
pub(crate) fn run(options: &[&str]) -> Result<String, String> {
    let (mut still, mut once, mut root, mut library) = (false, false, default_root(), None);
    let mut options = options.iter();
    while let Some(option) = options.next() {
        match *option {
            "--still" => still = true,
            "--once" => once = true,
            "--root" => root = options.next().map(PathBuf::from).ok_or("a folder needed behind --root")?,
            "--library" => library = Some(*options.next().ok_or("a file needed behind --library")?),
            other => return Err(format!("{other} is no option of the demonstration")),
        }
    }
    fs::create_dir_all(&root).map_err(|error| format!("{}: {error}", root.display()))?;
    let root = root.canonicalize().map_err(|error| format!("{}: {error}", root.display()))?;
    let demo = Demo { tally: program("tally")?, root };
    let mut service = demo.serve(still)?;
    // The names of an earlier demonstration, possibly of another build, may still be installed.
    let _ = demo.command("tally", &["unlodctr", "Behemoth"]).output();
    let _ = demo.command("tally", &["provider", "remove", "Behemoth"]).output();
    print!("{}", install(&demo.root, library.map(Path::new))?);
    let file = |name: &str| demo.root.join(name).display().to_string();
    demo.show("tally", &["provider", "add", &file("behemoth.reg")])?;
    demo.show("tally", &["lodctr", &file("behemoth.ini")])?;
    for command in COMMANDS {
        if let [program, arguments @ ..] = command {
            demo.show(program, arguments)?;
        }
    }
    if !once {
        println!("They live on until this program is stopped. From another terminal:\n");
        println!("export TALLYMON_ROOT={}", demo.root.display());
        println!(r"tally watch '\Behemoth(*)\*'");
        println!(r"tally mon '\Behemoth(*)\Weight'");
        // `Child::wait` would close the service's input. The service ends with this program, however this
        // program ends.
        while matches!(service.0.try_wait(), Ok(None)) {
            std::thread::sleep(Duration::from_millis(200));
        }
    }
    Ok(String::new())
}

/// Writes the files that `tally provider add` and `tally lodctr` need, for the given library or the one
/// beside this program.
pub(crate) fn install(folder: &Path, library: Option<&Path>) -> Result<String, String> {
    let library = match library {
        Some(library) => library.canonicalize().map_err(|error| format!("{}: {error}", library.display()))?,
        None => beside("libbehemoth.so").ok_or("libbehemoth.so is not beside this program: build it")?,
    };
    let failed = |error: io::Error| format!("{}: {error}", folder.display());
    fs::create_dir_all(folder).map_err(failed)?;
    let library = library.display().to_string().replace('\\', r"\\");
    // The library asks the service through a socket that only the user of the service may open.
    let registration = format!(
        "Windows Registry Editor Version 5.00\r\n\r\n\
         [HKEY_LOCAL_MACHINE\\SYSTEM\\CurrentControlSet\\Services\\Behemoth\\Performance]\r\n\
         \"Library\"=\"{library}\"\r\n\
         \"Open\"=\"BehemothOpen\"\r\n\"Collect\"=\"BehemothCollect\"\r\n\"Close\"=\"BehemothClose\"\r\n\
         \"Deadline\"=dword:000003e8\r\n\"Run As Caller\"=dword:00000001\r\n"
    );
    for (name, text) in [("behemoth.ini", INI), ("behemoth.h", SYMBOLS), ("behemoth.reg", &registration)] {
        fs::write(folder.join(name), text).map_err(failed)?;
    }
    Ok(format!("behemoth.ini, behemoth.h and behemoth.reg are in {}\n\n", folder.display()))
}

struct Demo {
    tally: PathBuf,
    root: PathBuf,
}

/// A child process that ends when the demonstration does.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        // Either it has ended by itself, or it can be killed: it is our own child.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Demo {
    /// A command that runs in the demonstration's own folder; nothing outside it is changed.
    fn command(&self, program: &str, arguments: &[impl AsRef<OsStr>]) -> Command {
        let own = || std::env::current_exe().unwrap_or_else(|_| PathBuf::from("behemoth"));
        let mut command = Command::new(if program == "tally" { self.tally.clone() } else { own() });
        command.args(arguments).env("TALLYMON_ROOT", &self.root).env_remove("BEHEMOTH_SOCKET");
        command
    }

    fn serve(&self, still: bool) -> Result<Running, String> {
        let slow = if still { "0" } else { "1" };
        let mut command =
            self.command("behemoth", &["serve", "--steps", "900", "--slow", slow, "--while-input"]);
        let failed = |error: io::Error| format!("starting the service: {error}");
        let mut service = Running(command.stdin(Stdio::piped()).spawn().map_err(failed)?);
        let socket = self.root.join("behemoth.sock");
        let start = Instant::now();
        while ask(&socket, "figures", PATIENCE).is_err() {
            if let Some(status) = service.0.try_wait().map_err(failed)? {
                return Err(format!("the service ended with {status}"));
            }
            if start.elapsed() > Duration::from_secs(20) {
                return Err(format!("the service does not answer at {}", socket.display()));
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        Ok(service)
    }

    /// Runs a command, and prints the command and its output.
    fn show(&self, program: &str, arguments: &[&str]) -> Result<(), String> {
        let quoted = arguments.iter().map(|argument| {
            let plain = |one: char| one.is_alphanumeric() || "/-_.:".contains(one);
            if argument.chars().all(plain) { (*argument).to_string() } else { format!("'{argument}'") }
        });
        let quoted: Vec<String> = quoted.collect();
        println!("$ {program} {}", quoted.join(" "));
        let output = self.command(program, arguments).stderr(Stdio::inherit()).output();
        let output = output.map_err(|error| format!("{program}: {error}"))?;
        println!("{}", String::from_utf8_lossy(&output.stdout));
        if output.status.success() { Ok(()) } else { Err(format!("{program} ended with {}", output.status)) }
    }
}

/// A folder of this user for the demonstration.
fn default_root() -> PathBuf {
    let socket = behemoth::socket::path();
    socket.with_file_name("behemoth-demo")
}

/// A program beside this one, or else in one of the folders of `$PATH`.
fn program(name: &str) -> Result<PathBuf, String> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let in_path = || std::env::split_paths(&path).map(|folder| folder.join(name)).find(|file| file.is_file());
    beside(name).or_else(in_path).ok_or(format!(
        "{name} is neither beside this program nor in PATH: cargo build -p tallymon-cli makes it"
    ))
}

fn beside(name: &str) -> Option<PathBuf> {
    let file = std::env::current_exe().ok()?.with_file_name(name);
    file.is_file().then_some(file)
}
