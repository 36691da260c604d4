//! The chart and the other views of the same counters. It lies below all other screens.

mod areas;
mod bars;
mod graph;
mod keys;
mod legend;
mod legend_columns;
mod marks;
mod mouse;
mod report;
mod spike;
mod split;
mod tooltip;

use crossterm::event::{KeyEvent, MouseEvent};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use crate::log::names;
use crate::save;
use crate::screens::chart::areas::{Areas, Pointer};
use crate::screens::chart::spike::SpikePanel;
use crate::screens::screen::{Action, Layer, Question, Screen};
use crate::screens::slider;
use crate::words::Word;
use crate::workspace::state::{View, Workspace};

/// A terminal with fewer columns or rows than these has room for a report only.
const LEAST: (u16, u16) = (60, 15);

/// Whether a terminal of this size has room for a report only.
pub(crate) const fn is_small(area: Rect) -> bool {
    area.width < LEAST.0 || area.height < LEAST.1
}

/// The views of the counters, and the panel of top contributors over the chart.
#[derive(Default)]
pub(crate) struct ChartScreen {
    areas: Areas,
    pointer: Pointer,
    /// The panel of top contributors, while it is open.
    spike: Option<SpikePanel>,
}

impl ChartScreen {
    /// Closes what belongs to the source that was shown before.
    pub(crate) fn source_changed(&mut self) {
        self.spike = None;
    }

    /// The mouse points at nothing until it moves.
    pub(crate) const fn forget_pointer(&mut self) {
        self.pointer.at = None;
    }
}

impl Screen for ChartScreen {
    fn layer(&self) -> Layer {
        Layer::Body
    }

    fn key(&mut self, key: KeyEvent, workspace: &mut Workspace) -> Action {
        self.take_key(key, workspace)
    }

    fn mouse(&mut self, event: MouseEvent, workspace: &mut Workspace) -> Action {
        self.take_mouse(event, workspace)
    }

    fn paste(&mut self, text: &str, workspace: &mut Workspace) -> Action {
        // A terminal pastes the name of a file that is dragged onto it.
        match names::dragged(text) {
            Some(files) => workspace.open_files(&files),
            None => workspace.add_lines(text),
        }
        Action::Done
    }

    fn answer(&mut self, question: Question, text: &str, workspace: &mut Workspace) -> Action {
        match question {
            Question::Filter => workspace.set_filter(text),
            Question::Paste => workspace.add_lines(text),
            Question::Open => workspace.open_files(&names::files(text)),
            Question::Compare => workspace.compare_with(text.trim()),
            Question::Threshold => workspace.set_threshold(text.trim()),
            Question::Save => {
                let saved = save::save(workspace, text);
                workspace.message = Some(match saved {
                    Ok(files) => format!("{}: {}", workspace.words.get(Word::Saved), files.join(", ")),
                    Err(error) => error.to_string(),
                });
            }
            Question::GoTo => match workspace.time_of_day(text) {
                Some(time) => drop(workspace.go_to_time(time)),
                None => {
                    let words = workspace.words.get(Word::NotATime);
                    workspace.message = Some(format!("{text}: {words}"));
                }
            },
            Question::Object | Question::SaveAlerts => return Action::Ignored,
        }
        Action::Done
    }

    fn draw(&mut self, buffer: &mut Buffer, area: Rect, workspace: &mut Workspace) {
        self.areas = Areas::default();
        if let Some(panel) = &mut self.spike {
            panel.forget_areas();
        }
        let small = is_small(buffer.area);
        if small {
            workspace.unfold();
        } else {
            workspace.fold();
        }
        let slider = u16::from(workspace.replay.is_some() && !small);
        let body = Rect { height: area.height.saturating_sub(slider), ..area };
        let body = if small { body } else { marks::draw_text(workspace, buffer, body) };
        let body = if small { body } else { graph::heading(workspace, buffer, body) };
        let (areas, pointer) = (&mut self.areas, &self.pointer);
        match workspace.view {
            _ if small => report::draw(workspace, areas, buffer, body),
            View::Graph | View::Area | View::Stacked => graph::draw(workspace, areas, pointer, buffer, body),
            View::Bars => bars::draw(workspace, areas, buffer, body),
            View::Report => report::draw(workspace, areas, buffer, body),
            View::Split => split::draw(workspace, areas, buffer, body),
            // These are screens of their own.
            View::Table | View::Overview | View::Hosts => {}
        }
        if let Some(panel) = self.spike.as_mut().filter(|_| areas.chart.height > 4) {
            panel.draw(workspace, areas.chart, buffer);
        }
        if !small {
            tooltip::draw(workspace, areas, pointer, self.spike.as_ref(), buffer, body);
        }
        if slider > 0 {
            self.areas.slider = slider::draw(workspace, buffer, Rect { y: body.bottom(), height: 1, ..area });
        }
    }
}
