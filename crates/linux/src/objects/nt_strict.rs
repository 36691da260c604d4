//! The objects of NT without a source on Linux, which the profile `nt-strict` shows.
//!
//! Objects for protocols, lines or queues have no instances. The two objects without instances, Browser and
//! Telephony, have all their counters, each marked as not available on Linux.

use tallymon_provider::CounterSpec;

use super::object::Object;
use super::spec::{Origin, rows};
use super::table::Table;

rows! { BROWSER_COUNTERS, BROWSER_ORIGINS {
    54 PERF_COUNTER_BULK_COUNT 0 NOVICE: N;
    78 PERF_COUNTER_BULK_COUNT 0 NOVICE: N;
    188 (908_029) PERF_COUNTER_BULK_COUNT 0 NOVICE: N;
    80 PERF_COUNTER_COUNTER 0 NOVICE: N;
    82 PERF_COUNTER_COUNTER 0 NOVICE: N;
    84 PERF_COUNTER_COUNTER 0 NOVICE: N;
    156 (908_031) PERF_COUNTER_COUNTER 0 NOVICE: N;
    158 (908_033) PERF_COUNTER_COUNTER 0 NOVICE: N;
    160 PERF_COUNTER_COUNTER 0 NOVICE: N;
    190 PERF_COUNTER_COUNTER 0 NOVICE: N;
    162 PERF_COUNTER_RAWCOUNT 0 NOVICE: N;
    164 PERF_COUNTER_RAWCOUNT 0 NOVICE: N;
    166 PERF_COUNTER_RAWCOUNT 0 NOVICE: N;
    168 PERF_COUNTER_COUNTER 0 NOVICE: N;
    170 PERF_COUNTER_RAWCOUNT 0 NOVICE: N;
    806 PERF_COUNTER_RAWCOUNT 0 NOVICE: N;
    808 PERF_COUNTER_RAWCOUNT 0 NOVICE: N;
    810 PERF_COUNTER_COUNTER 0 NOVICE: N;
    812 PERF_COUNTER_RAWCOUNT 0 NOVICE: N;
    814 PERF_COUNTER_BULK_COUNT 0 NOVICE: N;
}}

rows! { NETBEUI_COUNTERS, NETBEUI_ORIGINS {
    388 (908_011) PERF_COUNTER_BULK_COUNT -4 ADVANCED: N;
    412 PERF_COUNTER_RAWCOUNT 0 ADVANCED: N;
    414 PERF_COUNTER_RAWCOUNT 0 ADVANCED: N;
    416 PERF_COUNTER_RAWCOUNT 0 ADVANCED: N;
    418 PERF_COUNTER_RAWCOUNT 0 ADVANCED: N;
    420 PERF_COUNTER_RAWCOUNT 0 ADVANCED: N;
    422 PERF_COUNTER_RAWCOUNT 0 ADVANCED: N;
    424 PERF_COUNTER_RAWCOUNT 0 ADVANCED: N;
    426 PERF_COUNTER_RAWCOUNT 0 ADVANCED: N;
    428 PERF_COUNTER_RAWCOUNT 0 ADVANCED: N;
    430 PERF_COUNTER_RAWCOUNT 0 ADVANCED: N;
    432 PERF_COUNTER_RAWCOUNT 0 ADVANCED: N;
    434 PERF_COUNTER_RAWCOUNT 0 ADVANCED: N;
    436 PERF_COUNTER_RAWCOUNT 0 ADVANCED: N;
    438 (908_013) PERF_COUNTER_COUNTER -1 ADVANCED: N;
    440 PERF_COUNTER_BULK_COUNT -4 ADVANCED: N;
    442 (908_015) PERF_COUNTER_COUNTER -1 ADVANCED: N;
    444 PERF_COUNTER_BULK_COUNT -4 ADVANCED: N;
    446 (908_017) PERF_COUNTER_COUNTER -1 ADVANCED: N;
    448 PERF_COUNTER_BULK_COUNT -4 ADVANCED: N;
    400 (908_019) PERF_COUNTER_COUNTER -1 ADVANCED: N;
    452 (908_021) PERF_COUNTER_COUNTER -1 ADVANCED: N;
    266 (908_023) PERF_COUNTER_COUNTER -1 EXPERT: N;
    456 PERF_COUNTER_COUNTER -1 ADVANCED: N;
    458 PERF_COUNTER_BULK_COUNT -4 ADVANCED: N;
    460 PERF_COUNTER_COUNTER -1 ADVANCED: N;
    462 PERF_COUNTER_BULK_COUNT -4 ADVANCED: N;
    464 PERF_COUNTER_COUNTER -1 ADVANCED: N;
    466 PERF_COUNTER_BULK_COUNT -4 ADVANCED: N;
    468 PERF_COUNTER_COUNTER -1 EXPERT: N;
    470 PERF_COUNTER_BULK_COUNT -4 WIZARD: N;
    472 PERF_COUNTER_COUNTER -1 EXPERT: N;
    474 PERF_COUNTER_BULK_COUNT -4 EXPERT: N;
    476 PERF_COUNTER_RAWCOUNT 0 WIZARD: N;
    478 PERF_COUNTER_RAWCOUNT 0 ADVANCED: N;
    480 PERF_COUNTER_RAWCOUNT 0 ADVANCED: N;
    482 PERF_COUNTER_RAWCOUNT 0 ADVANCED: N;
    484 PERF_COUNTER_COUNTER -1 ADVANCED: N;
    486 PERF_COUNTER_RAWCOUNT -1 ADVANCED: N;
}}

rows! { BUFFER_COUNTERS, BUFFER_ORIGINS {
    496 PERF_COUNTER_RAWCOUNT 0 ADVANCED: N;
    498 PERF_COUNTER_RAWCOUNT 0 ADVANCED: N;
    500 PERF_COUNTER_RAWCOUNT 0 ADVANCED: N;
}}

rows! { NBT_COUNTERS, NBT_ORIGINS {
    264 (908_025) PERF_COUNTER_BULK_COUNT -4 ADVANCED: N;
    506 (908_027) PERF_COUNTER_BULK_COUNT -4 ADVANCED: N;
    388 (908_011) PERF_COUNTER_BULK_COUNT -4 ADVANCED: N;
}}

rows! { TELEPHONY_COUNTERS, TELEPHONY_ORIGINS {
    1152 PERF_COUNTER_RAWCOUNT 0 ADVANCED: N;
    1154 PERF_COUNTER_RAWCOUNT 0 ADVANCED: N;
    1156 PERF_COUNTER_RAWCOUNT 0 ADVANCED: N;
    1158 PERF_COUNTER_RAWCOUNT 0 ADVANCED: N;
    1160 PERF_COUNTER_COUNTER 0 ADVANCED: N;
    1162 PERF_COUNTER_COUNTER 0 ADVANCED: N;
    1164 PERF_COUNTER_RAWCOUNT 0 ADVANCED: N;
    1166 PERF_COUNTER_RAWCOUNT 0 ADVANCED: N;
    1168 PERF_COUNTER_RAWCOUNT 0 ADVANCED: N;
}}

/// The objects that only this profile shows. The NetWare protocols have the counters of NetBEUI.
pub(super) fn all() -> Vec<Box<dyn Object>> {
    vec![
        Box::new(Table::one(52, BROWSER_COUNTERS, BROWSER_ORIGINS)),
        Box::new(empty(398, NETBEUI_COUNTERS, NETBEUI_ORIGINS)),
        Box::new(empty(488, NETBEUI_COUNTERS, NETBEUI_ORIGINS)),
        Box::new(empty(490, NETBEUI_COUNTERS, NETBEUI_ORIGINS)),
        Box::new(empty(492, NETBEUI_COUNTERS, NETBEUI_ORIGINS)),
        Box::new(empty(494, BUFFER_COUNTERS, BUFFER_ORIGINS)),
        Box::new(empty(502, NBT_COUNTERS, NBT_ORIGINS)),
        Box::new(Table::one(1150, TELEPHONY_COUNTERS, TELEPHONY_ORIGINS)),
    ]
}

/// An object without any instances.
fn empty(name: u32, counters: &'static [CounterSpec], origins: &'static [Origin]) -> Table {
    Table::many(name, counters, origins, |_| Ok(Vec::new()))
}

#[cfg(test)]
mod tests {
    use super::super::fake_machine_tests::{System, collect, instance, names};
    use tallymon_provider::{Absence, Interest, Profile, Provider, TitleIndex, ValueState};

    /// NT's list of standard objects and counters, from its published pages.
    #[test]
    fn every_nt_counter_exists_with_its_index_and_type() {
        let Some(path) = tallymon_testkit::shared("titles/standard_objects_counters.tsv") else { return };
        let text = std::fs::read_to_string(path).unwrap();
        let system = System::open().unwrap().with_profile(Profile::NtStrict);
        let mut found = 0;
        for line in text.lines().filter(|line| line.starts_with(|first: char| first.is_ascii_digit())) {
            let fields: Vec<&str> = line.split('\t').collect();
            let number = |at: usize| TitleIndex(fields[at].parse().unwrap());
            let object = system.objects().iter().find(|object| object.name == number(0));
            let object = object.unwrap_or_else(|| panic!("no object {line}"));
            let counter = object.counters.iter().find(|counter| counter.name == number(2));
            let counter = counter.unwrap_or_else(|| panic!("no counter {line}"));
            assert_eq!(counter.counter_type.name().to_string(), fields[4], "{line}");
            found += 1;
        }
        assert!(found > 400, "{found}");
    }

    #[test]
    fn shown_only_by_nt_strict_and_absent_with_a_reason() {
        let hidden = System::open().unwrap();
        assert!(!hidden.objects().iter().any(|object| object.name == TitleIndex(1150)));
        let mut system = hidden.with_profile(Profile::NtStrict);
        let snapshot = collect(&mut system, 1150, &Interest::everything());
        let none = ValueState::Absent(Absence::NotOnThisSystem);
        assert!((0..9).all(|position| instance(&snapshot, "").state(position) == none));
        for object in [398, 488, 490, 492, 494, 502] {
            assert!(names(&collect(&mut system, object, &Interest::everything())).is_empty(), "{object}");
        }
    }
}
