// The chart: uPlot draws lines, areas and stacks; cursor, selection and keys are the same for all.
import { useEffect, useRef } from "preact/hooks";
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import type { Data } from "./live";
import { clock, moment, number, onClock } from "./format";
import { rangesOf } from "./marks";
import type { Finding } from "./report";
import type { Note, View } from "./state";

/** Okabe and Ito's colours, which most people can tell apart; the dashes tell the rest apart. */
const COLOURS = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#8a6d00", "#56b4e9", "#e69f00", "#5d6a73"];
const DASHES: (number[] | undefined)[] = [undefined, [8, 4], [2, 3], [10, 3, 2, 3]];
const LIGHTER: Record<string, string> = { "#0072b2": "#4aa8e8", "#8a6d00": "#d9b93b", "#5d6a73": "#a9b6bf" };

const isDark = () => getComputedStyle(document.documentElement).getPropertyValue("--dark").trim() === "1";
export const colour = (nth: number) => {
  const base = COLOURS[nth % COLOURS.length];
  return isDark() ? LIGHTER[base] ?? base : base;
};
export const dash = (nth: number) => DASHES[Math.floor(nth / COLOURS.length) % DASHES.length];

/** The power of ten that brings the largest value to at most 100, as perfmon's "scale selected counters". */
export function powerOf(values: (number | null)[], unit: string): number {
  let most = 0;
  for (const value of values) if (value !== null && Math.abs(value) > most) most = Math.abs(value);
  if (most === 0 || (unit === "%" && most <= 1000)) return 0;
  return Math.max(-9, Math.min(7, Math.floor(2 - Math.log10(most) + 1e-9)));
}

/** The height of the bars of findings. */
const MARK = 6;

type Props = {
  data: Data; powers: number[]; view: View; chosen: number; highlight: boolean;
  /** Seconds of a sweep; the time moves if there are none. */
  sweep: number | null; label: string; theme: string;
  notes?: Note[];
  /** Findings, each with a bar at the top over the times that it is about. */
  marks?: Finding[]; onMark?: (time: number) => boolean;
  /** Charts that share a cursor have the same word. */
  together?: string;
  /** The colours of the series, if they are not the first ones. */
  colours?: number[];
  onCursor: (time: number | null) => void; onPick: (time: number, series: number) => void;
  onSelect: (from: number, to: number) => void; onZoom: (factor: number, at: number) => void;
  say: (words: string) => void;
};

/** What uPlot draws: times in seconds, values times their powers. */
function drawn(props: Props): { rows: (number | null)[][]; order: number[] } {
  const { data, powers, view, sweep } = props;
  let order = data.times.map((_, nth) => nth);
  let times = data.times.map((time) => time / 1000);
  if (sweep !== null && times.length > 0) {
    // The newest rows are left of the line that sweeps, the oldest ones right of it.
    const newest = times[times.length - 1];
    const phase = (time: number) => ((time % sweep) + sweep) % sweep;
    const kept = order.filter((nth) => times[nth] > newest - sweep * 0.985);
    order = kept.sort((left, right) => phase(times[left]) - phase(times[right]));
    const at = order.findIndex((nth) => times[nth] === newest);
    order.splice(at + 1, 0, -1);
    const line = phase(newest);
    times = order.map((nth) => (nth < 0 ? line + 1e-3 : phase(times[nth])));
  }
  const rows: (number | null)[][] = [times];
  const sums: number[] = new Array(times.length).fill(0);
  data.series.forEach((series, which) => {
    const factor = 10 ** (powers[which] ?? 0);
    // Null is a hole in the line; undefined is a row of another log, which the line passes.
    const value = (nth: number) => (nth < 0 ? null : series.values[nth]);
    rows.push(order.map((nth, place) => {
      const one = value(nth);
      if (one === null || one === undefined) return one as null;
      if (view !== "stacked") return one * factor;
      sums[place] += one * factor;
      return sums[place];
    }));
  });
  return { rows, order };
}

export function Chart(props: Props) {
  const box = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | null>(null);
  const now = useRef(props);
  const order = useRef<number[]>([]);
  now.current = props;
  const { data, view } = props;
  const shape = [data.series.map((one) => one.path).join("\n"), view, props.chosen, props.highlight, props.theme,
    props.sweep, props.colours].join("\t");

  useEffect(() => {
    const element = box.current;
    if (!element) return;
    const style = getComputedStyle(document.documentElement);
    const [ink, grid] = [style.getPropertyValue("--soft"), style.getPropertyValue("--grid")];
    const axis = { stroke: ink, grid: { stroke: grid, width: 1 }, ticks: { stroke: grid, width: 1 } };
    const series: uPlot.Series[] = [{}];
    now.current.data.series.forEach((_, own) => {
      const thick = own === now.current.chosen;
      const nth = now.current.colours?.[own] ?? own;
      const stroke = now.current.highlight && thick ? style.getPropertyValue("--ink") : colour(nth);
      const fill = view === "line" || view === "split" ? undefined : `${colour(nth)}${view === "stacked" ? "66" : "22"}`;
      series.push({ stroke, fill, width: thick ? 2.5 : 1.2, dash: dash(nth), points: { show: false } });
    });
    const bands = view !== "stacked" ? [] : now.current.data.series.slice(1).map((_, nth): uPlot.Band => (
      { series: [nth + 2, nth + 1] }));
    const sweeping = now.current.sweep !== null;
    const options: uPlot.Options = {
      width: element.clientWidth, height: element.clientHeight, series, bands,
      tzDate: (seconds) => onClock(seconds * 1000), legend: { show: false }, padding: [8, 8, sweeping ? 10 : 0, 0],
      scales: {
        x: { time: !sweeping, range: sweeping ? () => [0, now.current.sweep ?? 1] : undefined },
        y: { range: (_, low, high) => [Math.min(0, low ?? 0), Math.max(100, high ?? 100)] },
      },
      axes: [
        { ...axis, show: !sweeping, values: (_, ticks) => ticks.map((tick) => clock(tick * 1000)), space: 90 },
        { ...axis, size: 56, values: (_, ticks) => ticks.map((tick) => number(tick)) },
      ],
      cursor: {
        drag: { x: true, y: false, setScale: false }, points: { size: 7 },
        // Only the place of the cursor is shared; a selection is asked for once.
        sync: now.current.together ? { key: now.current.together, filters: { pub: (type) => type.startsWith("mousem") || type === "mouseleave" } } : undefined,
      },
      hooks: {
        draw: [drawNotes, drawMarks],
        setCursor: [(one) => { now.current.onCursor(timeAt(one.cursor.idx)); }],
        setSelect: [(one) => {
          if (one.select.width < 4) return;
          const ends = [one.select.left, one.select.left + one.select.width].map((at) => timeAt(one.posToIdx(at)));
          if (ends[0] !== null && ends[1] !== null) {
            now.current.onSelect(Math.min(ends[0], ends[1]), Math.max(ends[0], ends[1]));
          }
        }],
      },
    };
    const first = drawn(now.current);
    order.current = first.order;
    const made = new uPlot(options, first.rows as uPlot.AlignedData, element);
    plot.current = made;
    const resized = new ResizeObserver(() => {
      made.setSize({ width: element.clientWidth, height: element.clientHeight });
    });
    resized.observe(element);
    return () => { resized.disconnect(); made.destroy(); plot.current = null; };
  }, [shape]);

  useEffect(() => {
    const next = drawn(props);
    order.current = next.order;
    plot.current?.setData(next.rows as uPlot.AlignedData);
  }, [data, props.powers.join(), props.notes, props.marks?.map((one) => one.title).join()]);

  const timeAt = (place: number | null | undefined): number | null => {
    if (place === null || place === undefined) return null;
    // Right of the newest row is a gap.
    const nth = order.current[place] === -1 ? order.current[place - 1] ?? -1 : order.current[place] ?? -1;
    return nth < 0 ? null : now.current.data.times[nth] ?? null;
  };

  /** A line and the words of each note at the row next to its time. */
  const drawNotes = (one: uPlot) => {
    const { notes = [], data: { times } } = now.current;
    const { ctx, bbox } = one;
    for (const note of notes) {
      if (times.length === 0 || note.time < times[0] - 1000 || note.time > times[times.length - 1] + 1000) continue;
      let near = 0;
      times.forEach((time, nth) => { if (Math.abs(time - note.time) < Math.abs(times[near] - note.time)) near = nth; });
      const place = order.current.indexOf(near);
      if (place < 0) continue;
      const x = Math.round(one.valToPos(one.data[0][place], "x", true));
      ctx.save();
      ctx.strokeStyle = ctx.fillStyle = getComputedStyle(document.documentElement).getPropertyValue("--ink");
      ctx.setLineDash([4, 4]);
      ctx.beginPath();
      ctx.moveTo(x, bbox.top);
      ctx.lineTo(x, bbox.top + bbox.height);
      ctx.stroke();
      ctx.textAlign = x > bbox.left + bbox.width / 2 ? "right" : "left";
      ctx.fillText(` ${note.text} `, x, bbox.top + 12 * devicePixelRatio);
      ctx.restore();
    }
  };

  const drawMarks = (one: uPlot) => {
    const { marks = [], data: { times } } = now.current;
    const { ctx, bbox } = one;
    const style = getComputedStyle(document.documentElement);
    for (const mark of marks) {
      ctx.fillStyle = style.getPropertyValue({ critical: "--bad", warning: "--high" }[mark.severity] ?? "--main");
      const ranges = rangesOf(mark);
      order.current.forEach((nth, place) => {
        // A range between two rows is marked at the first of them.
        const after = times[nth + 1] ?? times[nth] + 1;
        if (nth < 0 || !ranges.some((part) => part.from < after && part.to >= times[nth])) return;
        const [x, end] = [place, place + 1].map((at) => one.valToPos(one.data[0][Math.min(at, order.current.length - 1)], "x", true));
        ctx.fillRect(x, bbox.top, Math.max(2, end - x), MARK * devicePixelRatio);
      });
    }
  };

  /** The series nearest to a point of the chart. */
  const nearest = (top: number, place: number): number => {
    const made = plot.current;
    let [best, least] = [now.current.chosen, 60];
    made?.data.slice(1).forEach((row, nth) => {
      const value = row[place];
      if (value === null || value === undefined || !made) return;
      const away = Math.abs(made.valToPos(value, "y") - top);
      if (away < least) [best, least] = [nth, away];
    });
    return best;
  };

  const onClick = () => {
    const made = plot.current;
    const place = made?.cursor.idx;
    const time = timeAt(place);
    if (!made || place === null || place === undefined || time === null || (made.select.width ?? 0) > 3) return;
    if ((made.cursor.top ?? 0) <= MARK * 2 && props.onMark?.(time)) return;
    props.onPick(time, nearest(made.cursor.top ?? 0, place));
  };

  const onKeyDown = (event: KeyboardEvent) => {
    const made = plot.current;
    const all = data.times.length;
    if (!made || all === 0) return;
    const wide = Math.max(1, Math.round(all / 10));
    const step: Record<string, number> = { ArrowLeft: -1, ArrowRight: 1, PageUp: -wide, PageDown: wide };
    const here = made.cursor.idx ?? all - 1;
    if (event.key === "Enter") {
      const time = timeAt(here);
      if (time !== null) props.onPick(time, props.chosen);
    } else if (event.key === "+" || event.key === "-") {
      props.onZoom(event.key === "+" ? 0.5 : 2, timeAt(here) ?? data.times[all - 1]);
    } else if (event.key in step || event.key === "Home" || event.key === "End") {
      const rows = made.data[0].length;
      const wanted = event.key === "Home" ? 0 : event.key === "End" ? rows - 1 : here + step[event.key];
      const to = Math.max(0, Math.min(rows - 1, wanted));
      const series = data.series[props.chosen];
      const value = (made.data[props.chosen + 1] ?? [])[to];
      made.setCursor({
        left: made.valToPos(made.data[0][to], "x"),
        top: value === null || value === undefined ? 0 : made.valToPos(value, "y"),
      });
      const nth = order.current[to] ?? -1;
      const words = series && nth >= 0 ? `${series.counter} ${number(series.values[nth])} ${series.unit}` : "";
      props.say(`${moment(timeAt(to))}: ${words}`);
    } else return;
    event.preventDefault();
  };

  return (
    <div class="chart" ref={box} tabIndex={0} role="application" aria-label={props.label} onClick={onClick}
      onKeyDown={onKeyDown} />
  );
}

/** A small line of the past, for a screen reader a picture without words. */
export function Spark({ values, most, wide }: { values: (number | null)[]; most?: number; wide?: boolean }) {
  const [width, height] = [wide ? 300 : 90, wide ? 56 : 22];
  const known = values.filter((value): value is number => value !== null);
  const top = most ?? Math.max(1e-9, ...known);
  const step = width / Math.max(1, values.length - 1);
  let path = "";
  let pen = false;
  values.forEach((value, nth) => {
    if (value === null) { pen = false; return; }
    const y = height - 1 - Math.min(1, Math.max(0, value / top)) * (height - 2);
    path += `${pen ? "L" : "M"}${(nth * step).toFixed(1)} ${y.toFixed(1)}`;
    pen = true;
  });
  return (
    <svg class={wide ? "spark wide" : "spark"} viewBox={`0 0 ${width} ${height}`} preserveAspectRatio="none"
      aria-hidden="true">
      <path d={path} vector-effect="non-scaling-stroke" />
    </svg>
  );
}
