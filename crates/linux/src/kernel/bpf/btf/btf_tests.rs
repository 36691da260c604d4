//! Hand-made type descriptions, and that of the running kernel.

use super::*;

/// Assembles a description, type after type.
pub(in crate::kernel::bpf) struct Assembler {
    types: Vec<u8>,
    strings: Vec<u8>,
}

impl Assembler {
    pub(in crate::kernel::bpf) fn new() -> Assembler {
        Assembler { types: Vec::new(), strings: vec![0] }
    }

    fn words(&mut self, words: &[u32]) {
        words.iter().for_each(|word| self.types.extend_from_slice(&word.to_le_bytes()));
    }

    pub(in crate::kernel::bpf) fn name(&mut self, name: &str) -> u32 {
        if name.is_empty() {
            return 0;
        }
        let at = u32::try_from(self.strings.len()).unwrap();
        self.strings.extend_from_slice(name.as_bytes());
        self.strings.push(0);
        at
    }

    /// Adds a type with its kind, count or flag, and what follows.
    pub(in crate::kernel::bpf) fn push(&mut self, name: &str, info: u32, more: &[u32]) {
        let name = self.name(name);
        self.words(&[name, info]);
        self.words(more);
    }

    pub(in crate::kernel::bpf) fn finish(&self) -> Vec<u8> {
        let length = |bytes: &[u8]| u32::try_from(bytes.len()).unwrap();
        let mut all = vec![0x9f, 0xeb, 1, 0];
        for word in [24, 0, length(&self.types), length(&self.types), length(&self.strings)] {
            all.extend_from_slice(&word.to_le_bytes());
        }
        all.extend_from_slice(&self.types);
        all.extend_from_slice(&self.strings);
        all
    }
}

/// 1 long, 2 `struct inner { long a; union { long b; long c[3]; }; }`, 3 its union, 4 `long[3]`, 5 const
/// inner, 6 `struct outer { long first; const inner in; inner rows[2]; int bits:3; }`, 7 `inner[2]`, 8 a
/// function, 9 int, 10 `typedef struct { int hits; int misses; } stat_t`'s structure, 11 its name, 12 the
/// variable `stat_t state`, 13 the variable `int count`, 14 `enum item { NONE, SOME = 7, LAST = -1 }`, 15
/// `enum wide { SOME = 2, BIG = 2^40 + 5 }`, 16 the section with both variables, 17 `enum { EMPTY, FULL }`
/// and 18 `enum {}` without names.
fn sample() -> Vec<u8> {
    let mut asm = Assembler::new();
    asm.push("long", INT << 24, &[8, 64]);
    let (a, b, c) = (asm.name("a"), asm.name("b"), asm.name("c"));
    asm.push("inner", STRUCT << 24 | 2, &[32, a, 1, 0, 0, 3, 64]);
    asm.push("", UNION << 24 | 2, &[24, b, 1, 0, c, 4, 0]);
    asm.push("", ARRAY << 24, &[0, 1, 1, 3]);
    asm.push("", 10 << 24, &[2]);
    let names = ["first", "in", "rows", "bits"].map(|name| asm.name(name));
    asm.push(
        "outer",
        1 << 31 | STRUCT << 24 | 4,
        &[112, names[0], 1, 0, names[1], 5, 64, names[2], 7, 320, names[3], 1, 3 << 24 | 832],
    );
    asm.push("", ARRAY << 24, &[0, 2, 1, 2]);
    asm.push("outer", FUNC << 24, &[0]);
    asm.push("int", INT << 24, &[4, 32]);
    let [hits, misses] = ["hits", "misses"].map(|name| asm.name(name));
    asm.push("", STRUCT << 24 | 2, &[8, hits, 9, 0, misses, 9, 32]);
    asm.push("stat_t", TYPEDEF << 24, &[10]);
    asm.push("state", VAR << 24, &[11, 1]);
    asm.push("count", VAR << 24, &[9, 1]);
    let [none, some, last, big] = ["NONE", "SOME", "LAST", "BIG"].map(|name| asm.name(name));
    asm.push("item", ENUM << 24 | 3, &[4, none, 0, some, 7, last, u32::MAX]);
    asm.push("wide", ENUM64 << 24 | 2, &[8, some, 2, 0, big, 5, 1 << 8]);
    asm.push(".data..percpu", DATASEC << 24 | 2, &[80, 13, 16, 4, 12, 64, 8]);
    let [empty, full] = ["EMPTY", "FULL"].map(|name| asm.name(name));
    asm.push("", ENUM << 24 | 2, &[4, empty, 0, full, 1]);
    asm.push("", ENUM << 24, &[4]);
    asm.finish()
}

#[test]
fn fields_are_found_in_unnamed_members_and_arrays() {
    let bytes = sample();
    let btf = Btf::parse(&bytes).unwrap();
    assert_eq!(btf.count(), 18);
    let found = btf.find([(Named::Struct, "outer"), (Named::Function, "outer"), (Named::Struct, "oute")]);
    assert_eq!(found, [Some(TypeId(6)), Some(TypeId(8)), None]);
    let place = |path: &str| btf.field(TypeId(6), path).map(|field| (field.offset, field.size));
    assert_eq!(place("first"), Ok((0, 8)));
    assert_eq!(place("in"), Ok((8, 32)));
    assert_eq!(place("in.b"), Ok((16, 8)));
    assert_eq!(place("in.c"), Ok((16, 24)));
    assert_eq!(place("in.c[2]"), Ok((32, 8)));
    assert_eq!(place("rows[1].a"), Ok((72, 8)));
    for missing in ["second", "in.d", "first.a", "first[1]", "in.c[x]", "", "in."] {
        assert_eq!(place(missing), Err(BtfError::NoField { path: missing.to_string() }));
    }
    assert_eq!(place("bits"), Err(BtfError::BitField { path: "bits".to_string() }));
}

#[test]
fn variables_are_resolved_through_typedefs() {
    let bytes = sample();
    let btf = Btf::parse(&bytes).unwrap();
    let wanted = [
        (Named::Variable, "state"),
        (Named::Variable, "count"),
        (Named::Alias, "state"),
        (Named::Struct, ""),
    ];
    assert_eq!(btf.find(wanted), [Some(TypeId(12)), Some(TypeId(13)), None, Some(TypeId(10))]);
    assert_eq!(btf.field(TypeId(12), "misses"), Ok(Field { offset: 4, size: 4, of: TypeId(9) }));
    assert_eq!(btf.whole(TypeId(12)), Ok(Field { offset: 0, size: 8, of: TypeId(10) }));
    assert_eq!(btf.whole(TypeId(13)), Ok(Field { offset: 0, size: 4, of: TypeId(9) }));
    let [section] = btf.find([(Named::Section, ".data..percpu")]);
    let place = |variable: u32| btf.place(section.unwrap(), TypeId(variable)).ok();
    assert_eq!([12, 13, 11].map(place), [Some(64), Some(16), None]);
    assert!(btf.place(TypeId(6), TypeId(12)).is_err() && btf.place(TypeId(99), TypeId(12)).is_err());
    assert_eq!(btf.members(TypeId(12)), Ok(vec![&b"hits"[..], b"misses"]));
    assert_eq!(btf.members(TypeId(2)), Ok(vec![&b"a"[..], b""]));
    assert!(btf.members(TypeId(13)).is_err() && btf.members(TypeId(99)).is_err());
    assert_eq!(btf.field(TypeId(13), "misses"), Err(BtfError::NoField { path: "misses".to_string() }));
}

#[test]
fn an_unterminated_name_is_not_scanned_for_each_member() {
    let mut asm = Assembler::new();
    let long = asm.name(&"x".repeat(100_000));
    asm.push("long", INT << 24, &[8, 64]);
    asm.push("many", STRUCT << 24 | 2, &[16, long, 1, 0, long, 1, 64]);
    let bytes = asm.finish();
    let members = Btf::parse(&bytes).unwrap().members(TypeId(2)).unwrap();
    assert_eq!(members.iter().map(|name| name.len()).collect::<Vec<_>>(), [NAME, NAME]);
}

#[test]
fn enumeration_constants_have_values() {
    let bytes = sample();
    let btf = Btf::parse(&bytes).unwrap();
    let found = btf.find([(Named::Enumeration, "item"), (Named::Enumeration, "wide")]);
    assert_eq!(found, [Some(TypeId(14)), Some(TypeId(15))]);
    let value = |id: u32, name: &str| btf.value(TypeId(id), name).ok();
    assert_eq!(["NONE", "SOME", "LAST"].map(|name| value(14, name)), [Some(0), Some(7), Some(0xffff_ffff)]);
    assert_eq!(["SOME", "BIG", "item"].map(|name| value(15, name)), [Some(2), Some((1 << 40) + 5), None]);
    assert_eq!(
        (value(14, "NON"), value(6, "first"), value(0, "SOME"), value(99, "SOME")),
        (None, None, None, None)
    );
    let first = ["EMPTY", "FULL", "NONE", ""].map(|name| btf.find([(Named::Values, name)])[0]);
    assert_eq!(first, [Some(TypeId(17)), None, None, None]);
    assert_eq!(value(17, "FULL"), Some(1));
}

#[test]
fn damaged_types_are_errors_and_circles_end() {
    let whole = sample();
    for length in 0..whole.len() {
        if let Ok(btf) = Btf::parse(&whole[..length]) {
            panic!("{length} of {} bytes hold {} types", whole.len(), btf.count());
        }
    }
    for at in 0..whole.len() {
        for value in [0, 1, 0x7f, 0xff] {
            let mut bytes = whole.clone();
            bytes[at] = value;
            // Any result is fine as long as the call returns.
            if let Ok(btf) = Btf::parse(&bytes) {
                let _ = btf.field(TypeId(6), "rows[1].c[2]");
                let _ = btf.find([(Named::Struct, "inner"), (Named::Values, "EMPTY")]);
                let _ = (btf.field(TypeId(12), "misses"), btf.whole(TypeId(13)), btf.members(TypeId(12)));
                let _ = btf.place(TypeId(16), TypeId(12));
                let _ = (btf.value(TypeId(14), "LAST"), btf.value(TypeId(15), "BIG"));
            }
        }
    }
    let mut asm = Assembler::new();
    asm.push("loop", 8 << 24, &[1]);
    asm.push("self", STRUCT << 24 | 2, &[8, 0, 2, 0, 0, 2, 0]);
    let bytes = asm.finish();
    let btf = Btf::parse(&bytes).unwrap();
    assert_eq!(btf.field(TypeId(1), "x"), Err(BtfError::TooDeep));
    assert_eq!(btf.field(TypeId(2), "x"), Err(BtfError::TooDeep));
    assert!(btf.field(TypeId(99), "x").is_err());
}

#[test]
fn the_running_kernel_has_a_task() {
    let Ok(bytes) = std::fs::read("/sys/kernel/btf/vmlinux") else {
        tallymon_testkit::skip("this kernel describes no types");
        return;
    };
    let btf = Btf::parse(&bytes).unwrap();
    let [task] = btf.find([(Named::Struct, "task_struct")]);
    let comm = btf.field(task.unwrap(), "comm").unwrap();
    assert_eq!(comm.size, 16);
    assert_eq!(btf.field(task.unwrap(), "se.sum_exec_runtime").unwrap().size, 8);
    let [kinds] = btf.find([(Named::Enumeration, "pid_type")]);
    assert_eq!(btf.value(kinds.unwrap(), "PIDTYPE_PID"), Ok(0));
}
