//! What a socket is: its protocol and addresses, by its inode.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::path::Path;

use super::read;

/// Bytes of a table of sockets that are read: some ten thousand sockets.
const TABLE: u64 = 8 << 20;

/// The tables, each with the name of its protocol.
const TABLES: [(&str, &str); 5] =
    [("tcp", "tcp"), ("tcp6", "tcp"), ("udp", "udp"), ("udp6", "udp"), ("unix", "unix")];

/// States of TCP, by the number in the table.
const STATES: [&str; 12] = [
    "",
    "ESTABLISHED",
    "SYN_SENT",
    "SYN_RECV",
    "FIN_WAIT1",
    "FIN_WAIT2",
    "TIME_WAIT",
    "CLOSE",
    "CLOSE_WAIT",
    "LAST_ACK",
    "LISTEN",
    "CLOSING",
];

/// The sockets of the network that a process sees, by inode. Only wanted ones are kept.
pub(super) fn sockets(folder: &Path, wanted: &[u64]) -> HashMap<u64, String> {
    let mut sockets = HashMap::new();
    if wanted.is_empty() {
        return sockets;
    }
    for (file, protocol) in TABLES {
        let bytes = read(&folder.join(file), TABLE).unwrap_or_default();
        let text = String::from_utf8_lossy(&bytes);
        for line in text.lines().skip(1) {
            let found = if protocol == "unix" { unix(line) } else { internet(line, protocol) };
            if let Some((inode, text)) = found.filter(|(inode, _)| wanted.contains(inode)) {
                sockets.insert(inode, text);
            }
        }
    }
    sockets
}

/// A line of `tcp`, `udp` and their tables of version 6.
fn internet(line: &str, protocol: &str) -> Option<(u64, String)> {
    let fields: Vec<&str> = line.split_ascii_whitespace().collect();
    let (local, remote) = (address(fields.get(1)?)?, address(fields.get(2)?)?);
    let inode = fields.get(9)?.parse().ok()?;
    let state = usize::from_str_radix(fields.get(3)?, 16).ok()?;
    let mut text = format!("{protocol} {local}");
    if !remote.ends_with(":0") {
        let _ = write!(text, " > {remote}");
    }
    if protocol == "tcp" {
        let _ = write!(text, " {}", STATES.get(state).copied().unwrap_or_default());
    }
    Some((inode, text.trim_end().to_string()))
}

/// An address as the kernel writes it: the words of the address in the order of this machine, then the port.
fn address(text: &str) -> Option<String> {
    let (address, port) = text.split_once(':')?;
    let port = u16::from_str_radix(port, 16).ok()?;
    let words = |length: usize| -> Option<Vec<u8>> {
        let mut bytes = Vec::with_capacity(length);
        for at in (0..length.saturating_mul(2)).step_by(8) {
            let word = u32::from_str_radix(address.get(at..at.saturating_add(8))?, 16).ok()?;
            #[expect(
                clippy::host_endian_bytes,
                reason = "the kernel prints words in the order of its machine"
            )]
            bytes.extend(word.to_ne_bytes());
        }
        Some(bytes)
    };
    let address = match address.len() {
        8 => IpAddr::V4(Ipv4Addr::from(<[u8; 4]>::try_from(words(4)?).ok()?)),
        32 => IpAddr::V6(Ipv6Addr::from(<[u8; 16]>::try_from(words(16)?).ok()?)),
        _ => return None,
    };
    Some(match address {
        IpAddr::V6(address) => format!("[{address}]:{port}"),
        IpAddr::V4(address) => format!("{address}:{port}"),
    })
}

/// A line of `unix`: the inode is the seventh field, and a path may follow.
fn unix(line: &str) -> Option<(u64, String)> {
    let mut fields = line.split_ascii_whitespace();
    let inode = fields.nth(6)?.parse().ok()?;
    let path = fields.collect::<Vec<_>>().join(" ");
    Some((inode, format!("unix {path}").trim_end().to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_the_tables() {
        if cfg!(target_endian = "little") {
            let line = "   0: 0100007F:0035 0200000A:A1B2 01 00000000:00000000 00:00000000 00000000   101        0 7788 1";
            let expected = (7788, "tcp 127.0.0.1:53 > 10.0.0.2:41394 ESTABLISHED".to_string());
            assert_eq!(internet(line, "tcp"), Some(expected));
            let line = " 1: 00000000000000000000000001000000:1F90 00000000000000000000000000000000:0000 0A 0:0 00:0 0 0 0 42 1";
            assert_eq!(internet(line, "tcp"), Some((42, "tcp [::1]:8080 LISTEN".to_string())));
        }
        let line = "0000000000000000: 00000002 00000000 00010000 0001 01 912 /run/a socket";
        assert_eq!(unix(line), Some((912, "unix /run/a socket".to_string())));
        for broken in ["", "x", "1: zz:1 00:2 01", "1: 0100007F:0035"] {
            assert_eq!(internet(broken, "tcp"), None);
            assert_eq!(unix(broken), None);
        }
    }
}
