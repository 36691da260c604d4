//! Health and cost of a source of counters, as the object "Tallymon Provider" and `tally doctor` show them.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use tallymon_core::block::WriteCounts;
use tallymon_core::flow::Absence;
use tallymon_core::title::{Language, TitleIndex};

/// The health of one source and what it has cost in this process. A source is a built-in object, a provider
/// library, or a program that publishes counters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourceStatus {
    /// The name of the source.
    pub name: SourceName,
    /// How often it was read.
    pub collections: u64,
    /// How long reading it took in total.
    pub busy: Duration,
    /// How long it took the last time.
    pub last: Duration,
    /// How many of the collections went wrong, in whole or in part.
    pub errors: u64,
    /// How often it did not answer in time; `None` for a source without a time limit.
    pub late: Option<u64>,
    /// How often it was restarted; `None` for a source that is not a process of ours.
    pub restarts: Option<u64>,
    /// Its health when it was last read.
    pub health: Health,
    /// Why it is not healthy; empty when it is.
    pub reason: Cow<'static, str>,
    /// The languages that it brings names in. Empty for a built-in object, whose names are known, and for
    /// what has none.
    pub languages: Arc<[Language]>,
}

/// The name of a source.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum SourceName {
    /// A built-in object, shown by its English name.
    Object(TitleIndex),
    /// Any other source, by name. The name begins with the kind of source, as in `service Gadgets`, so that
    /// it is unique.
    Named(String),
}

/// The health of a source. The numbers are the values of the counter State.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
#[repr(u8)]
pub enum Health {
    /// It was not read yet.
    #[default]
    NotAsked = 0,
    /// It has a value for everything that can have one here.
    Healthy = 1,
    /// Some of its values are missing.
    Degraded = 2,
    /// This machine has nothing like it.
    Unsupported = 3,
    /// It should give something and does not.
    Failed = 4,
}

impl Health {
    /// The state in one or two words.
    pub const fn word(self) -> &'static str {
        match self {
            Health::NotAsked => "not asked",
            Health::Healthy => "healthy",
            Health::Degraded => "degraded",
            Health::Unsupported => "unsupported",
            Health::Failed => "failed",
        }
    }

    /// The health for a value of the counter State.
    pub fn of_number(number: f64) -> Option<Health> {
        let all = [Health::NotAsked, Health::Healthy, Health::Degraded, Health::Unsupported, Health::Failed];
        all.into_iter().find(|health| f64::from(*health as u8) == number)
    }

    /// What to do about a built-in object with this health and this reason; empty when there is nothing to
    /// do.
    pub fn remedy(self, reason: &str) -> &'static str {
        let denied = reason.contains(Absence::AccessDenied.words());
        match self {
            Health::NotAsked | Health::Healthy => "",
            _ if denied => "run tally as root, or with CAP_SYS_PTRACE",
            Health::Unsupported => "nothing to do: this machine has no source for it",
            Health::Degraded | Health::Failed => "'tally get' of its counters says why each one is missing",
        }
    }

    /// How a source is that wrote this, and why.
    ///
    /// A value that was not requested, or that Linux never has, is no loss. An object without instances is
    /// healthy: there is nothing to show at the moment.
    pub fn of(counts: &WriteCounts) -> (Health, Cow<'static, str>) {
        const TROUBLES: [Absence; 4] =
            [Absence::ReadFailed, Absence::AccessDenied, Absence::NotInThisKernel, Absence::Other];
        if counts.objects == 0 {
            return (Health::Unsupported, Cow::Borrowed(Absence::NotOnThisSystem.words()));
        }
        let there = counts.values.saturating_sub(counts.all_absent());
        let troubles: Vec<(Absence, u64)> = TROUBLES
            .into_iter()
            .map(|why| (why, counts.absent(why)))
            .filter(|(_, times)| *times > 0)
            .collect();
        let words = troubles.iter().map(|(why, times)| {
            let values = if *times == 1 { "value" } else { "values" };
            format!("{times} {values}: {}", why.words())
        });
        let words = words.collect::<Vec<_>>().join("; ");
        let is = |why| troubles.iter().any(|(trouble, _)| *trouble == why);
        let health = match (troubles.is_empty(), there) {
            (true, 0) if counts.values > 0 && nothing_asked(counts) => Health::Healthy,
            (true, 0) if counts.values > 0 => {
                let whys = [Absence::NotOnThisSystem, Absence::NotFromThisDevice, Absence::NotEnabled];
                let most = whys.into_iter().max_by_key(|why| counts.absent(*why));
                return (Health::Unsupported, Cow::Borrowed(most.map_or("", Absence::words)));
            }
            (true, _) => Health::Healthy,
            (false, 0) if is(Absence::ReadFailed) || is(Absence::AccessDenied) => Health::Failed,
            (false, 0) => Health::Unsupported,
            (false, _) => Health::Degraded,
        };
        (health, Cow::Owned(words))
    }
}

/// Whether values are missing only because none were requested, or because there are none yet.
fn nothing_asked(counts: &WriteCounts) -> bool {
    let idle = counts.absent(Absence::NotRequested).saturating_add(counts.absent(Absence::FirstSample));
    idle.saturating_add(counts.absent(Absence::Vanished)) > 0
}

impl SourceStatus {
    /// A source that was not read yet.
    pub fn new(name: SourceName) -> SourceStatus {
        SourceStatus {
            name,
            collections: 0,
            busy: Duration::ZERO,
            last: Duration::ZERO,
            errors: 0,
            late: None,
            restarts: None,
            health: Health::NotAsked,
            reason: Cow::Borrowed(""),
            languages: Arc::default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        CounterSpec, CounterType, Frequency, InstanceKind, ObjectLayout, ObjectSpec, ObjectsWriter, PerfTime,
    };

    const COUNTER: CounterSpec = CounterSpec::new(TitleIndex(5002), CounterType::PERF_COUNTER_RAWCOUNT);

    const OBJECT: ObjectSpec<'static> = ObjectSpec {
        status: true,
        ..ObjectSpec::new(TitleIndex(5000), InstanceKind::Many, &[COUNTER, COUNTER])
    };

    /// How an object is whose instances have values that are marked so.
    fn health(instances: &[[Option<Absence>; 2]]) -> (Health, String) {
        let (layout, mut buffer) = (ObjectLayout::new(OBJECT), Vec::new());
        let mut out = ObjectsWriter::growing(&mut buffer);
        let mut object = out.object(&layout, PerfTime(0), Frequency(0));
        for instance in instances {
            let mut block = object.instance("one", None, None);
            for (position, why) in instance.iter().enumerate() {
                block.set_or(position, why.is_none().then_some(1), why.unwrap_or(Absence::Other));
            }
        }
        drop(object);
        let (health, reason) = Health::of(out.counts());
        (health, reason.into_owned())
    }

    #[test]
    fn health_is_what_was_written() {
        use Absence::{
            AccessDenied, NotFromThisDevice, NotInThisKernel, NotOnThisSystem, NotRequested, ReadFailed,
        };
        let table = [
            (&[][..], Health::Healthy, ""),
            (&[[None, None]], Health::Healthy, ""),
            (&[[None, Some(NotOnThisSystem)]], Health::Healthy, ""),
            (&[[Some(NotRequested), Some(NotRequested)]], Health::Healthy, ""),
            (
                &[[None, None], [None, Some(AccessDenied)]],
                Health::Degraded,
                "1 value: more rights are needed",
            ),
            (&[[Some(NotRequested), Some(ReadFailed)]], Health::Failed, "1 value: reading it failed"),
            (&[[Some(NotInThisKernel); 2]], Health::Unsupported, "2 values: the running kernel"),
            (&[[Some(NotFromThisDevice); 2]], Health::Unsupported, "the device or its driver"),
            (&[[Some(AccessDenied), Some(ReadFailed)]], Health::Failed, "1 value: reading it failed"),
        ];
        for (instances, wanted, words) in table {
            let (health, reason) = health(instances);
            assert_eq!(health, wanted, "{instances:?}: {reason}");
            assert!(reason.starts_with(words), "{instances:?}: {reason}");
        }
        let nothing = ObjectsWriter::growing(&mut Vec::new()).counts().since(&WriteCounts::default());
        assert_eq!(Health::of(&nothing).0, Health::Unsupported);
    }
}
