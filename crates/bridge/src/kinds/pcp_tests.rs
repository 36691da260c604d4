use super::*;
use crate::catalog::learn;

/// From pmproxy 6.0.3.
const PAGE: &str = "\
# PCP5 kernel.all.load 60.2.0 float 60.2 instant none
# HELP kernel_all_load 1, 5 and 15 minute load average
# TYPE kernel_all_load gauge
kernel_all_load{hostname=\"vm\",instname=\"1 minute\",machineid=\"3d12\",instid=\"1\"} 18.639999
kernel_all_load{hostname=\"vm\",instname=\"5 minute\",machineid=\"3d12\",instid=\"5\"} 14.43
# PCP5 mem.util.used 60.1.1 u64 PM_INDOM_NULL instant Kbyte
# HELP mem_util_used used memory metric from /proc/meminfo
# TYPE mem_util_used gauge
mem_util_used{hostname=\"vm\",machineid=\"3d12\"} 23754084
# PCP5 kernel.percpu.cpu.user 60.0.0 u64 60.0 counter millisec
# HELP kernel_percpu_cpu_user percpu user CPU time metric from /proc/stat
# TYPE kernel_percpu_cpu_user counter
kernel_percpu_cpu_user{instname=\"cpu0\",instid=\"0\"} 1500
";

#[test]
fn semantics_and_units_of_pcp_are_kept() {
    let metrics = of_page(PAGE.as_bytes()).unwrap();
    let catalog = learn("vm", &metrics, None).unwrap();
    let found: Vec<String> = catalog
        .iter()
        .flat_map(|object| {
            object.counters.iter().map(|counter| {
                format!("{} {:?} {} {}", object.name, object.labels, counter.name(), counter.kind.word())
            })
        })
        .collect();
    assert_eq!(
        found,
        [
            "vm kernel all [\"instname\"] load gauge",
            "vm kernel percpu cpu [\"instname\"] user seconds",
            "vm mem util [] used whole",
        ]
    );
    assert_eq!(metrics.series[3].value.float, 1.5);
    let help = crate::catalog::counter_help(&catalog[2].counters[0], &metrics);
    assert_eq!(help, "used memory metric from /proc/meminfo. Unit: Kbyte. This counter is the last value.");
    for other in ["", "<html>", "a 1\n", "# PCP5 a\\b 1 u64 x instant none\na 1\n"] {
        assert!(of_page(other.as_bytes()).unwrap_err().contains("pmproxy"), "{other}");
    }
}
