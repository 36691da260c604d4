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
use std::sync::Arc;
use std::time::{Duration, Instant};

use tallymon_core::block::{Objects, ObjectsWriter, definitions_only, with_state};
use tallymon_core::flow::{RegisteredObjects, UnlistedService, ValueState};
use tallymon_core::request::RequestKind;
use tallymon_core::title::{Language, TitleIndex};
use tallymon_provider::library::check::check;
use tallymon_provider::library::client::{self, Answered, Client, Function, Meant, Outcome};
use tallymon_provider::library::event::{self, Event};
use tallymon_provider::trust::has_more_rights_than_its_user;
use tallymon_provider::{Finding, SourceStatus};

use crate::dispatch::{self, Listed};
use crate::events::EventLog;
use crate::library::{LibraryCounts, LibraryOptions, LibraryStatus, finding, source};
use crate::registry::{Installed, Roots, Scope, Service, Trust, Writer};

use report::{crashed, not_loaded, report_closed, side_effects};
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
    /// It did not answer the last request in time.
    late: bool,
    /// That it is late is an event already.
    late_reported: bool,
    /// A library in this process took too long the last time, and everybody waited.
    slow: bool,
    /// Whether it was looked at if it is trusted.
    trust_reported: bool,
    /// Why it is not loaded: who else could change its file.
    unsafe_place: Option<String>,
    /// Its last objects, by the index of their names.
    last: BTreeMap<TitleIndex, LastObject>,
    /// What went wrong last, in words; `None` when all is well.
    trouble: Option<String>,
    counts: LibraryCounts,
    /// The languages that its names are registered in.
    languages: Arc<[Language]>,
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
    meant: Meant,
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
            // Owner and mode may have been corrected.
            let refused = self.libraries.iter_mut().filter(|library| library.unsafe_place.is_some());
            refused.for_each(|library| library.check_place(&self.log));
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
        close(&mut old, &self.log);
        for library in &mut self.libraries {
            library.check_place(&self.log);
            library.languages = installed.languages_of(library.scope, &library.service);
        }
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
                names: library.service.titles,
                enabled: !self.for_all.disabled
                    && library.may_be_asked()
                    && library.service.wrapped_objects.is_empty(),
            })
            .collect();
        let asked = dispatch::asked(kind, &listed, is_built_in, this_host);
        let meant = match kind {
            RequestKind::Objects(_) => Meant::ByName,
            RequestKind::Foreign { objects, .. } if !objects.is_empty() => Meant::ByName,
            _ => Meant::WithAll,
        };
        let asking = Asking { kind: kind.clone(), asked, meant };
        self.ask(&asking);
        asking
    }

    fn ask(&mut self, asking: &Asking) {
        let query = dispatch::query(&asking.kind);
        for (library, _) in self.libraries.iter_mut().zip(&asking.asked).filter(|(_, asked)| **asked) {
            library.report_trust(&self.log);
            library.client.ask(&query, asking.meant);
        }
    }

    /// The parents of the requested objects, as far as earlier answers show them.
    pub(crate) fn known_parents(&self, asking: &Asking) -> BTreeSet<TitleIndex> {
        let asked = self.libraries.iter().zip(&asking.asked).filter(|(_, asked)| **asked);
        let last = asked.flat_map(|(library, _)| library.last.values());
        last.flat_map(|object| object.parents.iter().copied()).collect()
    }

    /// The objects that are in the Object List of a service.
    pub(crate) fn listed(&self) -> BTreeSet<TitleIndex> {
        self.libraries.iter().flat_map(|library| library.service.object_list.iter().copied()).collect()
    }

    /// The objects of the registered services, none of which is started for this.
    pub(crate) fn registered(&mut self) -> RegisteredObjects {
        self.refresh();
        let unlisted = |library: &Library| {
            let Service { name, titles, object_list, wrapped_objects, .. } = &library.service;
            let titles = titles.filter(|_| object_list.is_empty() && wrapped_objects.is_empty())?;
            let (first, last) = (titles.first_counter, titles.last_counter);
            Some(UnlistedService { service: name.clone(), first, last })
        };
        let mut listed = self.listed();
        listed.extend(self.wrapped());
        RegisteredObjects { listed, unlisted: self.libraries.iter().filter_map(unlisted).collect() }
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
        let is_own = |service: &Service| {
            let mut lists = service.object_list.iter().chain(&service.wrapped_objects);
            lists.any(|known| *known == object)
                || service.object_list.is_empty()
                    && service.titles.is_some_and(|names| names.contains(object.0))
        };
        let has = |library: &&Library| library.last.contains_key(&object) || is_own(&library.service);
        let trouble = |library: &Library| {
            let name = &library.service.name;
            let disabled = self.for_all.disabled || !library.may_be_asked();
            match (&library.trouble, disabled) {
                (Some(trouble), false) => Some(format!("service {name}: {trouble}")),
                (Some(trouble), true) => Some(format!("service {name}: disabled: {trouble}")),
                (None, true) => {
                    Some(format!("service {name}: disabled; 'tally provider enable {name}' enables it"))
                }
                (None, false) => None,
            }
        };
        self.libraries.iter().filter(has).find_map(trouble)
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
        let asking = Asking { kind: RequestKind::Global, asked, meant: Meant::WithAll };
        self.ask(&asking);
        self.finish(&asking, &mut ObjectsWriter::growing(&mut Vec::new()));
    }

    /// The state of each library, after a request for everything.
    pub(crate) fn findings(&mut self) -> Vec<Finding> {
        self.refresh();
        let is_asked = |library: &Library| {
            !self.for_all.disabled && library.may_be_asked() && library.service.wrapped_objects.is_empty()
        };
        let asked = self.libraries.iter().map(is_asked).collect();
        // Whoever wants to know how the libraries are means each of them.
        let asking = Asking { kind: RequestKind::Global, asked, meant: Meant::ByName };
        self.ask(&asking);
        let mut bytes = Vec::new();
        self.finish(&asking, &mut ObjectsWriter::growing(&mut bytes));
        self.status().iter().map(finding).collect()
    }
}

impl Drop for Libraries {
    fn drop(&mut self) {
        close(&mut self.libraries, &self.log);
    }
}

/// Has libraries call Close and end, and reports how that went.
fn close(libraries: &mut [Library], log: &EventLog) {
    let mut clients: Vec<&mut Client> = libraries.iter_mut().map(|library| &mut library.client).collect();
    let ends = client::close(&mut clients);
    for (library, end) in libraries.iter_mut().zip(ends) {
        library.report_side_effects(log);
        report_closed(end, &library.service).iter().for_each(|event| log.write(event));
    }
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
            late_reported: false,
            slow: false,
            trust_reported: false,
            unsafe_place: None,
            last: BTreeMap::new(),
            trouble: None,
            counts: LibraryCounts::default(),
            languages: Arc::default(),
        }
    }

    fn may_be_asked(&self) -> bool {
        !self.service.disabled && !self.disabled_here && self.unsafe_place.is_none()
    }

    /// Sees whether others could change its file. Then it is not loaded, and that is reported once.
    fn check_place(&mut self, log: &EventLog) {
        let found =
            self.service.check_place().err().map(|untrusted| format!("it is not loaded: {untrusted}"));
        if found == self.unsafe_place {
            return;
        }
        if let Some(words) = &found {
            let library = self.service.library.as_deref().unwrap_or_default();
            log.write(&Event::new(&event::NOT_LOADED, [library, "5"]).with_detail(words));
        }
        self.trouble.clone_from(&found);
        self.unsafe_place = found;
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
        } else if *in_process && has_more_rights_than_its_user() {
            let words = "it is loaded into a process of its own instead; this program has rights that its user \
                         has not";
            log.write(&Event::new(&event::NOT_TRUSTED, [library, "5"]).with_detail(words));
        }
    }

    /// Reports what its library has printed, and what it tried and may not do.
    fn report_side_effects(&mut self, log: &EventLog) {
        side_effects(&mut self.client, &self.service).iter().for_each(|event| log.write(event));
    }

    /// Evaluates the outcome of a request; returns the objects to write.
    fn outcome(&mut self, kind: &RequestKind, roots: &Roots, for_all: &ForAll, log: &EventLog) -> Written {
        let Service { name, library, .. } = &self.service;
        let (name, path) = (name.clone(), library.clone().unwrap_or_default());
        let outcome = self.client.outcome();
        self.report_side_effects(log);
        let counts = &mut self.counts;
        let counter = match &outcome {
            Outcome::Answered(_) => &mut counts.answered,
            Outcome::Late { .. } | Outcome::Resting { .. } => &mut counts.late,
            _ => &mut counts.failed,
        };
        *counter = counter.saturating_add(1);
        counts.asked = counts.asked.saturating_add(1);
        self.late = matches!(outcome, Outcome::Late { .. });
        self.late_reported &= self.late;
        let (events, words) = match outcome {
            Outcome::Answered(answered) => {
                self.trouble = None;
                self.report_slowness(answered.time, for_all, log);
                return self.answered(answered, kind, roots, for_all, log);
            }
            Outcome::Late { during, running, earlier } => {
                if let Some(answered) = earlier {
                    self.answered(answered, kind, roots, for_all, log);
                }
                let times = self.client.settings().times;
                let is_starting = during == Function::Open;
                let event = if is_starting { &event::OPEN_LATE } else { &event::COLLECT_LATE };
                // A start is late after the time for one, even if nobody waits so long.
                let is_due = !is_starting || running >= times.first_answer;
                if is_due && !std::mem::replace(&mut self.late_reported, true) && for_all.rules.tests_times()
                {
                    log.write(&Event::new(event, [&name, &path]));
                }
                self.trouble = Some(match is_starting {
                    true => format!("it was started {running:.0?} ago and has not answered yet"),
                    false => format!("it did not answer within {:.0?}", times.answer),
                });
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
                    "the program {} that loads libraries cannot be started ({error}); install it beside \
                    tally or set \
                     TALLY_HOST",
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
            languages: Arc::clone(&self.languages),
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
