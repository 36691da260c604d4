//! Functions of the performance data helper that are not there yet: they say so, and touch nothing.
//!
//! `docs/c-interface.md` lists them.

use crate::status::{self, Done};

pub(crate) const fn one<A: Copy>(_: A) -> Done {
    Err(status::NOT_IMPLEMENTED)
}

pub(crate) const fn two<A: Copy, B: Copy>(_: A, _: B) -> Done {
    Err(status::NOT_IMPLEMENTED)
}

pub(crate) const fn three<A: Copy, B: Copy, C: Copy>(_: A, _: B, _: C) -> Done {
    Err(status::NOT_IMPLEMENTED)
}

pub(crate) const fn four<A: Copy, B: Copy, C: Copy, D: Copy>(_: A, _: B, _: C, _: D) -> Done {
    Err(status::NOT_IMPLEMENTED)
}
