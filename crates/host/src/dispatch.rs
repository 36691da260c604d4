//! Which libraries answer a request: NT's rules.
//!
//! | request | services that are asked |
//! |---|---|
//! | `Global`, `Costly`, nothing, this machine as a foreign one | all that are not disabled |
//! | an index | those whose Object List has it |
//! | an index that is in no Object List | the service that installed a name with this index; those without Object List if no service did |
//! | unknown words, tables of names | none |
//!
//! Built-in objects are in the Object Lists of NT's own services, so a request for one loads no other
//! library.

use std::collections::BTreeSet;

use tallymon_core::request::RequestKind;
use tallymon_core::title::TitleIndex;

use crate::registry::TitleRange;

/// The properties of a service that the rules use.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Listed<'a> {
    /// Its Object List; empty when it has none.
    pub(crate) objects: &'a [TitleIndex],
    /// The indexes of its names; `None` when it has installed none.
    pub(crate) names: Option<TitleRange>,
    /// Whether it has a library and is not disabled.
    pub(crate) enabled: bool,
}

/// Whether each service gets the request, in their order. `is_built_in` is true for the objects that need no
/// library; `this_host` is the name of this machine.
pub(crate) fn asked(
    kind: &RequestKind,
    services: &[Listed<'_>],
    is_built_in: impl Fn(TitleIndex) -> bool,
    this_host: &str,
) -> Vec<bool> {
    let everybody = || services.iter().map(|service| service.enabled).collect();
    let nobody = || vec![false; services.len()];
    match kind {
        RequestKind::Global | RequestKind::Costly | RequestKind::OldGlobal | RequestKind::Metadata { .. } => {
            everybody()
        }
        RequestKind::Foreign { host, .. } if !host.eq_ignore_ascii_case(this_host) => nobody(),
        RequestKind::Foreign { objects, .. } if objects.is_empty() => everybody(),
        RequestKind::Objects(objects) | RequestKind::Foreign { objects, .. } => {
            let requested: BTreeSet<TitleIndex> = objects.iter().copied().collect();
            // A disabled service keeps its objects, else disabling one would load others.
            let mut unlisted: BTreeSet<TitleIndex> =
                requested.iter().copied().filter(|object| !is_built_in(*object)).collect();
            services.iter().flat_map(|service| service.objects).for_each(|object| {
                unlisted.remove(object);
            });
            let has_name = |service: &Listed<'_>, object: &TitleIndex| {
                service.names.is_some_and(|names| names.contains(object.0))
            };
            // NT calls every service without Object List for these. The owner of a name is known, so no
            // library is started here that the request does not mean.
            let is_unknown = |object| !services.iter().any(|service| has_name(service, object));
            let unknown = unlisted.iter().any(is_unknown);
            let is_asked = |service: &Listed<'_>| {
                let wanted = service.objects.iter().any(|object| requested.contains(object))
                    || unlisted.iter().any(|object| has_name(service, object));
                service.enabled && (wanted || (unknown && service.objects.is_empty()))
            };
            services.iter().map(is_asked).collect()
        }
        RequestKind::Names(_) | RequestKind::Help(_) | RequestKind::Unknown(_) => nobody(),
        _ => nobody(),
    }
}

/// The query string for a library. A library need not know metadata queries: it gets a request for the
/// objects, and the reader keeps their definitions only.
pub(crate) fn query(kind: &RequestKind) -> String {
    match kind {
        RequestKind::Metadata { costly: true, .. } => RequestKind::Costly.to_string(),
        RequestKind::Metadata { costly: false, .. } => RequestKind::Global.to_string(),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tallymon_core::request::Request;
    use tallymon_core::title::HelpIndex;

    fn names(first: u32, last: u32) -> Option<TitleRange> {
        Some(TitleRange {
            first_counter: TitleIndex(first),
            last_counter: TitleIndex(last),
            first_help: HelpIndex(first.saturating_add(1)),
            last_help: HelpIndex(last.saturating_add(1)),
        })
    }

    /// A service that lists 2 and 5000, one that lists 5002, one without list, and one that is disabled; then
    /// one without list that has names.
    fn whom(query: &str) -> String {
        let (first, second, off) =
            ([TitleIndex(2), TitleIndex(5000)], [TitleIndex(5002)], [TitleIndex(5004)]);
        let services = [
            Listed { objects: &first, names: None, enabled: true },
            Listed { objects: &second, names: names(5002, 5100), enabled: true },
            Listed { objects: &[], names: None, enabled: true },
            Listed { objects: &off, names: None, enabled: false },
            Listed { objects: &[], names: names(6000, 6010), enabled: true },
        ];
        let built_in = |object: TitleIndex| [2, 230, 238].contains(&object.0);
        let asked = asked(&Request::parse(query).kind, &services, built_in, "here");
        asked.iter().map(|asked| if *asked { 'x' } else { '.' }).collect()
    }

    #[test]
    fn services_for_each_request() {
        let table = [
            ("Global", "xxx.x"),
            ("", "xxx.x"),
            ("Costly", "xxx.x"),
            ("OLD_Global", "xxx.x"),
            ("MetadataGlobal", "xxx.x"),
            ("ABCD", "....."),
            ("EFGHIJ 2", "....."),
            ("Counter 009", "....."),
            ("2", "x...."),
            ("230", "....."),
            ("230 5002", ".x..."),
            ("5000 5002", "xx..."),
            ("22222", "..x.x"),
            ("5002 22222", ".xx.x"),
            // No other service gets a request for an object of a disabled one.
            ("5004", "....."),
            ("Foreign here", "xxx.x"),
            ("Foreign HERE 5002", ".x..."),
            ("Foreign there", "....."),
            ("0", "....."),
            // The service that installed a name with this index is meant, and no other.
            ("6000", "....x"),
            ("6004 230", "....x"),
            ("5100", ".x..."),
            ("6000 22222", "..x.x"),
        ];
        for (query, wanted) in table {
            assert_eq!(whom(query), wanted, "{query}");
        }
        assert_eq!(query(&Request::parse("MetadataCostly").kind), "Costly");
        assert_eq!(query(&Request::parse(" 2  4").kind), "2 4");
    }
}
