//! Any text as a counter path: an error with an offset inside the text, or a path whose printed form means
//! the same.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tallymon_core::path::{CounterPath, InstancePath, Pattern};

fuzz_target!(|text: &str| {
    match CounterPath::parse(text) {
        Ok(parsed) => {
            let path = parsed.path;
            if path.round_trips() {
                let again = CounterPath::parse(&path.to_string()).expect("it says that it can be printed");
                assert_eq!(again.path, path);
            }
            if let Some(instance) = &path.instance {
                let _ = instance.candidates().count();
                let _ = instance.pattern().matches(Some("parent"), "name");
            }
        }
        Err(error) => assert!(text.is_char_boundary(error.at)),
    }
    let _ = InstancePath::parse(text);
    let _ = Pattern::new(text).matches(text);
});
