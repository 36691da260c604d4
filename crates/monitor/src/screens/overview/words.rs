//! The words of the overview in English, Korean, Japanese and Russian.

use crate::keys::binding::Label;
use crate::model::overview::{Pane, ProcessMetric, Sensor, SensorKind};

pub(super) const LOAD: Label = ["load", "부하", "負荷", "нагрузка"];
pub(super) const DISK_WAIT: Label = ["disk wait", "디스크 대기", "ディスク待ち", "ждут диск"];
pub(super) const STOLEN: Label = ["stolen", "빼앗김", "横取り", "отнято"];
pub(super) const NO_SWAP: Label = ["no swap", "스왑 없음", "スワップなし", "нет подкачки"];
pub(super) const OTHERS: Label = ["others", "기타", "その他", "другие"];
pub(super) const USER: Label = ["user", "사용자", "ユーザー", "польз."];
pub(super) const KERNEL: Label = ["kernel", "커널", "カーネル", "ядро"];
pub(super) const WAITING: Label = ["waiting", "대기", "待ち", "ждут"];
pub(super) const PROCESSES: Label = ["processes", "프로세스", "プロセス", "процессов"];
pub(super) const THREADS: Label = ["threads", "스레드", "スレッド", "потоков"];
pub(super) const SWITCHES: Label = ["switches", "전환", "切替", "переключ."];
pub(super) const UP: Label = ["up", "가동", "稼働", "работает"];
pub(super) const USED: Label = ["used", "사용", "使用", "занято"];
pub(super) const CACHE: Label = ["cache", "캐시", "キャッシュ", "кэш"];
pub(super) const FREE: Label = ["free", "여유", "空き", "свободно"];
pub(super) const AVAILABLE: Label = ["available", "사용 가능", "利用可能", "доступно"];
pub(super) const COMMITTED: Label = ["committed", "커밋", "コミット", "выделено"];
pub(super) const OF: Label = ["of", "/", "/", "из"];
pub(super) const SWAP: Label = ["swap", "스왑", "スワップ", "подкачка"];
pub(super) const PAGING: Label = ["pages", "페이지", "ページ", "страниц"];
pub(super) const READ: Label = ["read", "읽기", "読込", "чтение"];
pub(super) const WRITE: Label = ["write", "쓰기", "書込", "запись"];
pub(super) const IDLE: Label = ["idle", "유휴", "待機", "без дела"];
pub(super) const VIRTUAL: Label = ["idle, virtual", "유휴, 가상", "待機、仮想", "без дела, вирт."];
pub(super) const IN: Label = ["in", "수신", "受信", "приём"];
pub(super) const OUT: Label = ["out", "송신", "送信", "отдача"];
pub(super) const SINCE_START: Label = ["since the start", "시작 이후", "起動以降", "с запуска"];
pub(super) const WAITED_FOR: Label =
    ["tasks waited for", "작업 대기 원인", "タスクが待ったもの", "задачи ждали"];
pub(super) const PROCESSOR: Label = ["CPU", "프로세서", "プロセッサ", "ЦП"];
pub(super) const MEMORY: Label = ["memory", "메모리", "メモリ", "память"];
pub(super) const DISKS: Label = ["disks", "디스크", "ディスク", "диски"];
pub(super) const ALL: Label = ["all", "모두", "全て", "все"];
pub(super) const LACKS: Label = ["no data for", "데이터 없음:", "データなし:", "нет данных:"];
pub(super) const NOT_KEPT: Label = [
    "nothing is kept of this second",
    "이 시점의 기록이 없습니다",
    "この時点の記録はありません",
    "эта секунда не сохранена",
];
pub(super) const NO_SUCH: Label = [
    "no process passes the filter",
    "필터에 맞는 프로세스 없음",
    "一致するプロセスなし",
    "фильтр не прошёл ни один",
];
pub(super) const LARGEST: Label = ["the largest", "가장 큰", "最大の", "крупнейшие"];
pub(super) const GROUPS: Label = ["groups", "그룹", "グループ", "групп"];

/// The title of a pane, and a shorter one.
pub(super) const fn title(pane: Pane) -> (Label, Label) {
    match pane {
        Pane::Processors => {
            (["Processors", "프로세서", "プロセッサ", "Процессоры"], ["CPU", "CPU", "CPU", "ЦП"])
        }
        Pane::Memory => (["Memory", "메모리", "メモリ", "Память"], ["Mem", "메모리", "メモリ", "Пам."]),
        Pane::Disks => (["Disks", "디스크", "ディスク", "Диски"], ["Disk", "디스크", "ディスク", "Диск"]),
        Pane::Network => (["Network", "네트워크", "ネットワーク", "Сеть"], ["Net", "망", "通信", "Сеть"]),
        Pane::Space => (
            ["File systems", "파일 시스템", "ファイル システム", "Файловые системы"],
            ["Space", "공간", "空き", "Место"],
        ),
        Pane::Sensors => (["Sensors", "센서", "センサー", "Датчики"], ["Heat", "센서", "温度", "Датч."]),
        Pane::Containers => {
            (["Containers", "컨테이너", "コンテナー", "Контейнеры"], ["Cont", "컨테이", "コンテ", "Конт."])
        }
        Pane::Graphics => (["Graphics", "그래픽", "グラフィックス", "Графика"], ["GPU", "GPU", "GPU", "ГП"]),
        Pane::Pressure => (["Pressure", "압박", "圧力", "Ожидание"], ["Wait", "대기", "待ち", "Жд."]),
        Pane::Processes => {
            (["Processes", "프로세스", "プロセス", "Процессы"], ["Proc", "프로세스", "プロセス", "Проц."])
        }
    }
}

/// The heading of a column of the processes.
pub(super) const fn heading(metric: ProcessMetric) -> Label {
    match metric {
        ProcessMetric::Processor => ["CPU %", "CPU %", "CPU %", "ЦП %"],
        ProcessMetric::Memory => ["Memory", "메모리", "メモリ", "Память"],
        ProcessMetric::InputOutput => ["I/O", "입출력", "入出力", "Ввод-выв"],
        ProcessMetric::Threads => ["Thr", "스레드", "スレ", "Пот."],
        ProcessMetric::Id => ["PID", "PID", "PID", "PID"],
        ProcessMetric::Parent => ["PPID", "PPID", "PPID", "PPID"],
    }
}

pub(super) const USER_COLUMN: Label = ["User", "사용자", "ユーザー", "Польз."];
pub(super) const UNIT_COLUMN: Label = ["Service", "서비스", "サービス", "Служба"];
pub(super) const COMMAND_COLUMN: Label = ["Command", "명령", "コマンド", "Команда"];

/// The speed of processors: `800 MHz`, `2.6 GHz`.
pub(super) fn speed(megahertz: f64) -> String {
    match megahertz {
        megahertz if megahertz < 1_000.0 => format!("{megahertz:.0} MHz"),
        megahertz => format!("{:.1} GHz", megahertz / 1_000.0),
    }
}

/// The value of a sensor with its unit; empty when there is none.
pub(super) fn sensor_value(sensor: &Sensor) -> String {
    let Some(number) = sensor.gauge.number() else { return String::new() };
    match sensor.kind {
        SensorKind::Temperature => format!("{number:.0} °C"),
        SensorKind::Charge => format!("{number:.0} %"),
        SensorKind::Power => format!("{number:.1} W"),
        SensorKind::Fan => format!("{number:.0} rpm"),
    }
}
