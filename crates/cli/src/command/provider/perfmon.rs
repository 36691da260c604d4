//! `tally provider perfmon`: registers what programs publish for perfmon.

use std::io::Write;
use std::path::{Path, PathBuf};

use tallymon::log::new_file::{Overwrite, write_file};
use tallymon::perfmon::{LIBRARY, Numbers, SERVICE, published};

use crate::border;
use crate::exit::{Failure, Kind};
use crate::stop::without_half_files;
use crate::words::{say, visible};

pub(super) fn run(folder: &Path, library: Option<&Path>) -> Result<(), Failure> {
    let in_full = |path: &Path| std::path::absolute(path).map_err(|error| Failure::file(path, &error));
    let folder = in_full(folder)?;
    let library = in_full(&library.map_or_else(beside_this_program, Path::to_path_buf))?;
    let ini = folder.join(Numbers::ini_name());
    let mut numbers = Numbers::read(&ini)?;
    let added = numbers.add(&published()?, &ini)?;
    if added.sets.is_empty() {
        let words = "no program publishes counters that this user can read; start one, then try again";
        return Err(Failure::new(Kind::NotFound, words));
    }
    if !library.is_file() {
        say(format_args!("{} does not exist yet; perfmon shows nothing before it does", library.display()));
    }
    std::fs::create_dir_all(&folder).map_err(|error| Failure::file(&folder, &error))?;
    without_half_files()?;
    for file in numbers.files(&library, &ini) {
        let path = folder.join(file.name);
        write_file(&path, Overwrite::Replace, &file.bytes).map_err(|error| Failure::file(&path, &error))?;
    }
    say(format_args!(
        "sets with numbers: {}; new names: {}",
        visible(&added.sets.join(", ")),
        added.new_names
    ));
    say(format_args!("run this as administrator:"));
    let mut out = border::stdout();
    // Names of folders are UTF-8 in a file, and this has cmd read it so.
    writeln!(out, "chcp 65001")?;
    writeln!(out, "cd /d \"{}\"", visible(&folder.display().to_string()))?;
    writeln!(out, "unlodctr {SERVICE}")?;
    writeln!(out, "reg import {}", Path::new(LIBRARY).with_extension("reg").display())?;
    writeln!(out, "lodctr {}", Numbers::ini_name())?;
    Ok(())
}

/// The library in the folder of this program.
fn beside_this_program() -> PathBuf {
    std::env::current_exe().unwrap_or_default().with_file_name(LIBRARY)
}
