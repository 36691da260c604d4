//! The form of the tables of keys: a line for each binding, so that rows are easy to compare.

/// Makes groups of bindings. A row is: contexts, command, keys, `also` more keys, label, `brief` label.
/// Labels are in English, Korean, Japanese and Russian. A `group` is a line of the help screen, below the
/// heading of its task; a `hidden` one is not.
macro_rules! keys {
    (@in_help group) => { true };
    (@in_help hidden) => { false };
    (@task) => { Task::Screens };
    (@task $task:ident) => { Task::$task };
    (@optional) => { None };
    (@optional $value:tt) => { Some($value) };
    ($($kind:ident $(for $task:ident)? {$(
        $contexts:ident $command:ident [$($key:expr),*] $(also [$($also:expr),*])?
        : $label:tt $(brief $brief:tt)?;
    )*})*) => {
        &[$(Group {
            task: keys!(@task $($task)?),
            in_help: keys!(@in_help $kind),
            bindings: &[$(KeyBinding {
                contexts: $contexts,
                command: Command::$command,
                keys: &[$($key),*],
                also: &[$($($also),*)?],
                label: $label,
                brief: keys!(@optional $($brief)?),
            }),*],
        }),*]
    };
}

pub(super) use keys;
