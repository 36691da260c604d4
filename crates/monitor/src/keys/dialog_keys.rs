//! The key bindings of lists, of dialogs and of lines of text.

use crossterm::event::KeyCode;

use crate::keys::binding::Key::{Char, Control};
use crate::keys::binding::{Command, Context, Group, Key, KeyBinding};

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
const LINE: [&str; 4] = ["choose", "선택", "選択", "выбрать"];
const PAGE: [&str; 4] = ["a page back, forward", "한 쪽 위, 아래", "一頁上、下", "страница назад, вперёд"];
const END_OF_LIST: [&str; 4] = ["first, last", "처음, 마지막", "最初、最後", "первый, последний"];
const CHANGE: [&str; 4] = ["change", "변경", "変更", "изменить"];
const CLOSE: [&str; 4] = ["close", "닫기", "閉じる", "закрыть"];
const PANE: [&str; 4] = ["another list", "다른 목록", "別の一覧", "другой список"];

/// The bindings of lists, of dialogs and of lines of text. Their screens have footers of their own.
pub(super) const GROUP: Group = Group::new(&[
    KeyBinding::new(LISTS, Command::Previous, &[UP, Char('k')], LINE),
    KeyBinding::new(LISTS, Command::Next, &[DOWN, Char('j')], LINE),
    KeyBinding::new(&[Context::Add], Command::Previous, &[UP], LINE),
    KeyBinding::new(&[Context::Add], Command::Next, &[DOWN], LINE),
    KeyBinding::new(&[Context::Properties], Command::Previous, &[UP], LINE).also(&[BACK_TAB]),
    KeyBinding::new(&[Context::Properties], Command::Next, &[DOWN], LINE).also(&[TAB]),
    KeyBinding::new(LONG_LISTS, Command::PageBack, &[PAGE_UP], PAGE),
    KeyBinding::new(LONG_LISTS, Command::PageForward, &[PAGE_DOWN], PAGE),
    KeyBinding::new(LONG_LISTS, Command::First, &[HOME], END_OF_LIST),
    KeyBinding::new(LONG_LISTS, Command::Last, &[END], END_OF_LIST),
    KeyBinding::new(&[Context::Add], Command::PreviousPane, &[BACK_TAB], PANE).also(&[LEFT]),
    KeyBinding::new(&[Context::Add], Command::NextPane, &[TAB], PANE).also(&[RIGHT]),
    KeyBinding::new(&[Context::Properties], Command::Less, &[LEFT], CHANGE),
    KeyBinding::new(&[Context::Properties], Command::More, &[RIGHT], CHANGE),
    KeyBinding::new(
        TYPED,
        Command::DeleteLetter,
        &[BACKSPACE],
        ["delete a letter", "글자 지우기", "一文字削除", "стереть букву"],
    ),
    KeyBinding::new(
        TYPED,
        Command::ClearText,
        &[Control('u')],
        ["clear the text", "모두 지우기", "全て消去", "стереть всё"],
    ),
    KeyBinding::new(TYPED, Command::Accept, &[ENTER], ["accept", "확인", "決定", "принять"]),
    KeyBinding::new(
        &[Context::Table, Context::Contributors],
        Command::AddToChart,
        &[ENTER],
        ["add to the chart", "차트에 추가", "グラフに追加", "добавить на график"],
    ),
    KeyBinding::new(
        &[Context::Providers],
        Command::Enable,
        &[Char('e')],
        ["enable", "사용", "有効", "включить"],
    ),
    KeyBinding::new(
        &[Context::Providers],
        Command::Disable,
        &[Char('d')],
        ["disable", "사용 안 함", "無効", "отключить"],
    ),
    KeyBinding::new(
        &[Context::Sessions],
        Command::Switch,
        &[Char('s')],
        ["start, stop", "시작, 중지", "開始、停止", "начать, прервать"],
    )
    .also(&[Char(' ')]),
    KeyBinding::new(
        &[Context::Sessions],
        Command::OpenLog,
        &[ENTER],
        ["open the log", "로그 열기", "ログを開く", "открыть журнал"],
    ),
    KeyBinding::new(
        &[Context::Providers, Context::Sessions],
        Command::Yes,
        &[Char('y')],
        ["yes", "예", "はい", "да"],
    ),
    KeyBinding::new(
        &[Context::Providers, Context::Sessions],
        Command::No,
        &[Char('n')],
        ["no", "아니요", "いいえ", "нет"],
    ),
    KeyBinding::new(
        &[Context::Alerts],
        Command::ShowInChart,
        &[ENTER],
        ["show in the chart", "차트에서 보기", "グラフに表示", "показать на графике"],
    ),
    KeyBinding::new(
        &[Context::Alerts],
        Command::SaveList,
        &[Char('w')],
        ["save the list", "목록 저장", "一覧を保存", "сохранить список"],
    ),
    KeyBinding::new(
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
    KeyBinding::new(DIALOGS, Command::Close, &[Control('c')], CLOSE),
    KeyBinding::new(&[Context::Providers], Command::Close, &[Char('q'), Char('D')], CLOSE),
    KeyBinding::new(&[Context::Sessions], Command::Close, &[Char('q'), Char('R')], CLOSE),
    KeyBinding::new(&[Context::Alerts], Command::Close, &[Char('q'), Char('E')], CLOSE),
])
.not_in_help();
