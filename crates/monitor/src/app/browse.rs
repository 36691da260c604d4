//! The add dialog alone, for programs that let the user choose counters.

use std::io;
use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use crossterm::event::{Event, KeyEventKind, poll, read};
use tallymon::Query;
use tallymon::core::title::TitleIndex;

use crate::screens::add::dialog::{AddDialog, Asked};
use crate::term::chart::Glyphs;
use crate::term::input::unfolded;
use crate::term::terminal::FullScreen;
use crate::term::theme::{Colours, Theme};
use crate::words::Words;

/// Time between two samples of the previewed counter.
const PACE: Duration = Duration::from_secs(1);

/// Shows the add dialog over a query without paths, until the user closes it; it begins at a counter, or at
/// the first one.
///
/// `act` gets each chosen path at once, in English, and returns whether the dialog continues. The dialog uses
/// the terminal of standard output, or that of standard error when standard output goes elsewhere.
///
/// # Errors
///
/// There is no terminal, or the names of the source can not be read. The terminal is restored before this
/// returns.
pub fn browse(
    query: Query,
    begin: Option<(TitleIndex, TitleIndex)>,
    mut act: impl FnMut(String) -> ControlFlow<()>,
) -> io::Result<()> {
    let words = Words::of(query.names().preferred());
    let theme = Theme::new(Colours::of_environment(), Glyphs::of_environment());
    let hosts = vec![query.system_name().to_string()];
    let mut dialog = AddDialog::open(query, hosts, 0, begin).map_err(io::Error::other)?;
    let mut screen = FullScreen::open()?;
    let mut next = Instant::now();
    loop {
        if Instant::now() >= next {
            dialog.collect();
            next = Instant::now() + PACE;
        }
        screen.show(|frame| {
            let area = frame.area();
            dialog.drawn(frame.buffer_mut(), area, words, theme);
        })?;
        if !poll(next.saturating_duration_since(Instant::now()))? {
            continue;
        }
        for event in unfolded(read()?) {
            match event {
                Event::Key(key) if key.kind != KeyEventKind::Release => match dialog.dialog_key(key) {
                    Asked::Close => return Ok(()),
                    Asked::Add(path) => {
                        if act(path).is_break() {
                            return Ok(());
                        }
                    }
                    // There is only one host.
                    Asked::Host(_) | Asked::Nothing => {}
                },
                Event::Paste(text) => dialog.search_for(&text),
                Event::Resize(..) => screen.resize()?,
                _ => {}
            }
        }
    }
}
