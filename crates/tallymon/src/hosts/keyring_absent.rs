//! A program or a system without keys in the kernel.

/// A password.
pub(super) fn password(name: &str) -> Result<String, String> {
    Err(format!(
        "the key {name} cannot be read: only Linux has keys in its kernel, and this program was built \
                 without them; write a password or a program instead"
    ))
}

/// Tickets.
pub(super) fn read(place: &str) -> Result<Vec<u8>, String> {
    Err(format!("tickets in KEYRING:{place} cannot be read here: get some with kinit -c FILE:NAME"))
}
