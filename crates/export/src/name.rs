//! Names of metrics: `nt_` with the names of object and counter in the form that Prometheus allows.
//!
//! "/sec" in the name of a counter means that its raw value is a count, and `%` that its raw value is a time
//! or a fraction: neither stands in the name of the raw value. Nor does `Avg.`, since a sum and a count are
//! exported. Kilobytes and megabytes become bytes, in the name as in the value. Words that name parts of a
//! metric, such as `total` and `count`, do not end a name.

/// A name for a metric, and what its numbers are multiplied by.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MetricName {
    /// The name without the suffix of its metric.
    pub name: String,
    /// 1 for all but larger units of bytes.
    pub factor: u64,
    /// Whether the counter says that it counts bytes.
    pub is_bytes: bool,
}

/// Units of a counter's name, and how many bytes they are.
const BYTES: [(&str, u64); 7] = [
    ("bytes", 1),
    ("kbytes", 1 << 10),
    ("kilobytes", 1 << 10),
    ("mbytes", 1 << 20),
    ("megabytes", 1 << 20),
    ("gbytes", 1 << 30),
    ("gigabytes", 1 << 30),
];

/// Ends of names that OpenMetrics gives to the parts of a metric.
const PARTS: [&str; 6] = ["total", "sum", "count", "bucket", "info", "created"];

/// The name of a counter's metrics. `indexes` are the title indexes of object and counter, which stand for
/// names without a letter or digit of ASCII.
pub fn metric_name(object: &str, counter: &str, indexes: (u32, u32)) -> MetricName {
    let mut words = words(counter);
    if ends_per_second(counter) {
        words.pop();
    }
    // "Avg. Disk sec/Read" is exported in seconds, and its metrics say so.
    if words.len() > 1 {
        words.retain(|word| word != "sec");
    }
    if words.len() > 1 && matches!(words.first().map(String::as_str), Some("avg" | "average" | "percent")) {
        words.remove(0);
    }
    while words.len() > 1 && words.last().is_some_and(|word| PARTS.contains(&word.as_str())) {
        words.pop();
    }
    let mut factor = 1;
    let mut is_bytes = false;
    for word in &mut words {
        if let Some((_, bytes)) = BYTES.iter().find(|(unit, _)| unit == word) {
            (factor, is_bytes) = (*bytes, true);
            *word = "bytes".into();
        }
    }
    let object = joined(&self::words(object), indexes.0);
    MetricName { name: format!("nt_{object}_{}", joined(&words, indexes.1)), factor, is_bytes }
}

fn joined(words: &[String], index: u32) -> String {
    if words.is_empty() { index.to_string() } else { words.join("_") }
}

/// Whether a name ends in `/sec`, in any spelling that NT has.
fn ends_per_second(counter: &str) -> bool {
    let lower = counter.trim_end().to_ascii_lowercase();
    ["/sec", "/second", "/s"].iter().any(|end| lower.len() > end.len() && lower.ends_with(end))
}

/// The words of ASCII letters and digits, in small letters.
fn words(name: &str) -> Vec<String> {
    name.split(|letter: char| !letter.is_ascii_alphanumeric())
        .filter(|word| !word.is_empty())
        .map(str::to_ascii_lowercase)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_lose_what_only_computed_values_have() {
        let table = [
            ("Processor", "% Processor Time", "nt_processor_processor_time", 1),
            ("PhysicalDisk", "Avg. Disk sec/Read", "nt_physicaldisk_disk_read", 1),
            ("PhysicalDisk", "Disk Bytes/sec", "nt_physicaldisk_disk_bytes", 1),
            ("Memory", "Available MBytes", "nt_memory_available_bytes", 1 << 20),
            ("LogicalDisk", "Free Megabytes", "nt_logicaldisk_free_bytes", 1 << 20),
            ("Network Interface", "Packets/sec", "nt_network_interface_packets", 1),
            (".NET CLR Memory", "# Gen 0 Collections", "nt_net_clr_memory_gen_0_collections", 1),
            ("Prozessor", "Prozessorzeit (%)", "nt_prozessor_prozessorzeit", 1),
            ("メモリ", "利用可能", "nt_4_24", 1),
            ("Network Interface", "Bytes Total/sec", "nt_network_interface_bytes", 1),
            ("Process", "Handle Count", "nt_process_handle", 1),
            ("Bank", "Total", "nt_bank_total", 1),
            ("Bank", "/sec", "nt_bank_sec", 1),
            ("Bank", "Average", "nt_bank_average", 1),
        ];
        for (object, counter, name, factor) in table {
            let made = metric_name(object, counter, (4, 24));
            assert_eq!((made.name.as_str(), made.factor), (name, factor), "{object} {counter}");
        }
    }
}
