//! The provider of all bridges of a machine.

use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;
use std::sync::{Arc, LazyLock, Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use tallymon_core::block::ReadInfo;
use tallymon_core::title::Language;
use tallymon_host::Host;
use tallymon_host::registry::{Installed, Roots, Scope, Service, TitleRange};
use tallymon_provider::{
    CollectRequest, CounterSpec, CounterType, Finding, FindingState, Health, HelpIndex, InstanceKind,
    ObjectLayout, ObjectSpec, ObjectsWriter, Provider, ProviderError, SourceName, SourceStatus, TitleIndex,
};

use crate::catalog::{Catalog, CatalogObject};
use crate::install::files;
use crate::scrape::Scraper;
use crate::settings::{ReadSecret, read_installed};
use crate::values::{self, BridgeObject};

/// How long a request waits for a scrape unless the service of the bridge says something else.
const DEADLINE: Duration = Duration::from_millis(1000);
/// The most bridges of a scope.
const MOST_BRIDGES: usize = 256;
/// How often it is looked whether bridges have come or gone.
const PAUSE: Duration = Duration::from_secs(1);

/// Answers for the objects of bridges. An endpoint is contacted only for a request that names one of its
/// objects.
pub struct Bridges {
    roots: Roots,
    read_secret: ReadSecret,
    bridges: Vec<Bridge>,
    /// The objects of all bridges.
    specs: Vec<ObjectSpec<'static>>,
    /// What is wrong with bridges that are not used.
    problems: Vec<Finding>,
    /// What the files looked like when they were read.
    seen: Option<Vec<Seen>>,
    looked: Option<Instant>,
}

/// A file or link as it was: its path, length and time of change, or where it leads.
type Seen = (PathBuf, u64, Option<SystemTime>, Option<PathBuf>);

struct Bridge {
    scraper: Arc<Scraper>,
    address: String,
    labels: Option<Vec<String>>,
    deadline: Duration,
    objects: Vec<BridgeObject>,
    status: SourceStatus,
    /// Why the last request got nothing.
    trouble: Option<String>,
}

impl Bridges {
    /// The bridges in these registries.
    pub fn new(roots: Roots, read_secret: ReadSecret) -> Bridges {
        let (bridges, specs, problems) = (Vec::new(), Vec::new(), Vec::new());
        Bridges { roots, read_secret, bridges, specs, problems, seen: None, looked: None }
    }

    /// The files that decide which bridges there are.
    fn look(&self) -> Vec<Seen> {
        let mut seen = Vec::new();
        for scope in [Scope::System, Scope::User] {
            let found = files(&self.roots, scope);
            if found.is_empty() {
                continue;
            }
            if let Some(folder) = self.roots.folder(scope) {
                let link = folder.join("current");
                let target = std::fs::read_link(&link).ok();
                seen.push((link, 0, None, target));
            }
            for (_, path) in found {
                let about = path.symlink_metadata().ok();
                let changed = about.as_ref().and_then(|about| about.modified().ok());
                seen.push((path, about.map_or(0, |about| about.len()), changed, None));
            }
        }
        seen
    }

    fn read(&mut self) {
        let mut before: BTreeMap<SourceName, SourceStatus> = BTreeMap::new();
        before.extend(self.bridges.drain(..).map(|bridge| (bridge.status.name.clone(), bridge.status)));
        self.problems.clear();
        let (installed, _) = Installed::read_what_is_whole(&self.roots);
        // Of two with the same name the user's counts, as with services.
        for (scope, other) in [(Scope::System, Some(Scope::User)), (Scope::User, None)] {
            let all = files(&self.roots, scope);
            let hidden = other.map(|other| files(&self.roots, other)).unwrap_or_default();
            for (name, path) in all.into_iter().take(MOST_BRIDGES) {
                if hidden.iter().any(|(other, _)| other.eq_ignore_ascii_case(&name)) {
                    continue;
                }
                let contents = installed.of(scope);
                let titles = contents.titles(Language::ENGLISH);
                let name_of = |index: TitleIndex| titles.name(index).map(str::to_owned);
                match bridge(&name, &path, contents.service(&name), name_of, self.read_secret) {
                    Ok(Some(mut bridge)) => {
                        if let Some(status) = before.remove(&bridge.status.name) {
                            bridge.status = status;
                        }
                        self.bridges.push(bridge);
                    }
                    Ok(None) => {}
                    Err(words) => self.problems.push(Finding {
                        subject: format!("bridge {name}"),
                        state: FindingState::Missing,
                        detail: words,
                        remedy: format!("'tally provider remove {name}', then 'tally provider add'"),
                    }),
                }
            }
        }
        let objects = self.bridges.iter().flat_map(|bridge| &bridge.objects);
        self.specs = objects.map(|object| *object.layout.spec()).collect();
    }
}

/// The bridge of a file; `None` for one that is disabled.
fn bridge(
    name: &str,
    path: &std::path::Path,
    service: Option<&Service>,
    name_of: impl Fn(TitleIndex) -> Option<String>,
    read_secret: ReadSecret,
) -> Result<Option<Bridge>, String> {
    let (settings, catalog) = read_installed(path)?;
    let Some(Service { titles: Some(range), disabled, deadline, .. }) = service else {
        return Err(format!("{}: the registry does not have its names", path.display()));
    };
    if *disabled {
        return Ok(None);
    }
    check_catalog(&catalog, range, name_of).map_err(|words| format!("{}: {words}", path.display()))?;
    let objects = catalog.into_iter().map(|object| {
        let spec = spec_of(&object, range);
        BridgeObject { layout: ObjectLayout::new(spec), catalog: object }
    });
    Ok(Some(Bridge {
        scraper: Scraper::shared(&settings, read_secret),
        address: settings.address(),
        deadline: deadline.map_or(DEADLINE, |ms| Duration::from_millis(u64::from(ms))),
        objects: objects.collect(),
        labels: settings.labels,
        status: SourceStatus {
            late: Some(0),
            ..SourceStatus::new(SourceName::Named(format!("bridge {name}")))
        },
        trouble: None,
    }))
}

/// Whether the names in the registry are those of the file: after a rollback they can be others.
fn check_catalog(
    catalog: &Catalog,
    range: &TitleRange,
    name_of: impl Fn(TitleIndex) -> Option<String>,
) -> Result<(), String> {
    let check = |offset: u32, name: &str| {
        let index = TitleIndex(range.first_counter.0.saturating_add(offset));
        let found = name_of(index).filter(|_| offset.is_multiple_of(2) && range.contains(index.0));
        if found.as_deref() == Some(name) {
            return Ok(());
        }
        let found = found.unwrap_or_else(|| "nothing".to_owned());
        Err(format!("{name:?} should be at the index {index}; the registry has {found:?} there"))
    };
    for object in catalog {
        check(object.offset, &object.name)?;
        object.counters.iter().try_for_each(|counter| check(counter.offset, &counter.name()))?;
    }
    Ok(())
}

/// Index, help and type of the counters of an object.
type CounterKey = Vec<(u32, u32, u32)>;
/// The counters of objects stay as long as this process runs: a declaration is a constant.
static KNOWN: LazyLock<Mutex<HashMap<CounterKey, &'static [CounterSpec]>>> = LazyLock::new(Mutex::default);

fn spec_of(object: &CatalogObject, range: &TitleRange) -> ObjectSpec<'static> {
    let name = |offset: u32| range.first_counter.0.saturating_add(offset);
    let help = |offset: u32| range.first_help.0.saturating_add(offset);
    let mut key = CounterKey::new();
    for counter in &object.counters {
        let (name, help) = (name(counter.offset), help(counter.offset));
        key.push((name, help, counter.kind.counter_type().0));
        key.extend(counter.kind.base().map(|base| (name, help, base.0)));
    }
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    let counters = *known.entry(key).or_insert_with_key(|key| {
        let spec = |(name, help, counter_type): &(u32, u32, u32)| CounterSpec {
            help: HelpIndex(*help),
            ..CounterSpec::new(TitleIndex(*name), CounterType(*counter_type))
        };
        key.iter().map(spec).collect::<Vec<_>>().leak()
    });
    let instances = if object.labels.is_empty() { InstanceKind::None } else { InstanceKind::Many };
    ObjectSpec {
        help: HelpIndex(help(object.offset)),
        status: true,
        ..ObjectSpec::new(TitleIndex(name(object.offset)), instances, counters)
    }
}

impl Bridge {
    fn has(&self, object: TitleIndex) -> bool {
        self.objects.iter().any(|known| known.layout.spec().name == object)
    }

    /// Writes what a scrape has read, or remembers why there is nothing.
    fn answer(
        &mut self,
        scraped: Option<&crate::scrape::Scraped>,
        request: &CollectRequest<'_>,
        out: &mut ObjectsWriter<'_>,
    ) {
        self.status.collections = self.status.collections.saturating_add(1);
        let Some(scraped) = scraped else {
            self.status.late = self.status.late.map(|late| late.saturating_add(1));
            self.fail(format!("{}: no answer within {} ms", self.address, self.deadline.as_millis()));
            return;
        };
        self.status.last = scraped.time;
        self.status.busy = self.status.busy.saturating_add(scraped.time);
        let metrics = match &scraped.metrics {
            Ok(metrics) => metrics,
            Err(words) => return self.fail(words.clone()),
        };
        self.trouble = None;
        let stamp = Host::clocks();
        let labels = self.labels.as_deref();
        let unknown = values::write(
            &self.objects,
            request.objects,
            metrics,
            labels,
            stamp.perf_freq,
            scraped.window,
            out,
        );
        let mut words = Vec::new();
        if unknown > 0 {
            words.push(format!("{unknown} series are newer than the bridge and have no counters"));
        }
        words.extend(metrics.omission());
        self.status.health = if words.is_empty() { Health::Healthy } else { Health::Degraded };
        self.status.reason = words.join("; ").into();
    }

    fn fail(&mut self, words: String) {
        self.status.errors = self.status.errors.saturating_add(1);
        self.status.health = Health::Failed;
        self.status.reason = words.clone().into();
        self.trouble = Some(words);
    }
}

impl Provider for Bridges {
    fn objects(&self) -> &[ObjectSpec<'static>] {
        &self.specs
    }

    /// Another machine answers, so a request for all objects leaves them out.
    fn is_costly(&self, _object: TitleIndex) -> bool {
        true
    }

    fn refresh(&mut self) {
        if self.looked.is_some_and(|looked| looked.elapsed() < PAUSE) {
            return;
        }
        let now = self.look();
        if self.seen.as_ref() != Some(&now) {
            self.read();
            self.seen = Some(now);
        }
        self.looked = Some(Instant::now());
    }

    fn collect(
        &mut self,
        request: &CollectRequest<'_>,
        out: &mut ObjectsWriter<'_>,
    ) -> Result<(), ProviderError> {
        let began = Instant::now();
        // All begin before the first is waited for, so that a sick endpoint delays no other one.
        let wanted = |bridge: &&mut Bridge| request.objects.iter().any(|object| bridge.has(*object));
        let asked: Vec<_> = self
            .bridges
            .iter_mut()
            .filter(wanted)
            .map(|bridge| {
                let ticket = bridge.scraper.begin();
                (bridge, ticket)
            })
            .collect();
        for (bridge, ticket) in asked {
            let scraped = bridge.scraper.wait(ticket, began.checked_add(bridge.deadline).unwrap_or(began));
            bridge.answer(scraped.as_deref(), request, out);
        }
        Ok(())
    }

    fn trouble(&self, object: TitleIndex) -> Option<String> {
        self.bridges.iter().find(|bridge| bridge.has(object))?.trouble.clone()
    }

    fn sources(&self) -> Vec<SourceStatus> {
        self.bridges.iter().map(|bridge| bridge.status.clone()).collect()
    }

    fn findings(&mut self) -> Vec<Finding> {
        self.refresh();
        self.problems.clone()
    }
}

/// What a reader should know about the reading of an object.
pub(crate) fn read_info(object: TitleIndex, window: tallymon_core::block::ReadWindow) -> ReadInfo {
    ReadInfo { object, window, quanta: Arc::default(), means: Arc::default() }
}
