//! The monitor with a scripted source and a screen in memory.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that fails is to panic")]

mod alerts;
mod compare;
mod fake;
mod findings;
mod folding;
mod history;
mod log;
mod look;
mod machine;
mod machines;
mod mouse;
mod overview;
mod panic;
mod properties;
mod providers;
mod raw;
mod screens;
mod sessions;
mod several;
mod slow;
mod switches;
mod ticks;
mod use_it;
