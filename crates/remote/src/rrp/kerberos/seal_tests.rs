#![allow(clippy::arithmetic_side_effects)]

use super::*;

/// A proof of the list that says how keys are made.
fn method_data(entries: &[Vec<u8>]) -> Vec<u8> {
    let list = tlv(0x30, &entries.concat());
    let proof = tlv(0x30, &[tlv(0xa1, &[2, 1, 19]), tlv(0xa2, &tlv(4, &list))].concat());
    let other = tlv(0x30, &[tlv(0xa1, &[2, 1, 2]), tlv(0xa2, &[4, 0])].concat());
    tlv(0x30, &[other, proof].concat())
}

fn entry(kind: u8, salt: Option<&str>, count: Option<u32>) -> Vec<u8> {
    let mut fields = vec![0xa0, 3, 2, 1, kind];
    fields.extend(salt.map(|salt| tlv(0xa1, &tlv(0x1b, salt.as_bytes()))).unwrap_or_default());
    fields.extend(count.map(|count| tlv(0xa2, &tlv(4, &count.to_be_bytes()))).unwrap_or_default());
    tlv(0x30, &fields)
}

#[test]
fn the_strongest_key_with_its_salt() {
    let best = |entries: &[Vec<u8>]| hint(&method_data(entries), "Rann").map(|it| (it.kind as i32, it.salt));
    let salt = |text: &str| text.to_string();
    assert_eq!(best(&[entry(17, Some("x"), None), entry(18, Some("Y"), None)]), Ok((18, salt("Y"))));
    assert_eq!(best(&[entry(18, None, Some(4096)), entry(23, None, None)]), Ok((18, salt("Rann"))));
    // A key that is hashed more often cannot be made.
    assert_eq!(best(&[entry(18, None, Some(9)), entry(17, Some("x"), None)]), Ok((17, salt("x"))));
    assert_eq!(best(&[]), Ok((18, salt("Rann"))));
    let error = best(&[entry(23, None, None), entry(20, None, None)]).unwrap_err().to_string();
    assert!(error.contains("[23, 20]"), "{error}");
    // Damage anywhere ends, and hides an entry at most.
    let whole = method_data(&[entry(18, Some("salt"), Some(4096))]);
    for at in 0..whole.len() {
        let _ = hint(&whole[..at], "");
        for byte in [0, 1, 127, 128, 130, 255] {
            let mut changed = whole.clone();
            changed[at] = byte;
            let _ = hint(&changed, "");
        }
    }
}

#[test]
fn what_is_sealed_opens_with_its_key_and_use_only() {
    for (kind, length) in [(17, 16), (18, 32)] {
        let key = Key { kind, bytes: vec![7; length] };
        for size in [0, 1, 15, 16, 17, 31, 32, 100] {
            let plain = vec![b'x'; size];
            let sealed = seal(&key, 7, &plain).unwrap();
            assert_eq!(open(&key, 7, &sealed), Some(plain), "{kind} {size}");
            assert_eq!(open(&key, 8, &sealed), None);
            assert_eq!(open(&Key { kind, bytes: vec![8; length] }, 7, &sealed), None);
            for end in 0..sealed.len() {
                assert_eq!(open(&key, 7, &sealed[..end]), None, "{end}");
            }
        }
    }
    assert!(seal(&Key { kind: 18, bytes: vec![7; 16] }, 7, b"").is_err());
    assert!(seal(&Key { kind: 23, bytes: vec![7; 16] }, 7, b"").is_err());
}
