use super::*;

const TEXT: &str = "\
# HELP jobs_total Jobs\\nthat ended
# TYPE jobs_total counter
jobs_total{queue=\"a\",kind=\"\"} 3
# TYPE work counter
# UNIT work seconds
work_total 1.5
work_created 1520879607.789
# TYPE took_seconds histogram
took_seconds_bucket{le=\"+Inf\"} 4
took_seconds_sum 0.25
took_seconds_count 4
# TYPE size_bytes summary
size_bytes{quantile=\"0.5\"} 7
size_bytes_sum 70
size_bytes_count 10
loose_total 1
loose 2
# TYPE gauge_sum gauge
gauge_sum 3
";

#[test]
fn each_metric_has_its_family_and_role() {
    let metrics = Metrics::of_text(TEXT.as_bytes()).unwrap();
    assert_eq!(metrics.omission(), None);
    for (metric, family, role) in [
        ("jobs_total", "jobs_total", Role::Count),
        ("work_total", "work", Role::Count),
        ("work_created", "work", Role::Created),
        ("took_seconds_bucket", "took_seconds", Role::Count),
        ("took_seconds_sum", "took_seconds", Role::Sum),
        ("took_seconds_count", "took_seconds", Role::Count),
        ("size_bytes", "size_bytes", Role::Gauge),
        ("size_bytes_sum", "size_bytes", Role::Sum),
        ("loose_total", "loose_total", Role::Count),
        ("loose", "loose", Role::Gauge),
        ("gauge_sum", "gauge_sum", Role::Gauge),
    ] {
        assert_eq!(metrics.role(metric), (family, role), "{metric}");
        assert!(metrics.series.iter().any(|series| series.metric == metric), "{metric}");
    }
    assert!(metrics.is_in_seconds("work") && metrics.is_in_seconds("took_seconds"));
    assert!(metrics.is_in_seconds("cpu_seconds_total") && !metrics.is_in_seconds("jobs_total"));
    assert_eq!(metrics.families["jobs_total"].help, "Jobs that ended");
    // An empty label is none.
    assert_eq!(metrics.series[0].labels, [("queue".to_owned(), "a".to_owned())]);
}

#[test]
fn what_is_no_metrics_is_refused_and_shown() {
    for (text, words) in [
        ("", "empty"),
        ("\n# only a comment\n", "begins with"),
        ("<html>\n<body>", "<html>"),
        ("a 1\nb\nc\n", "begins with \"a 1\""),
    ] {
        let error = Metrics::of_text(text.as_bytes()).unwrap_err();
        assert!(error.contains(words), "{text}: {error}");
    }
    assert!(Metrics::of_text(&[0xff; 1000]).is_err());
}

#[test]
fn what_is_beyond_a_limit_is_left_out_and_counted() {
    let long = "x".repeat(LONGEST_NAME + 1);
    let labels: String = (0..=MOST_LABELS).map(|n| format!("l{n}=\"v\",")).collect();
    let text = "y".repeat(LONGEST_LABELS + 1);
    for (line, words) in [
        (format!("{long} 1"), "names of metrics"),
        (format!("a{{{long}=\"b\"}} 1"), "names of metrics"),
        ("a{b/c=\"d\"} 1".to_owned(), "names of metrics"),
        (format!("a{{{labels}}} 1"), "32 labels"),
        (format!("a{{b=\"{text}\"}} 1"), "1,000 bytes"),
        ("a".to_owned(), "no sample"),
    ] {
        let metrics = Metrics::of_text(format!("ok 1\n{line}\nfine 2\n").as_bytes()).unwrap();
        let said = metrics.omission().unwrap();
        assert!(said.starts_with("1 lines") && said.contains("line 2") && said.contains(words), "{said}");
        assert_eq!(metrics.len(), 2, "{line}");
    }
    let many: String = (0..=MOST_SERIES).map(|n| format!("a{{n=\"{n}\"}} 1\n")).collect();
    let metrics = Metrics::of_text(many.as_bytes()).unwrap();
    assert_eq!((metrics.len(), metrics.left_out), (MOST_SERIES, 1));
    let families: String = (0..MOST_FAMILIES * 2).map(|n| format!("# TYPE f{n} counter\n")).collect();
    let metrics = Metrics::of_text(format!("{families}a 1\n").as_bytes()).unwrap();
    assert_eq!(metrics.families.len(), MOST_FAMILIES);
}
