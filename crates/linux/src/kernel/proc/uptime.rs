//! `/proc/uptime`: how long the machine is up.

use super::error::ParseError;
use super::scan::lines;

const FILE: &str = "/proc/uptime";

/// What `/proc/uptime` says, in hundredths of a second.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Uptime {
    /// Since the start of the machine, sleep included. In a container with a time namespace, since that one's start.
    pub up: u64,
    /// The idle time of all processors together; `None` when the line ends before it.
    pub idle: Option<u64>,
}

impl Uptime {
    /// Parses the whole file, `1829.59 3603.12`.
    ///
    /// # Errors
    ///
    /// Something else than numbers with two decimals, or no line.
    pub fn parse(bytes: &[u8]) -> Result<Uptime, ParseError> {
        let line = lines(FILE, bytes).next();
        let line = line.ok_or_else(|| ParseError::missing(FILE, "up", "a line"))?;
        let mut fields = line.fields();
        let up = fields.hundredths("up")?;
        let idle = match { fields }.next_field() {
            Some(_) => Some(fields.hundredths("idle")?),
            None => None,
        };
        Ok(Uptime { up, idle })
    }
}

#[cfg(test)]
mod tests {
    use super::super::fixture::{check_damage, fixture};
    use super::*;

    #[test]
    fn current_kernel() {
        let uptime = Uptime::parse(&fixture("6.18/uptime")).unwrap();
        assert!(uptime.up > 0 && uptime.idle.unwrap() > 0);
    }

    #[test]
    fn values_and_errors() {
        assert_eq!(Uptime::parse(b"1829.59 3603.12\n"), Ok(Uptime { up: 182_959, idle: Some(360_312) }));
        assert_eq!(Uptime::parse(b"0.00\n"), Ok(Uptime { up: 0, idle: None }));
        assert_eq!(
            Uptime::parse(b"1.00 x\n").unwrap_err().to_string(),
            "/proc/uptime line 1: idle: needed a decimal number with two decimals, found \"x\""
        );
        assert_eq!(
            Uptime::parse(b"").unwrap_err().to_string(),
            "/proc/uptime: up: needed a line, found nothing"
        );
    }

    #[test]
    fn damaged_files_do_not_panic() {
        check_damage("6.18/uptime", Uptime::parse);
    }
}
