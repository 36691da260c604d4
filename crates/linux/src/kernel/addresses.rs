//! The addresses of the network interfaces, for people.

use std::collections::HashMap;

use crate::kernel::instance_name::instance_name;
use crate::kernel::netlink::socket::RouteSocket;

/// The most addresses of one interface.
const MOST: usize = 16;

/// The addresses of the interfaces in the network namespace of the caller, with the lengths of their prefixes, by the
/// names of the instances of Network Interface; those that reach farthest first. Empty where the kernel refuses.
pub fn interface_addresses() -> HashMap<String, Vec<String>> {
    let mut socket = RouteSocket::new();
    let (mut links, mut addresses) = (Vec::new(), Vec::new());
    if socket.links(&mut links).is_err() || socket.addresses(&mut addresses).is_err() {
        return HashMap::new();
    }
    addresses.sort_by_key(|one| (one.scope, one.address.is_ipv6()));
    let of = |index: u32| {
        let own = addresses.iter().filter(|one| one.index == index).take(MOST);
        own.map(|one| format!("{}/{}", one.address, one.prefix)).collect::<Vec<_>>()
    };
    links.iter().map(|link| (instance_name(&link.name), of(link.index))).collect()
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn addresses_are_those_of_ip() {
        let Ok(output) = Command::new("ip").args(["-o", "address"]).output() else { return };
        let found = interface_addresses();
        let text = String::from_utf8(output.stdout).unwrap();
        let mut lines = 0;
        for line in text.lines() {
            let words: Vec<&str> = line.split_whitespace().collect();
            // `2: eth0 inet 192.0.2.7/24 …`; a point-to-point link has `peer` and another prefix.
            let ["inet" | "inet6", address, next, ..] = words[2..] else { continue };
            if next != "peer" {
                let name = instance_name(words[1].as_bytes());
                assert!(found[&name].contains(&address.to_owned()), "{line}: {found:?}");
                lines += 1;
            }
        }
        assert!(lines > 0, "{text}");
    }
}
