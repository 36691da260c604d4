// What belongs to this machine besides its counters: recording sessions, providers, events.
import { signal, useSignal, useSignalEffect, type Signal } from "@preact/signals";
import { useRef } from "preact/hooks";
import { act, ApiError, get, type Events, type Provider, type Providers, type Session, type Sessions, type Value } from "./api";
import { brief, bytes, moment, number } from "./format";
import { hidden } from "./live";
import { ready } from "./logs";
import { key, type Key } from "./keys";
import { cursor, fail, filters, FORMATS, host, isGone, isLive, level, lookedAt, notice, paths, said, styles } from "./state";
import { lang, languageOf, named, t, type Word } from "./words";

/** An answer, or why there is none; and the host that was asked. */
type Known<T> = { answer?: T; why?: string; of?: Value };

const sessions = signal<Known<Sessions>>({});
const providers = signal<Known<Providers>>({});
const events = signal<Known<Events>>({});
const opened = signal<string | null>(null);
const making = signal(false);
const busy = signal(false);

/** Asks again and again while the screen is shown. */
function useAnswer<T extends { pending?: boolean }>(into: Signal<Known<T>>, name: string, asked: () => Record<string, Value>, goesOn = () => true): void {
  useSignalEffect(() => {
    const wanted = asked();
    if (hidden.value || isGone.value) return;
    const control = new AbortController();
    let timer = 0;
    const load = async () => {
      const before = into.peek();
      try {
        const answer = await get<T>(name, wanted, control.signal);
        // What an action has changed meanwhile is newer.
        if (into.peek() === before) into.value = { answer, of: wanted.host };
      } catch (error) {
        if (control.signal.aborted) return;
        if (error instanceof ApiError && error.status !== 401) into.value = { why: error.message, of: wanted.host }; else fail(error);
      }
      const pending = into.peek().answer?.pending;
      if (!control.signal.aborted && (pending || goesOn())) timer = setTimeout(load, pending ? 300 : 2000);
    };
    void load();
    return () => { control.abort(); clearTimeout(timer); };
  });
}

function Missing({ of }: { of: Known<unknown> }) {
  return <p role="status">{of.why ?? t("connecting")}</p>;
}

const MARK: Record<string, string> = { recording: "good", healthy: "good", killed: "critical", failed: "critical", error: "critical", degraded: "warning", waiting: "warning", warning: "warning" };
/** The state of a thing: a word, and a colour for those that need a look. */
function State({ word, name }: { word: Word; name: string }) {
  return <span class={`mark ${MARK[name] ?? ""}`}>{t(word)}</span>;
}

const STATE: Record<Session["state"], Word> = { recording: "recording", waiting: "waits", stopped: "stopped", killed: "killed" };
const starts = (one: Session) => one.state === "stopped" || one.state === "killed";

async function change(name: string, parameters: Record<string, Value>): Promise<void> {
  if (busy.value) return;
  busy.value = true;
  try {
    const answer = await act<Sessions>(name, parameters);
    sessions.value = { answer };
    said.value = answer.said ?? "";
    opened.value = parameters.name as string;
    making.value = false;
  } catch (error) { fail(error); }
  busy.value = false;
}

function turn(one: Session): void {
  const word = starts(one) ? "start" : "stop";
  if (confirm(`${t(word)}: ${one.name}?`)) void change(`sessions/${word}`, { name: one.name });
}

function drop(one: Session): void {
  if (starts(one) && confirm(`${t("remove")}: ${one.name}?`)) void change("sessions/delete", { name: one.name });
}

/** Shows the logs of a session as one. */
async function show(one: Session): Promise<void> {
  if (busy.value) return;
  busy.value = true;
  const begun = { at: lookedAt() };
  const asked = act<{ id: string; logs: number; all: number }>("sessions/open", { name: one.name }).finally(() => { busy.value = false; });
  try {
    const { id, logs, all } = await asked;
    if (logs < all) notice.value = `${one.name}: ${t("logs")} ${number(logs)} ${t("of")} ${number(all)}`;
    await ready(id, undefined, begun);
  } catch (error) { fail(error); }
}

/** Enables or disables the library of a provider. */
const enable = (one: Provider) => {
  const on = one.state === "disabled";
  if (busy.value || !confirm(`${t(on ? "enable" : "disable")}: ${one.title}?`)) return;
  busy.value = true;
  void act("providers/enable", { name: one.service, on: on ? 1 : 0 }).catch(fail).finally(() => { busy.value = false; });
};

/** The session that is chosen; the first one until somebody has chosen. */
const chosenOf = (own: Sessions | undefined) => own?.sessions.find((each) => each.name === opened.value) ?? own?.sessions[0];
/** Whether this server changes sessions; it may, until it has said that it does not. */
const changes = () => sessions.value.answer?.control !== false;
/** Does something with the chosen session. */
const withChosen = (does: (one: Session) => void) => () => {
  const one = chosenOf(sessions.value.answer);
  if (!one || busy.value) return false;
  does(one);
};

export const SESSION_KEYS: Key[] = [
  ...[key("N", "newSession", () => { making.value = !making.value; }, "sessions"), key("S", "startStop", withChosen(turn), "sessions"), key("D", "remove", withChosen(drop), "sessions")]
    .map((one) => ({ ...one, only: changes })),
  { ...key("O", "show", withChosen((one) => { if (one.logs > 0) void show(one); }), "sessions"), only: () => sessions.value.answer?.opensLogs !== false },
];

export function Sessions() {
  useAnswer(sessions, "sessions", () => ({}));
  const own = sessions.value.answer;
  if (!own) return <main><Missing of={sessions.value} /></main>;
  const one = chosenOf(own);
  return (
    <main>
      <div class="toolbar">{own.control
        ? <button class="main" disabled={busy.value} aria-expanded={making.value} title="n" onClick={() => { making.value = !making.value; }}>+ {t("newSession")}</button>
        : <p class="soft">{t("onlyShown")}</p>}</div>
      {making.value && own.control && <Form />}
      {own.sessions.length === 0 && <p>{t("nothing")}</p>}
      {own.sessions.length > 0 && <div class="scroll"><table>
        <thead><tr><th>{t("name")}</th><th>{t("state")}</th><th>{t("file")}</th>{(["interval", "size", "records", "errors", "alerts", "lastRecord"] as const).map((word) => (
          <th class="num">{t(word)}</th>))}<td /></tr></thead>
        <tbody>{own.sessions.map((each) => (
          <tr key={each.name} aria-selected={each === one}>
            <th scope="row"><button class="link" aria-pressed={each === one} onClick={() => { opened.value = each.name; }}>{each.name}</button></th>
            <td><State word={STATE[each.state]} name={each.state} /></td><td>{each.file?.split(/[\\/]/).pop() ?? "–"}</td>
            <td class="num">{number(each.interval)} s</td><td class="num">{bytes(each.bytes)}</td><td class="num">{number(each.records)}</td>
            <td class={each.errors > 0 ? "num bad" : "num"}>{number(each.errors)}</td><td class="num">{number(each.alerts)}</td><td class="num">{moment(each.last, null)}</td>
            <td class="tools">{own.opensLogs && each.logs > 0 && <button disabled={busy.value} onClick={() => void show(each)} aria-label={`${t("show")}: ${each.name}`}>{t("show")}</button>}
              {own.control && starts(each) && <button disabled={busy.value} onClick={() => drop(each)} aria-label={`${t("remove")}: ${each.name}`}>{t("remove")}</button>}
              {own.control && <button disabled={busy.value} onClick={() => turn(each)} aria-label={`${t(starts(each) ? "start" : "stop")}: ${each.name}`}>{t(starts(each) ? "start" : "stop")}</button>}</td>
          </tr>))}</tbody>
      </table></div>}
      {one && <section class="panel"><h2>{one.name}</h2>
        {one.lastError && <p class="bad">{one.lastError}</p>}
        <p><code>{one.file ?? one.folder}</code></p>
        <p>{one.counters.length === 0 && one.limits.length === 0 ? t("allObjects") : one.counters.map((path) => <><code>{path}</code> </>)}</p>
        {one.limits.length > 0 && <><h3>{t("alerts")}</h3><p>{one.limits.map((limit) => <><code>{limit}</code> </>)}</p></>}
        {one.latestAlerts.length > 0 && <div class="scroll"><table>
          <thead><tr><th>{t("time")}</th><th>{t("state")}</th><th>{t("counter")}</th><th class="num">{t("value")}</th></tr></thead>
          <tbody>{one.latestAlerts.map((alert) => (
            <tr><td>{moment(alert.time, null)}</td><td class={alert.begins ? "bad" : ""}>{t(alert.begins ? "alertBegan" : "alertEnded")}</td>
              <td title={alert.limit}>{alert.counter}</td><td class="num">{number(alert.value)}</td></tr>))}</tbody>
        </table></div>}
      </section>}
    </main>
  );
}

type Estimate = { bytesAnHour: number; mostBytes: number | null };
/** How long what was typed must rest before its size is estimated. */
const REST = 400;

/** A new session from the counters of the chart: when, how often, into which logs, and how large they get. */
function Form() {
  const form = useRef<HTMLFormElement>(null);
  const typed = useSignal(0);
  const estimate = useSignal<Known<Estimate>>({});
  const wanted = (): Record<string, Value> => {
    const given = Object.fromEntries(new FormData(form.current ?? undefined)) as Record<string, string>;
    // Its clock is that of the browser.
    const time = (text: string) => (text ? new Date(text).getTime() : null);
    return { ...given, begin: time(given.begin), end: time(given.end), path: given.allObjects ? [] : paths.value };
  };
  useSignalEffect(() => {
    void typed.value;
    // What was typed before may be answered later.
    let isOld = false;
    const put = (one: Known<Estimate>) => { if (!isOld) estimate.value = one; };
    const timer = setTimeout(() => act<Estimate>("sessions/estimate", wanted()).then((answer) => put({ answer }), (error) => put({ why: error.message })), REST);
    return () => { isOld = true; clearTimeout(timer); };
  });
  const field = (name: string, word: Word, more: Record<string, unknown> = {}) => (
    <label>{t(word)} <input name={name} autoComplete="off" {...more} /></label>);
  const flag = (name: string, word: Word) => <label class="check"><input type="checkbox" name={name} value="1" /> {t(word)}</label>;
  // The first line with a threshold is what somebody wants to hear of.
  const [limited] = Object.entries(styles.peek()).filter(([, one]) => one.threshold !== undefined).map(([path, one]) => `${path} > ${one.threshold}`);
  const limit = useRef(limited ?? "").current;
  const { answer, why } = estimate.value;
  return (
    <form ref={form} class="panel toolbar" onInput={() => { typed.value += 1; }} onSubmit={(event) => { event.preventDefault(); void change("sessions", wanted()); }}>
      {field("name", "name", { required: true })}{field("interval", "interval", { defaultValue: "15s", class: "short" })}
      {field("begin", "beginAt", { type: "datetime-local" })}{field("end", "endAt", { type: "datetime-local" })}{field("duration", "duration", { placeholder: "8h", class: "short" })}
      <label>{t("format")} <select name="format">{FORMATS.map((one) => <option selected={one === "tally"}>{one}</option>)}</select></label>
      {field("rotateTime", "rotateTime", { placeholder: "1h", class: "short" })}{field("rotateSize", "rotateSize", { placeholder: "100M", class: "short" })}{field("segments", "keptLogs", { type: "number", min: 1, class: "short" })}{field("maxSize", "mostSize", { placeholder: "2G", class: "short" })}
      {field("limit", "alertWhen", { defaultValue: limit, placeholder: "PATH > 90" })}{field("after", "alertAfter", { placeholder: "30s", class: "short" })}
      {flag("event", "events")}{flag("allObjects", "allObjects")}
      <button class="main" disabled={busy.value}>{t("start")}</button>
      <p role="status" class={why ? "bad" : ""}>{t("size")}: {why ?? (answer ? `≤ ${bytes(answer.bytesAnHour)}/${t("hour")}${answer.mostBytes === null ? "" : `, ${t("sum")} ≤ ${bytes(answer.mostBytes)}`} (tally)` : "…")}</p>
      <p>{paths.value.length === 0 ? t("none") : paths.value.map((path) => <><code>{path}</code> </>)}</p>
    </form>
  );
}

export function Providers() {
  useAnswer(providers, "providers", () => ({ host: host.value, lang: lang.value, time: isLive() ? null : cursor.value }), isLive);
  const known = providers.value.of === host.value ? providers.value : {};
  const own = known.answer;
  if (!own || own.pending) return <main><Missing of={known} /></main>;
  const shown = own.providers.filter((one) => `${one.title} ${one.name} ${one.reason}`.toLowerCase().includes(filters.providers.value.toLowerCase()));
  return (
    <main>
      <div class="toolbar"><Filter of={filters.providers} /><span class="soft">{number(shown.length)} {t("of")} {number(own.providers.length)}</span></div>
      {!own.reportsHealth && <p>{t("noProviderData")}</p>}
      <div class="scroll" tabIndex={0} role="region" aria-label={t("providers")}><table>
        <thead><tr><th>{t("name")}</th><th>{t("state")}</th><th class="num">{t("kind")}</th><th class="num">{t("took")}</th><th class="num">p50</th><th class="num">p99</th>{(["avg", "share", "asked", "errors", "late", "restarts"] as const).map((word) => (
          <th class="num">{t(word)}</th>))}<th>{t("languages")}</th></tr></thead>
        <tbody>{shown.map((one) => (
          <tr key={one.name}>
            <th scope="row">{named(one.title, one.name)}{one.reason && <div class="soft">{one.reason}{one.remedy && ` – ${one.remedy}`}</div>}</th>
            <td>{one.state ? <State word={one.state === "failed" ? "broken" : one.state} name={one.state} /> : "–"}
              {own.control && one.service && <button class="small" disabled={busy.value} onClick={() => enable(one)} aria-label={`${t(one.state === "disabled" ? "enable" : "disable")}: ${one.title}`}>{t(one.state === "disabled" ? "enable" : "disable")}</button>}</td><td class="num">{t(one.kind)}</td>
            <td class="num">{brief(one.last)}</td>{[one.p50, one.p99].map((part) => <td class="num" title={`n = ${number(one.times)}`}>{brief(part)}</td>)}<td class="num">{brief(one.average)}</td><td class="num">{one.share === null ? "–" : `${number(one.share)} %`}</td>
            {[one.collections, one.errors, one.late, one.restarts].map((count) => <td class="num">{number(count)}</td>)}
            <td title={one.languages?.map(languageOf).join(", ")}>{one.languages?.join(" ") || "–"}</td>
          </tr>))}</tbody>
      </table></div>
    </main>
  );
}

function Filter({ of }: { of: Signal<string> }) {
  return <label>{t("filter")} <input type="search" value={of.value} onInput={(event) => { of.value = event.currentTarget.value; }} /></label>;
}

export function Events() {
  useAnswer(events, "events", () => ({ filter: filters.events.value, level: level.value }));
  const own = events.value.answer;
  return (
    <main>
      <div class="toolbar"><Filter of={filters.events} />
        <label>{t("level")} <select value={level.value} onChange={(event) => { level.value = event.currentTarget.value; }}>
          <option value="">{t("whole")}</option>{(["error", "warning", "information"] as const).map((one) => <option value={one}>{t(one)}</option>)}</select></label>
        {own && <span class="soft">{number(own.found)} {t("of")} {number(own.all)}</span>}</div>
      {!own && <Missing of={events.value} />}
      {own?.found === 0 && <p>{t("nothing")}</p>}
      {own && own.found > 0 && <div class="scroll" tabIndex={0} role="region" aria-label={t("events")}><table>
        <thead><tr><th>{t("time")}</th><th>{t("level")}</th><th class="num">Id</th><th>{t("message")}</th></tr></thead>
        <tbody>{own.events.map((one) => (
          <tr><td>{moment(one.time, null)}</td><td><State word={one.level as Word} name={one.level} /></td><td class="num" title={one.source}>{one.id}</td>
            <td>{one.message}{one.repeated + one.others + one.held > 0 && <span class="soft"> × {number(1 + one.repeated + one.others + one.held)}</span>}</td></tr>))}</tbody>
      </table></div>}
    </main>
  );
}
