//! Other machines in a session: which ones the options name, and whether they answer.

use std::collections::BTreeMap;

use tallymon::record::session::{SessionHost, SessionSettings};
use tallymon::{Locale, Location, PathError, PathProblem, Query, open};

use crate::arguments::Common;
use crate::exit::{Failure, Kind};
use crate::hosts::{self, HostPaths};
use crate::paths;
use crate::words::say;

/// Puts hosts of `-H` and of paths into settings. Without `paths` the counters that the session has are those
/// of the hosts of `-H`.
pub(crate) fn choose(
    common: &Common,
    settings: &mut SessionSettings,
    paths: &[String],
) -> Result<(), Failure> {
    settings.timeout = common.timeout.or(settings.timeout);
    if paths.is_empty() && common.host.is_empty() {
        return Ok(());
    }
    let mut all = paths.to_vec();
    if all.is_empty() {
        let of_hosts = settings.hosts.iter().flat_map(|host| &host.counters);
        for path in settings.counters.iter().chain(of_hosts) {
            if !all.contains(path) {
                all.push(path.clone());
            }
        }
    }
    settings.counters.clear();
    settings.hosts.clear();
    for HostPaths { name, location, paths } in hosts::of_paths(common, &all)? {
        match (name, location) {
            (Some(name), Location::Remote { address, .. }) => {
                settings.hosts.push(SessionHost { name, address, counters: paths });
            }
            _ => settings.counters = paths,
        }
    }
    Ok(())
}

/// What a host has of its counters.
struct Found {
    bad: Vec<(String, PathError)>,
    bytes_an_hour: f64,
}

/// Fails where no host answers, or a counter is on none that does. Hosts that do not answer now are named.
/// Returns the bytes of an hour of records.
pub(super) fn check(common: &Common, settings: &SessionSettings) -> Result<f64, Failure> {
    let checked = check_with(common, settings, |query| Ok(settings.bytes_an_hour(query)?))?;
    Ok(checked.bytes_an_hour)
}

/// As [`check`], without the bytes, which take two samples. Returns the hosts about which something was said.
pub(crate) fn check_answers(common: &Common, settings: &SessionSettings) -> Result<Vec<String>, Failure> {
    Ok(check_with(common, settings, |_| Ok(0.0))?.named)
}

/// What came of looking at hosts before they are recorded.
#[derive(Default)]
struct Checked {
    bytes_an_hour: f64,
    /// The hosts about which something was said.
    named: Vec<String>,
}

/// `size` is asked of each host that answers and has a counter.
fn check_with(
    common: &Common,
    settings: &SessionSettings,
    size: impl Fn(&mut Query) -> Result<f64, Failure> + Sync,
) -> Result<Checked, Failure> {
    if settings.hosts.is_empty() {
        return Ok(Checked::default());
    }
    let locale = Locale { instances: settings.instances, ..paths::locale(common)? };
    let of_host = |host: &SessionHost| HostPaths {
        name: Some(host.name.clone()),
        location: Location::Remote {
            name: host.name.clone(),
            address: host.address.clone(),
            timeout: settings.timeout.unwrap_or(tallymon::remote::USUAL_TIMEOUT),
        },
        paths: host.counters.clone(),
    };
    let all = settings.hosts.iter().map(of_host).collect();
    let results = hosts::side_by_side(all, |host| found(settings, &host, locale, &size));
    let (mut checked, mut answered) = (Checked::default(), 0usize);
    let mut first = None;
    let mut bad: BTreeMap<String, (usize, PathError)> = BTreeMap::new();
    for (host, result) in settings.hosts.iter().zip(results) {
        match result {
            Ok(found) => {
                answered = answered.saturating_add(1);
                checked.bytes_an_hour += found.bytes_an_hour;
                checked.named.extend((!found.bad.is_empty()).then(|| host.name.clone()));
                for (path, error) in found.bad {
                    say(format_args!("\\\\{}: {error}", host.name));
                    let (count, _) = bad.entry(path).or_insert((0, error));
                    *count = count.saturating_add(1);
                }
            }
            Err(failure) => {
                failure.message.iter().for_each(say);
                say(format_args!("\\\\{} is recorded as soon as it answers", host.name));
                checked.named.push(host.name.clone());
                first.get_or_insert(Failure { message: None, ..failure });
            }
        }
    }
    if answered == 0 && !settings.samples_this_machine() {
        return Err(first.unwrap_or_else(|| Failure::silent(Kind::Unreachable)));
    }
    let asked = |path: &String| {
        let of_host = settings.hosts.iter().filter(|host| host.counters.contains(path));
        of_host.count()
    };
    let nowhere =
        bad.into_iter().find(|(path, (count, _))| answered > 0 && *count >= asked(path).min(answered));
    match nowhere {
        Some((_, (_, error))) if !settings.await_missing => Err(Failure { message: None, ..error.into() }),
        _ => Ok(checked),
    }
}

/// Opens a host, and adds its paths.
fn found(
    settings: &SessionSettings,
    host: &HostPaths,
    locale: Locale,
    size: impl Fn(&mut Query) -> Result<f64, Failure>,
) -> Result<Found, Failure> {
    let mut query = Query::new(open(&host.location)?, locale)?;
    let mut bad = Vec::new();
    for path in &host.paths {
        match paths::try_add(&mut query, path) {
            Err(PathError { problem: PathProblem::Source(error), .. }) => return Err(error.into()),
            Err(error) => bad.push((path.clone(), error)),
            Ok(_) => {}
        }
    }
    let has_any = settings.all_objects || bad.len() < host.paths.len();
    let bytes_an_hour = if has_any { size(&mut query)? } else { 0.0 };
    Ok(Found { bad, bytes_an_hour })
}
