//! Which objects are shown: those that have a source, or all objects of NT.

use std::fmt;
use std::str::FromStr;

use crate::environment;

/// Selects the built-in objects.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash)]
pub enum Profile {
    /// Objects that this system has a source for.
    #[default]
    LinuxHonest,
    /// All objects of NT, those without any source among them: for old scripts that count on their names and
    /// indexes.
    NtStrict,
}

impl Profile {
    /// The environment variable that names the profile.
    pub const VARIABLE: &str = environment::PROFILE.name;

    /// The profile in the environment; [`Profile::LinuxHonest`] when the variable is not set.
    ///
    /// # Errors
    ///
    /// The variable [`Profile::VARIABLE`] names no profile.
    pub fn of_environment() -> Result<Profile, UnknownProfile> {
        match environment::PROFILE.value() {
            Some(word) => word.to_string_lossy().parse(),
            None => Ok(Profile::LinuxHonest),
        }
    }
}

impl fmt::Display for Profile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Profile::LinuxHonest => "linux-honest",
            Profile::NtStrict => "nt-strict",
        })
    }
}

/// A word that names no profile.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnknownProfile {
    /// The word.
    pub word: String,
}

impl fmt::Display for UnknownProfile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` is not a profile; there are linux-honest and nt-strict", self.word)
    }
}

impl std::error::Error for UnknownProfile {}

impl FromStr for Profile {
    type Err = UnknownProfile;

    /// `linux-honest` or `nt-strict`, in any case.
    fn from_str(word: &str) -> Result<Profile, UnknownProfile> {
        match word.to_ascii_lowercase().as_str() {
            "linux-honest" => Ok(Profile::LinuxHonest),
            "nt-strict" => Ok(Profile::NtStrict),
            _ => Err(UnknownProfile { word: word.to_string() }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words() {
        for profile in [Profile::LinuxHonest, Profile::NtStrict] {
            assert_eq!(profile.to_string().to_uppercase().parse(), Ok(profile));
        }
        let error = "nt".parse::<Profile>().unwrap_err();
        assert_eq!(error.to_string(), "`nt` is not a profile; there are linux-honest and nt-strict");
    }
}
