use super::*;

/// Noise of standard deviation 1, the same in each run (the sum of twelve uniform numbers).
struct Noise(u64);

impl Noise {
    fn new(seed: u64) -> Noise {
        Noise(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }

    fn uniform(&mut self) -> f64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as f64 / (1_u64 << 53) as f64
    }

    fn next(&mut self) -> f64 {
        (0..12).map(|_| self.uniform()).sum::<f64>() - 6.0
    }

    /// Neighbours depend on each other by this much.
    fn course(seed: u64, points: usize, dependence: f64, level: impl Fn(usize) -> f64) -> Vec<f64> {
        let mut noise = Noise::new(seed);
        let mut last = 0.0;
        let mut next = |at: usize| {
            last = dependence * last + (1.0 - dependence * dependence).sqrt() * noise.next();
            level(at) + last
        };
        (0..points).map(&mut next).collect()
    }
}

#[test]
fn finds_spikes_and_how_long_they_are() {
    let course =
        Noise::course(5, 400, 0.5, |at| if (120..125).contains(&at) || at == 300 { 90.0 } else { 10.0 });
    // A single point is none.
    assert_eq!(spikes(&course, 50.0), [(120, 125)]);
    assert_eq!(spikes(&course, 95.0), []);
    // More than a twentieth of the time is no spike.
    let long = Noise::course(5, 400, 0.5, |at| if (120..145).contains(&at) { 90.0 } else { 10.0 });
    assert_eq!(spikes(&long, 50.0), []);
}

#[test]
fn finds_the_distance_of_a_load_that_comes_back() {
    for distance in [5, 12, 30, 60] {
        for (seed, width) in [(1, 2), (2, distance / 3 + 1)] {
            let course = Noise::course(seed, 400, 0.5, |at| if at % distance < width { 40.0 } else { 10.0 });
            let found = period(&course).unwrap_or_else(|| panic!("every {distance}"));
            assert!(found.points.abs_diff(distance) <= 1 && found.likeness > 0.7, "{found:?} of {distance}");
        }
    }
    // A wave, and one that is only seen three times.
    let wave = |points: usize, length: f64| {
        Noise::course(3, points, 0.0, |at| 20.0 * (at as f64 / length * std::f64::consts::TAU).sin())
    };
    assert!(period(&wave(400, 50.0)).unwrap().points.abs_diff(50) <= 1);
    assert_eq!(period(&wave(400, 150.0)), None);
}

#[test]
fn finds_the_load_beyond_which_waiting_begins() {
    for limit in [100.0, 250.0] {
        let mut noise = Noise::new(9);
        let pairs: Vec<(f64, f64)> = (0..600)
            .map(|_| {
                let load = noise.uniform() * 400.0;
                (load, 2.0 + (load - limit).max(0.0) * 0.5 + noise.next())
            })
            .collect();
        let found = knee(&pairs, 10.0).unwrap();
        assert!((found.load - limit).abs() < 30.0 && found.after > 3.0 * found.before, "{found:?}");
        assert_eq!(knee(&pairs, 1000.0), None, "it does not matter");
    }
    // A straight line has no knee.
    let mut noise = Noise::new(10);
    let line: Vec<(f64, f64)> =
        (0..600).map(|at| (f64::from(at), f64::from(at) * 0.1 + noise.next())).collect();
    assert_eq!(knee(&line, 10.0), None);
}

/// Six days with the same rhythm: much at day, little at night.
fn week(seed: u64, changed: &[(u64, f64)]) -> Vec<(u64, f64)> {
    let mut noise = Noise::new(seed);
    (0..6 * 24)
        .map(|hour| {
            let usual = if (8..18).contains(&(hour % 24)) { 60.0 } else { 10.0 };
            let changed = changed.iter().find(|(at, _)| *at == hour).map(|(_, value)| *value);
            (hour, changed.unwrap_or(usual) + noise.next())
        })
        .collect()
}

#[test]
fn finds_hours_that_are_unlike_other_days() {
    // Much work in a night, and none in a morning: both are usual values, at another hour.
    let found = unlike_other_days(&week(4, &[(51, 60.0), (81, 10.0)]), 0.3);
    let hours: Vec<u64> = found.iter().map(|hour| hour.hour).collect();
    assert_eq!(hours, [51, 81], "{found:?}");
    assert!((found[0].usual - 10.0).abs() < 2.0 && (found[1].usual - 60.0).abs() < 2.0);
    // Four days have three others only.
    assert_eq!(unlike_other_days(&week(4, &[(51, 60.0)])[..96], 0.3), []);
}

#[test]
fn quiet_courses_have_nothing() {
    let mut alarms = [0_u32; 4];
    for seed in 1..=200 {
        for dependence in [0.0, 0.5, 0.9] {
            let course = Noise::course(seed, 400, dependence, |_| 50.0);
            alarms[0] += u32::from(!spikes(&course, 0.0).is_empty());
            alarms[1] += u32::from(period(&course).is_some());
            let other = Noise::course(seed + 1000, 400, dependence, |_| 5.0);
            let pairs: Vec<(f64, f64)> = course.iter().copied().zip(other).collect();
            alarms[2] += u32::from(knee(&pairs, 0.0).is_some());
            alarms[3] += u32::try_from(unlike_other_days(&week(seed, &[]), 0.3).len()).unwrap();
        }
    }
    assert_eq!(alarms, [0; 4], "false alarms of 600 courses");
    for constant in [0.0, 7.0] {
        let course = [constant; 400];
        assert_eq!((spikes(&course, 0.0).len(), period(&course)), (0, None));
        assert_eq!(knee(&course.map(|value| (value, value)), 0.0), None);
    }
}
