//! The values of one row, and who they are.

use std::borrow::Cow;

use tallymon::core::title::TitleIndex;
use tallymon::{CounterHandle, CounterValue, InstanceKey, Names, Query, Reading};

/// The values of one row.
#[derive(Clone, Copy)]
pub(crate) enum Values<'v> {
    /// Those that a query has now.
    Query(&'v Query),
    /// Those of several queries.
    Readings(&'v [Reading], &'v Names),
}

impl<'v> From<&'v Query> for Values<'v> {
    fn from(query: &'v Query) -> Values<'v> {
        Values::Query(query)
    }
}

impl<'v> Values<'v> {
    pub(super) fn readings(&self) -> Cow<'v, [Reading]> {
        match self {
            Values::Query(query) => query.readings().into(),
            Values::Readings(readings, _) => Cow::Borrowed(readings),
        }
    }

    pub(super) fn names(&self) -> &'v Names {
        match self {
            Values::Query(query) => query.names(),
            Values::Readings(_, names) => names,
        }
    }

    /// All of them in their order, with the path where there is one already.
    pub(super) fn for_each(&self, mut act: impl FnMut(Option<&str>, &CounterValue<'_>)) {
        match self {
            Values::Query(query) => query.for_each(|value| act(None, &value)),
            Values::Readings(readings, _) => {
                readings.iter().for_each(|reading| act(Some(&reading.path), &reading.value()));
            }
        }
    }
}

/// Who a value is. Most rows have the values of the row before, and then no path is made.
pub(super) struct Place {
    handle: CounterHandle,
    counter: TitleIndex,
    instance: Option<InstanceKey>,
    /// The paths of several queries say which host it is.
    path: Option<String>,
}

impl Place {
    pub(super) fn of(values: &Values<'_>, reading: &Reading) -> Place {
        Place {
            handle: reading.handle,
            counter: reading.counter,
            instance: reading.instance.clone(),
            path: matches!(values, Values::Readings(..)).then(|| reading.path.clone()),
        }
    }

    pub(super) fn is_of(&self, path: Option<&str>, value: &CounterValue<'_>) -> bool {
        self.handle == value.handle
            && self.counter == value.definition.name
            && self.instance.as_ref() == value.instance
            && self.path.as_deref() == path
    }
}
