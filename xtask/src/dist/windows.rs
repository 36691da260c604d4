//! `cargo xtask dist --windows`: packages for x86-64 Windows, as a zip and an installer (MSI), with the
//! manifest of the installer for winget.
//!
//! The time in a program is that of the last commit; an installer has a number and a time of its own.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::{About, Order, output, read, reproducible, write, zip};
use crate::wine::Prefix;
use crate::{add_targets, cargo, root, run as execute, target_folder};

const TARGET: &str = "x86_64-pc-windows-gnu";
const PACKAGES: [&str; 4] = ["tallymon-cli", "tallymon-capi", "tallymon-perf", "tallymon-clr"];
/// What is built, and where it is in the packages.
const BUILT: [(&str, &str); 5] = [
    ("tally.exe", "tally.exe"),
    ("tallymon_perf.dll", "tallymon_perf.dll"),
    ("tallymon_clr.dll", "tallymon_clr.dll"),
    ("tallymon_capi.dll", "tallymon_capi.dll"),
    ("libtallymon_capi.dll.a", "lib/libtallymon_capi.dll.a"),
];
/// Files of the repository. With the headers of Windows, a program needs one of ours.
const DOCUMENTS: [(&str, &str); 6] = [
    ("crates/capi/include/tallymon.h", "include/tallymon.h"),
    ("README.md", "doc/README.md"),
    ("docs/windows.md", "doc/windows.md"),
    ("docs/windows-check.ps1", "doc/windows-check.ps1"),
    ("LICENSE-MIT", "doc/LICENSE-MIT"),
    ("LICENSE-APACHE", "doc/LICENSE-APACHE"),
];
/// What all versions of the installer have in common.
const UPGRADE_CODE: &str = "6F2E6A4E-4E0B-4C37-9C2B-0B6B9B7F1A11";
/// The entry in PATH.
const PATH_COMPONENT: &str = "A6C1E2D0-51B7-4D0E-8E53-6D1F0C7A2B94";

/// The program of the service, and what the installer does with it, as `tally log service install` does: it
/// starts with Windows, and ends at once where no session starts with the machine. An update stops it and
/// starts it again.
const RECORDER: &str = "tally.exe";
const SERVICE: &str = "<ServiceInstall Id=\"Recorder\" Name=\"Tallymon\" DisplayName=\"Tallymon recorder\" \
    Description=\"Records performance counters: the sessions of 'tally log' that start with the machine.\" \
    Type=\"ownProcess\" Start=\"auto\" ErrorControl=\"normal\" Arguments=\"log service run\" Vital=\"yes\"/>\
    <ServiceControl Id=\"Stop\" Name=\"Tallymon\" Stop=\"both\" Remove=\"uninstall\" Wait=\"yes\"/>\
    <ServiceControl Id=\"Start\" Name=\"Tallymon\" Start=\"install\" Wait=\"no\"/>";

/// The files of the packages, by their names there.
type Members = Vec<(String, Vec<u8>)>;

/// Makes the packages in `target/packages-windows`, and unpacks them if they are to be checked.
pub(super) fn make(about: &About, order: &Order) -> Result<(), String> {
    let folder = target_folder().join("packages-windows");
    if folder.exists() {
        fs::remove_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    }
    let built = match &order.built {
        Some(built) => built.clone(),
        None => compile(about, &order.profile)?,
    };
    let members = members(about, &built, &folder.join("stripped"))?;
    let name = format!("tallymon-{}-x86_64-windows", about.version);
    let archive = zip::write(&folder.join(format!("{name}.zip")), &members, about.effort)?;
    let installer = folder.join(format!("{name}.msi"));
    write_installer(about, &members, &folder.join("tree"), &installer)?;
    write_manifest(about, &installer, &folder.join("winget"))?;
    for package in [&archive, &installer] {
        let size = fs::metadata(package).map_or(0, |metadata| metadata.len());
        eprintln!("{:>9} kB  {}", size / 1000, package.display());
    }
    if order.is_checked {
        check_installer(&members, &installer, &folder.join("unpacked"))?;
        check_zip(&members, &archive)?;
        check_installed(&members, &installer)?;
        eprintln!(
            "both have the {} files that were put in, and Wine installs and removes them",
            members.len()
        );
    }
    Ok(())
}

fn compile(about: &About, profile: &str) -> Result<PathBuf, String> {
    add_targets(&[TARGET])?;
    let build = target_folder().join("dist-build-windows");
    let mut command = cargo();
    command.args(["build", "--locked", "--profile", profile, "--target", TARGET, "--target-dir"]).arg(&build);
    for package in PACKAGES {
        command.args(["--package", package]);
    }
    reproducible(&mut command, about, &build)?;
    execute(&mut command)?;
    Ok(build.join(TARGET).join(if profile == "dev" { "debug" } else { profile }))
}

fn members(about: &About, built: &Path, stripped: &Path) -> Result<Members, String> {
    let mut members = Members::new();
    for (file, name) in BUILT {
        let copy = stripped.join(file);
        write(&copy, &read(&built.join(file))?)?;
        if !name.ends_with(".a") {
            let mut strip = Command::new("x86_64-w64-mingw32-strip");
            strip.arg("--strip-all").arg(&copy).env("SOURCE_DATE_EPOCH", about.epoch.to_string());
            execute(&mut strip)?;
        }
        members.push((name.to_string(), read(&copy)?));
    }
    for (file, name) in DOCUMENTS {
        members.push((name.to_string(), read(&root().join(file))?));
    }
    Ok(members)
}

/// The code of this version: an installer replaces those of other versions.
fn product_code(about: &About) -> String {
    let mut numbers = about.version.split(['.', '-']).map(|number| number.parse::<u16>().unwrap_or(0));
    let mut next = || numbers.next().unwrap_or(0);
    format!("7A11E0AA-{:04X}-{:04X}-9C2B-{:012X}", next(), next(), next())
}

/// Writes the installer with `wixl`, which knows no changes of the environment: `msibuild` adds that one.
fn write_installer(about: &About, members: &Members, tree: &Path, file: &Path) -> Result<(), String> {
    for (name, bytes) in members {
        write(&tree.join(name), bytes)?;
    }
    // It takes names of files in its own folder only.
    write(&tree.join("tallymon.wxs"), description(about, members).as_bytes())?;
    let tool = |name: &str| {
        let found = Command::new(name).arg("--version").output().is_ok();
        let missing =
            || format!("the program {name} is missing; 'apt-get install wixl msitools' installs it");
        found.then(|| Command::new(name)).ok_or_else(missing)
    };
    execute(tool("wixl")?.current_dir(tree).args(["-a", "x64", "-o"]).arg(file).arg("tallymon.wxs"))?;
    let environment = tree.with_file_name("Environment.idt");
    // Behind the PATH of the machine, and taken out by the removal.
    let rows = "Environment\tName\tValue\tComponent_\r\ns72\tl255\tL255\ts72\r\nEnvironment\tEnvironment\r\n\
        PATH\t=-*PATH\t[~];[INSTALLDIR]\tPATH\r\n";
    write(&environment, rows.as_bytes())?;
    execute(tool("msibuild")?.arg(file).arg("-i").arg(&environment))?;
    for (action, sequence) in [("RemoveEnvironmentStrings", 3300), ("WriteEnvironmentStrings", 5200)] {
        let query =
            format!("INSERT INTO InstallExecuteSequence (Action, Sequence) VALUES ('{action}', {sequence})");
        execute(tool("msibuild")?.arg(file).arg("-q").arg(query))?;
    }
    Ok(())
}

/// What `wixl` reads. Names have no letter that XML would have to escape.
fn description(about: &About, members: &Members) -> String {
    let (mut components, mut references) = (String::new(), String::new());
    let mut folders: Vec<&str> = members.iter().map(|(name, _)| folder_of(name)).collect();
    folders.sort_unstable();
    folders.dedup();
    for folder in folders {
        if !folder.is_empty() {
            components += &format!("<Directory Id=\"{}\" Name=\"{folder}\">\n", folder.to_uppercase());
        }
        let inside = members.iter().enumerate().filter(|(_, (name, _))| folder_of(name) == folder);
        for (number, (name, _)) in inside {
            let base = name.rsplit('/').next().unwrap_or(name);
            components += &format!(
                "<Component Id=\"C{number}\" Guid=\"*\" Win64=\"yes\"><File Id=\"F{number}\" Name=\"{base}\" \
                 Source=\"{name}\" KeyPath=\"yes\"/>{service}</Component>\n",
                service = if name == RECORDER { SERVICE } else { "" },
            );
            references += &format!("<ComponentRef Id=\"C{number}\"/>\n");
        }
        if !folder.is_empty() {
            components += "</Directory>\n";
        }
    }
    format!(
        "<?xml version=\"1.0\" encoding=\"utf-8\"?>\n\
         <Wix xmlns=\"http://schemas.microsoft.com/wix/2006/wi\">\n\
         <Product Id=\"{code}\" Name=\"Tallymon\" Language=\"1033\" Version=\"{version}\" \
         Manufacturer=\"The Tallymon developers\" UpgradeCode=\"{UPGRADE_CODE}\">\n\
         <Package InstallerVersion=\"500\" Compressed=\"yes\" InstallScope=\"perMachine\" \
         Description=\"{summary}\" Manufacturer=\"The Tallymon developers\"/>\n\
         <MajorUpgrade DowngradeErrorMessage=\"A newer version of Tallymon is installed.\"/>\n\
         <Media Id=\"1\" Cabinet=\"tallymon.cab\" EmbedCab=\"yes\"/>\n\
         <Directory Id=\"TARGETDIR\" Name=\"SourceDir\"><Directory Id=\"ProgramFiles64Folder\">\n\
         <Directory Id=\"INSTALLDIR\" Name=\"Tallymon\">\n{components}\
         <Component Id=\"PATH\" Guid=\"{PATH_COMPONENT}\" Win64=\"yes\"><CreateFolder/></Component>\n\
         </Directory></Directory></Directory>\n\
         <Feature Id=\"Complete\" Level=\"1\">\n{references}<ComponentRef Id=\"PATH\"/>\n</Feature>\n\
         </Product></Wix>\n",
        code = product_code(about),
        version = about.version,
        summary = About::SUMMARY,
    )
}

fn folder_of(name: &str) -> &str {
    name.split_once('/').map_or("", |(folder, _)| folder)
}

/// The three files that the collection of winget has of each version.
fn write_manifest(about: &About, installer: &Path, folder: &Path) -> Result<(), String> {
    let sum = output(Command::new("sha256sum").arg(installer))?;
    let sum = sum.split_whitespace().next().unwrap_or_default().to_uppercase();
    let name = installer.file_name().unwrap_or_default().to_string_lossy();
    let (version, home) = (&about.version, About::HOMEPAGE);
    let manifest = |kind: &str, fields: &str| {
        format!(
            "PackageIdentifier: Tallymon.Tallymon\nPackageVersion: {version}\n{fields}ManifestType: {kind}\n\
             ManifestVersion: 1.6.0\n"
        )
    };
    let installers = format!(
        "InstallerType: wix\nScope: machine\nProductCode: '{{{}}}'\nInstallers:\n- Architecture: x64\n  \
         InstallerUrl: {home}/releases/download/v{version}/{name}\n  InstallerSha256: {sum}\n",
        product_code(about)
    );
    let texts = format!(
        "PackageLocale: en-US\nPublisher: The Tallymon developers\nPackageName: Tallymon\nPackageUrl: {home}\n\
         License: {}\nShortDescription: {}\nDescription: {}\nMoniker: tally\n",
        About::LICENCE,
        About::SUMMARY,
        About::DESCRIPTION
    );
    for (ending, kind, fields) in [
        ("", "version", "DefaultLocale: en-US\n"),
        (".installer", "installer", installers.as_str()),
        (".locale.en-US", "defaultLocale", texts.as_str()),
    ] {
        let file = folder.join(format!("Tallymon.Tallymon{ending}.yaml"));
        write(&file, manifest(kind, fields).as_bytes())?;
    }
    Ok(())
}

/// Fails unless `msiextract` finds in the installer what was put in, and its tables the way to PATH.
fn check_installer(members: &Members, installer: &Path, folder: &Path) -> Result<(), String> {
    output(Command::new("msiextract").arg("--directory").arg(folder).arg(installer))?;
    for (name, bytes) in members {
        if read(&folder.join("Tallymon").join(name))? != *bytes {
            return Err(format!("{}: {name} is not what was put in", installer.display()));
        }
    }
    let found = super::files::below(folder)?.len();
    if found != members.len() {
        return Err(format!("{}: {found} files instead of {}", installer.display(), members.len()));
    }
    for (table, row) in [
        // Own process, automatic, normal errors; the component is that of the first file.
        (
            "ServiceInstall",
            "Recorder\tTallymon\tTallymon recorder\t16\t2\t1\t\t\t\t\tlog service run\tC0\tRecords \
             performance counters: the sessions of 'tally log' that start with the machine.",
        ),
        ("ServiceControl", "Stop\tTallymon\t162\t\t1\tC0"),
        ("ServiceControl", "Start\tTallymon\t1\t\t0\tC0"),
        ("InstallExecuteSequence", "StopServices\tVersionNT\t1900"),
        ("InstallExecuteSequence", "DeleteServices\tVersionNT\t2000"),
        ("InstallExecuteSequence", "InstallServices\tVersionNT\t5800"),
        ("InstallExecuteSequence", "StartServices\tVersionNT\t5900"),
        ("Environment", "PATH\t=-*PATH\t[~];[INSTALLDIR]\tPATH"),
        ("InstallExecuteSequence", "WriteEnvironmentStrings\t\t5200"),
        ("InstallExecuteSequence", "RemoveEnvironmentStrings\t\t3300"),
    ] {
        let rows = output(Command::new("msiinfo").arg("export").arg(installer).arg(table))?;
        if !rows.lines().any(|line| line.trim_end() == row) {
            return Err(format!("{}: the table {table} lacks {row:?}:\n{rows}", installer.display()));
        }
    }
    Ok(())
}

/// Fails unless Python finds in the archive what was put in.
fn check_zip(members: &Members, archive: &Path) -> Result<(), String> {
    let script = "import sys, zipfile\nfile = zipfile.ZipFile(sys.argv[1])\nassert not file.testzip()\n\
        for it in file.infolist(): print(it.filename, it.file_size)";
    let found = output(Command::new("python3").args(["-c", script]).arg(archive))?;
    let expected = members.iter().map(|(name, bytes)| format!("{name} {}\n", bytes.len()));
    if found == expected.collect::<String>() {
        return Ok(());
    }
    Err(format!("{}: Python finds other files:\n{found}", archive.display()))
}

/// Fails unless Wine installs it, the program runs from there, PATH has its folder, the service is there, and
/// the removal leaves none of them.
fn check_installed(members: &Members, installer: &Path) -> Result<(), String> {
    let prefix = Prefix::prepare()?;
    let wine = |words: &[&str]| {
        let mut command = Command::new("timeout");
        command.args(["300", prefix.wine()]).args(words);
        prefix.set(&mut command);
        command
    };
    let path = || {
        let key = r"HKLM\SYSTEM\CurrentControlSet\Control\Session Manager\Environment";
        output(&mut wine(&["reg", "query", key, "/v", "PATH"]))
    };
    let folder = prefix.drive_c().join("Program Files").join("Tallymon");
    let package = format!("Z:{}", installer.display()).replace('/', "\\");
    // Of an earlier check that was stopped.
    let _ = wine(&["msiexec", "/x", &package, "/qn"]).status();
    // What the first program starts in the background keeps its output open, so that is not read.
    execute(&mut wine(&["msiexec", "/i", &package, "/qn"]))?;
    for (name, bytes) in members {
        if read(&folder.join(name))? != *bytes {
            return Err(format!("{name} is not installed as it was put in"));
        }
    }
    execute(&mut wine(&[r"C:\Program Files\Tallymon\tally.exe", "--version"]))?;
    let installed = path()?;
    execute(&mut wine(&[r"C:\Program Files\Tallymon\tally.exe", "log", "service", "status"]))?;
    execute(&mut wine(&["msiexec", "/x", &package, "/qn"]))?;
    let removed = path()?;
    if folder.exists() {
        return Err(format!("the removal leaves {}", folder.display()));
    }
    let service = r"HKLM\SYSTEM\CurrentControlSet\Services\Tallymon";
    if wine(&["reg", "query", service]).status().is_ok_and(|status| status.success()) {
        return Err(format!("the removal leaves {service}"));
    }
    match (installed.contains(r"C:\Program Files\Tallymon"), removed.contains("Tallymon")) {
        (true, false) => Ok(()),
        _ => Err(format!("PATH with the package and without it:\n{installed}{removed}")),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test that fails is to panic")]
mod tests {
    use super::*;

    /// Other programs find in the installer what was put in, and the manifest has its checksum.
    #[test]
    fn an_installer_has_its_files_and_its_path() {
        if Command::new("wixl").arg("--version").output().is_err() {
            tallymon_testkit::skip("wixl and msitools are missing, which make and read installers");
            return;
        }
        let folder = target_folder().join(format!("installer-{}", std::process::id()));
        let about = About { version: "1.22.333".to_string(), epoch: 0, effort: "-1" };
        let file = |name: &str, bytes: &[u8]| (name.to_string(), bytes.to_vec());
        let members = vec![file("tally.exe", b"MZ"), file("doc/a.md", b"a"), file("doc/b.md", b"")];
        let installer = folder.join("test.msi");
        write_installer(&about, &members, &folder.join("tree"), &installer).unwrap();
        check_installer(&members, &installer, &folder.join("unpacked")).unwrap();
        let properties =
            output(Command::new("msiinfo").arg("export").arg(&installer).arg("Property")).unwrap();
        let code = "7A11E0AA-0001-0016-9C2B-00000000014D";
        assert!(properties.contains(&format!("ProductCode\t{{{code}}}")), "{properties}");
        write_manifest(&about, &installer, &folder.join("winget")).unwrap();
        let manifest = fs::read_to_string(folder.join("winget/Tallymon.Tallymon.installer.yaml")).unwrap();
        let sum = output(Command::new("sha256sum").arg(&installer)).unwrap();
        assert!(manifest.contains(&sum[..64].to_uppercase()) && manifest.contains(code), "{manifest}");
        fs::remove_dir_all(&folder).unwrap();
    }
}
