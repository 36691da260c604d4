//! Adds counters to the query and removes them; a new query replaces the old one without the removed
//! counters.

use tallymon::{PathError, PathProblem, Query};

use crate::words::Word;
use crate::workspace::state::{View, Workspace};

impl Workspace {
    /// The counters of the view, to record them: those of the overview, else those of the chart.
    pub(crate) fn shown_counters(&self) -> Vec<String> {
        match self.overview.as_ref().filter(|_| self.view == View::Overview) {
            Some(state) => state.model.english_paths(),
            None => self.paths.clone(),
        }
    }

    /// The threshold of the chosen counter as a limit; without one, the user writes the number.
    pub(crate) fn chosen_limit(&self) -> String {
        let Some(series) = self.monitor.chosen() else { return String::new() };
        let number = series.threshold.map(|number| number.to_string()).unwrap_or_default();
        format!("{} > {number}", series.path)
    }

    /// Adds a path, or shows why it cannot be used. If its object is registered and not defined yet, its
    /// library is started, and the path is added when that has answered.
    pub(crate) fn add(&mut self, path: &str) {
        self.add_when(path, true);
    }

    /// Adds a path whose library has answered, or shows why it cannot be used.
    pub(super) fn add_defined(&mut self, path: &str) {
        self.add_when(path, false);
    }

    fn add_when(&mut self, path: &str, can_wait: bool) {
        if self.paths.iter().any(|known| known == path) {
            self.monitor.expect(path);
            self.choose = Some(path.to_string());
            return;
        }
        let host = self.host_of(path);
        if self.machines().is_some() && host > 0 {
            // A machine that has not answered yet gets it later.
            self.paths.push(path.to_string());
            self.monitor.expect(path);
            self.want_paths_of(host);
            return;
        }
        let is_own = host == 0;
        let later = self.successor.as_mut().filter(|_| is_own).map(|successor| successor.add(path).is_ok());
        match self.query_for(path).add(path) {
            // The successor may know objects that are new.
            Err(_) if later == Some(true) => {
                self.paths.push(path.to_string());
                self.monitor.expect(path);
            }
            Ok(_) => {
                self.paths.push(path.to_string());
                self.monitor.expect(path);
            }
            Err(error) if can_wait && self.waits_for_library(&error) => {
                self.undefined.push(path.to_string());
                self.monitor.expect(path);
                self.renew_info();
            }
            Err(error) => {
                // Its line may lie far below the screen.
                self.message = Some(error.to_string());
                self.monitor.fail(error);
            }
        }
    }

    /// Whether a path has to be defined by a library, and the live source can start it.
    fn waits_for_library(&self, error: &PathError) -> bool {
        self.sampling.is_some() && matches!(error.problem, PathProblem::NotAnswering(_))
    }

    /// Adds the counter paths among some lines of text: one path a line, or a list as settings have it.
    pub(crate) fn add_lines(&mut self, text: &str) {
        for line in text.lines() {
            // A line of the settings that `Y` copies is a path in quotes and a comma.
            let line = line.trim().trim_end_matches(',').trim_matches(['"', '\'']);
            let is_path = line.starts_with(['\\', '/']);
            if is_path {
                self.choose = Some(line.to_string());
                self.add(line);
            }
        }
    }

    /// Adds a path, and chooses its line once it exists.
    pub(crate) fn add_and_choose(&mut self, path: &str) {
        self.message = Some(format!("{} {path}", self.words.get(Word::Added)));
        self.choose = Some(path.to_string());
        self.add(path);
    }

    /// Removes the chosen line, and its counter from the query when nothing else needs it.
    pub(crate) fn remove_chosen(&mut self) {
        let Some(path) = self.monitor.remove_chosen() else { return };
        self.paths.retain(|known| *known != path);
        self.successor = self.reopened();
    }

    /// Removes all series that a path requested.
    pub(crate) fn remove_path(&mut self, path: &str) {
        self.monitor.remove_asked(path);
        self.paths.retain(|known| known != path);
        self.undefined.retain(|known| known != path);
        self.successor = self.reopened();
    }

    /// Removes everything, for a new counter set.
    pub(crate) fn remove_all(&mut self) {
        self.paths.clear();
        self.undefined.clear();
        self.monitor.remove_all();
        self.successor = None;
        // The next row may have old readings of a machine that is late: they would come back as lines.
        if let Some(machines) = &mut self.machines {
            machines.forget_readings();
        }
        match self.reopened() {
            Some(query) => self.query = query,
            None => self.message = Some(self.words.get(Word::NothingFound).to_string()),
        }
    }

    /// A new query with the current paths. `None` when the source cannot be opened again: then the old query
    /// stays.
    pub(crate) fn reopened(&mut self) -> Option<Query> {
        let mut query = (self.options.open)().ok()?;
        self.keep_watching(&mut query);
        self.reopen_others().ok()?;
        for path in self.paths.iter().filter(|path| self.host_of(path) == 0) {
            query.add(path).ok()?;
        }
        Some(query)
    }

    pub(crate) fn choose_what_was_added(&mut self) {
        let Some(path) = &self.choose else { return };
        let found = self.monitor.series().iter().rposition(|series| series.asked == *path);
        if let Some(position) = found {
            self.monitor.select(position);
            self.choose = None;
        }
    }
}
