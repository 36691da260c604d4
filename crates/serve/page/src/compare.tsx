// Two logs beside each other: what differs most, and both over each other in a chart.
import { signal } from "@preact/signals";
import { get, type Chart as ChartAnswer, type Comparison } from "./api";
import { Chart, powerOf } from "./chart";
import { duration, number } from "./format";
import type { Data } from "./live";
import { Swatch } from "./monitor";
import { fail, hosts, said, theme } from "./state";
import { t } from "./words";

const chosen = signal(["", ""]);
const align = signal<"start" | "clock">("start");
const answer = signal<Comparison | null>(null);
const overlay = signal<{ path: string; data: Data } | null>(null);

async function compare(sides: string[]): Promise<void> {
  overlay.value = null;
  try {
    answer.value = await get<Comparison>("compare", { first: sides[0], second: sides[1], align: align.value });
    const most = answer.value.differences[0];
    if (most) await lay(most.path, sides);
  } catch (error) { answer.value = null; fail(error); }
}

/** Lays the second log over the first one: by their starts, or by the clock. */
async function lay(path: string, sides: string[]): Promise<void> {
  const parts = answer.value?.sides ?? [];
  try {
    const [one, other] = await Promise.all(sides.map((host, nth) => get<ChartAnswer>("query", { host, path, from: parts[nth]?.first, to: parts[nth]?.last, points: 600 })));
    const shift = align.value === "start" ? (parts[0]?.first ?? 0) - (parts[1]?.first ?? 0) : 0;
    const rows = new Map<number, (number | null | undefined)[]>();
    const put = (chart: ChartAnswer, nth: number, by: number) => chart.times.forEach((time, row) => {
      const cells = rows.get(time + by) ?? [];
      cells[nth] = chart.series[0]?.values[row];
      rows.set(time + by, cells);
    });
    put(one, 0, 0);
    put(other, 1, shift);
    const times = [...rows.keys()].sort((left, right) => left - right);
    const series = [one, other].map((chart, nth) => ({ ...chart.series[0], instance: parts[nth]?.name ?? "", values: times.map((time) => rows.get(time)?.[nth] as number | null) }));
    overlay.value = { path, data: { times, series, decimated: false, rows: times.length } };
  } catch (error) { fail(error); }
}

export function Compare() {
  const logs = hosts.value.filter((one) => one.kind === "log" && one.state === "ready");
  if (logs.length < 2) return null;
  const sides = chosen.value.map((id, nth) => (logs.some((one) => one.id === id) ? id : logs[nth].id));
  const found = answer.value;
  const both = overlay.value?.data;
  void theme.value;
  const power = both ? powerOf(both.series.flatMap((one) => one.values), both.series[0].unit) : 0;
  return (
    <section class="card compare"><h2>{t("compare")}</h2>
      <div class="toolbar">
        {sides.map((id, nth) => <label>{"AB"[nth]} <select value={id} onChange={(event) => { const to = event.currentTarget.value; chosen.value = sides.map((one, at) => (at === nth ? to : one)); }}>
          {logs.map((one) => <option value={one.id}>{one.name}</option>)}</select></label>)}
        <label>{t("align")} <select value={align.value} onChange={(event) => { align.value = event.currentTarget.value as "start" | "clock"; }}>
          <option value="start">{t("byStart")}</option><option value="clock">{t("byClock")}</option></select></label>
        <button class="main" disabled={sides[0] === sides[1]} onClick={() => void compare(sides)}>{t("compare")}</button>
      </div>
      {both && <><h3>{overlay.value?.path} × {10 ** power}</h3>
        <Chart data={both} powers={[power, power]} view="line" chosen={-1} highlight={false} sweep={null} theme={theme.value}
          label={`${t("compare")}: ${overlay.value?.path}`} onCursor={() => {}} onPick={() => {}} onZoom={() => {}} onSelect={() => {}} say={(words) => { said.value = words; }} />
      </>}
      {found && <>
        <p>{found.sides.map((side, nth) => <><Swatch nth={nth} /> {"AB"[nth]} {side.name}: {number(side.records)}, {duration(((side.last ?? 0) - (side.first ?? 0)) / 1000)}<br /></>)}</p>
        <div class="scroll"><table>
          <thead><tr><th>{t("counter")}</th>{(["avg", "p95", "max"] as const).flatMap((word) => [<th class="num">{t(word)} A</th>, <th class="num">B</th>])}<th class="num">B − A</th><th class="num">%</th></tr></thead>
          <tbody>{found.differences.map((one) => (
            <tr key={one.path} aria-selected={one.path === overlay.value?.path}>
              <th scope="row"><button class="link" aria-pressed={one.path === overlay.value?.path} onClick={() => void lay(one.path, sides)}>{one.shown}</button></th>
              {(["mean", "p95", "max"] as const).flatMap((key) => [<td class="num">{number(one.first[key])}</td>, <td class="num">{number(one.second[key])}</td>])}
              <td class="num">{number(one.absolute)} {one.unit}</td><td class="num">{one.first.mean ? number(one.absolute / Math.abs(one.first.mean) * 100) : "–"}</td>
            </tr>))}</tbody>
        </table></div>
        {found.all > found.differences.length && <p class="soft">+ {number(found.all - found.differences.length)}</p>}
        {[found.onlyFirst, found.onlySecond].map((paths, nth) => paths.length > 0 && <details><summary>{t("only")} {"AB"[nth]} ({number(paths.length)})</summary>
          <ul>{paths.map((path) => <li><code>{path}</code></li>)}</ul></details>)}
      </>}
    </section>
  );
}
