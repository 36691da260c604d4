//! The manager: queries and commands for the service.

use std::fmt::Write;
use std::io;
use std::path::Path;
use std::time::Duration;

use crate::figures::Figures;
use crate::service::now;
use crate::socket::ask;

/// How long a person waits for an answer.
pub const PATIENCE: Duration = Duration::from_secs(5);

/// All living behemoths as a table, oldest first.
///
/// # Errors
///
/// The service does not answer, or its answer is not figures.
pub fn list(socket: &Path) -> io::Result<String> {
    let figures = Figures::parse(&ask(socket, "figures", PATIENCE)?)
        .map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))?;
    let mut table = format!(
        "{:<12} {:<6} {:>5} {:>4} {:>4} {:>7} {:>6}  {}\n",
        "name", "sex", "age s", "x", "y", "kg", "m³", "mother"
    );
    for row in &figures.behemoths {
        let age = now().perf.saturating_sub(row.number("AGE")) / 10_000_000;
        let line = format!(
            "{:<12} {:<6} {age:>5} {:>4} {:>4} {:>7} {:>6.2}  {}",
            row.name,
            row.text("SEX"),
            row.number("X"),
            row.number("Y"),
            row.number("WEIGHT"),
            f64::from_bits(row.number("VOLUME")),
            row.text("MOTHER"),
        );
        // Writing to a string cannot fail.
        let _ = writeln!(table, "{}", line.trim_end());
    }
    Ok(table)
}

/// Sends a command to the service, and returns its description of what was done.
///
/// # Errors
///
/// The service does not answer, or rejects the command with a reason.
pub fn tell(socket: &Path, words: &[&str]) -> io::Result<String> {
    let answer = ask(socket, &words.join("\t"), PATIENCE)?;
    match answer.trim_end().split_once('\t') {
        Some(("ok", done)) => Ok(format!("{done}\n")),
        Some(("error", why)) => Err(io::Error::new(io::ErrorKind::InvalidInput, why.to_string())),
        _ => {
            let why = format!("ok or error needed as answer, found {answer:?}");
            Err(io::Error::new(io::ErrorKind::InvalidData, why))
        }
    }
}
