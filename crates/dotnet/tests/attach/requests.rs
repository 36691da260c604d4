//! Requests and commands of programs, compared with what the test asked.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tallymon_dotnet::port::{EventProvider, Session};
use tallymon_dotnet::requests::{Asked, DIAGNOSTIC_SOURCE, Durations, REPORTS, Requests, db, http};

use crate::hosts::{Running, hosts};
use crate::runtimes::web_server;

const PATIENCE: Duration = Duration::from_secs(60);

/// What a program reports while the test does something.
fn reports(running: &mut Running, arguments: String, work: impl FnOnce(&mut Running)) -> Requests {
    let name = DIAGNOSTIC_SOURCE.into();
    let source = EventProvider { name, keywords: REPORTS, level: 5, arguments };
    let session = Session { providers: vec![source], method_names: false, buffer: 64 };
    let mut stream = running.program().start(&session, PATIENCE).unwrap();
    stream.set_patience(PATIENCE);
    let finish = stream.finisher();
    let known = Arc::new(Mutex::new(Requests::default()));
    let of_thread = known.clone();
    let reader = std::thread::spawn(move || Requests::read(stream, &of_thread));
    work(running);
    finish.finish(PATIENCE).unwrap();
    reader.join().unwrap().unwrap();
    let known = known.lock().unwrap();
    assert_eq!((known.damage.as_deref(), known.lost), (None, 0));
    known.clone()
}

fn row<'r>(requests: &'r Requests, by: &str, what: &str, status: &str) -> &'r Durations {
    let asked = Asked { by: by.into(), what: what.into(), status: status.into() };
    requests.rows.get(&asked).unwrap_or_else(|| panic!("{what}: {:?}", requests.rows.keys()))
}

/// Asks a server; returns the status.
pub(crate) fn get(address: &str, path: &str) -> String {
    let host = address.strip_prefix("http://").unwrap();
    let mut stream = TcpStream::connect(host).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    write!(stream, "GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer.split(' ').nth(1).unwrap().to_string()
}

#[test]
fn requests_of_a_server_are_counted_by_route_and_status() {
    let Some(host) = hosts().iter().find(|host| host.version == "9.0") else { return };
    let Some(parts) = web_server() else {
        tallymon_testkit::skip("no ASP.NET Core for the tests that attach");
        return;
    };
    let (mut running, address) = host.start_server(&parts);
    let work = |_: &mut Running| {
        for (path, status) in [("/", "200"), ("/fail", "500"), ("/none", "404"), ("/call", "200")] {
            assert_eq!(get(&address, path), status);
        }
        let orders = |first: usize| {
            for id in first..first + 25 {
                assert_eq!(get(&address, &format!("/orders/{id}")), "200");
            }
        };
        // Under the load of several clients.
        std::thread::scope(|scope| (0..4).for_each(|client| drop(scope.spawn(move || orders(client * 25)))));
    };
    let requests = reports(&mut running, http(), work);
    let orders = row(&requests, "server", "GET /orders/{id}", "200");
    // One of them came from the server itself.
    assert_eq!((orders.count, orders.errors), (101, 0));
    let half = orders.quantile(0.5);
    assert!(half >= 19_000_000 && half <= orders.quantile(0.99) && orders.mean() <= orders.longest);
    for (what, status, errors) in [("GET /", "200", 0), ("GET /fail", "500", 1), ("GET /none", "404", 0)] {
        let row = row(&requests, "server", what, status);
        assert_eq!((row.count, row.errors), (1, errors), "{what}");
    }
    let host = address.strip_prefix("http://").unwrap();
    let call = row(&requests, "client", &format!("GET {host}/orders/1"), "200");
    assert!(call.count == 1 && call.longest >= 19_000_000, "{call:?}");
    // Nobody looks any more.
    assert_eq!(get(&address, "/"), "200");
    running.end();
    assert!(running.ends_within(PATIENCE));
}

#[test]
fn commands_are_counted_without_their_constants() {
    for host in hosts().iter().filter(|host| !host.is_trimmed()) {
        let mut running = host.start();
        let requests = reports(&mut running, db(), |running| {
            assert_eq!(running.ask("commands 40"), "ok");
        });
        let select = row(&requests, "SqlClient", "SELECT * FROM orders WHERE id = ?", "");
        assert_eq!((select.count, select.errors), (40, 10), ".NET {}", host.version);
        assert!(select.quantile(0.5) >= 4_900_000, ".NET {}: {}", host.version, select.quantile(0.5));
        let delete = row(&requests, "Entity Framework", "DELETE FROM t WHERE n = ?", "");
        // 1 to 40 ms.
        assert_eq!((delete.count, delete.mean(), delete.longest), (40, 20_500_000, 40_000_000));
        let most = delete.quantile(0.95) as f64;
        assert!((most / 38e6 - 1.0).abs() < 0.01, "{most}");
    }
}
