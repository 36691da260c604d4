//! Time limits of connections, on a clock that the test moves.

use std::cell::Cell;
use std::io::{Read, Write};
use std::net::TcpStream as Client;
use std::pin::Pin;
use std::rc::Rc;
use std::time::Instant;

use hyper::rt::Write as _;
use tallymon_testkit::attack;
use tokio::runtime::{Builder, Runtime};
use tokio::task::yield_now;
use tokio::time::advance;

use super::*;

const SECOND: Duration = Duration::from_secs(1);

/// An event loop whose clock stands still, except when the test moves it: it also moves when nothing is to be
/// done, so the test always does something.
fn still() -> Runtime {
    Builder::new_current_thread().enable_all().start_paused(true).build().unwrap()
}

/// Lets the other tasks work until something is so.
async fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let begin = Instant::now();
    while !is_so() {
        assert!(begin.elapsed() < Duration::from_secs(120), "waited in vain: {what}");
        yield_now().await;
    }
}

/// Lets the other tasks work, also those that wait for the network.
async fn settle() {
    for _ in 0..500 {
        yield_now().await;
    }
}

/// A server that shows nothing.
async fn serve() -> (SocketAddr, Arc<Service>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let hub = Arc::new(Hub::new(Vec::new(), ReadOptions::default()));
    let uploads = Uploads::new(0).unwrap();
    let gate = Gate::new(address, None, None).unwrap();
    let local = Local { sessions: None, events: None, processes: None, profiles: None };
    let service = Arc::new(Service::new(gate, hub, uploads, Vec::new(), None, local, Entrance::default()));
    tokio::spawn(accept(listener, Arc::clone(&service), None));
    (address, service)
}

fn connect(address: SocketAddr, text: &str) -> Client {
    let mut client = Client::connect(address).unwrap();
    client.write_all(text.as_bytes()).unwrap();
    client.set_nonblocking(true).unwrap();
    client
}

/// Whether the server has closed a connection, after what it may have said.
fn is_closed(client: &mut Client) -> bool {
    loop {
        match client.read(&mut [0; 512]) {
            Ok(0) => return true,
            Ok(_) => {}
            Err(error) => return error.kind() != io::ErrorKind::WouldBlock,
        }
    }
}

#[test]
fn attack_with_half_a_request() {
    still().block_on(async {
        let (address, service) = serve().await;
        let half = format!("GET /api/v1/hosts HTTP/1.1\r\nHost: {address}\r\n");
        let mut held = Vec::new();
        for _ in 0..MOST_CONNECTIONS {
            held.push(connect(address, &half));
            // The system queues only some that are not accepted yet.
            settle().await;
        }
        let mut further = connect(address, &half);
        until("no room for one more", || is_closed(&mut further)).await;
        advance(HEAD_TIME.saturating_sub(SECOND)).await;
        settle().await;
        assert!(!held.iter_mut().any(is_closed), "closed too early");
        advance(SECOND.saturating_mul(2)).await;
        until("all are closed", || held.iter_mut().all(is_closed)).await;
        let token = service.gate().token();
        let mut next = connect(address, &format!("{half}Authorization: Bearer {token}\r\n\r\n"));
        let mut answer = [0; 12];
        until("there is room again", || next.read(&mut answer).is_ok()).await;
        assert_eq!(&answer, b"HTTP/1.1 200");
    });
    attack("pages", "send half a request and wait", "closed after 15 s, and there is room again");
}

#[test]
fn attack_with_a_client_that_takes_nothing() {
    still().block_on(async {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let mut client = connect(listener.local_addr().unwrap(), "");
        let (stream, _) = listener.accept().await.unwrap();
        let mut connection = Impatient::new(stream, WRITE_TIME);
        // Written bytes, whether it waits, and how it ended.
        let state = Rc::new((Cell::new(0usize), Cell::new(false), Cell::new(None)));
        let seen = Rc::clone(&state);
        let writing = std::future::poll_fn(move |context| {
            loop {
                let written = Pin::new(&mut connection).poll_write(context, &[b'x'; 1 << 16]);
                seen.1.set(written.is_pending());
                match std::task::ready!(written) {
                    Ok(count) => seen.0.set(seen.0.get().saturating_add(count)),
                    Err(error) => {
                        seen.2.set(Some(error.kind()));
                        return std::task::Poll::Ready(());
                    }
                }
            }
        });
        let tasks = tokio::task::LocalSet::new();
        tasks.spawn_local(writing);
        let (written, waits, end) = (&state.0, &state.1, &state.2);
        tasks
            .run_until(async {
                until("the connection is full", || waits.get()).await;
                // One that takes something now and then, is served.
                for _ in 0..3 {
                    advance(WRITE_TIME.saturating_sub(SECOND)).await;
                    settle().await;
                    assert_eq!(end.get(), None, "cut off too early");
                    let before = written.get();
                    let mut taken = vec![0; 1 << 16];
                    until("more is written", || {
                        let _ = client.read(&mut taken);
                        written.get() > before && waits.get()
                    })
                    .await;
                }
                advance(WRITE_TIME.saturating_sub(SECOND)).await;
                settle().await;
                assert_eq!(end.get(), None, "cut off too early");
                advance(SECOND.saturating_mul(2)).await;
                until("it is cut off", || end.get() == Some(io::ErrorKind::TimedOut)).await;
            })
            .await;
    });
    attack("pages", "take nothing of an answer", "cut off after 20 s; one that reads slowly is served");
}
