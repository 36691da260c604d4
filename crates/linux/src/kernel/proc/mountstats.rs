//! `/proc/self/mountstats`: what NFS mounts have done. Other file systems print nothing there.

use super::error::ParseError;
use super::scan::{Fields, decimal, lines};

const FILE: &str = "/proc/self/mountstats";

/// One kind of request of a mount.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Requests {
    /// Requests that were made.
    pub operations: u64,
    /// Requests that were sent, including repeated ones.
    pub transmissions: u64,
    /// Requests that were not answered in time.
    pub timeouts: u64,
    /// Bytes sent with them.
    pub bytes_sent: u64,
    /// Bytes of their answers.
    pub bytes_received: u64,
    /// Milliseconds that they waited before being sent.
    pub queue_milliseconds: u64,
    /// Milliseconds from sending to the answer.
    pub round_trip_milliseconds: u64,
    /// Milliseconds from the call to its completion.
    pub milliseconds: u64,
    /// Answers that were errors; `None` before kernel 5.3.
    pub errors: Option<u64>,
}

/// One NFS mount.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Mount {
    /// What is mounted: `server:/export`.
    pub device: Vec<u8>,
    /// The mount point; blanks are escaped.
    pub mount_point: Vec<u8>,
    /// Bytes that programs read and wrote by system calls through the cache.
    pub normal: [u64; 2],
    /// Bytes that programs read and wrote past the cache.
    pub direct: [u64; 2],
    /// Bytes read from and written to the server.
    pub server: [u64; 2],
    /// Pages read and written for mapped files and by read-ahead.
    pub pages: [u64; 2],
    /// How often the connection was established, including the first time.
    pub connects: u64,
    /// The reads.
    pub read: Requests,
    /// The writes.
    pub write: Requests,
    /// All requests, reads and writes included.
    pub all: Requests,
}

impl Requests {
    fn parse(fields: &mut Fields<'_>) -> Result<Requests, ParseError> {
        Ok(Requests {
            operations: fields.number("ops")?,
            transmissions: fields.number("ntrans")?,
            timeouts: fields.number("timeouts")?,
            bytes_sent: fields.number("bytes_sent")?,
            bytes_received: fields.number("bytes_recv")?,
            queue_milliseconds: fields.number("queue")?,
            round_trip_milliseconds: fields.number("rtt")?,
            milliseconds: fields.number("execute")?,
            errors: fields.number_if_any("errors")?,
        })
    }

    /// Adds both.
    #[must_use]
    pub(crate) fn plus(self, other: Requests) -> Requests {
        Requests {
            operations: self.operations.wrapping_add(other.operations),
            transmissions: self.transmissions.wrapping_add(other.transmissions),
            timeouts: self.timeouts.wrapping_add(other.timeouts),
            bytes_sent: self.bytes_sent.wrapping_add(other.bytes_sent),
            bytes_received: self.bytes_received.wrapping_add(other.bytes_received),
            queue_milliseconds: self.queue_milliseconds.wrapping_add(other.queue_milliseconds),
            round_trip_milliseconds: self.round_trip_milliseconds.wrapping_add(other.round_trip_milliseconds),
            milliseconds: self.milliseconds.wrapping_add(other.milliseconds),
            errors: match (self.errors, other.errors) {
                (Some(one), Some(other)) => Some(one.wrapping_add(other)),
                (one, other) => one.or(other),
            },
        }
    }
}

/// The NFS mounts in the file.
///
/// # Errors
///
/// A line of an NFS mount has fewer numbers than every kernel prints, or something else in their place.
pub(crate) fn parse_mountstats(bytes: &[u8]) -> Result<Vec<Mount>, ParseError> {
    let mut mounts: Vec<Mount> = Vec::new();
    let mut is_nfs = false;
    let mut in_requests = false;
    for line in lines(FILE, bytes) {
        let mut fields = line.fields();
        let first = { fields }.next_field().unwrap_or_default();
        if first == b"device" {
            fields.skip(1);
            let device = fields.word("device")?.to_vec();
            // `mounted on`, the mount point, `with fstype`, the file system.
            fields.skip(2);
            let mount_point = fields.next_field().unwrap_or_default().to_vec();
            fields.skip(2);
            is_nfs = fields.next_field().is_some_and(|kind| kind == b"nfs" || kind == b"nfs4");
            in_requests = false;
            if is_nfs {
                mounts.push(Mount { device, mount_point, ..Mount::default() });
            }
            continue;
        }
        let Some(mount) = mounts.last_mut().filter(|_| is_nfs) else { continue };
        let name = first.strip_suffix(b":").unwrap_or(first);
        fields.skip(1);
        if in_requests && name != first {
            let requests = Requests::parse(&mut fields)?;
            mount.all = mount.all.plus(requests);
            match name {
                b"READ" => mount.read = requests,
                b"WRITE" => mount.write = requests,
                _ => {}
            }
        } else if name == b"bytes" {
            for (read_written, column) in [
                (&mut mount.normal, "normal"),
                (&mut mount.direct, "direct"),
                (&mut mount.server, "server"),
                (&mut mount.pages, "pages"),
            ] {
                *read_written = [fields.number(column)?, fields.number(column)?];
            }
        } else if name == b"xprt" {
            // Protocol, local port, binds, connects; a mount may have several connections.
            fields.skip(3);
            let connects = fields.next_field().and_then(decimal).unwrap_or(0);
            mount.connects = mount.connects.wrapping_add(connects);
        } else if name == b"per-op" {
            in_requests = true;
        }
    }
    Ok(mounts)
}

#[cfg(test)]
mod tests {
    use super::super::fixture::{check_damage, fixture};
    use super::*;

    #[test]
    fn mounts_of_nfs_and_nothing_else() {
        let mounts = parse_mountstats(&fixture("written/mountstats")).unwrap();
        assert_eq!(mounts.len(), 2);
        let [first, second] = [&mounts[0], &mounts[1]];
        assert_eq!(
            (first.device.as_slice(), first.mount_point.as_slice()),
            (&b"server:/home"[..], &b"/home"[..])
        );
        assert_eq!((first.normal, first.server, first.pages), ([1000, 2000], [700, 2100], [3, 4]));
        assert_eq!((first.read.operations, first.write.milliseconds, first.all.operations), (10, 90, 131));
        assert_eq!((first.connects, first.all.errors), (2, Some(5)));
        assert_eq!((second.read.bytes_received, second.all.errors), (64, None), "an older kernel");
    }

    #[test]
    fn errors_and_damage() {
        let text =
            b"device a:/ mounted on /a with fstype nfs statvers=1.1\n\tper-op statistics\n\tREAD: 1 2 x\n";
        assert_eq!(
            parse_mountstats(text).unwrap_err().to_string(),
            "/proc/self/mountstats line 3: timeouts: needed a decimal number below 2^64, found \"x\""
        );
        assert_eq!(parse_mountstats(b"device proc mounted on /proc with fstype proc\n"), Ok(Vec::new()));
        check_damage("written/mountstats", parse_mountstats);
    }
}
