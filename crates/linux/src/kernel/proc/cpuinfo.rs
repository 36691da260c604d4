//! `/proc/cpuinfo`: the speed of each processor, where there is no driver that scales it.

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
        }
    }
}
