//! The service of Windows that records the sessions which start with the machine.
//!
//! | module | holds |
//! |---|---|
//! | `supervisor` | the sessions of the service, each in a process of its own: begun, restarted, ended |
//! | `windows` | the service in the service manager: install, start, stop, remove, look at |
//! | `running` | the process of the service, as the service manager calls it |

#[cfg_attr(windows, path = "windows.rs")]
#[cfg_attr(not(windows), path = "other.rs")]
mod platform;
#[cfg(windows)]
mod running;
#[cfg(any(windows, test))]
mod supervisor;

#[cfg(windows)]
pub(super) use platform::{check_installable, ensure_installed, wake};
pub(crate) use platform::{install, run, start, status, stop, uninstall};
