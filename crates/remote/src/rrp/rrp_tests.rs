#![allow(clippy::arithmetic_side_effects)]

use super::rpc::{Answer, RpcError, bind, request, sealed_request};
use super::seal::Seal;
use super::source::is_cut;
use super::winreg::{self, Value};

/// A response of one fragment or more, as a server sends it.
fn response(call: u32, stub: &[u8], fragment: usize) -> Vec<Vec<u8>> {
    let parts: Vec<&[u8]> = stub.chunks(fragment).collect();
    let last = parts.len() - 1;
    let pdu = |(at, part): (usize, &&[u8])| {
        let flags = u8::from(at == 0) | u8::from(at == last) << 1;
        let mut pdu = vec![5, 0, 2, flags, 0x10, 0, 0, 0];
        pdu.extend_from_slice(&(part.len() as u16 + 24).to_le_bytes());
        pdu.extend_from_slice(&[0, 0]);
        pdu.extend_from_slice(&call.to_le_bytes());
        pdu.extend_from_slice(&[0; 8]);
        pdu.extend_from_slice(part);
        pdu
    };
    parts.iter().enumerate().map(pdu).collect()
}

/// The stub of an answer to a query.
fn value(bytes: &[u8], room: u32, status: u32) -> Vec<u8> {
    let mut stub = Vec::new();
    let count = bytes.len() as u32;
    for word in [1, 3, 1, room, 0, count] {
        stub.extend_from_slice(&u32::to_le_bytes(word));
    }
    stub.extend_from_slice(bytes);
    stub.resize(stub.len().next_multiple_of(4), 0);
    for word in [1, count, 1, count, status] {
        stub.extend_from_slice(&u32::to_le_bytes(word));
    }
    stub
}

#[test]
fn an_answer_is_put_together_however_it_is_cut() {
    let bytes: Vec<u8> = (0..=255).cycle().take(10_001).collect();
    let stub = value(&bytes, 20_000, 0);
    let wire = response(7, &stub, 4256).concat();
    for piece in [1, 15, 16, 17, 4280, 5000, 65_536] {
        let mut answer = Answer::to_request(7);
        let mut whole = None;
        for part in wire.chunks(piece) {
            assert!(whole.is_none());
            whole = answer.add(part).unwrap();
        }
        assert_eq!(whole.as_deref(), Some(stub.as_slice()), "{piece}");
    }
    assert_eq!(winreg::queried(&stub, 20_000), Ok(Value { status: 0, bytes }));
}

#[test]
fn a_signature_is_taken_off() {
    let mut pdu = response(1, b"abcd1234", 100).concat();
    // Four bytes of padding, a trailer that says so, and a signature of 16 bytes.
    pdu.extend_from_slice(&[0; 4]);
    pdu.extend_from_slice(&[10, 6, 4, 0, 0, 0, 0, 0]);
    pdu.extend_from_slice(&[9; 16]);
    let length = (pdu.len() as u16).to_le_bytes();
    pdu[8..10].copy_from_slice(&length);
    pdu[10] = 16;
    assert_eq!(Answer::to_request(1).add(&pdu), Ok(Some(b"abcd1234".to_vec())));
}

/// The same response, sealed by a server.
fn sealed(call: u32, stub: &[u8], seal: &mut Seal) -> Vec<u8> {
    let fragments = response(call, stub, 4000).into_iter().map(|mut pdu| {
        let padding = (pdu.len() - 24).next_multiple_of(16) - (pdu.len() - 24);
        pdu.resize(pdu.len() + padding, 0);
        let end = pdu.len();
        pdu.extend_from_slice(&[10, 6, padding as u8, 0, 0, 0, 0, 0]);
        let length = (pdu.len() as u16 + 16).to_le_bytes();
        pdu[8..10].copy_from_slice(&length);
        pdu[10] = 16;
        seal.close(&mut pdu, 24, end).unwrap();
        pdu
    });
    fragments.collect::<Vec<_>>().concat()
}

#[test]
fn sealed_calls_and_answers() {
    let key = [9; 16];
    let (mut client, mut server) = (Seal::by_ntlm(&key).unwrap(), Seal::of_server(&key).unwrap());
    let stub: Vec<u8> = (0..=255).cycle().take(10_001).collect();
    for call in 1..4 {
        let request = sealed_request(call, 17, b"a secret question", &mut client).unwrap();
        assert!(!request.windows(6).any(|part| part == b"secret"));
        assert_eq!(usize::from(u16::from_le_bytes([request[8], request[9]])), request.len());
        let end = request.len() - 24;
        let opened = server.open(&request, (24, end), 16).unwrap();
        assert_eq!(&opened[24..41], b"a secret question");
        let wire = sealed(call, &stub, &mut server);
        let mut answer = Answer::to_request(call);
        let (begin, rest) = wire.split_at(5000);
        assert_eq!(answer.add_sealed(begin, Some(&mut client)), Ok(None));
        assert_eq!(answer.add_sealed(rest, Some(&mut client)), Ok(Some(stub.clone())));
    }
    // An answer that is not sealed, or was changed, is none. A fault is one all the same.
    let plain = response(4, &stub, 4000).concat();
    assert_eq!(Answer::to_request(4).add_sealed(&plain, Some(&mut client)), Err(RpcError::Seal));
    let mut changed = sealed(4, &stub, &mut server);
    changed[100] ^= 1;
    assert_eq!(Answer::to_request(4).add_sealed(&changed, Some(&mut client)), Err(RpcError::Seal));
    let mut fault = response(4, &[5, 0, 0, 0], 100).concat();
    fault[2] = 3;
    assert_eq!(Answer::to_request(4).add_sealed(&fault, Some(&mut client)), Err(RpcError::Fault(5)));
}

#[test]
fn lies_are_named() {
    let good = response(1, &value(b"abc", 100, 0), 5000).concat();
    let changed = |at: usize, byte: u8| {
        let mut pdu = good.clone();
        pdu[at] = byte;
        Answer::to_request(1).add(&pdu)
    };
    assert_eq!(changed(0, 4), Err(RpcError::Value("the version of RPC", 4)));
    assert_eq!(changed(4, 0), Err(RpcError::Value("the byte order", 0)));
    assert_eq!(changed(2, 13), Err(RpcError::Value("the kind of the answer", 13)));
    assert_eq!(changed(3, 2), Err(RpcError::Value("the flags of a fragment", 2)));
    assert_eq!(changed(12, 9), Err(RpcError::Call { wanted: 1, found: 9 }));
    assert_eq!(changed(8, 3), Err(RpcError::Value("the length of a fragment", 3)));
    assert_eq!(changed(10, 255), Err(RpcError::Short("the signature")));
    // A length that is too long waits for more, and its reader for its deadline.
    assert_eq!(changed(9, 255), Ok(None));
    let mut two = good.clone();
    two.extend_from_slice(&good);
    assert!(matches!(Answer::to_request(1).add(&two), Err(RpcError::Value(..))));
    // A fragment that never is the last one ends at the limit.
    let mut endless = response(1, &[0; 60_000], 60_000).concat();
    endless[3] = 1;
    let mut answer = Answer::to_request(1);
    assert_eq!(answer.add(&endless), Ok(None));
    endless[3] = 0;
    let end = (0..2000).find_map(|_| answer.add(&endless).err());
    assert_eq!(end, Some(RpcError::TooLong));
    for (stub, room, error) in [
        (value(b"abcdef", 100, 0), 5, RpcError::Value("the length of the data", 6)),
        (value(b"abcdef", 5, 0), 100, RpcError::Value("the length of the data", 6)),
        (value(b"abcdef", 100, 0)[..28].to_vec(), 100, RpcError::Short("the data")),
        (Vec::new(), 100, RpcError::Short("the type")),
    ] {
        assert_eq!(winreg::queried(&stub, room), Err(error));
    }
    assert!(winreg::opened(&[0; 23]).is_err());
}

/// The stub of an answer with the name of a key.
fn name_of_key(name: &[u16], words: [u32; 4], status: u32) -> Vec<u8> {
    let mut stub = [(name.len() as u16 * 2).to_le_bytes(), 512u16.to_le_bytes()].concat();
    words.iter().for_each(|word| stub.extend_from_slice(&word.to_le_bytes()));
    name.iter().for_each(|unit| stub.extend_from_slice(&unit.to_le_bytes()));
    stub.resize(stub.len().next_multiple_of(4), 0);
    stub.extend_from_slice(&[0; 8]);
    stub.extend_from_slice(&status.to_le_bytes());
    stub
}

#[test]
fn names_of_keys() {
    let units = |text: &str| text.encode_utf16().collect::<Vec<u16>>();
    let name = units("009\0");
    let good = name_of_key(&name, [1, 256, 0, 4], 0);
    assert_eq!(winreg::enumerated(&good), Ok(Some("009".to_string())));
    // A zero ends a name before its length does, and half a letter is one all the same.
    let odd = name_of_key(&[0xd800, 0, 0x41, 0], [1, 256, 0, 4], 0);
    assert_eq!(winreg::enumerated(&odd), Ok(Some("\u{fffd}".to_string())));
    assert_eq!(winreg::enumerated(&name_of_key(&[], [1, 256, 0, 0], 0)), Ok(Some(String::new())));
    // Behind the last one, whatever else the answer has.
    assert_eq!(winreg::enumerated(&name_of_key(&name, [0; 4], 259)), Ok(None));
    let length = |count| RpcError::Value("the length of the name of a key", count);
    for (words, error) in [
        ([0, 256, 0, 4], length(4)),
        ([1, 256, 1, 4], length(4)),
        ([1, 3, 0, 4], length(4)),
        ([1, u32::MAX, 0, u32::MAX], length(u32::MAX)),
        ([1, 512, 0, 257], length(257)),
        ([1, 256, 0, 256], RpcError::Short("the name of a key")),
    ] {
        assert_eq!(winreg::enumerated(&name_of_key(&name, words, 0)), Err(error), "{words:?}");
    }
    for length in 0..good.len() {
        let _ = winreg::enumerated(&good[..length]);
    }
    assert_eq!(winreg::enumerated(&good[..3]), Err(RpcError::Short("the status")));
    for at in 0..good.len() {
        for byte in [0, 1, 3, 0x7f, 0xff] {
            let mut changed = good.clone();
            changed[at] = byte;
            let _ = winreg::enumerated(&changed);
        }
    }
}

#[test]
fn no_byte_of_an_answer_makes_a_panic() {
    let wire = response(3, &value(&[7; 600], 1000, 234), 200).concat();
    for at in 0..wire.len() {
        for byte in [0, 1, 3, 0x7f, 0xff] {
            let mut changed = wire.clone();
            changed[at] = byte;
            if let Ok(Some(stub)) = Answer::to_request(3).add(&changed) {
                let _ = winreg::queried(&stub, 1000);
            }
            let _ = Answer::to_bind(3).add(&changed);
        }
    }
    for length in 0..wire.len() {
        assert_eq!(Answer::to_request(3).add(&wire[..length]), Ok(None));
    }
}

#[test]
fn our_calls_have_the_bytes_of_the_documents() {
    assert_eq!(bind(1).len(), 72);
    assert_eq!(&bind(1)[..16], b"\x05\0\x0b\x03\x10\0\0\0\x48\0\0\0\x01\0\0\0");
    let stub = winreg::query(&[9; 20], "Global", 4096);
    assert_eq!(stub.len(), 20 + 8 + 12 + 16 + 40);
    assert_eq!(&stub[20..40], b"\x0e\0\x0e\0\0\0\x02\0\x07\0\0\0\0\0\0\0\x07\0\0\0");
    let call = request(2, winreg::QUERY_VALUE, &stub);
    assert_eq!(&call[20..24], [0, 0, 17, 0]);
    assert_eq!(usize::from(u16::from_le_bytes([call[8], call[9]])), call.len());
}

#[test]
fn a_cut_block_is_noticed() {
    for (file, is_cut_one) in [
        ("samba/global-2obj-2inst.bin", false),
        ("samba/global-all-large-puretdb.bin", false),
        ("samba/global-zero-text-fraction.bin", false),
        ("samba/global-truncated-500.bin", true),
    ] {
        let Some(path) = tallymon_testkit::shared(file) else { return };
        let block = std::fs::read(path).unwrap();
        assert_eq!(is_cut(&block), is_cut_one, "{file}");
        assert!(is_cut(&block[..block.len() / 2]), "{file}");
    }
    assert!(!is_cut(b"") && is_cut(b"PERF"));
}

#[test]
fn a_host_that_hangs_stops_no_other() {
    use std::io::Write;
    use std::net::TcpListener;
    use std::sync::mpsc::channel;
    use std::time::Duration;

    use tallymon_core::flow::Source;
    use tallymon_core::request::Request;

    use super::RrpSource;
    use crate::address::RrpAddress;
    use crate::credentials::{Credentials, FindCredentials, PasswordLogin};

    struct Ann;
    impl FindCredentials for Ann {
        fn find(&self) -> Result<Credentials, tallymon_core::flow::SourceError> {
            let login = PasswordLogin { user: "ann".into(), domain: None, password: "secret".into() };
            Ok(Credentials::Password(login))
        }

        fn stamp(&self) -> u64 {
            0
        }

        fn place(&self) -> String {
            "a file".to_string()
        }
    }

    let source = |port: u16, timeout: u64| {
        let address: RrpAddress = match format!("rrp://ann@127.0.0.1:{port}").parse().unwrap() {
            crate::Address::Rrp(address) => address,
            other => panic!("{other}"),
        };
        RrpSource::new(address, Box::new(Ann), "far", Duration::from_secs(timeout))
    };
    let (hangs, lies) =
        (TcpListener::bind("127.0.0.1:0").unwrap(), TcpListener::bind("127.0.0.1:0").unwrap());
    let (port_of_hanging, port_of_lying) =
        (hangs.local_addr().unwrap().port(), lies.local_addr().unwrap().port());
    // One takes the connection and says nothing; the other answers each with garbage.
    std::thread::spawn(move || {
        for stream in lies.incoming().flatten() {
            let _ = (&stream).write_all(&[0, 0, 0, 8, 1, 2, 3, 4, 5, 6, 7, 8]);
        }
    });
    let mut stuck = source(port_of_hanging, 600);
    let waits = std::thread::spawn(move || stuck.snapshot(&Request::objects([])).unwrap_err());
    let (stream, _) = hangs.accept().unwrap();
    // It is in the middle of its wait, which it drives itself. Others begin and end beside it.
    let (said, answers) = channel();
    for _ in 0..20 {
        let said = said.clone();
        let mut other = source(port_of_lying, 600);
        std::thread::spawn(move || said.send(other.snapshot(&Request::objects([])).unwrap_err()));
    }
    for _ in 0..20 {
        let error = answers.recv_timeout(Duration::from_secs(60)).unwrap();
        assert!(!error.to_string().contains("no answer within"), "{error}");
    }
    assert!(!waits.is_finished(), "the others waited for the one that hangs");
    drop(stream);
    // It ends with its connection, long before its deadline.
    let error = waits.join().unwrap().to_string();
    assert!(!error.contains("no answer within"), "{error}");
}
