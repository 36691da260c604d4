use super::*;

fn line(text: &str) -> Result<Line<'_>, &'static str> {
    Line::parse(text)
}

#[test]
fn lines_are_read() {
    let plain = Line { name: "a.b", values: "1", kind: Kind::Counter, times: 1.0, tags: "" };
    for (text, wanted) in [
        ("a.b:1|c", plain),
        ("a.b:1|m", plain),
        ("a.b:-2.5|c|@0.1", Line { values: "-2.5", times: 10.0, ..plain }),
        ("a.b:+3|g", Line { values: "+3", kind: Kind::Gauge, ..plain }),
        ("a.b:320|ms|@0.3", Line { values: "320", kind: Kind::Timer, times: 1.0 / 0.3, ..plain }),
        ("a.b:1:2:32|d|#x:1,y", Line { values: "1:2:32", kind: Kind::Values, tags: "x:1,y", ..plain }),
        (
            "a.b:7|h|#x|@0.5|c:abc|T1700000000",
            Line { values: "7", kind: Kind::Values, times: 2.0, tags: "x", ..plain },
        ),
        ("a.b:u:7|s", Line { values: "u:7", kind: Kind::Set, ..plain }),
    ] {
        assert_eq!(line(text), Ok(wanted), "{text}");
    }
}

#[test]
fn what_is_no_metric_has_a_reason() {
    let long = format!("{}:1|c", "n".repeat(201));
    let tags = format!("a:1|c|#{}", "t,".repeat(40));
    for text in [
        "",
        "a",
        "a:1",
        "a|c",
        ":1|c",
        "a:|c",
        "a:1|x",
        "a:1|c|@",
        "a:1|c|@0",
        "a:1|c|@2",
        "a:1|c|@-1",
        "a:1|c|@nan",
        "a:1|c|@1e-9",
        "_e{5,4}:title|text",
        "_sc|check|0",
        &long,
        &tags,
    ] {
        assert!(line(text).is_err(), "{text:?}");
    }
}

#[test]
fn packets_have_lines() {
    let packet = b"a:1|c\n\nb:2|c\r\n\xff:1|c\nc:3|c";
    let found: Vec<_> = lines(packet).collect();
    assert_eq!(found.len(), 4);
    assert_eq!((found[0], found[1], found[3]), (Ok("a:1|c"), Ok("b:2|c"), Ok("c:3|c")));
    assert!(found[2].is_err());
}

#[test]
fn values_are_finite_numbers() {
    for (text, wanted) in [
        ("12345678901234567", Some(Number::Whole(12_345_678_901_234_567))),
        ("+5", Some(Number::Whole(5))),
        ("-5", Some(Number::Whole(-5))),
        ("1e3", Some(Number::Real(1000.0))),
        ("99999999999999999999", Some(Number::Real(1e20))),
        ("nan", None),
        ("inf", None),
        ("-infinity", None),
        ("1e999", None),
        ("1 ", None),
        ("", None),
    ] {
        assert_eq!(number(text), wanted, "{text:?}");
    }
    let large = line("a:1e308|c|@0.01").unwrap();
    assert!(large.change(large.values, Signs::Change).is_err());
}

#[test]
fn signs_of_gauges_mean_what_the_dialect_says() {
    let change = |text: &'static str, signs| {
        let line = line(text).unwrap();
        line.change(line.values, signs).unwrap()
    };
    assert_eq!(change("a:-5|g", Signs::Change), Change::MoveGauge(-5.0));
    assert_eq!(change("a:-5|g", Signs::Value), Change::SetGauge(-5.0));
    assert_eq!(change("a:5|g", Signs::Change), Change::SetGauge(5.0));
    // Three values with a rate of 0.1 are thirty, not 29.999.
    assert_eq!(change("a:3|c|@0.1", Signs::Change), Change::Add(Number::Real(30.0)));
}

#[test]
fn tags_are_an_instance_in_their_order() {
    for (text, wanted) in [
        ("a:1|c|#env:prod,b", "b,env=prod"),
        ("a:1|c|#b,env:prod,b,", "b,env=prod"),
        ("a:1|c|#url:http://h", "url=http://h"),
        ("a:1|c", ""),
        ("a:1|c|#", ""),
    ] {
        assert_eq!(line(text).unwrap().instance(), wanted, "{text}");
    }
}
