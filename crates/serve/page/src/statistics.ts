import type { Statistics } from "./api";

/** The numbers of the values of a series at these times, as the server computes them (`src/statistics.rs`). Without times the
    values are the smallest and the largest ones of stretches, which have no average. */
export function statisticsOf(values: (number | null)[], times?: number[]): Statistics {
  const known = values.filter((value) => value != null);
  const count = known.length;
  if (count === 0) return { count };
  const [min, max] = endsOf(values);
  const few = { count, last: known[count - 1], min, max };
  if (!times) return few;
  // Welford's update: exact also for large values that differ little.
  let [nth, avg, squares, middle, spread, products, sum] = [0, 0, 0, 0, 0, 0, 0];
  values.forEach((value, row) => {
    if (value == null) return;
    nth += 1;
    sum += value;
    const minutes = (times[row] - times[0]) / 60_000;
    const [away, later] = [value - avg, minutes - middle];
    avg += away / nth;
    middle += later / nth;
    squares += away * (value - avg);
    spread += later * (minutes - middle);
    products += later * (value - avg);
  });
  return { ...few, avg, sum, stddev: count > 1 ? Math.sqrt(squares / (count - 1)) : null, slope: spread > 0 ? products / spread : null,
    p95: Float64Array.from(known).sort()[Math.ceil(count * 0.95) - 1] };
}

const ends = new WeakMap<unknown[], [number, number]>();
/** The smallest and the largest value; infinite if there are none. They are kept for as long as `turn` says what changes. */
export function endsOf(values: (number | null | undefined)[]): [number, number] {
  let known = ends.get(values);
  if (known) return known;
  known = [Infinity, -Infinity];
  for (const value of values) {
    if (value == null) continue;
    if (value < known[0]) known[0] = value;
    if (value > known[1]) known[1] = value;
  }
  ends.set(values, known);
  return known;
}

/** Removes the first rows of a series, and adds one. */
export function turn(values: (number | null)[], drop: number, value: number | null): void {
  const known = ends.get(values);
  if (known) {
    if (value !== null) { known[0] = Math.min(known[0], value); known[1] = Math.max(known[1], value); }
    // They were the smallest or the largest ones, and the new one is not.
    for (let row = 0; row < drop; row += 1) if (known.includes(values[row] as number) && values[row] !== value) ends.delete(values);
  }
  if (drop > 0) values.splice(0, drop);
  values.push(value);
}
