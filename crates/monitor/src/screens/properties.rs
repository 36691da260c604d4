//! The properties: of the picture, and of the line that is chosen.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers, MouseButton, MouseEvent, MouseEventKind};
use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};

use crate::app::{App, Overlay};
use crate::model::{Axis, Grid, Scale, Series, Switch, format};
use crate::term::chart::PATTERNS;
use crate::term::frame::frame;
use crate::term::text::{cut, put, width};
use crate::words::{Word, Words};

/// What is open of the dialog: everything in it is changed at once, and Ctrl-Z takes it back.
#[derive(Debug, Default)]
pub(crate) struct Properties {
    /// Position of the chosen property.
    at: usize,
    /// What is typed instead of a text or a number.
    typed: Option<String>,
    /// Where each property stood on the last screen.
    places: Vec<Rect>,
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

/// How many of them are of the picture; the others are of the chosen line.
const OF_PICTURE: usize = 11;

impl Property {
    /// A text or a number, which can be typed.
    const fn is_typed(self) -> bool {
        matches!(self, Property::Title | Property::Label | Property::Maximum | Property::Minimum)
    }
}

impl Properties {
    fn chosen(&self) -> Property {
        PROPERTIES.get(self.at).map_or(Property::Title, |(property, _)| *property)
    }

    /// Text that was pasted is as if it was typed.
    pub(crate) fn paste(&mut self, text: &str) {
        if self.chosen().is_typed() {
            self.typed.get_or_insert_default().push_str(text.lines().next().unwrap_or_default());
        }
    }

    /// Without a line there are only those of the picture.
    fn choose(&mut self, app: &App, at: usize) {
        let count = if app.monitor.chosen().is_some() { PROPERTIES.len() } else { OF_PICTURE };
        self.at = at.min(count.saturating_sub(1));
        self.typed = None;
    }
}

/// A key while the dialog is open.
pub(crate) fn key(app: &mut App, mut dialog: Properties, key: KeyEvent) {
    let control = key.modifiers.contains(KeyModifiers::CONTROL);
    let property = dialog.chosen();
    match key.code {
        KeyCode::Char('c') if control => return,
        KeyCode::Char('z') if control => app.undo(),
        KeyCode::Char('u') if control => dialog.typed = property.is_typed().then(String::new),
        KeyCode::Esc if dialog.typed.is_none() => return,
        KeyCode::Esc => dialog.typed = None,
        KeyCode::Enter => match dialog.typed.take() {
            Some(text) => set(app, property, &text),
            None if property.is_typed() => dialog.typed = Some(text_of(app, property)),
            None => step(app, property, true),
        },
        KeyCode::Up | KeyCode::BackTab => dialog.choose(app, dialog.at.saturating_sub(1)),
        KeyCode::Down | KeyCode::Tab => dialog.choose(app, dialog.at.saturating_add(1)),
        KeyCode::Left if dialog.typed.is_none() => step(app, property, false),
        KeyCode::Right if dialog.typed.is_none() => step(app, property, true),
        KeyCode::Backspace if property.is_typed() => {
            let text = dialog.typed.get_or_insert_with(|| text_of(app, property));
            text.pop();
        }
        KeyCode::Char(letter) if !control && property.is_typed() => {
            dialog.typed.get_or_insert_default().push(letter);
        }
        _ => {}
    }
    app.overlay = Overlay::Properties(dialog);
}

/// A click chooses a property, and a click on the chosen one changes it.
pub(crate) fn mouse(app: &mut App, mut dialog: Properties, event: MouseEvent) {
    let place = Position { x: event.column, y: event.row };
    if event.kind == MouseEventKind::Down(MouseButton::Left)
        && let Some(at) = dialog.places.iter().position(|area| area.contains(place))
    {
        if at == dialog.at {
            return key(app, dialog, KeyCode::Enter.into());
        }
        dialog.choose(app, at);
    }
    app.overlay = Overlay::Properties(dialog);
}

/// Takes what was typed.
fn set(app: &mut App, property: Property, text: &str) {
    let text = text.trim();
    let picture = &mut app.monitor.picture;
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
                None => app.message = Some(format!("{text}: {}", app.words.get(Word::NoAxis))),
            }
        }
        _ => {}
    }
}

/// The next value of a property, or the one before.
fn step(app: &mut App, property: Property, forward: bool) {
    let picture = &mut app.monitor.picture;
    let next = |number: usize, count: usize| {
        number.saturating_add(if forward { 1 } else { count.saturating_sub(1) }) % count.max(1)
    };
    match property {
        Property::Title | Property::Label => {}
        Property::Maximum => picture.axis = picture.axis.step_maximum(forward),
        Property::Minimum => {
            // A tenth of what is between the ends.
            let step = (picture.axis.maximum() - picture.axis.minimum()) / 10.0;
            let minimum = picture.axis.minimum() + if forward { step } else { -step };
            picture.axis = Axis::new(minimum, picture.axis.maximum()).unwrap_or(picture.axis);
        }
        Property::Grid => picture.grid = picture.grid.step(forward),
        Property::Switch(switch) => picture.parts.toggle(switch),
        Property::Scale => app.monitor.step_scale(forward),
        Property::Colour | Property::Pattern | Property::Width => {
            let Some(series) = app.monitor.chosen_mut() else { return };
            match property {
                // The pattern stays what it is when only the colour is another.
                Property::Colour => {
                    series.pattern.get_or_insert(series.colour % PATTERNS.len());
                    series.colour = next(series.colour % COLOURS, COLOURS);
                }
                Property::Pattern => {
                    let pattern = series.pattern.unwrap_or(series.colour) % PATTERNS.len();
                    series.pattern = Some(next(pattern, PATTERNS.len()));
                }
                _ => series.thick = !series.thick,
            }
        }
    }
}

/// How many colours lines have.
const COLOURS: usize = crate::term::theme::COLOUR_COUNT;

/// What a text or a number is now.
fn text_of(app: &App, property: Property) -> String {
    let picture = &app.monitor.picture;
    match property {
        Property::Title => picture.title.clone(),
        Property::Label => picture.label.clone(),
        Property::Maximum => picture.axis.maximum().to_string(),
        Property::Minimum => picture.axis.minimum().to_string(),
        _ => String::new(),
    }
}

/// What a property of a line is now, in words.
fn words_of(app: &App, property: Property, series: &Series, words: Words) -> String {
    match property {
        Property::Colour => (series.colour % COLOURS).saturating_add(1).to_string(),
        Property::Pattern => {
            let pattern = series.pattern.unwrap_or(series.colour) % PATTERNS.len();
            format!("{} {}", pattern.saturating_add(1), app.theme.sample(series).0)
        }
        Property::Width => words.get(if series.thick { Word::Thick } else { Word::Thin }).to_string(),
        _ => {
            let scale = format::scale(app.monitor.power(series));
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

pub(crate) fn draw(app: &mut App, buffer: &mut Buffer, area: Rect) {
    match std::mem::take(&mut app.overlay) {
        Overlay::Properties(dialog) => {
            app.overlay = Overlay::Properties(drawn(app, dialog, buffer, area));
        }
        other => app.overlay = other,
    }
}

fn drawn(app: &App, mut dialog: Properties, buffer: &mut Buffer, area: Rect) -> Properties {
    let (words, theme) = (app.words, app.theme);
    let chosen = app.monitor.chosen();
    let count = if chosen.is_some() { PROPERTIES.len() } else { OF_PICTURE };
    // A line of its own says which line the last ones are of.
    let rows = u16::try_from(count).unwrap_or(0).saturating_add(2 + u16::from(chosen.is_some()));
    let keys = words.get(Word::PropertiesKeys);
    let inside = frame(buffer, area, (72, rows), words.get(Word::PropertiesTitle), keys, theme);
    let names = PROPERTIES.iter().map(|(_, word)| width(words.get(*word))).max().unwrap_or(0);
    // Where there are fewer rows, what is above the chosen one goes.
    let chosen_at = u16::try_from(dialog.at).unwrap_or(0).saturating_add(u16::from(dialog.at >= OF_PICTURE));
    let above = chosen_at.saturating_sub(inside.height.saturating_sub(1));
    let mut at = 0u16;
    let mut next_row = || {
        let row =
            at.checked_sub(above).map(|row| Rect { y: inside.y.saturating_add(row), height: 1, ..inside });
        at = at.saturating_add(1);
        row.filter(|row| row.y < inside.bottom())
    };
    dialog.places.clear();
    for (number, (property, word)) in PROPERTIES.iter().enumerate().take(count) {
        if number == OF_PICTURE
            && let Some(series) = chosen
            && let Some(row) = next_row()
        {
            let columns = row.width.saturating_sub(2);
            put(buffer, row.x.saturating_add(1), row.y, columns, &cut(&series.path, columns), theme.dim());
        }
        let row = next_row();
        dialog.places.push(row.unwrap_or_default());
        let Some(row) = row else { continue };
        let is_chosen = number == dialog.at;
        let style = if is_chosen { theme.selected() } else { theme.plain() };
        buffer.set_style(row, style);
        put(buffer, row.x.saturating_add(1), row.y, names, words.get(*word), style);
        let x = row.x.saturating_add(names).saturating_add(3);
        let left = row.right().saturating_sub(x);
        let text = match (&dialog.typed, property, chosen) {
            (Some(typed), _, _) if is_chosen => format!("{typed}{}", theme.either("▏", "_")),
            (_, Property::Grid, _) => words.get(grid_word(app.monitor.picture.grid)).to_string(),
            (_, Property::Switch(switch), _) => {
                let on = app.monitor.picture.parts.has(*switch);
                words.get(if on { Word::On } else { Word::Off }).to_string()
            }
            (_, property, _) if property.is_typed() => text_of(app, *property),
            (_, property, Some(series)) => words_of(app, *property, series, words),
            (_, _, None) => String::new(),
        };
        let own = match (property, chosen) {
            (Property::Colour | Property::Pattern, Some(series)) => style.patch(theme.line(series).style),
            _ => style,
        };
        put(buffer, x, row.y, left, &cut(&text, left), own);
    }
    dialog
}
