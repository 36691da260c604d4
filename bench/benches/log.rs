//! Logs: bytes and time per value in each format, for synthetic series and for a recording of this machine.
//!
//! An argument selects a part: `made-up`, `codecs`, `peers`, `big`, `real`, `year`, `relog`. Without one, all
//! parts run.

#[path = "log/big.rs"]
mod big;
#[path = "log/codecs.rs"]
mod codecs;
#[path = "log/made_up.rs"]
mod made_up;
#[path = "log/peers.rs"]
mod peers;
#[path = "log/real.rs"]
mod real;
#[path = "log/relog.rs"]
mod relog;
#[path = "log/year.rs"]
mod year;

use std::path::Path;

use tallymon_bench::Parts;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let [word, log, out, format] = arguments.as_slice()
        && word == relog::RELOG
    {
        return relog::copy(log, out, format);
    }
    let folder = std::env::temp_dir().join(format!("tallymon-bench-log-{}", std::process::id()));
    let all: [(&str, &dyn Fn()); 7] = [
        ("made-up", &|| made_up::run(&folder)),
        ("codecs", &codecs::run),
        ("peers", &|| peers::run(&folder)),
        ("big", &|| big::run(&folder)),
        ("real", &|| real::run(&folder)),
        ("year", &|| year::run(&folder)),
        ("relog", &|| relog::run(&folder)),
    ];
    let Some(parts) = Parts::wanted(&all.map(|(name, _)| name)) else { return };
    std::fs::create_dir_all(&folder).expect("the folder for temporary files can be written");
    for (name, run) in all {
        if parts.has(name) {
            run();
        }
    }
    // A leftover folder is recognizable by its name.
    let _ = std::fs::remove_dir_all(&folder);
}

fn size(path: &Path) -> u64 {
    std::fs::metadata(path).map_or(0, |data| data.len())
}
