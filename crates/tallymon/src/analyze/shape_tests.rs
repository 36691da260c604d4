use super::*;

/// Noise of standard deviation 1, the same in each run (the sum of twelve uniform numbers).
struct Noise(u64);

impl Noise {
    fn uniform(&mut self) -> f64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as f64 / (1_u64 << 53) as f64
    }

    fn next(&mut self) -> f64 {
        (0..12).map(|_| self.uniform()).sum::<f64>() - 6.0
    }

    fn course(seed: u64, points: usize, mut level: impl FnMut(usize) -> f64) -> Vec<f64> {
        let mut noise = Noise(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1);
        (0..points).map(|at| level(at) + noise.next()).collect()
    }
}

#[test]
fn finds_medians() {
    for (values, middle) in [
        (vec![], None),
        (vec![3.0], Some(3.0)),
        (vec![4.0, 1.0], Some(2.5)),
        (vec![9.0, 1.0, 2.0], Some(2.0)),
    ] {
        let mut sorted = values.clone();
        assert_eq!(median(&mut sorted), middle, "{values:?}");
    }
}

#[test]
fn measures_noise_in_spite_of_shifts_and_trends() {
    for level in
        [|_: usize| 0.0, |at: usize| if at < 250 { 0.0 } else { 100.0 }, |at: usize| at as f64 / 10.0]
    {
        let noise = noise(&Noise::course(7, 500, level)).unwrap();
        assert!((0.85..1.15).contains(&noise), "{noise}");
    }
}

#[test]
fn finds_shifts_where_they_are() {
    for (at, by) in [(100, 8.0), (250, -6.0), (400, 10.0)] {
        let course = Noise::course(at as u64, 500, |point| if point < at { 20.0 } else { 20.0 + by });
        let found = shift(&course, 4.0).unwrap();
        assert!(found.at.abs_diff(at) <= 3, "{found:?}, at {at}");
        assert!((found.after - found.before - by).abs() < 0.5, "{found:?}, by {by}");
    }
}

#[test]
fn levels_that_come_and_go_are_no_shift() {
    for (from, to) in [(100, 200), (200, 380)] {
        let course = Noise::course(4, 500, |at| if (from..to).contains(&at) { 60.0 } else { 20.0 });
        assert_eq!(shift(&course, 4.0), None, "from {from} to {to}");
    }
    // Days and nights, each of a quarter.
    assert_eq!(shift(&Noise::course(4, 480, |at| if at / 60 % 2 == 0 { 60.0 } else { 20.0 }), 4.0), None);
}

#[test]
fn quiet_courses_have_no_shift_and_no_trend() {
    // Independent noise, noise that depends on its neighbours (as real counters do), single spikes, a
    // constant.
    let mut alarms = [0_u32; 2];
    for seed in 1..=100 {
        let independent = Noise::course(seed, 400, |_| 50.0);
        let mut last = 0.0;
        let dependent: Vec<f64> = Noise::course(seed, 400, |_| 0.0)
            .iter()
            .map(|noise| {
                last = 0.5 * last + noise;
                50.0 + last
            })
            .collect();
        let spikes = Noise::course(seed, 400, |at| if at % 97 == 5 { 90.0 } else { 50.0 });
        for course in [independent, dependent, spikes, vec![7.0; 400]] {
            alarms[0] += u32::from(shift(&course, 4.0).is_some());
            alarms[1] += u32::from(trend(&course).unwrap().tau.abs() > 0.6);
        }
    }
    assert_eq!(alarms, [0, 0], "false alarms of 400 courses");
}

#[test]
fn follows_trends() {
    for slope in [0.05, -0.2] {
        let mut course = Noise::course(3, 400, |at| 100.0 + slope * at as f64);
        // Outliers change nothing.
        course[17] = 1e9;
        course[390] = -1e9;
        let found = trend(&course).unwrap();
        assert!((found.slope - slope).abs() < 0.005, "{found:?}");
        assert!((found.intercept - 100.0).abs() < 1.0, "{found:?}");
        assert!(found.tau.abs() > 0.6, "{found:?}");
    }
    assert_eq!(trend(&[1.0; 9]), None);
}

#[test]
fn finds_what_moves_together_and_which_comes_first() {
    let cause = Noise::course(11, 300, |at| if at % 60 < 20 { 10.0 } else { 0.0 });
    let effect: Vec<Option<f64>> =
        (0..300).map(|at| Some(if at < 4 { 0.0 } else { cause[at - 4] * cause[at - 4] * 3.0 })).collect();
    let other: Vec<Option<f64>> = Noise::course(12, 300, |_| 0.0).into_iter().map(Some).collect();
    let cause: Vec<Option<f64>> = cause.into_iter().map(Some).collect();
    let (strength, lag) = correlation(&cause, &effect, 8).unwrap();
    assert!(strength > 0.5 && lag == 4, "{strength}, {lag}");
    let (strength, _) = correlation(&cause, &other, 8).unwrap();
    assert!(strength.abs() < 0.3, "{strength}");
    assert_eq!(correlation(&cause, &[Some(1.0); 300], 2), None);
}

#[test]
fn late_trends_begin_where_the_course_begins_to_grow() {
    for seed in 1..100 {
        let grows = |at: usize| 50.0 + at.saturating_sub(150) as f64;
        let values = Noise::course(seed, 300, grows);
        let (begin, found) = late_trend(&values, true, 0.9).unwrap_or_else(|| panic!("{seed}"));
        assert!((140..=175).contains(&begin), "{begin}");
        assert!((found.slope - 1.0).abs() < 0.1, "{found:?}");
        // The other way is not what is looked for.
        assert_eq!(late_trend(&values, false, 0.9), None);
        let falls: Vec<f64> = values.iter().map(|value| 400.0 - value).collect();
        let (same, found) = late_trend(&falls, false, 0.9).unwrap();
        assert!(same == begin && (found.slope + 1.0).abs() < 0.1, "{found:?}");
    }
}

#[test]
fn what_does_not_go_on_to_the_end_is_no_late_trend() {
    type Level = fn(usize) -> f64;
    let courses: [(&str, Level); 6] = [
        ("flat", |_| 50.0),
        ("a step", |at| if at < 150 { 50.0 } else { 150.0 }),
        ("two steps", |at| 50.0 + 60.0 * (at / 100) as f64),
        ("levels off", |at| 50.0 + at.clamp(100, 200) as f64),
        ("a saw", |at| 50.0 + (at % 100) as f64),
        ("there and back", |at| 50.0 + 150.0_f64.min((at as f64 - 150.0).abs())),
    ];
    for (name, level) in courses {
        for seed in 1..200 {
            let values = Noise::course(seed, 300, level);
            for upwards in [true, false] {
                // What goes there and back ends where it began.
                assert_eq!(late_trend(&values, upwards, 0.9), None, "{name} {seed} {upwards}");
            }
        }
    }
    // Noise whose neighbours depend on each other.
    for seed in 1..400 {
        let mut last = 0.0;
        let values: Vec<f64> = Noise::course(seed, 512, |_| 0.0)
            .into_iter()
            .map(|noise| {
                last = 0.9 * last + noise;
                last
            })
            .collect();
        assert!([true, false].iter().all(|way| late_trend(&values, *way, 0.9).is_none()), "{seed}");
    }
}
