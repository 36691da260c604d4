//! Counts the work of a test in instructions: the same number on every machine, however busy it is.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::{Scratch, peer};

/// How much a child test has to do; it returns when this is not set.
const SIZE: &str = "TALLYMON_WORK";
/// The folder that was prepared for it.
const FOLDER: &str = "TALLYMON_WORK_FOLDER";

/// Starts a program to which the kernel does not give the auxiliary vector of its process. Valgrind shows a
/// vector of its own in /proc, and hides the vDSO, which it cannot run; but through this call its program
/// gets that of valgrind's process.
const WITHOUT_VECTOR: &str = r#"
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>
int main(int count, char **arguments)
{
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_prctl, 0, 3),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[0])),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0x41555856 /* PR_GET_AUXV */, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EINVAL),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {sizeof code / sizeof code[0], code};
    if (count < 2 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
        prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program))
        return 126;
    execvp(arguments[1], arguments + 1);
    return 127;
}
"#;

/// The size that [`assert_linear`] has started this test with; `None` in an ordinary run.
pub fn work_size() -> Option<usize> {
    std::env::var(SIZE).ok()?.parse().ok()
}

/// The folder that was prepared for this test by [`assert_linear_in`].
pub fn work_folder() -> Option<PathBuf> {
    std::env::var_os(FOLDER).map(PathBuf::from)
}

/// Runs a test of this program under valgrind with [`work_size`] `size` and twice that, and checks that twice
/// as much takes at most 2.5 times the instructions. Without valgrind it reports a skip and returns `false`.
///
/// # Panics
///
/// When the work grows faster than its size, or the test fails.
pub fn assert_linear(test: &str, size: usize) -> bool {
    assert_linear_in(test, size, |_, _| ())
}

/// The same with something for each size that the test finds in its [`work_folder`], and that is not counted.
/// What `prepare` returns lives until the test has ended.
///
/// # Panics
///
/// As [`assert_linear`].
pub fn assert_linear_in<T>(test: &str, size: usize, prepare: impl Fn(usize, &Path) -> T) -> bool {
    let (Some(valgrind), Some(starter)) = (peer("valgrind"), Starter::new()) else { return false };
    let run = |size: usize| -> u64 {
        let folder = Scratch::in_memory();
        let prepared = prepare(size, &folder);
        let mut command = Command::new(&starter.program);
        command.arg(&valgrind).args([
            "--tool=cachegrind",
            "--cache-sim=no",
            "--cachegrind-out-file=/dev/null",
        ]);
        let program = std::env::current_exe().unwrap_or_default();
        command.arg(program).args(["--exact", test]).env(SIZE, size.to_string()).env(FOLDER, &*folder);
        let output = match command.output() {
            Ok(output) => output,
            Err(error) => panic!("valgrind does not start: {error}"),
        };
        drop(prepared);
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{test} of {size}: {}: {errors}", output.status);
        let line = errors.lines().find_map(|line| line.split_once("I   refs:"));
        let number = line.and_then(|(_, number)| number.trim().replace(',', "").parse().ok());
        number.unwrap_or_else(|| panic!("valgrind counted nothing: {errors}"))
    };
    // What a test needs to start is no part of its work.
    let start = run(0);
    let (once, twice) = (run(size).saturating_sub(start), run(size.saturating_mul(2)).saturating_sub(start));
    println!("{test}: {once} instructions for {size}, {twice} for twice as many");
    assert!(once > start / 4, "{test}: {once} instructions are too few to compare, it starts with {start}");
    assert!(twice <= once / 2 * 5, "{test}: {once} instructions for {size}, {twice} for twice as many");
    true
}

/// The compiled [`WITHOUT_VECTOR`], in a folder of its own.
struct Starter {
    program: PathBuf,
    _folder: Scratch,
}

impl Starter {
    /// `None` without a compiler.
    fn new() -> Option<Starter> {
        let gcc = peer("gcc")?;
        let folder = Scratch::new();
        let (source, program) = (folder.join("starter.c"), folder.join("starter"));
        if let Err(error) = std::fs::write(&source, WITHOUT_VECTOR) {
            panic!("{}: {error}", source.display());
        }
        let compiled = Command::new(gcc).arg(&source).arg("-o").arg(&program).status();
        assert!(compiled.is_ok_and(|status| status.success()), "{} does not compile", source.display());
        Some(Starter { program, _folder: folder })
    }
}
