//! The dialog of counters, on the terminal of the program.

use std::io::{IsTerminal, stderr, stdin, stdout};
use std::ops::ControlFlow;

use tallymon::Expand;
use tallymon::core::path::{CounterPath, InstancePath, Part};

use crate::logs::{DataSource, SourceParameter};
use crate::memory::{Buf, Letter, Out, Str};
use crate::status::{self, Done, Status};
use crate::text::list;

const SINGLE_PER_ADD: u32 = 1 << 1;
const SINGLE_PER_DIALOG: u32 = 1 << 2;
const WILDCARD_INSTANCES: u32 = 1 << 4;
const INITIALIZE_PATH: u32 = 1 << 6;
const SHOW_OBJECT_BROWSER: u32 = 1 << 9;

/// How often a program may ask for the same choice again.
const MOST_TRIES: u32 = 16;

/// `PDH_BROWSE_DLG_CONFIG`, and its variant with a handle in place of the name of a data source.
#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct Config<L, S> {
    flags: u32,
    owner: usize,
    source: S,
    paths: Buf<L>,
    room: u32,
    call: Option<extern "C" fn(usize) -> u32>,
    argument: usize,
    status: Status,
    detail: u32,
    caption: Str<L>,
}

/// Lets the user choose counters of this machine or of a log. Each choice is written to the program's
/// buffer, and then its callback is called. Without a terminal there is no dialog.
pub(crate) fn browse<L: Letter, S: SourceParameter + Copy>(config: Out<Config<L, S>>) -> Done {
    let wanted = config.get().ok_or(status::NO_DIALOG_DATA)?;
    if wanted.paths.is_null() || wanted.room == 0 {
        return Err(status::INVALID_ARGUMENT);
    }
    let source = wanted.source.source()?;
    if !stdin().is_terminal() || !(stdout().is_terminal() || stderr().is_terminal()) {
        return Err(status::NOT_IMPLEMENTED);
    }
    let mut query = source.catalogue()?;
    // The dialog shows all counters. Without an answer it shows those that are known.
    let _ = query.define_registered();
    let begin = if wanted.flags & INITIALIZE_PATH != 0 {
        let path = wanted.paths.text().unwrap_or_default();
        query.named(&path).ok().and_then(|(object, counter)| Some((object, counter?)))
    } else {
        None
    };
    let mut done = Err(status::DIALOG_CANCELLED);
    let shown = tallymon_monitor::browse(query, begin, |path| {
        done = give(config, &path, &source);
        if done.is_err() || wanted.flags & SINGLE_PER_DIALOG != 0 {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    });
    shown.map_err(|_| status::NOT_IMPLEMENTED)?;
    done
}

/// Passes a choice to the program, which may enlarge its buffer when that is too small.
fn give<L: Letter, S: Copy>(config: Out<Config<L, S>>, path: &str, source: &DataSource) -> Done {
    let mut known = config.get().ok_or(status::NO_DIALOG_DATA)?;
    let is_object = known.flags & SHOW_OBJECT_BROWSER != 0;
    let mut paths = vec![if is_object { whole_object(path) } else { path.to_string() }];
    if !is_object && known.flags & WILDCARD_INSTANCES == 0 && path.contains("(*)") {
        let found = source.catalogue()?.expand(path, Expand::default());
        let found = found.map_err(|error| status::of_path(&error))?;
        paths = found.iter().map(ToString::to_string).collect();
    }
    if known.flags & SINGLE_PER_ADD != 0 {
        paths.truncate(1);
    }
    let units = list::<L>(&paths);
    // Again after the program has made room, but not for ever.
    for _ in 0..MOST_TRIES {
        let fits = usize::try_from(known.room).is_ok_and(|room| units.len() <= room);
        known.status = if fits { status::VALID_DATA } else { status::MORE_DATA };
        if fits {
            known.paths.write(0, &units);
        }
        config.set(known);
        let answer = known.call.map_or(known.status, |call| call(known.argument));
        known = config.get().ok_or(status::NO_DIALOG_DATA)?;
        // The program asks for the same again by the callback's result, or in its structure.
        if ![answer, known.status].contains(&status::RETRY) {
            return if fits { Ok(()) } else { Err(status::MORE_DATA) };
        }
    }
    Err(status::MORE_DATA)
}

/// The path of all counters and instances of the object of a path.
fn whole_object(path: &str) -> String {
    match CounterPath::parse(path).map(|parsed| parsed.path) {
        Ok(mut found) => {
            found.counter = Part::parse("*");
            found.instance = found.instance.map(|_| InstancePath::parse("*"));
            found.to_string()
        }
        Err(_) => path.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::handles::Handle;

    /// The offsets that the header asserts for C programs.
    #[test]
    fn the_configuration_has_the_size_of_the_header() {
        let size = if size_of::<usize>() == 8 { 72 } else { 40 };
        let sizes = (size_of::<Config<u8, Str<u8>>>(), size_of::<Config<u16, Handle>>());
        assert_eq!(sizes, (size, size));
    }

    #[test]
    fn browsing_objects_chooses_all_of_an_object() {
        assert_eq!(whole_object(r"\Process(sh/0#2)\ID Process"), r"\Process(*)\*");
        assert_eq!(whole_object(r"\\web\System\Processes"), r"\\web\System\*");
    }
}
