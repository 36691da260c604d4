//! A remote registry that has names in several languages, behind a real Samba.

use std::path::Path;
use std::sync::Arc;

use crate::pipe::{
    AUTH_3, BIND, CLOSE, ENUMERATE, Message, OPEN, OPEN_BELOW, OPEN_MACHINE, OPEN_NLS, OPEN_TEXT, QUERY,
    Reply, serve, start,
};
use crate::support::{Net, has};

/// The keys of the names of a host in German: of English, of no language, and its own.
pub(crate) const GERMAN: &[&str] = &["009", "CurrentLanguage", "007"];

/// A registry of a host in German with these languages. Names that are not in English are outside of the
/// performance registry.
pub(crate) fn in_languages(message: &Message<'_>, languages: &[&str]) -> Vec<u8> {
    let text = |pairs: &str| pairs.encode_utf16().flat_map(u16::to_le_bytes).collect::<Vec<u8>>();
    let number = |number: u32| message.valued(&number.to_le_bytes(), 4, 0);
    let key = message.stub.first().copied().unwrap_or_default();
    match message.operation {
        OPEN_MACHINE | OPEN_BELOW | OPEN_NLS => message.opened(),
        CLOSE => message.answered(&[0; 24], 4000),
        ENUMERATE => {
            let Some(name) = languages.get(usize::from(message.stub[20])) else {
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
            (OPEN, "Counter 007" | "Explain 007" | "Counter 00c" | "Explain 00c") => {
                message.valued(b"", 0, 2)
            }
            (OPEN, _) => message.right(),
            other => panic!("{other:?}"),
        },
        _ => message.right(),
    }
}

/// The values and languages that were asked for.
pub(crate) type Asked = Arc<std::sync::Mutex<Vec<String>>>;

pub(crate) fn serve_languages(pipes: &Path, languages: &'static [&'static str]) -> Asked {
    let asked = Asked::default();
    let heard = Arc::clone(&asked);
    serve(
        pipes,
        Arc::new(move |message| match message.kind {
            AUTH_3 => Reply::Nothing,
            BIND if message.login > 0 => Reply::Send(message.pdu(13, 3, &[8, 0, 0, 0])),
            _ => {
                match message.operation {
                    QUERY => heard.lock().unwrap().push(message.name()),
                    ENUMERATE => heard.lock().unwrap().push("a language".to_string()),
                    _ => {}
                }
                Reply::Send(in_languages(message, languages))
            }
        }),
    );
    asked
}

#[test]
fn names_in_the_languages_of_a_host() {
    let net = Net::new(&[]);
    let Some((samba, pipes)) = start(&net) else { return };
    serve_languages(&pipes, GERMAN);
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
fn names_of_another_language_than_that_of_a_host_are_english() {
    let net = Net::new(&[]);
    let Some((samba, pipes)) = start(&net) else { return };
    let asked = serve_languages(&pipes, &["009", "007", "00C"]);
    let far = format!("rrp://nobody@127.0.0.1:{}", samba.port);
    let list = net.tally(&["list", "--lang", "fr", "-H", &far, "--timeout", "20s"]).data();
    has(&list, &["Widgets"]);
    assert!(!list.contains("Geräte"), "{list}");
    let asked = asked.lock().unwrap().clone();
    assert!(asked.iter().any(|name| name == "Counter 00c"), "{asked:?}");
    // Names come in two languages, and the list of languages once: three, and its end.
    assert_eq!(asked.iter().filter(|name| *name == "a language").count(), 4, "{asked:?}");
}

/// A host whose performance registry has no names: those in English are in a key that has nothing else.
#[test]
fn names_in_english_from_a_key_of_their_own() {
    let net = Net::new(&[]);
    let Some((samba, pipes)) = start(&net) else { return };
    let keys: Arc<std::sync::Mutex<Vec<(u8, String)>>> = Arc::default();
    let asked = Arc::clone(&keys);
    serve(
        &pipes,
        Arc::new(move |message| match (message.kind, message.operation) {
            (AUTH_3, _) => Reply::Nothing,
            (BIND, _) if message.login > 0 => Reply::Send(message.pdu(13, 3, &[8, 0, 0, 0])),
            (_, OPEN_TEXT) => Reply::Send(message.opened()),
            (_, CLOSE) => Reply::Send(message.answered(&[0; 24], 4000)),
            (_, QUERY) => {
                asked.lock().unwrap().push((message.stub[0], message.name()));
                let is_text = u16::from(message.stub[0]) == OPEN_TEXT;
                Reply::Send(match message.name().as_str() {
                    "Counter" if is_text => message.file("counter009.bin"),
                    "Help" if is_text => message.file("explain009.bin"),
                    "Counter 009" | "Explain 009" => message.valued(b"", 0, 2),
                    _ => message.right(),
                })
            }
            _ => Reply::Send(message.right()),
        }),
    );
    let far = format!("rrp://nobody@127.0.0.1:{}", samba.port);
    let words = ["get", r"\Widgets(*)\Widget Count", "--json", "-H", &far, "--timeout", "20s"];
    has(&net.tally(&words).data(), &["\"value\":7", "\"value\":11"]);
    let asked = keys.lock().unwrap().clone();
    for wanted in [(3, "Counter 009"), (3, "Explain 009"), (32, "Counter"), (32, "Help")] {
        assert!(asked.contains(&(wanted.0, wanted.1.to_string())), "{wanted:?}: {asked:?}");
    }
}

#[test]
fn a_host_that_refuses_to_list_its_languages_is_read() {
    let net = Net::new(&[]);
    let Some((samba, pipes)) = start(&net) else { return };
    // Each is refused alone, and the second key of a list.
    let list: fn(&Message<'_>) -> bool = |it| it.operation == ENUMERATE && it.stub[20] == 1;
    let number: fn(&Message<'_>) -> bool = |it| it.operation == QUERY && it.name() == "Last Counter";
    let close: fn(&Message<'_>) -> bool = |it| it.operation == CLOSE;
    let text: fn(&Message<'_>) -> bool = |it| it.operation == QUERY && it.name() == "Counter";
    for (name, is_refused) in [("list", list), ("number", number), ("close", close), ("text", text)] {
        serve(
            &pipes,
            Arc::new(move |message| match message.kind {
                AUTH_3 => Reply::Nothing,
                BIND if message.login > 0 => Reply::Send(message.pdu(13, 3, &[8, 0, 0, 0])),
                _ if is_refused(message) => Reply::Send(message.fault()),
                _ => Reply::Send(in_languages(message, GERMAN)),
            }),
        );
        let far = format!("rrp://nobody@127.0.0.1:{}", samba.port);
        let words = ["get", r"\Widgets(*)\Widget Count", "--json", "-H", &far, "--timeout", "20s"];
        let ran = net.tally(&[&words[..], &["--lang", "de"]].concat());
        assert_eq!((ran.code, ran.err.as_str()), (Some(0), ""), "{name}: {}", ran.out);
        has(&ran.out, &["\"value\":7", "\"value\":11"]);
    }
}

#[test]
fn names_of_a_host_come_once_to_a_program() {
    let net = Net::new(&[]);
    let Some((samba, pipes)) = start(&net) else { return };
    let asked = serve_languages(&pipes, GERMAN);
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
