//! Any bytes as a data block: an error, or a block whose every value can be read.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tallymon_core::block::{DataBlock, Snapshot};
use tallymon_core::counter;

fuzz_target!(|data: &[u8]| {
    if let Ok(block) = DataBlock::parse(data) {
        let _ = block.system_name();
        for object in block.objects().flatten() {
            let _ = object.default_counter();
        }
    }
    let Ok(snapshot) = Snapshot::new(data.to_vec()) else { return };
    for object in snapshot.objects() {
        let _ = object.default_counter();
        for instance in object.instances() {
            let _ = (instance.name().to_string_lossy(), instance.parent_instance().is_some());
            // The limit bounds the work: definitions times instances could grow with the square of the input.
            for position in 0..object.counters().len().min(64) {
                let _ = (instance.state(position), instance.text(position));
                if let Ok(sample) = instance.sample(position) {
                    let value = counter::compute(Some(&sample), &sample);
                    assert!(value.ok().and_then(|value| value.as_f64()).is_none_or(f64::is_finite));
                }
            }
        }
    }
});
