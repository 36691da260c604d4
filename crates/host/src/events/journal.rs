//! The journal of systemd: one datagram per event, with a journal field for each field of the event.

use std::os::unix::net::UnixDatagram;
use std::path::Path;

use tallymon_provider::library::event::Event;

const SOCKET: &str = "/run/systemd/journal/socket";

/// Sends an event to the journal, if there is one, without waiting for a busy one.
pub(super) fn send(event: &Event) {
    send_to(Path::new(SOCKET), event);
}

fn send_to(path: &Path, event: &Event) {
    let Ok(socket) = UnixDatagram::unbound() else { return };
    if socket.set_nonblocking(true).is_ok() {
        // The file has the event already.
        let _ = socket.send_to(&fields(event), path);
    }
}

/// The fields in the journal's form: a name, the length of the value in 8 bytes, the value.
fn fields(event: &Event) -> Vec<u8> {
    let mut out = Vec::new();
    let mut field = |name: &str, value: &str| {
        let length = u64::try_from(value.len()).unwrap_or(u64::MAX);
        out.extend_from_slice(name.as_bytes());
        out.push(b'\n');
        out.extend_from_slice(&length.to_le_bytes());
        out.extend_from_slice(value.as_bytes());
        out.push(b'\n');
    };
    field("MESSAGE", &event.to_string());
    field("PRIORITY", &event.kind.level.syslog().to_string());
    field("SYSLOG_IDENTIFIER", "tallymon");
    field("TALLYMON_SOURCE", event.kind.source.name());
    field("TALLYMON_EVENT_ID", &event.kind.id.to_string());
    for (name, value) in event.fields() {
        field(&format!("TALLYMON_{}", name.to_ascii_uppercase()), value);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use tallymon_provider::library::event::COLLECT_FAILED;

    #[test]
    fn a_datagram_has_every_field() {
        let path = std::env::temp_dir().join(format!("tallymon-journal-{}", std::process::id()));
        let _ = std::fs::remove_file(&path);
        let socket = UnixDatagram::bind(&path).unwrap();
        send_to(&path, &Event::new(&COLLECT_FAILED, ["My\nPerf", "my.so", "5"]));
        let mut datagram = vec![0; 4096];
        let length = socket.recv(&mut datagram).unwrap();
        let text = String::from_utf8_lossy(&datagram[..length]).into_owned();
        let service = "TALLYMON_SERVICE\n\u{7}\0\0\0\0\0\0\0My\nPerf\n";
        assert!(text.contains(service) && text.contains("PRIORITY\n\u{1}\0\0\0\0\0\0\u{0}4\n"), "{text:?}");
        assert!(text.starts_with("MESSAGE\n") && text.contains("TALLYMON_WIN32ERROR"), "{text:?}");
        std::fs::remove_file(&path).unwrap();
        send_to(&path, &Event::new(&COLLECT_FAILED, ["nobody", "is", "there"]));
    }
}
