//! Which fields of which kernel structures are read, and where the running kernel has them.
//!
//! A field that was renamed has several paths; the first existing one counts.

use std::fmt;

use super::assembler::Width;
use super::btf::{Btf, BtfError, Field, Named, TypeId};
use super::task_record::{self, Slot, TaskParts};

/// The structure that a field is read from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Structure {
    /// `task_struct`.
    Task,
    /// `task_struct` too: usage, which does not change while the task does not run.
    Usage,
    /// `signal_struct`, which all threads of a process share.
    Signal,
    /// `mm_struct`, the memory of a process.
    Memory,
}

/// A field, and its position in the record.
#[derive(Debug, Clone, Copy)]
struct Wanted {
    base: Structure,
    /// Read if one of these parts is requested; always if there are none.
    parts: TaskParts,
    slot: Slot,
    paths: &'static [&'static str],
}

macro_rules! wanted {
    ($($base:ident, $($parts:ident)|*, $slot:ident, $($path:literal)|+;)*) => {
        &[$(Wanted {
            base: Structure::$base,
            parts: TaskParts(0 $(| TaskParts::$parts.0)*),
            slot: task_record::$slot,
            paths: &[$($path),+],
        }),*]
    };
}

const WANTED: &[Wanted] = wanted! {
    Task, , PID, "pid";
    Task, , TGID, "tgid";
    Task, , FLAGS, "flags";
    Task, , START, "start_boottime";
    Task, , ON_CPU, "on_cpu";
    // This field moved in Linux 5.16.
    Task, , PROCESSOR, "thread_info.cpu" | "cpu";
    // Shows whether the task has run.
    Task, , RUN_TIME, "se.sum_exec_runtime";
    Task, STAT, PRIORITY, "prio";
    Task, STAT, STATIC_PRIORITY, "static_prio";
    Task, STAT, REALTIME, "rt_priority";
    Task, STAT, POLICY, "policy";
    Task, STAT, STATE, "__state" | "state";
    Task, STAT, EXIT_STATE, "exit_state";
    Usage, STAT, USER, "utime";
    Usage, STAT, SYSTEM, "stime";
    Usage, STAT, MINOR, "min_flt";
    Usage, STAT, MAJOR, "maj_flt";
    Usage, SWITCHES, VOLUNTARY, "nvcsw";
    Usage, SWITCHES, INVOLUNTARY, "nivcsw";
    Usage, IO, READ_BYTES, "ioac.rchar";
    Usage, IO, WRITTEN_BYTES, "ioac.wchar";
    Usage, IO, READS, "ioac.syscr";
    Usage, IO, WRITES, "ioac.syscw";
    // Read before the sums: the kernel adds an exiting thread to them before it decrements this.
    Signal, , THREADS, "nr_threads";
    Signal, CPU | STAT, ENDED_RUN_TIME, "sum_sched_runtime";
    Signal, STAT, ENDED_USER, "utime";
    Signal, STAT, ENDED_SYSTEM, "stime";
    Signal, STAT, ENDED_MINOR, "min_flt";
    Signal, STAT, ENDED_MAJOR, "maj_flt";
    Signal, IO, ENDED_READ_BYTES, "ioac.rchar";
    Signal, IO, ENDED_WRITTEN_BYTES, "ioac.wchar";
    Signal, IO, ENDED_READS, "ioac.syscr";
    Signal, IO, ENDED_WRITES, "ioac.syscw";
    Memory, MEMORY | STATUS, TOTAL_PAGES, "total_vm";
    Memory, STATUS, PEAK_TOTAL_PAGES, "hiwater_vm";
    Memory, STATUS, PEAK_RESIDENT_PAGES, "hiwater_rss";
    // One counter per kind since Linux 6.2, partly per CPU; an array in a structure before that.
    Memory, MEMORY | STATUS, FILE_PAGES, "rss_stat[0].count" | "rss_stat.count[0].counter";
    Memory, MEMORY | STATUS, ANON_PAGES, "rss_stat[1].count" | "rss_stat.count[1].counter";
    Memory, MEMORY | STATUS, SWAP_PAGES, "rss_stat[2].count" | "rss_stat.count[2].counter";
    Memory, MEMORY | STATUS, SHARED_PAGES, "rss_stat[3].count" | "rss_stat.count[3].counter";
    Memory, STATUS, PAGE_TABLES, "pgtables_bytes.counter";
};

/// A field in the running kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct TaskField {
    pub(super) base: Structure,
    pub(super) parts: TaskParts,
    pub(super) slot: Slot,
    pub(super) offset: u32,
    pub(super) width: Width,
}

/// Kernel functions that iterate over tasks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Walk {
    pub(super) new: TypeId,
    pub(super) next: TypeId,
    pub(super) destroy: TypeId,
    pub(super) lock: TypeId,
    pub(super) unlock: TypeId,
}

/// Offsets of pointers and other fields that the program follows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Offsets {
    pub(super) pid: u32,
    pub(super) tgid: u32,
    pub(super) comm: u32,
    pub(super) signal: u32,
    pub(super) mm: u32,
    pub(super) files: u32,
    pub(super) real_parent: u32,
    pub(super) group_leader: u32,
    pub(super) thread_pid: u32,
    /// In `pid`.
    pub(super) level: u32,
    pub(super) numbers: u32,
    /// In `upid`.
    pub(super) number: u32,
    pub(super) namespace: u32,
    pub(super) number_size: u32,
    /// In `pid_namespace`.
    pub(super) inode: u32,
    /// In `files_struct` and `fdtable`.
    pub(super) table: u32,
    pub(super) table_size: u32,
    pub(super) open: u32,
    pub(super) users_of_files: u32,
    /// In the context of a task iterator.
    pub(super) sequence: u32,
}

/// Where the per-CPU page counts of a process are, since Linux 6.2.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct PageShares {
    /// The offset of the per-CPU pointer for the first kind of pages.
    pub(super) first: u32,
    /// The same for the second kind. Since Linux 6.6 the kinds are adjacent.
    pub(super) second: u32,
    /// The offset in a per-CPU map of the pointer to its values.
    pub(super) of_map: u32,
}

/// Casts any address to a structure, since Linux 6.2. Reading it needs no call, and an invalid address reads
/// as zeros.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Cast {
    pub(super) function: TypeId,
    /// A structure of two 8-byte numbers.
    pub(super) two_numbers: TypeId,
}

/// Everything that the task program needs to know about the running kernel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct TaskLayout {
    pub(super) fields: Vec<TaskField>,
    /// Parts that this kernel does not have.
    pub(super) missing: TaskParts,
    pub(super) offsets: Offsets,
    /// `None` before Linux 6.2.
    pub(super) shares: Option<PageShares>,
    /// `None` before Linux 6.2.
    pub(super) cast: Option<Cast>,
    /// `None` before Linux 6.7.
    pub(super) walk: Option<Walk>,
    /// The function that task iterator programs attach to.
    pub(super) each_task: Option<TypeId>,
    /// The tracepoint at which the kernel releases a task, after adding up what it used.
    pub(super) end: Option<TypeId>,
}

/// What the running kernel lacks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum LayoutError {
    /// A structure.
    Structure(&'static str),
    /// A field of a structure.
    Field(&'static str, BtfError),
}

impl fmt::Display for LayoutError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LayoutError::Structure(name) => write!(f, "this kernel describes no structure {name}"),
            LayoutError::Field(structure, error) => write!(f, "structure {structure}: {error}"),
        }
    }
}

impl TaskLayout {
    /// Looks everything up.
    ///
    /// # Errors
    ///
    /// Something is missing without which no process can be identified.
    pub(super) fn new(btf: &Btf<'_>) -> Result<TaskLayout, LayoutError> {
        use Named::{Alias, Function, Struct};
        let [task, signal, memory, pid, number, namespace, files, table, meta, new, next, destroy] = btf
            .find([
                (Struct, TASK),
                (Struct, SIGNAL),
                (Struct, MEMORY),
                (Struct, "pid"),
                (Struct, "upid"),
                (Struct, "pid_namespace"),
                (Struct, "files_struct"),
                (Struct, "fdtable"),
                (Struct, "bpf_iter_meta"),
                (Function, "bpf_iter_task_new"),
                (Function, "bpf_iter_task_next"),
                (Function, "bpf_iter_task_destroy"),
            ]);
        let [lock, unlock, each_task, map, end, cast, two_numbers] = btf.find([
            (Function, "bpf_rcu_read_lock"),
            (Function, "bpf_rcu_read_unlock"),
            (Function, "bpf_iter_task"),
            (Struct, "bpf_array"),
            (Alias, "btf_trace_sched_process_free"),
            (Function, "bpf_rdonly_cast"),
            (Struct, "timespec64"),
        ]);
        let walk =
            (|| Some(Walk { new: new?, next: next?, destroy: destroy?, lock: lock?, unlock: unlock? }))();
        let cast = cast.zip(two_numbers).map(|(function, two_numbers)| Cast { function, two_numbers });
        let structure = |found: Option<TypeId>, name| found.ok_or(LayoutError::Structure(name));
        let task = structure(task, TASK)?;
        let signal = structure(signal, SIGNAL)?;
        let memory = structure(memory, MEMORY)?;
        let field = |found: Option<TypeId>, name: &'static str, path: &str| {
            let found = structure(found, name)?;
            btf.field(found, path).map_err(|error| LayoutError::Field(name, error))
        };
        let at = |found, name, path: &str| field(found, name, path).map(|field| field.offset);
        let of_task = |path: &str| at(Some(task), TASK, path);
        let offsets = Offsets {
            pid: of_task("pid")?,
            tgid: of_task("tgid")?,
            comm: of_task("comm")?,
            signal: of_task("signal")?,
            mm: of_task("mm")?,
            files: of_task("files")?,
            real_parent: of_task("real_parent")?,
            group_leader: of_task("group_leader")?,
            thread_pid: of_task("thread_pid")?,
            level: at(pid, "pid", "level")?,
            numbers: at(pid, "pid", "numbers")?,
            number: at(number, "upid", "nr")?,
            namespace: at(number, "upid", "ns")?,
            number_size: field(pid, "pid", "numbers[0]")?.size,
            inode: at(namespace, "pid_namespace", "ns.inum")?,
            table: at(files, "files_struct", "fdt")?,
            table_size: at(table, "fdtable", "max_fds")?,
            open: at(table, "fdtable", "open_fds")?,
            users_of_files: at(files, "files_struct", "count.counter")?,
            sequence: at(meta, "bpf_iter_meta", "seq")?,
        };
        let shares = (|| {
            Some(PageShares {
                first: at(Some(memory), MEMORY, "rss_stat[0].counters").ok()?,
                second: at(Some(memory), MEMORY, "rss_stat[1].counters").ok()?,
                of_map: at(map, "bpf_array", "pptrs").ok()?,
            })
        })();
        let (fields, missing) = find_fields(btf, task, signal, memory)?;
        Ok(TaskLayout { fields, missing, offsets, shares, cast, walk, each_task, end })
    }
}

const TASK: &str = "task_struct";
const SIGNAL: &str = "signal_struct";
const MEMORY: &str = "mm_struct";

/// Finds all fields, and returns the parts of a task that this kernel lacks.
fn find_fields(
    btf: &Btf<'_>,
    task: TypeId,
    signal: TypeId,
    memory: TypeId,
) -> Result<(Vec<TaskField>, TaskParts), LayoutError> {
    let mut fields = Vec::new();
    let mut missing = TaskParts::default();
    for wanted in WANTED {
        let (name, of) = match wanted.base {
            Structure::Task | Structure::Usage => (TASK, task),
            Structure::Signal => (SIGNAL, signal),
            Structure::Memory => (MEMORY, memory),
        };
        match find(btf, of, wanted) {
            Ok((field, width)) => fields.push(TaskField {
                base: wanted.base,
                parts: wanted.parts,
                slot: wanted.slot,
                offset: field.offset,
                width,
            }),
            // A kernel may be built without I/O accounting; everything else always exists.
            Err(BtfError::NoField { .. }) if wanted.parts == TaskParts::IO => {
                missing = missing | TaskParts::IO
            }
            Err(error) => return Err(LayoutError::Field(name, error)),
        }
    }
    Ok((fields, missing))
}

fn find(btf: &Btf<'_>, of: TypeId, wanted: &Wanted) -> Result<(Field, Width), BtfError> {
    let mut result = Err(BtfError::TooDeep);
    for path in wanted.paths {
        result = btf.field(of, path).and_then(|field| {
            let width =
                Width::of(field.size).ok_or_else(|| BtfError::BitField { path: (*path).to_string() })?;
            Ok((field, width))
        });
        if !matches!(result, Err(BtfError::NoField { .. })) {
            break;
        }
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_fields_share_a_slot() {
        let mut places: Vec<u32> = WANTED.iter().map(|wanted| wanted.slot.offset()).collect();
        let count = places.len();
        places.sort_unstable();
        places.dedup();
        assert_eq!(places.len(), count);
    }

    #[test]
    fn the_running_kernel_has_what_is_needed() {
        let Ok(bytes) = std::fs::read("/sys/kernel/btf/vmlinux") else {
            tallymon_testkit::skip("this kernel describes no types");
            return;
        };
        let kernel = TaskLayout::new(&Btf::parse(&bytes).unwrap()).unwrap();
        assert!(kernel.each_task.is_some());
        let io = WANTED.iter().filter(|wanted| wanted.parts == TaskParts::IO).count();
        let present = kernel.fields.len() + if kernel.missing == TaskParts::IO { io } else { 0 };
        assert_eq!(present, WANTED.len());
    }

    #[test]
    fn types_without_task_struct_are_refused() {
        let mut bytes = vec![0x9f, 0xeb, 1, 0];
        for word in [24_u32, 0, 0, 0, 1] {
            bytes.extend_from_slice(&word.to_le_bytes());
        }
        bytes.push(0);
        let btf = Btf::parse(&bytes).unwrap();
        assert_eq!(TaskLayout::new(&btf), Err(LayoutError::Structure("task_struct")));
    }
}
