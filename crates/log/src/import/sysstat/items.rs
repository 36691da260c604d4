//! Reads the items of an activity: their numbers and their names.

use tallymon_core::bytes::{ByteOrder, Bytes};

use super::activities::{Activity, INTERRUPT_SUM, Items, MACHINE};
use super::read::{Stored, Width, text};
use crate::import::columns::Columns;
use crate::import::table::{Field, LEVEL, Number, Table};

/// Reads the items of one activity.
#[derive(Clone, Copy)]
pub(super) struct ItemReader<'a> {
    pub(super) stored: &'a Stored,
    pub(super) known: &'static Activity,
    pub(super) order: ByteOrder,
    /// Bytes of a `long` of the machine that wrote the file.
    pub(super) long: u8,
}

/// The name of a processor: the first item is all of them.
fn processor(nth: usize) -> String {
    match nth.checked_sub(1) {
        Some(number) => number.to_string(),
        None => "_Total".to_owned(),
    }
}

impl ItemReader<'_> {
    /// Puts all items of `data` into columns.
    pub(super) fn put(&self, data: &[u8], sub_items: usize, columns: &mut Columns) {
        let table = &self.known.table;
        let mut total: Vec<Number> = Vec::new();
        let mut has_total = false;
        let mut names: Vec<String> = Vec::new();
        for (nth, item) in data.chunks_exact(self.stored.size.max(1)).enumerate() {
            let numbers = self.numbers(item);
            let is_empty = numbers.iter().all(|number| number.as_whole() == Some(0));
            let outer = nth.checked_div(sub_items).unwrap_or_default();
            let inner = nth.checked_rem(sub_items).unwrap_or_default();
            match self.known.items {
                // With one processor there may be no item for all of them.
                Items::SummedProcessors if nth == 0 && data.len() > self.stored.size => {
                    // Before 11.7.1 sar shows what the kernel added up.
                    if self.stored.is_old && !is_empty {
                        total.clone_from(&numbers);
                    }
                    has_total = !total.is_empty();
                }
                Items::SummedProcessors => {
                    if !has_total {
                        add(&mut total, &numbers);
                    }
                    // A processor that is off has only zeros; it has no share of anything.
                    if !is_empty || self.known.id != 1 {
                        self.item(columns, table, Some(&nth.saturating_sub(1).to_string()), &numbers);
                    }
                }
                // Files have empty places behind the frequencies of a processor.
                Items::Matrix if is_empty => {}
                Items::OldInterrupts if nth == 0 => {
                    self.item(columns, &INTERRUPT_SUM, Some("_Total"), &numbers);
                }
                Items::Interrupts(length) => {
                    if outer == 0 {
                        names.push(self.text(item, 0, length));
                    }
                    if inner == 0 {
                        self.item(columns, &INTERRUPT_SUM, Some(&processor(outer)), &numbers);
                    } else {
                        let name = names.get(inner).map(String::as_str).unwrap_or_default();
                        let name = format!("{},{name}", processor(outer));
                        self.item(columns, table, Some(&name), &numbers);
                    }
                }
                Items::Battery => battery(columns, table, item),
                _ => {
                    let name = self.name(item, &numbers, nth, outer, inner);
                    if self.stored.is_old && matches!(name.as_deref(), Some("" | "dev0-0")) {
                        continue;
                    }
                    self.item(columns, table, name.as_deref(), &numbers);
                }
            }
        }
        if self.known.items == Items::SummedProcessors && !total.is_empty() {
            self.item(columns, table, Some("_Total"), &total);
            if self.known.id == 1 {
                self.item(columns, &MACHINE, None, &total);
            }
        }
    }

    /// The name of an item, for those that are named by themselves.
    fn name(
        &self,
        item: &[u8],
        numbers: &[Number],
        nth: usize,
        outer: usize,
        inner: usize,
    ) -> Option<String> {
        let named = |name: &str| {
            let at = self.stored.fields.iter().position(|(known, ..)| known == name)?;
            numbers.get(at).and_then(|number| number.as_whole())
        };
        match self.known.items {
            Items::Processors => Some(processor(nth)),
            Items::Text(at, length) => Some(self.text(item, at, length)),
            Items::FirstField => Some(named("line").unwrap_or_default().to_string()),
            Items::Disk => {
                let [major, minor] = ["major", "minor"].map(|name| named(name).unwrap_or_default());
                Some(format!("dev{major}-{minor}"))
            }
            Items::Numbered(length) => {
                let name = format!("{} {}", nth.saturating_add(1), self.text(item, 0, length));
                Some(name.trim_end().to_owned())
            }
            Items::Matrix => Some(format!("{},{inner}", processor(outer))),
            Items::OldInterrupts => Some(format!("_Total,{}", nth.saturating_sub(1))),
            Items::One | Items::SummedProcessors | Items::Interrupts(_) | Items::Battery => None,
        }
    }

    fn item(&self, columns: &mut Columns, table: &Table<'_>, name: Option<&str>, numbers: &[Number]) {
        let fields: Vec<Field<'_>> = self
            .stored
            .fields
            .iter()
            .zip(numbers)
            .map(|((name, own, _), number)| Field { name, number: Some(*number), own: *own, source: 0 })
            .collect();
        columns.put(table, 0, name.map(|name| (name, name)), &fields);
    }

    /// The text of an item, `at` bytes behind its numbers.
    fn text(&self, item: &[u8], at: usize, length: usize) -> String {
        let from = self.stored.text_at.saturating_add(at).min(item.len());
        let to = from.saturating_add(length).min(item.len());
        text(item.get(from..to).unwrap_or_default())
    }

    /// The numbers of an item.
    fn numbers(&self, item: &[u8]) -> Vec<Number> {
        let bytes = Bytes::new(item, self.order);
        let mut numbers = Vec::with_capacity(self.stored.fields.len());
        for ((_, _, width), at) in self.stored.fields.iter().zip(&self.stored.places) {
            let at = *at;
            let number = match width {
                Width::Long => bytes.u64(at, "field").map(Number::U64),
                Width::Float => bytes.u64(at, "field").map(|bits| Number::F64(f64::from_bits(bits))),
                Width::Word if self.long == 4 => bytes.u32(at, "field").map(Number::U32),
                Width::Word => bytes.u64(at, "field").map(Number::U64),
                Width::Int => bytes.u32(at, "field").map(Number::U32),
            };
            numbers.push(number.unwrap_or(Number::U32(0)));
        }
        numbers
    }
}

/// Puts a battery: its number, its capacity in percent and its status, a byte each.
fn battery(columns: &mut Columns, table: &Table<'_>, item: &[u8]) {
    let byte = |at: usize| item.get(at).map(|byte| Number::U32(u32::from(*byte)));
    let name = byte(0).and_then(Number::as_whole).unwrap_or_default().to_string();
    let field = |name, at| Field { name, number: byte(at), own: LEVEL, source: 0 };
    columns.put(table, 0, Some((&name, &name)), &[field("capacity", 1), field("status", 2)]);
}

/// Adds the numbers of one processor to those of all.
fn add(total: &mut Vec<Number>, numbers: &[Number]) {
    if total.is_empty() {
        total.extend_from_slice(numbers);
        return;
    }
    for (sum, number) in total.iter_mut().zip(numbers) {
        *sum = match (*sum, *number) {
            (Number::U32(sum), Number::U32(number)) => Number::U32(sum.wrapping_add(number)),
            (Number::U64(sum), Number::U64(number)) => Number::U64(sum.wrapping_add(number)),
            (sum, _) => sum,
        };
    }
}
