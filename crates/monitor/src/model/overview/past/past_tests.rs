//! The packed past of processes.

use super::*;
use crate::model::overview::ProcessMetric;
use crate::model::overview::process_row::largest;

/// 8 MiB, the half of the overview's quarter of 64 MiB.
const BUDGET: usize = 8 << 20;
const SECOND: u64 = 10_000_000;

fn at(second: u64) -> FileTime {
    FileTime(134_168_316_000_000_000 + second * SECOND + second * 7_919 % 10_000)
}

/// Numbers as random as those of a real machine.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % sides
    }
}

fn process(id: u32, start: u64) -> ProcessRow {
    ProcessRow {
        name: format!("worker-{}#{}", id % 40, id / 40).into(),
        id: Some(id),
        parent: Some(id % 7 + 1),
        start: 1_700_000 + start * SECOND,
        processor: Some(0.0),
        memory: Some(f64::from(id) * 4_096.0 * 300.0),
        bytes: Some(0.0),
        threads: Some(1.0),
    }
}

/// A machine of 1,000 processes of which `active` work in each second, and one ends and one begins in each.
struct Machine {
    rows: Vec<ProcessRow>,
    dice: Dice,
    active: u64,
    next: u32,
}

impl Machine {
    fn new(active: u64) -> Machine {
        let rows = (1..=1_000).map(|id| process(id, u64::from(id))).collect();
        Machine { rows, dice: Dice(21), active, next: 1_001 }
    }

    fn second(&mut self, second: u64) -> &[ProcessRow] {
        let active = self.active;
        for row in &mut self.rows {
            let works = self.dice.roll(1_000) < active;
            row.processor = Some(if works { 1.0 + self.dice.roll(1 << 30) as f32 * 1.3e-9 } else { 0.0 });
            row.bytes = Some(if works && self.dice.roll(4) == 0 {
                self.dice.roll(1 << 30) as f32 / 1.013
            } else {
                0.0
            });
            if works && self.dice.roll(3) == 0 {
                let pages = self.dice.roll(64) as f64 - 20.0;
                row.memory = row.memory.map(|memory| (memory + pages * 4_096.0).max(0.0));
            }
            if works && self.dice.roll(50) == 0 {
                row.threads = Some(1.0 + self.dice.roll(30) as f32);
            }
        }
        let gone = usize::try_from(self.dice.roll(self.rows.len() as u64)).expect("small");
        self.rows.remove(gone);
        self.rows.push(process(self.next, second));
        self.next += 1;
        &self.rows
    }
}

/// The rows in the order of their ids, as those of the machine are: that of a past second is another one.
fn by_id(mut rows: Vec<ProcessRow>) -> Vec<ProcessRow> {
    rows.sort_by_key(|row| row.id);
    assert!(rows.windows(2).all(|pair| pair[0].id < pair[1].id), "each once");
    rows
}

/// The row of the process with this id.
fn row_of(rows: &[ProcessRow], id: Option<u32>) -> Option<&ProcessRow> {
    rows.binary_search_by_key(&id, |row| row.id).ok().map(|place| &rows[place])
}

/// Every second of an hour, read chunk by chunk.
fn each_second(past: &Past, mut check: impl FnMut(FileTime, Vec<ProcessRow>, usize)) {
    for chunk in &past.chunks {
        let mut reader = Reader::default();
        for (second, part) in chunk.parts() {
            reader.read(part).expect("what was written");
            check(second.time, reader.rows(), second.left_out as usize);
        }
    }
}

#[test]
fn an_hour_of_a_thousand_processes_is_whole_in_8_mib() {
    let mut past = Past::new(BUDGET);
    let mut machine = Machine::new(60);
    for second in 0..3_600 {
        past.push(at(second), machine.second(second));
        assert!(past.bytes() <= BUDGET, "{} bytes after {second} seconds", past.bytes());
    }
    let real: usize = past.chunks.iter().map(|chunk| chunk.bytes.capacity()).sum();
    assert!(past.sealed > real / 2 && past.bytes() >= real, "{} of {real}", past.bytes());
    let each = past.bytes() as f64 / 3.6e6;
    assert!(each < 1.0, "{each:.2} bytes for a process and a second");
    let (mut again, mut seconds) = (Machine::new(60), 0);
    each_second(&past, |time, rows, left_out| {
        let wanted = again.second(seconds);
        assert_eq!((time, left_out), (at(seconds), 0));
        assert_eq!(by_id(rows), wanted, "second {seconds}");
        seconds += 1;
    });
    assert_eq!(seconds, 3_600, "no second is missing");
}

#[test]
fn when_all_of_them_work_an_hour_keeps_the_largest_and_counts_the_others() {
    let mut past = Past::new(BUDGET);
    let mut machine = Machine::new(1_000);
    for second in 0..3_600 {
        past.push(at(second), machine.second(second));
        assert!(past.bytes() <= BUDGET, "{} bytes after {second} seconds", past.bytes());
    }
    let (mut again, mut seconds, mut least) = (Machine::new(1_000), 0, usize::MAX);
    each_second(&past, |time, rows, left_out| {
        let wanted = again.second(seconds);
        assert_eq!(time, at(seconds));
        let kept = by_id(rows);
        assert!(kept.iter().all(|row| row_of(wanted, row.id) == Some(row)), "a kept number is the real one");
        assert_eq!(kept.len() + left_out, wanted.len());
        let is_large = largest(wanted);
        let lost =
            wanted.iter().zip(is_large).find(|(row, is_large)| *is_large && row_of(&kept, row.id).is_none());
        assert_eq!(lost.map(|(row, _)| row), None, "one of the largest");
        least = least.min(kept.len());
        seconds += 1;
    });
    assert_eq!(seconds, 3_600, "no second is missing");
    assert!(least >= 100, "{least} processes in the poorest second");
}

#[test]
fn a_second_is_found_by_its_time_and_the_oldest_go() {
    let mut history = Past::new(30_000);
    let mut machine = Machine::new(100);
    for second in 0..2_000 {
        history.push(at(second), machine.second(second));
    }
    assert!(history.bytes() <= 30_000 + SLOT_BYTES * 2_048, "{}", history.bytes());
    assert!(history.at(at(0)).is_none() && history.at(FileTime(7)).is_none(), "dropped, and never there");
    let newest = history.at(at(1_999)).expect("it is kept");
    assert!(!newest.is_empty() && newest.iter().all(|row| row_of(&machine.rows, row.id) == Some(row)));
}

#[test]
fn numbers_of_one_process_follow_it_through_chunks() {
    let mut past = Past::new(BUDGET);
    let row = |id: u32, second: u64| ProcessRow { processor: Some(second as f32), ..process(id, 5) };
    for second in 0..500 {
        let all = [row(7, second), row(8, second * 2)];
        // The second process is there in every other hundred seconds, and then in another place.
        match second / 100 % 2 {
            0 => past.push(at(second), &[row(8, second * 2), row(7, second)]),
            _ => past.push(at(second), &all[..1]),
        }
    }
    let busy = |numbers: &Numbers| numbers.processor.unwrap_or(-1.0);
    let who = |id: u32| row(id, 0).identity().expect("it has an id");
    let line = past.of(who(7), at(241), 4, busy);
    assert_eq!(line, [238.0, 239.0, 240.0, 241.0]);
    let line = past.of(who(8), at(300), 200, busy);
    assert_eq!(line.len(), 200);
    assert!(line[..99].iter().all(|number| number.is_nan()), "seconds 101 to 199");
    assert_eq!((line[99], line[198]), (400.0, 598.0));
    assert!(line[199].is_nan(), "it ended again");
    assert!(
        past.of((7, 71), at(50), 1, busy).iter().all(|one| one.is_nan()),
        "another start, another process"
    );
    assert_eq!(past.of(who(7), at(3), 60, busy).len(), 4, "no more than there were");
}

#[test]
fn whatever_a_row_has_comes_back() {
    let odd = |id, name: &str| ProcessRow { id, name: name.into(), ..process(1, 9) };
    let all = [
        odd(None, "without an id"),
        odd(None, "#"),
        odd(Some(0), "a#0"),
        odd(Some(u32::MAX), "a#007"),
        odd(Some(4), "a#18446744073709551616"),
        odd(Some(5), "a#18446744073709551615"),
        odd(Some(6), ""),
        ProcessRow { parent: None, start: u64::MAX, processor: None, memory: None, ..odd(Some(8), "b#1") },
        ProcessRow { parent: Some(u32::MAX), start: 0, bytes: None, threads: None, ..odd(Some(9), "b#2") },
        ProcessRow { memory: Some(-0.0), processor: Some(f32::MIN_POSITIVE), ..odd(Some(10), "b#3") },
        ProcessRow { memory: Some(1e300), processor: Some(f32::INFINITY), ..odd(Some(11), "b") },
        ProcessRow { memory: Some(4_097.5), processor: Some(-1.0), ..odd(Some(12), "세계#2") },
        ProcessRow { memory: Some(9_007_199_254_740_991.0), threads: Some(0.1), ..odd(Some(13), "c") },
        ProcessRow { memory: Some(-9_007_199_254_740_991.0), ..odd(Some(14), "c#1") },
    ];
    let mut past = Past::new(BUDGET);
    let mut wanted = Vec::new();
    // Each row in the company of others, so that each follows each.
    for second in 0..600usize {
        let mut rows: Vec<ProcessRow> =
            all.iter().cycle().skip(second * 5).take(second % 12).cloned().collect();
        for (nth, row) in rows.iter_mut().enumerate() {
            let other = &all[(second + nth) % all.len()];
            (row.memory, row.bytes, row.threads) = (other.memory, other.bytes, other.threads);
            row.parent = other.parent;
        }
        past.push(at(second as u64), &rows);
        wanted.push(rows);
    }
    for (second, wanted) in wanted.iter().enumerate() {
        let mut found = past.at(at(second as u64)).expect("it is kept");
        let place = |row: &ProcessRow| all.iter().position(|one| one.name == row.name);
        let mut wanted = wanted.clone();
        found.sort_by_key(place);
        wanted.sort_by_key(place);
        assert_eq!(format!("{found:?}"), format!("{wanted:?}"), "second {second}, with the sign of 0");
    }
}

#[test]
fn a_process_that_is_there_twice_is_counted_once() {
    let mut past = Past::new(BUDGET);
    let twice = [process(1, 1), process(1, 1), process(2, 1)];
    for second in 0..3 {
        past.push(at(second), &twice);
        assert_eq!(past.at(at(second)).expect("it is kept").len(), 2);
        assert_eq!(past.left_out(at(second)), 1);
    }
}

#[test]
fn bytes_that_are_not_ours_are_no_second() {
    let mut past = Past::new(BUDGET);
    let mut machine = Machine::new(100);
    past.push(at(0), machine.second(0));
    let bytes = past.chunks[0].bytes.clone();
    for length in 0..bytes.len().min(4_000) {
        let _ = Reader::default().read(&bytes[..length]);
        let mut other = bytes.clone();
        other[length] ^= 0x55;
        let _ = Reader::default().read(&other);
    }
}

#[test]
fn the_largest_of_each_order_are_kept() {
    let idle = |id| ProcessRow { memory: Some(1.0), ..process(id, 1) };
    let mut rows: Vec<ProcessRow> = (0..100).map(idle).collect();
    rows.push(ProcessRow { processor: Some(90.0), ..idle(200) });
    rows.push(ProcessRow { memory: Some(1e9), ..idle(201) });
    let kept: Vec<Option<u32>> =
        rows.iter().zip(largest(&rows)).filter(|(_, is_large)| *is_large).map(|(row, _)| row.id).collect();
    assert!(kept.contains(&Some(200)) && kept.contains(&Some(201)), "{kept:?}");
    assert!(kept.len() <= 13, "a process without work is kept for its memory only: {}", kept.len());
    assert_eq!(rows[100].number(ProcessMetric::Processor), Some(90.0));
}
