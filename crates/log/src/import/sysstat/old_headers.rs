//! Reads the headers of sysstat's files before 11.7.1.

use std::io::Read;

use tallymon_core::bytes::Bytes;
use tallymon_core::error::Error;

use super::old;
use super::read::{MOST_ACTIVITIES, MOST_HEADER, Stored, SysstatDecoder, Widths, bad, not_a_log};
use crate::error::LogError;
use crate::import::columns::Columns;
use crate::import::table::{LEVEL, RATE};
use crate::zone::Zone;

impl<R: Read + Send> SysstatDecoder<R> {
    /// Reads the headers of a file before 11.7.1, behind the first one.
    pub(super) fn old_headers(&mut self, columns: &mut Columns, format: u16) -> Result<(), LogError> {
        if format == old::FIRST {
            // There the first header has 8 bytes, and the second one 280.
            let begin = self.buffer.split_off(8);
            self.whole(280_usize.saturating_sub(begin.len()), "header")?;
            self.buffer.splice(0..0, begin);
        } else {
            let size = Bytes::new(&self.buffer, self.order).length(8, "length of the header").map_err(bad)?;
            if size > MOST_HEADER {
                return Err(not_a_log(format!("a sysstat file whose header has {size} bytes")));
            }
            self.whole(size, "second header")?;
        }
        let header = old::Header::of(Bytes::new(&self.buffer, self.order), format).map_err(bad)?;
        let (count, changing) = (header.activities as usize, header.changing as usize);
        if count > MOST_ACTIVITIES || changing > MOST_ACTIVITIES || !matches!(header.long, 4 | 8) {
            return Err(not_a_log(format!(
                "a sysstat file with {count} activities, {changing} that change, and words of {} bytes",
                header.long
            )));
        }
        (self.long, self.old, self.record_size) = (header.long, Some(header.changing), old::RECORD);
        columns.host = Some(header.host).filter(|host| !host.is_empty());
        columns.about.zone = Zone::Fixed { name: String::new(), bias: 0 };
        self.whole(count.saturating_mul(old::ENTRY), "list of activities")?;
        let list = std::mem::take(&mut self.buffer);
        for entry in list.chunks_exact(old::ENTRY) {
            let stored = self.old_stored(Bytes::new(entry, self.order)).map_err(bad)?;
            self.say_unknown(columns, &stored);
            self.activities.push(stored);
        }
        Ok(())
    }

    /// An activity of a file before 11.7.1.
    fn old_stored(&self, bytes: Bytes<'_>) -> Result<Stored, Error> {
        let (id, magic) = (bytes.u32(0, "activity")?, bytes.u32(4, "version of the activity")?);
        let size = bytes.length(16, "length of an item")?;
        let fields = old::fields(id, magic, size, self.long);
        let known = fields.as_ref().map(|fields| fields.known);
        let (places, text_at) = fields.map(|fields| (fields.places, fields.text_at)).unwrap_or_default();
        let all = known.map(|known| [known.longs, known.words, known.ints].join(" ")).unwrap_or_default();
        let kind = |name: &str| {
            let counts = all.split(' ').any(|known| known.strip_suffix('/') == Some(name));
            if counts { RATE } else { LEVEL }
        };
        Ok(Stored {
            id,
            magic,
            items: bytes.u32(8, "items of the activity")?,
            sub_items: bytes.u32(12, "sub-items of the activity")?,
            counted: false,
            size,
            widths: Widths::default(),
            known,
            fields: places
                .iter()
                .map(|place| (place.name.to_owned(), kind(place.name), place.width))
                .collect(),
            places: places.iter().map(|place| place.at).collect(),
            text_at,
            is_old: true,
        })
    }

    /// Reads what follows a restart: since 10.3 the activities whose number of items may be another one.
    pub(super) fn after_restart(&mut self) -> Result<bool, LogError> {
        let Some(changing) = self.old else { return Ok(self.fill(4)?) };
        if !self.fill(u64::from(changing).saturating_mul(old::ENTRY as u64))? {
            return Ok(false);
        }
        let list = std::mem::take(&mut self.buffer);
        for entry in list.chunks_exact(old::ENTRY) {
            let bytes = Bytes::new(entry, self.order);
            let (id, items) = (bytes.u32(0, "activity").map_err(bad)?, bytes.u32(8, "items").map_err(bad)?);
            // The place of an activity that is not recorded any more is filled by zeros.
            if let Some(stored) = self.activities.iter_mut().find(|stored| stored.id == id && items > 0) {
                stored.items = items;
            }
        }
        Ok(true)
    }
}
