//! The kernel's text files, each parsed by a pure function from bytes to a structure.
//!
//! You give the bytes of a whole file, you get what it says, in the file's own units. Nothing here opens a file,
//! asks for the time or keeps anything between two calls.

pub mod error;
pub mod scan;

pub use error::ParseError;
