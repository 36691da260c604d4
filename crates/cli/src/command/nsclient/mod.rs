//! `tally serve --nsclient`: answers the old requests of NSClient, so that checks with `check_nt` keep
//! working.
//!
//! A request has no mark at its end, and neither has an answer: the connection is closed behind it. A request
//! is complete at the end of a line, or when nothing follows for a moment.

mod answers;
mod request;

use std::collections::HashMap;
use std::io::{self, Read, Write};
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use tallymon::core::title::Language;
use tallymon::{Location, Query};

use self::answers::{Answers, LOAD_INTERVAL, Loads};
pub(crate) use self::request::Allowed;
use self::request::{Failures, LONGEST, Refused, Request};
use crate::arguments::Common;
use crate::border;
use crate::exit::{Failure, Kind};
use crate::paths;
use crate::words::say;

/// The port of NSClient++.
pub(crate) const USUAL_PORT: u16 = 12489;

/// Connections at once, and those of one address.
const MOST: usize = 64;
const MOST_OF_ADDRESS: usize = 16;

/// How long a request may take to arrive, and an answer to leave.
const STEP: Duration = Duration::from_secs(5);

/// So many bytes behind a request that is too long are taken before the connection is closed.
const MOST_DROPPED: usize = 1 << 20;

/// A request is complete when nothing follows for so long.
const PAUSE: Duration = Duration::from_millis(50);

/// How often the listener looks whether it is to end.
const LOOK: Duration = Duration::from_millis(50);

/// What the server knows.
struct Shared {
    answers: Answers,
    password: String,
    allowed: Vec<Allowed>,
    failures: Mutex<Failures>,
    /// Connections by address.
    open: Mutex<HashMap<IpAddr, usize>>,
}

/// Answers until `stop` is set.
pub(crate) fn run(
    common: &Common,
    listen: SocketAddr,
    password: &Path,
    allowed: &[Allowed],
    stop: &Arc<AtomicBool>,
) -> Result<(), Failure> {
    let location = paths::location(common)?;
    let text =
        tallymon::private_file::read_secret(password).map_err(|error| Failure::file(password, &error))?;
    let text = text.trim_end_matches(['\r', '\n']).to_string();
    if text.is_empty() || text.contains(['&', '\r', '\n', '\0']) {
        let words = "the password must be one line without '&', which ends it in a request";
        return Err(Failure::new(Kind::Usage, format_args!("{}: {words}", password.display())));
    }
    if allowed.is_empty() && !listen.ip().is_loopback() {
        let words = "name the machines that may ask with --allow ADDRESS";
        return Err(Failure::new(Kind::Usage, words));
    }
    let failed = |error: io::Error| {
        Failure::new(Kind::Other, format_args!("{listen}: {error}; --listen ADDRESS:PORT takes another port"))
    };
    let listener = TcpListener::bind(listen).map_err(failed)?;
    listener.set_nonblocking(true).map_err(failed)?;
    let loads = Arc::new(Mutex::new(Loads::default()));
    // A source that cannot be opened is an error now, and not at the first check.
    let load = load_query(&location)?;
    let (into, ended) = (Arc::clone(&loads), Arc::clone(stop));
    let sampler = thread::Builder::new().name("load".to_string());
    let sampler = sampler.spawn(move || sample_load(load, &into, &ended));
    sampler.map_err(|error| Failure::new(Kind::Other, format_args!("no thread for the load: {error}")))?;
    let shared = Arc::new(Shared {
        answers: Answers { location, loads },
        password: text,
        allowed: allowed.to_vec(),
        failures: Mutex::default(),
        open: Mutex::default(),
    });
    let mut out = border::stdout();
    writeln!(out, "nsclient://{}", listener.local_addr().map_err(failed)?)?;
    out.flush()?;
    drop(out);
    while !stop.load(Ordering::Relaxed) {
        match listener.accept() {
            Ok((stream, from)) => shared.take(stream, from.ip().to_canonical()),
            // Nobody asks, or the system has no room for a connection now.
            Err(_) => thread::sleep(LOOK),
        }
    }
    Ok(())
}

fn load_query(location: &Location) -> Result<Query, Failure> {
    let mut query = Query::new(tallymon::open(location)?, Language::ENGLISH)?;
    query.add(r"\Processor(_Total)\% Processor Time")?;
    query.collect()?;
    Ok(query)
}

/// Keeps the load of the processors, until `stop` is set.
fn sample_load(mut query: Query, loads: &Mutex<Loads>, stop: &AtomicBool) {
    let mut next = Instant::now() + LOAD_INTERVAL;
    loop {
        while Instant::now() < next {
            if stop.load(Ordering::Relaxed) {
                return;
            }
            thread::sleep(LOOK);
        }
        next += LOAD_INTERVAL;
        // A sample that fails is left out of the average.
        if query.collect().is_ok() {
            let value =
                query.readings().first().and_then(|reading| reading.cell.value.as_ref().ok()?.as_f64());
            value.into_iter().for_each(|percent| lock(loads).add(percent));
        }
    }
}

impl Shared {
    /// Answers a connection on a thread of its own, or closes it.
    fn take(self: &Arc<Shared>, stream: TcpStream, from: IpAddr) {
        let is_allowed = match self.allowed.as_slice() {
            [] => from.is_loopback(),
            some => some.iter().any(|allowed| allowed.has(from)),
        };
        if !is_allowed || lock(&self.failures).is_closed(from, Instant::now()) {
            return;
        }
        let Some(place) = Place::take(self, from) else { return };
        let shared = Arc::clone(self);
        // Without a thread the connection is closed.
        let _ = thread::Builder::new().name("check_nt".to_string()).spawn(move || {
            let _place = place;
            // Whoever does not take its answer asks again.
            let _ = shared.converse(stream, from);
        });
    }

    fn converse(&self, mut stream: TcpStream, from: IpAddr) -> io::Result<()> {
        stream.set_nonblocking(false)?;
        stream.set_write_timeout(Some(STEP))?;
        let request = read_request(&mut stream)?;
        let answer = match Request::parse(&request, &self.password) {
            _ if request.len() > LONGEST => format!("ERROR: the request is longer than {LONGEST} bytes"),
            Ok(request) => self.answers.answer(&request).unwrap_or_else(|why| format!("ERROR: {why}")),
            Err(Refused::Words(why)) => format!("ERROR: {why}"),
            Err(Refused::Password) => {
                if lock(&self.failures).add(from, Instant::now()) {
                    say(format_args!("{from}: too many wrong passwords; it is refused for a minute"));
                }
                "ERROR: Invalid password.".to_string()
            }
        };
        stream.write_all(answer.as_bytes())?;
        stream.shutdown(std::net::Shutdown::Write)?;
        if request.len() > LONGEST {
            take_rest(&mut stream)?;
        }
        Ok(())
    }
}

/// Takes what follows a request that is too long, and drops it. The system would throw the answer away if the
/// connection were closed before.
fn take_rest(stream: &mut TcpStream) -> io::Result<()> {
    let begin = Instant::now();
    let mut buffer = [0; 4096];
    let mut left = MOST_DROPPED;
    stream.set_read_timeout(Some(PAUSE))?;
    while left > 0 && begin.elapsed() < STEP {
        match stream.read(&mut buffer)? {
            0 => break,
            count => left = left.saturating_sub(count),
        }
    }
    Ok(())
}

/// Reads a request until the end of a line, a pause, or the end of the connection.
fn read_request(stream: &mut TcpStream) -> io::Result<Vec<u8>> {
    let late = || io::Error::new(io::ErrorKind::TimedOut, "no request in time");
    let begin = Instant::now();
    let mut request = Vec::new();
    let mut buffer = [0; 1024];
    loop {
        let left = STEP.checked_sub(begin.elapsed()).filter(|left| !left.is_zero()).ok_or_else(late)?;
        stream.set_read_timeout(Some(if request.is_empty() { left } else { left.min(PAUSE) }))?;
        let count = match stream.read(&mut buffer) {
            Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut) => {
                if request.is_empty() {
                    return Err(late());
                }
                return Ok(request);
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            count => count?,
        };
        if count == 0 && request.is_empty() {
            // It looked whether somebody is here, and guessed nothing.
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        request.extend(buffer.iter().take(count));
        if count == 0 || request.ends_with(b"\n") || request.len() > LONGEST {
            return Ok(request);
        }
    }
}

/// The place of a connection among those that may be open.
struct Place {
    shared: Arc<Shared>,
    address: IpAddr,
}

impl Place {
    fn take(shared: &Arc<Shared>, address: IpAddr) -> Option<Place> {
        let mut open = lock(&shared.open);
        let all: usize = open.values().sum();
        let of_address = open.get(&address).copied().unwrap_or_default();
        if all >= MOST || of_address >= MOST_OF_ADDRESS {
            return None;
        }
        open.insert(address, of_address.saturating_add(1));
        drop(open);
        Some(Place { shared: Arc::clone(shared), address })
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut open = lock(&self.shared.open);
        if let Some(count) = open.get_mut(&self.address) {
            *count = count.saturating_sub(1);
            if *count == 0 {
                open.remove(&self.address);
            }
        }
    }
}

/// Nothing panics while it is locked that would leave half a change.
fn lock<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}
