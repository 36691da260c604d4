//! The second way: a provider library in NT's form, which gets its figures from the service.

use tallymon_provider::library::author::{Answer, DeclaredObject, Opening, ProviderLibrary};
use tallymon_provider::{CounterBlockMut, Frequency, Parent, PerfTime, TitleIndex, export_provider};

use crate::figures::Values;
use crate::socket::{self, Client};
use crate::table::{BEHEMOTH, SUMMARY, Table};

/// Ticks per second of the clock for all times.
const FREQUENCY: Frequency = Frequency(10_000_000);

/// NT's error code for a source that does not answer.
const ERROR_NOT_READY: u32 = 21;

/// The library.
#[derive(Debug)]
pub struct Behemoths {
    client: Client,
    /// Index of the name of the object "Behemoth", which is also the mothers' object.
    behemoth: TitleIndex,
}

impl ProviderLibrary for Behemoths {
    const OBJECTS: &'static [DeclaredObject] = &[BEHEMOTH.object, SUMMARY.object];
    const SERVICE: &'static str = "Behemoth";

    fn open(opening: &Opening) -> Result<Behemoths, u32> {
        // The service need not be running yet.
        Ok(Behemoths { client: Client::new(socket::path()), behemoth: opening.first_counter })
    }

    fn collect(&mut self, answer: &mut Answer<'_, '_>) {
        // Both objects are from the same instant.
        let Ok(figures) = self.client.figures() else { return answer.fail(ERROR_NOT_READY) };
        let time = PerfTime(i64::try_from(figures.time).unwrap_or(i64::MAX));
        if let Some(mut object) = answer.object_at(0, time, FREQUENCY) {
            for row in &figures.behemoths {
                let mother = figures.mother_of(row).and_then(|position| u32::try_from(position).ok());
                let parent = mother.map(|instance| Parent { object: self.behemoth, instance });
                let mut block = object.instance(&row.name, parent, i32::try_from(row.id).ok());
                write(&mut block, &BEHEMOTH, &row.values);
            }
        }
        if let Some(mut object) = answer.object_at(1, time, FREQUENCY) {
            write(&mut object.single(), &SUMMARY, &figures.summary);
        }
    }
}

export_provider!(Behemoths, BehemothOpen, BehemothCollect, BehemothClose);

fn write(block: &mut CounterBlockMut<'_>, table: &Table, values: &Values) {
    values.numbers.iter().enumerate().for_each(|(position, number)| block.set(position, *number));
    let positions = table.numbers().count()..;
    values.texts.iter().zip(positions).for_each(|(text, position)| block.set_text(position, text));
}
