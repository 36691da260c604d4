//! Which libraries answer a request: NT's rules.
//!
//! | request | services that are asked |
//! |---|---|
//! | `Global`, `Costly`, nothing, this machine as a foreign one | all that are not disabled |
//! | an index | those whose Object List has it |
//! | an index that is in no Object List | those without Object List |
//! | unknown words, tables of names | none |
//!
//! Built-in objects are in the Object Lists of NT's own services, so a request for one loads no other
//! library.

use tallymon_core::request::RequestKind;
use tallymon_core::title::TitleIndex;

/// The properties of a service that the rules use.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Listed<'a> {
    /// Its Object List; empty when it has none.
    pub(crate) objects: &'a [TitleIndex],
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
            // A disabled service keeps its objects, else disabling one would load others.
            let is_listed = |object: &TitleIndex| {
                is_built_in(*object) || services.iter().any(|service| service.objects.contains(object))
            };
            let unlisted = objects.iter().any(|object| !is_listed(object));
            let is_asked = |service: &Listed<'_>| {
                let wanted = objects.iter().any(|object| service.objects.contains(object));
                service.enabled && (wanted || (unlisted && service.objects.is_empty()))
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

    /// A service that lists 2 and 5000, one that lists 5002, one without list, and one that is disabled.
    fn whom(query: &str) -> String {
        let (first, second, off) =
            ([TitleIndex(2), TitleIndex(5000)], [TitleIndex(5002)], [TitleIndex(5004)]);
        let services = [
            Listed { objects: &first, enabled: true },
            Listed { objects: &second, enabled: true },
            Listed { objects: &[], enabled: true },
            Listed { objects: &off, enabled: false },
        ];
        let built_in = |object: TitleIndex| [2, 230, 238].contains(&object.0);
        let asked = asked(&Request::parse(query).kind, &services, built_in, "here");
        asked.iter().map(|asked| if *asked { 'x' } else { '.' }).collect()
    }

    #[test]
    fn services_for_each_request() {
        let table = [
            ("Global", "xxx."),
            ("", "xxx."),
            ("Costly", "xxx."),
            ("OLD_Global", "xxx."),
            ("MetadataGlobal", "xxx."),
            ("ABCD", "...."),
            ("EFGHIJ 2", "...."),
            ("Counter 009", "...."),
            ("2", "x..."),
            ("230", "...."),
            ("230 5002", ".x.."),
            ("5000 5002", "xx.."),
            ("22222", "..x."),
            ("5002 22222", ".xx."),
            // No other service gets a request for an object of a disabled one.
            ("5004", "...."),
            ("Foreign here", "xxx."),
            ("Foreign HERE 5002", ".x.."),
            ("Foreign there", "...."),
            ("0", "...."),
        ];
        for (query, wanted) in table {
            assert_eq!(whom(query), wanted, "{query}");
        }
        assert_eq!(query(&Request::parse("MetadataCostly").kind), "Costly");
        assert_eq!(query(&Request::parse(" 2  4").kind), "2 4");
    }
}
