//! The provider: which objects there are, and how a request is answered.

use std::fmt;
use std::sync::Arc;
use std::time::Instant;

use tallymon_provider::{
    CollectRequest, Finding, FindingState, ObjectSpec, ObjectsWriter, Profile, Provider, ProviderError,
    ReadInfo, ReadWindow, SourceStatus, TitleIndex,
};

use crate::kernel::bpf::refusal::Refusal;
use crate::kernel::reusable_file::ReadError;
use crate::kernel::root::Root;
use crate::kernel::time::steady;
use crate::objects;
use crate::objects::meter::Meter;
use crate::objects::object::{JOB_OBJECT, JOB_OBJECT_DETAILS, Object, PROCESS, THREAD};
use crate::objects::spec::Origin;
use crate::sources::Sources;
use tallymon_provider::{Tier, TierChoice};

/// The objects of this machine.
pub struct System {
    sources: Sources,
    profile: Profile,
    objects: Vec<Box<dyn Object>>,
    specs: Vec<ObjectSpec<'static>>,
    /// One per object.
    meters: Vec<Meter>,
    /// The quanta of the counters of each object.
    quanta: Vec<Arc<[u64]>>,
    /// For each counter of each object, whether `_Total` is a mean.
    means: Vec<Arc<[bool]>>,
}

impl System {
    /// The running machine.
    ///
    /// # Errors
    ///
    /// `/proc` cannot be opened.
    pub fn open() -> Result<System, ReadError> {
        System::open_below(Root::system())
    }

    /// The running machine, with processes, CPU counters and protocol counters read by this tier.
    ///
    /// # Errors
    ///
    /// `/proc` cannot be opened; or only [`Tier::T2`] is allowed and does not work for processes, for the
    /// reason in the error.
    pub fn open_with(choice: TierChoice) -> Result<System, OpenError> {
        let mut system = System::open_in(Root::system(), choice).map_err(OpenError::Read)?;
        if choice == TierChoice::Only(Tier::T2)
            && let Some(refusal) = system.sources.processes.refusal()
        {
            return Err(OpenError::Tier(refusal.clone()));
        }
        Ok(system)
    }

    /// The machine whose `/proc` and `/sys` are in `root`.
    ///
    /// # Errors
    ///
    /// Its `/proc` cannot be opened.
    pub fn open_below(root: Root) -> Result<System, ReadError> {
        System::open_in(root, TierChoice::Auto)
    }

    fn open_in(root: Root, choice: TierChoice) -> Result<System, ReadError> {
        Ok(System::of(Sources::open(root, choice)?, Profile::default()))
    }

    /// The same machine, with the objects of this profile.
    #[must_use]
    pub fn with_profile(self, profile: Profile) -> System {
        System::of(self.sources, profile)
    }

    fn of(sources: Sources, profile: Profile) -> System {
        let objects = objects::of(profile);
        let specs = objects.iter().map(|object| *object.spec()).collect();
        let meters = objects.iter().map(|_| Meter::default()).collect();
        let quanta = objects
            .iter()
            .map(|object| (0..object.spec().counters.len()).map(|at| object.quantum(at)).collect())
            .collect();
        let means = objects
            .iter()
            .map(|object| (0..object.spec().counters.len()).map(|at| object.total_is_mean(at)).collect())
            .collect();
        System { sources, profile, objects, specs, meters, quanta, means }
    }

    /// Where the values of an object's counters come from, in the order of the counters; empty for an unknown
    /// object.
    pub fn origins(&self, object: TitleIndex) -> &'static [Origin] {
        let known = self.objects.iter().find(|known| known.spec().name == object);
        known.map_or(&[], |object| object.origins())
    }
}

/// Where the value of a counter comes from, on any machine with Linux; `None` for a counter that is not built
/// in.
pub fn origin(object: TitleIndex, counter: TitleIndex) -> Option<Origin> {
    let objects = objects::of(Profile::NtStrict);
    let known = objects.iter().find(|known| known.spec().name == object)?;
    let place = known.spec().counters.iter().position(|known| known.name == counter)?;
    known.origins().get(place).copied()
}

/// Why the machine cannot be read as requested.
#[derive(Debug)]
#[non_exhaustive]
pub enum OpenError {
    /// `/proc` cannot be opened.
    Read(ReadError),
    /// The requested tier does not work here.
    Tier(Refusal),
}

impl fmt::Display for OpenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            OpenError::Read(error) => write!(f, "{error}; /proc must be mounted and readable"),
            OpenError::Tier(Refusal { reason, remedy }) => {
                write!(f, "tier T2 does not work: {reason}")?;
                if remedy.is_empty() { Ok(()) } else { write!(f, "; {remedy}") }
            }
        }
    }
}

impl std::error::Error for OpenError {}

impl Provider for System {
    fn objects(&self) -> &[ObjectSpec<'static>] {
        &self.specs
    }

    fn parents(&self, object: TitleIndex) -> &[TitleIndex] {
        match object {
            THREAD => &[PROCESS],
            JOB_OBJECT_DETAILS => &[JOB_OBJECT],
            _ => &[],
        }
    }

    fn is_costly(&self, object: TitleIndex) -> bool {
        self.objects.iter().any(|known| known.spec().name == object && known.costly())
    }

    fn collect(
        &mut self,
        ask: &CollectRequest<'_>,
        out: &mut ObjectsWriter<'_>,
    ) -> Result<(), ProviderError> {
        let all = self.specs.iter().zip(&self.objects);
        let requested = all.filter(|(spec, _)| ask.wants(spec.name)).map(|(_, object)| object);
        self.sources.begin(objects::needs(requested, ask));
        let exactness = self.quanta.iter().zip(&self.means);
        let objects = self.objects.iter_mut().zip(&mut self.meters).zip(exactness);
        // Most requests name few of many objects, whose names are side by side here.
        for (spec, ((object, meter), (quanta, means))) in self.specs.iter().zip(objects) {
            if ask.wants(spec.name) {
                let (start, before) = (Instant::now(), *out.counts());
                let begin = steady();
                self.sources.begin_object(begin);
                object.collect(ask, &mut self.sources, out);
                let own = ReadWindow { begin: self.sources.earliest(), end: steady() };
                let window = object.window(&self.sources).unwrap_or(own);
                let (quanta, means) = (quanta.clone(), means.clone());
                let info = ReadInfo { object: spec.name, window, quanta, means };
                out.add_read_info(info, self.sources.now);
                meter.note(start.elapsed(), out.counts().since(&before));
            }
        }
        Ok(())
    }

    fn sources(&self) -> Vec<SourceStatus> {
        self.specs.iter().zip(&self.meters).map(|(spec, meter)| meter.status(spec.name)).collect()
    }

    fn findings(&mut self) -> Vec<Finding> {
        let mut findings = vec![profile_finding(self.profile)];
        findings.extend(self.sources.findings());
        findings
    }
}

/// Which objects exist, and how to get the others.
fn profile_finding(profile: Profile) -> Finding {
    let hidden = objects::of(Profile::NtStrict).len().saturating_sub(objects::of(Profile::LinuxHonest).len());
    let words = match profile {
        Profile::LinuxHonest => {
            format!("{hidden} NT objects without a source on Linux are hidden; nt-strict shows them")
        }
        Profile::NtStrict => format!("with the {hidden} NT objects that have no source on Linux"),
    };
    Finding {
        subject: "profile".to_string(),
        state: FindingState::Good,
        detail: format!("{profile}: {words}"),
        remedy: String::new(),
    }
}
