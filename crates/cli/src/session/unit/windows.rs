//! Starting a session with the machine, by the service of Tallymon.

use tallymon::record::session::SessionStore;

use super::service;
use crate::exit::{Failure, Kind};

/// Fails where the service cannot record the sessions of a store, before anything is changed.
pub(crate) fn check(store: &SessionStore) -> Result<(), Failure> {
    if store.root().is_some() {
        return Ok(());
    }
    if !store.is_system() {
        let words = "--at-boot is for the sessions of the machine, which only an administrator may change; \
                     open the terminal with 'Run as administrator'";
        return Err(Failure::new(Kind::AccessDenied, words));
    }
    service::check_installable()
}

/// Installs the service if needed: it starts the sessions.
pub(crate) fn install(store: &SessionStore, _session: &str) -> Result<(), Failure> {
    check(store)?;
    if store.root().is_some() { Ok(()) } else { service::ensure_installed() }
}

/// Nothing to do: the service reads the settings when it starts, and ends if no session is left.
pub(crate) const fn remove(_store: &SessionStore, _session: &str) -> Result<(), Failure> {
    Ok(())
}

/// Whether sessions can be started by the service: not those of a folder that is used in place of the
/// system's.
pub(crate) fn can_start(store: &SessionStore) -> bool {
    store.root().is_none()
}

/// Has the service start a session.
pub(crate) fn start(store: &SessionStore, session: &str) -> Result<(), Failure> {
    store.request_start(session)?;
    service::wake()
}
