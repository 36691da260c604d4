//! The folders of the registries of the system and of the user.

use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};

use tallymon_provider::environment::ROOT;

use super::files::{default_state_folder, default_system_folder};

/// Whose registry it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Scope {
    /// The registry of the machine, which every user reads.
    System,
    /// The registry of one user, which only that user's programs read. Its entries win over those of the
    /// system.
    User,
}

/// The highest index that NT's own texts have.
pub const BASE_INDEX: u32 = 1847;

/// The indexes of the built-in objects and counters that NT does not have. Each means the same on every
/// machine and in every version: an index that is no longer used is never assigned again.
pub const OWN_INDEXES: RangeInclusive<u32> = 900_000..=999_999;

/// The first index that no registry ever assigns; programs that assign indexes at run time start here.
pub const FIRST_INDEX_OUTSIDE: u32 = 2_000_000;

impl Scope {
    /// The indexes that a registry of this scope assigns to names and help texts.
    ///
    /// The two ranges are separate: something that a user has installed must keep its indexes when the system
    /// gets something new.
    pub const fn indexes(self) -> RangeInclusive<u32> {
        match self {
            Scope::System => BASE_INDEX + 1..=OWN_INDEXES.start().saturating_sub(1),
            Scope::User => 1_000_000..=FIRST_INDEX_OUTSIDE - 1,
        }
    }

    /// The word for it.
    pub const fn word(self) -> &'static str {
        match self {
            Scope::System => "system",
            Scope::User => "user",
        }
    }
}

/// The folders of both registries.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Roots {
    /// Folder of the system's registry.
    pub system: PathBuf,
    /// Folder of the user's; `None` for a program without a home.
    pub user: Option<PathBuf>,
}

impl Roots {
    /// The folders that the environment names.
    ///
    /// `/var/lib/tallymon/registry` for the system and `$XDG_STATE_HOME/tallymon/registry` for the user;
    /// `$TALLY_ROOT/registry` and `$TALLY_ROOT/user/registry` when that variable is set.
    pub fn of_environment() -> Roots {
        match ROOT.value() {
            Some(root) => Roots::in_folder(Path::new(&root)),
            None => Roots {
                system: default_system_folder().join("registry"),
                user: default_state_folder().map(|folder| folder.join("registry")),
            },
        }
    }

    /// Both in one folder, as with `TALLY_ROOT`.
    pub fn in_folder(root: &Path) -> Roots {
        Roots { system: root.join("registry"), user: Some(root.join("user").join("registry")) }
    }

    /// The folder of a scope.
    pub fn folder(&self, scope: Scope) -> Option<&Path> {
        match scope {
            Scope::System => Some(&self.system),
            Scope::User => self.user.as_deref(),
        }
    }
}
