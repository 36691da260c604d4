//! Where the running kernel keeps the counters of its network protocols.

use super::super::assembler::FieldOffset;
use super::super::btf::{Btf, BtfError, Named, TypeId};
use super::super::per_cpu::CpuLoop;
use super::tables::{MemberKey, Table, V4, V6};

/// The word of the first table in the map; the words before it are used by `program`.
const FIRST: u32 = 4;

/// The layout of the counters in the running kernel.
#[derive(Debug)]
pub(crate) struct NetworkLayout {
    /// `None` before Linux 6.4.
    pub(super) each: Option<CpuLoop>,
    pub(super) way: NamespacePath,
    /// The offset in a per-CPU map of the pointer to its values.
    pub(super) of_map: u32,
    /// A structure that begins with an 8-byte number.
    pub(super) number: TypeId,
    /// In the order of [`V4`]; `None` for a table that this kernel lacks.
    pub(super) v4: [Option<TableLayout>; V4.len()],
    /// In the order of [`V6`].
    pub(super) v6: [Option<TableLayout>; V6.len()],
    /// How many words the program writes.
    pub(super) words: u32,
}

/// The offsets on the path from a task to the network namespace of its process.
#[derive(Debug)]
pub(super) struct NamespacePath {
    /// In a task: the first thread of its process, to whose namespace `/proc/net` belongs.
    pub(super) first: u32,
    /// In that thread.
    pub(super) namespaces: u32,
    /// In the set of namespaces.
    pub(super) network: u32,
    /// In a network namespace, its inode number.
    pub(super) inode: u32,
}

/// A table in the running kernel.
#[derive(Debug)]
pub(crate) struct TableLayout {
    /// Its offset in a network namespace.
    pub(super) at: u32,
    pub(super) of: TypeId,
    pub(super) is_of_each: bool,
    /// The word that counts how often the table was read; one word for each member follows.
    pub(super) word: u32,
    /// The offsets of the members; `None` for a member that this kernel does not count.
    pub(super) places: Vec<Option<FieldOffset>>,
}

impl NetworkLayout {
    pub(super) fn new(btf: &Btf<'_>) -> Result<NetworkLayout, BtfError> {
        use Named::Struct;
        let [task, namespaces, network, map, number] = btf.find([
            (Struct, "task_struct"),
            (Struct, "nsproxy"),
            (Struct, "net"),
            (Struct, "bpf_array"),
            (Struct, "timespec64"),
        ]);
        let missing = |name: &str| BtfError::NoField { path: name.to_string() };
        let offset = |of: Option<TypeId>, path: &str| {
            of.ok_or_else(|| missing(path)).and_then(|of| btf.field(of, path)).map(|field| field.offset)
        };
        let network = network.ok_or_else(|| missing("net"))?;
        let wanted: Vec<_> =
            V4.iter().flat_map(Table::names).chain(V6.iter().flat_map(Table::names)).collect();
        let mut found = vec![None; wanted.len()];
        btf.find_all(&wanted, &mut found);
        let (mut found, mut words) = (found.into_iter(), FIRST);
        let v4 = V4.each_ref().map(|table| counts(btf, network, table, &mut found, &mut words));
        let v6 = V6.each_ref().map(|table| counts(btf, network, table, &mut found, &mut words));
        Ok(NetworkLayout {
            each: CpuLoop::find(btf),
            way: NamespacePath {
                first: offset(task, "group_leader")?,
                namespaces: offset(task, "nsproxy")?,
                network: offset(namespaces, "net_ns")?,
                inode: offset(Some(network), "ns.inum")?,
            },
            of_map: offset(map, "pptrs")?,
            number: number.ok_or_else(|| missing("timespec64"))?,
            v4,
            v6,
            words,
        })
    }

    /// All tables of this kernel.
    pub(super) fn tables(&self) -> impl Iterator<Item = &TableLayout> {
        self.v4.iter().chain(&self.v6).flatten()
    }
}

/// Finds a table, whose types are the next of `found`, and assigns its words.
fn counts<File>(
    btf: &Btf<'_>,
    network: TypeId,
    table: &Table<File>,
    found: &mut impl Iterator<Item = Option<TypeId>>,
    words: &mut u32,
) -> Option<TableLayout> {
    let (of, values) = (found.next().flatten(), found.next().flatten());
    let at = btf.field(network, table.at).ok()?.offset;
    let places = places(btf, of?, values, table)?;
    let word = *words;
    *words = u32::try_from(places.len()).ok()?.checked_add(word)?.checked_add(1)?;
    Some(TableLayout { at, of: of?, is_of_each: table.is_of_each, word, places })
}

/// The offsets of the members of a table.
fn places<File>(
    btf: &Btf<'_>,
    of: TypeId,
    values: Option<TypeId>,
    table: &Table<File>,
) -> Option<Vec<Option<FieldOffset>>> {
    let end = btf.field(of, "mibs").ok()?.size;
    let place = |number: u64| {
        let field = btf.field(of, &format!("mibs[{number}]")).ok()?;
        let is_inside = field.offset.saturating_add(field.size) <= end;
        FieldOffset::new(field.offset, field.size).filter(|_| is_inside)
    };
    let mut places: Vec<Option<FieldOffset>> = Vec::new();
    for (index, _) in table.members {
        let named = |name: &&str| {
            let found = place(btf.value(values?, name).ok()?);
            found.filter(|place| !places.contains(&Some(*place)))
        };
        places.push(match index {
            MemberKey::Message(number) => place(u64::from(*number)),
            MemberKey::Named(names) => names.iter().find_map(named),
        });
    }
    Some(places)
}
