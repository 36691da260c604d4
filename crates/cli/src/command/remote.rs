//! `tally remote`: the keys of other machines that this one reads, or that read this one, over TLS.

use std::io::{self, IsTerminal, Read, Write};

use clap::{Args, Subcommand};
use serde_json::json;
use tallymon::hosts::keys::{self, CODE_TIME, KeyFolder, Peer};
use tallymon::remote::tls::pair::PairingCode;
use tallymon::remote::{Address, TlsAddress, USUAL_TIMEOUT, without_password};

use crate::arguments::Common;
use crate::border;
use crate::command::remote_install::{self, InstallArguments};
use crate::exit::{Failure, Kind};
use crate::words::{WIDEST_COLUMN, say, visible};

/// The longest line that is read for a code.
const LONGEST_LINE: u64 = 256;

#[derive(Debug, Args)]
pub(crate) struct Remote {
    #[command(subcommand)]
    action: RemoteAction,
}

#[derive(Debug, Subcommand)]
enum RemoteAction {
    /// Let another machine read this one over TLS: print a code, or prove the code of a server.
    ///
    /// Without an address, this prints a code for the machine that should read this one, where 'tally serve
    /// --tls' runs. The code ends after 10 minutes, one use or three wrong tries. With the address of the
    /// server, this reads the code from the terminal or from standard input; then both machines know each
    /// other's key.
    Pair {
        /// The server, such as tls://web1 or tls://web1:7448.
        #[arg(value_name = "ADDRESS")]
        address: Option<String>,
        #[arg(hide = true)]
        code: Vec<String>,
        /// What the other machine is called here. Default: what it calls itself.
        #[arg(long, value_name = "NAME")]
        name: Option<String>,
    },
    /// Copy tally to another machine over ssh, so that -H ssh://HOST reads it.
    ///
    /// This asks the host for its processor and C library, says what would be done, and asks. The copy runs
    /// there once before it takes its place, so what was there stays if it does not run.
    Install(InstallArguments),
    /// List the machines whose keys are known, and the key of this one.
    List {
        /// Print JSON.
        #[arg(long, help_heading = "Output")]
        json: bool,
    },
    /// Forget the key of a machine. Its open connections are closed at once.
    Revoke {
        /// Its name in 'tally remote list'.
        #[arg(value_name = "NAME")]
        name: String,
    },
}

pub(crate) fn run(common: &Common, remote: &Remote) -> Result<(), Failure> {
    match &remote.action {
        RemoteAction::Pair { code, .. } if !code.is_empty() => {
            let words = "a code in the arguments can be seen by every user of this machine: leave it out, \
                         and type it when asked, or pass it on standard input";
            Err(Failure::new(Kind::Usage, words))
        }
        RemoteAction::Pair { address: None, name, .. } => open(name.as_deref()),
        RemoteAction::Pair { address: Some(address), name, .. } => pair(common, address, name.as_deref()),
        RemoteAction::Install(arguments) => remote_install::run(common, arguments),
        RemoteAction::List { json } => list(*json),
        RemoteAction::Revoke { name } => revoke(name),
    }
}

/// Prints a code for a machine that should read this one.
fn open(name: Option<&str>) -> Result<(), Failure> {
    let folder = KeyFolder::of_environment();
    let own = folder.make_identity()?.hash();
    let code = folder.open_code(name)?;
    let mut out = border::stdout();
    writeln!(out, "{code}")?;
    out.flush()?;
    say(format_args!(
        "type this code at the other machine: tally remote pair tls://{}; it ends after {} minutes, one use \
         or three wrong tries. 'tally serve --tls' must run here, as this user. The key here is {own}",
        keys::host_name(),
        CODE_TIME.as_secs() / 60
    ));
    Ok(())
}

/// Pairs with a server.
fn pair(common: &Common, address: &str, name: Option<&str>) -> Result<(), Failure> {
    let address = address_of(address)?;
    let code = read_code()?;
    let timeout = common.timeout.unwrap_or(USUAL_TIMEOUT);
    let (paired, kept) = keys::pair(&address, &code, name, timeout)?;
    let mut out = border::stdout();
    writeln!(out, "{kept} {address} {}", paired.key)?;
    out.flush()?;
    say(format_args!(
        "{address} has this key, and calls this machine {}; read it with: tally get -H {address}",
        paired.our_name
    ));
    Ok(())
}

fn address_of(text: &str) -> Result<TlsAddress, Failure> {
    match text.parse() {
        Ok(Address::Tls(address)) => Ok(address),
        Ok(other) => {
            let words =
                format!("{other}: only addresses over TLS are paired, such as tls://{}", other.host());
            Err(Failure::new(Kind::Usage, words))
        }
        Err(error) => Err(Failure::new(Kind::Usage, error)),
    }
}

/// The code that somebody types, or that standard input has.
fn read_code() -> Result<PairingCode, Failure> {
    let input = io::stdin();
    if input.is_terminal() {
        let mut prompt = border::stderr();
        write!(prompt, "Code that 'tally remote pair' printed there: ")?;
        prompt.flush()?;
    }
    let mut line = Vec::new();
    let mut input = input.lock().take(LONGEST_LINE);
    let mut byte = [0];
    while input.read(&mut byte)? == 1 && byte != *b"\n" {
        line.extend_from_slice(&byte);
    }
    PairingCode::parse(&String::from_utf8_lossy(&line)).ok_or_else(|| {
        let words = "this is not a code; a code has 20 letters and digits, such as 0000-1111-2222-3333-4444, \
                     and 'tally remote pair' prints one on the other machine. No try was used";
        Failure::new(Kind::Usage, words)
    })
}

fn list(as_json: bool) -> Result<(), Failure> {
    let folder = KeyFolder::of_environment();
    let own = folder.identity()?.map(|identity| identity.hash().to_string());
    let peers = folder.peers()?;
    let mut out = border::stdout();
    if as_json {
        let of_peer = |peer: &Peer| {
            json!({
                "kind": kind(peer),
                "name": peer.name,
                "key": peer.key.to_string(),
                "address": peer.server.as_ref().map(ToString::to_string),
            })
        };
        let all: Vec<_> = peers.iter().map(of_peer).collect();
        writeln!(out, "{}", border::json(&json!({ "key": own, "peers": all })))?;
        return Ok(out.flush()?);
    }
    match own {
        Some(own) => writeln!(out, "key of this machine  {own}")?,
        None => say("this machine has no key yet; 'tally serve --tls' and 'tally remote pair' make one"),
    }
    let width =
        peers.iter().map(|peer| peer.name.chars().count()).max().unwrap_or_default().min(WIDEST_COLUMN);
    for peer in &peers {
        let address = peer.server.as_ref().map_or_else(String::new, |address| format!("  {address}"));
        writeln!(out, "{}  {:width$}  {}{address}", kind(peer), visible(&peer.name), peer.key)?;
    }
    Ok(out.flush()?)
}

/// What a peer is for this machine.
const fn kind(peer: &Peer) -> &'static str {
    if peer.server.is_some() { "server" } else { "client" }
}

fn revoke(name: &str) -> Result<(), Failure> {
    let gone = KeyFolder::of_environment().revoke(name)?;
    if gone.is_empty() {
        let name = without_password(name);
        let words = format_args!("no known machine is called {name:?}; 'tally remote list' lists them");
        return Err(Failure::new(Kind::NotFound, words));
    }
    for peer in &gone {
        match &peer.server {
            None => say(format_args!("{} cannot read this machine any more: {}", peer.name, peer.key)),
            Some(address) => say(format_args!("{address} is forgotten: {}", peer.key)),
        }
    }
    Ok(())
}
