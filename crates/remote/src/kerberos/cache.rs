//! A file of tickets, as `kinit` writes it: versions 3 and 4 of MIT's format.

use super::bytes::{Bytes, principal};
use super::{Key, Principal};

/// A cache of tickets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cache {
    /// Whose tickets they are.
    pub owner: Principal,
    /// The tickets.
    pub tickets: Vec<CachedTicket>,
}

/// A ticket with its key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CachedTicket {
    /// Who shows it.
    pub client: Principal,
    /// For whom it is.
    pub server: Principal,
    /// The key that both share.
    pub key: Key,
    /// From when it is valid, in seconds since 1970.
    pub starts: u32,
    /// Until when it is valid.
    pub ends: u32,
    /// The ticket as its server will get it.
    pub bytes: Vec<u8>,
}

impl Cache {
    /// Reads a cache.
    ///
    /// # Errors
    ///
    /// The bytes are no cache of these versions, or a field does not fit.
    pub fn parse(bytes: &[u8]) -> Result<Cache, String> {
        let mut bytes = Bytes(bytes);
        match bytes.u16("the version")? {
            0x0503 => {}
            0x0504 => drop(bytes.short("the head")?),
            version => return Err(format!("version 0x{version:04x} is not supported; 3 and 4 are")),
        }
        let owner = name(&mut bytes)?;
        let mut tickets = Vec::new();
        while !bytes.0.is_empty() {
            tickets.push(ticket(&mut bytes)?);
        }
        Ok(Cache { owner, tickets })
    }

    /// The ticket for a service that is valid longest.
    pub fn ticket(&self, name: &[&str], realm: Option<&str>) -> Option<&CachedTicket> {
        let is_it = |ticket: &&CachedTicket| {
            let same = |(one, other): (&String, &&str)| one.eq_ignore_ascii_case(other);
            ticket.server.name.len() == name.len()
                && ticket.server.name.iter().zip(name).all(same)
                && realm.is_none_or(|realm| ticket.server.realm == realm)
                && ticket.client == self.owner
        };
        self.tickets.iter().filter(is_it).max_by_key(|ticket| ticket.ends)
    }
}

fn name(bytes: &mut Bytes<'_>) -> Result<Principal, String> {
    bytes.u32("the kind of a name")?;
    let count = bytes.u32("the number of parts of a name")?;
    principal(bytes, count, Bytes::long)
}

fn ticket(bytes: &mut Bytes<'_>) -> Result<CachedTicket, String> {
    let (client, server) = (name(bytes)?, name(bytes)?);
    let kind = i32::from(bytes.u16("the kind of a key")?);
    let key = Key { kind, bytes: bytes.long("a key")?.to_vec() };
    let given = bytes.u32("a time")?;
    let starts = bytes.u32("a time")?;
    let ends = bytes.u32("a time")?;
    bytes.take(9, "flags of a ticket")?;
    for list in ["the addresses of a ticket", "the rights of a ticket"] {
        // Each entry takes six bytes at least, so the file bounds their number.
        for _ in 0..bytes.u32(list)? {
            bytes.u16(list)?;
            bytes.long(list)?;
        }
    }
    let own = bytes.long("a ticket")?.to_vec();
    bytes.long("a second ticket")?;
    let starts = if starts == 0 { given } else { starts };
    Ok(CachedTicket { client, server, key, starts, ends, bytes: own })
}
