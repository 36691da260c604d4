// Alerts: when lines rose above their thresholds, and fell below them. They are found in all of the log or of the history,
// not only in what the chart shows.
import { computed, signal, useSignalEffect } from "@preact/signals";
import { get, type Crossing, type Crossings } from "./api";
import { moment, number } from "./format";
import { end, hidden, type Data } from "./live";
import { reportChart } from "./report";
import { chosen, cursor, fail, host, inReport, isGone, isLive, paths, range, styles } from "./state";
import { t } from "./words";

/** How long thresholds must rest before they are looked for, and how often they are in a history that goes on. */
const [REST, PERIOD] = [300, 3000];
/** The most alerts that are listed. */
const MOST = 50;
/** The least time that is shown around an alert that is not in the chart. */
const AROUND = 60_000;
const NONE: Crossings = { count: 0, alerts: [], from: null, to: null };
/** What was found, and in which host. */
const found = signal({ id: "", of: NONE });

/** The lines with thresholds. Other properties of lines change more often: this one does not with them. */
const wanted = computed(() => JSON.stringify(Object.entries(styles.value).flatMap(([path, one]) => (one.threshold === undefined || one.hidden ? [] : [[path, one.threshold]]))));

/** Those in the data of a report, as the server finds them. */
function inData(all: [string, number][]): Crossings {
  const { times, series } = reportChart(all.map(([path]) => path), null, Infinity);
  const alerts: Crossing[] = [];
  for (const one of series) {
    const threshold = all.find(([path]) => path === one.path)?.[1] ?? Infinity;
    let isOver = false;
    one.values.forEach((value, row) => {
      if (value == null || value > threshold === isOver) return;
      isOver = !isOver;
      alerts.push({ time: times[row], begins: isOver, path: one.path, value });
    });
  }
  alerts.sort((one, other) => other.time - one.time);
  return { count: alerts.length, alerts: alerts.slice(0, MOST), from: times[0] ?? null, to: times[times.length - 1] ?? null };
}

export function Alerts({ shown }: { shown: Data }) {
  useSignalEffect(() => {
    // A log that is on its way grows.
    void end.value;
    const [id, all]: [string, [string, number][]] = [host.value, JSON.parse(wanted.value)];
    const asked = { host: id, path: paths.value, alert: all.map(([path, threshold]) => `${threshold} ${path}`) };
    const put = (of: Crossings) => { found.value = { id, of }; };
    if (all.length === 0 || asked.path.length === 0) { put(NONE); return; }
    if (inReport) { put(inData(all)); return; }
    if (hidden.value || isGone.value) return;
    const control = new AbortController();
    let failed = false;
    const look = async () => {
      try {
        put(await get<Crossings>("alerts", asked, control.signal));
        failed = false;
      } catch (error) {
        if (control.signal.aborted) return;
        put(NONE);
        // It is said once, and asked again.
        if (!failed) fail(error);
        failed = true;
      }
      if ((failed || isLive()) && !control.signal.aborted) timer = setTimeout(look, PERIOD);
    };
    let timer = setTimeout(look, REST);
    return () => { control.abort(); clearTimeout(timer); };
  });
  const { count, alerts, from, to } = found.value.id === host.value ? found.value.of : NONE;
  if (from === null) return null;
  const open = ({ time, path }: Crossing) => {
    const [first, last] = [shown.times[0] ?? time, shown.times[shown.times.length - 1] ?? time];
    const half = Math.max(AROUND, (last - first) / 2);
    if (time < first || time > last) range.value = [time - half, time + half];
    [cursor.value, chosen.value] = [time, path];
  };
  return (
    <section class="panel alerts"><h2>{t("alerts")}: {number(count)} <span class="soft">({moment(from)} – {moment(to)})</span></h2>
      {count > 0 && <div class="scroll"><table><tbody>{alerts.map((alert) => {
        const one = shown.series.find(({ path }) => path === alert.path);
        return (
          <tr key={`${alert.time} ${alert.path}`}><td><button class="link" onClick={() => open(alert)}>{moment(alert.time)}</button></td>
            <td class={alert.begins ? "bad" : ""}>{t(alert.begins ? "alertBegan" : "alertEnded")}</td>
            <td>{one ? `${one.counter} ${one.instance ?? ""}` : alert.path}</td><td class="num">{number(alert.value)} {one?.unit}</td></tr>);
      })}{count > alerts.length && <tr><td colSpan={4}>+ {number(count - alerts.length)}</td></tr>}</tbody></table></div>}
    </section>
  );
}
