//! The form of a new session: what it records, and what it does at an alert.

use std::sync::Arc;
use std::time::Duration;

use crossterm::event::KeyEvent;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use crate::keys::binding::{Command, Context, Label};
use crate::keys::lookup::{command, typed};
use crate::keys::show::footer;
use crate::sessions::{NewSession, Sessions};
use crate::term::chart::Glyphs;
use crate::term::frame::screen_frame;
use crate::term::task::Task;
use crate::term::text::{cut, put, width, wrap};
use crate::workspace::state::Workspace;

/// A field of the form.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Field {
    Name,
    Counters,
    Interval,
    Format,
    Folder,
    Duration,
    Limit,
    After,
    Event,
    Start,
    Run,
    Webhook,
}

/// The fields in their order, with their labels and what to write.
const FIELDS: [(Field, Label, Label); 12] = [
    (
        Field::Name,
        ["Name", "이름", "名前", "Имя"],
        [
            "the names of its logs begin with it",
            "로그 이름의 앞부분이 됩니다",
            "ログの名前の先頭になります",
            "с него начинаются имена журналов",
        ],
    ),
    (
        Field::Counters,
        ["Counters", "카운터", "カウンター", "Счётчики"],
        [
            "paths with ; between them; * for all objects; empty to watch the threshold only",
            "경로를 ;로 구분, *는 모든 개체, 비우면 임계값만 감시",
            "パスを ; で区切る。* は全オブジェクト、空ならしきい値のみ",
            "пути через ;, * - все объекты, пусто - только следить за порогом",
        ],
    ),
    (
        Field::Interval,
        ["Every", "간격", "間隔", "Интервал"],
        ["such as 500ms, 15s, 2m", "예: 500ms, 15s, 2m", "例: 500ms、15s、2m", "например 500ms, 15s, 2m"],
    ),
    (
        Field::Format,
        ["Format", "형식", "形式", "Формат"],
        [
            "tally, blg, csv, tsv, json, sqlite or parquet",
            "tally, blg, csv, tsv, json, sqlite, parquet 중 하나",
            "tally、blg、csv、tsv、json、sqlite、parquet のどれか",
            "tally, blg, csv, tsv, json, sqlite или parquet",
        ],
    ),
    (
        Field::Folder,
        ["Folder", "폴더", "フォルダー", "Папка"],
        ["empty: the usual one", "비우면 보통 폴더", "空なら通常のフォルダー", "пусто - обычная"],
    ),
    (
        Field::Duration,
        ["Ends after", "종료", "終了", "Длится"],
        [
            "such as 10m, 8h; empty: until it is stopped",
            "예: 10m, 8h. 비우면 중지할 때까지",
            "例: 10m、8h。空なら停止するまで",
            "например 10m, 8h; пусто - до остановки",
        ],
    ),
    (
        Field::Limit,
        ["Alert", "경고", "アラート", "Тревога"],
        [
            r"such as \Processor(_Total)\% Processor Time > 90; empty for none",
            r"예: \Processor(_Total)\% Processor Time > 90. 비우면 없음",
            r"例: \Processor(_Total)\% Processor Time > 90。空ならなし",
            r"например \Processor(_Total)\% Processor Time > 90; пусто - без неё",
        ],
    ),
    (
        Field::After,
        ["For", "지속", "継続", "Дольше"],
        [
            "the alert begins when values were over it this long, such as 30s",
            "값이 이만큼 넘었을 때 경고 시작, 예: 30s",
            "この間しきい値を越えたら始まる。例: 30s",
            "тревога начнётся, если значения за порогом столько, например 30s",
        ],
    ),
    (
        Field::Event,
        ["Event", "이벤트", "イベント", "Событие"],
        [
            "Space: write an event at an alert; 'tally events' shows it",
            "스페이스: 경고 때 이벤트 기록, 'tally events'로 봅니다",
            "スペース: アラートでイベントを書く。'tally events' で見ます",
            "пробел: записать событие при тревоге, его покажет 'tally events'",
        ],
    ),
    (
        Field::Start,
        ["Starts", "세션 시작", "セッション開始", "Начнёт"],
        [
            "a session to start when an alert begins",
            "경고가 시작되면 시작할 세션",
            "アラートの始まりに開始するセッション",
            "какой сеанс начать при тревоге",
        ],
    ),
    (
        Field::Run,
        ["Runs", "실행", "実行", "Запустит"],
        [
            "a command line to run when an alert begins or ends",
            "경고가 시작되거나 끝날 때 실행할 명령",
            "アラートの始まりと終わりに実行するコマンド",
            "какую команду запустить в начале и в конце тревоги",
        ],
    ),
    (
        Field::Webhook,
        ["Webhook", "웹후크", "Webhook", "Webhook"],
        [
            "an address to post JSON to when an alert begins or ends: https://…, or @ and a file with it",
            "경고가 시작되거나 끝날 때 JSON을 보낼 주소: https://…, 또는 @와 주소가 든 파일",
            "アラートの始まりと終わりに JSON を送るアドレス: https://… か、@ とそのファイル",
            "куда послать JSON в начале и в конце тревоги: https://… или @ и файл с адресом",
        ],
    ),
];

const TITLE: Label = ["New recording session", "새 기록 세션", "新しい記録セッション", "Новый сеанс записи"];
const STARTS: Label = ["is being started", "시작하는 중", "開始中", "запускается"];

/// A field that begins an event with this text is ticked.
const TICK: &str = "x";

/// What the form wants after a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Outcome {
    /// Stay open.
    Stay,
    /// Close without a session.
    Close,
}

/// The form.
pub(super) struct Form {
    texts: [String; FIELDS.len()],
    at: usize,
    /// The counters to begin with. An instance may have a `;` in its name, so a text that nobody changed is
    /// not split.
    counters: Vec<String>,
    /// The session is being made.
    task: Option<Task<Result<String, String>>>,
    /// Why it could not be made.
    failure: Option<String>,
}

impl Form {
    /// A form with these counters; with a limit it is about an alert, which writes an event.
    pub(super) fn new(counters: Vec<String>, limit: Option<String>) -> Form {
        let mut form = Form { texts: Default::default(), at: 0, counters, task: None, failure: None };
        form.set(Field::Counters, form.counters.join("; "));
        form.set(Field::Interval, "15s".to_string());
        form.set(Field::Format, "tally".to_string());
        if let Some(limit) = limit {
            form.set(Field::Limit, limit);
            form.set(Field::Event, TICK.to_string());
        }
        form
    }

    fn text(&self, field: Field) -> &str {
        let at = FIELDS.iter().position(|(known, _, _)| *known == field);
        at.and_then(|at| self.texts.get(at)).map_or("", |text| text.trim())
    }

    fn set(&mut self, field: Field, text: String) {
        let at = FIELDS.iter().position(|(known, _, _)| *known == field);
        if let Some(place) = at.and_then(|at| self.texts.get_mut(at)) {
            *place = text;
        }
    }

    fn field(&self) -> Field {
        FIELDS.get(self.at).map_or(Field::Name, |(field, _, _)| *field)
    }

    /// What the fields say.
    fn wanted(&self) -> NewSession {
        let text = |field| self.text(field).to_string();
        let written = self.text(Field::Counters);
        let all_objects = written == "*";
        let counters = match written {
            "" | "*" => Vec::new(),
            same if same == self.counters.join("; ") => self.counters.clone(),
            other => {
                let paths = other.split(';').map(str::trim).filter(|path| !path.is_empty());
                paths.map(str::to_string).collect()
            }
        };
        NewSession {
            name: text(Field::Name),
            counters,
            all_objects,
            interval: text(Field::Interval),
            format: text(Field::Format),
            folder: text(Field::Folder),
            duration: text(Field::Duration),
            limit: text(Field::Limit),
            after: text(Field::After),
            event: !self.text(Field::Event).is_empty(),
            start: text(Field::Start),
            run: text(Field::Run),
            webhook: text(Field::Webhook),
            ..NewSession::default()
        }
    }

    pub(super) fn key(&mut self, key: KeyEvent, store: &Arc<dyn Sessions>) -> Outcome {
        if self.task.is_some() {
            // It is being made: nothing can be changed any more.
            return Outcome::Stay;
        }
        let last = FIELDS.len().saturating_sub(1);
        self.failure = None;
        match command(Context::Form, key) {
            Some(Command::Cancel | Command::Close) => return Outcome::Close,
            Some(Command::Previous) => self.at = self.at.checked_sub(1).unwrap_or(last),
            Some(Command::Next) => self.at = if self.at >= last { 0 } else { self.at.saturating_add(1) },
            Some(Command::DeleteLetter) => {
                if let Some(text) = self.texts.get_mut(self.at) {
                    text.pop();
                }
            }
            Some(Command::ClearText) => {
                if let Some(text) = self.texts.get_mut(self.at) {
                    text.clear();
                }
            }
            Some(Command::Accept) => self.make(store),
            Some(_) => {}
            None => {
                if let Some(letter) = typed(key) {
                    self.type_in(&letter.to_string());
                }
            }
        }
        Outcome::Stay
    }

    /// Adds text to the field; any text ticks a field that is a choice, or takes its tick away.
    pub(super) fn type_in(&mut self, typed: &str) {
        let is_choice = self.field() == Field::Event;
        let Some(text) = self.texts.get_mut(self.at) else { return };
        if !is_choice {
            text.push_str(typed.lines().next().unwrap_or_default());
        } else if text.is_empty() {
            *text = TICK.to_string();
        } else {
            text.clear();
        }
    }

    fn make(&mut self, store: &Arc<dyn Sessions>) {
        let (store, wanted) = (Arc::clone(store), self.wanted());
        match Task::begin(move || store.create(&wanted)) {
            Ok(task) => self.task = Some(task),
            Err(error) => self.failure = Some(error.to_string()),
        }
    }

    pub(super) const fn is_waiting(&self) -> bool {
        self.task.is_some()
    }

    /// Whether the session was made, if that is known within a time: its name and the message.
    pub(super) fn poll(&mut self, patience: Duration) -> Option<Result<(String, String), ()>> {
        let answer = self.task.as_ref().and_then(|task| task.wait(patience))?;
        self.task = None;
        match answer.unwrap_or_else(|words| Err(words.to_string())) {
            Ok(words) => Some(Ok((self.text(Field::Name).to_string(), words))),
            Err(words) => {
                self.failure = Some(words);
                Some(Err(()))
            }
        }
    }

    pub(super) fn draw(&self, buffer: &mut Buffer, area: Rect, workspace: &Workspace) {
        let (words, theme) = (workspace.words, workspace.theme);
        let below = footer(Context::Form, words, theme.glyphs == Glyphs::Ascii);
        let inside = screen_frame(buffer, area, words.pick(&TITLE), &below, theme);
        let hint = FIELDS.get(self.at).map_or("", |(_, _, hint)| words.pick(hint));
        let (note, style) = match (&self.failure, &self.task) {
            (Some(failure), _) => (failure.as_str(), theme.bad()),
            (_, Some(_)) => (words.pick(&STARTS), theme.warning()),
            _ => (hint, theme.dim()),
        };
        let notes = wrap(note, inside.width);
        let most = inside.height / 2;
        let rows = u16::try_from(notes.len()).unwrap_or(most).min(most);
        let fields = inside.height.saturating_sub(rows).saturating_sub(1);
        // The chosen field is in view.
        let skip = self.at.saturating_add(1).saturating_sub(usize::from(fields));
        let title = FIELDS.iter().map(|(_, label, _)| width(words.pick(label))).max().unwrap_or(0);
        let lines = inside.rows().take(usize::from(fields));
        for (line, (nth, (field, label, _))) in lines.zip(FIELDS.iter().enumerate().skip(skip)) {
            let is_chosen = nth == self.at;
            let label_style = if is_chosen { theme.bold() } else { theme.plain() };
            put(buffer, line.x, line.y, title, words.pick(label), label_style);
            let x = line.x.saturating_add(title).saturating_add(2);
            let room = line.right().saturating_sub(x).saturating_sub(1);
            let text = self.texts.get(nth).map_or("", String::as_str);
            let shown = match field {
                Field::Event if text.is_empty() => "[ ]".to_string(),
                Field::Event => "[x]".to_string(),
                _ if is_chosen => end_of(text, room).to_string(),
                _ => cut(text, room),
            };
            let end = put(buffer, x, line.y, room, &shown, theme.plain());
            if is_chosen {
                put(buffer, end, line.y, 1, " ", theme.selected());
            }
        }
        let first = inside.bottom().saturating_sub(rows);
        for (y, text) in (first..inside.bottom()).zip(notes) {
            put(buffer, inside.x, y, inside.width, &text, style);
        }
    }
}

/// The end of a long text, where the user types.
fn end_of(text: &str, columns: u16) -> &str {
    let mut shown = text;
    while width(shown) > columns {
        let mut letters = shown.chars();
        letters.next();
        shown = letters.as_str();
    }
    shown
}
