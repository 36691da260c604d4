//! The dialog to choose a data source, on the terminal of the program.

use std::fs::{File, OpenOptions};
use std::io::{BufRead, BufReader, Write};

use crate::handles::Handle;
use crate::logs::DataSource;
use crate::memory::{Buf, Letter, Out};
use crate::status::{self, Done, Status};
use crate::text::{put_start, room};

/// Only logs are offered, not this machine.
const FILE_BROWSER_ONLY: u32 = 1;

/// Lets the user name a log, or this machine by an empty line. Without a terminal there is no dialog.
pub(crate) fn select<L: Letter>(_owner: Handle, flags: u32, source: Buf<L>, size: Out<u32>) -> Done {
    if flags & !FILE_BROWSER_ONLY != 0 || source.is_null() {
        return Err(status::INVALID_ARGUMENT);
    }
    let room = room(source, size)?;
    if room == 0 {
        return Err(status::MEMORY_ALLOCATION_FAILURE);
    }
    let terminal = || -> std::io::Result<(File, BufReader<File>)> {
        let terminal = OpenOptions::new().read(true).write(true).open("/dev/tty")?;
        let input = BufReader::new(terminal.try_clone()?);
        Ok((terminal, input))
    };
    let (mut output, mut input) = terminal().map_err(|_| status::NOT_IMPLEMENTED)?;
    let name = ask(flags & FILE_BROWSER_ONLY != 0, &mut input, &mut output)?;
    // A name that is too long for the buffer is cut, as on NT.
    put_start(&name, source, size)
}

/// Asks until the answer is a log that can be read, or this machine.
fn ask(logs_only: bool, input: &mut impl BufRead, output: &mut impl Write) -> Result<String, Status> {
    let question = if logs_only {
        "Log (its file; Ctrl-D cancels): "
    } else {
        "Data source (the file of a log; nothing is this machine; Ctrl-D cancels): "
    };
    loop {
        let mut line = String::new();
        let read = write!(output, "{question}")
            .and_then(|()| output.flush())
            .and_then(|()| input.read_line(&mut line));
        if !read.is_ok_and(|length| length > 0) {
            // The program's next output begins a line. A terminal that fails here fails for the program too.
            let _ = writeln!(output);
            return Err(status::DIALOG_CANCELLED);
        }
        let name = line.trim();
        if name.is_empty() && !logs_only {
            return Ok(String::new());
        }
        match DataSource::file(name.to_string()).open() {
            Ok(_) => return Ok(name.to_string()),
            // A terminal that fails here fails at the next question too.
            Err(status) => {
                drop(writeln!(output, "{name}: this is not a log that can be read (0x{status:08X})"))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answered(logs_only: bool, answers: &str) -> (Result<String, Status>, String) {
        let mut output = Vec::new();
        let found = ask(logs_only, &mut answers.as_bytes(), &mut output);
        (found, String::from_utf8(output).unwrap())
    }

    #[test]
    fn asks_until_the_answer_is_a_log() {
        assert_eq!(answered(false, "\n").0, Ok(String::new()));
        assert_eq!(answered(false, "").0, Err(status::DIALOG_CANCELLED));
        let (found, said) = answered(true, "\n/nothing/there.blg\n");
        assert_eq!(found, Err(status::DIALOG_CANCELLED));
        assert!(
            said.contains("/nothing/there.blg: this is not a log that can be read (0xC0000BD1)"),
            "{said}"
        );
        let Some(log) = tallymon_testkit::shared("logs/PowerShell_CounterSamples.blg") else { return };
        let log = log.to_string_lossy().into_owned();
        assert_eq!(answered(true, &format!("nothing\n {log} \n")).0, Ok(log));
    }
}
