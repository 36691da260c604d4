use super::*;

fn after(shape: Shape, changes: &[Change<'_>]) -> State {
    let (mut state, hash) = (State::new(shape), RandomState::new());
    for change in changes {
        state.change(*change, &hash).unwrap();
    }
    state
}

fn reals(numbers: &[u64]) -> Vec<f64> {
    numbers.iter().map(|bits| f64::from_bits(*bits)).collect()
}

#[test]
fn counts_keep_their_digits_and_fractions() {
    let large = (1i64 << 53) + 1;
    let numbers = |changes: &[Change<'_>]| {
        let (numbers, average) = after(Shape::Count, changes).numbers();
        assert_eq!(average, None);
        (numbers[0], f64::from_bits(numbers[1]))
    };
    let add = |number| Change::Add(Number::Real(number));
    assert_eq!(numbers(&[Change::Add(Number::Whole(large))]).0, large.cast_unsigned());
    assert_eq!(numbers(&[add(0.5), add(0.25), add(0.25), add(1.75)]), (2, 2.75));
    // What goes down is in the total only.
    assert_eq!(numbers(&[add(10.0), Change::Add(Number::Whole(-3)), add(-0.5)]), (10, 6.5));
    assert_eq!(numbers(&[add(10.0), Change::Set(Number::Real(4.5))]), (4, 4.5));
    let mut state = State::new(Shape::Count);
    assert!(state.change(Change::Set(Number::Whole(-1)), &RandomState::new()).is_err());
    assert!(state.change(Change::SetGauge(1.0), &RandomState::new()).is_err());
}

#[test]
fn times_are_in_units_of_100_ns() {
    for (unit, number, wanted) in [
        ("s", Number::Real(1.5), 15_000_000),
        ("ms", Number::Whole(3), 30_000),
        ("us", Number::Whole(7), 70),
        ("ns", Number::Whole(250), 2),
        ("min", Number::Whole(2), 1_200_000_000),
        ("s", Number::Whole(i64::MAX), u64::MAX),
    ] {
        let unit = TimeUnit::of_ucum(unit).unwrap();
        assert_eq!(after(Shape::Time(unit), &[Change::Set(number)]).numbers().0[0], wanted);
    }
    assert_eq!((TimeUnit::of_ucum("By"), TimeUnit::of_ucum("")), (None, None));
}

#[test]
fn gauges_move_and_sets_count_what_differs() {
    let changes = [Change::SetGauge(2.0), Change::MoveGauge(-5.5)];
    assert_eq!(reals(&after(Shape::Gauge, &changes).numbers().0[..1]), [-3.5]);
    let members = ["a", "b", "a", "c"].map(Change::Member);
    let mut set = after(Shape::Unique, &members);
    assert!(!set.is_ready() && set.remembered() == 3);
    set.end_interval();
    assert!(set.is_ready());
    assert_eq!((set.numbers().0[0], set.remembered()), (3, 0));
    set.end_interval();
    assert_eq!(set.numbers().0[0], 0);
}

#[test]
fn sets_are_limited() {
    let hash = RandomState::new();
    let mut set = State::new(Shape::Unique);
    let failed = (0..MOST_UNIQUE + 10).filter(|n| set.change(Change::Member(&n.to_string()), &hash).is_err());
    assert_eq!(failed.count(), 10);
    // One that is known is no new one.
    assert_eq!(set.change(Change::Member("1"), &hash), Ok(()));
}

#[test]
fn values_have_an_average_and_percentiles() {
    let record = |value, times| Change::Record { value: Number::Real(value), times };
    let mut state =
        after(Shape::Values(Some(TimeUnit::MILLISECONDS)), &[record(320.5, 1.0), record(10.0, 10.0)]);
    let (numbers, average) = state.numbers();
    assert_eq!((numbers[0], f64::from_bits(numbers[1])), (11, 420.5));
    assert_eq!(average, Some((4_205_000, 11)));
    // Before the end of an interval, these have no value.
    assert!(reals(&numbers[2..]).iter().all(|number| number.is_nan()));
    state.end_interval();
    let numbers = reals(&state.numbers().0[2..]);
    assert_eq!(numbers[..3], [420.5 / 11.0, 10.0, 320.5]);
    assert!((numbers[3] - 10.0).abs() < 0.4 && (numbers[5] - 320.5).abs() < 10.0, "{numbers:?}");
    // An average over what can go down is none.
    let state = after(Shape::Values(Some(TimeUnit::MILLISECONDS)), &[record(-1.0, 1.0)]);
    assert_eq!(state.numbers().1, Some((0, 0)));
}

#[test]
fn observations_are_added_or_replaced() {
    let observe = |count, sum, is_delta| Change::Observe { count, sum, is_delta };
    let shape = Shape::Observations(None);
    for (changes, wanted) in [
        (vec![observe(2, Some(5.5), true), observe(1, Some(4.5), true)], (3, 10.0, Some((10, 3)))),
        (vec![observe(2, Some(5.5), false), observe(3, Some(7.75), false)], (3, 7.75, Some((7, 3)))),
        (vec![observe(2, Some(-5.5), false)], (2, -5.5, Some((0, 0)))),
    ] {
        let (numbers, average) = after(shape, &changes).numbers();
        assert_eq!((numbers[0], f64::from_bits(numbers[1]), average), wanted);
    }
    let (numbers, average) = after(shape, &[observe(2, Some(1.0), true), observe(1, None, true)]).numbers();
    assert!(numbers[0] == 3 && f64::from_bits(numbers[1]).is_nan() && average == Some((0, 0)));
    let seconds = Shape::Observations(TimeUnit::of_ucum("s"));
    let (_, average) = after(seconds, &[observe(4, Some(0.25), false)]).numbers();
    assert_eq!(average, Some((2_500_000, 4)));
}
