// Logs beside each other: what differs most, and all of them over each other in a chart.
import { signal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { get, type Chart as ChartAnswer, type Comparison } from "./api";
import { Chart, powerOf } from "./chart";
import { duration, number } from "./format";
import type { Data } from "./live";
import { Swatch } from "./monitor";
import { align, beside, chosenAt, compared, fail, hosts, laid, MOST_COMPARED, say, theme } from "./state";
import { rangesOf } from "./marks";
import type { Finding } from "./report";
import { lang, t } from "./words";

const LETTERS = "ABCDEFGH";
/** What was found in each log. */
const found = signal<Record<string, Finding[]>>({});
/** Of the first log with each of the others; all have one part of the first log. */
const answers = signal<Comparison[]>([]);
const overlay = signal<{ path: string; data: Data } | null>(null);
/** Comparisons and charts take long, and somebody may want another one before they are there: the last one counts. */
let [comparing, laying] = [0, 0];
const works = signal(false);

type Difference = Comparison["differences"][number];
/** A counter in all logs; its numbers in each of them. */
type Line = { one: Difference; all: (Difference["first"] | undefined)[]; most: number };

const eventOf = (id: string) => chosenAt.value[id] ?? hosts.value.find((one) => one.id === id)?.first ?? 0;
/** Asks what was found in logs, to choose from. */
function look(sides: string[]): void {
  if (align.value === "event") sides.filter((id) => !found.value[id]).forEach((id) => void get<{ findings: Finding[] }>("findings", { host: id, lang: lang.value })
    .then(({ findings }) => { found.value = { ...found.value, [id]: findings }; }, fail));
}

const parts = () => [answers.value[0]?.sides[0], ...answers.value.map((one) => one.sides[1])];

async function compare(sides: string[]): Promise<void> {
  comparing += 1;
  const own = comparing;
  const isOld = () => own !== comparing;
  [overlay.value, works.value] = [null, true];
  try {
    const [first, ...others] = sides;
    // One after the other: each reads two logs.
    const made: Comparison[] = [];
    for (const second of others) {
      const beside = others.filter((one) => one !== second);
      const at = align.value === "event" ? [first, second, ...beside].map((id) => `${eventOf(id)}`) : [];
      made.push(await get<Comparison>("compare", { first, second, beside, align: align.value, at, top: others.length > 1 ? 2000 : null }));
      if (isOld()) return;
    }
    answers.value = made;
    const all = lines();
    const most = all.find(({ one }) => one.path === laid.peek()) ?? all[0];
    if (most) await lay(most.one.path, sides);
  // What failed is not asked again by itself.
  } catch (error) { if (!isOld()) { [answers.value, laid.value] = [[], ""]; fail(error); } }
  if (!isOld()) works.value = false;
}

function lines(): Line[] {
  const known = new Map<string, Line>();
  answers.value.forEach(({ differences }, nth) => differences.forEach((one) => {
    const line = known.get(one.path) ?? { one, all: [one.first], most: 0 };
    line.all[nth + 1] = one.second;
    line.most = Math.max(line.most, Math.abs(one.relative));
    known.set(one.path, line);
  }));
  // A pair is in the order of the server.
  return answers.value.length < 2 ? [...known.values()] : [...known.values()].sort((left, right) => right.most - left.most).slice(0, 100);
}

/** Lays the other logs over the first one: by their starts, or by the clock. */
async function lay(path: string, sides: string[]): Promise<void> {
  const all = parts();
  laying += 1;
  const own = laying;
  try {
    const charts = await Promise.all(sides.map((host, nth) => get<ChartAnswer>("query", { host, path, from: all[nth]?.first, to: all[nth]?.last, points: 600 }).catch((error) => { if (sides.length < 3) throw error; return null; })));
    if (own !== laying) return;
    const rows = new Map<number, (number | null | undefined)[]>();
    charts.forEach((chart, nth) => chart?.times.forEach((time, row) => {
      const beginOf = (side: number) => (align.value === "event" ? eventOf(sides[side]) : all[side]?.first ?? 0);
      const at = time + (align.value === "clock" ? 0 : beginOf(0) - beginOf(nth));
      const cells = rows.get(at) ?? [];
      cells[nth] = chart.series[0]?.values[row];
      rows.set(at, cells);
    }));
    const times = [...rows.keys()].sort((left, right) => left - right);
    const info = charts.find((one) => one)?.series[0];
    if (!info) return;
    const series = charts.map((_, nth) => ({ ...info, statistics: undefined, instance: all[nth]?.name ?? "", values: times.map((time) => rows.get(time)?.[nth] as number | null) }));
    [laid.value, compared.value] = [path, sides];
    overlay.value = { path, data: { times, series, decimated: false, rows: times.length } };
  } catch (error) { if (own === laying) fail(error); }
}

/** The rows of one log. All begin and end together, so that what was at one time stands at one place. */
function sideOf(all: Data, side: number): Data {
  const own = all.series[side];
  const last = all.times.length - 1;
  const rows = all.times.map((_, nth) => nth).filter((nth) => own.values[nth] !== undefined || nth === 0 || nth === last);
  return { ...all, times: rows.map((nth) => all.times[nth]), series: [{ ...own, values: rows.map((nth) => own.values[nth]) }] };
}

/** One axis for the charts of all logs. */
function axisOf(all: Data, power: number): [number, number] {
  const values = all.series.flatMap((one) => one.values).filter((value) => value != null).map((value) => value * 10 ** power);
  return [values.reduce((least, value) => Math.min(least, value), 0), values.reduce((most, value) => Math.max(most, value), 1) * 1.05];
}

export function Compare() {
  const logs = hosts.value.filter((one) => one.kind === "log" && one.state === "ready");
  const sides = compared.value.slice(0, logs.length).map((id, nth) => (logs.some((one) => one.id === id) ? id : logs[nth].id));
  const choose = (to: string[]) => { comparing += 1; laying += 1; works.value = false; compared.value = to; answers.value = []; overlay.value = null; laid.value = ""; look(to); };
  // What an address names is compared at once.
  const named = laid.value !== "" && answers.value.length === 0 && !works.value && sides.every((id, nth) => id === compared.value[nth]);
  useEffect(() => { if (named) { look(sides); void compare(sides); } }, [named]);
  if (logs.length < 2) return null;
  const [first] = answers.value;
  const both = overlay.value?.data;
  void theme.value;
  const power = both ? powerOf(both.series.flatMap((one) => one.values), both.series[0].unit) : 0;
  const other = logs.find((one) => !sides.includes(one.id));
  return (
    <section class="card compare"><h2>{t("compare")}</h2>
      <div class="toolbar">
        {sides.map((id, nth) => <label>{LETTERS[nth]} <select value={id} onChange={(event) => { const to = event.currentTarget.value; choose(sides.map((one, at) => (at === nth ? to : one))); }}>
          {logs.map((one) => <option value={one.id}>{one.name}</option>)}</select>
          {align.value === "event" && <select aria-label={`${t("byEvent")} ${LETTERS[nth]}`} value={eventOf(id)} onChange={(event) => { chosenAt.value = { ...chosenAt.value, [id]: Number(event.currentTarget.value) }; }}>
            <option value={logs.find((one) => one.id === id)?.first ?? 0}>{t("begin")}</option>
            {found.value[id]?.map((one) => <option value={rangesOf(one)[0]?.from}>{one.title}</option>)}</select>}</label>)}
        {other && sides.length < MOST_COMPARED && <button aria-label={`${t("compare")} +`} onClick={() => choose([...sides, other.id])}>+</button>}
        {sides.length > 2 && <button aria-label={t("remove")} onClick={() => choose(sides.slice(0, -1))}>−</button>}
        <label>{t("align")} <select value={align.value} onChange={(event) => { align.value = event.currentTarget.value as "start"; look(sides); }}>
          <option value="start">{t("byStart")}</option><option value="clock">{t("byClock")}</option><option value="event">{t("byEvent")}</option></select></label>
        <label class="check"><input type="checkbox" checked={beside.value} onChange={(event) => { beside.value = event.currentTarget.checked; }} /> {t("sideBySide")}</label>
        <button class="main" aria-busy={works.value} disabled={works.value || new Set(sides).size < sides.length} onClick={() => void compare(sides)}>{t("compare")}</button>
      </div>
      {both && <><h3>{overlay.value?.path} × {10 ** power}</h3>
        <div class={beside.value ? "beside" : ""}>{(beside.value ? both.series.map((_, nth) => sideOf(both, nth)) : [both]).map((part, nth) => (
          <Chart key={`${beside.value} ${nth}`} data={part} powers={part.series.map(() => power)} view="line" chosen={-1} highlight={false} sweep={null} theme={theme.value}
            colours={beside.value ? [~nth] : undefined} axis={beside.value ? axisOf(both, power) : null} together={beside.value ? "compare" : undefined}
            label={`${t("compare")}: ${overlay.value?.path}${beside.value ? `: ${part.series[0].instance}` : ""}`} onCursor={() => {}} onPick={() => {}} onZoom={() => {}} onPan={() => {}} onSelect={() => {}} say={say} />))}</div>
      </>}
      {first && <>
        <p>{parts().map((side, nth) => side && <><Swatch nth={~nth} /> {LETTERS[nth]} {side.name}: {number(side.records)}, {duration(((side.last ?? 0) - (side.first ?? 0)) / 1000)}<br /></>)}</p>
        <div class="scroll"><table>
          <thead><tr><th>{t("counter")}</th>{(["avg", "p95", "max"] as const).flatMap((word) => parts().map((_, nth) => <th class="num">{nth ? "" : `${t(word)} `}{LETTERS[nth]}</th>))}
            {answers.value.map((_, nth) => <><th class="num">{LETTERS[nth + 1]} − A</th><th class="num">%</th></>)}</tr></thead>
          <tbody>{lines().map(({ one, all }) => (
            <tr key={one.path} aria-selected={one.path === overlay.value?.path}>
              <th scope="row"><button class="link" aria-pressed={one.path === overlay.value?.path} onClick={() => void lay(one.path, sides)}>{one.shown}</button></th>
              {(["mean", "p95", "max"] as const).flatMap((key) => parts().map((_, nth) => <td class="num">{number(all[nth]?.[key])}</td>))}
              {answers.value.map((_, nth) => {
                const mean = all[nth + 1]?.mean;
                const by = mean == null ? null : mean - one.first.mean;
                return <><td class="num">{number(by)} {one.unit}</td><td class="num">{by !== null && one.first.mean ? number(by / Math.abs(one.first.mean) * 100) : "–"}</td></>;
              })}
            </tr>))}</tbody>
        </table></div>
        {first.all > 100 && <p class="soft">+ {number(first.all - 100)}</p>}
        {answers.value.length < 2 && [first.onlyFirst, first.onlySecond].map((paths, nth) => paths.length > 0 && <details><summary>{t("only")} {LETTERS[nth]} ({number(paths.length)})</summary>
          <ul>{paths.map((path) => <li><code>{path}</code></li>)}</ul></details>)}
      </>}
    </section>
  );
}
