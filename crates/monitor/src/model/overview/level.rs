//! How much load a number means: the colours of the overview and of the table.

use tallymon::core::title::TitleIndex;

/// How much load a number means.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// Nothing happens.
    Idle,
    /// Normal work.
    Low,
    /// Much work.
    Medium,
    /// Close to the limit.
    High,
}

/// From which number on load is medium and high.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Limits {
    medium: f64,
    high: f64,
}

impl Limits {
    /// Per cent of processors, disks and interfaces.
    pub const BUSY: Limits = Limits { medium: 50.0, high: 80.0 };
    /// Per cent of memory: much use of memory is normal.
    pub const MEMORY: Limits = Limits { medium: 70.0, high: 90.0 };
    /// Per cent of swap.
    pub const SWAP: Limits = Limits { medium: 25.0, high: 60.0 };
    /// Per cent of a file system.
    pub const SPACE: Limits = Limits { medium: 80.0, high: 92.0 };
    /// Degrees Celsius.
    pub const HEAT: Limits = Limits { medium: 70.0, high: 85.0 };
    /// Per cent of the time in which tasks waited.
    pub const PRESSURE: Limits = Limits { medium: 10.0, high: 40.0 };
    /// Seconds that a transfer of a disk takes.
    pub const LATENCY: Limits = Limits { medium: 0.02, high: 0.1 };

    /// The level of a number.
    pub fn level(self, number: f64) -> Level {
        match number {
            // What is shown as 0 is idle.
            number if number.is_nan() || number <= self.medium / 1_000.0 => Level::Idle,
            number if number < self.medium => Level::Low,
            number if number < self.high => Level::Medium,
            _ => Level::High,
        }
    }
}

/// Counters of any object whose values mean load, by their names; of the last ones, what is missing to 100
/// does.
const LOADS: [(&[u32], Limits, bool); 7] = [
    // Times of processors and disks, and utilization.
    (&[6, 142, 144, 696, 698, 200, 202, 204, 905_602, 905_816], Limits::BUSY, false),
    (&[206, 208, 210], Limits::LATENCY, false),
    (&[702], Limits::SWAP, false),
    (&[910_202], Limits::HEAT, false),
    (
        &[
            900_202, 900_204, 900_206, 900_208, 900_210, 900_212, 900_214, 900_216, 900_218, 900_220,
            900_222, 900_224, 900_226, 900_228, 900_230, 900_232, 900_234,
        ],
        Limits::PRESSURE,
        false,
    ),
    (&[1482], Limits::BUSY, true),
    (&[408], Limits::SPACE, true),
];

/// How much load the value of a counter means; `None` for counters that count something else.
///
/// ```
/// use tallymon::core::title::TitleIndex;
/// use tallymon_monitor::model::overview::{Level, load_of};
///
/// // `% Free Space`: 3 per cent are free.
/// assert_eq!(load_of(TitleIndex(408), 3.0), Some(Level::High));
/// // `Handle Count`.
/// assert_eq!(load_of(TitleIndex(952), 3.0), None);
/// ```
pub fn load_of(counter: TitleIndex, number: f64) -> Option<Level> {
    let (_, limits, is_inverse) = LOADS.iter().find(|(names, ..)| names.contains(&counter.0))?;
    Some(limits.level(if *is_inverse { 100.0 - number } else { number }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_mean_load_or_not() {
        for (counter, number, expected) in [
            (6, 85.0, Some(Level::High)),
            (6, 0.0, Some(Level::Idle)),
            (200, 60.0, Some(Level::Medium)),
            (1482, 99.99, Some(Level::Idle)),
            (1482, 10.0, Some(Level::High)),
            (208, 0.03, Some(Level::Medium)),
            (900_204, 12.0, Some(Level::Medium)),
            (784, 85.0, None),
        ] {
            assert_eq!(load_of(TitleIndex(counter), number), expected, "{counter} {number}");
        }
        let all: Vec<u32> = LOADS.iter().flat_map(|(names, ..)| *names).copied().collect();
        let once: std::collections::BTreeSet<u32> = all.iter().copied().collect();
        assert_eq!(all.len(), once.len(), "each counter once");
    }

    #[test]
    fn levels_rise_with_the_number() {
        for (limits, number, expected) in [
            (Limits::BUSY, 0.0, Level::Idle),
            (Limits::BUSY, 0.04, Level::Idle),
            (Limits::BUSY, 3.0, Level::Low),
            (Limits::BUSY, 50.0, Level::Medium),
            (Limits::BUSY, 140.0, Level::High),
            (Limits::MEMORY, 60.0, Level::Low),
            (Limits::LATENCY, 0.000_01, Level::Idle),
            (Limits::LATENCY, 0.001, Level::Low),
            (Limits::LATENCY, 0.3, Level::High),
            (Limits::PRESSURE, f64::NAN, Level::Idle),
        ] {
            assert_eq!(limits.level(number), expected, "{limits:?} {number}");
        }
    }
}
