//! Containers by name.

use crate::model::overview::counters::Metric;
use crate::model::overview::gather::Gatherer;
use crate::model::overview::view::Container;

impl Gatherer<'_> {
    /// The containers that run at the time, busiest first; equal ones by memory.
    pub(super) fn containers(&self) -> Vec<Container> {
        let metrics = [Metric::ContainerBusy, Metric::ContainerMemory];
        let container = |name: String| Container {
            busy: self.instance(Metric::ContainerBusy, &name, |number| number),
            memory: self.instance(Metric::ContainerMemory, &name, |number| number),
            received: self.instance(Metric::ContainerReceived, &name, |number| number),
            sent: self.instance(Metric::ContainerSent, &name, |number| number),
            name,
        };
        let mut all: Vec<Container> = self.instances(&metrics).into_iter().map(container).collect();
        // One that ended keeps its series for a while.
        all.retain(|one| one.busy.value.is_ok() || one.memory.value.is_ok());
        let order = |one: &Container| (one.busy.number().unwrap_or(0.0), one.memory.number().unwrap_or(0.0));
        all.sort_by(|one, other| {
            let ((busy, memory), (other_busy, other_memory)) = (order(one), order(other));
            other_busy.total_cmp(&busy).then_with(|| other_memory.total_cmp(&memory))
        });
        all
    }
}
