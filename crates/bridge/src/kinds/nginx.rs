//! The page of nginx' `stub_status`.

use std::collections::BTreeMap;

use tallymon_push::fetch;

use super::known::{Group, average, count, whole};
use super::{Speaks, check_http};
use crate::metrics::Metrics;
use crate::settings::{ReadSecret, Settings};

/// The longest page, in bytes; it has about 100.
const MOST_BYTES: usize = 64 << 10;

/// Servers of nginx with `stub_status`.
pub(super) struct Nginx;

const GROUP: Group = Group {
    prefix: "nginx",
    object: "Web Service",
    values: &[
        whole("active", "Current Connections", "Connections of clients, with those that wait."),
        whole("reading", "Connections Reading", "Connections whose request nginx is reading."),
        whole("writing", "Connections Writing", "Connections to which nginx is writing an answer."),
        whole("waiting", "Connections Waiting", "Connections that are kept and have no request now."),
        count("accepts", "Connection Attempts/sec", "Connections that nginx accepted."),
        count("dropped", "Connections Dropped/sec", "Connections that nginx accepted and closed at a limit."),
        count("requests", "Total Method Requests/sec", "Requests of clients."),
        average("requests", "handled", "Requests/Connection", "Requests for each new connection."),
    ],
};

impl Speaks for Nginx {
    fn check(&self, settings: &Settings) -> Result<(), String> {
        check_http(settings)
    }

    fn read(&self, settings: &Settings, read_secret: ReadSecret) -> Result<Metrics, String> {
        let endpoint = settings.endpoint(read_secret)?;
        let page = fetch(&endpoint, "text/plain, */*; q=0.1", MOST_BYTES);
        of_page(&page.map_err(|error| error.to_string())?)
    }
}

/// What comes before the numbers of the page, in their order.
const PAGE: [(&str, &[&str]); 5] = [
    ("Active connections:", &["active"]),
    ("server accepts handled requests", &["accepts", "handled", "requests"]),
    ("Reading:", &["reading"]),
    ("Writing:", &["writing"]),
    ("Waiting:", &["waiting"]),
];

fn of_page(page: &[u8]) -> Result<Metrics, String> {
    let page = String::from_utf8_lossy(page);
    let wrong = || {
        let begin: String = page.chars().take(60).collect();
        format!("the answer is no page of nginx' stub_status; it begins with {begin:?}")
    };
    let (mut values, mut rest) = (BTreeMap::new(), page.as_ref());
    for (before, keys) in PAGE {
        let (_, after) = rest.split_once(before).ok_or_else(wrong)?;
        rest = after;
        for (key, text) in keys.iter().zip(after.split_whitespace()) {
            let number: u64 = text.parse().map_err(|_| wrong())?;
            values.insert(*key, number);
        }
    }
    let dropped =
        values.get("accepts").zip(values.get("handled")).map(|(all, handled)| all.saturating_sub(*handled));
    values.extend(dropped.map(|dropped| ("dropped", dropped)));
    let texts: BTreeMap<&str, String> = values.into_iter().map(|(key, n)| (key, n.to_string())).collect();
    // A page that ends early lacks the last ones.
    if texts.len() != 8 {
        return Err(wrong());
    }
    let mut metrics = Metrics::default();
    GROUP.add(&mut metrics, &[], |key| texts.get(key).map(String::as_str));
    Ok(metrics)
}

#[cfg(test)]
#[path = "nginx_tests.rs"]
mod tests;
