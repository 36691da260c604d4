//! What keys do in a table of instances, and how one is opened.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use tallymon::core::title::TitleIndex;

use crate::app::{App, Overlay, Prompt, View};
use crate::model::{PROCESS, Ticks};
use crate::screens::table::Table;
use crate::term::text::width;
use crate::words::Word;

/// Keys that mean something else in a table; `true` when it was one.
pub(crate) fn key(app: &mut App, key: KeyEvent) -> bool {
    if key.modifiers.contains(KeyModifiers::CONTROL) {
        return false;
    }
    if key.code == KeyCode::Char(' ') {
        tick_chosen(app);
        return true;
    }
    let Some(table) = &mut app.table else { return false };
    match key.code {
        KeyCode::Down | KeyCode::Char('j') => table.move_row(1),
        KeyCode::Up | KeyCode::Char('k') => table.move_row(-1),
        KeyCode::PageDown => table.move_row(20),
        KeyCode::PageUp => table.move_row(-20),
        KeyCode::Home => table.move_row(isize::MIN),
        KeyCode::End => table.move_row(isize::MAX),
        KeyCode::Left | KeyCode::Char('h') => table.move_column(-1),
        KeyCode::Right | KeyCode::Char('l') => table.move_column(1),
        KeyCode::Char('i') => table.reverse(),
        KeyCode::Char('H') if !table.toggle_tree() => {
            app.message = Some(app.words.get(Word::NoParents).to_string());
        }
        KeyCode::Char('H') => {}
        KeyCode::Char('n' | 'N') => {
            if let Some(object) = table.other_object(key.code == KeyCode::Char('n')) {
                let host = table.host;
                open_table(app, host, object, None);
            }
        }
        KeyCode::Char('/') => app.overlay = Overlay::Prompt(Prompt::Filter, table.filter().to_string()),
        KeyCode::Enter => chart_chosen(app),
        KeyCode::Char('g' | 'A' | 'G' | 'b' | 'r' | 'v') | KeyCode::Esc => {
            // Nobody looks at its values any more, so they are no longer collected.
            app.table = None;
            app.view = View::Graph;
            return key.code == KeyCode::Esc;
        }
        _ => return false,
    }
    true
}

/// Puts the sorted column of the chosen instance of the table into the chart.
pub(crate) fn chart_chosen(app: &mut App) {
    let chosen = app.table.as_ref().and_then(|table| Some((table.host, table.chosen_path()?)));
    if let Some((host, path)) = chosen {
        let path = app.prefix(host) + &path;
        app.add_and_choose(&path);
    }
}

/// The table of the chosen counter's object, else of the processes.
pub(crate) fn open(app: &mut App) {
    let host = app.chosen_host();
    let chosen = app.monitor.chosen().filter(|series| series.instance.is_some());
    match chosen.map(|series| (series.object, series.counter)) {
        Some((object, counter)) => open_table(app, host, object, Some(counter)),
        None => {
            let objects = app.query_of(host).catalog().objects();
            let any = objects.iter().find(|object| object.has_instances).map(|object| object.name);
            if let Some(object) = app.query_of(host).catalog().object(PROCESS).map(|known| known.name).or(any)
            {
                open_table(app, host, object, None);
            }
        }
    }
}

fn open_table(app: &mut App, host: usize, object: TitleIndex, counter: Option<TitleIndex>) {
    match app.open_host(host).and_then(|query| Table::open(query, host, object, counter)) {
        Ok(Some(mut table)) => {
            table.ticks.clone_from(&app.monitor.ticks);
            table.host_name = host_name(app, host);
            app.table = Some(table);
            app.view = View::Table;
        }
        Ok(None) => {}
        Err(error) => app.message = Some(error.to_string()),
    }
}

/// The name that ticks have of a host; none for the first.
fn host_name(app: &App, host: usize) -> Option<String> {
    app.prefix(host).strip_prefix("\\\\").map(str::to_string)
}

/// Ticks the chosen instance of the table, or no longer.
pub(crate) fn tick_chosen(app: &mut App) {
    let Some(tick) = app.table.as_ref().and_then(Table::chosen_tick) else { return };
    let mut ticks = app.monitor.ticks.clone();
    ticks.toggle(tick);
    app.tick(ticks);
}

impl App {
    /// Shows only what is of these instances; everything when there are none.
    pub(crate) fn tick(&mut self, ticks: Ticks) {
        if let Some(table) = &mut self.table {
            table.ticks.clone_from(&ticks);
        }
        self.monitor.ticks = ticks;
        if !self.passes(self.monitor.selected())
            && let Some(first) = self.lines().first()
        {
            self.monitor.select(*first);
        }
    }

    /// Names of those that are ticked, or how many there are when the names need more columns than these.
    pub(crate) fn ticked_title(&self, columns: u16) -> Option<String> {
        let names = self.monitor.ticks.names();
        let joined = names.join(", ");
        let text = if width(&joined) > columns { names.len().to_string() } else { joined };
        (!names.is_empty()).then(|| format!("{} {text}", self.theme.either("✓", "+")))
    }
}
