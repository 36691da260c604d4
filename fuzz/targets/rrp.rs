//! Any bytes as an answer of a remote registry, cut anywhere. How it is cut changes nothing.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tallymon_remote::rrp::rpc::Answer;
use tallymon_remote::rrp::seal::Seal;
use tallymon_remote::rrp::winreg;

fuzz_target!(|input: (u8, &[u8])| {
    let (cut, bytes) = input;
    // As a stub of its own: few inputs are a whole answer.
    if let Ok(Some(name)) = winreg::enumerated(bytes) {
        assert!(name.encode_utf16().count() <= 256 && !name.contains('\0'));
    }
    let _ = winreg::opened(bytes);
    let _ = winreg::queried(bytes, 1 << 20);
    let whole = Answer::to_request(1).add(bytes);
    let _ = Answer::to_bind(1).add(bytes);
    let _ = Answer::to_request(1).add_sealed(bytes, Seal::by_ntlm(&[1; 16]).as_mut());
    let _ = Answer::to_request(1).add_sealed(bytes, Some(&mut Seal::by_kerberos_key(&[1; 32])));
    let (first, second) = bytes.split_at(bytes.len().min(cut.into()));
    let mut answer = Answer::to_request(1);
    let mut parts = answer.add(first);
    if parts == Ok(None) {
        parts = answer.add(second);
    }
    if let (Ok(Some(whole)), Ok(Some(parts))) = (&whole, &parts) {
        assert_eq!(whole, parts);
    }
    if let Ok(Some(stub)) = whole {
        let _ = winreg::opened(&stub);
        let _ = winreg::queried(&stub, 1 << 20);
        let _ = winreg::enumerated(&stub);
    }
});
