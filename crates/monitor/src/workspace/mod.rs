//! What the user works on: the query, what was seen of it, an opened log, a log that is compared with it.

pub(crate) mod compare;
pub(crate) mod copy;
pub(crate) mod hosts;
pub(crate) mod jobs;
pub(crate) mod open;
pub(crate) mod options;
pub(crate) mod playback;
pub(crate) mod reading;
pub(crate) mod sampling;
pub(crate) mod seek;
pub(crate) mod undo;
