//! The step of a connection that is being done, for messages.

use std::borrow::Cow;
use std::cell::RefCell;

/// What is being done, for messages.
pub(super) struct Step(RefCell<Cow<'static, str>>);

impl Step {
    pub(super) const fn new(step: &'static str) -> Step {
        Step(RefCell::new(Cow::Borrowed(step)))
    }

    pub(super) fn set(&self, step: impl Into<Cow<'static, str>>) {
        self.0.replace(step.into());
    }

    pub(super) fn get(&self) -> Cow<'static, str> {
        self.0.borrow().clone()
    }
}
