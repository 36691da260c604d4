//! Compiles C programs with the headers, links them with one of the libraries, and runs them.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

#[allow(dead_code, reason = "most programs of the tests use no provider library")]
pub(crate) mod provider;

/// The address and undefined-behaviour sanitizers on the side of C.
pub(crate) const SANITIZED: &[&str] = &["-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"];

/// Which of the libraries a program has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(dead_code, reason = "most programs of the tests have the shared one")]
pub(crate) enum Library {
    Shared,
    Static,
}

/// Where a program is compiled to, with the library under the name that it is installed under.
pub(crate) struct Bench(pub(crate) PathBuf);

impl Bench {
    pub(crate) fn new(name: &str) -> Bench {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&folder);
        std::fs::create_dir_all(&folder).unwrap();
        std::os::unix::fs::symlink(built("libtallymon_capi.so"), folder.join("libtallymon.so")).unwrap();
        Bench(folder)
    }

    /// Compiles a program and links it with the shared library.
    pub(crate) fn compile(&self, compiler: &Path, options: &[&str], sources: &[&str]) -> PathBuf {
        self.link(compiler, options, sources, Library::Shared)
    }

    /// Compiles a program and links it with a library.
    pub(crate) fn link(
        &self,
        compiler: &Path,
        options: &[&str],
        sources: &[&str],
        library: Library,
    ) -> PathBuf {
        let home = Path::new(env!("CARGO_MANIFEST_DIR"));
        let program = self.0.join("program");
        let mut command = Command::new(compiler);
        command
            .args(options)
            .arg("-fshort-wchar")
            .arg("-I")
            .arg(home.join("include"))
            .args(sources.iter().map(|name| home.join(name)));
        // What follows are no sources, whatever language those are told to be of.
        command.args(["-x", "none"]);
        match library {
            Library::Shared => command.arg("-L").arg(&self.0).arg("-ltallymon"),
            Library::Static => {
                command.arg(built("libtallymon_capi.a")).args(["-lm", "-lpthread", "-ldl", "-lgcc_s"])
            }
        };
        command.arg("-o").arg(&program);
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

/// A library that was built for the test and lies beside it.
fn built(name: &str) -> PathBuf {
    std::env::current_exe().unwrap().with_file_name(name)
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
