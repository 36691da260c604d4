//! The form of the tables of keys: a line for each binding, so that rows are easy to compare.

/// Makes groups of bindings. A row is: contexts, command, keys, `also` more keys, label, `brief` label.
/// Labels are in English, Korean, Japanese and Russian. A `group` is a line of the help screen, with an
/// optional title; a `hidden` one is not.
macro_rules! keys {
    (@in_help group) => { true };
    (@in_help hidden) => { false };
    (@optional) => { None };
    (@optional $value:tt) => { Some($value) };
    ($($kind:ident $(titled $title:tt)? {$(
        $contexts:ident $command:ident [$($key:expr),*] $(also [$($also:expr),*])?
        : $label:tt $(brief $brief:tt)?;
    )*})*) => {
        &[$(Group {
            title: keys!(@optional $($title)?),
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
