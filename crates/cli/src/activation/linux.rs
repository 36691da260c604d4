//! A socket that the service manager opened before it started this program ("socket activation" of systemd).
//!
//! The protocol is that of `sd_listen_fds(3)`: `LISTEN_PID` names the process that is meant, `LISTEN_FDS`
//! says how many sockets it has, and the first one is descriptor 3.

use std::fmt::Display;
use std::net::TcpListener;

use rustix::net::sockopt::socket_acceptconn;
use rustix::process::{PidfdFlags, PidfdGetfdFlags, getpid, pidfd_getfd, pidfd_open};

use crate::exit::{Failure, Kind};

/// The descriptor of the first socket.
const FIRST: i32 = 3;

/// The socket that this program was started with; `None` if nobody opened one for it.
pub(crate) fn listener() -> Result<Option<TcpListener>, Failure> {
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse::<i32>().ok());
    if number("LISTEN_PID") != Some(getpid().as_raw_nonzero().get()) {
        return Ok(None);
    }
    match number("LISTEN_FDS") {
        None | Some(0) => Ok(None),
        Some(1) => take().map(Some),
        Some(more) => {
            let words = format_args!(
                "the service manager has opened {more} sockets (LISTEN_FDS); one is needed: leave one \
                 ListenStream= in the socket unit"
            );
            Err(Failure::new(Kind::Usage, words))
        }
    }
}

fn take() -> Result<TcpListener, Failure> {
    let failed = |error: &dyn Display| {
        let words = format_args!(
            "the socket of the service manager (descriptor {FIRST}): {error}; the socket unit needs \
             ListenStream=ADDRESS:PORT and Accept=no"
        );
        Failure::new(Kind::Other, words)
    };
    // A copy of the descriptor, as no safe function makes one of a number. The first one stays open until the
    // end of the program, as the manager's does.
    let own = pidfd_open(getpid(), PidfdFlags::empty()).map_err(|error| failed(&error))?;
    let socket = pidfd_getfd(own, FIRST, PidfdGetfdFlags::empty()).map_err(|error| failed(&error))?;
    if !socket_acceptconn(&socket).map_err(|error| failed(&error))? {
        return Err(failed(&"it does not listen"));
    }
    let listener = TcpListener::from(socket);
    // A Unix socket has no such address.
    listener.local_addr().map_err(|_| failed(&"it is not of TCP"))?;
    Ok(listener)
}
