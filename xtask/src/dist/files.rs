//! The files of a package, staged as they are installed below a prefix.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::{About, output, read, write};
use crate::root;

/// A folder with the files of the packages, below `bin`, `lib`, `share` and so on.
pub(super) struct Tree {
    pub(super) folder: PathBuf,
    /// Paths below the folder, sorted.
    pub(super) files: Vec<PathBuf>,
}

/// Files of the repository, and where they are installed.
const DOCUMENTS: [&str; 7] = [
    "README.md",
    "README.ko.md",
    "README.ja.md",
    "README.ru.md",
    "CHANGELOG.md",
    "LICENSE-MIT",
    "LICENSE-APACHE",
];

impl Tree {
    /// Fills a new folder from what was built.
    pub(super) fn stage(about: &About, built: &Path, folder: &Path) -> Result<Tree, String> {
        let program = built.join("tally");
        for (from, to) in [
            ("tally", "bin/tally"),
            ("tally-host", "libexec/tallymon/tally-host"),
            ("libtallymon_clr.so", "lib/tallymon/libtallymon_clr.so"),
            ("libtallymon_capi.so", "lib/libtallymon.so"),
        ] {
            let to = folder.join(to);
            write(&to, &read(&built.join(from))?)?;
            crate::run(
                Command::new("strip").args(["--strip-all", "--enable-deterministic-archives"]).arg(&to),
            )?;
            mode(&to, if to.extension().is_some() { 0o644 } else { 0o755 })?;
        }
        let headers = root().join("crates/capi/include");
        for header in below(&headers)? {
            write(&folder.join("include/tallymon").join(&header), &read(&headers.join(&header))?)?;
        }
        write(&folder.join("lib/pkgconfig/tallymon.pc"), pkg_config(about).as_bytes())?;
        for (shell, to) in [
            ("bash", "share/bash-completion/completions/tally"),
            ("zsh", "share/zsh/site-functions/_tally"),
            ("fish", "share/fish/vendor_completions.d/tally.fish"),
            // PowerShell has no folder that it looks into: a profile names the file.
            ("powershell", "share/tallymon/completions/tally.ps1"),
        ] {
            let script = output(Command::new(&program).args(["completions", shell]))?;
            write(&folder.join(to), script.as_bytes())?;
        }
        let pages = folder.join("share/man/man1");
        let mut man = Command::new(&program);
        man.arg("man").arg("--output").arg(&pages).env("SOURCE_DATE_EPOCH", about.epoch.to_string());
        crate::run(&mut man)?;
        for page in below(&pages)? {
            // Without the name and the time of the file.
            crate::run(Command::new("gzip").args(["-9", "-n", "-f"]).arg(pages.join(page)))?;
        }
        for (name, text) in [
            ("tallymon-log@.service", LOG_SERVICE),
            ("tallymon-serve.socket", PAGE_SOCKET),
            ("tallymon-serve.service", PAGE_SERVICE),
            ("tallymon-samba.service", SAMBA_SERVICE),
        ] {
            write(&folder.join("lib/systemd/system").join(name), text.as_bytes())?;
        }
        for document in DOCUMENTS {
            write(&folder.join("share/doc/tallymon").join(document), &read(&root().join(document))?)?;
        }
        let files = below(folder)?;
        for file in &files {
            let file = folder.join(file);
            let is_program =
                file.components().any(|part| part.as_os_str() == "bin" || part.as_os_str() == "libexec");
            mode(&file, if is_program { 0o755 } else { 0o644 })?;
        }
        Ok(Tree { folder: folder.to_path_buf(), files })
    }

    /// Writes the tar for any distribution, to unpack into `/usr/local` or `~/.local`.
    pub(super) fn tar(&self, about: &About, folder: &Path) -> Result<PathBuf, String> {
        let file = folder.join(format!("{}.tar.gz", about.name()));
        pack(about, &self.folder, &[format!("--transform=s,^\\./,{}/,", about.name())], &file)?;
        Ok(file)
    }
}

/// Packs a folder into a compressed tar whose bytes depend on nothing else.
pub(super) fn pack(about: &About, folder: &Path, options: &[String], file: &Path) -> Result<(), String> {
    let plain = file.with_extension("");
    let mut tar = Command::new("tar");
    tar.args([
        "--create",
        "--format=ustar",
        "--sort=name",
        "--owner=0",
        "--group=0",
        "--numeric-owner",
        "--mode=go-w",
    ]);
    tar.arg(format!("--mtime=@{}", about.epoch)).args(options);
    tar.arg("--file").arg(&plain).arg("--directory").arg(folder).arg(".");
    crate::run(&mut tar)?;
    crate::run(Command::new("gzip").args([about.effort, "-n", "-f"]).arg(&plain))
}

/// The files below a folder, sorted, as paths from there.
pub(super) fn below(folder: &Path) -> Result<Vec<PathBuf>, String> {
    let mut files = Vec::new();
    let mut folders = vec![PathBuf::new()];
    while let Some(inner) = folders.pop() {
        let path = folder.join(&inner);
        let entries = fs::read_dir(&path).map_err(|error| format!("{}: {error}", path.display()))?;
        for entry in entries {
            let entry = entry.map_err(|error| format!("{}: {error}", path.display()))?;
            let path = inner.join(entry.file_name());
            match entry.path().is_dir() {
                true => folders.push(path),
                false => files.push(path),
            }
        }
    }
    files.sort();
    Ok(files)
}

/// Every folder above some files, sorted.
pub(super) fn folders_of(files: &[PathBuf]) -> Vec<PathBuf> {
    let above = files.iter().flat_map(|file| file.ancestors().skip(1));
    let mut folders: Vec<PathBuf> =
        above.filter(|path| *path != Path::new("")).map(Path::to_path_buf).collect();
    folders.sort();
    folders.dedup();
    folders
}

fn mode(file: &Path, mode: u32) -> Result<(), String> {
    fs::set_permissions(file, fs::Permissions::from_mode(mode))
        .map_err(|error| format!("{}: {error}", file.display()))
}

/// What `pkg-config --cflags --libs tallymon` answers from. It names its own folder, so that it is right
/// wherever the files are.
fn pkg_config(about: &About) -> String {
    format!(
        "prefix=${{pcfiledir}}/../..\n\
         includedir=${{prefix}}/include/tallymon\n\
         libdir=${{pcfiledir}}/..\n\n\
         Name: tallymon\n\
         Description: {}: pdh.h, winperf.h and the registry's performance keys\n\
         Version: {}\n\
         Cflags: -I${{includedir}} -fshort-wchar\n\
         Libs: -L${{libdir}} -ltallymon\n",
        About::SUMMARY,
        about.version
    )
}

/// A recording session that starts with the machine: `systemctl enable --now tallymon-log@NAME`.
const LOG_SERVICE: &str = "[Unit]\n\
    Description=Tallymon recording session %I\n\
    Documentation=man:tally-log(1)\n\n\
    [Service]\n\
    ExecStart=/usr/bin/tally log run %I\n\
    Restart=on-failure\n\
    RestartSec=10\n\n\
    [Install]\n\
    WantedBy=multi-user.target\n";

/// The port of the page, which starts it at the first request.
const PAGE_SOCKET: &str = "[Unit]\n\
    Description=Performance Monitor in a browser (port)\n\
    Documentation=man:tally-serve(1)\n\n\
    [Socket]\n\
    ListenStream=127.0.0.1:7450\n\n\
    [Install]\n\
    WantedBy=sockets.target\n";

/// This machine for Windows' tools, by Samba. Its folder is made like the others of Samba.
const SAMBA_SERVICE: &str = "[Unit]\n\
    Description=Counters of this machine for Windows' tools, by Samba\n\
    Documentation=man:tally-serve(1)\n\
    After=smbd.service smb.service\n\n\
    [Service]\n\
    Environment=FOLDER=/var/lib/samba/perfmon OPTIONS=\n\
    EnvironmentFile=-/etc/default/tallymon-samba\n\
    ExecStartPre=/bin/mkdir -p -m 0755 ${FOLDER}\n\
    ExecStart=/usr/bin/tally serve --samba ${FOLDER} $OPTIONS\n\
    Restart=on-failure\n\
    RestartSec=10\n\n\
    [Install]\n\
    WantedBy=multi-user.target\n";

const PAGE_SERVICE: &str = "[Unit]\n\
    Description=Performance Monitor in a browser\n\
    Documentation=man:tally-serve(1)\n\
    Requires=tallymon-serve.socket\n\n\
    [Service]\n\
    DynamicUser=yes\n\
    LoadCredential=token:/etc/tallymon/serve.token\n\
    ExecStart=/usr/bin/tally serve --token-file ${CREDENTIALS_DIRECTORY}/token\n";
