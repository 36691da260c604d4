//! The state of the dialog: the lists, what is chosen in them, and the query for the preview.

use std::collections::HashSet;
use std::time::Duration;

use crossterm::event::KeyEvent;
use ratatui::layout::{Position, Rect};
use tallymon::core::flow::SourceError;
use tallymon::core::title::TitleIndex;
use tallymon::sample::{Pending, Tick as Sample};
use tallymon::{CounterHandle, InstanceKey, SearchHit};

use crate::keys::binding::{Command, Context};
use crate::keys::lookup::{command, typed};
use crate::workspace::feed::{AT_ONCE, Feed};

/// The dialog. Its query is for the preview only: it records nothing.
pub(crate) struct AddDialog {
    pub(super) feed: Feed,
    /// All hosts; a single one is not shown as a list.
    pub(super) hosts: Vec<String>,
    pub(super) search: String,
    /// The counters that match the search, best first.
    pub(super) hits: Vec<SearchHit>,
    pub(super) pane: Pane,
    pub(super) objects: Vec<TitleIndex>,
    pub(super) counters: Vec<TitleIndex>,
    pub(super) instances: Vec<Choice>,
    /// The requested instances of the chosen object, until they arrive.
    pub(super) awaited: Option<Pending<Vec<InstanceKey>>>,
    /// The user chose a line of the instances before they arrived: the choice stays.
    pub(super) has_chosen: bool,
    /// The chosen line of each list.
    pub(super) at: [usize; 4],
    pub(super) preview: Option<(String, CounterHandle)>,
    /// Paths that were added while it is open.
    pub(super) added: HashSet<String>,
    /// Why a list is empty.
    pub(super) failure: Option<String>,
    /// Where the lists lie on the screen.
    pub(super) list_areas: Vec<ListArea>,
    /// The last click, to recognise a double click.
    pub(super) clicked: Option<Position>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Pane {
    Objects,
    Counters,
    Instances,
    Hosts,
}

/// Where a list lies on the screen.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ListArea {
    pub(super) pane: Pane,
    /// Its title and its lines.
    pub(crate) area: Rect,
    /// The line below the title.
    pub(crate) top: usize,
}

/// A line of the list of instances.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Choice {
    All,
    One(InstanceKey),
}

/// What the dialog needs after a key or a click.
pub(crate) enum Asked {
    Nothing,
    Close,
    Add(String),
    /// Another query: that of the host at this position.
    Host(usize),
}

impl AddDialog {
    /// Opens the dialog over a query without paths of one of the hosts, at a counter, or at the first one.
    pub(crate) fn open(
        mut feed: Feed,
        hosts: Vec<String>,
        host: usize,
        chosen: Option<(TitleIndex, TitleIndex)>,
    ) -> Result<AddDialog, SourceError> {
        // The search covers every language from the first letter on.
        feed.query.load_all_names()?;
        let mut dialog = AddDialog {
            feed,
            hosts,
            search: String::new(),
            hits: Vec::new(),
            pane: Pane::Objects,
            objects: Vec::new(),
            counters: Vec::new(),
            instances: Vec::new(),
            awaited: None,
            has_chosen: false,
            at: [0, 0, 0, host],
            preview: None,
            added: HashSet::new(),
            failure: None,
            list_areas: Vec::new(),
            clicked: None,
        };
        dialog.find();
        if let Some((object, counter)) = chosen {
            dialog.go_to(object, counter);
        }
        Ok(dialog)
    }

    /// Shows another host through its query.
    pub(crate) fn look_at(&mut self, host: usize, mut feed: Feed) -> Result<(), SourceError> {
        feed.query.load_all_names()?;
        let chosen = self.object().zip(self.counter());
        self.feed = feed;
        self.at[3] = host;
        self.preview = None;
        self.find();
        if let Some((object, counter)) = chosen {
            self.go_to(object, counter);
        }
        Ok(())
    }

    /// Shows a sample in the preview, or the log at its new time.
    pub(crate) fn take_sample(&mut self, sample: Option<&Sample>) {
        let taken = self.feed.take(sample);
        self.note_failure(taken);
    }

    fn note_failure(&mut self, taken: Result<bool, SourceError>) {
        match (&self.preview, taken) {
            (_, Ok(false)) => {}
            (Some(_), Err(error)) => self.failure = Some(error.to_string()),
            _ => self.failure = None,
        }
    }

    /// Whether something that was requested has not arrived yet.
    pub(crate) fn awaits(&self) -> bool {
        self.awaited.is_some() || self.feed.is_priming()
    }

    /// Takes the instances of the chosen object, if they arrive within a time; whether they arrived.
    pub(crate) fn instances_come(&mut self, patience: Duration) -> bool {
        let Some(answer) = self.awaited.as_ref().and_then(|awaited| awaited.wait(patience)) else {
            return false;
        };
        self.awaited = None;
        self.take_instances(answer);
        self.look();
        true
    }

    fn take_instances(&mut self, answer: Result<Vec<InstanceKey>, SourceError>) {
        match answer {
            Ok(keys) => {
                let one = keys.into_iter().map(Choice::One);
                self.instances = std::iter::once(Choice::All).chain(one).collect();
                // Begin at the sum: most users want it first.
                let total = |choice: &Choice| matches!(choice, Choice::One(key) if key.name == "_Total");
                let first = self.instances.iter().position(total).filter(|_| !self.has_chosen);
                self.at[2] = first.unwrap_or(0);
            }
            Err(error) => {
                self.instances.clear();
                self.failure = Some(error.to_string());
            }
        }
    }

    /// Takes a key.
    pub(crate) fn dialog_key(&mut self, key: KeyEvent) -> Asked {
        match command(Context::Add, key) {
            Some(Command::Close) => return Asked::Close,
            Some(Command::Cancel) if self.search.is_empty() => return Asked::Close,
            Some(Command::Cancel | Command::ClearText) => {
                self.search.clear();
                self.find();
            }
            Some(Command::Accept) => return self.add(),
            Some(Command::NextPane) => self.pane = self.next_pane(),
            Some(Command::PreviousPane) => {
                // Go around until the next pane is this one.
                let pane = self.pane;
                while self.next_pane() != pane {
                    self.pane = self.next_pane();
                }
            }
            Some(Command::Previous) => return self.step(-1),
            Some(Command::Next) => return self.step(1),
            Some(Command::PageBack) => return self.step(-10),
            Some(Command::PageForward) => return self.step(10),
            Some(Command::First) => return self.step(isize::MIN),
            Some(Command::Last) => return self.step(isize::MAX),
            Some(Command::DeleteLetter) => {
                self.search.pop();
                self.find();
            }
            Some(_) => {}
            None => {
                if let Some(letter) = typed(key) {
                    self.search.push(letter);
                    self.find();
                }
            }
        }
        Asked::Nothing
    }

    pub(super) fn add(&mut self) -> Asked {
        // Keys that were typed ahead mean the line that is chosen once the instances are there.
        self.instances_come(AT_ONCE);
        let Some(path) = self.path() else { return Asked::Nothing };
        self.added.insert(path.clone());
        Asked::Add(path)
    }

    /// Searches for pasted text.
    pub(crate) fn search_for(&mut self, text: &str) {
        self.search.push_str(text.lines().next().unwrap_or_default());
        self.find();
    }

    pub(super) fn step(&mut self, by: isize) -> Asked {
        self.has_chosen |= self.pane == Pane::Instances;
        let length = self.length(self.pane);
        if self.pane == Pane::Hosts {
            return Asked::Host(self.at[3].saturating_add_signed(by).min(length.saturating_sub(1)));
        }
        if let Some(at) = self.at.get_mut(self.pane as usize) {
            *at = at.saturating_add_signed(by).min(length.saturating_sub(1));
        }
        match self.pane {
            Pane::Objects => self.chose_object(None),
            Pane::Counters | Pane::Instances | Pane::Hosts => self.look(),
        }
        Asked::Nothing
    }

    /// The next pane from left to right, and around; the hosts only where there are several.
    pub(super) fn next_pane(&self) -> Pane {
        match self.pane {
            Pane::Hosts => Pane::Objects,
            Pane::Objects => Pane::Counters,
            Pane::Counters => Pane::Instances,
            Pane::Instances if self.hosts.len() > 1 => Pane::Hosts,
            Pane::Instances => Pane::Objects,
        }
    }

    pub(super) fn length(&self, pane: Pane) -> usize {
        match pane {
            Pane::Objects => self.objects.len(),
            Pane::Counters => self.counters.len(),
            Pane::Instances => self.instances.len(),
            Pane::Hosts => self.hosts.len(),
        }
    }

    pub(super) fn object(&self) -> Option<TitleIndex> {
        self.objects.get(self.at[0]).copied()
    }

    pub(super) fn counter(&self) -> Option<TitleIndex> {
        self.counters.get(self.at[1]).copied()
    }

    pub(super) fn go_to(&mut self, object: TitleIndex, counter: TitleIndex) {
        if let Some(at) = self.objects.iter().position(|known| *known == object) {
            self.at[0] = at;
            self.chose_object(Some(counter));
        }
    }

    /// Fills the lists of counters and instances of the chosen object.
    pub(super) fn chose_object(&mut self, counter: Option<TitleIndex>) {
        self.counters.clear();
        self.instances.clear();
        self.at[1] = 0;
        self.at[2] = 0;
        self.failure = None;
        (self.awaited, self.has_chosen) = (None, false);
        let Some(object) = self.object() else {
            self.preview = None;
            return;
        };
        let Some(known) = self.feed.query.catalog().object(object) else { return };
        let fits = |counter: &TitleIndex| self.fits(object, *counter);
        let counters: Vec<TitleIndex> =
            known.visible_counters().map(|counter| counter.name).filter(fits).collect();
        let default = known.default_counter.and_then(|at| known.counters.get(at)).map(|known| known.name);
        let has_instances = known.has_instances;
        let wanted = counter.or(default);
        self.at[1] = counters.iter().position(|known| Some(*known) == wanted).unwrap_or(0);
        self.counters = counters;
        if has_instances {
            self.instances.push(Choice::All);
            match &self.feed.listener {
                Some(listener) => {
                    let names = self.feed.query.names().instances();
                    self.awaited = Some(listener.instances(object, names));
                }
                None => {
                    let answer = self.feed.query.instances(object);
                    self.take_instances(answer);
                }
            }
        }
        self.look();
    }

    /// Samples the chosen counter from now on, to show its value.
    fn look(&mut self) {
        // While the instances have not arrived, the chosen line may still change.
        let path = if self.awaited.is_none() { self.path() } else { None };
        if self.preview.as_ref().map(|(known, _)| known) == path.as_ref() {
            return;
        }
        if let Some((_, before)) = self.preview.take() {
            self.feed.query.remove(before);
        }
        self.preview = path.and_then(|path| {
            let handle = self.feed.query.add(&path).ok()?;
            Some((path, handle))
        });
        if self.preview.is_some() {
            let begun = self.feed.begin();
            self.note_failure(begun);
        }
    }

    /// The path that Enter adds.
    pub(super) fn path(&self) -> Option<String> {
        let names = self.feed.query.names();
        let (object, counter) = (names.english(self.object()?), names.english(self.counter()?));
        let host = match self.at[3] {
            0 => String::new(),
            place => format!("\\\\{}", self.hosts.get(place)?),
        };
        if !self.feed.query.catalog().object(self.object()?)?.has_instances {
            return Some(format!("{host}\\{object}\\{counter}"));
        }
        match self.instances.get(self.at[2])? {
            Choice::All => Some(format!("{host}\\{object}(*)\\{counter}")),
            Choice::One(key) => Some(format!("{host}\\{object}({key})\\{counter}")),
        }
    }
}
