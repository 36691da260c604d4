//! Any bytes as a kernel's description of its types: an error, or types that can be asked for anything.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tallymon_linux::bpf::btf::{Btf, Named};

fuzz_target!(|bytes: &[u8]| {
    let Ok(btf) = Btf::parse(bytes) else { return };
    assert!(btf.count() <= bytes.len() / 12);
    let found = btf.find([(Named::Struct, "outer"), (Named::Struct, "inner"), (Named::Function, "outer")]);
    for id in found.into_iter().flatten() {
        for path in ["first", "in.b", "rows[1].a", "in.c[2]", "bits"] {
            if let Ok(field) = btf.field(id, path) {
                assert!(field.of.0 as usize <= btf.count());
            }
        }
    }
});
