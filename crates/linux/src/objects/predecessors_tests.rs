//! Mistakes that earlier programs made with these counters; each test fails for their behaviour.

use super::fake_machine_tests::{Machine, instance, named, names};
use tallymon_provider::{Absence, ValueState};

/// Samba's example took raw ticks for units of 100 ns, and Wine counted a guest's time twice.
#[test]
fn times_are_in_100_ns_units_and_guest_time_counts_once() {
    let stat = b"cpu  170 10 50 1000 200 3 4 5 60 7\ncpu0 170 10 50 1000 200 3 4 5 60 7\n";
    let mut machine = Machine::new(&[("proc/stat", stat)]);
    let snapshot = machine.read(238);
    let values = instance(&snapshot, "0");
    assert_eq!(named(&values, 142), Ok(180 * 100_000), "user and nice, the guest is in them");
    assert_eq!(named(&values, 144), Ok(57 * 100_000), "system, irq and softirq, and no guest");
    assert_eq!(named(&values, 6), Ok(1200 * 100_000), "waiting for a disk is idle");
}

/// Samba's example read one element behind the last for `_Total`.
#[test]
fn the_total_covers_the_existing_cpus() {
    let stat = b"cpu  40 0 0 0\ncpu0 10 0 0 0\ncpu3 30 0 0 0\n";
    let mut machine = Machine::new(&[("proc/stat", stat)]);
    let snapshot = machine.read(238);
    assert_eq!(names(&snapshot), ["0", "3", "_Total"]);
    assert_eq!(named(&instance(&snapshot, "_Total"), 142), Ok(2_000_000), "the mean of 10 and 30 ticks");
}

/// Samba's example took the number of threads, which `sysinfo` calls processes, for that of processes.
#[test]
fn threads_are_not_counted_as_processes() {
    let mut machine = Machine::new(&[("proc/7/stat", b""), ("proc/loadavg", b"0.00 0.00 0.00 1/240 812\n")]);
    let snapshot = machine.read(260);
    let values = instance(&snapshot, "");
    assert_eq!((named(&values, 248), named(&values, 250)), (Ok(1), Ok(240)));
}

/// Samba's example took free memory for available memory, Wine free memory with buffers and caches.
#[test]
fn available_memory_is_the_kernels_estimate() {
    let meminfo =
        b"MemTotal: 8000 kB\nMemFree: 1000 kB\nMemAvailable: 5000 kB\nBuffers: 100 kB\nCached: 6000 kB\n\
        SwapTotal: 0 kB\nSwapFree: 0 kB\nShmem: 3000 kB\nCommitLimit: 9000 kB\nCommitted_AS: 700 kB\n";
    let mut machine = Machine::new(&[("proc/meminfo", meminfo)]);
    let snapshot = machine.read(4);
    let values = instance(&snapshot, "");
    assert_eq!(named(&values, 24), Ok(5000 * 1024));
    assert_eq!(named(&values, 26), Ok(700 * 1024), "what was promised, not what is in use");
}

/// Samba's example looked for the name of a disk anywhere in the line, and found `sda1` for `sda`.
#[test]
fn a_partition_is_not_taken_for_its_disk() {
    let diskstats = b"   8       1 sda1 7 0 70 0 0 0 0 0 0 0 0\n   8       0 sda 100 0 900 0 0 0 0 0 0 0 0\n";
    let mut machine = Machine::new(&[
        ("proc/diskstats", diskstats),
        ("sys/block/sda/", b""),
        ("sys/class/block/sda/", b""),
        ("sys/class/block/sda1/partition", b"1\n"),
    ]);
    let snapshot = machine.read(234);
    let reads: Vec<_> =
        instance(&snapshot, "_Total").object().instances().map(|disk| named(&disk, 214)).collect();
    assert_eq!(reads.len(), 2, "the disk and the total: {:?}", names(&snapshot));
    assert!(reads.iter().all(|reads| *reads == Ok(100)), "{reads:?} {:?}", names(&snapshot));
}

/// .NET finds ICMP counts by position, Wine takes the fifth column of UDP for a number of addresses.
#[test]
fn new_columns_shift_nothing() {
    let snmp = b"Ip: InReceives\nIp: 1\n\
        Icmp: InMsgs InErrors OutMsgs OutErrors OutRateLimitGlobal OutRateLimitHost OutDestUnreachs\n\
        Icmp: 1 2 30 4 500 600 7\nUdp: InDatagrams NoPorts InErrors OutDatagrams RcvbufErrors\nUdp: 1 2 3 \
        4 5\n";
    let mut machine = Machine::new(&[("proc/net/snmp", snmp)]);
    let snapshot = machine.read(582);
    assert_eq!(named(&instance(&snapshot, ""), 616), Ok(7));
    let snapshot = machine.read(658);
    let values = instance(&snapshot, "");
    assert_eq!((named(&values, 666), named(&values, 442)), (Ok(3), Ok(4)));
}

/// Wine says that every link has 1 Mbit/s, and fills what it does not know with random bytes.
#[test]
fn unknown_values_are_not_invented() {
    let mut machine = Machine::new(&[("proc/stat", b"cpu  1 0 0 0\ncpu0 1 0 0 0\n")]);
    let snapshot = machine.read(238);
    let values = instance(&snapshot, "0");
    assert_eq!(named(&values, 148), Err(ValueState::Absent(Absence::NotInThisKernel)));
    assert_eq!(named(&values, 698), Err(ValueState::Absent(Absence::NotInThisKernel)), "no such column");
}

/// .NET calls the size of the data segment private bytes, swap the paging file's and paged pool's, and nice a
/// priority.
#[test]
fn private_bytes_are_pages_and_priorities_are_nts() {
    let stat = format!("7 (worker) S 1 7 7 0 -1 64 10 0 2 0 150 50 0 0 25 5 3 0 900 {}", "0 ".repeat(30));
    let status = b"Name:\tworker\nVmPeak:\t9000 kB\nVmSize:\t8000 kB\nVmHWM:\t700 kB\nVmRSS:\t600 kB\n\
        RssAnon:\t400 kB\nVmData:\t5000 kB\nVmPTE:\t40 kB\nVmSwap:\t30 kB\nThreads:\t3\n";
    let mut machine = Machine::new(&[
        ("proc/7/stat", stat.as_bytes()),
        ("proc/7/status", status),
        ("proc/7/statm", b"2000 150 50 10 0 900 0\n"),
    ]);
    let snapshot = machine.read(230);
    let values = instance(&snapshot, "worker");
    assert_eq!(named(&values, 186), Ok(430 * 1024), "pages of no file, in memory or in swap");
    assert_eq!(named(&values, 184), Ok(430 * 1024), "what would need the paging file");
    assert_eq!(named(&values, 682), Ok(6), "8 is NT's normal, and nice 5 is below it");
    assert_eq!(named(&values, 56), Err(ValueState::Absent(Absence::NotOnThisSystem)), "no paged pool");
}
