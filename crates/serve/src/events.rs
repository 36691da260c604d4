//! The event log of this machine: providers that failed, names that changed, alerts.

use hyper::StatusCode;
use serde_json::{Value, json};
use tallymon::core::visible::visible;
use tallymon::events::{EventChoice, PastEvent, read};
use tallymon::registry::Roots;

use crate::http::Refused;
use crate::parameters::{Parameters, milliseconds};

/// How many events are sent when nobody says it, and at most.
const USUAL: u64 = 200;
const MOST: u64 = 2_000;

/// The newest events that a request asks for, newest first.
pub(crate) fn events(roots: &Roots, parameters: &Parameters) -> Result<Value, Refused> {
    let choice = EventChoice { provider: parameters.text("provider"), ..EventChoice::default() };
    let found = read(roots, choice).map_err(|(path, error)| {
        let words = format!("{}: {error}", visible(&path.to_string_lossy()));
        Refused::new(StatusCode::INTERNAL_SERVER_ERROR, words)
    })?;
    let words: Vec<String> =
        parameters.text("filter").unwrap_or_default().split_whitespace().map(str::to_lowercase).collect();
    let level = parameters.text("level").unwrap_or_default();
    let is_wanted = |event: &&PastEvent| {
        let text =
            format!("{} {} {}", event.source, event.message, event.id.unwrap_or_default()).to_lowercase();
        (level.is_empty() || event.level == level) && words.iter().all(|word| text.contains(word))
    };
    let last = usize::try_from(parameters.number("last")?.unwrap_or(USUAL).min(MOST)).unwrap_or_default();
    let wanted: Vec<&PastEvent> = found.iter().filter(is_wanted).collect();
    let newest = wanted.iter().rev().take(last).map(|event| one(event)).collect::<Vec<_>>();
    Ok(json!({ "all": found.len(), "found": wanted.len(), "events": newest }))
}

fn one(event: &PastEvent) -> Value {
    json!({
        "time": event.time().map(milliseconds), "source": visible(&event.source), "id": event.id,
        "level": visible(&event.level), "message": visible(&event.message),
        "provider": event.field("Service").map(visible), "repeated": event.repeated, "others": event.others,
        "held": event.held,
    })
}
