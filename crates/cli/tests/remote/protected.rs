//! What protects the messages between this machine and a real Samba, for each way that a server may insist
//! on.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

use crate::smbd::{PASSWORD, Samba, passwords};
use crate::support::{Net, has};

/// What passed through a relay, in both directions.
pub(crate) type Heard = Arc<Mutex<Vec<u8>>>;

/// Starts a relay to a port that keeps what it hears. Returns its own port.
pub(crate) fn listener(target: u16) -> (u16, Heard) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let heard = Heard::default();
    let kept = Arc::clone(&heard);
    thread::spawn(move || {
        for client in listener.incoming().flatten() {
            let server = TcpStream::connect(("127.0.0.1", target)).unwrap();
            for (from, to) in [(&client, &server), (&server, &client)] {
                let (mut from, mut to) = (from.try_clone().unwrap(), to.try_clone().unwrap());
                let kept = Arc::clone(&kept);
                thread::spawn(move || {
                    let mut part = [0; 4096];
                    while let Ok(count @ 1..) = from.read(&mut part) {
                        kept.lock().unwrap().extend_from_slice(&part[..count]);
                        if to.write_all(&part[..count]).is_err() {
                            return;
                        }
                    }
                });
            }
        }
    });
    (port, heard)
}

/// Whether a text of Windows was heard.
pub(crate) fn has_heard(heard: &Heard, text: &str) -> bool {
    let bytes: Vec<u8> = text.encode_utf16().flat_map(u16::to_le_bytes).collect();
    heard.lock().unwrap().windows(bytes.len()).any(|window| window == bytes)
}

#[test]
fn messages_are_protected_as_well_as_the_server_can() {
    let net = Net::new(&[]);
    passwords(&net, &format!("nobody@* {PASSWORD}\n"));
    // The settings of a server, and whether SMB crosses the network in the clear. Then RPC is sealed.
    for (row, (settings, is_clear)) in [
        ("server smb encrypt = required", false),
        ("server smb encrypt = required\nserver min protocol = SMB3_11", false),
        ("server smb encrypt = required\nserver max protocol = SMB3_02", false),
        // A server that would rather take 256 bits.
        (
            "server smb encrypt = required\nserver smb3 encryption algorithms = AES-256-GCM, AES-128-CCM",
            false,
        ),
        ("server smb encrypt = desired\nserver smb3 encryption algorithms = AES-128-CCM", false),
        // Servers that take 256 bits only.
        ("server smb encrypt = required\nserver smb3 encryption algorithms = AES-256-GCM", false),
        ("server smb encrypt = required\nserver smb3 encryption algorithms = AES-256-CCM", false),
        // Nobody asks for encryption here.
        ("server signing = mandatory\nserver min protocol = SMB3_11", false),
        ("server signing = mandatory\nserver smb3 signing algorithms = AES-128-CMAC", false),
        ("server signing = mandatory\nserver max protocol = SMB3_00", false),
        ("server signing = mandatory\nserver smb encrypt = off", true),
        ("server signing = mandatory\nserver max protocol = SMB2_10", true),
        ("server signing = mandatory\nserver max protocol = SMB2_02", true),
    ]
    .into_iter()
    .enumerate()
    {
        let Some(samba) = Samba::start(&net.folder, &format!("samba{row}"), settings) else { return };
        let (port, heard) = listener(samba.port);
        let path = r"\Widgets(*)\Widget Count";
        let far = format!("rrp://nobody@127.0.0.1:{port}");
        let got = net.tally(&["get", path, "--json", "-H", &far, "--timeout", "60s"]);
        assert_eq!(got.code, Some(0), "{settings}: {}", got.err);
        has(&got.out, &["\"value\":7", "\"value\":11"]);
        assert_eq!(has_heard(&heard, "winreg"), is_clear, "{settings}");
        assert!(!has_heard(&heard, "alpha"), "{settings}");
    }
}
