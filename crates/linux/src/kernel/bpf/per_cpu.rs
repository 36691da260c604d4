//! A loop over all possible CPUs, as BPF instructions.

use std::fs;

use super::assembler::{Assembler, Label, Reg, When, Width};
use super::btf::{Btf, Named, TypeId};
use super::refusal::Refusal;
use crate::kernel::proc::scan::ranges;

/// The kernel functions that the loop calls.
#[derive(Debug, Clone, Copy)]
pub(super) struct CpuLoop {
    /// The number iterator, together with the next two.
    new: TypeId,
    next: TypeId,
    destroy: TypeId,
    /// Casts any address to a structure; reading it needs no call, and an invalid address reads as zeros.
    pub(super) cast: TypeId,
}

// Frame slots, as bytes below the frame pointer.
const ITERATOR: u16 = 8;
/// The number of the current CPU. The frame below is free.
pub(super) const NUMBER: u16 = 16;

/// Linux supports no more CPUs on any machine.
const MOST: u32 = 8192;

impl CpuLoop {
    /// Looks the functions up; `None` before Linux 6.4.
    pub(super) fn find(btf: &Btf<'_>) -> Option<CpuLoop> {
        use Named::Function;
        let [new, next, destroy, cast] = btf.find([
            (Function, "bpf_iter_num_new"),
            (Function, "bpf_iter_num_next"),
            (Function, "bpf_iter_num_destroy"),
            (Function, "bpf_rdonly_cast"),
        ]);
        Some(CpuLoop { new: new?, next: next?, destroy: destroy?, cast: cast? })
    }

    /// The refusal for a kernel without these functions.
    pub(super) fn refusal() -> Refusal {
        Refusal {
            reason: "this kernel has no BPF functions that iterate over numbers".to_string(),
            remedy: "use Linux 6.4 or newer".to_string(),
        }
    }

    /// Writes a loop that runs `body` for each number below `count`. `body` may jump to the labels of the
    /// next round and of the end. Registers that calls do not preserve hold nothing at its beginning.
    pub(super) fn write(
        &self,
        code: &mut Assembler,
        count: u32,
        body: impl FnOnce(&mut Assembler, Label, Label),
    ) {
        let [next, done] = std::array::from_fn(|_| code.label());
        code.frame(Reg::R1, ITERATOR);
        code.number(Reg::R2, 0);
        code.number(Reg::R3, count.cast_signed());
        code.call(self.new);
        code.bind(next);
        code.frame(Reg::R1, ITERATOR);
        code.call(self.next);
        code.jump_if(When::Equal, Reg::R0, 0, done);
        code.load(Width::B4, Reg::R1, Reg::R0, 0);
        code.store_in_frame(NUMBER, Reg::R1);
        body(code, next, done);
        code.jump(next);
        code.bind(done);
        code.frame(Reg::R1, ITERATOR);
        code.call(self.destroy);
    }
}

/// The numbers of all possible CPUs, in order.
pub(super) fn possible_cpus() -> Result<Vec<u32>, Refusal> {
    const FILE: &str = "/sys/devices/system/cpu/possible";
    let refusal =
        |reason: String| Refusal { reason: format!("{FILE} {reason}"), remedy: "mount /sys".to_string() };
    let text = fs::read(FILE).map_err(|error| refusal(format!("cannot be read: {error}")))?;
    let number = |number: u64| u32::try_from(number).unwrap_or(u32::MAX).min(MOST);
    let mut all: Vec<u32> =
        ranges(&text).into_iter().flat_map(|(first, last)| number(first)..=number(last)).collect();
    all.sort_unstable();
    all.dedup();
    // No CPU has such a high number.
    all.retain(|number| *number < MOST);
    if all.is_empty() { Err(refusal("names no CPU".to_string())) } else { Ok(all) }
}
