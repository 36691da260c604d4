//! What tests of bridges share: registries in a folder of their own, and values of a request.

use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use tallymon_bridge::{Bridges, Declared, Plan, Settings};
use tallymon_core::block::{CounterDefinition, Snapshot};
use tallymon_core::counter::CounterType;
use tallymon_core::flow::{NoValue, Source};
use tallymon_core::request::Request;
use tallymon_core::title::{Language, TitleIndex};
use tallymon_host::Host;
use tallymon_host::registry::{Roots, Scope, Service, TitleRange, Writer};
use tallymon_testkit::{Ends, Scratch};

/// Longer than anything takes on a loaded machine; a test that waits so long fails.
pub(crate) const PATIENCE: Duration = Duration::from_secs(120);
/// Milliseconds that a request waits for an endpoint that is well.
pub(crate) const LONG: u32 = 100_000;

/// Registries in a folder of their own.
pub(crate) struct Place {
    pub(crate) folder: Scratch,
    pub(crate) roots: Roots,
}

impl Place {
    pub(crate) fn new() -> Place {
        let folder = Scratch::in_memory();
        let roots = Roots::in_folder(&folder);
        Place { folder, roots }
    }

    pub(crate) fn add(&self, name: &str, settings: Settings, deadline: u32) -> TitleRange {
        let declared = Declared { name: name.to_owned(), settings };
        let plan = Plan::new(&self.roots, Scope::System, &declared, read_secret).unwrap();
        plan.save().unwrap();
        let service = Service { deadline: Some(deadline), ..Service::default() };
        self.writer().install(&plan.package, &service).unwrap()
    }

    pub(crate) fn writer(&self) -> Writer {
        Writer::open(&self.roots, Some(Scope::System)).unwrap()
    }

    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.folder.join(format!("bridges/{name}.toml"))
    }

    pub(crate) fn host(&self) -> Host {
        let bridges = Bridges::new(self.roots.clone(), read_secret);
        Host::of("h", vec![Box::new(bridges)]).with_registry(self.roots.clone())
    }
}

pub(crate) fn read_secret(file: &Path) -> std::io::Result<String> {
    std::fs::read_to_string(file)
}

/// The index of a name.
pub(crate) fn index(host: &mut Host, name: &str) -> TitleIndex {
    let titles = host.titles(Language::ENGLISH).unwrap();
    let found = titles.names().find(|(_, text)| *text == name).map(|(index, _)| index);
    found.unwrap_or_else(|| panic!("{name} has no index"))
}

pub(crate) fn ask(host: &mut Host, objects: &[&str]) -> Snapshot {
    let objects: Vec<TitleIndex> = objects.iter().map(|name| index(host, name)).collect();
    host.snapshot(&Request::objects(objects)).unwrap()
}

/// The type, the raw value and the base of a counter.
pub(crate) fn raw(
    host: &mut Host,
    snapshot: &Snapshot,
    path: (&str, Option<&str>, &str),
) -> Result<(CounterType, u64, u64), NoValue> {
    let (object, instance, counter) = path;
    let object = snapshot.object(index(host, object)).unwrap();
    // Several objects may have counters of one name.
    let titles = host.titles(Language::ENGLISH).unwrap();
    let is_it = |known: &CounterDefinition| titles.name(known.name) == Some(counter);
    let position = object.counters().iter().position(is_it).unwrap_or_else(|| panic!("{path:?}"));
    let found = object.instances().find(|found| instance.is_none_or(|name| found.name().to_string() == name));
    let sample = found.unwrap_or_else(|| panic!("{path:?}")).sample(position)?;
    Ok((sample.counter_type, sample.first, sample.second))
}

/// A program that runs until the test ends, without input and output.
pub(crate) fn start(command: &mut Command) -> Ends {
    Ends(command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap())
}

pub(crate) fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
    let begin = Instant::now();
    while !is_so() {
        assert!(begin.elapsed() < PATIENCE, "{what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

pub(crate) fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

/// What a program prints.
pub(crate) fn output(command: &mut Command) -> String {
    let output = command.stdin(Stdio::null()).output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim().to_owned();
    assert!(output.status.success(), "{command:?}: {}", text(&output.stderr));
    text(&output.stdout)
}

/// Why a bridge cannot be added.
pub(crate) fn refused(settings: Settings) -> String {
    let declared = Declared { name: "a".to_owned(), settings };
    Plan::new(&Place::new().roots, Scope::System, &declared, read_secret).unwrap_err()
}
