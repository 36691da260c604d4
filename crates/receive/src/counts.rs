//! What the receivers themselves count: the object "Tallymon Receiver", with an instance for each.

use tallymon_provider::CounterType;
use tallymon_provider::shm::{
    CounterSet, Gauge, Instance, NewInstance, PublishError, Publisher, Text, plain_name,
};

const OBJECT: &str = "Tallymon Receiver";
/// The longest text of what was left out last, in bytes.
const LONGEST: u16 = 400;

/// The declaration of the object.
pub(crate) fn set() -> CounterSet {
    let rate = CounterType::PERF_COUNTER_BULK_COUNT;
    let whole = CounterType::PERF_COUNTER_LARGE_RAWCOUNT;
    CounterSet::new(OBJECT)
        .help("What 'tally serve' receives from programs that send StatsD or OTLP.")
        .instances_about(2)
        .counter("Messages/sec", rate)
        .help("Packets of StatsD, or requests of OTLP.")
        .counter("Bytes/sec", rate)
        .help("The bytes of these messages, as they came.")
        .counter("Values/sec", rate)
        .help("Values that were taken.")
        .counter("Left Out/sec", rate)
        .help("Lines, points and messages that were not taken; the counter Last Left Out says why.")
        .counter("Series", whole)
        .help("Series that are there now.")
        .counter("Objects", whole)
        .help("Objects that are there now.")
        .text("Last Left Out", LONGEST)
        .help("Why something was left out last.")
}

/// The counters of one receiver.
#[derive(Debug)]
pub(crate) struct Counts {
    messages: Gauge,
    bytes: Gauge,
    values: Gauge,
    left_out: Gauge,
    series: Gauge,
    objects: Gauge,
    why: Text,
    _instance: Instance,
}

impl Counts {
    pub(crate) fn new(publisher: &Publisher, name: &str) -> Result<Counts, PublishError> {
        let name = plain_name(name);
        let new = NewInstance { name: &name, ..NewInstance::default() };
        let instance = publisher.instance(OBJECT, &new)?;
        Ok(Counts {
            messages: instance.gauge("Messages/sec")?,
            bytes: instance.gauge("Bytes/sec")?,
            values: instance.gauge("Values/sec")?,
            left_out: instance.gauge("Left Out/sec")?,
            series: instance.gauge("Series")?,
            objects: instance.gauge("Objects")?,
            why: instance.text("Last Left Out")?,
            _instance: instance,
        })
    }

    /// One more message, and how many values of it were taken.
    pub(crate) fn message(&mut self, bytes: usize, values: u64) {
        self.messages.add(1);
        self.bytes.add(i64::try_from(bytes).unwrap_or(i64::MAX));
        self.values.add(i64::try_from(values).unwrap_or(i64::MAX));
    }

    /// Something that was not taken.
    pub(crate) fn left_out(&mut self, why: &str) {
        self.left_out.add(1);
        self.why.set(why);
    }

    pub(crate) fn set_lengths(&mut self, series: usize, objects: usize) {
        let wide = |n: usize| u64::try_from(n).unwrap_or(u64::MAX);
        self.series.set(wide(series));
        self.objects.set(wide(objects));
    }
}
