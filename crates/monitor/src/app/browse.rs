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
use crate::workspace::feed::{AT_ONCE, Feed, sampled};

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
/// There is no terminal, or the names of the source cannot be read. The terminal is restored before this
/// returns.
pub fn browse(
    query: Query,
    begin: Option<(TitleIndex, TitleIndex)>,
    mut act: impl FnMut(String) -> ControlFlow<()>,
) -> io::Result<()> {
    let words = Words::of(query.names().preferred());
    let theme = Theme::new(Colours::of_environment(), Glyphs::of_environment());
    let hosts = vec![query.system_name().to_string()];
    let (mut sampler, query) = sampled(query)?;
    let feed = Feed { query, listener: Some(sampler.listener()) };
    let mut dialog = AddDialog::open(feed, hosts, 0, begin).map_err(io::Error::other)?;
    let mut screen = FullScreen::open()?;
    let mut next = Instant::now();
    let mut is_new = true;
    loop {
        if Instant::now() >= next {
            sampler.tick();
            next = Instant::now() + PACE;
        }
        // A fast source answers before anything is drawn, a slow one later.
        let patience = if is_new { AT_ONCE } else { Duration::ZERO };
        is_new = false;
        let since = Instant::now();
        while let Some(sample) = sampler.poll(patience.saturating_sub(since.elapsed())) {
            dialog.take_sample(Some(&sample));
            if !dialog.awaits() {
                break;
            }
        }
        dialog.instances_come(patience.saturating_sub(since.elapsed()));
        screen.show(|frame| {
            let area = frame.area();
            dialog.drawn(frame.buffer_mut(), area, words, theme);
        })?;
        let attention = if dialog.awaits() || sampler.is_waiting() { AT_ONCE } else { PACE };
        if !poll(next.saturating_duration_since(Instant::now()).min(attention))? {
            continue;
        }
        is_new = !dialog.awaits();
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
