//! `tally serve`: Performance Monitor in a browser.

use std::io::{self, IsTerminal, Write};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::str::FromStr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use clap::{ArgGroup, Args, ValueEnum};
use tallymon::hosts::keys::{self, KeyFolder};
use tallymon::log::ReadOptions;
use tallymon::record::session::SessionStore;
use tallymon::registry::Roots;
use tallymon::remote::frames::FrameError;
use tallymon::remote::tls::USUAL_PORT;
use tallymon::{Locale, Location};
use tallymon_serve::{MetricsAccess, Options, Secure, ServeError, Server, SessionAccess};

use super::nsclient::{self, Allowed};
use super::prof;
use super::relog::reading;
use super::serve_receive::Receiving;
use super::{serve_receive, serve_samba, serve_tls};
use crate::activation;
use crate::arguments::parse::interval;
use crate::arguments::{Common, Naming, Reading};
use crate::border;
use crate::exit::{Failure, Kind};
use crate::hosts;
use crate::open_files;
use crate::paths;
use crate::session::stored::StoredSessions;
use crate::usual_counters;
use crate::words::say;

#[derive(Debug, Args)]
#[command(group(ArgGroup::new("secure").args(["password_file", "client_authority"]).multiple(true)))]
#[command(group(ArgGroup::new("receivers").args(["statsd", "otlp"]).multiple(true)))]
#[command(group(ArgGroup::new("by_address").args(["nsclient", "statsd", "otlp"]).multiple(true)))]
pub(crate) struct Serve {
    /// Performance logs of any format, and profiles of tally prof, to show. Without one, the page shows this
    /// machine.
    #[arg(value_name = "LOG")]
    logs: Vec<PathBuf>,
    /// Answer the requests of another tally on standard input and output. 'tally get -H ssh://HOST' starts
    /// this on HOST. It only reads counters.
    #[arg(long, conflicts_with_all = ["logs", "live", "open", "port", "listen", "uploads", "metrics"])]
    stdio: bool,
    /// Answer the requests of other machines over TLS 1.3: those that 'tally remote pair' has let in. They
    /// only read counters, with 'tally get -H tls://HOST'.
    #[arg(long, conflicts_with_all = ["stdio", "samba", "logs", "live", "open", "uploads", "metrics"])]
    #[arg(conflicts_with_all = ["token_file", "allow_control"])]
    tls: bool,
    /// Answer the old requests of NSClient, so that checks with check_nt keep working. It needs
    /// --password-file.
    #[arg(long, requires = "password_file")]
    #[arg(conflicts_with_all = ["stdio", "tls", "samba", "logs", "live", "open", "uploads", "metrics"])]
    #[arg(conflicts_with_all = ["token_file", "allow_control", "name"])]
    nsclient: bool,
    /// A machine that may ask with --nsclient, or send with --statsd and --otlp: an address or a network such
    /// as 192.0.2.0/24. Repeat for several; without one only this machine may.
    #[arg(long, value_name = "ADDRESS[/BITS]", requires = "by_address")]
    allow: Vec<Allowed>,
    /// Write the counters of this machine for Samba into this folder ('perfmon' in Samba's state directory),
    /// so that Windows' tools read them from there.
    #[arg(long, value_name = "FOLDER",
        conflicts_with_all = ["stdio", "logs", "live", "open", "port", "listen", "uploads", "metrics"])]
    samba: Option<PathBuf>,
    /// Object for --samba, by name or index. Repeat for several; without it, those of the whole machine.
    #[arg(long, value_name = "OBJECT", requires = "samba")]
    object: Vec<String>,
    /// Let only this group of users read what --samba writes, by name or number.
    #[arg(long, value_name = "GROUP", requires = "samba")]
    group: Option<String>,
    /// Show this machine besides the logs.
    #[arg(long)]
    live: bool,
    /// Open the page in the browser.
    #[arg(long)]
    open: bool,
    /// Port; 0 takes a free one. Default: a free one; with --tls 7448, with --nsclient 12489.
    #[arg(long, short)]
    port: Option<u16>,
    /// Address to listen on, and its port. Default: 127.0.0.1; with --tls 0.0.0.0, which is every address of
    /// version 4. For other machines the page needs --password-file or --client-authority.
    #[arg(long, value_name = "ADDRESS[:PORT]")]
    listen: Option<Listen>,
    /// Time between samples, such as 500ms, 2s, 1m or 00:00:05.
    #[arg(long, short, default_value = "1s", value_parser = interval, value_name = "TIME")]
    interval: Duration,
    /// How much logs that are dropped on the page may have together, in MiB.
    #[arg(long, value_name = "MIB", default_value_t = 1024)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..))]
    uploads: u32,
    /// Serve /metrics for Prometheus. It needs the token, or with =local none: every user of this machine can
    /// then read the counters.
    #[arg(long, value_name = "WHO", num_args = 0..=1, require_equals = true, default_missing_value = "token")]
    #[arg(value_enum)]
    metrics: Option<Who>,
    /// Use the token in this file, such as Prometheus' credentials_file, instead of a new one.
    #[arg(long, value_name = "FILE")]
    token_file: Option<PathBuf>,
    /// Let the page make, start, stop and delete recording sessions, which run as you, switch libraries,
    /// change the interval, and, on this machine only, end, stop and renice processes.
    #[arg(long, conflicts_with_all = ["stdio", "samba"])]
    allow_control: bool,
    /// Serve the page over TLS, and ask browsers for the password in this file, which nobody else may read.
    /// With --nsclient, the password of its requests.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["stdio", "samba", "tls"])]
    #[arg(conflicts_with = "allow_control")]
    password_file: Option<PathBuf>,
    /// Serve the page over TLS to browsers with a certificate that an authority in this file (PEM) has
    /// signed; with --password-file they need both. The file may have lists of revoked certificates, too.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["stdio", "samba", "tls"])]
    #[arg(conflicts_with = "allow_control")]
    client_authority: Option<PathBuf>,
    /// A name by which browsers know this machine, besides its own name and its addresses. Repeat for
    /// several; the first one is in the printed address.
    #[arg(long, value_name = "HOST", requires = "secure")]
    name: Vec<String>,
    #[command(flatten)]
    receiving: Receiving,
    #[command(flatten)]
    naming: Naming,
    #[command(flatten)]
    reading: Reading,
}

/// An address with or without a port.
#[derive(Debug, Clone, Copy)]
struct Listen {
    address: IpAddr,
    port: Option<u16>,
}

impl FromStr for Listen {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Listen, &'static str> {
        if let Ok(both) = text.parse::<SocketAddr>() {
            return Ok(Listen { address: both.ip(), port: Some(both.port()) });
        }
        let plain = text.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(text);
        let address = plain.parse().map_err(|_| {
            "write an address in numbers, with or without a port, such as 192.0.2.1, 192.0.2.1:7448 or \
             [::]:7448"
        });
        Ok(Listen { address: address?, port: None })
    }
}

impl Serve {
    /// Where to listen, by the options or by default.
    fn place(&self, address: Ipv4Addr, port: u16) -> Result<SocketAddr, Failure> {
        let of_listen = self.listen.and_then(|listen| listen.port);
        if of_listen.is_some() && self.port.is_some() {
            return Err(Failure::new(Kind::Usage, "--listen has a port already; leave out --port"));
        }
        let address = self.listen.map_or(IpAddr::V4(address), |listen| listen.address);
        Ok(SocketAddr::new(address, of_listen.or(self.port).unwrap_or(port)))
    }
}

/// Who may read the metrics.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Who {
    /// Whoever has the token.
    Token,
    /// Every program and user of this machine.
    Local,
}

pub(crate) fn run(common: &Common, wanted: &Serve) -> Result<(), Failure> {
    if wanted.stdio {
        return frames(common);
    }
    if let Some(folder) = &wanted.samba {
        return serve_samba::run(common, folder, &wanted.object, wanted.group.as_deref(), wanted.interval);
    }
    let is_other = wanted.tls || wanted.nsclient || wanted.receiving.is_wanted();
    if is_other && activation::listener()?.is_some() {
        let words =
            "the service manager has opened a socket, which only the page uses; disable the socket unit";
        return Err(Failure::new(Kind::Usage, words));
    }
    if wanted.tls {
        let listen = wanted.place(Ipv4Addr::UNSPECIFIED, USUAL_PORT)?;
        return serve_tls::run(common, listen, &flag_of_ctrl_c()?);
    }
    if wanted.receiving.is_wanted() {
        return serve_receive::run(&wanted.receiving, &wanted.allow, &flag_of_ctrl_c()?);
    }
    if let Some(password) = wanted.password_file.as_deref().filter(|_| wanted.nsclient) {
        let listen = wanted.place(Ipv4Addr::LOCALHOST, nsclient::USUAL_PORT)?;
        return nsclient::run(common, listen, password, &wanted.allow, &flag_of_ctrl_c()?);
    }
    let server = listen(wanted, options(common, wanted)?)?;
    let stop = flag_of_ctrl_c()?;
    let address = server.address();
    let mut out = border::stdout();
    writeln!(out, "{address}")?;
    out.flush()?;
    drop(out);
    let (api, token) = server.api();
    say(format_args!("for scripts: {api} with 'Authorization: Bearer {token}'; Ctrl-C ends"));
    if let Some((address, access)) = server.metrics() {
        let who = match access {
            MetricsAccess::Token => "with the token",
            MetricsAccess::Local => "for every user of this machine",
        };
        say(format_args!("for Prometheus: {address}, {who}"));
    }
    if wanted.open {
        open(&address);
    }
    server.run(&stop).map_err(|error| Failure::new(Kind::Other, error))
}

/// What the page shows, and where.
fn options(common: &Common, wanted: &Serve) -> Result<Options, Failure> {
    if let Some(missing) = wanted.logs.iter().find(|log| !log.is_file()) {
        let words = format_args!("{}: no such file; give performance logs", missing.display());
        return Err(Failure::new(Kind::NotFound, words));
    }
    let is_live = wanted.live || wanted.logs.is_empty();
    if wanted.metrics.is_some() && !is_live {
        let words = "--metrics serves this machine, and only logs were given; add --live";
        return Err(Failure::new(Kind::Usage, words));
    }
    let machines = machines(common, wanted, is_live)?;
    let sessions = if is_live { StoredSessions::of_environment(common) } else { None };
    if wanted.allow_control && sessions.is_none() {
        if is_live {
            // Its error says why there is no folder for sessions.
            SessionStore::of_environment()?;
        }
        let words =
            "--allow-control is for the sessions of this machine, and only logs were given; add --live";
        return Err(Failure::new(Kind::Usage, words));
    }
    Ok(Options {
        listen: wanted.place(Ipv4Addr::LOCALHOST, 0)?,
        live: (is_live && machines.is_empty()).then(|| paths::location(common)).transpose()?,
        machines,
        logs: wanted.logs.clone(),
        reading: ReadOptions { processes: wanted.naming.of_log(), ..reading(&wanted.reading)? },
        interval: wanted.interval,
        locale: Locale { instances: wanted.naming.live(), ..paths::locale(common)? },
        usual: usual_counters::CHART.iter().map(|path| (*path).to_string()).collect(),
        uploads: u64::from(wanted.uploads) << 20,
        metrics: wanted.metrics.map(|who| match who {
            Who::Token => MetricsAccess::Token,
            Who::Local => MetricsAccess::Local,
        }),
        token: wanted.token_file.as_deref().map(token).transpose()?,
        secure: secure(wanted)?,
        sessions: sessions.map(|sessions| SessionAccess {
            sessions,
            control: wanted.allow_control,
            opens_logs: wanted.password_file.is_none() && wanted.client_authority.is_none(),
        }),
        events: is_live.then(Roots::of_environment),
        profiles: Some(prof::of_server(is_live)),
    })
}

/// The machines of several `-H`, each with its name; none if one machine is shown.
fn machines(common: &Common, wanted: &Serve, is_live: bool) -> Result<Vec<(String, Location)>, Failure> {
    let named = if is_live { hosts::named(common)? } else { Vec::new() };
    if named.len() < 2 {
        return Ok(Vec::new());
    }
    if wanted.metrics.is_some() {
        let words = "--metrics serves one machine, and --host names several; start one server for each";
        return Err(Failure::new(Kind::Usage, words));
    }
    open_files::allow_many();
    Ok(named.iter().map(|host| (host.name.clone(), hosts::remote(common, host))).collect())
}

/// The server on a port of its own, or on the one that the service manager has opened.
fn listen(wanted: &Serve, options: Options) -> Result<Server, Failure> {
    let server = match activation::listener()? {
        Some(_) if wanted.listen.is_some() || wanted.port.is_some() => {
            let words = "the service manager has opened a socket; leave out --listen and --port, or disable \
                         the socket unit";
            return Err(Failure::new(Kind::Usage, words));
        }
        Some(socket) => Server::on(socket, options),
        None => Server::bind(options),
    };
    server.map_err(|error| {
        let kind = match &error {
            ServeError::Exposed(_) | ServeError::Token | ServeError::Password | ServeError::Metrics => {
                Kind::Usage
            }
            ServeError::Authorities(_) => Kind::BadFile,
            _ => Kind::Other,
        };
        Failure::new(kind, error)
    })
}

/// The key of this machine, its names, and who may come in; `None` if only this machine may.
fn secure(wanted: &Serve) -> Result<Option<Secure>, Failure> {
    let (password, authority) = (wanted.password_file.as_deref(), wanted.client_authority.as_deref());
    if password.is_none() && authority.is_none() {
        return Ok(None);
    }
    let read = |file: Option<&Path>, read: fn(&Path) -> io::Result<String>| {
        file.map(|file| read(file).map_err(|error| Failure::file(file, &error))).transpose()
    };
    let password = read(password, tallymon::private_file::read_secret)?;
    let authorities = read(authority, tallymon::private_file::read_own)?;
    let identity = KeyFolder::of_environment().make_identity()?;
    say(format_args!(
        "browsers warn, because this machine has signed its certificate itself; the key in it is {}",
        identity.hash()
    ));
    let mut names = wanted.name.clone();
    names.push(keys::host_name());
    let password = password.map(|text| text.trim_end_matches(['\r', '\n']).to_string());
    Ok(Some(Secure { identity, names, password, authorities }))
}

/// A flag that Ctrl-C sets.
fn flag_of_ctrl_c() -> Result<Arc<AtomicBool>, Failure> {
    let stop = Arc::new(AtomicBool::new(false));
    let handler = Arc::clone(&stop);
    ctrlc::set_handler(move || handler.store(true, Ordering::Relaxed))
        .map_err(|error| Failure::new(Kind::Other, format_args!("catching Ctrl-C: {error}")))?;
    Ok(stop)
}

/// The token in a file, which others must not know.
fn token(file: &Path) -> Result<String, Failure> {
    let text =
        tallymon::private_file::read_shared_secret(file).map_err(|error| Failure::file(file, &error))?;
    Ok(text.trim().to_owned())
}

/// Answers the frames of another tally until it closes standard input.
fn frames(common: &Common) -> Result<(), Failure> {
    if io::stdin().is_terminal() || io::stdout().is_terminal() {
        let words = "--stdio speaks with another tally, not with a terminal: 'tally get -H ssh://HOST PATH' \
                     starts it on HOST";
        return Err(Failure::new(Kind::Usage, words));
    }
    let mut source = tallymon::open(&paths::location(common)?)?;
    let (mut input, mut output) = (io::stdin().lock(), border::data());
    match tallymon::remote::serve(source.as_mut(), &mut input, &mut output) {
        // The reader went away, as every reader does at its end.
        Err(FrameError::Io(error)) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        served => {
            served.map_err(|error| Failure::new(Kind::BadFile, format_args!("standard input: {error}")))
        }
    }
}

/// The program that opens an address, and what it takes before the address.
#[cfg(windows)]
const OPENER: (&str, &[&str]) = ("rundll32", &["url.dll,FileProtocolHandler"]);
#[cfg(target_os = "macos")]
const OPENER: (&str, &[&str]) = ("open", &[]);
#[cfg(not(any(windows, target_os = "macos")))]
const OPENER: (&str, &[&str]) = ("xdg-open", &[]);

/// Opens an address in the user's browser; says what to do when that does not work.
fn open(address: &str) {
    let (program, arguments) = OPENER;
    let quiet = || Stdio::null();
    let mut opener = Command::new(program);
    opener.args(arguments).arg(address).stdin(quiet()).stdout(quiet()).stderr(quiet());
    match opener.spawn() {
        // It is waited for, so that no dead process stays; nobody needs to wait with it.
        Ok(mut child) => drop(std::thread::spawn(move || child.wait())),
        Err(error) => {
            say(format_args!("no browser was opened ({program}: {error}); open the address yourself"))
        }
    }
}
