//! Objects that are known by their registration, before their provider has answered.

use alloc::collections::BTreeSet;
use alloc::string::String;
use alloc::vec::Vec;

use crate::request::Request;
use crate::title::TitleIndex;

/// Objects whose definitions come only with an answer of their provider, which has to be started for it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RegisteredObjects {
    /// The objects that services list.
    pub listed: BTreeSet<TitleIndex>,
    /// The services that do not list their objects.
    pub unlisted: Vec<UnlistedService>,
}

/// A service that does not list its objects: any of its names may be an object.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct UnlistedService {
    /// Name of the service.
    pub service: String,
    /// The index of its first name.
    pub first: TitleIndex,
    /// The index of its last name.
    pub last: TitleIndex,
}

impl RegisteredObjects {
    /// Names of an unlisted service that a request for everything lists. A service with more names has its
    /// objects among the first, as every service has in practice.
    const MOST_NAMES: usize = 1000;

    /// Whether an index may be one of these objects.
    pub fn contains(&self, index: TitleIndex) -> bool {
        self.listed.contains(&index)
            || self.unlisted.iter().any(|service| (service.first..=service.last).contains(&index))
    }

    /// A request for all of them; `None` when there are none.
    pub fn request(&self) -> Option<Request> {
        let names = |service: &UnlistedService| {
            (service.first.0..=service.last.0).step_by(2).take(RegisteredObjects::MOST_NAMES)
        };
        let unlisted = self.unlisted.iter().flat_map(names).map(TitleIndex);
        let all: BTreeSet<TitleIndex> = self.listed.iter().copied().chain(unlisted).collect();
        (!all.is_empty()).then(|| Request::objects(all))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;

    #[test]
    fn a_request_for_all_names_each_that_may_be_an_object() {
        let service = |first, last| UnlistedService {
            service: "S".to_string(),
            first: TitleIndex(first),
            last: TitleIndex(last),
        };
        let mut objects = RegisteredObjects::default();
        assert!(objects.request().is_none());
        objects.listed.insert(TitleIndex(6000));
        objects.unlisted = Vec::from([service(5000, 5004), service(u32::MAX - 1, u32::MAX)]);
        assert_eq!(objects.request().unwrap().to_string(), "5000 5002 5004 6000 4294967294");
        let known = [5000, 5004, 6000, 6002, 4998].map(|index| objects.contains(TitleIndex(index)));
        assert_eq!(known, [true, true, true, false, false]);
        // A range from a damaged registry costs no memory.
        objects.unlisted = Vec::from([service(0, u32::MAX)]);
        assert_eq!(objects.request().unwrap().to_string().split(' ').count(), 1001);
    }
}
