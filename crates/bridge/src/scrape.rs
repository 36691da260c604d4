//! Scrapes: one at a time for each endpoint, in a thread of its own, for all who ask in the meantime.

use std::collections::HashMap;
use std::sync::{Arc, Condvar, LazyLock, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

use tallymon_core::block::ReadWindow;
use tallymon_host::Host;

use crate::metrics::Metrics;
use crate::settings::{ReadSecret, Settings};

/// One answer.
#[derive(Debug)]
pub(crate) struct Scraped {
    /// What the endpoint has, or why it has nothing.
    pub(crate) metrics: Result<Metrics, String>,
    /// When it was read.
    pub(crate) window: ReadWindow,
    /// How long that took.
    pub(crate) time: Duration,
}

/// The endpoint of a bridge.
pub(crate) struct Scraper {
    settings: Settings,
    read_secret: ReadSecret,
    state: Mutex<State>,
    ended: Condvar,
}

#[derive(Default)]
struct State {
    is_running: bool,
    /// How many scrapes have ended.
    ended: u64,
    last: Option<Arc<Scraped>>,
}

/// A scrape that somebody waits for.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Ticket(u64);

/// The endpoints of this process. Several hosts of one process share them.
type Scrapers = HashMap<String, Weak<Scraper>>;
static SCRAPERS: LazyLock<Mutex<Scrapers>> = LazyLock::new(Mutex::default);

impl Scraper {
    /// The endpoint of these settings: the one that this process has already, or a new one.
    pub(crate) fn shared(settings: &Settings, read_secret: ReadSecret) -> Arc<Scraper> {
        let mut scrapers = SCRAPERS.lock().unwrap_or_else(PoisonError::into_inner);
        scrapers.retain(|_, scraper| scraper.strong_count() > 0);
        let Settings { url, kind: _, socket, password, timeout, headers, certificate, labels: _ } = settings;
        let kind = settings.kind();
        let key = format!("{kind:?} {url:?} {socket:?} {password:?} {timeout:?} {headers:?} {certificate:?}");
        if let Some(scraper) = scrapers.get(&key).and_then(Weak::upgrade) {
            return scraper;
        }
        let scraper = Arc::new(Scraper {
            settings: settings.clone(),
            read_secret,
            state: Mutex::default(),
            ended: Condvar::new(),
        });
        scrapers.insert(key, Arc::downgrade(&scraper));
        scraper
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Begins a scrape, or joins the one that is running.
    pub(crate) fn begin(self: &Arc<Scraper>) -> Ticket {
        let mut state = self.state();
        let ticket = Ticket(state.ended.saturating_add(1));
        if !state.is_running {
            let scraper = Arc::clone(self);
            let name = "tallymon-bridge".to_owned();
            let started = std::thread::Builder::new().name(name).spawn(move || {
                let scraped = scraper.scrape();
                scraper.end(scraped);
            });
            match started {
                Ok(_) => state.is_running = true,
                Err(error) => {
                    let now = Host::clocks().time_100ns;
                    let metrics = Err(format!("{}: no thread: {error}", self.settings.address()));
                    let window = ReadWindow { begin: now, end: now };
                    state.last = Some(Arc::new(Scraped { metrics, window, time: Duration::ZERO }));
                    state.ended = state.ended.saturating_add(1);
                }
            }
        }
        ticket
    }

    fn end(&self, scraped: Scraped) {
        let mut state = self.state();
        state.is_running = false;
        state.ended = state.ended.saturating_add(1);
        state.last = Some(Arc::new(scraped));
        drop(state);
        self.ended.notify_all();
    }

    /// Waits for the end of a scrape, at most until then; `None` when it is still running.
    pub(crate) fn wait(&self, Ticket(ticket): Ticket, until: Instant) -> Option<Arc<Scraped>> {
        let mut state = self.state();
        while state.ended < ticket {
            let rest = until.saturating_duration_since(Instant::now());
            if rest.is_zero() {
                return None;
            }
            state = self.ended.wait_timeout(state, rest).unwrap_or_else(PoisonError::into_inner).0;
        }
        state.last.clone()
    }

    /// Scrapes the endpoint once, here.
    pub(crate) fn scrape(&self) -> Scraped {
        let (begin, began) = (Host::clocks().time_100ns, Instant::now());
        let metrics = self.settings.kind().read(&self.settings, self.read_secret).map_err(|words| {
            // An error of the address names it itself.
            let address = self.settings.address();
            if words.starts_with(&address) { words } else { format!("{address}: {words}") }
        });
        let window = ReadWindow { begin, end: Host::clocks().time_100ns };
        Scraped { metrics, window, time: began.elapsed() }
    }
}
