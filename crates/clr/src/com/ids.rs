//! Numbers that the runtime gives.

/// The runtime's name for a function, a class, a module, a thread: an address that means nothing to us.
pub(crate) type Id = usize;

/// A metadata token.
pub(crate) type Token = u32;

/// A result code; negative ones are failures.
pub(crate) type Hresult = i32;
