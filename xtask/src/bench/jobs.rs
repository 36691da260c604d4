//! The jobs that two revisions are compared with: whole commands of `tally`.

use std::path::Path;
use std::process::Command;

use crate::run as execute;

/// A command of `tally`, in a folder with the logs that [`record`] makes.
pub(super) struct Job {
    pub(super) name: &'static str,
    pub(super) arguments: &'static [&'static str],
    /// Whether it reads this machine, so that the work depends on what runs beside it.
    pub(super) is_live: bool,
}

const fn log(name: &'static str, arguments: &'static [&'static str]) -> Job {
    Job { name, arguments, is_live: false }
}

const fn live(name: &'static str, arguments: &'static [&'static str]) -> Job {
    Job { name, arguments, is_live: true }
}

pub(super) const JOBS: &[Job] = &[
    live("help", &["--help"]),
    live("get", &["get", r"\Memory\Available MBytes"]),
    live("list", &["list"]),
    live("processes", &["watch", r"\Process(*)\*", "-i", "5ms", "-c", "100", "-o", "live.tally", "--force"]),
    log("native-blg", &["relog", "in.tally", "-o", "out.blg", "--force"]),
    log("native-csv", &["relog", "in.tally", "-o", "out.csv", "--force"]),
    log("native-parquet", &["relog", "in.tally", "-o", "out.parquet", "--force"]),
    log("blg-native", &["relog", "in.blg", "-o", "out.tally", "--force"]),
    log("csv-native", &["relog", "in.csv", "-o", "out.tally", "--force"]),
    log("stats", &["stats", "in.tally"]),
];

/// Makes the logs that the jobs read: processes and threads of this machine, in three formats.
pub(super) fn record(tally: &Path, folder: &Path) -> Result<(), String> {
    eprintln!("recording the logs that the jobs read");
    let watch =
        ["watch", r"\Process(*)\*", r"\Thread(*)\*", "-i", "10ms", "-c", "200", "-o", "in.tally", "--force"];
    let conversions = ["in.blg", "in.csv"].map(|output| vec!["relog", "in.tally", "-o", output, "--force"]);
    for arguments in [watch.to_vec()].into_iter().chain(conversions) {
        execute(Command::new(tally).args(arguments).current_dir(folder))?;
    }
    Ok(())
}
