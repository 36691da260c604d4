//! Whether the process that wrote a file still exists, and which user it belongs to.

use std::os::fd::OwnedFd;
use std::path::Path;

use rustix::event::{PollFd, PollFlags, Timespec, epoll, poll};
use rustix::process::{Pid, PidfdFlags, pidfd_open};
use rustix::time::{ClockId, clock_gettime};

/// When a process started, in clock ticks since the machine started: this distinguishes it from a later
/// process with the same id. `None` when there is no such process.
pub(crate) fn start_time(pid: u32) -> Option<u64> {
    let text = std::fs::read(format!("/proc/{pid}/stat")).ok()?;
    start_time_in(&text)
}

/// Field 22 of `/proc/PID/stat`. The second field is a name in parentheses, which may itself have blanks and
/// parentheses in it.
fn start_time_in(text: &[u8]) -> Option<u64> {
    let end_of_name = text.iter().rposition(|byte| *byte == b')')?;
    let fields = std::str::from_utf8(text.get(end_of_name.checked_add(1)?..)?).ok()?;
    let mut fields = fields.split_ascii_whitespace();
    // The first of these fields is the third of the file. A dead process that was not yet waited for counts
    // as gone.
    let state = fields.next()?;
    if matches!(state, "Z" | "X" | "x") {
        return None;
    }
    fields.nth(18)?.parse().ok()
}

/// Whether a user is one of the users of a process: real, effective, saved, or for file access.
///
/// The owner of `/proc/PID` is not enough: it is root for a process that may not be dumped.
pub(crate) fn belongs_to(pid: u32, user: u32) -> bool {
    let Ok(text) = std::fs::read(format!("/proc/{pid}/status")) else { return false };
    let text = String::from_utf8_lossy(&text);
    let users = text.lines().find_map(|line| line.strip_prefix("Uid:"));
    users.is_some_and(|users| users.split_ascii_whitespace().any(|one| one.parse() == Ok(user)))
}

/// Whether the process that wrote a file at its start time still runs.
pub(crate) fn is_running(pid: u32, start: u64, _file: &Path) -> bool {
    start_time(pid) == Some(start)
}

/// Whether nobody writes a file any more that names a process.
pub(crate) fn is_abandoned(pid: u32, _file: &Path) -> bool {
    start_time(pid).is_none()
}

/// Which of the watched processes have ended; `None` when that could not be asked.
pub(crate) fn ended(watched: &[&Watch]) -> Option<Vec<bool>> {
    let mut asked: Vec<PollFd<'_>> =
        watched.iter().map(|watch| PollFd::new(&watch.0, PollFlags::IN)).collect();
    let now = Timespec { tv_sec: 0, tv_nsec: 0 };
    poll(&mut asked, Some(&now)).ok()?;
    Some(asked.iter().map(|asked| !asked.revents().is_empty()).collect())
}

/// A process that is watched for its end.
#[derive(Debug)]
pub(crate) struct Watch(OwnedFd);

/// A descriptor that becomes readable when the process ends; `None` when there is no such process, or too old
/// a kernel (before 5.3), or there are too many open files.
pub(crate) fn watch(pid: u32) -> Option<Watch> {
    let pid = Pid::from_raw(i32::try_from(pid).ok()?)?;
    pidfd_open(pid, PidfdFlags::empty()).ok().map(Watch)
}

/// Tells whether any of many watched processes has ended, at the price of one question.
#[derive(Debug)]
pub(crate) enum Ends {
    /// Nobody is watched.
    Nobody,
    /// A descriptor that is readable when one of them has ended.
    Watched(OwnedFd),
    /// It cannot be told.
    Unknown,
}

impl Ends {
    /// Watches one more process, as long as its [`Watch`] exists.
    pub(crate) fn add(&mut self, watch: &Watch) {
        if matches!(self, Ends::Nobody) {
            *self = epoll::create(epoll::CreateFlags::CLOEXEC).map_or(Ends::Unknown, Ends::Watched);
        }
        if let Ends::Watched(all) = self
            && epoll::add(all, &watch.0, epoll::EventData::new_u64(0), epoll::EventFlags::IN).is_err()
        {
            *self = Ends::Unknown;
        }
    }

    /// Whether one of them has ended; true when that cannot be told.
    pub(crate) fn any(&self) -> bool {
        let now = Timespec { tv_sec: 0, tv_nsec: 0 };
        match self {
            Ends::Nobody => false,
            Ends::Watched(all) => {
                poll(&mut [PollFd::new(all, PollFlags::IN)], Some(&now)).map_or(true, |ready| ready > 0)
            }
            Ends::Unknown => true,
        }
    }
}

/// Now, in units of 100 ns since the machine started, sleep included: the performance clock.
pub fn perf_time() -> u64 {
    perf_nanoseconds() / 100
}

/// The performance clock in nanoseconds.
pub(crate) fn perf_nanoseconds() -> u64 {
    let now = clock_gettime(ClockId::Boottime);
    let seconds = u64::try_from(now.tv_sec).unwrap_or(0);
    let nanoseconds = u64::try_from(now.tv_nsec).unwrap_or(0);
    seconds.saturating_mul(1_000_000_000).saturating_add(nanoseconds)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_processes_do_not_confuse() {
        let fields = "S 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 4711 20";
        for name in ["cat", "a b", "a) S 1 (b", "", ") R 9 9"] {
            let text = format!("12 ({name}) {fields}\n");
            assert_eq!(start_time_in(text.as_bytes()), Some(4711), "{name}");
        }
        assert_eq!(start_time_in(b"12 (cat) S 1 2"), None);
        assert_eq!(start_time_in(format!("12 (cat) Z{}", &fields[1..]).as_bytes()), None);
        assert_eq!(start_time_in(b""), None);
    }

    #[test]
    fn this_process_exists_and_is_ours() {
        let pid = std::process::id();
        assert!(start_time(pid).is_some_and(|ticks| ticks > 0));
        let user = rustix::process::geteuid().as_raw();
        assert!(belongs_to(pid, user));
        assert!(!belongs_to(pid, user.wrapping_add(1)));
        assert!(watch(pid).is_some());
        assert_eq!(start_time(0), None);
        assert!(watch(0).is_none() && watch(u32::MAX).is_none());
    }

    #[test]
    fn ended_process_is_gone() {
        let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        assert!(start_time(child.id()).is_some());
        let mut ends = Ends::Nobody;
        assert!(!ends.any());
        let watches = [watch(std::process::id()).unwrap(), watch(child.id()).unwrap()];
        watches.iter().for_each(|watch| ends.add(watch));
        assert!(matches!(ends, Ends::Watched(_)) && !ends.any());
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(ends.any() && ends.any(), "it stays so");
        let [own, gone] = watches;
        drop(gone);
        assert!(!ends.any());
        drop(own);
        assert_eq!(start_time(child.id()), None);
        assert!(watch(child.id()).is_none());
    }
}
