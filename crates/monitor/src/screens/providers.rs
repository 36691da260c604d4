//! The screen of providers: who gives the counters, how each of them is, and what it costs.
//!
//! A library of this machine can be enabled and disabled here, as `tally provider` does it; whoever may not is told so.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers, MouseButton, MouseEvent, MouseEventKind};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use tallymon::core::counter::CounterType;
use tallymon::core::flow::{Absence, NoValue, SourceError};
use tallymon::registry::{Installed, Writer};
use tallymon::{Health, Query};

use crate::app::{App, Overlay};
use crate::model::{PROVIDERS_PATH, Provider, ProviderKind, Series, format, objects, providers};
use crate::term::frame::screen_frame;
use crate::term::list::{self, Cell, Column};
use crate::term::theme::Theme;
use crate::words::{Word, Words};
use crate::workspace::jobs::Done;

/// What is open of the screen.
pub(crate) struct Providers {
    query: Query,
    /// Name of the host.
    host: String,
    /// The source has an object that tells of its providers.
    tells: bool,
    /// It is how they are now, so that something can be done about it.
    is_now: bool,
    rows: Vec<Provider>,
    /// Name of the chosen one: it stays chosen wherever it comes to stand.
    chosen: Option<String>,
    /// Somebody wants the chosen library enabled, or disabled, and is asked once more.
    wants: Option<bool>,
    /// Where each stood on the last screen.
    places: Vec<(u16, usize)>,
}

impl Providers {
    /// The screen with its first sample, over a query without paths.
    fn open(
        mut query: Query,
        host: String,
        chosen: Option<String>,
        is_now: bool,
    ) -> Result<Providers, SourceError> {
        let tells = query.add(PROVIDERS_PATH).is_ok();
        let (rows, wants, places) = (Vec::new(), None, Vec::new());
        let mut screen = Providers { query, host, tells, is_now, rows, chosen, wants, places };
        screen.sample()?;
        Ok(screen)
    }

    /// How they are now; in a log, at the time that it is at.
    pub(crate) fn sample(&mut self) -> Result<(), SourceError> {
        if self.tells {
            self.query.collect()?;
            self.rows = providers(&self.query);
        } else if self.rows.is_empty() {
            self.rows = objects(&self.query);
        }
        // It stays chosen also when others come before it.
        self.chosen = self.chosen.take().or_else(|| self.rows.first().map(|row| row.name.clone()));
        Ok(())
    }

    fn at(&self) -> usize {
        self.rows.iter().position(|row| Some(&row.name) == self.chosen.as_ref()).unwrap_or(0)
    }

    fn choose(&mut self, at: usize) {
        self.chosen = self.rows.get(at).map(|row| row.name.clone());
        self.wants = None;
    }

    fn draw(&mut self, buffer: &mut Buffer, area: Rect, words: Words, theme: Theme) {
        let title = format!("{}: {} ({})", words.get(Word::Providers), self.host, self.rows.len());
        let inside = screen_frame(buffer, area, &title, words.get(Word::ProviderKeys), theme);
        let columns = [
            Column { title: words.get(Word::Name), least: 16, right: false },
            Column { title: words.get(Word::State), least: 0, right: false },
            Column { title: words.get(Word::Took), least: 7, right: true },
            Column { title: words.get(Word::Kind), least: 0, right: false },
            Column { title: words.get(Word::Share), least: 8, right: true },
            Column { title: words.get(Word::Asked), least: 8, right: true },
            Column { title: words.get(Word::Errors), least: 6, right: true },
            Column { title: words.get(Word::Late), least: 6, right: true },
            Column { title: words.get(Word::Restarts), least: 6, right: true },
        ];
        let cells: Vec<Vec<Cell>> = self.rows.iter().map(|row| cells(row, words, theme)).collect();
        let at = self.at();
        let mut texts: Vec<Cell> = Vec::new();
        if !self.tells {
            texts.push((words.get(Word::NotTold).to_string(), theme.warning()));
        }
        if let Some(row) = self.rows.get(at) {
            texts.extend(self.wants.zip(row.service()).map(|(enabled, service)| {
                let word = if enabled { Word::Enable } else { Word::Disable };
                (format!("{}: {service}? y n", words.get(word)), theme.bold())
            }));
            texts.extend(details(row, self.is_now, words, theme));
        }
        self.places = list::draw(buffer, inside, theme, &columns, &cells, at, &texts);
    }
}

/// The line of a provider.
fn cells(row: &Provider, words: Words, theme: Theme) -> Vec<Cell> {
    let dash = || theme.either("–", "-").to_string();
    let count = |number: Option<f64>| (number.map_or_else(dash, |count| whole(words, count)), theme.plain());
    let (state, style) = match row.health {
        _ if row.is_disabled() => (words.get(Word::Disabled), theme.dim()),
        Some(Health::NotAsked) => (words.get(Word::NotAsked), theme.dim()),
        Some(Health::Healthy) => (words.get(Word::Healthy), theme.good()),
        Some(Health::Degraded) => (words.get(Word::Degraded), theme.warning()),
        Some(Health::Unsupported) => (words.get(Word::Unsupported), theme.dim()),
        Some(Health::Failed) => (words.get(Word::Failed), theme.bad()),
        None => (theme.either("–", "-"), theme.dim()),
    };
    let kind = match row.kind {
        ProviderKind::Library => Word::KindLibrary,
        ProviderKind::SharedMemory => Word::KindShared,
        ProviderKind::BuiltIn => Word::KindBuiltIn,
        ProviderKind::Elsewhere => Word::KindElsewhere,
    };
    vec![
        (row.title.clone(), theme.plain()),
        (state.to_string(), style),
        (row.last.map_or_else(dash, format::seconds), theme.plain()),
        (words.get(kind).to_string(), theme.plain()),
        (row.share.map_or_else(dash, |share| format!("{share:.3} %")), theme.plain()),
        count(row.collections),
        count(row.errors),
        count(row.late),
        count(row.restarts),
    ]
}

/// How often something happened.
fn whole(words: Words, count: f64) -> String {
    words.numbers().number_of(count, CounterType::PERF_COUNTER_LARGE_RAWCOUNT)
}

/// All that is known of the chosen one: a narrow screen has no columns for it.
fn details(row: &Provider, is_now: bool, words: Words, theme: Theme) -> Vec<Cell> {
    let health = row.health.unwrap_or_default();
    let remedy = match row.kind {
        ProviderKind::BuiltIn if is_now => health.remedy(&row.reason),
        _ => "",
    };
    let numbers: Vec<String> = [
        (Word::Took, row.last.map(format::seconds)),
        (Word::Average, row.average.map(format::seconds)),
        (Word::Share, row.share.map(|share| format!("{share:.3} %"))),
        (Word::Asked, row.collections.map(|count| whole(words, count))),
        (Word::Errors, row.errors.map(|count| whole(words, count))),
        (Word::Late, row.late.map(|count| whole(words, count))),
        (Word::Restarts, row.restarts.map(|count| whole(words, count))),
    ]
    .into_iter()
    .filter_map(|(word, text)| Some(format!("{} {}", words.get(word), text?)))
    .collect();
    let between = theme.either(" · ", " . ");
    vec![
        (row.title.clone(), theme.bold()),
        (row.reason.clone(), theme.warning()),
        (remedy.to_string(), theme.plain()),
        (numbers.join(between), theme.dim()),
    ]
}

/// Whether it is the provider that a series has no good value from.
pub(crate) fn is_at_fault(series: &Series) -> bool {
    const FAULTS: [Absence; 4] =
        [Absence::ReadFailed, Absence::AccessDenied, Absence::NotInThisKernel, Absence::Other];
    let is_fault = |why: &NoValue| matches!(why, NoValue::NoData(why) if FAULTS.contains(why));
    series.stale || series.last.as_ref().is_err_and(is_fault)
}

impl App {
    /// Opens the screen: at what is wrong first, or at whoever gives the chosen counter.
    pub(crate) fn open_providers(&mut self, of_chosen: bool) {
        let host = self.chosen_host();
        let name = self.hosts().into_iter().nth(host).unwrap_or_default();
        let is_now = self.replay.is_none();
        let chosen = if of_chosen { self.chosen_provider(host) } else { None };
        match self.open_host(host).and_then(|query| Providers::open(query, name, chosen, is_now)) {
            Ok(screen) => self.overlay = Overlay::Providers(Box::new(screen)),
            Err(error) => self.message = Some(error.to_string()),
        }
    }

    /// How they are at the time that is shown, while somebody looks.
    pub(crate) fn look_at_providers(&mut self) {
        if let Overlay::Providers(screen) = &mut self.overlay
            && let Err(error) = screen.sample()
        {
            self.message = Some(error.to_string());
        }
    }

    /// Name of the provider of the chosen counter.
    fn chosen_provider(&self, host: usize) -> Option<String> {
        let object = self.monitor.chosen()?.object;
        let installed = self.registry().map(|roots| Installed::read_what_is_whole(roots).0);
        let service = installed.as_ref().and_then(|installed| {
            let (_, service) =
                installed.services().find(|(_, service)| service.object_list.contains(&object))?;
            Some(format!("service {}", service.name))
        });
        Some(service.unwrap_or_else(|| self.query_of(host).names().english(object)))
    }

    /// The registries of what is shown, if that is this machine now.
    fn registry(&self) -> Option<&tallymon::registry::Roots> {
        self.options.registry.as_ref().filter(|_| self.replay.is_none())
    }

    /// Has the chosen library asked, or asked no longer, from the next sample on.
    fn enable(&mut self, service: &str, enabled: bool) {
        let Some(roots) = self.registry().cloned() else { return };
        let service = service.to_string();
        let state = self.words.get(if enabled { Word::Enabled } else { Word::Disabled });
        self.begin_deed(move || {
            let writer = Writer::of_service(&roots, None, &service).map_err(|error| error.to_string())?;
            writer.set_enabled(&service, enabled).map_err(|error| error.to_string())?;
            Ok(Done::Said(format!("{service}: {state}")))
        });
    }
}

/// A key while the screen is open.
pub(crate) fn key(app: &mut App, mut screen: Box<Providers>, key: KeyEvent) {
    let control = key.modifiers.contains(KeyModifiers::CONTROL);
    let wanted = screen.wants.take();
    let service = screen.rows.get(screen.at()).and_then(Provider::service).map(str::to_string);
    match key.code {
        KeyCode::Char('c') if control => return,
        KeyCode::Char(_) if control => {}
        KeyCode::Char('y') if wanted.is_some() => {
            if let Some((service, enabled)) = service.zip(wanted) {
                app.enable(&service, enabled);
            }
        }
        KeyCode::Esc | KeyCode::Char('n') if wanted.is_some() => {}
        KeyCode::Esc | KeyCode::Char('q' | 'D') => return,
        KeyCode::Char(letter @ ('e' | 'd')) => match (service, app.registry()) {
            (Some(_), Some(_)) => screen.wants = Some(letter == 'e'),
            (Some(_), None) => app.message = Some(app.words.get(Word::NotHere).to_string()),
            (None, _) => app.message = Some(app.words.get(Word::OnlyLibraries).to_string()),
        },
        code => {
            if let Some(at) = list::moved(code, screen.at(), screen.rows.len()) {
                screen.choose(at);
            }
        }
    }
    app.overlay = Overlay::Providers(screen);
}

/// A click chooses a line, and the wheel goes through them.
pub(crate) fn mouse(app: &mut App, mut screen: Box<Providers>, event: MouseEvent) {
    match event.kind {
        MouseEventKind::Down(MouseButton::Left) => {
            if let Some(at) = list::line_at(&screen.places, event.row) {
                screen.choose(at);
            }
        }
        MouseEventKind::ScrollUp => screen.choose(screen.at().saturating_sub(3)),
        MouseEventKind::ScrollDown => {
            screen.choose(screen.at().saturating_add(3).min(screen.rows.len().saturating_sub(1)));
        }
        _ => {}
    }
    app.overlay = Overlay::Providers(screen);
}

pub(crate) fn draw(app: &mut App, buffer: &mut Buffer, area: Rect) {
    let (words, theme) = (app.words, app.theme);
    if let Overlay::Providers(screen) = &mut app.overlay {
        screen.draw(buffer, area, words, theme);
    }
}
