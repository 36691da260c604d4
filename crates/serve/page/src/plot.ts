// The picture of a chart: axes, grid, areas and lines. NT's sweep draws what came new, and nothing else.
import { clock, day, minutesEast, number } from "./format";
import { gone } from "./live";
import { Raster, type Pen } from "./raster";
import { endsOf } from "./statistics";

export type Line = {
  /** What the line is about: pictures that follow each other have the same lines, and perhaps new ones. */
  id: string;
  /** Null is a hole in the line; undefined is a row of another log, which the line passes. */
  values: (number | null | undefined)[];
  factor: number; color: string; fill?: string; width: number; dash?: number[];
};
export type Picture = {
  times: number[]; lines: Line[];
  /** Pictures with another name have nothing in common. */
  name: string;
  /** Each line stands on those before it. */
  stacked: boolean;
  /** Seconds of a sweep; the time moves if there are none. */
  sweep: number | null;
  /** The ends of the vertical axis; at least 0 to 100, and all values, if there are none. */
  axis: [number, number] | null;
  /** How many rows had gone when it was made: values of a live machine change while a long picture is drawn. */
  gone: number;
  /** It has notes or marks, which go with the rows. */
  marked: boolean;
};
/** What a picture is drawn in: pixels of the canvas, of which the page has fewer if the screen is fine. */
type Frame = { left: number; top: number; width: number; height: number; fine: number };
type Drawn = { picture: Picture; first: number; xs: Float64Array; low: number; high: number; frame: Frame };

const [LEFT, RIGHT, TOP, BOTTOM] = [56, 8, 8, 24];
/** Milliseconds that drawing may take before the page may do something else. */
const PATIENCE = 12;
/** The axis of more lines than these changes after so many milliseconds only. */
export const [MANY, CALM] = [64, 30_000];
/** The line of the sweep hides so much of the oldest rows. */
const GAP = 0.015;
const [SECOND, MINUTE, HOUR, DAY] = [1000, 60_000, 3_600_000, 86_400_000];
const STEPS = [...[1, 2, 5, 10, 15, 30].map((one) => one * SECOND), ...[1, 2, 5, 10, 15, 30].map((one) => one * MINUTE),
  ...[1, 2, 3, 6, 12].map((one) => one * HOUR), ...[1, 2, 7, 14, 28, 91, 182, 364].map((one) => one * DAY)];

/** The ticks of numbers: 1, 2 or 5 times a power of ten apart. */
function numbersBetween(low: number, high: number, most: number): number[] {
  const least = (high - low) / Math.max(1, most);
  const power = 10 ** Math.floor(Math.log10(least));
  const step = power * ([1, 2, 5].find((one) => one * power >= least) ?? 10);
  // Ends that are next to each other, or farther apart than numbers go.
  if (!(step > 0 && step < Infinity)) return [];
  const first = Math.ceil(low / step);
  return Array.from({ length: Math.max(0, Math.floor(high / step) - first + 1) }, (_, nth) => (first + nth) * step);
}

/** The ticks of times, at even times of the clock that is shown. */
function timesBetween(from: number, to: number, most: number): { ticks: number[]; step: number } {
  const step = STEPS.find((one) => (to - from) / one <= most) ?? Math.ceil((to - from) / Math.max(1, most) / DAY) * DAY;
  const ticks: number[] = [];
  let east = minutesEast(from) * MINUTE;
  for (let tick = Math.ceil((from + east) / step) * step; tick - east <= to; tick += step) {
    // Clocks are put forward and back.
    east = minutesEast(tick - east) * MINUTE;
    if (tick - east >= from) ticks.push(tick - east);
  }
  return { ticks, step };
}

/** A time within a sweep, in milliseconds. */
const phaseOf = (time: number, seconds: number) => time % (seconds * 1000);

export class Plot {
  readonly element = document.createElement("div");
  private readonly back = document.createElement("canvas");
  private readonly front = document.createElement("canvas");
  private raster = new Raster(1, 1);
  private drawn: Drawn | null = null;
  private wanted: Drawn | null = null;
  private isBusy = false;
  private timer = 0;
  /** The times below the picture. */
  private ticks = "";
  /** When the vertical axis changed. */
  private axisAt = 0;
  /** Width and height; asking for them makes the browser lay out the page. */
  private size: [number, number];

  /** In an element; `decorate` draws notes and marks below the lines. */
  constructor(private readonly box: HTMLElement, private readonly decorate: (context: CanvasRenderingContext2D, plot: Plot) => void) {
    this.element.className = "plot";
    this.element.setAttribute("aria-hidden", "true");
    box.append(this.back, this.front, this.element);
    this.size = [box.clientWidth, box.clientHeight];
  }

  /** Whether the box has another size now. */
  resized(): boolean {
    const [width, height] = this.size;
    this.size = [this.box.clientWidth, this.box.clientHeight];
    return this.size[0] !== width || this.size[1] !== height;
  }

  destroy(): void {
    cancelAnimationFrame(this.timer);
    for (const one of [this.back, this.front, this.element]) one.remove();
  }

  /** Draws a picture, at once if that is short. */
  show(picture: Picture): void {
    this.wanted = this.scaled(picture);
    if (!this.isBusy) this.begin();
  }

  /** The pixels of the frame. */
  get frame(): Frame { return this.drawn?.frame ?? this.frameOf(); }

  /** Where a row is, in pixels of the canvas; NaN for one that is not shown. */
  xOf(row: number): number { return this.drawn && row >= this.drawn.first ? this.drawn.frame.left + this.drawn.xs[row] : NaN; }

  /** Where a value is, multiplied by its power already. */
  yOf(value: number): number {
    const { frame, low, high } = this.drawn ?? { frame: this.frame, low: 0, high: 100 };
    return frame.top + (high - value) / (high - low) * frame.height;
  }

  /** The row that is next to a place, in pixels of the canvas. */
  rowAt(x: number): number {
    const { first, xs, frame } = this.drawn ?? { first: 0, xs: new Float64Array(), frame: this.frame };
    let near = -1;
    for (let row = first; row < xs.length; row += 1) {
      if (near < 0 || Math.abs(xs[row] + frame.left - x) < Math.abs(xs[near] + frame.left - x)) near = row;
    }
    return near;
  }

  private frameOf(): Frame {
    const fine = devicePixelRatio;
    const [wide, high] = [this.size[0] - LEFT - RIGHT, this.size[1] - TOP - BOTTOM];
    return { left: Math.round(LEFT * fine), top: Math.round(TOP * fine), width: Math.max(1, Math.round(wide * fine)), height: Math.max(1, Math.round(high * fine)), fine };
  }

  private scaled(picture: Picture): Drawn {
    const { times, sweep } = picture;
    const frame = this.frameOf();
    const [begin, newest] = [times[0] ?? 0, times[times.length - 1] ?? 0];
    const width = sweep === null ? newest - begin : sweep * 1000;
    let first = 0;
    if (sweep !== null) while (first < times.length && times[first] <= newest - width * (1 - GAP)) first += 1;
    const place = (time: number) => (sweep === null ? time - begin : phaseOf(time, sweep)) / (width || 1) * (frame.width - 1);
    const xs = Float64Array.from(times, place);
    let [low, high] = [0, 100];
    const values = new Float64Array(picture.stacked ? times.length : 0);
    const sums = new Float64Array(values.length);
    for (const line of picture.lines) {
      let [least, most] = endsOf(line.values).map((one) => one * line.factor);
      if (picture.stacked) {
        this.values(picture, line, sums, values, first);
        [least, most] = endsOf([...values.slice(first)].filter(Number.isFinite));
      }
      if (least < low) low = least;
      if (most > high) high = most;
    }
    const was = this.drawn;
    if (picture.axis) [low, high] = picture.axis;
    else if (sweep !== null) {
      // Another axis draws all lines anew: it is one for many values, and gets shorter when the sweep begins again.
      [low, high] = [Math.floor(low / 100) * 100, Math.ceil(high / 100) * 100];
      const isRound = !was || was.picture.name !== picture.name || place(newest) < was.xs[was.xs.length - 1];
      if (!isRound) {
        const isCalm = picture.lines.length > MANY && newest < this.axisAt + CALM;
        [low, high] = isCalm ? [was.low, was.high] : [Math.min(low, was.low), Math.max(high, was.high)];
      }
      if (isRound || low !== was.low || high !== was.high) this.axisAt = newest;
    }
    return { picture, first, xs, low, high, frame };
  }

  /** The values of a line from a row on, times its factor; in a stack on top of the sums of those before it, to which they are added. */
  private values(picture: Picture, line: Line, sums: Float64Array, into: Float64Array, first: number): void {
    const moved = gone - picture.gone;
    for (let row = first; row < into.length; row += 1) {
      const one = line.values[row - moved];
      if (one === null) into[row] = NaN;
      else if (one === undefined) into[row] = Infinity;
      else into[row] = picture.stacked ? sums[row] += one * line.factor : one * line.factor;
    }
  }

  private begin(): void {
    const next = this.wanted;
    this.wanted = null;
    if (!next) return;
    const strip = this.drawn && stripOf(this.drawn, next);
    if (strip?.[1] === 0) { this.put(next, 0, 0, true); return; }
    const { frame } = next;
    if (frame.width !== this.raster.width || frame.height !== this.raster.height) this.raster = new Raster(frame.width, frame.height);
    const [from, to] = strip ?? [0, frame.width];
    // A strip needs the last rows only; the line begins before it.
    let start = next.first;
    if (strip) for (start = next.xs.length - 1; start > next.first && next.xs[start] >= from && next.xs[start] >= next.xs[start - 1];) start -= 1;
    this.raster.clear(from, to);
    const sums = new Float64Array(next.xs.length);
    this.isBusy = true;
    this.go(next, { from, to, start, sums, line: 0 }, strip !== null);
  }

  private go(next: Drawn, at: { from: number; to: number; start: number; sums: Float64Array; line: number }, isStrip: boolean): void {
    const until = performance.now() + PATIENCE;
    const { lines, times } = next.picture;
    const { low, high, frame } = next;
    const ys = new Float64Array(times.length);
    for (; at.line < lines.length; at.line += 1) {
      if (performance.now() > until) {
        this.timer = requestAnimationFrame(() => this.go(next, at, isStrip));
        return;
      }
      const line = lines[at.line];
      this.values(next.picture, line, at.sums, ys, at.start);
      for (let row = at.start; row < ys.length; row += 1) if (ys[row] !== Infinity) ys[row] = (high - ys[row]) / (high - low) * (frame.height - 1);
      const pen: Pen = { color: line.color, width: line.width * frame.fine, dash: line.dash?.map((one) => one * frame.fine) };
      this.raster.line(next.xs, ys, at.start, pen, at.from, at.to);
    }
    if (next.picture.sweep !== null && times.length > 0) {
      // NT's line, which sweeps.
      const x = next.xs[times.length - 1] + frame.fine;
      const color = getComputedStyle(document.documentElement).getPropertyValue("--bad").trim();
      this.raster.line(Float64Array.of(x, x), Float64Array.of(0, frame.height), 0, { color, width: 1.7 * frame.fine }, at.from, at.to);
    }
    this.isBusy = false;
    this.put(next, at.from, at.to, isStrip);
    this.begin();
  }

  /** Puts what was drawn on the screen. */
  private put(next: Drawn, from: number, to: number, isStrip: boolean): void {
    const { frame } = next;
    this.drawn = next;
    const front = this.front.getContext("2d");
    if (!front) return;
    if (!isStrip) {
      if (this.front.width !== frame.width || this.front.height !== frame.height) Object.assign(this.front, { width: frame.width, height: frame.height });
      for (const one of [this.front, this.element]) {
        Object.assign(one.style, { left: `${LEFT}px`, top: `${TOP}px`, width: `${frame.width / frame.fine}px`, height: `${frame.height / frame.fine}px` });
      }
    }
    this.raster.show(front, from, to);
    const { ticks } = this.times(next);
    const isSame = isStrip && to > 0 && this.ticks === String(ticks) && !next.picture.marked && !next.picture.lines.some((one) => one.fill);
    this.ticks = String(ticks);
    if (!isSame) this.ground();
    this.element.dispatchEvent(new Event("drawn"));
  }

  /** The times below a picture. Those of a sweep stay where they are until it passes them. */
  private times({ picture: { times, sweep }, frame }: Drawn): { ticks: number[]; step: number } {
    const end = times[times.length - 1] ?? 0;
    const begin = sweep === null ? times[0] ?? 0 : end - sweep * 1000 * (1 - GAP);
    return end > begin ? timesBetween(begin, end, frame.width / frame.fine / 90) : { ticks: [], step: 0 };
  }

  /** Axes, grid and areas, and what else is below the lines. */
  private ground(): void {
    const [context, drawn] = [this.back.getContext("2d"), this.drawn];
    if (!context || !drawn) return;
    const { frame: { left, top, width, height, fine }, picture, low, high } = drawn;
    const [all, tall] = this.size.map((one) => Math.round(one * fine));
    if (this.back.width !== all || this.back.height !== tall) {
      Object.assign(this.back, { width: all, height: tall });
      Object.assign(this.back.style, { width: `${this.size[0]}px`, height: `${this.size[1]}px` });
    }
    context.clearRect(0, 0, all, tall);
    const style = getComputedStyle(document.documentElement);
    [context.strokeStyle, context.fillStyle] = [style.getPropertyValue("--grid"), style.getPropertyValue("--soft")];
    context.font = `${12 * fine}px system-ui, sans-serif`;
    context.lineWidth = fine;
    context.beginPath();
    const sharp = (place: number) => Math.round(place) + (fine % 2) / 2;
    [context.textAlign, context.textBaseline] = ["right", "middle"];
    for (const tick of numbersBetween(low, high, height / fine / 30)) {
      const y = sharp(this.yOf(tick));
      context.moveTo(left - 5 * fine, y);
      context.lineTo(left + width, y);
      context.fillText(number(tick), left - 8 * fine, y);
    }
    [context.textAlign, context.textBaseline] = ["center", "top"];
    const [begin, end] = [picture.times[0] ?? 0, picture.times[picture.times.length - 1] ?? 0];
    const { sweep } = picture;
    const { ticks, step } = this.times(drawn);
    for (const tick of ticks) {
      const x = sharp(left + (sweep === null ? (tick - begin) / (end - begin) : phaseOf(tick, sweep) / (sweep * 1000)) * (width - 1));
      context.moveTo(x, top);
      context.lineTo(x, top + height + 5 * fine);
      context.fillText(step < DAY ? clock(tick) : day(tick), x, top + height + 8 * fine);
    }
    context.stroke();
    this.areas(context, drawn);
    this.decorate(context, this);
  }

  private areas(context: CanvasRenderingContext2D, { picture, first, xs, frame, low }: Drawn): void {
    if (!picture.lines.some((one) => one.fill)) return;
    const sums = new Float64Array(xs.length);
    const values = new Float64Array(xs.length);
    context.save();
    context.beginPath();
    context.rect(frame.left, frame.top, frame.width, frame.height);
    context.clip();
    for (const line of picture.lines) {
      const below = picture.stacked ? sums.slice() : sums;
      this.values(picture, line, sums, values, first);
      if (!line.fill) continue;
      context.fillStyle = line.fill;
      const ground = (row: number) => this.yOf(picture.stacked ? below[row] : Math.max(0, low));
      for (let row = first; row < xs.length;) {
        const begin = row;
        // A row of another log is passed; a hole and the line of the sweep end an area.
        while (row < xs.length && values[row] === values[row] && (row === begin || xs[row] >= xs[row - 1])) row += 1;
        context.beginPath();
        for (let at = begin; at < row; at += 1) if (values[at] !== Infinity) context.lineTo(frame.left + xs[at], this.yOf(values[at]));
        for (let at = row - 1; at >= begin; at -= 1) if (values[at] !== Infinity) context.lineTo(frame.left + xs[at], ground(at));
        context.fill();
        if (row === begin) row += 1;
      }
    }
    context.restore();
  }
}

/** The columns that have changed, if only new rows of a sweep came. */
function stripOf(before: Drawn, next: Drawn): [number, number] | null {
  const { sweep, times, lines } = next.picture;
  const known = before.picture;
  const newest = known.times[known.times.length - 1];
  const old = new Map(known.lines.map((line) => [line.id, line]));
  const row = times.lastIndexOf(newest);
  const same = sweep !== null && sweep === known.sweep && next.picture.name === known.name && before.low === next.low && before.high === next.high && row >= 0
    && before.frame.width === next.frame.width && before.frame.height === next.frame.height && before.frame.fine === next.frame.fine
    && lines.every((line) => {
      const other = old.get(line.id);
      // A line that comes has no values yet; one that has gone stays until the sweep passes it.
      if (!other) return line.values.findIndex((value) => value != null) > row || line.values.every((value) => value == null);
      return line.color === other.color && line.factor === other.factor && line.width === other.width && line.dash === other.dash && line.fill === other.fill;
    });
  if (!same) return null;
  const [from, to] = [next.xs[row], next.xs[times.length - 1]];
  // Beyond the end of the sweep all is drawn, once a sweep. Without a new row only what is below the lines is.
  if (to < from) return null;
  if (to === from) return [0, 0];
  return [Math.max(0, Math.floor(from) - 1), Math.min(next.frame.width, Math.ceil(to + next.frame.width * GAP))];
}
