//! Collects from all providers of a machine, and answers a request with one snapshot.
//!
//! You pass a [`Request`]; the [`Host`] finds the providers of the requested objects, adds the objects that
//! their instances name as parents, lets each provider write into one block under one header, and validates
//! the result as it would validate a foreign block.
//!
//! A provider that fails costs its own objects, never the snapshot. [`Host::trouble`](Source::trouble) says
//! why an object is missing.
//!
//! The host does not parse counter paths, compute or format values, or open connections.
#![forbid(unsafe_code)]
#![warn(clippy::indexing_slicing, clippy::arithmetic_side_effects)]
#![warn(clippy::print_stdout, clippy::print_stderr)]

mod beside;
mod builtin;
mod dispatch;
pub mod events;
#[cfg_attr(target_os = "linux", path = "libraries/mod.rs")]
#[cfg_attr(not(target_os = "linux"), path = "libraries/none.rs")]
mod libraries;
mod library;
#[cfg(any(target_os = "linux", windows))]
pub mod perfmon;
mod provider_object;
mod providers;
#[cfg(any(target_os = "linux", windows))]
mod publishers;
pub mod registry;
pub mod titles;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ops::RangeInclusive;
use std::sync::Arc;

use tallymon_core::block::{
    BlockWriter, DataBlock, Object, ReadInfo, ReadWindow, Snapshot, SpareMemory, WriteHeader,
    definitions_only,
};
use tallymon_core::flow::{RegisteredObjects, Source, SourceError, SourceErrorKind};
use tallymon_core::request::{Request, RequestKind};
use tallymon_core::title::{Language, TitleIndex, Titles};
use tallymon_provider::{Finding, Profile, Provider, SourceStatus, TierChoice};

pub use builtin::Clocks;
use events::EventLog;
pub use libraries::try_library;
use libraries::{Answers, Libraries};
pub use library::{LibraryCounts, LibraryOptions, LibraryStatus, LibraryTrial};
use providers::{Providers, write_definitions};
#[cfg(any(target_os = "linux", windows))]
pub use publishers::Publishers;
use registry::Roots;

/// The name of this machine, as its data blocks have it.
pub fn system_name() -> String {
    builtin::system_name()
}

/// All counters of this machine, or those of chosen providers.
pub struct Host {
    system_name: String,
    providers: Providers,
    /// Answers requests itself, on a system that runs the providers: Windows. The objects of `providers` are
    /// added to its answers.
    system: Option<Box<dyn Source>>,
    /// Indexes of the system that stand for objects of `providers`.
    published_indexes: Option<RangeInclusive<TitleIndex>>,
    /// The registries with the names of services; `None` when these names are not wanted.
    roots: Option<Roots>,
    /// The libraries of services; `None` when none are to be loaded.
    libraries: Option<Libraries>,
    /// Where failures of providers are reported; `None` for a host of chosen providers.
    events: Option<EventLog>,
    /// Whether the object "Tallymon Provider" is there, which has the health of each source.
    reports_health: bool,
    /// The memory of the last snapshot that was given back.
    spare: SpareMemory,
}

impl Host {
    /// This machine with all its built-in objects.
    ///
    /// # Errors
    ///
    /// This system has no built-in objects, or their sources cannot be opened at all.
    ///
    /// The environment variables [`TierChoice::VARIABLE`] and [`Profile::VARIABLE`] select how processes are
    /// read and which objects exist; they must name a tier and a profile.
    pub fn open() -> Result<Host, SourceError> {
        let tier = TierChoice::of_environment().map_err(|error| {
            SourceError::new(SourceErrorKind::Io, format!("{}: {error}", TierChoice::VARIABLE))
        })?;
        Host::open_with(tier)
    }

    /// As [`Host::open`], with this tier and profile instead of those in the environment.
    ///
    /// # Errors
    ///
    /// As of [`Host::open`]; the wanted tier does not work here.
    pub fn open_as(tier: TierChoice, profile: Profile) -> Result<Host, SourceError> {
        Host::of_machine(builtin::providers(tier, profile)?)
    }

    /// As [`Host::open`], with this tier instead of the one in the environment.
    ///
    /// # Errors
    ///
    /// As of [`Host::open`]; the wanted tier does not work here.
    pub fn open_with(tier: TierChoice) -> Result<Host, SourceError> {
        let profile = Profile::of_environment().map_err(|error| {
            SourceError::new(SourceErrorKind::Io, format!("{}: {error}", Profile::VARIABLE))
        })?;
        Host::open_as(tier, profile)
    }

    fn of_machine(providers: Vec<Box<dyn Provider>>) -> Result<Host, SourceError> {
        let roots = Roots::of_environment();
        let log = EventLog::of_environment(&roots);
        let libraries = Libraries::new(roots.clone(), LibraryOptions::default(), log.clone());
        Ok(Host {
            system_name: builtin::system_name(),
            providers: Providers::new(providers),
            system: builtin::system_source(),
            published_indexes: builtin::published_indexes(),
            roots: Some(roots),
            libraries: Some(libraries),
            events: Some(log),
            reports_health: true,
            spare: SpareMemory::default(),
        })
    }

    /// A host of these providers only, for tests and special tools.
    pub fn of(system_name: impl Into<String>, providers: Vec<Box<dyn Provider>>) -> Host {
        let system_name = system_name.into();
        Host {
            system_name,
            providers: Providers::new(providers),
            system: None,
            published_indexes: None,
            roots: None,
            libraries: None,
            events: None,
            reports_health: false,
            spare: SpareMemory::default(),
        }
    }

    /// The same host with the object "Tallymon Provider", which has the health and cost of each source.
    #[must_use]
    pub fn with_source_status(self) -> Host {
        Host { reports_health: true, ..self }
    }

    /// The same host with one more provider, whose objects come behind those of the others.
    #[must_use]
    pub fn with_provider(mut self, provider: Box<dyn Provider>) -> Host {
        self.providers.push(provider);
        self
    }

    /// The same host with the names that are installed in these registries.
    #[must_use]
    pub fn with_registry(self, roots: Roots) -> Host {
        Host { roots: Some(roots), ..self }
    }

    /// The same host with the libraries of the services in these registries, and their names. Events are
    /// written beside the registries, and nowhere else.
    #[must_use]
    pub fn with_libraries(self, roots: Roots, options: LibraryOptions) -> Host {
        let events = EventLog::of(&roots);
        let libraries = Libraries::new(roots.clone(), options, events.clone());
        Host { roots: Some(roots), libraries: Some(libraries), events: Some(events), ..self }
    }

    /// The clocks that a data block would carry now.
    pub fn clocks() -> Clocks {
        builtin::clocks()
    }

    /// Single processes of this machine, for people who look at them; `None` on a system whose processes are
    /// not known.
    pub fn processes() -> Option<Arc<dyn tallymon_provider::process::Processes>> {
        builtin::processes()
    }

    /// The addresses of the network interfaces of this machine with the lengths of their prefixes, such as
    /// `192.0.2.7/24`, by the instances of Network Interface; those that other machines can reach first.
    /// Empty where the system does not tell.
    pub fn interface_addresses() -> HashMap<String, Vec<String>> {
        builtin::interface_addresses()
    }

    /// Where the value of a built-in counter of this system comes from: a file and what in it, as
    /// `/proc/stat:ctxt`. `None` for a counter of a provider, and where the system does not tell.
    pub fn origin(object: TitleIndex, counter: TitleIndex) -> Option<String> {
        builtin::origin(object, counter)
    }

    /// The name of the processors in short, such as `AMD EPYC 7763`; `None` where the system does not tell.
    pub fn processor_name() -> Option<String> {
        builtin::processor_name()
    }

    /// The state of each provider library, as far as this host has loaded it.
    pub fn libraries(&self) -> Vec<LibraryStatus> {
        self.libraries.as_ref().map(Libraries::status).unwrap_or_default()
    }

    /// The health and cost of each source of counters so far.
    pub fn sources(&self) -> Vec<SourceStatus> {
        let mut sources = self.providers.sources();
        sources.extend(self.libraries.iter().flat_map(Libraries::sources));
        sources
    }

    /// What the providers found out about this machine.
    pub fn findings(&mut self) -> Vec<Finding> {
        if let Some(system) = &mut self.system {
            let mut findings = builtin::findings(system.as_mut());
            findings.extend(self.providers.findings());
            return findings;
        }
        let mut findings = self.providers.findings();
        if self.reports_health {
            self.providers.try_untried(&BTreeSet::new(), self.events.as_ref());
            let english = titles::titles(Language::ENGLISH).unwrap_or_default();
            let sources = self.sources();
            findings.extend(sources.iter().filter_map(|source| provider_object::finding(source, &english)));
        }
        findings.extend(self.roots.as_ref().map(titles::registry_finding));
        findings.extend(self.libraries.iter_mut().flat_map(Libraries::findings));
        findings
    }

    /// The objects that a request means.
    fn objects_of(&self, kind: &RequestKind) -> BTreeSet<TitleIndex> {
        match kind {
            RequestKind::Global | RequestKind::OldGlobal => self.all(|costly| !costly),
            RequestKind::Costly => self.all(|costly| costly),
            RequestKind::Metadata { costly, .. } => {
                let wanted = *costly;
                self.all(|costly| costly == wanted)
            }
            RequestKind::Objects(objects) => objects.iter().copied().collect(),
            // Another host's name can be the name of this one; the rest is not ours to answer.
            RequestKind::Foreign { host, objects } if host.eq_ignore_ascii_case(&self.system_name) => {
                if objects.is_empty() {
                    self.all(|costly| !costly)
                } else {
                    objects.iter().copied().collect()
                }
            }
            RequestKind::Foreign { .. }
            | RequestKind::Names(_)
            | RequestKind::Help(_)
            | RequestKind::Unknown(_) => BTreeSet::new(),
            _ => BTreeSet::new(),
        }
    }

    /// Adds the objects that instances of libraries name as parents, unless the request has them already.
    fn collect_parents(
        &mut self,
        answers: &Answers,
        written: &BTreeSet<TitleIndex>,
        request: &Request,
        writer: &mut BlockWriter<'_>,
    ) {
        let missing: BTreeSet<TitleIndex> = answers.parents.difference(&answers.objects).copied().collect();
        let Some(libraries) = self.libraries.as_mut().filter(|_| !missing.is_empty()) else { return };
        let listed: Vec<TitleIndex> = libraries.listed().intersection(&missing).copied().collect();
        let asking = (!listed.is_empty())
            .then(|| libraries.begin(&RequestKind::Objects(listed), |_| true, &self.system_name));
        let missing = self.providers.with_parents(missing).difference(written).copied().collect();
        self.providers.collect(&missing, request, writer, self.events.as_ref());
        if let Some((libraries, asking)) = self.libraries.as_mut().zip(asking) {
            libraries.finish(&asking, writer.objects());
        }
    }

    /// Has services change the objects that they have put themselves in front of.
    fn wrap(
        &mut self,
        request: &Request,
        snapshot: Snapshot,
        header: &WriteHeader<'_>,
    ) -> Result<Snapshot, SourceError> {
        let wrapped = self.libraries.as_ref().map(Libraries::wrapped).unwrap_or_default();
        if wrapped.is_empty() {
            return Ok(snapshot);
        }
        let mut objects: BTreeMap<TitleIndex, Vec<u8>> = objects_of(&snapshot)?
            .filter(|object| wrapped.contains(&object.header().name))
            .map(|object| (object.header().name, object.bytes().to_vec()))
            .collect();
        if objects.is_empty() {
            return Ok(snapshot);
        }
        if matches!(request.kind, RequestKind::Metadata { .. }) {
            // A service need not know metadata queries: it changes the whole objects, and their definitions
            // are kept.
            let whole = self.snapshot(&Request::objects(objects.keys().copied()))?;
            for object in objects_of(&whole)? {
                if let Some(bytes) = objects.get_mut(&object.header().name) {
                    bytes.clear();
                    definitions_only(&object, bytes);
                }
            }
        } else if let Some(libraries) = &mut self.libraries {
            libraries.wrap(&request.kind, &mut objects);
        }
        let mut buffer = self.spare.take_bytes();
        let mut writer = BlockWriter::growing(&mut buffer, header);
        for object in objects_of(&snapshot)? {
            let bytes = objects.get(&object.header().name).map_or(object.bytes(), Vec::as_slice);
            writer.objects().append(bytes, 1);
        }
        writer.finish().map_err(|error| SourceError::new(SourceErrorKind::Io, error.to_string()))?;
        Ok(Snapshot::new(buffer)?.with_read_infos(snapshot.read_infos().to_vec()))
    }

    fn all(&self, wanted: impl Fn(bool) -> bool) -> BTreeSet<TitleIndex> {
        let own = self.reports_health.then_some((provider_object::NAME, false));
        self.providers
            .objects()
            .chain(own)
            .filter(|(_, costly)| wanted(*costly))
            .map(|(name, _)| name)
            .collect()
    }

    /// Writes how the sources are, or the definitions of that.
    fn write_sources(&self, request: &Request, writer: &mut BlockWriter<'_>) {
        if matches!(request.kind, RequestKind::Metadata { .. }) {
            write_definitions(&[provider_object::SPEC], &[provider_object::NAME], writer);
        } else {
            let begin = builtin::clocks().time_100ns;
            provider_object::write(&self.sources(), writer.objects());
            let window = ReadWindow { begin, end: builtin::clocks().time_100ns };
            let (quanta, means) = (Arc::default(), Arc::default());
            let info = ReadInfo { object: provider_object::NAME, window, quanta, means };
            writer.objects().add_read_info(info, begin);
        }
    }

    /// The answer of the providers and, if they are wanted, of the libraries.
    fn answer(&mut self, request: &Request, with_libraries: bool) -> Result<Snapshot, SourceError> {
        self.providers.refresh();
        let asking = self.libraries.as_mut().filter(|_| with_libraries).map(|libraries| {
            let own = self.reports_health.then_some(provider_object::NAME);
            let is_known = |object| own == Some(object) || self.providers.have(object);
            libraries.begin(&request.kind, is_known, &self.system_name)
        });
        let known = |(libraries, asking): (&Libraries, _)| libraries.known_parents(asking);
        let parents = self.libraries.as_ref().zip(asking.as_ref()).map(known).unwrap_or_default();
        let mut objects = self.objects_of(&request.kind);
        objects.extend(parents);
        let mut objects = self.providers.with_parents(objects);
        if !with_libraries {
            // A library in front of an object adds definitions of its own, which it alone knows.
            let wrapped = self.libraries.as_ref().map(Libraries::wrapped).unwrap_or_default();
            objects = objects.difference(&wrapped).copied().collect();
        }
        let with_health = self.reports_health && objects.contains(&provider_object::NAME);
        if with_health && !matches!(request.kind, RequestKind::Metadata { .. }) {
            self.providers.try_untried(&objects, self.events.as_ref());
            // The libraries of this request are running already.
            if let (Some(libraries), RequestKind::Objects(_)) = (&mut self.libraries, &request.kind) {
                libraries.try_untried();
            }
        }
        let default_object = match &request.kind {
            RequestKind::Objects(objects) => objects.first().map_or(-1, |object| object.0.cast_signed()),
            // Processor, as NT shows first.
            RequestKind::Global => 238,
            _ => -1,
        };
        let clocks = builtin::clocks();
        let system_name = self.system_name.clone();
        let header = WriteHeader {
            system_name: &system_name,
            default_object,
            perf_time: clocks.perf_time,
            perf_freq: clocks.perf_freq,
            perf_time_100ns: clocks.time_100ns,
            system_time: clocks.system_time,
        };
        let mut memory = self.spare.take_memory();
        let mut writer = BlockWriter::over(&mut memory, &header);
        self.providers.collect(&objects, request, &mut writer, self.events.as_ref());
        if let Some((libraries, asking)) = self.libraries.as_mut().zip(asking.as_ref()) {
            let answers = libraries.finish(asking, writer.objects());
            self.collect_parents(&answers, &objects, request, &mut writer);
        }
        // After all others, so that it includes this request.
        if with_health {
            self.write_sources(request, &mut writer);
        }
        let read_infos = writer.objects().take_read_infos();
        writer.finish().map_err(|error| SourceError::new(SourceErrorKind::Io, error.to_string()))?;
        let snapshot = Snapshot::in_memory(memory, &mut self.spare)?.with_read_infos(read_infos);
        if with_libraries { self.wrap(request, snapshot, &header) } else { Ok(snapshot) }
    }
}

impl Source for Host {
    fn snapshot(&mut self, request: &Request) -> Result<Snapshot, SourceError> {
        let Some(mut system) = self.system.take() else { return self.answer(request, true) };
        let answer = self.answer_beside(system.as_mut(), request);
        self.system = Some(system);
        answer
    }

    fn definitions(&mut self, costly: bool) -> Result<Snapshot, SourceError> {
        if let Some(mut system) = self.system.take() {
            let answer = self.definitions_beside(system.as_mut(), costly);
            self.system = Some(system);
            return answer;
        }
        if let Some(libraries) = &mut self.libraries {
            libraries.refresh();
        }
        self.answer(&RequestKind::Metadata { costly, old: false }.into(), false)
    }

    fn registered(&mut self) -> RegisteredObjects {
        if let Some(system) = &mut self.system {
            return system.registered();
        }
        self.libraries.as_mut().map(Libraries::registered).unwrap_or_default()
    }

    fn give_back(&mut self, snapshot: Snapshot) {
        match &mut self.system {
            Some(system) => system.give_back(snapshot),
            None => self.spare = snapshot.into_spare(),
        }
    }

    fn titles(&mut self, language: Language) -> Result<Titles, SourceError> {
        if let Some(system) = &mut self.system {
            let (table, nt) = (system.titles(language)?, titles::nt_titles(language)?);
            // A table without that language is in English.
            let is_own = system.languages().contains(&language);
            let table = self.without_published(table);
            let (mut all, others) = if is_own { (table, nt) } else { (nt, table) };
            all.merge(&others);
            self.providers.add_titles(language, &mut all);
            return Ok(all);
        }
        let mut all = titles::installed_titles(self.roots.as_ref(), language)?;
        self.providers.add_titles(language, &mut all);
        Ok(all)
    }

    fn translations(&mut self, language: Language) -> Result<Titles, SourceError> {
        titles::translations(language)
    }

    fn discover(&mut self, object: &str) -> bool {
        self.providers.discover(object)
    }

    fn trouble(&self, object: TitleIndex) -> Option<String> {
        if let Some(system) = &self.system {
            return self.providers.trouble(object).or_else(|| system.trouble(object));
        }
        let of_library = || self.libraries.as_ref()?.trouble(object);
        self.providers.trouble(object).or_else(of_library)
    }

    fn languages(&self) -> Vec<Language> {
        let mut all = titles::installed_languages(self.roots.as_ref());
        let of_system = self.system.as_ref().map(|system| system.languages()).unwrap_or_default();
        for language in self.providers.languages().chain(of_system) {
            if !all.contains(&language) {
                all.push(language);
            }
        }
        all
    }
}

/// The objects of a snapshot with their bytes.
fn objects_of(snapshot: &Snapshot) -> Result<impl Iterator<Item = Object<'_>>, SourceError> {
    let block = DataBlock::parse(snapshot.bytes())?;
    Ok(block.objects().filter_map(Result::ok))
}
