//! Scales values to the height of the chart by powers of ten, as Performance Monitor does.

use tallymon::core::counter::CHART_SCALE_RANGE;

/// By which power of ten a series is multiplied.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Scale {
    /// The default scale of the counter, reduced while a value in view does not fit.
    ///
    /// NT uses the default unchanged, and most byte counters of a current machine would lie above the chart.
    #[default]
    Auto,
    /// The largest scale at which all values in view fit.
    Fit,
    /// This power, -9 to 9.
    Power(i32),
}

impl Scale {
    /// The power of ten to use for a counter whose largest absolute value in view is `largest`, in a chart
    /// whose top is `maximum`.
    pub fn power(self, default_scale: i32, largest: Option<f64>, maximum: f64) -> i32 {
        let (low, high) = (*CHART_SCALE_RANGE.start(), *CHART_SCALE_RANGE.end());
        let default_scale = default_scale.clamp(low, high);
        match (self, largest) {
            (Scale::Power(power), _) => power.clamp(low, high),
            (Scale::Auto | Scale::Fit, None) => default_scale,
            (Scale::Auto, Some(largest)) => default_scale.min(fitting(largest, maximum).unwrap_or(high)),
            (Scale::Fit, Some(largest)) => fitting(largest, maximum).unwrap_or(default_scale),
        }
    }
}

/// 10 to a power.
pub fn factor(power: i32) -> f64 {
    10f64.powi(power)
}

/// The largest power with which a value still fits below a top; `None` for 0, which always fits, and for a
/// top that nothing can be below.
fn fitting(largest: f64, maximum: f64) -> Option<i32> {
    if largest <= 0.0 || !largest.is_finite() || maximum <= 0.0 {
        return None;
    }
    let (low, high) = (*CHART_SCALE_RANGE.start(), *CHART_SCALE_RANGE.end());
    // A value just above the top is a rounding error: it fits.
    (low..=high).rev().find(|power| largest * factor(*power) <= maximum * 1.000_001).or(Some(low))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn powers() {
        for (scale, default_scale, largest, expected) in [
            // The default as long as it fits.
            (Scale::Auto, 0, Some(37.0), 0),
            (Scale::Auto, 1, Some(3.0), 1),
            (Scale::Auto, 1, Some(37.0), 0),
            (Scale::Auto, 0, Some(100.0), 0),
            (Scale::Auto, 0, Some(101.0), -1),
            (Scale::Auto, -4, Some(2e9), -8),
            (Scale::Auto, 2, None, 2),
            (Scale::Auto, 0, Some(0.0), 0),
            // Fit also makes small values large.
            (Scale::Fit, 0, Some(0.004), 4),
            (Scale::Fit, 0, Some(1e6), -4),
            (Scale::Fit, -3, Some(0.0), -3),
            (Scale::Fit, 0, Some(1e300), -9),
            (Scale::Fit, 0, Some(f64::NAN), 0),
            (Scale::Power(3), -5, Some(1e6), 3),
            (Scale::Power(99), 0, None, 9),
            (Scale::Auto, i32::MIN, None, -9),
        ] {
            assert_eq!(
                scale.power(default_scale, largest, 100.0),
                expected,
                "{scale:?} {default_scale} {largest:?}"
            );
        }
    }
}
