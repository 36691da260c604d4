//! Any bytes as a method's signature: an error with an offset inside the bytes, or text of bounded length.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tallymon_clr::names::{RawName, short_types};
use tallymon_clr::signature::{MAX_TEXT, TypeNames, method};

/// Names for the numbers of types and parameters, some of them unknown.
struct Names;

impl TypeNames for Names {
    fn type_name(&mut self, token: u32) -> Option<String> {
        (token & 1 == 0).then(|| format!("N.T`{}", token & 0xFF))
    }

    fn type_parameter(&mut self, number: u32) -> Option<String> {
        (number < 3).then(|| "T".to_string())
    }

    fn method_parameter(&mut self, number: u32) -> Option<String> {
        (number < 3).then(|| "M".to_string())
    }
}

fuzz_target!(|bytes: &[u8]| {
    match method(bytes, &mut Names) {
        Ok(signature) => {
            let list = signature.parameter_list();
            assert!(list.len() <= 2 * MAX_TEXT);
            let _ = short_types(&list);
        }
        Err(error) => assert!(error.at <= bytes.len()),
    }
    // The same bytes as compiler-generated names.
    let text = String::from_utf8_lossy(bytes);
    let name = RawName::decode(&text, bytes.len().is_multiple_of(2));
    let _ = name.display();
    let _ = name.raw();
});
