//! Child processes that end with the test that started them, even when the test fails.

use std::process::{Child, Command, Stdio};

/// Ends its process when it is dropped.
#[derive(Debug)]
pub struct Ends(pub Child);

impl Ends {
    /// Starts a shell that runs a script, without input or output.
    ///
    /// # Panics
    ///
    /// When the shell cannot be started.
    pub fn start(script: &str) -> Ends {
        let mut command = Command::new("sh");
        command.args(["-c", script]).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        match command.spawn() {
            Ok(child) => Ends(child),
            Err(error) => panic!("sh cannot be started: {error}"),
        }
    }

    /// Its number.
    pub fn id(&self) -> u32 {
        self.0.id()
    }
}

impl Drop for Ends {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
