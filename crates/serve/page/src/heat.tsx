// The heat map: a row for each instance, time from left to right; each cell is the largest value of its stretch of time.
import { useEffect, useRef } from "preact/hooks";
import { listen, moveBy, type Moves } from "./chart";
import type { Data } from "./live";
import { clock, moment, number } from "./format";
import { endsOf } from "./statistics";
import { t } from "./words";

/** Dark to light, which people who see no colours can tell apart too (viridis). */
const STOPS = [[68, 1, 84], [59, 82, 139], [33, 145, 140], [94, 201, 98], [253, 231, 37]];
const SHADES = Uint32Array.from({ length: 256 }, (_, nth) => {
  const place = nth / 255 * 4;
  const stop = Math.min(3, Math.floor(place));
  const [red, green, blue] = STOPS[stop].map((from, part) => Math.round(from + (STOPS[stop + 1][part] - from) * (place - stop)));
  return (255 << 24 | blue << 16 | green << 8 | red) >>> 0;
});
const MOST_COLUMNS = 600;
/** More rows are too narrow for their names. */
const MOST_NAMED = 40;

/** The column of each row of the data, and their number. A hole in time stays a hole. */
function columnsOf(times: number[]): { of: [number, number][]; width: number } {
  const [first, last] = [times[0] ?? 0, times[times.length - 1] ?? 0];
  const width = Math.max(1, Math.min(MOST_COLUMNS, times.length));
  const usual = (last - first) / Math.max(1, times.length - 1);
  const at = (time: number) => Math.round((time - first) / Math.max(1, last - first) * (width - 1));
  const of = times.map((time, nth): [number, number] => {
    const next = times[nth + 1] ?? time + 1;
    return [at(time), next - time > 3 * usual ? at(time) + 1 : Math.max(at(time) + 1, at(next))];
  });
  return { of, width };
}

type Props = {
  data: Data; chosen: number; label: string; onCursor: (time: number | null) => void; say: (words: string) => void;
  onChoose: (series: number) => void; onPick: (time: number, series: number) => void;
} & Moves;

export function Heat(props: Props) {
  const { data, chosen, label, onCursor, onChoose, onPick, say } = props;
  const canvas = useRef<HTMLCanvasElement>(null);
  /** The time at the cursor: rows get other numbers. */
  const place = useRef(0);
  const rows = data.series.length;
  const height = rows * Math.max(1, Math.min(16, Math.floor(520 / Math.max(1, rows))));

  useEffect(() => {
    const context = canvas.current?.getContext("2d");
    if (!context || rows === 0) return;
    const { of, width } = columnsOf(data.times);
    const image = new ImageData(width, rows);
    const cells = new Uint32Array(image.data.buffer);
    const line = new Float64Array(width);
    // Instances of a counter are compared with each other.
    const most = new Map<string, number>();
    for (const one of data.series) {
      most.set(one.counter, Math.max(most.get(one.counter) ?? 1e-12, endsOf(one.values)[1]));
    }
    data.series.forEach((one, row) => {
      line.fill(NaN);
      for (let nth = 0; nth < of.length; nth += 1) {
        const value = one.values[nth];
        if (value != null) for (let at = of[nth][0]; at < of[nth][1] && at < width; at += 1) if (!(line[at] >= value)) line[at] = value;
      }
      const factor = 255 / (most.get(one.counter) ?? 1);
      for (let at = 0; at < width; at += 1) if (line[at] === line[at]) cells[row * width + at] = SHADES[Math.max(0, Math.round(line[at] * factor))];
    });
    context.canvas.width = width;
    context.canvas.height = rows;
    context.putImageData(image, 0, 0);
  }, [data]);

  const tell = (nth: number, row: number) => {
    const one = data.series[row];
    if (!one || data.times[nth] === undefined) return;
    place.current = data.times[nth];
    onCursor(data.times[nth]);
    say(`${moment(data.times[nth])}: ${one.instance ?? one.counter} ${number(one.values[nth])} ${one.unit}`);
  };
  /** The row of the data at a place, and the series. */
  const rowOf = (time: number) => {
    const nth = data.times.findIndex((one) => one >= time);
    return nth < 0 ? data.times.length - 1 : nth;
  };
  const rowAt = (x: number) => {
    const [first, last] = [data.times[0] ?? 0, data.times[data.times.length - 1] ?? 0];
    return rowOf(first + x / (canvas.current?.clientWidth || 1) * (last - first));
  };
  const seriesAt = (y: number) => Math.max(0, Math.min(rows - 1, Math.floor(y / (canvas.current?.clientHeight || 1) * rows)));
  const now = useRef({ props, rowAt, move: (_row: number, _top: number | null) => {} });
  now.current = { props, rowAt, move: (nth, top) => {
    if (top === null || !canvas.current) { onCursor(null); return; }
    tell(nth, seriesAt(top));
    canvas.current.title = data.series[seriesAt(top)]?.path ?? "";
  } };
  useEffect(() => canvas.current ? listen(canvas.current, (x) => now.current.rowAt(x), () => now.current.props, (nth, top) => now.current.move(nth, top),
    (nth) => now.current.props.data.times[nth] ?? null) : undefined, []);
  const onKeyDown = (event: KeyboardEvent) => {
    const [last, here] = [data.times.length - 1, rowOf(place.current)];
    const move: Record<string, number> = { ArrowLeft: -1, ArrowRight: 1, PageUp: -Math.ceil(last / 10), PageDown: Math.ceil(last / 10), Home: -last, End: last };
    if (moveBy(event, props, data.times[here] ?? 0)) { /* it has moved */ } else if (event.key === "ArrowUp" || event.key === "ArrowDown") {
      const row = Math.max(0, Math.min(rows - 1, chosen + (event.key === "ArrowUp" ? -1 : 1)));
      onChoose(row);
      tell(here, row);
    } else if (event.key in move) tell(Math.max(0, Math.min(last, here + move[event.key])), chosen);
    else if (event.key === "Enter") onPick(data.times[here] ?? 0, chosen);
    else return;
    event.preventDefault();
  };
  const one = data.series[chosen];
  return (
    <figure class="heat"><div class="rows">
      {rows <= MOST_NAMED && <ol aria-hidden="true">{data.series.map((one) => <li title={one.path}>{one.instance ?? one.counter}</li>)}</ol>}
      <div><canvas ref={canvas} tabIndex={0} role="application" aria-label={label} style={{ height: `${height}px` }} onKeyDown={onKeyDown}
        onClick={({ currentTarget, offsetX, offsetY }) => {
          if (currentTarget.classList.contains("dragged")) return;
          onChoose(seriesAt(offsetY));
          onPick(data.times[rowAt(offsetX)] ?? 0, seriesAt(offsetY));
        }} /><i class="select" /></div></div>
      <figcaption><span>{clock(data.times[0])}</span><span>0 <i /> {t("max")}</span><span>{one && `${one.counter} ${one.instance ?? ""}`}</span><span>{clock(data.times[data.times.length - 1])}</span></figcaption>
    </figure>
  );
}
