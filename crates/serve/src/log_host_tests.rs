//! Who waits while a log is read for somebody else.

use std::cell::Cell;

use tallymon_testkit::Scratch;

use super::*;

#[test]
fn nobody_waits_for_a_log_that_is_read_for_the_times_of_its_providers() {
    let folder = Scratch::in_memory();
    let names = ["State", "Last Collection Nanoseconds", "Collections"]
        .map(|counter| format!("\"\\\\web01\\Tallymon Provider(Process)\\{counter}\""));
    let mut text = format!("\"(PDH-CSV 4.0) (UTC)(0)\",{}\r\n", names.join(","));
    for nth in 1..=4 {
        text += &format!("\"03/01/2026 09:40:0{nth}.000\",\"1\",\"{nth}000000\",\"{nth}\"\r\n");
    }
    let path = folder.join("told.csv");
    std::fs::write(&path, text).unwrap();
    let log = LogHost::new(&path, "told.csv".to_owned());
    assert!(!log.reads_all_for_providers(None), "it is not open yet");
    log.open(&ReadOptions::default());
    assert!(log.reads_all_for_providers(None));
    let looks = Cell::new(0);
    let looked = || {
        looks.set(looks.get() + 1);
        // Another request asks what is known.
        assert!(log.times.try_lock().is_ok() && log.reads_all_for_providers(None));
        true
    };
    let found = log.providers(None, None, &looked).unwrap();
    assert_eq!((found.rows[0].median, found.rows[0].times), (Some(0.002), 4));
    assert!(looks.get() > 1);
    // It was read once.
    assert!(!log.reads_all_for_providers(None));
    let found = log.providers(None, None, &|| panic!("it is read again")).unwrap();
    assert_eq!((found.rows[0].p99, found.rows[0].times), (Some(0.004), 4));
    // A client that left learns nothing, and nothing of it is kept.
    let other = LogHost::new(&path, "told.csv".to_owned());
    other.open(&ReadOptions::default());
    let _ = other.providers(None, None, &|| false);
    assert!(other.reads_all_for_providers(None));
}
