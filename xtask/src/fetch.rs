//! Packages of Debian that are fetched and unpacked, and not installed: programs of other versions, and
//! those whose package cannot be installed everywhere.
//!
//! `apt` fetches them and checks their signatures.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::{output, run as execute};

/// The keys of all versions of Debian.
const KEYS: &str = "/usr/share/keyrings/debian-archive-keyring.gpg";

/// Makes a folder with those above it.
pub(crate) fn make_folder(folder: &Path) -> Result<(), String> {
    fs::create_dir_all(folder).map_err(|error| format!("{}: {error}", folder.display()))
}

/// Fills a folder that has its name only when it is complete; what a run before left half done is removed.
pub(crate) fn complete_folder(
    folder: &Path,
    fill: impl FnOnce(&Path) -> Result<(), String>,
) -> Result<(), String> {
    let part = folder.with_added_extension("part");
    let failed = |error| format!("{}: {error}", part.display());
    if part.exists() {
        fs::remove_dir_all(&part).map_err(failed)?;
    }
    make_folder(&part)?;
    fill(&part)?;
    fs::rename(&part, folder).map_err(failed)
}

/// Unpacks packages into a folder: those of a version of Debian, or of this system.
pub(crate) fn unpack(folder: &Path, version: Option<&str>, packages: &[&str]) -> Result<(), String> {
    make_folder(folder)?;
    let work = folder.join(format!("fetching-{}", version.unwrap_or("here")));
    make_folder(&work)?;
    let mut apt = apt(&work, version)?;
    if version.is_some() {
        let mut update = apt(&["update"]);
        execute(&mut update)?;
    }
    let words: Vec<&str> = std::iter::once("download").chain(packages.iter().copied()).collect();
    execute(&mut apt(&words))?;
    let mut files = deb_files(&work)?;
    files.sort();
    if files.len() < packages.len() {
        return Err(format!("apt fetched {} files of {packages:?}", files.len()));
    }
    for file in files {
        execute(Command::new("dpkg-deb").arg("-x").arg(&file).arg(folder))?;
        let of = version.map_or_else(|| "this system".to_owned(), |version| format!("Debian {version}"));
        println!("{} of {of}", file.file_name().unwrap_or_default().display());
    }
    fs::remove_dir_all(&work).map_err(|error| format!("{}: {error}", work.display()))
}

/// What makes commands of `apt-get` in a folder, with lists of its own for a version of Debian.
fn apt(work: &Path, version: Option<&str>) -> Result<impl FnMut(&[&str]) -> Command, String> {
    let mut options: Vec<(&str, PathBuf)> = Vec::new();
    if let Some(version) = version {
        let (lists, cache) = (work.join("lists"), work.join("cache"));
        for one in [lists.join("partial"), cache.join("archives/partial")] {
            make_folder(&one)?;
        }
        // The mirror that this system has.
        let mut targets = Command::new("apt-get");
        targets.args(["indextargets", "--format", "$(REPO_URI)", "Created-By: Packages", "Label: Debian"]);
        let mirrors = output(&mut targets)?;
        let mirror = mirrors.lines().next().ok_or("the sources of apt have no mirror of Debian")?;
        let sources = work.join("sources.list");
        let line = format!("deb [signed-by={KEYS}] {mirror} {version} main\n");
        fs::write(&sources, line).map_err(|error| format!("{}: {error}", sources.display()))?;
        options = vec![
            ("Dir::Etc::SourceList", sources),
            ("Dir::Etc::SourceParts", PathBuf::from("/dev/null")),
            ("Dir::State::Lists", lists),
            ("Dir::Cache", cache),
        ];
    }
    let work = work.to_owned();
    Ok(move |words: &[&str]| {
        let mut apt = Command::new("apt-get");
        apt.current_dir(&work).arg("-qq");
        for (name, value) in &options {
            apt.arg("-o").arg(format!("{name}={}", value.display()));
        }
        apt.args(["-o", "APT::Sandbox::User=root"]).args(words);
        apt
    })
}

fn deb_files(work: &Path) -> Result<Vec<PathBuf>, String> {
    let files = fs::read_dir(work).map_err(|error| format!("{}: {error}", work.display()))?;
    let files = files.filter_map(Result::ok).map(|file| file.path());
    Ok(files.filter(|file| file.extension().is_some_and(|end| end == "deb")).collect())
}

/// The packages of Performance Co-Pilot, with the libraries that few systems have.
const PCP: [&str; 14] = [
    "pcp",
    "python3-pcp",
    "pcp-conf",
    "libpcp3",
    "libpcp-archive1",
    "libpcp-gui2",
    "libpcp-import1",
    "libpcp-mmv1",
    "libpcp-pmda3",
    "libpcp-trace2",
    "libpcp-web1",
    "libuv1",
    "libsasl2-2",
    "libpfm4",
];

/// Unpacks Performance Co-Pilot for the tests, unless it is installed: its package needs a running systemd.
/// `testkit::Pcp` finds it there.
pub(crate) fn pcp() -> Result<(), String> {
    let folder = crate::target_folder().join("peers/pcp");
    let names = folder.join("var/lib/pcp/pmns");
    let has_reporter = folder.join("usr/lib/python3/dist-packages/pcp/pmapi.py").exists();
    if Path::new("/usr/lib/pcp/bin/pmcd").exists() || names.join("root").exists() && has_reporter {
        return Ok(());
    }
    if !Path::new("/usr/bin/apt-get").exists() {
        println!("Performance Co-Pilot is not installed, and there is no apt to fetch it");
        return Ok(());
    }
    unpack(&folder, None, &PCP)?;
    keep_links_inside(&folder, &folder)?;
    // Its settings have absolute paths, and a user that the package would make.
    let settings = folder.join("etc/pcp.conf");
    let text = fs::read_to_string(&settings).map_err(|error| format!("{}: {error}", settings.display()))?;
    let user = output(Command::new("id").arg("-un"))?;
    let moved = text.lines().map(|line| match line.split_once('=') {
        Some((name @ ("PCP_USER" | "PCP_GROUP"), _)) => format!("{name}={}\n", user.trim()),
        Some((name, value)) if !name.ends_with("_PROG") && is_moved(value) => {
            format!("{name}={}{value}\n", folder.display())
        }
        _ => format!("{line}\n"),
    });
    let moved: String = moved.collect();
    fs::write(&settings, moved).map_err(|error| format!("{}: {error}", settings.display()))?;
    for one in ["run/pcp", "var/log/pcp", "var/lib/pcp/tmp", "var/tmp"] {
        make_folder(&folder.join(one))?;
    }
    // Its package makes the tree of names when it is installed.
    let mut rebuild = Command::new("./Rebuild");
    rebuild.arg("-s").current_dir(&names);
    rebuild.env("PCP_DIR", &folder).env("PCP_CONF", &settings);
    // Its own libraries are beside those of the system's kind of processor.
    let kind = std::env::consts::ARCH;
    let libraries = format!("{0}/usr/lib:{0}/usr/lib/{kind}-linux-gnu", folder.display());
    let rebuilt = execute(rebuild.env("LD_LIBRARY_PATH", libraries));
    if rebuilt.is_err() {
        // A tree that is not whole would be taken for one by the next run.
        let _ = fs::remove_file(names.join("root"));
    }
    rebuilt
}

/// Turns links to files of an installed package into links to the unpacked ones.
fn keep_links_inside(root: &Path, folder: &Path) -> Result<(), String> {
    let failed = |path: &Path| format!("{}: ", path.display());
    for entry in fs::read_dir(folder).map_err(|error| failed(folder) + &error.to_string())?.flatten() {
        let path = entry.path();
        let kind = entry.file_type().map_err(|error| failed(&path) + &error.to_string())?;
        if kind.is_dir() {
            keep_links_inside(root, &path)?;
            continue;
        }
        let target = fs::read_link(&path).ok().filter(|target| kind.is_symlink() && target.is_absolute());
        let inside = target.map(|target| root.join(target.strip_prefix("/").unwrap_or(&target)));
        if let Some(inside) = inside.filter(|inside| inside.exists()) {
            let renewed = fs::remove_file(&path).and_then(|()| std::os::unix::fs::symlink(&inside, &path));
            renewed.map_err(|error| failed(&path) + &error.to_string())?;
        }
    }
    Ok(())
}

/// Whether a path in the settings is one of the packages.
fn is_moved(value: &str) -> bool {
    ["/etc", "/usr", "/var", "/run"].iter().any(|begin| value.starts_with(begin))
}
