//! The table of all key bindings.

use crossterm::event::KeyCode;

use crate::keys::binding::Key::{Char, Click, Code, Control, Digits, Drag};
use crate::keys::binding::{Command, Context, Group, Key, KeyBinding};

const CHART: &[Context] = &[Context::Chart];
/// Screens with a list in which letters move, too.
const LISTS: &[Context] =
    &[Context::Contributors, Context::Table, Context::Providers, Context::Sessions, Context::Alerts];
const LONG_LISTS: &[Context] =
    &[Context::Table, Context::Add, Context::Providers, Context::Sessions, Context::Alerts];
/// Screens in which letters are typed.
const TYPED: &[Context] = &[Context::Add, Context::Properties, Context::Prompt];
const DIALOGS: &[Context] = &[
    Context::Add,
    Context::Properties,
    Context::Providers,
    Context::Sessions,
    Context::Alerts,
    Context::Prompt,
];

const UP: Key = Key::Code(KeyCode::Up);
const DOWN: Key = Key::Code(KeyCode::Down);
const LEFT: Key = Key::Code(KeyCode::Left);
const RIGHT: Key = Key::Code(KeyCode::Right);
const PAGE_UP: Key = Key::Code(KeyCode::PageUp);
const PAGE_DOWN: Key = Key::Code(KeyCode::PageDown);
const HOME: Key = Key::Code(KeyCode::Home);
const END: Key = Key::Code(KeyCode::End);
const ENTER: Key = Key::Code(KeyCode::Enter);
const ESCAPE: Key = Key::Code(KeyCode::Esc);
const BACKSPACE: Key = Key::Code(KeyCode::Backspace);
const TAB: Key = Key::Code(KeyCode::Tab);
const BACK_TAB: Key = Key::Code(KeyCode::BackTab);

const fn bind(
    contexts: &'static [Context],
    command: Command,
    keys: &'static [Key],
    label: [&'static str; 4],
) -> KeyBinding {
    KeyBinding::new(contexts, command, keys, label)
}

const CHOOSE: [&str; 4] = ["choose a line", "선 선택", "線の選択", "выбрать линию"];
const CURSOR: [&str; 4] = ["cursor on the time axis", "시간 커서", "時間カーソル", "курсор времени"];
const SCALE: [&str; 4] = ["scale x10", "배율 x10", "倍率 x10", "масштаб x10"];
const STEP: [&str; 4] = ["step", "단계", "一歩", "шаг"];
const ZOOM: [&str; 4] = ["zoom", "확대", "拡大", "масштаб времени"];
const INTERVAL: [&str; 4] = ["interval", "간격", "間隔", "интервал"];
const MOVE: [&str; 4] =
    ["move the other log", "다른 로그 옮기기", "他のログをずらす", "сдвинуть другой журнал"];
const MOVE_IT: [&str; 4] = ["move it", "옮기기", "ずらす", "сдвинуть"];
const LINE: [&str; 4] = ["choose", "선택", "選択", "выбрать"];
const PAGE: [&str; 4] = ["a page back, forward", "한 쪽 위, 아래", "一頁上、下", "страница назад, вперёд"];
const END_OF_LIST: [&str; 4] = ["first, last", "처음, 마지막", "最初、最後", "первый, последний"];
const COLUMN: [&str; 4] = ["sort by another column", "정렬 열 선택", "並べ替えの列", "столбец сортировки"];
const COLUMN_BRIEF: [&str; 4] = ["column", "열", "列", "столбец"];
const OBJECT: [&str; 4] = ["another object", "다른 개체", "別のオブジェクト", "другой объект"];
const OBJECT_BRIEF: [&str; 4] = ["object", "개체", "オブジェクト", "объект"];
const CHANGE: [&str; 4] = ["change", "변경", "変更", "изменить"];
const CLOSE: [&str; 4] = ["close", "닫기", "閉じる", "закрыть"];
const PANE: [&str; 4] = ["another list", "다른 목록", "別の一覧", "другой список"];

/// Every key binding. The help screen shows a group as a line, in this order.
pub(crate) const GROUPS: &[Group] = &[
    Group::new(&[bind(
        CHART,
        Command::AddCounters,
        &[Char('a'), Code(KeyCode::Insert)],
        ["add counters", "카운터 추가", "カウンター追加", "добавить счётчики"],
    )]),
    Group::new(&[
        bind(
            CHART,
            Command::Remove,
            &[Code(KeyCode::Delete)],
            ["remove the chosen counter", "카운터 제거", "カウンターを削除", "удалить счётчик"],
        )
        .brief(["remove", "제거", "削除", "удалить"]),
        bind(
            CHART,
            Command::Hide,
            &[Char(' ')],
            ["hide or show its line", "선 숨김, 표시", "線を隠す、表示", "скрыть, показать линию"],
        )
        .brief(["hide", "숨김", "非表示", "скрыть"]),
        bind(
            CHART,
            Command::NewSet,
            &[Char('e')],
            ["new counter set", "새 카운터 세트", "新しいカウンターセット", "новый набор счётчиков"],
        )
        .brief(["new set", "새 세트", "新規", "новый набор"])
        .also(&[Control('e')]),
    ]),
    Group::new(&[
        bind(CHART, Command::Previous, &[UP, Char('k')], CHOOSE),
        bind(CHART, Command::Next, &[DOWN, Char('j')], CHOOSE),
    ]),
    Group::new(&[
        bind(CHART, Command::CursorBack, &[LEFT, Char('h')], CURSOR),
        bind(CHART, Command::CursorForward, &[RIGHT, Char('l')], CURSOR),
    ]),
    Group::new(&[
        bind(CHART, Command::Highlight, &[BACKSPACE], ["highlight", "강조", "強調", "выделить"]),
        bind(CHART, Command::Colour, &[Char('c')], ["colour", "색", "色", "цвет"]),
    ]),
    Group::new(&[
        bind(CHART, Command::Graph, &[Char('g')], ["line", "선", "線", "линии"]).also(&[Control('g')]),
        bind(CHART, Command::Area, &[Char('A')], ["area", "영역", "面", "области"]),
        bind(CHART, Command::Stacked, &[Char('G')], ["stacked", "누적", "積層", "сумма"]),
        bind(CHART, Command::Bars, &[Char('b')], ["bars", "막대", "棒", "столбцы"]).also(&[Control('b')]),
        bind(CHART, Command::Report, &[Char('r')], ["report", "보고서", "レポート", "отчёт"])
            .also(&[Control('r')]),
        bind(CHART, Command::Split, &[Char('v')], ["split", "분할", "分割", "части"]),
        bind(CHART, Command::Table, &[Char('T')], ["table", "표", "表", "таблица"]),
    ]),
    Group::new(&[
        bind(CHART, Command::ScaleUp, &[Char('+')], SCALE),
        bind(CHART, Command::ScaleDown, &[Char('-')], SCALE),
        bind(
            CHART,
            Command::ScaleFit,
            &[Char('S')],
            ["fit the line to the chart", "선을 차트에 맞춤", "線をグラフに合わせる", "подогнать линию"],
        )
        .brief(["fit", "맞춤", "合わせる", "подогнать"]),
        bind(
            CHART,
            Command::ScaleFitAll,
            &[Char('F')],
            ["fit all lines", "모든 선 맞춤", "全ての線を合わせる", "подогнать все линии"],
        )
        .brief(["fit all", "모두 맞춤", "全て合わせる", "все"]),
        bind(
            CHART,
            Command::ScaleDefault,
            &[Char('=')],
            ["default scale", "기본 배율", "既定の倍率", "исходный масштаб"],
        )
        .brief(["default", "기본", "既定", "исходный"]),
        bind(CHART, Command::Threshold, &[Char('L')], ["threshold", "임계값", "しきい値", "порог"]),
    ]),
    Group::new(&[
        bind(CHART, Command::Freeze, &[Char('f')], ["freeze", "정지", "停止", "стоп"]).also(&[Control('f')]),
        bind(
            CHART,
            Command::Update,
            &[Char('u')],
            ["one update while frozen", "정지 중 한 번 갱신", "停止中に一回更新", "обновить один раз"],
        )
        .brief(["one update", "한 번 갱신", "一回更新", "обновить"])
        .also(&[Control('u')]),
        bind(CHART, Command::Clear, &[Char('d')], ["clear", "지우기", "消去", "очистить"])
            .also(&[Control('d')]),
    ]),
    Group::new(&[
        bind(CHART, Command::ScrollBack, &[PAGE_UP], ["back", "뒤로", "戻る", "назад"]),
        bind(CHART, Command::ScrollForward, &[PAGE_DOWN], ["forward", "앞으로", "進む", "вперёд"]),
        bind(CHART, Command::Oldest, &[HOME], ["oldest", "처음", "最古", "начало"]),
        bind(CHART, Command::Live, &[Char('t')], ["live", "실시간", "ライブ", "сейчас"]),
        bind(CHART, Command::Newest, &[], ["newest", "마지막", "最新", "конец"]).also(&[END]),
    ]),
    Group::new(&[
        bind(CHART, Command::ZoomIn, &[Char('[')], ZOOM),
        bind(CHART, Command::ZoomOut, &[Char(']')], ZOOM),
        bind(CHART, Command::GoTo, &[Char(':')], ["go to time", "시간 이동", "時刻へ", "ко времени"]),
    ]),
    Group::new(&[
        bind(CHART, Command::StepBack, &[Char(',')], STEP),
        bind(CHART, Command::StepForward, &[Char('.')], STEP),
        bind(
            &[Context::Log],
            Command::Play,
            &[Char('t')],
            ["in a log: play, stop", "로그: 재생, 정지", "ログ: 再生、停止", "в журнале: пуск, стоп"],
        ),
    ]),
    Group::new(&[bind(
        CHART,
        Command::Contributors,
        &[ENTER, Click],
        ["top contributors at this time", "이 시점의 원인", "この時点の原因", "кто виноват в этот момент"],
    )]),
    Group::new(&[
        bind(CHART, Command::ShorterInterval, &[Char('<')], INTERVAL),
        bind(CHART, Command::LongerInterval, &[Char('>')], INTERVAL),
        bind(
            CHART,
            Command::Sweep,
            &[Char('m')],
            ["sweep or scroll", "스윕/스크롤", "掃引/スクロール", "развёртка/прокрутка"],
        ),
    ]),
    Group::new(&[
        bind(CHART, Command::Explain, &[Char('x')], ["explain", "설명", "説明", "объяснить"]),
        bind(
            &[Context::Chart, Context::Table],
            Command::Filter,
            &[Char('/')],
            ["filter", "필터", "フィルター", "фильтр"],
        ),
    ]),
    Group::new(&[
        bind(
            CHART,
            Command::Properties,
            &[Char('P'), Control('q')],
            ["properties", "속성", "プロパティ", "свойства"],
        ),
        bind(
            CHART,
            Command::Part,
            &[Digits],
            [
                "legend, bar, axes, digits, tips",
                "범례, 값 표시줄, 축, 숫자 묶음, 도구 설명",
                "凡例、値バー、軸、桁区切り、ヒント",
                "легенда, значения, оси, разряды, подсказки",
            ],
        ),
        bind(CHART, Command::Grid, &[Char('#')], ["grid", "눈금선", "目盛線", "сетка"]),
    ]),
    Group::new(&[
        bind(
            CHART,
            Command::CopyPath,
            &[Char('y')],
            ["copy the path", "경로 복사", "パスのコピー", "копировать путь"],
        )
        .brief(["copy path", "경로 복사", "パスのコピー", "копировать путь"]),
        bind(
            CHART,
            Command::CopySettings,
            &[Char('Y')],
            ["copy the settings", "설정 복사", "設定のコピー", "копировать набор"],
        )
        .brief(["settings", "설정", "設定", "набор"]),
        bind(
            CHART,
            Command::CopyValues,
            &[Char('V')],
            ["copy the values in view", "값 복사", "値のコピー", "копировать значения"],
        )
        .brief(["values", "값", "値", "значения"]),
        bind(
            CHART,
            Command::Paste,
            &[Char('p')],
            ["paste paths", "경로 붙여넣기", "パスの貼り付け", "вставить"],
        ),
    ]),
    Group::new(&[
        bind(
            CHART,
            Command::Save,
            &[Char('w')],
            [
                "save: log, picture, settings",
                "저장: 로그, 그림, 설정",
                "保存: ログ、図、設定",
                "сохранить: журнал, рисунок, набор",
            ],
        )
        .also(&[Char('s')]),
        bind(
            CHART,
            Command::Open,
            &[Char('o'), Control('l')],
            [
                "open logs or settings",
                "로그 또는 설정 열기",
                "ログまたは設定を開く",
                "открыть журналы или набор",
            ],
        )
        .brief(["open", "열기", "開く", "открыть"]),
        bind(
            CHART,
            Command::BackToNow,
            &[Control('t')],
            ["back from a log to now", "로그에서 현재로", "ログから現在へ", "от журнала к текущему"],
        )
        .brief(["back to now", "현재로", "現在へ", "к текущему"]),
    ]),
    Group::new(&[
        bind(
            CHART,
            Command::Compare,
            &[Char('C')],
            ["compare with another log", "다른 로그와 비교", "他のログと比較", "сравнить с журналом"],
        ),
        bind(CHART, Command::CompareBack, &[Char('{')], MOVE).brief(MOVE_IT),
        bind(CHART, Command::CompareForward, &[Char('}')], MOVE).brief(MOVE_IT),
    ]),
    Group::new(&[
        bind(
            &[Context::Chart, Context::Properties],
            Command::Undo,
            &[Control('z')],
            ["undo", "실행 취소", "元に戻す", "отменить"],
        ),
        bind(
            CHART,
            Command::ZoomToRange,
            &[Drag],
            ["zoom to a range of time", "시간 범위 확대", "時間範囲を拡大", "увеличить отрезок"],
        ),
    ]),
    Group::new(&[
        bind(&[Context::Table], Command::PreviousColumn, &[LEFT], COLUMN)
            .brief(COLUMN_BRIEF)
            .also(&[Char('h')]),
        bind(&[Context::Table], Command::NextColumn, &[RIGHT], COLUMN).brief(COLUMN_BRIEF).also(&[Char('l')]),
        bind(
            &[Context::Table],
            Command::Reverse,
            &[Char('i')],
            ["reverse the order", "순서 뒤집기", "逆の順序", "обратный порядок"],
        )
        .brief(["order", "순서", "順序", "порядок"]),
        bind(
            &[Context::Table],
            Command::Tree,
            &[Char('H')],
            ["processes as a tree", "프로세스 트리", "プロセスのツリー", "процессы деревом"],
        )
        .brief(["tree", "트리", "ツリー", "дерево"]),
        bind(&[Context::Table], Command::NextObject, &[Char('n')], OBJECT).brief(OBJECT_BRIEF),
        bind(&[Context::Table], Command::PreviousObject, &[Char('N')], OBJECT).brief(OBJECT_BRIEF),
        bind(
            &[Context::Table],
            Command::Tick,
            &[Char(' ')],
            ["tick: show only these", "선택한 것만 표시", "選択したもののみ表示", "отметить: только эти"],
        )
        .brief(["tick", "선택", "選択", "отметка"]),
        bind(
            CHART,
            Command::Untick,
            &[Char('U')],
            ["remove all ticks", "선택 모두 해제", "選択を全て解除", "снять отметки"],
        )
        .brief(["untick", "모두 해제", "全解除", "снять"]),
    ])
    .titled(["table", "표", "表", "таблица"]),
    Group::new(&[
        bind(CHART, Command::Providers, &[Char('D')], ["providers", "공급자", "プロバイダー", "поставщики"]),
        bind(
            &[Context::Fault],
            Command::FailedProvider,
            &[Char('p')],
            [
                "provider of a counter without a value",
                "값이 없는 카운터의 공급자",
                "値のないカウンターのプロバイダー",
                "поставщик счётчика без значения",
            ],
        )
        .brief(["a failed one", "오류 원인", "障害元", "виновник"]),
        bind(
            CHART,
            Command::Sessions,
            &[Char('R')],
            ["recording sessions", "기록 세션", "記録セッション", "сеансы записи"],
        ),
        bind(CHART, Command::Alerts, &[Char('E')], ["alerts", "경고", "アラート", "тревоги"]),
    ]),
    Group::new(&[
        bind(CHART, Command::Quit, &[Char('q'), Control('c')], ["quit", "종료", "終了", "выход"])
            .also(&[Char('Q')]),
        bind(
            CHART,
            Command::Suspend,
            &[Char('Z')],
            ["back to the shell for a while", "잠시 셸로", "一時シェルへ", "временно в оболочку"],
        ),
    ]),
    Group::new(&[
        bind(
            CHART,
            Command::Help,
            &[Char('?'), Code(KeyCode::F(1))],
            ["help", "도움말", "ヘルプ", "справка"],
        ),
        bind(
            CHART,
            Command::Cancel,
            &[ESCAPE],
            [
                "stop reading; else no cursor, no filter",
                "읽기 중지; 아니면 커서와 필터 해제",
                "読み込みを中止; または カーソルとフィルターを解除",
                "прервать чтение; или убрать курсор и фильтр",
            ],
        ),
    ])
    .not_in_help(),
    Group::new(&[
        bind(LISTS, Command::Previous, &[UP, Char('k')], LINE),
        bind(LISTS, Command::Next, &[DOWN, Char('j')], LINE),
        bind(&[Context::Add], Command::Previous, &[UP], LINE),
        bind(&[Context::Add], Command::Next, &[DOWN], LINE),
        bind(&[Context::Properties], Command::Previous, &[UP], LINE).also(&[BACK_TAB]),
        bind(&[Context::Properties], Command::Next, &[DOWN], LINE).also(&[TAB]),
        bind(LONG_LISTS, Command::PageBack, &[PAGE_UP], PAGE),
        bind(LONG_LISTS, Command::PageForward, &[PAGE_DOWN], PAGE),
        bind(LONG_LISTS, Command::First, &[HOME], END_OF_LIST),
        bind(LONG_LISTS, Command::Last, &[END], END_OF_LIST),
        bind(&[Context::Add], Command::PreviousPane, &[BACK_TAB], PANE).also(&[LEFT]),
        bind(&[Context::Add], Command::NextPane, &[TAB], PANE).also(&[RIGHT]),
        bind(&[Context::Properties], Command::Less, &[LEFT], CHANGE),
        bind(&[Context::Properties], Command::More, &[RIGHT], CHANGE),
        bind(
            TYPED,
            Command::DeleteLetter,
            &[BACKSPACE],
            ["delete a letter", "글자 지우기", "一文字削除", "стереть букву"],
        ),
        bind(
            TYPED,
            Command::ClearText,
            &[Control('u')],
            ["clear the text", "모두 지우기", "全て消去", "стереть всё"],
        ),
        bind(TYPED, Command::Accept, &[ENTER], ["accept", "확인", "決定", "принять"]),
        bind(
            &[Context::Table, Context::Contributors],
            Command::AddToChart,
            &[ENTER],
            ["add to the chart", "차트에 추가", "グラフに追加", "добавить на график"],
        ),
        bind(&[Context::Providers], Command::Enable, &[Char('e')], ["enable", "사용", "有効", "включить"]),
        bind(
            &[Context::Providers],
            Command::Disable,
            &[Char('d')],
            ["disable", "사용 안 함", "無効", "отключить"],
        ),
        bind(
            &[Context::Sessions],
            Command::Switch,
            &[Char('s')],
            ["start, stop", "시작, 중지", "開始、停止", "начать, прервать"],
        )
        .also(&[Char(' ')]),
        bind(
            &[Context::Sessions],
            Command::OpenLog,
            &[ENTER],
            ["open the log", "로그 열기", "ログを開く", "открыть журнал"],
        ),
        bind(
            &[Context::Providers, Context::Sessions],
            Command::Yes,
            &[Char('y')],
            ["yes", "예", "はい", "да"],
        ),
        bind(
            &[Context::Providers, Context::Sessions],
            Command::No,
            &[Char('n')],
            ["no", "아니요", "いいえ", "нет"],
        ),
        bind(
            &[Context::Alerts],
            Command::ShowInChart,
            &[ENTER],
            ["show in the chart", "차트에서 보기", "グラフに表示", "показать на графике"],
        ),
        bind(
            &[Context::Alerts],
            Command::SaveList,
            &[Char('w')],
            ["save the list", "목록 저장", "一覧を保存", "сохранить список"],
        ),
        bind(
            &[
                Context::Contributors,
                Context::Table,
                Context::Add,
                Context::Properties,
                Context::Providers,
                Context::Sessions,
                Context::Alerts,
                Context::Prompt,
            ],
            Command::Cancel,
            &[ESCAPE],
            CLOSE,
        ),
        bind(DIALOGS, Command::Close, &[Control('c')], CLOSE),
        bind(&[Context::Providers], Command::Close, &[Char('q'), Char('D')], CLOSE),
        bind(&[Context::Sessions], Command::Close, &[Char('q'), Char('R')], CLOSE),
        bind(&[Context::Alerts], Command::Close, &[Char('q'), Char('E')], CLOSE),
    ])
    .not_in_help(),
];
