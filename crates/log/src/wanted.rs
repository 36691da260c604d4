//! Reading that ends when nobody waits for it any longer.

use std::io;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::error::LogError;
use crate::reader::{
    About, Contents, LogPlace, LogReader, PartStatistics, Record, ScannedRecord, pass_record_on,
};

/// Whether somebody still waits for what is read from a log. The default is always; clones share the answer.
#[derive(Debug, Clone, Default)]
pub struct Wanted(Option<Arc<AtomicBool>>);

impl Wanted {
    /// It is wanted until [`Wanted::end`].
    pub fn until_ended() -> Wanted {
        Wanted(Some(Arc::new(AtomicBool::new(true))))
    }

    /// Nobody waits any longer: the next record, or the next bytes of the file, are an error.
    pub fn end(&self) {
        if let Some(flag) = &self.0 {
            flag.store(false, Ordering::Relaxed);
        }
    }

    /// Whether somebody still waits.
    pub fn is_wanted(&self) -> bool {
        self.0.as_ref().is_none_or(|flag| flag.load(Ordering::Relaxed))
    }

    /// An error once nobody waits.
    pub(crate) fn check(&self) -> io::Result<()> {
        if self.is_wanted() {
            return Ok(());
        }
        Err(io::Error::other("reading was ended, because nobody waits for it any longer"))
    }

    /// The reader, which ends when nobody waits.
    pub(crate) fn watch<'r>(&self, log: Box<dyn LogReader + 'r>) -> Box<dyn LogReader + 'r> {
        match self.0 {
            None => log,
            Some(_) => Box::new(WhileWanted { inner: log, wanted: self.clone() }),
        }
    }
}

/// All are equal: they do not change what is read.
impl PartialEq for Wanted {
    fn eq(&self, _: &Wanted) -> bool {
        true
    }
}

impl Eq for Wanted {}

/// A reader that asks before each record.
struct WhileWanted<'r> {
    inner: Box<dyn LogReader + 'r>,
    wanted: Wanted,
}

impl LogReader for WhileWanted<'_> {
    fn about(&self) -> &About {
        self.inner.about()
    }

    fn next_record(&mut self) -> Result<Option<Record>, LogError> {
        self.wanted.check()?;
        self.inner.next_record()
    }

    pass_record_on!();

    fn scan(&mut self, each: &mut dyn FnMut(ScannedRecord) -> ControlFlow<()>) -> Result<(), LogError> {
        let wanted = self.wanted.clone();
        self.inner.scan(&mut |record| {
            if wanted.is_wanted() { each(record) } else { ControlFlow::Break(()) }
        })?;
        Ok(wanted.check()?)
    }

    fn contents(&mut self, take_columns: bool) -> Result<Option<Contents>, LogError> {
        self.wanted.check()?;
        self.inner.contents(take_columns)
    }

    fn places(&mut self, part: usize) -> Result<Vec<LogPlace>, LogError> {
        self.wanted.check()?;
        self.inner.places(part)
    }

    fn statistics(
        &mut self,
        part: usize,
        wanted: &[usize],
        only_counts: bool,
    ) -> Result<Option<PartStatistics>, LogError> {
        self.wanted.check()?;
        self.inner.statistics(part, wanted, only_counts)
    }
}

#[cfg(test)]
mod tests {
    use std::fmt::Write;
    use std::path::PathBuf;

    use super::*;
    use crate::compare::{Align, compare};
    use crate::open::open;
    use crate::options::ReadOptions;
    use crate::relog::{Options, relog};
    use crate::select::Selection;

    fn log(name: &str) -> PathBuf {
        let mut text = "\"(PDH-CSV 4.0) (UTC)(0)\",\"\\\\vm\\System\\Threads\"\r\n".to_owned();
        for row in 0..3600 {
            write!(text, "\"11/26/2016 00:{:02}:{:02}.000\",\"{row}\"\r\n", row / 60, row % 60).unwrap();
        }
        let path = std::env::temp_dir().join(format!("tallymon-wanted-{name}-{}.csv", std::process::id()));
        std::fs::write(&path, text).unwrap();
        path
    }

    #[test]
    fn what_nobody_waits_for_ends() {
        let (path, output) = (log("in"), log("out"));
        std::fs::remove_file(&output).unwrap();
        let wanted = Wanted::until_ended();
        let read = ReadOptions { wanted: wanted.clone(), ..ReadOptions::default() };
        let mut reader = open(&path, &read).unwrap();
        for _ in 0..10 {
            assert!(reader.next_record().unwrap().is_some());
        }
        wanted.end();
        assert!(reader.next_record().is_err());
        assert!(reader.scan(&mut |_| ControlFlow::Continue(())).is_err());
        // Whatever opens a log with these options ends, and leaves nothing.
        let options = Options { read: read.clone(), ..Options::default() };
        assert!(relog(std::slice::from_ref(&path), &output, &options).is_err() && !output.exists());
        let select = Selection::default();
        assert!(compare([&path, &path], Align::Start, &select, &read).is_err());
        let read = ReadOptions::default();
        assert_eq!(compare([&path, &path], Align::Start, &select, &read).unwrap().sides[0].records, 3600);
        std::fs::remove_file(&path).unwrap();
    }
}
