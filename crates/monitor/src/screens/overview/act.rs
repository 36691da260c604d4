//! What to do to a process: end it, stop it, give it another nice value; each after a question.

use std::sync::Arc;

use crossterm::event::KeyEvent;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use tallymon::process::{ProcessAction, ProcessId, Processes};

use crate::keys::binding::{Command, Context, Label};
use crate::keys::lookup::{command, moved};
use crate::screens::overview::lines::id_of;
use crate::screens::overview::processes::visible;
use crate::screens::screen::{Action, Layer, Screen};
use crate::term::frame::frame;
use crate::term::text::{cut, put};
use crate::words::Word;
use crate::workspace::state::{Done, Workspace};

const TITLE: Label = ["What to do", "작업", "操作", "Что сделать"];
const CHOICES: [(ProcessAction, Label); 7] = [
    (
        ProcessAction::End,
        [
            "ask it to end (SIGTERM)",
            "종료 요청 (SIGTERM)",
            "終了を求める (SIGTERM)",
            "попросить завершиться (SIGTERM)",
        ],
    ),
    (
        ProcessAction::Kill,
        [
            "end it at once (SIGKILL)",
            "강제 종료 (SIGKILL)",
            "強制終了 (SIGKILL)",
            "завершить сразу (SIGKILL)",
        ],
    ),
    (
        ProcessAction::Stop,
        ["stop it (SIGSTOP)", "일시 중지 (SIGSTOP)", "停止 (SIGSTOP)", "остановить (SIGSTOP)"],
    ),
    (
        ProcessAction::Continue,
        ["continue it (SIGCONT)", "계속 (SIGCONT)", "再開 (SIGCONT)", "продолжить (SIGCONT)"],
    ),
    (
        ProcessAction::Nice(10),
        [
            "less of the processors (nice 10)",
            "우선순위 낮춤 (nice 10)",
            "優先度を下げる (nice 10)",
            "меньше процессора (nice 10)",
        ],
    ),
    (
        ProcessAction::Nice(0),
        [
            "normal priority (nice 0)",
            "보통 우선순위 (nice 0)",
            "通常の優先度 (nice 0)",
            "обычный приоритет (nice 0)",
        ],
    ),
    (
        ProcessAction::Nice(-10),
        [
            "more of the processors (nice -10)",
            "우선순위 높임 (nice -10)",
            "優先度を上げる (nice -10)",
            "больше процессора (nice -10)",
        ],
    ),
];
const SURE: Label = ["y: do it, n: do not", "y: 실행, n: 취소", "y: 実行、n: 取消", "y: выполнить, n: нет"];
const DONE: Label = ["done", "완료", "完了", "сделано"];
const NOT_THIS_MACHINE: Label = [
    "only processes of this machine can be changed",
    "이 컴퓨터의 프로세스만 변경할 수 있습니다",
    "このコンピューターのプロセスだけを変更できます",
    "изменить можно только процессы этой машины",
];

/// The list of actions for one process.
pub(crate) struct ActScreen {
    reader: Arc<dyn Processes>,
    process: ProcessId,
    name: String,
    at: usize,
    is_asking: bool,
}

impl ActScreen {
    /// The actions for the chosen process; a message where this user may do nothing to it.
    pub(crate) fn open(workspace: &mut Workspace) -> Option<ActScreen> {
        let row = workspace.process.clone()?;
        let reader = workspace.options.processes.clone().filter(|_| workspace.replay.is_none());
        let (Some(reader), Some(process)) = (reader, id_of(&row)) else {
            workspace.message = Some(workspace.words.pick(&NOT_THIS_MACHINE).to_string());
            return None;
        };
        if let Err(why) = reader.may_act(process) {
            workspace.message = Some(why);
            return None;
        }
        let name = format!("{} ({})", visible(&row.name), process.id);
        Some(ActScreen { reader, process, name, at: 0, is_asking: false })
    }

    fn begin(&self, workspace: &mut Workspace) {
        let Some((action, label)) = CHOICES.get(self.at) else { return };
        let (reader, process, action) = (Arc::clone(&self.reader), self.process, *action);
        let done = workspace.words.pick(&DONE);
        let what = format!("{}: {}", self.name, workspace.words.pick(label));
        workspace.begin_job(move || {
            let name = what.clone();
            reader
                .act(process, action)
                .map(|()| Done::Said(format!("{name}: {done}")))
                .map_err(|why| format!("{what}: {why}"))
        });
    }
}

impl Screen for ActScreen {
    fn layer(&self) -> Layer {
        Layer::Dialog
    }

    fn key(&mut self, key: KeyEvent, workspace: &mut Workspace) -> Action {
        let was_asking = std::mem::take(&mut self.is_asking);
        match command(Context::Act, key) {
            Some(Command::Close) => return Action::Close,
            Some(Command::Yes) if was_asking => {
                self.begin(workspace);
                return Action::Close;
            }
            Some(Command::Cancel) if !was_asking => return Action::Close,
            Some(Command::Accept) if !was_asking => self.is_asking = true,
            Some(other) => {
                if let Some(at) = moved(other, self.at, CHOICES.len()) {
                    self.at = at;
                }
            }
            None => {}
        }
        Action::Done
    }

    fn footer(&self) -> Option<Context> {
        Some(Context::Act)
    }

    fn draw(&mut self, buffer: &mut Buffer, area: Rect, workspace: &mut Workspace) {
        let (words, theme) = (workspace.words, workspace.theme);
        let rows = u16::try_from(CHOICES.len()).unwrap_or(7).saturating_add(2);
        let title = format!("{}: {}", words.pick(&TITLE), self.name);
        let below = if self.is_asking { words.pick(&SURE) } else { words.get(Word::EscapeCloses) };
        let inside = frame(buffer, area, (52, rows), &cut(&title, 46), below, theme);
        for (row, (nth, (_, label))) in inside.rows().zip(CHOICES.iter().enumerate()) {
            let style = match (nth == self.at, self.is_asking) {
                (true, true) => theme.bad().patch(theme.selected()),
                (true, false) => theme.selected(),
                _ => theme.plain(),
            };
            buffer.set_style(row, style);
            let x = row.x.saturating_add(1);
            put(buffer, x, row.y, row.width.saturating_sub(1), words.pick(label), style);
        }
    }
}
