//! The roots below which files are read: the kernel's own, or directories that a test has filled.

use std::path::{Path, PathBuf};

/// The directories below which all kernel files are read.
///
/// No other code writes `/proc` or `/sys` into a path, so a whole collection can be pointed at a copy of
/// another machine's files, and a container can use the host's directories under another name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Root {
    /// The directory used as `/proc`.
    pub proc: PathBuf,
    /// The directory used as `/sys`.
    pub sys: PathBuf,
    /// The directory used as `/run`, where services keep their state.
    pub run: PathBuf,
    /// The directory used as `/var`, where container runtimes keep the names of their containers.
    pub var: PathBuf,
}

impl Root {
    /// The running kernel's own `/proc` and `/sys`.
    pub fn system() -> Root {
        let real = PathBuf::from;
        Root { proc: real("/proc"), sys: real("/sys"), run: real("/run"), var: real("/var") }
    }

    /// The directories `proc`, `sys`, `run` and `var` below `folder`; they do not have to exist.
    pub fn below(folder: &Path) -> Root {
        let below = |name| folder.join(name);
        Root { proc: below("proc"), sys: below("sys"), run: below("run"), var: below("var") }
    }

    /// Whether this is the running kernel's own `/proc`.
    ///
    /// Process clocks, netlink and free space always belong to the running kernel. With other roots they are
    /// left out, so that two machines are never mixed.
    pub fn is_system(&self) -> bool {
        self.proc == Path::new("/proc")
    }

    /// The path of a file below `/proc`, for example `net/snmp`.
    ///
    /// The path has to be relative: the leading `/` of an absolute one is dropped, so that it cannot leave
    /// the directory.
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

    /// The path of a file below `/var`, for example `log/containers`; as [`Root::proc`].
    pub fn var(&self, relative: &str) -> PathBuf {
        self.var.join(relative.trim_start_matches('/'))
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
    fn paths_stay_below_the_root() {
        let root = Root::below(Path::new("/tmp/machine"));
        assert_eq!(root.proc("net/snmp"), Path::new("/tmp/machine/proc/net/snmp"));
        assert_eq!(root.proc("/net/snmp"), Path::new("/tmp/machine/proc/net/snmp"));
        assert_eq!(root.sys("class/net"), Path::new("/tmp/machine/sys/class/net"));
        assert!(!root.is_system());
        assert!(Root::system().is_system());
        assert_eq!(Root::system().proc("stat"), Path::new("/proc/stat"));
    }
}
