//! Damaged logs through the command: it ends, without a panic, and says what is missing.

use std::fs;
use std::io::Read;
use std::process::Stdio;
use std::time::{Duration, Instant};

use super::support::{Folder, TALLY, clean};
use tallymon_testkit::shared;

/// Logs of Vista, Windows 8 and Windows 10.
const LOGS: [&str; 3] = ["PAL_SampleLog.blg", "PowerShell_CounterSamples.blg", "Tx_BasicPerfCounters.blg"];
/// Each 64 KiB of these logs is a buffer of its own.
const BUFFER: u64 = 1 << 16;

/// Numbers without an order, the same in every run.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % limit
    }
}

/// What copying a log gave.
struct Copied {
    code: i32,
    records: usize,
    columns: usize,
    /// What was said apart from the two lines of every copy.
    words: String,
}

fn copied(log: &str, output: &str) -> Copied {
    let _ = fs::remove_file(output);
    let mut child = clean(TALLY)
        .args(["relog", log, "-o", output])
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut err = String::new();
    let begin = Instant::now();
    while child.try_wait().unwrap().is_none() {
        if begin.elapsed() > Duration::from_secs(120) {
            child.kill().unwrap();
            panic!("{log}: it hangs");
        }
        std::thread::sleep(Duration::from_millis(2));
    }
    child.stderr.take().unwrap().read_to_string(&mut err).unwrap();
    let code = child.wait().unwrap().code().unwrap_or_else(|| panic!("{log}: a signal ended it: {err}"));
    assert!(!err.contains("panicked"), "{log}: {err}");
    let text = fs::read_to_string(output).unwrap_or_default();
    let records = text.lines().count().saturating_sub(1);
    let columns = text.lines().next().map_or(0, |line| line.matches("\",\"").count());
    let words = err.lines().filter(|line| !line.starts_with("in ") && !line.starts_with("out "));
    Copied { code, records, columns, words: words.collect::<Vec<_>>().join("\n") }
}

/// A cut anywhere or at a buffer, a flipped bit anywhere, in the heads of buffers or in the list of counters.
fn damaged(bytes: &[u8], nth: u64, numbers: &mut Numbers) -> (String, Vec<u8>) {
    let length = bytes.len() as u64;
    let at = numbers.below(length);
    let head = at / BUFFER * BUFFER + numbers.below(200);
    let at = match nth % 6 {
        0 | 1 => at,
        2 => at / BUFFER * BUFFER,
        3 => head,
        4 => numbers.below(3000),
        _ => at / BUFFER * BUFFER + numbers.below(80),
    }
    .min(length - 1);
    if nth % 3 == 2 {
        return (format!("cut at {at}"), bytes[..at as usize].to_vec());
    }
    let mut bytes = bytes.to_vec();
    let bit = numbers.below(8);
    bytes[at as usize] ^= 1 << bit;
    (format!("bit {bit} of byte {at}"), bytes)
}

/// A full run has 2,000 of them: `TALLYMON_CUTS=2000`.
#[test]
fn nothing_of_a_damaged_log_is_lost_silently() {
    let count: u64 = std::env::var("TALLYMON_CUTS").ok().and_then(|text| text.parse().ok()).unwrap_or(90);
    let folder = Folder::new();
    let (log, output) = (folder.file("damaged.blg"), folder.file("out.csv"));
    let mut numbers = Numbers(0x9e37_79b9_7f4a_7c15);
    let mut found = 0u64;
    for name in LOGS {
        let Some(path) = shared(&format!("logs/{name}")) else { return };
        let bytes = fs::read(&path).unwrap();
        let whole = copied(path.to_str().unwrap(), &output);
        assert_eq!((whole.code, whole.words.as_str()), (0, ""), "{name}");
        assert!(whole.records > 10 && whole.columns >= 10, "{name}: {} records", whole.records);
        for nth in 0..count / LOGS.len() as u64 {
            let (what, bytes) = damaged(&bytes, nth, &mut numbers);
            fs::write(&log, bytes).unwrap();
            let Copied { code, records, columns, words } = copied(&log, &output);
            let is_said = !words.is_empty();
            let missing = records < whole.records || columns < whole.columns;
            assert!(!missing || is_said, "{name}, {what}: {records} records, {columns} columns, and no word");
            assert!(code == 0 || is_said, "{name}, {what}: exit code {code} without a word");
            assert!((0..=7).contains(&code), "{name}, {what}: exit code {code}: {words}");
            found += u64::from(is_said);
        }
    }
    // A flipped bit of a value cannot be seen; a cut, and a flipped bit of a structure, can.
    assert!(found >= count / 4, "damage was found in {found} of {count} logs");
}
