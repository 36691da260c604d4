//! Where the program is that loads libraries.

use std::path::{Path, PathBuf};

use super::own_file::own_file;
use crate::environment::HOST;

/// Name of the program.
const PROGRAM: &str = "tally-host";

/// The program that loads libraries: `$TALLY_HOST`, else `tally-host` in the folder of this program or of the
/// shared library with this code, in `../libexec/tallymon` or `../bin` from there, or in `$PATH`; `None` when
/// it is in none of these places, or when `$TALLY_HOST` names no file.
pub fn find_program() -> Option<PathBuf> {
    if HOST.value().is_some() {
        return Some(expected_program()).filter(|file| file.is_file());
    }
    // A C program may be anywhere: its library, which it has found by its RUNPATH, is where it was installed.
    let homes = [std::env::current_exe().ok(), own_file()];
    let near = homes.into_iter().flatten().flat_map(|home| {
        let folder = home.parent().map(Path::to_path_buf).unwrap_or_default();
        let above = folder.parent().map(Path::to_path_buf).unwrap_or_default();
        [folder.join(PROGRAM), above.join("libexec/tallymon").join(PROGRAM), above.join("bin").join(PROGRAM)]
    });
    let path = std::env::var_os("PATH").unwrap_or_default();
    // An empty or relative folder in the path could be one that any user created.
    let in_path =
        std::env::split_paths(&path).filter(|folder| folder.is_absolute()).map(|folder| folder.join(PROGRAM));
    near.chain(in_path).find(|file| file.is_file())
}

/// The program to name in a message when there is none: what `$TALLY_HOST` says, else `tally-host`.
pub fn expected_program() -> PathBuf {
    let Some(given) = HOST.value().map(PathBuf::from) else { return PathBuf::from(PROGRAM) };
    // A name without a folder would be looked for in `$PATH`.
    std::path::absolute(&given).unwrap_or(given)
}
