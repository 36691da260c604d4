//! Takes the sample of one counter out of a counter block: which clock or base belongs to it is chosen here, once.

use super::view::{CounterBlock, CounterDefinition, Header, ObjectHeader, RawValue};
use crate::counter::{CounterType, Denominator};
use crate::flow::{Absence, NoValue, Sample, ValueState};
use crate::time::Frequency;

/// The sample of the counter at `position` of `definitions`.
pub(super) fn sample(
    header: &Header,
    object: &ObjectHeader,
    definitions: &[CounterDefinition],
    position: usize,
    block: CounterBlock<'_>,
) -> Result<Sample, NoValue> {
    let definition = definitions.get(position).ok_or(NoValue::NoCounter)?;
    let counter_type = definition.counter_type;
    if let ValueState::Absent(absence) = state(definitions, position, block) {
        return Err(NoValue::NoData(absence));
    }
    let first = number(definition, block)?;
    let follower = definitions.get(position.saturating_add(1)).filter(|next| next.counter_type.is_base());
    let base = || number(follower.ok_or(NoValue::NoBase)?, block);
    let (second, frequency) = match counter_type.denominator() {
        Denominator::None => (0, Frequency::default()),
        Denominator::PerfTime => (header.perf_time.0.cast_unsigned(), header.perf_freq),
        Denominator::Time100ns => {
            (header.perf_time_100ns.0, Frequency(crate::time::UNITS_PER_SECOND.cast_signed()))
        }
        Denominator::ObjectTime => (object.perf_time.0.cast_unsigned(), object.perf_freq),
        Denominator::Base => (base()?, Frequency::default()),
        Denominator::BaseAndPerfFrequency => (base()?, header.perf_freq),
    };
    let multi_count = if counter_type.multi() { multi_count(definition, follower, block)? } else { 1 };
    Ok(Sample { counter_type, first, second, frequency, multi_count, time: header.perf_time_100ns })
}

/// The state of a value as the object's status counter says; present when it has none.
pub(super) fn state(
    definitions: &[CounterDefinition],
    position: usize,
    block: CounterBlock<'_>,
) -> ValueState {
    let Some(status) = definitions.last().filter(|last| last.counter_type == CounterType::VALUE_STATUS)
    else {
        return ValueState::Present;
    };
    let byte = match block.raw(status) {
        Ok(RawValue::Bytes(bytes)) => bytes.get(position).copied(),
        _ => None,
    };
    byte.map_or(ValueState::Present, ValueState::from_byte)
}

fn number(definition: &CounterDefinition, block: CounterBlock<'_>) -> Result<u64, NoValue> {
    match block.raw(definition) {
        Ok(RawValue::Number(number)) => Ok(number),
        Ok(RawValue::Bytes(_) | RawValue::Nothing) => Err(NoValue::NotNumeric),
        // The counter points outside of this block: its provider has no value for it.
        Err(_) => Err(NoValue::NoData(Absence::Other)),
    }
}

/// How many resources a multi timer adds up: the base behind it, or the number directly behind its value.
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
