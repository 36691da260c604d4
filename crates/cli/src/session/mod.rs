//! Recording sessions: settings with a name, a process that records, and logs that it leaves.
//!
//! | module | holds |
//! |---|---|
//! | `settings` | what a session is, as a file |
//! | `store` | where sessions are, who is recording, how one is asked for something |
//! | `run` | the recording process |
//! | `detach` | leaving the terminal, as systems do it |
//! | `unit` | starting with the machine |
//! | `control` | start, stop, update, snapshot |

pub(crate) mod control;
#[cfg_attr(unix, path = "detach/unix.rs")]
#[cfg_attr(not(unix), path = "detach/other.rs")]
pub(crate) mod detach;
pub(crate) mod run;
pub(crate) mod settings;
pub(crate) mod store;
mod unit;
