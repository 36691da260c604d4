//! Skips: what a test reports when it needs something that this machine does not have.

use std::fs;
use std::io::Write;
use std::path::PathBuf;

/// A file or folder of the public sample data; `None` (and a reported skip) when the samples are not there.
///
/// The samples are looked for in `$TALLYMON_TESTDATA`, else in `../shared/testdata` beside the checkout. With
/// `TALLYMON_SAMPLES=required` their absence is a failure.
///
/// # Panics
///
/// When the samples are required and missing.
pub fn shared(relative: &str) -> Option<PathBuf> {
    let root = std::env::var_os("TALLYMON_TESTDATA").map(PathBuf::from).unwrap_or_else(|| {
        // The manifest folder is <checkout>/crates/testkit.
        PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/testdata")
    });
    let path = root.join(relative);
    if path.exists() {
        return Some(path);
    }
    assert!(!required("TALLYMON_SAMPLES"), "sample data is required and {} is not there", path.display());
    skip(&format!("sample data {relative} is not there (set TALLYMON_TESTDATA to its folder)"));
    None
}

/// A program that the tests compare with; `None` (and a reported skip) when it is not installed.
///
/// With `TALLYMON_PEERS=required` its absence is a failure.
///
/// # Panics
///
/// When peers are required and this one is missing.
pub fn peer(program: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&path).map(|folder| folder.join(program)).find(|file| file.is_file());
    if found.is_none() {
        assert!(!required("TALLYMON_PEERS"), "the peer {program} is required and not installed");
        skip(&format!("the program {program} is not installed"));
    }
    found
}

/// Whether the name of a file goes when it is deleted while it is open; else reports a skip. It stays under
/// Wine, until the last one closes the file.
///
/// # Panics
///
/// When no file can be made and deleted.
pub fn open_files_can_be_deleted() -> bool {
    let folder = crate::Scratch::new();
    let path = folder.join("open");
    let deleted = fs::File::create(&path).and_then(|file| {
        fs::remove_file(&path)?;
        let is_gone = fs::File::open(&path).is_err();
        drop(file);
        Ok(is_gone)
    });
    match deleted {
        Ok(true) => {}
        Ok(false) => skip("a file that is deleted while it is open keeps its name here, as under Wine"),
        Err(error) => panic!("a file in {} cannot be made and deleted: {error}", folder.display()),
    }
    deleted.is_ok_and(|is_gone| is_gone)
}

/// Reports that a test, or a part of one, cannot run here, and why. `cargo xtask test` lists these reports
/// at its end.
pub fn skip(why: &str) {
    eprintln!("skipped: {why}");
    if let Some(file) = std::env::var_os("TALLYMON_SKIPS")
        && let Ok(mut file) = fs::OpenOptions::new().append(true).open(file)
    {
        // The report was printed even if it cannot be written to the list.
        let _ = writeln!(file, "{why}");
    }
}

/// As [`skip`], for a test that needs a BPF program in the kernel.
///
/// With `TALLYMON_PEERS=required` such a skip is a failure on a machine that allows BPF, so that a test run
/// cannot be green without a BPF program ever having run.
///
/// # Panics
///
/// When peers are required and nothing here forbids BPF.
pub fn skip_bpf(why: &str) {
    match bpf_obstacle(&BpfFacts::of_this_machine()) {
        None => assert!(
            !required("TALLYMON_PEERS"),
            "a BPF test cannot run although this machine allows BPF: {why}"
        ),
        Some(obstacle) => eprintln!("BPF is not expected to work here: {obstacle}"),
    }
    skip(why);
}

/// Whether the environment says that what this variable stands for must be there.
pub(crate) fn required(variable: &str) -> bool {
    std::env::var_os(variable).is_some_and(|value| value == "required")
}

/// What decides whether a process may load BPF programs.
#[derive(Default)]
struct BpfFacts {
    /// `/proc/self/status`.
    status: String,
    /// `/proc/self/uid_map`.
    uid_map: String,
    /// `/proc/sys/kernel/osrelease`.
    release: String,
    /// `/sys/kernel/security/lockdown`, empty where the kernel has none.
    lockdown: String,
    /// Whether `/sys/kernel/btf/vmlinux` is there.
    has_types: bool,
}

impl BpfFacts {
    fn of_this_machine() -> BpfFacts {
        let read = |path| fs::read_to_string(path).unwrap_or_default();
        BpfFacts {
            status: read("/proc/self/status"),
            uid_map: read("/proc/self/uid_map"),
            release: read("/proc/sys/kernel/osrelease"),
            lockdown: read("/sys/kernel/security/lockdown"),
            has_types: fs::exists("/sys/kernel/btf/vmlinux").unwrap_or(false),
        }
    }

    /// A line of `/proc/self/status`.
    fn field(&self, name: &str) -> &str {
        let line = self.status.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
        line.unwrap_or_default().trim()
    }
}

/// The oldest kernel on which our BPF programs load.
const OLDEST_KERNEL: (u32, u32) = (6, 4);

/// What keeps a process from loading our BPF programs; `None` when nothing does.
fn bpf_obstacle(facts: &BpfFacts) -> Option<&'static str> {
    const CAP_SYS_ADMIN: u32 = 21;
    const CAP_PERFMON: u32 = 38;
    const CAP_BPF: u32 = 39;
    let capabilities = u64::from_str_radix(facts.field("CapEff"), 16).unwrap_or(0);
    let has = |capability: u32| capabilities >> capability & 1 == 1;
    let mut numbers = facts.release.split(['.', '-']).map_while(|number| number.trim().parse::<u32>().ok());
    let kernel = (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0));
    // Rights in another user namespace are no rights over the kernel.
    let mut ids = facts.uid_map.split_whitespace();
    let is_first_namespace =
        ids.next() == Some("0") && ids.next() == Some("0") && ids.next() == Some("4294967295");
    let obstacles = [
        (kernel < OLDEST_KERNEL, "the kernel is older than 6.4"),
        (!facts.has_types, "the kernel has no type description (/sys/kernel/btf/vmlinux)"),
        (
            !(has(CAP_SYS_ADMIN) || has(CAP_BPF) && has(CAP_PERFMON)),
            "the rights CAP_BPF and CAP_PERFMON are missing",
        ),
        (!is_first_namespace, "the process is in a user namespace"),
        // A filter may refuse the system call; nothing tells which calls it refuses.
        (!matches!(facts.field("Seccomp"), "" | "0"), "a filter of system calls (seccomp) is on"),
        (facts.lockdown.contains("[confidentiality]"), "the kernel is locked down"),
    ];
    obstacles.into_iter().find(|(is_there, _)| *is_there).map(|(_, words)| words)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_what_keeps_bpf_from_working() {
        let allowed = || BpfFacts {
            status: "Name:\ttest\nCapEff:\t000001ffffffffff\nSeccomp:\t0\n".to_string(),
            uid_map: "         0          0 4294967295\n".to_string(),
            release: "6.12.3-amd64\n".to_string(),
            lockdown: "[none] integrity confidentiality\n".to_string(),
            has_types: true,
        };
        let status = |text: &str| BpfFacts { status: text.to_string(), ..allowed() };
        let cases = [
            (allowed(), None),
            (BpfFacts { release: "6.3.0".to_string(), ..allowed() }, Some("older")),
            (BpfFacts { release: "7.0-rc1".to_string(), ..allowed() }, None),
            (BpfFacts { has_types: false, ..allowed() }, Some("type description")),
            (BpfFacts { uid_map: "0 1000 1\n".to_string(), ..allowed() }, Some("namespace")),
            (
                BpfFacts { lockdown: "none integrity [confidentiality]".to_string(), ..allowed() },
                Some("locked"),
            ),
            (status("CapEff:\t0000000000000000\nSeccomp:\t0\n"), Some("CAP_BPF")),
            (status("CapEff:\t0000008000000000\nSeccomp:\t0\n"), Some("CAP_BPF")),
            (status("CapEff:\t000000c000000000\nSeccomp:\t0\n"), None),
            (status("CapEff:\t000001ffffffffff\nSeccomp:\t2\n"), Some("seccomp")),
            (BpfFacts::default(), Some("older")),
        ];
        for (facts, expected) in cases {
            let found = bpf_obstacle(&facts);
            let is_expected = match (found, expected) {
                (Some(found), Some(expected)) => found.contains(expected),
                (found, expected) => found == expected,
            };
            assert!(is_expected, "expected {expected:?}, found {found:?}");
        }
    }
}
