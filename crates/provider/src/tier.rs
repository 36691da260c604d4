//! How processes, threads, processors and network protocols are read: the choices on this machine.

use std::fmt;
use std::str::FromStr;

use crate::environment;

/// How processes and threads are read, and what the kernel counts for each processor. All tiers give the same
/// counters; a higher tier costs less and is denied fewer values.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Tier {
    /// The text of each process and its CPU clock, as any user may. I/O of other users' processes is denied
    /// without CAP_SYS_PTRACE, which root has.
    T0,
    /// All at once by a program in the kernel (CAP_BPF and CAP_PERFMON, Linux 5.8, best from 6.7 on). Counts
    /// of processors from Linux 6.4 on; before that they are read from their files in this tier as well.
    T2,
}

/// Which tier is wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash)]
pub enum TierChoice {
    /// The best tier that works: files for the first two samples, then the best tier that is allowed, which
    /// is probed in the background. When a tier fails, reading gets slower and no counter is lost.
    #[default]
    Auto,
    /// This one.
    Only(Tier),
}

impl TierChoice {
    /// The environment variable that names the tier.
    pub const VARIABLE: &str = environment::TIER.name;

    /// The tier in the environment; [`TierChoice::Auto`] when the variable is not set.
    ///
    /// # Errors
    ///
    /// The variable [`TierChoice::VARIABLE`] names no tier.
    pub fn of_environment() -> Result<TierChoice, UnknownTier> {
        match environment::TIER.value() {
            Some(word) => word.to_string_lossy().parse(),
            None => Ok(TierChoice::Auto),
        }
    }
}

impl fmt::Display for Tier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Tier::T0 => "T0",
            Tier::T2 => "T2",
        })
    }
}

/// A word that names no tier.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnknownTier {
    /// The word.
    pub word: String,
}

impl fmt::Display for UnknownTier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` is not a tier; there are t0, t2 and auto", self.word)
    }
}

impl std::error::Error for UnknownTier {}

impl FromStr for TierChoice {
    type Err = UnknownTier;

    /// `t0`, `t2` or `auto`, in any case.
    fn from_str(word: &str) -> Result<TierChoice, UnknownTier> {
        match word.to_ascii_lowercase().as_str() {
            "auto" => Ok(TierChoice::Auto),
            "t0" => Ok(TierChoice::Only(Tier::T0)),
            "t2" => Ok(TierChoice::Only(Tier::T2)),
            _ => Err(UnknownTier { word: word.to_string() }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words() {
        for (word, choice) in [
            ("auto", TierChoice::Auto),
            ("T0", TierChoice::Only(Tier::T0)),
            ("t2", TierChoice::Only(Tier::T2)),
        ] {
            assert_eq!(word.parse(), Ok(choice));
        }
        let error = "t1".parse::<TierChoice>().unwrap_err();
        assert_eq!(error.to_string(), "`t1` is not a tier; there are t0, t2 and auto");
    }
}
