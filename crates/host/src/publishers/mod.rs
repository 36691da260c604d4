//! The objects that other programs publish in shared memory.
//!
//! Published files have names and no indexes. Each name gets an index here that stays the same as long as
//! this process runs, also when the program ends and starts again, so that a query continues.
//!
//! Several programs that publish the same set with instances are one object with all their instances. A set
//! that has the name of a different set, or of a built-in object, is shown under its name and its process id,
//! `Behemoth [4711]`: no program can replace an object of another one.

mod report;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::PathBuf;
use std::sync::{LazyLock, Mutex, PoisonError};

use tallymon_provider::shm::{
    CounterDefinition, DefinitionText, InstanceRef, ObjectDefinition, Publication, Published, Reader,
};
use tallymon_provider::{
    Absence, CollectRequest, CounterBlockMut, CounterSpec, CounterType, Finding, Frequency, HelpIndex,
    InstanceKind, Language, ObjectLayout, ObjectSpec, ObjectsWriter, Parent, PerfTime, Provider,
    ProviderError, SourceStatus, TitleIndex, Titles, ValueState,
};

/// Indexes of installed services end below this one, so a publisher can not get the index of a service.
const FIRST_INDEX: u32 = crate::registry::FIRST_INDEX_OUTSIDE;

/// The most names that get indexes in this process, and the most bytes kept for them. Otherwise programs that
/// come and go under ever new names could take all memory.
const MOST_NAMES: usize = 1 << 16;
const MOST_BYTES: usize = 64 << 20;

/// Ticks per second of the clock that published values are stamped with.
const FREQUENCY: Frequency = Frequency(10_000_000);

/// Answers for what programs publish.
pub struct Publishers {
    reader: Reader,
    /// Names that belong to others, as [`folded`].
    taken: BTreeSet<String>,
    objects: Vec<PublishedObject>,
    specs: Vec<ObjectSpec<'static>>,
    /// Objects whose instances are parents of instances of another object.
    parents: BTreeMap<TitleIndex, Vec<TitleIndex>>,
    started: bool,
    /// Whether there were more names than are kept.
    full: bool,
    troubles: report::Troubles,
}

/// One object, published by one program or by several.
struct PublishedObject {
    layout: ObjectLayout<'static>,
    definition: ObjectDefinition,
    /// Which publications have it, and at which position.
    sources: Vec<(PathBuf, usize)>,
}

/// What stays as long as this process runs.
#[derive(Default)]
struct Known {
    /// Index of the name, for a name and help text in all languages.
    names: HashMap<Vec<(u16, String, String)>, u32>,
    /// The counters of an object for its names and types.
    counters: HashMap<Vec<CounterKey>, &'static [CounterSpec]>,
    /// About as many bytes as both take.
    bytes: usize,
}

impl Known {
    /// Takes some bytes of the remaining room; `None` when it is used up.
    fn take(&mut self, bytes: usize) -> Option<()> {
        let bytes = self.bytes.checked_add(bytes).filter(|bytes| *bytes <= MOST_BYTES)?;
        self.bytes = bytes;
        Some(())
    }
}

/// Index, type, scale, detail level and size of a counter.
type CounterKey = (u32, u32, i32, u32, Option<u32>);

static KNOWN: LazyLock<Mutex<Known>> = LazyLock::new(Mutex::default);

impl Publishers {
    /// Everything that is published on this machine, except objects with the names `taken`, in any language.
    pub fn system<'t>(taken: impl IntoIterator<Item = &'t str>) -> Publishers {
        Publishers::of(Reader::system(), taken)
    }

    /// Everything that a reader finds.
    pub fn of<'t>(reader: Reader, taken: impl IntoIterator<Item = &'t str>) -> Publishers {
        Publishers {
            reader,
            taken: taken.into_iter().map(folded).collect(),
            objects: Vec::new(),
            specs: Vec::new(),
            parents: BTreeMap::new(),
            started: false,
            full: false,
            troubles: report::Troubles::default(),
        }
    }

    /// Builds the list of objects again.
    fn rebuild(&mut self) {
        self.objects.clear();
        self.specs.clear();
        self.full = false;
        self.troubles.keep(self.reader.publications());
        let mut names = self.taken.clone();
        for publication in self.reader.publications() {
            for (position, definition) in publication.objects().iter().enumerate() {
                let source = (publication.path().to_path_buf(), position);
                let same = self
                    .objects
                    .iter_mut()
                    .find(|object| definition.has_instances && same_object(&object.definition, definition));
                if let Some(object) = same {
                    object.sources.push(source);
                    continue;
                }
                let mut texts = definition.texts.clone();
                if texts.iter().any(|text| names.contains(&folded(&text.name))) {
                    for text in texts.iter_mut().filter(|text| !text.name.is_empty()) {
                        text.name = format!("{} [{}]", text.name, publication.pid());
                    }
                }
                if texts.iter().any(|text| names.contains(&folded(&text.name))) {
                    // The same program publishes the same name twice; the first stays.
                    continue;
                }
                let Some(spec) = spec_of(&texts, definition) else {
                    self.full = true;
                    continue;
                };
                names
                    .extend(texts.iter().filter(|text| !text.name.is_empty()).map(|text| folded(&text.name)));
                self.specs.push(spec);
                let mut definition = definition.clone();
                definition.texts = texts;
                let layout = ObjectLayout::new(spec);
                self.objects.push(PublishedObject { layout, definition, sources: vec![source] });
            }
        }
        self.find_parents();
    }

    /// Notes which objects are parents of which. Links that appear later are noted when they are read.
    fn find_parents(&mut self) {
        let mut found = Vec::new();
        for publication in self.reader.publications() {
            for object in 0..publication.objects().len() {
                let Some(child) = self.name_of(publication, object) else { continue };
                let parents: BTreeSet<usize> = publication
                    .instances(object)
                    .filter_map(|instance| instance.parent().map(|parent| parent.object))
                    .collect();
                let parents = parents.into_iter().filter_map(|parent| self.name_of(publication, parent));
                found.extend(parents.map(|parent| (child, parent)));
            }
        }
        for (child, parent) in found {
            let parents = self.parents.entry(child).or_default();
            if child != parent && !parents.contains(&parent) {
                parents.push(parent);
            }
        }
    }

    /// The index of the object at a position in a publication.
    fn name_of(&self, publication: &Publication, position: usize) -> Option<TitleIndex> {
        let here = |object: &&PublishedObject| {
            object.sources.iter().any(|(path, at)| *at == position && path == publication.path())
        };
        self.objects.iter().find(here).map(|object| object.layout.spec().name)
    }

    /// For each object of each publication the index and the number of instances that other publications put
    /// in front.
    fn places(&self) -> HashMap<(PathBuf, usize), (TitleIndex, usize)> {
        let mut places = HashMap::new();
        for object in &self.objects {
            let mut before = 0usize;
            for (path, position) in &object.sources {
                places.insert((path.clone(), *position), (object.layout.spec().name, before));
                let publication = self.publication(path);
                let n = publication.map_or(0, |publication| publication.instances(*position).len());
                before = before.saturating_add(n);
            }
        }
        places
    }

    fn publication(&self, path: &PathBuf) -> Option<&Publication> {
        self.reader.publications().iter().find(|publication| publication.path() == path)
    }
}

impl Provider for Publishers {
    fn objects(&self) -> &[ObjectSpec<'static>] {
        &self.specs
    }

    fn parents(&self, object: TitleIndex) -> &[TitleIndex] {
        self.parents.get(&object).map(Vec::as_slice).unwrap_or_default()
    }

    fn refresh(&mut self) {
        if self.reader.scan() || !self.started {
            self.started = true;
            self.rebuild();
        }
    }

    fn collect(
        &mut self,
        request: &CollectRequest<'_>,
        out: &mut ObjectsWriter<'_>,
    ) -> Result<(), ProviderError> {
        let wanted: BTreeSet<&PathBuf> = self
            .objects
            .iter()
            .filter(|object| request.wants(object.layout.spec().name))
            .flat_map(|object| object.sources.iter().map(|(path, _)| path))
            .collect();
        for publication in self.reader.publications_mut() {
            if wanted.contains(&publication.path().to_path_buf()) {
                // A publication that can no longer be read has no instances, and is dropped at the next
                // request.
                publication.read();
                self.troubles.note(publication.path(), 0);
            }
        }
        self.find_parents();
        let places = self.places();
        let by_path: HashMap<&std::path::Path, &Publication> =
            self.reader.publications().iter().map(|publication| (publication.path(), publication)).collect();
        let mut unread: HashMap<&PathBuf, u64> = HashMap::new();
        let mut missing = |path, n: u64| {
            if n > 0 {
                let all = unread.entry(path).or_default();
                *all = all.saturating_add(n);
            }
        };
        for object in self.objects.iter().filter(|object| request.wants(object.layout.spec().name)) {
            let sources = || {
                object
                    .sources
                    .iter()
                    .filter_map(|(path, position)| Some((path, *position, *by_path.get(path.as_path())?)))
            };
            let time = sources().map(|(.., publication)| publication.time()).max().unwrap_or(0);
            let time = PerfTime(i64::try_from(time).unwrap_or(i64::MAX));
            let mut writer = out.object(&object.layout, time, FREQUENCY);
            for (path, position, publication) in sources() {
                for instance in publication.instances(position) {
                    if !object.definition.has_instances {
                        let stale = publication.is_stale();
                        missing(path, write(&mut writer.single(), instance, &object.definition, stale));
                        continue;
                    }
                    let parent = instance.parent().and_then(|parent| {
                        let (name, before) = places.get(&(path.clone(), parent.object)).copied()?;
                        let instance = u32::try_from(before.saturating_add(parent.position)).ok()?;
                        request.wants(name).then_some(Parent { object: name, instance })
                    });
                    let mut block = writer.instance(instance.name(), parent, instance.id());
                    missing(path, write(&mut block, instance, &object.definition, publication.is_stale()));
                }
            }
        }
        for (path, unread) in unread {
            self.troubles.note(path, unread);
        }
        Ok(())
    }

    fn titles(&self, language: Language) -> Titles {
        let mut titles = Titles::new();
        let mut add = |name: TitleIndex, help: HelpIndex, texts: &[DefinitionText]| {
            let english = texts.first();
            let own = texts.iter().find(|text| text.language == language);
            let best = |choose: fn(&DefinitionText) -> &String| {
                [own, english].into_iter().flatten().map(choose).find(|words| !words.is_empty())
            };
            if let Some(words) = best(|text| &text.name) {
                titles.insert_name(name, words);
            }
            if let Some(words) = best(|text| &text.help) {
                titles.insert_help(help, words);
            }
        };
        for object in &self.objects {
            let spec = object.layout.spec();
            add(spec.name, spec.help, &object.definition.texts);
            for (counter, definition) in spec.counters.iter().zip(&object.definition.counters) {
                if !definition.counter_type.is_base() {
                    add(counter.name, counter.help, &definition.texts);
                }
            }
        }
        titles
    }

    fn languages(&self) -> Vec<Language> {
        let definitions = self.objects.iter().map(|object| &object.definition);
        let texts = definitions.flat_map(|definition| {
            let counters = definition.counters.iter().flat_map(|counter| &counter.texts);
            definition.texts.iter().chain(counters)
        });
        let languages: BTreeSet<Language> = texts.map(|text| text.language).collect();
        languages.into_iter().collect()
    }

    fn sources(&self) -> Vec<SourceStatus> {
        report::sources(&self.reader, &self.troubles)
    }

    fn findings(&mut self) -> Vec<Finding> {
        self.refresh();
        report::findings(&self.reader, &self.troubles, self.objects.len(), self.full)
    }
}

/// Writes the values of one instance; stale values are the last ones of a program that has ended. Returns how
/// many could not be read.
fn write(
    block: &mut CounterBlockMut<'_>,
    instance: InstanceRef<'_>,
    definition: &ObjectDefinition,
    stale: bool,
) -> u64 {
    let (mut position, mut unread) = (0usize, 0u64);
    while position < definition.counters.len() {
        let first = position;
        for number in instance.numbers_from(first) {
            block.set(position, number);
            position = position.saturating_add(1);
        }
        if position == first {
            position = position.saturating_add(1);
            match instance.value(first) {
                Some(Published::Number(number)) => block.set(first, number),
                Some(Published::Text(text)) => block.set_text(first, text),
                None => {
                    block.state(first, ValueState::Absent(Absence::ReadFailed));
                    unread = unread.saturating_add(1);
                    continue;
                }
            }
        }
        if stale {
            (first..position).for_each(|written| block.state(written, ValueState::Stale));
        }
    }
    unread
}

/// A name as the query compares it: case and blanks do not matter.
fn folded(name: &str) -> String {
    name.chars().filter(|letter| !letter.is_whitespace()).flat_map(char::to_lowercase).collect()
}

/// Whether two programs mean the same object.
fn same_object(a: &ObjectDefinition, b: &ObjectDefinition) -> bool {
    let counter = |counter: &CounterDefinition| {
        (counter.texts.clone(), counter.counter_type, counter.scale, counter.detail, counter.text_capacity())
    };
    a.texts == b.texts
        && a.has_instances == b.has_instances
        && a.default_counter == b.default_counter
        && a.counters.iter().map(counter).eq(b.counters.iter().map(counter))
}

/// The definition of the object for a block; `None` when there are too many names already.
fn spec_of(texts: &[DefinitionText], definition: &ObjectDefinition) -> Option<ObjectSpec<'static>> {
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    let name = index_of(&mut known, texts)?;
    let mut counters = Vec::new();
    let mut numerator = name;
    for counter in &definition.counters {
        // A base has the name of the counter that it belongs to.
        if !counter.counter_type.is_base() {
            numerator = index_of(&mut known, &counter.texts)?;
        }
        let CounterDefinition { counter_type, scale, detail, .. } = counter;
        counters.push((numerator, counter_type.0, *scale, detail.0, size_of(counter)));
    }
    let spec = |(name, counter_type, scale, detail, size): &CounterKey| CounterSpec {
        scale: *scale,
        detail: tallymon_provider::DetailLevel(*detail),
        size: *size,
        ..CounterSpec::new(TitleIndex(*name), CounterType(*counter_type))
    };
    let counters = match known.counters.get(&counters) {
        Some(counters) => *counters,
        None => {
            known.take(counters.len().saturating_add(1).saturating_mul(128))?;
            // Like the names they stay as long as this process runs.
            let specs: &'static [CounterSpec] = counters.iter().map(spec).collect::<Vec<_>>().leak();
            known.counters.insert(counters, specs);
            specs
        }
    };
    Some(ObjectSpec {
        name: TitleIndex(name),
        help: HelpIndex(name.saturating_add(1)),
        detail: definition.detail,
        default_counter: definition.default_counter,
        instances: if definition.has_instances { InstanceKind::Many } else { InstanceKind::None },
        status: true,
        counters,
    })
}

/// The index of a name and help text in all languages: its earlier index, or the next free one.
fn index_of(known: &mut Known, texts: &[DefinitionText]) -> Option<u32> {
    let key: Vec<(u16, String, String)> =
        texts.iter().map(|text| (text.language.langid(), text.name.clone(), text.help.clone())).collect();
    let n = known.names.len();
    if let Some(index) = known.names.get(&key) {
        return Some(*index);
    }
    if n >= MOST_NAMES {
        return None;
    }
    let lengths = texts.iter().map(|text| text.name.len().saturating_add(text.help.len()));
    known.take(lengths.fold(128, usize::saturating_add))?;
    let index = u32::try_from(n).ok()?.checked_mul(2)?.checked_add(FIRST_INDEX)?;
    known.names.insert(key, index);
    Some(index)
}

/// The size in a block, where the type does not define it. A text has two bytes for each of its bytes, which
/// is enough in UTF-16, and two for its terminator.
fn size_of(counter: &CounterDefinition) -> Option<u32> {
    match counter.text_capacity() {
        Some(capacity) => {
            let units = u32::try_from(capacity).unwrap_or(u32::MAX).saturating_add(1);
            Some(units.saturating_mul(2).next_multiple_of(4))
        }
        None if counter.counter_type.default_size().is_none() => Some(8),
        None => None,
    }
}
