use std::os::unix::net::UnixListener;

use super::*;

/// A service that says this to each client, whatever it asks.
fn liar(answer: &'static [u8]) -> (tallymon_testkit::Scratch, String) {
    let folder = tallymon_testkit::Scratch::new();
    let socket = folder.join("socket");
    let listener = UnixListener::bind(&socket).unwrap();
    thread::spawn(move || {
        let mut held = Vec::new();
        for mut client in listener.incoming().flatten() {
            let _ = client.write_all(answer);
            held.push(client);
        }
    });
    let socket = socket.display().to_string();
    (folder, socket)
}

#[test]
fn attack_a_service_of_tickets_that_stops_or_lies() {
    for (answer, part) in [
        (&b""[..], ": no answer within 5s"),
        (b"\xff\xff\xff\xff", "an answer of 4294967295 bytes"),
        (b"\0\0\0\x04\0\0\0\0\0\0", ": no answer within 5s"),
        (b"\0\0\0\x02\0\0\0\0\0\0", "unexpected end of file"),
        (b"\0\0\0\x04\0\0\0\0\0\0\0\x05", "it reports error 5"),
        (b"\0\0\0\0\x96\xc7\x3a\xc3", "it has no tickets of this user"),
        (b"\0\0\0\x08\0\0\0\0\0\0\0\0name", "the name of the cache has no end"),
    ] {
        let (_folder, socket) = liar(answer);
        let begun = Instant::now();
        let why = read(Some(&socket), "").unwrap_err();
        assert!(begun.elapsed() < Duration::from_secs(8), "{answer:?}");
        assert!(why.contains(part) && !why.contains("is it running"), "{answer:?}: {why}");
        assert!(why.starts_with(&format!("the service of tickets at {socket}: ")), "{why}");
    }
    let why = read(Some("/nowhere/at/all"), "").unwrap_err();
    assert!(why.contains("No such file") && why.contains("is it running"), "{why}");
    tallymon_testkit::attack(
        "other machines",
        "a service that keeps tickets stops, or answers with lengths that lie",
        "a named error within 5 s",
    );
}
