//! The space of file systems.

use tallymon::core::flow::NoValue;

use crate::model::Series;
use crate::model::overview::counters::Metric;
use crate::model::overview::gather::{Gatherer, MIB};
use crate::model::overview::level::{Level, Limits};
use crate::model::overview::view::{FileSystem, Folded, Gauge};

/// `% Free Space` and `Free Megabytes`, from which the size of a file system follows.
const FREE_SHARE: u32 = 408;
const FREE_MEGABYTES: u32 = 410;

impl Gatherer<'_> {
    /// The file systems with files of people, fullest first, and the others. One of the others that is almost
    /// full is not hidden.
    pub(super) fn file_systems(&self) -> (Vec<FileSystem>, Folded) {
        let names = self.instances(&[Metric::SpaceSize, Metric::SpaceFree]);
        let has_letters = names.iter().any(|name| is_letter(name));
        let mut found: Vec<FileSystem> = names.into_iter().map(|name| self.file_system(name)).collect();
        let mut folded = Folded::default();
        found.retain(|one| {
            let is_full = one.share.number().is_some_and(|share| Limits::SPACE.level(share) == Level::High);
            let kind = match one.size {
                Some(size) if size < MIB => Kind::Image,
                _ => kind_of(&one.name, has_letters),
            };
            let stays = kind == Kind::Own || kind == Kind::Other && is_full;
            if !stays {
                folded.name(&one.name);
            }
            stays
        });
        let share = |one: &FileSystem| one.share.number().unwrap_or(-1.0);
        found.sort_by(|one, other| share(other).total_cmp(&share(one)));
        (found, folded)
    }

    fn file_system(&self, name: String) -> FileSystem {
        let series = |metric| {
            self.of(metric).iter().copied().find(|series: &&Series| series.instance.as_ref() == Some(&name))
        };
        let (size, free) = (series(Metric::SpaceSize), series(Metric::SpaceFree));
        let free = free.map_or_else(Gauge::none, |free| {
            let factor = if free.counter.0 == FREE_MEGABYTES { MIB } else { 1.0 };
            self.gauge(free, |number| number * factor)
        });
        if let Some(of_share) = size.filter(|size| size.counter.0 == FREE_SHARE) {
            let share = self.gauge(of_share, |free| (100.0 - free).clamp(0.0, 100.0));
            let left = share.number().map(|share| 100.0 - share).filter(|left| *left > 0.0);
            // Of a full file system only the share is known.
            let size = left.zip(free.number()).map(|(left, free)| free / left * 100.0);
            let used = size.zip(free.number()).map(|(size, free)| size - free);
            return FileSystem { name, share, used, free, size };
        }
        let size = size.and_then(|size| self.gauge(size, |number| number).number());
        let size = size.filter(|size| *size > 0.0);
        // A log may lack what only root may write; it is free then.
        let unused = series(Metric::SpaceUnused).map(|unused| self.gauge(unused, |number| number));
        let unused = unused.filter(|unused| unused.value.is_ok()).unwrap_or_else(|| free.clone());
        let share = share_of(size, &unused, &free);
        let used = size.zip(unused.number()).map(|(size, unused)| (size - unused).max(0.0));
        FileSystem { name, share, used, free, size }
    }
}

/// Per cent in use of a file system of this size: `100 * used / (used + free)`, where `used = size - unused`.
fn share_of(size: Option<f64>, unused: &Gauge, free: &Gauge) -> Gauge {
    let Some(size) = size else {
        let why = free.value.err().unwrap_or(NoValue::NoCounter);
        return Gauge { value: Err(why), history: Vec::new(), path: free.path.clone() };
    };
    let share = |unused: f64, free: f64| {
        let used = (size - unused).max(0.0);
        // Without room for programs a file system is full.
        if used + free > 0.0 { used / (used + free) * 100.0 } else { 100.0 }
    };
    let history = unused.history.iter().zip(&free.history).map(|(unused, free)| {
        if free.is_nan() || unused.is_nan() {
            f32::NAN
        } else {
            share(f64::from(*unused), f64::from(*free)) as f32
        }
    });
    Gauge {
        value: unused.value.and_then(|unused| free.value.map(|free| share(unused, free))),
        history: history.collect(),
        path: free.path.clone(),
    }
}

/// Whose files a file system has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// Those of people and programs.
    Own,
    /// In memory, of containers, without a letter.
    Other,
    /// An image, which is always full.
    Image,
}

/// The kind of a file system by its instance.
fn kind_of(name: &str, has_letters: bool) -> Kind {
    const IMAGES: [&str; 4] = ["/snap", "/var/lib/snapd", "/run/initramfs", "/usr/lib/live"];
    const OTHERS: [&str; 8] = [
        "/run",
        "/dev",
        "/sys",
        "/proc",
        "/var/lib/docker",
        "/var/lib/containers",
        "/var/lib/kubelet",
        "/var/lib/lxcfs",
    ];
    let is_below = |folders: &[&str]| {
        let mut rests = folders.iter().filter_map(|folder| name.strip_prefix(folder));
        rests.any(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    match () {
        () if is_below(&["/run/media"]) => Kind::Own,
        () if is_below(&IMAGES) || name.starts_with("/tmp/.mount_") => Kind::Image,
        () if is_below(&OTHERS) => Kind::Other,
        () if has_letters && name.starts_with("HarddiskVolume") => Kind::Other,
        () => Kind::Own,
    }
}

/// Whether an instance is a letter of Windows: `C:`.
fn is_letter(name: &str) -> bool {
    matches!(name.as_bytes(), [letter, b':'] if letter.is_ascii_alphabetic())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_are_known_by_the_names() {
        for (name, kind) in [
            ("/", Kind::Own),
            ("/home", Kind::Own),
            ("/runtime", Kind::Own),
            ("/run", Kind::Other),
            ("/run/user/1000", Kind::Other),
            ("/run/media/me/stick", Kind::Own),
            ("/dev/shm", Kind::Other),
            ("/snap/core/17200", Kind::Image),
            ("/var/lib/docker/overlay2/x/merged", Kind::Other),
            ("C:", Kind::Own),
            ("HarddiskVolume1", Kind::Other),
            ("", Kind::Own),
        ] {
            assert_eq!(kind_of(name, true), kind, "{name}");
        }
        assert_eq!(kind_of("HarddiskVolume1", false), Kind::Own, "the only one");
    }

    #[test]
    fn shares_are_those_of_df() {
        let gauge =
            |value, history: &[f32]| Gauge { value, history: history.to_vec(), path: "p".to_string() };
        let free = gauge(Ok(40.0), &[f32::NAN, 50.0, 0.0]);
        let unused = gauge(Ok(60.0), &[10.0, 50.0, 0.0]);
        // 40 used and 40 free of 100: `df` says 50 %, because 20 are for root.
        let known = share_of(Some(100.0), &unused, &free);
        assert_eq!((known.value, known.path.as_str()), (Ok(50.0), "p"));
        assert!(known.history[0].is_nan() && known.history[1..] == [50.0, 100.0], "{:?}", known.history);
        assert_eq!(share_of(None, &unused, &free).value, Err(NoValue::NoCounter));
        let missing = gauge(Err(NoValue::NoInstance), &[]);
        assert_eq!(share_of(Some(1.0), &missing, &missing).value, Err(NoValue::NoInstance));
    }
}
