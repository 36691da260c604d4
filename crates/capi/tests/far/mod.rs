//! Another machine over TLS: this one, behind a server in this process.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::{fs, thread};

use tallymon::Location;
use tallymon::remote::tls::listen::{Keeper, Options, Server};
use tallymon::remote::tls::pair::PairingCode;
use tallymon::remote::tls::{Identity, KeyHash, Limits};

/// Lets in whoever has this key.
#[derive(Debug)]
struct Knows(KeyHash);

impl Keeper for Knows {
    fn client(&self, key: &KeyHash) -> Option<String> {
        (*key == self.0).then(|| "desk".to_string())
    }

    fn begin_try(&self) -> Result<Option<PairingCode>, String> {
        Ok(None)
    }

    fn pair(&self, _: &PairingCode, _: &KeyHash, _: &str) -> Result<String, String> {
        Err("no code is open".to_string())
    }
}

/// Starts a server that lets in the key `known`, and ends with this program. Returns its place and its key.
pub(crate) fn serve(known: KeyHash) -> (SocketAddr, KeyHash) {
    let identity = Identity::from_pem(&Identity::new_pem("far").unwrap()).unwrap();
    let key = identity.hash();
    let server = Server::bind(Options {
        listen: "127.0.0.1:0".parse().unwrap(),
        identity,
        name: "far".to_string(),
        keeper: Arc::new(Knows(known)),
        open: Box::new(|| tallymon::open(&Location::Local)),
        limits: Limits::default(),
        report: Box::new(|event| eprintln!("{event}")),
    })
    .unwrap();
    let address = server.address();
    thread::spawn(move || server.run(&AtomicBool::new(false)));
    (address, key)
}

/// Writes the keys of a client below the folder for settings: its own, and those of servers with their names
/// and addresses.
pub(crate) fn write_keys(root: &Path, own: &str, servers: &[(&str, KeyHash, &str)]) {
    use std::os::unix::fs::PermissionsExt;

    let folder = root.join("user/remote");
    fs::create_dir_all(&folder).unwrap();
    let lines = servers.iter().map(|(name, key, address)| format!("server {name} {key} {address}\n"));
    for (name, text) in [("identity.pem", own.to_string()), ("peers", lines.collect::<String>())] {
        fs::write(folder.join(name), text).unwrap();
        fs::set_permissions(folder.join(name), fs::Permissions::from_mode(0o600)).unwrap();
    }
    fs::set_permissions(folder, fs::Permissions::from_mode(0o700)).unwrap();
}
