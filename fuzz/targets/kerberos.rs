//! Any bytes as an answer of a server of Kerberos, a cache of tickets, a keytab, and settings.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tallymon_remote::kerberos::{Cache, Conf, Keytab, name_servers};
use tallymon_remote::rrp::read_answer_of_kdc;

fuzz_target!(|bytes: &[u8]| {
    read_answer_of_kdc(bytes);
    if let Ok(cache) = Cache::parse(bytes) {
        let realm = cache.owner.realm.as_str();
        let _ = cache.ticket(&["krbtgt", realm], Some(realm));
    }
    let _ = Keytab::parse(bytes);
    let text = String::from_utf8_lossy(bytes);
    let conf = Conf::parse(&text);
    let name = text.lines().next().unwrap_or_default();
    let _ = (conf.servers(name), conf.realm_of(name), conf.server_by_name(name));
    let _ = name_servers(&text, |_| Some(1));
});
