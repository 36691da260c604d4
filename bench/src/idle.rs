//! Idle processes, so that a machine has as many as a busy one.

use std::process::{Child, Command, Stdio};

/// Child processes that are killed when this value is dropped.
pub struct Idle(Vec<Child>);

impl Idle {
    /// Starts `n` sleeping processes.
    pub fn processes(n: usize) -> Idle {
        let sleep = || {
            let mut command = Command::new("sleep");
            command.arg("3600").stdin(Stdio::null()).spawn().expect("sleep starts")
        };
        Idle((0..n).map(|_| sleep()).collect())
    }

    /// Takes over one child that was started elsewhere.
    pub fn one(child: Child) -> Idle {
        Idle(vec![child])
    }

    /// Number of processes.
    pub fn count(&self) -> usize {
        self.0.len()
    }

    /// Takes over the processes of another value.
    pub fn append(&mut self, mut other: Idle) {
        self.0.append(&mut other.0);
    }
}

impl Drop for Idle {
    fn drop(&mut self) {
        for child in &mut self.0 {
            let _ = child.kill();
        }
        for child in &mut self.0 {
            let _ = child.wait();
        }
    }
}
