//! The binary files of sysstat (`/var/log/sysstat/sa21`), as `sadc` writes them since version 10.0.
//!
//! Since 11.7.1 a file describes its own structures: how many fields of which width each has. So files of
//! other versions and of machines with another byte order or width are read too. Fields that a newer
//! version appends to a structure that this one knows keep a counter each, named by their place.

mod activities;
mod items;
mod old;
mod old_headers;
mod read;
#[cfg(test)]
mod sysstat_tests;

pub(crate) use read::SysstatDecoder;

#[cfg(test)]
use super::table::Table;

/// `SYSSTAT_MAGIC`, in the byte order of the machine that wrote the file.
const MAGIC: u16 = 0xd596;
/// The format since version 11.7.1.
const FORMAT: u16 = 0x2175;

/// Whether a file begins as a file of sysstat.
pub(crate) fn detect(head: &[u8]) -> bool {
    matches!(head, [0x96, 0xd5, _, 0x21, ..] | [0xd5, 0x96, 0x21, _, ..])
}

/// The tables of the documentation.
#[cfg(test)]
pub(crate) fn tables() -> Vec<Table<'static>> {
    let mut tables: Vec<Table<'static>> =
        activities::ACTIVITIES.iter().map(|activity| activity.table).collect();
    tables.extend([activities::MACHINE, activities::INTERRUPT_SUM]);
    tables
}
