//! The state of the dialog: the lists, what is chosen in them, and the query for the preview.

use std::collections::HashSet;

use crossterm::event::KeyEvent;
use ratatui::layout::{Position, Rect};
use tallymon::core::flow::SourceError;
use tallymon::core::title::TitleIndex;
use tallymon::{CounterHandle, InstanceKey, Query};

use crate::keys::binding::{Command, Context};
use crate::keys::lookup::{command, typed};

/// The dialog. Its query is for the preview only: it records nothing.
pub(crate) struct AddDialog {
    pub(super) query: Query,
    /// All hosts; a single one is not shown as a list.
    pub(super) hosts: Vec<String>,
    pub(super) search: String,
    pub(super) pane: Pane,
    pub(super) objects: Vec<TitleIndex>,
    pub(super) counters: Vec<TitleIndex>,
    pub(super) instances: Vec<Choice>,
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
        mut query: Query,
        hosts: Vec<String>,
        host: usize,
        chosen: Option<(TitleIndex, TitleIndex)>,
    ) -> Result<AddDialog, SourceError> {
        // The search covers every language from the first letter on.
        query.load_all_names()?;
        let mut dialog = AddDialog {
            query,
            hosts,
            search: String::new(),
            pane: Pane::Objects,
            objects: Vec::new(),
            counters: Vec::new(),
            instances: Vec::new(),
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
    pub(crate) fn look_at(&mut self, host: usize, mut query: Query) -> Result<(), SourceError> {
        query.load_all_names()?;
        let chosen = self.object().zip(self.counter());
        self.query = query;
        self.at[3] = host;
        self.preview = None;
        self.find();
        if let Some((object, counter)) = chosen {
            self.go_to(object, counter);
        }
        Ok(())
    }

    /// Collects the chosen counter with a query of its own, for the preview.
    pub(crate) fn collect(&mut self) {
        self.failure = match (&self.preview, self.query.collect()) {
            (Some(_), Err(error)) => Some(error.to_string()),
            _ => None,
        };
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
        let Some(object) = self.object() else {
            self.preview = None;
            return;
        };
        let words: Vec<String> = self.search.to_lowercase().split_whitespace().map(str::to_string).collect();
        let Some(known) = self.query.catalog().object(object) else { return };
        let fits = |counter: &TitleIndex| self.score(&words, object, *counter).is_some();
        let counters: Vec<TitleIndex> =
            known.visible_counters().map(|counter| counter.name).filter(fits).collect();
        let default = known.default_counter.and_then(|at| known.counters.get(at)).map(|known| known.name);
        let has_instances = known.has_instances;
        let wanted = counter.or(default);
        self.at[1] = counters.iter().position(|known| Some(*known) == wanted).unwrap_or(0);
        self.counters = counters;
        if has_instances {
            match self.query.instances(object) {
                Ok(keys) => {
                    self.instances =
                        std::iter::once(Choice::All).chain(keys.into_iter().map(Choice::One)).collect();
                    // Begin at the sum: most users want it first.
                    let total = |choice: &Choice| matches!(choice, Choice::One(key) if key.name == "_Total");
                    self.at[2] = self.instances.iter().position(total).unwrap_or(0);
                }
                Err(error) => self.failure = Some(error.to_string()),
            }
        }
        self.look();
    }

    /// Samples the chosen counter from now on, to show its value.
    fn look(&mut self) {
        let path = self.path();
        if self.preview.as_ref().map(|(known, _)| known) == path.as_ref() {
            return;
        }
        self.preview = path.and_then(|path| {
            let handle = self.query.add(&path).ok()?;
            Some((path, handle))
        });
        if self.preview.is_some() {
            self.collect();
        }
    }

    /// The path that Enter adds.
    pub(super) fn path(&self) -> Option<String> {
        let names = self.query.names();
        let (object, counter) = (names.english(self.object()?), names.english(self.counter()?));
        let host = match self.at[3] {
            0 => String::new(),
            place => format!("\\\\{}", self.hosts.get(place)?),
        };
        if !self.query.catalog().object(self.object()?)?.has_instances {
            return Some(format!("{host}\\{object}\\{counter}"));
        }
        match self.instances.get(self.at[2])? {
            Choice::All => Some(format!("{host}\\{object}(*)\\{counter}")),
            Choice::One(key) => Some(format!("{host}\\{object}({key})\\{counter}")),
        }
    }
}
