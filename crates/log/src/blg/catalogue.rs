//! The other parts of logs of whole objects: the names of objects and counters, and a catalogue.

use tallymon_core::bytes::Bytes;
use tallymon_core::counter::CounterType;
use tallymon_core::error::Error;
use tallymon_core::text::{ByteOrder, WideStr};
use tallymon_core::time::FileTime;

use super::align8;
use super::records::{take_text, until_nul};

/// The catalogue at the end of a log of whole objects.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Catalogue {
    /// Local time of the first record.
    pub first: FileTime,
    /// Local time of the last record.
    pub last: FileTime,
    /// How many data records there are.
    pub records: u32,
    /// The objects in the order of the counter list.
    pub objects: Vec<CatalogueObject>,
}

/// An object of a [`Catalogue`].
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CatalogueObject {
    /// Its counters: title index, type, time base, default scale.
    pub counters: Vec<(u32, CounterType, i64, i32)>,
    /// All instances of the whole log, with their number among equal names; `None` for an object without
    /// instances.
    pub instances: Option<Vec<(String, u32)>>,
}

impl Catalogue {
    /// Reads the body of a catalogue.
    ///
    /// # Errors
    ///
    /// A length or offset leads outside the catalogue.
    pub fn parse(body: &[u8]) -> Result<Catalogue, Error> {
        const WHAT: &str = "catalogue";
        let mut catalogue = Catalogue {
            first: FileTime(Bytes::little(body).u64(0, WHAT)?),
            last: FileTime(Bytes::little(body).u64(8, WHAT)?),
            records: Bytes::little(body).u32(0x10, WHAT)?,
            objects: Vec::new(),
        };
        let mut at = 0x20usize;
        for _ in 0..Bytes::little(body).u32(0x14, WHAT)? {
            let length = Bytes::little(body).length(at.saturating_add(4), "catalogue object, length")?;
            let object = Bytes::little(body).slice(at, length.max(16), "catalogue object")?.data();
            catalogue.objects.push(CatalogueObject::parse(object)?);
            at = at.saturating_add(length.max(16));
        }
        Ok(catalogue)
    }
}

impl CatalogueObject {
    fn parse(data: &[u8]) -> Result<CatalogueObject, Error> {
        const WHAT: &str = "catalogue object";
        let n_instances = Bytes::little(data).i32(8, WHAT)?;
        let n_counters = Bytes::little(data).length(12, WHAT)?;
        let column =
            |start: usize, position: usize, size: usize| start.saturating_add(position.saturating_mul(size));
        let titles = 16usize;
        let types = column(titles, n_counters, 4);
        let bases = column(types, n_counters, 4);
        let scales = column(bases, n_counters, 8);
        // Check that all four arrays are there before anything is allocated by their length.
        Bytes::little(data).slice(0, column(scales, n_counters, 4), WHAT)?.data();
        let mut counters = Vec::new();
        for position in 0..n_counters {
            counters.push((
                Bytes::little(data).u32(column(titles, position, 4), WHAT)?,
                CounterType(Bytes::little(data).u32(column(types, position, 4), WHAT)?),
                Bytes::little(data).u64(column(bases, position, 8), WHAT)?.cast_signed(),
                Bytes::little(data).i32(column(scales, position, 4), WHAT)?,
            ));
        }
        let first_instance = align8(column(scales, n_counters, 4));
        let instances = match usize::try_from(n_instances) {
            Err(_) => None,
            Ok(count) => {
                let mut instances = Vec::new();
                let names = Bytes::little(data)
                    .rest(column(first_instance, count, 16), "catalogue object, instances")?
                    .data();
                let mut budget = names.len();
                for position in 0..count {
                    let at = column(first_instance, position, 16);
                    let name_at = Bytes::little(data).length(at, WHAT)?;
                    let number = Bytes::little(data).u32(at.saturating_add(4), WHAT)?;
                    let name_end = name_at.saturating_add(budget).min(names.len());
                    let Some(name) = names.get(name_at..name_end).and_then(until_nul) else {
                        let what = "catalogue object, name of an instance";
                        return Err(Error::outside(what, at, name_at as u64, 0, names.len() as u64));
                    };
                    budget = budget.saturating_sub(name.len().saturating_add(2));
                    instances.push((WideStr::new(name, ByteOrder::Little).to_string_lossy(), number));
                }
                Some(instances)
            }
        };
        Ok(CatalogueObject { counters, instances })
    }
}

/// The pairs of title index and name in the body of a names event.
pub(super) fn names(body: &[u8], mut each: impl FnMut(u32, String)) {
    // First comes the name of the machine.
    let Some((_, mut rest)) = take_text(body) else {
        return;
    };
    while let Some((index, after)) = take_text(rest) {
        // After the last pair there is garbage up to the alignment.
        let (Ok(index), Some((name, after))) = (index.parse(), take_text(after)) else {
            return;
        };
        each(index, name);
        rest = after;
    }
}
