//! Leaving the terminal on Windows: a process gets its own console, without a window, when it is started.

use std::os::windows::process::CommandExt;
use std::process::Command;

/// `CREATE_NO_WINDOW`: a console of its own that nobody sees. Programs that it starts have that one too.
pub(crate) const NO_WINDOW: u32 = 0x0800_0000;

/// `CREATE_NEW_PROCESS_GROUP`: no Ctrl-C of another process reaches it.
pub(crate) const NEW_GROUP: u32 = 0x200;

/// Nothing to do: the process was started without a terminal.
pub(crate) const fn detach() {}

/// Has a command start without the terminal of this process: closing that would end it.
pub(crate) fn start_apart(command: &mut Command) {
    command.creation_flags(NO_WINDOW | NEW_GROUP);
}
