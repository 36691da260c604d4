// Findings of `tally analyze` as marks on the time axis, which can be opened: what, when, who, what next.
import { signal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { get } from "./api";
import { moment } from "./format";
import { data, hidden } from "./live";
import { FindingItem } from "./report-page";
import { report, type Finding } from "./report";
import { cursor, host, inReport, isLive, said } from "./state";
import { lang, t } from "./words";

/** How often the findings of a live machine, and those of a log that is still read, are asked for. */
const PERIOD = 10_000;
const found = signal<Finding[]>([]);
/** The host that they were found on. */
let foundOf: string | null = null;
const opened = signal<string | null>(null);

export const rangesOf = (one: Finding) => one.instances.flatMap((where) => where.ranges);
/** Whether a finding is about a time. */
const isAt = (one: Finding, time: number) => rangesOf(one).some((part) => part.from <= time && time <= part.to);

/** The findings in the time that the chart shows. */
export function useFindings(): Finding[] {
  const [id, isAway] = [host.value, hidden.value];
  useEffect(() => {
    let timer = 0;
    // A browser has few connections to a server: none may wait for a log that is no longer shown.
    const control = new AbortController();
    const load = async () => {
      let soon = false;
      const ask = () => get<{ findings: Finding[]; pending?: boolean }>("findings", { host: id, lang: lang.value }, control.signal);
      try {
        // One page of this browser at a time waits for an answer that may take long.
        const { findings, pending } = await (navigator.locks ? navigator.locks.request("tally-findings", { signal: control.signal }, ask) : ask());
        if (control.signal.aborted) return;
        found.value = findings;
        soon = pending === true;
        if (!isLive()) return;
      } catch { /* the log is still read, or the server is gone, which others say */ }
      if (!control.signal.aborted) timer = setTimeout(load, soon ? 1000 : PERIOD);
    };
    if (foundOf !== id) { [opened.value, foundOf] = [null, id]; found.value = report?.findings ?? []; }
    if (!inReport && !isAway) void load();
    return () => { control.abort(); clearTimeout(timer); };
  }, [id, lang.value, isAway]);
  const { times } = data.value;
  const [first, last] = [times[0], times[times.length - 1]];
  return foundOf !== id ? [] : found.value.filter((one) => rangesOf(one).some((part) => part.to >= first && part.from <= last));
}

/** Opens the finding behind the one that is open, or that at a time; says it to a screen reader. */
export function openMark(marks: Finding[], time?: number): boolean {
  const nth = time === undefined ? (marks.findIndex((one) => one.title === opened.value) + 1) % marks.length : marks.findIndex((one) => isAt(one, time));
  const one = marks[nth];
  if (!one) return false;
  opened.value = one.title;
  cursor.value = rangesOf(one)[0].from;
  said.value = `${one.title}: ${moment(cursor.value)}`;
  return true;
}

export function Marks({ marks }: { marks: Finding[] }) {
  if (marks.length === 0) return null;
  return (
    <section class="marks"><h2>{t("findings")}</h2>
      <p>{marks.map((one) => (
        <button class={`mark ${one.severity}`} aria-expanded={one.title === opened.value} onClick={() => (opened.value === one.title ? opened.value = null : openMark([one]))}>{one.title}</button>))}</p>
      <ol class="findings">{marks.filter((one) => one.title === opened.value).map((one) => <FindingItem one={one} />)}</ol>
    </section>
  );
}
