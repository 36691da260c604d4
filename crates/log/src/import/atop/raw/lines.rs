//! Writes a sample of a raw log in the words of `atop -P`, which is what the rest of the importer reads.
//!
//! Facts: *parseable output* in `atop(1)`, and what the programs print of files in which every field is
//! different (`import_atop`).

use std::fmt::Write;

use super::layout::{FieldLayout, Layout, Stored};

/// Whose lines they are: the machine's, those of a row in the machine's structure, or a task's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Of {
    /// One line.
    System,
    /// A line for each of a row: the row, and what says how many there are. Without a number, the first
    /// one without a name ends the row.
    Each(&'static str, &'static str),
    /// A line for each task.
    Task,
    /// A line for each control group.
    ControlGroup,
}

/// The kinds of lines: the label, whose they are, and the fields behind the interval. A line ends at the
/// first field that the version does not have.
///
/// | word | prints |
/// |---|---|
/// | `name` | a number or a text |
/// | `a+b` | a sum of numbers |
/// | `name?` | the number, or -1 if the version does not have it |
/// | `name\|0` | the number, and 0 instead of -1 |
/// | `.N:name` | with N decimals |
/// | `a/b` | a quotient with two decimals, 0 if `b` is not positive |
/// | `%:name` | a share in percent |
/// | `yn:name` | `y` unless 0, else `n` |
/// | `$page`, `$hertz`, `$nth` | what the header says, and the place in the row |
/// | `$frequency`, `$frequency%` | the clock of a processor, and its share of the highest |
/// | `$node` | the number of a NUMA node, which is its place before 2.8 |
/// | `$cache`, `$share%` | the name of a cache, and its share in percent |
/// | `$iostat`, `$netatop`, `$gpu_state` | `y`, or the letter, if this was measured; else `n` or `N` |
/// | `$gpu_busy`, `$gpu_memory_busy` | a share in percent, since 2.13 from a sum of samples |
/// | `=word` | the word |
const LINES: &[(&str, Of, &str)] = &[
    (
        "CPU",
        Of::System,
        "$hertz cpu.count cpu.all.sys cpu.all.user cpu.all.nice cpu.all.idle cpu.all.wait cpu.all.irq \
         cpu.all.softirq cpu.all.steal cpu.all.guest $frequency $frequency% cpu.all.instructions \
         cpu.all.cycles",
    ),
    (
        "cpu",
        Of::Each("cpu.each", "cpu.most cpu.count"),
        "$hertz $nth sys user nice idle wait irq softirq steal guest $frequency $frequency% instructions \
         cycles",
    ),
    ("CPL", Of::System, "cpu.count .2:cpu.load_1 .2:cpu.load_5 .2:cpu.load_15 cpu.switches cpu.interrupts"),
    (
        "GPU",
        Of::Each("graphics.each", "graphics.count"),
        "$nth bus kind busy memory_busy total used samples busy_sum memory_busy_sum used_sum",
    ),
    (
        "MEM",
        Of::System,
        "$page mem.physical mem.free mem.cache mem.buffer mem.slab mem.dirty mem.slab_reclaimable \
         mem.balloon|0 \
         mem.shared mem.shared_resident mem.shared_swapped mem.huge_size mem.huge mem.huge_free mem.zfs|0 \
         mem.ksm_sharing|0 mem.ksm_shared|0 mem.tcp mem.udp mem.page_tables mem.large_size mem.large \
         mem.large_free \
         mem.available mem.anonymous_huge",
    ),
    (
        "SWP",
        Of::System,
        "$page mem.swap mem.swap_free mem.swap_cache? mem.committed mem.limit mem.swap_cache mem.zswapped|0 \
         mem.zswap|0",
    ),
    (
        "PAG",
        Of::System,
        "$page mem.scans mem.stalls =0 mem.swap_in mem.swap_out mem.oom mem.compaction mem.migrated \
         mem.numa_migrated mem.pages_in mem.pages_out mem.zswap_in mem.zswap_out",
    ),
    (
        "PSI",
        Of::System,
        "yn:pressure.present .1:pressure.cpu.s10 .1:pressure.cpu.s60 .1:pressure.cpu.s300 pressure.cpu.total \
         .1:pressure.memory.s10 .1:pressure.memory.s60 .1:pressure.memory.s300 pressure.memory.total \
         .1:pressure.memory_full.s10 .1:pressure.memory_full.s60 .1:pressure.memory_full.s300 \
         pressure.memory_full.total .1:pressure.disk.s10 .1:pressure.disk.s60 .1:pressure.disk.s300 \
         pressure.disk.total .1:pressure.disk_full.s10 .1:pressure.disk_full.s60 .1:pressure.disk_full.s300 \
         pressure.disk_full.total",
    ),
    ("LVM", Of::Each("disk.volume", ""), DISK),
    ("MDD", Of::Each("disk.raid", ""), DISK),
    ("DSK", Of::Each("disk.disk", ""), DISK),
    (
        "NFM",
        Of::Each("nfs.each", "nfs.count"),
        "device total_read total_written read written direct_read direct_written mapped_read mapped_written",
    ),
    (
        "NFC",
        Of::System,
        "nfs.client_calls nfs.client_reads nfs.client_writes nfs.client_again nfs.client_authorizations",
    ),
    (
        "NFS",
        Of::System,
        "nfs.calls nfs.reads nfs.writes nfs.bytes_read nfs.bytes_written nfs.bad_format \
         nfs.bad_authorization \
         nfs.bad_client nfs.packets nfs.tcp nfs.udp nfs.connections nfs.hits nfs.misses nfs.uncached",
    ),
    (
        "NET",
        Of::System,
        "=upper net.tcp_in net.tcp_out net.udp_in+net.udp6_in net.udp_out+net.udp6_out net.ip_in+net.ip6_in \
         net.ip_out+net.ip6_out net.ip_delivered+net.ip6_delivered net.ip_forwarded+net.ip6_forwarded \
         net.udp_errors+net.udp6_errors net.udp_no_ports+net.udp6_no_ports net.tcp_active net.tcp_passive \
         net.tcp_established net.tcp_again net.tcp_errors net.tcp_resets_out net.tcp_sums",
    ),
    (
        "NET",
        Of::Each("interface.each", ""),
        "name packets_in bytes_in packets_out bytes_out speed duplex errors_in errors_out drops_in \
         drops_out fifo_in \
         fifo_out compressed_in compressed_out frame_in multicast_in collisions carrier",
    ),
    (
        "IFB",
        Of::Each("port.each", "port.count"),
        "name port lanes rate bytes_in bytes_out packets_in packets_out",
    ),
    (
        "NUM",
        Of::Each("node_memory.each", "node_memory.count"),
        "$node $page %:fragmented total free active inactive file dirty slab slab_reclaimable shared huge \
         huge_free",
    ),
    (
        "NUC",
        Of::Each("node_processor.each", "node_processor.count"),
        "$node processors sys user nice idle wait irq softirq steal guest",
    ),
    ("LLC", Of::Each("cache.each", "cache.count"), "$cache $share% total local"),
    (
        "CGR",
        Of::ControlGroup,
        "processes processes_below cpu_user cpu_sys cpu_weight cpu_most current anonymous file kernel shared \
         memory_most swap_most bytes_read bytes_written reads writes disk_weight cpu_some cpu_full \
         memory_some \
         memory_full disk_some disk_full",
    ),
    (
        "PRG",
        Of::Task,
        "=0 =0 group threads =0 started =() parent running sleeping blocked =0 =0 =0 =0 =0 =0 lasted =y =0 \
         =0 =- =-",
    ),
    (
        "PRC",
        Of::Task,
        "$hertz cpu_user cpu_sys nice priority real_time policy processor sleep_average group =y \
         run_delay =() disk_delay =-2 =-2 switches_own switches_forced",
    ),
    (
        "PRM",
        Of::Task,
        "$page virtual resident text virtual_growth resident_growth minor_faults major_faults libraries \
         data stack \
         swap group =y proportional|0 locked",
    ),
    (
        "PRD",
        Of::Task,
        "=n $iostat reads read_sectors writes written_sectors cancelled_sectors group =n yn:is_process",
    ),
    (
        "PRN",
        Of::Task,
        "$netatop tcp_packets_out tcp_bytes_out tcp_packets_in tcp_bytes_in udp_packets_out udp_bytes_out \
         udp_packets_in udp_bytes_in =0 =0 group =y",
    ),
    ("PRE", Of::Task, "$gpu_state gpus =0 $gpu_busy $gpu_memory_busy gpu_used gpu_used_sum gpu_samples"),
];

/// What a line of a disk has.
const DISK: &str =
    "name ms reads read_sectors writes written_sectors discards discarded_sectors in_flight queue/ms";

/// One word of a line.
#[derive(Debug)]
pub(super) enum Word {
    Just(&'static str),
    /// The sum of these.
    Numbers(Vec<FieldLayout>),
    /// 0 instead of -1.
    Natural(FieldLayout),
    Text(FieldLayout),
    /// A factor, and decimals.
    Decimals(FieldLayout, f64, usize),
    Quotient(FieldLayout, FieldLayout),
    Yes(FieldLayout),
    /// What the header of the log says.
    Page,
    Hertz,
    /// The place in the row.
    Nth,
    /// The clock in MHz, or its share of the highest.
    Frequency(bool),
    /// `n` unless the flag is set.
    Measured(u32),
    GpuState(FieldLayout),
    /// Over the number of samples, if that is given.
    GpuBusy(FieldLayout, Option<FieldLayout>),
    Cache(FieldLayout),
    CacheShare(FieldLayout),
}

/// A kind of line for one version.
#[derive(Debug)]
pub(super) struct Line {
    pub(super) label: &'static str,
    pub(super) of: Of,
    /// The row and its length, for [`Of::Each`].
    row: Option<(FieldLayout, Option<FieldLayout>)>,
    words: Vec<Word>,
}

/// What a file and a record say for all lines.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Facts {
    pub(super) page: u32,
    pub(super) hertz: u16,
    pub(super) flags: u32,
}

/// The disks were measured for each task.
pub(super) const IO_STATISTICS: u32 = 0x4;
/// The network was measured for each task.
pub(super) const NETWORK: u32 = 0x10;

/// Reads the fields of a structure in memory.
#[derive(Debug, Clone, Copy)]
pub(super) struct Memory<'m> {
    pub(super) bytes: &'m [u8],
}

impl<'m> Memory<'m> {
    fn chunk<const N: usize>(self, at: usize) -> [u8; N] {
        let chunk = self.bytes.get(at..).and_then(|rest| rest.first_chunk::<N>());
        chunk.copied().unwrap_or([0; N])
    }

    /// A number; 0 for what is none, or is behind the end.
    pub(super) fn number(self, place: FieldLayout) -> i64 {
        match place.stored {
            Stored::Byte => i64::from(u8::from_le_bytes(self.chunk(place.at))),
            Stored::Signed(2) => i64::from(i16::from_le_bytes(self.chunk(place.at))),
            Stored::Signed(4) => i64::from(i32::from_le_bytes(self.chunk(place.at))),
            Stored::Signed(_) => i64::from_le_bytes(self.chunk(place.at)),
            Stored::Float | Stored::Text(_) | Stored::Structure(_) => 0,
        }
    }

    fn float(self, place: FieldLayout) -> f64 {
        f64::from(f32::from_le_bytes(self.chunk(place.at)))
    }

    /// A text up to its zero, without what would end a line.
    pub(super) fn text(self, place: FieldLayout) -> String {
        let Stored::Text(length) = place.stored else { return String::new() };
        let end = place.at.saturating_add(length).min(self.bytes.len());
        let bytes = self.bytes.get(place.at.min(end)..end).unwrap_or_default();
        visible(bytes)
    }

    /// One of a row.
    pub(super) fn nth(self, row: FieldLayout, nth: usize) -> Option<Memory<'m>> {
        let from = row.at.checked_add(row.step.checked_mul(nth)?)?;
        let to = from.checked_add(row.step)?;
        (nth < row.count).then_some(())?;
        self.bytes.get(from..to).map(|bytes| Memory { bytes })
    }
}

/// A text of C, in which nothing ends a line.
pub(super) fn visible(bytes: &[u8]) -> String {
    let text = bytes.split(|byte| *byte == 0).next().unwrap_or_default();
    let text = String::from_utf8_lossy(text);
    text.chars().map(|letter| if letter.is_control() { '?' } else { letter }).collect()
}

/// The kinds of lines of a version.
pub(super) fn lines_of(layout: &Layout) -> Vec<Line> {
    let made = LINES.iter().filter_map(|(label, of, words)| {
        let (structure, row) = match of {
            Of::System => ("system", None),
            Of::Task => ("task", None),
            Of::ControlGroup => ("control_group", None),
            Of::Each(row, count) => {
                let row = layout.find("system", row)?;
                let Stored::Structure(structure) = row.stored else { return None };
                let count = count.split(' ').find_map(|count| layout.find("system", count));
                (structure, Some((row, count)))
            }
        };
        let words = words.split_ascii_whitespace().map_while(|word| Word::of(layout, structure, word));
        Some(Line { label, of: *of, row, words: words.collect() })
    });
    made.collect()
}

impl Word {
    fn of(layout: &Layout, structure: &'static str, word: &'static str) -> Option<Word> {
        let find = |path: &str| layout.find(structure, path);
        if let Some(just) = word.strip_prefix('=') {
            return Some(Word::Just(just));
        }
        if let Some(special) = word.strip_prefix('$') {
            return Some(match special {
                "page" => Word::Page,
                "hertz" => Word::Hertz,
                "frequency" => Word::Frequency(false),
                "frequency%" => Word::Frequency(true),
                "node" => find("node").map_or(Word::Nth, |place| Word::Numbers(vec![place])),
                "cache" => Word::Cache(find("number")?),
                "share%" => Word::CacheShare(find("occupied")?),
                "iostat" => Word::Measured(IO_STATISTICS),
                "netatop" => Word::Measured(NETWORK),
                "gpu_state" => Word::GpuState(find("gpu_state")?),
                "gpu_busy" | "gpu_memory_busy" => {
                    let place = find(special)?;
                    let is_sum = place.stored == Stored::Signed(8);
                    Word::GpuBusy(place, find("gpu_samples").filter(|_| is_sum))
                }
                _ => Word::Nth,
            });
        }
        if let Some(word) = word.strip_prefix("yn:") {
            return Some(Word::Yes(find(word)?));
        }
        if let Some(word) = word.strip_prefix("%:") {
            return Some(Word::Decimals(find(word)?, 100.0, 0));
        }
        if let Some((decimals, word)) = word.strip_prefix('.').and_then(|word| word.split_once(':')) {
            return Some(Word::Decimals(find(word)?, 1.0, decimals.parse().ok()?));
        }
        if let Some((over, under)) = word.split_once('/') {
            return Some(Word::Quotient(find(over)?, find(under)?));
        }
        if let Some(word) = word.strip_suffix("|0") {
            // The first versions print -1.
            let is_natural = structure != "system" || layout.version >= 0x207;
            let place = find(word)?;
            return Some(if is_natural { Word::Natural(place) } else { Word::Numbers(vec![place]) });
        }
        if let Some(word) = word.strip_suffix('?') {
            return Some(find(word).map_or(Word::Just("-1"), |place| Word::Numbers(vec![place])));
        }
        let places: Option<Vec<FieldLayout>> = word.split('+').map(find).collect();
        let places = places?;
        match places.as_slice() {
            [place] if matches!(place.stored, Stored::Text(_)) => Some(Word::Text(*place)),
            _ => Some(Word::Numbers(places)),
        }
    }
}

/// The clock of a processor, or of all: its highest, its sum and the number of ticks.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Clock {
    pub(super) most: i64,
    pub(super) count: i64,
    pub(super) ticks: i64,
}

impl Clock {
    /// MHz, and the share of the highest in percent.
    fn frequency(self) -> (i64, i64) {
        let share = |mhz: i64| mhz.wrapping_mul(100).checked_div(self.most).unwrap_or(100);
        match (self.most, self.ticks) {
            (0, _) => (self.count, 100),
            (_, 0) => (self.count, share(self.count)),
            (_, ticks) => {
                let mhz = self.count.checked_div(ticks).unwrap_or(0);
                (mhz, share(mhz))
            }
        }
    }
}

impl Line {
    #[cfg(test)]
    pub(super) fn words(&self) -> &[Word] {
        &self.words
    }

    /// Where the elements of the row are in the memory of the machine.
    pub(super) fn elements<'m>(&self, system: Memory<'m>) -> impl Iterator<Item = Memory<'m>> {
        let (row, count) = self.row.unzip();
        let count = count.flatten().map(|count| usize::try_from(system.number(count)).unwrap_or(0));
        let row = row.into_iter().flat_map(move |row| {
            (0..row.count.min(count.unwrap_or(usize::MAX))).map_while(move |nth| system.nth(row, nth))
        });
        // Rows without a number end at the first one without a name, which is at their begin.
        row.take_while(move |element| count.is_some() || element.bytes.first().is_some_and(|byte| *byte != 0))
    }

    /// The line that begins so, with its words, each behind a blank.
    pub(super) fn after(
        &self,
        begin: String,
        memory: Memory<'_>,
        facts: Facts,
        nth: usize,
        clock: Clock,
    ) -> String {
        let mut out = begin;
        let (mhz, percent) = clock.frequency();
        for word in &self.words {
            // Writing into a text does not fail.
            let _ = match word {
                Word::Just(word) => write!(out, " {word}"),
                Word::Numbers(places) => {
                    let sum = places.iter().fold(0_i64, |sum, place| sum.wrapping_add(memory.number(*place)));
                    write!(out, " {sum}")
                }
                Word::Natural(place) => match memory.number(*place) {
                    -1 => write!(out, " 0"),
                    number => write!(out, " {number}"),
                },
                // A blank would begin the next word.
                Word::Text(place) => match memory.text(*place).replace(' ', "_").as_str() {
                    "" => write!(out, " _"),
                    text => write!(out, " {text}"),
                },
                Word::Decimals(place, factor, decimals) => {
                    write!(out, " {:.*}", decimals, memory.float(*place) * factor)
                }
                Word::Quotient(over, under) => {
                    let [over, under] = [over, under].map(|place| memory.number(*place));
                    #[allow(
                        clippy::cast_precision_loss,
                        reason = "a value that is printed with two decimals"
                    )]
                    let quotient = if under > 0 { over as f64 / under as f64 } else { 0.0 };
                    write!(out, " {quotient:.2}")
                }
                Word::Yes(place) => write!(out, " {}", if memory.number(*place) == 0 { 'n' } else { 'y' }),
                Word::Page => write!(out, " {}", facts.page),
                Word::Hertz => write!(out, " {}", facts.hertz),
                Word::Nth => write!(out, " {nth}"),
                Word::Frequency(false) => write!(out, " {mhz}"),
                Word::Frequency(true) => write!(out, " {percent}"),
                Word::Measured(flag) => write!(out, " {}", if facts.flags & flag == 0 { 'n' } else { 'y' }),
                Word::GpuState(place) => write!(out, " {}", letter(memory.number(*place)).unwrap_or('N')),
                Word::GpuBusy(place, samples) => {
                    let samples = samples.map_or(1, |samples| memory.number(samples).max(1));
                    write!(out, " {}", memory.number(*place).checked_div(samples).unwrap_or(0))
                }
                Word::Cache(place) => write!(out, " LLC{:03}", memory.number(*place)),
                Word::CacheShare(place) => write!(out, " {:.1}%", memory.float(*place) * 100.0),
            };
        }
        out
    }
}

/// A letter that is stored as a byte.
pub(super) fn letter(byte: i64) -> Option<char> {
    u8::try_from(byte).ok().filter(u8::is_ascii_alphabetic).map(char::from)
}
