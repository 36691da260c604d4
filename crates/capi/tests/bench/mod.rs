//! Compiles C programs with the headers, links them with the library, and runs them.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// The address and undefined-behaviour sanitizers on the side of C.
pub(crate) const SANITIZED: &[&str] = &["-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"];

/// Where a program is compiled to, with the library under the name that it is installed under.
pub(crate) struct Bench(pub(crate) PathBuf);

impl Bench {
    pub(crate) fn new(name: &str) -> Bench {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&folder);
        std::fs::create_dir_all(&folder).unwrap();
        // The library was built for the test and lies beside it.
        let library = std::env::current_exe().unwrap().with_file_name("libtallymon_capi.so");
        std::os::unix::fs::symlink(library, folder.join("libtallymon.so")).unwrap();
        Bench(folder)
    }

    pub(crate) fn compile(&self, compiler: &Path, options: &[&str], sources: &[&str]) -> PathBuf {
        let home = Path::new(env!("CARGO_MANIFEST_DIR"));
        let program = self.0.join("program");
        let mut command = Command::new(compiler);
        command
            .args(options)
            .arg("-fshort-wchar")
            .arg("-I")
            .arg(home.join("include"))
            .args(sources.iter().map(|name| home.join(name)));
        command.arg("-L").arg(&self.0).args(["-ltallymon", "-o"]).arg(&program);
        let output = command.output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        program
    }

    pub(crate) fn run(&self, program: &Path) -> Command {
        let mut command = Command::new(program);
        command.env("LD_LIBRARY_PATH", &self.0).env("LC_ALL", "C").env("TALLYMON_ROOT", self.0.join("root"));
        command
    }
}

impl Drop for Bench {
    fn drop(&mut self) {
        // What is left over in the folder of the build does no harm.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

#[track_caller]
pub(crate) fn lines(output: &Output) -> Vec<String> {
    let errors = String::from_utf8_lossy(&output.stderr);
    let text = String::from_utf8(output.stdout.clone()).unwrap();
    assert!(output.status.success(), "{}: {text}{errors}", output.status);
    text.lines().map(str::to_string).collect()
}
