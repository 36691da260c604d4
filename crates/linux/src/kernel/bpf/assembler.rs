//! An assembler for BPF instructions.
//!
//! Each instruction is 8 bytes: operation, registers (destination in the lower half), offset, number. Only
//! the instructions that our programs need are here. A jump names a label, which may be bound before or after
//! it.

use std::fmt;

use super::btf::TypeId;

/// A register. `R10` is the frame pointer and cannot be written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Reg {
    /// Result of a call.
    R0,
    /// First argument.
    R1,
    /// Second argument.
    R2,
    /// Third argument.
    R3,
    /// Fourth argument.
    R4,
    /// Fifth argument.
    R5,
    /// Preserved by calls.
    R6,
    /// Preserved by calls.
    R7,
    /// Preserved by calls.
    R8,
    /// Preserved by calls.
    R9,
    /// The frame pointer.
    R10,
}

/// How many bytes a load or store moves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Width {
    /// One byte.
    B1,
    /// Two bytes.
    B2,
    /// Four bytes.
    B4,
    /// Eight bytes.
    B8,
}

/// A field: its offset in its structure, and its width.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FieldOffset {
    /// Bytes.
    pub offset: u32,
    /// How wide it is.
    pub width: Width,
}

impl FieldOffset {
    /// A field of `size` bytes; `None` when it needs several loads.
    pub(crate) fn new(offset: u32, size: u32) -> Option<FieldOffset> {
        Width::of(size).map(|width| FieldOffset { offset, width })
    }
}

impl Width {
    /// The width of a field of `size` bytes; `None` when it needs several loads.
    pub(crate) const fn of(size: u32) -> Option<Width> {
        match size {
            1 => Some(Width::B1),
            2 => Some(Width::B2),
            4 => Some(Width::B4),
            8 => Some(Width::B8),
            _ => None,
        }
    }

    const fn bits(self) -> u8 {
        match self {
            Width::B4 => 0x00,
            Width::B2 => 0x08,
            Width::B1 => 0x10,
            Width::B8 => 0x18,
        }
    }
}

/// The condition of a jump.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum When {
    /// Both are equal.
    Equal,
    /// They differ.
    Differ,
    /// The register is at least the other, unsigned.
    AtLeast,
    /// They have a bit in common.
    AnyBit,
}

impl When {
    const fn bits(self) -> u8 {
        match self {
            When::Equal => 0x10,
            When::AtLeast => 0x30,
            When::AnyBit => 0x40,
            When::Differ => 0x50,
        }
    }
}

/// A 64-bit operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Compute {
    /// Sum.
    Add,
    /// Product.
    Multiply,
    /// Bits in one or both.
    Or,
    /// Exclusive or.
    Differing,
    /// Shift to the left.
    Left,
    /// Shift to the right, zeros from the left.
    Right,
    /// Shift to the right, keeping the sign.
    RightWithSign,
    /// The other operand.
    Move,
}

impl Compute {
    const fn bits(self) -> u8 {
        match self {
            Compute::Add => 0x00,
            Compute::Multiply => 0x20,
            Compute::Or => 0x40,
            Compute::Differing => 0xa0,
            Compute::Left => 0x60,
            Compute::Right => 0x70,
            Compute::RightWithSign => 0xc0,
            Compute::Move => 0xb0,
        }
    }
}

/// A target of jumps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Label(usize);

/// Why a program cannot be assembled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub(crate) enum AssemblerError {
    /// An offset that does not fit its field.
    TooFar {
        /// The offset.
        offset: u32,
    },
    /// A jump to a label that was never bound, or is too far away.
    UnboundLabel,
}

impl fmt::Display for AssemblerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            AssemblerError::TooFar { offset } => {
                write!(f, "a field at offset {offset} is too far from its structure")
            }
            AssemblerError::UnboundLabel => f.write_str("a jump has no target"),
        }
    }
}

impl std::error::Error for AssemblerError {}

/// A program that is being assembled.
#[derive(Debug, Default)]
pub(crate) struct Assembler {
    bytes: Vec<u8>,
    /// For each label, the number of the instruction it is bound to.
    places: Vec<Option<usize>>,
    /// Instructions that jump, and their labels.
    jumps: Vec<(usize, Label)>,
    error: Option<AssemblerError>,
}

impl Assembler {
    /// An empty program.
    pub(crate) fn new() -> Assembler {
        Assembler::default()
    }

    /// A label that is bound later.
    pub(crate) fn label(&mut self) -> Label {
        self.places.push(None);
        Label(self.places.len().saturating_sub(1))
    }

    /// Binds a label to the next instruction.
    pub(crate) fn bind(&mut self, place: Label) {
        let here = self.count();
        if let Some(place) = self.places.get_mut(place.0) {
            *place = Some(here);
        }
    }

    /// `to = number`
    pub(crate) fn number(&mut self, to: Reg, number: i32) {
        self.compute_number(Compute::Move, to, number);
    }

    /// `to = from`
    pub(crate) fn copy(&mut self, to: Reg, from: Reg) {
        self.compute(Compute::Move, to, from);
    }

    /// `to = to ? with`
    pub(crate) fn compute(&mut self, compute: Compute, to: Reg, with: Reg) {
        self.push(0x0f | compute.bits(), to, with, 0, 0);
    }

    /// `to = to ? number`
    pub(crate) fn compute_number(&mut self, compute: Compute, to: Reg, number: i32) {
        self.push(0x07 | compute.bits(), to, Reg::R0, 0, number);
    }

    /// `to = number`, with 64 bits.
    pub(crate) fn wide_number(&mut self, to: Reg, number: u64) {
        self.wide(to, 0, number);
    }

    /// `to = the map` with this descriptor.
    pub(crate) fn map(&mut self, to: Reg, descriptor: i32) {
        self.wide(to, 1, u64::from(descriptor.cast_unsigned()));
    }

    /// `to = address of the only value of a map, plus offset`
    pub(crate) fn map_value(&mut self, to: Reg, descriptor: i32, offset: u32) {
        self.wide(to, 2, u64::from(offset) << 32 | u64::from(descriptor.cast_unsigned()));
    }

    /// `to = bytes at from + offset`; the rest is zero.
    pub(crate) fn load(&mut self, width: Width, to: Reg, from: Reg, offset: u32) {
        let offset = self.offset(offset);
        self.push(0x61 | width.bits(), to, from, offset, 0);
    }

    /// `bytes at to + offset = from`
    pub(crate) fn store(&mut self, width: Width, to: Reg, offset: u32, from: Reg) {
        let offset = self.offset(offset);
        self.push(0x63 | width.bits(), to, from, offset, 0);
    }

    /// `8 bytes at the frame - below = from`
    pub(crate) fn store_in_frame(&mut self, below: u16, from: Reg) {
        let offset = self.below(below);
        self.push(0x63 | Width::B8.bits(), Reg::R10, from, offset, 0);
    }

    /// `to = 8 bytes at the frame - below`
    pub(crate) fn load_from_frame(&mut self, to: Reg, below: u16) {
        let offset = self.below(below);
        self.push(0x61 | Width::B8.bits(), to, Reg::R10, offset, 0);
    }

    /// `to = the frame - below`
    pub(crate) fn frame(&mut self, to: Reg, below: u16) {
        self.copy(to, Reg::R10);
        // The verifier allows no subtraction from the frame.
        self.compute_number(Compute::Add, to, i32::from(below).saturating_neg());
    }

    /// Jumps to a label.
    pub(crate) fn jump(&mut self, place: Label) {
        self.jumps.push((self.count(), place));
        self.push(0x05, Reg::R0, Reg::R0, 0, 0);
    }

    /// Jumps to a label if a register and a number compare like this.
    pub(crate) fn jump_if(&mut self, when: When, register: Reg, number: i32, place: Label) {
        self.jumps.push((self.count(), place));
        self.push(0x05 | when.bits(), register, Reg::R0, 0, number);
    }

    /// Jumps to a label if two registers compare like this.
    pub(crate) fn jump_if_both(&mut self, when: When, one: Reg, other: Reg, place: Label) {
        self.jumps.push((self.count(), place));
        self.push(0x0d | when.bits(), one, other, 0, 0);
    }

    /// `R0 = address of the map value whose key is in the frame`; jumps to `none` if there is none. Uses R1
    /// to R5.
    pub(crate) fn element(&mut self, descriptor: i32, key: u16, none: Label) {
        /// `bpf_map_lookup_elem`
        const LOOKUP: i32 = 1;
        self.look_up(LOOKUP, descriptor, key, none);
    }

    /// The same for a per-CPU map, for the CPU in R3.
    pub(crate) fn per_cpu_element(&mut self, descriptor: i32, key: u16, none: Label) {
        /// `bpf_map_lookup_percpu_elem`
        const LOOKUP_OF_PROCESSOR: i32 = 195;
        self.look_up(LOOKUP_OF_PROCESSOR, descriptor, key, none);
    }

    fn look_up(&mut self, helper: i32, descriptor: i32, key: u16, none: Label) {
        self.map(Reg::R1, descriptor);
        self.frame(Reg::R2, key);
        self.call_helper(helper);
        self.jump_if(When::Equal, Reg::R0, 0, none);
    }

    /// `R0 = the task that is running`
    pub(crate) fn current_task(&mut self) {
        /// `bpf_get_current_task_btf`
        const CURRENT: i32 = 158;
        self.call_helper(CURRENT);
    }

    /// Calls a helper by its number, which is the same in all kernels.
    pub(crate) fn call_helper(&mut self, number: i32) {
        self.push(0x85, Reg::R0, Reg::R0, 0, number);
    }

    /// Calls a kernel function (kfunc).
    pub(crate) fn call(&mut self, function: TypeId) {
        self.push(0x85, Reg::R0, Reg::R2, 0, function.0.cast_signed());
    }

    /// Ends the program; its result is `R0`.
    pub(crate) fn exit(&mut self) {
        self.push(0x95, Reg::R0, Reg::R0, 0, 0);
    }

    /// How many instructions there are; 64-bit numbers count twice.
    pub(crate) fn count(&self) -> usize {
        self.bytes.len() / 8
    }

    /// The bytes of the program.
    ///
    /// # Errors
    ///
    /// A label is not bound, or an offset does not fit.
    pub(crate) fn finish(mut self) -> Result<Vec<u8>, AssemblerError> {
        if let Some(error) = self.error {
            return Err(error);
        }
        for (from, place) in std::mem::take(&mut self.jumps) {
            let to = self.places.get(place.0).copied().flatten().ok_or(AssemblerError::UnboundLabel)?;
            // Jumps are relative to the next instruction.
            let distance = i64::try_from(to).ok().zip(i64::try_from(from).ok());
            let distance = distance.map(|(to, from)| to.saturating_sub(from).saturating_sub(1));
            let distance = distance
                .and_then(|distance| i16::try_from(distance).ok())
                .ok_or(AssemblerError::UnboundLabel)?;
            let at = from.saturating_mul(8).saturating_add(2);
            let bytes = self.bytes.get_mut(at..at.saturating_add(2)).ok_or(AssemblerError::UnboundLabel)?;
            bytes.copy_from_slice(&distance.to_le_bytes());
        }
        Ok(self.bytes)
    }

    fn offset(&mut self, offset: u32) -> i16 {
        i16::try_from(offset).unwrap_or_else(|_| {
            self.error = Some(AssemblerError::TooFar { offset });
            0
        })
    }

    fn below(&mut self, below: u16) -> i16 {
        i16::try_from(below)
            .unwrap_or_else(|_| {
                self.error = Some(AssemblerError::TooFar { offset: u32::from(below) });
                0
            })
            .saturating_neg()
    }

    fn wide(&mut self, to: Reg, kind: u8, number: u64) {
        let [a, b, c, d, e, f, g, h] = number.to_le_bytes();
        self.bytes.extend_from_slice(&[0x18, (to as u8) | kind << 4, 0, 0, a, b, c, d]);
        self.bytes.extend_from_slice(&[0, 0, 0, 0, e, f, g, h]);
    }

    fn push(&mut self, operation: u8, to: Reg, from: Reg, offset: i16, number: i32) {
        self.bytes.extend_from_slice(&[operation, (to as u8) | (from as u8) << 4]);
        self.bytes.extend_from_slice(&offset.to_le_bytes());
        self.bytes.extend_from_slice(&number.to_le_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The bytes are those of the instruction set's document in the kernel
    /// (`bpf/standardization/instruction-set`).
    #[test]
    fn instructions() {
        let mut code = Assembler::new();
        let end = code.label();
        let again = code.label();
        code.number(Reg::R0, -1);
        code.copy(Reg::R6, Reg::R1);
        code.bind(again);
        code.compute_number(Compute::Add, Reg::R6, 24);
        code.compute(Compute::Multiply, Reg::R3, Reg::R4);
        code.compute(Compute::Or, Reg::R9, Reg::R2);
        code.compute(Compute::Differing, Reg::R2, Reg::R1);
        code.wide_number(Reg::R2, 0x0102_0304_0506_0708);
        code.map(Reg::R1, 7);
        code.map_value(Reg::R8, 9, 16);
        code.load(Width::B4, Reg::R7, Reg::R6, 0x0a10);
        code.store(Width::B8, Reg::R7, 8, Reg::R0);
        code.store_in_frame(32, Reg::R1);
        code.load_from_frame(Reg::R1, 32);
        code.frame(Reg::R1, 24);
        code.jump_if(When::Equal, Reg::R0, 0, end);
        code.jump_if_both(When::AtLeast, Reg::R1, Reg::R2, again);
        code.jump(again);
        code.call_helper(1);
        code.call(TypeId(0x0001_2345));
        code.bind(end);
        code.exit();
        let expected: &[[u8; 8]] = &[
            [0xb7, 0x00, 0, 0, 0xff, 0xff, 0xff, 0xff],
            [0xbf, 0x16, 0, 0, 0, 0, 0, 0],
            [0x07, 0x06, 0, 0, 24, 0, 0, 0],
            [0x2f, 0x43, 0, 0, 0, 0, 0, 0],
            [0x4f, 0x29, 0, 0, 0, 0, 0, 0],
            [0xaf, 0x12, 0, 0, 0, 0, 0, 0],
            [0x18, 0x02, 0, 0, 8, 7, 6, 5],
            [0, 0, 0, 0, 4, 3, 2, 1],
            [0x18, 0x11, 0, 0, 7, 0, 0, 0],
            [0; 8],
            [0x18, 0x28, 0, 0, 9, 0, 0, 0],
            [0, 0, 0, 0, 16, 0, 0, 0],
            [0x61, 0x67, 0x10, 0x0a, 0, 0, 0, 0],
            [0x7b, 0x07, 8, 0, 0, 0, 0, 0],
            [0x7b, 0x1a, 0xe0, 0xff, 0, 0, 0, 0],
            [0x79, 0xa1, 0xe0, 0xff, 0, 0, 0, 0],
            [0xbf, 0xa1, 0, 0, 0, 0, 0, 0],
            [0x07, 0x01, 0, 0, 0xe8, 0xff, 0xff, 0xff],
            [0x15, 0x00, 4, 0, 0, 0, 0, 0],
            [0x3d, 0x21, 0xee, 0xff, 0, 0, 0, 0],
            [0x05, 0x00, 0xed, 0xff, 0, 0, 0, 0],
            [0x85, 0x00, 0, 0, 1, 0, 0, 0],
            [0x85, 0x20, 0, 0, 0x45, 0x23, 0x01, 0],
            [0x95, 0x00, 0, 0, 0, 0, 0, 0],
        ];
        assert_eq!(code.count(), expected.len());
        assert_eq!(code.finish().unwrap().as_chunks::<8>().0, expected);
    }

    #[test]
    fn offsets_that_do_not_fit_and_unbound_labels_are_errors() {
        let mut code = Assembler::new();
        code.load(Width::B8, Reg::R0, Reg::R6, 40_000);
        assert_eq!(code.finish(), Err(AssemblerError::TooFar { offset: 40_000 }));
        let mut code = Assembler::new();
        let nowhere = code.label();
        code.jump(nowhere);
        assert_eq!(code.finish(), Err(AssemblerError::UnboundLabel));
    }
}
