//! `cargo xtask bench`: runs our jobs and those of the peers together. `docs/benchmarks.md` keeps the figures
//! that it prints.

mod compare;
mod jobs;
mod statistics;
mod web;

use crate::{cargo, root, run as execute};

pub(crate) fn run(arguments: &[String]) -> Result<(), String> {
    if let Some((option, rest)) = arguments.split_first()
        && option == "--compare"
    {
        return compare::run(rest);
    }
    if let Some((name, parts)) = arguments.split_first()
        && name == "web"
    {
        return web::run(parts);
    }
    execute(cargo().args(["build", "--release", "--package", "tallymon-cli", "--package", "tallymon-clr"]))?;
    let mut bench = cargo();
    bench.current_dir(root().join("bench"));
    match arguments {
        [] => execute(bench.args(["bench"])),
        [name, rest @ ..] => {
            let name = if name == "mon" { "monitor" } else { name };
            bench.args(["bench", "--bench", name]);
            // The other arguments go to the benchmark: they select a part of it.
            execute(match rest {
                [] => &mut bench,
                [first, rest @ ..] if first == "--" => bench.arg("--").args(rest),
                rest => bench.arg("--").args(rest),
            })
        }
    }
}
