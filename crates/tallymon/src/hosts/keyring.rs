//! Keys and tickets in the kernel: passwords that `keyctl` or a login keeps, and the caches of MIT's Kerberos
//! (`KEYRING:`, as on RHEL 8).
//!
//! A cache is a ring named after its collection, which has a key with the name of the usual cache and a ring
//! for each cache; that ring has a key for the owner and one for each ticket, as they stand in files of
//! tickets. The library says the content of a key; the names are those of `/proc/keys`, because its own
//! description of a key ends the program if the key has a long name.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use linux_keyutils::{Key, KeyError, KeyRing, KeyRingIdentifier, KeySerialId};

use super::kcm::HEAD_OF_FILE;
use crate::private_file;

/// The largest key of the kernel has 1 MiB; a list of keys has as many as can be looked at.
const MOST_BYTES: usize = 1 << 20;

/// So many keys are looked at, and rings in rings to this depth.
const MOST_KEYS: usize = 10_000;
const MOST_DEPTH: usize = 6;

const PRIMARY: &str = "krb_ccache:primary";
const OWNER: &str = "__krb5_princ__";
const CLOCK: &str = "__krb5_time_offsets__";

const THREAD: i32 = -1;
const SESSION: i32 = -3;
const USER: i32 = -4;

/// A password in a ring of this session or user.
pub(super) fn password(name: &str) -> Result<String, String> {
    let rings = [KeyRingIdentifier::Session, KeyRingIdentifier::User];
    let found =
        rings.into_iter().find_map(|ring| KeyRing::from_special_id(ring, false).ok()?.search(name).ok());
    let Some(key) = found else {
        return Err(format!(
            "no key of the kernel is called {name}: put it there with keyctl padd user {name} @u"
        ));
    };
    let bytes =
        content(key).map_err(|error| format!("the key {name} of the kernel cannot be read: {error}"))?;
    let text = String::from_utf8(bytes)
        .map_err(|_| format!("the key {name} of the kernel is not a text in UTF-8"))?;
    Ok(text.strip_suffix('\n').map(str::to_string).unwrap_or(text))
}

/// A cache as a file of tickets. `place` is what follows `KEYRING:`.
pub(super) fn read(place: &str) -> Result<Vec<u8>, String> {
    let parts: Vec<&str> = place.splitn(3, ':').collect();
    let (anchor, collection, cache) = match parts.as_slice() {
        [anchor, collection, cache] => (*anchor, *collection, Some(*cache)),
        [anchor, collection] => (*anchor, *collection, None),
        _ => ("legacy", place, None),
    };
    let names = Names::read()?;
    let none = || format!("there are no tickets in KEYRING:{place}; get some with kinit");
    let (ring, names) = match anchor {
        "session" | "legacy" => (names.find(SESSION, &format!("_krb_{collection}")), names),
        "user" => (names.find(USER, &format!("_krb_{collection}")), names),
        "persistent" => persistent(collection)?,
        _ => {
            return Err(format!(
                "tickets in KEYRING:{place} cannot be read: those of a {anchor} belong to the program that \
                 got them; get some with kinit -c KEYRING:session:NAME"
            ));
        }
    };
    let ring = match (ring, anchor) {
        (Some(collected), _) => {
            let usual = || primary(&names, collected, collection);
            let cache = cache.map_or_else(usual, |cache| Ok(cache.to_string()))?;
            names.find(collected, &cache)
        }
        // A cache of an old program.
        (None, "legacy") => names.find(SESSION, collection),
        (None, _) => None,
    };
    tickets(&names, ring.ok_or_else(none)?)?.ok_or_else(none)
}

/// The ring of the user that outlives sessions, and the names with it.
fn persistent(user: &str) -> Result<(Option<i32>, Names), String> {
    let own = private_file::own_user().unwrap_or_default().to_string();
    if !user.is_empty() && user != own {
        return Err(format!("the tickets in KEYRING:persistent:{user} are those of another user"));
    }
    // The thread holds the ring from here on, which gives it the right to read what is in it.
    let held = KeyRing::get_persistent(KeyRingIdentifier::Thread);
    let names = Names::read()?;
    let begin = match held {
        Ok(_) => names.find(THREAD, &format!("_persistent.{own}")),
        // A kernel without such rings.
        Err(KeyError::OperationNotSupported) => Some(USER),
        Err(error) => return Err(format!("the kernel gives no lasting keys: {error}")),
    };
    Ok((begin.and_then(|ring| names.find(ring, "_krb")), names))
}

/// The name of the usual cache of a collection.
fn primary(names: &Names, ring: i32, collection: &str) -> Result<String, String> {
    let Some(key) = names.links(ring).into_iter().find(|key| names.is(*key, "user", PRIMARY)) else {
        return Ok(if collection.is_empty() { "tkt" } else { collection }.to_string());
    };
    let bytes = content(Key::from_id(KeySerialId::new(key))).map_err(|error| error.to_string())?;
    let name = bytes.split_first_chunk::<8>().and_then(|(head, rest)| {
        let [0, 0, 0, 1, length @ ..] = *head else { return None };
        let length = usize::try_from(u32::from_be_bytes(length)).ok()?;
        String::from_utf8(rest.get(..length)?.to_vec()).ok()
    });
    name.ok_or_else(|| format!("the key {PRIMARY} of the kernel is damaged, or of a newer version"))
}

/// The content of a cache; `None` if it has no owner, because it has ended.
fn tickets(names: &Names, ring: i32) -> Result<Option<Vec<u8>>, String> {
    let links = names.links(ring);
    let Some(owner) = links.iter().find(|key| names.is(**key, "user", OWNER)) else { return Ok(None) };
    let read = |key: i32| content(Key::from_id(KeySerialId::new(key)));
    let mut file = HEAD_OF_FILE.to_vec();
    file.extend(read(*owner).map_err(|error| format!("a key of the kernel cannot be read: {error}"))?);
    for key in links.iter().filter(|key| *key != owner && !names.is(**key, "user", CLOCK)) {
        // A ticket that has just ended is none.
        if let Ok(ticket) = read(*key) {
            file.extend(ticket);
        }
    }
    Ok(Some(file))
}

fn content(key: Key) -> Result<Vec<u8>, KeyError> {
    let mut buffer = vec![0; 4096];
    loop {
        let length = key.read(&mut buffer)?;
        if length <= buffer.len() {
            buffer.truncate(length);
            return Ok(buffer);
        }
        if length > MOST_BYTES {
            return Err(KeyError::OutOfMemory);
        }
        buffer.resize(length, 0);
    }
}

/// The kinds and names of the keys that this program may see.
struct Names(BTreeMap<i32, (String, String)>);

impl Names {
    fn read() -> Result<Names, String> {
        let text = fs::read("/proc/keys").map_err(|error| format!("/proc/keys: {error}"))?;
        Ok(Names::parse(&String::from_utf8_lossy(&text)))
    }

    /// Each line has a number, six words about it, the kind, and the name with a comment behind it. A number
    /// that occurs twice has no name: a name may have a line in it.
    fn parse(text: &str) -> Names {
        let mut names = BTreeMap::new();
        let mut twice = BTreeSet::new();
        for line in text.lines() {
            let mut rest = line.trim_start();
            let mut words = Vec::new();
            while words.len() < 8 && !rest.is_empty() {
                let (word, behind) = rest.split_once(' ').unwrap_or((rest, ""));
                words.push(word);
                rest = behind.trim_start();
            }
            let number = words.first().and_then(|word| u32::from_str_radix(word, 16).ok());
            let (Some(number), Some(kind)) = (number.map(u32::cast_signed), words.get(7)) else { continue };
            let name = rest.rsplit_once(": ").map_or(rest, |(name, _)| name);
            if names.insert(number, (kind.to_string(), name.to_string())).is_some() {
                twice.insert(number);
            }
        }
        names.retain(|number, _| !twice.contains(number));
        Names(names)
    }

    fn is(&self, key: i32, kind: &str, name: &str) -> bool {
        self.0.get(&key).is_some_and(|(of, called)| of == kind && called == name)
    }

    /// The keys in a ring.
    #[expect(clippy::host_endian_bytes, reason = "the kernel says numbers as this machine has them")]
    fn links(&self, ring: i32) -> Vec<i32> {
        let bytes = content(Key::from_id(KeySerialId::new(ring))).unwrap_or_default();
        let (links, _) = bytes.as_chunks::<4>();
        links.iter().take(MOST_KEYS).map(|link| i32::from_ne_bytes(*link)).collect()
    }

    /// The first ring of a name in a ring, or in rings in it.
    fn find(&self, ring: i32, name: &str) -> Option<i32> {
        let mut seen = BTreeSet::new();
        let mut level = vec![ring];
        for _ in 0..MOST_DEPTH {
            let links: Vec<i32> = level.iter().flat_map(|ring| self.links(*ring)).collect();
            if let Some(found) = links.iter().find(|key| self.is(**key, "keyring", name)) {
                return Some(*found);
            }
            level = links
                .into_iter()
                .filter(|key| self.0.get(key).is_some_and(|(kind, _)| kind == "keyring"))
                .filter(|key| seen.len() < MOST_KEYS && seen.insert(*key))
                .collect();
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_keys() {
        let names = Names::parse(
            "04bf3bbe I--Q---     1 perm 0c030000     0 65534 keyring   .user_reg: 2\n\
             1902957d I--Q---     1 4d 1f3f0000     0 65534 keyring   _krb_a:b: empty\n\
             f0000001 I--Q---     2 perm 3f010000  1000  1000 user      krb_ccache:primary: 12\n\
             00000007 I--Q---     2 9m 3f010000  1000  1000 big_key   krbtgt/R@R: 900 [buff]\n\
             nonsense\n\nzz a b c d e f keyring x: 1\n\
             04bf3bbe I--Q---     1 perm 0c030000     0 65534 keyring   _krb_evil: 2\n",
        );
        assert!(names.is(0x1902_957d, "keyring", "_krb_a:b"));
        assert!(names.is(0xf000_0001u32.cast_signed(), "user", PRIMARY));
        assert!(names.is(7, "big_key", "krbtgt/R@R"));
        // Two lines for one key: one of them was written by somebody else.
        assert!(!names.0.contains_key(&0x04bf_3bbe));
        assert_eq!(names.0.len(), 3);
    }
}
