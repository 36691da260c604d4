//! Keys for other machines over TLS: our own, those that we know, and the code that is open for pairing.
//!
//! They are three files in the folder `remote` of the user's state, which only the user can enter and change;
//! a program without a home has them in `/var/lib/tallymon/remote`, and `TALLY_ROOT` moves them like all
//! state.
//!
//! | file | contents |
//! |---|---|
//! | `identity.pem` | our certificate and its private key, made when it is needed first |
//! | `peers` | the keys of clients that may read this machine, and of servers that we read |
//! | `code` | the code that is open, until when, and how many tries it has left |
//!
//! Each file is replaced as a whole, under one lock.

use std::fs::{self, Metadata};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use tallymon_core::flow::{Source, SourceError, SourceErrorKind};
use tallymon_host::registry::{Roots, Scope};
use tallymon_provider::trust::{self, Lock, LockError};
use tallymon_remote::TlsAddress;
use tallymon_remote::tls::listen::Keeper;
use tallymon_remote::tls::pair::{PairedServer, PairingCode, plain_name};
use tallymon_remote::tls::{self, Identity, KeyHash};

use super::HostError;
use crate::private_file;

/// How long a code is open.
pub const CODE_TIME: Duration = Duration::from_secs(600);
/// How many tries it has.
pub const CODE_TRIES: u32 = 3;

const IDENTITY: &str = "identity.pem";
const PEERS: &str = "peers";
const CODE: &str = "code";
const LOCK: &str = "keys";
/// How long another process may change the files.
const PATIENCE: Duration = Duration::from_secs(10);

/// A machine whose key is known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Peer {
    /// Its name here.
    pub name: String,
    /// Its key.
    pub key: KeyHash,
    /// Where it answers; `None` for a client, which may read this machine.
    pub server: Option<TlsAddress>,
}

/// The folder of the keys.
#[derive(Debug)]
pub struct KeyFolder {
    folder: PathBuf,
    /// The peers, and of which file.
    known: Mutex<Option<(Stamp, Vec<Peer>)>>,
}

/// What changes when the file is replaced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Stamp(Option<SystemTime>, u64, u64);

impl Stamp {
    fn of(file: &Metadata) -> Stamp {
        Stamp(file.modified().ok(), file.len(), private_file::number(file))
    }
}

impl KeyFolder {
    /// The folder of this user.
    pub fn of_environment() -> KeyFolder {
        let roots = Roots::of_environment();
        let registry = roots.folder(Scope::User).unwrap_or(&roots.system);
        KeyFolder { folder: registry.with_file_name("remote"), known: Mutex::new(None) }
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.folder
    }

    /// Our own key; `None` if there is none yet.
    ///
    /// # Errors
    ///
    /// The file is damaged, or others can read it or change it or a folder above it.
    pub fn identity(&self) -> Result<Option<Identity>, HostError> {
        let path = self.folder.join(IDENTITY);
        let Some(text) = self.read(IDENTITY)? else { return Ok(None) };
        let identity = Identity::from_pem(&text);
        identity.map(Some).map_err(|error| HostError::Line(path, 1, error.to_string()))
    }

    /// Our own key, which is made if there is none yet.
    ///
    /// # Errors
    ///
    /// As [`KeyFolder::identity`], and those of writing it.
    pub fn make_identity(&self) -> Result<Identity, HostError> {
        let _lock = self.lock()?;
        if let Some(identity) = self.identity()? {
            return Ok(identity);
        }
        let made = Identity::new_pem(&host_name()).and_then(|text| Ok((Identity::from_pem(&text)?, text)));
        let (identity, text) = made.map_err(|error| self.failed(IDENTITY, io::Error::other(error)))?;
        self.write(IDENTITY, &text)?;
        Ok(identity)
    }

    /// The machines whose keys are known.
    ///
    /// # Errors
    ///
    /// The file is damaged, or others can read it or change it or a folder above it.
    pub fn peers(&self) -> Result<Vec<Peer>, HostError> {
        let text = self.read(PEERS)?.unwrap_or_default();
        parse(&text, &self.folder.join(PEERS))
    }

    /// Keeps the key of a server in place of an older one at the same address. `name` is what the user calls
    /// it. Returns its name here.
    ///
    /// # Errors
    ///
    /// As [`KeyFolder::peers`], and those of writing.
    pub fn keep_server(&self, address: &TlsAddress, key: KeyHash, name: &str) -> Result<String, HostError> {
        let _lock = self.lock()?;
        let mut peers = self.peers()?;
        peers.retain(|peer| peer.server.as_ref().is_none_or(|known| !is_same_place(known, address)));
        let name = free_name(&peers, &plain_name(name));
        peers.push(Peer { name: name.clone(), key, server: Some(address.clone()) });
        self.write_peers(&peers)?;
        Ok(name)
    }

    /// Forgets all keys with a name. Returns what was forgotten.
    ///
    /// # Errors
    ///
    /// As [`KeyFolder::peers`], and those of writing.
    pub fn revoke(&self, name: &str) -> Result<Vec<Peer>, HostError> {
        let _lock = self.lock()?;
        let (gone, stay): (Vec<Peer>, Vec<Peer>) =
            self.peers()?.into_iter().partition(|peer| peer.name.eq_ignore_ascii_case(name));
        if !gone.is_empty() {
            self.write_peers(&stay)?;
        }
        Ok(gone)
    }

    /// Opens a new code in place of an older one. `name` is how the client will be called here; `None` takes
    /// the name that it says.
    ///
    /// # Errors
    ///
    /// Those of writing it; there are no random numbers.
    pub fn open_code(&self, name: Option<&str>) -> Result<PairingCode, HostError> {
        let _lock = self.lock()?;
        let code =
            PairingCode::new().map_err(|error| self.failed(CODE, io::Error::other(error.to_string())))?;
        let open = OpenCode { code, made: seconds(), tries: CODE_TRIES, name: name.map(plain_name) };
        self.write(CODE, &open.text())?;
        Ok(open.code)
    }

    /// The code that is open.
    fn code(&self) -> Result<Option<OpenCode>, HostError> {
        let Some(text) = self.read(CODE)? else { return Ok(None) };
        Ok(OpenCode::parse(&text).filter(|open| open.is_open(seconds())))
    }

    fn close_code(&self) -> Result<(), HostError> {
        match fs::remove_file(self.folder.join(CODE)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(self.failed(CODE, error)),
            _ => Ok(()),
        }
    }

    fn keep_client(
        &self,
        code: &PairingCode,
        key: &KeyHash,
        name: &str,
    ) -> Result<Option<String>, HostError> {
        let _lock = self.lock()?;
        // The last try is counted already.
        let open = self.read(CODE)?.and_then(|text| OpenCode::parse(&text));
        let Some(open) = open.filter(|open| open.code == *code && open.is_in_time(seconds())) else {
            return Ok(None);
        };
        let mut peers = self.peers()?;
        peers.retain(|peer| peer.server.is_some() || peer.key != *key);
        let name = free_name(&peers, open.name.as_deref().unwrap_or(name));
        peers.push(Peer { name: name.clone(), key: *key, server: None });
        // First the code ends: it is never used twice, whatever fails then.
        self.close_code()?;
        self.write_peers(&peers)?;
        Ok(Some(name))
    }

    fn write_peers(&self, peers: &[Peer]) -> Result<(), HostError> {
        let mut text =
            "# Keys of other machines; see 'tally remote list' and 'tally remote revoke'.\n".to_string();
        for Peer { name, key, server } in peers {
            let line = match server {
                None => format!("client {name} {key}\n"),
                Some(address) => format!("server {name} {key} {address}\n"),
            };
            text.push_str(&line);
        }
        self.write(PEERS, &text)
    }

    fn failed(&self, name: &str, error: io::Error) -> HostError {
        HostError::File(self.folder.join(name), error)
    }

    fn lock(&self) -> Result<Lock, HostError> {
        let made = match self.folder.parent() {
            Some(above) => trust::create_folders(above),
            None => Ok(()),
        };
        made.and_then(|()| trust::private_folder(&self.folder))
            .map_err(|error| HostError::File(self.folder.clone(), error))?;
        Lock::take(&self.folder, LOCK, PATIENCE).map_err(|error| match error {
            LockError::Io(path, error) => HostError::File(path, error),
            held => HostError::File(self.folder.clone(), io::Error::other(held)),
        })
    }

    /// The text of a file; `None` if there is none.
    fn read(&self, name: &str) -> Result<Option<String>, HostError> {
        match private_file::read_secret(&self.folder.join(name)) {
            Ok(text) => Ok(Some(text)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(self.failed(name, error)),
        }
    }

    /// Replaces a file. The lock is held.
    fn write(&self, name: &str, text: &str) -> Result<(), HostError> {
        let new = self.folder.join(format!("{name}.new"));
        // One that is left over from a process that was killed.
        let _ = fs::remove_file(&new);
        let written = trust::create_secret(&new).and_then(|mut file| {
            file.write_all(text.as_bytes())?;
            file.sync_all()
        });
        written
            .and_then(|()| fs::rename(&new, self.folder.join(name)))
            .map_err(|error| self.failed(name, error))
    }

    /// The name of a client, from the file as it is now.
    fn look_up(&self, key: &KeyHash) -> Option<String> {
        let stamp = Stamp::of(&fs::metadata(self.folder.join(PEERS)).ok()?);
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if known.as_ref().is_none_or(|(of, _)| *of != stamp) {
            *known = None;
            *known = Some((stamp, self.peers().ok()?));
        }
        let (_, peers) = known.as_ref()?;
        let peer = peers.iter().find(|peer| peer.server.is_none() && peer.key == *key)?;
        Some(peer.name.clone())
    }
}

impl Keeper for KeyFolder {
    fn client(&self, key: &KeyHash) -> Option<String> {
        self.look_up(key)
    }

    fn begin_try(&self) -> Result<Option<PairingCode>, String> {
        let count = || {
            let _lock = self.lock()?;
            let Some(open) = self.code()? else {
                self.close_code()?;
                return Ok(None);
            };
            let left = OpenCode { tries: open.tries.saturating_sub(1), ..open };
            self.write(CODE, &left.text())?;
            Ok(Some(left.code))
        };
        count().map_err(|error: HostError| error.to_string())
    }

    fn pair(&self, code: &PairingCode, key: &KeyHash, name: &str) -> Result<String, String> {
        let kept = self.keep_client(code, key, name).map_err(|error| error.to_string())?;
        kept.ok_or_else(|| "the code was used by somebody else just now; open a new one".to_string())
    }
}

/// A code with its limits.
struct OpenCode {
    code: PairingCode,
    /// When it was made, in seconds of Unix.
    made: u64,
    tries: u32,
    name: Option<String>,
}

impl OpenCode {
    fn text(&self) -> String {
        let name = self.name.as_deref().unwrap_or_default();
        format!("{} {} {} {name}\n", self.code, self.made, self.tries)
    }

    fn parse(text: &str) -> Option<OpenCode> {
        let mut words = text.split_whitespace();
        Some(OpenCode {
            code: PairingCode::parse(words.next()?)?,
            made: words.next()?.parse().ok()?,
            tries: words.next()?.parse().ok()?,
            name: words.next().map(str::to_string),
        })
    }

    /// A clock that was set back ends the code, too.
    fn is_in_time(&self, now: u64) -> bool {
        now.checked_sub(self.made).is_some_and(|age| age < CODE_TIME.as_secs())
    }

    fn is_open(&self, now: u64) -> bool {
        self.tries > 0 && self.is_in_time(now)
    }
}

fn seconds() -> u64 {
    SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

fn is_same_place(one: &TlsAddress, other: &TlsAddress) -> bool {
    let port = |address: &TlsAddress| address.port.unwrap_or(tls::USUAL_PORT);
    one.host.eq_ignore_ascii_case(&other.host) && port(one) == port(other)
}

/// A name that no peer has: this one, or with a number behind it.
fn free_name(peers: &[Peer], name: &str) -> String {
    let is_free = |name: &str| !peers.iter().any(|peer| peer.name.eq_ignore_ascii_case(name));
    let mut candidate = name.to_string();
    let mut number = 2u32;
    while !is_free(&candidate) {
        candidate = format!("{name}-{number}");
        number = number.saturating_add(1);
    }
    candidate
}

fn parse(text: &str, path: &Path) -> Result<Vec<Peer>, HostError> {
    let mut peers = Vec::new();
    for (number, line) in text.lines().enumerate() {
        let mut words = line.split_whitespace();
        let Some(kind) = words.next().filter(|word| !word.starts_with('#')) else { continue };
        let wrong = |why: &str| {
            let number = number.saturating_add(1);
            HostError::Line(
                path.to_path_buf(),
                number,
                format!("{why}; it should be 'client NAME KEY' or 'server NAME KEY ADDRESS'"),
            )
        };
        let (Some(name), Some(key)) = (words.next(), words.next()) else {
            return Err(wrong("the name or the key is missing"));
        };
        let key = key.parse().map_err(|_| wrong("the key is wrong"))?;
        let server = match (kind, words.next().map(str::parse)) {
            ("client", None) => None,
            ("server", Some(Ok(tallymon_remote::Address::Tls(address)))) => Some(address),
            _ => return Err(wrong("the line is of no known kind")),
        };
        peers.push(Peer { name: name.to_string(), key, server });
    }
    Ok(peers)
}

/// The name of this machine.
pub fn host_name() -> String {
    let of_kernel = fs::read_to_string("/proc/sys/kernel/hostname").ok();
    let name = of_kernel.or_else(|| std::env::var("COMPUTERNAME").ok()).unwrap_or_default();
    name.trim().to_string()
}

/// How this user of this machine calls itself.
pub fn own_name() -> String {
    let user = ["USER", "LOGNAME", "USERNAME"].iter().find_map(|name| std::env::var(name).ok());
    match user.filter(|user| !user.is_empty()) {
        Some(user) => plain_name(&format!("{user}@{}", host_name())),
        None => plain_name(&host_name()),
    }
}

/// Pairs with a server: proves the code, and keeps the server's key. Returns what is known about it and its
/// name here.
///
/// # Errors
///
/// The server cannot be reached, has no open code, or does not know this one; or nothing can be kept here.
pub fn pair(
    address: &TlsAddress,
    code: &PairingCode,
    name: Option<&str>,
    timeout: Duration,
) -> Result<(PairedServer, String), SourceError> {
    let folder = KeyFolder::of_environment();
    let identity = folder.make_identity().map_err(denied)?;
    let paired = tls::pair::pair(address, code, &identity, &own_name(), timeout)?;
    let kept = folder.keep_server(address, paired.key, name.unwrap_or(&paired.name)).map_err(denied)?;
    Ok((paired, kept))
}

/// A source over TLS, whose host was paired.
pub(crate) fn open(
    address: &TlsAddress,
    name: &str,
    timeout: Duration,
) -> Result<Box<dyn Source>, SourceError> {
    let folder = KeyFolder::of_environment();
    let known = folder
        .peers()
        .map_err(denied)?
        .into_iter()
        .find(|peer| peer.server.as_ref().is_some_and(|known| is_same_place(known, address)));
    let identity = folder.identity().map_err(denied)?;
    let (Some(known), Some(identity)) = (known, identity) else {
        let words = format!(
            "{address}: this machine does not know the key of the host; run 'tally remote pair' there, and \
             'tally remote pair {address}' here"
        );
        return Err(SourceError::new(SourceErrorKind::AccessDenied, words));
    };
    Ok(Box::new(tls::source(address.clone(), identity, known.key, timeout).named(name)))
}

fn denied(error: HostError) -> SourceError {
    let kind = match &error {
        HostError::Line(..) => SourceErrorKind::BadData,
        HostError::File(_, io) if io.kind() != io::ErrorKind::PermissionDenied => SourceErrorKind::Io,
        _ => SourceErrorKind::AccessDenied,
    };
    SourceError::new(kind, error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder(scratch: &tallymon_testkit::Scratch) -> KeyFolder {
        KeyFolder { folder: scratch.join("state/remote"), known: Mutex::new(None) }
    }

    fn key() -> KeyHash {
        Identity::from_pem(&Identity::new_pem("web1").unwrap()).unwrap().hash()
    }

    fn address(text: &str) -> TlsAddress {
        let Ok(tallymon_remote::Address::Tls(address)) = text.parse() else { panic!("{text}") };
        address
    }

    #[test]
    fn an_identity_is_made_once_and_nobody_else_can_read_it() {
        let scratch = tallymon_testkit::Scratch::new();
        let folder = folder(&scratch);
        assert!(folder.identity().unwrap().is_none());
        let made = folder.make_identity().unwrap().hash();
        assert_eq!(folder.make_identity().unwrap().hash(), made);
        assert_eq!(folder.identity().unwrap().unwrap().hash(), made);
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
            assert_eq!((mode(folder.path()), mode(&folder.path().join(IDENTITY))), (0o700, 0o600));
            fs::set_permissions(folder.path().join(IDENTITY), fs::Permissions::from_mode(0o640)).unwrap();
            let error = folder.identity().unwrap_err().to_string();
            assert!(error.contains("others can read it") && !error.contains("PRIVATE"), "{error}");
        }
    }

    #[test]
    fn a_code_has_three_tries_one_use_and_ten_minutes() {
        let scratch = tallymon_testkit::Scratch::new();
        let folder = folder(&scratch);
        assert_eq!(folder.begin_try().unwrap(), None);
        // Three tries.
        let code = folder.open_code(None).unwrap();
        for _ in 0..3 {
            assert_eq!(folder.begin_try().unwrap().as_ref(), Some(&code));
        }
        assert_eq!(folder.begin_try().unwrap(), None);
        // One use, which may be the last try.
        let (one, other) = (key(), key());
        let code = folder.open_code(None).unwrap();
        for _ in 0..3 {
            folder.begin_try().unwrap();
        }
        assert_eq!(folder.pair(&code, &one, "ann@web1").unwrap(), "ann@web1");
        assert!(folder.pair(&code, &other, "eve").unwrap_err().contains("somebody else"));
        assert_eq!(folder.begin_try().unwrap(), None);
        // Ten minutes, and no longer when the clock is set back.
        let code = folder.open_code(None).unwrap();
        let now = seconds();
        for (made, is_open) in [(now - 590, true), (now - 600, false), (now + 60, false)] {
            folder.write(CODE, &format!("{code} {made} 3\n")).unwrap();
            assert_eq!(folder.begin_try().unwrap().is_some(), is_open, "{made} at {now}");
        }
        assert_eq!(folder.client(&one).as_deref(), Some("ann@web1"));
        assert_eq!(folder.client(&other), None);
    }

    #[test]
    fn names_are_unique_and_a_revoked_key_is_unknown_at_once() {
        let scratch = tallymon_testkit::Scratch::new();
        let folder = folder(&scratch);
        let (one, other, server) = (key(), key(), key());
        for (key, name) in [(one, "web"), (other, "web-2")] {
            let code = folder.open_code(None).unwrap();
            assert_eq!(folder.pair(&code, &key, "web").unwrap(), name);
        }
        // The same client again keeps its line, with the name that is chosen here.
        let code = folder.open_code(Some("desk")).unwrap();
        assert_eq!(folder.pair(&code, &one, "web").unwrap(), "desk");
        assert_eq!(folder.keep_server(&address("tls://db"), server, "db").unwrap(), "db");
        // The same place with its port written out.
        assert_eq!(folder.keep_server(&address("tls://DB:7448"), other, "db").unwrap(), "db");
        assert_eq!(folder.peers().unwrap().len(), 3);
        assert_eq!(folder.client(&one).as_deref(), Some("desk"));
        assert_eq!(folder.client(&server), None, "a server is no client");
        assert_eq!(folder.revoke("DESK").unwrap().len(), 1);
        assert_eq!(folder.client(&one), None);
        assert_eq!(folder.client(&other).as_deref(), Some("web-2"));
        assert!(folder.revoke("nobody").unwrap().is_empty());
    }

    #[test]
    fn a_damaged_table_lets_nobody_in_and_names_its_line() {
        let scratch = tallymon_testkit::Scratch::new();
        let folder = folder(&scratch);
        let one = key();
        let code = folder.open_code(None).unwrap();
        folder.pair(&code, &one, "web").unwrap();
        for line in ["client", "client x sha256:00", "client x y z", "guest x", "server web sha256"] {
            let good = fs::read_to_string(folder.path().join(PEERS)).unwrap();
            folder.write(PEERS, &format!("client web {one}\n{line}\n")).unwrap();
            let error = folder.peers().unwrap_err().to_string();
            assert!(error.contains("peers, line 2: "), "{line}: {error}");
            assert_eq!(folder.client(&one), None, "{line}");
            folder.write(PEERS, &good).unwrap();
            assert!(folder.client(&one).is_some());
        }
    }
}
