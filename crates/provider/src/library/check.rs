//! Checks what Collect returned, as NT does, on numbers and bytes only.
//!
//! Whatever the rules are, an answer that cannot be walked is left out, because it would make the whole data
//! block unreadable. The rules define what is reported, and what disables a service.

use tallymon_core::block::{NumInstances, Object, Objects};
use tallymon_core::error::Error;

use super::event::{
    ALIGNMENT, COLLECT_FAILED, COLLECT_SIZE, DEFINITION, Event, GUARD, INSTANCE, OBJECTS, OVERRUN, POINTER,
    TOO_LARGE,
};

/// Status of a successful call.
pub const ERROR_SUCCESS: u32 = 0;
/// Status of a Collect whose buffer is too small.
pub const ERROR_MORE_DATA: u32 = 234;

/// What Collect returned.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Returned {
    /// Its status: 0 or 234 by the contract.
    pub status: u32,
    /// By how many bytes it moved the pointer to its buffer.
    pub moved: i64,
    /// The number of bytes that it claims to have written.
    pub bytes: u32,
    /// The number of objects that it claims to have written.
    pub objects: u32,
    /// How many bytes its buffer holds.
    pub capacity: u32,
    /// Whether the guard areas are as they were.
    pub guards: Guards,
}

/// Whether the areas around the buffer are untouched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Guards {
    /// The area in front of the buffer.
    pub before: bool,
    /// The area after the buffer.
    pub behind: bool,
}

impl Default for Guards {
    fn default() -> Guards {
        Guards { before: true, behind: true }
    }
}

/// Selects the checks: `ExtCounterTestLevel` and `Configuration Flags`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rules {
    /// 1: all checks; 2: not the lengths inside of the answer; 3 and 4: none.
    ///
    /// The default on Windows is 4 today. Ours is 1, since a fault harms the child process only.
    pub test_level: u32,
    /// The sum of [`Rules::NO_ALIGNMENT_TEST`] and the like.
    pub flags: u32,
}

impl Default for Rules {
    fn default() -> Rules {
        Rules { test_level: 1, flags: 0 }
    }
}

impl Rules {
    /// Flag: lengths that are no multiple of 8 are not reported.
    pub const NO_ALIGNMENT_TEST: u32 = 1;
    /// Flag: no service is ever disabled.
    pub const NEVER_DISABLE: u32 = 2;
    /// Flag: buffers and lengths are not tested.
    pub const NO_INTEGRITY_TEST: u32 = 4;
    /// Flag: times are not tested.
    pub const NO_TIMEOUT_TEST: u32 = 8;

    const fn has(self, flag: u32) -> bool {
        self.flags & flag != 0
    }

    /// Whether buffers are tested.
    pub const fn tests_buffers(self) -> bool {
        self.test_level <= 2 && !self.has(Rules::NO_INTEGRITY_TEST)
    }

    /// Whether lengths inside of the answer are tested.
    pub const fn tests_lengths(self) -> bool {
        self.test_level <= 1 && !self.has(Rules::NO_INTEGRITY_TEST)
    }

    /// Whether answers that are late are reported.
    pub const fn tests_times(self) -> bool {
        !self.has(Rules::NO_TIMEOUT_TEST)
    }

    /// Whether a service with grave faults is disabled.
    pub const fn may_disable(self) -> bool {
        !self.has(Rules::NEVER_DISABLE)
    }
}

/// What to do with an answer.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Verdict {
    /// The number of usable objects in it; 0 when it is left out.
    pub objects: u32,
    /// The events to report.
    pub events: Vec<Event>,
    /// The fault is one for which a service is disabled.
    pub grave: bool,
}

/// Checks an answer. `data` holds as many of the `bytes` that Collect claims to have written as could be
/// read.
pub fn check(returned: &Returned, data: &[u8], library: &str, service: &str, rules: Rules) -> Verdict {
    let mut verdict = Verdict::default();
    let Returned { status, moved, bytes, objects, capacity, guards } = *returned;
    let guards_intact = guards.before && guards.behind;
    let too_long = status == ERROR_SUCCESS && bytes > capacity;
    if too_long || !guards_intact {
        if rules.tests_buffers() {
            let size = bytes.to_string();
            verdict.events.push(match (too_long, guards.behind) {
                (true, false) => {
                    let over = bytes.saturating_sub(capacity).to_string();
                    Event::new(&OVERRUN, [library, service, &over])
                }
                (true, true) => Event::new(&COLLECT_SIZE, [library, service, &size]),
                (false, _) => Event::new(&GUARD, [library, service]).with_detail(if guards.before {
                    "behind its end"
                } else {
                    "before its start"
                }),
            });
            verdict.grave = true;
        }
        return verdict;
    }
    match status {
        ERROR_SUCCESS => {}
        ERROR_MORE_DATA => {
            let event = Event::new(&TOO_LARGE, [library, service, &capacity.to_string(), ""]);
            verdict.events.push(event);
            return verdict;
        }
        _ => {
            verdict.events.push(Event::new(&COLLECT_FAILED, [service, library, &status.to_string()]));
            return verdict;
        }
    }
    if moved != i64::from(bytes) && rules.tests_buffers() {
        let left = i64::from(capacity).saturating_sub(moved).to_string();
        let available = capacity.saturating_sub(bytes).to_string();
        verdict.events.push(Event::new(&POINTER, [library, service, &left, &available]));
        verdict.grave = true;
        return verdict;
    }
    match walk(data, bytes, objects) {
        Ok(()) => {
            verdict.objects = objects;
            if !bytes.is_multiple_of(8) && rules.tests_buffers() && !rules.has(Rules::NO_ALIGNMENT_TEST) {
                let left = capacity.saturating_sub(bytes).to_string();
                verdict.events.push(Event::new(&ALIGNMENT, [library, service, "", &left]));
            }
        }
        Err(fault) => {
            if rules.tests_buffers() {
                verdict.events.push(fault.event(library, service, objects));
            }
            verdict.grave = rules.tests_lengths();
        }
    }
    verdict
}

/// What is wrong with the bytes of an answer.
enum Fault {
    Objects(String),
    Instance(u32, Error),
    Definition(u32, String),
}

impl Fault {
    fn event(self, library: &str, service: &str, objects: u32) -> Event {
        match self {
            Fault::Objects(words) => {
                Event::new(&OBJECTS, [library, service, &objects.to_string()]).with_detail(words)
            }
            Fault::Instance(object, error) => {
                Event::new(&INSTANCE, [library, service, &object.to_string()]).with_detail(error.to_string())
            }
            Fault::Definition(object, words) => {
                Event::new(&DEFINITION, [library, service, &object.to_string()]).with_detail(words)
            }
        }
    }
}

/// Walks all structures: the objects must fill the answer exactly, and every counter must lie inside of its
/// block.
fn walk(data: &[u8], bytes: u32, count: u32) -> Result<(), Fault> {
    let found = data.len();
    if u64::from(bytes) != found as u64 {
        return Err(Fault::Objects(format!("{bytes} bytes were promised and {found} are there")));
    }
    let (mut length, mut objects) = (0usize, 0u32);
    for object in Objects::bare(data, count) {
        let object = object.map_err(|error| Fault::Objects(error.to_string()))?;
        length = length.saturating_add(object.bytes().len());
        objects = objects.saturating_add(1);
        walk_object(&object)?;
    }
    if objects != count || length != found {
        let words =
            format!("{count} objects in {found} bytes were promised, {objects} in {length} bytes are there");
        return Err(Fault::Objects(words));
    }
    Ok(())
}

fn walk_object(object: &Object<'_>) -> Result<(), Fault> {
    let name = object.header().name.0;
    let (mut n_blocks, mut shortest) = (0u32, usize::MAX);
    if let Some(block) = object.counter_block() {
        let block = block.map_err(|error| Fault::Instance(name, error))?;
        (n_blocks, shortest) = (1, block.bytes().len());
    }
    for instance in object.instances() {
        let instance = instance.map_err(|error| Fault::Instance(name, error))?;
        n_blocks = n_blocks.saturating_add(1);
        shortest = shortest.min(instance.counter_block.bytes().len());
    }
    if let NumInstances::Many(n) = object.header().num_instances
        && n != n_blocks
    {
        let words = format!("object {name} promises {n} instances and has {n_blocks}");
        return Err(Fault::Objects(words));
    }
    for (position, definition) in object.counters().enumerate() {
        let definition = definition.map_err(|error| Fault::Definition(name, error.to_string()))?;
        let end = u64::from(definition.counter_offset).saturating_add(u64::from(definition.counter_size));
        if n_blocks > 0 && end > shortest as u64 {
            let words = format!(
                "counter {position} ends at byte {end} of a PERF_COUNTER_BLOCK that has {shortest} \
                (CounterOffset {}, \
                 CounterSize {})",
                definition.counter_offset, definition.counter_size
            );
            return Err(Fault::Definition(name, words));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        CounterSpec, CounterType, Frequency, InstanceKind, ObjectLayout, ObjectSpec, ObjectsWriter, PerfTime,
        TitleIndex,
    };

    const CAPACITY: u32 = 65_536;

    /// An object with two instances of one counter of 4 bytes.
    fn object() -> Vec<u8> {
        let counters = [CounterSpec::new(TitleIndex(5002), CounterType::PERF_COUNTER_RAWCOUNT)];
        let layout = ObjectLayout::new(ObjectSpec::new(TitleIndex(5000), InstanceKind::Many, &counters));
        let mut bytes = Vec::new();
        let mut out = ObjectsWriter::growing(&mut bytes);
        let mut writer = out.object(&layout, PerfTime(0), Frequency(0));
        writer.instance("one", None, None).set(0, 1);
        writer.instance("two", None, None).set(0, 2);
        drop(writer);
        bytes
    }

    fn good(data: &[u8], objects: u32) -> Returned {
        let bytes = u32::try_from(data.len()).unwrap();
        Returned { bytes, objects, moved: i64::from(bytes), capacity: CAPACITY, ..Returned::default() }
    }

    fn put(data: &mut [u8], at: usize, value: u32) {
        data[at..][..4].copy_from_slice(&value.to_le_bytes());
    }

    /// A fault, and its consequence under the strictest rules.
    struct Case {
        what: &'static str,
        damage: fn(&mut Returned, &mut Vec<u8>),
        ids: &'static [u32],
        grave: bool,
        objects: u32,
    }

    const CASES: &[Case] = &[
        Case { what: "nothing", damage: |_, _| {}, ids: &[], grave: false, objects: 1 },
        Case {
            what: "an empty answer",
            damage: |r, d| {
                d.clear();
                *r = good(d, 0);
            },
            ids: &[],
            grave: false,
            objects: 0,
        },
        Case {
            what: "bytes and objects left as they were, as in the article",
            damage: |r, d| {
                *r = Returned { moved: 0, bytes: CAPACITY, objects: 0, ..*r };
                d.resize(CAPACITY as usize, 0);
            },
            ids: &[2000],
            grave: true,
            objects: 0,
        },
        Case { what: "a moved pointer", damage: |r, _| r.moved += 8, ids: &[2000], grave: true, objects: 0 },
        Case {
            what: "a pointer moved back",
            damage: |r, _| r.moved = -8,
            ids: &[2000],
            grave: true,
            objects: 0,
        },
        Case {
            what: "too many bytes",
            damage: |r, _| r.bytes = CAPACITY + 1,
            ids: &[1001],
            grave: true,
            objects: 0,
        },
        Case {
            what: "too many bytes, written",
            damage: |r, _| {
                r.bytes = CAPACITY + 8;
                r.guards.behind = false;
            },
            ids: &[1013],
            grave: true,
            objects: 0,
        },
        Case {
            what: "guard behind",
            damage: |r, _| r.guards.behind = false,
            ids: &[1002],
            grave: true,
            objects: 0,
        },
        Case {
            what: "guard before",
            damage: |r, _| r.guards.before = false,
            ids: &[1002],
            grave: true,
            objects: 0,
        },
        Case { what: "two objects", damage: |r, _| r.objects = 2, ids: &[1003], grave: true, objects: 0 },
        Case { what: "no objects", damage: |r, _| r.objects = 0, ids: &[1003], grave: true, objects: 0 },
        Case {
            what: "a shorter object",
            damage: |_, d| put(d, 0, 64),
            ids: &[1003],
            grave: true,
            objects: 0,
        },
        Case {
            what: "an object of length 0",
            damage: |_, d| put(d, 0, 0),
            ids: &[1003],
            grave: true,
            objects: 0,
        },
        Case {
            what: "memory that was cut",
            damage: |_, d| d.truncate(20),
            ids: &[1003],
            grave: true,
            objects: 0,
        },
        Case { what: "more instances", damage: |_, d| put(d, 40, 3), ids: &[1004], grave: true, objects: 0 },
        Case {
            what: "a long instance",
            damage: |_, d| put(d, 104, 9999),
            ids: &[1004],
            grave: true,
            objects: 0,
        },
        Case {
            what: "a short definition",
            damage: |_, d| put(d, 64, 3),
            ids: &[1019],
            grave: true,
            objects: 0,
        },
        Case {
            what: "an offset outside",
            damage: |_, d| put(d, 64 + 36, 400),
            ids: &[1019],
            grave: true,
            objects: 0,
        },
        Case {
            what: "a size outside",
            damage: |_, d| put(d, 64 + 32, u32::MAX),
            ids: &[1019],
            grave: true,
            objects: 0,
        },
        Case { what: "status 5", damage: |r, _| r.status = 5, ids: &[1014], grave: false, objects: 0 },
        Case {
            what: "never enough",
            damage: |r, _| r.status = ERROR_MORE_DATA,
            ids: &[1020],
            grave: false,
            objects: 0,
        },
        Case {
            what: "no multiple of 8",
            damage: |r, d| {
                let length = d.len() + 4;
                d.resize(length, 0);
                put(d, 0, u32::try_from(length).unwrap());
                *r = good(d, 1);
            },
            ids: &[1016],
            grave: false,
            objects: 1,
        },
    ];

    fn judge(case: &Case, rules: Rules) -> (Vec<u32>, bool, u32) {
        let mut data = object();
        let mut returned = good(&data, 1);
        (case.damage)(&mut returned, &mut data);
        let verdict = check(&returned, &data, "lib", "svc", rules);
        for event in &verdict.events {
            assert_eq!(event.field("Service"), Some("svc"));
            assert_eq!(event.field("Library"), Some("lib"));
        }
        (verdict.events.iter().map(|event| event.kind.id).collect(), verdict.grave, verdict.objects)
    }

    #[test]
    fn every_fault_has_its_event_and_consequence() {
        for case in CASES {
            let wanted = (case.ids.to_vec(), case.grave, case.objects);
            assert_eq!(judge(case, Rules::default()), wanted, "{}", case.what);
        }
    }

    #[test]
    fn rules_disable_checks_but_never_pass_malformed_objects() {
        for case in CASES {
            let off =
                [Rules { test_level: 4, flags: 0 }, Rules { test_level: 1, flags: Rules::NO_INTEGRITY_TEST }];
            for rules in off {
                let (ids, grave, objects) = judge(case, rules);
                let failed = ids.iter().all(|id| [1014, 1020].contains(id));
                assert!(failed && !grave, "{}: {ids:?}", case.what);
                // Where the pointer is wrong and the bytes are right, they are used.
                assert!(objects == case.objects || case.ids == [2000], "{}: {objects}", case.what);
            }
            let (_, grave, _) = judge(case, Rules { test_level: 2, flags: 0 });
            let buffer = [1001, 1002, 1013, 2000];
            assert_eq!(grave, case.ids.iter().any(|id| buffer.contains(id)), "{}", case.what);
        }
        let unaligned = CASES.last().unwrap();
        let quiet = Rules { test_level: 1, flags: Rules::NO_ALIGNMENT_TEST };
        assert_eq!(judge(unaligned, quiet), (vec![], false, 1));
    }
}
