//! Helpers of the tests: running a test again in another environment, and skipping what cannot run here.

use std::process::Command;

use tallymon_testkit::skip;

/// The name of a test as the test program wants it, from `module_path!()` and the name of the function.
pub(crate) fn test_name(module: &str, test: &str) -> String {
    format!("{}::{test}", module.split_once("::").map_or(module, |(_, path)| path))
}

/// Runs a test of this program again in namespaces of its own, with `mark` in its environment. `unshare`
/// holds the options for that program; a shell runs `first` there before the test.
pub(crate) fn run_in_namespaces(unshare: &[&str], first: &str, test: &str, mark: &str) {
    let result = Command::new("unshare")
        .args(unshare)
        .args(["sh", "-c", &format!("{first} \"$0\" --exact {test}")])
        .arg(std::env::current_exe().unwrap())
        .env(mark, "1")
        .output();
    let Ok(output) = result else { return skip("unshare of util-linux is not installed") };
    let (said, words) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    if words.contains("unshare:") || words.contains("mount:") {
        return skip(&words);
    }
    assert!(output.status.success() && said.contains("1 passed"), "{said} {words}");
}

/// The environment variable that lists the capabilities of a test that [`run_with_capabilities`] runs.
pub(crate) const CAPABILITIES: &str = "TALLYMON_TEST_CAPABILITIES";

/// Runs a test of this program again with CAP_BPF and CAP_PERFMON, and with each of the two alone.
pub(crate) fn run_with_capabilities(test: &str) {
    if !rustix::process::getuid().is_root() {
        return skip("only root can give capabilities away");
    }
    for rights in ["bpf,perfmon", "bpf", "perfmon"] {
        let list = rights.replace("bpf", "+bpf").replace("perfmon", "+perfmon");
        let result = Command::new("setpriv")
            .args(["--reuid", "65534", "--clear-groups"])
            .args(["--inh-caps", &format!("-all,{list}"), "--ambient-caps", &format!("-all,{list}")])
            .arg(std::env::current_exe().unwrap())
            .args(["--exact", test])
            .env(CAPABILITIES, rights)
            .output();
        let Ok(output) = result else { return skip("setpriv of util-linux is not installed") };
        let words = String::from_utf8_lossy(&output.stderr);
        let said = String::from_utf8_lossy(&output.stdout);
        if words.contains("setpriv") {
            return skip(&words);
        }
        assert!(output.status.success() && said.contains("1 passed"), "{rights}: {said} {words}");
    }
}
