//! What the tests share: receivers that listen, and what they publish.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use tallymon_provider::CounterType;
use tallymon_provider::shm::{Published, Reader};
use tallymon_receive::{Address, Options, ReceiveError, Receivers};
use tallymon_testkit::{Scratch, peer, skip};

/// Longer than anything takes on a loaded machine; a test that waits so long fails.
const PATIENCE: Duration = Duration::from_secs(60);

/// Receivers that run until they are dropped.
pub(crate) struct Running {
    pub(crate) folder: Scratch,
    pub(crate) addresses: Vec<Address>,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<Result<(), ReceiveError>>>,
}

pub(crate) fn any_port() -> SocketAddr {
    "127.0.0.1:0".parse().unwrap()
}

impl Running {
    pub(crate) fn start(options: impl FnOnce(&Scratch) -> Options) -> Running {
        let folder = Scratch::new();
        let options = Options { directory: Some(folder.join("pub")), ..options(&folder) };
        let receivers = Receivers::bind(options).unwrap();
        let addresses = receivers.addresses().iter().map(|(_, address)| address.clone()).collect();
        let stop = Arc::new(AtomicBool::new(false));
        let flag = Arc::clone(&stop);
        let thread = Some(thread::spawn(move || receivers.run(&flag)));
        Running { folder, addresses, stop, thread }
    }

    pub(crate) fn statsd() -> Running {
        Running::start(|_| Options {
            statsd: vec![Address::Internet(any_port())],
            interval: Duration::from_millis(500),
            ..Options::default()
        })
    }

    pub(crate) fn otlp() -> Running {
        Running::start(|_| Options { otlp: vec![any_port()], ..Options::default() })
    }

    pub(crate) fn address(&self) -> SocketAddr {
        match self.addresses.first() {
            Some(Address::Internet(address)) => *address,
            other => panic!("{other:?} is not an address with a port"),
        }
    }

    /// All values that are published: those of `PERF_DOUBLE_RAW` as what they mean, others as raw numbers.
    pub(crate) fn values(&self) -> BTreeMap<String, String> {
        let mut reader = Reader::new([self.folder.join("pub")]);
        reader.scan();
        assert!(reader.refusals().is_empty(), "{:?}", reader.refusals());
        let mut values = BTreeMap::new();
        for publication in reader.publications_mut() {
            publication.read();
        }
        for publication in reader.publications() {
            for (at, object) in publication.objects().iter().enumerate() {
                for instance in publication.instances(at) {
                    for (position, counter) in object.counters.iter().enumerate() {
                        let (name, kind) = (counter.english(), counter.counter_type);
                        let base = if kind.is_base() { " base" } else { "" };
                        let mut path = format!("{}({})\\{name}{base}", object.english(), instance.name());
                        while values.contains_key(&path) {
                            path.push('#');
                        }
                        let value = match instance.value(position) {
                            Some(Published::Number(bits)) if kind == CounterType::PERF_DOUBLE_RAW => {
                                f64::from_bits(bits).to_string()
                            }
                            Some(Published::Number(number)) => number.to_string(),
                            Some(Published::Text(text)) => text.to_owned(),
                            other => format!("{other:?}"),
                        };
                        values.insert(path, value);
                    }
                }
            }
        }
        values
    }

    /// Waits until all these values are there.
    pub(crate) fn wait_for(&self, wanted: &[(&str, &str)]) -> BTreeMap<String, String> {
        let began = Instant::now();
        loop {
            let values = self.values();
            let missing: Vec<_> = wanted
                .iter()
                .filter(|(path, value)| values.get(*path).map(String::as_str) != Some(*value))
                .collect();
            if missing.is_empty() {
                return values;
            }
            assert!(began.elapsed() < PATIENCE, "waited in vain for {missing:?}, there are {values:#?}");
            thread::sleep(Duration::from_millis(20));
        }
    }

    /// The value of a counter of the receivers themselves.
    pub(crate) fn own(&self, counter: &str) -> String {
        let values = self.values();
        let own = |path: &&String| path.starts_with("Tallymon Receiver(") && path.ends_with(counter);
        let path = values.keys().find(own).unwrap();
        values[path].clone()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        let ended = self.thread.take().map(|thread| thread.join().unwrap());
        if !thread::panicking() {
            ended.unwrap().unwrap();
        }
    }
}

/// Runs a script of Python that needs a module; `None`, and a reported skip, without it.
pub(crate) fn python(module: &str, script: &str, arguments: &[&str]) -> Option<String> {
    let python = peer("python3")?;
    let has = Command::new(&python).args(["-c", &format!("import {module}")]).output().unwrap();
    if !has.status.success() {
        assert!(
            std::env::var_os("TALLYMON_PEERS").is_none_or(|peers| peers != "required"),
            "{}",
            String::from_utf8_lossy(&has.stderr)
        );
        skip(&format!("Python's {module} is not installed"));
        return None;
    }
    let mut command = Command::new(python);
    // Settings of this machine would change what is sent.
    let settings = std::env::vars_os().map(|(name, _)| name);
    let is_setting = |name: &std::ffi::OsString| {
        let name = name.to_string_lossy();
        ["OTEL_", "DD_", "STATSD_", "DATADOG_"].iter().any(|begin| name.starts_with(begin))
    };
    settings.filter(is_setting).for_each(|name| {
        command.env_remove(name);
    });
    let output = command.arg("-c").arg(script).args(arguments).stdin(Stdio::null()).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Some(String::from_utf8(output.stdout).unwrap())
}
