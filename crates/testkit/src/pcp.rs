//! Performance Co-Pilot: installed, or unpacked by `cargo xtask test --peers required`.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::skips::{required, skip};

/// The programs of Performance Co-Pilot.
#[derive(Debug, Clone)]
pub struct Pcp {
    /// What their paths begin with; `None` if they are installed.
    root: Option<PathBuf>,
}

/// What every test needs.
const NEEDED: [&str; 4] =
    ["/usr/lib/pcp/bin/pmcd", "/usr/bin/pmlogger", "/usr/bin/pminfo", "/var/lib/pcp/pmns/root"];

impl Pcp {
    /// Finds it; `None` (and a reported skip) when it is nowhere. `TALLYMON_PCP` names a folder in which it
    /// was unpacked.
    ///
    /// # Panics
    ///
    /// When peers are required and it is missing.
    pub fn find() -> Option<Pcp> {
        if !cfg!(unix) {
            skip("Performance Co-Pilot is not run from Windows");
            return None;
        }
        let named = std::env::var_os("TALLYMON_PCP").map(PathBuf::from);
        let unpacked =
            || std::path::absolute(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/peers/pcp"));
        let mut places = match named {
            Some(folder) => vec![Some(folder)],
            None => vec![None, unpacked().ok()],
        };
        places.retain(|root| {
            let pcp = Pcp { root: root.clone() };
            NEEDED.iter().all(|path| pcp.path(path).exists())
        });
        let found = places.into_iter().next().map(|root| Pcp { root });
        if found.is_none() {
            assert!(!required("TALLYMON_PEERS"), "Performance Co-Pilot is required, and is not here");
            skip("Performance Co-Pilot is not installed; `cargo xtask test --peers required` unpacks it");
        }
        found
    }

    /// Where a file of its packages is.
    pub fn path(&self, path: &str) -> PathBuf {
        match &self.root {
            Some(root) => root.join(path.trim_start_matches('/')),
            None => PathBuf::from(path),
        }
    }

    /// A program, by the path that it has when it is installed.
    pub fn command(&self, path: &str) -> Command {
        let mut command = Command::new(self.path(path));
        if let Some(root) = &self.root {
            command.env("PCP_DIR", root).env("PCP_CONF", root.join("etc/pcp.conf"));
            let kind = std::env::consts::ARCH;
            let libraries = format!("{0}/usr/lib:{0}/usr/lib/{kind}-linux-gnu", root.display());
            command.env("LD_LIBRARY_PATH", libraries);
        }
        command
    }
}
