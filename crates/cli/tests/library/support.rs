//! A folder with registries, libraries that are compiled from C, and a host that asks them.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use tallymon::core::block::Snapshot;
use tallymon::core::flow::Source;
use tallymon::core::request::Request;
use tallymon::registry::{Installed, Package, PerflibSetting, Roots, Scope, Service, Writer};
use tallymon::{Host, LibraryOptions};
use tallymon_testkit::{Scratch, peer};

/// A folder with registries in it, which is gone when the test is over.
pub(crate) struct Place(pub(crate) Scratch);

/// A service with one object and one counter, whose library is `provider.c`.
pub(crate) struct Provider<'a> {
    pub(crate) service: &'a str,
    /// A word of `enum fault` in `provider.c`.
    pub(crate) fault: &'a str,
    /// Whether its object is in its Object List.
    pub(crate) listed: bool,
    /// Milliseconds; long enough for a machine that has other things to do, where nothing else is tested.
    pub(crate) deadline: Option<u32>,
}

impl Default for Provider<'_> {
    fn default() -> Self {
        Provider { service: "MyPerf", fault: "GOOD", listed: true, deadline: Some(8000) }
    }
}

impl Place {
    pub(crate) fn new() -> Place {
        let folder = Scratch::in_memory();
        let calls = folder.join("calls");
        fs::create_dir(&calls).unwrap();
        // Libraries of root have users of their own, and write down their calls here.
        fs::set_permissions(&calls, fs::Permissions::from_mode(0o777)).unwrap();
        Place(folder)
    }

    pub(crate) fn roots(&self) -> Roots {
        Roots::in_folder(&self.0)
    }

    pub(crate) fn writer(&self) -> Writer {
        Writer::open(&self.roots(), Some(Scope::System)).unwrap()
    }

    /// Compiles a library of a C file; `None` without a compiler.
    pub(crate) fn compile(&self, source: &Path, name: &str, options: &[String]) -> Option<String> {
        let gcc = peer("gcc")?;
        let library = self.0.join(name);
        let include = Path::new(env!("CARGO_MANIFEST_DIR")).join("../capi/include");
        let output = Command::new(gcc)
            .args([
                "-std=gnu11",
                "-Wall",
                "-Wextra",
                "-Werror",
                "-Wno-null-dereference",
                "-O1",
                "-fshort-wchar",
            ])
            .args(["-shared", "-fPIC", "-I"])
            .arg(include)
            .args(options)
            .arg(source)
            .arg("-o")
            .arg(&library)
            .output()
            .unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        Some(library.display().to_string())
    }

    /// Compiles, registers and names a provider; gives the index of its object, `None` without a compiler.
    pub(crate) fn install(&self, provider: &Provider<'_>) -> Option<u32> {
        let Provider { service, fault, listed, deadline } = *provider;
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/library/provider.c");
        let options = options_of(&self.log(service), fault);
        let library = self.compile(&source, &format!("{service}.so"), &options)?;
        let name = |name: &str| Some(name.to_string());
        let registration = Service {
            library: Some(library),
            open: name("Open"),
            collect: name("Collect"),
            close: name("Close"),
            deadline,
            ..Service::default()
        };
        let package = Package::read(&self.ini(service, listed), None).unwrap();
        let writer = self.writer();
        let range = writer.install(&package, &registration).unwrap();
        if writer.contents().unwrap().perflib.is_empty() {
            // The machine may have other things to do while a process is started.
            writer.set_perflib(PerflibSetting::OpenWait, Some(8000)).unwrap();
        }
        Some(range.first_counter.0)
    }

    fn ini(&self, service: &str, listed: bool) -> PathBuf {
        fs::write(self.0.join(format!("{service}.h")), "#define OBJECT 0\n#define COUNTER 2\n").unwrap();
        let objects = if listed { "[objects]\nOBJECT_009_NAME=\n" } else { "" };
        let text = format!(
            "[info]\ndrivername={service}\nsymbolfile={service}.h\n[languages]\n009=English\n{objects}[text]\n\
             OBJECT_009_NAME={service} Object\nOBJECT_009_HELP=For tests.\nCOUNTER_009_NAME={service} Calls\n\
             COUNTER_009_HELP=Calls of Collect, and 40.\n"
        );
        let ini = self.0.join(format!("{service}.ini"));
        fs::write(&ini, text).unwrap();
        ini
    }

    /// The file with the calls of a service.
    pub(crate) fn log(&self, service: &str) -> PathBuf {
        self.0.join(format!("calls/{service}.calls"))
    }

    /// The calls that the library of a service has written down.
    pub(crate) fn calls(&self, service: &str) -> Vec<String> {
        let text = fs::read_to_string(self.log(service)).unwrap_or_default();
        text.lines().map(str::to_string).collect()
    }

    /// A host without built-in objects.
    pub(crate) fn host(&self) -> Host {
        Host::of("here", Vec::new()).with_libraries(self.roots(), options())
    }

    /// The ids of the events so far.
    pub(crate) fn events(&self) -> Vec<u64> {
        let text = fs::read_to_string(self.0.join("events.jsonl")).unwrap_or_default();
        let events = text.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap());
        events.map(|event| event["id"].as_u64().unwrap()).collect()
    }

    /// The lines of event 5: what libraries tried and may not do.
    pub(crate) fn refusals(&self) -> Vec<String> {
        let text = fs::read_to_string(self.0.join("events.jsonl")).unwrap_or_default();
        let lines = text.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap());
        lines.filter(|line| line["id"] == 5).map(|line| line.to_string()).collect()
    }

    /// Whether `provider check` says that what the healthy library is refused would be reported.
    pub(crate) fn reports_refusals(&self) -> bool {
        let mut command = Command::new(env!("CARGO_BIN_EXE_tally"));
        let command = command.args(["provider", "check", "MyPerf"]).env("TALLYMON_ROOT", &self.0);
        let text = String::from_utf8(command.env("LC_ALL", "C").output().unwrap().stdout).unwrap();
        let line = text.lines().find(|line| line.contains("protected by")).unwrap_or(&text);
        line.contains("events for what is refused")
    }

    /// Whether a service has `Disable Performance Counters`.
    pub(crate) fn disabled(&self, service: &str) -> bool {
        Installed::read(&self.roots()).unwrap().system.service(service).unwrap().disabled
    }
}

/// The options that `provider.c` is compiled with.
pub(crate) fn options_of(log: &Path, fault: &str) -> [String; 3] {
    let sick = log.with_extension("sick");
    [
        format!("-DLOG=\"{}\"", log.display()),
        format!("-DSICK_FILE=\"{}\"", sick.display()),
        format!("-DFAULT={fault}"),
    ]
}

pub(crate) fn options() -> LibraryOptions {
    let program = Some(PathBuf::from(env!("CARGO_BIN_EXE_tally-host")));
    LibraryOptions { program, ..LibraryOptions::default() }
}

pub(crate) fn ask(host: &mut Host, query: &str) -> Snapshot {
    let snapshot = host.snapshot(&Request::parse(query)).unwrap();
    // Printed when the test fails.
    host.libraries().iter().for_each(|status| eprintln!("{query}: {status:?}"));
    snapshot
}

/// The objects of an answer, by index.
pub(crate) fn objects(snapshot: &Snapshot) -> Vec<u32> {
    snapshot.objects().map(|object| object.header().name.0).collect()
}

/// Waits until something is so, for as long as a machine may be busy.
pub(crate) fn wait_for(what: &str, mut is_so: impl FnMut() -> bool) {
    let start = Instant::now();
    while !is_so() {
        assert!(start.elapsed() < Duration::from_secs(60), "waited in vain: {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// `tally` in a place under strace, which writes the programs that it starts into a file.
pub(crate) fn traced(place: &Place, strace: &Path, trace: &Path) -> Command {
    let mut command = Command::new(strace);
    command.args(["-f", "-qq", "-e", "trace=execve", "-o"]).arg(trace).arg(env!("CARGO_BIN_EXE_tally"));
    command.env("TALLYMON_ROOT", &place.0).env_remove("TALLYMON_HOST").env("LC_ALL", "C");
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command
}

/// The processes of libraries that were started, by a trace.
pub(crate) fn started(trace: &Path) -> usize {
    let trace = fs::read_to_string(trace).unwrap_or_default();
    let is_library =
        |line: &&str| line.contains("execve(") && line.contains("tally-host") && line.contains(" = 0");
    trace.lines().filter(is_library).count()
}
