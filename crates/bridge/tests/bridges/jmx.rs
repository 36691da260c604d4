//! Jolokia, played by a server that says what its manual shows: no virtual machine of Java was at hand.

use tallymon_bridge::{Kind, Settings};
use tallymon_core::counter::CounterType;
use tallymon_testkit::{Reply, TextServer};

use crate::support::{LONG, Place, ask, raw, refused};

#[test]
fn beans_of_a_java_program_are_counters() {
    let answer = |used: u64, collections: u64| {
        format!(
            r#"{{"value":{{"java.lang:type=Memory":{{"HeapMemoryUsage":{{"used":{used},"max":1000}}}},
            "java.lang:name=G1 Old,type=GarbageCollector":{{
                "CollectionCount":{collections},"CollectionTime":26}},
            "shop:type=Orders,name=paid":{{"Count":3}}}},"status":200}}"#
        )
    };
    let server = TextServer::says(&answer(100, 1));
    let settings =
        Settings { url: format!("http://{}", server.at()), kind: Some(Kind::Jmx), ..Settings::default() };
    let place = Place::new();
    place.add("app", settings.clone(), LONG);
    let mut host = place.host();
    server.set(Reply::Text(answer(250, 4)));
    let objects = ["app Memory", "app Collector", "app shop Orders"];
    let snapshot = ask(&mut host, &objects);
    for (path, counter_type, value, base) in [
        ((objects[0], None, "Heap Bytes"), CounterType::PERF_COUNTER_LARGE_RAWCOUNT, 250, None),
        ((objects[0], None, "% Heap Used"), CounterType::PERF_LARGE_RAW_FRACTION, 250, Some(1000)),
        ((objects[1], Some("G1 Old"), "Collections/sec"), CounterType::PERF_COUNTER_BULK_COUNT, 4, None),
        (
            (objects[1], Some("G1 Old"), "% Time in Collections"),
            CounterType::PERF_100NSEC_TIMER,
            260_000,
            None,
        ),
        ((objects[2], Some("paid"), "Count"), CounterType::PERF_DOUBLE_RAW, 3f64.to_bits(), None),
    ] {
        let found = raw(&mut host, &snapshot, path).unwrap();
        assert_eq!((found.0, found.1), (counter_type, value), "{path:?}");
        assert!(base.is_none_or(|base| base == found.2), "{path:?}: {found:?}");
    }
    server.set(Reply::Text(r#"{"status":403,"error":"not allowed"}"#.to_owned()));
    let error = refused(settings);
    assert!(error.contains("403") && error.contains("not allowed"), "{error}");
}
