//! The package for .NET in projects: an SDK restores it from a folder and builds a program that refers to it,
//! and the program runs.
//!
//! The SDK that can be had is of .NET Core 3.1. Its own runtime needs OpenSSL 1, so it runs on .NET 8. Of
//! packages it knows no framework after 3.1, until it has the library for names of frameworks that another
//! program brings; then `net8.0` needs a few more lines of a project, which newer SDKs have in them.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::{About, nuget, output, write};
use crate::fetch::{complete_folder, make_folder};
use crate::{root, sdk, target_folder};

/// The runtime that the SDK runs on, and the version of its parts.
const RUNTIME: &str = "8.0.15";
/// Where the tests keep a newer library for the names of frameworks.
const FRAMEWORKS: &str = concat!(
    "artifacts_keyring-1.0.0/artifacts_keyring/plugins/plugins/netcore/CredentialProvider.Microsoft/",
    "NuGet.Frameworks.dll"
);

/// A project, and what an SDK must take from the package for it.
struct Project {
    framework: &'static str,
    assets: &'static str,
    /// The runtime of the program, below the fetched peers.
    runtime: &'static str,
}

const PROJECTS: [Project; 2] = [
    Project { framework: "net8.0", assets: "net8.0", runtime: "dotnet-8.0.15/dotnet" },
    Project {
        framework: "netcoreapp3.1",
        assets: "netstandard2.0",
        runtime: "dotnetcore2-3.1.23/dotnetcore2/bin/dotnet",
    },
];

/// Restores, builds and runs a program of each framework; a machine that cannot says why.
pub(super) fn all(about: &About, package: &Path, folder: &Path) -> Result<(), String> {
    let peers = target_folder().join("peers");
    let fetched = [peers.join(FRAMEWORKS), peers.join("dotnet-8.0.15/dotnet")];
    if let Some(missing) = fetched.iter().find(|path| !path.exists()) {
        eprintln!("skipped: no {}; the tests of clr fetch it", missing.display());
        return Ok(());
    }
    let dotnet = prepared(&peers)?;
    let feed = folder.join("feed");
    let copy = feed.join(package.file_name().unwrap_or_default());
    write(&copy, &fs::read(package).map_err(|error| format!("{}: {error}", package.display()))?)?;
    for project in PROJECTS {
        let own = folder.join(project.framework);
        project.write(about, &own)?;
        let mut build = Command::new(&dotnet);
        // Nothing may go on running when the check ends.
        build.args(["build", "-nologo", "-v:q", "-nowarn:MSB3101", "-nodeReuse:false"]);
        build.arg("-p:UseSharedCompilation=false");
        build
            .env("DOTNET_ROOT", dotnet.parent().unwrap_or(folder))
            .env("DOTNET_CLI_HOME", folder.join("home"));
        build.env("DOTNET_ROLL_FORWARD", "LatestMajor").env("DOTNET_SYSTEM_GLOBALIZATION_INVARIANT", "1");
        build.env("DOTNET_CLI_TELEMETRY_OPTOUT", "1").env("DOTNET_NOLOGO", "1");
        crate::run(
            build.env("NUGET_PACKAGES", folder.join("packages")).current_dir(&own).stdin(Stdio::null()),
        )?;
        let assets = own.join("obj/project.assets.json");
        let text = fs::read_to_string(&assets).map_err(|error| format!("{}: {error}", assets.display()))?;
        let wanted = format!("\"lib/{}/{}.dll\": {{}}", project.assets, nuget::NAME);
        if !text.contains(&wanted) {
            return Err(format!(
                "{}: a project of {} does not take {wanted}",
                assets.display(),
                project.framework
            ));
        }
        let runtime = peers.join(project.runtime);
        if !runtime.is_file() {
            eprintln!("skipped: no {}; the tests of clr fetch it", runtime.display());
            continue;
        }
        let mut program = Command::new(runtime);
        program.arg(own.join("bin/Debug").join(project.framework).join("program.dll"));
        program.env("TALLYMON_ROOT", folder.join("root")).env("DOTNET_SYSTEM_GLOBALIZATION_INVARIANT", "1");
        let said = output(program.stdin(Stdio::null()))?;
        if said != "0 wrong\n" {
            return Err(format!("a program of {} with the package says {said}", project.framework));
        }
        eprintln!("the package for .NET: restored and built by an SDK for {}, and run", project.framework);
    }
    Ok(())
}

impl Project {
    /// Writes the project into a folder.
    fn write(&self, about: &About, own: &Path) -> Result<(), String> {
        let source = root().join("crates/capi/tests/csharp/Behemoths.cs");
        let program = fs::read(&source).map_err(|error| format!("{}: {error}", source.display()))?;
        let text = PROJECT.replace("FRAMEWORK", self.framework).replace("NAME", nuget::NAME);
        write(&own.join("program.csproj"), text.replace("VERSION", &about.version).as_bytes())?;
        write(&own.join("Program.cs"), &program)?;
        write(&own.join("NuGet.config"), SOURCES.as_bytes())?;
        if self.framework == "net8.0" {
            write(&own.join("Directory.Build.props"), NEWER_PROPERTIES.as_bytes())?;
            write(&own.join("Directory.Build.targets"), NEWER.replace("RUNTIME", RUNTIME).as_bytes())?;
        }
        Ok(())
    }
}

/// The SDK on its runtime, with what a program of .NET 8 may refer to; made once. Returns its command.
fn prepared(peers: &Path) -> Result<PathBuf, String> {
    let folder = peers.join(format!("dotnet-sdk-{}-on-{RUNTIME}", sdk::VERSION));
    if !folder.is_dir() {
        let fetched = sdk::fetched(peers)?;
        complete_folder(&folder, |own| put_together(own, peers, &fetched))?;
    }
    Ok(folder.join("dotnet"))
}

/// Copies the runtime, the SDK and what it lacks into a folder.
fn put_together(own: &Path, peers: &Path, fetched: &Path) -> Result<(), String> {
    let copy = |from: &Path, to: &Path| output(Command::new("cp").arg("-rL").arg(from).arg(to));
    copy(&peers.join(format!("dotnet-{RUNTIME}/.")), own)?;
    copy(&fetched.join("sdk"), own)?;
    copy(&fetched.join("packs"), own)?;
    copy(&peers.join(FRAMEWORKS), &own.join("sdk").join(sdk::VERSION))?;
    // The libraries of the runtime are what a program may refer to, named in a list.
    let pack = own.join("packs/Microsoft.NETCore.App.Ref").join(RUNTIME);
    let references = pack.join("ref/net8.0");
    make_folder(&references)?;
    let libraries = own.join("shared/Microsoft.NETCore.App").join(RUNTIME);
    let mut list = String::new();
    let entries = fs::read_dir(&libraries).map_err(|error| format!("{}: {error}", libraries.display()))?;
    for path in entries.flatten().map(|entry| entry.path()) {
        let is_library = path.extension().is_some_and(|end| end == "dll");
        if let Some(name) = path.file_stem().filter(|_| is_library) {
            list += &FILE.replace("NAME", &name.to_string_lossy());
            copy(&path, &references)?;
        }
    }
    write(&pack.join("data/FrameworkList.xml"), LIST.replace("FILES", &list).as_bytes())
}

const PROJECT: &str = r#"<Project Sdk="Microsoft.NET.Sdk">
  <PropertyGroup>
    <OutputType>Exe</OutputType>
    <TargetFramework>FRAMEWORK</TargetFramework>
    <UseAppHost>false</UseAppHost>
  </PropertyGroup>
  <ItemGroup>
    <PackageReference Include="NAME" Version="VERSION" />
  </ItemGroup>
</Project>
"#;

/// The package comes from a folder, and nothing from anywhere else.
const SOURCES: &str = r#"<?xml version="1.0" encoding="utf-8"?>
<configuration>
  <packageSources>
    <clear />
    <add key="made" value="../feed" />
  </packageSources>
</configuration>
"#;

/// What newer SDKs know of `net8.0`.
const NEWER_PROPERTIES: &str = r#"<Project>
  <PropertyGroup>
    <TargetFrameworkIdentifier>.NETCoreApp</TargetFrameworkIdentifier>
    <TargetFrameworkVersion>v8.0</TargetFrameworkVersion>
  </PropertyGroup>
</Project>
"#;
const NEWER: &str = r#"<Project>
  <PropertyGroup>
    <NETCoreAppMaximumVersion>8.0</NETCoreAppMaximumVersion>
  </PropertyGroup>
  <ItemGroup>
    <KnownFrameworkReference Include="Microsoft.NETCore.App" TargetFramework="netcoreapp8.0"
      RuntimeFrameworkName="Microsoft.NETCore.App" DefaultRuntimeFrameworkVersion="8.0.0"
      LatestRuntimeFrameworkVersion="RUNTIME" TargetingPackName="Microsoft.NETCore.App.Ref"
      TargetingPackVersion="RUNTIME" />
  </ItemGroup>
</Project>
"#;

const LIST: &str = r#"<FileList Name=".NET 8.0" TargetFrameworkIdentifier=".NETCoreApp"
  TargetFrameworkVersion="8.0" FrameworkName="Microsoft.NETCore.App">
FILES</FileList>
"#;
const FILE: &str = r#"  <File Type="Managed" Path="ref/net8.0/NAME.dll" AssemblyName="NAME"
    AssemblyVersion="8.0.0.0" FileVersion="8.0.0.0" PublicKeyToken="b03f5f7f11d50a3a" />
"#;
