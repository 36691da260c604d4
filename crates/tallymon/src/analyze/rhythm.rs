//! What a course does now and then: short spikes, a load that comes back in the same distance, a load
//! beyond which waiting begins, and hours that are unlike the same hour of other days. All of it is robust:
//! it looks at medians.

use super::shape::median;

/// How far a spike is above the median, in standard deviations.
const SPIKE_DEVIATIONS: f64 = 12.0;
/// The share of a course that spikes take at most; more is no spike.
const SPIKE_SHARE: f64 = 0.05;
/// The points that a spike lasts at least.
const SPIKE_POINTS: usize = 2;
/// The points that a period, a knee and its course need at least.
const LEAST_POINTS: usize = 60;
/// How like itself a periodic course is, one period later.
const PERIOD_LIKENESS: f64 = 0.6;
/// The groups of points of equal size that a knee is looked for in.
const KNEE_GROUPS: usize = 20;
/// The part of the squares that a knee leaves of those of a straight line, at most.
const KNEE_SQUARES: f64 = 0.35;
/// How far an hour is from the same hour of other days, in standard deviations of all hours.
const HOUR_DEVIATIONS: f64 = 6.0;
/// The other days that an hour is compared with, at least.
const OTHER_DAYS: usize = 4;

/// A load that comes back.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Period {
    /// From one to the next, in points.
    pub(super) points: usize,
    /// The correlation of the course with itself one period later, 0 to 1.
    pub(super) likeness: f64,
}

/// A load beyond which waiting begins.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Knee {
    /// The load.
    pub(super) load: f64,
    /// The wait below it.
    pub(super) before: f64,
    /// The wait at the highest load.
    pub(super) after: f64,
    /// The part of the squared distances from a straight line that the knee explains, 0 to 1.
    pub(super) explained: f64,
}

/// One hour of a day that is unlike the same hour of other days.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Hour {
    /// Hours since 1601, local time.
    pub(super) hour: u64,
    /// The median in this hour.
    pub(super) value: f64,
    /// The median of the medians of other days.
    pub(super) usual: f64,
    /// The distance in standard deviations.
    pub(super) deviations: f64,
}

/// The median, and the standard deviation from the median absolute deviation: at least a hundredth of the
/// median.
fn center(values: &[f64]) -> Option<(f64, f64)> {
    let middle = median(&mut values.to_vec())?;
    let mut distances: Vec<f64> = values.iter().map(|value| (value - middle).abs()).collect();
    Some((middle, (1.4826 * median(&mut distances)?).max(middle.abs() / 100.0)))
}

/// The stretches in which a course is far above its median and at least `matters`: the first point of each,
/// and the one behind its last. None if they take more than a twentieth of the course.
pub(super) fn spikes(values: &[f64], matters: f64) -> Vec<(usize, usize)> {
    let Some((middle, deviation)) = center(values) else { return Vec::new() };
    let limit = matters.max(middle + SPIKE_DEVIATIONS * deviation);
    let mut found = Vec::new();
    let mut at = 0_usize;
    for run in values.chunk_by(|one, other| (*one >= limit) == (*other >= limit)) {
        let end = at.saturating_add(run.len());
        if run.len() >= SPIKE_POINTS && run.first().is_some_and(|value| *value >= limit) {
            found.push((at, end));
        }
        at = end;
    }
    let taken: usize = found.iter().map(|(from, to)| to.saturating_sub(*from)).sum();
    if taken as f64 > SPIKE_SHARE * values.len() as f64 { Vec::new() } else { found }
}

/// The period of a course: the shortest distance at which it is like itself, if it is unlike itself
/// between, and like itself again at twice the distance. Four periods have to be in the course.
pub(super) fn period(values: &[f64]) -> Option<Period> {
    if values.len() < LEAST_POINTS {
        return None;
    }
    let (middle, _) = center(values)?;
    let centered: Vec<f64> = values.iter().map(|value| value - middle).collect();
    let mean = centered.iter().sum::<f64>() / centered.len() as f64;
    let centered: Vec<f64> = centered.iter().map(|value| value - mean).collect();
    let all: f64 = centered.iter().map(|value| value * value).sum();
    if all <= 0.0 {
        return None;
    }
    let like = |lag: usize| -> f64 {
        let (count, rest) = (centered.len(), centered.len().saturating_sub(lag));
        let sum: f64 = centered.iter().zip(centered.iter().skip(lag)).map(|(one, other)| one * other).sum();
        sum / all * count as f64 / rest.max(1) as f64
    };
    let likeness: Vec<f64> = (0..=values.len() / 4).map(like).collect();
    // Behind the first place at which it is unlike itself.
    let unlike = likeness.iter().position(|likeness| *likeness < 0.3)?;
    let best = likeness.iter().skip(unlike).copied().fold(f64::NEG_INFINITY, f64::max);
    if best < PERIOD_LIKENESS {
        return None;
    }
    let of = |lag: usize| likeness.get(lag).copied().unwrap_or(f64::NEG_INFINITY);
    let peak = likeness.iter().enumerate().skip(unlike).find(|(lag, likeness)| {
        let neighbours = of(lag.saturating_sub(1)).max(of(lag.saturating_add(1)));
        **likeness > best - 0.1 && **likeness >= neighbours
    });
    let (points, likeness) = peak.map(|(lag, likeness)| (lag, *likeness))?;
    (points >= 3 && like(points.saturating_mul(2)) >= PERIOD_LIKENESS - 0.15)
        .then_some(Period { points, likeness: likeness.min(1.0) })
}

/// Where waiting begins: medians of groups with equal loads, and a level that rises from one load on, which
/// must fit far better than a straight line.
pub(super) fn knee(pairs: &[(f64, f64)], matters: f64) -> Option<Knee> {
    if pairs.len() < LEAST_POINTS {
        return None;
    }
    let mut sorted = pairs.to_vec();
    sorted.sort_by(|one, other| one.0.total_cmp(&other.0));
    let groups: Vec<(f64, f64)> = sorted
        .chunks(sorted.len().div_ceil(KNEE_GROUPS))
        .filter_map(|group| {
            let mut waits: Vec<f64> = group.iter().map(|pair| pair.1).collect();
            let mut loads: Vec<f64> = group.iter().map(|pair| pair.0).collect();
            Some((median(&mut loads)?, median(&mut waits)?))
        })
        .collect();
    let straight = squares(&groups, |load| load)?;
    let inner = groups.iter().skip(3).take(groups.len().saturating_sub(6));
    let fits = inner.filter_map(|(load, _)| {
        let fit = squares(&groups, |other| (other - load).max(0.0))?;
        Some((*load, fit))
    });
    let (load, fit) = fits.min_by(|one, other| one.1.squares.total_cmp(&other.1.squares))?;
    let highest = groups.last()?;
    let after = fit.level + fit.slope * (highest.0 - load);
    let explained = 1.0 - fit.squares / straight.squares;
    let is_knee = fit.slope > 0.0
        && explained >= 1.0 - KNEE_SQUARES
        && after >= matters
        && after >= 3.0 * fit.level.max(0.0);
    is_knee.then_some(Knee { load, before: fit.level, after, explained })
}

/// A line through points, and the squares that it leaves.
struct Fit {
    level: f64,
    slope: f64,
    squares: f64,
}

/// Least squares of the waits by a function of the loads.
fn squares(pairs: &[(f64, f64)], of_load: impl Fn(f64) -> f64) -> Option<Fit> {
    let count = pairs.len() as f64;
    let mean_x = pairs.iter().map(|pair| of_load(pair.0)).sum::<f64>() / count;
    let mean_y = pairs.iter().map(|pair| pair.1).sum::<f64>() / count;
    let (mut both, mut own) = (0.0, 0.0);
    for (load, wait) in pairs {
        let x = of_load(*load) - mean_x;
        both += x * (wait - mean_y);
        own += x * x;
    }
    if own <= 0.0 {
        return None;
    }
    let slope = both / own;
    let level = mean_y - slope * mean_x;
    let squares = pairs.iter().map(|(load, wait)| (wait - level - slope * of_load(*load)).powi(2)).sum();
    Some(Fit { level, slope, squares })
}

/// The hours that are unlike the same hour of at least four other days: six standard deviations of all
/// hours around the same hour of other days, and a share of the larger value. `hours` has the median of
/// each local hour.
pub(super) fn unlike_other_days(hours: &[(u64, f64)], share: f64) -> Vec<Hour> {
    let compared: Vec<Hour> = hours
        .iter()
        .filter_map(|(hour, value)| {
            let is_same = |other: &&(u64, f64)| other.0 % 24 == hour % 24 && other.0 != *hour;
            let mut others: Vec<f64> = hours.iter().filter(is_same).map(|other| other.1).collect();
            if others.len() < OTHER_DAYS {
                return None;
            }
            Some(Hour { hour: *hour, value: *value, usual: median(&mut others)?, deviations: 0.0 })
        })
        .collect();
    let mut distances: Vec<f64> = compared.iter().map(|hour| (hour.value - hour.usual).abs()).collect();
    let Some(spread) = median(&mut distances).map(|middle| 1.4826 * middle) else { return Vec::new() };
    let found = compared.into_iter().filter_map(|hour| {
        let distance = hour.value - hour.usual;
        let spread = spread.max(hour.usual.abs() / 100.0);
        let deviations = if spread > 0.0 { distance.abs() / spread } else { f64::INFINITY };
        let is_far = distance.abs() >= share * hour.value.abs().max(hour.usual.abs());
        (distance != 0.0 && is_far && deviations >= HOUR_DEVIATIONS).then_some(Hour { deviations, ..hour })
    });
    found.collect()
}

#[cfg(test)]
#[path = "rhythm_tests.rs"]
mod tests;
