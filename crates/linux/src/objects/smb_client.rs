//! SMB Client Share: what each mounted share of SMB has done.

use tallymon_provider::{
    Absence, CollectRequest, DetailLevel, Frequency, InstanceKind, ObjectLayout, ObjectSpec, ObjectsWriter,
    PerfTime,
};

use super::object::Object;
use super::spec::{Origin, object, rows};
use super::table::write;
use crate::kernel::proc::cifs_stats::{CifsStats, Share};
use crate::sources::Sources;

rows! { COUNTERS, ORIGINS {
    901_202 PERF_COUNTER_COUNTER 0 NOVICE: E "/proc/fs/cifs/Stats: SMBs" "2.6.0";
    901_204 PERF_COUNTER_COUNTER 0 NOVICE: E "/proc/fs/cifs/Stats: Reads" "2.6.0";
    901_206 PERF_COUNTER_COUNTER 0 NOVICE: E "/proc/fs/cifs/Stats: Writes" "2.6.0";
    901_208 PERF_COUNTER_COUNTER 0 ADVANCED: C "/proc/fs/cifs/Stats: SMBs - Reads - Writes" "2.6.0";
    901_210 PERF_COUNTER_BULK_COUNT -4 NOVICE: E "/proc/fs/cifs/Stats: Bytes read" "2.6.0";
    901_212 PERF_COUNTER_BULK_COUNT -4 NOVICE: E "/proc/fs/cifs/Stats: Bytes written" "2.6.0";
    901_214 PERF_COUNTER_COUNTER 0 ADVANCED: E "/proc/fs/cifs/Stats: the sum of failed" "3.7";
    901_216 PERF_COUNTER_RAWCOUNT 0 ADVANCED: E "/proc/fs/cifs/Stats: Open files" "4.20";
}}

/// The object SMB Client Share, by the name of the share.
pub(super) struct SmbClientShare {
    layout: ObjectLayout<'static>,
}

impl SmbClientShare {
    pub(super) fn new() -> SmbClientShare {
        let spec = object(901_200, 901_201, DetailLevel::NOVICE, 0, InstanceKind::Many, COUNTERS);
        SmbClientShare { layout: ObjectLayout::new(spec) }
    }
}

/// The counters of the SMB client; an error without one.
pub(super) fn stats(sources: &mut Sources) -> Result<CifsStats, Absence> {
    sources.text("/proc/fs/cifs/Stats").map(CifsStats::parse)
}

fn values(share: &Share) -> [Result<u64, Absence>; 8] {
    let old = Absence::NotInThisKernel;
    [
        Ok(share.requests),
        Ok(share.reads),
        Ok(share.writes),
        Ok(share.requests.saturating_sub(share.reads).saturating_sub(share.writes)),
        Ok(share.bytes_read),
        Ok(share.bytes_written),
        share.failed.ok_or(old),
        share.open_files.ok_or(old),
    ]
}

impl Object for SmbClientShare {
    fn spec(&self) -> &ObjectSpec<'static> {
        self.layout.spec()
    }

    fn origins(&self) -> &'static [Origin] {
        ORIGINS
    }

    fn collect(&mut self, _ask: &CollectRequest<'_>, sources: &mut Sources, out: &mut ObjectsWriter<'_>) {
        let shares = stats(sources).map(|stats| stats.shares).unwrap_or_default();
        let mut object = out.object(&self.layout, PerfTime(0), Frequency(0));
        for share in &shares {
            write(COUNTERS, &mut object.instance(&share.name, None, None), &values(share), 0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::fake_machine_tests::{Machine, instance, named, names};
    use super::*;
    use crate::kernel::proc::fixture::fixture;
    use tallymon_provider::ValueState;

    #[test]
    fn shares_and_their_part_of_the_redirector() {
        let mut machine = Machine::new(&[("proc/fs/cifs/Stats", &fixture("written/cifs-Stats"))]);
        let snapshot = machine.read(901_200);
        assert_eq!(names(&snapshot), [r"\\files\home", r"\\old\pub"]);
        let share = instance(&snapshot, r"\\files\home");
        let all: Vec<_> = (901_202..).step_by(2).take(8).map(|counter| named(&share, counter)).collect();
        assert_eq!(all, [900, 40, 30, 830, 123_456, 7890, 6, 5].map(Ok));
        let missing = Err(ValueState::Absent(Absence::NotInThisKernel));
        assert_eq!(named(&instance(&snapshot, r"\\old\pub"), 901_214), missing);
        // Redirector counts both kinds of mounts.
        let snapshot = machine.read(262);
        let all = instance(&snapshot, "");
        for (counter, value) in [
            (274, 131_648),
            (286, 11_986),
            (292, 42),
            (302, 31),
            (10, 42),
            (278, 912),
            (314, 2),
            (316, 3),
            (312, 6),
        ] {
            assert_eq!(named(&all, counter), Ok(value), "{counter}");
        }
        machine.write("proc/self/mountstats", &fixture("written/mountstats"));
        let snapshot = machine.read(262);
        let all = instance(&snapshot, "");
        assert_eq!((named(&all, 274), named(&all, 314)), (Ok(131_648 + 701), Ok(4)));
        assert!(names(&Machine::new(&[]).read(901_200)).is_empty());
    }
}
