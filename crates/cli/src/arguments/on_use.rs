//! Arguments of a command that are built only when the command line names the command.
//!
//! The whole command line has some 800 arguments. Building them all took half of the time of a short command.

use std::cell::Cell;
use std::ops::Deref;

use clap::builder::{Resettable, StyledStr};
use clap::{ArgMatches, Args, Command, Error, FromArgMatches, Id};

thread_local! {
    /// Whether commands that are built now leave their arguments for later.
    static DEFERS: Cell<bool> = const { Cell::new(false) };
}

/// Builds a command line without the arguments of its subcommands: each one gets them when it is parsed.
pub(crate) fn deferred(build: fn() -> Command) -> Command {
    let before = DEFERS.replace(true);
    let command = build();
    DEFERS.set(before);
    command
}

/// The arguments of one command.
#[derive(Debug)]
pub(crate) struct OnUse<T>(pub(crate) T);

impl<T> Deref for OnUse<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T: FromArgMatches> FromArgMatches for OnUse<T> {
    fn from_arg_matches(matches: &ArgMatches) -> Result<OnUse<T>, Error> {
        T::from_arg_matches(matches).map(OnUse)
    }

    fn from_arg_matches_mut(matches: &mut ArgMatches) -> Result<OnUse<T>, Error> {
        T::from_arg_matches_mut(matches).map(OnUse)
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        self.0.update_from_arg_matches(matches)
    }

    fn update_from_arg_matches_mut(&mut self, matches: &mut ArgMatches) -> Result<(), Error> {
        self.0.update_from_arg_matches_mut(matches)
    }
}

impl<T: Args> Args for OnUse<T> {
    fn group_id() -> Option<Id> {
        T::group_id()
    }

    fn augment_args(command: Command) -> Command {
        if DEFERS.get() { command.defer(with_arguments::<T>) } else { T::augment_args(command) }
    }

    fn augment_args_for_update(command: Command) -> Command {
        T::augment_args_for_update(command)
    }
}

/// Adds the arguments. The texts of the command are already there, and stay.
fn with_arguments<T: Args>(command: Command) -> Command {
    let (about, long) = (command.get_about().cloned(), command.get_long_about().cloned());
    let after = command.get_after_help().cloned();
    T::augment_args(command).about(kept(about)).long_about(kept(long)).after_help(kept(after))
}

fn kept(text: Option<StyledStr>) -> Resettable<StyledStr> {
    text.map_or(Resettable::Reset, Resettable::Value)
}
