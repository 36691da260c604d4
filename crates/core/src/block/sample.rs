//! Reads the sample of one counter from a counter block. The only place that chooses which clock or base
//! belongs to a counter.

use super::states;
use super::view::{CounterBlock, CounterDefinition, Header, ObjectHeader, RawValue};
use crate::counter::{CounterType, Denominator};
use crate::flow::{Absence, NoValue, Sample, ValueState};
use crate::time::{FileTime, Frequency};

/// Reads the samples of one counter from the counter blocks of its object. Everything that is the same for
/// all instances is looked up once.
#[derive(Debug, Clone, Copy)]
pub(super) struct SampleReader<'s> {
    definition: &'s CounterDefinition,
    position: usize,
    /// The status counter of the object.
    status: Option<&'s CounterDefinition>,
    /// The next definition, if it is a base.
    follower: Option<&'s CounterDefinition>,
    divisor: Divisor,
    multi: bool,
    time: FileTime,
}

/// The second number of a sample: what the counter is divided by.
#[derive(Debug, Clone, Copy)]
enum Divisor {
    /// The same for all instances: a clock, or nothing.
    Of(u64, Frequency),
    /// The base after the counter.
    Base(Frequency),
}

impl<'s> SampleReader<'s> {
    /// A reader for the counter at `position` of `definitions`; `None` if there is no such counter.
    pub(super) fn new(
        header: &Header,
        object: &ObjectHeader,
        definitions: &'s [CounterDefinition],
        position: usize,
    ) -> Option<SampleReader<'s>> {
        let definition = definitions.get(position)?;
        let divisor = match definition.counter_type.denominator() {
            Denominator::None => Divisor::Of(0, Frequency::default()),
            Denominator::PerfTime => Divisor::Of(header.perf_time.0.cast_unsigned(), header.perf_freq),
            Denominator::Time100ns => {
                let frequency = Frequency(crate::time::UNITS_PER_SECOND.cast_signed());
                Divisor::Of(header.perf_time_100ns.0, frequency)
            }
            Denominator::ObjectTime => Divisor::Of(object.perf_time.0.cast_unsigned(), object.perf_freq),
            Denominator::Base => Divisor::Base(Frequency::default()),
            Denominator::BaseAndPerfFrequency => Divisor::Base(header.perf_freq),
        };
        Some(SampleReader {
            definition,
            position,
            status: definitions.last().filter(|last| last.counter_type == CounterType::VALUE_STATUS),
            follower: definitions.get(position.saturating_add(1)).filter(|next| next.counter_type.is_base()),
            divisor,
            multi: definition.counter_type.multi(),
            time: header.perf_time_100ns,
        })
    }

    /// The definition of the counter.
    pub(super) const fn definition(&self) -> &'s CounterDefinition {
        self.definition
    }

    /// The sample in the counter block of an instance.
    #[inline]
    pub(super) fn sample(&self, block: CounterBlock<'_>) -> Result<Sample, NoValue> {
        if let ValueState::Absent(absence) = self.state(block) {
            return Err(NoValue::NoData(absence));
        }
        let first = number(self.definition, block)?;
        let (second, frequency) = match self.divisor {
            Divisor::Of(number, frequency) => (number, frequency),
            Divisor::Base(frequency) => (number(self.follower.ok_or(NoValue::NoBase)?, block)?, frequency),
        };
        let multi_count = if self.multi { multi_count(self.definition, self.follower, block)? } else { 1 };
        let counter_type = self.definition.counter_type;
        Ok(Sample { counter_type, first, second, frequency, multi_count, time: self.time })
    }

    /// The state of the value according to the object's status counter; present if the object has none.
    #[inline]
    pub(super) fn state(&self, block: CounterBlock<'_>) -> ValueState {
        let Some(status) = self.status else { return ValueState::Present };
        let byte = match block.raw(status) {
            Ok(RawValue::Bytes(bytes)) => bytes.get(self.position).copied(),
            _ => None,
        };
        let Some(byte) = byte else { return ValueState::Present };
        if states::is_partial(byte) { partial(status, block, byte) } else { ValueState::from_byte(byte) }
    }
}

/// The state of a partial sum. One without numbers is no value: it would pass for a whole sum.
#[cold]
fn partial(status: &CounterDefinition, block: CounterBlock<'_>, byte: u8) -> ValueState {
    let behind = status.counter_offset.saturating_add(status.counter_size);
    let behind = usize::try_from(behind).unwrap_or(usize::MAX);
    let number = |at: usize| block.u32_at(behind.saturating_add(at)).ok();
    states::read(byte, number).map_or(ValueState::Absent(Absence::Other), ValueState::Partial)
}

#[inline]
fn number(definition: &CounterDefinition, block: CounterBlock<'_>) -> Result<u64, NoValue> {
    match block.raw(definition) {
        Ok(RawValue::Number(number)) => Ok(number),
        Ok(RawValue::Bytes(_) | RawValue::Nothing) => Err(NoValue::NotNumeric),
        // The counter points outside this block: its provider has no value for it.
        Err(_) => Err(NoValue::NoData(Absence::Other)),
    }
}

/// How many resources a multi timer sums: the base after it, or the number directly after its value.
fn multi_count(
    definition: &CounterDefinition,
    follower: Option<&CounterDefinition>,
    block: CounterBlock<'_>,
) -> Result<u32, NoValue> {
    match follower {
        Some(base) => Ok(u32::try_from(number(base, block)?).unwrap_or(u32::MAX)),
        None => {
            let behind = definition.counter_offset.saturating_add(definition.counter_size);
            let behind = usize::try_from(behind).unwrap_or(usize::MAX);
            block.u32_at(behind).map_err(|_| NoValue::NoBase)
        }
    }
}
