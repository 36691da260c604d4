//! The command as it is run: options of both kinds, exit codes, texts, and many processes of which some are
//! killed.
#![allow(clippy::unwrap_used, reason = "a test that fails is to panic")]

mod bridges;
mod kills;
mod known_bugs;
mod options;
mod support;
mod texts;
