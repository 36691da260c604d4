//! The type description of the running kernel.

use std::fmt::Display;
use std::sync::{Mutex, PoisonError};

use super::btf::Btf;
use super::refusal::Refusal;
use super::sys::Whole;

const TYPES: &str = "/sys/kernel/btf/vmlinux";

/// Looks up what a program needs to know about the running kernel. One lookup at a time, so that the type
/// description is never in memory twice.
pub(super) fn with_kernel_types<Found, Error: Display>(
    look: impl FnOnce(&Btf<'_>) -> Result<Found, Error>,
) -> Result<Found, Refusal> {
    static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
    let _alone = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    let types = Whole::read(TYPES).map_err(|error| Refusal {
        reason: format!("{TYPES} cannot be read: {error}"),
        remedy: "use a kernel that was built with CONFIG_DEBUG_INFO_BTF".to_string(),
    })?;
    let btf = Btf::parse(types.bytes()).map_err(|error| Refusal::of_kernel(error.to_string()))?;
    look(&btf).map_err(|error| Refusal::of_kernel(error.to_string()))
}
