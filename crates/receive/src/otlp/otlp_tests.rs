use super::*;

use tallymon_export::protobuf::Message;

fn exponential(scale: i32, positive: (i32, Vec<u64>), negative: (i32, Vec<u64>), zero: u64) -> Exponential {
    Exponential { scale, zero_count: zero, zero_threshold: 0.0, positive, negative }
}

#[test]
fn exponential_buckets_become_powers_of_two() {
    for (given, wanted) in [
        // Scale 0: bucket i has what is above 2^i, up to 2^(i+1).
        (exponential(0, (0, vec![1, 2]), (0, vec![]), 0), vec![(1.0, 2.0, 1), (2.0, 4.0, 2)]),
        // Four buckets of scale 2 are one of scale 0.
        (
            exponential(2, (-1, vec![5, 1, 1, 1, 1, 7]), (0, vec![]), 0),
            vec![(0.5, 1.0, 5), (1.0, 2.0, 4), (2.0, 4.0, 7)],
        ),
        // One of scale -1 has two powers of two.
        (exponential(-1, (-1, vec![3, 4]), (0, vec![]), 0), vec![(0.25, 1.0, 3), (1.0, 4.0, 4)]),
        (
            exponential(0, (3, vec![0, 1]), (1, vec![2]), 9),
            vec![(-4.0, -2.0, 2), (-0.0, 0.0, 9), (16.0, 32.0, 1)],
        ),
        (exponential(20, (-1, vec![1]), (0, vec![]), 0), vec![(0.5, 1.0, 1)]),
    ] {
        assert_eq!(given.buckets(), Ok(wanted), "{given:?}");
    }
    for bad in [
        exponential(21, (0, vec![1]), (0, vec![]), 0),
        exponential(-13, (0, vec![1]), (0, vec![]), 0),
        exponential(i32::MIN, (0, vec![1]), (0, vec![]), 0),
        exponential(0, (i32::MAX, vec![1]), (0, vec![]), 0),
        exponential(-10, (i32::MAX, vec![1]), (0, vec![]), 0),
    ] {
        assert!(bad.buckets().is_err(), "{bad:?}");
    }
}

#[test]
fn buckets_fit_their_bounds() {
    let data = |bounds: &[f64], buckets: &[u64], count| Data {
        bounds: bounds.to_vec(),
        buckets: buckets.to_vec(),
        count,
        ..Data::default()
    };
    let (low, high) = (f64::NEG_INFINITY, f64::INFINITY);
    assert_eq!(
        data(&[1.0, 2.0], &[3, 4, 5], 12).buckets(),
        Ok(vec![(low, 1.0, 3), (1.0, 2.0, 4), (2.0, high, 5),])
    );
    assert_eq!(data(&[], &[7], 7).buckets(), Ok(vec![(low, high, 7)]));
    assert_eq!(data(&[1.0], &[], 7).buckets(), Ok(vec![]));
    for bad in [
        data(&[1.0], &[1], 1),
        data(&[2.0, 1.0], &[1, 1, 1], 3),
        data(&[f64::NAN], &[1, 1], 2),
        data(&[1.0], &[1, 1], 3),
        data(&[1.0], &[u64::MAX, 2], 1),
    ] {
        assert!(bad.buckets().is_err(), "{bad:?}");
    }
}

/// A point with its metric, as text.
type Seen = Vec<String>;

fn seen(request: &[u8], is_json: bool) -> Result<Seen, BadRequest> {
    let mut seen = Seen::new();
    let mut take = |metric: &Metric<'_>, point: Result<Point, &'static str>| {
        let Metric { scope, name, description, unit, kind, temporality, .. } = metric;
        let resource = &metric.resource.attributes;
        seen.push(format!(
            "{resource:?} {scope} {name} {description} {unit} {kind:?} {temporality:?} {point:?}"
        ));
    };
    if is_json {
        json::read(request, &mut take)?
    } else {
        protobuf::read(request, &mut take)?
    }
    Ok(seen)
}

fn key_value(to: &mut Message, key: &str, write: impl FnOnce(&mut Message)) {
    to.bytes(1, key);
    to.message(2, write);
}

fn packed(numbers: &[u64]) -> Vec<u8> {
    numbers.iter().flat_map(|number| number.to_le_bytes()).collect()
}

/// The request of `ALL_KINDS`, in the other encoding.
fn all_kinds() -> Vec<u8> {
    let mut request = Message::new();
    request.message(1, |resource_metrics| {
        resource_metrics.message(1, |resource| {
            resource.message(1, |to| key_value(to, "service.name", |value| value.bytes(1, "shop")));
            resource.message(1, |to| key_value(to, "process.pid", |value| value.varint(3, 7)));
        });
        resource_metrics.message(2, |scope_metrics| {
            scope_metrics.message(1, |scope| scope.bytes(1, "lib"));
            scope_metrics.message(2, |metric| {
                // The data come before the name: the order of fields says nothing.
                metric.message(7, |sum| {
                    sum.message(1, |point| {
                        point.fixed64(3, 20);
                        point.fixed64(6, 12_345_678_901_234_567);
                        point.message(7, |to| key_value(to, "ok", |value| value.varint(2, 1)));
                        point.message(7, |to| {
                            key_value(to, "list", |value| {
                                value.message(5, |list| {
                                    list.message(1, |value| value.double(4, 1.5));
                                    list.message(1, |value| value.bytes(1, "x"));
                                });
                            });
                        });
                    });
                    sum.varint(2, 2);
                    sum.varint(3, 1);
                });
                metric.bytes(1, "orders");
                metric.bytes(2, "Orders.");
                metric.bytes(3, "{order}");
            });
            scope_metrics.message(2, |metric| {
                metric.bytes(1, "size");
                metric.message(9, |histogram| {
                    histogram.varint(2, 1);
                    histogram.message(1, |point| {
                        point.fixed64(4, 3);
                        point.double(5, 4.5);
                        point.bytes(6, packed(&[1, 2]));
                        point.bytes(7, packed(&[1.0f64.to_bits()]));
                    });
                });
            });
            scope_metrics.message(2, |metric| {
                metric.bytes(1, "wide");
                metric.message(10, |histogram| {
                    histogram.message(1, |point| {
                        point.fixed64(4, 6);
                        point.varint(6, 1);
                        point.fixed64(7, 1);
                        point.message(8, |buckets| {
                            buckets.varint(1, 3);
                            buckets.bytes(2, [2, 3]);
                        });
                    });
                    histogram.varint(2, 2);
                });
            });
            scope_metrics.message(2, |metric| {
                metric.bytes(1, "old");
                metric.message(11, |summary| {
                    summary.message(1, |point| {
                        point.fixed64(4, 2);
                        point.double(5, 3.0);
                        point.message(6, |quantile| {
                            quantile.double(1, 0.5);
                            quantile.double(2, 1.25);
                        });
                        point.varint(8, 1);
                    });
                });
            });
        });
    });
    request.into_bytes()
}

const ALL_KINDS: &str = r#"{"resourceMetrics":[{"resource":{"attributes":[
    {"key":"service.name","value":{"stringValue":"shop"}},{"key":"process.pid","value":{"intValue":"7"}}]},
  "scopeMetrics":[{"scope":{"name":"lib"},"metrics":[
    {"name":"orders","description":"Orders.","unit":"{order}","sum":{"isMonotonic":true,
      "aggregationTemporality":2,"dataPoints":[{"timeUnixNano":"20","asInt":"12345678901234567","attributes":[
        {"key":"ok","value":{"boolValue":true}},
        {"key":"list","value":{"arrayValue":{"values":[{"doubleValue":1.5},{"stringValue":"x"}]}}}]}]}},
    {"name":"size","histogram":{"aggregationTemporality":"AGGREGATION_TEMPORALITY_DELTA","dataPoints":[
      {"count":3,"sum":4.5,"bucketCounts":["1","2"],"explicitBounds":[1]}]}},
    {"name":"wide","exponentialHistogram":{"aggregationTemporality":2,"dataPoints":[
      {"count":"6","scale":-1,"zeroCount":"1","positive":{"offset":-2,"bucketCounts":["2","3"]}}]}},
    {"name":"old","summary":{"dataPoints":[{"count":"2","sum":3.0,"flags":1,"newField":{"a":[1]},
      "quantileValues":[{"quantile":0.5,"value":1.25}]}]}}
  ]}]}]}"#;

#[test]
fn both_encodings_say_the_same() {
    let seen_json = seen(ALL_KINDS.as_bytes(), true).unwrap();
    assert_eq!(seen(&all_kinds(), false).unwrap(), seen_json);
    assert_eq!(seen_json.len(), 4);
    let first = r#"[("process.pid", "7"), ("service.name", "shop")] lib orders Orders. {order} Sum { is_monotonic: true } Cumulative Ok(Point { attributes: [("ok", "true"), ("list", "1.5;x")], time: 20, flags: 0, data: Data { number: Some(Whole(12345678901234567))"#;
    assert!(seen_json[0].starts_with(first), "{}", seen_json[0]);
}

#[test]
fn damaged_requests_end_without_a_panic() {
    let whole = all_kinds();
    for cut in 0..whole.len() {
        let _ = seen(&whole[..cut], false);
        let mut bad = whole.clone();
        bad[cut] ^= 0xff;
        let _ = seen(&bad, false);
    }
    for cut in 0..ALL_KINDS.len() {
        assert!(seen(&ALL_KINDS.as_bytes()[..cut], true).is_err(), "{cut}");
    }
    let deep = "[".repeat(100_000);
    for bad in ["", "[]", "null", "7", "\"x\"", &deep] {
        assert!(seen(bad.as_bytes(), true).is_err());
    }
    // Other types than expected are no points.
    for odd in [
        r#"{"resourceMetrics":7}"#,
        r#"{"resourceMetrics":[7,null,{"scopeMetrics":{}}]}"#,
        r#"{"resourceMetrics":[{"scopeMetrics":[{"metrics":[{"name":7,"sum":[]}]}]}]}"#,
    ] {
        assert_eq!(seen(odd.as_bytes(), true), Ok(vec![]), "{odd}");
    }
    let point = r#"{"resourceMetrics":[{"scopeMetrics":[{"metrics":[{"gauge":{"dataPoints":["#;
    for odd in ["7", r#"{"asInt":"x"}"#, r#"{"asInt":1.5}"#, r#"{"asInt":1,"timeUnixNano":-1}"#] {
        let request = format!("{point}{odd}]}}}}]}}]}}]}}");
        let seen = seen(request.as_bytes(), true).unwrap();
        assert!(seen.len() == 1 && (odd == "7" || seen[0].contains("Err(")), "{odd}: {seen:?}");
    }
}

#[test]
fn points_are_limited() {
    let mut request = Message::new();
    let many = packed(&vec![0; MOST_BUCKETS + 1]);
    request.message(1, |to| {
        to.message(2, |to| {
            to.message(2, |metric| {
                metric.message(9, |histogram| {
                    histogram.message(1, |point| point.bytes(6, &many));
                    histogram.message(1, |point| {
                        for _ in 0..100 {
                            point.message(9, |to| key_value(to, "k", |value| value.bytes(1, "v")));
                        }
                    });
                });
            });
        });
    });
    let seen = seen(&request.into_bytes(), false).unwrap();
    assert!(seen.len() == 2 && seen.iter().all(|point| point.contains("Err(")), "{seen:?}");
}
