//! What was typed, where a terminal says the same about two keys as about one, or something else than the key.

use crossterm::event::{Event, KeyCode, KeyEvent, KeyModifiers};

/// Terminals send Alt with a key as Escape and the key.
const ALT_IS_ESCAPE: bool = cfg!(unix);

/// An event, after the Escape that was typed before it and came in one piece with it.
///
/// No key means anything with Alt here, and who types faster than a busy machine reads wants both keys. Two Escapes in one
/// piece can not be told from one: crossterm makes one of them.
pub(crate) fn unfolded(event: Event) -> impl Iterator<Item = Event> {
    let (escape, event) = match event {
        Event::Key(key) if ALT_IS_ESCAPE && key.modifiers.contains(KeyModifiers::ALT) => {
            let modifiers = key.modifiers.difference(KeyModifiers::ALT);
            let escape = Event::Key(KeyEvent { code: KeyCode::Esc, modifiers: KeyModifiers::NONE, ..key });
            (Some(escape), Event::Key(KeyEvent { modifiers, ..key }))
        }
        other => (None, other),
    };
    let event = match event {
        Event::Key(key) if is_line_feed(&key) => {
            Event::Key(KeyEvent { code: KeyCode::Enter, modifiers: KeyModifiers::NONE, ..key })
        }
        other => other,
    };
    escape.into_iter().chain([event])
}

/// Whether it is Enter as a terminal tells it that nobody has told yet to pass keys as they are: typed while a log was being
/// opened, before the first picture.
fn is_line_feed(key: &KeyEvent) -> bool {
    key.code == KeyCode::Char('j') && key.modifiers == KeyModifiers::CONTROL
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn keys_are_what_was_meant() {
        let key = |code, modifiers| Event::Key(KeyEvent::new(code, modifiers));
        let escape = key(KeyCode::Esc, KeyModifiers::NONE);
        let control = KeyModifiers::CONTROL;
        for (event, expected) in [
            (
                key(KeyCode::Char('q'), KeyModifiers::ALT),
                vec![escape.clone(), key(KeyCode::Char('q'), KeyModifiers::NONE)],
            ),
            (
                key(KeyCode::Char('z'), KeyModifiers::ALT | control),
                vec![escape.clone(), key(KeyCode::Char('z'), control)],
            ),
            (escape.clone(), vec![escape.clone()]),
            (key(KeyCode::Char('j'), control), vec![key(KeyCode::Enter, KeyModifiers::NONE)]),
            (key(KeyCode::Char('j'), KeyModifiers::NONE), vec![key(KeyCode::Char('j'), KeyModifiers::NONE)]),
            (Event::Resize(3, 4), vec![Event::Resize(3, 4)]),
        ] {
            assert_eq!(unfolded(event.clone()).collect::<Vec<_>>(), expected, "{event:?}");
        }
    }
}
