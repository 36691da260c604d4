//! The programs that are run, and the runtimes that run them.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::{root, target_folder};

/// A program on a runtime.
pub(super) struct Case {
    pub(super) runtime: &'static str,
    pub(super) name: &'static str,
    pub(super) words: Vec<PathBuf>,
    /// A file that it writes.
    pub(super) file: Option<PathBuf>,
    /// It says its address, and answers requests until its input ends.
    pub(super) is_server: bool,
}

/// The programs on the runtimes that are there.
pub(super) fn cases(folder: &Path) -> Result<Vec<Case>, String> {
    let peers = target_folder().join("peers");
    let settings = folder.join("run.runtimeconfig.json");
    let text = r#"{"runtimeOptions":{"rollForward":"LatestMajor","framework":
        {"name":"Microsoft.NETCore.App","version":"3.1.0"},
        "configProperties":{"System.Globalization.Invariant":true}}}"#;
    fs::write(&settings, text).map_err(|error| format!("{}: {error}", settings.display()))?;
    let programs = root().join("crates/clr/tests/dotnet/programs");
    let made =
        |name: &str| compiled(&folder.join(format!("{name}.exe")), &programs.join(format!("{name}.cs")));
    let (shop, unloads, endings) = (made("shop")?, made("unloads")?, made("endings")?);
    let web = compiled(&folder.join("web.exe"), &root().join("crates/dotnet/tests/attach/web.cs"))?;
    let keyring = peers.join("artifacts_keyring-1.0.0/artifacts_keyring/plugins/plugins/netcore");
    let keyring = keyring.join("CredentialProvider.Microsoft/CredentialProvider.Microsoft.dll");
    let sdk = Sdk::fetched(&peers)?;
    let written = folder.join("written.dll");
    let mut all = Vec::new();
    let runtimes = [
        ("3.1", peers.join("dotnetcore2-3.1.23/dotnetcore2/bin/dotnet")),
        ("8.0", peers.join("dotnet-8.0.15/dotnet")),
        ("9.0", peers.join("dotnet-9.0.5/dotnet")),
    ];
    for (runtime, dotnet) in runtimes {
        let begin = [dotnet, "exec".into(), "--runtimeconfig".into(), settings.clone()];
        let mut case = |name, more: Vec<PathBuf>, file, is_server| {
            let words = begin.iter().cloned().chain(more).collect();
            all.push(Case { runtime, name, words, file, is_server });
        };
        case("shop", vec![shop.clone(), "20".into()], None, false);
        case("csc", sdk.csc(&programs.join("shop.cs"), &written), Some(written.clone()), false);
        case("fsc", sdk.fsc(&programs.join("orders.fs"), &written), Some(written.clone()), false);
        case("unloads", vec![unloads.clone(), "10".into(), "100".into()], None, false);
        for ending in ["exit", "exception", "fail fast", "overflow"] {
            case(ending, vec![endings.clone(), ending.into()], None, false);
        }
        // It comes with this one, and does not run on the others.
        if runtime == "8.0" {
            case("artifacts-keyring", vec![keyring.clone(), "-h".into()], None, false);
        }
        if runtime == "9.0" {
            case("ASP.NET Core", vec![web.clone(), peers.join("aspnetcore-9.0.5")], None, true);
        }
    }
    let mut case = |name, words| {
        all.push(Case { runtime: "10.0", name, words, file: None, is_server: false });
    };
    case("azmcp", vec![peers.join("azure-mcp-2.0.5/package/dist/azmcp"), "--help".into()]);
    // The host out of that program runs what lies beside it under this name
    // (`crates/clr/tests/dotnet/bundle.rs`).
    let host = peers.join("dotnet-10.0.9/azmcp");
    for (name, more) in [("shop", "20"), ("exception", "exception"), ("overflow", "overflow")] {
        let own = folder.join(format!("10.0-{name}"));
        fs::create_dir_all(&own).map_err(|error| format!("{}: {error}", own.display()))?;
        let source = if name == "shop" { "shop.cs" } else { "endings.cs" };
        compiled(&own.join("azmcp.dll"), &programs.join(source))?;
        fs::hard_link(&host, own.join("host")).map_err(|error| format!("{}: {error}", host.display()))?;
        case(name, vec![own.join("host"), more.into()]);
    }
    Ok(all)
}

fn compiled(program: &Path, source: &Path) -> Result<PathBuf, String> {
    let mut mcs = Command::new("mcs");
    mcs.args(["-optimize+", "-r:System.Net.Http"]).arg(format!("-out:{}", program.display())).arg(source);
    crate::run(&mut mcs)?;
    Ok(program.to_path_buf())
}

/// The compilers of an SDK, and what programs refer to.
struct Sdk {
    csc: PathBuf,
    fsc: PathBuf,
    /// What programs of F# need as well.
    core: PathBuf,
    references: Vec<PathBuf>,
}

impl Sdk {
    /// That of the fetched peers; fetched first when it is not there.
    fn fetched(peers: &Path) -> Result<Sdk, String> {
        let folder = crate::sdk::fetched(peers)?;
        let one = |name: &str, within: &str| {
            let is_it = |file: &Path| {
                file.file_name().is_some_and(|it| it == name) && file.to_string_lossy().contains(within)
            };
            found(&folder, is_it)?.into_iter().next().ok_or_else(|| format!("the SDK has no {name}"))
        };
        let reference = one("System.Runtime.dll", "/Microsoft.NETCore.App.Ref/")?;
        let references = reference.parent().ok_or("the SDK has no references")?;
        let references = found(references, |file| file.extension().is_some_and(|end| end == "dll"))?;
        let (csc, fsc) = (one("csc.dll", "/Roslyn/")?, one("fsc.exe", "/FSharp/")?);
        Ok(Sdk { csc, core: fsc.with_file_name("FSharp.Core.dll"), fsc, references })
    }

    fn csc(&self, source: &Path, written: &Path) -> Vec<PathBuf> {
        let mut words: Vec<PathBuf> =
            vec![self.csc.clone(), "-nologo".into(), "-deterministic".into(), "-nostdlib".into()];
        words.extend(self.references.iter().map(|file| format!("-r:{}", file.display()).into()));
        words.extend([format!("-out:{}", written.display()).into(), source.into()]);
        words
    }

    fn fsc(&self, source: &Path, written: &Path) -> Vec<PathBuf> {
        let mut words: Vec<PathBuf> = vec![self.fsc.clone()];
        let options =
            ["--nologo", "--deterministic+", "--noframework", "--targetprofile:netcore", "--target:library"];
        words.extend(options.map(PathBuf::from));
        let references = self.references.iter().chain([&self.core]);
        words.extend(references.map(|file| format!("-r:{}", file.display()).into()));
        words.extend([format!("-o:{}", written.display()).into(), source.into()]);
        words
    }
}

/// The files in a folder and those in it that are wanted.
fn found(folder: &Path, wanted: impl Fn(&Path) -> bool) -> Result<Vec<PathBuf>, String> {
    let (mut open, mut all) = (vec![folder.to_path_buf()], Vec::new());
    while let Some(folder) = open.pop() {
        let entries = fs::read_dir(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
        for entry in entries.flatten() {
            let path = entry.path();
            match entry.file_type() {
                Ok(kind) if kind.is_dir() => open.push(path),
                Ok(kind) if kind.is_file() && wanted(&path) => all.push(path),
                _ => {}
            }
        }
    }
    all.sort();
    Ok(all)
}
