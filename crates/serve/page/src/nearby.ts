// The rows around the range that is shown: a range that moves over them is drawn at once, and asked for when
// it rests.
import { get, type Chart } from "./api";
import type { Data } from "./live";
import { statisticsOf } from "./statistics";

type Asked = { host: string; lang: string; paths: string[]; range: [number, number]; points: number };
/** Rows of a range three times as wide as what is shown. */
type Nearby = { name: string; from: number; to: number; chart: Data };

let nearby: Nearby | null = null;
/** What was asked for last, and what is under way. */
let [last, coming] = ["", ""];

const widthOf = ({ range: [from, to] }: Asked) => to - from;
const nameOf = (asked: Asked) => JSON.stringify([asked.host, asked.lang, asked.paths, asked.points, Math.round(widthOf(asked))]);

/** A part of the rows at hand, if the range is within them. */
export function nearbyPart(asked: Asked): Data | null {
  const [from, to] = asked.range;
  if (nearby?.name !== nameOf(asked) || from < nearby.from || to > nearby.to) return null;
  const { chart } = nearby;
  const place = (time: number) => {
    let [low, high] = [0, chart.times.length];
    while (low < high) { const middle = (low + high) >> 1; if (chart.times[middle] < time) low = middle + 1; else high = middle; }
    return low;
  };
  const [first, end] = [place(from), place(to + 1)];
  const series = chart.series.map((one) => {
    const values = one.values.slice(first, end);
    return { ...one, values, statistics: chart.decimated ? statisticsOf(values) : undefined };
  });
  return { ...chart, times: chart.times.slice(first, end), series, rows: end - first, moves: true };
}

/** Asks for what is around a range that moves, before it gets there. */
export function widen(asked: Asked, to: (chart: Chart) => Data, then: () => void): void {
  const name = nameOf(asked);
  const moves = name === last;
  last = name;
  const [begin, end] = asked.range;
  const width = widthOf(asked);
  const isNear = nearby?.name === name && begin - width / 2 >= nearby.from && end + width / 2 <= nearby.to;
  if (!moves || isNear || coming === name) return;
  coming = name;
  const [from, until] = [begin - width, end + width];
  get<Chart>("query", { host: asked.host, lang: asked.lang, path: asked.paths, from, to: until, points: asked.points * 3 }).then((chart) => {
    if (coming === name) nearby = { name, from, to: until, chart: to(chart) };
    then();
  }).catch(() => { /* the range itself is asked for too, and says what is wrong */ }).finally(() => { if (coming === name) coming = ""; });
}
