//! `tally serve --tls`: answers other machines that have paired, over TLS.

use std::io::Write;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use tallymon::hosts::keys::{self, KeyFolder};
use tallymon::remote::tls::Limits;
use tallymon::remote::tls::listen::{Options, Server};

use crate::arguments::Common;
use crate::border;
use crate::exit::{Failure, Kind};
use crate::paths;
use crate::words::say;

/// Answers until `stop` is set.
pub(crate) fn run(common: &Common, listen: SocketAddr, stop: &Arc<AtomicBool>) -> Result<(), Failure> {
    let location = paths::location(common)?;
    // A source that cannot be opened is an error now, and not at the first peer.
    drop(tallymon::open(&location)?);
    let folder = KeyFolder::of_environment();
    let identity = folder.make_identity()?;
    let has_clients = folder.peers()?.iter().any(|peer| peer.server.is_none());
    let key = identity.hash();
    let server = Server::bind(Options {
        listen,
        identity,
        name: keys::own_name(),
        keeper: Arc::new(folder),
        open: Box::new(move || tallymon::open(&location)),
        limits: Limits::default(),
        report: Box::new(|event| say(event)),
    });
    let server = server.map_err(|error| {
        let words = format_args!("{listen}: {error}; --listen ADDRESS:PORT takes another port");
        Failure::new(Kind::Other, words)
    })?;
    let mut out = border::stdout();
    writeln!(out, "tls://{} {key}", server.address())?;
    out.flush()?;
    drop(out);
    if !has_clients {
        say("no machine may read this one yet; 'tally remote pair' prints a code for one");
    }
    server.run(stop).map_err(|error| Failure::new(Kind::Other, error))
}
