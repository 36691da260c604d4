//! What the user works on: the query and its history, an opened log, a log to compare with.
//!
//! Screens draw it and change it. It knows no screen and no key.
//!
//! | file | holds |
//! |---|---|
//! | `state` | [`state::Workspace`], and how the counters are shown |
//! | `counters`, `lines`, `top` | counters added and removed, lines of the legend, top contributors |
//! | `feed`, `sampling` | the sampler of the live source, and what the chart takes from it |
//! | `machines`, `machine`, `health` | several live machines at once, each of them, and how it answers |
//! | `time` | times as the user reads and types them |
//! | `open`, `reading`, `seek`, `playback`, `notes` | an opened log |
//! | `hosts` | the hosts of a log, or the live machines |
//! | `findings`, `findings_state` | what is wrong in the history or in the log, found on a thread |
//! | `folding`, `fold` | which instances of a path are one line |
//! | `compare` | a log that is compared with what is shown |
//! | `undo`, `copy`, `jobs` | undo, the clipboard, and work outside the screen |

mod compare;
mod copy;
mod counters;
pub(crate) mod feed;
pub(crate) mod findings;
pub(crate) mod findings_state;
pub(crate) mod fold;
pub(crate) mod folding;
mod health;
mod hosts;
mod jobs;
mod lines;
mod machine;
pub(crate) mod machines;
mod notes;
mod open;
pub(crate) mod options;
pub(crate) mod overview;
mod playback;
mod reading;
pub(crate) mod sampling;
pub(crate) mod seek;
pub(crate) mod state;
pub(crate) mod time;
mod top;
pub(crate) mod undo;
