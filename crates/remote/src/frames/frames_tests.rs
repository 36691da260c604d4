use std::collections::BTreeSet;
use std::sync::Arc;

use tallymon_core::block::{ReadInfo, ReadWindow};
use tallymon_core::flow::{RegisteredObjects, SourceError, SourceErrorKind, UnlistedService};
use tallymon_core::request::Request;
use tallymon_core::time::FileTime;
use tallymon_core::title::{Language, TitleIndex, Titles};

use super::*;

fn questions() -> Vec<Question> {
    let mut request = Request::parse("230 238");
    request.interest.add_object(TitleIndex(230));
    request.interest.add(TitleIndex(238), TitleIndex(6));
    request.interest.add(TitleIndex(238), TitleIndex(142));
    vec![
        Question::Snapshot(request),
        Question::Snapshot(Request::global()),
        Question::Snapshot(Request::parse("no such request")),
        Question::Definitions { costly: true },
        Question::Titles(Language::KOREAN),
        Question::Translations(Language::ENGLISH),
        Question::Languages,
        Question::Registered,
    ]
}

fn answers() -> Vec<Answer> {
    let info = ReadInfo {
        object: TitleIndex(238),
        window: ReadWindow { begin: FileTime(1), end: FileTime(u64::MAX) },
        quanta: Arc::from([100_000, 1]),
        means: Arc::from([true, false]),
    };
    let mut titles = Titles::new();
    titles.insert_name(TitleIndex(238), "Processor");
    titles.insert_name(TitleIndex(6), "처리");
    let service = UnlistedService { service: "Beh".into(), first: TitleIndex(2000), last: TitleIndex(2010) };
    vec![
        Answer::Block {
            bytes: vec![1, 2, 3],
            read_infos: vec![info],
            troubles: vec![(TitleIndex(4), "no rights".into())],
        },
        Answer::Titles(titles),
        Answer::Languages(vec![Language::ENGLISH, Language::CHINESE_TRADITIONAL]),
        Answer::Registered(
            RegisteredObjects { listed: BTreeSet::from([TitleIndex(6000)]), unlisted: vec![service] },
            vec![(TitleIndex(6000), "disabled".into())],
        ),
        Answer::Failed(SourceError::new(SourceErrorKind::AccessDenied, "denied")),
    ]
}

#[test]
fn frames_survive_the_way() {
    let mut bytes = Vec::new();
    write_greeting(&mut bytes).unwrap();
    for question in questions() {
        write_frame(&mut bytes, &question.encode()).unwrap();
    }
    for answer in answers() {
        write_frame(&mut bytes, &answer.encode()).unwrap();
    }
    let input = &mut bytes.as_slice();
    read_greeting(input).unwrap();
    for question in questions() {
        assert_eq!(Question::decode(&read_frame(input).unwrap()).unwrap(), question);
    }
    for answer in answers() {
        assert_eq!(Answer::decode(&read_frame(input).unwrap()).unwrap(), answer);
    }
    assert!(matches!(read_frame(input), Err(FrameError::Closed)));
}

#[test]
fn the_bytes_are_those_of_the_manual() {
    let mut request = Request::parse("238");
    request.interest.add(TitleIndex(238), TitleIndex(6));
    let body = Question::Snapshot(request).encode();
    let expected = b"\x01\x03\0\0\x00238\x01\0\0\0\xee\0\0\0\x01\x01\0\0\0\x06\0\0\0";
    assert_eq!(body, expected);
    assert_eq!(Question::Titles(Language::KOREAN).encode(), [3, 0x12, 0]);
    let mut greeting = Vec::new();
    write_greeting(&mut greeting).unwrap();
    assert_eq!(greeting, b"TALLYMON\x01\0\x01\0");
}

#[test]
fn every_cut_and_every_changed_byte_is_an_error_or_another_frame() {
    let mut bodies: Vec<Vec<u8>> = questions().iter().map(Question::encode).collect();
    bodies.extend(answers().iter().map(Answer::encode));
    for body in bodies {
        for length in 0..body.len() {
            let cut = &body[..length];
            assert!(Question::decode(cut).is_err() && Answer::decode(cut).is_err(), "{cut:?}");
        }
        for at in 0..body.len() {
            for value in [0, 1, 0x7f, 0xff] {
                let mut changed = body.clone();
                changed[at] = value;
                // Neither may panic, hang, or take memory by a number in the frame.
                let _ = (Question::decode(&changed), Answer::decode(&changed));
            }
        }
        let mut longer = body.clone();
        longer.push(0);
        assert!(Question::decode(&longer).is_err() && Answer::decode(&longer).is_err(), "{longer:?}");
    }
}

#[test]
fn an_error_says_what_came() {
    let greeting = |bytes: &[u8]| read_greeting(&mut &*bytes).unwrap_err().to_string();
    assert!(greeting(b"Welcome to web1\n").contains("found \"Welcome to web1\\n\""));
    assert!(greeting(b"TALLY").contains("after 5 of 12 bytes"));
    assert_eq!(greeting(b""), "the connection was closed");
    assert!(
        greeting(b"TALLYMON\x02\0\x09\0").contains("versions of the frames are 2 to 9, this program has 1")
    );
    let frame = |bytes: &[u8]| read_frame(&mut &*bytes).unwrap_err().to_string();
    assert!(frame(b"\x05\0\0\0ab").contains("after 2 of 5 bytes"));
    assert!(frame(b"\x05\0").contains("after 2 of 4 bytes"));
    assert!(frame(b"\xff\xff\xff\xff").contains("4294967295 bytes"));
    let error = Answer::decode(b"\x85\xff\xff\xff\xff\x09\0").unwrap_err().to_string();
    assert_eq!(error, "damaged frame: language at byte 7 needs 2 bytes, 0 are left");
    let error = Answer::decode(b"\xff\x00\x01\0\0\0\xff").unwrap_err().to_string();
    assert_eq!(error, "damaged frame: message at byte 2 is not UTF-8");
    assert_eq!(Question::decode(&[99]).unwrap_err().to_string(), "unexpected kind of frame: 99");
}
