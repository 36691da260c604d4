//! What a course looks like without any rule: where it shifts to another level, whether it grows or falls all
//! the time, and which courses move together. All of it is robust: single outliers change nothing.

/// A level that changes once and stays.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Shift {
    /// The first point of the new level.
    pub at: usize,
    /// The median before and after.
    pub before: f64,
    /// The median after it.
    pub after: f64,
    /// The distance of the two in standard deviations of the noise.
    pub deviations: f64,
}

/// A line through a course.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Trend {
    /// The growth from one point to the next.
    pub slope: f64,
    /// Where the line begins.
    pub intercept: f64,
    /// Kendall's tau: 1 if every point is above all before it, -1 if below.
    pub tau: f64,
}

/// The share of the points on each side of a shift that are nearer to the level of their side.
const STAYS: f64 = 0.8;
/// How many points of a trend are compared with each other.
const TREND_POINTS: usize = 128;

/// The median; `None` without values. Changes their order.
pub(super) fn median(values: &mut [f64]) -> Option<f64> {
    let (middle, is_odd) = (values.len() / 2, values.len() % 2 == 1);
    if values.is_empty() {
        return None;
    }
    let (below, upper, _) = values.select_nth_unstable_by(middle, f64::total_cmp);
    if is_odd {
        return Some(*upper);
    }
    let lower = below.iter().copied().max_by(f64::total_cmp)?;
    Some(f64::midpoint(lower, *upper))
}

/// The standard deviation of the noise, from the differences of neighbours, which a shift or a trend hardly
/// changes (Rousseeuw and Croux, 1993, for the factor of the median absolute deviation).
pub(super) fn noise(values: &[f64]) -> Option<f64> {
    let mut differences: Vec<f64> =
        values.windows(2).filter_map(|pair| Some((pair.get(1)? - pair.first()?).abs())).collect();
    median(&mut differences).map(|middle| 1.4826 * middle / std::f64::consts::SQRT_2)
}

/// The points at which the level changes: optimal partitioning for changes in the mean with the pruning of
/// PELT (Killick, Fearnhead and Eckley, 2012). `penalty` is what a change has to save, in squares of the
/// noise; segments have at least `least` points.
pub(super) fn change_points(values: &[f64], noise: f64, penalty: f64, least: usize) -> Vec<usize> {
    let least = least.max(1);
    if noise <= 0.0 || values.len() < least.saturating_mul(2) {
        return Vec::new();
    }
    let mut sums = Vec::with_capacity(values.len().saturating_add(1));
    sums.push((0.0, 0.0));
    for value in values {
        let scaled = value / noise;
        let (sum, squares) = sums.last().copied().unwrap_or((0.0, 0.0));
        sums.push((sum + scaled, squares + scaled * scaled));
    }
    // The squares of the distances from the mean of the points from..to.
    let cost = |from: usize, to: usize| -> f64 {
        let (Some(first), Some(last)) = (sums.get(from), sums.get(to)) else { return f64::INFINITY };
        let count = to.saturating_sub(from) as f64;
        let sum = last.0 - first.0;
        (last.1 - first.1 - sum * sum / count.max(1.0)).max(0.0)
    };
    let mut best = vec![f64::INFINITY; sums.len()];
    let mut from = vec![0_usize; sums.len()];
    if let Some(first) = best.first_mut() {
        *first = -penalty;
    }
    let mut candidates = vec![0_usize];
    for to in least..sums.len() {
        let at = |candidate: usize| best.get(candidate).copied().unwrap_or(f64::INFINITY);
        let costs: Vec<(usize, f64)> =
            candidates.iter().map(|begin| (*begin, at(*begin) + cost(*begin, to))).collect();
        let (begin, lowest) = costs
            .iter()
            .filter(|(begin, _)| to.saturating_sub(*begin) >= least)
            .fold((0, f64::INFINITY), |low, next| if next.1 < low.1 { *next } else { low });
        if let (Some(best), Some(from)) = (best.get_mut(to), from.get_mut(to)) {
            (*best, *from) = (lowest + penalty, begin);
        }
        let kept =
            costs.iter().filter(|(begin, sum)| *sum <= lowest + penalty || to.saturating_sub(*begin) < least);
        candidates = kept.map(|(begin, _)| *begin).collect();
        candidates.push(to);
    }
    let mut points = Vec::new();
    let mut to = values.len();
    while let Some(begin) = from.get(to).copied().filter(|begin| *begin > 0 && *begin < to) {
        points.push(begin);
        to = begin;
    }
    points.reverse();
    points
}

/// The largest shift of a course, if it is beyond the noise.
///
/// It must last at least a tenth of the course on both sides, stay until its end, and be at least
/// `deviations` times the noise.
pub fn shift(values: &[f64], deviations: f64) -> Option<Shift> {
    shift_beyond(values, deviations, 0.0)
}

/// As [`shift`], with a noise that is known to be at least so large.
pub(super) fn shift_beyond(values: &[f64], deviations: f64, least_noise: f64) -> Option<Shift> {
    let least = values.len().div_ceil(10).max(5);
    let noise = noise(values)?.max(floor_of_noise(values)).max(least_noise);
    // Neighbours in real courses depend on each other, so that a change has to save more than the 3 ln n of
    // independent ones.
    let penalty = 10.0 * (values.len().max(2) as f64).ln();
    let points = change_points(values, noise, penalty, least);
    let bounds: Vec<usize> = std::iter::once(0).chain(points).chain([values.len()]).collect();
    let level = |from: usize, to: usize| median(&mut values.get(from..to)?.to_vec());
    let mut largest: Option<Shift> = None;
    for three in bounds.windows(3) {
        let &[from, at, to] = three else { continue };
        let (Some(before), Some(after)) = (level(from, at), level(at, to)) else { continue };
        let distance = (after - before).abs() / noise;
        let stays = |range: std::ops::Range<usize>, level: f64, other: f64| {
            let part = values.get(range).unwrap_or_default();
            let near = part.iter().filter(|value| (*value - level).abs() < (*value - other).abs()).count();
            near as f64 >= STAYS * part.len() as f64
        };
        // A level that comes and goes, such as that of days and nights, is no shift.
        if !stays(0..at, before, after) || !stays(at..values.len(), after, before) {
            continue;
        }
        if distance >= deviations && largest.is_none_or(|largest| distance > largest.deviations) {
            largest = Some(Shift { at, before, after, deviations: distance });
        }
    }
    largest
}

/// A course that hardly moves has no noise; a thousandth of its size is never a shift.
fn floor_of_noise(values: &[f64]) -> f64 {
    let largest = values.iter().fold(0.0_f64, |largest, value| largest.max(value.abs()));
    largest / 1000.0
}

/// The line of a course by Theil and Sen (Sen, 1968), and how steadily it goes up or down (Kendall, 1938).
/// `None` with fewer than ten points.
pub fn trend(values: &[f64]) -> Option<Trend> {
    steady_trend(values, 0.0)
}

/// As [`trend`]; `None` also if its tau is nearer to 0. Of most courses only that is computed.
pub(super) fn steady_trend(values: &[f64], least: f64) -> Option<Trend> {
    let step = values.len().div_ceil(TREND_POINTS).max(1);
    let points: Vec<(f64, f64)> =
        values.iter().enumerate().step_by(step).map(|(at, value)| (at as f64, *value)).collect();
    if points.len() < 10 {
        return None;
    }
    let tau = tau(&points, least)?;
    let mut slopes = Vec::with_capacity(points.len().saturating_mul(points.len()) / 2);
    for (first, (x, y)) in points.iter().enumerate() {
        let later = points.iter().skip(first.saturating_add(1));
        slopes.extend(later.map(|(later_x, later_y)| (later_y - y) / (later_x - x)));
    }
    let slope = median(&mut slopes)?;
    let mut intercepts: Vec<f64> = points.iter().map(|(x, y)| y - slope * x).collect();
    Some(Trend { slope, intercept: median(&mut intercepts)?, tau })
}

/// The points that a late trend has at least.
const LATE_POINTS: usize = 40;
/// How far a late trend goes, in standard deviations of the noise.
const LATE_DEVIATIONS: f64 = 6.0;

/// Where a course begins to go one way, up to its end, and the line from there on: a leak that begins
/// within the log. Up to then it stays at a level, and at the end it is where it never was before.
/// `upwards` is the way that is looked for; `least` is for tau.
pub(super) fn late_trend(values: &[f64], upwards: bool, least: f64) -> Option<(usize, Trend)> {
    let turned: Vec<f64> = values.iter().map(|value| if upwards { *value } else { -value }).collect();
    let quarter = turned.len() / 4;
    let middle = |part: &[f64]| median(&mut part.to_vec());
    let (start, end) = (turned.get(..quarter)?, turned.get(turned.len().saturating_sub(quarter / 2)..)?);
    // Most courses end here: at their end they are where they were at their begin.
    let most = start.iter().fold(f64::NEG_INFINITY, |most, value| most.max(*value));
    let (low, high) = (middle(start)?, middle(end)?);
    let noise = noise(values)?.max(floor_of_noise(values));
    if high <= most || high - low < LATE_DEVIATIONS * noise {
        return None;
    }
    let penalty = 10.0 * (values.len().max(2) as f64).ln();
    let points = change_points(values, noise, penalty, 5);
    let is_long = |begin: &usize| {
        let left = values.len().saturating_sub(*begin);
        left >= LATE_POINTS && left.saturating_mul(5) >= values.len()
    };
    points.into_iter().filter(is_long).find_map(|begin| {
        let (before, after) = (turned.get(..begin)?, turned.get(begin..)?);
        // The last part of the line is above everything before the line.
        let most = before.iter().fold(f64::NEG_INFINITY, |most, value| most.max(*value));
        let found = steady_trend(values.get(begin..)?, least)?;
        let is_upwards = (found.slope > 0.0) == upwards;
        let grown = middle(after.get(after.len().saturating_sub(after.len() / 5)..)?)?;
        (is_upwards && grown > most && grown - middle(before)? >= LATE_DEVIATIONS * noise)
            .then_some((begin, found))
    })
}

/// Kendall's tau of some points in their order; `None` if it is nearer to 0 than `least`, which mostly shows
/// before all pairs were compared.
fn tau(points: &[(f64, f64)], least: f64) -> Option<f64> {
    let heights: Vec<f64> = points.iter().map(|(_, y)| *y).collect();
    let pairs = heights.len().saturating_mul(heights.len().saturating_sub(1)) / 2;
    let (mut balance, mut left) = (0_i64, pairs);
    let mut later = heights.as_slice();
    while let [height, rest @ ..] = later {
        let above: i64 = rest.iter().map(|other| i64::from(other > height)).sum();
        let below: i64 = rest.iter().map(|other| i64::from(other < height)).sum();
        balance = balance.saturating_add(above.saturating_sub(below));
        left = left.saturating_sub(rest.len());
        later = rest;
        if (balance.unsigned_abs() as f64 + left as f64) / (pairs as f64) < least {
            return None;
        }
    }
    Some(balance as f64 / pairs as f64).filter(|tau| tau.abs() >= least)
}

/// The correlation of the ranks of two courses (Spearman, 1904) at the lag of at most `lags` points at which
/// it is strongest. A positive lag: the second course follows the first one. `None` with fewer than thirty
/// points that both have.
pub fn correlation(first: &[Option<f64>], second: &[Option<f64>], lags: usize) -> Option<(f64, i64)> {
    let mut strongest: Option<(f64, i64)> = None;
    let lags = i64::try_from(lags).ok()?;
    for lag in -lags..=lags {
        let shift = usize::try_from(lag.unsigned_abs()).ok()?;
        let (ahead, behind) = if lag >= 0 { (first, second) } else { (second, first) };
        let pairs: Vec<(f64, f64)> = ahead
            .iter()
            .zip(behind.iter().skip(shift))
            .filter_map(|(one, other)| Some(((*one)?, (*other)?)))
            .collect();
        if pairs.len() < 30 {
            continue;
        }
        let ranks_of_first = ranks(&pairs.iter().map(|pair| pair.0).collect::<Vec<_>>());
        let ranks_of_second = ranks(&pairs.iter().map(|pair| pair.1).collect::<Vec<_>>());
        if let Some(found) = pearson(&ranks_of_first, &ranks_of_second)
            && strongest.is_none_or(|(strongest, _)| found.abs() > strongest.abs())
        {
            strongest = Some((found, lag));
        }
    }
    strongest
}

/// The rank of each value; equal values share the mean of theirs.
fn ranks(values: &[f64]) -> Vec<f64> {
    let mut order: Vec<(usize, f64)> = values.iter().copied().enumerate().collect();
    order.sort_by(|one, other| one.1.total_cmp(&other.1));
    let mut ranks = vec![0.0; values.len()];
    let mut below = 0_usize;
    for group in order.chunk_by(|one, other| one.1 == other.1) {
        let rank = below as f64 + (group.len().saturating_sub(1)) as f64 / 2.0;
        for (at, _) in group {
            if let Some(place) = ranks.get_mut(*at) {
                *place = rank;
            }
        }
        below = below.saturating_add(group.len());
    }
    ranks
}

fn pearson(first: &[f64], second: &[f64]) -> Option<f64> {
    let count = first.len() as f64;
    let mean = |values: &[f64]| values.iter().sum::<f64>() / count;
    let (mean_first, mean_second) = (mean(first), mean(second));
    let (mut both, mut one, mut other) = (0.0, 0.0, 0.0);
    for (x, y) in first.iter().zip(second) {
        let (x, y) = (x - mean_first, y - mean_second);
        both += x * y;
        one += x * x;
        other += y * y;
    }
    let spread = (one * other).sqrt();
    (spread > 0.0).then(|| both / spread)
}

#[cfg(test)]
#[path = "shape_tests.rs"]
mod tests;
