//! The words of the interface in English, Korean, Japanese and Russian.
//!
//! Names and help texts of counters are not here: they come from the source.

use tallymon::core::title::Language;
use tallymon::translation::{Translation, of_findings};

use crate::model::format::Numbers;

/// Looks words up in one language.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Words {
    language: usize,
    /// Group the digits of large numbers.
    groups: bool,
}

impl Words {
    /// The words of a language; English where it has none.
    pub const fn of(language: Language) -> Words {
        let language = match language {
            Language::KOREAN => 1,
            Language::JAPANESE => 2,
            Language::RUSSIAN => 3,
            _ => 0,
        };
        Words { language, groups: true }
    }

    /// The same words, with grouped digits or not.
    pub const fn grouped(self, groups: bool) -> Words {
        Words { groups, ..self }
    }

    /// How numbers are written in the language.
    pub const fn numbers(self) -> Numbers {
        let separator = if self.language == 3 { ' ' } else { ',' };
        Numbers::new(if self.groups { Some(separator) } else { None })
    }

    /// One of four texts: English, Korean, Japanese, Russian.
    pub fn pick(self, texts: &[&'static str; 4]) -> &'static str {
        texts.get(self.language).copied().unwrap_or_default()
    }

    /// What the analysis says, such as the title of a finding, in the language.
    pub fn of_finding(self, english: &str) -> String {
        self.findings().map_or_else(|| english.to_owned(), |known| known.message(english))
    }

    /// As [`Words::of_finding`], for a text that has few words of its own, such as `rule {} ({}): {}`.
    pub fn of_phrase(self, english: &str) -> String {
        self.findings().map_or_else(|| english.to_owned(), |known| known.phrase(english))
    }

    fn findings(self) -> Option<&'static Translation> {
        const LANGUAGES: [Language; 4] =
            [Language::ENGLISH, Language::KOREAN, Language::JAPANESE, Language::RUSSIAN];
        LANGUAGES.get(self.language).copied().and_then(of_findings)
    }

    /// A word.
    pub fn get(self, word: Word) -> &'static str {
        let Some((_, words)) = TABLE.iter().find(|(known, _)| *known == word) else { return "" };
        self.pick(words)
    }
}

macro_rules! words {
    ($($word:ident: $english:literal, $korean:literal, $japanese:literal, $russian:literal;)*) => {
        /// A word or phrase of the interface.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum Word {
            $(#[doc = concat!("`", $english, "`")] $word,)*
        }

        const TABLE: &[(Word, [&str; 4])] = &[
            $((Word::$word, [$english, $korean, $japanese, $russian]),)*
        ];
    };
}

words! {
    Live: "live", "실시간", "ライブ", "сейчас";
    Frozen: "FROZEN", "정지", "停止中", "СТОП";
    Back: "PAST", "과거", "過去", "ПРОШЛОЕ";
    Last: "Last", "마지막", "最新", "Послед.";
    At: "At", "시점", "時点", "На момент";
    Average: "Avg", "평균", "平均", "Средн.";
    Unit: "Unit", "단위", "単位", "Ед.";
    Minimum: "Min", "최소", "最小", "Мин.";
    Maximum: "Max", "최대", "最大", "Макс.";
    Duration: "Dur", "기간", "期間", "Период";
    Colour: "Line", "선", "線", "Линия";
    Scale: "Scale", "배율", "倍率", "Масштаб";
    Counter: "Counter", "카운터", "カウンター", "Счётчик";
    Instance: "Instance", "인스턴스", "インスタンス", "Экземпляр";
    Parent: "Parent", "부모", "親", "Родитель";
    Object: "Object", "개체", "オブジェクト", "Объект";
    Host: "Host", "호스트", "ホスト", "Узел";
    Ended: "ended", "종료", "終了", "завершён";
    Others: "others", "기타", "その他", "прочие";
    Empty: "No counters: press a to add some",
        "카운터 없음: a를 눌러 추가하세요",
        "カウンターがありません: a で追加",
        "Нет счётчиков: нажмите a, чтобы добавить";
    TwoSamples: "a rate needs two samples",
        "속도에는 샘플이 두 개 필요합니다",
        "率には二つのサンプルが必要です",
        "для скорости нужны два замера";
    OldValue: "old value: the source does not answer",
        "오래된 값: 원본이 응답하지 않음",
        "古い値: ソースが応答しません",
        "старое значение: источник не отвечает";
    Refused: "partial sum: {1} of {2} refused",
        "부분 합계: {2}개 중 {1}개 거부됨",
        "部分的な合計: {2} 個のうち {1} 個が拒否",
        "неполная сумма: отказано {1} из {2}";
    Unreadable: "partial sum: {1} of {2} not readable",
        "부분 합계: {2}개 중 {1}개를 읽을 수 없음",
        "部分的な合計: {2} 個のうち {1} 個が読めません",
        "неполная сумма: не прочитано {1} из {2}";
    Rights: "run as root, or see 'tally doctor'",
        "root로 실행하거나 'tally doctor' 참조",
        "root で実行するか 'tally doctor' を参照",
        "запустите от root или см. 'tally doctor'";
    Retry: "retry in", "재시도까지", "再試行まで", "повтор через";
    NoAnswer: "the source does not answer; the values are gaps until it does",
        "원본이 응답하지 않아 값이 비어 있습니다",
        "ソースが応答しません。値は欠けます",
        "источник не отвечает, значения пропущены";
    AllHosts: "all hosts", "모든 호스트", "全ホスト", "все узлы";
    Opens: "connecting", "연결 중", "接続中", "подключение";
    LateHost: "late", "늦음", "遅延", "молчит";
    LateSince: "no answer for {1}: these are its last values",
        "{1} 동안 응답 없음: 마지막 값입니다",
        "{1} 応答なし: 最後の値です",
        "нет ответа {1}: это последние значения";
    NoValuesYet: "no values yet", "아직 값이 없습니다", "まだ値がありません", "значений ещё нет";
    LastValues: "the last values are {1} old", "마지막 값: {1} 전", "最後の値は {1} 前", "последним значениям {1}";
    ClockAhead: "its clock is ahead by {1}; the times here are those of this machine",
        "호스트 시계가 {1} 빠릅니다. 시간은 이 컴퓨터의 시간입니다",
        "ホストの時計が {1} 進んでいます。時刻はこのマシンのものです",
        "его часы спешат на {1}; время здесь своё";
    ClockBehind: "its clock is behind by {1}; the times here are those of this machine",
        "호스트 시계가 {1} 느립니다. 시간은 이 컴퓨터의 시간입니다",
        "ホストの時計が {1} 遅れています。時刻はこのマシンのものです",
        "его часы отстают на {1}; время здесь своё";
    Age: "Age", "경과", "経過", "Давность";
    Clock: "Clock", "시계", "時計", "Часы";
    Queue: "Queue", "대기열", "待ち", "Очередь";
    DidYouMean: "did you mean", "혹시", "もしかして", "возможно,";
    Unknown: "not found", "찾을 수 없음", "見つかりません", "не найдено";
    AddTitle: "Add counters", "카운터 추가", "カウンターの追加", "Добавить счётчики";
    Search: "Search", "검색", "検索", "Поиск";
    AllInstances: "all and new ones", "전체 및 새 인스턴스", "すべて、新しいものも", "все, включая новые";
    NoInstances: "no instances", "인스턴스 없음", "インスタンスなし", "нет экземпляров";
    NothingFound: "nothing found", "결과 없음", "該当なし", "ничего не найдено";
    Now: "now", "현재", "現在", "сейчас";
    Type: "type", "형식", "型", "тип";
    Formula: "formula", "수식", "式", "формула";
    Costly: "costly to collect", "수집 비용이 높음", "収集コストが高い", "дорогой сбор";
    Added: "added", "추가됨", "追加しました", "добавлено";
    HelpTitle: "Keys", "키", "キー", "Клавиши";
    ExplainTitle: "What it means", "설명", "説明", "Что это значит";
    EscapeCloses: "Esc closes", "Esc: 닫기", "Esc: 閉じる", "Esc закрывает";
    TourKeys: "a tour of one minute", "1분 안내", "一分間の案内", "обзор за минуту";
    SearchKeys: "search", "검색", "検索", "поиск";
    CloseKeys: "any key closes", "아무 키나 누르면 닫힘", "任意のキーで閉じる", "любая клавиша закрывает";
    SaveAs: "save as (.csv .tsv .blg .svg .html .tallymon)",
        "다른 이름으로 저장 (.csv .tsv .blg .svg .html .tallymon)",
        "名前を付けて保存 (.csv .tsv .blg .svg .html .tallymon)",
        "сохранить как (.csv .tsv .blg .svg .html .tallymon)";
    OpenFile: "open logs or settings", "로그 또는 설정 열기", "ログまたは設定を開く", "открыть журналы или набор";
    CompareWith: "compare with a log (empty: stop comparing)",
        "비교할 로그 (빈칸: 끝)",
        "比較するログ (空: 終わり)",
        "сравнить с журналом (пусто: нет)";
    NotALog: "this is a settings file, not a log", "로그가 아니라 설정입니다", "ログではなく設定です", "это набор, а не журнал";
    Change: "Change", "변화", "変化", "Разница";
    Opening: "opening", "여는 중", "開いています", "открывается";
    ReadingValues: "reading values", "값 읽는 중", "値を読んでいます", "чтение значений";
    EscapeStops: "Esc stops", "Esc 중지", "Esc 中止", "Esc прервать";
    Saved: "saved", "저장됨", "保存しました", "сохранено";
    GoTo: "go to time (hh:mm[:ss])",
        "시간으로 이동 (hh:mm[:ss])",
        "時刻へ移動 (hh:mm[:ss])",
        "перейти ко времени (чч:мм[:сс])";
    NotATime: "not a time of day", "시간이 아닙니다", "時刻ではありません", "это не время";
    Filter: "filter", "필터", "フィルター", "фильтр";
    Paste: "counter path", "카운터 경로", "カウンターパス", "путь счётчика";
    Copied: "copied", "복사됨", "コピーしました", "скопировано";
    TooMany: "too many values for a clipboard: zoom in, or save them",
        "클립보드에 담기에 값이 너무 많습니다: 확대하거나 저장하세요",
        "クリップボードには値が多すぎます: 拡大するか保存してください",
        "слишком много значений: увеличьте или сохраните";
    Time: "Time", "시간", "時刻", "Время";
    Kept: "in memory", "메모리", "メモリ", "в памяти";
    ContributorsAt: "top contributors at", "원인", "原因", "виновники";
    NoContributors: "no data for this time", "이 시점의 기록이 없습니다", "この時点の記録はありません", "за эту секунду ничего нет";
    Log: "LOG", "로그", "ログ", "ЖУРНАЛ";
    Records: "records", "레코드", "レコード", "записей";
    Damaged: "the log is damaged", "로그가 손상됨", "ログが破損", "журнал повреждён";
    InBothLogs: "counters in both logs, taken from",
        "두 로그에 있는 카운터, 사용한 로그",
        "両方のログにあるカウンター、使うログ",
        "счётчики в обоих журналах, взяты из";
    InMemory: "records in memory", "메모리의 레코드", "メモリ内のレコード", "записей в памяти";
    SortedBy: "sorted by", "정렬", "並べ替え", "сортировка";
    PropertiesTitle: "Properties", "속성", "プロパティ", "Свойства";
    GraphTitle: "Title", "제목", "題名", "Заголовок";
    AxisLabel: "Axis label", "축 이름", "軸の名前", "Подпись оси";
    AxisMaximum: "Axis maximum", "축 최대값", "軸の最大値", "Максимум оси";
    AxisMinimum: "Axis minimum", "축 최소값", "軸の最小値", "Минимум оси";
    NotAnAxisEnd: "not a valid end of the axis", "축의 끝값이 아닙니다", "軸の端の値ではありません", "это не граница оси";
    Legend: "Legend", "범례", "凡例", "Легенда";
    ValueBar: "Value bar", "값 표시줄", "値バー", "Строка значений";
    ScaleLabels: "Axis numbers", "축 숫자", "軸の数値", "Числа оси";
    TimeLabels: "Times", "시간 표시", "時刻の表示", "Время под графиком";
    DigitGrouping: "Digit grouping", "숫자 묶음", "桁区切り", "Группы разрядов";
    ToolTips: "Tooltips", "도구 설명", "ツールヒント", "Подсказки";
    On: "on", "켜짐", "オン", "вкл.";
    Off: "off", "꺼짐", "オフ", "выкл.";
    Grid: "Grid", "눈금선", "目盛線", "Сетка";
    GridNone: "none", "없음", "なし", "нет";
    GridHorizontal: "horizontal", "가로", "横", "горизонтальная";
    GridVertical: "vertical", "세로", "縦", "вертикальная";
    GridBoth: "both", "모두", "両方", "обе";
    ColourNumber: "Colour", "색", "色", "Цвет";
    Pattern: "Pattern", "무늬", "線種", "Узор";
    LineWidth: "Width", "두께", "太さ", "Толщина";
    Thin: "thin", "가늘게", "細い", "тонкая";
    Thick: "thick", "굵게", "太い", "толстая";
    ScaleDefault: "default", "기본", "既定", "исходный";
    ScaleFit: "fit", "맞춤", "合わせる", "подогнан";
    Threshold: "threshold (empty: none)", "임계값 (빈칸: 없음)", "しきい値 (空: なし)", "порог (пусто: нет)";
    NotANumber: "not a number", "숫자가 아닙니다", "数値ではありません", "это не число";
    Over: "above the threshold", "임계값 초과", "しきい値超過", "выше порога";
    Providers: "Providers", "공급자", "プロバイダー", "Поставщики";
    Name: "Name", "이름", "名前", "Имя";
    Kind: "Kind", "종류", "種類", "Вид";
    KindLibrary: "library", "라이브러리", "ライブラリ", "библиотека";
    KindShared: "shared memory", "공유 메모리", "共有メモリ", "общая память";
    KindBuiltIn: "built-in", "내장", "組み込み", "встроенный";
    KindElsewhere: "elsewhere", "외부", "外部", "внешний";
    State: "State", "상태", "状態", "Состояние";
    Healthy: "healthy", "정상", "正常", "исправен";
    Degraded: "degraded", "일부만", "一部のみ", "частично";
    Unsupported: "unsupported", "지원 안 됨", "非対応", "не поддерживается";
    Failed: "failed", "실패", "失敗", "сбой";
    Disabled: "disabled", "사용 안 함", "無効", "отключён";
    Enabled: "enabled", "사용 중", "有効", "включён";
    NotAsked: "not asked", "요청 안 됨", "未要求", "не опрошен";
    Took: "Took", "소요", "所要", "Время";
    Share: "Share", "비중", "割合", "Доля";
    Asked: "Asked", "요청", "要求", "Опросов";
    Errors: "Errors", "오류", "エラー", "Ошибок";
    Late: "Late", "지연", "遅延", "Поздно";
    Restarts: "Restarts", "재시작", "再起動", "Запусков";
    NoProviderData: "this source has no provider data; these are its objects",
        "이 원본은 공급자를 알려주지 않습니다. 개체 목록입니다",
        "このソースはプロバイダーの状態を持ちません。オブジェクトの一覧です",
        "источник не сообщает о поставщиках; это его объекты";
    Enable: "enable", "사용", "有効にする", "включить";
    Disable: "disable", "사용 안 함", "無効にする", "отключить";
    OnlyLibraries: "only libraries can be enabled and disabled",
        "라이브러리만 사용 여부를 바꿀 수 있습니다",
        "有効・無効にできるのはライブラリだけです",
        "включают и отключают только библиотеки";
    NotHere: "only for live data of this machine",
        "현재 이 컴퓨터에서만 가능합니다",
        "このマシンの現在でのみ可能です",
        "только на самой машине, сейчас";
    Sessions: "Recording sessions", "기록 세션", "記録セッション", "Сеансы записи";
    NoSessions: "there are no recording sessions", "기록 세션이 없습니다", "記録セッションはありません", "сеансов записи нет";
    NoLogYet: "no log yet", "아직 로그가 없습니다", "ログはまだありません", "журнала ещё нет";
    Interval: "Every", "간격", "間隔", "Интервал";
    Size: "Size", "크기", "サイズ", "Размер";
    Logs: "Logs", "로그", "ログ", "Журналов";
    AllObjects: "all objects", "모든 개체", "すべてのオブジェクト", "все объекты";
    Recording: "recording", "기록 중", "記録中", "идёт запись";
    Waiting: "waiting", "대기 중", "待機中", "ожидает";
    Stopped: "stopped", "중지됨", "停止", "остановлен";
    Killed: "killed", "강제 종료됨", "強制終了", "прерван";
    Start: "start", "시작", "開始", "начать";
    DeleteSession: "delete, its logs stay", "삭제, 로그는 유지", "削除、ログは残る", "удалить, журналы останутся";
    Stop: "stop", "중지", "停止する", "остановить";
    Alerts: "Alerts", "경고", "アラート", "Тревоги";
    NoAlerts: "no threshold was crossed; L in the chart sets one",
        "넘은 임계값이 없습니다. 차트에서 L로 설정합니다",
        "しきい値を越えたものはありません。グラフの L で設定します",
        "порог не пересекался; L на графике задаёт порог";
    Findings: "Findings", "발견", "検出", "Выводы";
    NoFindings: "nothing stands out", "특이 사항이 없습니다", "特に目立つ点はありません", "ничего особенного";
    LooksForFindings: "looking for what is wrong", "문제를 찾는 중", "問題を探しています", "идёт поиск неполадок";
    TooEarlyForFindings: "a minute of history is needed first", "먼저 1분의 기록이 필요합니다", "まず一分の履歴が必要です", "сначала нужна минута истории";
    Severity: "Severity", "심각도", "重大度", "Важность";
    Critical: "critical", "심각", "重大", "критично";
    Warning: "warning", "주의", "注意", "внимание";
    Note: "note", "참고", "参考", "заметка";
    What: "What", "내용", "内容", "Что";
    Begin: "From", "시작", "開始", "С";
    Lasts: "For", "지속", "継続", "Длится";
    Worst: "worst", "최악", "最悪", "худшее";
    Usual: "usual", "평소", "通常", "обычно";
    Who: "who", "원인", "原因", "кто";
    MovesWith: "moves with it", "함께 변한 카운터", "共に動いたもの", "меняется вместе";
    NextStep: "next", "다음", "次に", "дальше";
    ShareOfTime: "share of time", "시간 비율", "時間の割合", "доля времени";
    NotInMemory: "that time is no longer in memory",
        "그 시간은 더 이상 메모리에 없습니다",
        "その時刻はもうメモリにありません",
        "этого времени уже нет в памяти";
    Value: "Value", "값", "値", "Значение";
    Limit: "Threshold", "임계값", "しきい値", "Порог";
    BackBelow: "back below", "임계값 이하로 돌아옴", "しきい値以下に戻る", "снова не выше";
    SaveList: "save the list as", "목록 저장", "一覧を保存", "сохранить список как";
    AsTree: "as a tree", "트리로", "ツリー表示", "деревом";
    NoParents: "this object has no parent processes",
        "여기서는 부모를 알 수 없습니다",
        "ここでは親が分かりません",
        "родители здесь неизвестны";
    OfTicked: "ticked instances only", "선택한 것만", "選択したもののみ", "только отмеченное";
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_word_is_there_in_every_language() {
        for (word, words) in TABLE {
            for (language, text) in words.iter().enumerate() {
                assert!(!text.is_empty(), "{word:?} in language {language}");
            }
        }
    }

    /// Names of keys, file endings and commands, which are the same in all languages.
    const NAMES: [&str; 33] = [
        "a", "b", "c", "d", "e", "f", "g", "i", "m", "n", "r", "s", "t", "v", "w", "q", "x10", "A", "H", "L",
        "N", "T", "Z", "Enter", "Space", "Esc", "Tab", "Del", "PgUp", "PgDn", "root", "tally", "doctor",
    ];

    #[test]
    fn other_languages_have_no_english_words() {
        for (word, [english, others @ ..]) in TABLE {
            for text in others {
                assert_ne!(text, english, "{word:?}");
                let latin = text.split(|letter: char| !letter.is_ascii_alphanumeric());
                for part in latin.filter(|part| part.contains(|letter: char| letter.is_ascii_alphabetic())) {
                    let is_form =
                        ["csv", "tsv", "blg", "svg", "html", "tallymon", "hh", "mm", "ss"].contains(&part);
                    assert!(is_form || NAMES.contains(&part), "{part:?} in {word:?}: {text}");
                }
            }
        }
    }

    #[test]
    fn a_language_without_words_is_english() {
        assert_eq!(Words::of(Language::GERMAN).get(Word::Last), "Last");
        assert_eq!(Words::of(Language::KOREAN).get(Word::Last), "마지막");
    }
}
