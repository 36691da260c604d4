//! An object without instances: `examples/c/myperf1` again, with the same names (its .ini) and the same
//! bytes.
#![forbid(unsafe_code)]

mod random;

use tallymon_provider::library::author::{Answer, DeclaredCounter, DeclaredObject, Opening, ProviderLibrary};
use tallymon_provider::{CounterType, DetailLevel, export_provider};

use random::Random;

/// The listing leaves the levels at 0 and pads the object only; without these two lines it is laid out as
/// usual.
const LEVEL: DetailLevel = DetailLevel(0);
const MY_PERF: DeclaredObject =
    DeclaredObject { detail: LEVEL, packed: true, ..DeclaredObject::single(0, COUNTERS) };
const COUNTERS: &[DeclaredCounter] = &[
    DeclaredCounter { detail: LEVEL, ..DeclaredCounter::text(2, 14) },
    DeclaredCounter { detail: LEVEL, ..DeclaredCounter::new(4, CounterType::PERF_COUNTER_RAWCOUNT_HEX) },
];

struct MyPerf1(Random);

impl ProviderLibrary for MyPerf1 {
    const OBJECTS: &'static [DeclaredObject] = &[MY_PERF];
    const SERVICE: &'static str = "MyPerf1";

    fn open(_: &Opening) -> Result<MyPerf1, u32> {
        Ok(MyPerf1(Random::new()))
    }

    fn collect(&mut self, answer: &mut Answer<'_, '_>) {
        let Some(mut object) = answer.object(0) else { return };
        let mut values = object.single();
        values.set_text(0, "Hello, World!");
        values.set(1, self.0.next() % 10);
    }
}

export_provider!(MyPerf1);
