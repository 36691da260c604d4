//! The chart around the lines: the ends of its vertical axis, its grid, its title, and which of its parts are
//! shown.

use crate::model::switches::Switches;

/// Lines across and down at the numbers and the times.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Grid {
    /// No lines.
    None,
    /// At the numbers of the vertical axis.
    #[default]
    Horizontal,
    /// At the times.
    Vertical,
    /// At both.
    Both,
}

impl Grid {
    /// All grids with their names in settings, in the order in which a key steps through them.
    pub const NAMES: [(&'static str, Grid); 4] = [
        ("none", Grid::None),
        ("horizontal", Grid::Horizontal),
        ("vertical", Grid::Vertical),
        ("both", Grid::Both),
    ];

    /// Whether there are lines at the numbers.
    pub const fn is_horizontal(self) -> bool {
        matches!(self, Grid::Horizontal | Grid::Both)
    }

    /// Whether there are lines at the times.
    pub const fn is_vertical(self) -> bool {
        matches!(self, Grid::Vertical | Grid::Both)
    }

    /// The next one, or the one before.
    pub fn step(self, forward: bool) -> Grid {
        let at = Grid::NAMES.iter().position(|(_, grid)| *grid == self).unwrap_or(0);
        let count = Grid::NAMES.len();
        let next = at.saturating_add(if forward { 1 } else { count.saturating_sub(1) }) % count;
        Grid::NAMES.get(next).map_or(self, |(_, grid)| *grid)
    }
}

/// The ends of the vertical axis, after scaling.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Axis {
    minimum: f64,
    maximum: f64,
}

impl Default for Axis {
    /// From 0 to 100, as in Performance Monitor.
    fn default() -> Axis {
        Axis { minimum: 0.0, maximum: 100.0 }
    }
}

impl Axis {
    /// The largest size of a number of the axis.
    pub const LARGEST: f64 = 1e12;

    /// An axis; `None` when the top is not above the bottom or one is not a number of at most
    /// [`Axis::LARGEST`].
    pub fn new(minimum: f64, maximum: f64) -> Option<Axis> {
        let fits = minimum.abs() <= Axis::LARGEST
            && maximum.abs() <= Axis::LARGEST
            && maximum - minimum >= (maximum.abs() * 1e-6).max(1e-6);
        fits.then_some(Axis { minimum, maximum })
    }

    /// The number at the bottom.
    pub const fn minimum(self) -> f64 {
        self.minimum
    }

    /// The number at the top.
    pub const fn maximum(self) -> f64 {
        self.maximum
    }

    /// The height of a scaled value: 0 at the bottom, 1 at the top.
    pub fn share(self, scaled: f64) -> f64 {
        (scaled - self.minimum) / (self.maximum - self.minimum)
    }

    /// The number at a share of the height.
    pub fn at(self, share: f64) -> f64 {
        self.minimum + (self.maximum - self.minimum) * share
    }

    /// The axis up to the next round number, or the one before: 1, 2 or 5 times a power of ten.
    pub fn step_maximum(self, up: bool) -> Axis {
        let most = self.maximum.max(1e-3) * if up { 1.000_001 } else { 0.999_999 };
        let power = 10f64.powf(most.log10().floor());
        let steps = [0.5, 1.0, 2.0, 5.0, 10.0].map(|step| step * power);
        let next = if up {
            steps.into_iter().find(|step| *step > most)
        } else {
            steps.into_iter().rev().find(|step| *step < most)
        };
        next.and_then(|next| Axis::new(self.minimum, next)).unwrap_or(self)
    }
}

/// The chart around the lines.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Picture {
    /// The vertical axis.
    pub axis: Axis,
    /// Its grid.
    pub grid: Grid,
    /// Its title.
    pub title: String,
    /// The label of the vertical axis.
    pub label: String,
    /// Which of its parts are shown.
    pub parts: Switches,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_axis_goes_up() {
        for (minimum, maximum) in
            [(5.0, 5.0), (7.0, 2.0), (f64::NAN, 1.0), (0.0, f64::INFINITY), (-1e300, 0.0), (1e12, 1e12 + 1.0)]
        {
            assert_eq!(Axis::new(minimum, maximum), None, "{minimum} to {maximum}");
        }
        let axis = Axis::new(-50.0, 150.0).unwrap();
        assert_eq!([-50.0, 50.0, 150.0].map(|value| axis.share(value)), [0.0, 0.5, 1.0]);
        assert_eq!([0.0, 0.5, 1.0].map(|share| axis.at(share)), [-50.0, 50.0, 150.0]);
    }

    #[test]
    fn tops_step_through_round_numbers() {
        let mut axis = Axis::default();
        let mut seen = Vec::new();
        for up in [true, true, true, false, false, false, false] {
            axis = axis.step_maximum(up);
            seen.push(axis.maximum().round());
        }
        assert_eq!(seen, [200.0, 500.0, 1000.0, 500.0, 200.0, 100.0, 50.0]);
        let high = Axis::new(40.0, 50.0).unwrap();
        assert_eq!(high.step_maximum(false), high, "not below the bottom");
    }

    #[test]
    fn grids_go_round() {
        let mut grid = Grid::None;
        for _ in 0..4 {
            assert_eq!(grid.step(true).step(false), grid);
            grid = grid.step(true);
        }
        assert_eq!(grid, Grid::None);
    }
}
