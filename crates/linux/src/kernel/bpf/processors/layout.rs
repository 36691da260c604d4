//! Where the running kernel keeps its per-CPU counters.

use super::super::assembler::FieldOffset;
use super::super::btf::{Btf, BtfError, Named, TypeId};
use super::super::per_cpu::CpuLoop;
use crate::kernel::proc::vmstat::VmStat;

/// The field for a number of `/proc/vmstat`.
type VmStatMember = fn(&mut VmStat) -> &mut Option<u64>;

/// The memory events that are read: the kernel's names, and their fields of `/proc/vmstat`.
pub(super) const WANTED: [(&str, VmStatMember); 8] = [
    ("PGFAULT", |stat| &mut stat.faults),
    ("PGMAJFAULT", |stat| &mut stat.major_faults),
    ("PGPGIN", |stat| &mut stat.read_kib),
    ("PSWPOUT", |stat| &mut stat.swapped_out),
    ("PGSTEAL_KSWAPD", |stat| &mut stat.stolen_by_kswapd),
    ("PGSTEAL_DIRECT", |stat| &mut stat.stolen_directly),
    ("PGSTEAL_KHUGEPAGED", |stat| &mut stat.stolen_by_khugepaged),
    ("PGSTEAL_PROACTIVE", |stat| &mut stat.stolen_proactively),
];

/// x86 counters that `/proc/interrupts` shows in rows of their own, and that the kernel's sum does not
/// include. Not every kernel has all of them. TLB interrupts are part of the call interrupts.
const COUNTS_OF_X86: [&str; 19] = [
    "__nmi_count",
    CLOCK_OF_X86,
    "irq_spurious_count",
    "icr_read_retry_count",
    "kvm_posted_intr_ipis",
    "kvm_posted_intr_wakeup_ipis",
    "kvm_posted_intr_nested_ipis",
    "x86_platform_ipis",
    "apic_perf_irqs",
    "apic_irq_work_irqs",
    "irq_resched_count",
    "irq_call_count",
    "irq_thermal_count",
    "irq_threshold_count",
    "irq_deferred_error_count",
    "irq_hv_callback_count",
    "irq_hv_reenlightenment_count",
    "hyperv_stimer0_count",
    "posted_msi_notification_count",
];
const CLOCK_OF_X86: &str = "apic_timer_irqs";
/// Other members of the same structure, which count no interrupts of their own.
const OTHERS_OF_X86: [&str; 3] = ["irq_tlb_count", "__softirq_pending", "kvm_cpu_l1tf_flush_l1d"];

/// A per-CPU variable.
#[derive(Debug, Clone, Copy)]
pub(super) struct Variable {
    /// Its offset in the section.
    pub(super) place: u32,
    /// Its type, a structure.
    pub(super) of: TypeId,
}

/// The offsets on the path from a task to the run queue of its CPU.
#[derive(Debug)]
pub(super) struct RunQueuePath {
    /// In a task.
    pub(super) queue_of_kind: u32,
    /// In `cfs_rq`.
    pub(super) queue: u32,
    /// In a run queue, the number of its CPU.
    pub(super) processor: u32,
    /// The offset of the run queue in the section of per-CPU variables.
    pub(super) place: u32,
}

/// The layout of the counters in the running kernel.
#[derive(Debug)]
pub(super) struct CountsLayout {
    /// `None` before Linux 6.4.
    pub(super) each: Option<CpuLoop>,
    pub(super) way: RunQueuePath,
    /// `kstat`, with the next two.
    pub(super) counts: Variable,
    pub(super) interrupts: FieldOffset,
    pub(super) softirqs: Vec<FieldOffset>,
    /// Interrupts that `kstat` does not include; or why it is unknown which they are.
    pub(super) own: Result<ArchInterrupts, String>,
    /// `None` for a kernel built without them.
    pub(super) events: Option<Events>,
}

/// Interrupt counters of the architecture.
#[derive(Debug, Default)]
pub(super) struct ArchInterrupts {
    /// The counters to add up, by variable.
    pub(super) variables: Vec<(Variable, Vec<FieldOffset>)>,
    /// The timer interrupts, in the first variable.
    pub(super) clock: Option<FieldOffset>,
}

#[derive(Debug)]
pub(super) struct Events {
    pub(super) variable: Variable,
    /// In the order of [`WANTED`].
    pub(super) places: [Option<FieldOffset>; WANTED.len()],
}

/// The type description, and what lookups in it need.
pub(super) struct Types<'a> {
    pub(super) btf: &'a Btf<'a>,
    /// The section of per-CPU variables.
    pub(super) section: TypeId,
    /// A structure that begins with an 8-byte number, for variables that are no structures.
    pub(super) number: TypeId,
}

impl Types<'_> {
    pub(super) fn variable(&self, id: TypeId) -> Result<Variable, BtfError> {
        let whole = self.btf.whole(id)?;
        let is_structure = self.btf.members(whole.of).is_ok();
        let of = if is_structure { whole.of } else { self.number };
        Ok(Variable { place: self.btf.place(self.section, id)?, of })
    }

    pub(super) fn at(&self, variable: TypeId, path: &str) -> Result<FieldOffset, BtfError> {
        let field = self.btf.field(variable, path)?;
        let at = FieldOffset::new(field.offset, field.size);
        at.ok_or_else(|| BtfError::BitField { path: path.to_string() })
    }
}

impl CountsLayout {
    pub(super) fn new(btf: &Btf<'_>) -> Result<CountsLayout, BtfError> {
        use Named::{Enumeration, Section, Struct, Variable};
        let missing = |name: &str| BtfError::NoField { path: name.to_string() };
        let [section, number, task, kind, queue, queues, counts, states, items, own, exceptions, polls] = btf
            .find([
                (Section, ".data..percpu"),
                (Struct, "timespec64"),
                (Struct, "task_struct"),
                (Struct, "cfs_rq"),
                (Struct, "rq"),
                (Variable, "runqueues"),
                (Variable, "kstat"),
                (Variable, "vm_event_states"),
                (Enumeration, "vm_event_item"),
                (Variable, "irq_stat"),
                (Variable, "mce_exception_count"),
                (Variable, "mce_poll_count"),
            ]);
        let section = section.ok_or_else(|| missing(".data..percpu"))?;
        let types = Types { btf, section, number: number.ok_or_else(|| missing("timespec64"))? };
        let counts = counts.ok_or_else(|| missing("kstat"))?;
        let offset = |of: Option<TypeId>, path: &str| {
            of.ok_or_else(|| missing(path)).and_then(|of| btf.field(of, path)).map(|field| field.offset)
        };
        let way = RunQueuePath {
            queue_of_kind: offset(task, "se.cfs_rq")?,
            queue: offset(kind, "rq")?,
            processor: offset(queue, "cpu")?,
            place: btf.place(section, queues.ok_or_else(|| missing("runqueues"))?)?,
        };
        let size = |path: &str| btf.field(counts, path).map(|field| field.size);
        let kinds = size("softirqs")?.checked_div(size("softirqs[0]")?).unwrap_or(0);
        let softirqs = (0..kinds.min(64)).map(|kind| types.at(counts, &format!("softirqs[{kind}]")));
        let events = states.zip(items).map(|(states, items)| {
            let places = WANTED.map(|(name, _)| {
                let number = btf.value(items, name).ok()?;
                types.at(states, &format!("event[{number}]")).ok()
            });
            Ok(Events { variable: types.variable(states)?, places })
        });
        let own = match std::env::consts::ARCH {
            "x86_64" => interrupts_of_x86(&types, own, [exceptions, polls]),
            // The kernel's sum includes all; those between CPUs since Linux 5.10.
            "aarch64" => Ok(ArchInterrupts::default()),
            other => Err(format!("the meaning of the kernel's sum of interrupts on {other} is unknown")),
        };
        Ok(CountsLayout {
            each: CpuLoop::find(btf),
            way,
            counts: types.variable(counts)?,
            interrupts: types.at(counts, "irqs_sum")?,
            softirqs: softirqs.collect::<Result<_, _>>()?,
            own,
            events: events.transpose()?,
        })
    }
}

pub(super) fn interrupts_of_x86(
    types: &Types<'_>,
    own: Option<TypeId>,
    counts: [Option<TypeId>; 2],
) -> Result<ArchInterrupts, String> {
    let words = |error: BtfError| error.to_string();
    let own = own.ok_or("this kernel has no irq_stat")?;
    let mut places = Vec::new();
    let mut clock = None;
    for member in types.btf.members(own).map_err(words)? {
        let name = std::str::from_utf8(member).unwrap_or_default();
        if COUNTS_OF_X86.contains(&name) {
            let place = types.at(own, name).map_err(words)?;
            places.push(place);
            clock = clock.or((name == CLOCK_OF_X86).then_some(place));
        } else if !OTHERS_OF_X86.contains(&name) {
            // A newer kernel counts something that may or may not be an interrupt.
            return Err(format!("it is unknown whether {name} of irq_stat counts interrupts"));
        }
    }
    if clock.is_none() {
        return Err("this kernel's irq_stat does not count those of the clock".to_string());
    }
    let mut variables = vec![(types.variable(own).map_err(words)?, places)];
    for variable in counts.into_iter().flatten() {
        let size = types.btf.whole(variable).map_err(words)?.size;
        let at = FieldOffset::new(0, size).ok_or("counts of machine checks are no numbers")?;
        variables.push((types.variable(variable).map_err(words)?, vec![at]));
    }
    Ok(ArchInterrupts { variables, clock })
}
