//! Object storage that speaks the interface of Amazon S3: whole objects are put, parts of them are got, and a
//! name is given once.
//!
//! You give an [`Address`] such as `s3://bucket/folder`; server and credentials come from the environment and
//! the files of the AWS tools. It does not look for credentials of machines and containers, follow redirects,
//! or put objects in several parts.
//!
//! A request is sent again when the server is away or busy, with a pause that grows. Everything here may
//! happen twice without harm.

mod error;
mod settings;
mod sign;
mod xml;

use std::borrow::Cow;
use std::collections::HashSet;
use std::fmt;
use std::fs::File;
use std::io;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use hyper::header::{AUTHORIZATION, CONTENT_RANGE, HOST, HeaderName, HeaderValue, USER_AGENT};
use hyper::{Method, Request};
use tallymon_core::time::FileTime;

use self::error::{is_busy, refused};
use self::settings::Settings;
use self::sign::{Unsigned, authorization, encoded};
use crate::client::{SendError, retry_after};
use crate::connection::{Connection, Outgoing, Payload, Reply};
use crate::endpoint::{Endpoint, Tls};

pub use self::error::S3Error;
pub use self::xml::Found;

/// What an address begins with.
pub const SCHEME: &str = "s3://";

/// The longest answer that is no object: a page of a list has 1,000 names of at most 1,024 bytes.
const MOST_ANSWER: usize = 4 << 20;

/// The most objects that a list may have.
const MOST_OBJECTS: usize = 1 << 22;

/// How often a request is sent at most, and the pauses in between: some 6 s in sum. Each try has the time of
/// [`PATIENCE`] besides.
const TRIES: u32 = 6;
const FIRST_PAUSE: Duration = Duration::from_millis(200);
const LONGEST_PAUSE: Duration = Duration::from_secs(20);

/// How long a request may take: this, and a second for each so many bytes.
const PATIENCE: Duration = Duration::from_secs(30);
const BYTES_A_SECOND: u64 = 256 << 10;

/// The most connections that stay open.
const MOST_IDLE: usize = 8;

/// A bucket and the beginning of keys in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Address {
    bucket: String,
    /// Without a slash at its ends; may be empty.
    prefix: String,
}

impl Address {
    /// Reads `s3://bucket` or `s3://bucket/folder`.
    ///
    /// # Errors
    ///
    /// It is none, in words.
    pub fn parse(text: &str) -> Result<Address, S3Error> {
        let bad = |words: String| S3Error::Settings(words);
        let rest = text.strip_prefix(SCHEME);
        let rest = rest.ok_or_else(|| bad("an address begins with s3://".to_owned()))?;
        let (bucket, prefix) = rest.split_once('/').unwrap_or((rest, ""));
        let fits = |letter: char| letter.is_ascii_alphanumeric() || "-._".contains(letter);
        if bucket.is_empty() || !bucket.chars().all(fits) || bucket.starts_with('.') {
            let words =
                "is not a name of a bucket; give s3://BUCKET/FOLDER, and credentials in the environment";
            return Err(bad(format!("{bucket:?} {words}")));
        }
        let prefix = prefix.strip_suffix('/').unwrap_or(prefix);
        let refused = prefix.chars().any(char::is_control)
            || (!prefix.is_empty() && prefix.split('/').any(|part| matches!(part, "" | "." | "..")));
        if refused {
            return Err(bad(format!(
                "the folder {prefix:?} has an empty part, '.', '..' or control characters"
            )));
        }
        Ok(Address { bucket: bucket.to_owned(), prefix: prefix.to_owned() })
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{SCHEME}{}", self.bucket)?;
        if self.prefix.is_empty() { Ok(()) } else { write!(f, "/{}", self.prefix) }
    }
}

/// A folder of a bucket. All keys here are relative to it.
pub struct Bucket {
    address: Address,
    endpoint: Endpoint,
    settings: Settings,
    idle: Mutex<Vec<Connection>>,
}

impl fmt::Debug for Bucket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Bucket").field(&self.address).finish_non_exhaustive()
    }
}

/// A request, as its parts.
struct Call<'c> {
    method: Method,
    /// The key below the folder; `None` is the bucket.
    key: Option<&'c str>,
    /// In the order of the names.
    query: &'c [(&'c str, &'c str)],
    header: Option<(&'static str, &'c str)>,
    payload: Payload<'c>,
    most: usize,
}

impl<'c> Call<'c> {
    const fn new(method: Method, key: &'c str) -> Call<'c> {
        Call {
            method,
            key: Some(key),
            query: &[],
            header: None,
            payload: Payload::Bytes(&[]),
            most: MOST_ANSWER,
        }
    }
}

impl Bucket {
    /// Finds out about the server and the credentials. No request is sent.
    ///
    /// # Errors
    ///
    /// There are no credentials, or the address of the server cannot be used.
    pub fn of_environment(address: &Address) -> Result<Bucket, S3Error> {
        Bucket::open(address, &|name| std::env::var(name).ok())
    }

    /// The same with other variables than those of this process.
    ///
    /// # Errors
    ///
    /// As [`Bucket::of_environment`].
    pub fn open(address: &Address, variable: &dyn Fn(&str) -> Option<String>) -> Result<Bucket, S3Error> {
        let set = |name: &str| variable(name).filter(|value| !value.is_empty());
        let settings = Settings::read(&set).map_err(S3Error::Settings)?;
        let tls = Tls { certificate: settings.certificate.clone(), client: None };
        let endpoint = Endpoint::new(&settings.endpoint, "", &tls)
            .map_err(|error| S3Error::Settings(format!("the server (AWS_ENDPOINT_URL): {error}")))?;
        Ok(Bucket { address: address.clone(), endpoint, settings, idle: Mutex::default() })
    }

    /// The address.
    pub const fn address(&self) -> &Address {
        &self.address
    }

    /// An object of at most `most` bytes; `None` if there is none.
    ///
    /// # Errors
    ///
    /// The server is away, refuses, or the object is longer.
    pub fn get(&self, key: &str, most: usize) -> Result<Option<Vec<u8>>, S3Error> {
        let call = Call { most, ..Call::new(Method::GET, key) };
        let reply = self.send(&call)?;
        match reply.status {
            200 => Ok(Some(reply.body)),
            404 if self.is_missing_key(&reply) => Ok(None),
            _ => Err(self.refused(&reply)),
        }
    }

    /// Bytes of an object: exactly `length` from `from` on.
    ///
    /// # Errors
    ///
    /// As [`Bucket::get`], there is no such object, or it ends before.
    pub fn get_range(&self, key: &str, from: u64, length: usize) -> Result<Vec<u8>, S3Error> {
        let last = from.saturating_add(length as u64).saturating_sub(1);
        let range = format!("bytes={from}-{last}");
        let call = Call { header: Some(("range", &range)), most: length, ..Call::new(Method::GET, key) };
        let reply = self.send(&call)?;
        match reply.status {
            206 => {}
            // A server without ranges gives all, which is right if that is what was asked for.
            200 if from == 0 => {}
            200 => return Err(S3Error::Wrong("it has the whole object, and not the range".to_owned())),
            _ => return Err(self.refused(&reply)),
        }
        let named = reply.headers.get(CONTENT_RANGE).and_then(|range| range.to_str().ok());
        if let Some(named) = named.filter(|named| !named.starts_with(&format!("bytes {from}-"))) {
            return Err(S3Error::Wrong(format!("it has {named:?}, and not {range:?}")));
        }
        if reply.body.len() != length {
            let found = reply.body.len();
            return Err(S3Error::Wrong(format!(
                "it has {found} bytes, and not {length} from byte {from} on"
            )));
        }
        Ok(reply.body)
    }

    /// Puts a file, in place of an object that may be there.
    ///
    /// # Errors
    ///
    /// The server is away or refuses, or the file cannot be read.
    pub fn put_file(&self, key: &str, file: &File) -> Result<(), S3Error> {
        let length = file.metadata().map_err(S3Error::Local)?.len();
        let call = Call { payload: Payload::File(file, length), ..Call::new(Method::PUT, key) };
        let reply = self.send(&call)?;
        if matches!(reply.status, 200..=204) { Ok(()) } else { Err(self.refused(&reply)) }
    }

    /// Gives a name that no object has to these bytes; `false` if one has it. An object with the same bytes
    /// is taken for this one, so they should be bytes that nobody else puts there.
    ///
    /// # Errors
    ///
    /// As [`Bucket::put_file`].
    pub fn put_new(&self, key: &str, bytes: &[u8]) -> Result<bool, S3Error> {
        let call = Call {
            payload: Payload::Bytes(bytes),
            header: Some(("if-none-match", "*")),
            ..Call::new(Method::PUT, key)
        };
        let reply = self.send(&call)?;
        match reply.status {
            200..=204 => Ok(true),
            // The answer to an earlier try may have been lost on its way, and that try have been the first.
            // How often it was sent is not known: a connection that stayed open may have sent it twice.
            412 => match self.get(key, bytes.len().max(1)) {
                Err(S3Error::NoAnswer(SendError::TooLong(_))) => Ok(false),
                stored => Ok(stored?.as_deref() == Some(bytes)),
            },
            _ => Err(self.refused(&reply)),
        }
    }

    /// Proves that the server gives a name once: some take [`Bucket::put_new`] for an ordinary one, and
    /// writers would replace what others wrote. Does so once in a process for each bucket; `key` is a name
    /// that nobody has.
    ///
    /// # Errors
    ///
    /// As [`Bucket::put_new`], or the server gives a name twice.
    pub fn prove_names_are_given_once(&self, key: &str) -> Result<(), S3Error> {
        static PROVEN: Mutex<Option<HashSet<String>>> = Mutex::new(None);
        let name = format!("{} {}", self.endpoint.address(), self.address.bucket);
        let known = || PROVEN.lock().unwrap_or_else(PoisonError::into_inner);
        if known().as_ref().is_some_and(|known| known.contains(&name)) {
            return Ok(());
        }
        let first = self.put_new(key, b"first")?;
        let second = self.put_new(key, b"second")?;
        // Who may write need not have the right to remove; vacuum finds what stays.
        let _ = self.delete(key);
        if !first || second {
            let words = "the server gives the name of an object twice (it ignores If-None-Match), so writers \
                         would replace each other's versions; use one that does not";
            return Err(S3Error::Settings(words.to_owned()));
        }
        known().get_or_insert_default().insert(name);
        Ok(())
    }

    /// Removes an object, if there is one.
    ///
    /// # Errors
    ///
    /// As [`Bucket::put_file`].
    pub fn delete(&self, key: &str) -> Result<(), S3Error> {
        let reply = self.send(&Call::new(Method::DELETE, key))?;
        match reply.status {
            200..=204 => Ok(()),
            404 if self.is_missing_key(&reply) => Ok(()),
            _ => Err(self.refused(&reply)),
        }
    }

    /// The objects whose keys begin with `begin`, in their order, behind the key `after`: all, or some more
    /// than `most`. Their keys are relative to the folder.
    ///
    /// # Errors
    ///
    /// The server is away or refuses, there are too many objects, or pages that do not end.
    pub fn list(&self, begin: &str, after: Option<&str>, most: usize) -> Result<Vec<Found>, S3Error> {
        let prefix = self.whole(begin);
        let after = after.map(|after| self.whole(after));
        let mut all: Vec<Found> = Vec::new();
        // With those that are not ours.
        let mut count = 0usize;
        let mut token: Option<String> = None;
        let mut tokens: HashSet<String> = HashSet::new();
        loop {
            let mut query: Vec<(&str, &str)> = Vec::new();
            query.extend(token.as_deref().map(|token| ("continuation-token", token)));
            query.extend([("list-type", "2"), ("prefix", prefix.as_ref())]);
            query.extend(after.as_deref().map(|after| ("start-after", after)));
            let call = Call { key: None, query: &query, ..Call::new(Method::GET, "") };
            let reply = self.send(&call)?;
            if reply.status != 200 {
                return Err(self.refused(&reply));
            }
            let page =
                xml::page(&reply.body).map_err(|words| S3Error::Wrong(format!("the list: {words}")))?;
            let is_new = page.next.as_ref().is_none_or(|next| tokens.insert(sign::hash(next.as_bytes())));
            if page.next.is_some() && (page.found.is_empty() || !is_new) {
                return Err(S3Error::Wrong("the list does not go on, though it says so".to_owned()));
            }
            count = count.saturating_add(page.found.len());
            for mut found in page.found {
                // What is not ours is left out, whatever the server thinks.
                // An empty key is the folder itself, as consoles make one.
                let is_ours = |key: &&str| !key.is_empty() && found.key.starts_with(prefix.as_ref());
                let Some(key) = self.below(&found.key).filter(is_ours) else { continue };
                found.key = key.to_owned();
                all.push(found);
            }
            if count > MOST_OBJECTS {
                return Err(S3Error::Wrong(format!("the list has more than {MOST_OBJECTS} objects")));
            }
            match page.next {
                Some(next) if all.len() < most => token = Some(next),
                _ => return Ok(all),
            }
        }
    }

    /// A key of the bucket.
    fn whole<'k>(&self, key: &'k str) -> Cow<'k, str> {
        if self.address.prefix.is_empty() {
            Cow::Borrowed(key)
        } else {
            Cow::Owned(format!("{}/{key}", self.address.prefix))
        }
    }

    fn below<'k>(&self, key: &'k str) -> Option<&'k str> {
        match self.address.prefix.as_str() {
            "" => Some(key),
            prefix => key.strip_prefix(prefix)?.strip_prefix('/'),
        }
    }

    fn refused(&self, reply: &Reply) -> S3Error {
        refused(reply, &self.settings.source, &self.settings.region, SystemTime::now())
    }

    /// Whether an answer 404 means the object, and not the bucket.
    fn is_missing_key(&self, reply: &Reply) -> bool {
        matches!(xml::said(&reply.body).code.as_str(), "NoSuchKey" | "")
    }

    /// Sends a request until there is an answer of a server that is not busy.
    fn send(&self, call: &Call<'_>) -> Result<Reply, S3Error> {
        let mut pause = FIRST_PAUSE;
        let payload = self.hash_of(call)?;
        for nth in 1..=TRIES {
            let result = self.send_once(call, &payload);
            let asked = match &result {
                // Another writer of the same name is at work; then the name is taken.
                Ok(reply) if is_busy(reply.status) || (reply.status == 409 && call.header.is_some()) => {
                    retry_after(&reply.headers, SystemTime::now())
                }
                Err(error) if error.is_passing() => None,
                _ => return result,
            };
            if nth == TRIES {
                return result;
            }
            // Many writers that failed together do not come back together.
            let random =
                u64::from(std::process::id()).wrapping_add(u64::from(nth)).wrapping_mul(0x9e37_79b9) % 100;
            let jittered = pause.saturating_add(pause.mul_f64(random as f64 / 200.0));
            std::thread::sleep(asked.unwrap_or(jittered).min(LONGEST_PAUSE));
            pause = pause.saturating_mul(2);
        }
        Err(S3Error::Local(io::Error::other("no request was sent")))
    }

    fn hash_of(&self, call: &Call<'_>) -> Result<String, S3Error> {
        match &call.payload {
            Payload::Bytes(bytes) => Ok(sign::hash(bytes)),
            Payload::File(file, _) => sign::hash_of_file(file).map_err(S3Error::Local),
        }
    }

    fn send_once(&self, call: &Call<'_>, payload: &str) -> Result<Reply, S3Error> {
        let idle = || self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        let known = idle().pop();
        let mut connection = match known {
            Some(connection) => connection,
            None => Connection::new().map_err(S3Error::Local)?,
        };
        let bytes = call.payload.length().max(call.most as u64);
        let timeout = PATIENCE.saturating_add(Duration::from_secs(bytes / BYTES_A_SECOND));
        let request = || self.request(call, payload);
        // An error of S3 is longer than a range of a few bytes.
        let most = call.most.max(64 << 10);
        let reply = connection.send(&self.endpoint, &request, most, timeout).map_err(|error| match error {
            SendError::TooLong(_) => SendError::TooLong(call.most),
            error => error,
        });
        let reply = reply.map_err(S3Error::NoAnswer)?;
        if reply.status < 300 && reply.body.len() > call.most {
            return Err(S3Error::NoAnswer(SendError::TooLong(call.most)));
        }
        let mut idle = idle();
        if idle.len() < MOST_IDLE {
            idle.push(connection);
        }
        Ok(reply)
    }

    fn request(&self, call: &Call<'_>, payload: &str) -> io::Result<Request<Outgoing>> {
        let mut path =
            self.endpoint.target.split('?').next().unwrap_or_default().trim_end_matches('/').to_owned();
        path.push('/');
        path.push_str(&self.address.bucket);
        if let Some(key) = call.key {
            path.push('/');
            path.push_str(&encoded(&self.whole(key), true));
        }
        let query: Vec<String> = call
            .query
            .iter()
            .map(|(name, value)| format!("{}={}", encoded(name, false), encoded(value, false)))
            .collect();
        let query = query.join("&");
        let time = sign::date(now());
        let Settings { credentials, region, .. } = &self.settings;
        let mut headers = vec![
            ("host", self.endpoint.authority.as_str()),
            ("x-amz-content-sha256", payload),
            ("x-amz-date", time.as_str()),
        ];
        headers.extend(credentials.token.as_deref().map(|token| ("x-amz-security-token", token)));
        headers.extend(call.header);
        headers.sort_unstable();
        let unsigned =
            Unsigned { method: call.method.as_str(), path: &path, query: &query, headers: &headers, payload };
        let signed = authorization(&unsigned, credentials, region, &time);
        let target = if query.is_empty() { path.clone() } else { format!("{path}?{query}") };
        let bad = |error: &dyn fmt::Display| io::Error::new(io::ErrorKind::InvalidInput, error.to_string());
        let mut request = Request::new(call.payload.body()?);
        *request.method_mut() = call.method.clone();
        *request.uri_mut() = target.parse().map_err(|error: hyper::http::uri::InvalidUri| bad(&error))?;
        let into = request.headers_mut();
        for (name, value) in headers {
            let name = HeaderName::from_bytes(name.as_bytes()).map_err(|error| bad(&error))?;
            // A token may not be shown.
            let value = HeaderValue::from_str(value).map_err(|_| {
                bad(&format_args!("the header {name} has characters that a header cannot have"))
            })?;
            into.insert(name, value);
        }
        let signed = HeaderValue::from_str(&signed)
            .map_err(|_| bad(&"the name of the access key has characters that a header cannot have"))?;
        into.insert(AUTHORIZATION, signed);
        into.insert(USER_AGENT, HeaderValue::from_static(concat!("tallymon/", env!("CARGO_PKG_VERSION"))));
        debug_assert!(into.contains_key(HOST));
        Ok(request)
    }
}

/// The time of this machine.
fn now() -> FileTime {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    let nanoseconds = i128::try_from(since.as_nanos()).unwrap_or_default();
    FileTime::from_unix_nanoseconds(nanoseconds).unwrap_or_default()
}
