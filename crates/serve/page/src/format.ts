// Numbers and times as people read them.
import { signal } from "@preact/signals";
import type { LogClock } from "./api";
import { lang, remembered } from "./words";

const locale = () => ({ en: "en-US", ko: "ko-KR", ja: "ja-JP", ru: "ru-RU" })[lang.value];

/** How numbers are written: as in the language, or in a way that is chosen. */
export const NUMBER_FORMS = ["auto", "1,234.5", "1.234,5", "1 234,5", "1234.5"] as const;
export const numberForm = signal(NUMBER_FORMS.find((one) => one === remembered("numbers")) ?? "auto");
/** What is between thousands, and before a fraction: of the languages, and of the forms. */
const SIGNS: Record<string, [string, string]> = {
  en: [",", "."], ko: [",", "."], ja: [",", "."], ru: ["\u00a0", ","], "1,234.5": [",", "."], "1.234,5": [".", ","], "1 234,5": ["\u00a0", ","], "1234.5": ["", "."],
};

const formats = new Map<string, Intl.DateTimeFormat>();
/** A format that is made once: making one takes far longer than using it. */
function formatOf(name: string, make: () => Intl.DateTimeFormat): Intl.DateTimeFormat {
  let known = formats.get(name);
  if (!known) formats.set(name, known = make());
  return known;
}
/** Written by hand: making an Intl.NumberFormat takes longer than the rest of the first chart's numbers. */
function rounded(value: number, digits: number): string {
  const [between, point] = SIGNS[numberForm.value === "auto" ? lang.value : numberForm.value];
  const [whole, fraction] = value.toFixed(digits).split(".");
  const kept = fraction?.replace(/0+$/, "");
  const grouped = whole.replace(/\B(?=(\d{3})+$)/g, between);
  return kept ? `${grouped}${point}${kept}` : grouped === "-0" ? "0" : grouped;
}

/** A number with four significant digits, or all digits before the point. */
export function number(value: number | null | undefined): string {
  if (value === null || value === undefined || Number.isNaN(value)) return "–";
  const size = Math.abs(value);
  if (size !== 0 && (size >= 1e15 || size < 1e-4)) return value.toExponential(3);
  const digits = size >= 1000 ? 0 : size >= 100 ? 1 : size >= 10 ? 2 : 3;
  return rounded(value, digits);
}

export function percent(value: number | null | undefined): string {
  if (value === null || value === undefined) return "–";
  return `${rounded(value, value < 10 ? 1 : 0)} %`;
}

export function bytes(value: number | null | undefined): string {
  if (value === null || value === undefined) return "–";
  const units = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];
  let unit = 0;
  let size = value;
  while (Math.abs(size) >= 1024 && unit < units.length - 1) { size /= 1024; unit += 1; }
  return `${rounded(size, size < 10 && unit > 0 ? 1 : 0)} ${units[unit]}`;
}

/** A time as people say it: µs, ms, s. */
export function brief(seconds: number | null | undefined): string {
  if (seconds === null || seconds === undefined) return "–";
  const [size, unit] = seconds < 1e-3 ? [seconds * 1e6, "µs"] : seconds < 1 ? [seconds * 1e3, "ms"] : [seconds, "s"];
  return `${rounded(size, size < 10 ? 1 : 0)} ${unit}`;
}

/** Bits of a link a second, from bytes. */
export function bits(value: number): string {
  const size = value * 8;
  const [scaled, unit] = size >= 1e9 ? [size / 1e9, "Gbit/s"] : [size / 1e6, "Mbit/s"];
  return `${rounded(scaled, 1)} ${unit}`;
}

export function duration(seconds: number | null | undefined): string {
  if (seconds === null || seconds === undefined) return "–";
  const whole = Math.max(0, Math.round(seconds));
  const two = (part: number) => String(part).padStart(2, "0");
  const days = Math.floor(whole / 86400);
  const clock = `${Math.floor((whole % 86400) / 3600)}:${two(Math.floor((whole % 3600) / 60))}:${two(whole % 60)}`;
  return days > 0 ? `${days} d ${clock}` : clock;
}

/** The clock of the log that is shown; live values have that of the browser. */
export const logClock = signal<LogClock | null>(null);

/** The minutes from UTC on the clock of a log. */
function minutesAt(milliseconds: number, of: LogClock): number {
  let minutes = of.changes[0]?.[1] ?? 0;
  for (const [from, then] of of.changes) if (from <= milliseconds) minutes = then;
  return minutes;
}

function text(milliseconds: number, of: LogClock | null, form: Intl.DateTimeFormatOptions): string {
  const timeZone = of === null ? undefined : "UTC";
  const format = formatOf(`${lang.value} ${JSON.stringify(form)} ${timeZone}`, () => new Intl.DateTimeFormat(locale(), { ...form, hour12: false, timeZone }));
  return format.format(milliseconds + (of === null ? 0 : minutesAt(milliseconds, of) * 60_000));
}

/** How many minutes the clock that is shown is ahead of UTC. */
export function minutesEast(milliseconds: number): number {
  return logClock.value ? minutesAt(milliseconds, logClock.value) : -new Date(milliseconds).getTimezoneOffset();
}

/** Beyond it times are none: those of the server begin in 1601, and the browser has no dates beyond 8.64e15. */
export const END = 1.1e13;
export const isTime = (at: number) => Math.abs(at) < END;
/** A time as people and fields type it, on the clock that is shown; and what they have typed. */
export const typed = (milliseconds: number) => new Date(milliseconds + minutesEast(milliseconds) * 60_000).toISOString().slice(0, 19);
export function timeOf(text: string): number | null {
  const at = Date.parse(`${text}Z`);
  return isTime(at) ? at - minutesEast(at - minutesEast(at) * 60_000) * 60_000 : null;
}

export function day(milliseconds: number): string {
  return text(milliseconds, logClock.value, { dateStyle: "short" });
}

export function clock(milliseconds: number | null | undefined): string {
  if (milliseconds === null || milliseconds === undefined) return "–";
  return text(milliseconds, logClock.value, { timeStyle: "medium" });
}

export function moment(milliseconds: number | null | undefined, of: LogClock | null = logClock.value): string {
  if (milliseconds === null || milliseconds === undefined) return "–";
  return text(milliseconds, of, { dateStyle: "medium", timeStyle: "medium" });
}

/** A power of ten as perfmon's legend has it: 0.001, 1, 1000. */
export function power(exponent: number): string {
  return exponent >= 0 ? String(10 ** exponent) : (10 ** exponent).toFixed(-exponent);
}
