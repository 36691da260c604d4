//! Assembles the bytes of data blocks field by field, in either byte order; any field can be wrong on
//! purpose.
//!
//! It does not use the writer of the library: a reader and a writer with the same mistake would agree.

/// Bytes under construction, with places to be patched later.
#[derive(Debug, Clone, Default)]
pub struct Raw {
    bytes: Vec<u8>,
    big: bool,
}

/// The position of a number that is set later.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Label(usize);

impl Raw {
    /// Nothing yet, numbers little-endian.
    pub fn little() -> Raw {
        Raw::default()
    }

    /// Nothing yet, numbers big-endian.
    pub fn big() -> Raw {
        Raw { bytes: Vec::new(), big: true }
    }

    /// The bytes so far.
    pub fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }

    /// Number of bytes so far.
    pub fn here(&self) -> usize {
        self.bytes.len()
    }

    /// Bytes as they are.
    pub fn raw(&mut self, bytes: &[u8]) -> &mut Raw {
        self.bytes.extend_from_slice(bytes);
        self
    }

    /// A 16-bit number.
    pub fn n16(&mut self, value: u16) -> &mut Raw {
        let bytes = if self.big { value.to_be_bytes() } else { value.to_le_bytes() };
        self.raw(&bytes)
    }

    /// A 32-bit number; negative ones too.
    pub fn n32(&mut self, value: i64) -> &mut Raw {
        let value = value as u32;
        let bytes = if self.big { value.to_be_bytes() } else { value.to_le_bytes() };
        self.raw(&bytes)
    }

    /// A 64-bit number.
    pub fn n64(&mut self, value: u64) -> &mut Raw {
        let bytes = if self.big { value.to_be_bytes() } else { value.to_le_bytes() };
        self.raw(&bytes)
    }

    /// UTF-16 text without terminator.
    pub fn wide(&mut self, text: &str) -> &mut Raw {
        for unit in text.encode_utf16() {
            self.n16(unit);
        }
        self
    }

    /// Zeros up to the next multiple of `n`.
    pub fn align(&mut self, n: usize) -> &mut Raw {
        while !self.bytes.len().is_multiple_of(n) {
            self.bytes.push(0);
        }
        self
    }

    /// A 32-bit number to be set by [`Raw::set`].
    pub fn later(&mut self) -> Label {
        let label = Label(self.bytes.len());
        self.n32(0);
        label
    }

    /// Sets a number that was left open.
    pub fn set(&mut self, label: Label, value: usize) {
        let value = value as u32;
        let bytes = if self.big { value.to_be_bytes() } else { value.to_le_bytes() };
        self.bytes[label.0..label.0 + 4].copy_from_slice(&bytes);
    }
}

/// A counter definition.
#[derive(Debug, Clone, Copy)]
pub struct RawCounter {
    /// Title index.
    pub name: u32,
    /// `CounterType`.
    pub kind: u32,
    /// `CounterSize`.
    pub size: u32,
    /// `CounterOffset`.
    pub offset: u32,
}

/// An instance with the bytes of its counter block after the length field.
#[derive(Debug, Clone)]
pub struct RawInstance {
    /// Name; the terminator is added.
    pub name: String,
    /// Parent object index and position, 0 for none.
    pub parent: (u32, u32),
    /// `UniqueID`.
    pub unique_id: i32,
    /// The data after the `ByteLength` of the counter block.
    pub data: Vec<u8>,
}

/// An object.
#[derive(Debug, Clone)]
pub struct RawObject {
    /// Title index.
    pub name: u32,
    /// Counter definitions.
    pub counters: Vec<RawCounter>,
    /// `NumInstances` if it is to differ from the number of instances.
    pub num_instances: Option<i32>,
    /// Instances; with `num_instances` -1 the data of the first is the single block.
    pub instances: Vec<RawInstance>,
    /// `CodePage`.
    pub code_page: u32,
    /// Object clock and frequency.
    pub clock: (u64, u64),
}

/// A whole data block with these objects.
pub fn block(big: bool, perf_time: u64, perf_freq: u64, time_100ns: u64, objects: &[RawObject]) -> Vec<u8> {
    let mut b = if big { Raw::big() } else { Raw::little() };
    b.wide("PERF").n32(i64::from(!big)).n32(1).n32(1);
    let total = b.later();
    let header = b.later();
    b.n32(objects.len() as i64).n32(-1);
    for part in [2026u16, 11, 6, 21, 12, 30, 15, 250] {
        b.n16(part);
    }
    b.n32(0).n64(perf_time).n64(perf_freq).n64(time_100ns).n32(10).n32(88).wide("TEST").n16(0).align(8);
    let here = b.here();
    b.set(header, here);
    for object in objects {
        append_object(&mut b, object);
    }
    let here = b.here();
    b.set(total, here);
    b.into_bytes()
}

fn append_object(b: &mut Raw, object: &RawObject) {
    let start = b.here();
    let total = b.later();
    let definitions = b.later();
    b.n32(64).n32(i64::from(object.name)).n32(0).n32(i64::from(object.name) + 1).n32(0).n32(100);
    b.n32(object.counters.len() as i64).n32(0);
    b.n32(i64::from(object.num_instances.unwrap_or(object.instances.len() as i32)));
    b.n32(i64::from(object.code_page)).n64(object.clock.0).n64(object.clock.1);
    for counter in &object.counters {
        b.n32(40).n32(i64::from(counter.name)).n32(0).n32(i64::from(counter.name) + 1).n32(0).n32(0).n32(100);
        b.n32(i64::from(counter.kind)).n32(i64::from(counter.size)).n32(i64::from(counter.offset));
    }
    let here = b.here() - start;
    b.set(definitions, here);
    for instance in &object.instances {
        if object.num_instances != Some(-1) {
            let instance_start = b.here();
            let length = b.later();
            b.n32(i64::from(instance.parent.0))
                .n32(i64::from(instance.parent.1))
                .n32(i64::from(instance.unique_id));
            b.n32(24);
            let name_length = b.later();
            let name_start = b.here();
            if object.code_page == 0 {
                b.wide(&instance.name).n16(0);
            } else {
                b.raw(instance.name.as_bytes()).raw(&[0]);
            }
            let here = b.here() - name_start;
            b.set(name_length, here);
            b.align(8);
            let here = b.here() - instance_start;
            b.set(length, here);
        }
        let block_start = b.here();
        let length = b.later();
        b.raw(&instance.data).align(8);
        let here = b.here() - block_start;
        b.set(length, here);
    }
    let here = b.here() - start;
    b.set(total, here);
}

/// A small generator of pseudo-random numbers (xorshift64*), so that tests repeat exactly.
#[derive(Debug, Clone)]
pub struct Random(u64);

impl Random {
    /// Starts at a seed; 0 is taken as 1.
    pub fn new(seed: u64) -> Random {
        Random(seed.max(1))
    }

    /// The next number.
    pub fn number(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    /// A number below `limit`, which is not 0.
    pub fn below(&mut self, limit: u64) -> u64 {
        self.number() % limit
    }
}
