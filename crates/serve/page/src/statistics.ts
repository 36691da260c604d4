import type { Statistics } from "./api";

/** The statistics of a series over what the chart shows. */
export function statisticsOf(values: (number | null)[]): Statistics {
  let [count, sum, least, most] = [0, 0, Infinity, -Infinity];
  let last: number | undefined;
  for (const value of values) {
    if (value == null) continue;
    count += 1; sum += value; last = value;
    least = Math.min(least, value); most = Math.max(most, value);
  }
  return count === 0 ? { count } : { count, last, avg: sum / count, min: least, max: most, sum };
}
