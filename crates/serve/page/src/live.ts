// The rows of the chart: of a log once for a range, of a live machine as they come.
import { effect, signal } from "@preact/signals";
import { address, get, type Chart, type Row, type Series, type Statistics } from "./api";
import { connection, fail, frozen, host, inReport, isLive, paths, range, screen, span, trouble, view } from "./state";
import { reportChart } from "./report";

export type Data = { times: number[]; series: (Series & { values: (number | null)[]; statistics?: Statistics })[];
  decimated: boolean; rows: number };
export const EMPTY: Data = { times: [], series: [], decimated: false, rows: 0 };
export const data = signal<Data>(EMPTY);
export const hidden = signal(document.visibilityState === "hidden");

const POINTS = 1200;
/** A map of many instances is not wider. */
const HEAT_POINTS = 300;
/** Browsers open six connections to a server; some must stay free for questions. */
const STREAMS = 3;

let shownHost = "";
let stop: () => void = () => {};

function take(chart: Chart): Data {
  return { times: chart.times, series: chart.series, decimated: chart.decimated, rows: chart.rows };
}

/** Loads what the chart shows whenever that changes. */
export function follow(): void {
  document.addEventListener("visibilitychange", () => { hidden.value = document.visibilityState === "hidden"; });
  effect(() => {
    const wanted = { host: host.value, paths: paths.value, range: range.value, span: span.value, points: view.value === "heat" ? HEAT_POINTS : POINTS };
    // Values of one host must not stand under the name of another.
    if (wanted.host !== shownHost) { data.value = EMPTY; shownHost = wanted.host; }
    const idle = screen.value !== "monitor" && screen.value !== "report";
    const isPaused = hidden.value || frozen.value;
    stop();
    stop = () => {};
    if (idle || (isPaused && data.peek().series.length > 0)) return;
    if (wanted.paths.length === 0) { data.value = EMPTY; return; }
    const control = new AbortController();
    stop = () => control.abort();
    void load(wanted, control.signal);
  });
}

type Wanted = { host: string; paths: string[]; range: [number, number] | null; span: number; points: number };

async function load(wanted: Wanted, signal: AbortSignal): Promise<void> {
  const live = isLive() && !wanted.range;
  if (inReport) { data.value = reportChart(wanted.paths, wanted.range, wanted.points); return; }
  while (!signal.aborted) {
    try {
      const [from, to] = wanted.range ?? [live ? Date.now() - wanted.span * 1000 : null, null];
      const asked = { host: wanted.host, path: wanted.paths, from, to, points: wanted.points };
      const chart = await get<Chart>("query", asked, signal);
      if (signal.aborted) return;
      data.value = take(chart);
      connection.value = "there";
      trouble.value = null;
      if (!live) return;
      if (chart.decimated) { await pause(2000, signal); continue; }
      await rows(wanted, Math.max(0, (chart.next ?? 1) - 1), signal);
    } catch (error) {
      if (signal.aborted) return;
      fail(error);
      if (connection.peek() !== "gone") return;
      await pause(1000, signal);
    }
  }
}

const pause = (milliseconds: number, signal: AbortSignal) => new Promise<void>((resolve) => {
  const timer = setTimeout(resolve, milliseconds);
  signal.addEventListener("abort", () => { clearTimeout(timer); resolve(); }, { once: true });
});

/** Rows as they come: by a stream while few pages of this browser have one, else by asking again and again. */
async function rows(wanted: Wanted, after: number, signal: AbortSignal): Promise<void> {
  for (let slot = 0; slot < STREAMS && navigator.locks; slot += 1) {
    const held = await navigator.locks.request(`tally-stream-${slot}`, { ifAvailable: true }, async (lock) => {
      if (!lock) return false;
      await stream(wanted, after, signal);
      return true;
    });
    if (held) return;
  }
  let last = after;
  while (!signal.aborted) {
    const asked = { host: wanted.host, path: wanted.paths, after: last };
    const news = await get<{ series: Series[]; rows: Row[] }>("rows", asked, signal);
    align(news.series);
    for (const row of news.rows) { append(row, wanted.span); last = row.row; }
    await pause(1000, signal);
  }
}

function stream(wanted: Wanted, after: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    // The browser connects again by itself, and says the last row that it has.
    const source = new EventSource(address("stream", { path: wanted.paths, after }));
    let waits: (Row | null)[] = [];
    const flush = () => { for (const row of waits) if (row) append(row, wanted.span); waits = []; };
    source.addEventListener("series", (event) => { flush(); align(JSON.parse(event.data).series); });
    source.addEventListener("trouble", (event) => { trouble.value = JSON.parse(event.data).error; });
    source.onmessage = (event) => {
      trouble.value = null;
      waits.push(JSON.parse(event.data));
      queueMicrotask(flush);
    };
    source.onopen = () => { connection.value = "there"; };
    source.onerror = () => { connection.value = "gone"; if (source.readyState === 2) end(); };
    const end = () => { source.close(); resolve(); };
    signal.addEventListener("abort", end, { once: true });
  });
}

/** The values of the rows that follow belong to these series. */
function align(series: Series[]): void {
  const known = data.peek();
  const same = known.series.length === series.length
    && series.every((one, nth) => one.path === known.series[nth].path);
  if (same) return;
  const before = new Map(known.series.map((one) => [one.path, one.values]));
  const none = () => known.times.map(() => null);
  data.value = { ...known, series: series.map((one) => ({ ...one, values: before.get(one.path) ?? none() })) };
}

function append(row: Row, seconds: number): void {
  const known = data.peek();
  if (known.times.length > 0 && row.time <= known.times[known.times.length - 1]) return;
  const first = row.time - seconds * 1000;
  let drop = 0;
  while (drop < known.times.length && known.times[drop] < first) drop += 1;
  data.value = {
    ...known,
    times: [...known.times.slice(drop), row.time],
    series: known.series.map((one, nth) => (
      { ...one, values: [...one.values.slice(drop), row.values[nth] ?? null], statistics: undefined })),
  };
}
