//! Prints a profile file: `show FILE [tree|corrected|collapsed|speedscope]`.
#![forbid(unsafe_code)]

use std::io::Write;
use std::path::Path;
use std::process::ExitCode;
use tallymon_clr::export::{self, TreeOptions, Weight};
use tallymon_clr::reader::Profile;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let Some(file) = arguments.first() else {
        eprintln!("usage: show FILE [tree|corrected|collapsed|speedscope]");
        return ExitCode::from(2);
    };
    let what = arguments.get(1).map_or("tree", String::as_str);
    match show(Path::new(file), what) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{file}: {error}");
            ExitCode::FAILURE
        }
    }
}

fn show(file: &Path, what: &str) -> Result<(), Box<dyn std::error::Error>> {
    let profile = Profile::open(file)?;
    let mut out = std::io::BufWriter::new(std::io::stdout().lock());
    match what {
        "collapsed" => export::collapsed(&profile, Weight::Time, &mut out)?,
        "speedscope" => export::speedscope(&profile, &mut out)?,
        _ => {
            export::summary(&profile, &mut out)?;
            let corrected = what == "corrected";
            export::tree(&profile, &TreeOptions { corrected, ..TreeOptions::default() }, &mut out)?;
        }
    }
    out.flush()?;
    Ok(())
}
