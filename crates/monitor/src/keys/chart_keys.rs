//! The key bindings of the chart and the table.

use crossterm::event::KeyCode;

use crate::keys::binding::Key::{Char, Click, Code, Control, Digits, Drag, Panes};
use crate::keys::binding::{Command, Context, Group, Key, KeyBinding, Task};
use crate::keys::table_macro::keys;

const CHART: &[Context] = &[Context::Chart];
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
const CHOOSE: [&str; 4] = ["choose a line", "선 선택", "線の選択", "выбрать линию"];
const CURSOR: [&str; 4] = ["cursor on the time axis", "시간 커서", "時間カーソル", "курсор времени"];
const SCALE: [&str; 4] = ["scale x10", "배율 x10", "倍率 x10", "масштаб x10"];
const STEP: [&str; 4] = ["step", "단계", "一歩", "шаг"];
const ZOOM: [&str; 4] = ["zoom", "확대", "拡大", "масштаб времени"];
const INTERVAL: [&str; 4] = ["interval", "간격", "間隔", "интервал"];
const MOVE: [&str; 4] =
    ["move the other log", "다른 로그 옮기기", "他のログをずらす", "сдвинуть другой журнал"];
const MOVE_IT: [&str; 4] = ["move it", "옮기기", "ずらす", "сдвинуть"];
const COLUMN: [&str; 4] = ["sort by another column", "정렬 열 선택", "並べ替えの列", "столбец сортировки"];
const COLUMN_BRIEF: [&str; 4] = ["column", "열", "列", "столбец"];
const COLUMN_PLACE: [&str; 4] =
    ["move the column left, right", "열을 왼쪽, 오른쪽으로", "列を左、右へ", "столбец левее, правее"];
const OBJECT: [&str; 4] = ["another object", "다른 개체", "別のオブジェクト", "другой объект"];
const OBJECT_BRIEF: [&str; 4] = ["object", "개체", "オブジェクト", "объект"];
const LOG: &[Context] = &[Context::Log];
const CHART_TABLE: &[Context] = &[Context::Chart, Context::Table, Context::Hosts, Context::Overview];
const CHART_PROPERTIES: &[Context] = &[Context::Chart, Context::Properties];
const OVERVIEW: &[Context] = &[Context::Overview];
const HOSTS: &[Context] = &[Context::Hosts];
const ACTING: &[Context] = &[Context::Overview, Context::Process];
const DELETE: Key = Key::Code(KeyCode::Delete);
const SORT: [&str; 4] = [
    "sort the processes by another column",
    "프로세스 정렬 열",
    "プロセスの並べ替え列",
    "сортировать процессы иначе",
];
const TREE: [&str; 4] = ["processes as a tree", "프로세스 트리", "プロセスのツリー", "процессы деревом"];
const ARRANGE: [&str; 4] = [
    "processes as a list, a tree, by service",
    "프로세스: 목록, 트리, 서비스별",
    "プロセス: 一覧、ツリー、サービス別",
    "процессы: список, дерево, по службам",
];
const SORT_BRIEF: [&str; 4] = ["sort", "정렬", "並べ替え", "порядок"];
const TABLE: &[Context] = &[Context::Table];
const FAULT: &[Context] = &[Context::Fault];

/// The bindings of the chart and the table, in the order of the help screen.
pub(super) const GROUPS: &[Group] = keys! {
    group for Counters {
        CHART AddCounters [Char('a'), Code(KeyCode::Insert)]:
            ["add counters", "카운터 추가", "カウンター追加", "добавить счётчики"];
    }
    group for Counters {
        CHART Remove [Code(KeyCode::Delete)]:
            ["remove the chosen counter", "카운터 제거", "カウンターを削除", "удалить счётчик"]
            brief ["remove", "제거", "削除", "удалить"];
        CHART Hide [Char(' ')]: ["hide or show its line", "선 숨김, 표시", "線を隠す、表示", "скрыть, показать линию"]
            brief ["hide", "숨김", "非表示", "скрыть"];
        CHART NewSet [Char('e')] also [Control('e')]:
            ["new counter set", "새 카운터 세트", "新しいカウンターセット", "новый набор счётчиков"]
            brief ["new set", "새 세트", "新規", "новый набор"];
    }
    group for Counters {
        CHART Previous [UP, Char('k')]: CHOOSE;
        CHART Next [DOWN, Char('j')]: CHOOSE;
    }
    group for Time {
        CHART CursorBack [LEFT, Char('h')]: CURSOR;
        CHART CursorForward [RIGHT, Char('l')]: CURSOR;
    }
    group for Counters {
        CHART Highlight [BACKSPACE]: ["highlight", "강조", "強調", "выделить"];
        CHART Colour [Char('c')]: ["colour", "색", "色", "цвет"];
    }
    group for Views {
        CHART Graph [Char('g')] also [Control('g')]: ["line", "선", "線", "линии"];
        CHART Area [Char('A')]: ["area", "영역", "面", "области"];
        CHART Stacked [Char('G')]: ["stacked", "누적", "積層", "сумма"];
        CHART Bars [Char('b')] also [Control('b')]: ["bars", "막대", "棒", "столбцы"];
        CHART Report [Char('r')] also [Control('r')]: ["report", "보고서", "レポート", "отчёт"];
        CHART Split [Char('v')]: ["split", "분할", "分割", "части"];
        CHART Table [Char('T')]: ["table", "표", "表", "таблица"];
    }
    group for Views {
        CHART ScaleUp [Char('+')]: SCALE;
        CHART ScaleDown [Char('-')]: SCALE;
        CHART ScaleFit [Char('S')]:
            ["fit the line to the chart", "선을 차트에 맞춤", "線をグラフに合わせる", "подогнать линию"]
            brief ["fit", "맞춤", "合わせる", "подогнать"];
        CHART ScaleFitAll [Char('F')]: ["fit all lines", "모든 선 맞춤", "全ての線を合わせる", "подогнать все линии"]
            brief ["fit all", "모두 맞춤", "全て合わせる", "все"];
        CHART ScaleDefault [Char('=')]: ["default scale", "기본 배율", "既定の倍率", "исходный масштаб"]
            brief ["default", "기본", "既定", "исходный"];
        CHART Threshold [Char('L')]: ["threshold", "임계값", "しきい値", "порог"];
    }
    group for Time {
        CHART Freeze [Char('f')] also [Control('f')]: ["freeze", "정지", "停止", "стоп"];
        CHART Update [Char('u')] also [Control('u')]:
            ["one update while frozen", "정지 중 한 번 갱신", "停止中に一回更新", "обновить один раз"]
            brief ["one update", "한 번 갱신", "一回更新", "обновить"];
        CHART Clear [Char('d')] also [Control('d')]: ["clear", "지우기", "消去", "очистить"];
    }
    group for Time {
        CHART ScrollBack [PAGE_UP]: ["back", "뒤로", "戻る", "назад"];
        CHART ScrollForward [PAGE_DOWN]: ["forward", "앞으로", "進む", "вперёд"];
        CHART Oldest [HOME]: ["oldest", "처음", "最古", "начало"];
        CHART Live [Char('t')]: ["live", "실시간", "ライブ", "сейчас"];
        CHART Newest [] also [END]: ["newest", "마지막", "最新", "конец"];
    }
    group for Time {
        CHART ZoomIn [Char('[')]: ZOOM;
        CHART ZoomOut [Char(']')]: ZOOM;
        CHART GoTo [Char(':')]: ["go to time", "시간 이동", "時刻へ", "ко времени"];
    }
    group for Time {
        CHART StepBack [Char(',')]: STEP;
        CHART StepForward [Char('.')]: STEP;
        LOG Play [Char('t')]: ["in a log: play, stop", "로그: 재생, 정지", "ログ: 再生、停止", "в журнале: пуск, стоп"];
    }
    group for Causes {
        CHART Contributors [ENTER, Click]:
            ["top contributors at this time", "이 시점의 원인", "この時点の原因", "кто виноват в этот момент"];
    }
    group for Time {
        CHART ShorterInterval [Char('<')]: INTERVAL;
        CHART LongerInterval [Char('>')]: INTERVAL;
        CHART Sweep [Char('m')]: ["sweep or scroll", "스윕/스크롤", "掃引/スクロール", "развёртка/прокрутка"];
    }
    group for Counters {
        CHART Explain [Char('x')]: ["explain", "설명", "説明", "объяснить"];
        CHART_TABLE Filter [Char('/')]: ["filter", "필터", "フィルター", "фильтр"];
        CHART Fold [Char('*')]:
            ["the largest instances, or all", "가장 큰 인스턴스 또는 모두", "最大のインスタンス、または全て", "крупнейшие экземпляры или все"]
            brief ["largest, all", "가장 큰 것, 모두", "最大、全て", "крупнейшие, все"];
    }
    group for Views {
        CHART Properties [Char('P'), Control('q')]: ["properties", "속성", "プロパティ", "свойства"];
        CHART Part [Digits]:
            ["legend, bar, axes, digits, tips", "범례, 값 표시줄, 축, 숫자 묶음, 도구 설명", "凡例、値バー、軸、桁区切り、ヒント", "легенда, значения, оси, разряды, подсказки"];
        CHART Grid [Char('#')]: ["grid", "눈금선", "目盛線", "сетка"];
    }
    group for Files {
        CHART CopyPath [Char('y')]: ["copy the path", "경로 복사", "パスのコピー", "копировать путь"]
            brief ["copy path", "경로 복사", "パスのコピー", "копировать путь"];
        CHART CopySettings [Char('Y')]: ["copy the settings", "설정 복사", "設定のコピー", "копировать набор"]
            brief ["settings", "설정", "設定", "набор"];
        CHART CopyValues [Char('V')]: ["copy the values in view", "값 복사", "値のコピー", "копировать значения"]
            brief ["values", "값", "値", "значения"];
        CHART Paste [Char('p')]: ["paste paths", "경로 붙여넣기", "パスの貼り付け", "вставить"];
    }
    group for Files {
        CHART Save [Char('w')] also [Char('s')]:
            ["save: log, picture, settings", "저장: 로그, 그림, 설정", "保存: ログ、図、設定", "сохранить: журнал, рисунок, набор"];
        CHART Open [Char('O'), Control('l')]:
            ["open logs or settings", "로그 또는 설정 열기", "ログまたは設定を開く", "открыть журналы или набор"]
            brief ["open", "열기", "開く", "открыть"];
        CHART BackToNow [Control('t')]:
            ["back from a log to now", "로그에서 현재로", "ログから現在へ", "от журнала к текущему"]
            brief ["back to now", "현재로", "現在へ", "к текущему"];
    }
    group for Files {
        CHART Compare [Char('C')]:
            ["compare with another log", "다른 로그와 비교", "他のログと比較", "сравнить с журналом"];
        CHART CompareBack [Char('{')]: MOVE brief MOVE_IT;
        CHART CompareForward [Char('}')]: MOVE brief MOVE_IT;
    }
    group for Time {
        CHART_PROPERTIES Undo [Control('z')]: ["undo", "실행 취소", "元に戻す", "отменить"];
        CHART ZoomToRange [Drag]: ["zoom to a range of time", "시간 범위 확대", "時間範囲を拡大", "увеличить отрезок"];
    }
    group for Table {
        TABLE PreviousColumn [LEFT] also [Char('h')]: COLUMN brief COLUMN_BRIEF;
        TABLE NextColumn [RIGHT] also [Char('l')]: COLUMN brief COLUMN_BRIEF;
        TABLE Reverse [Char('i')]: ["reverse the order", "순서 뒤집기", "逆の順序", "обратный порядок"]
            brief ["order", "순서", "順序", "порядок"];
        TABLE Tree [Char('H')]: TREE
            brief ["tree", "트리", "ツリー", "дерево"];
        TABLE NextObject [] also [Char('n')]: OBJECT;
        TABLE PreviousObject [] also [Char('N')]: OBJECT;
        TABLE ChooseObject [Char('J')]:
            ["choose an object by its name", "이름으로 개체 선택", "名前でオブジェクトを選択", "выбрать объект по имени"]
            brief OBJECT_BRIEF;
        TABLE HideColumn [] also [Char('X')]: ["hide the column", "열 숨기기", "列を隠す", "скрыть столбец"];
        TABLE AllColumns [] also [Char('M')]: ["show all columns", "모든 열 표시", "全ての列を表示", "показать все столбцы"];
        TABLE ColumnLeft [] also [Char('(')]: COLUMN_PLACE;
        TABLE ColumnRight [] also [Char(')')]: COLUMN_PLACE;
        TABLE Tick [Char(' ')]: ["tick: show only these", "선택한 것만 표시", "選択したもののみ表示", "отметить: только эти"]
            brief ["tick", "선택", "選択", "отметка"];
        CHART Untick [Char('U')]: ["remove all ticks", "선택 모두 해제", "選択を全て解除", "снять отметки"]
            brief ["untick", "모두 해제", "全解除", "снять"];
    }
    group for Overview {
        CHART Overview [Char('o')]: ["open the overview", "개요 열기", "概要を開く", "открыть обзор"]
            brief ["open", "열기", "開く", "открыть"];
        CHART Hosts [Char('I')]: ["all hosts, of several", "모든 호스트 (여럿일 때)", "全ホスト (複数のとき)", "все узлы (если их несколько)"]
            brief ["all hosts", "모든 호스트", "全ホスト", "все узлы"];
        OVERVIEW OpenChosen [ENTER] also [Click]:
            ["chart of a counter, details of a process", "카운터 차트, 프로세스 정보", "カウンターのグラフ、プロセスの詳細", "график счётчика, сведения о процессе"]
            brief ["details", "정보", "詳細", "сведения"];
        OVERVIEW SortNext [Char('s')] also [Char('n')]: SORT brief SORT_BRIEF;
        OVERVIEW SortPrevious [] also [Char('S'), Char('N')]: SORT;
        OVERVIEW Reverse [] also [Char('i')]: ["reverse the order", "순서 뒤집기", "逆の順序", "обратный порядок"];
        OVERVIEW Tree [] also [Char('H')]: ARRANGE;
        OVERVIEW ShowPane [Panes]: ["hide or show a pane", "창 숨김, 표시", "枠を隠す、表示", "скрыть, показать панель"]
            brief ["panes", "창", "枠", "панели"];
        OVERVIEW Preset [] also [Char('p')]:
            ["next preset of panes", "다음 창 구성", "次の枠の構成", "следующий набор панелей"];
        ACTING Act [Char('K')] also [DELETE]:
            ["end, stop or renice a process", "프로세스 종료, 중지, 우선순위", "プロセスの終了、停止、優先度", "завершить процесс, остановить, сменить приоритет"]
            brief ["end", "종료", "終了", "конец"];
    }
    group for Screens {
        CHART Providers [Char('D')]: ["providers", "공급자", "プロバイダー", "поставщики"];
        FAULT FailedProvider [Char('p')]:
            ["provider of a counter without a value", "값이 없는 카운터의 공급자", "値のないカウンターのプロバイダー", "поставщик счётчика без значения"]
            brief ["a failed one", "오류 원인", "障害元", "виновник"];
        CHART Sessions [Char('R')]: ["recording sessions", "기록 세션", "記録セッション", "сеансы записи"];
        CHART Alerts [Char('E')]: ["alerts", "경고", "アラート", "тревоги"];
    }
    group for Causes {
        CHART Findings [Char('W')] also [Char('!')]:
            ["findings: what is wrong, when, and who caused it", "발견: 무엇이, 언제, 누구 때문에 잘못되었는지", "検出: 何が、いつ、誰によって悪いか", "находки: что не так, когда и из-за кого"];
    }
    group for Screens {
        CHART Quit [Char('q'), Control('c')] also [Char('Q')]: ["quit", "종료", "終了", "выход"];
        CHART Suspend [Char('Z')]:
            ["back to the shell for a while", "잠시 셸로", "一時シェルへ", "временно в оболочку"];
    }
    hidden {
        HOSTS OpenChosen [ENTER] also [Click]:
            ["overview of the host", "호스트 개요", "ホストの概要", "обзор узла"]
            brief ["host", "호스트", "ホスト", "узел"];
        HOSTS SortNext [Char('s')] also [Char('n'), RIGHT]: COLUMN brief SORT_BRIEF;
        HOSTS SortPrevious [] also [Char('S'), Char('N'), LEFT]: COLUMN;
        HOSTS Reverse [] also [Char('i')]: ["reverse the order", "순서 뒤집기", "逆の順序", "обратный порядок"];
        CHART Help [Char('?'), Code(KeyCode::F(1))]: ["help", "도움말", "ヘルプ", "справка"];
        CHART Cancel [ESCAPE]:
            ["stop reading; else no cursor, no filter", "읽기 중지; 아니면 커서와 필터 해제", "読み込みを中止; または カーソルとフィルターを解除", "прервать чтение; или убрать курсор и фильтр"];
    }
};
