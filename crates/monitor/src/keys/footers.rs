//! Which keys the footer of each screen names, and in which words. The keys come from the table.

use crate::keys::binding::{Command, Context, Label};

/// The footer of a screen.
pub(crate) struct Footer {
    pub(crate) context: Context,
    pub(crate) between: &'static str,
    /// Commands with their words; several commands share one.
    pub(crate) entries: &'static [(&'static [Command], Label)],
}

const ADD: Label = ["add", "추가", "追加", "добавить"];
const SAVE: Label = ["save", "저장", "保存", "сохр."];
const HELP: Label = ["help", "도움말", "ヘルプ", "справка"];
const QUIT: Label = ["quit", "종료", "終了", "выход"];
const CLOSE: Label = ["close", "닫기", "閉じる", "закрыть"];

/// The first keys, until one was pressed.
pub(crate) const HINT: Footer = Footer {
    context: Context::Chart,
    between: " · ",
    entries: &[
        (&[Command::AddCounters], ADD),
        (&[Command::Save], ["save", "저장", "保存", "сохранить"]),
        (&[Command::Help], HELP),
    ],
};

pub(crate) const FOOTERS: &[Footer] = &[
    Footer {
        context: Context::Chart,
        between: "  ",
        entries: &[
            (&[Command::AddCounters], ADD),
            (&[Command::Remove], ["remove", "제거", "削除", "удалить"]),
            (&[Command::Highlight], ["highlight", "강조", "強調", "выделить"]),
            (&[Command::Freeze], ["freeze", "정지", "停止", "стоп"]),
            (
                &[Command::Graph, Command::Bars, Command::Report, Command::Split, Command::Table],
                ["views", "보기", "表示", "вид"],
            ),
            (&[Command::ScrollBack], ["back", "과거", "過去", "назад"]),
            (&[Command::Save], SAVE),
            (&[Command::Help], HELP),
            (&[Command::Quit], QUIT),
        ],
    },
    Footer {
        context: Context::Log,
        between: "  ",
        entries: &[
            (&[Command::AddCounters], ADD),
            (&[Command::Play], ["play", "재생", "再生", "пуск"]),
            (&[Command::StepBack, Command::StepForward], ["step", "단계", "一歩", "шаг"]),
            (&[Command::GoTo], ["time", "시간", "時刻", "время"]),
            (&[Command::ZoomIn, Command::ZoomOut], ["zoom", "확대", "拡大", "масштаб"]),
            (&[Command::ScrollBack, Command::ScrollForward], ["", "", "", ""]),
            (&[Command::Contributors], ["who", "원인", "原因", "кто"]),
            (&[Command::Findings], ["findings", "발견", "検出", "находки"]),
            (&[Command::Table], ["table", "표", "表", "таблица"]),
            (&[Command::Save], SAVE),
            (&[Command::Help], HELP),
            (&[Command::Quit], QUIT),
        ],
    },
    Footer {
        context: Context::Table,
        between: "  ",
        entries: &[
            (&[Command::PreviousColumn, Command::NextColumn], ["column", "열", "列", "столбец"]),
            (&[Command::Reverse], ["order", "순서", "順序", "порядок"]),
            (&[Command::Tree], ["tree", "트리", "ツリー", "дерево"]),
            (&[Command::ChooseObject], ["object", "개체", "オブジェクト", "объект"]),
            (&[Command::Tick], ["tick", "선택", "選択", "отметить"]),
            (&[Command::AddToChart], ["chart", "차트", "グラフ", "на график"]),
            (&[Command::Filter], ["filter", "필터", "フィルター", "фильтр"]),
            (&[Command::Graph], ["graph", "그래프", "グラフ", "график"]),
            (&[Command::Help], HELP),
            (&[Command::Quit], QUIT),
        ],
    },
    Footer {
        context: Context::Hosts,
        between: "  ",
        entries: &[
            (&[Command::OpenChosen], ["open", "열기", "開く", "открыть"]),
            (&[Command::SortNext], ["sort", "정렬", "並べ替え", "порядок"]),
            (&[Command::Reverse], ["order", "순서", "順序", "наоборот"]),
            (&[Command::Filter], ["filter", "필터", "フィルター", "фильтр"]),
            (&[Command::Graph], ["chart", "차트", "グラフ", "график"]),
            (&[Command::Help], HELP),
            (&[Command::Quit], QUIT),
        ],
    },
    Footer {
        context: Context::Overview,
        between: "  ",
        entries: &[
            (&[Command::OpenChosen], ["open", "열기", "開く", "открыть"]),
            (&[Command::NextPane], ["pane", "창", "枠", "панель"]),
            (&[Command::SortNext], ["sort", "정렬", "並べ替え", "порядок"]),
            (&[Command::Filter], ["filter", "필터", "フィルター", "фильтр"]),
            (&[Command::Act], ["end, stop", "종료, 중지", "終了、停止", "завершить"]),
            (&[Command::CursorBack, Command::CursorForward], ["time", "시간", "時刻", "время"]),
            (&[Command::Graph], ["chart", "차트", "グラフ", "график"]),
            (&[Command::Help], HELP),
            (&[Command::Quit], QUIT),
        ],
    },
    Footer {
        context: Context::Process,
        between: " · ",
        entries: &[
            (&[Command::NextPane], ["page", "쪽", "頁", "страница"]),
            (&[Command::ShowInChart], ["chart", "차트", "グラフ", "график"]),
            (&[Command::Act], ["end, stop", "종료, 중지", "終了、停止", "завершить"]),
            (&[Command::Cancel], CLOSE),
        ],
    },
    Footer {
        context: Context::Act,
        between: " · ",
        entries: &[(&[Command::Accept], ["choose", "선택", "選択", "выбрать"]), (&[Command::Cancel], CLOSE)],
    },
    Footer {
        context: Context::Contributors,
        between: " · ",
        entries: &[
            (&[Command::AddToChart], ["adds", "추가", "追加", "добавить"]),
            (&[Command::Cancel], ["closes", "닫기", "閉じる", "закрыть"]),
        ],
    },
    Footer {
        context: Context::Objects,
        between: " · ",
        entries: &[(&[Command::Accept], ["choose", "선택", "選択", "выбрать"]), (&[Command::Cancel], CLOSE)],
    },
    Footer {
        context: Context::Add,
        between: " · ",
        entries: &[
            (&[Command::NextPane], ["pane", "창", "枠", "панель"]),
            (&[Command::Accept], ADD),
            (&[Command::Cancel], CLOSE),
        ],
    },
    Footer {
        context: Context::Properties,
        between: " · ",
        entries: &[
            (&[Command::Previous, Command::Next], ["choose", "선택", "選択", "выбор"]),
            (&[Command::Less, Command::More], ["change", "변경", "変更", "изменить"]),
            (&[Command::Accept], ["type", "입력", "入力", "ввод"]),
            (&[Command::Cancel], CLOSE),
        ],
    },
    Footer {
        context: Context::Providers,
        between: "  ",
        entries: &[
            (&[Command::Enable], ["enable", "사용", "有効", "включить"]),
            (&[Command::Disable], ["disable", "사용 안 함", "無効", "отключить"]),
            (&[Command::Cancel], CLOSE),
        ],
    },
    Footer {
        context: Context::Sessions,
        between: "  ",
        entries: &[
            (&[Command::New], ["new", "새로", "新規", "новый"]),
            (&[Command::Switch], ["start, stop", "시작, 중지", "開始、停止", "начать, прервать"]),
            (&[Command::Delete], ["delete", "삭제", "削除", "удалить"]),
            (&[Command::OpenLog], ["log", "로그", "ログ", "журнал"]),
            (&[Command::Cancel], CLOSE),
        ],
    },
    Footer {
        context: Context::Form,
        between: "  ",
        entries: &[
            (&[Command::Previous, Command::Next], ["field", "항목", "項目", "поле"]),
            (&[Command::Accept], ["start", "시작", "開始", "начать"]),
            (&[Command::Cancel], ["cancel", "취소", "取消", "отмена"]),
        ],
    },
    Footer {
        context: Context::Alerts,
        between: "  ",
        entries: &[
            (&[Command::New], ["new", "새로", "新規", "новая"]),
            (&[Command::ShowInChart], ["show", "보기", "表示", "показать"]),
            (&[Command::SaveList], ["save", "저장", "保存", "сохранить"]),
            (&[Command::Cancel], CLOSE),
        ],
    },
    Footer {
        context: Context::Findings,
        between: "  ",
        entries: &[
            (&[Command::Previous, Command::Next], ["choose", "선택", "選択", "выбор"]),
            (&[Command::ShowInChart], ["show", "보기", "表示", "показать"]),
            (&[Command::Cancel], CLOSE),
        ],
    },
];
