//! The search of the dialog: words in the names and help texts of counters, and what people call them.

use tallymon::core::title::TitleIndex;
use tallymon::search;

use crate::screens::add::dialog::AddDialog;

impl AddDialog {
    /// Lists the objects with counters that fit the search, and goes to the best counter.
    pub(crate) fn find(&mut self) {
        let (names, catalog) = (self.feed.query.names(), self.feed.query.catalog());
        self.hits = search(names, catalog, &self.search);
        let visible = catalog.objects().iter().filter(|object| object.visible_counters().next().is_some());
        let fitting = visible.map(|object| object.name).filter(|object| {
            self.search.trim().is_empty() || self.hits.iter().any(|hit| hit.object == *object)
        });
        let mut objects: Vec<(String, TitleIndex)> =
            fitting.map(|object| (names.name(object).to_lowercase(), object)).collect();
        objects.sort();
        self.objects = objects.into_iter().map(|(_, object)| object).collect();
        self.at = [0, 0, 0, self.at[3]];
        match self.hits.first().copied() {
            Some(best) => self.go_to(best.object, best.counter),
            None => self.chose_object(None),
        }
    }

    /// Whether a counter fits the search.
    pub(super) fn fits(&self, object: TitleIndex, counter: TitleIndex) -> bool {
        let is_hit = || self.hits.iter().any(|hit| (hit.object, hit.counter) == (object, counter));
        self.search.trim().is_empty() || is_hit()
    }
}
