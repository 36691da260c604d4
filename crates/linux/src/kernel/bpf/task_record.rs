//! The records that the task program writes, and the parts of a task that can be requested.
//!
//! A record is `WORDS` words of 8 bytes. Some words hold two numbers of 4 bytes. The second part is only
//! written for the first thread of a process, which stands for the process. Everything but the identity is
//! only written when it is requested.

use std::ops::BitOr;
use std::sync::atomic::{AtomicU64, Ordering};

/// The requested parts of a task, one bit each.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TaskParts(pub u8);

impl TaskParts {
    /// CPU times as the scheduler accounts them.
    pub const CPU: TaskParts = TaskParts(1);
    /// What `/proc/PID/stat` has: ticks, faults, threads, parent, priorities, state.
    pub const STAT: TaskParts = TaskParts(2);
    /// What `/proc/PID/statm` has.
    pub const MEMORY: TaskParts = TaskParts(4);
    /// Peaks, swap and page tables, as `/proc/PID/status` has them.
    pub const STATUS: TaskParts = TaskParts(8);
    /// What `/proc/PID/io` has.
    pub const IO: TaskParts = TaskParts(16);
    /// Context switches.
    pub const SWITCHES: TaskParts = TaskParts(32);
    /// Open files.
    pub const HANDLES: TaskParts = TaskParts(64);

    /// Whether any of the parts `of` is requested.
    pub const fn any(self, of: TaskParts) -> bool {
        self.0 & of.0 != 0
    }
}

impl BitOr for TaskParts {
    type Output = TaskParts;

    fn bitor(self, other: TaskParts) -> TaskParts {
        TaskParts(self.0 | other.0)
    }
}

/// The position of a value in a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Slot {
    /// All of a word.
    Whole(u32),
    /// Its lower 4 bytes.
    Low(u32),
    /// Its upper 4 bytes.
    High(u32),
}

impl Slot {
    /// Bytes from the beginning of the record.
    pub(super) const fn offset(self) -> u32 {
        match self {
            Slot::Whole(word) | Slot::Low(word) => word.saturating_mul(8),
            Slot::High(word) => word.saturating_mul(8).saturating_add(4),
        }
    }
}

macro_rules! slots {
    ($($(#[$doc:meta])* $name:ident = $kind:ident $word:literal;)*) => {
        $($(#[$doc])* pub(super) const $name: Slot = Slot::$kind($word);)*
    };
}

slots! {
    PID = Low 0;
    TGID = High 0;
    /// The id in our own pid namespace.
    OWN = Low 1;
    FLAGS = High 1;
    START = Whole 2;
    COMM = Whole 3;
    COMM_REST = Whole 4;
    ON_CPU = Low 5;
    PROCESSOR = High 5;
    /// 0 when the record did not change: the same task, with the same values.
    CHANGED = Whole 6;
    RUN_TIME = Whole 7;
    USER = Whole 8;
    SYSTEM = Whole 9;
    MINOR = Whole 10;
    MAJOR = Whole 11;
    PRIORITY = Low 12;
    STATIC_PRIORITY = High 12;
    REALTIME = Low 13;
    POLICY = High 13;
    STATE = Low 14;
    EXIT_STATE = High 14;
    VOLUNTARY = Whole 15;
    INVOLUNTARY = Whole 16;
    READ_BYTES = Whole 17;
    WRITTEN_BYTES = Whole 18;
    READS = Whole 19;
    WRITES = Whole 20;
    ENDED_RUN_TIME = Whole 21;
    ENDED_USER = Whole 22;
    ENDED_SYSTEM = Whole 23;
    ENDED_MINOR = Whole 24;
    ENDED_MAJOR = Whole 25;
    THREADS = Low 26;
    PARENT = High 26;
    ENDED_READ_BYTES = Whole 27;
    ENDED_WRITTEN_BYTES = Whole 28;
    ENDED_READS = Whole 29;
    ENDED_WRITES = Whole 30;
    TOTAL_PAGES = Whole 31;
    PEAK_TOTAL_PAGES = Whole 32;
    PEAK_RESIDENT_PAGES = Whole 33;
    FILE_PAGES = Whole 34;
    ANON_PAGES = Whole 35;
    SWAP_PAGES = Whole 36;
    SHARED_PAGES = Whole 37;
    PAGE_TABLES = Whole 38;
    /// 1 when the process has memory of its own.
    HAS_MEMORY = Low 39;
    /// The size of [`OPEN_FILES`] in bytes; all bits set when there are too many.
    OPEN_FILES_SIZE = High 39;
    /// One bit per open file.
    OPEN_FILES = Whole 40;
}

/// How many bytes of open files a record holds: one bit for each of 1024.
pub(super) const OPEN_FILES_LIMIT: u32 = 128;
/// Words of a record.
pub(super) const WORDS: usize = 56;
/// Bytes of a record: seven cache lines.
pub(super) const SIZE: u32 = 448;

/// The record of one task.
#[derive(Debug, Clone, Copy)]
pub struct Record<'a> {
    words: &'a [AtomicU64],
    /// Whether the last record at this position was written for the same request.
    is_same_request: bool,
}

macro_rules! numbers {
    ($($(#[$doc:meta])* $name:ident: $slot:ident;)*) => {
        $($(#[$doc])* #[inline] pub fn $name(self) -> u64 { self.number($slot) })*
    };
}

impl<'a> Record<'a> {
    pub(super) fn new(words: &'a [AtomicU64], is_same_request: bool) -> Record<'a> {
        Record { words, is_same_request }
    }

    /// Whether this position held the same task in the last pass, with the same requested values. Says
    /// nothing about other threads of the process, nor about CPU time since the last tick of a running one.
    #[inline]
    pub fn is_unchanged(self) -> bool {
        self.is_same_request && self.number(CHANGED) == 0
    }

    /// Makes the next pass report this position as changed, because nobody has used the record.
    pub(super) fn forget(self) {
        if let Some(word) = self.words.first() {
            // No task has this id.
            word.store(0, Ordering::Relaxed);
        }
    }

    /// The id of this task in the initial pid namespace.
    #[inline]
    pub fn global_pid(self) -> u32 {
        self.half(PID)
    }

    /// The id of its process in the initial pid namespace.
    #[inline]
    pub fn global_process(self) -> u32 {
        self.half(TGID)
    }

    /// Whether it is the first thread of its process, which stands for the process.
    #[inline]
    pub fn is_process(self) -> bool {
        self.half(PID) == self.half(TGID)
    }

    /// Its id as `/proc` shows it to this process.
    #[inline]
    pub fn id(self) -> u32 {
        self.half(OWN)
    }

    /// The kernel's flags (`PF_KTHREAD` and others).
    #[inline]
    pub fn flags(self) -> u32 {
        self.half(FLAGS)
    }

    /// Its name, up to 15 bytes.
    #[inline]
    pub fn comm(self) -> [u8; 16] {
        let mut comm = [0; 16];
        let (first, rest) = comm.split_at_mut(8);
        first.copy_from_slice(&self.number(COMM).to_le_bytes());
        rest.copy_from_slice(&self.number(COMM_REST).to_le_bytes());
        comm
    }

    /// Whether it is running on a CPU now.
    #[inline]
    pub fn is_running(self) -> bool {
        self.half(ON_CPU) != 0
    }

    /// The CPU on which it ran last.
    #[inline]
    pub fn processor(self) -> u32 {
        self.half(PROCESSOR)
    }

    /// The kernel's priority: 0 to 99 real time, 100 to 139 ordinary, -1 deadline.
    #[inline]
    pub fn priority(self) -> i32 {
        self.half(PRIORITY).cast_signed()
    }

    /// 120 + nice.
    #[inline]
    pub fn static_priority(self) -> i32 {
        self.half(STATIC_PRIORITY).cast_signed()
    }

    /// 1 to 99 for a real-time task, else 0.
    #[inline]
    pub fn realtime_priority(self) -> u32 {
        self.half(REALTIME)
    }

    /// As in [`PidStat::policy`](crate::kernel::proc::pid_stat::PidStat::policy).
    #[inline]
    pub fn policy(self) -> u32 {
        self.half(POLICY)
    }

    /// The letter that `/proc/PID/stat` shows for its state.
    #[inline]
    pub fn state(self) -> u8 {
        letter(self.half(STATE), self.half(EXIT_STATE))
    }

    /// How many threads the process has.
    #[inline]
    pub fn threads(self) -> u32 {
        self.half(THREADS)
    }

    /// The id of the parent process, 0 when it has none in this namespace.
    #[inline]
    pub fn parent(self) -> u32 {
        self.half(PARENT)
    }

    /// Whether the process has memory of its own; kernel threads and zombies have none.
    #[inline]
    pub fn has_memory(self) -> bool {
        self.half(HAS_MEMORY) != 0
    }

    /// How many files are open; `None` when there are too many for a record.
    pub fn open_files(self) -> Option<u64> {
        let size = self.half(OPEN_FILES_SIZE);
        if size > OPEN_FILES_LIMIT {
            return None;
        }
        let first = usize::try_from(OPEN_FILES.offset() / 8).ok()?;
        let words = usize::try_from(size / 8).ok()?;
        let words = self.words.get(first..first.checked_add(words)?)?;
        Some(words.iter().map(|word| u64::from(word.load(Ordering::Relaxed).count_ones())).sum())
    }

    numbers! {
        /// When it started, in nanoseconds of the boot time clock.
        start: START;
        /// CPU time as the scheduler accounts it, in nanoseconds; up to a tick late while it runs.
        run_time: RUN_TIME;
        /// User time counted at ticks, in nanoseconds, before scaling.
        user: USER;
        /// Kernel time counted at ticks, in nanoseconds, before scaling.
        system: SYSTEM;
        /// Page faults without I/O.
        minor_faults: MINOR;
        /// Page faults with I/O.
        major_faults: MAJOR;
        /// Context switches because it waited.
        voluntary_switches: VOLUNTARY;
        /// Context switches because others had to run.
        involuntary_switches: INVOLUNTARY;
        /// Bytes read by system calls.
        read_bytes: READ_BYTES;
        /// Bytes written by system calls.
        written_bytes: WRITTEN_BYTES;
        /// System calls that read.
        reads: READS;
        /// System calls that write.
        writes: WRITES;
        /// As [`Record::run_time`], for exited threads.
        ended_run_time: ENDED_RUN_TIME;
        /// As [`Record::user`], for exited threads.
        ended_user: ENDED_USER;
        /// As [`Record::system`], for exited threads.
        ended_system: ENDED_SYSTEM;
        /// As [`Record::minor_faults`], for exited threads.
        ended_minor_faults: ENDED_MINOR;
        /// As [`Record::major_faults`], for exited threads.
        ended_major_faults: ENDED_MAJOR;
        /// As [`Record::read_bytes`], for exited threads.
        ended_read_bytes: ENDED_READ_BYTES;
        /// As [`Record::written_bytes`], for exited threads.
        ended_written_bytes: ENDED_WRITTEN_BYTES;
        /// As [`Record::reads`], for exited threads.
        ended_reads: ENDED_READS;
        /// As [`Record::writes`], for exited threads.
        ended_writes: ENDED_WRITES;
        /// Pages of address space.
        total_pages: TOTAL_PAGES;
        /// Its peak, as far as the kernel noticed.
        peak_total_pages: PEAK_TOTAL_PAGES;
        /// The peak of pages in memory, as far as the kernel noticed.
        peak_resident_pages: PEAK_RESIDENT_PAGES;
        /// Bytes of page tables.
        page_tables: PAGE_TABLES;
    }

    /// File pages in memory.
    #[inline]
    pub fn file_pages(self) -> u64 {
        self.pages(FILE_PAGES)
    }

    /// Anonymous pages in memory.
    #[inline]
    pub fn anonymous_pages(self) -> u64 {
        self.pages(ANON_PAGES)
    }

    /// Pages in swap.
    #[inline]
    pub fn swap_pages(self) -> u64 {
        self.pages(SWAP_PAGES)
    }

    /// Pages of shared memory.
    #[inline]
    pub fn shared_pages(self) -> u64 {
        self.pages(SHARED_PAGES)
    }

    /// A sum over CPUs that may be below 0 for a moment; the kernel shows that as 0.
    #[inline]
    fn pages(self, slot: Slot) -> u64 {
        u64::try_from(self.number(slot).cast_signed()).unwrap_or(0)
    }

    #[inline]
    fn number(self, slot: Slot) -> u64 {
        let word = usize::try_from(slot.offset() / 8).ok().and_then(|word| self.words.get(word));
        word.map_or(0, |word| word.load(Ordering::Relaxed))
    }

    #[inline]
    fn half(self, slot: Slot) -> u32 {
        let word = self.number(slot);
        let half = if matches!(slot, Slot::High(_)) { word >> 32 } else { word & 0xffff_ffff };
        u32::try_from(half).unwrap_or(0)
    }
}

/// The letter of a state, as `/proc/PID/stat` shows it since Linux 4.14.
fn letter(state: u32, exit_state: u32) -> u8 {
    const IDLE: u32 = 0x402;
    const WAITS_FOR_LOCK: u32 = 0x1000;
    const FROZEN: u32 = 0x8000;
    if state & IDLE == IDLE {
        return b'I';
    }
    if state & (WAITS_FOR_LOCK | FROZEN) != 0 {
        return b'D';
    }
    let shown = (state | exit_state) & 0x7f;
    let highest = u32::BITS.saturating_sub(shown.leading_zeros());
    let letter = usize::try_from(highest).ok().and_then(|highest| b"RSDTtXZP".get(highest));
    letter.copied().unwrap_or(b'?')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn open_files_fill_the_rest_of_a_record() {
        assert_eq!(OPEN_FILES.offset() + OPEN_FILES_LIMIT, SIZE);
        assert_eq!(u32::try_from(WORDS * 8).unwrap(), SIZE);
    }

    #[test]
    fn letters() {
        for (state, exit_state, expected) in [
            (0, 0, b'R'),
            (1, 0, b'S'),
            (2, 0, b'D'),
            (4, 0, b'T'),
            (8, 0, b't'),
            (0x80, 0x10, b'X'),
            (0x80, 0x20, b'Z'),
            (0x40, 0, b'P'),
            (0x402, 0, b'I'),
            (0x2001, 0, b'S'),
            (0x8000, 0, b'D'),
        ] {
            assert_eq!(
                char::from(letter(state, exit_state)),
                char::from(expected),
                "{state:#x} {exit_state:#x}"
            );
        }
    }

    #[test]
    fn halves_and_bits() {
        let words: Vec<AtomicU64> = (0..WORDS).map(|_| AtomicU64::new(0)).collect();
        words[0].store(7 << 32 | 9, Ordering::Relaxed);
        words[12].store(120 << 32 | u64::from(u32::MAX), Ordering::Relaxed);
        words[34].store((-5_i64).cast_unsigned(), Ordering::Relaxed);
        words[39].store(16 << 32 | 1, Ordering::Relaxed);
        words[40].store(0b1011, Ordering::Relaxed);
        words[41].store(1 << 63, Ordering::Relaxed);
        words[42].store(u64::MAX, Ordering::Relaxed);
        let record = Record::new(&words, true);
        assert_eq!((record.global_pid(), record.global_process(), record.is_process()), (9, 7, false));
        assert_eq!((record.priority(), record.static_priority()), (-1, 120));
        assert_eq!((record.file_pages(), record.has_memory(), record.open_files()), (0, true, Some(4)));
        words[39].store(u64::MAX, Ordering::Relaxed);
        assert_eq!(record.open_files(), None);
        assert!(record.is_unchanged() && !Record::new(&words, false).is_unchanged());
        words[6].store(1, Ordering::Relaxed);
        assert!(!record.is_unchanged());
        record.forget();
        assert_eq!(record.global_pid(), 0);
    }
}
