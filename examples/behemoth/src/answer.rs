//! The second way: what the provider library answers, made of figures that it asks the service for.

use std::io;
use std::path::PathBuf;

use tallymon_core::request::{Request, RequestKind};
use tallymon_provider::{
    CounterBlockMut, CounterSpec, CounterType, DetailLevel, Frequency, HelpIndex, InstanceKind, ObjectLayout,
    ObjectSpec, ObjectsWriter, Parent, PerfTime, TitleIndex,
};

use crate::figures::{Figures, Values};
use crate::socket::Client;
use crate::table::{BEHEMOTH, SUMMARY, Table, place};

/// Ticks per second of the clock of all times.
const FREQUENCY: Frequency = Frequency(10_000_000);

/// Answers requests.
#[derive(Debug)]
pub struct Answers {
    behemoth: ObjectLayout<'static>,
    summary: ObjectLayout<'static>,
    client: Client,
}

impl Answers {
    /// With the first indexes of the service, as they were given to its names.
    pub fn new(first_counter: u32, first_help: u32, socket: PathBuf) -> Answers {
        let layout = |table: &Table| ObjectLayout::new(spec(table, first_counter, first_help));
        Answers { behemoth: layout(&BEHEMOTH), summary: layout(&SUMMARY), client: Client::new(socket) }
    }

    /// Writes the objects that a query means, all of the same moment, and says how many they are.
    ///
    /// # Errors
    ///
    /// The service does not answer.
    pub fn collect(&mut self, query: &str, buffer: &mut Vec<u8>) -> io::Result<u32> {
        let request = Request::parse(query);
        let wants = |layout: &ObjectLayout<'_>| match &request.kind {
            RequestKind::Global | RequestKind::OldGlobal => true,
            RequestKind::Objects(objects) => objects.contains(&layout.spec().name),
            _ => false,
        };
        let mut out = ObjectsWriter::growing(buffer);
        let wanted = (wants(&self.behemoth), wants(&self.summary));
        if wanted == (false, false) {
            return Ok(0);
        }
        let figures = self.client.figures()?;
        let time = PerfTime(i64::try_from(figures.time).unwrap_or(i64::MAX));
        if wanted.0 {
            write_behemoths(&mut out, &self.behemoth, time, figures);
        }
        if wanted.1 {
            write(&mut out.object(&self.summary, time, FREQUENCY).single(), &SUMMARY, &figures.summary);
        }
        Ok(out.count())
    }
}

fn write_behemoths(
    out: &mut ObjectsWriter<'_>,
    layout: &ObjectLayout<'_>,
    time: PerfTime,
    figures: &Figures,
) {
    let mut writer = out.object(layout, time, FREQUENCY);
    for row in &figures.behemoths {
        let mother = figures.mother_of(row).and_then(|position| u32::try_from(position).ok());
        let parent = mother.map(|instance| Parent { object: layout.spec().name, instance });
        let mut block = writer.instance(&row.name, parent, i32::try_from(row.id).ok());
        write(&mut block, &BEHEMOTH, &row.values);
    }
}

fn write(block: &mut CounterBlockMut<'_>, table: &Table, values: &Values) {
    values.numbers.iter().enumerate().for_each(|(position, number)| block.set(position, *number));
    let texts = table.types().count()..;
    values.texts.iter().zip(texts).for_each(|(text, position)| block.set_text(position, text));
}

/// The declaration of a table under the indexes that its names have here.
fn spec(table: &Table, first_counter: u32, first_help: u32) -> ObjectSpec<'static> {
    let index = |first: u32, symbol: &str| first.saturating_add(place(symbol).unwrap_or(0));
    let counter = |symbol: &str, counter_type: CounterType, size| CounterSpec {
        name: TitleIndex(index(first_counter, symbol)),
        help: HelpIndex(index(first_help, symbol)),
        counter_type,
        scale: 0,
        detail: DetailLevel::NOVICE,
        size,
        shares: None,
    };
    let numbers = table.types().map(|(symbol, counter_type)| counter(symbol, counter_type, None));
    let texts = table.texts.iter().map(|(symbol, most)| {
        // A byte of UTF-8 is at most one unit of UTF-16, and there is a zero behind them.
        let size = u32::from(*most).saturating_add(1).saturating_mul(2).next_multiple_of(8);
        counter(symbol, CounterType::PERF_COUNTER_TEXT, Some(size))
    });
    let counters: Vec<CounterSpec> = numbers.chain(texts).collect();
    ObjectSpec {
        name: TitleIndex(index(first_counter, table.symbol)),
        help: HelpIndex(index(first_help, table.symbol)),
        detail: DetailLevel::NOVICE,
        default_counter: 0,
        instances: if table.has_instances { InstanceKind::Many } else { InstanceKind::None },
        status: false,
        // Made once in the life of a library, and used until its end.
        counters: counters.leak(),
    }
}
