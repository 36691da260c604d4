//! A remote registry that is missing, hangs, closes or lies at each step, behind a real Samba and beside a
//! healthy host.

use std::sync::Arc;

use crate::languages::{GERMAN, in_languages};
use crate::pipe::{
    AUTH_3, BIND, CLOSE, ENUMERATE, Message, OPEN, OPEN_BELOW, OPEN_MACHINE, OPEN_NLS, OPEN_TEXT, QUERY,
    Reply, serve, start,
};
use crate::support::{Net, good, has};

/// What a server does in the place of an answer.
type Lie = fn(&Message<'_>) -> Reply;

/// A handle that is too short.
const SHORT: Lie = |it| Reply::Send(it.answered(&[7; 9], 4000));

/// An answer to another call.
const OTHER_CALL: Lie = |it| {
    let mut answer = it.answered(&[0; 24], 4000);
    answer[12] ^= 1;
    Reply::Send(answer)
};

/// A number that is said to have a MiB.
const LONG: Lie = |it| Reply::Send(it.valued(b"abcd", 1 << 20, 0));

/// The step, what is wrong there, and what the message says.
const LIES: &[(&str, &str, Lie, &str)] = &[
    ("bind", "hang", |_| Reply::Hang, "no answer within 6s while asking for the remote registry"),
    ("bind", "close", |_| Reply::Close, "asking for the remote registry: "),
    (
        "bind",
        "refused",
        |it| Reply::Send(it.pdu(13, 3, &[4, 0, 0, 0])),
        "the server refuses the remote registry (reason 4)",
    ),
    (
        "bind",
        "cut",
        |it| Reply::SendAndClose(it.bound().split_at(30).0.to_vec()),
        "asking for the remote registry: the answer is cut: the server closed the pipe after 30 bytes",
    ),
    // The last message of the login has no answer: the next call meets what is wrong.
    ("login", "hang", |_| Reply::Hang, "no answer within 6s while opening the performance registry"),
    ("login", "close", |_| Reply::Close, "opening the performance registry: "),
    ("login", "fault", |it| Reply::Send(it.fault()), "damaged RPC answer: it is for call"),
    ("open", "hang", |_| Reply::Hang, "no answer within 6s while opening the performance registry"),
    ("open", "close", |_| Reply::Close, "opening the performance registry: "),
    ("open", "fault", |it| Reply::Send(it.fault()), "denies access"),
    (
        "open",
        "denied",
        |it| Reply::Send(it.answered(&[&[0; 20][..], &5u32.to_le_bytes()].concat(), 4000)),
        "the server reports error 5; on Windows the user must be",
    ),
    ("open", "short", SHORT, "the handle is cut off"),
    ("machine", "hang", |_| Reply::Hang, "no answer within 6s while reading the languages of counters"),
    ("machine", "close", |_| Reply::Close, "reading the languages of counters: "),
    ("machine", "short", SHORT, "the handle is cut off"),
    ("key", "hang", |_| Reply::Hang, "no answer within 6s while reading the languages of counters"),
    ("key", "close", |_| Reply::Close, "reading the languages of counters: "),
    ("key", "other call", OTHER_CALL, "damaged RPC answer: it is for call"),
    ("last", "hang", |_| Reply::Hang, "no answer within 6s while reading the languages of counters"),
    ("last", "close", |_| Reply::Close, "reading the languages of counters: "),
    ("last", "long", LONG, "damaged RPC answer: the length of the data"),
    ("languages", "hang", |_| Reply::Hang, "no answer within 6s while reading the languages of counters"),
    ("languages", "close", |_| Reply::Close, "reading the languages of counters: "),
    ("languages", "short", |it| Reply::Send(it.answered(&[7; 3], 4000)), "the status is cut off"),
    (
        "languages",
        "long",
        |it| Reply::Send(it.answered(&[&[0xff; 40][..], &[0; 4]].concat(), 4000)),
        "the length of the name of a key is 4294967295",
    ),
    ("closing", "hang", |_| Reply::Hang, "no answer within 6s while reading the languages of counters"),
    ("closing", "close", |_| Reply::Close, "reading the languages of counters: "),
    ("closing", "other call", OTHER_CALL, "damaged RPC answer: it is for call"),
    ("names", "hang", |_| Reply::Hang, "no answer within 6s while reading the performance registry"),
    ("names", "status", |it| Reply::Send(it.valued(b"", 0, 1722)), "1722"),
    ("text", "hang", |_| Reply::Hang, "no answer within 6s while reading the names of counters"),
    ("text", "close", |_| Reply::Close, "reading the names of counters: "),
    ("text", "short", SHORT, "the handle is cut off"),
    ("German text", "hang", |_| Reply::Hang, "no answer within 6s while reading the names of counters"),
    ("German text", "close", |_| Reply::Close, "reading the names of counters: "),
    ("German text", "other call", OTHER_CALL, "damaged RPC answer: it is for call"),
    ("block", "hang", |_| Reply::Hang, "no answer within 6s while reading the performance registry"),
    ("block", "close", |_| Reply::Close, "reading the performance registry: "),
    (
        "block",
        "cut, and hang",
        |it| Reply::Send(it.right().split_at(224).0.to_vec()),
        "no answer within 6s while reading the performance registry",
    ),
    (
        "block",
        "cut",
        |it| Reply::SendAndClose(it.right().split_at(300).0.to_vec()),
        // A whole fragment, without its head, and the begin of the next one.
        "reading the performance registry: the answer is cut: the server closed the pipe after 276 bytes",
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
    ("block", "more than is there", LONG, "the length of the data"),
    (
        "block",
        "less",
        |it| Reply::Send(it.valued(b"abcd", 4, 0)),
        "the answer does not fit in 67108864 bytes, or is cut",
    ),
    ("block", "for ever more", |it| Reply::Send(it.valued(b"", 0, 234)), "bytes"),
];

/// Whether a message is the one of a step.
fn is_step(message: &Message<'_>, step: &str) -> bool {
    match step {
        "bind" => message.kind == BIND,
        "login" => message.kind == AUTH_3,
        "open" => message.operation == OPEN,
        "machine" => message.operation == OPEN_MACHINE,
        "key" => message.operation == OPEN_BELOW,
        "languages" => message.operation == ENUMERATE,
        "closing" => message.operation == CLOSE,
        "text" => message.operation == OPEN_TEXT,
        "German text" => message.operation == OPEN_NLS,
        "last" => message.operation == QUERY && message.name() == "Last Counter",
        "names" => message.operation == QUERY && message.name() == "Counter 009",
        "block" => message.operation == QUERY && !message.name().contains("Counter") && !is_text(message),
        other => panic!("{other}"),
    }
}

/// Whether a query is for texts or for numbers of names.
fn is_text(message: &Message<'_>) -> bool {
    ["Explain", "Help"].iter().any(|word| message.name().contains(word))
}

#[test]
fn attack_a_registry_that_stops_or_lies_is_named() {
    let net = Net::new(&[("healthy", &good())]);
    let Some((samba, pipes)) = start(&net) else { return };
    let far = format!("rrp://nobody@127.0.0.1:{}", samba.port);
    // There is no pipe yet.
    has(&net.beside(&[], &far, 20), &["opening the pipe winreg: ", "sc start RemoteRegistry"]);
    for (step, name, lie, part) in LIES {
        let (step, lie) = (*step, *lie);
        serve(
            &pipes,
            Arc::new(move |message| match message.kind {
                _ if step == "bind" && message.kind == BIND => lie(message),
                BIND if step == "login" && message.login > 0 => Reply::Send(message.challenged()),
                AUTH_3 if step == "login" => lie(message),
                AUTH_3 => Reply::Nothing,
                // Sealed calls cannot be read here.
                _ if step == "login" && message.kind != BIND => Reply::Send(message.fault()),
                // The login of RPC is refused, and what is asked without it is answered.
                BIND if message.login > 0 => Reply::Send(message.pdu(13, 3, &[8, 0, 0, 0])),
                _ if is_step(message, step) => lie(message),
                // English names that are in the key for names only.
                _ if step == "text" && message.operation == QUERY && message.name().ends_with(" 009") => {
                    Reply::Send(message.valued(b"", 0, 2))
                }
                _ => Reply::Send(in_languages(message, GERMAN)),
            }),
        );
        // What is no question of time gets enough of it on a busy machine.
        let seconds = if part.starts_with("no answer within 6s") { 6 } else { 30 };
        // An object of the sick host: without one its block is not read.
        let path = r"\Widgets(*)\Widget Count";
        let more = if step == "German text" { &[path, "--lang", "de"][..] } else { &[path] };
        let said = net.beside_with(&[], more, &far, seconds);
        let line =
            said.lines().find(|line| line.contains(&far)).unwrap_or_else(|| panic!("{step} {name}: {said}"));
        assert!(line.contains(part), "{step} {name}: {part:?} is not in {line}");
    }
    tallymon_testkit::attack(
        "other machines",
        "a remote registry is missing, hangs or closes at each step, refuses, cuts answers, or lies about \
         calls and lengths",
        "a named error within the deadline; the healthy host beside it is read",
    );
}
