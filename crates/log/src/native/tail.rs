//! The tail of a recording: rows that are written one by one, until their chunk takes their place.
//!
//! Each row is in the file when it is complete, as the difference from the row before it. When the chunk of
//! the rows is full, it replaces them, in steps of which each leaves a readable log behind:
//!
//! 1. a copy of the chunk is written behind the rows;
//! 2. a jump to that copy is written over the beginning of the first row;
//! 3. the chunk is written over the rows, except for its first bytes, and behind it a jump over all the rest;
//! 4. its first bytes are written over the first jump;
//! 5. the file is cut behind the chunk.
//!
//! The disk is synced between the steps, so that power may fail at any time too.

use std::io;

use super::fields::PutFields;
use super::frame::{JUMP, frame, kind};
use super::index::{ChunkHead, Entry};
use super::output::Output;
use super::write::{NativeWriter, check_length};

/// Writing a disk is whole or not in units of this many bytes at least. The first bytes of a tail lie in one
/// of them.
const SECTOR: u64 = 512;

/// The rows of the chunk that are in the file already.
#[derive(Debug, Default)]
pub(super) struct Tail {
    /// The byte where they begin; `None` while there are none.
    begin: Option<u64>,
    /// How many they are.
    rows: usize,
    /// Objects that they have.
    tables: usize,
    /// Texts that they have.
    texts: usize,
    /// The number of the newest of them.
    newest: u64,
    /// The records of the definitions between them.
    definitions: Vec<Vec<u8>>,
}

impl Tail {
    /// How many of the rows of a chunk are not in the file.
    pub(super) const fn missing(&self, rows: usize) -> u64 {
        rows.saturating_sub(self.rows) as u64
    }
}

/// The record of a jump to a byte.
fn jump(to: u64) -> Vec<u8> {
    frame(kind::JUMP, &to.to_le_bytes())
}

impl<W: Output> NativeWriter<W> {
    /// Ends the row that is being filled. With [`write_through`](super::WriteOptions::write_through) it is in
    /// the file afterwards.
    ///
    /// # Errors
    ///
    /// Errors of the output. The row is held, and written with the chunk if that succeeds.
    pub fn commit(&mut self) -> io::Result<()> {
        self.end_row();
        if !self.options.write_through || self.rows == 0 || self.tail.newest == self.stamp {
            return Ok(());
        }
        let body = self.tail_row();
        check_length(&body)?;
        let begins = self.tail.begin.is_none();
        let mut bytes = Vec::new();
        let needed = self.at.checked_rem(SECTOR).unwrap_or(0).saturating_add(JUMP as u64);
        if begins && needed > SECTOR {
            bytes.extend_from_slice(&jump(self.at.saturating_add(JUMP as u64)));
        }
        let begin = self.at.saturating_add(bytes.len() as u64);
        self.fresh.iter().for_each(|definition| bytes.extend_from_slice(definition));
        bytes.extend_from_slice(&frame(kind::ROW, &body));
        self.write(&bytes)?;
        let mut at = begin;
        for definition in &self.fresh {
            self.definitions.push(at);
            at = at.saturating_add(definition.len() as u64);
        }
        self.tail.definitions.append(&mut self.fresh);
        self.tables.iter_mut().for_each(super::table::Table::row_is_written);
        let tail = &mut self.tail;
        tail.begin.get_or_insert(begin);
        tail.rows = tail.rows.saturating_add(1);
        (tail.tables, tail.texts, tail.newest) = (self.tables.len(), self.new_texts.1.len(), self.stamp);
        Ok(())
    }

    /// The body of the newest row, by its difference from the newest row of the tail.
    fn tail_row(&self) -> Vec<u8> {
        let Tail { begin, tables, texts, newest, .. } = self.tail;
        let time = self.times.last();
        let whole = begin.is_none();
        let head = ChunkHead { key: whole, rows: 1, first: time, most: time, number: Some(self.stamp) };
        let mut body = Vec::new();
        head.encode(&mut body);
        body.put(if whole { 0 } else { self.stamp.saturating_sub(newest) });
        body.put(self.minutes.last());
        let new = self.tables.get(tables..).unwrap_or_default();
        body.put(new.len() as u64);
        for table in new {
            body.extend_from_slice(&table.hash.to_le_bytes());
        }
        for table in &self.tables {
            let instances = table.unwritten();
            body.put(instances.len() as u64);
            for instance in instances {
                instance.encode(&mut body);
            }
        }
        let (first, all) = &self.new_texts;
        let new = all.get(texts..).unwrap_or_default();
        body.put(first.saturating_add(texts as u64));
        body.put(new.len() as u64);
        for text in new {
            body.put_text(text);
        }
        for table in &self.tables {
            table.encode_row(&mut body, whole);
        }
        body
    }

    /// Writes a chunk: in place of the rows of the tail if there are any, else at the end. Definitions that
    /// the log has only once are written again with it.
    pub(super) fn write_chunk(&mut self, head: ChunkHead, body: &[u8]) -> io::Result<()> {
        check_length(body)?;
        let copies = self.copies.iter().map(|(kind, body)| (*kind, frame(*kind, body)));
        let once = self.tail.definitions.iter().chain(&self.fresh).cloned();
        let once = once.map(|definition| (kind::DEFINITION, definition));
        let mut unit = Vec::new();
        let mut definitions = Vec::new();
        for (kind, record) in once.chain(copies) {
            if kind == kind::DEFINITION {
                definitions.push(unit.len() as u64);
            }
            unit.extend_from_slice(&record);
        }
        let chunk_at = unit.len() as u64;
        unit.extend_from_slice(&frame(kind::CHUNK, body));
        let begin = self.tail.begin.unwrap_or(self.at);
        let entry = Entry { at: begin, first: head.first, most: head.most };
        let missing = self.tail.missing(head.rows);
        if missing == 0 && unit.len() as u64 >= self.at.saturating_sub(begin) {
            // A few rows take no more room than their chunk.
            self.index.push(entry);
            return Ok(());
        }
        let written = match self.tail.begin {
            Some(_) => self.replace(begin, &unit, &definitions),
            None => self.write(&unit),
        };
        match written {
            Ok(()) => {
                self.definitions.retain(|at| *at < begin);
                self.definitions.extend(definitions.iter().map(|at| at.saturating_add(begin)));
                self.index.push(Entry { at: begin.saturating_add(chunk_at), ..entry });
                self.fresh.clear();
                self.copies.clear();
                Ok(())
            }
            Err(error) => {
                if self.tail.rows > 0 {
                    self.index.push(entry);
                }
                // Nothing is lost while the file has the rows.
                if missing == 0 { Ok(()) } else { Err(error) }
            }
        }
    }

    /// Replaces all from a byte on, in the steps at the top of this file.
    fn replace(&mut self, begin: u64, unit: &[u8], definitions: &[u64]) -> io::Result<()> {
        let (head, rest) = unit.split_at_checked(JUMP).unwrap_or((unit, &[]));
        let end = begin.saturating_add(unit.len() as u64);
        let copy = self.at.max(end.saturating_add(JUMP as u64));
        let copied = self.out.write_at(copy, unit).and_then(|()| self.out.sync());
        if let Err(error) = copied {
            // The rows stay as they are; a rest that stays is damage that readers pass over.
            let _ = self.out.cut(self.at);
            return Err(error);
        }
        let place = begin.saturating_add(JUMP as u64);
        let mut rest = rest.to_vec();
        rest.extend_from_slice(&jump(copy.saturating_add(unit.len() as u64)));
        let replaced = self
            .out
            .write_at(begin, &jump(copy))
            .and_then(|()| self.out.sync())
            .and_then(|()| self.out.write_at(place, &rest))
            .and_then(|()| self.out.sync())
            .and_then(|()| self.out.write_at(begin, head))
            .and_then(|()| self.out.sync())
            .and_then(|()| self.out.cut(end));
        match replaced {
            Ok(()) => {
                self.at = end;
                Ok(())
            }
            Err(error) => {
                // Whatever step failed, the jumps lead to the copy, behind which the log goes on.
                self.at = copy.saturating_add(unit.len() as u64);
                self.definitions.extend(definitions.iter().map(|at| at.saturating_add(copy)));
                self.out.cut(self.at)?;
                Err(error)
            }
        }
    }
}
