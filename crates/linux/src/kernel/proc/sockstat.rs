//! `/proc/net/sockstat` and `/proc/net/sockstat6`: how many sockets there are now in one network namespace.
//!
//! Each line is a section and pairs of a name and a number:
//!
//! ```text
//! sockets: used 12
//! TCP: inuse 1 orphan 0 tw 0 alloc 1 mem 112
//! ```

use super::error::ParseError;
use super::scan::{NEEDED_NUMBER, decimal, lines};

/// What `/proc/net/sockstat` says; a number that the kernel does not print is `None`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sockstat {
    /// Sockets of all families: `sockets: used`.
    pub used: Option<u64>,
    /// TCP sockets of version 4 that are bound, listening or connected: `TCP: inuse`.
    pub tcp: Option<u64>,
    /// TCP sockets of both versions that no process holds any more: `TCP: orphan`.
    pub tcp_orphans: Option<u64>,
    /// TCP connections of both versions that wait for late segments: `TCP: tw`.
    pub tcp_time_waits: Option<u64>,
    /// TCP sockets of both versions that have been made and not yet freed: `TCP: alloc`.
    pub tcp_allocated: Option<u64>,
    /// Pages of memory in TCP buffers of both versions, of the whole machine: `TCP: mem`.
    pub tcp_pages: Option<u64>,
    /// UDP sockets of version 4: `UDP: inuse`.
    pub udp: Option<u64>,
    /// Pages of memory in UDP buffers of both versions, of the whole machine: `UDP: mem`.
    pub udp_pages: Option<u64>,
    /// UDP-Lite sockets of version 4: `UDPLITE: inuse`.
    pub udp_lite: Option<u64>,
    /// Raw sockets of version 4: `RAW: inuse`.
    pub raw: Option<u64>,
    /// Datagrams of version 4 being reassembled: `FRAG: inuse`.
    pub fragmented: Option<u64>,
    /// Bytes in the datagrams of version 4 being reassembled: `FRAG: memory`.
    pub fragment_bytes: Option<u64>,
}

/// What `/proc/net/sockstat6` says; the file is missing without IPv6.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sockstat6 {
    /// TCP sockets of version 6 that are bound, listening or connected: `TCP6: inuse`.
    pub tcp: Option<u64>,
    /// UDP sockets of version 6: `UDP6: inuse`.
    pub udp: Option<u64>,
    /// UDP-Lite sockets of version 6: `UDPLITE6: inuse`.
    pub udp_lite: Option<u64>,
    /// Raw sockets of version 6: `RAW6: inuse`.
    pub raw: Option<u64>,
    /// Packets of version 6 being reassembled: `FRAG6: inuse`.
    pub fragmented: Option<u64>,
    /// Bytes in the packets of version 6 being reassembled: `FRAG6: memory`.
    pub fragment_bytes: Option<u64>,
}

/// The name of a number, for errors, and where it goes.
type Member<'m> = (&'static str, &'m mut Option<u64>);

impl Sockstat {
    /// Reads the file.
    ///
    /// # Errors
    ///
    /// When a line has no section, a wanted number is none, or `TCP: inuse`, which every kernel prints, is missing.
    pub fn parse(bytes: &[u8]) -> Result<Sockstat, ParseError> {
        let mut found = Sockstat::default();
        fill("/proc/net/sockstat", bytes, &mut found, Sockstat::member)?;
        match found.tcp {
            Some(_) => Ok(found),
            None => Err(ParseError::missing("/proc/net/sockstat", "TCP inuse", "a number with this name")),
        }
    }

    fn member(&mut self, section: &[u8], name: &[u8]) -> Option<Member<'_>> {
        match (section, name) {
            (b"sockets", b"used") => Some(("sockets used", &mut self.used)),
            (b"TCP", b"inuse") => Some(("TCP inuse", &mut self.tcp)),
            (b"TCP", b"orphan") => Some(("TCP orphan", &mut self.tcp_orphans)),
            (b"TCP", b"tw") => Some(("TCP tw", &mut self.tcp_time_waits)),
            (b"TCP", b"alloc") => Some(("TCP alloc", &mut self.tcp_allocated)),
            (b"TCP", b"mem") => Some(("TCP mem", &mut self.tcp_pages)),
            (b"UDP", b"inuse") => Some(("UDP inuse", &mut self.udp)),
            (b"UDP", b"mem") => Some(("UDP mem", &mut self.udp_pages)),
            (b"UDPLITE", b"inuse") => Some(("UDPLITE inuse", &mut self.udp_lite)),
            (b"RAW", b"inuse") => Some(("RAW inuse", &mut self.raw)),
            (b"FRAG", b"inuse") => Some(("FRAG inuse", &mut self.fragmented)),
            (b"FRAG", b"memory") => Some(("FRAG memory", &mut self.fragment_bytes)),
            _ => None,
        }
    }
}

impl Sockstat6 {
    /// Reads the file.
    ///
    /// # Errors
    ///
    /// As [`Sockstat::parse`], for `TCP6: inuse`.
    pub fn parse(bytes: &[u8]) -> Result<Sockstat6, ParseError> {
        let mut found = Sockstat6::default();
        fill("/proc/net/sockstat6", bytes, &mut found, Sockstat6::member)?;
        match found.tcp {
            Some(_) => Ok(found),
            None => Err(ParseError::missing("/proc/net/sockstat6", "TCP6 inuse", "a number with this name")),
        }
    }

    fn member(&mut self, section: &[u8], name: &[u8]) -> Option<Member<'_>> {
        match (section, name) {
            (b"TCP6", b"inuse") => Some(("TCP6 inuse", &mut self.tcp)),
            (b"UDP6", b"inuse") => Some(("UDP6 inuse", &mut self.udp)),
            (b"UDPLITE6", b"inuse") => Some(("UDPLITE6 inuse", &mut self.udp_lite)),
            (b"RAW6", b"inuse") => Some(("RAW6 inuse", &mut self.raw)),
            (b"FRAG6", b"inuse") => Some(("FRAG6 inuse", &mut self.fragmented)),
            (b"FRAG6", b"memory") => Some(("FRAG6 memory", &mut self.fragment_bytes)),
            _ => None,
        }
    }
}

/// Puts each number where `member` wants it, for the name of its section and its own.
fn fill<T>(
    file: &'static str,
    bytes: &[u8],
    found: &mut T,
    member: for<'m> fn(&'m mut T, &[u8], &[u8]) -> Option<Member<'m>>,
) -> Result<(), ParseError> {
    for line in lines(file, bytes) {
        let Some((section, mut fields)) = line.key_and_fields() else {
            return Err(line.place.error("section", "a name and a colon", line.bytes));
        };
        while let Some(name) = fields.next_field() {
            let text = fields.next_field().unwrap_or_default();
            if let Some((column, member)) = member(found, section, name) {
                *member = Some(decimal(text).ok_or_else(|| line.place.error(column, NEEDED_NUMBER, text))?);
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::fixture::{check_damage, fixture};
    use super::*;

    #[test]
    fn captured_files() {
        let found = Sockstat::parse(&fixture("6.18/net-sockstat")).unwrap();
        assert_eq!(
            (found.used, found.tcp, found.tcp_orphans, found.tcp_time_waits),
            (Some(12), Some(1), Some(0), Some(0))
        );
        assert_eq!(
            (found.tcp_allocated, found.tcp_pages, found.udp, found.fragment_bytes),
            (Some(1), Some(112), Some(0), Some(0))
        );
        let found = Sockstat6::parse(&fixture("6.18/net-sockstat6")).unwrap();
        let all = [found.tcp, found.udp, found.udp_lite, found.raw, found.fragmented, found.fragment_bytes];
        assert_eq!(all, [Some(0); 6]);
    }

    #[test]
    fn names_decide_and_order_does_not() {
        let found = Sockstat::parse(b"UDP: mem 7\nNEW: inuse x\nTCP: tw 3 new -4 inuse 5\n").unwrap();
        assert_eq!((found.tcp, found.tcp_time_waits, found.udp_pages), (Some(5), Some(3), Some(7)));
        assert_eq!((found.udp, found.used), (None, None));
        let found = Sockstat6::parse(b"TCP6: inuse 1\nFRAG6: inuse 2 memory 3\n").unwrap();
        assert_eq!(
            (found.tcp, found.fragmented, found.fragment_bytes, found.udp),
            (Some(1), Some(2), Some(3), None)
        );
    }

    #[test]
    fn malformed_files_say_where() {
        let cases: [(&[u8], &str); 4] = [
            (b"", "/proc/net/sockstat: TCP inuse: needed a number with this name, found nothing"),
            (
                b"TCP inuse 1\n",
                "/proc/net/sockstat line 1: section: needed a name and a colon, found \"TCP inuse 1\"",
            ),
            (
                b"sockets: used\n",
                "/proc/net/sockstat line 1: sockets used: needed a decimal number below 2^64, found nothing",
            ),
            (
                b"TCP: inuse 1\nUDP: mem -1\n",
                "/proc/net/sockstat line 2: UDP mem: needed a decimal number below 2^64, found \"-1\"",
            ),
        ];
        for (text, wanted) in cases {
            assert_eq!(Sockstat::parse(text).unwrap_err().to_string(), wanted);
        }
        assert!(Sockstat6::parse(b"UDP6: inuse 1\n").is_err());
    }

    #[test]
    fn damaged_files_do_not_panic() {
        check_damage("6.18/net-sockstat", Sockstat::parse);
        check_damage("6.18/net-sockstat6", Sockstat6::parse);
    }
}
