//! Repeats the experiments of the article about writing providers: what its author saw, and what happens
//! here.
//!
//! `docs/dispatch.md` is generated from the table below. `TALLYMON_BLESS=1` makes the test write it.

use std::fs;
use std::path::Path;

use tallymon::core::block::{InstanceKind, ObjectLayout, ObjectSpec, ObjectsWriter};
use tallymon::core::time::{Frequency, PerfTime};
use tallymon::core::title::TitleIndex;
use tallymon::registry::Service;
use tallymon::{Host, LibraryOptions};
use tallymon_provider::{CollectRequest, Provider, ProviderError};

use crate::support::{Place, ask, objects, options, options_of};

/// One experiment: a library, a registration, some queries, and what comes of them.
struct Experiment {
    name: &'static str,
    /// A word of `enum fault` in `provider.c`.
    library: &'static str,
    /// `Object List` of the service.
    list: &'static [u32],
    /// The queries of each reader; each reader is a program of its own, and ends when the last one is
    /// through.
    readers: &'static [&'static [&'static str]],
    /// What the author of the article saw.
    article: &'static str,
    /// What the library sees here.
    calls: &'static [&'static str],
    /// The ids of the events.
    events: &'static [u64],
    /// Whether `Disable Performance Counters` is 1 afterwards.
    disabled: bool,
    /// Where it differs from the article, and why.
    differs: &'static str,
}

const LOADED: &[&str] = &["attach", "Open NULL", "Collect Global", "Collect Global", "Close", "detach"];

const EXPERIMENTS: &[Experiment] = &[
    Experiment {
        name: "`Global`, Collect does not set its sizes (v1)",
        library: "SIZES_LEFT",
        list: &[],
        readers: &[&["Global", "Global"], &["Global"]],
        article: "Loads the library, calls Open, and Collect with \"Global\". No reaction to later \
                  requests; Close and unloading at the end. Later programs do not load it. Two events: the \
                  pointer does not match the length, and the service is disabled. `Disable Performance \
                  Counters` is 1.",
        calls: &["attach", "Open NULL", "Collect Global", "Close", "detach"],
        events: &[2000, 1017],
        disabled: true,
        differs: "",
    },
    Experiment {
        name: "`Global`, Collect sets its sizes to 0 (v2)",
        library: "NOTHING",
        list: &[],
        readers: &[&["Global", "Global"], &["Global"]],
        article: "Loads the library, calls Open, and Collect with \"Global\", ten times in a row for the \
                  first request. The library is called for later requests, and in later programs.",
        calls: &[
            "attach",
            "Open NULL",
            "Collect Global",
            "Collect Global",
            "Close",
            "detach",
            "attach",
            "Open NULL",
            "Collect Global",
            "Close",
            "detach",
        ],
        events: &[],
        disabled: false,
        differs: "Collect is called once for each request, because no caller has to guess the size of the \
                  buffer.",
    },
    Experiment {
        name: "`Costly`",
        library: "NOTHING",
        list: &[],
        readers: &[&["Costly"]],
        article: "As with \"Global\".",
        calls: &["attach", "Open NULL", "Collect Costly", "Close", "detach"],
        events: &[],
        disabled: false,
        differs: "",
    },
    Experiment {
        name: "`ABCD`, `EFGHIJ`: unknown words",
        library: "NOTHING",
        list: &[],
        readers: &[&["ABCD", "EFGHIJ"]],
        article: "No library is loaded.",
        calls: &[],
        events: &[],
        disabled: false,
        differs: "",
    },
    Experiment {
        name: "`2`, a built-in object, without Object List (v1)",
        library: "NOTHING",
        list: &[],
        readers: &[&["2"], &["Global", "2"]],
        article: "As a first request it does not load the library; as a later one it does not call \
                  Collect.",
        calls: &["attach", "Open NULL", "Collect Global", "Close", "detach"],
        events: &[],
        disabled: false,
        differs: "",
    },
    Experiment {
        name: "`2`, with Object List \"2\" (v2)",
        library: "NOTHING",
        list: &[2],
        readers: &[&["2"]],
        article: "The library is loaded, and Collect is called. The system's own object is returned as \
                  before.",
        calls: &["attach", "Open NULL", "Collect 2", "Close", "detach"],
        events: &[],
        disabled: false,
        differs: "",
    },
    Experiment {
        name: "`22222`, an unknown object, with Object List \"2\" (v1)",
        library: "NOTHING",
        list: &[2],
        readers: &[&["22222"]],
        article: "The library is not loaded, and Collect is not called.",
        calls: &[],
        events: &[],
        disabled: false,
        differs: "",
    },
    Experiment {
        name: "`22222`, without Object List (v2)",
        library: "NOTHING",
        list: &[],
        readers: &[&["22222"]],
        article: "Collect is called: a library without a list is called for objects that are in no list.",
        calls: &["attach", "Open NULL", "Collect 22222", "Close", "detach"],
        events: &[],
        disabled: false,
        differs: "",
    },
    Experiment {
        name: "Open returns an error",
        library: "OPEN_ERROR",
        list: &[],
        readers: &[&["Global", "Global"]],
        article: "Whenever the library is due, it is loaded and Open is called; the error is logged, and \
                  other libraries go on. Many times for the first request, whose buffer grows step by \
                  step; once for later ones.",
        calls: &["attach", "Open NULL", "detach", "attach", "Open NULL", "detach"],
        events: &[1008, 1008],
        disabled: false,
        differs: "Open is called once for the first request too.",
    },
    Experiment {
        name: "Collect returns an error",
        library: "COLLECT_ERROR",
        list: &[],
        readers: &[&["Global", "Global"]],
        article: "As with Open, but the library is not unloaded, and Open and Close are not called in \
                  between: an event, and Collect is called again the next time.",
        calls: LOADED,
        events: &[1014, 1014],
        disabled: false,
        differs: "",
    },
    Experiment {
        name: "Requests from another machine",
        library: "NOTHING",
        list: &[],
        readers: &[&["Foreign here"]],
        article: "The library is loaded on the queried machine, in the process that answers for remote \
                  readers.",
        calls: &["attach", "Open NULL", "Collect Foreign here", "Close", "detach"],
        events: &[],
        disabled: false,
        differs: "",
    },
    Experiment {
        name: "Requests from two users at once",
        library: "NOTHING",
        list: &[],
        readers: &[&["Global", "wait"], &["Global"]],
        article: "There is always an Open between Close and Collect, and a Close between Collect and Open; \
                  two Opens in a row were not seen.",
        calls: &[
            "attach",
            "Open NULL",
            "Collect Global",
            "attach",
            "Open NULL",
            "Collect Global",
            "Close",
            "detach",
            "Close",
            "detach",
        ],
        events: &[],
        disabled: false,
        differs: "Each reader has its own process for the library, so each of the two sees this order; the \
                  calls of both are shown together.",
    },
];

/// The object System, as far as the experiments need it.
struct System {
    layout: ObjectLayout<'static>,
}

const SYSTEM: ObjectSpec<'static> = ObjectSpec::new(TitleIndex(2), InstanceKind::Many, &[]);

impl Provider for System {
    fn objects(&self) -> &[ObjectSpec<'static>] {
        &[SYSTEM]
    }

    fn collect(
        &mut self,
        request: &CollectRequest<'_>,
        out: &mut ObjectsWriter<'_>,
    ) -> Result<(), ProviderError> {
        if request.wants(SYSTEM.name) {
            out.object(&self.layout, PerfTime(0), Frequency(0)).instance("system", None, None);
        }
        Ok(())
    }
}

/// A reader that has the object System.
pub(crate) fn reader(place: &Place) -> Host {
    let system = System { layout: ObjectLayout::new(SYSTEM) };
    let options: LibraryOptions = options();
    Host::of("here", vec![Box::new(system)]).with_libraries(place.roots(), options)
}

/// What came of an experiment: calls, events, whether the service is disabled.
fn make(experiment: &Experiment) -> Option<(Vec<String>, Vec<u64>, bool)> {
    let place = Place::new();
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/library/provider.c");
    let options = options_of(&place.log("MyPerf"), experiment.library);
    let library = place.compile(&source, "myperf.so", &options)?;
    let name = |name: &str| Some(name.to_string());
    // As in the article: a key in the registry, and no names.
    let service = Service {
        name: "MyPerf".to_string(),
        library: Some(library),
        open: name("Open"),
        collect: name("Collect"),
        close: name("Close"),
        deadline: Some(8000),
        ..Service::default()
    };
    place.writer().register(&[service]).unwrap();
    let list: Vec<TitleIndex> = experiment.list.iter().copied().map(TitleIndex).collect();
    place.writer().set_object_list("MyPerf", &list).unwrap();
    let mut waiting = Vec::new();
    for queries in experiment.readers {
        let mut host = reader(&place);
        for query in queries.iter().filter(|query| **query != "wait") {
            let wants_system = matches!(*query, "Global" | "2" | "Foreign here");
            let wanted = if wants_system { vec![2] } else { vec![] };
            assert_eq!(objects(&ask(&mut host, query)), wanted, "{} {query}", experiment.name);
        }
        if queries.contains(&"wait") {
            waiting.push(host);
        }
    }
    drop(waiting);
    Some((place.calls("MyPerf"), place.events(), place.disabled("MyPerf")))
}

#[test]
fn experiments_of_the_article() {
    for experiment in EXPERIMENTS {
        let Some((calls, events, disabled)) = make(experiment) else { return };
        assert_eq!(calls, experiment.calls, "{}", experiment.name);
        assert_eq!(events, experiment.events, "{}", experiment.name);
        assert_eq!(disabled, experiment.disabled, "{}", experiment.name);
    }
}

const HEAD: &str = "\
# Which library is called for which request

Requests reach provider libraries by NT's rules. An article in RSDN Magazine 4/2003 describes the
experiments that found these rules (S. Kholodilov, Performance counters, part 2). Each experiment is a test
here. This page is generated from the table in `crates/cli/tests/library/experiments.rs`, and a test
compares the two.

The library records its calls: `attach` when it is loaded, its functions with their parameters, `detach`
when it is unloaded. In a list of queries, a semicolon separates programs.

## What starts a library

`Global`, `Costly` and the words of the same kind call every library, as on NT. A list of indexes calls those
libraries whose Object List has one of them, or that installed the name with this index. Only for an index that
is in no list, and that no service has a name for, every library without Object List is called, as on NT; NT does
that also for indexes that belong to a service.

Commands that name counters request indexes, never `Global`: names are looked up in the registry's tables. So
`tally get`, `watch`, `explain`, `log`, the monitor, the page and the C interface start a library when a path
names one of its objects, and no other; the overview starts none. `tally list` shows registered objects without
starting anything. Who asks for all counters starts all libraries: `find`, `typeperf -q`, the dialog that adds
counters (in the monitor and on the page), the monitor's list of objects, the screen of providers, and `/metrics`
without a choice.

A request waits for a library that was just started for a second if it names one of its objects, else for the
`Deadline` of the library (50 ms); with `OpenProcedureWaitTime` in both cases for that. It waits once: later
requests take an answer when it has come, and do not wait for a library that is still busy with an earlier
request.
";

fn page() -> String {
    let mut page = HEAD.to_string();
    for experiment in EXPERIMENTS {
        let list = match experiment.list {
            [] => "no Object List".to_string(),
            list => format!("Object List {}", list.iter().map(u32::to_string).collect::<Vec<_>>().join(" ")),
        };
        let readers: Vec<String> = experiment
            .readers
            .iter()
            .map(|queries| {
                let queries: Vec<String> = queries
                    .iter()
                    .map(|query| {
                        if *query == "wait" {
                            "waits for the next program".into()
                        } else {
                            format!("`{query}`")
                        }
                    })
                    .collect();
                queries.join(", ")
            })
            .collect();
        let quoted = |calls: &[&str]| match calls {
            [] => "none; the library is not loaded".to_string(),
            calls => calls.iter().map(|call| format!("`{call}`")).collect::<Vec<_>>().join(", "),
        };
        let events = match experiment.events {
            [] => "none".to_string(),
            events => events.iter().map(u64::to_string).collect::<Vec<_>>().join(", "),
        };
        page.push_str(&format!("\n## {}\n\n| | |\n|---|---|\n", experiment.name));
        let mut row = |name: &str, text: &str| page.push_str(&format!("| {name} | {text} |\n"));
        row("registration", &list);
        row("queries", &readers.join("; "));
        row("the article saw", experiment.article);
        row("calls here", &quoted(experiment.calls));
        row("events here", &events);
        row("`Disable Performance Counters`", if experiment.disabled { "1" } else { "not set" });
        if !experiment.differs.is_empty() {
            row("difference", experiment.differs);
        }
    }
    page
}

#[test]
fn the_page_is_the_table() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/dispatch.md");
    if std::env::var_os("TALLYMON_BLESS").is_some_and(|value| value == "1") {
        fs::write(&path, page()).unwrap();
    }
    let written = fs::read_to_string(&path).unwrap_or_default();
    assert!(written == page(), "docs/dispatch.md is not the table; TALLYMON_BLESS=1 writes it");
}
