//! `/proc/cpuinfo`: the speed of each processor, where there is no driver that scales it, and the name of the
//! first.

use std::collections::BTreeMap;

use super::scan::{decimal, lines, split_at_byte};

const FILE: &str = "/proc/cpuinfo";

/// The speed of each processor in kilohertz, by its number. Only some architectures have the line `cpu MHz`;
/// a line of another form is skipped.
pub(crate) fn kilohertz(bytes: &[u8]) -> BTreeMap<u32, u64> {
    let mut speeds = BTreeMap::new();
    let mut number = None;
    for line in lines(FILE, bytes) {
        let Some((key, fields)) = line.key_and_fields() else { continue };
        let text = fields.rest().trim_ascii();
        match key {
            b"processor" => number = decimal(text).and_then(|number| u32::try_from(number).ok()),
            b"cpu MHz" => {
                if let Some((number, speed)) = number.zip(thousandths(text)) {
                    speeds.insert(number, speed);
                }
            }
            _ => {}
        }
    }
    speeds
}

/// The keys of the name on one architecture or another, the best first.
const NAMES: [&[u8]; 5] = [b"model name", b"cpu model", b"cpu", b"Model", b"Hardware"];
/// Words of names that say nothing to a reader.
const NOISE: [&str; 3] = ["CPU", "Processor", "processor"];

/// The name of the first processor for people, in short: without marks, its number of cores and its speed.
/// `None` where the architecture has none.
pub(crate) fn name(bytes: &[u8]) -> Option<String> {
    let of = |wanted: &[u8]| {
        let mut found = lines(FILE, bytes).filter_map(|line| line.key_and_fields());
        let (_, fields) = found.find(|(key, _)| *key == wanted)?;
        let text = String::from_utf8_lossy(fields.rest())
            .replace("(R)", " ")
            .replace("(TM)", " ")
            .replace("(tm)", " ");
        let words = text.split_whitespace().take_while(|word| *word != "@");
        let words = words.filter(|word| !NOISE.contains(word) && !word.ends_with("-Core"));
        Some(words.collect::<Vec<_>>().join(" ")).filter(|name| !name.is_empty())
    };
    NAMES.iter().find_map(|wanted| of(wanted))
}

/// `whole.fff` as thousandths: `decimal(whole) x 1000 + fff`.
fn thousandths(text: &[u8]) -> Option<u64> {
    let (whole, fraction) = split_at_byte(text, b'.')?;
    if fraction.len() != 3 {
        return None;
    }
    decimal(whole)?.checked_mul(1000)?.checked_add(decimal(fraction)?)
}

#[cfg(test)]
mod tests {
    use super::super::fixture::fixture;
    use super::*;

    #[test]
    fn current_kernel() {
        let speeds = kilohertz(&fixture("6.18/cpuinfo"));
        assert_eq!(speeds, BTreeMap::from([(0, 2_596_120), (1, 2_596_120)]));
    }

    #[test]
    fn names_in_short() {
        for (text, expected) in [
            ("model name\t: AMD EPYC\n", Some("AMD EPYC")),
            (
                "model name\t: Intel(R) Xeon(R) Platinum 8370C CPU @ 2.80GHz\n",
                Some("Intel Xeon Platinum 8370C"),
            ),
            ("model name\t: AMD EPYC 7763 64-Core Processor                \n", Some("AMD EPYC 7763")),
            (
                "processor\t: 0\ncpu\t\t: POWER9 (architected), altivec supported\n",
                Some("POWER9 (architected), altivec supported"),
            ),
            (
                "processor\t: 0\nHardware\t: BCM2835\nModel\t\t: Raspberry Pi 4 Model B Rev 1.4\n",
                Some("Raspberry Pi 4 Model B Rev 1.4"),
            ),
            ("processor\t: 0\nBogoMIPS\t: 50.00\n", None),
            ("model name\t:\n", None),
            ("model name\t: @ 2.80GHz\n", None),
            ("", None),
        ] {
            assert_eq!(name(text.as_bytes()).as_deref(), expected, "{text}");
        }
        assert!(name(&fixture("6.18/cpuinfo")).is_some());
        assert!(name(b"model name\t: \xff\xfe\n").is_some());
    }

    #[test]
    fn other_forms_are_skipped() {
        for text in [
            "",
            "processor\t: 0\nBogoMIPS\t: 50.00\n",
            "cpu MHz\t\t: 2596.120\n",
            "processor\t: x\ncpu MHz\t\t: 2596.120\n",
            "processor\t: 99999999999\ncpu MHz\t\t: 2596.120\n",
            "processor\t: 0\ncpu MHz\t\t: 2596\n",
            "processor\t: 0\ncpu MHz\t\t: 99999999999999999999.000\n",
            "processor\t: 0\ncpu MHz\t\t: unknown\n",
            "processor",
        ] {
            assert_eq!(kilohertz(text.as_bytes()), BTreeMap::new(), "{text}");
        }
        let offline = b"processor\t: 1\ncpu MHz\t\t: 800.005\n\nprocessor\t: 3\ncpu MHz\t\t: 0.000\n";
        assert_eq!(kilohertz(offline), BTreeMap::from([(1, 800_005), (3, 0)]));
    }

    #[test]
    fn damaged_files_do_not_panic() {
        let bytes = fixture("6.18/cpuinfo");
        for end in 0..bytes.len() {
            kilohertz(&bytes[..end]);
            name(&bytes[..end]);
        }
    }
}
