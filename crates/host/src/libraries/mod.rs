//! The objects of provider libraries: which are registered, which get a request, and what comes of it.
//!
//! All libraries of a request run at the same time, while the built-in objects are read; then the answers are
//! collected, each until its own deadline. A late library is represented by its last values, marked as old.
//! Any other fault costs the objects of that service only, and is reported.

mod report;
mod settings;
mod trial;
mod wrap;

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use tallymon_core::block::{Objects, ObjectsWriter, definitions_only, with_state};
use tallymon_core::flow::ValueState;
use tallymon_core::request::RequestKind;
use tallymon_core::title::TitleIndex;
use tallymon_provider::library::check::check;
use tallymon_provider::library::client::{self, Answered, Client, Function, Outcome};
use tallymon_provider::library::event::{self, Event};
use tallymon_provider::{Finding, SourceStatus};

use crate::dispatch::{self, Listed};
use crate::events::EventLog;
use crate::library::{LibraryCounts, LibraryOptions, LibraryStatus, finding, source};
use crate::registry::{Installed, Roots, Scope, Service, Trust, Writer};

use report::{crashed, not_loaded};
use settings::{ForAll, settings};
pub use trial::try_library;

/// All libraries that are registered.
#[derive(Debug)]
pub(crate) struct Libraries {
    roots: Roots,
    options: LibraryOptions,
    log: EventLog,
    for_all: ForAll,
    versions: Option<[Option<u32>; 2]>,
    /// Ordered by the name of the service.
    libraries: Vec<Library>,
}

/// One of them.
#[derive(Debug)]
struct Library {
    scope: Scope,
    service: Service,
    client: Client,
    /// Disabled in this process only, because the registry could not be changed.
    disabled_here: bool,
    /// That it is late was reported, and it has been late ever since.
    late: bool,
    /// The same of one in this process, which is waited for.
    slow: bool,
    /// Whether it was looked at if it is trusted.
    trust_reported: bool,
    /// Its last objects, by the index of their names.
    last: BTreeMap<TitleIndex, LastObject>,
    /// What went wrong last, in words; `None` when all is well.
    trouble: Option<String>,
    counts: LibraryCounts,
}

#[derive(Debug)]
struct LastObject {
    bytes: Vec<u8>,
    /// It came in answers to `Costly` only.
    costly: bool,
    /// The objects that its instances name as parents.
    parents: BTreeSet<TitleIndex>,
}

/// The libraries of a request, while it is answered.
#[derive(Debug)]
pub(crate) struct Asking {
    kind: RequestKind,
    asked: Vec<bool>,
}

/// What libraries answered to a request.
#[derive(Debug, Default)]
pub(crate) struct Answers {
    /// The objects that are there now.
    pub(crate) objects: BTreeSet<TitleIndex>,
    /// The objects that instances name as parents.
    pub(crate) parents: BTreeSet<TitleIndex>,
}

impl Libraries {
    pub(crate) fn new(roots: Roots, options: LibraryOptions, log: EventLog) -> Libraries {
        Libraries { roots, options, log, for_all: ForAll::default(), versions: None, libraries: Vec::new() }
    }

    /// Reads the registered services again if the registry has changed.
    pub(crate) fn refresh(&mut self) {
        let versions = Installed::versions(&self.roots);
        if self.versions == Some(versions) {
            return;
        }
        self.versions = Some(versions);
        let (installed, _) = Installed::read_what_is_whole(&self.roots);
        self.for_all = ForAll::of(&installed, &self.options);
        self.log.set_level(self.for_all.event_level);
        let mut old: Vec<Library> = std::mem::take(&mut self.libraries);
        for (scope, service) in installed.services() {
            let Some(settings) = settings(service, &self.options, &self.for_all) else { continue };
            let same = |library: &Library| library.scope == scope && library.service.name == service.name;
            let known = old.iter().position(same).map(|position| old.swap_remove(position));
            self.libraries.push(match known {
                // The same library continues, whatever else has changed.
                Some(library) if *library.client.settings() == settings => {
                    let disabled_here = library.disabled_here && library.service == *service;
                    Library { service: service.clone(), disabled_here, ..library }
                }
                _ => Library::new(scope, service.clone(), Client::new(settings)),
            });
        }
        close(&mut old);
    }

    /// Sends a request to all its libraries.
    pub(crate) fn begin(
        &mut self,
        kind: &RequestKind,
        is_built_in: impl Fn(TitleIndex) -> bool,
        this_host: &str,
    ) -> Asking {
        self.refresh();
        let listed: Vec<Listed<'_>> = self
            .libraries
            .iter()
            .map(|library| Listed {
                objects: &library.service.object_list,
                enabled: !self.for_all.disabled
                    && library.may_be_asked()
                    && library.service.wrapped_objects.is_empty(),
            })
            .collect();
        let asked = dispatch::asked(kind, &listed, is_built_in, this_host);
        let asking = Asking { kind: kind.clone(), asked };
        self.ask(&asking);
        asking
    }

    fn ask(&mut self, asking: &Asking) {
        let query = dispatch::query(&asking.kind);
        for (library, _) in self.libraries.iter_mut().zip(&asking.asked).filter(|(_, asked)| **asked) {
            library.report_trust(&self.log);
            library.client.ask(&query);
        }
    }

    /// The parents of the requested objects, as far as earlier answers show them.
    pub(crate) fn known_parents(&self, asking: &Asking) -> BTreeSet<TitleIndex> {
        let asked = self.libraries.iter().zip(&asking.asked).filter(|(_, asked)| **asked);
        let last = asked.flat_map(|(library, _)| library.last.values());
        last.flat_map(|object| object.parents.iter().copied()).collect()
    }

    /// Whether an object is in the Object List of a service.
    pub(crate) fn listed(&self, object: TitleIndex) -> bool {
        self.libraries.iter().any(|library| library.service.object_list.contains(&object))
    }

    /// Waits for the answers, and writes them.
    pub(crate) fn finish(&mut self, asking: &Asking, out: &mut ObjectsWriter<'_>) -> Answers {
        let asked = || asking.asked.iter().copied().chain(std::iter::repeat(false));
        let mut clients: Vec<&mut Client> = self
            .libraries
            .iter_mut()
            .zip(asked())
            .filter(|(_, asked)| *asked)
            .map(|(library, _)| &mut library.client)
            .collect();
        client::wait(&mut clients);
        let mut answers = Answers::default();
        for (library, _) in self.libraries.iter_mut().zip(asked()).filter(|(_, asked)| *asked) {
            let bytes = library.outcome(&asking.kind, &self.roots, &self.for_all, &self.log);
            let metadata = matches!(asking.kind, RequestKind::Metadata { .. });
            for object in Objects::bare(&bytes.objects, bytes.count).filter_map(Result::ok) {
                answers.objects.insert(object.header().name);
                let parents = object.instances().filter_map(|instance| instance.ok()?.parent);
                answers.parents.extend(parents.map(|parent| parent.object));
                if metadata {
                    let mut definitions = Vec::new();
                    definitions_only(&object, &mut definitions);
                    out.append(&definitions, 1);
                }
            }
            if !metadata {
                out.append(&bytes.objects, bytes.count);
            }
        }
        answers
    }

    /// How each library is now.
    pub(crate) fn status(&self) -> Vec<LibraryStatus> {
        self.libraries.iter().map(|library| library.status(&self.for_all)).collect()
    }

    /// What is wrong with the library of an object, in words.
    pub(crate) fn trouble(&self, object: TitleIndex) -> Option<String> {
        let has = |library: &&Library| {
            library.last.contains_key(&object) || library.service.object_list.contains(&object)
        };
        let library = self.libraries.iter().filter(has).find(|library| library.trouble.is_some())?;
        let trouble = library.trouble.as_deref().unwrap_or_default();
        Some(format!("service {}: {trouble}", library.service.name))
    }

    /// How each library is now, as any other source of counters.
    pub(crate) fn sources(&self) -> Vec<SourceStatus> {
        self.status().iter().map(source).collect()
    }

    /// Sends a request for everything to those libraries that had no request so far, so that their health is
    /// known. Libraries that change other objects wait for a request for one of these.
    pub(crate) fn try_untried(&mut self) {
        self.refresh();
        let untried =
            |library: &Library| library.counts.asked == 0 && library.service.wrapped_objects.is_empty();
        let disabled = self.for_all.disabled;
        let asked: Vec<bool> = self
            .libraries
            .iter()
            .map(|library| !disabled && library.may_be_asked() && untried(library))
            .collect();
        let asking = Asking { kind: RequestKind::Global, asked };
        self.ask(&asking);
        self.finish(&asking, &mut ObjectsWriter::growing(&mut Vec::new()));
    }

    /// The state of each library, after a request for everything.
    pub(crate) fn findings(&mut self) -> Vec<Finding> {
        let asking = self.begin(&RequestKind::Global, |_| false, "");
        let mut bytes = Vec::new();
        self.finish(&asking, &mut ObjectsWriter::growing(&mut bytes));
        self.status().iter().map(finding).collect()
    }
}

impl Drop for Libraries {
    fn drop(&mut self) {
        close(&mut self.libraries);
    }
}

/// Has libraries call Close and end.
fn close(libraries: &mut [Library]) {
    let mut clients: Vec<&mut Client> = libraries.iter_mut().map(|library| &mut library.client).collect();
    client::close(&mut clients);
}

/// Objects to be written.
#[derive(Debug, Default)]
struct Written {
    objects: Vec<u8>,
    count: u32,
}

impl Library {
    fn new(scope: Scope, service: Service, client: Client) -> Library {
        Library {
            scope,
            service,
            client,
            disabled_here: false,
            late: false,
            slow: false,
            trust_reported: false,
            last: BTreeMap::new(),
            trouble: None,
            counts: LibraryCounts::default(),
        }
    }

    fn may_be_asked(&self) -> bool {
        !self.service.disabled && !self.disabled_here
    }

    /// Reports once that its library is not the one that was marked as trusted, or is not trusted enough for
    /// this process.
    fn report_trust(&mut self, log: &EventLog) {
        if std::mem::replace(&mut self.trust_reported, true) {
            return;
        }
        let Service { name, library, in_process, .. } = &self.service;
        let library = library.as_deref().unwrap_or_default();
        let trust = self.service.trust();
        let remedy = format!("'tally lodctr /T:{name}' trusts it as it is now");
        if trust == Trust::Changed {
            log.write(&Event::new(&event::CHANGED, [library, name]).with_detail(&remedy));
        }
        if *in_process && trust != Trust::Trusted {
            let words = format!("it is loaded into a process of its own instead; {remedy}");
            log.write(&Event::new(&event::NOT_TRUSTED, [library, "5"]).with_detail(words));
        }
    }

    /// Evaluates the outcome of a request; returns the objects to write.
    fn outcome(&mut self, kind: &RequestKind, roots: &Roots, for_all: &ForAll, log: &EventLog) -> Written {
        let Service { name, library, .. } = &self.service;
        let (name, path) = (name.clone(), library.clone().unwrap_or_default());
        let outcome = self.client.outcome();
        let counts = &mut self.counts;
        let counter = match &outcome {
            Outcome::Answered(_) => &mut counts.answered,
            Outcome::Late { .. } | Outcome::Resting { .. } => &mut counts.late,
            _ => &mut counts.failed,
        };
        *counter = counter.saturating_add(1);
        counts.asked = counts.asked.saturating_add(1);
        let was_late = std::mem::replace(&mut self.late, matches!(outcome, Outcome::Late { .. }));
        let (events, words) = match outcome {
            Outcome::Answered(answered) => {
                self.trouble = None;
                self.report_slowness(answered.time, for_all, log);
                return self.answered(answered, kind, roots, for_all, log);
            }
            Outcome::Late { during, earlier } => {
                if let Some(answered) = earlier {
                    self.answered(answered, kind, roots, for_all, log);
                }
                let event = if during == Function::Open { &event::OPEN_LATE } else { &event::COLLECT_LATE };
                if !was_late && for_all.rules.tests_times() {
                    log.write(&Event::new(event, [&name, &path]));
                }
                let settings = self.client.settings();
                let time = settings.times.answer;
                self.trouble = Some(format!("it did not answer within {time:.0?}"));
                return self.stale(kind);
            }
            Outcome::NotLoaded(loaded) => not_loaded(&loaded, &self.service),
            Outcome::Hung { during } => {
                let event = if during == Function::Open { &event::OPEN_LATE } else { &event::COLLECT_LATE };
                let words = "it hung, and its process was killed";
                let events = vec![Event::new(event, [&name, &path]).with_detail(words)];
                (events, words.to_string())
            }
            Outcome::Crashed { during, exit } => crashed(during, exit, &name, &path),
            Outcome::Rubbish(words) => {
                let words = format!("its process was killed: {words}");
                let event = Event::new(&event::COLLECT_CRASHED, [&path, &name, "", ""]).with_detail(&words);
                (vec![event], words)
            }
            Outcome::Resting { until } => {
                let left = until.saturating_duration_since(Instant::now());
                let before = self.trouble.clone().unwrap_or_default();
                let before = before.split("; asked again").next().unwrap_or_default().to_string();
                (Vec::new(), format!("{before}; asked again in {} s", left.as_secs().saturating_add(1)))
            }
            Outcome::NoProcess(error) => {
                let words = format!(
                    "the program {} that loads libraries can not be started ({error}); install it beside \
                    tally or set \
                     TALLYMON_HOST",
                    self.client.settings().program.display()
                );
                (vec![Event::new(&event::NOT_LOADED, [&path, ""]).with_detail(&words)], words)
            }
            other => (Vec::new(), format!("{other:?}")),
        };
        events.iter().for_each(|event| log.write(event));
        self.last.clear();
        self.trouble = Some(words);
        Written::default()
    }

    /// Reports once that a library in this process took longer than a reader would have waited for one in a
    /// process of its own.
    fn report_slowness(&mut self, time: Duration, for_all: &ForAll, log: &EventLog) {
        let settings = self.client.settings();
        let slow = settings.in_process.is_some() && time > settings.times.answer;
        if slow && !std::mem::replace(&mut self.slow, slow) && for_all.rules.tests_times() {
            let library = self.service.library.as_deref().unwrap_or_default();
            let words = format!("it took {time:.0?}, and everybody waited, since it is in this process");
            log.write(&Event::new(&event::COLLECT_LATE, [&self.service.name, library]).with_detail(words));
        }
        self.slow = slow;
    }

    /// Checks an answer, reports what is wrong with it, and keeps its objects.
    fn answered(
        &mut self,
        answered: Answered,
        kind: &RequestKind,
        roots: &Roots,
        for_all: &ForAll,
        log: &EventLog,
    ) -> Written {
        self.counts.last = answered.time;
        self.counts.busy = self.counts.busy.saturating_add(answered.time);
        let path = self.service.library.clone().unwrap_or_default();
        let name = self.service.name.clone();
        let verdict = check(&answered.returned, &answered.data, &path, &name, for_all.rules);
        verdict.events.iter().for_each(|event| log.write(event));
        if let Some(event) = verdict.events.first() {
            self.trouble = Some(event.to_string());
        }
        if verdict.grave && for_all.rules.may_disable() {
            self.disable(roots, log);
        }
        if verdict.objects == 0 && !verdict.events.is_empty() {
            self.counts.failed = self.counts.failed.saturating_add(1);
        }
        if verdict.objects == 0 {
            return Written::default();
        }
        let costly = matches!(kind, RequestKind::Costly | RequestKind::Metadata { costly: true, .. });
        for object in Objects::bare(&answered.data, verdict.objects).filter_map(Result::ok) {
            let parents = object.instances().filter_map(|instance| instance.ok()?.parent);
            let parents = parents.map(|parent| parent.object).collect();
            let known = self.last.get(&object.header().name).is_some_and(|last| !last.costly);
            let last = LastObject { bytes: object.bytes().to_vec(), costly: costly && !known, parents };
            self.last.insert(object.header().name, last);
        }
        Written { objects: answered.data, count: verdict.objects }
    }

    /// Sets `Disable Performance Counters`, for good where that can be written.
    fn disable(&mut self, roots: &Roots, log: &EventLog) {
        let name = &self.service.name;
        let disabled =
            Writer::open(roots, Some(self.scope)).and_then(|writer| writer.set_enabled(name, false));
        let (kind, detail) = match &disabled {
            Ok(_) => (&event::DISABLED, String::new()),
            Err(error) => (&event::DISABLED_HERE, error.to_string()),
        };
        log.write(&Event::new(kind, [name]).with_detail(detail));
        self.disabled_here = true;
        self.service.disabled = disabled.is_ok();
    }

    /// The last objects that a request means, all their values marked as old.
    fn stale(&self, kind: &RequestKind) -> Written {
        let costly = matches!(kind, RequestKind::Costly | RequestKind::Metadata { costly: true, .. });
        let mut written = Written::default();
        for (name, last) in &self.last {
            let wanted = match kind {
                RequestKind::Objects(objects) => objects.contains(name),
                RequestKind::Foreign { objects, .. } if !objects.is_empty() => objects.contains(name),
                _ => last.costly == costly,
            };
            let Some(Ok(object)) = Objects::bare(&last.bytes, 1).next().filter(|_| wanted) else { continue };
            let mut marked = Vec::new();
            // Definitions that do not end at their stated length have no room for another one.
            let sound = with_state(&object, ValueState::Stale, &mut marked).is_ok() && is_whole(&marked);
            if sound {
                written.objects.append(&mut marked);
                written.count = written.count.saturating_add(1);
            }
        }
        written
    }

    fn status(&self, for_all: &ForAll) -> LibraryStatus {
        LibraryStatus {
            service: self.service.name.clone(),
            scope: self.scope,
            library: self.service.library.clone().unwrap_or_default(),
            process: self.client.process_id(),
            in_process: self.client.settings().in_process.is_some(),
            trust: self.service.trust(),
            started: self.client.started(),
            disabled: self.service.disabled || self.disabled_here,
            all_disabled: for_all.disabled,
            late: self.late,
            trouble: self.trouble.clone(),
            objects: self.last.len(),
            counts: self.counts,
        }
    }
}

/// Whether a single object can be walked to its end.
fn is_whole(object: &[u8]) -> bool {
    Objects::bare(object, 1).all(|object| {
        object.is_ok_and(|object| {
            object.counters().all(|definition| definition.is_ok())
                && object.instances().all(|instance| instance.is_ok())
                && object.counter_block().is_none_or(|block| block.is_ok())
        })
    })
}
