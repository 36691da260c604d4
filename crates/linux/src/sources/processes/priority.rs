//! NT priorities for Linux priorities.

use crate::kernel::proc::pid_stat::PidStat;

/// NT's base priority of a process or thread, 1 to 31, see [`chosen_priority`].
pub(crate) fn base_priority(stat: &PidStat<'_>) -> u64 {
    match stat.policy {
        Some(policy) => chosen_priority(policy, stat.nice, stat.realtime_priority.unwrap_or(0)),
        // Without a policy the kernel's own priority shows the same.
        None if stat.priority < 0 => current_priority(stat),
        None => of_nice(stat.nice),
    }
}

/// NT's base priority for the policy and priority that were set for a process or thread, 1 to 31; our own
/// convention.
///
/// ordinary: 8 - nice x 7 / 20, rounded: nice 0 is NT's normal 8, -20 is 15 and 19 is 1;
/// real time: 16 + (priority - 1) x 15 / 98, so that 1 to 99 are 16 to 31;
/// deadline: 31; idle: 1.
pub(crate) fn chosen_priority(policy: u64, nice: i64, realtime_priority: u64) -> u64 {
    match policy {
        6 => DEADLINE,
        5 => IDLE,
        1 | 2 => of_realtime(realtime_priority),
        _ => of_nice(nice),
    }
}

/// NT's current priority, 1 to 31, on the same scale: the kernel raises it while others wait for a lock that
/// the thread holds.
pub(crate) fn current_priority(stat: &PidStat<'_>) -> u64 {
    match stat.priority {
        ..=-101 => DEADLINE,
        priority @ -100..=-2 => of_realtime(priority.saturating_add(1).unsigned_abs()),
        _ if stat.policy == Some(5) => IDLE,
        priority => of_nice(priority.saturating_sub(20)),
    }
}

const DEADLINE: u64 = 31;
const IDLE: u64 = 1;

fn of_nice(nice: i64) -> u64 {
    let nice = nice.clamp(-20, 19);
    // Rounds to the nearest: 140 keeps the numerator positive, so that the division rounds in one direction
    // only.
    let above_lowest = 140_i64.saturating_sub(nice.saturating_mul(7)).saturating_add(10) / 20;
    u64::try_from(above_lowest).unwrap_or(0).saturating_add(1)
}

fn of_realtime(priority: u64) -> u64 {
    priority.clamp(1, 99).saturating_sub(1).saturating_mul(15).wrapping_div(98).saturating_add(16)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stat(priority: i64, nice: i64, realtime: u64, policy: u64) -> Vec<u8> {
        format!(
            "1 (a) S 0 0 0 0 -1 4 0 0 0 0 0 0 0 0 {priority} {nice} 1 0 9 0 {}0 {realtime} {policy} 0",
            "0 ".repeat(15)
        )
        .into_bytes()
    }

    #[test]
    fn priorities() {
        for (priority, nice, realtime, policy, base, current) in [
            (20, 0, 0, 0, 8, 8),
            (0, -20, 0, 0, 15, 15),
            (39, 19, 0, 3, 1, 1),
            (21, 1, 0, 0, 8, 8),
            (22, 2, 0, 0, 7, 7),
            (18, -2, 0, 0, 9, 9),
            (39, 19, 0, 5, 1, 1),
            (20, 0, 0, 5, 1, 1),
            (-2, 0, 1, 1, 16, 16),
            (-100, 0, 99, 2, 31, 31),
            (-101, 0, 0, 6, 31, 31),
            // Nice 0, lent real-time priority 50 by a thread that waits for it.
            (-51, 0, 0, 0, 8, 23),
        ] {
            let text = stat(priority, nice, realtime, policy);
            let stat = PidStat::parse(&text).unwrap();
            let found = (base_priority(&stat), current_priority(&stat));
            assert_eq!(found, (base, current), "priority {priority}, nice {nice}, policy {policy}");
        }
        let old = PidStat::parse(b"1 () S 0 0 0 0 -1 4 0 0 0 0 0 0 0 0 -51 0 1 0 9 0").unwrap();
        assert_eq!(base_priority(&old), 23);
    }
}
