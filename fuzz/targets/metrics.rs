//! Any bytes as lines of metrics: each is refused, or a sample that can be written and is then read as the
//! same.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tallymon_log::exposition::{Line, parse};

fuzz_target!(|data: &[u8]| {
    for line in String::from_utf8_lossy(data).lines() {
        let Some(Line::Sample(sample)) = parse(line) else { continue };
        assert!(!sample.name.is_empty() && sample.value.parse::<f64>().is_ok());
        let is_plain = |name: &str| name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
        let names = sample.labels.iter().map(|(name, _)| name.as_str()).chain([sample.name.as_str()]);
        if !names.into_iter().all(is_plain) {
            continue;
        }
        let escaped = |text: &str| text.replace('\\', r"\\").replace('"', "\\\"").replace('\n', r"\n");
        let labels = sample.labels.iter().map(|(name, text)| format!("{name}=\"{}\"", escaped(text)));
        let labels = labels.collect::<Vec<_>>().join(",");
        let written = format!("{}{{{labels}}} {} {}", sample.name, sample.value, sample.time.unwrap_or(""));
        match parse(&written) {
            Some(Line::Sample(again)) => assert_eq!(again, sample, "{written}"),
            other => panic!("{written}: {other:?}"),
        }
    }
});
