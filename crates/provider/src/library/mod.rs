//! Provider libraries: shared libraries with NT's functions Open, Collect and Close.
//!
//! Nobody knows what such a library does, so by default it is loaded by a child process, `tally-host`, and what comes
//! from there is checked like any foreign input. You give a registration and the query string of a request; you get
//! the bytes of objects that can be put into a data block, or events that say why there are none.
//!
//! | module | what it does |
//! |---|---|
//! | [`event`] | what is reported, with NT's ids and fields |
//! | [`check`] | looks at what Collect returned; pure |
//! | [`protocol`] | the messages between this process and the child; pure |
//!
//! It does not know which libraries are registered, or who is to be asked for what.

pub mod check;
pub mod event;
pub mod protocol;
