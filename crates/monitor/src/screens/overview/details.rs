//! The details of a process: its past, memory, threads, files, sockets, limits, control group.

use std::sync::Arc;
use std::time::Duration;

use crossterm::event::KeyEvent;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use tallymon::human;
use tallymon::process::{ProcessDetails, ProcessId, Processes};

use crate::keys::binding::{Command, Context, Label};
use crate::keys::lookup::{command, moved};
use crate::model::overview::{Limits, PROCESS_OBJECT, ProcessMetric, ProcessRow};
use crate::screens::overview::bars::{self, Scale};
use crate::screens::overview::lines::id_of;
use crate::screens::overview::processes::visible;
use crate::screens::overview::words;
use crate::screens::screen::{Action, Layer, Opens, Screen};
use crate::term::frame::frame;
use crate::term::task::Task;
use crate::term::text::{cut, put, width, wrap};
use crate::words::{Word, Words};
use crate::workspace::state::Workspace;

const PAGES: [Label; 5] = [
    ["process", "프로세스", "プロセス", "процесс"],
    ["threads", "스레드", "スレッド", "потоки"],
    ["files", "파일", "ファイル", "файлы"],
    ["sockets", "소켓", "ソケット", "сокеты"],
    ["limits", "한도", "制限", "пределы"],
];
const PAST: Label = ["the past, where it is kept", "보관된 기록", "保存された過去", "прошлое, где сохранено"];
const PARENT: Label = ["parent", "부모", "親", "родитель"];
const STATE: Label = ["state", "상태", "状態", "состояние"];
const GROUP: Label = ["control group", "제어 그룹", "コントロールグループ", "контрольная группа"];
const SERVICE: Label =
    ["service or container", "서비스 또는 컨테이너", "サービスまたはコンテナー", "служба или контейнер"];
const NOT_HERE: Label = [
    "details are read from this machine only",
    "정보는 이 컴퓨터에서만 읽습니다",
    "詳細はこのコンピューターでのみ読めます",
    "сведения читаются только на этой машине",
];
/// Points of its past.
const POINTS: usize = 60;

/// The details of one process.
pub(crate) struct ProcessScreen {
    row: ProcessRow,
    reader: Option<(Arc<dyn Processes>, ProcessId)>,
    requested: Option<Task<Result<ProcessDetails, String>>>,
    details: Option<Result<ProcessDetails, String>>,
    page: usize,
    at: usize,
}

impl ProcessScreen {
    /// The details of the chosen process.
    pub(crate) fn open(workspace: &Workspace) -> Option<ProcessScreen> {
        let row = workspace.process.clone()?;
        let reader = workspace.options.processes.clone().filter(|_| workspace.replay.is_none());
        let mut screen = ProcessScreen {
            reader: reader.zip(id_of(&row)),
            row,
            requested: None,
            details: None,
            page: 0,
            at: 0,
        };
        screen.refresh();
        Some(screen)
    }

    /// The lines of the page: a name and a text.
    fn lines(&self, words: Words) -> Vec<(String, String)> {
        let details = match &self.details {
            Some(Ok(details)) => details,
            Some(Err(why)) => return vec![(String::new(), why.clone())],
            None if self.reader.is_none() => {
                return vec![(String::new(), words.pick(&NOT_HERE).to_string())];
            }
            None => return vec![(String::new(), words.get(Word::ReadingValues).to_string())],
        };
        match self.page {
            0 => process_lines(details, words),
            1 => details
                .threads
                .iter()
                .map(|thread| {
                    let time = human::long_time(thread.time as f64 / 1e7);
                    (thread.id.to_string(), format!("{} {}  {time}", thread.state, visible(&thread.name)))
                })
                .collect(),
            2 | 3 => match &details.files {
                Ok(files) => files
                    .iter()
                    .filter(|file| file.is_socket == (self.page == 3))
                    .map(|file| (file.number.to_string(), visible(&file.target)))
                    .collect(),
                Err(why) => vec![(String::new(), why.clone())],
            },
            _ => {
                let limits = details.limits.iter();
                let limits = limits.map(|[name, soft, hard]| (name.clone(), format!("{soft} / {hard}")));
                let group = details.group_limits.iter();
                let group = group.map(|(name, value)| ((*name).to_string(), value.clone()));
                group.chain(limits).collect()
            }
        }
    }
}

fn process_lines(details: &ProcessDetails, words: Words) -> Vec<(String, String)> {
    let mut lines = vec![
        (words.pick(&words::USER_COLUMN).to_string(), details.facts.user.clone()),
        (words.pick(&words::COMMAND_COLUMN).to_string(), visible(&details.facts.command)),
    ];
    if let Some(unit) = &details.facts.unit {
        lines.push((words.pick(&SERVICE).to_string(), visible(unit)));
    }
    lines.push((words.pick(&PARENT).to_string(), details.parent.to_string()));
    lines.push((words.pick(&STATE).to_string(), format!("{}, nice {}", details.state, details.nice)));
    for (name, place) in &details.places {
        lines.push(((*name).to_string(), visible(place)));
    }
    for (name, bytes) in &details.memory {
        lines.push(((*name).to_string(), human::bytes(*bytes as f64)));
    }
    lines.push((words.pick(&GROUP).to_string(), visible(&details.group)));
    lines
}

impl Screen for ProcessScreen {
    fn layer(&self) -> Layer {
        Layer::Dialog
    }

    fn key(&mut self, key: KeyEvent, workspace: &mut Workspace) -> Action {
        match command(Context::Process, key) {
            Some(Command::Close | Command::Cancel) => return Action::Close,
            Some(Command::NextPane) => {
                (self.page, self.at) = (self.page.saturating_add(1).checked_rem(PAGES.len()).unwrap_or(0), 0);
            }
            Some(Command::PreviousPane) => {
                let last = PAGES.len().saturating_sub(1);
                (self.page, self.at) = (self.page.checked_sub(1).unwrap_or(last), 0);
            }
            Some(Command::ShowInChart) => {
                let host = workspace.overview.as_ref().map_or(0, |state| state.host);
                let names = workspace.query_of(host).names();
                let object = names.english(PROCESS_OBJECT);
                let counter = names.english(tallymon::core::title::TitleIndex(6));
                let path = format!("\\{object}({})\\{counter}", self.row.name);
                workspace.chart_of_overview(&path);
                return Action::Close;
            }
            Some(Command::Act) => {
                workspace.process = Some(self.row.clone());
                return Action::Open(Opens::Act);
            }
            Some(other) => {
                let count = self.lines(workspace.words).len();
                if let Some(at) = moved(other, self.at, count) {
                    self.at = at;
                }
            }
            None => {}
        }
        Action::Done
    }

    fn refresh(&mut self) {
        if let Some((reader, process)) = self.reader.clone().filter(|_| self.requested.is_none()) {
            self.requested = Task::begin(move || reader.details(process)).ok();
        }
    }

    fn poll(&mut self, patience: Duration) -> bool {
        let Some(answer) = self.requested.as_ref().and_then(|task| task.wait(patience)) else { return false };
        self.requested = None;
        self.details = Some(answer.unwrap_or_else(|why| Err(why.to_string())));
        true
    }

    fn is_waiting(&self) -> bool {
        self.requested.is_some()
    }

    fn footer(&self) -> Option<Context> {
        Some(Context::Process)
    }

    fn draw(&mut self, buffer: &mut Buffer, area: Rect, workspace: &mut Workspace) {
        let (words, theme) = (workspace.words, workspace.theme);
        let id = self.row.id.map(|id| format!(" ({id})")).unwrap_or_default();
        let title = format!("{}{id}", visible(&self.row.name));
        let wanted = (area.width.saturating_sub(4).min(110), area.height.saturating_sub(3).min(34));
        let inside = frame(buffer, area, wanted, &cut(&title, 60), words.get(Word::EscapeCloses), theme);
        let mut body =
            Rect { x: inside.x.saturating_add(1), width: inside.width.saturating_sub(2), ..inside };
        self.draw_past(buffer, &mut body, workspace);
        let mut x = body.x;
        for (nth, page) in PAGES.iter().enumerate() {
            let style = if nth == self.page { theme.selected() } else { theme.dim() };
            let left = body.right().saturating_sub(x);
            x = put(buffer, x, body.y, left, &format!(" {} ", words.pick(page)), style).saturating_add(1);
        }
        body = Rect { y: body.y.saturating_add(1), height: body.height.saturating_sub(1), ..body };
        let lines = self.lines(words);
        let names = lines.iter().map(|(name, _)| width(name)).max().unwrap_or(0).min(body.width / 3);
        // The list begins at the line that the keys moved to.
        let mut rows = body.rows();
        'lines: for (name, text) in lines.iter().skip(self.at) {
            let gap = if names > 0 { names.saturating_add(2) } else { 0 };
            let room = body.width.saturating_sub(gap);
            for (nth, part) in wrap(text, room.max(2)).iter().take(6).enumerate() {
                let Some(row) = rows.next() else { break 'lines };
                if nth == 0 {
                    put(buffer, row.x, row.y, names, &cut(name, names), theme.dim());
                }
                put(buffer, row.x.saturating_add(gap), row.y, room, part, theme.plain());
            }
        }
    }
}

impl ProcessScreen {
    /// Its processor time and memory in the seconds that are kept, up to the shown one.
    fn draw_past(&self, buffer: &mut Buffer, body: &mut Rect, workspace: &Workspace) {
        let theme = workspace.theme;
        let time = workspace.overview_time();
        let state = workspace.overview.as_ref();
        let known = state.zip(time).zip(self.row.identity());
        let Some(((state, time), who)) = known.filter(|_| body.height > 8) else { return };
        let past = |metric| state.model.processes.of(who, metric, time, POINTS);
        let memory = past(ProcessMetric::Memory);
        let processor = past(ProcessMetric::Processor);
        let most = bars::round_most([&memory[..]].into_iter(), 1_048_576.0);
        let busy = bars::round_most([&processor[..]].into_iter(), 100.0);
        let now = |numbers: &[f32]| numbers.last().copied().filter(|number| number.is_finite());
        let rows = [
            (
                words::heading(ProcessMetric::Processor),
                now(&processor).map(|one| format!("{one:.1}")),
                processor,
                Scale { most: busy, limits: Some(Limits::BUSY) },
            ),
            (
                words::heading(ProcessMetric::Memory),
                now(&memory).map(|one| human::bytes(f64::from(one))),
                memory,
                Scale { most, limits: None },
            ),
        ];
        for (row, (label, text, numbers, scale)) in body.rows().zip(rows) {
            put(buffer, row.x, row.y, 8, workspace.words.pick(&label), theme.dim());
            let text = text.unwrap_or_else(|| theme.either("–", "-").to_string());
            put(buffer, row.x.saturating_add(9), row.y, 10, &text, theme.plain());
            let x = row.x.saturating_add(20);
            let left = row.right().saturating_sub(x).min(60);
            bars::history(buffer, (x, row.y), left, &numbers, scale, theme);
        }
        let row = Rect { y: body.y.saturating_add(2), height: 1, ..*body };
        put(buffer, row.x, row.y, row.width, workspace.words.pick(&PAST), theme.dim());
        *body = Rect { y: body.y.saturating_add(3), height: body.height.saturating_sub(3), ..*body };
    }
}
