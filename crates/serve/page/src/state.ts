// What the page shows. The part of it that can be sent to somebody else is in the address, behind the #.
import { batch, computed, effect, signal, untracked, type Signal } from "@preact/signals";
import { ApiError, early, get, type Host } from "./api";
import { isTime } from "./format";
import { remembered, t } from "./words";

export const SCREENS = ["overview", "monitor", "logs", "explain", "sessions", "providers", "events", "profile", "hosts", "report"] as const;
export type Screen = (typeof SCREENS)[number];
export const VIEWS = ["line", "area", "stacked", "split", "heat", "bars", "values", "table"] as const;
export type View = (typeof VIEWS)[number];
export const FORMATS = ["csv", "tsv", "blg", "tally", "sqlite", "parquet"];
export const THEMES = ["auto", "light", "dark", "contrast"] as const;
export type Theme = (typeof THEMES)[number];

export const screen = signal<Screen>("overview");
export const host = signal<string>("");
export const hosts = signal<Host[]>([]);
export const paths = signal<string[]>([]);
export const view = signal<View>("line");
/** Seconds of the live chart. */
export const span = signal(120);
/** NT's time line: it sweeps over the chart instead of moving it. */
export const sweep = signal(true);
/** A part of the time that is shown; the whole log, or the newest rows, if there is none. */
export const range = signal<[number, number] | null>(null);
export const frozen = signal(false);
export const chosen = signal<string | null>(null);
export const highlight = signal(false);
/** How a line looks, as far as it was chosen: the power of ten of its scale, the number of its colour, its width,
    and the value above which it is an alert. */
export type Style = { power?: number; colour?: number; width?: number; hidden?: boolean; threshold?: number };
export const styles = signal<Record<string, Style>>({});
/** The least and the largest value of the vertical axis; those that fit if there are none. */
export const axis = signal<[number, number] | null>(null);
export const styling = signal(false);
/** How the line of a series looks; a saved view may name it as it was asked for. */
export const styleOf = (one: { path: string; asked: string }): Style | undefined => styles.value[one.path] ?? styles.value[one.asked];
export const MOST_STYLES = 64;
/** Eight colours, each with six patterns of dashes, as in the terminal. */
export const LOOKS = 48;
/** A style in few letters: power, colour, width, whether it is hidden, threshold. */
export const written = ({ power, colour, width, hidden, threshold }: Style) => [power, colour, width, hidden ? 1 : undefined, ...(threshold === undefined ? [] : [threshold])].map((one) => one ?? "").join("~");
function readStyle(text: string): Style {
  const [power, colour, width, hidden, threshold] = text.split("~").map((one) => (one === "" || !Number.isFinite(Number(one)) ? undefined : Number(one)));
  const within = (one: number | undefined, least: number, most: number) => (one !== undefined && Number.isInteger(one) && one >= least && one <= most ? one : undefined);
  return { power: within(power, -9, 9), colour: within(colour, 0, LOOKS - 1), width: within(width, 1, 5), hidden: hidden === 1, threshold };
}
/** A remark at a time of the chart. */
export type Note = { time: number; text: string };
export const notes = signal<Note[]>([]);
/** The time of the cursor; now, or the end of the log, if there is none. */
export const cursor = signal<number | null>(null);
/** The page of all live machines: how it is sorted, and what a machine has to contain. */
export const FLEET_COLUMNS = ["name", "state", "processor", "memory", "disk", "diskBytes", "network", "pressure", "queue", "age", "clock"] as const;
export type FleetColumn = (typeof FLEET_COLUMNS)[number];
export const fleetOrder = { by: signal<FleetColumn>("name"), back: signal(false) };
export const fleetFilter = signal("");
/** The processes of the overview: how they are sorted, what they contain, how many are shown, and whether below their parents. */
export const PROCESS_SORTS = ["name", "id", "user", "processor", "memory", "bytes", "threads", "service", "command"] as const;
export type ProcessSort = (typeof PROCESS_SORTS)[number];
const ROWS = 20;
export const processList = { sort: signal<ProcessSort>("processor"), back: signal(false), filter: signal(""), rows: signal(ROWS), tree: signal(false) };
/** The table of instances: by which counter the rows of each object are sorted, both in English, and what they contain. */
export const tableOrder = signal<Record<string, { counter: string; back: boolean }>>({});
/** What the rows of each of these lists contain, and the level of events. */
export const filters = { table: signal(""), providers: signal(""), events: signal("") };
export const level = signal("");
/** The comparison of logs: which, how they are aligned, when the chosen event was in each (without a choice its begin), whether beside each other, and which counter. */
export const compared = signal(["", ""]);
export const ALIGNMENTS = ["start", "clock", "event"] as const;
export const MOST_COMPARED = 8;
export const align = signal<(typeof ALIGNMENTS)[number]>("start");
export const chosenAt = signal<Record<string, number>>({});
export const beside = signal(false);
export const laid = signal("");
export const explained = signal<string>("");
export const theme = signal<Theme>((remembered("theme") as Theme) ?? "auto");
export const adding = signal(false);
export const helping = signal(false);
export const trouble = signal<string | null>(null);
/** What a file that was opened has and the page does not, until it is closed. */
export const notice = signal<string | null>(null);
export const connection = signal<"connecting" | "there" | "gone" | "denied">("connecting");
/** The server does not answer; `retry.ts` asks it again. */
export const isGone = computed(() => connection.value === "gone");
/** The profile of a .NET program that is shown. */
export const profile = signal("");
/** What a screen reader says. */
export const said = signal("");
/** Says it when nothing newer comes at once: keys that are held down would be read aloud one by one. */
const SILENCE = 150;
let saying = 0;
export function say(words: string): void {
  clearTimeout(saying);
  saying = setTimeout(() => { said.value = words; }, SILENCE);
}

const isReport = () => (document.getElementById("data")?.textContent ?? "").trim() !== "";
export const inReport = isReport();

export function hostOf(id: string): Host | undefined {
  return hosts.value.find((one) => one.id === id) ?? hosts.value.find((one) => one.kind === "log" && id.startsWith(`${one.id}/`));
}
// Effects ask both: a list of hosts that says the same again must not begin them anew.
const fleet = computed(() => hosts.value.filter((one) => one.kind === "live").length > 1);
const live = computed(() => hostOf(host.value)?.kind === "live");
/** Whether there are several live machines. */
export const isFleet = () => fleet.value;
export const isLive = () => live.value;

/** Takes an error: the state of the connection, or words for the user. */
export function fail(error: unknown): void {
  if (error instanceof DOMException && error.name === "AbortError") return;
  if (error instanceof ApiError && error.status === 401) connection.value = "denied";
  else if (error instanceof ApiError && error.status > 0) trouble.value = error.message;
  else connection.value = "gone";
}

/** A server that takes longer for its hosts, in milliseconds, does not answer. */
const PATIENCE = 10_000;
/** The questions for hosts: the number of the last one, and of the one whose answer is known. */
let [asked, answered] = [0, 0];
export async function loadHosts(): Promise<void> {
  asked += 1;
  const own = asked;
  try {
    const found = early("hosts") ?? await get<Host[]>("hosts", {}, AbortSignal.timeout(PATIENCE));
    // Answers may overtake each other: an older one would bring back what is closed.
    if (own < answered) return;
    answered = own;
    const shown = hostOf(host.value);
    batch(() => {
      hosts.value = found;
      connection.value = "there";
      if (hostOf(host.value)) return;
      // What was charted of a log that was closed is of no other host.
      if (shown) leave(shown.name); else host.value = found[0]?.id ?? "";
    });
  } catch (error) { fail(error); }
}

/** Shows the first host in place of one that was closed. */
function leave(name: string): void {
  choose(hosts.peek()[0]?.id ?? "");
  notice.value = `${name}: ${t("closed")}`;
  if (screen.peek() === "monitor") void addUsual();
}

/** What is looked at. Whoever has moved on meanwhile is not taken away from there by what comes late. */
export const lookedAt = () => `${screen.peek()} ${host.peek()}`;

/** The host whose chart has had counters: whoever removes all of them does not get the usual ones again. */
let charted = "";

export function show(to: Screen): void {
  screen.value = to;
  adding.value = false;
  if (to === "monitor") void addUsual();
}

/** Gives the chart of a host its first counters. */
async function addUsual(): Promise<void> {
  const id = host.peek();
  const lacks = () => host.peek() === id && charted !== id && paths.peek().length === 0;
  if (inReport || !id || !lacks()) return;
  try {
    const usual = await get<string[]>("usual", { host: id });
    if (lacks()) addPaths(usual);
  } catch (error) { if (lacks()) fail(error); }
}

/** Shows another host, with the usual counters in its chart. */
export async function openHost(id: string, to: Screen = screen.peek()): Promise<void> {
  batch(() => {
    choose(id);
    screen.value = to;
    adding.value = false;
  });
  await addUsual();
}

export function explain(path: string): void {
  explained.value = path;
  show("explain");
}

export function addPaths(more: string[]): void {
  charted = host.value;
  paths.value = [...paths.value, ...more.filter((one) => !paths.value.includes(one))];
}

export function choose(id: string): void {
  charted = "";
  batch(() => {
    host.value = id;
    paths.value = [];
    range.value = null;
    notes.value = [];
    styles.value = {};
    axis.value = null;
    cursor.value = null;
    frozen.value = false;
    chosen.value = null;
    trouble.value = null;
  });
}

export const MOST_NOTES = 50;
const MOST_UNDONE = 50;
const shown = () => ({ host: host.value, paths: paths.value, view: view.value, span: span.value, sweep: sweep.value, range: range.value, notes: notes.value,
  styles: styles.value, axis: axis.value });
type Shown = ReturnType<typeof shown>;
/** What the monitor showed before each of the last changes. */
export const undoable = signal<Shown[]>([]);
let before: Shown | null = null;
/** Changes of the range within so many milliseconds are one. */
const ONE_MOVE = 1000;
let moved = 0;

/** Keeps what was shown before a change; the first counters are no change. */
function keepChanges(): void {
  effect(() => {
    const now = shown();
    const goesOn = before?.range && now.range && performance.now() - moved < ONE_MOVE
      && Object.entries(now).every(([key, value]) => key === "range" || value === before?.[key as keyof Shown]);
    if (before?.range !== now.range) moved = performance.now();
    const isThere = untracked(() => before !== null && hostOf(before.host) !== undefined);
    if (before && isThere && before.paths.length > 0 && !goesOn) undoable.value = [...undoable.peek(), before].slice(-MOST_UNDONE);
    before = now;
  });
}

/** Shows what was there before the last change. */
export function undo(): void {
  // A log that was closed does not come back.
  const known = undoable.value.filter((one) => hostOf(one.host));
  const last = known.pop();
  if (!last) { undoable.value = known; return; }
  before = null;
  batch(() => {
    host.value = last.host; paths.value = last.paths; view.value = last.view; span.value = last.span;
    sweep.value = last.sweep; range.value = last.range; notes.value = last.notes; styles.value = last.styles; axis.value = last.axis;
    undoable.value = known;
  });
}

/** What is in the address of a screen: the name, the text (none where all is as usual), and how the text is read. */
type Part = [on: Screen, name: string, write: () => string, read: (text: string) => void];
const word = (on: Screen, name: string, of: Signal<string>): Part => [on, name, () => of.value, (text) => { of.value = text; }];
const flag = (on: Screen, name: string, of: Signal<boolean>): Part => [on, name, () => (of.value ? "1" : ""), (text) => { of.value = text === "1"; }];
const choice = <T extends string>(on: Screen, name: string, of: Signal<T>, known: readonly T[], usual = known[0]): Part =>
  [on, name, () => (of.value === usual ? "" : of.value), (text) => { of.value = known.find((one) => one === text) ?? usual; }];
const count = (on: Screen, name: string, of: Signal<number>, [usual, least, most]: number[]): Part =>
  [on, name, () => (of.value === usual ? "" : `${of.value}`), (text) => { of.value = Math.min(most, Math.max(least, Math.round(Number(text)) || usual)); }];
const PARTS: Part[] = [
  choice("monitor", "view", view, VIEWS), count("monitor", "span", span, [120, 10, 3600]),
  ["monitor", "sweep", () => (sweep.value ? "" : "0"), (text) => { sweep.value = text !== "0"; }],
  ["monitor", "line", () => chosen.value ?? "", (text) => { chosen.value = text || chosen.value; }], flag("monitor", "highlight", highlight),
  word("monitor", "filter", filters.table), word("providers", "filter", filters.providers), word("events", "filter", filters.events), word("events", "level", level),
  choice("overview", "sort", processList.sort, PROCESS_SORTS, "processor"), flag("overview", "back", processList.back), word("overview", "filter", processList.filter),
  count("overview", "rows", processList.rows, [ROWS, 1, 2000]), flag("overview", "tree", processList.tree),
  choice("hosts", "sort", fleetOrder.by, FLEET_COLUMNS), flag("hosts", "back", fleetOrder.back), word("hosts", "filter", fleetFilter),
  choice("logs", "align", align, ALIGNMENTS), flag("logs", "beside", beside), word("logs", "compare", laid),
];

/** Reads the address; what is wrong in it is left out. */
export function readAddress(): void {
  lastAddress = location.hash;
  const [name, search] = location.hash.slice(1).split("?");
  const wanted = new URLSearchParams(search);
  const number = (key: string) => {
    const text = wanted.get(key);
    return text !== null && isTime(Number(text)) ? Number(text) : null;
  };
  batch(() => {
    if (SCREENS.includes(name as Screen)) screen.value = name as Screen;
    const before = host.value;
    host.value = wanted.get("host") ?? host.value;
    if (wanted.has("path")) paths.value = wanted.getAll("path");
    // The counters of one host are not those of another.
    else if (before && host.value !== before) [paths.value, chosen.value] = [[], null];
    for (const [on, part, , read] of PARTS) if (on === name) read(wanted.get(part) ?? "");
    const [from, to] = [number("from"), number("to")];
    range.value = from !== null && to !== null && from < to ? [from, to] : null;
    const ends = wanted.get("axis")?.split("~").map(Number) ?? [];
    axis.value = ends.length === 2 && ends.every(Number.isFinite) && ends[0] < ends[1] ? [ends[0], ends[1]] : null;
    const second = (one: string) => one.slice(one.indexOf(" ") + 1);
    styles.value = Object.fromEntries(wanted.getAll("style").slice(0, MOST_STYLES).map((one) => [second(one), readStyle(one.split(" ")[0])]));
    notes.value = wanted.getAll("note").slice(0, MOST_NOTES).map((one) => ({ time: parseFloat(one), text: second(one) }))
      .filter((one) => isTime(one.time));
    if (name === "monitor") tableOrder.value = Object.fromEntries(wanted.getAll("order").map((one) => one.split("\\")).filter((parts) => parts.length === 3)
      .map(([back, object, counter]) => [object, { counter, back: back === "1" }]));
    const logs = wanted.getAll("log").slice(0, MOST_COMPARED);
    if (logs.length > 1) {
      compared.value = logs;
      chosenAt.value = Object.fromEntries(wanted.getAll("event").map((one, nth) => [logs[nth], parseFloat(one)]).filter(([, time]) => isTime(time as number)));
    }
    cursor.value = number("at");
    profile.value = wanted.get("id") ?? "";
    explained.value = wanted.get("counter") ?? explained.value;
  });
}

/** Shows what somebody wrote into the address. */
export function followAddress(): void {
  readAddress();
  if (screen.value === "monitor") void addUsual();
}

/** Browsers refuse an address that changes with every frame. */
const ADDRESS_PERIOD = 250;
let [kept, later] = [-Infinity, 0];
/** The address that was read or written last. Another one is somebody's, and is about to be read. */
let lastAddress = location.hash;
function keep(address: string): void {
  clearTimeout(later);
  if (location.hash !== lastAddress) return;
  const wait = kept + ADDRESS_PERIOD - performance.now();
  if (wait > 0) { later = setTimeout(() => keep(address), wait); return; }
  kept = performance.now();
  history.replaceState(null, "", address);
  lastAddress = location.hash;
}

export function keepAddress(): void {
  keepChanges();
  effect(() => {
    const search = new URLSearchParams();
    if (host.value) search.set("host", host.value);
    for (const [on, name, text] of PARTS) if (on === screen.value && text()) search.set(name, text());
    if (screen.value === "monitor") {
      for (const path of paths.value) search.append("path", path);
      if (axis.value) search.set("axis", axis.value.join("~"));
      for (const [path, one] of Object.entries(styles.value).slice(0, MOST_STYLES)) search.append("style", `${written(one)} ${path}`);
      for (const one of notes.value) search.append("note", `${Math.round(one.time)} ${one.text}`);
      for (const [object, { counter, back }] of Object.entries(tableOrder.value)) search.append("order", [back ? 1 : 0, object, counter].join("\\"));
      if (range.value) { search.set("from", String(range.value[0])); search.set("to", String(range.value[1])); }
    }
    if (screen.value === "logs" && laid.value) for (const log of compared.value) {
      search.append("log", log);
      if (align.value === "event") search.append("event", String(chosenAt.value[log] ?? ""));
    }
    if (screen.value === "explain") search.set("counter", explained.value);
    if (screen.value === "profile" && profile.value) search.set("id", profile.value);
    if (cursor.value !== null) search.set("at", String(Math.round(cursor.value)));
    keep(`#${screen.value}?${search}`);
  });
  effect(() => { document.title = `${t(screen.value)} · Tallymon`; });
}
