//! Object storage in memory that keeps connections open, and loses or refuses what a test wants.

use std::collections::BTreeMap;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex, PoisonError};

/// A request.
#[derive(Debug, Clone)]
pub struct Asked {
    /// Its method.
    pub method: String,
    /// The path, with the bucket, without the query.
    pub path: String,
    /// The query, as it came.
    pub query: String,
    /// Which request it is on its connection, from 1.
    pub nth: usize,
}

/// What the server does with a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Does {
    /// What is asked.
    All,
    /// What is asked, and it closes the connection instead of an answer.
    Lost,
    /// Nothing but to answer this status, as `503 Slow Down`.
    Refused(&'static str),
}

type Decide = dyn Fn(&Asked) -> Does + Send + Sync;

/// A server with one bucket, of any name. It ends with the test's process. Signatures are not checked.
#[derive(Debug)]
pub struct BucketServer {
    /// The address of the server.
    pub address: String,
    objects: Objects,
}

/// Objects by their paths, with the bucket.
type Objects = Arc<Mutex<BTreeMap<String, Vec<u8>>>>;

impl BucketServer {
    /// Starts a server.
    ///
    /// # Panics
    ///
    /// There is no free port.
    pub fn start(decide: impl Fn(&Asked) -> Does + Send + Sync + 'static) -> BucketServer {
        let bound =
            TcpListener::bind("127.0.0.1:0").and_then(|listener| Ok((listener.local_addr()?, listener)));
        let (at, listener) = match bound {
            Ok(bound) => bound,
            Err(error) => panic!("there is no free port: {error}"),
        };
        let server = BucketServer { address: format!("http://{at}"), objects: Arc::default() };
        let (objects, decide) = (Arc::clone(&server.objects), Arc::new(decide));
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (objects, decide) = (Arc::clone(&objects), Arc::clone(&decide));
                // Errors are those of clients that have gone.
                std::thread::spawn(move || serve(stream, &objects, &*decide));
            }
        });
        server
    }

    /// The paths of its objects, with the bucket.
    pub fn paths(&self) -> Vec<String> {
        lock(&self.objects).keys().cloned().collect()
    }

    /// The variables by which a program finds the server.
    pub fn variable(&self, name: &str) -> Option<String> {
        match name {
            "AWS_ENDPOINT_URL" => Some(self.address.clone()),
            "AWS_ACCESS_KEY_ID" | "AWS_SECRET_ACCESS_KEY" => Some("key".to_owned()),
            _ => None,
        }
    }
}

fn lock(objects: &Objects) -> std::sync::MutexGuard<'_, BTreeMap<String, Vec<u8>>> {
    objects.lock().unwrap_or_else(PoisonError::into_inner)
}

fn serve(stream: TcpStream, objects: &Objects, decide: &Decide) -> io::Result<()> {
    let mut input = BufReader::new(stream.try_clone()?);
    let mut output = stream;
    for nth in 1.. {
        let mut line = String::new();
        if input.read_line(&mut line)? == 0 {
            break;
        }
        let mut words = line.split_whitespace().map(str::to_owned);
        let (method, target) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
        let (path, query) = target.split_once('?').unwrap_or((&target, ""));
        let (mut length, mut range, mut is_new) = (0, None, false);
        loop {
            let mut line = String::new();
            input.read_line(&mut line)?;
            let Some((name, value)) = line.trim().split_once(':') else { break };
            match name.to_ascii_lowercase().as_str() {
                "content-length" => length = value.trim().parse().unwrap_or_default(),
                "range" => range = bounds(value.trim()),
                "if-none-match" => is_new = true,
                _ => {}
            }
        }
        let mut body = Vec::new();
        input.by_ref().take(length).read_to_end(&mut body)?;
        let asked = Asked { method, path: decoded(path), query: query.to_owned(), nth };
        let does = decide(&asked);
        let (status, body) = match does {
            Does::Refused(status) => (status, Vec::new()),
            _ => done(&asked, body, range, is_new, &mut lock(objects)),
        };
        if does == Does::Lost {
            break;
        }
        write!(output, "HTTP/1.1 {status}\r\nContent-Length: {}\r\n\r\n", body.len())?;
        output.write_all(&body)?;
    }
    Ok(())
}

/// Does what is asked, and says the status and the body of the answer.
fn done(
    asked: &Asked,
    body: Vec<u8>,
    range: Option<(usize, usize)>,
    is_new: bool,
    objects: &mut BTreeMap<String, Vec<u8>>,
) -> (&'static str, Vec<u8>) {
    let Asked { method, path, query, .. } = asked;
    match method.as_str() {
        "GET" if query.contains("list-type=2") => ("200 OK", list(path, query, objects)),
        "GET" => match (objects.get(path), range) {
            (None, _) => ("404 Not Found", Vec::new()),
            (Some(all), None) => ("200 OK", all.clone()),
            (Some(all), Some((from, last))) => {
                match all.get(from..all.len().min(last.saturating_add(1))).filter(|part| !part.is_empty()) {
                    Some(part) => ("206 Partial Content", part.to_vec()),
                    None => ("416 Range Not Satisfiable", Vec::new()),
                }
            }
        },
        "PUT" if is_new && objects.contains_key(path) => ("412 Precondition Failed", Vec::new()),
        "PUT" => {
            objects.insert(path.clone(), body);
            ("200 OK", Vec::new())
        }
        "DELETE" => {
            objects.remove(path);
            ("204 No Content", Vec::new())
        }
        _ => ("405 Method Not Allowed", Vec::new()),
    }
}

/// A page with all objects. Their keys have no characters that XML would spell in another way.
fn list(bucket: &str, query: &str, objects: &BTreeMap<String, Vec<u8>>) -> Vec<u8> {
    let setting = |name: &str| {
        let found = query.split('&').find_map(|part| part.strip_prefix(name)?.strip_prefix('='));
        decoded(found.unwrap_or_default())
    };
    let (prefix, after) = (setting("prefix"), setting("start-after"));
    let mut text = "<ListBucketResult>".to_owned();
    for (path, bytes) in objects {
        let key = path.strip_prefix(bucket).and_then(|rest| rest.strip_prefix('/'));
        let Some(key) = key.filter(|key| key.starts_with(&prefix) && *key > after.as_str()) else { continue };
        let (size, modified) = (bytes.len(), "2026-11-26T14:15:00.000Z");
        text.push_str(&format!(
            "<Contents><Key>{key}</Key><Size>{size}</Size><LastModified>{modified}</LastModified></Contents>"
        ));
    }
    text.push_str("</ListBucketResult>");
    text.into_bytes()
}

/// `bytes=3-5`.
fn bounds(range: &str) -> Option<(usize, usize)> {
    let (from, last) = range.strip_prefix("bytes=")?.split_once('-')?;
    Some((from.parse().ok()?, last.parse().ok()?))
}

fn decoded(text: &str) -> String {
    let (mut bytes, mut rest) = (Vec::new(), text.bytes());
    while let Some(byte) = rest.next() {
        let digits = (byte == b'%').then(|| [rest.next(), rest.next()].map(Option::unwrap_or_default));
        let number = digits.and_then(|two| u8::from_str_radix(std::str::from_utf8(&two).ok()?, 16).ok());
        bytes.push(number.unwrap_or(byte));
    }
    String::from_utf8_lossy(&bytes).into_owned()
}
