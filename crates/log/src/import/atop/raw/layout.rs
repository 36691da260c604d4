//! The structures of atop's raw logs, by the version of atop.
//!
//! A raw log holds memory of the program that wrote it. So the place of a field follows from the fields
//! before it, with the rules of C for 64 bits: a number stands at a multiple of its length. The header
//! has the length of both structures, and a version is only read if they are what is computed here.
//!
//! Facts: `photosyst.h`, `netstats.h`, `photoproc.h`, `cgroups.h` and `rawlog.h` of atop 2.4 to 2.13.

use std::collections::HashMap;

/// Each line below a name has a type and the fields that have it; `*N` is a row of so many. A range of
/// versions at the end is for fields that not all versions have, such as `2.8-` or `2.6-2.7`. Types: `i`
/// and `f` have 32 bits, `q` 64, `h` 16, `c` is a byte, `tN` a text of N bytes; others are names of
/// structures.
const STRUCTURES: &str = "
clock
 q most count ticks
processor
 i number
 c online reserve*3 2.13-
 q sys user nice idle wait irq softirq steal guest
 clock clock
 q instructions cycles
 q reserve*2 -2.6
 q reserve*6 2.7-
processors
 q count -2.12
 i count most 2.13-
 q interrupts switches started
 f load_1 load_5 load_15
 q reserve*4
 processor all
 processor each*2048 -2.12
 processor each*4096 2.13-
memory
 q physical free buffer slab cache dirty swap swap_free scans steals stalls swap_out swap_in
 q tcp udp 2.8-
 q limit committed shared shared_resident shared_swapped slab_reclaimable huge huge_free huge_size balloon
 q zfs swap_cache 2.6-
 q ksm_sharing ksm_shared zswapped zswap oom compaction migrated numa_migrated 2.7-
 q pages_out pages_in page_tables 2.8-
 q zswap_out zswap_in large large_free large_size available anonymous_huge 2.10-
 q low_mark 2.13-
 q reserve*8 -2.5
 q reserve*6 2.6-2.6
 q reserve*9 2.7-2.7
 q reserve*4 2.8-2.10
 q reserve*5 2.11-2.12
 q reserve*4 2.13-
network
 q ip_forwarding ip_ttl ip_in ip_header_errors ip_address_errors ip_forwarded ip_unknown ip_discards
 q ip_delivered
 q ip_out ip_out_discards ip_no_routes ip_reassembly*4 ip_fragments*3
 q icmp*26 -2.7
 q icmp*27 2.8-
 q udp_in udp_no_ports udp_errors udp_out
 q ip6_in ip6_errors*7 ip6_delivered ip6_forwarded ip6_out ip6_rest*11
 q icmp6*28
 q udp6_in udp6_no_ports udp6_errors udp6_out
 q tcp_settings*4 tcp_active tcp_passive tcp_failed tcp_reset tcp_established tcp_in tcp_out tcp_again
 q tcp_errors tcp_resets_out
 q tcp_sums 2.10-
interface
 t16 name
 q bytes_in packets_in errors_in drops_in fifo_in frame_in compressed_in multicast_in reserve*4
 q bytes_out packets_out errors_out drops_out fifo_out collisions carrier compressed_out reserve_out*4
 c kind
 q speed speed_before
 c duplex
 q reserve_all*4
interfaces
 i count
 interface each*128
node_memory
 i node 2.8-
 f fragmented
 q total free file dirty slab slab_reclaimable active inactive shared huge
 q huge_free 2.10-
 q reserve*2 2.11-
nodes_memory
 q count
 node_memory each*1024
node_processor
 i node 2.8-
 q processors sys user nice idle wait irq softirq steal guest
 q reserve*2 2.11-
nodes_processor
 q count
 node_processor each*1024
disk
 t32 name
 q reads read_sectors writes written_sectors ms queue
 q reserve*4 -2.6
 q discards discarded_sectors 2.7-
 q reserve*2 2.7-2.7
 q in_flight reserve*3 2.8-
disks
 i counts*3
 disk disk*1024
 disk raid*256
 disk volume*2048
mount
 t128 name
 q age read written direct_read direct_written total_read total_written mapped_read mapped_written reserve*8
nfs
 q packets udp tcp connections calls bad_format bad_authorization bad_client reads writes hits misses uncached
 q bytes_read bytes_written reserve*8
 q client_calls client_again client_authorizations client_reads client_writes client_reserve*8
 i count
 mount each*64
container
 q id processes system user nice uptime pages
containers
 i count
 container each*128
stall
 f s10 s60 s300
 q total
pressure
 c present reserve*3
 stall cpu memory memory_full disk disk_full
graphics
 c tasks processes
 t13 kind
 t13 bus
 i number busy memory_busy
 q total used samples busy_sum memory_busy_sum used_sum
graphics_all
 i count
 graphics each*32
port
 t12 name -2.12
 t20 name 2.13-
 h port lanes
 q rate bytes_in bytes_out packets_in packets_out
 q reserve*4 2.11-
ports
 i count
 port each*32
cache
 c number
 f occupied
 q local total
caches
 c count -2.9
 i count 2.10-
 cache each*256
system
 processors cpu
 memory mem
 network net
 interfaces interface
 nodes_memory node_memory 2.7-
 nodes_processor node_processor 2.7-
 disks disk
 nfs nfs
 containers container
 pressure pressure
 graphics_all graphics
 ports port
 caches cache 2.8-
 q web*3
 i web_workers*2
task
 i group id parent user*4 group_user*4 threads
 t16 name
 c is_process state
 i ended_with
 q started lasted
 t256 command
 i sleeping blocked running
 i idle 2.10-
 i container_number container_id inactive
 t16 container -2.12
 t40 container 2.13-
 t64 control_group 2.8-2.10
 i control_group_place reserve*4 2.11-
 q cpu_user cpu_sys
 i nice priority real_time policy processor sleep_average
 i cpu_reserve*4 -2.7
 i cpu_weight cpu_most cpu_most_above cpu_reserve*3 2.8-2.10
 i cpu_reserve*6 2.11-
 t16 waits_in 2.6-
 q run_delay 2.6-
 q disk_delay 2.8-
 q switches_own switches_forced 2.9-
 q cpu_room*4 -2.5
 q cpu_room 2.6-2.7
 q cpu_room*3 2.8-2.8
 q cpu_room 2.9-2.9
 q cpu_room*3 2.10-
 q reads read_sectors writes written_sectors cancelled_sectors disk_room*4
 q minor_faults major_faults text virtual resident proportional virtual_growth resident_growth data stack
 q libraries
 q swap
 q locked 2.6-
 q memory_room*4 -2.5
 q memory_room*3 2.6-2.7
 q memory_most*4 memory_room*3 2.8-2.10
 q memory_room*7 2.11-2.12
 q oom_score oom_adjustment memory_room*5 2.13-
 q tcp_packets_out tcp_bytes_out tcp_packets_in tcp_bytes_in udp_packets_out udp_bytes_out udp_packets_in
 q udp_bytes_in net_room*6
 c gpu_state gpu_reserve*3
 h gpus
 i gpu_list
 i gpu_busy gpu_memory_busy -2.12
 q gpu_time -2.12
 q gpu_busy gpu_memory_busy 2.13-
 q gpu_used gpu_used_sum gpu_samples
 q gpu_room*3 2.11-
control_group
 i length place parent depth processes processes_below name_length path_length reserve*4
 q name_hash reserve_hash*4
 i cpu_weight cpu_most
 q memory_most swap_most
 i disk_weight reserve_settings*5
 q reserve_most*5
 q cpu_user cpu_sys cpu_some cpu_full cpu_room*5
 q current anonymous file kernel shared memory_some memory_full memory_room*5
 q bytes_read bytes_written reads writes disk_some disk_full disk_room*5
";

/// A version of atop, as `major << 8 | minor`.
pub(super) type Version = u16;

/// The versions whose structures are known.
pub(super) const KNOWN: std::ops::RangeInclusive<Version> = 0x204..=0x20d;

/// How a field is stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stored {
    /// A byte.
    Byte,
    /// A signed number of so many bytes.
    Signed(usize),
    /// A floating-point number of 32 bits.
    Float,
    /// A text of so many bytes, which ends at the first zero.
    Text(usize),
    /// A structure.
    Structure(&'static str),
}

/// A field of a structure, or a row of them.
#[derive(Debug, Clone, Copy)]
pub(super) struct FieldLayout {
    /// Bytes from the begin of the structure.
    pub(super) at: usize,
    pub(super) stored: Stored,
    pub(super) count: usize,
    /// Bytes from one of a row to the next.
    pub(super) step: usize,
}

#[derive(Debug, Default)]
struct Structure {
    fields: HashMap<&'static str, FieldLayout>,
    length: usize,
    align: usize,
}

/// The structures of one version.
#[derive(Debug, Default)]
pub(super) struct Layout {
    pub(super) version: Version,
    structures: HashMap<&'static str, Structure>,
}

/// Whether a range such as `2.8-` has the version; `None` if it is no range.
fn in_range(text: &str, version: Version) -> Option<bool> {
    let (from, to) = text.split_once('-')?;
    let number = |text: &str| -> Option<Version> {
        let (major, minor) = text.split_once('.')?;
        Some(major.parse::<Version>().ok()? << 8 | minor.parse::<Version>().ok()?)
    };
    let is_from = from.is_empty() || number(from)? <= version;
    Some(is_from && (to.is_empty() || number(to)? >= version))
}

const fn up(at: usize, align: usize) -> usize {
    at.next_multiple_of(if align == 0 { 1 } else { align })
}

impl Layout {
    /// The structures of a version.
    pub(super) fn of(version: Version) -> Layout {
        let mut layout = Layout { version, structures: HashMap::new() };
        let mut name = "";
        for line in STRUCTURES.lines().filter(|line| !line.is_empty()) {
            let Some(fields) = line.strip_prefix(' ') else {
                name = line;
                continue;
            };
            let mut words = fields.split(' ');
            let kind = words.next().unwrap_or_default();
            let mut fields: Vec<&'static str> = words.collect();
            match fields.last().and_then(|last| in_range(last, version)) {
                Some(true) => _ = fields.pop(),
                Some(false) => continue,
                None => {}
            }
            let (stored, length, align) = layout.stored(kind);
            let structure = layout.structures.entry(name).or_default();
            for field in fields {
                let (field, count) = match field.split_once('*') {
                    Some((field, count)) => (field, count.parse().unwrap_or(1)),
                    None => (field, 1),
                };
                let at = up(structure.length, align);
                structure.fields.insert(field, FieldLayout { at, stored, count, step: length });
                structure.length = at.saturating_add(length.saturating_mul(count));
                structure.align = structure.align.max(align);
            }
        }
        layout
    }

    /// How a type is stored, its length and the multiple at which it stands.
    fn stored(&self, kind: &'static str) -> (Stored, usize, usize) {
        match kind {
            "c" => (Stored::Byte, 1, 1),
            "h" => (Stored::Signed(2), 2, 2),
            "i" => (Stored::Signed(4), 4, 4),
            "q" => (Stored::Signed(8), 8, 8),
            "f" => (Stored::Float, 4, 4),
            _ => match (
                self.structures.get(kind),
                kind.strip_prefix('t').and_then(|length| length.parse().ok()),
            ) {
                (Some(structure), _) => (Stored::Structure(kind), self.length(kind), structure.align),
                (None, Some(length)) => (Stored::Text(length), length, 1),
                (None, None) => (Stored::Byte, 0, 1),
            },
        }
    }

    /// The length of a structure.
    pub(super) fn length(&self, structure: &str) -> usize {
        self.structures.get(structure).map_or(0, |structure| up(structure.length, structure.align))
    }

    /// The fields of a structure.
    #[cfg(test)]
    pub(super) fn fields(&self, structure: &str) -> impl Iterator<Item = (&'static str, FieldLayout)> {
        let fields = self.structures.get(structure).map(|structure| &structure.fields);
        fields.into_iter().flatten().map(|(name, place)| (*name, *place))
    }

    /// The place of a field of a structure, such as `mem.free` of `system`; `None` if the version has none.
    pub(super) fn find(&self, structure: &str, path: &str) -> Option<FieldLayout> {
        let (first, rest) = path.split_once('.').map_or((path, None), |(first, rest)| (first, Some(rest)));
        let place = *self.structures.get(structure)?.fields.get(first)?;
        let Some(rest) = rest else { return Some(place) };
        let Stored::Structure(inner) = place.stored else { return None };
        let found = self.find(inner, rest)?;
        Some(FieldLayout { at: place.at.saturating_add(found.at), ..found })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What the compiler says of the headers of each version.
    #[test]
    fn structures_have_the_lengths_that_atop_has() {
        for (version, system, task) in [
            (0x204, 716_656, 840),
            (0x205, 716_656, 840),
            (0x206, 716_656, 840),
            (0x207, 954_360, 840),
            (0x208, 1_021_960, 968),
            (0x209, 1_021_960, 968),
            (0x20a, 1_030_216, 992),
            (0x20b, 1_064_016, 968),
            (0x20c, 1_064_016, 968),
            (0x20d, 1_408_336, 992),
        ] {
            let layout = Layout::of(version);
            assert_eq!((layout.length("system"), layout.length("task")), (system, task), "{version:#x}");
        }
    }
}
