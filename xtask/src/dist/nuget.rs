//! The package for .NET: the classes of `bindings/csharp` and the C library that they call.
//!
//! Mono's compiler makes the assembly, which needs no SDK. It refers to `mscorlib` and `System`, whose names
//! every .NET since Core 2.0 forwards to its own libraries.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::files::{Tree, below};
use super::{About, read, write as write_file, zip};
use crate::root;

/// The name of the package and of its assembly.
pub(super) const NAME: &str = "Tallymon.Diagnostics";
/// The frameworks that the assembly is for.
const FRAMEWORKS: [&str; 2] = ["net8.0", "netstandard2.0"];

/// Writes the package into a folder.
pub(super) fn write(about: &About, tree: &Tree, folder: &Path) -> Result<PathBuf, String> {
    let binding = root().join("bindings/csharp");
    let work = folder.join("nuget");
    let assembly = work.join(format!("{NAME}.dll"));
    let notes = work.join(format!("{NAME}.xml"));
    // The compiler writes into folders that are there.
    write_file(&notes, b"")?;
    // The sources have no version of their own: it is that of the package.
    let version = work.join("Version.cs");
    write_file(&version, VERSION.replace("VERSION", &about.version).as_bytes())?;
    let mut compile = Command::new("mcs");
    compile.args(["-target:library", "-optimize+", "-deterministic", "-warnaserror", "-nowarn:1591"]);
    compile.arg(format!("-doc:{}", notes.display())).arg(format!("-out:{}", assembly.display()));
    let sources = below(&binding)?;
    let is_source = |path: &&PathBuf| path.extension().is_some_and(|end| end == "cs");
    compile.current_dir(&binding).args(sources.iter().filter(is_source)).arg(&version);
    crate::run(&mut compile).map_err(|error| format!("{error}\nmono-devel has the compiler mcs"))?;
    let mut members = vec![
        ("[Content_Types].xml".to_string(), CONTENT_TYPES.as_bytes().to_vec()),
        ("_rels/.rels".to_string(), relations().into_bytes()),
        (format!("{NAME}.nuspec"), about_text(about).into_bytes()),
        ("README.md".to_string(), read(&binding.join("README.md"))?),
    ];
    for framework in FRAMEWORKS {
        members.push((format!("lib/{framework}/{NAME}.dll"), read(&assembly)?));
        members.push((format!("lib/{framework}/{NAME}.xml"), read(&notes)?));
    }
    let library = read(&tree.folder.join("lib/libtallymon.so"))?;
    members.push(("runtimes/linux-x64/native/libtallymon.so".to_string(), library));
    zip::write(&folder.join(format!("{NAME}.{}.nupkg", about.version)), &members, about.effort)
}

/// The version of the assembly.
const VERSION: &str = r#"using System.Reflection;
[assembly: AssemblyVersion("VERSION")]
[assembly: AssemblyFileVersion("VERSION")]
[assembly: AssemblyInformationalVersion("VERSION")]
"#;

/// The types of the files of the package, by their ends.
const CONTENT_TYPES: &str = r#"<?xml version="1.0" encoding="utf-8"?>
<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">
  <Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml" />
  <Default Extension="nuspec" ContentType="application/octet" />
  <Default Extension="dll" ContentType="application/octet" />
  <Default Extension="so" ContentType="application/octet" />
  <Default Extension="xml" ContentType="application/octet" />
  <Default Extension="md" ContentType="application/octet" />
</Types>
"#;

/// Where the description of the package is.
fn relations() -> String {
    format!(
        r#"<?xml version="1.0" encoding="utf-8"?>
<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">
  <Relationship Type="http://schemas.microsoft.com/packaging/2010/07/manifest"
    Target="/{NAME}.nuspec" Id="R1" />
</Relationships>
"#
    )
}

fn about_text(about: &About) -> String {
    let groups = FRAMEWORKS.map(|framework| format!("      <group targetFramework=\"{framework}\" />\n"));
    format!(
        r#"<?xml version="1.0" encoding="utf-8"?>
<package xmlns="http://schemas.microsoft.com/packaging/2013/05/nuspec.xsd">
  <metadata>
    <id>{NAME}</id>
    <version>{}</version>
    <authors>The Tallymon developers</authors>
    <license type="expression">{}</license>
    <projectUrl>{}</projectUrl>
    <readme>README.md</readme>
    <description>PerformanceCounter and PerformanceCounterCategory of System.Diagnostics for Linux: reads
      every counter of the machine, and publishes those of the program.</description>
    <dependencies>
{}    </dependencies>
  </metadata>
</package>
"#,
        about.version,
        About::LICENCE,
        About::HOMEPAGE,
        groups.concat(),
    )
}
