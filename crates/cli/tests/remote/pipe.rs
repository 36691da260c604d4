//! A remote registry that refuses, stops or lies, behind a real Samba: Samba logs in, signs and passes the
//! pipe on to a socket, and this is the other end of the socket.

use std::fs;
use std::io::{Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use tallymon_testkit::shared;

use crate::smbd::{PASSWORD, Samba, passwords};
use crate::support::{Net, Ran, has};

const BIND: u8 = 11;
const AUTH_3: u8 = 16;
const OPEN_MACHINE: u16 = 2;
const OPEN: u16 = 3;
const CLOSE: u16 = 5;
const ENUMERATE: u16 = 9;
const OPEN_BELOW: u16 = 15;
const QUERY: u16 = 17;
const OPEN_NLS: u16 = 33;

/// What a server does with a message.
enum Reply {
    Send(Vec<u8>),
    /// Nothing is to be answered.
    Nothing,
    /// The connection stays open, and no answer comes.
    Hang,
    Close,
}

/// A message of a client.
struct Message<'m> {
    kind: u8,
    /// The number of the call.
    call: [u8; 4],
    /// How many bytes of a login it has.
    login: u16,
    operation: u16,
    /// What follows the head of a request.
    stub: &'m [u8],
}

impl<'m> Message<'m> {
    fn parse(pdu: &'m [u8]) -> Message<'m> {
        let at = |at: usize| u16::from_le_bytes([pdu[at], pdu[at + 1]]);
        let (operation, stub) = if pdu[2] == 0 { (at(22), &pdu[24..]) } else { (0, &[][..]) };
        Message { kind: pdu[2], call: [pdu[12], pdu[13], pdu[14], pdu[15]], login: at(10), operation, stub }
    }

    /// The name of the value that is queried.
    fn name(&self) -> String {
        let units = self.stub[40..].chunks_exact(2).map(|unit| u16::from_le_bytes([unit[0], unit[1]]));
        String::from_utf16(&units.take_while(|unit| *unit != 0).collect::<Vec<u16>>()).unwrap()
    }

    fn pdu(&self, kind: u8, flags: u8, body: &[u8]) -> Vec<u8> {
        let mut pdu = vec![5, 0, kind, flags, 0x10, 0, 0, 0];
        pdu.extend(u16::try_from(body.len() + 16).unwrap().to_le_bytes());
        pdu.extend([0, 0]);
        pdu.extend(self.call);
        pdu.extend(body);
        pdu
    }

    /// The interface is there, and nothing is said about a login.
    fn bound(&self) -> Vec<u8> {
        let mut body = vec![0xb8, 0x10, 0xb8, 0x10, 1, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0];
        body.extend([0x04, 0x5d, 0x88, 0x8a, 0xeb, 0x1c, 0xc9, 0x11, 0x9f, 0xe8, 0x08, 0x00, 0x2b, 0x10]);
        body.extend([0x48, 0x60, 2, 0, 0, 0]);
        self.pdu(12, 3, &body)
    }

    /// An answer in fragments of this many bytes.
    fn answered(&self, stub: &[u8], fragment: usize) -> Vec<u8> {
        let parts: Vec<&[u8]> = stub.chunks(fragment).collect();
        let last = parts.len() - 1;
        let each = parts.iter().enumerate().map(|(at, part)| {
            let flags = u8::from(at == 0) | u8::from(at == last) << 1;
            self.pdu(2, flags, &[&[0; 8], *part].concat())
        });
        each.collect::<Vec<_>>().concat()
    }

    /// A key whose handle is the number of the call.
    fn opened(&self) -> Vec<u8> {
        let handle = [self.operation.to_le_bytes()[0]; 20];
        self.answered(&[&handle[..], &[0; 4]].concat(), 4000)
    }

    fn fault(&self) -> Vec<u8> {
        self.pdu(3, 3, &[&[0; 8][..], &5u32.to_le_bytes()].concat())
    }

    /// A value that says that it has `said` bytes, with a status.
    fn valued(&self, bytes: &[u8], said: usize, status: u32) -> Vec<u8> {
        let words = |words: &[u32]| words.iter().flat_map(|word| word.to_le_bytes()).collect::<Vec<u8>>();
        let count = u32::try_from(said).unwrap();
        let mut stub = words(&[1, 3, 1, 1 << 26, 0, count]);
        stub.extend(bytes);
        stub.resize(stub.len().next_multiple_of(4), 0);
        stub.extend(words(&[1, count, 1, count, status]));
        self.answered(&stub, 200)
    }

    /// What a server that works says.
    fn right(&self) -> Vec<u8> {
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

    fn file(&self, name: &str) -> Vec<u8> {
        let bytes = fs::read(shared("samba").unwrap().join(name)).unwrap();
        self.valued(&bytes, bytes.len(), 0)
    }
}

type Server = Arc<dyn Fn(&Message<'_>) -> Reply + Send + Sync>;

/// Begins to serve the pipe of a Samba.
fn serve(folder: &Path, server: Server) {
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
            Reply::Send(answer) => {
                // Each fragment is a message of its own.
                let mut rest = &answer[..];
                while rest.len() >= 10 {
                    let length = usize::from(u16::from_le_bytes([rest[8], rest[9]])).clamp(10, rest.len());
                    let (fragment, behind) = rest.split_at(length);
                    stream.write_all(&u16::try_from(length).unwrap().to_le_bytes()).ok()?;
                    stream.write_all(fragment).ok()?;
                    rest = behind;
                }
            }
        }
    }
}

/// Starts a Samba that passes its pipes on. `None` where there is none.
fn start(net: &Net) -> Option<(Samba, std::path::PathBuf)> {
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
    let samba = Samba::start(net, "samba", &settings)?;
    Some((samba, pipes))
}

fn get(net: &Net, samba: &Samba, timeout: &str) -> Ran {
    let far = format!("rrp://nobody@127.0.0.1:{}", samba.port);
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
    let begun = Instant::now();
    let starting = thread::spawn(move || {
        // It is there when the pipe is opened for the third time or the fourth.
        thread::sleep(Duration::from_millis(1_500));
        serve_two_languages(&pipes);
    });
    let ran = get(&net, &samba, "20s");
    starting.join().unwrap();
    assert_eq!((ran.code, ran.err.as_str()), (Some(0), ""), "{}", ran.out);
    assert!(begun.elapsed() > Duration::from_millis(1_500));
    has(&ran.out, &["\"value\":7"]);
}

/// What a server does in the place of an answer.
type Lie = fn(&Message<'_>) -> Reply;

/// The step, what is wrong there, and what the message says.
const LIES: &[(&str, &str, Lie, &str)] = &[
    ("bind", "hang", |_| Reply::Hang, "no answer within 3s while asking for the remote registry"),
    ("open", "hang", |_| Reply::Hang, "no answer within 3s while opening the performance registry"),
    ("names", "hang", |_| Reply::Hang, "no answer within 3s while reading the performance registry"),
    ("block", "hang", |_| Reply::Hang, "no answer within 3s while reading the performance registry"),
    ("bind", "close", |_| Reply::Close, "asking for the remote registry: "),
    ("open", "close", |_| Reply::Close, "opening the performance registry: "),
    ("block", "close", |_| Reply::Close, "reading the performance registry: "),
    (
        "bind",
        "refused",
        |it| Reply::Send(it.pdu(13, 3, &[4, 0, 0, 0])),
        "the server refuses the remote registry (reason 4)",
    ),
    ("open", "fault", |it| Reply::Send(it.fault()), "denies access"),
    (
        "open",
        "denied",
        |it| Reply::Send(it.answered(&[&[0; 20][..], &5u32.to_le_bytes()].concat(), 4000)),
        "the server reports error 5; on Windows the user must be",
    ),
    ("open", "short", |it| Reply::Send(it.answered(&[7; 9], 4000)), "the handle is cut off"),
    (
        "block",
        "cut",
        |it| Reply::Send(it.right().split_at(224).0.to_vec()),
        "no answer within 3s while reading the performance registry",
    ),
    (
        "block",
        "other call",
        |it| {
            let mut answer = it.right();
            answer[12] ^= 1;
            Reply::Send(answer)
        },
        "damaged RPC answer: it is for call",
    ),
    (
        "block",
        "second first",
        |it| {
            let mut answer = it.right();
            answer[224 + 3] |= 1;
            Reply::Send(answer)
        },
        "damaged RPC answer: the flags of a fragment is 1",
    ),
    (
        "block",
        "more than is there",
        |it| Reply::Send(it.valued(b"abcd", 1 << 20, 0)),
        "the length of the data",
    ),
    (
        "block",
        "less",
        |it| Reply::Send(it.valued(b"abcd", 4, 0)),
        "the answer does not fit in 67108864 bytes, or is cut",
    ),
    ("block", "for ever more", |it| Reply::Send(it.valued(b"", 0, 234)), "bytes"),
    ("names", "status", |it| Reply::Send(it.valued(b"", 0, 1722)), "1722"),
];

#[test]
fn attack_a_registry_that_stops_or_lies_is_named() {
    let net = Net::new(&[]);
    let Some((samba, pipes)) = start(&net) else { return };
    // There is no pipe yet.
    let ran = get(&net, &samba, "8s");
    assert_eq!((ran.code, ran.out.as_str()), (Some(3), ""), "{}", ran.err);
    has(&ran.err, &["opening the pipe winreg: ", "sc start RemoteRegistry"]);
    let is_step = |message: &Message<'_>, step: &str| match step {
        "bind" => message.kind == BIND,
        "open" => message.operation == OPEN,
        "names" => message.operation == QUERY && message.name() == "Counter 009",
        _ => message.operation == QUERY && !message.name().ends_with(" 009"),
    };
    for (step, name, lie, part) in LIES {
        let (step, lie) = (*step, *lie);
        serve(
            &pipes,
            Arc::new(move |message| match message.kind {
                AUTH_3 => Reply::Nothing,
                // The login of RPC is refused, and what is asked without it is answered.
                BIND if message.login > 0 && step != "bind" => Reply::Send(message.pdu(13, 3, &[8, 0, 0, 0])),
                _ if is_step(message, step) => lie(message),
                _ => Reply::Send(message.right()),
            }),
        );
        let begun = Instant::now();
        let ran = get(&net, &samba, "3s");
        assert!(begun.elapsed() < Duration::from_secs(12), "{step} {name}");
        assert!(matches!(ran.code, Some(1 | 5..=7)), "{step} {name}: {:?} {}", ran.code, ran.err);
        assert_eq!(ran.out, "", "{step} {name}");
        has(&ran.err, &[&format!("rrp://nobody@127.0.0.1:{}: ", samba.port), part]);
    }
    tallymon_testkit::attack(
        "other machines",
        "a remote registry is missing, hangs or closes at each step, refuses, or lies about calls and lengths",
        "a named error within the deadline",
    );
}

/// A registry that also has names in German, outside of the performance registry.
fn in_two_languages(message: &Message<'_>) -> Vec<u8> {
    let text = |pairs: &str| pairs.encode_utf16().flat_map(u16::to_le_bytes).collect::<Vec<u8>>();
    let number = |number: u32| message.valued(&number.to_le_bytes(), 4, 0);
    let key = message.stub.first().copied().unwrap_or_default();
    match message.operation {
        OPEN_MACHINE | OPEN_BELOW | OPEN_NLS => message.opened(),
        CLOSE => message.answered(&[0; 24], 4000),
        ENUMERATE => {
            let names = ["009", "CurrentLanguage", "007"];
            let Some(name) = names.get(usize::from(message.stub[20])) else {
                return message.answered(&[&[0; 24][..], &259u32.to_le_bytes()].concat(), 4000);
            };
            let units = u16::try_from(name.len() + 1).unwrap();
            let mut stub = [(units * 2).to_le_bytes(), 512u16.to_le_bytes()].concat();
            for word in [1u32, 256, 0, units.into()] {
                stub.extend(word.to_le_bytes());
            }
            stub.extend(text(&format!("{name}\0")));
            stub.resize(stub.len().next_multiple_of(4), 0);
            // No class, no time, no fault.
            stub.extend([0; 12]);
            message.answered(&stub, 4000)
        }
        QUERY => match (u16::from(key), message.name().as_str()) {
            (OPEN_BELOW, "Last Counter") => number(12),
            (OPEN_BELOW, "Last Help") => number(13),
            (OPEN_NLS, "Counter") => {
                let names = text("2\0Geräte\x004\0Geräteanzahl\x008\0Gerät\0\0");
                message.valued(&names, names.len(), 0)
            }
            (OPEN_NLS, "Help") => {
                let names = text("3\0Viele Geräte\0\0");
                message.valued(&names, names.len(), 0)
            }
            (OPEN, "Counter 007" | "Explain 007") => message.valued(b"", 0, 2),
            (OPEN, _) => message.right(),
            other => panic!("{other:?}"),
        },
        _ => message.right(),
    }
}

/// How often a value was queried.
type Asked = Arc<std::sync::Mutex<Vec<String>>>;

fn serve_two_languages(pipes: &Path) -> Asked {
    let asked = Asked::default();
    let heard = Arc::clone(&asked);
    serve(
        pipes,
        Arc::new(move |message| match message.kind {
            AUTH_3 => Reply::Nothing,
            BIND if message.login > 0 => Reply::Send(message.pdu(13, 3, &[8, 0, 0, 0])),
            _ => {
                if message.operation == QUERY {
                    heard.lock().unwrap().push(message.name());
                }
                Reply::Send(in_two_languages(message))
            }
        }),
    );
    asked
}

#[test]
fn names_in_the_languages_of_a_host() {
    let net = Net::new(&[]);
    let Some((samba, pipes)) = start(&net) else { return };
    serve_two_languages(&pipes);
    let far = format!("rrp://nobody@127.0.0.1:{}", samba.port);
    for words in [
        &["get", r"\Geräte(*)\Geräteanzahl"][..],
        &["get", r"\Widgets(*)\Widget Count", "--lang", "de"],
        &["get", r"\GERÄTE(*)\Widget Count", "--lang", "de"],
    ] {
        let ran = net.tally(&[words, &["--json", "-H", &far, "--timeout", "20s"]].concat());
        assert_eq!((ran.code, ran.err.as_str()), (Some(0), ""), "{words:?}: {}", ran.out);
        has(&ran.out, &["\"value\":7", "\"value\":11"]);
    }
    let list = net.tally(&["list", "--lang", "de", "-H", &far, "--timeout", "20s"]).data();
    has(&list, &["Geräte"]);
}

#[test]
fn names_of_a_host_come_once_to_a_program() {
    let net = Net::new(&[]);
    let Some((samba, pipes)) = start(&net) else { return };
    let asked = serve_two_languages(&pipes);
    let port = samba.port;
    net.file("root/hosts", format!("far rrp://nobody@127.0.0.1:{port}\n").as_bytes());
    let words = r"mon -H far --timeout 20s --chart '\Widgets(*)\Widget Count'";
    let Some(terminal) = crate::monitor::open(&net, words) else { return };
    terminal.wait_for(&["alpha", "beta"]);
    // The dialog reads the host on its own.
    terminal.types("a");
    terminal.wait_for(&["Gadget"]);
    terminal.key("Escape");
    terminal.types("q");
    let asked = asked.lock().unwrap().clone();
    let count = |name: &str| asked.iter().filter(|it| *it == name).count();
    assert!(count("Last Counter") >= 2, "{asked:?}");
    assert_eq!((count("Counter 009"), count("Explain 009")), (1, 1), "{asked:?}");
}
