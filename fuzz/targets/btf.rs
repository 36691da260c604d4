//! Any bytes as a kernel's type information: an error, or types that answer every query.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tallymon_linux::internals::{Btf, Named};

fuzz_target!(|bytes: &[u8]| {
    let Ok(btf) = Btf::parse(bytes) else { return };
    assert!(btf.count() <= bytes.len() / 12);
    let found = btf.find([
        (Named::Struct, "outer"),
        (Named::Struct, "inner"),
        (Named::Function, "outer"),
        (Named::Variable, "state"),
        (Named::Variable, "count"),
        (Named::Enumeration, "item"),
        (Named::Enumeration, "wide"),
        (Named::Values, "EMPTY"),
        (Named::Section, ".data..percpu"),
    ]);
    for id in found.into_iter().flatten() {
        let whole = btf.whole(id);
        if let Ok(members) = btf.members(id) {
            assert!(members.len() <= bytes.len() / 12);
        }
        let fields =
            ["first", "in.b", "rows[1].a", "in.c[2]", "bits", "misses"].map(|path| btf.field(id, path));
        for field in fields.into_iter().chain([whole]).flatten() {
            assert!(field.of.0 as usize <= btf.count());
        }
        if let [.., Some(section)] = found {
            let _ = btf.place(section, id);
        }
        for name in ["SOME", "BIG", "FULL"] {
            let _ = btf.value(id, name);
        }
    }
});
