//! From a key to what it does.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use crate::keys::binding::{Command, Context};
use crate::keys::table::bindings;

/// What a key does in a context.
pub(crate) fn command(context: Context, key: KeyEvent) -> Option<Command> {
    let mut here = bindings().filter(|binding| binding.contexts.contains(&context));
    here.find(|binding| binding.all_keys().any(|known| known.is(key))).map(|binding| binding.command)
}

/// The letter that a key types.
pub(crate) fn typed(key: KeyEvent) -> Option<char> {
    match key.code {
        KeyCode::Char(letter) if !key.modifiers.contains(KeyModifiers::CONTROL) => Some(letter),
        _ => None,
    }
}

/// The line that a command chooses in a list of so many; `None` for a command that means something else.
pub(crate) fn moved(command: Command, at: usize, count: usize) -> Option<usize> {
    const PAGE: usize = 20;
    let last = count.saturating_sub(1);
    let to = match command {
        Command::Previous => at.saturating_sub(1),
        Command::Next => at.saturating_add(1),
        Command::PageBack => at.saturating_sub(PAGE),
        Command::PageForward => at.saturating_add(PAGE),
        Command::First => 0,
        Command::Last => last,
        _ => return None,
    };
    Some(to.min(last))
}
