//! A remote registry of our own behind a real Samba: Samba logs in, signs and passes the
//! pipe on to a socket, and this is the other end of the socket.

use std::fs;
use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use tallymon_testkit::shared;

use crate::languages::{GERMAN, serve_languages};
use crate::smbd::{PASSWORD, Samba, passwords};
use crate::support::{Net, Ran, has};

pub(crate) const BIND: u8 = 11;
pub(crate) const AUTH_3: u8 = 16;
pub(crate) const OPEN_MACHINE: u16 = 2;
pub(crate) const OPEN: u16 = 3;
pub(crate) const CLOSE: u16 = 5;
pub(crate) const ENUMERATE: u16 = 9;
pub(crate) const OPEN_BELOW: u16 = 15;
pub(crate) const QUERY: u16 = 17;
pub(crate) const OPEN_TEXT: u16 = 32;
pub(crate) const OPEN_NLS: u16 = 33;

/// What a server does with a message.
pub(crate) enum Reply {
    Send(Vec<u8>),
    /// Nothing is to be answered.
    Nothing,
    /// The connection stays open, and no answer comes.
    Hang,
    Close,
    /// Some bytes, and then the end.
    SendAndClose(Vec<u8>),
}

/// A message of a client.
pub(crate) struct Message<'m> {
    pub(crate) kind: u8,
    /// The number of the call.
    call: [u8; 4],
    /// How many bytes of a login it has.
    pub(crate) login: u16,
    pub(crate) operation: u16,
    /// What follows the head of a request.
    pub(crate) stub: &'m [u8],
}

impl<'m> Message<'m> {
    fn parse(pdu: &'m [u8]) -> Message<'m> {
        let at = |at: usize| u16::from_le_bytes([pdu[at], pdu[at + 1]]);
        let (operation, stub) = if pdu[2] == 0 { (at(22), &pdu[24..]) } else { (0, &[][..]) };
        Message { kind: pdu[2], call: [pdu[12], pdu[13], pdu[14], pdu[15]], login: at(10), operation, stub }
    }

    /// The name of the value that is queried.
    pub(crate) fn name(&self) -> String {
        let units = self.stub[40..].chunks_exact(2).map(|unit| u16::from_le_bytes([unit[0], unit[1]]));
        String::from_utf16(&units.take_while(|unit| *unit != 0).collect::<Vec<u16>>()).unwrap()
    }

    /// The room that a query offers, which stands behind the name.
    fn room(&self) -> u32 {
        let word = |at: usize| u32::from_le_bytes(self.stub[at..at + 4].try_into().unwrap());
        let units = usize::try_from(word(36)).unwrap();
        word((40 + units * 2).next_multiple_of(4) + 12)
    }

    pub(crate) fn pdu(&self, kind: u8, flags: u8, body: &[u8]) -> Vec<u8> {
        let mut pdu = vec![5, 0, kind, flags, 0x10, 0, 0, 0];
        pdu.extend(u16::try_from(body.len() + 16).unwrap().to_le_bytes());
        pdu.extend([0, 0]);
        pdu.extend(self.call);
        pdu.extend(body);
        pdu
    }

    /// The interface is there, and nothing is said about a login.
    pub(crate) fn bound(&self) -> Vec<u8> {
        self.pdu(12, 3, &Self::bound_body())
    }

    /// The interface is there, and a login by NTLM begins that can seal.
    pub(crate) fn challenged(&self) -> Vec<u8> {
        let mut challenge = b"NTLMSSP\0\x02\0\0\0\0\0\0\0\x20\0\0\0".to_vec();
        challenge.extend(0x6008_0031u32.to_le_bytes());
        challenge.extend([7; 8]);
        let body = [&Self::bound_body()[..], &[10, 6, 0, 0, 0, 0, 0, 0], &challenge[..]].concat();
        let mut pdu = self.pdu(12, 3, &body);
        pdu[10] = u8::try_from(challenge.len()).unwrap();
        pdu
    }

    fn bound_body() -> Vec<u8> {
        let mut body = vec![0xb8, 0x10, 0xb8, 0x10, 1, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0];
        body.extend([0x04, 0x5d, 0x88, 0x8a, 0xeb, 0x1c, 0xc9, 0x11, 0x9f, 0xe8, 0x08, 0x00, 0x2b, 0x10]);
        body.extend([0x48, 0x60, 2, 0, 0, 0]);
        body
    }

    /// An answer in fragments of this many bytes.
    pub(crate) fn answered(&self, stub: &[u8], fragment: usize) -> Vec<u8> {
        let parts: Vec<&[u8]> = stub.chunks(fragment).collect();
        let last = parts.len() - 1;
        let each = parts.iter().enumerate().map(|(at, part)| {
            let flags = u8::from(at == 0) | u8::from(at == last) << 1;
            self.pdu(2, flags, &[&[0; 8], *part].concat())
        });
        each.collect::<Vec<_>>().concat()
    }

    /// A key whose handle is the number of the call.
    pub(crate) fn opened(&self) -> Vec<u8> {
        let handle = [self.operation.to_le_bytes()[0]; 20];
        self.answered(&[&handle[..], &[0; 4]].concat(), 4000)
    }

    pub(crate) fn fault(&self) -> Vec<u8> {
        self.pdu(3, 3, &[&[0; 8][..], &5u32.to_le_bytes()].concat())
    }

    /// A value that says that it has `said` bytes, with a status.
    pub(crate) fn valued(&self, bytes: &[u8], said: usize, status: u32) -> Vec<u8> {
        let words = |words: &[u32]| words.iter().flat_map(|word| word.to_le_bytes()).collect::<Vec<u8>>();
        let count = u32::try_from(said).unwrap();
        let mut stub = words(&[1, 3, 1, 1 << 26, 0, count]);
        stub.extend(bytes);
        stub.resize(stub.len().next_multiple_of(4), 0);
        stub.extend(words(&[1, count, 1, count, status]));
        self.answered(&stub, 200)
    }

    /// What a server that works says.
    pub(crate) fn right(&self) -> Vec<u8> {
        match (self.kind, self.operation) {
            (BIND, _) => self.bound(),
            (_, OPEN) => self.opened(),
            // The languages are nobody's business.
            (_, OPEN_MACHINE) => self.fault(),
            (_, QUERY) => match self.name().as_str() {
                "Counter 009" => self.file("counter009.bin"),
                "Explain 009" => self.file("explain009.bin"),
                _ => self.file("global-2obj-2inst.bin"),
            },
            other => panic!("{other:?}"),
        }
    }

    pub(crate) fn file(&self, name: &str) -> Vec<u8> {
        let bytes = fs::read(shared("samba").unwrap().join(name)).unwrap();
        self.valued(&bytes, bytes.len(), 0)
    }
}

type Server = Arc<dyn Fn(&Message<'_>) -> Reply + Send + Sync>;

/// Begins to serve the pipe of a Samba.
pub(crate) fn serve(folder: &Path, server: Server) {
    let socket = folder.join("np/winreg");
    let _ = fs::remove_file(&socket);
    let listener = UnixListener::bind(socket).unwrap();
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let server = Arc::clone(&server);
            thread::spawn(move || answer(stream, &server));
        }
    });
}

/// Answers until the other end closes.
fn answer(mut stream: UnixStream, server: &Server) -> Option<()> {
    // Samba says who logged in; the answer says that all is well, in 36 bytes.
    let mut length = [0; 4];
    stream.read_exact(&mut length).ok()?;
    let mut hello = vec![0; usize::try_from(u32::from_be_bytes(length)).unwrap()];
    stream.read_exact(&mut hello).ok()?;
    let level = &hello[4..8];
    let mut ready = [&[0, 0, 0, 32], &b"NPAM"[..], level, level, &[2, 0, 0xff, 5, 0, 0, 0, 0]].concat();
    ready.extend(4096u64.to_le_bytes());
    ready.extend([0; 4]);
    stream.write_all(&ready).ok()?;
    loop {
        let mut length = [0; 2];
        stream.read_exact(&mut length).ok()?;
        let mut pdu = vec![0; u16::from_le_bytes(length).into()];
        stream.read_exact(&mut pdu).ok()?;
        match server(&Message::parse(&pdu)) {
            Reply::Nothing => {}
            Reply::Hang => thread::sleep(Duration::from_secs(60)),
            Reply::Close => return None,
            Reply::Send(answer) => send(&mut stream, &answer)?,
            Reply::SendAndClose(answer) => {
                send(&mut stream, &answer)?;
                return None;
            }
        }
    }
}

/// Each fragment is a message of its own.
fn send(stream: &mut UnixStream, answer: &[u8]) -> Option<()> {
    let mut rest = answer;
    while rest.len() >= 10 {
        let length = usize::from(u16::from_le_bytes([rest[8], rest[9]])).clamp(10, rest.len());
        let (fragment, behind) = rest.split_at(length);
        stream.write_all(&u16::try_from(length).unwrap().to_le_bytes()).ok()?;
        stream.write_all(fragment).ok()?;
        rest = behind;
    }
    Some(())
}

/// Starts a Samba that passes its pipes on. `None` where there is none.
pub(crate) fn start(net: &Net) -> Option<(Samba, std::path::PathBuf)> {
    let pipes = net.folder.join("pipes");
    fs::create_dir_all(pipes.join("np")).unwrap();
    for folder in [pipes.clone(), pipes.join("np")] {
        fs::set_permissions(folder, fs::Permissions::from_mode(0o700)).unwrap();
    }
    let settings = format!(
        "server signing = mandatory\nserver smb encrypt = off\nrpc start on demand helpers = no\n\
         external_rpc_pipe:socket_dir = {}\n",
        pipes.display()
    );
    passwords(net, &format!("nobody@* {PASSWORD}\n"));
    let samba = Samba::start(&net.folder, "samba", &settings)?;
    Some((samba, pipes))
}

fn get(net: &Net, samba: &Samba, timeout: &str) -> Ran {
    get_from(net, samba.port, timeout)
}

fn get_from(net: &Net, port: u16, timeout: &str) -> Ran {
    let far = format!("rrp://nobody@127.0.0.1:{port}");
    net.tally(&["get", r"\Widgets(*)\Widget Count", "--json", "-H", &far, "--timeout", timeout])
}

#[test]
fn a_server_that_does_not_seal_is_read_all_the_same() {
    let net = Net::new(&[]);
    let Some((samba, pipes)) = start(&net) else { return };
    // The answer to a bind with a login: refused, a fault, or the interface without a word about the login.
    let nak: fn(&Message<'_>) -> Vec<u8> = |message| message.pdu(13, 3, &[8, 0, 0, 0]);
    let fault: fn(&Message<'_>) -> Vec<u8> = |message| message.fault();
    let silence: fn(&Message<'_>) -> Vec<u8> = |message| message.bound();
    for (name, refusal) in [("nak", nak), ("fault", fault), ("silence", silence)] {
        serve(
            &pipes,
            Arc::new(move |message| match (message.kind, message.login) {
                (BIND, 1..) => Reply::Send(refusal(message)),
                (AUTH_3, _) => Reply::Nothing,
                _ => Reply::Send(message.right()),
            }),
        );
        let ran = get(&net, &samba, "20s");
        assert_eq!((ran.code, ran.err.as_str()), (Some(0), ""), "{name}: {}", ran.out);
        has(&ran.out, &["\"value\":7", "\"value\":11"]);
    }
}

#[test]
fn a_registry_that_starts_on_demand_is_waited_for() {
    let net = Net::new(&[]);
    let Some((samba, pipes)) = start(&net) else { return };
    let refusals = Arc::new(AtomicU32::new(0));
    let counted = Arc::clone(&refusals);
    // It starts when the pipe was opened in vain for the second time.
    let port = pass_on(samba.port, move || {
        if counted.fetch_add(1, Ordering::SeqCst) == 1 {
            serve_languages(&pipes, GERMAN);
        }
    });
    let ran = get_from(&net, port, "60s");
    assert_eq!((ran.code, ran.err.as_str()), (Some(0), ""), "{}", ran.out);
    assert_eq!(refusals.load(Ordering::SeqCst), 2);
    has(&ran.out, &["\"value\":7"]);
}

/// Passes connections on to a server of SMB 2, and says when a file cannot be opened, before the client
/// hears it.
fn pass_on(port: u16, refused: impl Fn() + Send + 'static) -> u16 {
    /// The number of the command that opens a file.
    const CREATE: [u8; 2] = [5, 0];
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let own = listener.local_addr().unwrap().port();
    thread::spawn(move || {
        for mut client in listener.incoming().flatten() {
            let mut server = TcpStream::connect(("127.0.0.1", port)).unwrap();
            let (mut from, mut to) = (client.try_clone().unwrap(), server.try_clone().unwrap());
            thread::spawn(move || {
                let _ = std::io::copy(&mut from, &mut to);
                let _ = to.shutdown(Shutdown::Both);
            });
            let mut length = [0; 4];
            while server.read_exact(&mut length).is_ok() {
                let mut message = vec![0; usize::try_from(u32::from_be_bytes(length)).unwrap()];
                server.read_exact(&mut message).unwrap();
                if message[12..14] == CREATE && message[8..12] != [0; 4] {
                    refused();
                }
                client.write_all(&[&length[..], &message].concat()).unwrap();
            }
        }
    });
    own
}

/// Answers everything without a seal, and blocks as `block` says.
fn serve_blocks(pipes: &Path, block: impl Fn(&Message<'_>) -> Vec<u8> + Send + Sync + 'static) {
    serve(
        pipes,
        Arc::new(move |message| match (message.kind, message.operation) {
            (AUTH_3, _) => Reply::Nothing,
            (BIND, _) if message.login > 0 => Reply::Send(message.pdu(13, 3, &[8, 0, 0, 0])),
            (_, QUERY) if !message.name().ends_with(" 009") => Reply::Send(block(message)),
            _ => Reply::Send(message.right()),
        }),
    );
}

#[test]
fn the_room_grows_until_an_answer_fits() {
    let net = Net::new(&[]);
    let Some((samba, pipes)) = start(&net) else { return };
    let rooms: Arc<Mutex<Vec<u32>>> = Arc::default();
    let asked = Arc::clone(&rooms);
    // Windows says that there is more, and no useful size; the size that it says here is a lie.
    serve_blocks(&pipes, move |message| {
        asked.lock().unwrap().push(message.room());
        if message.room() < 1 << 20 { message.valued(b"", 0, 234) } else { message.right() }
    });
    let far = format!("rrp://nobody@127.0.0.1:{}", samba.port);
    let words = ["watch", r"\Widgets(*)\Widget Count", "--json", "-c", "2", "-i", "50ms", "--timeout", "20s"];
    let rows = net.tally(&[&words[..], &["-H", &far]].concat()).data();
    assert_eq!(rows.matches("\"value\":7").count(), 2, "{rows}");
    let rooms = rooms.lock().unwrap().clone();
    // What was enough once is offered at once.
    assert_eq!(rooms[..3], [256 << 10, 512 << 10, 1 << 20], "{rooms:?}");
    assert!(rooms.len() > 4 && rooms[3..].iter().all(|room| *room == 1 << 20), "{rooms:?}");
}

#[test]
fn requests_for_other_machines_pass_through() {
    let net = Net::new(&[]);
    let Some((samba, pipes)) = start(&net) else { return };
    let names: Arc<Mutex<Vec<String>>> = Arc::default();
    let asked = Arc::clone(&names);
    serve_blocks(&pipes, move |message| {
        asked.lock().unwrap().push(message.name());
        message.right()
    });
    let far = format!("rrp://nobody@127.0.0.1:{}", samba.port);
    for request in ["Foreign win1", "Foreign win1 2 4", "Costly", "2 8"] {
        has(&net.tally(&["dump", request, "-H", &far, "--timeout", "20s"]).data(), &["NumObjectTypes    2"]);
        assert_eq!(names.lock().unwrap().pop().as_deref(), Some(request));
    }
}
