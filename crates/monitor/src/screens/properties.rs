//! The properties dialog: of the chart, and of the chosen line.

use crossterm::event::{KeyEvent, MouseButton, MouseEvent, MouseEventKind};
use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};

use crate::keys::binding::{Command, Context};
use crate::keys::lookup::{command, typed};
use crate::keys::show::footer;
use crate::model::{Axis, Grid, Scale, Series, Switch, format};
use crate::screens::screen::{Action, Layer, Screen};
use crate::term::chart::Glyphs;
use crate::term::chart::PATTERNS;
use crate::term::frame::frame;
use crate::term::text::{cut, put, width};
use crate::words::{Word, Words};
use crate::workspace::state::Workspace;

/// The dialog. Changes apply at once, and Ctrl-Z undoes them.
#[derive(Debug, Default)]
pub(crate) struct Properties {
    /// Position of the chosen property.
    at: usize,
    /// The text that is being typed.
    typed: Option<String>,
    /// Where each property lies on the screen.
    rows: Vec<Rect>,
}

/// One line of the dialog.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Property {
    Title,
    Label,
    Maximum,
    Minimum,
    Grid,
    Switch(Switch),
    Colour,
    Pattern,
    Width,
    Scale,
}

const PROPERTIES: [(Property, Word); 15] = [
    (Property::Title, Word::GraphTitle),
    (Property::Label, Word::AxisLabel),
    (Property::Maximum, Word::AxisMaximum),
    (Property::Minimum, Word::AxisMinimum),
    (Property::Grid, Word::Grid),
    (Property::Switch(Switch::Legend), Word::Legend),
    (Property::Switch(Switch::ValueBar), Word::ValueBar),
    (Property::Switch(Switch::ScaleLabels), Word::ScaleLabels),
    (Property::Switch(Switch::TimeLabels), Word::TimeLabels),
    (Property::Switch(Switch::DigitGrouping), Word::DigitGrouping),
    (Property::Switch(Switch::ToolTips), Word::ToolTips),
    (Property::Colour, Word::ColourNumber),
    (Property::Pattern, Word::Pattern),
    (Property::Width, Word::LineWidth),
    (Property::Scale, Word::Scale),
];

/// How many properties belong to the chart; the others belong to the chosen line.
const OF_PICTURE: usize = 11;

impl Property {
    /// Whether it is a text or a number, which the user types.
    const fn is_typed(self) -> bool {
        matches!(self, Property::Title | Property::Label | Property::Maximum | Property::Minimum)
    }
}

impl Properties {
    fn chosen(&self) -> Property {
        PROPERTIES.get(self.at).map_or(Property::Title, |(property, _)| *property)
    }

    /// Takes the typed text; without one it starts typing, or changes a property that is not typed.
    fn accept(&mut self, workspace: &mut Workspace) {
        let property = self.chosen();
        match self.typed.take() {
            Some(text) => set(workspace, property, &text),
            None if property.is_typed() => self.typed = Some(text_of(workspace, property)),
            None => step(workspace, property, true),
        }
    }

    /// Chooses a property; without a chosen line there are only those of the chart.
    fn choose(&mut self, workspace: &Workspace, at: usize) {
        let count = if workspace.monitor.chosen().is_some() { PROPERTIES.len() } else { OF_PICTURE };
        self.at = at.min(count.saturating_sub(1));
        self.typed = None;
    }
}

impl Screen for Properties {
    fn layer(&self) -> Layer {
        Layer::Dialog
    }

    fn key(&mut self, key: KeyEvent, workspace: &mut Workspace) -> Action {
        let property = self.chosen();
        match command(Context::Properties, key) {
            Some(Command::Close) => return Action::Close,
            Some(Command::Undo) => workspace.undo(),
            Some(Command::ClearText) => self.typed = property.is_typed().then(String::new),
            Some(Command::Cancel) if self.typed.is_none() => return Action::Close,
            Some(Command::Cancel) => self.typed = None,
            Some(Command::Accept) => self.accept(workspace),
            Some(Command::Previous) => self.choose(workspace, self.at.saturating_sub(1)),
            Some(Command::Next) => self.choose(workspace, self.at.saturating_add(1)),
            Some(Command::Less) if self.typed.is_none() => step(workspace, property, false),
            Some(Command::More) if self.typed.is_none() => step(workspace, property, true),
            Some(Command::DeleteLetter) if property.is_typed() => {
                let text = self.typed.get_or_insert_with(|| text_of(workspace, property));
                text.pop();
            }
            Some(_) => {}
            None => {
                if let Some(letter) = typed(key).filter(|_| property.is_typed()) {
                    self.typed.get_or_insert_default().push(letter);
                }
            }
        }
        Action::Done
    }

    /// A click chooses a property, and a click on the chosen one changes it.
    fn mouse(&mut self, event: MouseEvent, workspace: &mut Workspace) -> Action {
        let place = Position { x: event.column, y: event.row };
        if event.kind == MouseEventKind::Down(MouseButton::Left)
            && let Some(at) = self.rows.iter().position(|area| area.contains(place))
        {
            if at == self.at {
                self.accept(workspace);
                return Action::Done;
            }
            self.choose(workspace, at);
        }
        Action::Done
    }

    /// Pasted text counts as typed.
    fn paste(&mut self, text: &str, _workspace: &mut Workspace) -> Action {
        if self.chosen().is_typed() {
            self.typed.get_or_insert_default().push_str(text.lines().next().unwrap_or_default());
        }
        Action::Done
    }

    fn draw(&mut self, buffer: &mut Buffer, area: Rect, workspace: &mut Workspace) {
        drawn(workspace, self, buffer, area);
    }
}

/// Sets a property to the typed text.
fn set(workspace: &mut Workspace, property: Property, text: &str) {
    let text = text.trim();
    let picture = &mut workspace.monitor.picture;
    let number = text.replace(',', "").parse::<f64>();
    match property {
        Property::Title => picture.title = text.to_string(),
        Property::Label => picture.label = text.to_string(),
        Property::Maximum | Property::Minimum => {
            let axis = number.ok().and_then(|number| match property {
                Property::Maximum => Axis::new(picture.axis.minimum(), number),
                _ => Axis::new(number, picture.axis.maximum()),
            });
            match axis {
                Some(axis) => picture.axis = axis,
                None => {
                    workspace.message = Some(format!("{text}: {}", workspace.words.get(Word::NotAnAxisEnd)))
                }
            }
        }
        _ => {}
    }
}

/// Sets a property to its next value, or the one before.
fn step(workspace: &mut Workspace, property: Property, forward: bool) {
    let picture = &mut workspace.monitor.picture;
    let next = |number: usize, count: usize| {
        number.saturating_add(if forward { 1 } else { count.saturating_sub(1) }) % count.max(1)
    };
    match property {
        Property::Title | Property::Label => {}
        Property::Maximum => picture.axis = picture.axis.step_maximum(forward),
        Property::Minimum => {
            // A tenth of the axis.
            let step = (picture.axis.maximum() - picture.axis.minimum()) / 10.0;
            let minimum = picture.axis.minimum() + if forward { step } else { -step };
            picture.axis = Axis::new(minimum, picture.axis.maximum()).unwrap_or(picture.axis);
        }
        Property::Grid => picture.grid = picture.grid.step(forward),
        Property::Switch(switch) => picture.parts.toggle(switch),
        Property::Scale => workspace.monitor.step_scale(forward),
        Property::Colour | Property::Pattern | Property::Width => {
            let Some(series) = workspace.monitor.chosen_mut() else { return };
            match property {
                // Another colour does not change the pattern.
                Property::Colour => {
                    series.pattern.get_or_insert(series.colour % PATTERNS.len());
                    series.colour = next(series.colour % COLOURS, COLOURS);
                }
                Property::Pattern => {
                    let pattern = series.pattern.unwrap_or(series.colour) % PATTERNS.len();
                    series.pattern = Some(next(pattern, PATTERNS.len()));
                }
                _ => series.width = if series.width > 1 { 1 } else { 2 },
            }
        }
    }
}

/// How many colours lines have.
const COLOURS: usize = crate::term::theme::COLOUR_COUNT;

/// The current text of a typed property.
fn text_of(workspace: &Workspace, property: Property) -> String {
    let picture = &workspace.monitor.picture;
    match property {
        Property::Title => picture.title.clone(),
        Property::Label => picture.label.clone(),
        Property::Maximum => picture.axis.maximum().to_string(),
        Property::Minimum => picture.axis.minimum().to_string(),
        _ => String::new(),
    }
}

/// The current value of a property of a line, in words.
fn words_of(workspace: &Workspace, property: Property, series: &Series, words: Words) -> String {
    match property {
        Property::Colour => (series.colour % COLOURS).saturating_add(1).to_string(),
        Property::Pattern => {
            let pattern = series.pattern.unwrap_or(series.colour) % PATTERNS.len();
            format!("{} {}", pattern.saturating_add(1), workspace.theme.sample(series).0)
        }
        Property::Width => words.get(if series.width > 1 { Word::Thick } else { Word::Thin }).to_string(),
        _ => {
            let scale = format::scale(workspace.monitor.power(series));
            match series.scale {
                Scale::Auto => format!("{scale} ({})", words.get(Word::ScaleDefault)),
                Scale::Fit => format!("{scale} ({})", words.get(Word::ScaleFit)),
                Scale::Power(_) => scale,
            }
        }
    }
}

fn grid_word(grid: Grid) -> Word {
    match grid {
        Grid::None => Word::GridNone,
        Grid::Horizontal => Word::GridHorizontal,
        Grid::Vertical => Word::GridVertical,
        Grid::Both => Word::GridBoth,
    }
}

fn drawn(workspace: &Workspace, dialog: &mut Properties, buffer: &mut Buffer, area: Rect) {
    let (words, theme) = (workspace.words, workspace.theme);
    let chosen = workspace.monitor.chosen();
    let count = if chosen.is_some() { PROPERTIES.len() } else { OF_PICTURE };
    // A heading names the line of the last properties.
    let rows = u16::try_from(count).unwrap_or(0).saturating_add(2 + u16::from(chosen.is_some()));
    let keys = &footer(Context::Properties, words, theme.glyphs == Glyphs::Ascii);
    let inside = frame(buffer, area, (72, rows), words.get(Word::PropertiesTitle), keys, theme);
    let names = PROPERTIES.iter().map(|(_, word)| width(words.get(*word))).max().unwrap_or(0);
    // Where rows are missing, the ones above the chosen one are left out.
    let chosen_at = u16::try_from(dialog.at).unwrap_or(0).saturating_add(u16::from(dialog.at >= OF_PICTURE));
    let above = chosen_at.saturating_sub(inside.height.saturating_sub(1));
    let mut at = 0u16;
    let mut next_row = || {
        let row =
            at.checked_sub(above).map(|row| Rect { y: inside.y.saturating_add(row), height: 1, ..inside });
        at = at.saturating_add(1);
        row.filter(|row| row.y < inside.bottom())
    };
    dialog.rows.clear();
    for (number, (property, word)) in PROPERTIES.iter().enumerate().take(count) {
        if number == OF_PICTURE
            && let Some(series) = chosen
            && let Some(row) = next_row()
        {
            let columns = row.width.saturating_sub(2);
            put(buffer, row.x.saturating_add(1), row.y, columns, &cut(&series.path, columns), theme.dim());
        }
        let row = next_row();
        dialog.rows.push(row.unwrap_or_default());
        let Some(row) = row else { continue };
        let is_chosen = number == dialog.at;
        let style = if is_chosen { theme.selected() } else { theme.plain() };
        buffer.set_style(row, style);
        put(buffer, row.x.saturating_add(1), row.y, names, words.get(*word), style);
        let x = row.x.saturating_add(names).saturating_add(3);
        let left = row.right().saturating_sub(x);
        let text = match (&dialog.typed, property, chosen) {
            (Some(typed), _, _) if is_chosen => format!("{typed}{}", theme.either("▏", "_")),
            (_, Property::Grid, _) => words.get(grid_word(workspace.monitor.picture.grid)).to_string(),
            (_, Property::Switch(switch), _) => {
                let on = workspace.monitor.picture.parts.has(*switch);
                words.get(if on { Word::On } else { Word::Off }).to_string()
            }
            (_, property, _) if property.is_typed() => text_of(workspace, *property),
            (_, property, Some(series)) => words_of(workspace, *property, series, words),
            (_, _, None) => String::new(),
        };
        let own = match (property, chosen) {
            (Property::Colour | Property::Pattern, Some(series)) => style.patch(theme.line(series).style),
            _ => style,
        };
        put(buffer, x, row.y, left, &cut(&text, left), own);
    }
}
