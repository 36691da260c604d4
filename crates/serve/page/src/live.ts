// The rows of the chart: of a log once for a range, of a live machine as they come.
import { computed, effect, signal, untracked } from "@preact/signals";
import { address, ApiError, early, get, type Chart, type Row, type Series, type Statistics } from "./api";
import { nearbyPart, widen } from "./nearby";
import { back } from "./retry";
import { connection, fail, frozen, host, hostOf, hosts, inReport, isGone, isLive, loadHosts, paths, range, screen, span, trouble, view } from "./state";
import { reportChart } from "./report";
import { turn } from "./statistics";
import { lang } from "./words";

export type Data = { times: number[]; series: (Series & { values: (number | null)[]; statistics?: Statistics })[];
  decimated: boolean; rows: number;
  /** It is a part of the rows at hand, while the range moves. */
  moves?: boolean };
export const EMPTY: Data = { times: [], series: [], decimated: false, rows: 0 };
export const data = signal<Data>(EMPTY);
/** What its series are, which changes less often than their values. */
export const shownSeries = computed(() => data.value.series);
let settled = EMPTY;
/** What the legend is about, which waits until the range rests. */
export const atRest = computed(() => data.value.moves ? settled : settled = data.value);
/** How many rows have gone from the front of series that are shown. */
export let gone = 0;
export const hidden = signal(document.visibilityState === "hidden");

/** What the server puts into the page for the first chart (`first_answers` in route.rs) has so many points, and seconds. */
const POINTS = 1200;
const FIRST_SPAN = 120;
/** A map of many instances is not wider. */
const HEAT_POINTS = 300;
/** A range that moves is asked for when it has rested for so many milliseconds. */
const REST = 150;
/** Browsers open six connections to a server; some must stay free for questions. */
const STREAMS = 3;

/** The end of a log, which moves while the log is on its way. */
export const end = computed(() => (isLive() ? null : hostOf(host.value)?.last ?? null));
let shownHost = "";
let stop: () => void = () => {};

function take(chart: Chart): Data {
  return { times: chart.times, series: chart.series, decimated: chart.decimated, rows: chart.rows };
}

/** Loads what the chart shows whenever that changes. */
export function follow(): void {
  document.addEventListener("visibilitychange", () => { hidden.value = document.visibilityState === "hidden"; });
  effect(() => {
    const wanted = { host: host.value, lang: lang.value, paths: paths.value, range: range.value, span: span.value, points: view.value === "heat" ? HEAT_POINTS : POINTS };
    // Values of one host must not stand under the name of another.
    if (wanted.host !== shownHost) { data.value = EMPTY; shownHost = wanted.host; }
    void end.value;
    const idle = screen.value !== "monitor" && screen.value !== "report";
    const isPaused = hidden.value || frozen.value;
    stop();
    stop = () => {};
    if (idle || (isPaused && data.peek().series.length > 0)) return;
    if (wanted.paths.length === 0) { data.value = EMPTY; return; }
    const control = new AbortController();
    stop = () => control.abort();
    // What it reads of other things is no reason to load again.
    untracked(() => void load(wanted, control.signal));
  });
}

type Wanted = { host: string; lang: string; paths: string[]; range: [number, number] | null; span: number; points: number };

async function load(wanted: Wanted, signal: AbortSignal): Promise<void> {
  const live = isLive() && !wanted.range;
  if (inReport) { data.value = reportChart(wanted.paths, wanted.range, wanted.points); return; }
  if (wanted.range) {
    const moving = { ...wanted, range: wanted.range };
    const draw = () => {
      const part = signal.aborted ? null : nearbyPart(moving);
      if (part) data.value = part;
      return part !== null;
    };
    const isDrawn = draw();
    widen(moving, take, draw);
    if (isDrawn) await pause(REST, signal);
  }
  while (!signal.aborted) {
    try {
      const [from, to] = wanted.range ?? [live ? Date.now() - wanted.span * 1000 : null, null];
      const asked = { host: wanted.host, lang: wanted.lang, path: wanted.paths, from, to, points: wanted.points };
      const came = firstChart(wanted, live);
      const chart = came ?? await get<Chart>("query", asked, signal);
      if (signal.aborted) return;
      data.value = take(chart);
      connection.value = "there";
      trouble.value = null;
      if (!live) return;
      if (chart.decimated) { await pause(2000, signal); continue; }
      // The picture of what came with the page does not wait for the stream.
      if (came) await pause(0, signal);
      await rows(wanted, Math.max(0, (chart.next ?? 1) - 1), signal);
      // What was missed meanwhile comes with the next answer: the history is on the server.
      if (isGone.peek()) await back(signal); else await pause(1000, signal);
    } catch (error) {
      if (signal.aborted) return;
      // Another page may have closed the log: then another host is shown.
      if (error instanceof ApiError && error.status === 404 && !live) await loadHosts();
      if (signal.aborted) return;
      fail(error);
      if (!isGone.peek()) return;
      await back(signal);
    }
  }
}

/** The chart that came with the page, if it is the one that is wanted. */
function firstChart(wanted: Wanted, live: boolean): Chart | undefined {
  const isFirst = live && wanted.host === hosts.peek()[0]?.id && wanted.span === FIRST_SPAN && wanted.points === POINTS;
  const chart = isFirst ? early("chart") : undefined;
  return chart?.lang === wanted.lang && chart.paths.join("\n") === wanted.paths.join("\n") ? chart : undefined;
}

const pause = (milliseconds: number, signal: AbortSignal) => new Promise<void>((resolve) => {
  const timer = setTimeout(resolve, milliseconds);
  signal.addEventListener("abort", () => { clearTimeout(timer); resolve(); }, { once: true });
});

/** What comes from the server, and goes from the page that hears it to the others of this browser. */
type News = { row: Row } | { series: Series[] } | { trouble: string } | { connection: "there" | "gone" };

/** Rows as they come. Pages of this browser that show the same have one of them ask, and tell the others. */
async function rows(wanted: Wanted, after: number, signal: AbortSignal): Promise<void> {
  const name = `tally ${location.pathname} ${JSON.stringify([wanted.host, wanted.lang, wanted.paths])}`;
  let last = after;
  const take = (news: News) => {
    if ("series" in news) return align(news.series);
    if ("trouble" in news) { trouble.value = news.trouble; return; }
    if ("connection" in news) { connection.value = news.connection; return; }
    trouble.value = null;
    if (news.row.row <= last) return;
    last = news.row.row;
    append(news.row, wanted.span);
  };
  const ask = async () => {
    const news = await get<{ series: Series[]; rows: Row[] }>("rows", { host: wanted.host, lang: wanted.lang, path: wanted.paths, after: last }, signal);
    return [{ series: news.series }, ...news.rows.map((row) => ({ row }))];
  };
  if (!navigator.locks) {
    for (; !signal.aborted; await pause(1000, signal)) (await ask()).forEach(take);
    return;
  }
  const channel = new BroadcastChannel(name);
  signal.addEventListener("abort", () => channel.close(), { once: true });
  channel.onmessage = async ({ data: news }: MessageEvent<News>) => {
    // Rows between the answer that began this and the first one that was told.
    try { if ("row" in news && news.row.row > last + 1) (await ask()).forEach(take); } catch { /* the page that asks says it */ }
    if (!signal.aborted) take(news);
  };
  const tell = (news: News) => {
    if (signal.aborted) return;
    channel.postMessage(news);
    take(news);
  };
  await navigator.locks.request(name, { signal }, async () => {
    for (let slot = 0; slot < STREAMS; slot += 1) {
      const held = await navigator.locks.request(`tally-stream-${slot}`, { ifAvailable: true }, async (lock) => {
        if (lock) await stream(wanted, last, tell, signal);
        return lock !== null;
      });
      if (held) return;
    }
    // Pages that show other things have the streams.
    for (; !signal.aborted; await pause(1000, signal)) (await ask()).forEach(tell);
  });
}

function stream(wanted: Wanted, after: number, tell: (news: News) => void, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const source = new EventSource(address("stream", { host: wanted.host, lang: wanted.lang, path: wanted.paths, after }));
    source.addEventListener("series", (event) => tell({ series: JSON.parse(event.data).series }));
    source.addEventListener("trouble", (event) => tell({ trouble: JSON.parse(event.data).error }));
    source.onmessage = (event) => tell({ row: JSON.parse(event.data) });
    source.onopen = () => tell({ connection: "there" });
    // The browser would connect again after a time of its own, which it does not say.
    source.onerror = () => { tell({ connection: "gone" }); end(); };
    const end = () => { source.close(); resolve(); };
    signal.addEventListener("abort", end, { once: true });
    // What ended while this page waited for its turn would hold the turn for ever.
    if (signal.aborted) end();
  });
}

/** The values of the rows that follow belong to these series. */
function align(series: Series[]): void {
  const known = data.peek();
  const same = known.series.length === series.length
    && series.every((one, nth) => one.path === known.series[nth].path);
  // Some have ended, or have values again.
  if (same) { data.value = { ...known, series: series.map((one, nth) => ({ ...known.series[nth], ...one })) }; return; }
  // An instance that has ended may have the path of one that is there.
  const before = new Map<string, (number | null)[][]>();
  for (const one of known.series) before.set(one.path, [...(before.get(one.path) ?? []), one.values]);
  const none = () => known.times.map(() => null);
  data.value = { ...known, series: series.map((one) => ({ ...one, values: before.get(one.path)?.shift() ?? none() })) };
}

function append(row: Row, seconds: number): void {
  const known = data.peek();
  if (known.times.length > 0 && row.time <= known.times[known.times.length - 1]) return;
  const first = row.time - seconds * 1000;
  let drop = 0;
  while (drop < known.times.length && known.times[drop] < first) drop += 1;
  gone += drop;
  // The values change where they are, and what a series is stays what it is: nothing but the new row costs something.
  known.series.forEach((one, nth) => turn(one.values, drop, row.values[nth] ?? null));
  const series = known.series[0]?.statistics ? known.series.map((one) => ({ ...one, statistics: undefined })) : known.series;
  data.value = { ...known, times: [...known.times.slice(drop), row.time], series };
}
