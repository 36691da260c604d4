//! The dialog to add counters: objects, counters, instances side by side, a search in every language above them, and
//! what the chosen counter means and is now below.

mod mouse;
mod search;

use std::collections::HashSet;
use std::time::Duration;

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers, MouseEvent};
use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use tallymon::core::flow::{NoValue, SourceError};
use tallymon::core::title::TitleIndex;
use tallymon::sample::{Pending, Tick as Sample};
use tallymon::{CounterHandle, InstanceKey, Query, SearchHit, SourceInfo};

use crate::screens::screen::{Action, Layer, Screen, Tick};
use crate::term::frame;
use crate::term::text::{cut, put, put_right, rule, width, wrap};
use crate::term::theme::Theme;
use crate::words::{Word, Words};
use crate::workspace::feed::{AT_ONCE, Feed};
use crate::workspace::state::Workspace;

/// Four lists, a search, and a query of its own for the preview: what is looked at is not recorded.
pub(crate) struct AddDialog {
    feed: Feed,
    /// The host of the query first; a list of one is not shown.
    hosts: Vec<String>,
    search: String,
    /// The counters that fit it, best first.
    hits: Vec<SearchHit>,
    pane: Pane,
    objects: Vec<TitleIndex>,
    counters: Vec<TitleIndex>,
    instances: Vec<Choice>,
    /// The instances of the chosen object, which are still to come.
    awaited: Option<Pending<Vec<InstanceKey>>>,
    /// The user chose a line of the instances before they were there: it stays chosen.
    has_chosen: bool,
    /// Place in each list.
    at: [usize; 4],
    preview: Option<(String, CounterHandle)>,
    /// Paths that were added while it is open.
    added: HashSet<String>,
    /// Why a list is empty.
    trouble: Option<String>,
    /// Where the lists stood on the last screen.
    places: Vec<mouse::Place>,
    /// A click before, to tell a double click.
    clicked: Option<Position>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Pane {
    Objects,
    Counters,
    Instances,
    Hosts,
}

/// A line of the list of instances.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Choice {
    All,
    One(InstanceKey),
}

/// What a key in the dialog asks for.
pub(crate) enum Asked {
    Nothing,
    Close,
    Add(String),
    /// A query of the host at this position.
    Host(usize),
}

impl AddDialog {
    /// Opens the dialog over a query without paths of one of the hosts, at an object and counter, or at the first.
    pub(crate) fn open(
        mut feed: Feed,
        hosts: Vec<String>,
        host: usize,
        chosen: Option<(TitleIndex, TitleIndex)>,
    ) -> Result<AddDialog, SourceError> {
        // A search is in every language from its first letter on.
        feed.query.load_all_names()?;
        let mut dialog = AddDialog {
            feed,
            hosts,
            search: String::new(),
            hits: Vec::new(),
            pane: Pane::Objects,
            objects: Vec::new(),
            counters: Vec::new(),
            instances: Vec::new(),
            awaited: None,
            has_chosen: false,
            at: [0, 0, 0, host],
            preview: None,
            added: HashSet::new(),
            trouble: None,
            places: Vec::new(),
            clicked: None,
        };
        dialog.find();
        if let Some((object, counter)) = chosen {
            dialog.go_to(object, counter);
        }
        Ok(dialog)
    }

    /// Goes on with another host, whose query this is.
    pub(crate) fn look_at(&mut self, host: usize, mut feed: Feed) -> Result<(), SourceError> {
        feed.query.load_all_names()?;
        let chosen = self.object().zip(self.counter());
        self.feed = feed;
        self.at[3] = host;
        self.preview = None;
        self.find();
        if let Some((object, counter)) = chosen {
            self.go_to(object, counter);
        }
        Ok(())
    }

    /// Shows a sample in the preview, or the log at its new time.
    pub(crate) fn take_sample(&mut self, sample: Option<&Sample>) {
        let taken = self.feed.take(sample);
        self.note_trouble(taken);
    }

    fn note_trouble(&mut self, taken: Result<bool, SourceError>) {
        match (&self.preview, taken) {
            (_, Ok(false)) => {}
            (Some(_), Err(error)) => self.trouble = Some(error.to_string()),
            _ => self.trouble = None,
        }
    }

    /// Whether something that was requested is still to come.
    pub(crate) fn awaits(&self) -> bool {
        self.awaited.is_some() || self.feed.is_priming()
    }

    /// Takes the instances of the chosen object, if they arrive within a time; whether they did.
    pub(crate) fn instances_come(&mut self, patience: Duration) -> bool {
        let Some(answer) = self.awaited.as_ref().and_then(|awaited| awaited.wait(patience)) else {
            return false;
        };
        self.awaited = None;
        self.take_instances(answer);
        self.look();
        true
    }

    fn take_instances(&mut self, answer: Result<Vec<InstanceKey>, SourceError>) {
        match answer {
            Ok(keys) => {
                let one = keys.into_iter().map(Choice::One);
                self.instances = std::iter::once(Choice::All).chain(one).collect();
                // The sum is what most people want to see first.
                let total = |choice: &Choice| matches!(choice, Choice::One(key) if key.name == "_Total");
                let first = self.instances.iter().position(total).filter(|_| !self.has_chosen);
                self.at[2] = first.unwrap_or(0);
            }
            Err(error) => {
                self.instances.clear();
                self.trouble = Some(error.to_string());
            }
        }
    }

    pub(crate) fn dialog_key(&mut self, key: KeyEvent) -> Asked {
        let control = key.modifiers.contains(KeyModifiers::CONTROL);
        match key.code {
            KeyCode::Esc if self.search.is_empty() => return Asked::Close,
            KeyCode::Esc => {
                self.search.clear();
                self.find();
            }
            KeyCode::Char('c') if control => return Asked::Close,
            KeyCode::Char('u') if control => {
                self.search.clear();
                self.find();
            }
            KeyCode::Enter => return self.add(),
            KeyCode::Tab | KeyCode::Right => self.pane = self.next_pane(),
            KeyCode::BackTab | KeyCode::Left => {
                // The one before is the one that is followed by this.
                let pane = self.pane;
                while self.next_pane() != pane {
                    self.pane = self.next_pane();
                }
            }
            KeyCode::Up => return self.step(-1),
            KeyCode::Down => return self.step(1),
            KeyCode::PageUp => return self.step(-10),
            KeyCode::PageDown => return self.step(10),
            KeyCode::Home => return self.step(isize::MIN),
            KeyCode::End => return self.step(isize::MAX),
            KeyCode::Backspace => {
                self.search.pop();
                self.find();
            }
            KeyCode::Char(letter) if !control => {
                self.search.push(letter);
                self.find();
            }
            _ => {}
        }
        Asked::Nothing
    }

    fn add(&mut self) -> Asked {
        // Keys that were typed ahead mean the line that is chosen once the instances are there.
        self.instances_come(AT_ONCE);
        let Some(path) = self.path() else { return Asked::Nothing };
        self.added.insert(path.clone());
        Asked::Add(path)
    }

    /// Searches for pasted text.
    pub(crate) fn search_for(&mut self, text: &str) {
        self.search.push_str(text.lines().next().unwrap_or_default());
        self.find();
    }

    fn step(&mut self, by: isize) -> Asked {
        self.has_chosen |= self.pane == Pane::Instances;
        let length = self.length(self.pane);
        if self.pane == Pane::Hosts {
            return Asked::Host(self.at[3].saturating_add_signed(by).min(length.saturating_sub(1)));
        }
        if let Some(at) = self.at.get_mut(self.pane as usize) {
            *at = at.saturating_add_signed(by).min(length.saturating_sub(1));
        }
        match self.pane {
            Pane::Objects => self.chose_object(None),
            Pane::Counters | Pane::Instances | Pane::Hosts => self.look(),
        }
        Asked::Nothing
    }

    /// From left to right and around; one host is no choice.
    fn next_pane(&self) -> Pane {
        match self.pane {
            Pane::Hosts => Pane::Objects,
            Pane::Objects => Pane::Counters,
            Pane::Counters => Pane::Instances,
            Pane::Instances if self.hosts.len() > 1 => Pane::Hosts,
            Pane::Instances => Pane::Objects,
        }
    }

    fn length(&self, pane: Pane) -> usize {
        match pane {
            Pane::Objects => self.objects.len(),
            Pane::Counters => self.counters.len(),
            Pane::Instances => self.instances.len(),
            Pane::Hosts => self.hosts.len(),
        }
    }

    fn object(&self) -> Option<TitleIndex> {
        self.objects.get(self.at[0]).copied()
    }

    fn counter(&self) -> Option<TitleIndex> {
        self.counters.get(self.at[1]).copied()
    }

    fn go_to(&mut self, object: TitleIndex, counter: TitleIndex) {
        if let Some(at) = self.objects.iter().position(|known| *known == object) {
            self.at[0] = at;
            self.chose_object(Some(counter));
        }
    }

    /// Fills the lists of counters and instances of the chosen object.
    fn chose_object(&mut self, counter: Option<TitleIndex>) {
        self.counters.clear();
        self.instances.clear();
        self.at[1] = 0;
        self.at[2] = 0;
        self.trouble = None;
        (self.awaited, self.has_chosen) = (None, false);
        let Some(object) = self.object() else {
            self.preview = None;
            return;
        };
        let Some(known) = self.feed.query.catalog().object(object) else { return };
        let fits = |counter: &TitleIndex| self.fits(object, *counter);
        let counters: Vec<TitleIndex> =
            known.visible_counters().map(|counter| counter.name).filter(fits).collect();
        let default = known.default_counter.and_then(|at| known.counters.get(at)).map(|known| known.name);
        let has_instances = known.has_instances;
        let wanted = counter.or(default);
        self.at[1] = counters.iter().position(|known| Some(*known) == wanted).unwrap_or(0);
        self.counters = counters;
        if has_instances {
            self.instances.push(Choice::All);
            match &self.feed.listener {
                Some(listener) => self.awaited = Some(listener.instances(object)),
                None => {
                    let answer = self.feed.query.instances(object);
                    self.take_instances(answer);
                }
            }
        }
        self.look();
    }

    /// Has the chosen counter sampled from now on, to show its value.
    fn look(&mut self) {
        // The line that is chosen while the instances come is not the one that will be.
        let path = if self.awaited.is_none() { self.path() } else { None };
        if self.preview.as_ref().map(|(known, _)| known) == path.as_ref() {
            return;
        }
        if let Some((_, before)) = self.preview.take() {
            self.feed.query.remove(before);
        }
        self.preview = path.and_then(|path| {
            let handle = self.feed.query.add(&path).ok()?;
            Some((path, handle))
        });
        if self.preview.is_some() {
            let begun = self.feed.begin();
            self.note_trouble(begun);
        }
    }

    /// The path that Enter adds.
    fn path(&self) -> Option<String> {
        let names = self.feed.query.names();
        let (object, counter) = (names.english(self.object()?), names.english(self.counter()?));
        let host = match self.at[3] {
            0 => String::new(),
            place => format!("\\\\{}", self.hosts.get(place)?),
        };
        if !self.feed.query.catalog().object(self.object()?)?.has_instances {
            return Some(format!("{host}\\{object}\\{counter}"));
        }
        match self.instances.get(self.at[2])? {
            Choice::All => Some(format!("{host}\\{object}(*)\\{counter}")),
            Choice::One(key) => Some(format!("{host}\\{object}({key})\\{counter}")),
        }
    }

    pub(crate) fn drawn(&mut self, buffer: &mut Buffer, area: Rect, words: Words, theme: Theme) {
        let wide = if area.width <= 140 { area.width } else { 140 };
        let size = (wide, area.height.saturating_sub(2).min(40));
        let title = match self.hosts.as_slice() {
            [host] if !host.is_empty() => format!("{} · {host}", words.get(Word::AddTitle)),
            _ => words.get(Word::AddTitle).to_string(),
        };
        let inside = frame::frame(buffer, area, size, &title, words.get(Word::AddKeys), theme);
        let search = format!(" {}: ", words.get(Word::Search));
        let x = put(buffer, inside.x, inside.y, inside.width, &search, theme.bold());
        let x = put(
            buffer,
            x,
            inside.y,
            inside.right().saturating_sub(x).saturating_sub(1),
            &self.search,
            theme.plain(),
        );
        put(buffer, x, inside.y, 1, " ", theme.selected());
        let below = if inside.height >= 20 { 8 } else { 5 };
        let top = inside.y.saturating_add(1);
        let lists = Rect { y: top, height: inside.height.saturating_sub(below).saturating_sub(1), ..inside };
        // The host is named in the title when there is one only.
        let hosts = if self.hosts.len() > 1 { (lists.width * 16 / 100).max(10) } else { 0 };
        let (first, third) =
            (lists.width.saturating_sub(hosts) * 30 / 100, lists.width.saturating_sub(hosts) * 28 / 100);
        let second = lists.width.saturating_sub(hosts).saturating_sub(first).saturating_sub(third);
        let names = self.feed.query.names();
        let mut x = lists.x;
        let objects: Vec<String> = self.objects.iter().map(|object| names.name(*object)).collect();
        let counters: Vec<String> = self.counters.iter().map(|counter| names.name(*counter)).collect();
        let instances: Vec<String> = self
            .instances
            .iter()
            .map(|choice| match choice {
                Choice::All => format!("* {}", words.get(Word::AllInstances)),
                Choice::One(key) => key.to_string(),
            })
            .collect();
        let mut places = Vec::new();
        for (pane, word, wide, lines) in [
            (Pane::Hosts, Word::Host, hosts, &self.hosts),
            (Pane::Objects, Word::Object, first, &objects),
            (Pane::Counters, Word::Counter, second, &counters),
            (Pane::Instances, Word::Instance, third, &instances),
        ] {
            if wide == 0 {
                continue;
            }
            let place = Rect { x, width: wide.saturating_sub(1), ..lists };
            let empty = match pane {
                Pane::Objects => words.get(Word::NothingFound),
                Pane::Counters | Pane::Hosts => "",
                Pane::Instances if self.object().is_none() => "",
                Pane::Instances if self.awaited.is_some() => words.get(Word::ReadingValues),
                Pane::Instances => words.get(Word::NoInstances),
            };
            let top = self.list(buffer, place, theme, pane, words.get(word), lines, empty);
            places.push(mouse::Place { pane, area: place, top });
            x = x.saturating_add(wide);
        }
        self.places = places;
        let about =
            Rect { y: lists.bottom(), height: inside.bottom().saturating_sub(lists.bottom()), ..inside };
        rule(buffer, about, about.y, theme.either("─", "-"), theme.dim());
        let about = Rect {
            x: about.x.saturating_add(1),
            y: about.y.saturating_add(1),
            width: about.width.saturating_sub(2),
            height: about.height.saturating_sub(1),
        };
        self.about(buffer, about, words, theme);
    }

    /// Draws a list; the line that is its first on the screen.
    #[expect(clippy::too_many_arguments, reason = "each is a different part of one list")]
    fn list(
        &self,
        buffer: &mut Buffer,
        area: Rect,
        theme: Theme,
        pane: Pane,
        title: &str,
        lines: &[String],
        empty: &str,
    ) -> usize {
        let active = self.pane == pane;
        let title_style = if active { theme.bold() } else { theme.dim() };
        let count = format!("{title} ({})", lines.len());
        put(buffer, area.x, area.y, area.width, &format!(" {count}"), title_style);
        let rows = usize::from(area.height.saturating_sub(1));
        let at = self.at.get(pane as usize).copied().unwrap_or(0);
        // The chosen line stays away from the edge, so that one sees what comes.
        let top = at.saturating_sub(rows / 2).min(lines.len().saturating_sub(rows));
        let is_coming = pane == Pane::Instances && self.awaited.is_some();
        if lines.is_empty() || is_coming {
            let y = area.y.saturating_add(if is_coming { 2 } else { 1 });
            put(buffer, area.x.saturating_add(1), y, area.width, empty, theme.dim());
        }
        let ys = area.y.saturating_add(1)..area.bottom();
        for (y, (number, line)) in ys.zip(lines.iter().enumerate().skip(top)) {
            let style = match (number == at, active) {
                (true, true) => theme.selected(),
                (true, false) => theme.bold(),
                (false, _) => theme.plain(),
            };
            let row = Rect { x: area.x, y, width: area.width, height: 1 };
            buffer.set_style(row, style);
            let mark = if number == at { theme.either("▸", ">") } else { " " };
            put(buffer, area.x, y, 1, mark, style);
            let left = area.width.saturating_sub(1);
            put(buffer, area.x.saturating_add(1), y, left, &cut(line, left), style);
        }
        top
    }

    /// Path, value, meaning, type and formula of the chosen counter.
    fn about(&self, buffer: &mut Buffer, area: Rect, words: Words, theme: Theme) {
        if let Some(trouble) = &self.trouble {
            put(buffer, area.x, area.y, area.width, &cut(trouble, area.width), theme.bad());
            return;
        }
        let Some(path) = self.path() else { return };
        let Some(object) = self.object().and_then(|object| self.feed.query.catalog().object(object)) else {
            return;
        };
        let Some(counter) = self.counter().and_then(|counter| object.counter(counter)) else { return };
        let value = format!(" {}: {}", words.get(Word::Now), self.value(words, theme));
        let wide = width(&value);
        let left = area.width.saturating_sub(wide);
        let x = put(buffer, area.x, area.y, left, &cut(&path, left), theme.bold());
        if self.added.contains(&path) {
            let text = format!("  {} {}", theme.either("✓", "+"), words.get(Word::Added));
            put(buffer, x, area.y, left.saturating_sub(x.saturating_sub(area.x)), &text, theme.good());
        }
        put_right(buffer, area.x.saturating_add(left), area.y, wide, &value, theme.good());
        let info = counter.counter_type.info();
        let meaning = info.map_or("", |info| info.summary);
        let formula = info.map_or("", |info| info.formula);
        let costly = if object.costly { words.get(Word::Costly) } else { "" };
        let help = self.feed.query.names().help(counter.help).unwrap_or_default();
        let last = area.bottom().saturating_sub(1);
        let kind = format!("{}: {}: {meaning}", words.get(Word::Type), counter.counter_type);
        let how = format!("{}: {formula}   {costly}", words.get(Word::Formula));
        let help_rows = usize::from(area.height.saturating_sub(3)).max(1);
        let lines = wrap(help, area.width);
        for (y, (number, line)) in
            (area.y.saturating_add(1)..last).zip(lines.iter().enumerate().take(help_rows))
        {
            // The help may be longer than its place.
            let more = number.saturating_add(1) == help_rows && lines.len() > help_rows;
            let line = if more { format!("{line} …") } else { line.clone() };
            put(buffer, area.x, y, area.width, &cut(&line, area.width), theme.plain());
        }
        if area.height >= 4 {
            put(buffer, area.x, last.saturating_sub(1), area.width, &cut(&kind, area.width), theme.dim());
        }
        put(buffer, area.x, last, area.width, &cut(how.trim_end(), area.width), theme.dim());
    }

    /// The value of the preview: of the one instance, or of the first and how many there are.
    fn value(&self, words: Words, theme: Theme) -> String {
        let dots = theme.either("…", "...").to_string();
        let Some((_, handle)) = self.preview.as_ref().filter(|_| !self.feed.is_priming()) else {
            return dots;
        };
        let readings = self.feed.query.readings();
        let mut own = readings.iter().filter(|reading| reading.handle == *handle);
        let Some(first) = own.next() else { return "0".to_string() };
        let count = own.count();
        let unit = first.definition.counter_type.suffix().as_str();
        let text = match &first.cell.value {
            Ok(value) => format!("{} {unit}", words.numbers().value(value, first.definition.counter_type)),
            Err(NoValue::FirstSample) => dots,
            Err(why) => why.to_string(),
        };
        if count == 0 { text } else { format!("{text} (+{count})") }
    }
}

impl AddDialog {
    /// Opens the dialog at the chosen counter.
    ///
    /// # Errors
    ///
    /// The source can not be opened again, or its names can not be read.
    pub(crate) fn of_chosen(workspace: &mut Workspace) -> Result<AddDialog, SourceError> {
        let chosen = workspace.monitor.chosen().map(|series| (series.object, series.counter));
        let (hosts, host) = (workspace.hosts(), workspace.chosen_host());
        workspace.feed(host).and_then(|feed| AddDialog::open(feed, hosts, host, chosen))
    }

    /// Does what a key or a click asks for.
    fn answer_to(&mut self, asked: Asked, workspace: &mut Workspace) -> Action {
        match asked {
            Asked::Close => return Action::Close,
            Asked::Add(path) => {
                workspace.choose = Some(path.clone());
                workspace.add(&path);
            }
            Asked::Host(host) => {
                if let Err(error) = workspace.feed(host).and_then(|feed| self.look_at(host, feed)) {
                    workspace.message = Some(error.to_string());
                }
            }
            Asked::Nothing => {}
        }
        Action::Done
    }
}

impl Screen for AddDialog {
    fn layer(&self) -> Layer {
        Layer::Dialog
    }

    fn key(&mut self, key: KeyEvent, workspace: &mut Workspace) -> Action {
        let asked = self.dialog_key(key);
        self.answer_to(asked, workspace)
    }

    fn mouse(&mut self, event: MouseEvent, workspace: &mut Workspace) -> Action {
        let asked = self.dialog_mouse(event);
        self.answer_to(asked, workspace)
    }

    fn paste(&mut self, text: &str, _workspace: &mut Workspace) -> Action {
        self.search_for(text);
        Action::Done
    }

    fn sample(&mut self, tick: &Tick<'_>) -> Result<(), SourceError> {
        // Its own line says what is wrong.
        self.take_sample(tick.sample);
        Ok(())
    }

    fn awaits_sample(&self) -> bool {
        self.feed.is_priming()
    }

    fn poll(&mut self, patience: Duration) -> bool {
        self.instances_come(patience)
    }

    fn is_waiting(&self) -> bool {
        self.awaited.is_some()
    }

    fn renew(&mut self, info: &SourceInfo) {
        // The listener stays; a log has none.
        if let Some(listener) = self.feed.listener.take() {
            let feed = Feed { query: Query::over(info.clone()), listener: Some(listener) };
            // Names are loaded: nothing fails.
            let _ = self.look_at(self.at[3], feed);
        }
    }

    fn draw(&mut self, buffer: &mut Buffer, area: Rect, workspace: &mut Workspace) {
        self.drawn(buffer, area, workspace.words, workspace.theme);
    }
}
