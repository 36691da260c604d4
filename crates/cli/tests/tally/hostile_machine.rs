//! A machine all of whose names are hostile, for the tests of this machine and those of other ones.

use tallymon::core::block::{
    BlockWriter, CounterSpec, InstanceKind, ObjectLayout, ObjectSpec, Snapshot, WriteHeader,
};
use tallymon::core::counter::CounterType;
use tallymon::core::flow::{Source, SourceError};
use tallymon::core::request::Request;
use tallymon::core::time::{FileTime, Frequency, PerfTime};
use tallymon::core::title::{Language, TitleIndex, Titles};

/// A title for the terminal, a cleared screen in C1, a deleted letter, a turned text, a line that is not
/// ours, and letters without width.
pub(crate) const HOSTILE: &str =
    "a\u{1b}]0;own\u{7}\u{9b}2J\u{7f}\u{202e}\u{2066}\u{2028}\u{200b}\u{e0041}\r\n\nFORGED line\tz";

/// One object with a counter, a text, and an instance for each name.
pub(crate) struct HostileMachine {
    /// The index of the object; those of the counter and of the text follow it.
    pub(crate) object: u32,
    /// What the names of the object, the counter and the text begin with; their indexes follow.
    pub(crate) titles: [&'static str; 3],
    pub(crate) instances: Vec<String>,
    pub(crate) text: &'static str,
    /// The time of a sample, by its number.
    pub(crate) clock: fn(u64) -> FileTime,
    /// How many samples were taken: the value of the counter.
    pub(crate) samples: u64,
}

impl HostileMachine {
    fn indexes(&self) -> [TitleIndex; 3] {
        [0, 2, 4].map(|nth| TitleIndex(self.object + nth))
    }
}

impl Source for HostileMachine {
    fn snapshot(&mut self, _: &Request) -> Result<Snapshot, SourceError> {
        self.samples += 1;
        let time = (self.clock)(self.samples);
        let header = WriteHeader {
            system_name: HOSTILE,
            default_object: -1,
            perf_time: PerfTime(time.0.cast_signed()),
            perf_freq: Frequency(10_000_000),
            perf_time_100ns: time,
            system_time: time,
        };
        let [object, counter, text] = self.indexes();
        let specs = [
            CounterSpec::new(counter, CounterType::PERF_COUNTER_RAWCOUNT),
            CounterSpec { size: Some(256), ..CounterSpec::new(text, CounterType::PERF_COUNTER_TEXT) },
        ];
        let layout = ObjectLayout::new(ObjectSpec::new(object, InstanceKind::Many, &specs));
        let mut bytes = Vec::new();
        let mut writer = BlockWriter::growing(&mut bytes, &header);
        let mut object = writer.objects().object(&layout, header.perf_time, header.perf_freq);
        for name in &self.instances {
            let mut block = object.instance(name, None, None);
            block.set(0, self.samples);
            block.set_text(1, self.text);
        }
        drop(object);
        writer.finish().unwrap();
        Ok(Snapshot::new(bytes)?)
    }

    fn titles(&mut self, _: Language) -> Result<Titles, SourceError> {
        let mut titles = Titles::default();
        for (index, name) in self.indexes().into_iter().zip(self.titles) {
            titles.insert_name(index, format!("{name}{}", index.0));
        }
        Ok(titles)
    }
}
