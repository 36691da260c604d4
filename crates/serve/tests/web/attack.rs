//! Other sites, other programs of this machine, and clients that never end.

use std::io::{Read, Write};
use std::net::SocketAddr;

use tallymon_serve::{Options, ServeError, Server};
use tallymon_testkit::{Scratch, attack, attack_count};

use crate::answers::log;
use crate::client::{Reply, Running, options};

#[test]
fn attack_without_the_token() {
    let server = Running::start(true, &[]);
    let at = server.at;
    let wrong = server.token.chars().rev().collect::<String>();
    for target in
        ["/", "/api/v1/hosts", "/api/v1/query?path=%5CSystem%5CProcesses", "/api/v1/openapi.json", "/nothing"]
    {
        for with in
            [String::new(), format!("Authorization: Bearer {wrong}x\r\n"), "Cookie: tally=\r\n".to_string()]
        {
            let reply = server.send(&format!("GET {target} HTTP/1.1\r\nHost: {at}\r\n{with}\r\n"));
            assert_eq!(reply.status, 401, "{target} {with}");
            assert_eq!(reply.header("connection"), Some("close"));
            assert!(!reply.text().contains(&server.token));
        }
    }
    let reply = server.send(&format!("GET /?token={wrong} HTTP/1.1\r\nHost: {at}\r\n\r\n"));
    assert!(reply.status == 401 && reply.header("set-cookie").is_none());
    // With the right one: a cookie that no script and no other site can use, for a folder that nobody knows.
    let path = server.first.splitn(4, '/').nth(3).unwrap();
    let reply = server.send(&format!("GET /{path} HTTP/1.1\r\nHost: {at}\r\nConnection: close\r\n\r\n"));
    let cookie = reply.header("set-cookie").unwrap();
    assert_eq!(reply.status, 303);
    assert!(cookie.contains("; HttpOnly; SameSite=Strict") && !cookie.contains("Path=/;"), "{cookie}");
    assert!(!reply.header("location").unwrap().contains("token"));
    attack(
        "pages",
        "another program or user asks without the token, or with a wrong one",
        "refused; only the printed address has the token, and the cookie is for a secret folder",
    );
}

#[test]
fn attack_from_another_site() {
    let server = Running::start(true, &[]);
    let (at, token) = (server.at, &server.token);
    let port = at.port();
    let ask = |host: &str, more: &str, status: u16| {
        let head = format!("GET /api/v1/hosts HTTP/1.1\r\nHost: {host}\r\nCookie: tally={token}\r\n");
        let reply = server.send(&format!("{head}{more}Connection: close\r\n\r\n"));
        assert_eq!(reply.status, status, "{host} {more}");
        assert!(reply.header("access-control-allow-origin").is_none());
    };
    ask(&at.to_string(), "", 200);
    // A name that means 127.0.0.1 since a moment (DNS rebinding), with the cookie of the user.
    for host in [
        "evil.example",
        &format!("evil.example:{port}"),
        "127.0.0.1",
        &format!("127.0.0.1.evil.example:{port}"),
    ] {
        ask(host, "", 421);
    }
    for more in [
        "Origin: http://evil.example\r\n",
        "Origin: null\r\n",
        "Sec-Fetch-Site: cross-site\r\n",
        "Sec-Fetch-Site: same-site\r\n",
    ] {
        ask(&at.to_string(), more, 403);
    }
    let upload = format!(
        "POST /api/v1/logs?name=x HTTP/1.1\r\nHost: {at}\r\nCookie: tally={token}\r\n\
         Origin: http://evil.example\r\nContent-Length: 1\r\n\r\nx"
    );
    assert_eq!(server.send(&upload).status, 403);
    for method in ["PUT", "PATCH", "OPTIONS", "TRACE", "CONNECT"] {
        let reply = server.send(&format!("{}\r\n", server.head(method, "/api/v1/hosts")));
        assert!(matches!(reply.status, 400 | 405 | 421), "{method} {}", reply.status);
    }
    attack(
        "pages",
        "another site sends requests with the user's cookie, or takes the name of this machine \
         (DNS rebinding)",
        "refused by Host, Origin and Sec-Fetch-Site; no answer allows another origin",
    );
}

#[test]
fn only_addresses_of_this_machine_are_listened_on() {
    for address in ["0.0.0.0:0", "192.0.2.1:0", "[::]:0"] {
        let listen: SocketAddr = address.parse().unwrap();
        let error = Server::bind(Options { listen, ..options() }).unwrap_err();
        assert!(matches!(error, ServeError::Exposed(_)) && error.to_string().contains("ssh -L"), "{error}");
    }
}

/// Whether the server has closed a connection on which it had nothing to say.
fn is_closed(stream: &mut std::net::TcpStream) -> bool {
    match stream.read(&mut [0; 512]) {
        Ok(0) => true,
        Err(error) => error.kind() != std::io::ErrorKind::WouldBlock,
        Ok(_) => false,
    }
}

#[test]
fn attack_with_many_connections() {
    const HELD: usize = 200;
    let server = Running::start(false, &[]);
    for _ in 0..attack_count(2, 30) {
        let mut open = Vec::new();
        for _ in 0..HELD + 130 {
            let mut stream = server.connect();
            // Half a head; those beyond the limit are closed at once.
            let _ = stream.write_all(b"GET / HTTP/1.1\r\nHost: ");
            stream.set_nonblocking(true).unwrap();
            open.push(stream);
        }
        let begin = std::time::Instant::now();
        while open.len() > HELD {
            open.retain_mut(|stream| !is_closed(stream));
            assert!(begin.elapsed() < crate::client::PATIENCE, "{} connections are open", open.len());
        }
        assert_eq!(open.len(), HELD);
        drop(open);
        // Then there is room again.
        let begin = std::time::Instant::now();
        loop {
            let mut stream = server.connect();
            let _ = stream.write_all(format!("{}\r\n", server.head("GET", "/api/v1/hosts")).as_bytes());
            if Reply::read(stream).status == 200 {
                break;
            }
            assert!(begin.elapsed() < crate::client::PATIENCE);
        }
    }
    attack(
        "pages",
        "open thousands of connections and send half a request on each",
        "200 are held; the others are closed at once, and then there is room again",
    );
}

#[test]
fn attack_with_large_and_endless_requests() {
    let scratch = Scratch::new();
    let server = Running::start(false, &[log(&scratch)]);
    let big =
        server.send(&format!("{}X: {}\r\n\r\n", server.head("GET", "/api/v1/hosts"), "x".repeat(200_000)));
    assert!(matches!(big.status, 431 | 0), "{}", big.status);
    let many = server.send(&format!("{}{}\r\n", server.head("GET", "/api/v1/hosts"), "X: y\r\n".repeat(500)));
    assert!(matches!(many.status, 431 | 0), "{}", many.status);
    // An upload that says that it is too large is refused before it is sent.
    let head =
        format!("{}Content-Length: {}\r\n\r\n", server.head("POST", "/api/v1/logs?name=x"), 1u64 << 30);
    let refused = server.send(&head);
    assert_eq!(refused.status, 413, "{}", refused.text());
    // One that does not say it ends at the limit.
    let mut stream = server.connect();
    write!(stream, "{}Transfer-Encoding: chunked\r\n\r\n", server.head("POST", "/api/v1/logs?name=x"))
        .unwrap();
    let piece = format!("10000\r\n{}\r\n", "x".repeat(65_536));
    for _ in 0..40 {
        if stream.write_all(piece.as_bytes()).is_err() {
            break;
        }
    }
    let status = Reply::read(stream).status;
    assert!(matches!(status, 413 | 0), "{status}");
    // The room of both is free again.
    let text = "x".repeat(1 << 19);
    let whole =
        format!("{}Content-Length: {}\r\n\r\n{text}", server.head("POST", "/api/v1/logs?name=x"), text.len());
    assert_eq!(server.send(&whole).status, 200);
    // More than the source can be asked for.
    let paths = "path=%5CSystem%5CProcesses&".repeat(700);
    let reply = server.send(&format!("{}\r\n", server.head("GET", &format!("/api/v1/query?{paths}"))));
    assert!(matches!(reply.status, 400 | 431), "{}", reply.status);
    attack(
        "pages",
        "send heads of 200 kB, 500 headers, 1 GB as an upload, and an upload without an end",
        "refused at the limit; what was kept of an upload is removed",
    );
}

/// A log with so many rows at 1 s.
fn long_log(rows: u32) -> String {
    let mut text = String::from("\"(PDH-CSV 4.0) (UTC)(0)\",\"\\\\W\\System\\Processes\"");
    for row in 0..rows {
        let (day, hour, minute, second) = (row / 86_400 + 1, row / 3600 % 24, row / 60 % 60, row % 60);
        text.push_str(&format!(
            "\r\n\"11/{day:02}/2026 {hour:02}:{minute:02}:{second:02}.000\",\"{}\"",
            row % 7
        ));
    }
    text
}

#[test]
fn attack_with_clients_that_ask_and_leave() {
    let scratch = Scratch::new();
    let file = scratch.join("long.csv");
    std::fs::write(&file, long_log(200_000)).unwrap();
    let server = Running::start(false, &[file]);
    server.wait("/api/v1/hosts", |hosts| hosts[0]["state"] == "ready");
    let port = server.at.port();
    let target = "/api/v1/query?host=log1&path=%5CSystem%5CProcesses";
    let mut most = 0;
    for _ in 0..300 {
        let mut stream = server.connect();
        stream.write_all(format!("{}\r\n", server.head("GET", target)).as_bytes()).unwrap();
        drop(stream);
        most = most.max(workers(port));
    }
    // Four that read, and those for what is known at once.
    assert!((1..=8).contains(&most), "{most} threads answer requests that nobody waits for");
    assert_eq!(server.get(&format!("{target}&points=2"))["rows"], 200_000);
    attack(
        "pages",
        "ask 300 times for the chart of a long log, and leave before the answer",
        "four at a time are read, and end soon; the next one is answered",
    );
}

#[test]
fn attack_with_clients_that_want_long_work_and_leave() {
    const CLIENTS: u32 = 40;
    let scratch = Scratch::new();
    let (long, short) = (scratch.join("long.csv"), log(&scratch));
    std::fs::write(&long, long_log(20_000)).unwrap();
    let server = Running::with(Options { logs: vec![long, short], uploads: 64 << 20, ..options() });
    server
        .wait("/api/v1/hosts", |hosts| hosts.as_array().unwrap().iter().all(|host| host["state"] == "ready"));
    for (of_long, of_short) in [
        ("/api/v1/convert?host=log1&format=blg", "/api/v1/convert?host=log2&format=blg"),
        ("/api/v1/compare?first=log1&second=log1", "/api/v1/compare?first=log2&second=log2"),
        // The last one: what was found once is known afterwards.
        ("/api/v1/findings?host=log1", "/api/v1/findings?host=log2"),
    ] {
        let whole = || {
            let begin = std::time::Instant::now();
            let reply = server.send(&format!("{}\r\n", server.head("GET", of_long)));
            assert_eq!(reply.status, 200, "{of_long}: {}", reply.text());
            begin.elapsed()
        };
        let before = if of_long.contains("findings") { None } else { Some(whole()) };
        let begin = std::time::Instant::now();
        for _ in 0..CLIENTS {
            let mut stream = server.connect();
            stream.write_all(format!("{}\r\n", server.head("GET", of_long)).as_bytes()).unwrap();
            // It is on its way when the client leaves.
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
        let reply = server.send(&format!("{}\r\n", server.head("GET", of_short)));
        assert_eq!(reply.status, 200, "{of_short}: {}", reply.text());
        let waited = begin.elapsed();
        let usual = before.unwrap_or_else(whole);
        // Two at a time, or one: the work of all who have left would take at least this long.
        let all = usual * CLIENTS / 2;
        assert!(waited < all / 2, "{of_long}: answered after {waited:?}, one alone takes {usual:?}");
    }
    attack(
        "pages",
        "ask 40 times for a conversion, a comparison or the findings of a long log, and leave before the answer",
        "what nobody waits for ends at the next record, and what was written is removed; the next one is answered",
    );
}

/// Threads that answer requests to the server of a port.
fn workers(port: u16) -> usize {
    let tasks = std::fs::read_dir("/proc/self/task").unwrap();
    let names = tasks.filter_map(|task| std::fs::read_to_string(task.ok()?.path().join("comm")).ok());
    names.filter(|name| name.trim_end() == format!("serve {port}")).count()
}

#[test]
fn attack_with_clients_that_do_not_read() {
    let scratch = Scratch::new();
    let server = Running::start(true, &[log(&scratch)]);
    server
        .wait("/api/v1/hosts", |hosts| hosts.as_array().unwrap().iter().all(|host| host["state"] == "ready"));
    let mut held = Vec::new();
    for nth in 0..40 {
        let mut stream = server.connect();
        let target = match nth % 2 {
            0 => "/api/v1/query?host=log1&path=%5CProcess(*)%5C6&points=20000",
            _ => "/api/v1/stream?path=%5CProcess(*)%5C*&after=0",
        };
        write!(stream, "{}\r\n", server.head("GET", target)).unwrap();
        held.push(stream);
    }
    // Others are answered meanwhile, and rows go on.
    let next = server.get("/api/v1/hosts")[0]["next"].as_u64().unwrap();
    server.wait("/api/v1/hosts", |hosts| hosts[0]["next"].as_u64() > Some(next + 3));
    attack(
        "pages",
        "ask for long answers and streams, and read none of them",
        "others are answered and samples go on",
    );
}

#[test]
fn attack_with_hostile_names() {
    let scratch = Scratch::new();
    let name = "</script><img src=x onerror=alert(1)>";
    let control = "a\u{1b}[2J\u{202e}b";
    let text = format!(
        "\"(PDH-CSV 4.0) (UTC)(0)\",\"\\\\WEB\\Process({name})\\% Processor Time\",\
         \"\\\\WEB\\Process({control})\\% Processor Time\"\r\n\
         \"03/01/2026 00:00:00.000\",\"1\",\"2\"\r\n"
    );
    let path = scratch.join("hostile.csv");
    std::fs::write(&path, text).unwrap();
    let server = Running::start(false, &[path]);
    server.wait("/api/v1/hosts", |hosts| hosts[0]["state"] == "ready");
    let chart = server.get("/api/v1/query?path=%5CProcess(*)%5C%25%20Processor%20Time");
    let shown: Vec<&str> = (0..2).map(|nth| chart["series"][nth]["instance"].as_str().unwrap()).collect();
    // A page shows it as text; what a terminal would obey, or would turn around, is replaced.
    assert_eq!(shown[0], name);
    assert!(!shown[1].contains(['\u{1b}', '\u{202e}']), "{shown:?}");
    let reply = server.send(&format!("{}\r\n", server.head("GET", "/api/v1/hosts")));
    assert_eq!(reply.header("content-type"), Some("application/json"));
    assert_eq!(reply.header("x-content-type-options"), Some("nosniff"));
    assert!(reply.header("content-security-policy").unwrap().contains("default-src 'none'"));
    let page = server.send(&format!("{}\r\n", server.head("GET", "/")));
    let rules = page.header("content-security-policy").unwrap();
    assert!(rules.contains("script-src 'sha256-") && rules.contains("frame-ancestors 'none'"), "{rules}");
    assert!(!rules.contains("unsafe"), "{rules}");
    attack(
        "pages",
        "instances in a log are called like HTML, like a script, and with control characters",
        "they are data of type JSON and shown as text; the page runs its own script only; \
         control characters are replaced",
    );
}
