//! The providers screen: where the counters come from, the health of each provider, and what it costs.
//!
//! Libraries of this machine can be enabled and disabled here, as with `tally provider`; a message reports
//! missing rights.

use std::time::Duration;

use crossterm::event::{KeyEvent, MouseButton, MouseEvent, MouseEventKind};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use tallymon::Health;
use tallymon::Log;
use tallymon::core::counter::CounterType;
use tallymon::core::flow::SourceError;
use tallymon::core::title::Language;
use tallymon::registry::{Installed, Writer};
use tallymon::sample::Tick as Sample;

use crate::keys::binding::{Command, Context};
use crate::keys::lookup::{command, moved};
use crate::keys::show::footer;
use crate::log::provider_times::{ProviderTimes, Reading};
use crate::model::{
    CollectTimes, PROVIDERS_PATH, Provider, ProviderKind, format, objects, providers, tag_of,
};
use crate::screens::screen::{Action, Layer, Screen, Tick};
use crate::term::chart::Glyphs;
use crate::term::frame::screen_frame;
use crate::term::list::{self, Cell, Column};
use crate::term::theme::Theme;
use crate::words::{Word, Words};
use crate::workspace::feed::Feed;
use crate::workspace::state::{Done, Workspace};

/// From this width on there is room for the percentiles beside the names; the details have them anyway.
const WITH_PERCENTILES: u16 = 116;

/// The list of providers.
pub(crate) struct Providers {
    feed: Feed,
    /// Name of the host.
    host: String,
    /// The source has an object with provider data.
    reports_health: bool,
    /// The state is current, not that of a log, so that the user can act on it.
    is_now: bool,
    providers: Vec<Provider>,
    /// How long their last collections took: those since the screen was opened, or all of a log.
    times: CollectTimes,
    /// Those of a log, while it is read for them.
    reading: Option<Reading>,
    /// Name of the chosen provider: it stays chosen when the order changes.
    chosen: Option<String>,
    /// The chosen library is to be enabled or disabled, once the user confirms it.
    unconfirmed: Option<bool>,
    /// The screen row of each line.
    rows: Vec<(u16, usize)>,
}

impl Providers {
    /// The screen over a query without paths. Its first sample is requested, or there already.
    fn over(
        mut feed: Feed,
        host: String,
        chosen: Option<String>,
        is_now: bool,
    ) -> Result<Providers, SourceError> {
        let reports_health = feed.query.add(PROVIDERS_PATH).is_ok();
        let mut screen = Providers {
            feed,
            host,
            reports_health,
            is_now,
            providers: Vec::new(),
            times: CollectTimes::default(),
            reading: None,
            chosen,
            unconfirmed: None,
            rows: Vec::new(),
        };
        screen.begin()?;
        Ok(screen)
    }

    /// Shows how long the collections in a log took; reads it for that on a thread unless it is known.
    fn show_times(&mut self, log: Log, known: &ProviderTimes) {
        if !self.reports_health {
            return;
        }
        match known.of(&log) {
            Some(times) => {
                times.fill(&mut self.providers);
                self.times = times;
            }
            // Without a thread there are no percentiles, and everything else.
            None => self.reading = known.read(log, self.feed.query.names().locale()).ok(),
        }
    }

    /// Takes the providers of the newest sample.
    fn show(&mut self) {
        self.providers = providers(&self.feed.query);
        if self.feed.listener.is_some() {
            self.times.note(&mut self.providers);
        } else {
            self.times.fill(&mut self.providers);
        }
    }

    /// Requests the first sample; a log has it at once.
    fn begin(&mut self) -> Result<(), SourceError> {
        if !self.reports_health {
            self.providers = objects(&self.feed.query);
        } else if self.feed.begin()? {
            self.show();
        }
        self.choose_one();
        Ok(())
    }

    /// Shows the state of the providers: now, or at the time of the log.
    fn take(&mut self, sample: Option<&Sample>) -> Result<(), SourceError> {
        if self.reports_health && self.feed.take(sample)? {
            self.show();
            self.choose_one();
        }
        Ok(())
    }

    fn choose_one(&mut self) {
        // Without a choice the first one is chosen.
        self.chosen = self.chosen.take().or_else(|| self.providers.first().map(|row| row.name.clone()));
    }

    fn at(&self) -> usize {
        self.providers.iter().position(|row| Some(&row.name) == self.chosen.as_ref()).unwrap_or(0)
    }

    fn choose(&mut self, at: usize) {
        self.chosen = self.providers.get(at).map(|row| row.name.clone());
        self.unconfirmed = None;
    }

    fn drawn(&mut self, buffer: &mut Buffer, area: Rect, words: Words, theme: Theme) {
        let title = format!("{}: {} ({})", words.get(Word::Providers), self.host, self.providers.len());
        let inside = screen_frame(
            buffer,
            area,
            &title,
            &footer(Context::Providers, words, theme.glyphs == Glyphs::Ascii),
            theme,
        );
        let mut columns = vec![
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
        if inside.width >= WITH_PERCENTILES {
            columns.extend(["p50", "p99"].map(|title| Column { title, least: 7, right: true }));
        }
        let cells: Vec<Vec<Cell>> = self.providers.iter().map(|row| cells(row, words, theme)).collect();
        let at = self.at();
        let mut texts: Vec<Cell> = Vec::new();
        if !self.reports_health {
            texts.push((words.get(Word::NoProviderData).to_string(), theme.warning()));
        } else if self.feed.query.snapshot().is_none() {
            let reading = format!("{}{}", words.get(Word::ReadingValues), theme.either("…", "..."));
            texts.push((reading, theme.dim()));
        }
        if let Some(row) = self.providers.get(at) {
            texts.extend(self.unconfirmed.zip(row.service()).map(|(enabled, service)| {
                let word = if enabled { Word::Enable } else { Word::Disable };
                (format!("{}: {service}? y n", words.get(word)), theme.bold())
            }));
            texts.extend(details(row, self.is_now, words, theme));
        }
        self.rows = list::draw(buffer, inside, theme, &columns, &cells, at, &texts);
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
        (row.median.map_or_else(dash, format::seconds), theme.plain()),
        (row.p99.map_or_else(dash, format::seconds), theme.plain()),
    ]
}

/// Languages, as `en ko`.
fn tags(languages: &[Language]) -> String {
    languages.iter().map(|language| tag_of(*language)).collect::<Vec<_>>().join(" ")
}

/// A count.
fn whole(words: Words, count: f64) -> String {
    words.numbers().number_of(count, CounterType::PERF_COUNTER_LARGE_RAWCOUNT)
}

/// All data of the chosen provider: a narrow screen has no columns for it.
fn details(row: &Provider, is_now: bool, words: Words, theme: Theme) -> Vec<Cell> {
    let health = row.health.unwrap_or_default();
    let remedy = match row.kind {
        ProviderKind::BuiltIn if is_now => health.remedy(&row.reason),
        _ => "",
    };
    let percentile = |name: &str, seconds: Option<f64>| {
        Some(format!("{name} {} ({})", format::seconds(seconds?), whole(words, row.times as f64)))
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
    .chain([percentile("p50", row.median), percentile("p99", row.p99)].into_iter().flatten())
    .chain(row.languages.as_deref().map(tags))
    .filter(|text| !text.is_empty())
    .collect();
    let between = theme.either(" · ", " . ");
    vec![
        (row.title.clone(), theme.bold()),
        (row.reason.clone(), theme.warning()),
        (remedy.to_string(), theme.plain()),
        (numbers.join(between), theme.dim()),
    ]
}

impl Providers {
    /// Opens the screen at the first failing provider, or at the provider of the chosen counter.
    ///
    /// # Errors
    ///
    /// The log cannot be read.
    pub(crate) fn open(workspace: &mut Workspace, of_chosen: bool) -> Result<Providers, SourceError> {
        let host = workspace.chosen_host();
        let name = workspace.hosts().into_iter().nth(host).unwrap_or_default();
        let is_now = workspace.replay.is_none();
        let chosen = if of_chosen { chosen_provider(workspace, host) } else { None };
        let log = workspace.log().and_then(|log| log.of_host(&name).or_else(|| Some(log.clone())));
        let known = workspace.replay.as_ref().map(|replay| replay.provider_times.clone());
        let mut screen = workspace.feed(host).and_then(|feed| Providers::over(feed, name, chosen, is_now))?;
        if let Some((log, known)) = log.zip(known) {
            screen.show_times(log, &known);
        }
        Ok(screen)
    }
}

/// Name of the provider of the chosen counter.
fn chosen_provider(workspace: &Workspace, host: usize) -> Option<String> {
    let object = workspace.monitor.chosen()?.object;
    let installed = registry(workspace).map(|roots| Installed::read_what_is_whole(roots).0);
    let service = installed.as_ref().and_then(|installed| {
        let (_, service) = installed.services().find(|(_, service)| service.object_list.contains(&object))?;
        Some(format!("service {}", service.name))
    });
    Some(service.unwrap_or_else(|| workspace.query_of(host).names().english(object)))
}

/// The registries of this machine; `None` when a log or another machine is shown.
fn registry(workspace: &Workspace) -> Option<&tallymon::registry::Roots> {
    workspace.options.registry.as_ref().filter(|_| workspace.replay.is_none())
}

/// Enables or disables a library from the next sample on.
fn enable(workspace: &mut Workspace, service: &str, enabled: bool) {
    let Some(roots) = registry(workspace).cloned() else { return };
    let service = service.to_string();
    let state = workspace.words.get(if enabled { Word::Enabled } else { Word::Disabled });
    workspace.begin_job(move || {
        let writer = Writer::of_service(&roots, None, &service).map_err(|error| error.to_string())?;
        writer.set_enabled(&service, enabled).map_err(|error| error.to_string())?;
        Ok(Done::Said(format!("{service}: {state}")))
    });
}

impl Screen for Providers {
    fn layer(&self) -> Layer {
        Layer::Dialog
    }

    fn key(&mut self, key: KeyEvent, workspace: &mut Workspace) -> Action {
        let wanted = self.unconfirmed.take();
        let service = self.providers.get(self.at()).and_then(Provider::service).map(str::to_string);
        match command(Context::Providers, key) {
            Some(Command::Close) => return Action::Close,
            Some(Command::Yes) => {
                if let Some((service, enabled)) = service.zip(wanted) {
                    enable(workspace, &service, enabled);
                }
            }
            Some(Command::Cancel) if wanted.is_none() => return Action::Close,
            Some(switch @ (Command::Enable | Command::Disable)) => match (service, registry(workspace)) {
                (Some(_), Some(_)) => self.unconfirmed = Some(switch == Command::Enable),
                (Some(_), None) => {
                    workspace.message = Some(workspace.words.get(Word::NotHere).to_string());
                }
                (None, _) => workspace.message = Some(workspace.words.get(Word::OnlyLibraries).to_string()),
            },
            Some(other) => {
                if let Some(at) = moved(other, self.at(), self.providers.len()) {
                    self.choose(at);
                }
            }
            None => {}
        }
        Action::Done
    }

    /// A click chooses a line, and the wheel goes through the lines.
    fn mouse(&mut self, event: MouseEvent, _workspace: &mut Workspace) -> Action {
        match event.kind {
            MouseEventKind::Down(MouseButton::Left) => {
                if let Some(at) = list::line_at(&self.rows, event.row) {
                    self.choose(at);
                }
            }
            MouseEventKind::ScrollUp => self.choose(self.at().saturating_sub(3)),
            MouseEventKind::ScrollDown => {
                self.choose(self.at().saturating_add(3).min(self.providers.len().saturating_sub(1)));
            }
            _ => {}
        }
        Action::Done
    }

    fn sample(&mut self, tick: &Tick<'_>) -> Result<(), SourceError> {
        self.take(tick.sample)
    }

    fn awaits_sample(&self) -> bool {
        self.feed.is_priming()
    }

    fn poll(&mut self, patience: Duration) -> bool {
        let Some(answer) = self.reading.as_ref().and_then(|reading| reading.wait(patience)) else {
            return false;
        };
        self.reading = None;
        // A log that cannot be read says so when it is shown at another time.
        self.times = answer.ok().and_then(Result::ok).unwrap_or_default();
        self.times.fill(&mut self.providers);
        true
    }

    fn is_waiting(&self) -> bool {
        self.reading.is_some()
    }

    fn draw(&mut self, buffer: &mut Buffer, area: Rect, workspace: &mut Workspace) {
        self.drawn(buffer, area, workspace.words, workspace.theme);
    }
}
