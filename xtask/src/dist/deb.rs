//! The package for Debian and Ubuntu: an `ar` archive of two tars.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::files::{Tree, pack};
use super::{About, output, read};

/// Writes the package into a folder.
pub(super) fn write(about: &About, tree: &Tree, folder: &Path) -> Result<PathBuf, String> {
    let work = folder.join("deb");
    let data = work.join("data");
    let mut sums = Vec::new();
    let mut bytes = 0u64;
    for file in &tree.files {
        let installed = place(file);
        let to = data.join(&installed);
        copy(&tree.folder.join(file), &to)?;
        bytes = bytes.saturating_add(fs::metadata(&to).map_err(|error| error.to_string())?.len());
        sums.push(installed);
    }
    // Debian's rules ask for a file of this name.
    let copyright = data.join("usr/share/doc/tallymon/copyright");
    let text =
        [read(&tree.folder.join("share/doc/tallymon/LICENSE-MIT"))?, NOTE.as_bytes().to_vec()].concat();
    super::write(&copyright, &text)?;
    sums.push(PathBuf::from("usr/share/doc/tallymon/copyright"));
    let control = work.join("control");
    super::write(&control.join("control"), about_text(about, bytes).as_bytes())?;
    let sums = output(Command::new("md5sum").current_dir(&data).args(&sums))?;
    super::write(&control.join("md5sums"), sums.as_bytes())?;
    super::write(&control.join("triggers"), b"activate-noawait ldconfig\n")?;
    for part in ["control", "data"] {
        pack(about, &work.join(part), &[], &work.join(format!("{part}.tar.gz")))?;
    }
    let file = folder.join(format!("tallymon_{}_amd64.deb", about.version));
    let mut archive = b"!<arch>\n".to_vec();
    member(&mut archive, about, "debian-binary", b"2.0\n");
    for part in ["control.tar.gz", "data.tar.gz"] {
        member(&mut archive, about, part, &read(&work.join(part))?);
    }
    super::write(&file, &archive)?;
    Ok(file)
}

const NOTE: &str =
    "\nYou may choose the Apache License, version 2.0, instead; its text is in LICENSE-APACHE.\n";

/// Where a file of the tree is on Debian.
fn place(file: &Path) -> PathBuf {
    match file.strip_prefix("share/zsh/site-functions") {
        Ok(name) => Path::new("usr/share/zsh/vendor-completions").join(name),
        Err(_) => Path::new("usr").join(file),
    }
}

fn copy(from: &Path, to: &Path) -> Result<(), String> {
    if let Some(folder) = to.parent() {
        fs::create_dir_all(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    }
    fs::copy(from, to).map(drop).map_err(|error| format!("{}: {error}", to.display()))
}

fn about_text(about: &About, bytes: u64) -> String {
    format!(
        "Package: tallymon\nVersion: {}\nArchitecture: amd64\nMaintainer: {}\nInstalled-Size: {}\n\
         Depends: libc6 (>= {})\nSection: utils\nPriority: optional\nHomepage: {}\nDescription: {}\n {}\n",
        about.version,
        About::MAINTAINER,
        bytes.div_ceil(1024),
        super::GLIBC,
        About::HOMEPAGE,
        About::SUMMARY,
        About::DESCRIPTION,
    )
}

/// Adds a member to an `ar` archive.
fn member(archive: &mut Vec<u8>, about: &About, name: &str, bytes: &[u8]) {
    let head = format!("{name:<16}{:<12}{:<6}{:<6}{:<8}{:<10}`\n", about.epoch, 0, 0, 100_644, bytes.len());
    archive.extend_from_slice(head.as_bytes());
    archive.extend_from_slice(bytes);
    if bytes.len() % 2 == 1 {
        archive.push(b'\n');
    }
}
