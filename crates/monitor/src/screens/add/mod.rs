//! The dialog to add counters: objects, counters and instances side by side, a search in every language above
//! them, and the explanation and the value of the chosen counter below.

pub(crate) mod dialog;
mod draw;
mod mouse;
mod search;

use std::time::Duration;

use crossterm::event::{KeyEvent, MouseEvent};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use tallymon::core::flow::SourceError;
use tallymon::{Query, SourceInfo};

use crate::screens::add::dialog::{AddDialog, Asked};
use crate::screens::screen::{Action, Layer, Screen, Tick};
use crate::workspace::feed::Feed;
use crate::workspace::state::Workspace;

impl AddDialog {
    /// Opens the dialog at the chosen counter.
    ///
    /// # Errors
    ///
    /// The source cannot be opened again, or its names cannot be read.
    pub(crate) fn of_chosen(workspace: &mut Workspace) -> Result<AddDialog, SourceError> {
        let chosen = workspace.monitor.chosen().map(|series| (series.object, series.counter));
        let (hosts, host) = (workspace.hosts(), workspace.chosen_host());
        workspace.define_all(host);
        workspace.feed(host).and_then(|feed| AddDialog::open(feed, hosts, host, chosen))
    }

    /// Does what a key or a click asks for.
    fn answer_to(&mut self, asked: Asked, workspace: &mut Workspace) -> Action {
        match asked {
            Asked::Close => return Action::Close,
            Asked::Add(path) => {
                workspace.choose = Some(path.clone());
                workspace.add(&path);
            }
            Asked::Host(host) => {
                workspace.define_all(host);
                if let Err(error) = workspace.feed(host).and_then(|feed| self.look_at(host, feed)) {
                    workspace.message = Some(error.to_string());
                }
            }
            Asked::Nothing => {}
        }
        Action::Done
    }
}

impl Screen for AddDialog {
    fn layer(&self) -> Layer {
        Layer::Dialog
    }

    fn key(&mut self, key: KeyEvent, workspace: &mut Workspace) -> Action {
        let asked = self.dialog_key(key);
        self.answer_to(asked, workspace)
    }

    fn mouse(&mut self, event: MouseEvent, workspace: &mut Workspace) -> Action {
        let asked = self.dialog_mouse(event);
        self.answer_to(asked, workspace)
    }

    fn paste(&mut self, text: &str, _workspace: &mut Workspace) -> Action {
        self.search_for(text);
        Action::Done
    }

    fn sample(&mut self, tick: &Tick<'_>) -> Result<(), SourceError> {
        // Its own line says what is wrong.
        self.take_sample(tick.sample);
        Ok(())
    }

    fn awaits_sample(&self) -> bool {
        self.feed.is_priming()
    }

    fn poll(&mut self, patience: Duration) -> bool {
        self.instances_come(patience)
    }

    fn is_waiting(&self) -> bool {
        self.awaited.is_some()
    }

    fn renew(&mut self, host: usize, info: &SourceInfo) {
        if host != self.at[3] {
            return;
        }
        // The listener stays; a log has none.
        if let Some(listener) = self.feed.listener.take() {
            let feed = Feed { query: Query::over(info.clone()), listener: Some(listener) };
            // The names are loaded already, so nothing can fail.
            let _ = self.look_at(self.at[3], feed);
        }
    }

    fn draw(&mut self, buffer: &mut Buffer, area: Rect, workspace: &mut Workspace) {
        self.drawn(buffer, area, workspace.words, workspace.theme);
    }
}
