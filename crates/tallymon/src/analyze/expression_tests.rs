use super::*;

fn parse(text: &str) -> Result<Expression, ExpressionError> {
    Expression::parse(text, &["free".to_owned(), "total".to_owned(), "gone".to_owned()])
}

#[test]
fn computes_values() {
    // free 20, total 50, gone has no value
    let values = [Some(20.0), Some(50.0), None];
    for (text, value) in [
        ("1 + 2 * 3", Some(7.0)),
        ("(1 + 2) * 3", Some(9.0)),
        ("10 - 4 - 3", Some(3.0)),
        ("-free + 1", Some(-19.0)),
        ("free / total * 100", Some(40.0)),
        ("free / (total - 50)", None),
        ("2KB", Some(2048.0)),
        ("0.5MB", Some(524_288.0)),
        ("min(free, total)", Some(20.0)),
        ("max(64, total * 0.05)", Some(64.0)),
        ("free < total", Some(1.0)),
        ("free >= total", Some(0.0)),
        ("free = 20 and total != 20", Some(1.0)),
        ("not free < total", Some(0.0)),
        ("gone + 1", None),
        ("gone > 1", None),
        ("free < 30 or gone > 1", Some(1.0)),
        ("gone > 1 and free > 30", Some(0.0)),
        ("gone > 1 and free < 30", None),
    ] {
        assert_eq!(parse(text).unwrap().value(&values), value, "{text}");
    }
}

#[test]
fn says_what_is_wrong_and_where() {
    for (text, at, words) in [
        ("", 0, "it ends"),
        ("1 +", 3, "it ends"),
        ("(1", 2, "\")\" is expected"),
        ("1 2", 2, "\"2\" is not expected"),
        ("fre > 1", 0, "nor a name of this rule (free, total, gone)"),
        ("min(1)", 5, "\",\" is expected"),
        ("1 > € ", 4, "\"€\" is neither a number nor a name"),
        ("inf > nan", 0, "\"inf\" is neither a number nor a name"),
    ] {
        let error = parse(text).unwrap_err();
        assert!(error.at == at && error.problem.contains(words), "{text}: {error}");
    }
}

#[test]
fn bounds_its_depth() {
    for text in [
        "(".repeat(100_000),
        "-".repeat(100_000),
        "not ".repeat(100_000),
        format!("1{}", "+1".repeat(100_000)),
    ] {
        assert!(parse(&text).is_err());
    }
    // Joined parts make the tree deeper, too: 64 of each strength in each of 60 parentheses are 19,200 deep.
    let joined = ["*1", "+1", "<1", " and 1", " or 1"].map(|part| part.repeat(64)).concat();
    let nested = format!("{}1{}", "(".repeat(60), format!("{joined})").repeat(60));
    let error = parse(&nested).unwrap_err();
    assert!(error.problem.contains("more than 1024 operators"), "{error}");
    let allowed = format!("{}1{}", "(".repeat(15), format!("{})", "+1".repeat(64)).repeat(15));
    assert_eq!(parse(&allowed).unwrap().value(&[]), Some(961.0));
}

#[test]
fn knows_on_which_side_a_value_is_bad() {
    for (text, below) in [
        ("free < 10", true),
        ("free > 10", false),
        ("10 > free", true),
        ("total > 5 and free < 10", true),
        ("not free < 10", false),
        ("free + 1", false),
    ] {
        assert_eq!(parse(text).unwrap().is_below(0), below, "{text}");
    }
}

/// Where a gate closes, the condition does not hold; where it is the whole condition, it decides alone.
#[test]
fn a_gate_decides_as_the_condition_does() {
    let names: Vec<String> = ["a", "b"].map(str::to_owned).to_vec();
    let values = [None, Some(-1.0), Some(0.0), Some(5.0), Some(7.0), Some(1e9)];
    let mut gates = 0;
    for text in [
        "a > 5",
        "a >= 5",
        "a < 5",
        "a <= 5",
        "5 < a",
        "5 <= a",
        "5 > a",
        "5 >= a",
        "a > 5 and b < 7",
        "b < 7 and a > 5 and a < 9",
        "a > b and b >= 5",
        "(a > 5 or b > 5) and 7 >= b",
        "a = 5",
        "a != 5",
        "not (a > 5)",
        "a > 5 or b > 5",
        "a + b > 5",
        "a > b",
        "a",
    ] {
        let condition = Expression::parse(text, &names).unwrap();
        let Some(gate) = condition.gate() else { continue };
        gates += 1;
        for first in values {
            for second in values {
                let row = [first, second];
                match row[gate.name] {
                    Some(value) if !gate.passes(value) => {
                        assert_eq!(condition.holds(&row), Some(false), "{text} {row:?}")
                    }
                    Some(_) if gate.is_whole => {
                        assert_eq!(condition.holds(&row), Some(true), "{text} {row:?}")
                    }
                    None if gate.is_whole => assert_eq!(condition.holds(&row), None, "{text} {row:?}"),
                    _ => {}
                }
            }
        }
    }
    assert_eq!(gates, 12);
}
