//! `/proc/loadavg`: load averages, runnable threads and existing threads.

use super::error::ParseError;
use super::scan::{decimal, lines, split_at_byte};

const FILE: &str = "/proc/loadavg";

/// The content of `/proc/loadavg`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct LoadAvg {
    /// Threads that run, wait for a CPU or wait for a disk, averaged over 1, 5 and 15 minutes, in hundredths.
    pub load: [u64; 3],
    /// Threads that run or wait for a CPU now, including the reader.
    pub running: u64,
    /// Threads of all processes.
    pub threads: u64,
    /// The last process or thread id assigned. `None` when the line ends before it.
    pub last_pid: Option<u64>,
}

impl LoadAvg {
    /// Parses the whole file, `0.07 0.03 0.01 1/89 7635`.
    ///
    /// # Errors
    ///
    /// The line is missing or has another form.
    pub(crate) fn parse(bytes: &[u8]) -> Result<LoadAvg, ParseError> {
        let line = lines(FILE, bytes).next();
        let line = line.ok_or_else(|| ParseError::missing(FILE, "load averages", "a line"))?;
        let mut fields = line.fields();
        let load = [
            fields.hundredths("1 minute")?,
            fields.hundredths("5 minutes")?,
            fields.hundredths("15 minutes")?,
        ];
        let field = fields.word("running/threads")?;
        let (running, threads) = split_at_byte(field, b'/')
            .and_then(|(running, threads)| Some((decimal(running)?, decimal(threads)?)))
            .ok_or_else(|| {
                line.location.error("running/threads", "two decimal numbers with a slash between", field)
            })?;
        Ok(LoadAvg { load, running, threads, last_pid: fields.number_if_any("last pid")? })
    }
}

#[cfg(test)]
mod tests {
    use super::super::fixture::{check_damage, fixture};
    use super::*;

    #[test]
    fn current_kernel() {
        let load = LoadAvg::parse(&fixture("6.18/loadavg")).unwrap();
        assert!(load.running >= 1 && load.threads > load.running);
        assert!(load.last_pid.is_some());
    }

    #[test]
    fn values_come_from_their_columns() {
        let expected = LoadAvg { load: [1207, 350, 9], running: 4, threads: 1031, last_pid: Some(7635) };
        assert_eq!(LoadAvg::parse(b"12.07 3.50 0.09 4/1031 7635\n"), Ok(expected));
        let expected = LoadAvg { last_pid: None, ..expected };
        assert_eq!(LoadAvg::parse(b"12.07 3.50 0.09 4/1031"), Ok(expected));
    }

    #[test]
    fn errors() {
        for (text, message) in [
            ("", "/proc/loadavg: load averages: needed a line, found nothing"),
            (
                "0.1 0.03 0.01 1/89 1",
                "/proc/loadavg line 1: 1 minute: needed a decimal number with two decimals, found \"0.1\"",
            ),
            (
                "0.10 0.03 0.01 1-89 1",
                "/proc/loadavg line 1: running/threads: needed two decimal numbers with a slash between, \
                    found \"1-89\"",
            ),
        ] {
            assert_eq!(LoadAvg::parse(text.as_bytes()).unwrap_err().to_string(), message);
        }
    }

    #[test]
    fn damaged_files_do_not_panic() {
        check_damage("6.18/loadavg", LoadAvg::parse);
    }
}
