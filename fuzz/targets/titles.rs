//! Any bytes as name tables, in both byte orders and as lines of text: an error with its offset, or a table
//! that can be written and read back.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tallymon_core::text::ByteOrder;
use tallymon_core::title::{Language, Titles};

fuzz_target!(|data: &[u8]| {
    for order in [ByteOrder::Little, ByteOrder::Big] {
        if let Ok(titles) = Titles::from_multi_sz(data, &[], order) {
            let names = titles.to_multi_sz_names(order);
            let again = Titles::from_multi_sz(&names, &[], order).expect("what was written can be read");
            assert!(again.names().eq(titles.names()));
        }
        let _ = Titles::from_damaged_multi_sz(data, data, order);
    }
    if let Ok(text) = core::str::from_utf8(data) {
        let _ = (Titles::from_tsv(text).is_ok(), Language::parse(text));
    }
});
