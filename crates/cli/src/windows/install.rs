//! `tally compat install` and `remove`: links to `tally` under the names of Windows' programs.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::{PROGRAMS, Program};
use crate::exit::{Failure, Kind};
use crate::words::note;

/// Creates a link for each program in a folder. Replaces no other file.
pub(crate) fn install(folder: Option<&Path>) -> Result<(), Failure> {
    let own = own_file()?;
    let folder = folder.map_or_else(usual_folder, |folder| Ok(folder.to_path_buf()))?;
    fs::create_dir_all(&folder).map_err(|error| Failure::file(&folder, &error))?;
    let links: Vec<PathBuf> = PROGRAMS.iter().map(|program| link_of(&folder, program)).collect();
    // Check all links before the first is created, so that either all are created or none.
    for link in &links {
        if fs::symlink_metadata(link).is_ok() && !is_ours(link, &own) {
            let words =
                format!("{} exists and is another program; choose another folder with --dir", link.display());
            return Err(Failure::new(Kind::Other, words));
        }
    }
    for link in &links {
        if !is_ours(link, &own) {
            make_link(&own, link).map_err(|error| Failure::file(link, &error))?;
        }
        note(format_args!("{} -> {}", link.display(), own.display()));
    }
    let in_path =
        std::env::var_os("PATH").is_some_and(|path| std::env::split_paths(&path).any(|at| at == folder));
    if !in_path {
        note(format_args!(
            "{} is not in PATH: add it, or call the programs by their full paths",
            folder.display()
        ));
    }
    Ok(())
}

/// Removes the links that lead to this program, and no others.
pub(crate) fn remove(folder: Option<&Path>) -> Result<(), Failure> {
    let own = own_file()?;
    let folder = folder.map_or_else(usual_folder, |folder| Ok(folder.to_path_buf()))?;
    for program in PROGRAMS {
        let link = link_of(&folder, program);
        if is_ours(&link, &own) {
            fs::remove_file(&link).map_err(|error| Failure::file(&link, &error))?;
            note(format_args!("{} is removed", link.display()));
        }
    }
    Ok(())
}

fn link_of(folder: &Path, program: &Program) -> PathBuf {
    folder.join(format!("{}{}", program.name, std::env::consts::EXE_SUFFIX))
}

fn own_file() -> Result<PathBuf, Failure> {
    std::env::current_exe().and_then(fs::canonicalize).map_err(|error| {
        Failure::new(Kind::Other, format_args!("the path of this program cannot be read: {error}"))
    })
}

/// The folder for a user's own programs.
fn usual_folder() -> Result<PathBuf, Failure> {
    let home = std::env::home_dir().filter(|home| !home.as_os_str().is_empty());
    let words = "there is no home directory; choose a folder with --dir";
    Ok(home.ok_or_else(|| Failure::new(Kind::Usage, words))?.join(".local/bin"))
}

fn is_ours(link: &Path, own: &Path) -> bool {
    fs::symlink_metadata(link).is_ok_and(|about| about.is_symlink())
        && fs::canonicalize(link).is_ok_and(|target| target == own)
}

#[cfg(unix)]
fn make_link(own: &Path, link: &Path) -> io::Result<()> {
    std::os::unix::fs::symlink(own, link)
}

#[cfg(windows)]
fn make_link(own: &Path, link: &Path) -> io::Result<()> {
    std::os::windows::fs::symlink_file(own, link)
}
