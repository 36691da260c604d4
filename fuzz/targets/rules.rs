//! Any bytes as a file of rules, in TOML or as a threshold file of PAL: an error in words, or rules whose
//! expressions can be evaluated.
#![no_main]

use std::fs;
use std::path::PathBuf;
use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use tallymon::analyze::RuleSet;

/// In memory if the system has such a folder.
static FOLDER: LazyLock<PathBuf> = LazyLock::new(|| {
    let memory = PathBuf::from("/dev/shm");
    let parent = if memory.is_dir() { memory } else { std::env::temp_dir() };
    let folder = parent.join(format!("tallymon-fuzz-rules-{}", std::process::id()));
    fs::create_dir_all(&folder).expect("it can be made");
    folder
});

fuzz_target!(|input: &[u8]| {
    let is_xml = input.iter().find(|byte| !byte.is_ascii_whitespace() && **byte < 0x80) == Some(&b'<');
    let path = FOLDER.join(if is_xml { "f.xml" } else { "f.toml" });
    fs::write(&path, input).expect("there is room");
    let mut set = RuleSet::default();
    if let Err(error) = set.add(&path) {
        assert!(!error.to_string().is_empty());
    }
    for rule in &set.rules {
        // Values of the counters, then those of the parameters: some are missing, and one is no whole number.
        let values: Vec<Option<f64>> = (0..rule.counters.len() + set.parameters.len())
            .map(|at| (at % 3 != 2).then_some(at as f64 * 1.5))
            .collect();
        let holds = rule.when.holds(&values);
        assert!(holds.is_none() || rule.when.value(&values).is_some());
        rule.value.value(&values);
        if let Some(until) = &rule.until {
            until.holds(&values);
        }
    }
});
