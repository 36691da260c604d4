//! Installs each package in a fresh Debian 11 and runs it there.
//!
//! Debian 11 has the oldest C library that the packages are for. Its root is made by debootstrap once and
//! kept in the target folder; each check works on a copy in memory, in a mount and process namespace of its
//! own.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use super::{About, output, write};
use crate::target_folder;

/// What every package must do once it is installed; `$P` is its prefix.
const USE: &str = r#"
set -eu
export PATH=$P/bin:/usr/sbin:/usr/bin:/sbin:/bin
tally --version
test "$(command -v tally)" = $P/bin/tally
tally get '\Memory\Available MBytes' --plain | grep -E '^[0-9]+$'
tally get '\Processor(_Total)\% Processor Time' --plain | grep -E '^[0-9.]+$'
tally watch '\Memory\*' -c 3 -i 50ms -o /tmp/a.blg
tally info /tmp/a.blg | grep 'records  3'
tally relog /tmp/a.blg -o /tmp/a.parquet
tally doctor > /dev/null || test $? -lt 3
test "$(zcat $P/share/man/man1/tally-get.1.gz | head -c 3)" = .TH
for file in $P/bin/tally $P/libexec/tallymon/tally-host $P/lib*/libtallymon.so \
    $P/lib/tallymon/libtallymon_clr.so; do
    ! ldd $file | grep 'not found'
done
# The profiler and the host are found from the command. A program without .NET leaves no profile.
tally prof run -- true 2>&1 | grep 'left no profile'
ls $P/include/tallymon/pdh.h $P/include/tallymon/tallymon/text.h > /dev/null
"#;

/// Checks every package.
pub(super) fn all(about: &About, packages: &[PathBuf]) -> Result<(), String> {
    let root = fresh_root()?;
    for package in packages {
        let name = package.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let kind = package.extension().and_then(|extension| extension.to_str()).unwrap_or_default();
        let (install, prefix, remove) = match kind {
            "deb" => {
                (format!("chroot . dpkg --install /tmp/{name}"), "/usr", "chroot . dpkg --purge tallymon")
            }
            // Debian has the program rpm, but no packages of it: what the package needs is not looked up.
            "rpm" => (
                format!(
                    "rpm --root \"$PWD\" --initdb\nrpm --root \"$PWD\" --checksig --nosignature tmp/{name}\n\
                     rpm --root \"$PWD\" --install --nodeps tmp/{name}\n\
                     rpm --root \"$PWD\" --verify --nodeps tallymon\nldconfig -r ."
                ),
                "/usr",
                "rpm --root \"$PWD\" --erase --nodeps tallymon",
            ),
            _ => (
                format!("tar -xzf tmp/{name} --strip-components=1 -C usr/local\nldconfig -r ."),
                "/usr/local",
                "",
            ),
        };
        let gone = "test ! -e usr/bin/tally && test ! -e usr/include/tallymon && test ! -e usr/lib/tallymon";
        let script = target_folder().join("check-package.sh");
        let text = format!(
            "set -eu\nmount -t tmpfs tmpfs /mnt\ncd /mnt\ntar -xf '{root}'\ncp '{package}' tmp/\n\
             mount -t proc proc proc\nmount --rbind /sys sys\n\
             mount -t devtmpfs none dev 2>/dev/null || mount --rbind /dev dev\n\
             {install}\n\
             cat > tmp/use.sh <<'END'\n{USE}END\nchroot . env P={prefix} sh /tmp/use.sh\n{remove}\n{gone}\n",
            root = root.display(),
            package = package.display(),
        );
        write(&script, text.as_bytes())?;
        let mut command = Command::new("unshare");
        command.args(["--mount", "--pid", "--fork", "--", "bash"]).arg(&script);
        crate::run(&mut command)?;
        eprintln!("{name} ({}): installed, used and removed in a fresh Debian 11", about.version);
    }
    Ok(())
}

/// The archive of a fresh Debian 11.
fn fresh_root() -> Result<PathBuf, String> {
    let archive = target_folder().join("debian-11.tar");
    if archive.exists() {
        return Ok(archive);
    }
    let folder = target_folder().join("debian-11");
    if folder.exists() {
        // A run that was stopped left it.
        fs::remove_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    }
    let mut command = Command::new("debootstrap");
    // From the mirror that debootstrap is set up with.
    command.args(["--variant=minbase", "bullseye"]).arg(&folder);
    output(&mut command).map_err(|error| {
        format!("{error}\ndebootstrap makes the root of the checks; it needs root rights")
    })?;
    let part = archive.with_extension("part");
    output(Command::new("tar").arg("--create").arg("--file").arg(&part).arg("-C").arg(&folder).arg("."))?;
    fs::rename(&part, &archive).map_err(|error| format!("{}: {error}", archive.display()))?;
    fs::remove_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    Ok(archive)
}
