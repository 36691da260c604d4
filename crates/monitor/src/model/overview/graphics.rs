//! Graphics processors.

use crate::model::overview::counters::Metric;
use crate::model::overview::gather::Gatherer;
use crate::model::overview::view::Graphics;

impl Gatherer<'_> {
    /// The graphics processors of which the kernel knows anything, busiest first.
    pub(super) fn graphics(&self) -> Vec<Graphics> {
        let metrics = [Metric::GraphicsBusy, Metric::GraphicsOwn, Metric::GraphicsShared];
        let one = |name: String| Graphics {
            busy: self.instance(Metric::GraphicsBusy, &name, |number| number),
            own: self.instance(Metric::GraphicsOwn, &name, |number| number),
            shared: self.instance(Metric::GraphicsShared, &name, |number| number),
            name,
        };
        let mut all: Vec<Graphics> = self.instances(&metrics).into_iter().map(one).collect();
        all.retain(|one| [&one.busy, &one.own, &one.shared].iter().any(|gauge| gauge.value.is_ok()));
        let busy = |one: &Graphics| one.busy.number().unwrap_or(-1.0);
        all.sort_by(|one, other| busy(other).total_cmp(&busy(one)));
        all
    }
}
