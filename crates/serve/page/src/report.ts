// The data of a report: in the page itself. `src/pack.rs` writes it: compressed, whole steps, differences.
import type { Column, LogClock, Statistics } from "./api";
import type { Data } from "./live";
import { statisticsOf } from "./statistics";
import type { Word } from "./words";

export type Finding = {
  title: string; severity: string; share: number; host: string; means: string; next: string;
  instances: { path: string; worst: number; usual: number | null; unit: string; more: number;
    ranges: { from: number; to: number; worst: number }[] }[];
  causes: { name: string; during: number; unit: string }[];
};
export type Report = {
  logs: string[]; hosts: string[]; records: number; columns: number; format: string; first: number; last: number;
  clock: LogClock; machine: string[];
  before?: { logs: string[]; first: number; last: number; clock: LogClock; compared: number; more: number;
    changes: { path: string; effect: string; before: number; after: number; unit: string }[] };
  gaps: { time: number; seconds: number }[]; gapCount: number; restarts: { host: string; time: number }[];
  busiest: { title: string; unit: string; instances: { name: string; mean: number; max: number }[] }[];
  /** What the overview shows: a word, and the path of its series. */
  strips: [Word, string][];
  damage: number; made: number; points: number; decimated: boolean; leftOut: number; moreFindings: number;
  findings: Finding[]; series: (Omit<Column, "values"> & { step: number; statistics: Statistics })[];
};

export let report: Report | null = null;
let whole: Data = { times: [], series: [], decimated: false, rows: 0 };

export async function readReport(): Promise<void> {
  const text = (document.getElementById("data")?.textContent ?? "").trim();
  const packed = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate-raw"));
  const bytes = new Uint8Array(await new Response(stream).arrayBuffer());
  const length = new DataView(bytes.buffer).getUint32(0, true);
  const read: Report = JSON.parse(new TextDecoder().decode(bytes.subarray(4, 4 + length)));
  let at = 4 + length;
  const column = (step: number): (number | null)[] => {
    const values: (number | null)[] = [];
    let before = 0;
    for (let nth = 0; nth < read.points; nth += 1) {
      // Numbers of more than 32 bits: no shifts.
      let [number, factor, byte] = [0, 1, 0];
      do { byte = bytes[at]; at += 1; number += (byte & 127) * factor; factor *= 128; } while (byte & 128);
      // Without a value, or the row of another log, which a line passes.
      if (number < 2) { values.push(number ? undefined as unknown as null : null); continue; }
      const zigzag = number - 2;
      before += zigzag % 2 === 0 ? zigzag / 2 : -(zigzag + 1) / 2;
      values.push(step < 1 ? before / Math.round(1 / step) : before * step);
    }
    return values;
  };
  const times = column(1).map((time) => time ?? 0);
  const series = read.series.map((one) => ({ ...one, values: column(one.step) }));
  whole = { times, series, decimated: read.decimated, rows: read.points };
  report = read;
}

/** Some series in a range; of many rows the smallest and the largest value of each stretch, as the server does it. */
export function reportChart(paths: string[], range: [number, number] | null, points: number): Data {
  const inside = (time: number) => !range || (time >= range[0] && time <= range[1]);
  const rows = whole.times.map((_, nth) => nth).filter((nth) => inside(whole.times[nth]));
  const series = whole.series.filter((one) => paths.includes(one.path));
  const at = rows.map((nth) => whole.times[nth]);
  const pick = (values: (number | null)[]) => rows.map((nth) => values[nth]);
  // From every row, and not from what is drawn. Those of the whole log came with it.
  const statistics = (one: Data["series"][number]) => (range ? statisticsOf(pick(one.values), whole.decimated ? undefined : at) : one.statistics);
  if (rows.length <= points) {
    return { times: at, decimated: whole.decimated, rows: rows.length, series: series.map((one) => ({ ...one, values: pick(one.values), statistics: statistics(one) })) };
  }
  const stretches = points / 2;
  const cut = (nth: number) => Math.floor(nth * rows.length / stretches);
  const times: number[] = [];
  for (let nth = 0; nth < stretches; nth += 1) {
    times.push(at[cut(nth)], at[Math.floor((cut(nth) + cut(nth + 1)) / 2)]);
  }
  const extremes = (values: (number | null)[]) => {
    const result: (number | null)[] = [];
    for (let nth = 0; nth < stretches; nth += 1) {
      let [least, most, first]: [number | null, number | null, boolean] = [null, null, true];
      for (let row = cut(nth); row < cut(nth + 1); row += 1) {
        const value = values[rows[row]];
        if (value == null) continue;
        if (least === null || most === null) { least = value; most = value; }
        else if (value < least) { least = value; first = false; }
        else if (value > most) { most = value; first = true; }
      }
      result.push(...(first ? [least, most] : [most, least]));
    }
    return result;
  };
  return { times, decimated: true, rows: rows.length,
    series: series.map((one) => ({ ...one, values: extremes(one.values), statistics: statistics(one) })) };
}
