//! Tests query strings: the words of Windows, numbers of all kinds, and properties of every text.

use tallymon_core::request::{Interest, Request, RequestKind};
use tallymon_core::title::{Language, TitleIndex};

fn objects(indexes: &[u32]) -> RequestKind {
    RequestKind::Objects(indexes.iter().copied().map(TitleIndex).collect())
}

fn foreign(host: &str, indexes: &[u32]) -> RequestKind {
    RequestKind::Foreign { host: host.into(), objects: indexes.iter().copied().map(TitleIndex).collect() }
}

fn unknown(text: &str) -> RequestKind {
    RequestKind::Unknown(text.into())
}

#[test]
fn texts_parse_and_print_canonically() {
    // Text, meaning, printed form.
    let rows = [
        ("", RequestKind::Global, "Global"),
        (" \t\0", RequestKind::Global, "Global"),
        ("Global", RequestKind::Global, "Global"),
        ("GLOBAL\0", RequestKind::Global, "Global"),
        ("costly", RequestKind::Costly, "Costly"),
        ("old_global", RequestKind::OldGlobal, "OLD_Global"),
        ("MetadataGlobal", RequestKind::Metadata { costly: false, old: false }, "MetadataGlobal"),
        ("METADATACOSTLY", RequestKind::Metadata { costly: true, old: false }, "MetadataCostly"),
        ("OLD_MetadataGlobal", RequestKind::Metadata { costly: false, old: true }, "OLD_MetadataGlobal"),
        ("Old_MetadataCostly", RequestKind::Metadata { costly: true, old: true }, "OLD_MetadataCostly"),
        ("230", objects(&[230]), "230"),
        ("  232\t230  232 ", objects(&[232, 230, 232]), "232 230 232"),
        ("4294967295", objects(&[u32::MAX]), "4294967295"),
        ("230 4294967296 0 x -2 +4 007", objects(&[230, 7]), "230 7"),
        ("4294967296 230", objects(&[230]), "230"),
        ("4294967296", objects(&[]), "0"),
        ("0", objects(&[]), "0"),
        ("Counter", RequestKind::Names(None), "Counter"),
        ("Counter 009", RequestKind::Names(Some(Language::ENGLISH)), "Counter 009"),
        ("counter 409", RequestKind::Names(Some(Language::ENGLISH)), "Counter 009"),
        ("Counter 804", RequestKind::Names(Some(Language::CHINESE_SIMPLIFIED)), "Counter 804"),
        ("Help", RequestKind::Help(None), "Help"),
        ("Explain", RequestKind::Help(None), "Help"),
        ("explain 012", RequestKind::Help(Some(Language::KOREAN)), "Help 012"),
        ("Foreign srv1", foreign("srv1", &[]), "Foreign srv1"),
        ("foreign  srv1 230 x 2", foreign("srv1", &[230, 2]), "Foreign srv1 230 2"),
        ("foreign 42", foreign("42", &[]), "Foreign 42"),
        // One bad number must not turn this into a request for everything.
        ("Foreign srv1 4294967296", unknown("Foreign srv1 4294967296"), "Foreign srv1 4294967296"),
        ("Foreign", unknown("Foreign"), "Foreign"),
        (" ABCD ", unknown("ABCD"), "ABCD"),
        ("Global 230", unknown("Global 230"), "Global 230"),
        ("Counter 000", unknown("Counter 000"), "Counter 000"),
        ("Counter 009 012", unknown("Counter 009 012"), "Counter 009 012"),
        ("-5", unknown("-5"), "-5"),
        ("230x", unknown("230x"), "230x"),
        ("Глобально", unknown("Глобально"), "Глобально"),
    ];
    for (text, kind, printed) in rows {
        let request = Request::parse(text);
        assert_eq!(request.kind, kind, "{text:?}");
        assert_eq!(request.to_string(), printed, "{text:?}");
        assert!(request.interest.is_everything());
        assert_eq!(text.parse(), Ok(request));
    }
}

#[test]
fn requests_are_built_without_text() {
    assert_eq!(Request::default(), Request::global());
    assert_eq!(Request::global(), Request::parse("Global"));
    assert_eq!(Request::objects([TitleIndex(230), TitleIndex(4)]), Request::parse("230 4"));
    // No objects does not mean all objects.
    let none = Request::objects([]);
    assert_eq!(Request::parse(&none.to_string()), none);
    assert_ne!(none, Request::global());
    let mut interest = Interest::everything();
    interest.add(TitleIndex(230), TitleIndex(6));
    let request = Request::global().with_interest(interest.clone());
    assert_eq!((request.interest, request.kind), (interest, RequestKind::Global));
}

#[test]
fn interest_is_everything_until_something_is_added() {
    let [process, thread, memory, time, pid] = [230, 232, 4, 6, 784].map(TitleIndex);
    let mut interest = Interest::everything();
    assert!(interest.is_everything());
    assert!(
        interest.wants(process, time) && interest.wants_object(memory) && interest.wants_object_fully(memory)
    );
    interest.add(process, time);
    assert!(!interest.is_everything());
    assert!(interest.wants(process, time) && interest.wants_object(process));
    assert!(!interest.wants(process, pid) && !interest.wants_object_fully(process));
    assert!(
        !interest.wants(thread, time)
            && !interest.wants_object(thread)
            && !interest.wants_object_fully(thread)
    );
    interest.add_object(thread);
    assert!(interest.wants(thread, pid) && interest.wants_object_fully(thread));
    interest.add(thread, time);
    assert!(interest.wants(thread, pid), "all counters stay all counters");
    interest.add(process, pid);
    assert!(interest.wants(process, pid) && interest.wants(process, time));
    const EVERYTHING: &Interest = &Interest::everything();
    assert_eq!(*EVERYTHING, Interest::default());
}

#[test]
fn any_text_keeps_its_meaning_when_printed() {
    let pieces = [
        " ",
        " ",
        "\t",
        "\0",
        "\u{a0}",
        "0",
        "2",
        "230",
        "99999999999",
        "+1",
        "Global",
        "costly",
        "Counter",
        "Help",
        "Explain",
        "Foreign",
        "009",
        "0x409",
        "zh-TW",
        "de",
        "OLD_",
        "Metadata",
        "a",
        "ж",
        "-",
    ];
    let mut state = 9u64;
    let mut below = |limit: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state % limit as u64) as usize
    };
    let mut known = 0;
    for _ in 0..200_000 {
        let text: String = (0..below(8)).map(|_| pieces[below(pieces.len())]).collect();
        let request = Request::parse(&text);
        assert_eq!(Request::parse(&request.to_string()), request, "{text:?}");
        known += usize::from(!matches!(request.kind, RequestKind::Unknown(_)));
    }
    assert!(known > 10_000, "{known}");
}

#[test]
fn a_union_has_what_both_requests_ask_for() {
    let (process, memory) = (TitleIndex(230), TitleIndex(4));
    let (time, id) = (TitleIndex(6), TitleIndex(784));
    let one_counter = |object, counter| {
        let mut interest = Interest::everything();
        interest.add(object, counter);
        Request::objects([object]).with_interest(interest)
    };
    let both = one_counter(process, time).union(&one_counter(process, id)).unwrap();
    assert!(both.interest.wants(process, time) && both.interest.wants(process, id));
    assert!(!both.interest.wants(process, TitleIndex(8)));
    assert!(both.covers(&one_counter(process, id)) && !one_counter(process, id).covers(&both));

    // Nothing is limited by the other: all of Memory, one counter of Process.
    let both = Request::objects([memory]).union(&one_counter(process, time)).unwrap();
    assert_eq!(both.kind, objects(&[4, 230]));
    assert!(both.interest.wants_object_fully(memory) && !both.interest.wants(process, id));
    assert!(both.covers(&Request::objects([memory])) && !both.covers(&Request::objects([process])));

    // A list without objects asks for nothing and changes nothing.
    let none = Request::objects([]);
    assert_eq!(none.union(&one_counter(process, time)), Some(one_counter(process, time)));
    assert_eq!(one_counter(process, time).union(&none), Some(one_counter(process, time)));
    assert!(one_counter(process, time).covers(&none) && none.covers(&none));
    assert!(!none.covers(&one_counter(process, time)));

    // Other kinds are united with their like only.
    assert_eq!(Request::global().union(&Request::global()), Some(Request::global()));
    assert_eq!(Request::global().union(&Request::parse("Costly")), None);
    assert!(!Request::global().covers(&one_counter(process, time)));
    let host = |indexes: &[u32]| Request::from(foreign("box", indexes));
    assert_eq!(host(&[2]).union(&host(&[4])), Some(host(&[2, 4])));
    assert_eq!(host(&[2]).union(&host(&[])), Some(host(&[])));
    assert!(host(&[]).covers(&host(&[2])) && !host(&[2]).covers(&host(&[])));
    assert_eq!(host(&[2]).union(&Request::from(foreign("other", &[2]))), None);
}
