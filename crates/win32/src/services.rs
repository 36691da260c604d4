//! What is registered to provide counters: the keys `Performance` of the services.

use crate::key::Key;

const SERVICES: &str = r"SYSTEM\CurrentControlSet\Services";

/// A service that is registered to provide counters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Registration {
    /// Name of the service.
    pub service: String,
    /// The library that provides them; `None` if none is named.
    pub library: Option<String>,
    /// The index of its first name, which `lodctr` assigns; `None` if that has not happened.
    pub first_counter: Option<u32>,
    /// The index of its last name.
    pub last_counter: Option<u32>,
    /// Whether Windows, or somebody, has disabled it.
    pub is_disabled: bool,
}

/// How a service is registered; `None` if it provides no counters.
pub fn registration(service: impl Into<String>) -> Option<Registration> {
    let service = service.into();
    let key = Key::of_machine(&format!(r"{SERVICES}\{service}\Performance")).ok()?;
    Some(Registration {
        library: key.text("Library"),
        first_counter: key.number("First Counter"),
        last_counter: key.number("Last Counter"),
        is_disabled: key.number("Disable Performance Counters").is_some_and(|value| value != 0),
        service,
    })
}

/// The services that are registered to provide counters, in the order of their names.
pub fn registrations() -> Vec<Registration> {
    let names = Key::of_machine(SERVICES).map(|key| key.names()).unwrap_or_default();
    let mut found: Vec<Registration> = names.into_iter().filter_map(registration).collect();
    found.sort_by_key(|registration| registration.service.to_lowercase());
    found
}
