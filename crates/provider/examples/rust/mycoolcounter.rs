//! A counter more in the object System: the idea that the article ends with. A service is put in front of the
//! object, is handed what the system answered, and returns it with one counter behind the others.
//!
//! ```text
//! cargo build -p tallymon-provider --example mycoolcounter
//! tally provider add crates/provider/examples/rust/mycoolcounter/mycoolcounter.ini --wraps 2 \
//!     --library target/debug/examples/libmycoolcounter.so --open Open --collect Collect --close Close
//! tally get '\System\MyCoolCounter'
//! tally provider remove MyCoolCounter
//! ```
#![forbid(unsafe_code)]

use tallymon_provider::library::author::{Answer, DeclaredCounter, DeclaredObject, Opening, ProviderLibrary};
use tallymon_provider::{CounterSpec, CounterType, Object, export_provider, with_counter};

/// The number in `mycoolcounter.h`.
const COUNTER: DeclaredCounter = DeclaredCounter::new(0, CounterType::PERF_COUNTER_RAWCOUNT);

struct MyCoolCounter {
    counter: CounterSpec,
    /// How often somebody looked at the object.
    looks: u64,
}

impl ProviderLibrary for MyCoolCounter {
    const OBJECTS: &'static [DeclaredObject] = &[];
    const SERVICE: &'static str = "MyCoolCounter";
    const WRAPS: bool = true;

    fn open(opening: &Opening) -> Result<MyCoolCounter, u32> {
        Ok(MyCoolCounter { counter: COUNTER.spec(opening), looks: 0 })
    }

    fn wrap(&mut self, original: &Object<'_>, out: &mut Vec<u8>) {
        self.looks = self.looks.wrapping_add(1);
        if with_counter(original, &self.counter, |_| self.looks, out).is_err() {
            out.extend_from_slice(original.bytes());
        }
    }

    fn collect(&mut self, _: &mut Answer<'_, '_>) {}
}

export_provider!(MyCoolCounter);
