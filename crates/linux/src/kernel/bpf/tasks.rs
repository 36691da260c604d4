//! Reads all tasks with a BPF program.

use std::collections::HashSet;
use std::fs::{self, File};
use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::sync::atomic::{AtomicU64, Ordering};

use super::control::{self, Maps, Namespace};
use super::exits::{ExitQueue, ExitRecord};
use super::refusal::{Refusal, assembler_refusal, load_refusal, syscall_refusal};
use super::sys::{Array, Link, MapMemory, Program, ProgramKind};
use super::task_fields::PerCpuPages;
use super::task_layout::{TaskLayout, Walk};
use super::task_program;
use super::task_record::{self, Record, TaskParts};
use super::types::with_kernel_types;

/// How the program visits all tasks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WalkMode {
    /// A loop in the program, which writes into shared memory; since Linux 6.7.
    Walk,
    /// The kernel runs the program for each task, and its output is read as a file; since Linux 5.8.
    EachTask,
}

/// The loaded program and the memory it shares with this process.
#[derive(Debug)]
pub struct Tasks {
    kernel: TaskLayout,
    namespace: Option<Namespace>,
    per_cpu_pages: Option<PerCpuPages>,
    ends: Result<ExitQueue, Refusal>,
    control_map: Array,
    control: MapMemory,
    reader: Reader,
    /// Complete processes of the current read, by their global ids.
    delivered: Vec<u32>,
    /// The parts that the last read requested; `None` when it failed.
    parts: Option<TaskParts>,
}

#[derive(Debug)]
enum Reader {
    Walk {
        walk: Walk,
        program: Program,
        records: MapMemory,
        /// Must live as long as the loaded program, which refers to it by number.
        _map: Array,
        capacity: u32,
    },
    EachTask {
        link: Link,
        /// The program writes a record here before it outputs it.
        _map: Array,
        bytes: Vec<u8>,
        words: Vec<AtomicU64>,
        order: Vec<(u32, bool, u32, usize)>,
    },
}

/// Records of the first run: 900 KB, enough for most machines, and small enough for a CPU's cache.
const CAPACITY: u32 = 2048;
/// Records of one run at most, 7 MB, unless a single process has more threads.
const ENOUGH: u32 = 1 << 14;
/// No process may have more threads than this; it would take 230 MB.
const LARGEST: u32 = 1 << 19;
/// A read takes no more runs; that would be 20 million tasks.
const RUNS: usize = 10_000;

impl Tasks {
    /// Loads the program.
    ///
    /// # Errors
    ///
    /// The kernel is too old, has no type description, or does not allow it.
    pub fn open(way: WalkMode) -> Result<Tasks, Refusal> {
        Tasks::open_with(way, CAPACITY)
    }

    /// As [`Tasks::open`], with room for `capacity` tasks in one run.
    pub(crate) fn open_with(way: WalkMode, capacity: u32) -> Result<Tasks, Refusal> {
        clear_of_other_namespaces()?;
        let kernel = with_kernel_types(TaskLayout::new)?;
        let control_map = Array::new(control::SIZE, 1).map_err(|error| syscall_refusal(&error))?;
        let control =
            control_map.map(control::WORDS.saturating_mul(8)).map_err(|error| syscall_refusal(&error))?;
        let namespace = own_namespace(&kernel, &control_map, &control)?;
        let per_cpu_pages = per_cpu_pages(&kernel, &control_map, &control);
        let reader = match way {
            WalkMode::Walk => {
                let Some(walk) = kernel.walk else {
                    return Err(Refusal {
                        reason: "this kernel has no BPF functions that iterate over tasks".to_string(),
                        remedy: "use Linux 6.7 or newer".to_string(),
                    });
                };
                Reader::walk(&kernel, walk, namespace, per_cpu_pages.as_ref(), &control_map, capacity)?
            }
            WalkMode::EachTask => {
                Reader::each_task(&kernel, namespace, per_cpu_pages.as_ref(), &control_map)?
            }
        };
        let ends = match namespace {
            None => ExitQueue::open(&kernel),
            // An exited process has lost its ids in all pid namespaces but the initial one.
            Some(_) => Err(Refusal::of_kernel("this program is in a pid namespace of its own".to_string())),
        };
        let (delivered, parts) = (Vec::new(), None);
        Ok(Tasks { kernel, namespace, per_cpu_pages, ends, control_map, control, reader, delivered, parts })
    }

    /// Parts that the running kernel does not have.
    pub fn missing(&self) -> TaskParts {
        self.kernel.missing
    }

    /// Whether memory sizes include the page counts that Linux keeps per CPU.
    #[cfg(test)]
    pub(super) fn is_exact(&self) -> bool {
        self.per_cpu_pages.is_some()
    }

    /// Takes the processes that exited since the last call, in the order in which the kernel released them,
    /// up to 5,000. That may be some milliseconds after the exit. A process returned here is in no later
    /// [`Tasks::read`].
    pub fn take_exits(&self, each: impl FnMut(ExitRecord)) {
        if let Ok(ends) = &self.ends {
            ends.take(each);
        }
    }

    /// Why [`Tasks::take_exits`] returns nothing; `None` when it works.
    pub fn exits_refusal(&self) -> Option<&Refusal> {
        self.ends.as_ref().err()
    }

    /// Reads the requested parts of all tasks of our pid namespace: for each process its first thread, then
    /// the others.
    ///
    /// Tasks that start or exit during the read may be missing.
    ///
    /// # Errors
    ///
    /// The program could not run. Some records may have been passed on already.
    pub fn read(&mut self, parts: TaskParts, mut each: impl FnMut(Record<'_>)) -> Result<(), Refusal> {
        self.delivered.clear();
        self.set(control::PARTS, u64::from(parts.0));
        let is_same_request = self.parts.take() == Some(parts);
        match &self.reader {
            Reader::Walk { .. } => {
                self.set(control::SAME, u64::from(is_same_request));
                self.walk(is_same_request, &mut each)
            }
            Reader::EachTask { .. } => self.each_task(&mut each),
        }?;
        self.parts = Some(parts);
        Ok(())
    }

    fn walk(&mut self, is_same_request: bool, each: &mut impl FnMut(Record<'_>)) -> Result<(), Refusal> {
        let mut begin = 0;
        // Processes that were passed on before a run that had to begin earlier than planned.
        let mut known = HashSet::new();
        for _ in 0..RUNS {
            self.set(control::BEGIN, u64::from(begin));
            for word in [control::COUNT, control::UNFINISHED] {
                self.set(word, 0);
            }
            let Reader::Walk { walk, program, records, capacity, .. } = &self.reader else { break };
            program.run().map_err(|error| syscall_refusal(&error))?;
            if self.control_word(control::BEGIN) != 0 {
                // That process has exited since: go on after the last one that still exists.
                known.extend(self.delivered.iter().copied());
                begin = self.delivered.pop().unwrap_or(0);
                continue;
            }
            let count = usize::try_from(self.control_word(control::COUNT)).unwrap_or(usize::MAX);
            let rest = u32::try_from(self.control_word(control::UNFINISHED)).unwrap_or(0);
            let mut is_any = false;
            let words = records.words().chunks_exact(task_record::WORDS).take(count);
            for record in words.map(|words| Record::new(words, is_same_request)) {
                let process = record.global_process();
                if rest != 0 && process == rest {
                    // Some of its threads did not fit; the next run begins with this process.
                    record.forget();
                    continue;
                }
                is_any = true;
                if known.contains(&process) {
                    record.forget();
                    continue;
                }
                if record.is_process() {
                    self.delivered.push(process);
                }
                each(record);
            }
            if rest == 0 {
                return Ok(());
            }
            // Each run skips the tasks of the runs before it, so there should be few runs.
            if !is_any || *capacity < ENOUGH {
                let larger = capacity.saturating_mul(2);
                if larger > LARGEST {
                    return Err(Refusal::of_kernel(format!(
                        "process {rest} has more than {capacity} threads"
                    )));
                }
                let (per_cpu_pages, control) = (self.per_cpu_pages.as_ref(), &self.control_map);
                self.reader =
                    Reader::walk(&self.kernel, *walk, self.namespace, per_cpu_pages, control, larger)?;
            }
            begin = rest;
        }
        Err(Refusal::of_kernel("the list of tasks does not end".to_string()))
    }

    fn each_task(&mut self, each: &mut impl FnMut(Record<'_>)) -> Result<(), Refusal> {
        let Reader::EachTask { link, bytes, words, order, .. } = &mut self.reader else { return Ok(()) };
        bytes.clear();
        let opened = link.open().map_err(|error| syscall_refusal(&error))?;
        File::from(opened).read_to_end(bytes).map_err(|error| syscall_refusal(&error))?;
        let (chunks, _) = bytes.as_chunks::<8>();
        words.resize_with(chunks.len(), AtomicU64::default);
        for (word, chunk) in words.iter_mut().zip(chunks) {
            *word.get_mut() = u64::from_le_bytes(*chunk);
        }
        order.clear();
        let records = words.chunks_exact(task_record::WORDS).map(|words| Record::new(words, false));
        order.extend(records.enumerate().map(|(index, record)| {
            (record.global_process(), !record.is_process(), record.global_pid(), index)
        }));
        // The kernel iterates by task id; here threads follow their process.
        order.sort_unstable();
        for (_, _, _, index) in order {
            let start = index.saturating_mul(task_record::WORDS);
            if let Some(words) = words.get(start..start.saturating_add(task_record::WORDS)) {
                each(Record::new(words, false));
            }
        }
        Ok(())
    }

    fn set(&self, offset: u32, value: u64) {
        if let Some(word) = word(&self.control, offset) {
            word.store(value, Ordering::Relaxed);
        }
    }

    fn control_word(&self, offset: u32) -> u64 {
        word(&self.control, offset).map_or(0, |word| word.load(Ordering::Relaxed))
    }
}

impl Reader {
    fn walk(
        kernel: &TaskLayout,
        walk: Walk,
        namespace: Option<Namespace>,
        per_cpu_pages: Option<&PerCpuPages>,
        control: &Array,
        capacity: u32,
    ) -> Result<Reader, Refusal> {
        let map = Array::new(task_record::SIZE, capacity).map_err(|error| syscall_refusal(&error))?;
        let length = usize::try_from(u64::from(capacity).saturating_mul(u64::from(task_record::SIZE)));
        let records = map.map(length.unwrap_or(usize::MAX)).map_err(|error| syscall_refusal(&error))?;
        let maps = Maps { control: control.number(), records: map.number() };
        let code = task_program::walking(kernel, &walk, maps, namespace, per_cpu_pages)
            .map_err(assembler_refusal)?;
        let program = Program::load(ProgramKind::Syscall, &code).map_err(load_refusal)?;
        Ok(Reader::Walk { walk, program, records, _map: map, capacity })
    }

    fn each_task(
        kernel: &TaskLayout,
        namespace: Option<Namespace>,
        per_cpu_pages: Option<&PerCpuPages>,
        control: &Array,
    ) -> Result<Reader, Refusal> {
        let Some(function) = kernel.each_task else {
            return Err(Refusal {
                reason: "this kernel has no BPF task iterators".to_string(),
                remedy: "use Linux 5.8 or newer".to_string(),
            });
        };
        let map = Array::new(task_record::SIZE, 1).map_err(|error| syscall_refusal(&error))?;
        let maps = Maps { control: control.number(), records: map.number() };
        let code =
            task_program::for_each_task(kernel, maps, namespace, per_cpu_pages).map_err(assembler_refusal)?;
        let program = Program::load(ProgramKind::TaskIterator(function), &code).map_err(load_refusal)?;
        let link = program.link().map_err(|error| syscall_refusal(&error))?;
        Ok(Reader::EachTask { link, _map: map, bytes: Vec::new(), words: Vec::new(), order: Vec::new() })
    }
}

/// Ids and start times are those that this process sees only if `/proc` belongs to our own pid namespace and
/// our boot time clock is that of the machine.
fn clear_of_other_namespaces() -> Result<(), Refusal> {
    let own = std::process::id().to_string();
    if fs::read_link("/proc/self").is_ok_and(|link| link.as_os_str() != own.as_str()) {
        return Err(Refusal {
            reason: "/proc belongs to another pid namespace than this program".to_string(),
            remedy: "mount /proc in the pid namespace of this program".to_string(),
        });
    }
    let offsets = fs::read_to_string("/proc/self/timens_offsets").unwrap_or_default();
    let is_shifted = offsets.lines().any(|line| {
        let mut columns = line.split_ascii_whitespace();
        columns.next() == Some("boottime") && columns.any(|column| column != "0")
    });
    if is_shifted {
        return Err(Refusal::of_kernel("this program is in a time namespace of its own".to_string()));
    }
    Ok(())
}

fn own_namespace(
    kernel: &TaskLayout,
    map: &Array,
    control: &MapMemory,
) -> Result<Option<Namespace>, Refusal> {
    /// The inode number of the initial pid namespace.
    const FIRST: u64 = 0xefff_fffc;
    let file = fs::metadata("/proc/self/ns/pid").map_err(|error| syscall_refusal(&error))?;
    if file.ino() == FIRST {
        return Ok(None);
    }
    let code = task_program::own_namespace(kernel, map.number()).map_err(assembler_refusal)?;
    let program = Program::load(ProgramKind::Syscall, &code).map_err(load_refusal)?;
    program.run().map_err(|error| syscall_refusal(&error))?;
    let level = word(control, control::COUNT).map_or(0, |word| word.load(Ordering::Relaxed));
    let level = u32::try_from(level).ok().filter(|level| (1..=32).contains(level));
    let namespace = level.zip(u32::try_from(file.ino()).ok());
    let Some((level, inode)) = namespace else {
        return Err(Refusal::of_kernel("the pid namespace of this program is unknown".to_string()));
    };
    Ok(Some(Namespace { level, inode }))
}

/// The distance of each CPU's memory. Without it, memory sizes lack the pages counted per CPU. It is not used
/// with too many CPUs, because adding those up takes time for each.
fn per_cpu_pages(kernel: &TaskLayout, control_map: &Array, control: &MapMemory) -> Option<PerCpuPages> {
    let (shares, cast) = kernel.shares.zip(kernel.cast)?;
    let map = Array::per_cpu(8).ok()?;
    let code = task_program::areas(shares, control_map.number(), map.number()).ok()?;
    Program::load(ProgramKind::Syscall, &code).ok()?.run().ok()?;
    let load = |offset: u32| word(control, offset).map_or(0, |word| word.load(Ordering::Relaxed));
    let base = load(control::COUNT);
    let areas = (0..control::PROCESSORS)
        .map(|processor| load(control::AREAS.saturating_add(processor.saturating_mul(8))));
    let areas: Vec<u64> = areas.take_while(|area| *area != 0).collect();
    let is_whole = base != 0 && (1..size_of(control::PROCESSORS)).contains(&areas.len());
    let distances = areas.iter().map(|area| area.wrapping_sub(base)).collect();
    is_whole.then_some(PerCpuPages { shares, cast, distances })
}

fn size_of(number: u32) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}

fn word(area: &MapMemory, offset: u32) -> Option<&AtomicU64> {
    usize::try_from(offset / 8).ok().and_then(|word| area.words().get(word))
}
