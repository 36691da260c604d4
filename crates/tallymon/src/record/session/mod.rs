//! Recording sessions: settings with a name, a process that records, and the logs that it leaves.
//!
//! A session is a small file of [settings](SessionSettings) in a [store](SessionStore). One process records
//! it, by [`record`], and holds a lock as long as it does; others [start](SessionStore::start),
//! [stop](SessionStore::stop) and look at it. Its logs have numbers; a ring keeps the last of them.
//!
//! Nothing in here prints. What goes wrong while a session records is in its [status](SessionStatus).

mod alert;
mod control;
mod error;
#[cfg_attr(windows, path = "folders/windows.rs")]
#[cfg_attr(not(windows), path = "folders/unix.rs")]
mod folders;
pub(super) mod remotes;
mod run;
mod service;
mod settings;
mod socket;
mod status;
mod store;
mod text;
mod uploads;

pub use alert::{Alert, Alerts, Limit};
pub use control::SessionCopy;
pub use error::{SessionError, SettingsFault};
pub use run::{SessionActions, SessionQuery, record};
pub use settings::{OtlpExport, SessionHost, SessionSettings, is_session_name};
pub use status::{SessionState, SessionStatus};
pub use store::SessionStore;
