// The monitor: toolbar, chart, value bar, legend, statistics of a selection, and who caused a spike.
import { computed, signal, useSignalEffect } from "@preact/signals";
import { useMemo, useRef, useState } from "preact/hooks";
import { act, address, get, type Contributors, type Statistics } from "./api";
import { Chart, colour, dash, lookOf, powerOf } from "./chart";
import { clock, duration, END, moment, number, power, timeOf, typed } from "./format";
import { Heat } from "./heat";
import { atRest, data, shownSeries, type Data } from "./live";
import { key, type Key } from "./keys";
import { Alerts } from "./alerts";
import { Marks, openMark, useFindings } from "./marks";
import {
  addPaths, adding, chosen, connection, cursor, explain, fail, filters, frozen, highlight, host, hostOf, inReport, isLive, loadHosts, MOST_NOTES, MOST_STYLES, notes, axis, styleOf, styles, styling, tableOrder, written,
  paths, range, say, span, sweep, theme, trouble, undo, undoable, VIEWS, view, type View,
} from "./state";
import { CALM, MANY } from "./plot";
import { Properties } from "./properties";
import { reportChart, type Finding } from "./report";
import { endsOf, statisticsOf } from "./statistics";
import { english, lang, named, namedAll, t, type Word } from "./words";

const selection = signal<[number, number] | null>(null);
const selected = signal<Pick<Data, "series"> | null>(null);
const causes = signal<{ at: number; answer: Contributors } | null>(null);
let nextMarks: Finding[] = [];
/** More charts and rows of tables than these are not drawn. */
const MOST_CHARTS = 12;
const MOST_ROWS = 200;

/** A remark at the cursor, else at the newest row. */
function annotate(): void {
  const time = cursor.value ?? data.value.times[data.value.times.length - 1];
  if (time === undefined || notes.value.length >= MOST_NOTES) return;
  const text = prompt(`${t("note")}: ${moment(time)}`)?.trim().slice(0, 200);
  if (text) notes.value = [...notes.value, { time, text }];
}

const SPANS = [60, 120, 600, 1800, 3600];

/** Questions for causes: the answer to the last one counts. */
let asked = 0;
async function ask(time: number, path: string | null): Promise<void> {
  if (inReport) return;
  asked += 1;
  const [own, id] = [asked, host.value];
  const isOld = () => own !== asked || id !== host.peek();
  try {
    const answer = await get<Contributors>("contributors", { host: id, lang: lang.value, time, path });
    if (!isOld()) causes.value = { at: answer.time ?? time, answer };
  } catch (error) { if (!isOld()) fail(error); }
}

/** Shows the statistics of a range, from all values in it. */
async function select(from: number, to: number): Promise<void> {
  const own: [number, number] = [from, to];
  [selection.value, selected.value] = [own, null];
  if (inReport) { selected.value = reportChart(paths.value, own, 2); return; }
  // Another range may be chosen before this one has its numbers.
  const isShown = () => selection.peek() === own;
  try {
    const answer = await get<Data>("query", { host: host.value, lang: lang.value, path: paths.value, from, to, points: 2 });
    if (isShown()) selected.value = answer;
  } catch (error) { if (isShown()) fail(error); }
}

/** Begins or ends the selection at the cursor. */
function selectFrom(name: string): boolean {
  const { times } = data.value;
  const [first, last] = [times[0], times[times.length - 1]];
  if (first === undefined) return false;
  const at = Math.max(first, Math.min(last, cursor.value ?? last));
  const [from, to] = selection.value ?? [first, last];
  const [begin, end] = name === "[" ? [at, to > at ? to : last] : [from < at ? from : first, at];
  say(`${t("selection")}: ${moment(begin)} – ${moment(end)}`);
  void select(begin, end);
  return true;
}

type Line = Data["series"][number];
const lastOf = (one?: Line) => (one?.statistics ? one.statistics.last : one?.values.findLast((value) => value != null));
const mostOf = ({ statistics, values }: Line) => (statistics ? statistics.max : endsOf(values)[1]);

/** The powers of ten of the scales of all lines; the same ones while none of them changes. */
function usePowers(live: boolean, series: Line[], time = 0): number[] {
  const was = useRef({ name: "", series, time, powers: [] as number[], of: new Map<string, number>(), styles: styles.value }).current;
  const name = live ? host.value : "";
  const isSame = name !== "" && name === was.name && was.styles === styles.value;
  // A line with another scale draws all of them anew.
  const isCalm = isSame && series.length > MANY && time < was.time + CALM;
  if (isCalm && series === was.series) return was.powers;
  const powers = series.map((one) => {
    const before = isSame ? was.of.get(one.path) : undefined;
    return styleOf(one)?.power ?? (isCalm ? before : undefined) ?? powerOf(one.values, one.unit, before);
  });
  const isNew = series !== was.series || powers.some((one, nth) => one !== was.powers[nth]);
  Object.assign(was, { name, series, styles: styles.value, time: isCalm ? was.time : time, powers: isNew ? powers : was.powers, of: new Map(series.map((one, nth) => [one.path, powers[nth]])) });
  return was.powers;
}

export function Monitor() {
  const { series: all, times } = data.value;
  const series = useMemo(() => namedAll(all), [all, english.value]);
  const shown = useMemo(() => ({ ...data.value, series }), [data.value, series]);
  const live = isLive() && !range.value && !inReport;
  const nth = Math.max(0, series.findIndex((one) => one.path === chosen.value));
  const powers = usePowers(live, series, times[times.length - 1]);
  const looks = useMemo(() => series.map(styleOf), [series, styles.value]);
  // Of many lines that come and go each keeps its look, until most have gone; few have those of their places.
  const given = useMemo(() => new Map<string, number>(), [host.value]);
  const colours = useMemo(() => (given.size > series.length * 4 && given.clear(), series).map(({ path }, which) => {
    if (series.length > MANY && !given.has(path)) given.set(path, given.size);
    return looks[which]?.colour ?? ~(series.length > MANY ? given.get(path) ?? which : which);
  }), [looks]);
  const marks = nextMarks = useFindings();
  useSignalEffect(() => { void host.value; selection.value = null; causes.value = null; });

  const ends = range.value ?? [times[0], times[times.length - 1]];
  const zoom = (factor: number, at: number) => {
    const [begin, end] = ends;
    if (begin === undefined) return;
    const half = Math.max(1000, (end - begin) * factor / 2);
    range.value = factor > 1 && !range.value ? null : [Math.max(-END, at - half), Math.min(END, at + half)];
  };
  const pan = (share: number) => {
    const [begin, end] = ends;
    if (!(end > begin)) return;
    const all = hostOf(host.value);
    const [least, most] = isLive() || inReport ? [-END, Date.now()] : [all?.first ?? -Infinity, all?.last ?? Infinity];
    const by = Math.max(Math.min(share * (end - begin), most - end), least - begin);
    range.value = [begin + by, end + by];
  };
  if (paths.value.length === 0) {
    return <main class="empty"><p>{t("none")}</p><button onClick={() => { adding.value = true; }}>{t("add")}</button></main>;
  }
  const waits = times.length === 0;
  const graph = view.value === "line" || view.value === "area" || view.value === "stacked";
  const moves = { onSelect: select, onZoom: zoom, onPan: pan };
  const common = {
    ...moves, marks, onMark: (time: number) => openMark(marks, time),
    highlight: highlight.value, theme: theme.value, notes: notes.value,
    sweep: live && sweep.value && !shown.decimated ? span.value : null, axis: axis.value,
    onCursor: (time: number | null) => { cursor.value = time; }, say,
  };
  const choose = (which: number) => { chosen.value = series[which]?.path ?? null; };
  const pick = (time: number, which: number) => { choose(which); void ask(time, chosen.value); };
  return (
    <main class="monitor">
      <Toolbar live={live} />
      {waits && !trouble.value && <p class="note" role="status">{connection.value === "connecting" ? t("connecting") : t("waiting")}</p>}
      {graph && <Chart {...common} data={shown} powers={powers} view={view.value} chosen={nth} onPick={pick} onChoose={choose} colours={colours} looks={looks}
        label={`${t("chart")}: ${[...new Set(series.map((one) => one.counter))].join(", ")}`} />}
      {view.value === "split" && <div class="split">{[...new Set(shown.series.map((one) => `${one.object}: ${one.counter}`))].slice(0, MOST_CHARTS).map((title) => {
        const own = shown.series.map((one, which) => ({ one, which })).filter(({ one }) => `${one.object}: ${one.counter}` === title);
        return (
          <section key={title}><h2>{title}</h2>
            <Chart {...common} data={{ ...shown, series: own.map(({ one }) => one) }} powers={own.map(({ which }) => powers[which] ?? 0)} view="split"
              chosen={own.findIndex(({ which }) => which === nth)} together="split" colours={own.map(({ which }) => colours[which])} looks={own.map(({ which }) => looks[which])} label={`${t("chart")}: ${title}`}
              onPick={(time, which) => pick(time, own[which]?.which ?? 0)} onChoose={(which) => choose(own[which]?.which ?? 0)} />
          </section>);
      })}</div>}
      {view.value === "heat" && <Heat data={shown} chosen={nth} label={`${t("heat")}: ${shown.series[nth]?.counter ?? ""}`} onPick={pick}
        {...moves} onCursor={common.onCursor} say={common.say} onChoose={choose} />}
      {view.value === "bars" && <Bars shown={shown} powers={powers} colours={colours} />}
      {view.value === "values" && <Values shown={shown} />}
      {view.value === "table" && <Instances shown={shown} />}
      <Marks marks={marks} />
      <Alerts shown={shown} />
      <ValueBar shown={shown} one={series[nth]} />
      <Legend series={series} powers={powers} nth={nth} colours={colours} />
      {notes.value.length > 0 && <ul class="notes">{notes.value.map((one) => (
        <li><button class="link" onClick={() => { cursor.value = one.time; }}>{moment(one.time)}</button> {one.text}
          <button class="small" aria-label={`${t("remove")}: ${one.text}`} onClick={() => { notes.value = notes.value.filter((other) => other !== one); }}>×</button></li>))}</ul>}
      {selection.value && <Selection shown={shown} zoom={() => { range.value = selection.value; selection.value = null; }} />}
      {causes.value && <Causes />}
      <Table shown={shown} />
      {styling.value && <Properties shown={shown} powers={powers} nth={nth} colours={colours} />}
    </main>
  );
}

/** Where the settings file of what is shown is. It has how each line looks, as the terminal keeps it, too. */
function savedView(): string {
  const all = shownSeries.value.map((one, nth) => ({ one, nth, own: styleOf(one) }));
  // Those that somebody chose the look of come first.
  const line = all.sort((left, right) => Number(right.own !== undefined) - Number(left.own !== undefined)).slice(0, MOST_STYLES).map(({ one, nth, own }) => `${written({ ...own, colour: own?.colour ?? lookOf(~nth) })} ${one.path}`);
  return address("settings", { path: paths.value, view: view.value, seconds: span.value, sweep: sweep.value ? 1 : 0, axis: axis.value?.join("~"), line });
}

function Toolbar({ live }: { live: boolean }) {
  return (
    <div class="toolbar" role="toolbar" aria-label={t("view")}>
      {!inReport && <button class="main" onClick={() => { adding.value = true; }} title="a">+ {t("add")}</button>}
      <label>{t("view")} <select value={view.value}
        onChange={(event) => { view.value = event.currentTarget.value as View; }}>
        {VIEWS.map((one) => <option value={one}>{t(one as Word)}</option>)}
      </select></label>
      {isLive() && !inReport && <>
        <label>{t("time")} <select value={String(span.value)}
          onChange={(event) => { span.value = Number(event.currentTarget.value); range.value = null; }}>
          {[...new Set([...SPANS, span.value])].map((one) => <option value={String(one)}>{duration(one)}</option>)}
        </select></label>
        <label class="check"><input type="checkbox" checked={sweep.value}
          onChange={(event) => { sweep.value = event.currentTarget.checked; }} /> {t("sweep")}</label>
        <button aria-pressed={frozen.value} onClick={() => { frozen.value = !frozen.value; }}>
          {frozen.value ? t("go") : t("freeze")}</button>
      </>}
      <button aria-pressed={highlight.value} onClick={() => { highlight.value = !highlight.value; }}>{t("highlight")}</button>
      <button onClick={() => { styling.value = true; }} title="p">{t("properties")}</button>
      <button onClick={annotate} title="m">{t("note")}</button>
      <button disabled={undoable.value.length === 0} onClick={undo} title="u">{t("undo")}</button>
      {!inReport && <><a class="button" download href={savedView()}>{t("saveView")}</a><a class="button" download href={address("report", { host: hostOf(host.value)?.id, lang: lang.value })}>{t("report")}</a></>}
      <Times />
      {range.value && <button onClick={() => { range.value = null; }}>{t("unzoom")}</button>}
      {live && (frozen.value ? <span class="badge">{t("frozen")}</span> : <Interval />)}
    </div>
  );
}

/** Where the range begins and ends, to be typed: on the clock of a log, else on that of the browser. */
function Times() {
  const set = (nth: number, text: string) => {
    const at = timeOf(text);
    if (at === null) return;
    const { times } = data.peek();
    const [from, to] = range.peek() ?? [times[0] ?? at, times[times.length - 1] ?? at];
    const width = Math.max(1000, to - from || span.peek() * 1000);
    // One end beyond the other takes it along.
    range.value = nth ? [from < at ? from : at - width, at] : [at, range.peek() && at < to ? to : at + width];
  };
  return <>{(["beginAt", "endAt"] as const).map((word, nth) => <label>{t(word)} <input type="datetime-local" step="1" value={range.value ? typed(range.value[nth]) : ""} onChange={(event) => set(nth, event.currentTarget.value)} /></label>)}</>;
}

const INTERVALS = [0.5, 1, 2, 5, 15, 60];
/** The interval of the live samples, which are the same for everybody who looks. */
function Interval() {
  const own = hostOf(host.value);
  const now = own?.interval ?? 1;
  if (!own?.control) return <span class="soft">{t("interval")} {number(now)} s</span>;
  return <label>{t("interval")} <select value={now} onChange={(event) => void act("interval", { host: own.id, seconds: event.currentTarget.value }).then(loadHosts, fail)}>
    {[...new Set([...INTERVALS, now])].map((one) => <option value={one}>{number(one)} s</option>)}</select></label>;
}

function ValueBar({ shown, one }: { shown: Data; one?: Line }) {
  const line = one && (one.statistics ?? statisticsOf(one.values, shown.decimated ? undefined : shown.times));
  const seconds = shown.times.length > 1 ? (shown.times[shown.times.length - 1] - shown.times[0]) / 1000 : 0;
  const at = cursor.value;
  const parts: [Word, string][] = [
    ["last", number(line?.last)], ["avg", number(line?.avg)], ["min", number(line?.min)],
    ["max", number(line?.max)], ["duration", duration(seconds)],
  ];
  return (
    <dl class="values">
      {parts.map(([word, value]) => <div><dt>{t(word)}</dt><dd>{value}</dd></div>)}
      <div class="at"><dt>{t("time")}</dt><dd>{at === null ? "–" : moment(at)}</dd></div>
    </dl>
  );
}

export function Swatch({ nth }: { nth: number }) {
  return (
    <svg class="swatch" viewBox="0 0 28 8" aria-hidden="true">
      <path d="M0 4H28" stroke={colour(nth)} stroke-width="3" stroke-dasharray={dash(nth)?.join(" ")} />
    </svg>
  );
}

/** What the newest value of a sum lacks, in the words of the user. */
function lacks(partial: string | null): string | null {
  const parts = /^(\d+) of (\d+) (.+)$/.exec(partial ?? "");
  return parts && t(parts[3] === "refused" ? "refused" : "unread").replace("{1}", parts[1]).replace("{2}", parts[2]);
}

type Shown = { shown: Data; powers?: number[]; colours?: number[] };

function Legend({ series, powers, nth, colours }: { series: Line[]; powers: number[]; nth: number; colours: number[] }) {
  return (
    <div class="scroll"><table class="legend">
      <thead><tr>
        <th>{t("color")}</th><th>{t("scale")}</th><th>{t("counter")}</th><th>{t("instance")}</th><th>{t("parent")}</th>
        <th>{t("object")}</th><th class="num">{t("last")}</th><th class="num">{t("max")}</th><th><span class="hidden">{t("remove")}</span></th>
      </tr></thead>
      <tbody>{series.slice(0, MOST_ROWS).map(({ values: _, statistics: __, ...one }, which) => (
        <Row key={one.path} {...one} which={which} factor={powers[which]} look={colours[which]} isChosen={which === nth} />))}
        {series.length > MOST_ROWS && <tr><td colSpan={9}>+ {number(series.length - MOST_ROWS)}</td></tr>}
      </tbody>
    </table></div>
  );
}

/** A row of the legend. Only its numbers change with a sample, and a number that stays the same changes nothing. */
function Row({ which, factor, look, isChosen, ...one }: Omit<Line, "values" | "statistics"> & { which: number; factor: number; look: number; isChosen: boolean }) {
  void theme.value;
  const [last, most, rank] = useMemo(() => {
    // While the range moves, what rests may still have other series at this place.
    const mine = () => [atRest, data].map((one) => one.value.series[which]).find((now) => now?.path === one.path) as Line;
    return [computed(() => number(lastOf(mine()))),
      computed(() => {
        const top = mine() && mostOf(mine());
        return `${number(Number.isFinite(top) ? top : null)}${axis.value && (top ?? -Infinity) * 10 ** factor > axis.value[1] ? " ▲" : ""}`;
      }),
      computed(() => `num ${(lastOf(mine()) ?? 0) > (styleOf(one)?.threshold ?? Infinity) ? "bad" : ""}`)];
  }, [which, factor, one.path]);
  return (
    <tr aria-selected={isChosen} onClick={() => { chosen.value = one.path; }}>
      <td>{styleOf(one)?.hidden ? "–" : <Swatch nth={look} />}</td><td>{power(factor)}</td>
      <td><button class="link" aria-pressed={isChosen} onClick={() => { chosen.value = one.path; }}>{one.counter}</button>
        {one.partial && <div class="soft">{lacks(one.partial)}</div>}{one.missing && <div class="bad">{one.missing}</div>}</td>
      <td>{one.instance ?? "---"}</td><td>{one.parent ?? "---"}</td><td>{one.object}</td>
      <td class={rank}>{one.ended ? <span class="soft">{t("ended")} {clock(one.ended)}</span> : <>{one.partial && "≈ "}{last} {one.unit}</>}</td><td class="num">{most}</td>
      <td class="tools">{!inReport && <>
        <button class="small" aria-label={`${t("explain")}: ${one.counter}`} onClick={(event) => { event.stopPropagation(); explain(one.path); }}>?</button>
        <button class="small" aria-label={`${t("remove")}: ${one.counter} ${one.instance ?? ""}`} onClick={(event) => {
          event.stopPropagation();
          paths.value = paths.value.filter((path) => path !== one.asked);
        }}>×</button></>}
      </td>
    </tr>
  );
}

function Bars({ shown, powers, colours }: Shown) {
  const sizes = shown.series.map((one, nth) => (lastOf(one) ?? 0) * 10 ** (powers?.[nth] ?? 0));
  const top = Math.max(100, ...sizes);
  return (
    <ul class="bars" aria-label={t("bars")}>{shown.series.map((one, nth) => {
      const share = Math.max(0, Math.min(1, sizes[nth] / top));
      return (
        <li title={one.path}>
          <svg viewBox="0 0 10 100" preserveAspectRatio="none" aria-hidden="true">
            <rect x="0" width="10" y={100 - share * 100} height={share * 100} fill={colour(colours?.[nth] ?? ~nth)} />
          </svg>
          <span>{number(lastOf(one))}</span><span class="soft">{one.instance ?? one.counter}</span>
        </li>);
    })}</ul>
  );
}

/** perfmon's report: objects, counters below them, instances beside each other. */
function Values({ shown }: Shown) {
  const objects = [...new Set(shown.series.map((one) => one.object))];
  return (
    <div class="scroll report">{objects.map((object) => {
      const own = shown.series.map((one, nth) => ({ one, nth })).filter(({ one }) => one.object === object);
      const names = [...new Set(own.map(({ one }) => one.instance ?? ""))];
      return (
        <table><caption>{object}</caption>
          <thead><tr><th>{t("counter")}</th>{names.map((name) => <th class="num">{name || t("value")}</th>)}</tr></thead>
          <tbody>{[...new Set(own.map(({ one }) => one.counter))].map((counter) => (
            <tr><th scope="row">{counter}</th>{names.map((name) => {
              const found = own.find(({ one }) => one.counter === counter && (one.instance ?? "") === name);
              return <td class="num">{found ? `${number(lastOf(found.one))} ${found.one.unit}` : ""}</td>;
            })}</tr>))}
          </tbody>
        </table>);
    })}</div>
  );
}

/** The instances of each object with their counters, at the cursor or now, sorted by any of them. */
function Instances({ shown }: Shown) {
  const row = cursor.value === null ? -1 : shown.times.indexOf(cursor.value);
  const needle = filters.table.value.toLowerCase();
  return (
    <div>
      <label>{t("filter")} <input type="search" value={filters.table.value} onInput={(event) => { filters.table.value = event.currentTarget.value; }} /></label>
      {[...new Set(shown.series.map((one) => one.object))].map((object) => {
        const rows = new Map<string, Map<string, number>>();
        shown.series.forEach((one, nth) => {
          const name = [one.parent, one.instance].filter((part) => part !== null).join("/");
          if (one.object === object && name.toLowerCase().includes(needle)) rows.set(name, (rows.get(name) ?? new Map()).set(one.counter, nth));
        });
        const counters = [...new Set(shown.series.filter((one) => one.object === object).map((one) => one.counter))];
        const english = (counter: string) => shown.series.find((one) => one.object === object && one.counter === counter);
        const of = english(counters[0])?.objectEnglish ?? "";
        const sorted = tableOrder.value[of];
        const by = sorted && { ...sorted, counter: counters.find((counter) => english(counter)?.counterEnglish === sorted.counter) };
        const valueAt = (nth: number | undefined) => (nth === undefined ? undefined : row < 0 ? lastOf(shown.series[nth]) : shown.series[nth].values[row]);
        const valueOf = (name: string) => valueAt(rows.get(name)?.get(by?.counter ?? "")) ?? -Infinity;
        const names = [...rows.keys()];
        // Largest first; those without a value are always last.
        if (by) names.sort((one, other) => (by.back && valueOf(one) > -Infinity && valueOf(other) > -Infinity ? valueOf(one) - valueOf(other) : valueOf(other) - valueOf(one)));
        return (
          <div class="scroll"><table class="instances"><caption>{object}</caption>
            <thead><tr><th>{t("instance")}</th>{counters.map((counter) => {
              const isBy = by?.counter === counter;
              return <th class="num" aria-sort={isBy ? (by.back ? "ascending" : "descending") : undefined}><button class="link" onClick={() => { tableOrder.value = { ...tableOrder.value, [of]: { counter: english(counter)?.counterEnglish ?? "", back: isBy && !by.back } }; }}>{counter}{isBy && (by.back ? " ▲" : " ▼")}</button></th>;
            })}</tr></thead>
            <tbody>{names.slice(0, MOST_ROWS).map((name) => {
              const cells = rows.get(name);
              const path = shown.series[[...cells?.values() ?? []][0]]?.path;
              return (
                <tr key={name} aria-selected={path === chosen.value}><th scope="row"><button class="link" aria-pressed={path === chosen.value} onClick={() => { chosen.value = path; }}>{name || "---"}</button></th>
                  {counters.map((counter) => {
                    const nth = cells?.get(counter);
                    return <td class="num">{nth === undefined ? "" : `${number(valueAt(nth))} ${shown.series[nth].unit}`}</td>;
                  })}</tr>);
            })}
              {names.length > MOST_ROWS && <tr><td colSpan={counters.length + 1}>+ {number(names.length - MOST_ROWS)}</td></tr>}</tbody>
          </table></div>);
      })}
    </div>
  );
}

const STATISTICS: [Word, keyof Statistics][] = [["last", "last"], ["avg", "avg"], ["min", "min"], ["max", "max"],
  ["stddev", "stddev"], ["p95", "p95"], ["slope", "slope"], ["sum", "sum"]];

export function StatisticsTable({ rows }: { rows: { path: string; counter: string; instance: string | null; line?: Statistics }[] }) {
  return (
    <div class="scroll"><table>
      <thead><tr><th>{t("counter")}</th><th>{t("instance")}</th>{STATISTICS.map(([word]) => <th class="num">{t(word)}</th>)}</tr></thead>
      <tbody>{rows.map((one) => (
        <tr key={one.path}><th scope="row">{one.counter}</th><td>{one.instance ?? "---"}</td>
          {STATISTICS.map(([, key]) => <td class="num">{one.line ? number(one.line[key]) : "…"}</td>)}</tr>))}
      </tbody>
    </table></div>
  );
}

function Selection({ shown, zoom }: { shown: Data; zoom: () => void }) {
  const [from, to] = selection.value ?? [0, 0];
  const { times } = shown;
  const inside = <T,>(values: T[]) => values.filter((_, nth) => times[nth] >= from && times[nth] <= to);
  // Until the server has said it: from the rows at hand, if they are all of the range.
  const isAll = !shown.decimated && times[0] <= from && times[times.length - 1] >= to;
  const rows = selected.value
    ? namedAll(selected.value.series).map((one) => ({ ...one, line: one.statistics }))
    : shown.series.map((one) => ({ ...one, line: isAll ? statisticsOf(inside(one.values), inside(times)) : undefined }));
  return (
    <section class="panel" aria-label={t("selection")}>
      <h2>{t("selection")}: {clock(from)} – {clock(to)}</h2>
      <button onClick={zoom}>{t("zoom")}</button>
      <button onClick={() => { selection.value = null; }}>{t("close")}</button>
      <StatisticsTable rows={rows} />
    </section>
  );
}

function Causes() {
  const { at, answer } = causes.value ?? { at: 0, answer: { time: null, groups: [] } };
  return (
    <section class="panel causes" aria-label={t("who")}>
      <h2>{t("causes")} {moment(at)}</h2>
      <button onClick={() => { causes.value = null; }}>{t("close")}</button>
      {answer.groups.length === 0 && <p>{t("nothing")}</p>}
      <div class="groups">{answer.groups.map((group) => (
        <table><caption>{named(group.title, group.english)}</caption><tbody>{group.instances.map((one) => (
          <tr><th scope="row">{one.name}</th><td class="num">{number(one.value)} {group.unit}</td>
            <td><button class="small" aria-label={`${t("add")}: ${one.name}`} onClick={() => addPaths([one.path])}>+</button></td></tr>))}
        </tbody></table>))}
      </div>
    </section>
  );
}

/** The rows of a page of the table of values. */
const ROWS = 50;

/** The same values for those who cannot see the chart: the newest rows first. */
function Table({ shown: all }: { shown: Data }) {
  const [open, setOpen] = useState(false);
  const [wanted, setPage] = useState(0);
  const shown = { ...all, series: all.series.slice(0, MOST_ROWS) };
  const count = Math.max(1, Math.ceil(shown.times.length / ROWS));
  const page = Math.min(wanted, count - 1);
  const rows = !open ? [] : shown.times.map((_, nth) => nth).reverse().slice(page * ROWS, (page + 1) * ROWS);
  return (
    <details class="table" onToggle={(event) => setOpen(event.currentTarget.open)}><summary>{t("data")}</summary>
      {open && count > 1 && <p><button disabled={page === 0} onClick={() => setPage(page - 1)}>{t("later")}</button> <button disabled={page === count - 1} onClick={() => setPage(page + 1)}>{t("earlier")}</button> {number(page + 1)} {t("of")} {number(count)}</p>}
      {open && <div class="scroll" tabIndex={0} role="region" aria-label={t("data")}><table>
        <thead><tr><th>{t("time")}</th>{shown.series.map((one) => <th class="num">{one.counter} {one.instance ?? ""}</th>)}</tr></thead>
        <tbody>{rows.map((nth) => (
          <tr><th scope="row">{moment(shown.times[nth])}</th>
            {shown.series.map((one) => <td class="num">{number(one.values[nth])}</td>)}</tr>))}
        </tbody>
      </table></div>}
    </details>
  );
}

/** The keys of this screen. Those of a chart are heard by the one that has the focus. */
export const MONITOR_KEYS: Key[] = [
  key("V", "view", () => { view.value = VIEWS[(VIEWS.indexOf(view.value) + 1) % VIEWS.length]; }, "monitor"),
  key("H", "highlight", () => { highlight.value = !highlight.value; }, "monitor"),
  key("M", "note", annotate, "monitor"), key("U", "undo", undo, "monitor"), key("P", "properties", () => { styling.value = true; }, "monitor"),
  key("[ ]", "selection", selectFrom, "monitor", ["[", "]"]), key("F", "findings", () => openMark(nextMarks), "monitor"), { ...key("Space", "freeze", () => { frozen.value = !frozen.value; }, "monitor", [" "]), only: () => !inReport },
  key("W, Enter", "who", () => { void ask(cursor.value ?? data.value.times[data.value.times.length - 1] ?? Date.now(), chosen.value); }, "monitor", ["w"]),
  { shown: "← → ↑ ↓ Home End PgUp PgDn", word: "chart", on: "monitor" }, { shown: "+ −", word: "zoom", on: "monitor" }, { shown: "⇧ ← →", word: "move", on: "monitor" },
];
