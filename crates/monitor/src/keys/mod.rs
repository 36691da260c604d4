//! The key bindings: one table says which key does what on which screen, in four languages.
//!
//! The screens look their keys up in it, and the help screen, the footers and `docs/monitor-keys.md` are made
//! from it.

pub(crate) mod binding;
mod chart_keys;
mod dialog_keys;
mod footers;
pub(crate) mod lookup;
#[cfg(test)]
mod lookup_tests;
#[cfg(test)]
mod manual;
pub(crate) mod show;
#[cfg(test)]
mod show_tests;
mod table;
mod table_macro;
pub(crate) mod tour;
