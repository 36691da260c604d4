//! What is done to the machine, and the finding that must name it.

/// Something wrong, and the finding that names it.
pub(super) struct Sickness {
    pub(super) name: &'static str,
    /// What a shell runs meanwhile. It ends after the recording, at the latest. Exit code 77: this machine
    /// does not allow it, with the reason as the last line of standard error.
    pub(super) script: &'static str,
    /// What is recorded besides the counters that are recorded each time.
    pub(super) counters: &'static [&'static str],
    pub(super) seconds: u32,
    /// The ids of rules that name it.
    pub(super) rules: &'static [&'static str],
    /// What the title of a finding without a rule contains.
    pub(super) title: Option<&'static str>,
    /// What an instance of the finding contains.
    pub(super) instance: &'static str,
    /// The program that must be among those that caused it; empty for any.
    pub(super) culprit: &'static str,
    pub(super) needs: Needs,
}

/// What a sickness needs besides a shell and Python.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Needs {
    Nothing,
    /// A network of its own, which the recorder shares.
    Network,
    /// The program `shop` and a .NET runtime.
    Dotnet,
}

/// Functions that the scripts use.
///
/// `join` puts the shell into a control group whose limit `$1 = $2` (version 1) or `$3 = $4` (version 2)
/// is, of the controller `$5`.
pub(super) const FUNCTIONS: &str = r#"
refuse() { echo "$1" >&2; exit 77; }
join() {
    if [ -d /sys/fs/cgroup/$5 ]; then group=/sys/fs/cgroup/$5/tally-sick limit=$1 value=$2
    else
        group=/sys/fs/cgroup/tally-sick limit=$3 value=$4
        echo "+${6:-$5}" > /sys/fs/cgroup/cgroup.subtree_control
    fi
    mkdir -p $group && echo "$value" > $group/$limit && echo $$ > $group/cgroup.procs ||
        refuse "no control group with $limit or $3 can be made here"
}
"#;

const fn sickness(name: &'static str, seconds: u32, script: &'static str) -> Sickness {
    Sickness {
        name,
        script,
        counters: &[],
        seconds,
        rules: &[],
        title: None,
        instance: "",
        culprit: "",
        needs: Needs::Nothing,
    }
}

pub(super) const SICKNESSES: [Sickness; 12] = [
    Sickness {
        title: Some("Private Bytes of python3"),
        instance: "python3",
        ..sickness(
            "a program leaks memory",
            60,
            "exec timeout 80 python3 -c '
import time
kept = []
while True:
    kept.append(b\"x\" * (1 << 20)); time.sleep(0.5)'",
        )
    },
    Sickness {
        rules: &["throttled"],
        instance: "/tally-sick",
        ..sickness(
            "a service is stopped by its processor limit",
            40,
            "join cpu.cfs_quota_us 10000 cpu.max '10000 100000' cpu
exec timeout 55 sh -c 'while :; do :; done'",
        )
    },
    Sickness {
        rules: &["control-group-kills", "control-group-out-of-memory"],
        instance: "/tally-sick",
        ..sickness(
            "a service runs out of its memory",
            15,
            "join memory.limit_in_bytes 64M memory.max 64M memory
timeout 15 python3 -c '
import time
kept = []
time.sleep(2)
while True:
    kept.append(b\"x\" * (4 << 20)); time.sleep(0.1)'; true",
        )
    },
    Sickness {
        rules: &["processor-busy"],
        culprit: "cruncher",
        ..sickness(
            "a program uses all processors",
            45,
            // A program is named by its file.
            "ln -s \"$(command -v sh)\" \"$FOLDER/cruncher\"
for each in $(seq $(($(nproc) * 2))); do
timeout 60 \"$FOLDER/cruncher\" -c 'while :; do :; done' & done; wait",
        )
    },
    Sickness {
        // The group has more than its memory: it is the cause, and the swapping is what it does.
        rules: &["swapping-out", "control-group-out-of-memory", "pressure-memory", "pressure-memory-some"],
        ..sickness(
            "memory goes to swap and back",
            45,
            "swap=$FOLDER/swap
head -c 400000000 /dev/zero > $swap && chmod 600 $swap && mkswap -q $swap && swapon $swap 2> /dev/null ||
    { rm -f $swap; refuse \"no swap file can be made here\"; }
trap 'swapoff $swap; rm -f $swap' EXIT
join memory.limit_in_bytes 64M memory.max 64M memory
timeout 55 python3 -c '
kept = bytearray(160 << 20)
while True:
    for at in range(0, len(kept), 4096): kept[at] = (kept[at] + 1) % 256'
true",
        )
    },
    Sickness {
        rules: &["disk-slow", "disk-very-slow", "io-held-back", "pressure-io"],
        ..sickness(
            "a disk lets through few requests",
            45,
            "source=$(findmnt -no SOURCE -T $FOLDER)
device=$(lsblk -ndo MAJ:MIN $source 2> /dev/null | tr -d ' ')
[ -n \"$device\" ] || refuse \"the folder for temporary files is on no disk\"
join blkio.throttle.write_iops_device \"$device 8\" io.max \"$device wiops=8\" blkio io
exec timeout 55 python3 -c '
import mmap, os
for each in range(3):
    if os.fork() == 0: break
file = os.open(os.environ[\"FOLDER\"] + \"/slow\", os.O_CREAT | os.O_WRONLY | os.O_DIRECT)
page = mmap.mmap(-1, 4096)
at = 0
while True:
    os.pwrite(file, page, at % 1000 * 4096); at += 1'",
        )
    },
    Sickness {
        rules: &["retransmissions"],
        needs: Needs::Network,
        ..sickness(
            "the network loses packets",
            45,
            // Whatever goes to 10.9.0.2 comes back from there: swapped addresses have the same checksums.
            // One packet in twelve is lost, as by `tc netem`, which many kernels do not have.
            "ip link set lo up || refuse \"no network of its own can be made here\"
[ -c /dev/net/tun ] || refuse \"this kernel has no /dev/net/tun\"
exec timeout 55 python3 -c '
import fcntl, os, random, socket, struct, subprocess, threading, time
tun = os.open(\"/dev/net/tun\", os.O_RDWR)
fcntl.ioctl(tun, 0x400454ca, struct.pack(\"16sH22x\", b\"lossy\", 0x1001))
subprocess.run([\"ip\", \"address\", \"add\", \"10.9.0.1/24\", \"dev\", \"lossy\"], check=True)
subprocess.run([\"ip\", \"link\", \"set\", \"lossy\", \"up\"], check=True)
def reflect():
    while True:
        packet = os.read(tun, 65536)
        if packet[0] >> 4 == 4 and random.random() > 0.08:
            os.write(tun, packet[:12] + packet[16:20] + packet[12:16] + packet[20:])
threading.Thread(target=reflect, daemon=True).start()
server = socket.create_server((\"10.9.0.1\", 9009))
def receive():
    taken, _ = server.accept()
    while taken.recv(65536): pass
threading.Thread(target=receive, daemon=True).start()
client = socket.create_connection((\"10.9.0.2\", 9009))
client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
while True:
    client.send(b\"x\" * 1000); time.sleep(0.005)'",
        )
    },
    Sickness {
        rules: &["listen-drops"],
        needs: Needs::Network,
        ..sickness(
            "a server accepts no connections",
            45,
            "ip link set lo up || refuse \"no network of its own can be made here\"
exec timeout 55 python3 -c '
import socket, time
server = socket.socket()
server.bind((\"127.0.0.1\", 9010)); server.listen(1)
kept = []
while True:
    one = socket.socket(); one.setblocking(False); one.connect_ex((\"127.0.0.1\", 9010))
    kept.append(one); time.sleep(0.2)'",
        )
    },
    Sickness {
        title: Some("Handle Count of python3"),
        instance: "python3",
        ..sickness(
            "a program leaks file descriptors",
            60,
            "exec timeout 80 python3 -c '
import time
kept = []
while True:
    kept.append(open(\"/dev/null\")); time.sleep(0.1)'",
        )
    },
    Sickness {
        counters: &[r"\.NET CLR LocksAndThreads(*)\Contention Rate / sec", r"\System.Runtime(*)\ThreadPool*"],
        rules: &["contention"],
        instance: "shop",
        needs: Needs::Dotnet,
        ..sickness(
            "threads of a .NET program wait for one lock",
            45,
            "exec timeout 80 \"$DOTNET\" exec \"$SHOP\" contention 70",
        )
    },
    Sickness {
        counters: &[r"\.NET CLR LocksAndThreads(*)\Contention Rate / sec", r"\System.Runtime(*)\ThreadPool*"],
        rules: &["thread-pool-starvation"],
        instance: "shop",
        needs: Needs::Dotnet,
        ..sickness(
            "the thread pool of a .NET program starves",
            45,
            "exec timeout 80 \"$DOTNET\" exec \"$SHOP\" starvation 70",
        )
    },
    Sickness {
        rules: &["task-limit"],
        instance: "/tally-sick",
        ..sickness(
            "a service may start no more processes",
            15,
            "join pids.max 40 pids.max 40 pids
exec timeout 30 python3 -c '
import os, time
while True:
    try:
        if os.fork() == 0: time.sleep(20); os._exit(0)
    except OSError: time.sleep(0.2)'",
        )
    },
];
