//! Numbers for people: each with the unit that gives the shortest text.
//!
//! This is the only place that decides between kB and GiB, or between µs and ms. [`Unit::of`] says which unit
//! a counter has; [`Unit::text`] writes a value of it.

use tallymon_core::counter::{CounterType, Subtype, Suffix};

/// What a number counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// Things without a unit.
    Count,
    /// Things a second.
    PerSecond,
    /// Per cent.
    Percent,
    /// Bytes of memory or files: KiB, MiB, GiB, each 1,024 times the one before.
    Bytes,
    /// Bytes a second: kB/s, MB/s, GB/s, each 1,000 times the one before, as networks and disks are sold.
    BytesPerSecond,
    /// Seconds of waiting.
    Seconds,
    /// Text and hexadecimal numbers, which have no short form.
    AsIs,
}

/// Counters that count bytes, although their English names do not say so.
const BYTES: [&str; 8] = [
    "Working Set",
    "Working Set Peak",
    "Working Set - Private",
    "Commit Limit",
    "Committed Memory",
    "Memory Limit",
    "Memory Usage",
    "Total Memory",
];

impl Unit {
    /// The unit of a counter with this English name, and what its values are multiplied with to have it: a
    /// counter in megabytes is shown in bytes.
    pub fn of(english: &str, counter_type: CounterType) -> (Unit, f64) {
        const KIB: f64 = 1024.0;
        if counter_type.is_text() || matches!(counter_type.subtype(), Subtype::Hex | Subtype::Dec1000) {
            return (Unit::AsIs, 1.0);
        }
        let has = |word: &str| english.contains(word);
        match counter_type.suffix() {
            Suffix::Percent => return (Unit::Percent, 1.0),
            Suffix::PerSecond if has("Bytes") => return (Unit::BytesPerSecond, 1.0),
            Suffix::PerSecond => return (Unit::PerSecond, 1.0),
            Suffix::Seconds => return (Unit::Seconds, 1.0),
            _ => {}
        }
        // "Avg. Disk Bytes/Read" is bytes, too. Text logs know no type, so that only the name says it.
        match () {
            () if has("Bytes") && english.ends_with("/sec") => (Unit::BytesPerSecond, 1.0),
            () if english.ends_with("/sec") || english.ends_with("/ sec") => (Unit::PerSecond, 1.0),
            () if has(" sec/") => (Unit::Seconds, 1.0),
            () if english.starts_with('%') => (Unit::Percent, 1.0),
            () if has("KBytes") || has("Kilobytes") => (Unit::Bytes, KIB),
            () if has("MBytes") || has("Megabytes") => (Unit::Bytes, KIB * KIB),
            () if has("Bytes") || BYTES.contains(&english) => (Unit::Bytes, 1.0),
            () => (Unit::Count, 1.0),
        }
    }

    /// A number with its unit, in at most eleven letters: `23.5 GiB`, `460 B/s`, `1.2 ms`, `12.3k`, `37 %`.
    pub fn text(self, number: f64) -> String {
        if !number.is_finite() {
            return format!("{number}");
        }
        match self {
            Unit::Count => thousands(number),
            Unit::PerSecond => format!("{}/s", thousands(number)),
            Unit::Percent => percent(number),
            Unit::Bytes => bytes(number),
            Unit::BytesPerSecond => bytes_per_second(number),
            Unit::Seconds => seconds(number),
            Unit::AsIs => format!("{number}"),
        }
    }
}

/// Steps of a unit: after how much the next one begins, and the names.
fn stepped(number: f64, step: f64, names: &[&str]) -> (String, usize) {
    let (sign, mut size) = (if number < 0.0 { "-" } else { "" }, number.abs());
    let mut nth = 0;
    let last = names.len().saturating_sub(1);
    // 999.6 is shown as 1000 with no decimals: the next unit is shorter.
    while size >= 999.5 && nth < last {
        size /= step;
        nth = nth.saturating_add(1);
    }
    let decimals = usize::from(nth > 0 && size < 99.95);
    (format!("{sign}{size:.decimals$}"), nth)
}

/// Whole per cents from ten on, else with a decimal: `0 %`, `3.4 %`, `37 %`.
fn percent(number: f64) -> String {
    let decimals = usize::from(number.abs() < 9.95 && number.abs() >= 0.05);
    format!("{number:.decimals$} %")
}

/// `950`, `12.3k`, `4.0M`; fractions below ten with a decimal.
fn thousands(number: f64) -> String {
    let names = ["", "k", "M", "G", "T", "P"];
    if number.fract() != 0.0 && number.abs() < 9.95 {
        return format!("{number:.1}");
    }
    let (text, nth) = stepped(number, 1_000.0, &names);
    text + names.get(nth).copied().unwrap_or_default()
}

/// A number of the counter that a path ends with, in the unit that people use: `132 MiB`, `364/s`, `37 %`.
pub fn of_path(number: f64, path: &str, counter_type: CounterType) -> String {
    let name = path.rsplit('\\').next().unwrap_or(path);
    let (unit, factor) = Unit::of(name, counter_type);
    unit.text(number * factor)
}

/// A size of memory: `512 B`, `20.5 KiB`, `1.3 GiB`.
pub fn bytes(number: f64) -> String {
    let names = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];
    let (text, nth) = stepped(number, 1_024.0, &names);
    format!("{text} {}", names.get(nth).copied().unwrap_or_default())
}

/// `460 B/s`, `1.2 MB/s`.
pub fn bytes_per_second(number: f64) -> String {
    let names = ["B/s", "kB/s", "MB/s", "GB/s", "TB/s"];
    let (text, nth) = stepped(number, 1_000.0, &names);
    format!("{text} {}", names.get(nth).copied().unwrap_or_default())
}

/// Seconds in the unit that gives the shortest number: `20 µs`, `1.25 ms`, `3.1 s`.
pub fn seconds(seconds: f64) -> String {
    let (number, unit) = match seconds {
        seconds if seconds < 1e-6 => (seconds * 1e9, "ns"),
        seconds if seconds < 1e-3 => (seconds * 1e6, "µs"),
        seconds if seconds < 1.0 => (seconds * 1e3, "ms"),
        seconds => (seconds, "s"),
    };
    let decimals = if number < 10.0 && unit != "ns" { 1 } else { 0 };
    format!("{number:.decimals$} {unit}")
}

/// A long time: `45 s`, `3:22`, `5 d 03:22`.
pub fn long_time(seconds: f64) -> String {
    let whole = if seconds.is_finite() { seconds.max(0.0) as u64 } else { 0 };
    let (days, hours, minutes) = (whole / 86_400, whole / 3_600 % 24, whole / 60 % 60);
    match (days, hours, minutes) {
        (0, 0, 0) => format!("{whole} s"),
        (0, hours, minutes) => format!("{hours}:{minutes:02}"),
        (days, hours, minutes) => format!("{days} d {hours:02}:{minutes:02}"),
    }
}

/// A size of files: `512 B`, `20.5 kB`, `1.3 GB`.
pub fn file_size(bytes: u64) -> String {
    let mut number = bytes as f64;
    for unit in ["B", "kB", "MB", "GB"] {
        if number < 1_000.0 {
            return if unit == "B" { format!("{bytes} B") } else { format!("{number:.1} {unit}") };
        }
        number /= 1_000.0;
    }
    format!("{number:.1} TB")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_unit_is_short() {
        for (unit, number, expected) in [
            (Unit::Count, 0.0, "0"),
            (Unit::Count, 950.0, "950"),
            (Unit::Count, 0.25, "0.2"),
            (Unit::Count, 12_345.0, "12.3k"),
            (Unit::Count, 999_600.0, "1.0M"),
            (Unit::Count, -4_000_000.0, "-4.0M"),
            (Unit::PerSecond, 1_234.5, "1.2k/s"),
            (Unit::Percent, 0.0, "0 %"),
            (Unit::Percent, 3.44, "3.4 %"),
            (Unit::Percent, 9.97, "10 %"),
            (Unit::Percent, 212.3, "212 %"),
            (Unit::Bytes, 512.0, "512 B"),
            (Unit::Bytes, 1_023.0, "1.0 KiB"),
            (Unit::Bytes, 24_430_309_376.0, "22.8 GiB"),
            (Unit::BytesPerSecond, 460.0, "460 B/s"),
            (Unit::BytesPerSecond, 1_250_000.0, "1.2 MB/s"),
            (Unit::BytesPerSecond, 125_000_000.0, "125 MB/s"),
            (Unit::Seconds, 0.00125, "1.2 ms"),
            (Unit::Bytes, f64::NAN, "NaN"),
        ] {
            let text = unit.text(number);
            assert_eq!(text, expected, "{unit:?} {number}");
        }
        for power in -12..24 {
            for unit in [Unit::Count, Unit::PerSecond, Unit::Bytes, Unit::BytesPerSecond] {
                let text = unit.text(9.996 * 10f64.powi(power));
                assert!(text.chars().count() <= 11 || power > 17, "{text}");
            }
        }
    }

    #[test]
    fn counters_have_their_unit() {
        let raw = CounterType::PERF_COUNTER_LARGE_RAWCOUNT;
        let rate = CounterType::PERF_COUNTER_BULK_COUNT;
        for (name, counter_type, expected) in [
            ("Available MBytes", raw, (Unit::Bytes, 1_048_576.0)),
            ("Available KBytes", raw, (Unit::Bytes, 1_024.0)),
            ("Free Megabytes", raw, (Unit::Bytes, 1_048_576.0)),
            ("Working Set", raw, (Unit::Bytes, 1.0)),
            ("Bytes Total/sec", rate, (Unit::BytesPerSecond, 1.0)),
            ("Context Switches/sec", rate, (Unit::PerSecond, 1.0)),
            ("% Processor Time", CounterType::PERF_100NSEC_TIMER, (Unit::Percent, 1.0)),
            ("Avg. Disk sec/Read", CounterType::PERF_AVERAGE_TIMER, (Unit::Seconds, 1.0)),
            // As text logs have them.
            ("Avg. Disk sec/Read", CounterType::PERF_DOUBLE_RAW, (Unit::Seconds, 1.0)),
            ("Bytes Total/sec", CounterType::PERF_DOUBLE_RAW, (Unit::BytesPerSecond, 1.0)),
            ("Pages/sec", CounterType::PERF_DOUBLE_RAW, (Unit::PerSecond, 1.0)),
            ("Avg. Disk Bytes/Read", CounterType::PERF_AVERAGE_BULK, (Unit::Bytes, 1.0)),
            ("Processes", raw, (Unit::Count, 1.0)),
            ("Mask", CounterType::PERF_COUNTER_RAWCOUNT_HEX, (Unit::AsIs, 1.0)),
        ] {
            assert_eq!(Unit::of(name, counter_type), expected, "{name}");
        }
    }

    #[test]
    fn sizes_have_their_unit() {
        let sizes = [0, 999, 1_000, 20_480, 7_300_000, 1_250_000_000, u64::MAX].map(file_size);
        assert_eq!(sizes, ["0 B", "999 B", "1.0 kB", "20.5 kB", "7.3 MB", "1.2 GB", "18446744.1 TB"]);
    }

    #[test]
    fn seconds_have_their_unit() {
        for (number, expected) in [
            (0.0, "0 ns"),
            (9.2e-7, "920 ns"),
            (3e-6, "3.0 µs"),
            (2.04e-5, "20 µs"),
            (0.00125, "1.2 ms"),
            (0.05, "50 ms"),
            (3.12, "3.1 s"),
            (40.0, "40 s"),
        ] {
            assert_eq!(seconds(number), expected);
        }
    }

    #[test]
    fn long_times_have_days() {
        let times = [0.4, 59.0, 60.0, 12_130.0, 444_120.0, f64::NAN].map(long_time);
        assert_eq!(times, ["0 s", "59 s", "0:01", "3:22", "5 d 03:22", "0 s"]);
    }
}
