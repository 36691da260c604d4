//! The health of publishing programs: as sources of counters, and in words.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tallymon_core::title::Language;
use tallymon_core::visible::visible;
use tallymon_provider::shm::{Publication, Reader, Refusal, RefusalReason, is_own};
use tallymon_provider::{Finding, FindingState, Health, SourceName, SourceStatus};

/// So many programs, and so many files that are not read, get a line of their own.
const MOST_LINES: usize = 50;

/// What could not be read of publications, by their files.
#[derive(Debug, Default)]
pub(super) struct Troubles(BTreeMap<PathBuf, Trouble>);

#[derive(Debug, Clone, Copy, Default)]
struct Trouble {
    /// How often something could not be read.
    errors: u64,
    /// How many values could not be read the last time.
    unread: u64,
}

impl Troubles {
    /// A publication was read, but for so many values.
    pub(super) fn note(&mut self, path: &Path, unread: u64) {
        if let Some(trouble) = self.0.get_mut(path) {
            trouble.unread = unread;
            trouble.errors = trouble.errors.saturating_add(u64::from(unread > 0));
        } else if unread > 0 {
            self.0.insert(path.to_path_buf(), Trouble { errors: 1, unread });
        }
    }

    /// Forgets publications that are gone.
    pub(super) fn keep(&mut self, publications: &[Publication]) {
        let there: BTreeSet<&Path> = publications.iter().map(Publication::path).collect();
        self.0.retain(|path, _| there.contains(path.as_path()));
    }

    fn of(&self, publication: &Publication) -> Trouble {
        self.0.get(publication.path()).copied().unwrap_or_default()
    }
}

/// Each program that publishes, and each file that should be read and is not, as a source.
/// `languages` has those of each program.
pub(super) fn sources(
    reader: &Reader,
    troubles: &Troubles,
    languages: &[Arc<[Language]>],
) -> Vec<SourceStatus> {
    let programs = reader.publications().iter().enumerate().map(|(nth, publication)| SourceStatus {
        languages: languages.get(nth).cloned().unwrap_or_default(),
        ..program(publication, troubles)
    });
    programs.chain(refused(reader).map(file)).collect()
}

/// The languages in which a program names its objects and counters, by their codes.
pub(super) fn languages(publication: &Publication) -> Arc<[Language]> {
    let texts = publication.objects().iter().flat_map(|object| {
        object.texts.iter().chain(object.counters.iter().flat_map(|counter| &counter.texts))
    });
    let named = texts.filter(|text| !text.name.is_empty()).map(|text| text.language);
    named.collect::<BTreeSet<Language>>().into_iter().collect()
}

/// The lines about them: one about all, then one a program and file.
pub(super) fn findings(reader: &Reader, troubles: &Troubles, objects: usize, full: bool) -> Vec<Finding> {
    let (programs, files) = (reader.publications(), refused(reader).count());
    let mut detail = format!("{} programs publish {objects} objects", programs.len());
    let mut remedy = String::new();
    let mut state = FindingState::Good;
    if files > 0 {
        state = FindingState::Limited;
        detail = format!("{detail}; {files} files are not read");
    }
    if full {
        state = FindingState::Limited;
        detail.push_str("; there were more names than are kept");
        remedy = "start this program anew".to_string();
    }
    if programs.len() > MOST_LINES || files > MOST_LINES {
        detail = format!("{detail}; the first {MOST_LINES} are shown");
    }
    let all = Finding { subject: "published counters".to_string(), state, detail, remedy };
    let lines = programs.iter().map(|publication| about_program(publication, troubles)).take(MOST_LINES);
    let refused = refused(reader).map(about_file).take(MOST_LINES);
    std::iter::once(all).chain(lines).chain(refused).collect()
}

/// Files that should be readable and are not. Leftovers of a killed program are harmless and not listed.
fn refused(reader: &Reader) -> impl Iterator<Item = &Refusal> {
    reader.refusals().iter().filter(|refusal| !matches!(refusal.reason, RefusalReason::Dead { .. }))
}

fn program(publication: &Publication, troubles: &Troubles) -> SourceStatus {
    let cost = publication.cost();
    let trouble = troubles.of(publication);
    let (health, reason) = match (publication.fault(), trouble.unread) {
        (Some(fault), _) => (Health::Failed, Cow::Owned(fault.to_string())),
        (None, 0) if publication.is_stale() => {
            (Health::Degraded, Cow::Borrowed("its process has ended; these are its last values"))
        }
        (None, 0) => (Health::Healthy, Cow::Borrowed("")),
        (None, 1) => (Health::Degraded, Cow::Borrowed("1 value could not be read whole")),
        (None, unread) => (Health::Degraded, Cow::Owned(format!("{unread} values could not be read whole"))),
    };
    SourceStatus {
        collections: cost.times,
        busy: cost.total,
        last: cost.last,
        errors: trouble.errors.saturating_add(u64::from(publication.fault().is_some())),
        health,
        reason,
        ..SourceStatus::new(SourceName::Named(title(publication)))
    }
}

/// The name of a program among the sources. Reading it removed control characters. A program calls itself
/// what it likes, so that of another user is shown with its user.
fn title(publication: &Publication) -> String {
    match publication.user() {
        user if is_own(user) => format!("program {}", publication.name()),
        user => format!("program {} [user {user}]", publication.name()),
    }
}

/// A file that is not read: it was tried, with an error, and gave nothing.
fn file(refusal: &Refusal) -> SourceStatus {
    let name = refusal.path.file_name().unwrap_or(refusal.path.as_os_str());
    SourceStatus {
        errors: 1,
        health: Health::Failed,
        reason: Cow::Owned(refusal.reason.to_string()),
        ..SourceStatus::new(SourceName::Named(format!("file {}", visible(&name.to_string_lossy()))))
    }
}

fn about_program(publication: &Publication, troubles: &Troubles) -> Finding {
    let SourceStatus { health, reason, last, .. } = program(publication, troubles);
    let objects = publication.objects().len();
    let instances: usize = (0..objects).map(|object| publication.instances(object).len()).sum();
    let mut detail = format!(
        "process {} of user {} publishes {objects} objects with {instances} instances, read in {last:.0?}",
        publication.pid(),
        publication.user()
    );
    if !reason.is_empty() {
        detail = format!("{detail}; {reason}");
    }
    let (state, remedy) = match health {
        Health::Healthy | Health::NotAsked => (FindingState::Good, ""),
        Health::Failed => (FindingState::Missing, "start the program anew"),
        _ if publication.is_stale() => (FindingState::Limited, "start the program again"),
        _ => (FindingState::Limited, "start the program anew if it stays so: it was stopped while it wrote"),
    };
    let subject = title(publication);
    Finding { subject, state, detail, remedy: remedy.to_string() }
}

fn about_file(refusal: &Refusal) -> Finding {
    Finding {
        subject: format!("published file {}", visible(&refusal.path.display().to_string())),
        state: FindingState::Missing,
        detail: format!("it is not read: {}", refusal.reason),
        remedy: "remove it, or correct its owner and mode".to_string(),
    }
}
