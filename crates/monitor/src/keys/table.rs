//! The table of all key bindings.

use crate::keys::binding::{Group, KeyBinding};
use crate::keys::{chart_keys, dialog_keys};

/// All groups of bindings, those of the help screen first.
pub(crate) fn groups() -> impl Iterator<Item = &'static Group> {
    chart_keys::GROUPS.iter().chain(dialog_keys::GROUPS)
}

/// All bindings.
pub(crate) fn bindings() -> impl Iterator<Item = &'static KeyBinding> {
    groups().flat_map(|group| group.bindings)
}
