//! Everything that can be looked at: the live machines and the logs.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tallymon::log::ReadOptions;

use crate::http::Refused;
use crate::live::Live;
use crate::log_host::LogHost;
use crate::machines::{LIVE, Machine};

/// The most logs at a time.
const MOST_LOGS: usize = 32;

/// The live machines and the logs.
#[derive(Debug)]
pub(crate) struct Hub {
    machines: Vec<Arc<Machine>>,
    logs: Mutex<BTreeMap<String, Arc<LogHost>>>,
    next: AtomicU64,
    options: ReadOptions,
}

/// One of them.
#[derive(Debug, Clone)]
pub(crate) enum Host {
    /// The live machine.
    Live(Arc<Live>),
    /// A log, and a host of it.
    Log(Arc<LogHost>, Option<String>),
}

impl Hub {
    /// The live machines; logs are added.
    pub(crate) fn new(machines: Vec<Arc<Machine>>, options: ReadOptions) -> Hub {
        Hub { machines, logs: Mutex::default(), next: AtomicU64::new(1), options }
    }

    /// The live machines.
    pub(crate) fn machines(&self) -> &[Arc<Machine>] {
        &self.machines
    }

    /// A live machine; without a name the first one.
    pub(crate) fn live(&self, name: Option<&str>) -> Result<Arc<Live>, Refused> {
        match self.host(Some(name.unwrap_or(LIVE)))? {
            Host::Live(live) => Ok(live),
            Host::Log(..) => Err(Refused::not_found("only a live machine has new rows")),
        }
    }

    /// All logs with their names in addresses.
    pub(crate) fn logs(&self) -> MutexGuard<'_, BTreeMap<String, Arc<LogHost>>> {
        self.logs.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a log, which the caller opens; returns its name in addresses.
    pub(crate) fn add(&self, log: LogHost) -> Result<(String, Arc<LogHost>), Refused> {
        let mut logs = self.logs();
        if logs.len() >= MOST_LOGS {
            let words = format!("{MOST_LOGS} logs are open; close one first");
            return Err(Refused::new(hyper::StatusCode::TOO_MANY_REQUESTS, words));
        }
        let id = format!("log{}", self.next.fetch_add(1, Ordering::Relaxed));
        let log = Arc::new(log);
        logs.insert(id.clone(), Arc::clone(&log));
        Ok((id, log))
    }

    /// Shows the logs of a session as one, the oldest first; those that are shown already are read anew.
    /// Returns the name in addresses.
    pub(crate) fn open(self: &Arc<Hub>, session: &str, paths: Vec<PathBuf>) -> Result<String, Refused> {
        let is_known = |(_, log): &(&String, &Arc<LogHost>)| log.is_of_session(session);
        let known = self.logs().iter().find(is_known).map(|(id, log)| (id.clone(), Arc::clone(log)));
        let log = LogHost::of_session(session, paths);
        let (id, log) = match known {
            // Whoever asks again does not start another reading.
            Some((id, log)) if log.is_opening() => return Ok(id),
            Some((id, _)) => {
                let log = Arc::new(log);
                self.logs().insert(id.clone(), Arc::clone(&log));
                (id, log)
            }
            None => self.add(log)?,
        };
        let (hub, opened) = (Arc::clone(self), Arc::clone(&log));
        let reader = std::thread::Builder::new().name("tally open".to_owned());
        if let Err(error) = reader.spawn(move || opened.open(hub.options())) {
            self.logs().remove(&id);
            let words = format!("there is no thread to read the log: {error}");
            return Err(Refused::new(hyper::StatusCode::SERVICE_UNAVAILABLE, words));
        }
        Ok(id)
    }

    /// A log by its name in addresses.
    pub(crate) fn log(&self, id: &str) -> Result<Arc<LogHost>, Refused> {
        match self.host(Some(id))? {
            Host::Log(log, _) => Ok(log),
            Host::Live(_) => Err(Refused::bad_request("this is for logs; record the live machine first")),
        }
    }

    /// How logs are read.
    pub(crate) const fn options(&self) -> &ReadOptions {
        &self.options
    }

    /// The host of a request: `live`, `live:NAME` of several machines, `log1`, or a host of a log,
    /// `log1/WEB01`. Without a name it is the first live machine, else the first log.
    pub(crate) fn host(&self, name: Option<&str>) -> Result<Host, Refused> {
        let Some(name) = name else {
            if let Some(machine) = self.machines.first() {
                return Ok(Host::Live(Arc::clone(machine.live()?)));
            }
            let first = self.logs().values().next().cloned();
            return first.map(|log| Host::Log(log, None)).ok_or_else(|| Refused::not_found("no log is open"));
        };
        let of_name = || self.machines.iter().find(|machine| machine.id == name);
        let first = || self.machines.first().filter(|_| name == LIVE);
        if let Some(machine) = of_name().or_else(first) {
            return Ok(Host::Live(Arc::clone(machine.live()?)));
        }
        if name == LIVE {
            return Err(Refused::not_found("this server shows logs only"));
        }
        let (id, host) = name.split_once('/').map_or((name, None), |(id, host)| (id, Some(host.to_string())));
        let log = self.logs().get(id).cloned();
        log.map(|log| Host::Log(log, host))
            .ok_or_else(|| Refused::not_found(format!("no host {name:?}; /api/v1/hosts lists them")))
    }
}
