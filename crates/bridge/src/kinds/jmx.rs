//! The beans of a Java program, by Jolokia: JMX as JSON over HTTP.
//!
//! One request reads the attributes of all beans of a pattern; the usual one has those of the machine itself,
//! `java.lang:*`.

use std::collections::BTreeMap;

use serde_json::Value;
use tallymon_push::fetch;

use super::known::{Group, average_time, count, gauge, share, time, whole};
use super::wire::shown;
use super::{Speaks, check_http};
use crate::catalog::CounterKind;
use crate::metrics::{Metrics, Number, Title};
use crate::settings::{ReadSecret, Settings};

/// The longest answer, in bytes: parsed, JSON takes many times as much.
const MOST_BYTES: usize = 4 << 20;
/// The path of an address that has none.
pub(super) const USUAL_PATH: &str = "/jolokia/read/java.lang:*";
/// The longest name of a bean, in bytes.
const LONGEST_NAME: usize = 500;

/// Programs with Jolokia's agent.
pub(super) struct Jmx;

/// The beans of `java.lang` by their type, with the label that their name becomes.
const BEANS: &[(&str, Option<&str>, Group)] = &[
    ("Memory", None, MEMORY),
    ("MemoryPool", Some("pool"), POOL),
    ("GarbageCollector", Some("collector"), COLLECTOR),
    ("Threading", None, THREADS),
    ("ClassLoading", None, CLASSES),
    ("Compilation", None, COMPILATION),
    ("OperatingSystem", None, PROCESS),
    ("Runtime", None, RUNTIME),
];

const MEMORY: Group = Group {
    prefix: "java_memory",
    object: "Memory",
    values: &[
        whole("HeapMemoryUsage_used", "Heap Bytes", "Memory of the heap that is used."),
        whole("HeapMemoryUsage_committed", "Heap Committed Bytes", "Memory that the heap has."),
        whole("HeapMemoryUsage_max", "Heap Limit Bytes", "What the heap may have at most."),
        share(
            "HeapMemoryUsage_used",
            "HeapMemoryUsage_max",
            "% Heap Used",
            "Memory that is used, of the limit.",
        ),
        whole("NonHeapMemoryUsage_used", "Other Bytes", "Memory for classes and compiled code that is used."),
        whole(
            "NonHeapMemoryUsage_committed",
            "Other Committed Bytes",
            "Memory for classes and compiled code.",
        ),
        whole("ObjectPendingFinalizationCount", "Objects To Finalize", "Objects that wait for finalization."),
    ],
};

const POOL: Group = Group {
    prefix: "java_memory_pool",
    object: "Memory Pool",
    values: &[
        whole("Usage_used", "Bytes", "Memory of the pool that is used."),
        whole("Usage_committed", "Committed Bytes", "Memory that the pool has."),
        share("Usage_used", "Usage_max", "% Used", "Memory that is used, of what the pool may have."),
        whole("PeakUsage_used", "Peak Bytes", "The most memory that was used."),
        whole("CollectionUsage_used", "Bytes After Collection", "Memory that was used after a collection."),
    ],
};

const COLLECTOR: Group = Group {
    prefix: "java_collector",
    object: "Collector",
    values: &[
        count("CollectionCount", "Collections/sec", "Collections of garbage."),
        time("CollectionTime", 1000, "% Time in Collections", "Time in collections of garbage."),
        average_time(
            ("CollectionTime", 1000),
            "CollectionCount",
            "Avg. sec/Collection",
            "Time of a collection of garbage.",
        ),
    ],
};

const THREADS: Group = Group {
    prefix: "java_threads",
    object: "Threads",
    values: &[
        whole("ThreadCount", "Threads", "Threads that live."),
        whole("DaemonThreadCount", "Daemon Threads", "Threads that keep no program alive."),
        whole("PeakThreadCount", "Peak Threads", "The most threads that lived at a time."),
        count("TotalStartedThreadCount", "Threads Started/sec", "Threads that were started."),
    ],
};

const CLASSES: Group = Group {
    prefix: "java_classes",
    object: "Classes",
    values: &[
        whole("LoadedClassCount", "Classes", "Classes that are loaded."),
        count("TotalLoadedClassCount", "Classes Loaded/sec", "Classes that were loaded."),
        count("UnloadedClassCount", "Classes Unloaded/sec", "Classes that were unloaded."),
    ],
};

const COMPILATION: Group = Group {
    prefix: "java_compilation",
    object: "Compilation",
    values: &[time("TotalCompilationTime", 1000, "% Time", "Time in compilations of methods.")],
};

const PROCESS: Group = Group {
    prefix: "java_process",
    object: "Process",
    values: &[
        time("ProcessCpuTime", 1_000_000_000, "% Processor Time", "Processor time; 100 is one processor."),
        whole("OpenFileDescriptorCount", "Open Files", "File descriptors that are open."),
        share(
            "OpenFileDescriptorCount",
            "MaxFileDescriptorCount",
            "% Open Files",
            "File descriptors that are open, of the limit.",
        ),
        whole("CommittedVirtualMemorySize", "Virtual Bytes", "Memory that the process may count on."),
        gauge("SystemLoadAverage", "Load", "Average of the last minute of what runs or wants to."),
    ],
};

const RUNTIME: Group = Group {
    prefix: "java_runtime",
    object: "Runtime",
    values: &[whole("Uptime", "Up Time (ms)", "Milliseconds since the start.")],
};

impl Speaks for Jmx {
    fn check(&self, settings: &Settings) -> Result<(), String> {
        check_http(settings)
    }

    fn read(&self, settings: &Settings, read_secret: ReadSecret) -> Result<Metrics, String> {
        let endpoint = settings.endpoint(read_secret)?;
        let text = fetch(&endpoint, "application/json, text/plain; q=0.5", MOST_BYTES);
        of_answer(&text.map_err(|error| error.to_string())?)
    }
}

/// The numbers of a bean, with the parts of composite ones behind `_`.
type Numbers = BTreeMap<String, String>;

fn of_answer(answer: &[u8]) -> Result<Metrics, String> {
    let wrong = || {
        let begin = shown(&String::from_utf8_lossy(answer));
        format!("the answer is none of Jolokia to a read of beans; it begins with {begin:?}")
    };
    let answer: Value = serde_json::from_slice(answer).map_err(|_| wrong())?;
    // HTTP says 200 also for what failed.
    if let Some(status) = answer.get("status").and_then(Value::as_u64).filter(|status| *status != 200) {
        let words = answer.get("error").and_then(Value::as_str).unwrap_or_default();
        return Err(format!("it answers {status}, {:?}", shown(words)));
    }
    let beans = answer.get("value").and_then(Value::as_object).ok_or_else(wrong)?;
    let mut metrics = Metrics::default();
    for (_, label, group) in BEANS {
        // Pools and collectors have their names also while the program has none of a name.
        if let Some(label) = label {
            group.declare(&mut metrics, &[label], |_| true);
        }
    }
    for (name, attributes) in beans {
        let Some(bean) = Bean::of(name) else { continue };
        let numbers = numbers(attributes);
        match bean.known() {
            Some((label, group)) => {
                let name = bean.get("name").unwrap_or_default();
                let labels: Vec<(&str, &str)> = label.iter().map(|label| (*label, name)).collect();
                group.add(&mut metrics, &labels, |key| numbers.get(key).map(String::as_str));
            }
            None => bean.add(&mut metrics, &numbers),
        }
    }
    if metrics.is_empty() { Err(wrong()) } else { Ok(metrics) }
}

/// The attributes of a bean that are numbers.
fn numbers(attributes: &Value) -> Numbers {
    let mut found = Numbers::new();
    for (name, value) in attributes.as_object().into_iter().flatten() {
        match value {
            Value::Number(number) => {
                found.insert(name.clone(), number.to_string());
            }
            Value::Object(parts) => {
                let parts = parts.iter().filter(|(_, part)| part.is_number());
                found.extend(parts.map(|(part, number)| (format!("{name}_{part}"), number.to_string())));
            }
            _ => {}
        }
    }
    found
}

/// The name of a bean: `domain:key=text,key=text`.
struct Bean<'a> {
    domain: &'a str,
    keys: Vec<(&'a str, &'a str)>,
}

impl<'a> Bean<'a> {
    fn of(name: &'a str) -> Option<Bean<'a>> {
        let (domain, keys) = name.split_once(':').filter(|_| name.len() <= LONGEST_NAME)?;
        // A text in quotes may have commas.
        let mut is_quoted = false;
        let keys = keys.split(|letter| {
            is_quoted ^= letter == '"';
            letter == ',' && !is_quoted
        });
        let keys = keys.map(|key| key.split_once('=').map(|(key, text)| (key, text.trim_matches('"'))));
        Some(Bean { domain, keys: keys.collect::<Option<_>>()? })
    }

    fn get(&self, key: &str) -> Option<&'a str> {
        self.keys.iter().find(|(name, _)| *name == key).map(|(_, text)| *text)
    }

    fn known(&self) -> Option<(Option<&'static str>, &'static Group)> {
        let kind = self.get("type").filter(|_| self.domain == "java.lang")?;
        BEANS.iter().find(|(known, _, _)| *known == kind).map(|(_, label, group)| (*label, group))
    }

    /// Adds the numbers of a bean that no table knows, under the names that it gives them.
    fn add(&self, metrics: &mut Metrics, numbers: &Numbers) {
        let kind = self.get("type").unwrap_or_default();
        let object = format!("{} {kind}", self.domain);
        let keys = self.keys.iter().filter(|(key, _)| *key != "type");
        let names: Vec<(String, &str)> = keys.map(|(key, text)| (plain(key), *text)).collect();
        let mut labels: Vec<(&str, &str)> = names.iter().map(|(key, text)| (key.as_str(), *text)).collect();
        labels.sort_unstable();
        let keys: Vec<&str> = labels.iter().map(|(key, _)| *key).collect();
        for (name, text) in numbers {
            let Some(number) = Number::of_text(text, 1) else { continue };
            let metric = plain(&format!("jmx_{}_{kind}_{name}", self.domain));
            let (object, counter) = (object.trim().to_owned(), name.clone());
            let title = Title { object, counter, kind: CounterKind::Gauge };
            let help = format!("{name} of {}, as JMX shows it.", self.domain);
            if metrics.declare(&metric, &keys, title, &help) {
                metrics.add_declared(&metric, &labels, number, None);
            }
        }
    }
}

/// A text as the name of a metric or label.
fn plain(text: &str) -> String {
    let letter = |letter: char| if letter.is_ascii_alphanumeric() { letter } else { '_' };
    let begin = text.chars().next().filter(char::is_ascii_digit).map(|_| '_');
    begin.into_iter().chain(text.chars().map(letter)).collect()
}

#[cfg(test)]
#[path = "jmx_tests.rs"]
mod tests;
