//! Keys as the user typed them, where the terminal reports two keys as one, or another key.

use crossterm::event::{Event, KeyCode, KeyEvent, KeyModifiers};

/// Terminals send Alt and a key as Escape and the key.
const ALT_IS_ESCAPE: bool = cfg!(unix);

/// An event, preceded by the Escape that arrived in one piece with it.
///
/// Alt has no meaning here, and a user who types faster than a busy machine reads means both keys. Two
/// Escapes in one piece look like one: crossterm merges them.
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

/// Whether it is Enter as a terminal sends it before raw mode: typed while a log was being opened, before the
/// first picture.
fn is_line_feed(key: &KeyEvent) -> bool {
    key.code == KeyCode::Char('j') && key.modifiers == KeyModifiers::CONTROL
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn merged_and_translated_keys_are_restored() {
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
