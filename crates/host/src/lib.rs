//! Asks providers, and answers a request with one snapshot.
//!
//! You give a [`Request`]; the [`Host`] finds out which providers have the objects in it, adds the objects that their
//! instances name as parents, lets each provider write into one block under one header, and checks the result with the
//! same walk that any foreign block gets.
//!
//! It does not parse counter paths, compute or format values, or open connections.
#![forbid(unsafe_code)]

mod builtin;
mod dispatch;
pub mod events;
#[cfg_attr(target_os = "linux", path = "libraries.rs")]
#[cfg_attr(not(target_os = "linux"), path = "libraries/none.rs")]
mod libraries;
mod library;
mod provider_object;
#[cfg(target_os = "linux")]
pub mod publishers;
pub mod registry;
pub mod titles;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use tallymon_core::block::{
    BlockWriter, DataBlock, Object, ObjectLayout, ObjectSpec, ObjectsWriter, ReadInfo, ReadWindow, Snapshot,
    SpareMemory, WriteHeader, definitions_only,
};
use tallymon_core::flow::{Source, SourceError, SourceErrorKind};
use tallymon_core::request::{Request, RequestKind};
use tallymon_core::title::{Language, TitleIndex, Titles};
use tallymon_provider::{Ask, Finding, Profile, Provider, SourceName, SourceStatus, TierChoice};

pub use builtin::Clocks;
use events::EventLog;
pub use libraries::try_library;
use libraries::{Answers, Libraries};
pub use library::{LibraryCounts, LibraryOptions, LibraryStatus, LibraryTrial};
use registry::Roots;

/// Answers for this machine.
pub struct Host {
    system_name: String,
    providers: Vec<Box<dyn Provider>>,
    /// Where names of services are installed; `None` when nobody's are wanted.
    roots: Option<Roots>,
    /// Libraries of services; `None` when none are to be loaded.
    libraries: Option<Libraries>,
    /// Whether there is an object that tells how the sources are.
    tells_of_sources: bool,
    /// The memory of the last snapshot that somebody gave back.
    spare: SpareMemory,
}

impl Host {
    /// This machine with all its built-in objects.
    ///
    /// # Errors
    ///
    /// This system has no built-in objects, or their sources can not be opened at all.
    ///
    /// The environment variables [`TierChoice::VARIABLE`] and [`Profile::VARIABLE`] may say how processes are read and
    /// which objects there are; they must name a tier and a profile.
    pub fn open() -> Result<Host, SourceError> {
        let tier = TierChoice::of_environment().map_err(|error| {
            SourceError::new(SourceErrorKind::Io, format!("{}: {error}", TierChoice::VARIABLE))
        })?;
        Host::open_with(tier)
    }

    /// As [`Host::open`], with the objects of this profile whatever the environment says.
    ///
    /// # Errors
    ///
    /// As of [`Host::open`]; the wanted tier does not work here.
    pub fn open_as(tier: TierChoice, profile: Profile) -> Result<Host, SourceError> {
        Host::of_machine(builtin::providers(tier, profile)?)
    }

    /// As [`Host::open`], with processes read in this way whatever the environment says.
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
        let libraries = Libraries::new(roots.clone(), LibraryOptions::default(), log);
        Ok(Host {
            system_name: builtin::system_name(),
            providers,
            roots: Some(roots),
            libraries: Some(libraries),
            tells_of_sources: true,
            spare: SpareMemory::default(),
        })
    }

    /// A host of these providers only, for tests and special tools.
    pub fn of(system_name: impl Into<String>, providers: Vec<Box<dyn Provider>>) -> Host {
        let system_name = system_name.into();
        Host {
            system_name,
            providers,
            roots: None,
            libraries: None,
            tells_of_sources: false,
            spare: SpareMemory::default(),
        }
    }

    /// The same host with the object "Tallymon Provider", which tells how each source is.
    #[must_use]
    pub fn with_source_status(self) -> Host {
        Host { tells_of_sources: true, ..self }
    }

    /// The same host with the names that are installed in these registries.
    #[must_use]
    pub fn with_registry(self, roots: Roots) -> Host {
        Host { roots: Some(roots), ..self }
    }

    /// The same host with the libraries of the services in these registries, and their names. Events go beside the
    /// registries, and nowhere else.
    #[must_use]
    pub fn with_libraries(self, roots: Roots, options: LibraryOptions) -> Host {
        let libraries = Libraries::new(roots.clone(), options, EventLog::of(&roots));
        Host { roots: Some(roots), libraries: Some(libraries), ..self }
    }

    /// The clocks that a data block would carry now.
    pub fn clocks() -> Clocks {
        builtin::clocks()
    }

    /// How the libraries of services are, as far as they were asked by this host.
    pub fn libraries(&self) -> Vec<LibraryStatus> {
        self.libraries.as_ref().map(Libraries::status).unwrap_or_default()
    }

    /// How each source of counters is, and what it has cost so far.
    pub fn sources(&self) -> Vec<SourceStatus> {
        let built_in = self.providers.iter().flat_map(|provider| provider.sources());
        built_in.chain(self.libraries.iter().flat_map(Libraries::sources)).collect()
    }

    /// What the providers found out about this machine.
    pub fn findings(&mut self) -> Vec<Finding> {
        let mut findings: Vec<Finding> =
            self.providers.iter_mut().flat_map(|provider| provider.findings()).collect();
        if self.tells_of_sources {
            self.try_sources(&BTreeSet::new());
            let english = titles::titles(Language::ENGLISH).unwrap_or_default();
            let told = self.sources();
            findings.extend(told.iter().filter_map(|source| provider_object::finding(source, &english)));
        }
        findings.extend(self.roots.as_ref().map(titles::registry_finding));
        findings.extend(self.libraries.iter_mut().flat_map(Libraries::findings));
        findings
    }

    /// Asks those built-in objects once that nobody has asked so far and that this request does not mean, so that
    /// it is known how they are. Costly ones stay unknown until somebody wants them.
    fn try_sources(&mut self, asked: &BTreeSet<TitleIndex>) {
        for provider in &mut self.providers {
            let untried = provider.sources().into_iter().filter(|source| source.collections == 0);
            let mut objects: Vec<TitleIndex> = untried
                .filter_map(|source| match source.name {
                    SourceName::Object(object) => Some(object),
                    SourceName::Named(_) => None,
                })
                .filter(|object| !asked.contains(object) && !provider.is_costly(*object))
                .collect();
            if objects.is_empty() {
                continue;
            }
            objects.sort_unstable();
            let mut bytes = Vec::new();
            // One that can read nothing says so when it is asked for itself.
            let _ = provider.collect(&Ask::everything(&objects), &mut ObjectsWriter::growing(&mut bytes));
        }
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
            // A foreign host that is this one; any other is not ours to answer for.
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

    /// The same objects with the parents of their instances.
    fn with_parents(&self, mut objects: BTreeSet<TitleIndex>) -> BTreeSet<TitleIndex> {
        let mut open: Vec<TitleIndex> = objects.iter().copied().collect();
        while let Some(object) = open.pop() {
            for provider in &self.providers {
                for parent in provider.parents(object) {
                    if objects.insert(*parent) {
                        open.push(*parent);
                    }
                }
            }
        }
        objects
    }

    /// Adds the objects that instances of libraries name as parents, where nobody has asked for them yet.
    fn collect_parents(
        &mut self,
        answers: &Answers,
        written: &BTreeSet<TitleIndex>,
        request: &Request,
        writer: &mut BlockWriter<'_>,
    ) -> Result<(), SourceError> {
        let missing: BTreeSet<TitleIndex> = answers.parents.difference(&answers.objects).copied().collect();
        let Some(libraries) = self.libraries.as_mut().filter(|_| !missing.is_empty()) else { return Ok(()) };
        let listed: Vec<TitleIndex> =
            missing.iter().copied().filter(|object| libraries.listed(*object)).collect();
        let asking = (!listed.is_empty())
            .then(|| libraries.begin(&RequestKind::Objects(listed), |_| true, &self.system_name));
        let missing = self.with_parents(missing).difference(written).copied().collect();
        collect(&mut self.providers, &missing, request, writer)?;
        if let Some((libraries, asking)) = self.libraries.as_mut().zip(asking) {
            libraries.finish(&asking, writer.objects());
        }
        Ok(())
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
            // A service need not know metadata queries: it changes the whole objects, and their definitions are taken.
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
        let objects = self.providers.iter().flat_map(|provider| {
            provider.objects().iter().map(|object| (object.name, provider.is_costly(object.name)))
        });
        let own = self.tells_of_sources.then_some((provider_object::NAME, false));
        objects.chain(own).filter(|(_, costly)| wanted(*costly)).map(|(name, _)| name).collect()
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
}

impl Source for Host {
    fn snapshot(&mut self, request: &Request) -> Result<Snapshot, SourceError> {
        self.providers.iter_mut().for_each(|provider| provider.refresh());
        let asking = self.libraries.as_mut().map(|libraries| {
            let own = self.tells_of_sources.then_some(provider_object::NAME);
            let is_known = |object| own == Some(object) || is_in(&self.providers, object);
            libraries.begin(&request.kind, is_known, &self.system_name)
        });
        let known = |(libraries, asking): (&Libraries, _)| libraries.known_parents(asking);
        let parents = self.libraries.as_ref().zip(asking.as_ref()).map(known).unwrap_or_default();
        let mut objects = self.objects_of(&request.kind);
        objects.extend(parents);
        let objects = self.with_parents(objects);
        let tells = self.tells_of_sources && objects.contains(&provider_object::NAME);
        if tells && !matches!(request.kind, RequestKind::Metadata { .. }) {
            self.try_sources(&objects);
            // Those that this request means are on their way already.
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
        collect(&mut self.providers, &objects, request, &mut writer)?;
        if let Some((libraries, asking)) = self.libraries.as_mut().zip(asking.as_ref()) {
            let answers = libraries.finish(asking, writer.objects());
            self.collect_parents(&answers, &objects, request, &mut writer)?;
        }
        // Behind all others, so that it tells of this request too.
        if tells {
            self.write_sources(request, &mut writer);
        }
        let read_infos = writer.objects().take_read_infos();
        writer.finish().map_err(|error| SourceError::new(SourceErrorKind::Io, error.to_string()))?;
        let snapshot = Snapshot::in_memory(memory, &mut self.spare)?.with_read_infos(read_infos);
        self.wrap(request, snapshot, &header)
    }

    fn give_back(&mut self, snapshot: Snapshot) {
        self.spare = snapshot.into_spare();
    }

    fn titles(&mut self, language: Language) -> Result<Titles, SourceError> {
        let mut all = titles::installed_titles(self.roots.as_ref(), language)?;
        for provider in &mut self.providers {
            provider.refresh();
            all.merge(&provider.titles(language));
        }
        Ok(all)
    }

    fn trouble(&self, object: TitleIndex) -> Option<String> {
        self.libraries.as_ref()?.trouble(object)
    }

    fn languages(&self) -> Vec<Language> {
        let mut all = titles::installed_languages(self.roots.as_ref());
        for language in self.providers.iter().flat_map(|provider| provider.languages()) {
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

/// Whether an object is one of these providers'.
fn is_in(providers: &[Box<dyn Provider>], object: TitleIndex) -> bool {
    providers.iter().any(|provider| provider.objects().iter().any(|spec| spec.name == object))
}

/// Has the providers write those of the objects that are theirs.
fn collect(
    providers: &mut [Box<dyn Provider>],
    objects: &BTreeSet<TitleIndex>,
    request: &Request,
    writer: &mut BlockWriter<'_>,
) -> Result<(), SourceError> {
    let metadata = matches!(request.kind, RequestKind::Metadata { .. });
    for provider in providers {
        let theirs: Vec<TitleIndex> = provider
            .objects()
            .iter()
            .map(|object| object.name)
            .filter(|name| objects.contains(name))
            .collect();
        if theirs.is_empty() {
            continue;
        }
        if metadata {
            write_definitions(provider.objects(), &theirs, writer);
            continue;
        }
        let ask = Ask { objects: &theirs, interest: &request.interest };
        provider
            .collect(&ask, writer.objects())
            .map_err(|error| SourceError::new(SourceErrorKind::Io, error.message))?;
    }
    Ok(())
}

fn write_definitions(specs: &[ObjectSpec<'static>], wanted: &[TitleIndex], writer: &mut BlockWriter<'_>) {
    for spec in specs.iter().filter(|spec| wanted.contains(&spec.name)) {
        let layout = ObjectLayout::new(*spec);
        let clock = tallymon_core::time::PerfTime(0);
        writer.objects().object(&layout, clock, tallymon_core::time::Frequency(0)).metadata();
    }
}
