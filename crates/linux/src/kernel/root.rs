//! Where `/proc` and `/sys` are: the kernel's own, or a folder that a test has filled.

use std::path::{Path, PathBuf};

/// The folders that every collector reads below.
///
/// Collectors never write `/proc` or `/sys` themselves: they ask this value, so that the whole collection can
/// be pointed at a copy of another machine's files, and so that a container can be given the host's folders
/// under another name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Root {
    /// The folder that stands for `/proc`.
    pub proc: PathBuf,
    /// The folder that stands for `/sys`.
    pub sys: PathBuf,
    /// The folder that stands for `/run`, where services keep what they know of the running machine.
    pub run: PathBuf,
}

impl Root {
    /// The running kernel's own `/proc` and `/sys`.
    pub fn system() -> Root {
        Root { proc: PathBuf::from("/proc"), sys: PathBuf::from("/sys"), run: PathBuf::from("/run") }
    }

    /// The folders `proc` and `sys` below `folder`; neither has to exist.
    pub fn below(folder: &Path) -> Root {
        Root { proc: folder.join("proc"), sys: folder.join("sys"), run: folder.join("run") }
    }

    /// Whether this is the running kernel's own `/proc`.
    ///
    /// What does not come from files (clocks of processes, netlink, free space) belongs to the running kernel
    /// only, so collectors leave it out when they are pointed elsewhere instead of mixing two machines.
    pub fn is_system(&self) -> bool {
        self.proc == Path::new("/proc")
    }

    /// The path of a file below `/proc`, for example `net/snmp`.
    ///
    /// A relative path is needed: an absolute one would leave the folder, and its leading `/` is dropped.
    pub fn proc(&self, relative: &str) -> PathBuf {
        self.proc.join(relative.trim_start_matches('/'))
    }

    /// The path of a file below `/sys`, for example `class/net/eth0/speed`; as [`Root::proc`].
    pub fn sys(&self, relative: &str) -> PathBuf {
        self.sys.join(relative.trim_start_matches('/'))
    }

    /// The path of a file below `/run`, for example `utmp`; as [`Root::proc`].
    pub fn run(&self, relative: &str) -> PathBuf {
        self.run.join(relative.trim_start_matches('/'))
    }
}

impl Default for Root {
    fn default() -> Root {
        Root::system()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_stay_below_the_folder() {
        let root = Root::below(Path::new("/tmp/machine"));
        assert_eq!(root.proc("net/snmp"), Path::new("/tmp/machine/proc/net/snmp"));
        assert_eq!(root.proc("/net/snmp"), Path::new("/tmp/machine/proc/net/snmp"));
        assert_eq!(root.sys("class/net"), Path::new("/tmp/machine/sys/class/net"));
        assert!(!root.is_system());
        assert!(Root::system().is_system());
        assert_eq!(Root::system().proc("stat"), Path::new("/proc/stat"));
    }
}
