//! Streams that are written byte by byte, as the format's documentation describes them.

use super::*;
use crate::events::{Meaning, meaning};
use tallymon_testkit::raw::{Random, Raw};

/// An object: its name, and the bytes of its block.
fn object(out: &mut Raw, name: &str, block: &[u8]) {
    begin(out, name, 2);
    out.n32(block.len() as i64).align(4).raw(block).raw(&[END]);
}

fn begin(out: &mut Raw, name: &str, version: i64) {
    out.raw(&[BEGIN, BEGIN, NULL])
        .n32(version)
        .n32(0)
        .n32(name.len() as i64)
        .raw(name.as_bytes())
        .raw(&[END]);
}

fn wide(out: &mut Raw, text: &str) {
    out.wide(text).n16(0);
}

/// A block of descriptions with one kind of event.
fn metadata(provider: &str, id: i64, name: &str, fields: &[(i64, &str)]) -> Vec<u8> {
    let mut payload = Raw::little();
    payload.n32(1);
    wide(&mut payload, provider);
    payload.n32(id);
    wide(&mut payload, name);
    payload.n64(0).n32(0).n32(4).n32(fields.len() as i64);
    for (kind, name) in fields {
        payload.n32(*kind);
        wide(&mut payload, name);
    }
    let payload = payload.into_bytes();
    let mut block = Raw::little();
    block.n16(20).n16(1).n64(0).n64(0);
    let length = payload.len();
    assert!(length < 1 << 14);
    block.raw(&[HAS_LENGTH, 0, (length & 0x7f) as u8 | 0x80, (length >> 7) as u8]).raw(&payload);
    block.into_bytes()
}

const HAS_LENGTH: u8 = 128;

fn stream(objects: &[(&str, Vec<u8>)]) -> Vec<u8> {
    let mut out = Raw::little();
    out.raw(MAGIC).raw(SERIALIZATION);
    begin(&mut out, "Trace", 4);
    for part in [2026, 11, 1, 23, 2, 30, 15, 250] {
        out.n16(part);
    }
    out.n64(1_000).n64(1_000_000).n32(8).n32(77).n32(2).n32(0).raw(&[END]);
    for (name, block) in objects {
        object(&mut out, name, block);
    }
    out.raw(&[NULL]);
    out.into_bytes()
}

type Seen = (u64, u64, Vec<u64>, Option<Meaning>);

fn read(bytes: &[u8]) -> Result<(Start, u64, Vec<Seen>), TraceError> {
    let mut trace = Trace::new(bytes)?;
    let mut all = Vec::new();
    while trace.next(&mut |event| {
        all.push((event.ticks, event.thread, event.stack.to_vec(), meaning(event)));
    })? {}
    Ok((*trace.start(), trace.lost(), all))
}

/// Two exceptions of one thread, the first with a stack; one event between them was dropped.
fn exceptions() -> Vec<u8> {
    let mut stacks = Raw::little();
    stacks.n32(7).n32(1).n32(16).n64(0x1000).n64(0x2000);
    let mut payload = Raw::little();
    wide(&mut payload, "System.Oops");
    wide(&mut payload, "no");
    let payload = payload.into_bytes();
    let mut events = Raw::little();
    events.n16(20).n16(1).n64(0).n64(0);
    // Kind 1, sequence number 1 of thread 5 on processor 0, thread 5, stack 7, after 2,000 ticks.
    events.raw(&[0x8f, 1, 0, 5, 0, 5, 7, 0xd0, 0x0f, payload.len() as u8]).raw(&payload);
    // The same kind, number 3, no stack, 1 tick later; the length is that of the event before.
    events.raw(&[0x0a, 1, 5, 0, 0, 1]).raw(&payload);
    stream(&[
        ("MetadataBlock", metadata("Microsoft-Windows-DotNETRuntime", 80, "", &[])),
        ("StackBlock", stacks.into_bytes()),
        ("EventBlock", events.into_bytes()),
        ("NewBlock", vec![1, 2, 3]),
        ("SPBlock", Vec::new()),
    ])
}

#[test]
fn events_have_threads_times_and_stacks() {
    let bytes = exceptions();
    // The last block lacks its fields.
    let mut trace = Trace::new(&bytes[..]).unwrap();
    let mut all = Vec::new();
    let error = loop {
        match trace
            .next(&mut |event| all.push((event.ticks, event.thread, event.stack.to_vec(), meaning(event))))
        {
            Ok(true) => {}
            Ok(false) => panic!("the block is damaged"),
            Err(error) => break error,
        }
    };
    assert!(error.to_string().contains("the time of a sequence point is missing"), "{error}");
    let thrown = crate::events::Exception { type_name: "System.Oops".into(), message: "no".into() };
    let thrown = Some(Meaning::Exception(thrown));
    assert_eq!(all, [(2000, 5, vec![0x1000, 0x2000], thrown.clone()), (2001, 5, vec![], thrown)]);
    assert_eq!(trace.lost(), 1);
    let start = trace.start();
    assert_eq!((start.pid, start.nanoseconds(2000)), (77, 1_000_000));
    // By `date -ud '2026-11-23 02:30:15.25' +%s%N`.
    assert_eq!(start.civil, 1_795_401_015_250_000_000);
}

#[test]
fn counters_describe_their_fields() {
    let fields = [(18, "Name"), (14, "Mean"), (9, "Count"), (13, "IntervalSec"), (18, "DisplayUnits")];
    let mut payload = Raw::little();
    wide(&mut payload, "gc-heap-size");
    payload.n64(2.5f64.to_bits()).n32(1).n32(i64::from(0.5f32.to_bits()));
    wide(&mut payload, "MB");
    let payload = payload.into_bytes();
    let mut events = Raw::little();
    events.n16(20).n16(0).n64(0).n64(0);
    // A plain header.
    events.n32(0).n32(1).n32(1).n64(5).n32(0).n64(5).n32(0).n64(1500).raw(&[0; 32]);
    events.n32(payload.len() as i64).raw(&payload).align(4);
    let kinds = metadata("System.Runtime", 2, "EventCounters", &fields);
    let (_, lost, all) =
        read(&stream(&[("MetadataBlock", kinds), ("EventBlock", events.into_bytes())])).unwrap();
    let [(1500, 5, _, Some(Meaning::Counter(counter)))] = &all[..] else { panic!("{all:?}") };
    assert_eq!((counter.name.as_str(), counter.value, counter.is_count), ("gc-heap-size", 2.5, false));
    assert_eq!((counter.interval, counter.unit.as_str(), lost), (0.5, "MB", 0));
}

#[test]
fn damaged_streams_are_errors() {
    let whole = exceptions();
    for end in 0..whole.len() {
        assert!(read(&whole[..end]).is_err(), "{end} of {} bytes", whole.len());
    }
    assert!(read(b"Nettrace\x14\0\0\0!FastSerialization.2").unwrap_err().to_string().contains("byte 8"));
    let mut random = Random::new(28);
    for _ in 0..20_000 {
        let mut bytes = whole.clone();
        for _ in 0..=random.below(4) {
            let at = random.below(bytes.len() as u64) as usize;
            bytes[at] = random.number() as u8;
        }
        // Any result will do; a panic will not.
        let _ = read(&bytes);
    }
}
