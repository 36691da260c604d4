// The chart: cursor, selection, keys, notes and marks around its picture (`plot.ts`).
import { effect, signal } from "@preact/signals";
import { useLayoutEffect, useMemo, useRef } from "preact/hooks";
import { gone, type Data } from "./live";
import { moment, number } from "./format";
import { rangesOf } from "./marks";
import { Plot, type Picture } from "./plot";
import type { Finding } from "./report";
import { endsOf } from "./statistics";
import { remembered } from "./words";
import { theme, type Note, type Style, type View } from "./state";

/** Okabe and Ito's colours, which most people can tell apart, in the order of the terminal. */
const DISTINCT = ["#0072b2", "#cc8500", "#009e73", "#8a6d00", "#d55e00", "#cc79a7", "#5b5bd6", "#5d6a73"];
/** The pens of Performance Monitor, dark enough for a white ground. */
const CLASSIC = ["#d40000", "#008000", "#0000ff", "#8a7400", "#c000c0", "#007d7d", "#800000", "#404040"];
export const PALETTES = ["distinct", "classic"] as const;
export const palette = signal(PALETTES.find((one) => one === remembered("palette")) ?? "distinct");
const DASHES: (number[] | undefined)[] = [undefined, [8, 4], [3, 3], [12, 3, 3, 3], [20, 5], [5, 2], [12, 3, 3, 3, 3, 3], [24, 3, 3, 3]];
const LIGHTER: Record<string, string> = { "#d40000": "#ff6b6b", "#008000": "#4ccf4c", "#0000ff": "#8c9bff", "#8a7400": "#f2d94e", "#c000c0": "#f07df0", "#007d7d": "#45d6d6", "#800000": "#d98b8b", "#404040": "#c8c8c8",
  "#0072b2": "#4aa8e8", "#cc8500": "#e69f00", "#8a6d00": "#f0e442", "#5b5bd6": "#9696ff", "#5d6a73": "#a9b6bf" };

/** Whether the theme is dark; asking the style sheet each time would make the browser compute styles. */
let dark: boolean | null = null;
const isDark = () => theme.value && (dark ??= getComputedStyle(document.documentElement).getPropertyValue("--dark").trim() === "1");
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => { dark = null; });
effect(() => { void theme.value; dark = null; });
export const colour = (nth: number) => {
  const colours = palette.value === "classic" ? CLASSIC : DISTINCT;
  const base = colours[(nth < 0 ? ~nth : nth) % colours.length];
  return isDark() ? LIGHTER[base] ?? base : base;
};
/** Colours are not enough, for some people and on paper: of lines that nobody chose a look for, whose numbers are negative, each
    eight have dashes of their own. */
export const dash = (nth: number) => DASHES[nth < 0 ? Math.floor(~nth * 9 / 8) % 8 : Math.floor(nth / 8) % 6];
/** The look that a saved view has instead: a terminal has six patterns of dashes. */
export const lookOf = (nth: number) => (nth < 0 ? ~nth % 8 + DASHES.indexOf(dash(nth)) % 6 * 8 : nth);

/** The power of ten that brings the largest value to at most 100, as perfmon's "scale selected counters". A line keeps the
    one that it had while it does not get too small: a scale that changes with every sample cannot be read. */
export function powerOf(values: (number | null)[], unit: string, before?: number): number {
  const [least, top] = endsOf(values);
  const most = Math.max(top, -least);
  if (most <= 0 || (unit === "%" && most <= 1000)) return 0;
  if (before !== undefined && most * 10 ** before <= 100 && most * 10 ** before > 4) return before;
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
  /** The colours of the series, if they are not the first ones; their widths, and whether they are shown. */
  colours?: number[]; looks?: (Style | undefined)[];
  axis?: [number, number] | null;
  onCursor: (time: number | null) => void; onPick: (time: number, series: number) => void;
  /** Another series was chosen by keys. */
  onChoose?: (series: number) => void;
  say: (words: string) => void;
} & Moves;
/** What can be done to the range of a chart. */
export type Moves = {
  onSelect: (from: number, to: number) => void; onZoom: (factor: number, at: number) => void;
  /** Moves the range by a share of its length. */
  onPan: (share: number) => void;
};

/** Zooms or moves by a key; false if it is another one. */
export function moveBy(event: KeyboardEvent, { onZoom, onPan }: Moves, time: number): boolean {
  if (event.key === "+" || event.key === "-") onZoom(event.key === "+" ? 0.5 : 2, time);
  else if (event.shiftKey && /^Arrow(Left|Right)$/.test(event.key)) onPan(event.key === "ArrowLeft" ? -0.1 : 0.1);
  else return false;
  return true;
}

/** More lines than these have no dots at the cursor. */
const MOST_DOTS = 64;
/** The time at the cursor of charts that belong together. */
const shared = signal<{ together: string; time: number | null } | null>(null);

/** What is drawn of the properties of a chart. */
function pictureOf(props: Props, name: string): Picture {
  const { data, powers, view, sweep, axis = null } = props;
  const ink = getComputedStyle(document.documentElement).getPropertyValue("--ink");
  const ids = new Set<string>();
  const lines = data.series.map((series, own) => {
    const thick = own === props.chosen;
    const nth = props.colours?.[own] ?? ~own;
    const fill = view === "line" || view === "split" ? undefined : `${colour(nth)}${view === "stacked" ? "66" : "22"}`;
    // An instance that has ended may have the path of one that is there.
    let id = series.path;
    while (ids.has(id)) id += " ";
    ids.add(id);
    return { id, values: series.values, factor: 10 ** (powers[own] ?? 0), color: props.highlight && thick ? ink.trim() : colour(nth), fill, width: (thick ? 2.5 : 1.2) * (props.looks?.[own]?.width ?? 1), dash: dash(nth) };
  });
  const isShown = (own: number) => !props.looks?.[own]?.hidden;
  // The line that is chosen is above the others.
  const order = lines.map((_, own) => own).filter(isShown);
  if (view !== "stacked") order.sort((one, other) => Number(one === props.chosen) - Number(other === props.chosen));
  return { name, times: data.times, lines: order.map((own) => lines[own]), stacked: view === "stacked", sweep, axis, gone, marked: !!(props.notes?.[0] ?? props.marks?.[0]) };
}

export function Chart(props: Props) {
  const box = useRef<HTMLDivElement>(null);
  const plot = useRef<Plot | null>(null);
  const now = useRef(props);
  /** The time and row at the cursor, and how far from the top that is. Rows get other numbers as old ones go. */
  const at = useRef<{ row: number; time: number | null; top: number | null } | null>(null);
  now.current = props;
  const { data, view } = props;
  /** The series that keys read aloud, where none is chosen. */
  const read = useRef(0);
  const spoken = () => (props.chosen < 0 ? read.current : props.chosen);
  const parts = [data.series, props.looks, view, props.chosen < 0 || data.series[props.chosen]?.path, props.highlight, props.theme, palette.value, props.axis];
  // Instances come and go; what was asked for is another picture when it changes.
  const name = useMemo(() => JSON.stringify([[...new Set(data.series.map((one) => one.asked))], props.looks?.filter(Boolean), ...parts.slice(2)]), parts);
  const timeOf = (row: number): number | null => now.current.data.times[row] ?? null;

  /** The values of a row as they are drawn, in a stack with those below. */
  const heights = (row: number): (number | null)[] => {
    let sum = 0;
    return now.current.data.series.map((series, nth) => {
      const value = now.current.looks?.[nth]?.hidden ? null : series.values[row];
      const own = (value ?? 0) * 10 ** (now.current.powers[nth] ?? 0);
      return value == null ? null : now.current.view === "stacked" ? sum += own : own;
    });
  };

  /** Shows the cursor at a row, or none. */
  const mark = (row: number, top: number | null) => {
    const own = plot.current;
    if (!own) return;
    const { left, fine } = own.frame;
    const x = (own.xOf(row) - left) / fine;
    const isThere = Number.isFinite(x);
    own.element.classList.toggle("marked", isThere);
    const [upright, level] = [".cursor", ".level"].map((one) => own.element.querySelector<HTMLElement>(one));
    if (upright && isThere) upright.style.transform = `translateX(${x}px)`;
    if (level) { level.hidden = top === null; level.style.transform = `translateY(${top ?? 0}px)`; }
    const dots = own.element.querySelector(".dots");
    if (!dots) return;
    const places = isThere && now.current.data.series.length <= MOST_DOTS ? heights(row) : [];
    while (dots.childElementCount < places.length) dots.append(document.createElement("i"));
    [...dots.children].forEach((dot, nth) => {
      const [value, { style }] = [places[nth] ?? null, dot as HTMLElement];
      style.display = value === null ? "none" : "";
      style.background = colour(now.current.colours?.[nth] ?? ~nth);
      if (value !== null) style.transform = `translate(${x}px, ${(own.yOf(value) - own.frame.top) / fine}px)`;
    });
  };
  const move = (row: number, top: number | null) => {
    at.current = row < 0 ? null : { row, time: timeOf(row), top };
    mark(row, top);
    now.current.onCursor(timeOf(row));
    if (now.current.together) shared.value = { together: now.current.together, time: timeOf(row) };
  };

  useLayoutEffect(() => {
    const element = box.current;
    if (!element) return;
    const made = new Plot(element, (context, one) => { drawNotes(context, one); drawMarks(context, one); drawThresholds(context, one); });
    plot.current = made;
    for (const part of ["cursor", "level", "select", "dots"]) {
      const own = document.createElement("div");
      own.className = part;
      made.element.append(own);
    }
    made.element.addEventListener("drawn", () => {
      const here = at.current;
      if (!here) return;
      here.row = here.time === null ? -1 : now.current.data.times.indexOf(here.time);
      mark(here.row, here.top);
    });
    const stop = listen(made.element, (x) => made.rowAt(x * made.frame.fine + made.frame.left), () => now.current, move, timeOf);
    const resized = new ResizeObserver(() => { if (made.resized()) made.show(pictureOf(now.current, name)); });
    resized.observe(element);
    const left = shared.subscribe((one) => {
      if (!one || one.together !== now.current.together || at.current) return;
      mark(one.time === null ? -1 : now.current.data.times.indexOf(one.time), null);
    });
    return () => { stop(); left(); resized.disconnect(); made.destroy(); plot.current = null; };
  }, []);

  useLayoutEffect(() => { plot.current?.show(pictureOf(props, name)); },
    [data, name, props.sweep, props.powers.join(), props.notes, props.marks?.map((one) => one.title).join()]);

  /** A line and the words of each note at the row next to its time. */
  const drawNotes = (context: CanvasRenderingContext2D, one: Plot) => {
    const { notes = [], data: { times } } = now.current;
    const { left, top, width, height, fine } = one.frame;
    for (const note of notes) {
      if (times.length === 0 || note.time < times[0] - 1000 || note.time > times[times.length - 1] + 1000) continue;
      let near = 0;
      times.forEach((time, nth) => { if (Math.abs(time - note.time) < Math.abs(times[near] - note.time)) near = nth; });
      const x = Math.round(one.xOf(near));
      if (!Number.isFinite(x)) continue;
      context.save();
      context.strokeStyle = context.fillStyle = getComputedStyle(document.documentElement).getPropertyValue("--ink");
      context.setLineDash([4 * fine, 4 * fine]);
      context.beginPath();
      context.moveTo(x, top);
      context.lineTo(x, top + height);
      context.stroke();
      context.textAlign = x > left + width / 2 ? "right" : "left";
      context.fillText(` ${note.text} `, x, top + 12 * fine);
      context.restore();
    }
  };

  /** A line at the value above which a series is an alert; in a stack it would stand for nothing. */
  const drawThresholds = (context: CanvasRenderingContext2D, one: Plot) => {
    const { looks = [], powers, colours, view: shown } = now.current;
    if (shown === "stacked") return;
    const { left, top, width, height, fine } = one.frame;
    looks.forEach((look, nth) => {
      if (look?.threshold === undefined || look.hidden) return;
      const y = one.yOf(look.threshold * 10 ** (powers[nth] ?? 0));
      if (y < top || y > top + height) return;
      context.save();
      context.strokeStyle = colour(colours?.[nth] ?? ~nth);
      context.setLineDash([2 * fine, 4 * fine]);
      context.beginPath();
      context.moveTo(left, y);
      context.lineTo(left + width, y);
      context.stroke();
      context.restore();
    });
  };

  const drawMarks = (context: CanvasRenderingContext2D, one: Plot) => {
    const { marks = [], data: { times } } = now.current;
    const style = getComputedStyle(document.documentElement);
    for (const mark of marks) {
      context.fillStyle = style.getPropertyValue({ critical: "--bad", warning: "--high" }[mark.severity] ?? "--main");
      const ranges = rangesOf(mark);
      times.forEach((time, nth) => {
        // A range between two rows is marked at the first of them.
        const after = times[nth + 1] ?? time + 1;
        if (!ranges.some((part) => part.from < after && part.to >= time)) return;
        const [x, end] = [one.xOf(nth), one.xOf(nth + 1)];
        if (Number.isFinite(x)) context.fillRect(x, one.frame.top, Math.max(2, end > x ? end - x : 2), MARK * one.frame.fine);
      });
    }
  };

  /** The series nearest to a place of the chart. */
  const nearest = (top: number, row: number): number => {
    const own = plot.current;
    let [best, least] = [now.current.chosen, 60];
    heights(row).forEach((value, nth) => {
      if (value === null || !own) return;
      const away = Math.abs((own.yOf(value) - own.frame.top) / own.frame.fine - top);
      if (away < least) [best, least] = [nth, away];
    });
    return best;
  };

  const onClick = () => {
    const here = at.current;
    const time = here && timeOf(here.row);
    if (!here || time === null || plot.current?.element.classList.contains("dragged")) return;
    if ((here.top ?? 0) <= MARK * 2 && props.onMark?.(time)) return;
    props.onPick(time, nearest(here.top ?? 0, here.row));
  };

  const onKeyDown = (event: KeyboardEvent) => {
    const last = data.times.length - 1;
    if (!plot.current || last < 0) return;
    const wide = Math.max(1, Math.round((last + 1) / 10));
    const step: Record<string, number> = { ArrowLeft: -1, ArrowRight: 1, PageUp: -wide, PageDown: wide, Home: -last, End: last };
    const here = Math.min(last, at.current && at.current.row >= 0 ? at.current.row : last);
    const side = { ArrowUp: -1, ArrowDown: 1 }[event.key];
    if (moveBy(event, props, timeOf(here) ?? data.times[last])) { /* it has moved */ } else if (event.key === "Enter") {
      const time = timeOf(here);
      if (time !== null) props.onPick(time, spoken());
    } else if (side || event.key in step) {
      const own = Math.max(0, Math.min(data.series.length - 1, spoken() + (side ?? 0)));
      read.current = own;
      if (side) props.onChoose?.(own);
      const to = Math.max(0, Math.min(last, here + (step[event.key] ?? 0)));
      const series = data.series[own];
      const value = heights(to)[own];
      move(to, value == null ? null : (plot.current.yOf(value) - plot.current.frame.top) / plot.current.frame.fine);
      props.say(`${moment(timeOf(to))}: ${series ? `${series.counter} ${series.instance ?? ""} ${number(series.values[to])} ${series.unit}` : ""}`);
    } else return;
    event.preventDefault();
  };

  return (
    <div class="chart" ref={box} tabIndex={0} role="application" aria-label={props.label} onClick={onClick}
      onKeyDown={onKeyDown} />
  );
}

/** Follows the pointer and the wheel over the picture of a chart; returns what ends that. What is selected is within the
    picture, or beside it. */
export function listen(element: HTMLElement, rowAt: (x: number) => number, props: () => Moves, move: (row: number, top: number | null) => void, timeOf: (row: number) => number | null): () => void {
  const select = (element.firstChild ? element : element.parentElement)?.querySelector<HTMLElement>(".select");
  const ended = new AbortController();
  let from: number | null = null;
  const placeOf = (event: MouseEvent) => {
    const { left, top } = element.getBoundingClientRect();
    return { x: event.clientX - left, y: event.clientY - top };
  };
  const on = <K extends keyof HTMLElementEventMap>(name: K, heard: (event: HTMLElementEventMap[K]) => void, passive = true) => (
    element.addEventListener(name, heard, { signal: ended.signal, passive }));
  const end = () => { from = null; if (select) select.hidden = true; };
  end();
  on("pointerdown", (event) => {
    element.classList.remove("dragged");
    if (event.button !== 0) return;
    from = placeOf(event).x;
    element.setPointerCapture(event.pointerId);
  });
  on("pointermove", (event) => {
    const { x, y } = placeOf(event);
    move(rowAt(x), y);
    if (from === null || !select || Math.abs(x - from) < 4) return;
    element.classList.add("dragged");
    select.hidden = false;
    select.style.transform = `translateX(${Math.min(from, x)}px)`;
    select.style.width = `${Math.abs(x - from)}px`;
  });
  on("pointerup", (event) => {
    const ends = from === null || !element.classList.contains("dragged") ? [] : [from, placeOf(event).x].map((x) => timeOf(rowAt(x)));
    end();
    const [one, other] = ends;
    if (one != null && other != null) props().onSelect(Math.min(one, other), Math.max(one, other));
  });
  on("pointercancel", end);
  on("pointerleave", () => move(-1, null));
  on("wheel", (event) => {
    const { x } = placeOf(event);
    const aside = event.shiftKey ? event.deltaX || event.deltaY : event.deltaX;
    if (event.ctrlKey) props().onZoom(event.deltaY < 0 ? 0.8 : 1.25, timeOf(rowAt(x)) ?? Date.now());
    else if (aside !== 0 && Math.abs(aside) >= Math.abs(event.shiftKey ? 0 : event.deltaY)) props().onPan(aside / element.clientWidth);
    else return;
    event.preventDefault();
  }, false);
  return () => ended.abort();
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
