//! `/sys/devices/system/cpu/cpuN/cpuidle/stateK/*` and `.../cpufreq/*`: files of one value each.

use super::error::ParseError;
use super::scan::{NEEDED_NUMBER, decimal};

/// The class of an idle state; NT knows three.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum IdleClass {
    /// The CPU spins and saves nothing; none of NT's three.
    Polling,
    /// The lightest: stops until the next interrupt.
    C1,
    /// Between the lightest and the deepest.
    C2,
    /// The deepest.
    C3,
}

/// The number in a file such as `time` (microseconds), `usage` (entries) or `scaling_cur_freq` (kHz).
///
/// `file` is the name for errors. `None` when the driver prints a word in angle brackets, such as
/// `<unknown>`.
///
/// # Errors
///
/// The file is not one decimal number.
pub(crate) fn parse_value(file: &'static str, bytes: &[u8]) -> Result<Option<u64>, ParseError> {
    let text = bytes.trim_ascii();
    if text.starts_with(b"<") && text.ends_with(b">") {
        return Ok(None);
    }
    match decimal(text) {
        Some(number) => Ok(Some(number)),
        None => Err(ParseError::new(file, 1, "value", NEEDED_NUMBER, text)),
    }
}

/// The text of a file such as `name`, without the line feed.
pub(crate) fn parse_name(bytes: &[u8]) -> &[u8] {
    bytes.trim_ascii()
}

/// The class of each idle state of a CPU. `names` are the files `stateK/name` in the order of K, which is the
/// order of depth.
///
/// Names of the form C and a digit (`C1E`, `C6`, `C2_ACPI`) decide: C1, C2, and C3 for 3 and more. Otherwise
/// the lightest state that is not polling is C1, the deepest is C3 and those between are C2; a single one is
/// C1.
pub(crate) fn idle_classes(names: &[&[u8]]) -> Vec<IdleClass> {
    // The generic name, and that of POWER.
    let is_polling = |name: &[u8]| name == b"POLL" || name == b"snooze";
    let first = names.iter().position(|name| !is_polling(name));
    let last = names.iter().rposition(|name| !is_polling(name));
    let class = |(state, name): (usize, &&[u8])| {
        if is_polling(name) {
            IdleClass::Polling
        } else if let Some(class) = class_of_name(name) {
            class
        } else if Some(state) == first {
            IdleClass::C1
        } else if Some(state) == last {
            IdleClass::C3
        } else {
            IdleClass::C2
        }
    };
    names.iter().enumerate().map(class).collect()
}

fn class_of_name(name: &[u8]) -> Option<IdleClass> {
    let [b'C', digit, ..] = name else { return None };
    match digit {
        b'1' if !name.get(2).is_some_and(u8::is_ascii_digit) => Some(IdleClass::C1),
        b'2' => Some(IdleClass::C2),
        // C10 is a deep state.
        b'1' | b'3'..=b'9' => Some(IdleClass::C3),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::super::fixture::{check_damage, fixture};
    use super::IdleClass::*;
    use super::*;

    #[test]
    fn virtual_machine_with_a_polling_state() {
        let names = [fixture("6.18/cpuidle/state0/name"), fixture("6.18/cpuidle/state1/name")];
        let names = [parse_name(&names[0]), parse_name(&names[1])];
        assert_eq!(names, [&b"POLL"[..], b"haltpoll idle"]);
        assert_eq!(idle_classes(&names), [Polling, C1]);
        let time = parse_value("stateK/time", &fixture("6.18/cpuidle/state1/time")).unwrap().unwrap();
        let usage = parse_value("stateK/usage", &fixture("6.18/cpuidle/state1/usage")).unwrap().unwrap();
        assert!(time > usage && usage > 0);
        assert_eq!(parse_value("stateK/disable", &fixture("6.18/cpuidle/state0/disable")), Ok(Some(0)));
    }

    #[test]
    fn names_decide_before_the_order_does() {
        assert_eq!(idle_classes(&[b"POLL", b"C1", b"C1E", b"C6"]), [Polling, C1, C1, C3]);
        assert_eq!(idle_classes(&[b"WFI", b"cpu-sleep", b"cluster-sleep"]), [C1, C2, C3]);
    }

    #[test]
    fn classes() {
        let check = |names: &[&str], classes: &[IdleClass]| {
            let names: Vec<&[u8]> = names.iter().map(|name| name.as_bytes()).collect();
            assert_eq!(idle_classes(&names), classes, "{names:?}");
        };
        check(&["POLL", "C1", "C1E", "C3", "C6", "C7s", "C10"], &[Polling, C1, C1, C3, C3, C3, C3]);
        check(&["POLL", "C1_ACPI", "C2_ACPI", "C3_ACPI"], &[Polling, C1, C2, C3]);
        check(&["WFI"], &[C1]);
        check(&["WFI", "cpu-sleep-0"], &[C1, C3]);
        check(&["snooze", "Nap", "Fastsleep", "C0", "C"], &[Polling, C1, C2, C2, C3]);
        check(&["POLL"], &[Polling]);
        check(&[], &[]);
    }

    #[test]
    fn values() {
        assert_eq!(parse_value("scaling_cur_freq", b"2596122\n"), Ok(Some(2_596_122)));
        assert_eq!(parse_value("cpuinfo_cur_freq", b"<unknown>\n"), Ok(None));
        for (text, message) in [
            ("", "stateK/time line 1: value: needed a decimal number below 2^64, found nothing"),
            ("1 2\n", "stateK/time line 1: value: needed a decimal number below 2^64, found \"1 2\""),
            ("<x", "stateK/time line 1: value: needed a decimal number below 2^64, found \"<x\""),
        ] {
            assert_eq!(parse_value("stateK/time", text.as_bytes()).unwrap_err().to_string(), message);
        }
        check_damage("6.18/cpuidle/state1/time", |bytes| parse_value("stateK/time", bytes));
    }
}
