//! The monitor over several machines: each is opened on a thread of its own, and one that does not answer
//! delays none of the others.

use std::time::{Duration, Instant};

use tallymon::core::flow::SourceError;
use tallymon::core::path::CounterPath;
use tallymon::fleet::Fleet;
use tallymon::sample::Pending;
use tallymon::{Definitions, Locale, Location, Query, Sampler, SourceInfo};
use tallymon_monitor::{LiveHost, Opening, Options};

use super::{OPENING, no_answer};
use crate::exit::{Failure, Kind};
use crate::hosts::HostPaths;
use crate::open_files;
use crate::words::say;

/// How long the screen waits for hosts, once one has answered.
const PATIENCE: Duration = Duration::from_secs(3);
/// How often all of them are looked at.
const LOOKS: Duration = Duration::from_millis(5);

/// The counter of the first chart: a line for each machine.
const DEFAULT_COUNTER: &str = r"\Processor(_Total)\% Processor Time";

/// A machine that is being opened.
struct Host {
    name: Option<String>,
    paths: Vec<String>,
    sampler: Sampler,
    pending: Option<Pending<SourceInfo>>,
    result: Option<Result<SourceInfo, SourceError>>,
}

/// The machines as options of the monitor, and a query over the first one that answered. Counters without a
/// host are those of each machine.
pub(super) fn open(hosts: Vec<HostPaths>, locale: Locale, fleet: Fleet) -> Result<(Query, Options), Failure> {
    open_files::allow_many();
    let mut opening = Vec::new();
    for host in hosts {
        let HostPaths { name, location, paths } = host;
        let sampler = Sampler::start(move || tallymon::open(&location))?;
        let pending = Some(sampler.info(locale, Definitions::OfPaths(paths.clone())));
        opening.push(Host { name, paths, sampler, pending, result: None });
    }
    wait(&mut opening);
    let Some(first) = opening.iter().position(|host| matches!(host.result, Some(Ok(_)))) else {
        return Err(nobody(opening));
    };
    // The first that answers is the one whose top contributors are kept.
    let first = opening.remove(first);
    opening.insert(0, first);
    let mut paths = Vec::new();
    let mut machines = Vec::new();
    let mut query_and_options = None;
    for host in opening {
        let Host { name, paths: own, sampler, pending, result } = host;
        let opening = match (result, pending) {
            (Some(Ok(info)), _) => Opening::Done(info),
            (Some(Err(error)), _) => Opening::Failed(error),
            (None, Some(pending)) => Opening::Pending(pending),
            (None, None) => Opening::Failed(no_answer()),
        };
        let name = match (&opening, name) {
            (_, Some(name)) => name,
            (Opening::Done(info), None) => info.system_name.clone(),
            (_, None) => ".".to_string(),
        };
        let is_first = query_and_options.is_none();
        let wanted = if own.is_empty() { vec![DEFAULT_COUNTER.to_string()] } else { own };
        paths.extend(wanted.into_iter().map(|path| on_host(&path, &name, is_first)));
        let sampler = match &opening {
            Opening::Done(info) if is_first => {
                query_and_options = Some((Query::over(info.clone()), Options::live(sampler)));
                None
            }
            _ => Some(sampler),
        };
        machines.push(LiveHost { name, sampler, opening });
    }
    let (query, mut options) = query_and_options.ok_or_else(no_answer)?;
    (options.hosts, options.fleet, options.paths) = (machines, fleet, paths);
    Ok((query, options))
}

/// A path as that of a host; the first host has its paths without a host.
fn on_host(text: &str, name: &str, is_first: bool) -> String {
    let path = match CounterPath::of_text(text) {
        // The monitor says what is wrong with it.
        Err(_) => return text.to_string(),
        Ok(path) => path,
    };
    if is_first || path.machine.as_deref().is_some_and(|machine| machine != ".") {
        return text.to_string();
    }
    CounterPath { machine: Some(name.to_string()), ..path }.to_string()
}

/// Waits until all have answered or failed; once one has answered, for those that follow soon.
fn wait(hosts: &mut [Host]) {
    let begin = Instant::now();
    loop {
        let mut any = false;
        let mut all = true;
        for host in hosts.iter_mut() {
            if let Some(result) = host.pending.as_ref().and_then(|pending| pending.wait(Duration::ZERO)) {
                (host.result, host.pending) = (Some(result), None);
            }
            any |= matches!(host.result, Some(Ok(_)));
            all &= host.result.is_some();
        }
        if all || begin.elapsed() >= OPENING || (any && begin.elapsed() >= PATIENCE) {
            return;
        }
        std::thread::sleep(LOOKS);
    }
}

/// No machine answers: each says why, and the first failure is that of the command.
fn nobody(hosts: Vec<Host>) -> Failure {
    let mut first: Option<Failure> = None;
    for host in hosts {
        let name = host.name.unwrap_or_default();
        let failure: Failure = match host.result {
            Some(Err(error)) => error.into(),
            _ => Failure::new(Kind::Unreachable, format_args!("{name}: {}", no_answer())),
        };
        if let Some(words) = &failure.message {
            say(words);
        }
        first.get_or_insert(Failure { message: None, ..failure });
    }
    first.unwrap_or_else(|| no_answer().into())
}

/// Whether several machines are meant; one alone is shown as ever.
pub(super) fn is_wanted(hosts: &[HostPaths]) -> bool {
    hosts.len() > 1 && !hosts.iter().any(|host| matches!(host.location, Location::File(_)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_form_of_a_path_means_the_counter_of_its_host() {
        for (text, of_b) in [
            (r"\Processor(_Total)\% Processor Time", r"\\b\Processor(_Total)\% Processor Time"),
            ("/Processor(_Total)/% Processor Time", r"\\b\Processor(_Total)\% Processor Time"),
            (r"Processor(_Total)\% Processor Time", r"\\b\Processor(_Total)\% Processor Time"),
            (r"\\.\System\Threads", r"\\b\System\Threads"),
            ("//./System/Threads", r"\\b\System\Threads"),
            // It names its host.
            (r"\\b\System\Threads", r"\\b\System\Threads"),
            ("//b/System/Threads", "//b/System/Threads"),
            // It is not a path: the monitor says so.
            (r"\", r"\"),
        ] {
            assert_eq!(on_host(text, "b", false), of_b, "{text}");
            assert_eq!(on_host(text, "a", true), text);
        }
    }
}
