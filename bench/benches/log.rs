//! Logs: bytes and time of a value in each format, of made-up series and of a recording of this machine.

#[path = "log/made_up.rs"]
mod made_up;
#[path = "log/real.rs"]
mod real;

use std::path::Path;

fn main() {
    // `cargo bench` passes --bench; `cargo test` would pass --test and gets nothing to wait for.
    if std::env::args().any(|argument| argument == "--test") {
        return;
    }
    let folder = std::env::temp_dir().join(format!("tallymon-bench-log-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("the folder for temporary files can be written");
    made_up::run(&folder);
    real::run(&folder);
    // What is left there shows by its name.
    let _ = std::fs::remove_dir_all(&folder);
}

fn size(path: &Path) -> u64 {
    std::fs::metadata(path).map_or(0, |data| data.len())
}
