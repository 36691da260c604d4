//! `/proc/fs/cifs/Stats`: what the mounts of SMB shares have done.
//!
//! The text is meant for people and differs between kernels and dialects: `Reads: 5 total 1 failed`, or in
//! the oldest dialect `Reads: 5 Bytes: 4096`. Numbers are found by the words around them.

use super::scan::decimal;

/// The counters of the SMB client.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct CifsStats {
    /// Current sessions with servers.
    pub sessions: u64,
    /// Reconnections of sessions and shares.
    pub reconnects: u64,
    /// Each share.
    pub shares: Vec<Share>,
}

/// One share, and its counts since it was mounted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Share {
    /// `\\server\share`.
    pub name: String,
    /// All requests.
    pub requests: u64,
    /// Bytes read from the server.
    pub bytes_read: u64,
    /// Bytes written to the server.
    pub bytes_written: u64,
    /// Requests that read.
    pub reads: u64,
    /// Requests that wrote.
    pub writes: u64,
    /// Requests that failed; `None` in the oldest dialect.
    pub failed: Option<u64>,
    /// Files that are open on this machine.
    pub open_files: Option<u64>,
}

impl CifsStats {
    /// Parses the text. A line that does not match is skipped, because no line is required.
    pub(crate) fn parse(bytes: &[u8]) -> CifsStats {
        let mut found = CifsStats::default();
        for line in String::from_utf8_lossy(bytes).lines() {
            found.line(line.trim());
        }
        found
    }

    fn line(&mut self, line: &str) {
        let number = |words: &str| behind(line, words);
        if let Some((order, name)) = line.split_once(") ")
            && decimal(order.as_bytes()).is_some()
        {
            // A remark about the share may follow its name: `DISCONNECTED`.
            let name = name.split_whitespace().next().unwrap_or_default().to_string();
            self.shares.push(Share { name, ..Share::default() });
        } else if let Some(sessions) = number("CIFS Session:") {
            self.sessions = sessions;
        } else if line.ends_with("reconnects") {
            let counts = line.split_whitespace().filter_map(|word| decimal(word.as_bytes()));
            self.reconnects = counts.fold(0, u64::saturating_add);
        } else if let Some(share) = self.shares.last_mut() {
            share.line(line);
        }
    }
}

impl Share {
    fn line(&mut self, line: &str) {
        let number = |words: &str| behind(line, words);
        if let Some(requests) = number("SMBs:") {
            self.requests = requests;
        }
        if let Some(read) = number("Bytes read:") {
            self.bytes_read = read;
        }
        if let Some(written) = number("Bytes written:") {
            self.bytes_written = written;
        }
        if let Some(open) = number("Open files:") {
            self.open_files = Some(open);
        }
        if let Some(reads) = number("Reads:").filter(|_| line.starts_with("Reads:")) {
            self.reads = reads;
            self.bytes_read = self.bytes_read.max(number("Bytes:").unwrap_or(0));
        }
        if let Some(writes) = number("Writes:").filter(|_| line.starts_with("Writes:")) {
            self.writes = writes;
            self.bytes_written = self.bytes_written.max(number("Bytes:").unwrap_or(0));
        }
        let failed = line.strip_suffix("failed").and_then(|rest| rest.split_whitespace().next_back());
        if let Some(failed) = failed.and_then(|word| decimal(word.as_bytes())) {
            self.failed = Some(self.failed.unwrap_or(0).saturating_add(failed));
        }
    }
}

/// The number that follows these words.
fn behind(line: &str, words: &str) -> Option<u64> {
    let (_, rest) = line.split_once(words)?;
    decimal(rest.split_whitespace().next()?.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::super::fixture::fixture;
    use super::*;

    #[test]
    fn shares_of_two_dialects() {
        let found = CifsStats::parse(&fixture("written/cifs-Stats"));
        assert_eq!((found.sessions, found.reconnects), (2, 3));
        let [new, old] = &found.shares[..] else { panic!("{found:?}") };
        let expected = Share {
            name: r"\\files\home".to_string(),
            requests: 900,
            bytes_read: 123_456,
            bytes_written: 7890,
            reads: 40,
            writes: 30,
            failed: Some(6),
            open_files: Some(5),
        };
        assert_eq!(*new, expected);
        let expected = Share {
            name: r"\\old\pub".to_string(),
            requests: 12,
            bytes_read: 8192,
            bytes_written: 4096,
            reads: 2,
            writes: 1,
            failed: None,
            open_files: None,
        };
        assert_eq!(*old, expected);
    }

    #[test]
    fn damaged_texts_give_no_share() {
        let whole = fixture("written/cifs-Stats");
        for length in 0..whole.len() {
            assert!(CifsStats::parse(&whole[..length]).shares.len() <= 2);
        }
        assert_eq!(
            CifsStats::parse(b"x) \\\\a\\b\nSMBs: 5\nReads: many total\n\xff\xfe"),
            CifsStats::default()
        );
    }
}
