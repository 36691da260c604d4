//! The scheduling policy and priorities of a thread.
//!
//! This file has unsafe code: neither the standard library nor rustix can query the policy of another thread.

/// What was set for a thread by `sched_setattr` or `setpriority`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Scheduling {
    /// 0 ordinary, 1 first in first out, 2 round robin, 3 batch, 5 idle, 6 deadline, 7 a BPF scheduler's.
    pub policy: u32,
    /// -20 to 19; 0 for a policy without nice values.
    pub nice: i32,
    /// Real-time priority 1 to 99, 0 for other policies.
    pub realtime_priority: u32,
}

/// The scheduling of thread `id`, or of the first thread of process `id`.
///
/// It costs a tenth of reading `/proc/PID/stat` (0.4 µs), and does not show priorities that the kernel lends.
/// `None` when there is no such thread, for 0 (which the kernel would take for the caller itself), and where
/// the query is forbidden.
pub(crate) fn scheduling(id: u32) -> Option<Scheduling> {
    let id = libc::pid_t::try_from(id).ok().filter(|id| *id > 0)?;
    let mut attributes = Attributes::default();
    // SAFETY: the kernel writes one structure of the given size, which it knows since Linux 3.14, and the
    // pointer refers to a live one that is borrowed exclusively. Any thread id is allowed; an unknown one
    // makes the call fail.
    let result = unsafe {
        libc::syscall(libc::SYS_sched_getattr, id, &raw mut attributes, size_of::<Attributes>(), 0)
    };
    let Attributes { policy, nice, priority, .. } = attributes;
    (result == 0).then_some(Scheduling { policy, nice, realtime_priority: priority })
}

/// The kernel's `struct sched_attr` in its first version.
#[repr(C)]
#[derive(Debug, Default)]
struct Attributes {
    size: u32,
    policy: u32,
    flags: u64,
    nice: i32,
    priority: u32,
    runtime: u64,
    deadline: u64,
    period: u64,
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use rustix::process::Pid;
    use tallymon_testkit::Ends;

    use super::*;

    #[test]
    fn policy_and_nice_of_a_process() {
        let child = Ends(Command::new("sleep").arg("60").spawn().unwrap());
        let id = child.0.id();
        let own = scheduling(std::process::id()).unwrap();
        assert_eq!(scheduling(id), Some(own), "it is inherited");
        let nice = (own.nice + 3).min(19);
        rustix::process::setpriority_process(Some(Pid::from_child(&child.0)), nice).unwrap();
        assert_eq!(scheduling(id), Some(Scheduling { nice, ..own }));
        for (option, policy, priority) in
            [("--batch", 3, "0"), ("--idle", 5, "0"), ("--rr", 2, "7"), ("--fifo", 1, "42")]
        {
            let chrt = Command::new("chrt").args([option, "--pid", priority, &id.to_string()]).output();
            if !chrt.is_ok_and(|output| output.status.success()) {
                tallymon_testkit::skip(&format!("chrt {option} is not there or not allowed"));
                continue;
            }
            let found = scheduling(id).unwrap();
            assert_eq!((found.policy, found.realtime_priority.to_string().as_str()), (policy, priority));
        }
    }

    #[test]
    fn a_missing_process_has_no_scheduling() {
        assert_eq!([0, u32::MAX, 0x7fff_ffff].map(scheduling), [None; 3]);
    }
}
