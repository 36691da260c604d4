//! The key bindings of lists, of dialogs and of lines of text.

use crossterm::event::KeyCode;

use crate::keys::binding::Key::{Char, Control};
use crate::keys::binding::{Command, Context, Group, Key, KeyBinding, Task};
use crate::keys::table_macro::keys;

const LISTS: &[Context] = &[
    Context::Contributors,
    Context::Table,
    Context::Hosts,
    Context::Overview,
    Context::Process,
    Context::Act,
    Context::Providers,
    Context::Sessions,
    Context::Alerts,
    Context::Findings,
];
const LONG_LISTS: &[Context] = &[
    Context::Table,
    Context::Hosts,
    Context::Objects,
    Context::Process,
    Context::Act,
    Context::Add,
    Context::Providers,
    Context::Sessions,
    Context::Alerts,
    Context::Findings,
    Context::Help,
];
/// Screens in which letters are typed.
const TYPED: &[Context] =
    &[Context::Objects, Context::Add, Context::Properties, Context::Form, Context::Prompt];
const PROMPT: &[Context] = &[Context::Prompt];
const DIALOGS: &[Context] = &[
    Context::Objects,
    Context::Process,
    Context::Act,
    Context::Add,
    Context::Properties,
    Context::Providers,
    Context::Sessions,
    Context::Form,
    Context::Alerts,
    Context::Findings,
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
const DELETE: Key = Key::Code(KeyCode::Delete);
const TAB: Key = Key::Code(KeyCode::Tab);
const BACK_TAB: Key = Key::Code(KeyCode::BackTab);
const LINE: [&str; 4] = ["choose", "선택", "選択", "выбрать"];
const PAGE: [&str; 4] = ["a page back, forward", "한 쪽 위, 아래", "一頁上、下", "страница назад, вперёд"];
const END_OF_LIST: [&str; 4] = ["first, last", "처음, 마지막", "最初、最後", "первый, последний"];
const CHANGE: [&str; 4] = ["change", "변경", "変更", "изменить"];
const CLOSE: [&str; 4] = ["close", "닫기", "閉じる", "закрыть"];
const SCROLL: [&str; 4] = ["scroll", "스크롤", "スクロール", "прокрутить"];
const HELP_PAGE: [&str; 4] = ["keys, tour", "키, 둘러보기", "キー、案内", "клавиши, обзор"];
const PANE: [&str; 4] = ["another list", "다른 목록", "別の一覧", "другой список"];
const ADD: &[Context] = &[Context::Add];
const SEARCHED: &[Context] = &[Context::Objects, Context::Add];
const PROPERTIES: &[Context] = &[Context::Properties];
const CHARTABLE: &[Context] = &[Context::Table, Context::Contributors];
const PROVIDERS: &[Context] = &[Context::Providers];
const SESSIONS: &[Context] = &[Context::Sessions];
const MAKING: &[Context] = &[Context::Sessions, Context::Alerts];
const FORM: &[Context] = &[Context::Form];
const ASKING: &[Context] = &[Context::Providers, Context::Sessions, Context::Act];
const OVERVIEW: &[Context] = &[Context::Overview];
const HOSTS: &[Context] = &[Context::Hosts];
const PANES: &[Context] = &[Context::Overview, Context::Process];
const PROCESS: &[Context] = &[Context::Process];
const ACT: &[Context] = &[Context::Act];
const ALERTS: &[Context] = &[Context::Alerts];
const FINDINGS: &[Context] = &[Context::Findings];
const HELP: &[Context] = &[Context::Help];
const SHOWN: &[Context] = &[Context::Alerts, Context::Findings];
const CLOSABLE: &[Context] = &[
    Context::Contributors,
    Context::Table,
    Context::Objects,
    Context::Process,
    Context::Act,
    Context::Add,
    Context::Properties,
    Context::Providers,
    Context::Sessions,
    Context::Form,
    Context::Alerts,
    Context::Findings,
    Context::Prompt,
];

/// The bindings of lists, of dialogs and of lines of text. Their screens have footers of their own.
pub(super) const GROUPS: &[Group] = keys! {
    hidden {
        LISTS Previous [UP, Char('k')]: LINE;
        LISTS Next [DOWN, Char('j')]: LINE;
        SEARCHED Previous [UP]: LINE;
        SEARCHED Next [DOWN]: LINE;
        FORM Previous [UP] also [BACK_TAB]: LINE;
        FORM Next [DOWN] also [TAB]: LINE;
        PROPERTIES Previous [UP] also [BACK_TAB]: LINE;
        PROPERTIES Next [DOWN] also [TAB]: LINE;
        HELP Previous [UP]: SCROLL;
        HELP Next [DOWN]: SCROLL;
        LONG_LISTS PageBack [PAGE_UP]: PAGE;
        LONG_LISTS PageForward [PAGE_DOWN]: PAGE;
        LONG_LISTS First [HOME]: END_OF_LIST;
        LONG_LISTS Last [END]: END_OF_LIST;
        ADD PreviousPane [BACK_TAB] also [LEFT]: PANE;
        ADD NextPane [TAB] also [RIGHT]: PANE;
        PROPERTIES Less [LEFT]: CHANGE;
        PROPERTIES More [RIGHT]: CHANGE;
        TYPED DeleteLetter [BACKSPACE]: ["delete a letter", "글자 지우기", "一文字削除", "стереть букву"];
        TYPED ClearText [Control('u')]: ["clear the text", "모두 지우기", "全て消去", "стереть всё"];
        PROMPT CompletePath [TAB]: ["complete the path of a file", "파일 경로 완성", "パスの補完", "дополнить путь к файлу"];
        TYPED Accept [ENTER]: ["accept", "확인", "決定", "принять"];
        CHARTABLE AddToChart [ENTER]: ["add to the chart", "차트에 추가", "グラフに追加", "добавить на график"];
        PROVIDERS Enable [Char('e')]: ["enable", "사용", "有効", "включить"];
        PROVIDERS Disable [Char('d')]: ["disable", "사용 안 함", "無効", "отключить"];
        SESSIONS Switch [Char('s')] also [Char(' ')]: ["start, stop", "시작, 중지", "開始、停止", "начать, прервать"];
        SESSIONS OpenLog [ENTER]: ["open the log", "로그 열기", "ログを開く", "открыть журнал"];
        MAKING New [Char('a')]: ["new session, new alert", "새 세션, 새 경고", "新しいセッション、アラート", "новый сеанс, новая тревога"];
        SESSIONS Delete [Char('d')] also [DELETE]: ["delete the session; its logs stay", "세션 삭제, 로그는 유지", "セッションを削除、ログは残る", "удалить сеанс, журналы останутся"];
        ASKING Yes [Char('y')]: ["yes", "예", "はい", "да"];
        ASKING No [Char('n')]: ["no", "아니요", "いいえ", "нет"];
        SHOWN ShowInChart [ENTER]: ["show in the chart", "차트에서 보기", "グラフに表示", "показать на графике"];
        ALERTS SaveList [Char('w')]: ["save the list", "목록 저장", "一覧を保存", "сохранить список"];
        PANES PreviousPane [BACK_TAB]: PANE;
        PANES NextPane [TAB]: PANE;
        HELP PreviousPane [BACK_TAB] also [LEFT]: HELP_PAGE;
        HELP NextPane [TAB] also [RIGHT]: HELP_PAGE;
        HELP Filter [Char('/')]: ["search for words", "낱말 찾기", "言葉を検索", "искать слова"];
        HELP DeleteLetter [BACKSPACE]: ["delete a letter of the words", "낱말의 글자 지우기", "言葉を一文字削除", "стереть букву слов"];
        HELP Cancel [ESCAPE]: ["end the search, close", "찾기 끝, 닫기", "検索を終了、閉じる", "закончить поиск, закрыть"];
        HOSTS Cancel [ESCAPE]: ["no filter", "필터 해제", "フィルターを解除", "снять фильтр"];
        OVERVIEW Cancel [ESCAPE]:
            ["no filter, no choice, no cursor", "필터, 선택, 커서 해제", "フィルター、選択、カーソルを解除", "снять фильтр, выбор и курсор"];
        PROCESS ShowInChart [Char('c')] also [ENTER]: ["show in the chart", "차트에서 보기", "グラフに表示", "показать на графике"];
        PROCESS Close [Char('q')]: CLOSE;
        ACT Accept [ENTER]: ["do it, after a question", "확인 후 실행", "確認して実行", "выполнить после вопроса"];
        ACT Close [Char('q')]: CLOSE;
        CLOSABLE Cancel [ESCAPE]: CLOSE;
        DIALOGS Close [Control('c')]: CLOSE;
        PROVIDERS Close [Char('q'), Char('D')]: CLOSE;
        SESSIONS Close [Char('q'), Char('R')]: CLOSE;
        ALERTS Close [Char('q'), Char('E')]: CLOSE;
        FINDINGS Close [Char('q'), Char('W')]: CLOSE;
    }
};
