//! `tally serve --samba`: the counters of this machine in the databases from which Samba answers Windows'
//! tools.

use std::io::Write;
use std::path::Path;
use std::time::Duration;

use tallymon::core::path::Part;
use tallymon::core::request::Request;
use tallymon::core::title::{Language, TitleIndex};
use tallymon::log::new_file::{NewFile, Overwrite};
use tallymon::{Query, open};
use tallymon_export::samba::SambaTables;
use tallymon_provider::trust::check_path;

use crate::arguments::Common;
use crate::exit::{Failure, Kind};
use crate::paths;
use crate::readers::Readers;
use crate::stop::{Stop, Ticks};
use crate::words::say;

/// The objects of a whole machine. Processes and threads are left out: Samba takes long for many instances.
const USUAL: [u32; 10] = [2, 4, 86, 234, 236, 238, 260, 510, 638, 700];

/// Writes the databases at each interval, until stopped.
pub(crate) fn run(
    common: &Common,
    folder: &Path,
    wanted: &[String],
    group: Option<&str>,
    interval: Duration,
) -> Result<(), Failure> {
    let readers = group.map(Readers::of_group).transpose()?;
    if !folder.is_dir() {
        let words = format_args!(
            "{}: no such folder; 'smbd -b' prints the state directory of Samba: create 'perfmon' in it, with mode \
             0755",
            folder.display()
        );
        return Err(Failure::new(Kind::NotFound, words));
    }
    // Whoever can write there could lead a database to any file, by a link.
    check_path(folder).map_err(|untrusted| Failure::new(Kind::AccessDenied, untrusted))?;
    let location = paths::location(common)?;
    let mut source = open(&location)?;
    let objects = objects(Query::new(open(&location)?, Language::ENGLISH)?, wanted)?;
    let titles = source.titles(Language::ENGLISH)?;
    let request = Request::objects(objects);
    // Some values need a sample before them.
    let first = source.snapshot(&request)?;
    source.give_back(first);
    let stop = Stop::on_signals()?;
    let mut ticks = Ticks::start(interval);
    let mut tables: Option<SambaTables> = None;
    let mut last_names = Vec::new();
    loop {
        let snapshot = source.snapshot(&request)?;
        let tables = tables.get_or_insert_with(|| {
            let tables = SambaTables::new(&snapshot, &titles);
            tables.left_out().iter().for_each(|why| say(format_args!("left out: {why}")));
            tables
        });
        let files = tables.files(&snapshot).ok_or_else(|| {
            Failure::new(
                Kind::Other,
                "the values do not fit in Samba's databases; choose fewer objects with --object",
            )
        })?;
        // Values first: a name without a value empties the whole answer of Samba.
        write(folder, "data.tdb", &files.data, readers)?;
        if files.names != last_names {
            write(folder, "names.tdb", &files.names, readers)?;
            last_names = files.names;
        }
        source.give_back(snapshot);
        if !stop.wait_until(ticks.next()) {
            return Ok(());
        }
    }
}

/// Replaces a database. `readers` may read it; everybody without them, or whoever could read the old one.
fn write(folder: &Path, name: &str, bytes: &[u8], readers: Option<Readers>) -> Result<(), Failure> {
    let file = folder.join(name);
    let written = NewFile::create(&file, Overwrite::Replace).and_then(|new| {
        let mut part = new.file()?;
        readers.map_or(Ok(()), |readers| readers.may_read(&part))?;
        part.write_all(bytes)?;
        new.keep()
    });
    written.map_err(|error| Failure::file(&file, &error))
}

/// The objects that were named, or the usual ones that are here.
fn objects(mut query: Query, wanted: &[String]) -> Result<Vec<TitleIndex>, Failure> {
    if wanted.is_empty() {
        let is_here = |object: &TitleIndex| query.catalog().object(*object).is_some();
        return Ok(USUAL.into_iter().map(TitleIndex).filter(is_here).collect());
    }
    wanted.iter().map(|name| Ok(query.object(name, &Part::parse(name))?)).collect()
}
