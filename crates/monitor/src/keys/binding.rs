//! What a key binding is.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

/// A text in English, Korean, Japanese and Russian.
pub(crate) type Label = [&'static str; 4];

/// Where a binding holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Context {
    /// The chart and the other views of the same counters.
    Chart,
    /// The same while a log is shown.
    Log,
    /// The chart while the chosen counter has no value because its provider failed.
    Fault,
    /// The panel of top contributors.
    Contributors,
    Table,
    /// The objects that the table can show.
    Objects,
    /// The page of all machines.
    Hosts,
    /// The overview of the machine.
    Overview,
    /// The details of a process.
    Process,
    /// What to do to a process.
    Act,
    Add,
    Properties,
    Providers,
    Sessions,
    /// The form of a new session.
    Form,
    Alerts,
    /// What is wrong in the history or in the log.
    Findings,
    Prompt,
    /// The help screen itself.
    Help,
}

/// What a key does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Command {
    // Lists, in every screen.
    Previous,
    Next,
    PageBack,
    PageForward,
    First,
    Last,
    Accept,
    Cancel,
    Close,
    ClearText,
    DeleteLetter,
    PreviousPane,
    NextPane,
    // The counters.
    AddCounters,
    Remove,
    Hide,
    NewSet,
    Highlight,
    Colour,
    // The views.
    Hosts,
    Overview,
    Graph,
    Area,
    Stacked,
    Bars,
    Report,
    Split,
    Table,
    // Scale and threshold.
    ScaleUp,
    ScaleDown,
    ScaleFit,
    ScaleFitAll,
    ScaleDefault,
    Threshold,
    // Time.
    CursorBack,
    CursorForward,
    StepBack,
    StepForward,
    Freeze,
    Update,
    Clear,
    ScrollBack,
    ScrollForward,
    Oldest,
    Live,
    Newest,
    Play,
    ZoomIn,
    ZoomOut,
    GoTo,
    ShorterInterval,
    LongerInterval,
    Sweep,
    // What is known of a counter.
    Contributors,
    Explain,
    Filter,
    Fold,
    // The picture.
    Properties,
    /// Digit n switches the nth part of the picture.
    Part,
    Grid,
    // Clipboard and files.
    CopyPath,
    CopySettings,
    CopyValues,
    Paste,
    Save,
    Open,
    BackToNow,
    Compare,
    CompareBack,
    CompareForward,
    Undo,
    /// A drag over the chart.
    ZoomToRange,
    // Other screens.
    Providers,
    FailedProvider,
    Sessions,
    Alerts,
    Findings,
    Help,
    Suspend,
    Quit,
    // The overview.
    OpenChosen,
    SortNext,
    SortPrevious,
    ShowPane,
    Preset,
    Act,
    // The table.
    PreviousColumn,
    NextColumn,
    Reverse,
    Tree,
    PreviousObject,
    NextObject,
    ChooseObject,
    HideColumn,
    AllColumns,
    ColumnLeft,
    ColumnRight,
    Tick,
    Untick,
    AddToChart,
    // Dialogs.
    CompletePath,
    Less,
    More,
    Enable,
    Disable,
    Switch,
    /// A new session, or an alert.
    New,
    Delete,
    Yes,
    No,
    OpenLog,
    ShowInChart,
    SaveList,
}

/// A key, or what the mouse does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Key {
    Char(char),
    /// A letter with Ctrl.
    Control(char),
    Code(KeyCode),
    /// A digit from 1 to 6.
    Digits,
    /// A digit from 1 to 8.
    Panes,
    Click,
    Drag,
}

impl Key {
    /// Whether an event is this key. Ctrl matters for letters only.
    pub(crate) fn is(self, event: KeyEvent) -> bool {
        let control = event.modifiers.contains(KeyModifiers::CONTROL);
        match (self, event.code) {
            (Key::Char(wanted), KeyCode::Char(letter)) => wanted == letter && !control,
            (Key::Control(wanted), KeyCode::Char(letter)) => wanted == letter && control,
            (Key::Digits, KeyCode::Char(letter)) => ('1'..='6').contains(&letter) && !control,
            (Key::Panes, KeyCode::Char(letter)) => letter.is_ascii_digit() && !control,
            (Key::Code(wanted), code) => wanted == code,
            _ => false,
        }
    }
}

/// Keys that do one thing on some screens.
#[derive(Debug)]
pub(crate) struct KeyBinding {
    pub(crate) contexts: &'static [Context],
    pub(crate) command: Command,
    /// The keys that the help screen and the footers name.
    pub(crate) keys: &'static [Key],
    /// More keys that do the same; only the manual names them.
    pub(crate) also: &'static [Key],
    /// What they do, for the manual.
    pub(crate) label: Label,
    /// The same in fewer words, where the help screen has several bindings in a line.
    pub(crate) brief: Option<Label>,
}

impl KeyBinding {
    /// All keys.
    pub(crate) fn all_keys(&self) -> impl Iterator<Item = Key> {
        self.keys.iter().chain(self.also).copied()
    }
}

/// What keys are for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Task {
    Counters,
    Views,
    Time,
    Causes,
    Files,
    Table,
    Overview,
    /// Other screens, and the end.
    Screens,
}

impl Task {
    /// All tasks with their headings, in the order of the help screen.
    pub(crate) const HEADINGS: [(Task, Label); 8] = [
        (Task::Counters, ["Counters and their lines", "카운터와 선", "カウンターと線", "Счётчики и линии"]),
        (Task::Views, ["Views and scales", "보기와 배율", "表示と倍率", "Виды и масштабы"]),
        (Task::Time, ["Time", "시간", "時間", "Время"]),
        (Task::Causes, ["Who caused it", "원인 찾기", "原因を探す", "Кто виноват"]),
        (
            Task::Files,
            [
                "Files, copies, comparison",
                "파일, 복사, 비교",
                "ファイル、コピー、比較",
                "Файлы, копии, сравнение",
            ],
        ),
        (Task::Table, ["Table", "표", "表", "Таблица"]),
        (Task::Overview, ["Overview", "개요", "概要", "Обзор"]),
        (
            Task::Screens,
            ["Other screens, and out", "다른 화면과 종료", "他の画面と終了", "Другие экраны и выход"],
        ),
    ];
}

/// Bindings that belong together: a line of the help screen, where it has a place for them.
#[derive(Debug)]
pub(crate) struct Group {
    /// What they are for: its heading stands above them in the help screen.
    pub(crate) task: Task,
    pub(crate) in_help: bool,
    pub(crate) bindings: &'static [KeyBinding],
}
