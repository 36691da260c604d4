//! The manual of the keys, `docs/monitor-keys.md`: only a test needs it, to write the page and to compare it.

use std::fmt::Write as _;

use super::binding::{Context, Label};
use super::show::name;
use super::table::bindings;

/// The sections of the manual.
const SECTIONS: &[(&[Context], Label)] = &[
    (&[Context::Chart, Context::Log, Context::Fault], ["Chart", "차트", "グラフ", "График"]),
    (&[Context::Overview], ["Overview", "개요", "概要", "Обзор"]),
    (&[Context::Process], ["Details of a process", "프로세스 정보", "プロセスの詳細", "Сведения о процессе"]),
    (
        &[Context::Act],
        ["End or stop a process", "프로세스 종료, 중지", "プロセスの終了、停止", "Завершить процесс"],
    ),
    (&[Context::Contributors], ["Top contributors", "원인", "原因", "Виновники"]),
    (&[Context::Table], ["Table", "표", "表", "Таблица"]),
    (&[Context::Objects], ["Choose an object", "개체 선택", "オブジェクトの選択", "Выбор объекта"]),
    (&[Context::Add], ["Add counters", "카운터 추가", "カウンターの追加", "Добавить счётчики"]),
    (&[Context::Properties], ["Properties", "속성", "プロパティ", "Свойства"]),
    (&[Context::Providers], ["Providers", "공급자", "プロバイダー", "Поставщики"]),
    (&[Context::Sessions], ["Recording sessions", "기록 세션", "記録セッション", "Сеансы записи"]),
    (&[Context::Form], ["New session", "새 세션", "新しいセッション", "Новый сеанс"]),
    (&[Context::Alerts], ["Alerts", "경고", "アラート", "Тревоги"]),
    (&[Context::Findings], ["Findings", "발견", "検出", "Выводы"]),
    (&[Context::Help], ["Help", "도움말", "ヘルプ", "Справка"]),
    (&[Context::Prompt], ["A line of text", "입력 줄", "入力行", "Строка ввода"]),
];

/// The manual of the keys, as Markdown, in four languages.
pub(super) fn manual() -> String {
    let mut text = "# Keys of the monitor

`?` shows the most important ones. Every key that is bound, screen by screen; in the help screen any other key
closes, as in the explanation of a counter, and the wheel scrolls. The table below comes from
`crates/monitor/src/keys`: a test compares them, and `TALLYMON_BLESS=1 cargo test -p tallymon-monitor keys` writes
this page again.
"
    .to_string();
    for (contexts, title) in SECTIONS {
        // Writing into a text cannot fail.
        let _ = write!(
            text,
            "\n## {}\n\n| | English | 한국어 | 日本語 | Русский |\n|---|---|---|---|---|\n",
            title[0]
        );
        let [_, others @ ..] = title;
        let _ = writeln!(text, "| | **{}** | **{}** |", title[0], others.join("** | **"));
        let here =
            bindings().filter(|binding| contexts.iter().any(|context| binding.contexts.contains(context)));
        let mut rows: Vec<(Vec<String>, Label)> = Vec::new();
        for binding in here {
            let keys = binding.all_keys().map(|key| code(&name(key, false)));
            // The keys up and down do the same in two directions.
            match rows.last_mut().filter(|(_, label)| *label == binding.label) {
                Some((known, _)) => known.extend(keys),
                None => rows.push((keys.collect(), binding.label)),
            }
        }
        for (keys, label) in rows {
            let _ = writeln!(text, "| {} | {} |", keys.join(" "), label.join(" | "));
        }
    }
    text
}

/// A key as code in a table, where a bar would end the cell.
fn code(name: &str) -> String {
    format!("`{}`", name.replace('|', "\\|"))
}
