//! The tour of one minute: the keys for people who know Performance Monitor, and for those who know top.

use crate::keys::binding::{Command, Context, Label};

/// A page of the tour.
pub(crate) struct Page {
    pub(crate) title: Label,
    pub(crate) lines: &'static [Line],
}

/// Keys by their commands, and what they are for.
pub(crate) struct Line {
    pub(crate) context: Context,
    pub(crate) commands: &'static [Command],
    pub(crate) label: Label,
}

const fn line(context: Context, commands: &'static [Command], label: Label) -> Line {
    Line { context, commands, label }
}

/// The pages of the tour, in the order of the help.
pub(crate) const PAGES: [Page; 2] = [PERFMON, TOP];

const PERFMON: Page = Page {
    title: [
        "A minute for people from Performance Monitor",
        "성능 모니터를 쓰던 분을 위한 1분",
        "パフォーマンス モニターからの方への一分",
        "Минута для тех, кто знает системный монитор",
    ],
    lines: &[
        line(
            Context::Chart,
            &[Command::Graph, Command::Bars, Command::Report],
            [
                "line, histogram, report: the views you know",
                "꺾은선, 막대, 보고서: 익숙한 보기",
                "線、ヒストグラム、レポート: おなじみの表示",
                "график, гистограмма, отчёт: знакомые виды",
            ],
        ),
        line(
            Context::Chart,
            &[Command::AddCounters],
            [
                "add counters; type a word to search all of them",
                "카운터 추가, 낱말로 전체 검색",
                "カウンターの追加。語を打てば全体を検索",
                "добавить счётчики; слово ищет среди всех",
            ],
        ),
        line(
            Context::Chart,
            &[Command::Highlight, Command::Freeze, Command::Update],
            [
                "highlight, freeze the display, update it once",
                "강조, 화면 고정, 한 번 갱신",
                "強調、表示の固定、一回だけ更新",
                "выделить, заморозить, обновить один раз",
            ],
        ),
        line(
            Context::Chart,
            &[Command::Properties],
            [
                "properties: scale, colour, axes, titles",
                "속성: 배율, 색, 축, 제목",
                "プロパティ: 倍率、色、軸、題",
                "свойства: масштаб, цвет, оси, заголовки",
            ],
        ),
        line(
            Context::Chart,
            &[Command::Open, Command::Compare],
            [
                "open a log of Windows or Linux; compare with another",
                "Windows나 Linux 로그 열기, 다른 로그와 비교",
                "Windows や Linux のログを開く、別のログと比較",
                "открыть журнал Windows или Linux; сравнить с другим",
            ],
        ),
        line(
            Context::Chart,
            &[Command::Sessions, Command::Alerts],
            [
                "data collector sets and alerts: a makes a new one",
                "데이터 수집기 집합과 경고, a로 새로 만들기",
                "データ コレクター セットとアラート。a で新規",
                "группы сборщиков и оповещения: a создаёт новые",
            ],
        ),
        line(
            Context::Chart,
            &[Command::Contributors],
            [
                "new: at the cursor or by a click, who caused the spike",
                "새 기능: 커서나 클릭으로 급증의 원인 보기",
                "新機能: カーソルかクリックで山の原因を見る",
                "новое: у курсора или щелчком, кто вызвал всплеск",
            ],
        ),
        line(
            Context::Chart,
            &[Command::Overview],
            [
                "new: the overview of the whole machine",
                "새 기능: 컴퓨터 전체의 개요",
                "新機能: マシン全体の概要",
                "новое: обзор всего компьютера",
            ],
        ),
    ],
};

const TOP: Page = Page {
    title: [
        "A minute for people from top",
        "top을 쓰던 분을 위한 1분",
        "top からの方への一分",
        "Минута для тех, кто знает top",
    ],
    lines: &[
        line(
            Context::Chart,
            &[Command::Overview],
            [
                "the overview: processes and what they wait for",
                "개요: 프로세스와 그 대기 원인",
                "概要: プロセスと、その待ちの原因",
                "обзор: процессы и чего они ждут",
            ],
        ),
        line(
            Context::Overview,
            &[Command::SortNext, Command::Reverse, Command::Filter],
            [
                "another order, the other way around, a filter",
                "다른 순서, 반대로, 필터",
                "別の順序、逆順、フィルター",
                "другой порядок, наоборот, фильтр",
            ],
        ),
        line(
            Context::Overview,
            &[Command::OpenChosen, Command::Act],
            [
                "open a process: threads, files, sockets; end or renice it",
                "프로세스 열기: 스레드, 파일, 소켓; 종료, 우선순위",
                "プロセスを開く: スレッド、ファイル、ソケット。終了、優先度",
                "открыть процесс: потоки, файлы, сокеты; завершить его",
            ],
        ),
        line(
            Context::Overview,
            &[Command::ShowPane, Command::Preset],
            [
                "hide or show a pane; the next set of panes",
                "창 숨김, 표시; 다음 창 구성",
                "枠を隠す、表示。次の枠の構成",
                "скрыть или показать панель; другой набор",
            ],
        ),
        line(
            Context::Chart,
            &[Command::CursorBack, Command::CursorForward],
            [
                "new: back in time; every pane shows that second",
                "새 기능: 과거로, 모든 창이 그 시점을 표시",
                "新機能: 過去へ。すべての枠がその時点を表示",
                "новое: назад во времени; каждая панель покажет ту секунду",
            ],
        ),
        line(
            Context::Chart,
            &[Command::Live],
            ["back to now", "현재로", "今に戻る", "вернуться к настоящему"],
        ),
        line(
            Context::Chart,
            &[Command::Graph, Command::Table],
            [
                "the chart; a table of any object, also as a tree",
                "차트; 모든 개체의 표, 트리로도",
                "グラフ。どのオブジェクトの表も、ツリーでも",
                "график; таблица любого объекта, и деревом",
            ],
        ),
        line(
            Context::Chart,
            &[Command::Save, Command::Sessions],
            [
                "save what was seen as a log; record in the background",
                "본 것을 로그로 저장; 백그라운드에서 기록",
                "見たものをログに保存。背後で記録",
                "сохранить увиденное как журнал; записывать в фоне",
            ],
        ),
    ],
};
