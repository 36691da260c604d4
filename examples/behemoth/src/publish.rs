//! The first way: the service publishes in shared memory.

use std::collections::BTreeMap;

use tallymon_provider::InstanceKind;
use tallymon_provider::shm::{CounterSet, Group, Instance, NewInstance, PublishError, Publisher, Text};

use crate::figures::{Figures, Values};
use crate::table::{BEHEMOTH, LANGUAGES, MOST_TEXT, SUMMARY, Table, help, name};

/// Publishes the figures and keeps them up to date.
#[derive(Debug)]
pub struct Published {
    summary: Entry,
    behemoths: BTreeMap<u32, Entry>,
    /// Declared after the instances, so that these are dropped first.
    publisher: Publisher,
}

/// The published values of one table. All its numbers form one group, so that readers see a consistent state.
#[derive(Debug)]
struct Entry {
    numbers: Group,
    texts: Vec<Text>,
    instance: Instance,
}

impl Published {
    /// Publishes under the name `behemoths`, with no instances yet.
    ///
    /// # Errors
    ///
    /// The file cannot be created.
    pub fn start() -> Result<Published, PublishError> {
        let publisher = Publisher::start("behemoths", &[set(&BEHEMOTH), set(&SUMMARY)])?;
        let summary = publisher.single(english(&SUMMARY))?;
        let summary = Entry::new(summary, &SUMMARY)?;
        Ok(Published { summary, behemoths: BTreeMap::new(), publisher })
    }

    /// Sets all values to the figures. Instances come and go with their behemoths.
    ///
    /// # Errors
    ///
    /// There is no space for another instance.
    pub fn show(&mut self, figures: &Figures) -> Result<(), PublishError> {
        self.summary.set(&figures.summary);
        self.behemoths.retain(|id, _| figures.behemoths.iter().any(|row| row.id == *id));
        // Mothers are older, so they precede their calves.
        for row in &figures.behemoths {
            if !self.behemoths.contains_key(&row.id) {
                let mother = row.mother.and_then(|id| self.behemoths.get(&id));
                let new = NewInstance {
                    name: &row.name,
                    id: i32::try_from(row.id).ok(),
                    parent: mother.map(|entry| &entry.instance),
                };
                let instance = self.publisher.instance(english(&BEHEMOTH), &new)?;
                self.behemoths.insert(row.id, Entry::new(instance, &BEHEMOTH)?);
            }
            if let Some(entry) = self.behemoths.get_mut(&row.id) {
                entry.set(&row.values);
            }
        }
        Ok(())
    }
}

impl Entry {
    fn new(instance: Instance, table: &Table) -> Result<Entry, PublishError> {
        let first = table.numbers().next().map_or(0, |counter| counter.number);
        let numbers = instance.group(name(first, "009"))?;
        let texts = table.texts().map(|counter| instance.text(name(counter.number, "009")));
        let texts = texts.collect::<Result<_, _>>()?;
        Ok(Entry { numbers, texts, instance })
    }

    fn set(&mut self, values: &Values) {
        self.numbers.update(|numbers| {
            values.numbers.iter().enumerate().for_each(|(position, value)| numbers.set(position, *value));
        });
        self.texts.iter().zip(&values.texts).for_each(|(text, words)| text.set(words));
    }
}

fn english(table: &Table) -> &'static str {
    let [english, ..] = table.published;
    english
}

/// The declaration of a table in all its languages.
fn set(table: &Table) -> CounterSet {
    let mut set = CounterSet::new(english(table));
    for ((language, digits), published) in LANGUAGES.into_iter().zip(table.published) {
        set = set.name_in(language, published).help_in(language, help(table.object.number, digits));
    }
    if table.object.instances == InstanceKind::Many {
        set = set.instances_about(32);
    }
    let texts = |mut set: CounterSet, place: u32| {
        for (language, digits) in LANGUAGES {
            set = set.name_in(language, name(place, digits)).help_in(language, help(place, digits));
        }
        set
    };
    let mut set = set.together(|mut set| {
        for counter in table.numbers().filter(|counter| !counter.counter_type.is_base()) {
            let english = name(counter.number, "009");
            set = if counter.counter_type.needs_base() {
                set.with_usual_base(english, counter.counter_type)
            } else {
                set.counter(english, counter.counter_type)
            };
            set = texts(set, counter.number);
        }
        set
    });
    for counter in table.texts() {
        set = texts(set.text(name(counter.number, "009"), MOST_TEXT), counter.number);
    }
    set
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_tables_can_be_published() {
        for table in [BEHEMOTH, SUMMARY] {
            assert_eq!(set(&table).check(), Ok(()));
        }
    }
}
