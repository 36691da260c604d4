//! The wheel for Python 3.9 and later, made by maturin.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::{About, GLIBC, reproducible};
use crate::root;

/// Which C library a wheel is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Library {
    /// The oldest one that the packages are for.
    Oldest,
    /// That of this machine, for a trial.
    Own,
}

/// Writes the wheel into a folder; `build` keeps what is compiled.
pub(super) fn write(
    about: &About,
    profile: &str,
    library: Library,
    build: &Path,
    folder: &Path,
) -> Result<PathBuf, String> {
    let mut maturin = Command::new("maturin");
    maturin.current_dir(root()).args(["build", "--locked", "--quiet", "--profile", profile]);
    maturin.args(["--manifest-path", "bindings/python/Cargo.toml", "--target-dir"]).arg(build);
    maturin.arg("--out").arg(folder);
    match library {
        Library::Oldest => {
            maturin.args(["--zig", "--target", "x86_64-unknown-linux-gnu", "--compatibility"]);
            maturin.arg(format!("manylinux_{}", GLIBC.replace('.', "_")));
            reproducible(&mut maturin, about, build)?;
        }
        // What the tests have compiled is used again: the flags stay as they are.
        Library::Own => {
            maturin.args(["--compatibility", "linux"]).env("SOURCE_DATE_EPOCH", about.epoch.to_string());
        }
    }
    crate::run(&mut maturin)
        .map_err(|error| format!("{error}\npython3 -m pip install maturin ziglang makes the wheel"))?;
    let made = super::files::below(folder)?;
    let wheel = made.into_iter().find(|file| file.extension().is_some_and(|end| end == "whl"));
    wheel.map(|wheel| folder.join(wheel)).ok_or_else(|| "maturin made no wheel".to_string())
}
