//! Which counters explain a chart: their largest instances are the likely causes of a spike.

use tallymon::core::title::TitleIndex;

use crate::model::PROCESS;
use crate::model::series::Series;

const PROCESSOR_TIME: TitleIndex = TitleIndex(6);
const WORKING_SET: TitleIndex = TitleIndex(180);
const IO_DATA_BYTES: TitleIndex = TitleIndex(1424);
const MEMORY: TitleIndex = TitleIndex(4);
const PAGING_FILE: TitleIndex = TitleIndex(700);
const DISKS: [TitleIndex; 2] = [TitleIndex(234), TitleIndex(236)];

/// The counters to watch for some series, each with whether it is drawn: those of processes, then the other
/// instances of the drawn counters.
pub fn wanted<'s>(series: impl Iterator<Item = (&'s Series, bool)>) -> Vec<(TitleIndex, TitleIndex)> {
    let mut wanted = vec![(PROCESS, PROCESSOR_TIME), (PROCESS, WORKING_SET)];
    for (series, is_drawn) in series {
        // I/O of processes is expensive: one more file for each process.
        if DISKS.contains(&series.object) && !wanted.contains(&(PROCESS, IO_DATA_BYTES)) {
            wanted.push((PROCESS, IO_DATA_BYTES));
        }
        let pair = (series.object, series.counter);
        if series.instance.is_some() && is_drawn && !wanted.contains(&pair) {
            wanted.push(pair);
        }
    }
    wanted
}

/// The order of groups: the clicked counter, the process counter behind it, its object, the others.
pub fn rank(chosen: Option<(TitleIndex, TitleIndex)>, group: (TitleIndex, TitleIndex)) -> u8 {
    let Some(chosen) = chosen else { return u8::from(group.0 != PROCESS) };
    let process_counter = match chosen.0 {
        MEMORY | PAGING_FILE => WORKING_SET,
        object if DISKS.contains(&object) => IO_DATA_BYTES,
        _ => PROCESSOR_TIME,
    };
    match group {
        group if group == chosen => 0,
        group if group == (PROCESS, process_counter) => 1,
        (object, _) if object == chosen.0 => 2,
        (PROCESS, _) => 3,
        _ => 4,
    }
}
