//! Events to subscribe to, the low word.

/// Functions that are unloaded.
pub(crate) const FUNCTION_UNLOADS: u32 = 1;
/// Modules.
pub(crate) const MODULE_LOADS: u32 = 4;
/// Compilation, and with it the question whether to inline.
pub(crate) const JIT_COMPILATION: u32 = 0x20;
/// Exceptions.
pub(crate) const EXCEPTIONS: u32 = 0x40;
/// Threads.
pub(crate) const THREADS: u32 = 0x200;
/// Enter, leave and tail call.
pub(crate) const ENTERLEAVE: u32 = 0x1000;
/// Methods may be compiled again on request.
pub(crate) const ENABLE_REJIT: u32 = 0x4_0000;
/// Nothing is inlined anywhere.
pub(crate) const DISABLE_INLINING: u32 = 0x20_0000;
