//! Any bytes as a file with names of counters in any of its forms: an error, or tables that can be written
//! and read back.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tallymon_core::text::ByteOrder;
use tallymon_core::title::{Language, Titles};
use tallymon_log::names::NameFile;

fuzz_target!(|data: &[u8]| {
    for code_page in [None, Some("1251"), Some("shift_jis")] {
        let names = NameFile::parse(data, Some(Language::ENGLISH), code_page).expect("known code pages");
        assert!(names.remarks.len() <= 21, "remarks are bounded");
        for titles in names.tables.values() {
            let bytes = titles.to_multi_sz_names(ByteOrder::Little);
            let again = Titles::from_multi_sz(&bytes, &[], ByteOrder::Little);
            assert!(again.expect("what was written can be read").names().eq(titles.names()));
        }
    }
});
