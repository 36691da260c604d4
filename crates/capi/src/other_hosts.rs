//! Other machines of a program: those that the table of hosts names. A dead one costs only its own counters.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use tallymon::core::path::CounterPath;
use tallymon::hosts::{HostError, KnownHost};
use tallymon::{Location, Query, open, other_machine};

use crate::lock::lock;
use crate::machine;
use crate::status::{self, Status};

/// A query without counters, for the names of another machine; `None` before the first look-up.
type Browser = Arc<Mutex<Option<Query>>>;

/// The other machines that were asked for names: their names and queries, by their names in small letters.
static BROWSERS: Mutex<Option<HashMap<String, (String, Browser)>>> = Mutex::new(None);

/// The counters of a query on another machine.
pub(crate) struct HostQuery {
    /// Its name in paths.
    pub(crate) name: String,
    pub(crate) query: Query,
    /// Whether its last sample failed, or there is none yet.
    pub(crate) has_failed: bool,
}

impl HostQuery {
    /// Opens another machine for a query.
    ///
    /// # Errors
    ///
    /// `PDH_CSTATUS_NO_MACHINE` if it does not answer.
    pub(crate) fn open(host: &KnownHost) -> Result<HostQuery, Status> {
        Ok(HostQuery { name: host.name.clone(), query: query_of(host)?, has_failed: true })
    }
}

/// The machine that a name means; `None` is this one, as are NULL and an empty name.
///
/// # Errors
///
/// `PDH_CSTATUS_NO_MACHINE` for a machine that the table of hosts does not have; `PDH_ACCESS_DENIED` for a
/// table that cannot be used, as one that others can change.
pub(crate) fn host_of(machine: Option<&str>) -> Result<Option<KnownHost>, Status> {
    let name = machine.unwrap_or_default();
    // An address cannot stand in a path.
    if name.contains("://") {
        return Err(status::NO_MACHINE);
    }
    other_machine(name).map_err(|error| match error {
        HostError::Unknown(_) => status::NO_MACHINE,
        _ => status::ACCESS_DENIED,
    })
}

/// The machine that a path names.
pub(crate) fn machine_of(path: &str) -> Option<String> {
    CounterPath::parse(path).ok()?.path.machine
}

/// As [`machine::browse`], for the machine of a name.
pub(crate) fn browse<R>(
    machine: Option<&str>,
    refresh: bool,
    ask: impl FnOnce(&mut Query) -> Result<R, Status>,
) -> Result<R, Status> {
    let Some(host) = host_of(machine)? else { return machine::browse(refresh, ask) };
    let browser = {
        let mut all = lock(&BROWSERS);
        let known = all.get_or_insert_default().entry(host.name.to_lowercase());
        Arc::clone(&known.or_insert_with(|| (host.name.clone(), Browser::default())).1)
    };
    // Only this machine's callers wait for it.
    let mut browser = browser.lock().unwrap_or_else(PoisonError::into_inner);
    if refresh {
        *browser = None;
    }
    let known = match browser.take() {
        Some(known) => known,
        None => query_of(&host)?,
    };
    ask(browser.insert(known))
}

/// The names of the other machines that answered a question about names.
pub(crate) fn connected() -> Vec<String> {
    let all: Vec<(String, Browser)> =
        lock(&BROWSERS).iter().flatten().map(|(_, known)| known.clone()).collect();
    // One that is asked right now is not waited for.
    let is_open = |browser: &Browser| browser.try_lock().is_ok_and(|query| query.is_some());
    let open = all.into_iter().filter(|(_, browser)| is_open(browser));
    let mut names: Vec<String> = open.map(|(name, _)| name).collect();
    names.sort();
    names
}

/// Takes a sample of each machine, side by side. One that does not answer fails at its deadline, and at once
/// as long as it is left alone afterwards.
pub(crate) fn collect(hosts: &mut [HostQuery]) {
    thread::scope(|scope| {
        for host in hosts {
            // One that gets no thread has no values this time.
            host.has_failed = true;
            let work = move || host.has_failed = host.query.collect().is_err();
            let _ = thread::Builder::new().name("tally host".to_owned()).spawn_scoped(scope, work);
        }
    });
}

fn query_of(host: &KnownHost) -> Result<Query, Status> {
    let location = Location::Remote {
        name: host.name.clone(),
        address: host.address.clone(),
        timeout: tallymon::remote::USUAL_TIMEOUT,
    };
    let query = open(&location).and_then(|source| Query::new(source, machine::language()));
    query.map_err(|error| match status::of_source(&error) {
        status::ACCESS_DENIED => status::ACCESS_DENIED,
        _ => status::NO_MACHINE,
    })
}
