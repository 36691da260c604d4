//! The order of the buffers of a BLG. Since Vista every buffer has a number, so that one shows which are
//! missing, doubled or out of order. A circular log begins in its middle, and a log that another was appended
//! to has several sequences of numbers.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hasher};

use tallymon_core::bytes::Bytes;
use tallymon_core::time::FileTime;

use super::container::{BUFFER_HEADER, EVENT_FLAGS, has_provider};
use super::records::kind;

/// What a buffer says about its place in the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct PageHead {
    /// Its number; Server 2003 and earlier have an identifier there.
    pub(super) number: u64,
    /// When it was written, UTC; 0 if it does not say.
    pub(super) flushed: u64,
    /// Local time of its first event; 0 without one.
    first: FileTime,
    /// It is the first buffer of a log.
    is_header: bool,
    /// It begins with a counter list, or with the names before one.
    begins_log: bool,
    /// A hash of all its bytes.
    content: u64,
}

impl PageHead {
    /// The head of a whole buffer.
    pub(super) fn of(page: &[u8]) -> PageHead {
        let u64_at = |at: usize| Bytes::little(page).u64(at, "").unwrap_or(0);
        let mut content = DefaultHasher::new();
        content.write(page);
        PageHead {
            number: page_number(page),
            flushed: u64_at(0x10),
            first: FileTime(if has_provider(page, BUFFER_HEADER) { u64_at(BUFFER_HEADER + 0x10) } else { 0 }),
            is_header: page.get(BUFFER_HEADER + 3) == Some(&EVENT_FLAGS)
                && matches!(page.get(BUFFER_HEADER + 2), Some(1 | 2))
                && page.get(BUFFER_HEADER..BUFFER_HEADER + 2) == Some(&[0, 0]),
            begins_log: has_provider(page, BUFFER_HEADER)
                && matches!(page.get(BUFFER_HEADER + 4), Some(&(kind::LIST | kind::NAMES))),
            content: content.finish(),
        }
    }
}

/// The number of a buffer; see [`PageHead::number`].
pub(super) fn page_number(page: &[u8]) -> u64 {
    Bytes::little(page).u64(0x18, "").unwrap_or(0)
}

/// What the header of a log says about its buffers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Promise {
    /// The buffers have numbers.
    pub(super) numbered: bool,
    /// New buffers replace the oldest ones.
    pub(super) circular: bool,
    /// The number of buffers with the header; 0 if the writer did not note it.
    pub(super) buffers: u64,
}

/// In which order buffers are read.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Order {
    /// Positions of the buffers in the file.
    pub(super) pages: Vec<u64>,
    /// Faults, each with the buffer that shows it.
    pub(super) faults: Vec<(u64, String)>,
    pub(super) remarks: Vec<String>,
    /// How many buffers are missing between others.
    pub(super) missing: u64,
    /// How many different buffers are there, with the header.
    pub(super) there: u64,
}

/// A buffer that is read.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Page {
    at: u64,
    /// How many sequences of numbers begin before it.
    run: u32,
    head: PageHead,
}

impl Order {
    /// The order of the buffers after the header.
    ///
    /// Numbers decide only if the times of the events agree, so that a damaged number moves no buffer.
    pub(super) fn of(heads: &[PageHead], promise: Promise) -> Order {
        let mut order = Order::default();
        let in_file = order.different(heads);
        let sorted = |mut pages: Vec<Page>| {
            if promise.numbered {
                pages.sort_by_key(|page| (page.run, page.head.number));
            } else {
                pages.sort_by_key(|page| page.head.flushed);
            }
            pages
        };
        let as_one = sorted(in_file.clone());
        let as_several = sorted(appended(&in_file));
        let is_file = |pages: &[Page]| pages.iter().map(|page| page.at).is_sorted();
        let best = if descents(&as_several) < descents(&as_one) { &as_several } else { &as_one };
        let is_good = |pages: &&Vec<Page>| is_file(pages) && descents(pages) <= descents(best);
        let in_order = [&as_one, &as_several].into_iter().find(is_good);
        let chosen = in_order.or(Some(best).filter(|best| descents(best) < descents(&in_file)));
        if chosen.is_some_and(|chosen| !is_file(chosen)) {
            order.moved(&in_file, best, promise);
        }
        if promise.numbered {
            order.check_numbers(chosen.unwrap_or(&in_file), chosen.is_none(), promise);
        }
        order.pages = chosen.unwrap_or(&in_file).iter().map(|page| page.at).collect();
        order
    }

    /// The buffers without copies of others.
    fn different(&mut self, heads: &[PageHead]) -> Vec<Page> {
        let mut seen: HashMap<u64, u64> = HashMap::new();
        let (mut pages, mut logs) = (Vec::new(), 0u32);
        for (at, head) in (1u64..).zip(heads) {
            if let Some(first) = seen.get(&head.content) {
                self.faults.push((at, format!("the buffer is a copy of buffer {first} and was left out")));
                continue;
            }
            seen.insert(head.content, at);
            if head.is_header {
                logs = logs.saturating_add(1);
                self.remarks.push(format!("buffer {at}: another log was appended"));
                continue;
            }
            pages.push(Page { at, run: logs, head: *head });
        }
        self.there = (pages.len() as u64).saturating_add(u64::from(logs)).saturating_add(1);
        pages
    }

    /// Notes that buffers are read in another order than that of the file.
    fn moved(&mut self, in_file: &[Page], sorted: &[Page], promise: Promise) {
        let first = sorted.first().map_or(0, |page| page.at);
        let is_turned = in_file.iter().cycle().skip_while(|page| page.at != first).take(in_file.len());
        if promise.circular && is_turned.eq(sorted) {
            self.remarks.push(format!("a circular log: its oldest buffer is number {first} in the file"));
            return;
        }
        let moved = in_file.iter().zip(sorted).filter(|(one, other)| one != other);
        let count = moved.clone().count();
        let by = if promise.numbered { "numbers" } else { "times" };
        if let Some((page, _)) = moved.map(|(page, _)| (page.at, ())).next() {
            let words = format!("{count} buffers from here on are out of order; they are read by their {by}");
            self.faults.push((page, words));
        }
    }

    /// Finds gaps in the numbers. `are_wrong` says that numbers do not agree with the order of the times.
    fn check_numbers(&mut self, pages: &[Page], are_wrong: bool, promise: Promise) {
        let is_complete = promise.buffers > 0 && self.there >= promise.buffers && !promise.circular;
        let mut expected = (0u32, Some(1u64).filter(|_| !promise.circular));
        for Page { at, run, head } in pages {
            if *run != expected.0 && !are_wrong {
                // The numbers of an appended log may begin anywhere.
                expected = (*run, None);
            }
            let wanted = expected.1.unwrap_or(head.number);
            if head.number == wanted {
                expected.1 = Some(wanted.saturating_add(1));
                continue;
            }
            if are_wrong || is_complete || head.number < wanted {
                let words = format!("the buffer has the number {}, {wanted} was expected", head.number);
                self.faults.push((*at, words));
                expected.1 = Some(wanted.saturating_add(1));
                continue;
            }
            let missing = head.number.saturating_sub(wanted);
            self.missing = self.missing.saturating_add(missing);
            let words = format!("{missing} buffers are missing before it: number {wanted} and on");
            self.faults.push((*at, words));
            expected.1 = Some(head.number.saturating_add(1));
        }
        if promise.circular
            && let Some(page) = pages.first().filter(|page| page.head.number > 1)
        {
            let gone = page.head.number.saturating_sub(1);
            self.remarks.push(format!("a circular log: {gone} older buffers were replaced"));
        }
    }

    /// The buffer after another one; the first one after the header.
    pub(super) fn after(&self, page: u64) -> Option<u64> {
        let place = self.pages.iter().position(|at| *at == page);
        self.pages.get(place.map_or(0, |place| place.saturating_add(1))).copied()
    }
}

/// The buffers with a new sequence of numbers at each counter list whose number is not higher than those
/// before it.
fn appended(pages: &[Page]) -> Vec<Page> {
    let (mut runs, mut highest, mut log) = (0u32, 0u64, 0u32);
    let mut all = Vec::with_capacity(pages.len());
    for page in pages {
        if page.run != log {
            (runs, highest, log) = (runs.saturating_add(1), 0, page.run);
        } else if page.head.begins_log && !all.is_empty() && page.head.number <= highest {
            (runs, highest) = (runs.saturating_add(1), 0);
        }
        highest = highest.max(page.head.number);
        all.push(Page { run: runs, ..*page });
    }
    all
}

/// How often the first events of buffers go back in time.
fn descents(pages: &[Page]) -> usize {
    let times = pages.iter().map(|page| page.head.first).filter(|time| time.0 > 0);
    times.clone().zip(times.skip(1)).filter(|(one, other)| other < one).count()
}
