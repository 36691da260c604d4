//! How much load a number means: the colours of the overview.

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

#[cfg(test)]
mod tests {
    use super::*;

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
