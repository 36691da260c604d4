use super::*;

/// As Jolokia 1.7 writes it, from its manual and the beans of a virtual machine.
const ANSWER: &str = r#"{"request":{"mbean":"java.lang:*","type":"read"},"value":{
  "java.lang:type=Memory":{"ObjectPendingFinalizationCount":0,"Verbose":false,
    "HeapMemoryUsage":{"init":134217728,"committed":98566144,"max":2111832064,"used":7812345},
    "NonHeapMemoryUsage":{"init":7667712,"committed":9109504,"max":-1,"used":5123456}},
  "java.lang:name=G1 Young Generation,type=GarbageCollector":{"CollectionCount":4,"CollectionTime":26,
    "Valid":true,"MemoryPoolNames":["G1 Eden Space"],"LastGcInfo":null},
  "java.lang:name=Metaspace,type=MemoryPool":{"Usage":{"committed":4259840,"max":-1,"used":3700000}},
  "java.lang:type=OperatingSystem":{"ProcessCpuTime":1540000000,"OpenFileDescriptorCount":17,
    "MaxFileDescriptorCount":1048576,"SystemLoadAverage":0.25},
  "kafka.server:type=BrokerTopicMetrics,name=\"Bytes,In\",topic=a":{"Count":18446744073709551615,"MeanRate":1.5,
    "RateUnit":"SECONDS"}},"timestamp":1700000000,"status":200}"#;

#[test]
fn beans_become_objects() {
    let metrics = of_answer(ANSWER.as_bytes()).unwrap();
    let value = |name: &str| {
        let found = metrics.series.iter().find(|series| series.metric == name)?;
        let labels: Vec<&str> = found.labels.iter().map(|(_, text)| text.as_str()).collect();
        Some((labels.join("|"), found.value.whole, found.value.float))
    };
    let none = String::new;
    for (name, wanted) in [
        ("java_memory_HeapMemoryUsage_used", (none(), Some(7_812_345), 7_812_345.0)),
        ("java_memory_HeapMemoryUsage_used_share_count", (none(), Some(2_111_832_064), 2_111_832_064.0)),
        ("java_collector_CollectionTime", ("G1 Young Generation".to_owned(), None, 0.026)),
        ("java_collector_CollectionTime_ratio_count", ("G1 Young Generation".to_owned(), Some(4), 4.0)),
        ("java_process_ProcessCpuTime", (none(), None, 1.54)),
        ("java_process_SystemLoadAverage", (none(), None, 0.25)),
        (
            "jmx_kafka_server_BrokerTopicMetrics_Count",
            ("Bytes,In|a".to_owned(), Some(u64::MAX), u64::MAX as f64),
        ),
    ] {
        assert_eq!(value(name), Some(wanted), "{name}");
    }
    // -1 is neither a limit nor a number of the counter's kind.
    let (_, whole, _) = value("java_memory_pool_Usage_used_share_count").unwrap();
    assert_eq!(whole, None);
    let title =
        metrics.declared().find(|(metric, _, _)| *metric == "jmx_kafka_server_BrokerTopicMetrics_Count");
    assert_eq!(title.unwrap().1.object, "kafka.server BrokerTopicMetrics");
}

#[test]
fn other_answers_are_refused_with_their_beginning() {
    let deep = "[".repeat(100_000);
    for (answer, words) in [
        ("", "none of Jolokia"),
        ("<html>\u{1b}[31m", "<html> [31m"),
        ("[]", "none of Jolokia"),
        (r#"{"value":7}"#, "none of Jolokia"),
        (r#"{"value":{}}"#, "none of Jolokia"),
        (r#"{"value":{"a":{"b":1}},"status":200}"#, "none of Jolokia"),
        (r#"{"value":{"a:b":{"b":1}},"status":200}"#, "none of Jolokia"),
        (r#"{"error":"no such\nbean","status":404}"#, "404, \"no such bean\""),
        (&deep, "none of Jolokia"),
    ] {
        let error = of_answer(answer.as_bytes()).unwrap_err();
        assert!(error.contains(words) && !error.contains('\u{1b}'), "{answer}: {error}");
    }
    for end in 0..ANSWER.len() {
        assert!(of_answer(&ANSWER.as_bytes()[..end]).is_err(), "{end}");
    }
}
