//! Tests of the lookup: no key does two things on one screen, and lists keep the chosen line inside.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use super::binding::{Command, Context};
use super::lookup::{command, moved};
use super::table::bindings;

#[test]
fn a_key_does_one_thing_on_a_screen() {
    let bindings: Vec<_> = bindings().collect();
    for (nth, one) in bindings.iter().enumerate() {
        for other in bindings.iter().skip(nth + 1) {
            for context in one.contexts.iter().filter(|context| other.contexts.contains(context)) {
                let shared = one.all_keys().find(|key| other.all_keys().any(|known| known == *key));
                assert_eq!(shared, None, "{:?} and {:?} in {context:?}", one.command, other.command);
            }
        }
    }
}

#[test]
fn ctrl_makes_another_key_of_a_letter() {
    let key = |letter, modifiers| KeyEvent::new(KeyCode::Char(letter), modifiers);
    for (letter, modifiers, expected) in [
        ('t', KeyModifiers::NONE, Some(Command::Live)),
        ('t', KeyModifiers::CONTROL, Some(Command::BackToNow)),
        ('q', KeyModifiers::CONTROL, Some(Command::Properties)),
        ('w', KeyModifiers::CONTROL, None),
        ('4', KeyModifiers::NONE, Some(Command::Part)),
        ('7', KeyModifiers::NONE, None),
    ] {
        assert_eq!(command(Context::Chart, key(letter, modifiers)), expected, "{letter} {modifiers:?}");
    }
}

#[test]
fn keys_stay_within_the_list() {
    for (key, at, count, expected) in [
        (KeyCode::Up, 0, 3, Some(0)),
        (KeyCode::Char('j'), 2, 3, Some(2)),
        (KeyCode::End, 0, 0, Some(0)),
        (KeyCode::PageDown, 1, 30, Some(21)),
        (KeyCode::Enter, 1, 3, None),
    ] {
        let command = command(Context::Alerts, key.into());
        assert_eq!(command.and_then(|command| moved(command, at, count)), expected, "{key:?}");
    }
}
