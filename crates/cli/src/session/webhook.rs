//! Webhooks of alerts: a thread posts JSON, and nothing waits for it.

use std::collections::VecDeque;
use std::io;
use std::path::Path;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde_json::json;
use tallymon::clock::rfc3339;
use tallymon::events::EventLog;
use tallymon::library::event::{Event, WEBHOOK_FAILED};
use tallymon::private_file::read_secret;
use tallymon::record::session::{Alert, Alerts};
use tallymon::registry::Roots;
use tallymon_push::{Endpoint, Tls, deliver};

use crate::exit::{Failure, Kind};

/// How many posts wait. A receiver that does not answer must not fill the memory.
const MOST_WAITING: usize = 64;
/// How long one try of a post may take.
const TIMEOUT: Duration = Duration::from_secs(5);
/// How long the end of a session waits for posts.
const PATIENCE: Duration = Duration::from_secs(10);

/// What can be shown of the address of a webhook: its path may be a secret.
pub(crate) fn shown(address: &str) -> String {
    if address.starts_with('@') {
        return address.to_owned();
    }
    // Without certificates: only what is shown is needed.
    match address.split_once("://") {
        Some((scheme, rest)) => {
            let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
            let host = authority.rsplit('@').next().unwrap_or_default();
            format!("{scheme}://{host}/…")
        }
        None => "…".to_owned(),
    }
}

/// The receiver of the alerts of a session. The files with its address and its token are read each time, so
/// that they can change.
pub(super) fn endpoint(alerts: &Alerts) -> Result<Option<Endpoint>, Failure> {
    let Some(address) = &alerts.webhook else { return Ok(None) };
    let secret = |file: &Path| read_secret(file).map_err(|error| Failure::file(file, &error));
    let address = match address.strip_prefix('@') {
        Some(file) => secret(Path::new(file))?.trim().to_owned(),
        None => address.clone(),
    };
    let mut endpoint = Endpoint::new(&address, "/", &Tls::default()).map_err(|error| {
        Failure::new(Kind::Usage, format_args!("the webhook {}: {}", shown(&address), error.reason()))
    })?;
    if let Some(file) = &alerts.webhook_token {
        let token = secret(file)?;
        let added = endpoint.add_header("Authorization", &format!("Bearer {}", token.trim()));
        added.map_err(|error| Failure::new(Kind::Usage, format_args!("{}: {error}", file.display())))?;
    }
    endpoint.set_timeout(TIMEOUT);
    Ok(Some(endpoint))
}

/// The body of a post; `docs/recording.md` describes it.
pub(super) fn body(host: &str, session: &str, alert: &Alert) -> String {
    let begins = alert.begins;
    let operator = if alert.limit.is_maximum { ">" } else { "<" };
    let value = alert.value.map_or_else(|| "gone".to_owned(), |value| value.to_string());
    let text = format!(
        "{host}: alert {} ({session}): {} is {value}, limit {operator} {}",
        if begins { "began" } else { "ended" },
        alert.counter,
        alert.limit.value
    );
    let json = json!({
        "version": 1,
        "alert": if begins { "begin" } else { "end" },
        "host": host,
        "session": session,
        "counter": alert.counter,
        "value": alert.value,
        "operator": operator,
        "limit": alert.limit.value,
        "time": rfc3339(alert.time),
        "text": text,
    });
    json.to_string()
}

/// A post that waits.
#[derive(Clone)]
struct Post {
    session: String,
    counter: String,
    alerts: Alerts,
    body: String,
}

/// What the thread and its owner share.
#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    /// Posts in their order; the first one is being sent.
    posts: VecDeque<Post>,
    /// What went wrong, until somebody takes it.
    failed: Vec<String>,
    /// No more posts come.
    is_ended: bool,
}

impl Shared {
    /// Each change of the state is whole.
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sends until the end is wanted and nothing waits.
    fn send_all(&self) {
        loop {
            let state = self.state();
            let waits = |state: &mut State| state.posts.is_empty() && !state.is_ended;
            let state = self.changed.wait_while(state, waits).unwrap_or_else(PoisonError::into_inner);
            let Some(post) = state.posts.front().cloned() else { return };
            drop(state);
            let failure = send(&post).err().map(|why| failed(&post, &why));
            let mut state = self.state();
            state.posts.pop_front();
            state.failed.extend(failure);
            self.changed.notify_all();
        }
    }
}

/// Posts, one after another, on a thread that begins with the first.
#[derive(Default)]
pub(super) struct Webhooks {
    shared: Arc<Shared>,
    is_running: bool,
}

impl Webhooks {
    /// Hands over a post. A failure of it is an event, and is in [`Webhooks::failed`].
    pub(super) fn post(
        &mut self,
        host: &str,
        session: &str,
        alerts: &Alerts,
        alert: &Alert,
    ) -> Result<(), String> {
        let post = Post {
            session: session.to_owned(),
            counter: alert.counter.clone(),
            alerts: alerts.clone(),
            body: body(host, session, alert),
        };
        if let Err(error) = self.start() {
            return Err(failed(&post, &format!("no thread that posts: {error}")));
        }
        let mut state = self.shared.state();
        if state.posts.len() >= MOST_WAITING {
            drop(state);
            return Err(failed(&post, &format!("{MOST_WAITING} earlier alerts wait for the receiver")));
        }
        state.posts.push_back(post);
        self.shared.changed.notify_all();
        Ok(())
    }

    fn start(&mut self) -> io::Result<()> {
        if !self.is_running {
            let shared = Arc::clone(&self.shared);
            std::thread::Builder::new().name("webhook".into()).spawn(move || shared.send_all())?;
            self.is_running = true;
        }
        Ok(())
    }

    /// What went wrong since the last call.
    pub(super) fn failed(&self) -> Vec<String> {
        std::mem::take(&mut self.shared.state().failed)
    }
}

impl Drop for Webhooks {
    /// Waits for the posts, but not for ever: those that are left are events.
    fn drop(&mut self) {
        let mut state = self.shared.state();
        state.is_ended = true;
        self.shared.changed.notify_all();
        let waits = |state: &mut State| !state.posts.is_empty();
        let waited = self.shared.changed.wait_timeout_while(state, PATIENCE, waits);
        let (mut state, _) = waited.unwrap_or_else(PoisonError::into_inner);
        for post in state.posts.drain(..) {
            failed(&post, "the session has ended before the receiver took it");
        }
    }
}

fn send(post: &Post) -> Result<(), String> {
    match endpoint(&post.alerts) {
        Ok(None) => Ok(()),
        Ok(Some(endpoint)) => {
            deliver(&endpoint, "application/json", post.body.as_bytes()).map_err(|why| why.to_string())
        }
        Err(failure) => Err(failure.message.unwrap_or_default()),
    }
}

/// Writes the event of a post that failed, and returns the words for the status of the session.
fn failed(post: &Post, why: &str) -> String {
    let receiver = post.alerts.webhook.as_deref().map(shown).unwrap_or_default();
    let event = Event::new(&WEBHOOK_FAILED, [&post.session, &post.counter, &receiver]);
    EventLog::of_environment(&Roots::of_environment()).write(&event.with_detail(why));
    format!("the webhook {receiver}: {why}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_secret_parts_of_an_address_are_not_shown() {
        for (address, expected) in [
            ("https://hooks.example/services/T0/secret", "https://hooks.example/…"),
            ("http://u:secret@h:9?secret", "http://h:9/…"),
            ("http://h#secret", "http://h/…"),
            ("@/run/address", "@/run/address"),
            ("secret", "…"),
        ] {
            assert_eq!(shown(address), expected);
        }
    }
}
