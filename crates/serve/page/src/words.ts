// The words of the page in four languages. Names and help texts of counters come from the server.
import { signal } from "@preact/signals";

export type Lang = "en" | "ko" | "ja" | "ru";
const LANGS: Lang[] = ["en", "ko", "ja", "ru"];
export const LANG_NAMES: Record<Lang, string> = { en: "English", ko: "한국어", ja: "日本語", ru: "Русский" };

function firstLang(): Lang {
  const known = remembered("lang");
  const wanted = [known, ...(navigator.languages ?? [])].map((one) => one?.slice(0, 2) as Lang);
  return wanted.find((one) => LANGS.includes(one)) ?? "en";
}

/** A setting of this browser; the page works without. */
export function remembered(name: string): string | null {
  try { return localStorage.getItem(`tally-${name}`); } catch { return null; }
}

export function remember(name: string, value: string): void {
  try { localStorage.setItem(`tally-${name}`, value); } catch { /* a report in a file may not keep anything */ }
}

export const lang = signal<Lang>(firstLang());

const TABLE = {
  overview: ["Overview", "개요", "概要", "Обзор"],
  monitor: ["Monitor", "모니터", "モニター", "Монитор"],
  logs: ["Logs", "로그", "ログ", "Журналы"],
  explain: ["Explain", "설명", "説明", "Пояснение"],
  report: ["Report", "보고서", "レポート", "Отчёт"],
  source: ["Source", "원본", "ソース", "Источник"],
  live: ["this machine, live", "이 컴퓨터, 실시간", "このマシン、ライブ", "этот компьютер, сейчас"],
  add: ["Add counters", "카운터 추가", "カウンターの追加", "Добавить счётчики"],
  added: ["Chart", "차트", "グラフ", "График"],
  remove: ["Remove", "제거", "削除", "Удалить"],
  close: ["Close", "닫기", "閉じる", "Закрыть"],
  search: ["Search: words in any language, a number, or a path", "검색: 모든 언어의 단어, 번호 또는 경로", "検索: 任意の言語の語、番号、パス", "Поиск: слова на любом языке, номер или путь"],
  objects: ["Objects", "개체", "オブジェクト", "Объекты"],
  counters: ["Counters", "카운터", "カウンター", "Счётчики"],
  instances: ["Instances", "인스턴스", "インスタンス", "Экземпляры"],
  all: ["All, and new ones", "전체 및 새 인스턴스", "すべて（新規も）", "Все и новые"],
  filter: ["Filter", "필터", "フィルター", "Фильтр"],
  nothing: ["Nothing was found.", "찾지 못했습니다.", "見つかりません。", "Ничего не найдено."],
  type: ["Type", "형식", "種類", "Тип"],
  formula: ["Formula", "수식", "式", "Формула"],
  numbers: ["With the last two samples", "마지막 두 샘플로", "最新の 2 サンプルで", "С двумя последними замерами"],
  unit: ["Unit", "단위", "単位", "Единица"],
  names: ["Names", "이름", "名前", "Названия"],
  path: ["Path", "경로", "パス", "Путь"],
  value: ["Value", "값", "値", "Значение"],
  last: ["Last", "마지막", "最新", "Послед."],
  avg: ["Average", "평균", "平均", "Среднее"],
  min: ["Minimum", "최소", "最小", "Минимум"],
  max: ["Maximum", "최대", "最大", "Максимум"],
  duration: ["Duration", "기간", "期間", "Период"],
  stddev: ["Std. deviation", "표준 편차", "標準偏差", "Ст. отклонение"],
  p95: ["95 %", "95 %", "95 %", "95 %"],
  slope: ["Slope/min", "기울기/분", "傾き/分", "Наклон/мин"],
  sum: ["Sum", "합계", "合計", "Сумма"],
  color: ["Line", "선", "線", "Линия"],
  scale: ["Scale", "배율", "倍率", "Масштаб"],
  counter: ["Counter", "카운터", "カウンター", "Счётчик"],
  instance: ["Instance", "인스턴스", "インスタンス", "Экземпляр"],
  parent: ["Parent", "부모", "親", "Родитель"],
  object: ["Object", "개체", "オブジェクト", "Объект"],
  view: ["View", "보기", "表示", "Вид"],
  line: ["Line", "선", "折れ線", "Линии"],
  area: ["Area", "영역", "面", "Области"],
  stacked: ["Stacked area", "누적 영역", "積み上げ面", "С накоплением"],
  bars: ["Histogram", "막대", "ヒストグラム", "Гистограмма"],
  values: ["Report", "보고서", "レポート", "Отчёт"],
  sweep: ["Sweep", "스윕", "スイープ", "Развёртка"],
  time: ["Time", "시간", "時間", "Время"],
  minutes: ["min", "분", "分", "мин"],
  whole: ["Everything", "전체", "全体", "Всё"],
  freeze: ["Freeze", "정지", "停止", "Пауза"],
  frozen: ["Frozen", "정지됨", "停止中", "Пауза"],
  go: ["Continue", "계속", "再開", "Продолжить"],
  highlight: ["Highlight", "강조", "強調", "Выделить"],
  zoom: ["Zoom in", "확대", "拡大", "Увеличить"],
  unzoom: ["Zoom out", "축소", "全体表示", "Уменьшить"],
  selection: ["Selection", "선택 영역", "選択範囲", "Выделение"],
  who: ["Who caused it?", "원인은?", "原因は？", "Кто виноват?"],
  causes: ["Largest at", "가장 큰 항목:", "最大:", "Наибольшие на"],
  noCauses: ["No instances are known for this time.", "이 시간의 인스턴스가 없습니다.", "この時刻のインスタンスはありません。", "Для этого времени экземпляров нет."],
  data: ["Values as a table", "표로 보기", "表で表示", "Значения таблицей"],
  none: ["No counters yet.", "아직 카운터가 없습니다.", "カウンターはまだありません。", "Счётчиков пока нет."],
  waiting: ["Waiting for the first samples …", "첫 샘플을 기다리는 중 …", "最初のサンプルを待っています…", "Ожидание первых замеров …"],
  connecting: ["Connecting …", "연결 중 …", "接続中…", "Соединение …"],
  gone: ["The server does not answer. Trying again; the chart stays.", "서버가 응답하지 않습니다. 다시 시도 중; 차트는 유지됩니다.", "サーバーが応答しません。再試行中です。グラフは残ります。", "Сервер не отвечает. Повтор; график сохранён."],
  denied: ["This page has no right to ask. Open the address that 'tally serve' printed.", "권한이 없습니다. 'tally serve'가 출력한 주소를 여십시오.", "権限がありません。'tally serve' が表示したアドレスを開いてください。", "Нет доступа. Откройте адрес, который вывела 'tally serve'."],
  paused: ["Paused while the tab is hidden", "탭이 숨겨져 일시 중지됨", "タブが非表示の間は停止", "Пауза: вкладка скрыта"],
  processors: ["Processors", "프로세서", "プロセッサ", "Процессоры"],
  memory: ["Memory", "메모리", "メモリ", "Память"],
  disks: ["Disks", "디스크", "ディスク", "Диски"],
  fileSystems: ["File systems", "파일 시스템", "ファイル システム", "Файловые системы"],
  sensors: ["Sensors", "센서", "センサー", "Датчики"],
  load: ["Load", "부하", "負荷", "Нагрузка"],
  user: ["User", "사용자", "ユーザー", "Программы"],
  kernel: ["Kernel", "커널", "カーネル", "Ядро"],
  diskWait: ["Disk wait", "디스크 대기", "ディスク待ち", "Ждут диск"],
  stolen: ["Stolen", "빼앗김", "横取り", "Отнято"],
  latency: ["Latency", "대기 시간", "待ち時間", "Задержка"],
  of: ["of", "/", "/", "из"],
  link: ["link", "링크", "リンク", "канал"],
  sinceStart: ["since the start", "시작 이후", "起動以降", "с запуска"],
  others: ["others", "기타", "その他", "другие"],
  network: ["Network", "네트워크", "ネットワーク", "Сеть"],
  pressure: ["Pressure", "압력", "プレッシャー", "Нехватка"],
  processes: ["Processes", "프로세스", "プロセス", "Процессы"],
  threads: ["Threads", "스레드", "スレッド", "Потоки"],
  queue: ["Queue", "대기열", "キュー", "Очередь"],
  up: ["Up", "가동", "稼働", "Работает"],
  used: ["used", "사용", "使用中", "занято"],
  cached: ["cached", "캐시", "キャッシュ", "кэш"],
  free: ["free", "여유", "空き", "свободно"],
  available: ["Available", "사용 가능", "利用可能", "Доступно"],
  committed: ["Committed", "커밋됨", "コミット済み", "Выделено"],
  swap: ["Swap", "스왑", "スワップ", "Подкачка"],
  busy: ["Busy", "사용률", "使用率", "Занят"],
  readWord: ["Read", "읽기", "読み取り", "Чтение"],
  written: ["Written", "쓰기", "書き込み", "Запись"],
  received: ["Received", "수신", "受信", "Получено"],
  sent: ["Sent", "송신", "送信", "Отправлено"],
  idle: ["idle or virtual", "유휴 또는 가상", "アイドルまたは仮想", "простаивают или виртуальные"],
  processor: ["Processor", "프로세서", "プロセッサ", "Процессор"],
  disk: ["Disk", "디스크", "ディスク", "Диск"],
  io: ["I/O per second", "초당 I/O", "I/O/秒", "Ввод-вывод/с"],
  name: ["Name", "이름", "名前", "Имя"],
  drop: ["Drop performance logs here (BLG, CSV, TSV, native, SQLite, Parquet), or choose files", "성능 로그를 여기에 놓거나 파일을 선택하십시오 (BLG, CSV, TSV, native, SQLite, Parquet)", "性能ログをここにドロップするか、ファイルを選択 (BLG、CSV、TSV、native、SQLite、Parquet)", "Перетащите журналы сюда (BLG, CSV, TSV, native, SQLite, Parquet) или выберите файлы"],
  uploading: ["Uploading", "업로드 중", "アップロード中", "Загрузка"],
  reading: ["Reading", "읽는 중", "読み込み中", "Чтение"],
  failed: ["Cannot be read", "읽을 수 없음", "読み取れません", "Не читается"],
  format: ["Format", "형식", "形式", "Формат"],
  records: ["Records", "레코드", "レコード", "Записей"],
  begin: ["First record", "첫 레코드", "最初のレコード", "Первая запись"],
  interval: ["Interval", "간격", "間隔", "Интервал"],
  show: ["Show", "보기", "表示", "Показать"],
  damage: ["Damaged places", "손상된 곳", "破損箇所", "Повреждений"],
  theme: ["Theme", "테마", "テーマ", "Тема"],
  auto: ["Automatic", "자동", "自動", "Авто"],
  light: ["Light", "밝게", "ライト", "Светлая"],
  dark: ["Dark", "어둡게", "ダーク", "Тёмная"],
  contrast: ["High contrast", "고대비", "ハイコントラスト", "Контрастная"],
  language: ["Language", "언어", "言語", "Язык"],
  keys: ["Keys", "키", "キー", "Клавиши"],
  findings: ["What stands out", "눈에 띄는 점", "目立つ点", "Что заметно"],
  noFindings: ["Nothing stands out.", "특이 사항이 없습니다.", "特に目立つ点はありません。", "Ничего особенного."],
  statistics: ["Statistics", "통계", "統計", "Статистика"],
  chart: ["Chart", "차트", "グラフ", "График"],
  keyAdd: ["add counters", "카운터 추가", "カウンターの追加", "добавить счётчики"],
  keyCursor: ["move the cursor (in the chart)", "커서 이동 (차트)", "カーソル移動 (グラフ)", "курсор (в графике)"],
  keyWho: ["who caused it, at the cursor", "커서 위치의 원인", "カーソル位置の原因", "кто виноват, у курсора"],
  keyView: ["next view", "다음 보기", "次の表示", "следующий вид"],
  keyScreens: ["screens", "화면", "画面", "экраны"],
} as const;

export type Word = keyof typeof TABLE;

/** A word in the language of the user. */
export function t(word: Word): string {
  return TABLE[word][LANGS.indexOf(lang.value)];
}
