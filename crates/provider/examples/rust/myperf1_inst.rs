//! An object with instances: `examples/c/myperf1_inst` again, with the same names (its .ini) and the same
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
    DeclaredObject { detail: LEVEL, packed: true, ..DeclaredObject::many(0, COUNTERS) };
const COUNTERS: &[DeclaredCounter] =
    &[DeclaredCounter { detail: LEVEL, ..DeclaredCounter::new(2, CounterType::PERF_COUNTER_RAWCOUNT_HEX) }];

struct MyPerf1Inst(Random);

impl ProviderLibrary for MyPerf1Inst {
    const OBJECTS: &'static [DeclaredObject] = &[MY_PERF];
    const SERVICE: &'static str = "MyPerf1_inst";

    fn open(_: &Opening) -> Result<MyPerf1Inst, u32> {
        Ok(MyPerf1Inst(Random::new()))
    }

    fn collect(&mut self, answer: &mut Answer<'_, '_>) {
        let Some(mut object) = answer.object(0) else { return };
        for (hundred, name) in (1..).zip(["first", "second", "the third"]) {
            object.instance(name, None, None).set(0, hundred * 100 + self.0.next() % 100);
        }
    }
}

export_provider!(MyPerf1Inst);
