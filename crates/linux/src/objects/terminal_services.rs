//! Terminal Services and Terminal Services Session: who is logged in, and what each session uses.
//!
//! Sessions are those of logind, which keeps a file for each; where it does not run, those of utmp.

use std::path::PathBuf;

use tallymon_provider::{
    Absence, CollectRequest, DetailLevel, Frequency, InstanceKind, ObjectLayout, ObjectSpec, ObjectsWriter,
    PerfTime,
};

use super::control_groups::place;
use super::object::Object;
use super::spec::{Origin, object, rows};
use super::table::{Table, write};
use crate::sources::Sources;

rows! { COUNTERS, ORIGINS {
    907_402 PERF_COUNTER_RAWCOUNT 0 NOVICE:
        C "/run/systemd/sessions: sessions of users | /run/utmp: processes of users";
    907_404 PERF_COUNTER_RAWCOUNT 0 NOVICE:
        C "/run/systemd/sessions: ACTIVE=1 | /run/utmp: processes of users";
    907_406 PERF_COUNTER_RAWCOUNT 0 NOVICE: C "/run/systemd/sessions: ACTIVE=0 | 0";
}}

rows! { SESSION_COUNTERS, SESSION_ORIGINS {
    6 (908_035) PERF_100NSEC_TIMER 0 NOVICE:
        E "unified/cpu.stat:usage_usec * 10 | cpuacct/cpuacct.usage / 100" "2.6.24";
    142 (908_037) PERF_100NSEC_TIMER 0 ADVANCED:
        E "unified/cpu.stat:user_usec * 10 | cpuacct/cpuacct.usage_user / 100" "4.7";
    144 (908_039) PERF_100NSEC_TIMER 0 ADVANCED:
        E "unified/cpu.stat:system_usec * 10 | cpuacct/cpuacct.usage_sys / 100" "4.7";
    28 (908_041) PERF_COUNTER_COUNTER -1 NOVICE:
        E "unified/memory.stat:pgfault | memory/memory.stat:total_pgfault" "3.0";
    180 (908_043) PERF_COUNTER_LARGE_RAWCOUNT -5 NOVICE:
        C "unified/memory.current | memory/memory.usage_in_bytes" "2.6.25";
    186 (908_045) PERF_COUNTER_LARGE_RAWCOUNT -5 ADVANCED:
        A "unified/memory.stat:anon | memory/memory.stat:total_rss" "2.6.30";
    680 (908_047) PERF_COUNTER_RAWCOUNT 0 ADVANCED: E "unified/pids.current | pids/pids.current" "4.3";
    952 (908_049) PERF_COUNTER_RAWCOUNT 0 ADVANCED: N;
    174 (908_051) PERF_COUNTER_LARGE_RAWCOUNT -6 EXPERT: N;
    172 (908_053) PERF_COUNTER_LARGE_RAWCOUNT -6 EXPERT: N;
}}

/// The object Terminal Services.
pub(super) struct TerminalServices {
    layout: ObjectLayout<'static>,
}

impl TerminalServices {
    pub(super) fn new() -> TerminalServices {
        let spec = object(907_400, 907_401, DetailLevel::NOVICE, 0, InstanceKind::None, COUNTERS);
        TerminalServices { layout: ObjectLayout::new(spec) }
    }
}

/// The object Terminal Services Session, one instance per session, by its number.
pub(super) fn sessions() -> Table {
    Table::many(907_600, SESSION_COUNTERS, SESSION_ORIGINS, scopes).at(place).of_groups()
}

/// The control groups of sessions, which systemd names `session-N.scope`.
fn scopes(sources: &mut Sources) -> Result<Vec<(String, PathBuf)>, Absence> {
    // Without control groups no session is known, which the other object shows.
    let groups = sources.groups().cloned().unwrap_or_default();
    let session = |(_, path): (String, PathBuf)| {
        let name = path.file_name()?.to_str()?.strip_prefix("session-")?.strip_suffix(".scope")?.to_string();
        Some((name, path))
    };
    Ok(groups.into_iter().filter_map(session).collect())
}

/// How many sessions there are, and how many of them are active.
type Count = (u64, u64);

impl Object for TerminalServices {
    fn spec(&self) -> &ObjectSpec<'static> {
        self.layout.spec()
    }

    fn origins(&self) -> &'static [Origin] {
        ORIGINS
    }

    fn collect(&mut self, _ask: &CollectRequest<'_>, sources: &mut Sources, out: &mut ObjectsWriter<'_>) {
        let found = of_logind(sources).or_else(|absence| match absence {
            Absence::NotInThisKernel => {
                let path = sources.root.run("utmp");
                sources.text_of(path).map(of_utmp)
            }
            absence => Err(absence),
        });
        let values = match found {
            Ok((all, active)) => [Ok(all), Ok(active), Ok(all.saturating_sub(active))],
            // Neither source is part of the kernel.
            Err(Absence::NotInThisKernel) => [Err(Absence::NotFromThisDevice); 3],
            Err(absence) => [Err(absence); 3],
        };
        let mut object = out.object(&self.layout, PerfTime(0), Frequency(0));
        write(COUNTERS, &mut object.single(), &values, 0);
    }
}

fn of_logind(sources: &mut Sources) -> Result<Count, Absence> {
    let folder = sources.root.run("systemd/sessions");
    if !folder.is_dir() {
        return Err(Absence::NotInThisKernel);
    }
    // Besides the session files there are pipes, which are held open as long as the session lives.
    let files = super::table::list(folder, |name| !name.ends_with(".ref"))?;
    let mut count: Count = (0, 0);
    for (_, path) in files.into_iter().filter(|(_, path)| path.is_file()) {
        let Ok(text) = sources.text_of(path) else { continue };
        let has = |wanted: &[u8]| text.split(|byte| *byte == b'\n').any(|line| line == wanted);
        // Display managers have sessions too.
        if has(b"CLASS=user") {
            count.0 = count.0.saturating_add(1);
            count.1 = count.1.saturating_add(u64::from(has(b"ACTIVE=1")));
        }
    }
    Ok(count)
}

/// The user processes in the records of `utmp(5)`. All of them count as active: utmp has no other state.
fn of_utmp(bytes: &[u8]) -> Count {
    // USER_PROCESS in either byte order: types are at most 9, so they cannot be confused.
    let is_user = |record: &&[u8]| record.starts_with(&[7, 0]) || record.starts_with(&[0, 7]);
    // Times have 4 or 8 bytes, depending on the machine's C library.
    let size = if bytes.len().is_multiple_of(384) { 384 } else { 400 };
    let users = bytes.chunks_exact(size).filter(is_user).count();
    let users = u64::try_from(users).unwrap_or(u64::MAX);
    (users, users)
}

#[cfg(test)]
mod tests {
    use super::super::fake_machine_tests::{Machine, instance, named, names};
    use super::*;
    use tallymon_provider::ValueState;

    fn counts(machine: &mut Machine) -> [Result<u64, ValueState>; 3] {
        let snapshot = machine.read(907_400);
        let values = instance(&snapshot, "");
        [907_402, 907_404, 907_406].map(|counter| named(&values, counter))
    }

    #[test]
    fn sessions_of_logind() {
        let mut machine = Machine::new(&[
            ("run/systemd/sessions/1", b"# private\nUID=1000\nACTIVE=1\nSTATE=active\nCLASS=user\n"),
            ("run/systemd/sessions/2", b"UID=1000\nACTIVE=0\nSTATE=online\nCLASS=user\n"),
            ("run/systemd/sessions/c1", b"UID=112\nACTIVE=1\nCLASS=greeter\n"),
            ("run/systemd/sessions/2.ref", b"CLASS=user\n"),
            ("run/utmp", b"not looked at"),
        ]);
        assert_eq!(counts(&mut machine), [Ok(2), Ok(1), Ok(1)]);
    }

    #[test]
    fn users_of_utmp() {
        let record = |kind: u8| {
            let mut record = vec![0_u8; 384];
            record[0] = kind;
            record
        };
        let text = [record(2), record(7), record(8), record(7)].concat();
        assert_eq!(counts(&mut Machine::new(&[("run/utmp", &text)])), [Ok(2), Ok(2), Ok(0)]);
        let none = Err(ValueState::Absent(Absence::NotFromThisDevice));
        assert_eq!(counts(&mut Machine::new(&[])), [none; 3]);
        assert_eq!(of_utmp(b"short"), (0, 0));
    }

    #[test]
    fn usage_of_a_session() {
        let scope = "sys/fs/cgroup/user.slice/user-1000.slice/session-3.scope";
        let mut machine = Machine::new(&[
            ("sys/fs/cgroup/cgroup.controllers", b"cpu memory pids\n"),
            ("sys/fs/cgroup/cgroup.procs", b"1\n"),
            ("sys/fs/cgroup/system.slice/a.service/cgroup.procs", b"5\n"),
            (&format!("{scope}/cpu.stat"), b"usage_usec 7\nuser_usec 4\nsystem_usec 3\n"),
            (&format!("{scope}/memory.current"), b"4096\n"),
        ]);
        let snapshot = machine.read(907_600);
        assert_eq!(names(&snapshot), ["3"]);
        let session = instance(&snapshot, "3");
        assert_eq!((named(&session, 6), named(&session, 180)), (Ok(70), Ok(4096)));
        assert!(names(&Machine::new(&[]).read(907_600)).is_empty());
    }
}
