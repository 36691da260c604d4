use super::*;

fn value(metrics: &Metrics, name: &str, label: &str) -> Option<f64> {
    let is = |series: &&crate::metrics::Series| {
        series.metric == name && series.labels.first().map_or("", |(_, text)| text) == label
    };
    metrics.series.iter().find(is).map(|series| series.value.float)
}

#[test]
fn known_and_unknown_lines_of_info_are_values() {
    let info = "# Server\r\nredis_version:7.0.15\r\nuptime_in_seconds:5\r\ntcp_port:6379\r\n\r\n# Memory\r\n\
                used_memory:1000\r\nmaxmemory:0\r\nused_memory_human:1K\r\n# Stats\r\nkeyspace_hits:3\r\n\
                keyspace_misses:1\r\nnew_in_99:7\r\n# CPU\r\nused_cpu_sys:0.25\r\n# Commandstats\r\n\
                cmdstat_config|get:calls=2,usec=50,usec_per_call=25.00,rejected_calls=0,failed_calls=0\r\n\
                # Keyspace\r\ndb0:keys=3,expires=1,avg_ttl=0\r\n";
    let metrics = of_info(info).unwrap();
    for (name, label, wanted) in [
        ("redis_server_uptime_in_seconds", "", Some(5.0)),
        ("redis_server_tcp_port", "", None),
        ("redis_server_redis_version", "", None),
        ("redis_memory_used_memory", "", Some(1000.0)),
        ("redis_memory_used_memory_share_sum", "", None),
        ("redis_memory_used_memory_human", "", None),
        ("redis_stats_keyspace_hits_ratio_sum", "", Some(3.0)),
        ("redis_stats_keyspace_hits_ratio_count", "", Some(4.0)),
        ("redis_stats_new_in_99", "", Some(7.0)),
        ("redis_cpu_used_cpu_sys", "", Some(0.25)),
        ("redis_command_usec_ratio_sum", "config|get", Some(5e-5)),
        ("redis_command_usec_ratio_count", "config|get", Some(2.0)),
        ("redis_database_keys", "db0", Some(3.0)),
        ("redis_database_expires_share_count", "db0", Some(3.0)),
    ] {
        assert_eq!(value(&metrics, name, label), wanted, "{name} {label}");
    }
    // What has no instance yet has names all the same.
    assert!(
        metrics
            .declared()
            .any(|(metric, title, _)| metric == "redis_error_count" && title.object == "Errors")
    );
    assert!(of_info("# Server\r\nredis_version:7\r\n").is_err());
}
