//! Objects without code of their own: their table has a source expression for each counter.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use tallymon_provider::{
    Absence, CollectRequest, CounterBlockMut, CounterSpec, CounterType, DetailLevel, Frequency, InstanceKind,
    ObjectLayout, ObjectSpec, ObjectsWriter, PerfTime,
};

use super::object::Object;
use super::spec::{Origin, object};
use crate::kernel::proc::flat::{Key, Number, find};
use crate::objects::expression::{Expression, File};
use crate::sources::Sources;
use crate::sources::missing::{Missing, is_unread};

/// Lists the instances of an object: their names, and the directories of their files.
pub(super) type Instances = fn(&mut Sources) -> Result<Vec<(String, PathBuf)>, Absence>;

/// Returns the path of a file, from the directory of an instance and a relative path; or why it has none.
pub(super) type FileLocator = fn(&mut Sources, &Path, &str) -> Result<PathBuf, Absence>;

/// An object whose values are found by source expressions.
pub(super) struct Table {
    layout: ObjectLayout<'static>,
    origins: &'static [Origin],
    expressions: Vec<Expression>,
    /// The files, and the sorted keys that are needed from them.
    files: BTreeMap<File, Vec<Key>>,
    instances: Option<Instances>,
    /// Returns the path of an instance's file.
    locate: FileLocator,
    /// Whether there is an instance `_Total`, the sum of all others.
    total: bool,
    /// Whether the files of instances belong to control groups, and stay open.
    of_groups: bool,
    /// The absence of a number that its file does not have.
    missing: Absence,
}

type Values = Vec<Result<u64, Absence>>;

impl Table {
    /// An object without instances. Its help index follows its name index, and its first counter is the
    /// default one.
    pub(super) fn one(name: u32, counters: &'static [CounterSpec], origins: &'static [Origin]) -> Table {
        Table::new(name, InstanceKind::None, counters, origins)
    }

    /// An object with instances.
    pub(super) fn many(
        name: u32,
        counters: &'static [CounterSpec],
        origins: &'static [Origin],
        instances: Instances,
    ) -> Table {
        let table = Table::new(name, InstanceKind::Many, counters, origins);
        Table { instances: Some(instances), ..table }
    }

    /// The same, with files that are not simply below the directory of their instance.
    pub(super) fn at(self, locate: FileLocator) -> Table {
        Table { locate, ..self }
    }

    /// The same, for devices that omit a number while there is nothing to report.
    pub(super) fn of_devices(self) -> Table {
        Table { missing: Absence::NotFromThisDevice, ..self }
    }

    /// The same, for files of control groups.
    pub(super) fn of_groups(self) -> Table {
        Table { of_groups: true, ..self }
    }

    /// The same, with an instance `_Total`.
    pub(super) fn with_total(self) -> Table {
        Table { total: true, ..self }
    }

    fn new(
        name: u32,
        kind: InstanceKind,
        counters: &'static [CounterSpec],
        origins: &'static [Origin],
    ) -> Table {
        let spec = object(name, name.saturating_add(1), DetailLevel::ADVANCED, 0, kind, counters);
        let expressions: Vec<Expression> =
            origins.iter().map(|origin| Expression::parse(origin.source).unwrap_or_default()).collect();
        let mut files: BTreeMap<File, Vec<Key>> = BTreeMap::new();
        for (file, key) in expressions.iter().flat_map(Expression::keys) {
            files.entry(file).or_default().push(key);
        }
        for keys in files.values_mut() {
            keys.sort();
            keys.dedup();
        }
        let layout = ObjectLayout::new(spec);
        let locate: FileLocator = |_, folder, file| Ok(folder.join(file));
        Table {
            layout,
            origins,
            expressions,
            files,
            instances: None,
            locate,
            total: false,
            of_groups: false,
            missing: Absence::NotInThisKernel,
        }
    }

    /// The values of one instance, whose files are in `folder`.
    fn values(&self, wanted: &[bool], folder: Option<&PathBuf>, sources: &mut Sources) -> Values {
        let mut found: BTreeMap<File, Result<Vec<Option<Number>>, Absence>> = BTreeMap::new();
        for (expression, _) in self.expressions.iter().zip(wanted).filter(|(_, wanted)| **wanted) {
            for (file, _) in expression.keys() {
                let keys = self.files.get(&file).map_or(&[][..], Vec::as_slice);
                found.entry(file).or_insert_with(|| self.look(file, keys, folder, sources));
            }
        }
        let page_size = sources.facts.page_size;
        let value = |(expression, wanted): (&Expression, &bool)| {
            if !wanted {
                return Err(Absence::NotRequested);
            }
            expression.value(page_size, |file, key| {
                let numbers = found.get(&file).ok_or(Absence::Other)?.as_ref().map_err(|absence| *absence)?;
                let at = self.files.get(&file).and_then(|keys| keys.binary_search(&key).ok());
                at.and_then(|at| numbers.get(at)).copied().flatten().ok_or(self.missing).map(Some)
            })
        };
        self.expressions.iter().zip(wanted).map(value).collect()
    }

    /// The numbers of a file.
    fn look(
        &self,
        file: File,
        keys: &[Key],
        folder: Option<&PathBuf>,
        sources: &mut Sources,
    ) -> Result<Vec<Option<Number>>, Absence> {
        let find = |bytes: &[u8]| find(file.0, file.form(), bytes, keys).map_err(|_| Absence::ReadFailed);
        if let Some(front) = sources.head(file.0, keys) {
            let found = find(front)?;
            if found.iter().all(Option::is_some) {
                return Ok(found);
            }
            sources.head_was_short();
        }
        let bytes = match folder {
            Some(folder) if !file.0.starts_with('/') => {
                let path = (self.locate)(sources, folder, file.0)?;
                if self.of_groups && path.starts_with(&sources.root.sys) {
                    sources.text_of_group(path)?
                } else {
                    sources.text_of(path)?
                }
            }
            _ => sources.text(file.0)?,
        };
        find(bytes)
    }

    fn write(&self, block: &mut CounterBlockMut<'_>, values: &Values) {
        write(self.layout.spec().counters, block, values, 0);
    }
}

/// Writes the values of an instance, which follow `first` other counters; a fraction is scaled to fit
/// together with its base.
pub(super) fn write(
    counters: &[CounterSpec],
    block: &mut CounterBlockMut<'_>,
    values: &[Result<u64, Absence>],
    first: usize,
) {
    let base = |position: usize| {
        let next = position.saturating_add(1);
        let counter = counters.get(next)?;
        if counter.counter_type != CounterType::PERF_RAW_BASE {
            return None;
        }
        values.get(next)?.ok()
    };
    for (position, value) in values.iter().enumerate() {
        let locate = position.saturating_add(first);
        match value {
            Ok(value) => match base(position) {
                Some(base) => block.set_fraction(locate, *value, base),
                None if counters.get(position).is_some_and(is_base) => {}
                None => block.set(locate, *value),
            },
            Err(absence) => block.absent([locate], *absence),
        }
    }
}

fn is_base(counter: &CounterSpec) -> bool {
    counter.counter_type == CounterType::PERF_RAW_BASE
}

/// Adds the values of an instance to the total. A value that some instances lack is the sum of the others.
pub(super) fn add(total: &mut [Result<u64, Absence>], values: &[Result<u64, Absence>]) {
    for (total, value) in total.iter_mut().zip(values) {
        *total = match (*total, *value) {
            (Ok(sum), Ok(value)) => Ok(sum.wrapping_add(value)),
            (Ok(sum), Err(_)) => Ok(sum),
            (Err(_), value) => value,
        };
    }
}

/// A sum over instances that may be unreadable. A sum that lacks one of them is marked as partial. An
/// instance that has no such value is missing in no sum.
pub(super) struct TableSum {
    values: Values,
    /// For each value: what is missing, and how many instances have it, with the unreadable ones.
    parts: Vec<(Missing, u32)>,
}

impl TableSum {
    /// Begins with these values, which are no instance.
    pub(super) fn new(values: impl IntoIterator<Item = Result<u64, Absence>>) -> TableSum {
        let values: Values = values.into_iter().collect();
        let parts = vec![(Missing::default(), 0); values.len()];
        TableSum { values, parts }
    }

    /// Adds the values of an instance.
    pub(super) fn add(&mut self, values: &[Result<u64, Absence>]) {
        add(&mut self.values, values);
        for ((missing, whole), value) in self.parts.iter_mut().zip(values) {
            match value {
                Err(absence) if is_unread(*absence) => missing.note(*absence),
                Err(_) => continue,
                Ok(_) => {}
            }
            *whole = whole.saturating_add(1);
        }
    }

    /// Writes the sums into a block with space for the numbers of partial ones.
    pub(super) fn write(&self, counters: &[CounterSpec], block: &mut CounterBlockMut<'_>) {
        write(counters, block, &self.values, 0);
        for (position, (missing, whole)) in self.parts.iter().enumerate() {
            // A sum without any readable instance is absent already.
            if let Ok(Some(sum)) = missing.of(*whole) {
                block.partial([position], sum);
            }
        }
    }
}

impl Object for Table {
    fn spec(&self) -> &ObjectSpec<'static> {
        self.layout.spec()
    }

    fn origins(&self) -> &'static [Origin] {
        self.origins
    }

    fn quantum(&self, position: usize) -> u64 {
        self.expressions.get(position).map_or(1, Expression::quantum)
    }

    #[cfg(test)]
    fn expressions(&self) -> Option<&[Expression]> {
        Some(&self.expressions)
    }

    fn collect(&mut self, ask: &CollectRequest<'_>, sources: &mut Sources, out: &mut ObjectsWriter<'_>) {
        let spec = self.layout.spec();
        let mut wanted: Vec<bool> =
            spec.counters.iter().map(|counter| ask.interest.wants(spec.name, counter.name)).collect();
        wanted.resize(self.expressions.len(), true);
        let mut object = out.object(&self.layout, PerfTime(0), Frequency(0));
        let Some(instances) = self.instances else {
            let values = self.values(&wanted, None, sources);
            self.write(&mut object.single(), &values);
            return;
        };
        // No instances: the sum is 0. A counter without a source is absent.
        let nothing = |expression: &Expression| {
            if *expression == Expression::default() { Err(Absence::NotOnThisSystem) } else { Ok(0) }
        };
        let mut total = TableSum::new(self.expressions.iter().map(nothing));
        match instances(sources) {
            Ok(instances) => {
                if !instances.is_empty() {
                    total = TableSum::new(self.expressions.iter().map(|_| Err(Absence::NotRequested)));
                }
                for (name, folder) in instances {
                    let values = self.values(&wanted, Some(&folder), sources);
                    total.add(&values);
                    self.write(&mut object.instance(&name, None, None), &values);
                }
            }
            Err(absence) => total = TableSum::new(self.expressions.iter().map(|_| Err(absence))),
        }
        if self.total {
            total.write(spec.counters, &mut object.sums("_Total", None));
        }
    }
}

/// The accepted directories below one of `/sys`, sorted by name. If it does not exist there are none.
pub(super) fn folders(
    sources: &Sources,
    below: &str,
    accept: impl Fn(&str) -> bool,
) -> Result<Vec<(String, PathBuf)>, Absence> {
    list(sources.root.sys(below), accept)
}

/// The accepted entries of a directory, sorted, with numbers in names by value.
pub(super) fn list(
    folder: PathBuf,
    accept: impl Fn(&str) -> bool,
) -> Result<Vec<(String, PathBuf)>, Absence> {
    let entries = match std::fs::read_dir(&folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) if error.kind() == std::io::ErrorKind::PermissionDenied => {
            return Err(Absence::AccessDenied);
        }
        Err(_) => return Err(Absence::ReadFailed),
    };
    let mut found: Vec<(String, PathBuf)> = entries
        .filter_map(|entry| {
            let entry = entry.ok()?;
            let name = entry.file_name().to_string_lossy().into_owned();
            accept(&name).then(|| (name, entry.path()))
        })
        .collect();
    found.sort_by_cached_key(|(name, _)| natural(name));
    Ok(found)
}

/// A name split into numbers and text, so that `eth2` comes before `eth10`.
fn natural(name: &str) -> Vec<(u64, String)> {
    let mut pieces = Vec::new();
    let mut rest = name;
    while !rest.is_empty() {
        let digits = rest.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(rest.len());
        let (number, behind) = rest.split_at(digits);
        let letters = behind.find(|letter: char| letter.is_ascii_digit()).unwrap_or(behind.len());
        let (word, behind) = behind.split_at(letters);
        pieces.push((number.parse().unwrap_or(0), word.to_string()));
        rest = behind;
    }
    pieces
}

#[cfg(test)]
mod tests {
    use super::super::fake_machine_tests::{System, collect};
    use super::super::spec::Quality;
    use super::*;
    use tallymon_provider::{Interest, Profile, Provider, ValueState};

    #[test]
    fn numbers_in_names_are_numbers() {
        let mut names = ["eth10", "eth2", "a", "intel-rapl:0:0", "intel-rapl:0", "2", "10"];
        names.sort_by_key(|name| natural(name));
        assert_eq!(names, ["a", "eth2", "eth10", "intel-rapl:0", "intel-rapl:0:0", "2", "10"]);
    }

    /// A source that cannot be parsed would silently give a value that is always absent.
    #[test]
    fn every_source_expression_of_the_tables_parses() {
        let mut tables = 0;
        for object in super::super::all() {
            let Some(expressions) = object.expressions() else { continue };
            tables += 1;
            let spec = object.spec();
            assert_eq!(spec.counters.len(), object.origins().len(), "{}", spec.name.0);
            for ((counter, origin), expression) in spec.counters.iter().zip(object.origins()).zip(expressions)
            {
                let locate = format!("{} {}", spec.name.0, counter.name.0);
                assert_eq!(
                    origin.source.is_empty(),
                    origin.quality == super::super::spec::Quality::N,
                    "{locate}"
                );
                assert_eq!(
                    Expression::parse(origin.source).as_ref(),
                    (!origin.source.is_empty()).then_some(expression),
                    "{locate}"
                );
            }
        }
        assert!(tables > 3, "{tables}");
    }

    /// The reference of the counters is generated from the origins, so they have to be true.
    #[test]
    fn every_counter_has_an_origin_and_without_a_source_no_value() {
        let mut system = System::open().unwrap().with_profile(Profile::NtStrict);
        let mut without = 0;
        for spec in system.objects().to_vec() {
            let origins = system.origins(spec.name);
            assert_eq!(origins.len(), spec.counters.len(), "{}", spec.name.0);
            let snapshot = collect(&mut system, spec.name.0, &Interest::everything());
            for (position, (counter, origin)) in spec.counters.iter().zip(origins).enumerate() {
                let none = origin.quality == Quality::N;
                assert_eq!(origin.source.is_empty(), none, "{} {}", spec.name.0, counter.name.0);
                for instance in snapshot.objects().flat_map(|object| object.instances()).filter(|_| none) {
                    let locate =
                        format!("{} {} {:?}", spec.name.0, counter.name.0, instance.name().to_string_lossy());
                    assert_ne!(instance.state(position), ValueState::Present, "{locate}");
                    without += 1;
                }
            }
        }
        assert!(without > 100, "{without}");
    }

    #[test]
    fn sums_skip_missing_values() {
        let mut total = [Err(Absence::NotRequested), Ok(1), Ok(2)];
        add(&mut total, &[Ok(5), Err(Absence::AccessDenied), Ok(u64::MAX)]);
        assert_eq!(total, [Ok(5), Ok(1), Ok(1)]);
    }
}
