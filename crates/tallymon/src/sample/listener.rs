//! Who listens to a sampler, and what each listener wants.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use tallymon_core::request::Request;
use tallymon_core::title::TitleIndex;

use super::Pending;
use super::question::{ListenerId, Question, SampleQuestion};
use crate::matching::InstanceKey;
use crate::names::{InstanceNames, Locale};
use crate::source_info::{Definitions, SourceInfo};

/// The number of the next listener. Samplers share it, so that a tick of one is never taken for that of
/// another.
static NEXT: AtomicU64 = AtomicU64::new(0);

/// All listeners of a sampler.
#[derive(Debug, Clone, Default)]
pub(super) struct Listeners(Arc<Mutex<Registry>>);

#[derive(Debug, Default)]
struct Registry {
    wants: BTreeMap<ListenerId, Want>,
}

#[derive(Debug, Default)]
struct Want {
    /// `None` until the listener says what it wants.
    request: Option<Request>,
    /// A first sample is on its way.
    is_priming: bool,
}

/// One reader of samples: a chart, a table, a dialog. It says what it wants, and every row then has that
/// too, until it is dropped.
#[derive(Debug)]
pub struct Listener {
    pub(super) id: ListenerId,
    listeners: Listeners,
    questions: Sender<Question>,
}

impl Listener {
    pub(super) fn new(listeners: Listeners, questions: Sender<Question>) -> Listener {
        let id = ListenerId(NEXT.fetch_add(1, Ordering::Relaxed));
        listeners.lock().wants.insert(id, Want::default());
        Listener { id, listeners, questions }
    }

    /// From the next row on, samples have what this request asks for, in place of what this listener wanted
    /// before. Give it [`Query::request`](crate::Query::request) whenever counters were added or removed.
    ///
    /// A row that is awaited now is asked for once more, for this listener, when it lacks something.
    pub fn want(&self, request: Request) {
        if let Some(want) = self.listeners.lock().wants.get_mut(&self.id) {
            want.request = Some(request);
        }
    }

    /// Asks for a sample of what this listener wants now, without waiting for the next row: a screen that
    /// opens has something to show. The [`Tick`](super::Tick) is for this listener only.
    pub fn prime(&self) {
        let mut registry = self.listeners.lock();
        let Some(want) = registry.wants.get_mut(&self.id).filter(|want| !want.is_priming) else { return };
        let Some(request) = want.request.clone() else { return };
        want.is_priming = true;
        drop(registry);
        let (listeners, asked) = (vec![self.id], Instant::now());
        // Without a thread there is no answer; the next row says why.
        let _ = self.questions.send(Question::Sample(SampleQuestion {
            request,
            listeners,
            is_row: false,
            asked,
        }));
    }

    /// Whether the sample that [`Listener::prime`] asked for is still to come.
    pub fn is_priming(&self) -> bool {
        self.listeners.lock().wants.get(&self.id).is_some_and(|want| want.is_priming)
    }

    /// What the source has now, as [`Sampler::info`](super::Sampler::info).
    pub fn info(&self, locale: impl Into<Locale>, definitions: Definitions) -> Pending<SourceInfo> {
        let locale = locale.into();
        Pending::ask(&self.questions, move |source| SourceInfo::read(source, locale, &definitions))
    }

    /// The instances that an object has now, as [`Sampler::instances`](super::Sampler::instances).
    pub fn instances(&self, object: TitleIndex, names: InstanceNames) -> Pending<Vec<InstanceKey>> {
        Pending::ask(&self.questions, move |source| crate::query::instances(source, object, names))
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        self.listeners.lock().wants.remove(&self.id);
    }
}

impl Listeners {
    /// Nothing in here panics while it is locked, and each change is whole.
    fn lock(&self) -> MutexGuard<'_, Registry> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether a listener is still there.
    pub(super) fn has(&self, id: ListenerId) -> bool {
        self.lock().wants.contains_key(&id)
    }

    /// Those that are still there.
    pub(super) fn all(&self) -> Vec<ListenerId> {
        self.lock().wants.keys().copied().collect()
    }

    /// As few requests as possible with everything that these listeners want, each with its listeners. It
    /// is one request, unless some listeners want what no query string can ask for together, such as
    /// `Global` and `Costly`.
    pub(super) fn requests(&self, only: Option<&[ListenerId]>) -> Vec<(Request, Vec<ListenerId>)> {
        let registry = self.lock();
        let mut requests: Vec<(Request, Vec<ListenerId>)> = Vec::new();
        for (id, want) in &registry.wants {
            let Some(wanted) = want.request.as_ref().filter(|_| only.is_none_or(|only| only.contains(id)))
            else {
                continue;
            };
            let fitting = requests.iter_mut().find_map(|(request, listeners)| {
                let union = request.union(wanted)?;
                Some((request, listeners, union))
            });
            match fitting {
                Some((request, listeners, union)) => {
                    *request = union;
                    listeners.push(*id);
                }
                None => requests.push((wanted.clone(), vec![*id])),
            }
        }
        requests
    }

    /// Splits the listeners of a question into those that have all they want by now, and those that want
    /// more.
    pub(super) fn split(&self, question: &SampleQuestion) -> (Vec<ListenerId>, Vec<ListenerId>) {
        let registry = self.lock();
        let here = question.listeners.iter().copied().filter(|id| registry.wants.contains_key(id));
        here.partition(|id| {
            let wanted = registry.wants.get(id).and_then(|want| want.request.as_ref());
            wanted.is_none_or(|wanted| question.request.covers(wanted))
        })
    }

    /// The first sample of a listener came.
    pub(super) fn is_primed(&self, listeners: &[ListenerId]) {
        let mut registry = self.lock();
        for id in listeners {
            if let Some(want) = registry.wants.get_mut(id) {
                want.is_priming = false;
            }
        }
    }
}
