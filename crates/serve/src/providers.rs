//! The providers of a source: state, time, failures, and when a failed one is asked again.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use hyper::StatusCode;
use serde_json::{Value, json};
use tallymon::core::visible::visible;
use tallymon::registry::{RegistryError, Roots, Writer};
use tallymon::sample::{Listener, Tick};
use tallymon::{Health, Query, SourceInfo};
use tallymon_monitor::model::{
    CollectTimes, PROVIDERS_PATH, Provider, ProviderKind, objects, providers, tag_of,
};

use crate::chart::number;
use crate::http::Refused;
use crate::parameters::Parameters;

/// The health of providers is sampled until nobody has asked for it for so long.
const FORGOTTEN: Duration = Duration::from_secs(30);

/// Samples the health of the providers of a live source while somebody looks at it.
pub(crate) struct ProviderWatch {
    query: Query,
    listener: Listener,
    /// What the listener wants while nobody looks.
    nothing: Query,
    /// The source has an object with provider data.
    reports_health: bool,
    asked: Option<Instant>,
    /// How long the collections took that were seen while somebody looked.
    times: CollectTimes,
}

impl ProviderWatch {
    pub(crate) fn new(info: SourceInfo, listener: Listener) -> ProviderWatch {
        let nothing = Query::over(info.clone());
        let mut query = Query::over(info);
        let reports_health = query.add(PROVIDERS_PATH).is_ok();
        let times = CollectTimes::default();
        ProviderWatch { query, listener, nothing, reports_health, asked: None, times }
    }

    /// Uses objects that were read anew.
    pub(crate) fn renew(&mut self, info: SourceInfo) {
        let mut query = Query::over(info);
        self.reports_health = query.add(PROVIDERS_PATH).is_ok();
        self.query = query;
        if self.asked.is_some() {
            self.listener.want(self.query.request());
            self.listener.prime();
        }
    }

    /// The newest state; until its first sample is there, it is pending.
    pub(crate) fn ask(&mut self) -> ProviderList {
        if self.reports_health && self.asked.replace(Instant::now()).is_none() {
            self.listener.want(self.query.request());
            self.listener.prime();
        }
        ProviderList::of(&self.query, self.reports_health, &self.times)
    }

    /// Takes a sample, if it is for this.
    pub(crate) fn take(&mut self, tick: &Tick) {
        if let Some(Ok(snapshot)) = tick.of(&self.listener) {
            self.query.accept(snapshot.clone());
            if self.reports_health {
                self.times.note(&mut providers(&self.query));
            }
        }
        if self.asked.is_some_and(|asked| asked.elapsed() > FORGOTTEN) {
            self.asked = None;
            self.listener.want(self.nothing.request());
        }
    }
}

/// Providers at a time.
pub(crate) struct ProviderList {
    /// The source has an object with provider data.
    pub(crate) reports_health: bool,
    /// The first sample is under way.
    pub(crate) is_pending: bool,
    /// The failed ones first.
    pub(crate) rows: Vec<Provider>,
}

impl ProviderList {
    /// The providers that a query over [`PROVIDERS_PATH`] has collected, with the percentiles of their times.
    pub(crate) fn of(query: &Query, reports_health: bool, times: &CollectTimes) -> ProviderList {
        let mut rows = if reports_health { providers(query) } else { objects(query) };
        times.fill(&mut rows);
        ProviderList { reports_health, is_pending: reports_health && query.snapshot().is_none(), rows }
    }

    /// As JSON, with the names of a language. `is_now`: the user can do something about it.
    pub(crate) fn json(&self, info: &SourceInfo, is_now: bool) -> Value {
        let names = &info.names;
        let titles: HashMap<String, String> = info
            .catalog
            .objects()
            .iter()
            .map(|object| (names.english(object.name), names.name(object.name)))
            .collect();
        let one = |row: &Provider| {
            let title = titles.get(&row.name).unwrap_or(&row.title);
            let remedy = match row.kind {
                ProviderKind::BuiltIn if is_now => row.health.unwrap_or_default().remedy(&row.reason),
                _ => "",
            };
            json!({
                "name": visible(&row.name), "title": visible(title), "service": row.service().map(visible),
                "kind": kind(row.kind), "state": state(row),
                "reason": visible(&row.reason), "remedy": remedy, "last": row.last.map(number),
                "p50": row.median.map(number), "p99": row.p99.map(number), "times": row.times,
                "languages": row.languages.as_ref().map(|all| {
                    all.iter().map(|language| tag_of(*language)).collect::<Vec<_>>()
                }),
                "average": row.average.map(number), "share": row.share.map(number),
                "collections": row.collections, "errors": row.errors, "late": row.late,
                "restarts": row.restarts,
            })
        };
        json!({
            "reportsHealth": self.reports_health, "pending": self.is_pending,
            "providers": self.rows.iter().map(one).collect::<Vec<_>>(),
        })
    }
}

/// Enables or disables the library of a service, `on` being 1 or 0, from the next sample on.
pub(crate) fn enable(roots: Option<&Roots>, parameters: &Parameters) -> Result<Value, Refused> {
    let none = || Refused::not_found("this server shows no providers of this machine that it could change");
    let service = parameters.needed("name")?;
    parameters.needed("on")?;
    let is_on = parameters.flag("on")?;
    let failed = |error: RegistryError| Refused::new(StatusCode::CONFLICT, visible(&error.to_string()));
    let writer = Writer::of_service(roots.ok_or_else(none)?, None, service).map_err(failed)?;
    writer.set_enabled(service, is_on).map_err(failed)?;
    Ok(json!({}))
}

const fn kind(kind: ProviderKind) -> &'static str {
    match kind {
        ProviderKind::Library => "library",
        ProviderKind::SharedMemory => "sharedMemory",
        ProviderKind::BuiltIn => "builtIn",
        ProviderKind::Elsewhere => "elsewhere",
    }
}

/// The word of a state, of which the page knows a translation.
fn state(row: &Provider) -> Option<&'static str> {
    Some(match row.health? {
        _ if row.is_disabled() => "disabled",
        Health::NotAsked => "notAsked",
        Health::Healthy => "healthy",
        Health::Degraded => "degraded",
        Health::Unsupported => "unsupported",
        Health::Failed => "failed",
    })
}
