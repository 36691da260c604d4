//! Installs each package in a fresh Debian 11 and runs it there.
//!
//! Debian 11 has the oldest C library that the packages are for. Its root is made by debootstrap once and
//! kept in the target folder; each check works on a copy in memory, in a mount and process namespace of its
//! own. The short form uses the files of this machine instead, with all changes in memory.
//!
//! The wheel and the package for .NET run on this machine, because Debian 11 has none of their peers; the
//! Python of Debian 11, the oldest one that the wheel is for, loads it too.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::{About, nuget, output, projects, static_program, write};
use crate::{root, target_folder};

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

/// What the static program must do, where it is called `tally`.
const USE_STATIC: &str = r#"
set -eu
export PATH=$P/bin:/usr/bin:/bin
tally --version
tally get '\Memory\Available MBytes' --plain | grep -E '^[0-9]+$'
tally watch '\Memory\*' -c 3 -i 50ms -o /tmp/a.blg
tally info /tmp/a.blg | grep 'records  3'
# Nothing is asked: it greets, and ends.
tally serve --stdio < /dev/null | head -c 8 | grep TALLYMON
"#;

/// What the oldest Python does with the wheel.
const USE_WHEEL: &str = r#"
set -eu
cd /tmp
mkdir wheel
python3 -m zipfile -e "$WHEEL" wheel
PYTHONPATH=wheel python3 - <<'PYTHON'
import tallymon
query = tallymon.Query()
query.add(r"\Memory\Available Bytes")
query.collect()
assert list(query.values().values())[0] > 1000000
PYTHON
"#;

/// Checks every package.
pub(super) fn all(about: &About, packages: &[PathBuf], is_short: bool) -> Result<(), String> {
    let prepare = if is_short { over_this_machine() } else { in_a_copy(&fresh_root()?) };
    let place = if is_short { "over this machine" } else { "in a fresh Debian 11" };
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
            "whl" => {
                in_a_venv(package)?;
                if !is_short {
                    let script = format!("export WHEEL=/tmp/{name}\n{USE_WHEEL}");
                    inside(&prepare, package, "", "/usr", &script, "")?;
                }
                continue;
            }
            _ if name.starts_with(static_program::NAME) => {
                (format!("cp tmp/{name} usr/local/bin/tally"), "/usr/local", "rm usr/local/bin/tally")
            }
            "nupkg" => {
                in_a_program(about, package)?;
                continue;
            }
            _ => (
                format!("tar -xzf tmp/{name} --strip-components=1 -C usr/local\nldconfig -r ."),
                "/usr/local",
                "",
            ),
        };
        let gone = "test ! -e usr/bin/tally && test ! -e usr/include/tallymon && test ! -e usr/lib/tallymon";
        let usage = if name.starts_with(static_program::NAME) { USE_STATIC } else { USE };
        inside(&prepare, package, &install, prefix, usage, &format!("{remove}\n{gone}"))?;
        eprintln!("{name} ({}): installed, used and removed {place}", about.version);
    }
    Ok(())
}

/// Runs scripts in a root that `prepare` makes: one that installs, one in the root, one that removes.
fn inside(
    prepare: &str,
    package: &Path,
    install: &str,
    prefix: &str,
    usage: &str,
    remove: &str,
) -> Result<(), String> {
    let script = target_folder().join("check-package.sh");
    let text = format!(
        "set -eu\n{prepare}cp '{package}' tmp/\n\
         mount -t proc proc proc\nmount --rbind /sys sys\n\
         mount -t devtmpfs none dev 2>/dev/null || mount --rbind /dev dev\n\
         {install}\n\
         cat > tmp/use.sh <<'END'\n{usage}END\nchroot . env P={prefix} sh /tmp/use.sh\n{remove}\n",
        package = package.display(),
    );
    write(&script, text.as_bytes())?;
    crate::run(Command::new("unshare").args(["--mount", "--pid", "--fork", "--", "bash"]).arg(&script))
}

/// A copy of a root in memory.
pub(crate) fn in_a_copy(archive: &Path) -> String {
    format!("mount -t tmpfs tmpfs /mnt\ncd /mnt\ntar -xf '{}'\n", archive.display())
}

/// The files of this machine, and every change in memory.
pub(crate) fn over_this_machine() -> String {
    "mount -t tmpfs tmpfs /mnt\nmkdir /mnt/changes /mnt/work /mnt/root\n\
     mount -t overlay -o lowerdir=/,upperdir=/mnt/changes,workdir=/mnt/work overlay /mnt/root\ncd /mnt/root\n\
     mount -t tmpfs -o mode=1777 tmpfs tmp\n"
        .to_string()
}

/// Installs the wheel in a fresh virtual environment and runs the programs that use it. Data libraries are
/// those of this machine.
fn in_a_venv(wheel: &Path) -> Result<(), String> {
    let folder = target_folder().join("check-wheel");
    empty(&folder)?;
    crate::run(Command::new("python3").args(["-m", "venv"]).arg(&folder))?;
    let python = folder.join("bin/python");
    let pip = ["-m", "pip", "install", "--quiet", "--no-index", "--disable-pip-version-check"];
    crate::run(Command::new(&python).args(pip).arg(wheel))?;
    let libraries =
        "import os, pandas, polars, pyarrow; print(os.path.dirname(os.path.dirname(pandas.__file__)))";
    let libraries = output(Command::new("python3").args(["-c", libraries]))?;
    let tally = wheel.with_file_name("tree").join("bin/tally");
    let samples = root().join("../shared/testdata/logs");
    let samples = if samples.exists() { samples } else { PathBuf::new() };
    let binding = root().join("bindings/python");
    for (script, arguments) in [
        ("stubs.py", vec![binding.join("tallymon.pyi")]),
        ("behemoths.py", vec![tally.clone()]),
        ("logs.py", vec![tally, samples]),
    ] {
        let mut command = Command::new(&python);
        command.arg(binding.join("tests").join(script)).args(arguments);
        command.env("PYTHONPATH", libraries.trim()).env("TALLYMON_ROOT", folder.join("root"));
        crate::run(command.env("LC_ALL", "C.UTF-8"))?;
    }
    eprintln!("the wheel: installed and used in a fresh virtual environment");
    Ok(())
}

/// Compiles a program against the package for .NET, and runs it with the files of the package.
fn in_a_program(about: &About, package: &Path) -> Result<(), String> {
    let folder = target_folder().join("check-nuget");
    empty(&folder)?;
    // Where `dotnet restore` unpacks it; Python reads the archive.
    let path = format!("{}/{}", nuget::NAME.to_lowercase(), about.version);
    let unpacked = folder.join(&path);
    crate::run(Command::new("python3").args(["-m", "zipfile", "-e"]).arg(package).arg(&unpacked))?;
    let assembly = format!("lib/net8.0/{}.dll", nuget::NAME);
    let library = "runtimes/linux-x64/native/libtallymon.so";
    let program = folder.join("Behemoths.exe");
    let mut compile = Command::new("mcs");
    compile.arg(format!("-reference:{}", unpacked.join(&assembly).display()));
    compile.arg(format!("-out:{}", program.display()));
    crate::run(compile.arg(root().join("crates/capi/tests/csharp/Behemoths.cs")))?;
    let text = DEPENDENCIES.replace("NAME", nuget::NAME).replace("VERSION", &about.version);
    let text = text.replace("PATH", &path).replace("ASSEMBLY", &assembly).replace("LIBRARY", library);
    write(&folder.join("program.deps.json"), text.as_bytes())?;
    write(&folder.join("program.runtimeconfig.json"), CONFIG.as_bytes())?;
    let mut mono = Command::new("mono");
    mono.arg(&program).env("MONO_PATH", unpacked.join("lib/net8.0"));
    mono.env("LD_LIBRARY_PATH", unpacked.join("runtimes/linux-x64/native"));
    let mut commands = vec![("mono", mono)];
    // The tests fetch it.
    let dotnet = target_folder().join("peers/dotnet-8.0.15/dotnet");
    if dotnet.is_file() {
        let mut command = Command::new(dotnet);
        command.arg("exec").arg("--depsfile").arg(folder.join("program.deps.json"));
        command.arg("--runtimeconfig").arg(folder.join("program.runtimeconfig.json"));
        command.arg("--additionalprobingpath").arg(&folder).arg(&program);
        commands.push((".NET 8", command));
    } else {
        eprintln!("skipped: no .NET 8 in {}; the tests of capi fetch it", dotnet.display());
    }
    for (runtime, mut command) in commands {
        command.env("TALLYMON_ROOT", folder.join("root")).env("DOTNET_CLI_TELEMETRY_OPTOUT", "1");
        let said = output(command.stdin(Stdio::null()))?;
        if said != "0 wrong\n" {
            return Err(format!("a program with the package for .NET, run by {runtime}, says {said}"));
        }
        eprintln!("the package for .NET: a program with it publishes and reads, run by {runtime}");
    }
    projects::all(about, package, &folder)
}

/// What an SDK writes beside a program that refers to the package.
const DEPENDENCIES: &str = r#"{"runtimeTarget": {"name": ".NETCoreApp,Version=v8.0"},
"targets": {".NETCoreApp,Version=v8.0": {
  "Behemoths/1.0.0": {"dependencies": {"NAME": "VERSION"}, "runtime": {"Behemoths.exe": {}}},
  "NAME/VERSION": {"runtime": {"ASSEMBLY": {}},
    "runtimeTargets": {"LIBRARY": {"rid": "linux-x64", "assetType": "native"}}}}},
"libraries": {"Behemoths/1.0.0": {"type": "project", "serviceable": false, "sha512": ""},
  "NAME/VERSION": {"type": "package", "serviceable": true, "sha512": "", "path": "PATH"}}}
"#;

const CONFIG: &str = r#"{"runtimeOptions": {"configProperties": {"System.Globalization.Invariant": true},
"framework": {"name": "Microsoft.NETCore.App", "version": "8.0.0"}}}
"#;

/// Makes a folder that has nothing in it.
fn empty(folder: &Path) -> Result<(), String> {
    if folder.exists() {
        fs::remove_dir_all(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    }
    fs::create_dir_all(folder).map_err(|error| format!("{}: {error}", folder.display()))
}

/// The archive of a fresh Debian 11.
pub(crate) fn fresh_root() -> Result<PathBuf, String> {
    let archive = target_folder().join("debian-11-python.tar");
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
    command.args(["--variant=minbase", "--include=python3", "bullseye"]).arg(&folder);
    output(&mut command).map_err(|error| {
        format!("{error}\ndebootstrap makes the root of the checks; it needs root rights")
    })?;
    let part = archive.with_extension("part");
    output(Command::new("tar").arg("--create").arg("--file").arg(&part).arg("-C").arg(&folder).arg("."))?;
    fs::rename(&part, &archive).map_err(|error| format!("{}: {error}", archive.display()))?;
    fs::remove_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    Ok(archive)
}
