//! The objects that other programs publish in shared memory.
//!
//! Published files have names and no indexes. Each name gets an index here that stays the same as long as
//! this process runs, also when the program ends and starts again, so that a query continues.
//!
//! Several programs of one user that publish the same set with instances are one object with all their
//! instances. A set that has the name of a different set, or of a built-in object, is shown under its name
//! and its process id, `Behemoth [4711]`: no program can replace an object of another one.
//!
//! Names belong to root first, then to this user. A set of another user never joins theirs, and is shown as
//! `Behemoth [user 1001]` when the name is theirs, or when several other users publish it: then it is
//! nobody's.

mod report;

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

use tallymon_provider::shm::{
    CounterDefinition, DefinitionText, InstanceRef, ObjectDefinition, Publication, Published, Reader, is_own,
};
use tallymon_provider::{
    Absence, CollectRequest, CounterBlockMut, CounterSpec, CounterType, Finding, Frequency, HelpIndex,
    InstanceKind, Language, ObjectLayout, ObjectSpec, ObjectsWriter, Parent, PerfTime, Provider,
    ProviderError, SourceStatus, TitleIndex, Titles, ValueState,
};

/// Indexes of installed services end below this one, so a publisher cannot get the index of a service.
const FIRST_INDEX: u32 = crate::registry::FIRST_INDEX_OUTSIDE;

/// The most names that get indexes in this process, and the most bytes kept for them. Otherwise programs that
/// come and go under ever new names could take all memory.
const MOST_NAMES: usize = 1 << 16;
const MOST_BYTES: usize = 64 << 20;
/// Other users than root and this one get at most half of both.
const SHARE_OF_OTHERS: usize = 2;

/// Ticks per second of the clock that published values are stamped with.
const FREQUENCY: Frequency = Frequency(10_000_000);

/// Answers for what programs publish.
pub struct Publishers {
    reader: Reader,
    /// Names that belong to others, as [`folded`].
    taken: BTreeSet<String>,
    /// Finds more of these when the first program publishes.
    names: Option<Names>,
    objects: Vec<PublishedObject>,
    /// Which object each publication of the reader has at a position: an index of `objects`.
    positions: Vec<Vec<Option<usize>>>,
    /// The languages of the names of each publication.
    languages: Vec<Arc<[Language]>>,
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
    /// As its first program publishes it.
    published: ObjectDefinition,
    /// The same under the name that it has here.
    definition: ObjectDefinition,
    /// Which publications of the reader have it, and at which position. They hold until the reader finds a
    /// change, since the objects are found again then.
    sources: Vec<(usize, usize)>,
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
    /// As many of the names and bytes came from other users.
    names_of_others: usize,
    bytes_of_others: usize,
}

impl Known {
    /// Takes some bytes of the remaining room; `None` when it is used up.
    fn take(&mut self, bytes: usize, is_own: bool) -> Option<()> {
        let all = self.bytes.checked_add(bytes).filter(|bytes| *bytes <= MOST_BYTES)?;
        if !is_own {
            let most = MOST_BYTES / SHARE_OF_OTHERS;
            let theirs = self.bytes_of_others.checked_add(bytes).filter(|bytes| *bytes <= most)?;
            self.bytes_of_others = theirs;
        }
        self.bytes = all;
        Some(())
    }

    /// Takes a name of the remaining ones; `None` when there are none left.
    fn take_name(&mut self, is_own: bool) -> Option<()> {
        if self.names.len() >= MOST_NAMES {
            return None;
        }
        if !is_own {
            let most = MOST_NAMES / SHARE_OF_OTHERS;
            self.names_of_others = self.names_of_others.checked_add(1).filter(|names| *names <= most)?;
        }
        Some(())
    }
}

/// Finds the names of the objects that the system has.
type Names = Box<dyn FnOnce() -> Vec<String> + Send>;

/// Index, type, scale, detail level and size of a counter.
type CounterKey = (u32, u32, i32, u32, Option<u32>);

static KNOWN: LazyLock<Mutex<Known>> = LazyLock::new(Mutex::default);

impl Publishers {
    /// Everything that is published on this machine, except objects with the names `taken`, in any language.
    pub fn system<'t>(taken: impl IntoIterator<Item = &'t str>) -> Publishers {
        Publishers::of(Reader::system(), taken)
    }

    /// The same, where objects have names that cost much to find: they are asked for when the first program
    /// publishes.
    #[must_use]
    pub fn except_later(self, names: impl FnOnce() -> Vec<String> + Send + 'static) -> Publishers {
        Publishers { names: Some(Box::new(names)), ..self }
    }

    /// Everything that a reader finds.
    pub fn of<'t>(reader: Reader, taken: impl IntoIterator<Item = &'t str>) -> Publishers {
        Publishers {
            reader,
            taken: taken.into_iter().map(folded).collect(),
            names: None,
            objects: Vec::new(),
            positions: Vec::new(),
            languages: Vec::new(),
            specs: Vec::new(),
            parents: BTreeMap::new(),
            started: false,
            full: false,
            troubles: report::Troubles::default(),
        }
    }

    /// The objects under the names that their programs give them, with their indexes here.
    pub(crate) fn under_own_names(&self) -> impl Iterator<Item = (&ObjectDefinition, TitleIndex)> {
        let is_own = |object: &&PublishedObject| object.definition.texts == object.published.texts;
        let objects = self.objects.iter().filter(is_own);
        objects.map(|object| (&object.definition, object.layout.spec().name))
    }

    /// Builds the list of objects again.
    fn rebuild(&mut self) {
        self.objects.clear();
        self.positions.clear();
        self.specs.clear();
        self.full = false;
        self.troubles.keep(self.reader.publications());
        if !self.reader.publications().is_empty()
            && let Some(names) = self.names.take()
        {
            self.taken.extend(names().iter().map(|name| folded(name)));
        }
        let mut names = self.taken.clone();
        // By user and name, the objects that a set of that user may join.
        let mut mergeable: HashMap<(u32, String), Vec<usize>> = HashMap::new();
        let contested = contested(self.reader.publications());
        self.positions.resize(self.reader.publications().len(), Vec::new());
        self.languages = self.reader.publications().iter().map(report::languages).collect();
        let mut publications: Vec<(usize, &Publication)> =
            self.reader.publications().iter().enumerate().collect();
        publications.sort_by_key(|(_, publication)| class(publication.user()));
        for (number, publication) in publications {
            let user = publication.user();
            let mut positions = Vec::new();
            for (position, definition) in publication.objects().iter().enumerate() {
                let source = (number, position);
                let key = (user, first_name(&definition.texts));
                let same = mergeable.get(&key).into_iter().flatten().copied();
                let same = same.filter(|_| definition.has_instances).find(|index| {
                    self.objects.get(*index).is_some_and(|object| same_object(&object.published, definition))
                });
                if let Some(object) = same.and_then(|index: usize| self.objects.get_mut(index)) {
                    object.sources.push(source);
                    positions.push(same);
                    continue;
                }
                // Until it has a name here.
                positions.push(None);
                let Some((texts, may_be_joined)) = free_name(publication, definition, &names, &contested)
                else {
                    // The same program publishes the same name twice; the first stays.
                    continue;
                };
                let Some(spec) = spec_of(&texts, definition, is_own(user)) else {
                    self.full = true;
                    continue;
                };
                names
                    .extend(texts.iter().filter(|text| !text.name.is_empty()).map(|text| folded(&text.name)));
                self.specs.push(spec);
                let published = definition.clone();
                let mut definition = definition.clone();
                definition.texts = texts;
                let layout = ObjectLayout::new(spec);
                let index = self.objects.len();
                if may_be_joined {
                    mergeable.entry(key).or_default().push(index);
                }
                if let Some(last) = positions.last_mut() {
                    *last = Some(index);
                }
                self.objects.push(PublishedObject { layout, published, definition, sources: vec![source] });
            }
            if let Some(place) = self.positions.get_mut(number) {
                *place = positions;
            }
        }
        self.find_parents();
    }

    /// Notes which objects are parents of which. Links that appear later are noted when they are read.
    /// Returns whether any instance has a parent.
    fn find_parents(&mut self) -> bool {
        let mut any = false;
        let mut found: BTreeSet<(TitleIndex, TitleIndex)> = BTreeSet::new();
        for (number, publication) in self.reader.publications().iter().enumerate() {
            for (object, definition) in publication.objects().iter().enumerate() {
                if !definition.has_instances {
                    continue;
                }
                let parents =
                    publication.instances(object).filter_map(|instance| Some(instance.parent()?.object));
                // The instances of an object rarely have parents in several others.
                let mut last = None;
                for parent in parents {
                    any = true;
                    if last.replace(parent) == Some(parent) {
                        continue;
                    }
                    if let Some(child) = self.name_of(number, object)
                        && let Some(parent) = self.name_of(number, parent)
                        && parent != child
                    {
                        found.insert((child, parent));
                    }
                }
            }
        }
        for (child, parent) in found {
            let parents = self.parents.entry(child).or_default();
            if let Err(place) = parents.binary_search(&parent) {
                parents.insert(place, parent);
            }
        }
        any
    }

    /// The object at a position in a publication.
    fn object_at(&self, publication: usize, position: usize) -> Option<usize> {
        *self.positions.get(publication)?.get(position)?
    }

    /// The index of the name of the object at a position in a publication.
    fn name_of(&self, publication: usize, position: usize) -> Option<TitleIndex> {
        self.objects.get(self.object_at(publication, position)?).map(|object| object.layout.spec().name)
    }

    /// For the objects of each publication, the number of instances that other publications put in front.
    fn places(&self) -> Vec<Vec<usize>> {
        let publications = self.reader.publications();
        let mut places: Vec<Vec<usize>> =
            publications.iter().map(|publication| vec![0; publication.objects().len()]).collect();
        for object in &self.objects {
            let mut before = 0usize;
            for (publication, position) in &object.sources {
                let place = places.get_mut(*publication).and_then(|places| places.get_mut(*position));
                if let Some(place) = place {
                    *place = before;
                }
                let publication = publications.get(*publication);
                let n = publication.map_or(0, |publication| publication.instances(*position).len());
                before = before.saturating_add(n);
            }
        }
        places
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
        let mut requested = request.objects.to_vec();
        requested.sort_unstable();
        let is_requested = |name: TitleIndex| requested.binary_search(&name).is_ok();
        let wants = |object: &&PublishedObject| is_requested(object.layout.spec().name);
        let mut wanted = vec![false; self.reader.publications().len()];
        for (publication, _) in self.objects.iter().filter(wants).flat_map(|object| &object.sources) {
            if let Some(place) = wanted.get_mut(*publication) {
                *place = true;
            }
        }
        // A publication that can no longer be read has no instances, and is dropped at the next request.
        self.reader.read(|publication| wanted.get(publication) == Some(&true));
        let any_has_parents = self.find_parents();
        let publications = self.reader.publications();
        let places = if any_has_parents { self.places() } else { Vec::new() };
        let mut unread = vec![0u64; publications.len()];
        let mut missing = |publication: usize, n: u64| {
            if let Some(all) = unread.get_mut(publication) {
                *all = all.saturating_add(n);
            }
        };
        for object in self.objects.iter().filter(wants) {
            let sources = || {
                let sources = object.sources.iter();
                sources
                    .filter_map(|(number, position)| Some((*number, *position, publications.get(*number)?)))
            };
            let time = sources().map(|(.., publication)| publication.time()).max().unwrap_or(0);
            let time = PerfTime(i64::try_from(time).unwrap_or(i64::MAX));
            let mut writer = out.object(&object.layout, time, FREQUENCY);
            for (number, position, publication) in sources() {
                let stale = publication.is_stale();
                for instance in publication.instances(position) {
                    if !object.definition.has_instances {
                        missing(number, write(&mut writer.single(), instance, &object.definition, stale));
                        continue;
                    }
                    let parent = instance.parent().and_then(|parent| {
                        let name = self.name_of(number, parent.object)?;
                        let before = *places.get(number)?.get(parent.object)?;
                        let instance = u32::try_from(before.saturating_add(parent.position)).ok()?;
                        is_requested(name).then_some(Parent { object: name, instance })
                    });
                    let mut block = writer.instance(instance.name(), parent, instance.id());
                    missing(number, write(&mut block, instance, &object.definition, stale));
                }
            }
        }
        for ((publication, wanted), unread) in publications.iter().zip(wanted).zip(unread) {
            if wanted {
                self.troubles.note(publication.path(), unread);
            }
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
        report::sources(&self.reader, &self.troubles, &self.languages)
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

/// Root's names come first, then those of this user, then those of others.
fn class(user: u32) -> u8 {
    match user {
        0 => 0,
        user if is_own(user) => 1,
        _ => 2,
    }
}

/// The first name of a set, as the query compares it.
fn first_name(texts: &[DefinitionText]) -> String {
    texts.iter().find(|text| !text.name.is_empty()).map(|text| folded(&text.name)).unwrap_or_default()
}

/// Names that several other users publish.
fn contested(publications: &[Publication]) -> HashSet<String> {
    let mut users: HashMap<String, u32> = HashMap::new();
    let mut contested = HashSet::new();
    for publication in publications.iter().filter(|publication| !is_own(publication.user())) {
        for text in publication.objects().iter().flat_map(|object| &object.texts) {
            let name = folded(&text.name);
            if *users.entry(name.clone()).or_insert(publication.user()) != publication.user() {
                contested.insert(name);
            }
        }
    }
    contested
}

/// The texts of a set under a name that is free: its own, with its user, with its process. Also whether other
/// programs of the user may join it, whose name is not that of one process. `None` when no name is free.
fn free_name(
    publication: &Publication,
    definition: &ObjectDefinition,
    names: &BTreeSet<String>,
    contested: &HashSet<String>,
) -> Option<(Vec<DefinitionText>, bool)> {
    let named = |ending: &str| {
        let mut texts = definition.texts.clone();
        texts
            .iter_mut()
            .filter(|text| !text.name.is_empty())
            .for_each(|text| text.name = [&text.name, ending].concat());
        texts
    };
    let is_free = |texts: &Vec<DefinitionText>| !texts.iter().any(|text| names.contains(&folded(&text.name)));
    let (user, process) = (publication.user(), publication.pid());
    let is_contested = definition.texts.iter().any(|text| contested.contains(&folded(&text.name)));
    let endings = match is_own(user) {
        true => vec![(String::new(), true), (format!(" [{process}]"), false)],
        false => vec![
            (if is_contested { format!(" [user {user}]") } else { String::new() }, true),
            (format!(" [user {user}]"), true),
            (format!(" [user {user}, {process}]"), false),
        ],
    };
    endings.into_iter().map(|(ending, shared)| (named(&ending), shared)).find(|(texts, _)| is_free(texts))
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
fn spec_of(
    texts: &[DefinitionText],
    definition: &ObjectDefinition,
    is_own: bool,
) -> Option<ObjectSpec<'static>> {
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    let name = index_of(&mut known, texts, is_own)?;
    let mut counters = Vec::new();
    let mut numerator = name;
    for counter in &definition.counters {
        // A base has the name of the counter that it belongs to.
        if !counter.counter_type.is_base() {
            numerator = index_of(&mut known, &counter.texts, is_own)?;
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
            known.take(counters.len().saturating_add(1).saturating_mul(128), is_own)?;
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
fn index_of(known: &mut Known, texts: &[DefinitionText], is_own: bool) -> Option<u32> {
    let key: Vec<(u16, String, String)> =
        texts.iter().map(|text| (text.language.langid(), text.name.clone(), text.help.clone())).collect();
    let n = known.names.len();
    if let Some(index) = known.names.get(&key) {
        return Some(*index);
    }
    let lengths = texts.iter().map(|text| text.name.len().saturating_add(text.help.len()));
    known.take(lengths.fold(128, usize::saturating_add), is_own)?;
    known.take_name(is_own)?;
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
