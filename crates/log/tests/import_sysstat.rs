//! Binary files of sysstat: every value that `sadf` prints of a file is the value that is read of it.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

use std::collections::{BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use std::process::Command;

use tallymon_core::flow::{NoValue, Sample, Value};
use tallymon_log::{Cooker, Format, ReadOptions, open};
use tallymon_testkit::{Scratch, peer, skip};

/// What `sadf` prints, and our counter: the field, the path with `{}` for the device, the number that our
/// value is divided by. `+` before the number: ours is a raw count, and its growth per second is compared.
const FIELDS: &str = r"
%usr Processor States({})\% User 1
%nice Processor States({})\% Nice 1
%sys Processor States({})\% System 1
%iowait Processor States({})\% IO Wait 1
%steal Processor States({})\% Steal 1
%irq Processor States({})\% Hardware Interrupt 1
%soft Processor States({})\% Software Interrupt 1
%guest Processor States({})\% Guest 1
%gnice Processor States({})\% Guest Nice 1
%idle Processor States({})\% Idle 1
proc/s System Extended\Tasks Started/sec 1
cswch/s System\Context Switches/sec 1
pswpin/s Memory Details\Swap In Pages/sec 1
pswpout/s Memory\Pages Output/sec 1
pgpgin/s Memory Details\Page In Bytes/sec 1024
pgpgout/s Memory Details\Page Out Bytes/sec 1024
fault/s Memory\Page Faults/sec 1
majflt/s Memory\Page Reads/sec 1
pgfree/s Memory Details\Pages Freed/sec 1
pgscank/s Page Cache\Pages Scanned by Daemon/sec 1
pgscand/s Page Cache\Pages Scanned Directly/sec 1
pgsteal/s Memory\Transition Pages RePurposed/sec 1
pgprom/s Memory Details\Pages Promoted/sec 1
pgdem/s Memory Details\Pages Demoted/sec 1
rtps Disk Totals\Reads/sec 1
wtps Disk Totals\Writes/sec 1
dtps Disk Totals\Discards/sec 1
bread/s Disk Totals\Read Bytes/sec 512
bwrtn/s Disk Totals\Write Bytes/sec 512
bdscd/s Disk Totals\Discard Bytes/sec 512
kbmemfree Memory\Free & Zero Page List Bytes 1024
kbavail Memory\Available Bytes 1024
kbbuffers Memory Details\Buffer Bytes 1024
kbcached Memory Details\Cached Bytes 1024
kbcommit Memory\Committed Bytes 1024
kbactive Memory Details\Active Bytes 1024
kbinact Memory Details\Inactive Bytes 1024
kbdirty Page Cache\Dirty Bytes 1024
kbanonpg Memory Details\Anonymous Bytes 1024
kbslab Memory Details\Slab Bytes 1024
kbkstack Memory Extended\Kernel Stack Bytes 1024
kbpgtbl Memory Extended\Page Table Bytes 1024
kbvmused Memory Details\Vmalloc Used Bytes 1024
kbshmem Page Cache\Shared Memory Bytes 1024
kbswpfree Memory Details\Swap Free Bytes 1024
kbswpcad Memory Details\Swap Cached Bytes 1024
%swpused Memory Details\% Swap Usage 1
kbhugfree Huge Pages\Free Bytes 1024
kbhugrsvd Huge Pages\Reserved Bytes 1024
kbhugsurp Huge Pages\Surplus Bytes 1024
dentunusd Kernel Objects\Unused Directory Entries 1
file-nr Kernel Objects\Open Files 1
inode-nr Kernel Objects\Inodes In Use 1
pty-nr Kernel Objects\Pseudo Terminals 1
runq-sz System Extended\Tasks Running 1
plist-sz System\Threads 1
ldavg-1 System Extended\Load Average 1 Minute 1
ldavg-5 System Extended\Load Average 5 Minutes 1
ldavg-15 System Extended\Load Average 15 Minutes 1
blocked System Extended\Tasks Blocked 1
rcvin/s Serial Line({})\Receive Interrupts/sec 1
xmtin/s Serial Line({})\Transmit Interrupts/sec 1
framerr/s Serial Line({})\Frame Errors/sec 1
prtyerr/s Serial Line({})\Parity Errors/sec 1
brk/s Serial Line({})\Breaks/sec 1
ovrun/s Serial Line({})\Overruns/sec 1
rkB/s PhysicalDisk({})\Disk Read Bytes/sec 1024
wkB/s PhysicalDisk({})\Disk Write Bytes/sec 1024
dkB/s Block Device({})\Discard Bytes/sec 1024
rd_sec/s PhysicalDisk({})\Disk Read Bytes/sec 512
wr_sec/s PhysicalDisk({})\Disk Write Bytes/sec 512
avgrq-sz PhysicalDisk({})\Avg. Disk Bytes/Transfer 512
avgqu-sz PhysicalDisk({})\Avg. Disk Queue Length 1
areq-sz PhysicalDisk({})\Avg. Disk Bytes/Transfer 1024
aqu-sz PhysicalDisk({})\Avg. Disk Queue Length 1
await PhysicalDisk({})\Avg. Disk sec/Transfer 0.001
%util Block Device({})\% Active Time 1
rxpck/s Network Interface({})\Packets Received/sec 1
txpck/s Network Interface({})\Packets Sent/sec 1
rxkB/s Network Interface({})\Bytes Received/sec 1024
txkB/s Network Interface({})\Bytes Sent/sec 1024
rxcmp/s Network Interface Details({})\Compressed Packets Received/sec 1
txcmp/s Network Interface Details({})\Compressed Packets Sent/sec 1
rxmcst/s Network Interface Details({})\Multicast Packets Received/sec 1
rxerr/s Network Interface({})\Packets Received Errors +1
txerr/s Network Interface({})\Packets Outbound Errors +1
coll/s Network Interface Details({})\Collisions/sec 1
rxdrop/s Network Interface({})\Packets Received Discarded +1
txdrop/s Network Interface({})\Packets Outbound Discarded +1
txcarr/s Network Interface Details({})\Carrier Errors/sec 1
rxfram/s Network Interface Details({})\Frame Errors/sec 1
rxfifo/s Network Interface Details({})\Receive Queue Overruns/sec 1
txfifo/s Network Interface Details({})\Send Queue Overruns/sec 1
call/s NFS Client\Requests/sec 1
retrans/s NFS Client\Retransmissions/sec 1
read/s NFS Client\Read Requests/sec 1
write/s NFS Client\Write Requests/sec 1
access/s NFS Client\Access Requests/sec 1
getatt/s NFS Client\Attribute Requests/sec 1
scall/s NFS Server\Requests/sec 1
badcall/s NFS Server\Bad Requests/sec 1
packet/s NFS Server\Packets/sec 1
udp/s NFS Server\UDP Packets/sec 1
tcp/s NFS Server\TCP Packets/sec 1
hit/s NFS Server\Reply Cache Hits/sec 1
miss/s NFS Server\Reply Cache Misses/sec 1
sread/s NFS Server\Read Requests/sec 1
swrite/s NFS Server\Write Requests/sec 1
saccess/s NFS Server\Access Requests/sec 1
sgetatt/s NFS Server\Attribute Requests/sec 1
totsck Sockets\Sockets Used 1
tcpsck Sockets\TCPv4 Sockets 1
udpsck Sockets\UDPv4 Sockets 1
rawsck Sockets\Raw IPv4 Sockets 1
ip-frag Sockets\IPv4 Fragments In Use 1
tcp-tw Sockets\TCP Time-Wait 1
irec/s IPv4\Datagrams Received/sec 1
fwddgm/s IPv4\Datagrams Forwarded/sec 1
idel/s IPv4\Datagrams Received Delivered/sec 1
orq/s IPv4\Datagrams Sent/sec 1
asmrq/s IPv4\Fragments Received/sec 1
asmok/s IPv4\Fragments Re-assembled/sec 1
fragok/s IPv4\Fragmented Datagrams/sec 1
fragcrt/s IPv4\Fragments Created/sec 1
ihdrerr/s IPv4\Datagrams Received Header Errors +1
iadrerr/s IPv4\Datagrams Received Address Errors +1
iukwnpr/s IPv4\Datagrams Received Unknown Protocol +1
idisc/s IPv4\Datagrams Received Discarded +1
odisc/s IPv4\Datagrams Outbound Discarded +1
onort/s IPv4\Datagrams Outbound No Route +1
asmf/s IPv4\Fragment Re-assembly Failures +1
fragf/s IPv4\Fragmentation Failures +1
imsg/s ICMP\Messages Received/sec 1
omsg/s ICMP\Messages Sent/sec 1
iech/s ICMP\Received Echo/sec 1
iechr/s ICMP\Received Echo Reply/sec 1
oech/s ICMP\Sent Echo/sec 1
oechr/s ICMP\Sent Echo Reply/sec 1
itm/s ICMP\Received Timestamp/sec 1
itmr/s ICMP\Received Timestamp Reply/sec 1
otm/s ICMP\Sent Timestamp/sec 1
otmr/s ICMP\Sent Timestamp Reply/sec 1
iadrmk/s ICMP\Received Address Mask +1
iadrmkr/s ICMP\Received Address Mask Reply +1
oadrmk/s ICMP\Sent Address Mask +1
oadrmkr/s ICMP\Sent Address Mask Reply +1
ierr/s ICMP\Messages Received Errors +1
oerr/s ICMP\Messages Outbound Errors +1
idstunr/s ICMP\Received Dest. Unreachable +1
odstunr/s ICMP\Sent Destination Unreachable +1
itmex/s ICMP\Received Time Exceeded +1
otmex/s ICMP\Sent Time Exceeded +1
iparmpb/s ICMP\Received Parameter Problem +1
oparmpb/s ICMP\Sent Parameter Problem +1
isrcq/s ICMP\Received Source Quench +1
osrcq/s ICMP\Sent Source Quench +1
iredir/s ICMP\Received Redirect/sec 1
oredir/s ICMP\Sent Redirect/sec 1
active/s TCPv4\Connections Active +1
passive/s TCPv4\Connections Passive +1
iseg/s TCPv4\Segments Received/sec 1
oseg/s TCPv4\Segments Sent/sec 1
atmptf/s TCPv4\Connection Failures +1
estres/s TCPv4\Connections Reset +1
retrans/s#2 TCPv4\Segments Retransmitted/sec 1
isegerr/s TCP Details\Segments Received Errors/sec 1
orsts/s TCP Details\Resets Sent/sec 1
idgm/s UDPv4\Datagrams Received/sec 1
odgm/s UDPv4\Datagrams Sent/sec 1
noport/s UDPv4\Datagrams No Port/sec 1
idgmerr/s UDPv4\Datagrams Received Errors +1
tcp6sck Sockets\TCPv6 Sockets 1
udp6sck Sockets\UDPv6 Sockets 1
raw6sck Sockets\Raw IPv6 Sockets 1
ip6-frag Sockets\IPv6 Fragments In Use 1
irec6/s IPv6\Datagrams Received/sec 1
fwddgm6/s IPv6\Datagrams Forwarded/sec 1
idel6/s IPv6\Datagrams Received Delivered/sec 1
orq6/s IPv6\Datagrams Sent/sec 1
asmrq6/s IPv6\Fragments Received/sec 1
asmok6/s IPv6\Fragments Re-assembled/sec 1
imcpck6/s IPv6 Details\Multicast Received/sec 1
omcpck6/s IPv6 Details\Multicast Sent/sec 1
fragok6/s IPv6\Fragmented Datagrams/sec 1
fragcr6/s IPv6\Fragments Created/sec 1
ihdrer6/s IPv6\Datagrams Received Header Errors +1
iadrer6/s IPv6\Datagrams Received Address Errors +1
iukwnp6/s IPv6\Datagrams Received Unknown Protocol +1
i2big6/s IPv6 Details\Too Big Errors/sec 1
idisc6/s IPv6\Datagrams Received Discarded +1
odisc6/s IPv6\Datagrams Outbound Discarded +1
inort6/s IPv6 Details\Received No Route/sec 1
onort6/s IPv6\Datagrams Outbound No Route +1
asmf6/s IPv6\Fragment Re-assembly Failures +1
fragf6/s IPv6\Fragmentation Failures +1
itrpck6/s IPv6 Details\Truncated Packets Received/sec 1
imsg6/s ICMPv6\Messages Received/sec 1
omsg6/s ICMPv6\Messages Sent/sec 1
iech6/s ICMPv6\Received Echo/sec 1
iechr6/s ICMPv6\Received Echo Reply/sec 1
oechr6/s ICMPv6\Sent Echo Reply/sec 1
igmbq6/s ICMPv6\Received Membership Query 1
igmbr6/s ICMPv6\Received Membership Report 1
ogmbr6/s ICMPv6\Sent Membership Report 1
igmbrd6/s ICMPv6\Received Membership Reduction 1
ogmbrd6/s ICMPv6\Sent Membership Reduction 1
irtsol6/s ICMPv6\Received Router Solicit 1
ortsol6/s ICMPv6\Sent Router Solicit 1
irtad6/s ICMPv6\Received Router Advert 1
inbsol6/s ICMPv6\Received Neighbor Solicit 1
onbsol6/s ICMPv6\Sent Neighbor Solicit 1
inbad6/s ICMPv6\Received Neighbor Advert 1
onbad6/s ICMPv6\Sent Neighbor Advert 1
ierr6/s ICMPv6\Messages Received Errors +1
idtunr6/s ICMPv6\Received Dest. Unreachable +1
odtunr6/s ICMPv6\Sent Destination Unreachable +1
itmex6/s ICMPv6\Received Time Exceeded +1
otmex6/s ICMPv6\Sent Time Exceeded +1
iprmpb6/s ICMPv6\Received Parameter Problem +1
oprmpb6/s ICMPv6\Sent Parameter Problem +1
iredir6/s ICMPv6\Received Redirect/sec 1
oredir6/s ICMPv6\Sent Redirect/sec 1
ipck2b6/s ICMPv6\Received Packet Too Big 1
opck2b6/s ICMPv6\Sent Packet Too Big 1
idgm6/s UDPv6\Datagrams Received/sec 1
odgm6/s UDPv6\Datagrams Sent/sec 1
noport6/s UDPv6\Datagrams No Port/sec 1
idgmer6/s UDPv6\Datagrams Received Errors +1
total/s Network Backlog({})\Packets Processed/sec 1
dropd/s Network Backlog({})\Packets Dropped/sec 1
squeezd/s Network Backlog({})\Time Squeezes/sec 1
rx_rps/s Network Backlog({})\Steered Packets/sec 1
flw_lim/s Network Backlog({})\Flow Limit Drops/sec 1
blg_len Network Backlog({})\Backlog Length 1
MHz Processor Frequency({})\MHz 1
%scpu Pressure\% Processor Pressure Some 1
%scpu-10 Pressure\% Processor Pressure Some 10s 1
%scpu-60 Pressure\% Processor Pressure Some 60s 1
%scpu-300 Pressure\% Processor Pressure Some 300s 1
%sio Pressure\% IO Pressure Some 1
%sio-10 Pressure\% IO Pressure Some 10s 1
%sio-60 Pressure\% IO Pressure Some 60s 1
%sio-300 Pressure\% IO Pressure Some 300s 1
%fio Pressure\% IO Pressure Full 1
%fio-10 Pressure\% IO Pressure Full 10s 1
%fio-60 Pressure\% IO Pressure Full 60s 1
%fio-300 Pressure\% IO Pressure Full 300s 1
%smem Pressure\% Memory Pressure Some 1
%smem-10 Pressure\% Memory Pressure Some 10s 1
%smem-60 Pressure\% Memory Pressure Some 60s 1
%smem-300 Pressure\% Memory Pressure Some 300s 1
%fmem Pressure\% Memory Pressure Full 1
%fmem-10 Pressure\% Memory Pressure Full 10s 1
%fmem-60 Pressure\% Memory Pressure Full 60s 1
%fmem-300 Pressure\% Memory Pressure Full 300s 1
MBfsfree File System({})\Free Bytes 1048576
Ifree File System({})\Files Free 1
Iused File System({})\Files 1
";

/// Fields that `sadf` computes from others of the same record, which are compared.
const DERIVED: &[&str] = &[
    "kbmemused",
    "%memused",
    "%commit",
    "kbswpused",
    "%swpcad",
    "%vmeff",
    "kbhugused",
    "%hugused",
    "%ifutil",
    "MBfsused",
    "%fsused",
    "%ufsused",
    "%Iused",
    "dc_sec/s",
    "frmpg/s",
    "bufpg/s",
    "campg/s",
    "svctm",
];

struct Counter {
    path: &'static str,
    divisor: f64,
    grows: bool,
}

fn fields() -> HashMap<&'static str, Counter> {
    let line = |line: &'static str| {
        let (field, rest) = line.split_once(' ').unwrap();
        let (path, divisor) = rest.rsplit_once(' ').unwrap();
        (field, Counter { path, divisor: divisor.parse().unwrap(), grows: divisor.starts_with('+') })
    };
    FIELDS.lines().filter(|text| !text.is_empty()).map(line).collect()
}

/// The values of a record by path, and its raw samples.
struct Values {
    cooked: HashMap<String, Result<Value, NoValue>>,
    raw: HashMap<String, Sample>,
}

/// The records by their seconds since 1970.
fn read(path: &Path) -> Vec<(i128, Values)> {
    let mut log = open(path, &ReadOptions::default()).unwrap();
    assert_eq!(log.about().format, Format::Sysstat);
    let mut cooker = Cooker::default();
    let mut records = Vec::new();
    while let Some(record) = log.next_record().unwrap() {
        let paths: Vec<String> = log
            .about()
            .columns
            .iter()
            .map(|column| column.path.trim_start_matches('\\').split_once('\\').unwrap().1.to_owned())
            .collect();
        let cooked = paths.iter().cloned().zip(cooker.cook(&record)).collect();
        let raw =
            paths.iter().cloned().zip(&record.cells).filter_map(|(path, cell)| Some((path, (*cell).ok()?)));
        let raw = raw.collect();
        records.push((record.time.unix_nanoseconds() / 1_000_000_000, Values { cooked, raw }));
    }
    assert_eq!(log.about().notes.damage, []);
    records
}

/// Compares a file with what `sadf -p` printed of it: time, device, field and value in each line.
fn compare(path: &Path, printed: &str, disks: &HashMap<String, String>) {
    let fields = fields();
    let records = read(path);
    let mut compared = BTreeSet::new();
    let mut seen: HashMap<(String, String), u32> = HashMap::new();
    let mut count = 0;
    for line in printed.lines() {
        let [seconds, device, field, value] = line.split('\t').collect::<Vec<_>>()[..] else {
            panic!("{line}");
        };
        // Some versions print the sign twice.
        let single = field.replacen("%%", "%", 1);
        let field = single.as_str();
        if DERIVED.contains(&field) || (field == "tps" && device == "-") {
            continue;
        }
        let seconds: i128 = seconds.parse().unwrap();
        let at = records.iter().position(|(time, _)| *time == seconds).unwrap_or_else(|| panic!("{line}"));
        let (before, now) = (&records[at - 1].1, &records[at].1);
        let nth = seen.entry((line.rsplit_once('\t').unwrap().0.to_owned(), String::new())).or_default();
        *nth += 1;
        // The two runs of sadf print the file systems twice: by device, which two may share, and by folder.
        let is_file_system = field.starts_with("MBfs") || matches!(field, "Ifree" | "Iused");
        if is_file_system && device.starts_with("/dev/") {
            continue;
        }
        let (path, divisor, grows) = if let Some(path) = path_of_interrupt(field, device) {
            (path, 1.0, false)
        } else {
            let name = match (*nth, field) {
                (2, "retrans/s") => "retrans/s#2",
                _ => field,
            };
            if name == "tps" {
                // A disk that came and went meanwhile: nobody knows its number any more.
                if !disks.contains_key(device) {
                    continue;
                }
                (format!(r"PhysicalDisk({})\Disk Transfers/sec", disks[device]), 1.0, false)
            } else {
                let counter = fields.get(name).unwrap_or_else(|| panic!("nothing is known of {line}"));
                let device = match device {
                    "all" => "_Total".to_owned(),
                    _ if disks.contains_key(device) => disks[device].clone(),
                    _ => device.trim_start_matches("cpu").trim_start_matches("ttyS").to_owned(),
                };
                compared.insert(name.to_owned());
                (counter.path.replace("{}", &device), counter.divisor, counter.grows)
            }
        };
        let ours = if grows {
            let clock = |values: &Values| values.raw[r"System\Context Switches/sec"].second as f64 / 1e7;
            let (Some(new), Some(old)) = (now.raw.get(&path), before.raw.get(&path)) else {
                // A device that came or went between the two records.
                assert!(device != "-", "{line}: {path}");
                continue;
            };
            let grown = new.first as f64 - old.first as f64;
            grown / (clock(now) - clock(before))
        } else {
            match now.cooked.get(&path) {
                Some(Ok(value)) => value.as_f64().unwrap() / divisor,
                // sadf prints 0 as the average of nothing.
                Some(Err(NoValue::NoOperations | NoValue::ZeroDenominator)) => 0.0,
                // sadf prints an average over the processors, which the file does not have.
                None if field == "MHz" && device == "all" => continue,
                // A device that came with this record; or a disk that went, whose name is not known any more.
                Some(Err(NoValue::FirstSample)) if device != "-" => continue,
                None if path.contains("Disk(") || path.contains("Block Device(") => continue,
                other => panic!("{line}: {path}: {other:?}"),
            }
        };
        let theirs: f64 = value.parse().unwrap();
        // Both are rounded at the second digit, and whole numbers where they have none.
        let slack = if value.contains('.') { 0.005_001 } else { 0.5 };
        assert!((ours - theirs).abs() <= slack, "{line}: {path} is {ours}");
        count += 1;
    }
    assert!(count > 500, "only {count} values");
    assert!(compared.len() > 150, "only {} fields: {compared:?}", compared.len());
}

/// The counter of a field such as `cpu1` or `all`, which interrupts have, or of `intr/s` of old versions.
fn path_of_interrupt(field: &str, device: &str) -> Option<String> {
    let processor = match field {
        "all" | "intr/s" => "_Total",
        _ => field.strip_prefix("cpu").filter(|rest| rest.parse::<u32>().is_ok())?,
    };
    let number = device.strip_prefix('i').and_then(|number| number.parse::<u32>().ok());
    Some(match (device, number.filter(|_| field == "intr/s")) {
        ("sum", _) => format!(r"Processor({processor})\Interrupts/sec"),
        (_, Some(number)) => format!(r"Interrupt({processor},{number})\Interrupts/sec"),
        _ => format!(r"Interrupt({processor},{device})\Interrupts/sec"),
    })
}

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/import").join(name)
}

#[test]
fn a_recorded_file_has_the_values_that_sadf_printed() {
    let printed = std::fs::read_to_string(fixture("sysstat-12.6.1.sadf")).unwrap();
    let disks = HashMap::from([("vda".to_owned(), "dev254-0".to_owned())]);
    compare(&fixture("sysstat-12.6.1.sa"), &printed, &disks);
}

/// Files of the formats 0x2171 and 0x2173, with the structures of their first and their last version.
#[test]
fn files_of_old_versions_have_the_values_that_their_sadf_printed() {
    let disk = |name: &str| (name.to_owned(), name.to_owned());
    let disks = HashMap::from([disk("dev254-0"), disk("dev7-0")]);
    for version in ["10.0.5", "11.6.1"] {
        let printed = std::fs::read_to_string(fixture(&format!("sysstat-{version}.sadf"))).unwrap();
        compare(&fixture(&format!("sysstat-{version}.sa")), &printed, &disks);
    }
    // Further versions: `sysstat-VERSION.sa` with `.sadf` beside it.
    let Some(folder) = std::env::var_os("TALLYMON_SYSSTAT") else { return };
    for file in std::fs::read_dir(folder).unwrap().map(|file| file.unwrap().path()) {
        if file.extension().is_some_and(|end| end == "sa") {
            let printed = std::fs::read_to_string(file.with_extension("sadf")).unwrap();
            compare(&file, &printed, &disks);
        }
    }
}

#[test]
fn a_file_of_this_machine_has_the_values_that_sadf_prints() {
    let Some(sadf) = peer("sadf") else { return };
    let Some(sadc) =
        ["/usr/lib/sysstat/sadc", "/usr/lib64/sa/sadc"].iter().find(|path| Path::new(path).exists())
    else {
        return skip("sadc is in none of its folders");
    };
    let folder = Scratch::new();
    let file = folder.join("sa");
    assert!(Command::new(sadc).args(["-S", "XALL", "1", "3"]).arg(&file).status().unwrap().success());
    let mut printed = String::new();
    for options in [&["-A"][..], &["-F", "MOUNT"]] {
        let mut command = Command::new(&sadf);
        command.env("LC_ALL", "C").args(["-p", "-U"]).arg(&file).arg("--").args(options);
        let out = command.output().unwrap();
        for line in String::from_utf8(out.stdout).unwrap().lines() {
            printed.push_str(line.splitn(3, '\t').last().unwrap());
            printed.push('\n');
        }
    }
    // sadf looks the names of disks up in this machine; a file has their numbers.
    let disks = std::fs::read_to_string("/proc/partitions").unwrap();
    let disk = |line: &str| {
        let parts: Vec<&str> = line.split_whitespace().collect();
        let [major, minor, _, name] = parts[..] else { return None };
        Some((name.to_owned(), format!("dev{major}-{minor}")))
    };
    compare(&file, &printed, &disks.lines().filter_map(disk).collect());
}

/// Any part of a file is read up to its end, and the end is named.
#[test]
fn a_file_that_is_cut_anywhere_is_read_up_to_there() {
    let records = |bytes: &[u8]| -> Option<(usize, usize)> {
        let mut log = tallymon_log::read_bytes(bytes, &ReadOptions::default()).ok()?;
        let mut count = 0;
        while log.next_record().unwrap().is_some() {
            count += 1;
        }
        Some((count, log.about().notes.damage.len()))
    };
    for name in ["sysstat-12.6.1.sa", "sysstat-10.0.5.sa", "sysstat-11.6.1.sa"] {
        let whole = std::fs::read(fixture(name)).unwrap();
        assert_eq!(records(&whole), Some((3, 0)), "{name}");
        let mut seen = BTreeSet::new();
        for cut in (0..whole.len()).step_by(whole.len() / 60) {
            if let Some((count, damage)) = records(&whole[..cut]) {
                assert!(count < 3 && damage <= 1, "{name} cut at {cut}: {count} records, {damage} faults");
                seen.insert(count);
            }
        }
        assert_eq!(seen, BTreeSet::from([0, 1, 2]), "{name}");
    }
}

/// Restarts and comments stand between the records, and a restart lists activities again since 10.3.
#[test]
fn restarts_and_comments_of_old_versions() {
    for version in ["10.0.5", "11.6.1"] {
        let file = fixture(&format!("sysstat-{version}-restart.sa"));
        let mut log = open(&file, &ReadOptions::default()).unwrap();
        let mut records = 0;
        while log.next_record().unwrap().is_some() {
            records += 1;
        }
        assert_eq!((records, &log.about().notes.damage), (2, &vec![]), "{version}");
        let remarks = format!("{:?}", log.about().notes.remarks);
        assert!(remarks.contains("the machine was restarted at"), "{version}: {remarks}");
        assert!(remarks.contains("comment: hello"), "{version}: {remarks}");
    }
}
