//! `cargo xtask bench`: our jobs and the peers' in the same run. What it prints is what `docs/benchmarks.md` keeps.

use crate::{cargo, root, run as execute};

pub(crate) fn run(arguments: &[String]) -> Result<(), String> {
    execute(cargo().args(["build", "--release", "--package", "tallymon-cli", "--package", "tallymon-clr"]))?;
    let mut bench = cargo();
    bench.current_dir(root().join("bench"));
    match arguments {
        [] => execute(bench.args(["bench"])),
        [name] if name == "mon" => execute(bench.args(["bench", "--bench", "monitor"])),
        [name] => execute(bench.args(["bench", "--bench", name])),
        more => Err(format!("one benchmark at most, not {more:?}")),
    }
}
