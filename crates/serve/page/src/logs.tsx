// Logs: those that were given, and those that are dropped here.
import { batch, signal } from "@preact/signals";
import { useEffect, useState } from "preact/hooks";
import { address, closeLog, get, openSettings, upload, type Host } from "./api";
import { Compare } from "./compare";
import { bytes, duration, moment, number } from "./format";
import { NumberField } from "./number-field";
import { back } from "./retry";
import { axis, choose, chosen, fail, FORMATS, host, hostOf, hosts, loadHosts, lookedAt, notice, openHost, paths, profile, range, show, span, styles, sweep, trouble, view, VIEWS, type View } from "./state";
import { t } from "./words";
import { isZip, unzip } from "./zip";

const uploads = signal<{ name: string; share: number }[]>([]);

/** Shows what a settings file has, of the host that is chosen. */
async function openView(file: File): Promise<void> {
  const { counters, view: named, seconds, sweep: sweeps, leftOut, lines, axis: ends } = await openSettings(file);
  batch(() => {
    paths.value = counters;
    view.value = VIEWS.includes(named as View) ? named as View : "line";
    if (seconds !== null) span.value = Math.min(3600, Math.max(10, Math.round(seconds)));
    if (sweeps !== null) sweep.value = sweeps;
    [range.value, chosen.value, axis.value] = [null, null, ends];
    styles.value = Object.fromEntries(lines.map(({ path, power, colour, width, hidden, threshold }) => [path, { power: power ?? undefined, colour: colour ?? undefined, width, hidden, threshold: threshold ?? undefined }]));
    notice.value = leftOut.length > 0 ? `${file.name}: ${t("leftOut")}: ${leftOut.join(", ")}` : null;
  });
  show("monitor");
}

/** How often the page asks how far a log is. */
const PERIOD = 300;

/** What somebody looked at when something was begun that takes long. */
type Begun = { at: string };

/** Shows what was begun; whoever looks at something else by now stays there, and hears that it can be shown. */
async function unlessMoved(begun: Begun, name: string, open: () => unknown): Promise<void> {
  if (lookedAt() !== begun.at) { notice.value = `${name}: ${t("isOpen")}`; return; }
  const opening = open();
  begun.at = lookedAt();
  await opening;
}

/** Sends files, and shows the first chart of the last one; of a long one before all of it has come. */
export async function take(files: Iterable<File> | AsyncIterable<File>, isInside = false, begun: Begun = { at: lookedAt() }): Promise<void> {
  for await (const file of files) {
    const own = { name: file.name, share: 0 };
    const note = (share: number) => { uploads.value = uploads.value.map((one) => (one === own ? Object.assign(own, { share }) : one)).slice(); };
    if (!isInside && await isZip(file)) {
      uploads.value = [...uploads.value, own];
      try { await take(unzip(file, note), true, begun); } catch (error) { fail(error); }
      uploads.value = uploads.value.filter((one) => one !== own);
      continue;
    }
    if (/\.(tallymon|html?|xml)$/i.test(file.name)) { await openView(file).catch(fail); continue; }
    uploads.value = [...uploads.value, own];
    const tag = Math.random().toString(36);
    // Its chart is opened once: what somebody chose there since then stays.
    let isOpen = false;
    const openOnce = async (id: string) => { if (!isOpen) { isOpen = true; await unlessMoved(begun, file.name, () => openHost(id, "monitor")); } };
    const timer = setInterval(async () => {
      await loadHosts();
      const log = hosts.value.find((one) => one.tag === tag && one.last != null);
      if (log) await openOnce(log.id);
    }, PERIOD);
    try {
      const { id, profile: isProfile } = await upload(file, tag, note);
      clearInterval(timer);
      if (isProfile) await unlessMoved(begun, file.name, () => { profile.value = id; show("profile"); }); else await ready(id, openOnce);
    } catch (error) { fail(error); }
    clearInterval(timer);
    uploads.value = uploads.value.filter((one) => one !== own);
  }
}

/** Waits until a log is read whole, and opens its chart. */
export async function ready(id: string, open?: (id: string) => Promise<void>, begun: Begun = { at: lookedAt() }): Promise<void> {
  for (;;) {
    await loadHosts();
    await back(new AbortController().signal);
    const log = hosts.value.find((one) => one.id === id);
    if (!log) return;
    if (log.state === "failed") { trouble.value = log.error ?? log.name; return; }
    if (log.state === "ready") { await (open ? open(id) : unlessMoved(begun, log.name, () => openHost(id, "monitor"))); return; }
    await new Promise((resolve) => setTimeout(resolve, PERIOD));
  }
}

/** Closes a log. Whoever looked at it looks at the first host then. */
async function close(log: Host): Promise<void> {
  await closeLog(log.id);
  if (hostOf(host.value)?.id === log.id) choose(hosts.value.find((one) => one.id !== log.id)?.id ?? "");
  await loadHosts();
}

export function Logs() {
  const [over, setOver] = useState(false);
  useEffect(() => {
    void loadHosts();
    const timer = setInterval(() => { if (hosts.value.some((one) => one.state === "opening")) void loadHosts(); }, 500);
    return () => clearInterval(timer);
  }, []);
  const logs = hosts.value.filter((one) => one.kind === "log");
  return (
    <main class="logs">
      <label class={over ? "drop over" : "drop"} onDragOver={(event) => { event.preventDefault(); setOver(true); }}
        onDragLeave={() => setOver(false)}
        onDrop={(event) => { event.preventDefault(); setOver(false); void take([...(event.dataTransfer?.files ?? [])]); }}>
        {t("drop")}
        <input type="file" multiple onChange={(event) => { void take([...(event.currentTarget.files ?? [])]); }} />
      </label>
      <div role="status">{uploads.value.map((one) => <p>{t("uploading")} {one.name} <progress aria-label={one.name} value={one.share} max={1} /></p>)}</div>
      {logs.map((log) => <Log log={log} key={log.id} />)}
      <Compare />
    </main>
  );
}

type Gaps = { gaps: { time: number; seconds: number }[]; count: number; restarts: { host: string; time: number }[]; objects: number };

/** The gaps and restarts of a log, which is read for them when somebody asks. */
function Holes({ log }: { log: Host }) {
  const [found, setFound] = useState<Gaps | null>(null);
  const ask = () => { get<Gaps>("gaps", { host: log.id }).then(setFound).catch(fail); };
  if (!found) return <dd><button class="small" onClick={ask}>{t("objects")}, {t("gaps")} …</button></dd>;
  const clock = log.clock ?? null;
  return (
    <dd>{t("objects")}: {number(found.objects)}; {t("gaps")}: {number(found.count)}{found.gaps.length > 0 && `: ${found.gaps.map((one) => `${moment(one.time, clock)} + ${duration(one.seconds)}`).join("; ")}`}
      {found.restarts.length > 0 && <div>{t("restarts")}: {found.restarts.map((one) => `${one.host} ${moment(one.time, clock)}`).join("; ")}</div>}</dd>
  );
}

function Log({ log }: { log: Host }) {
  const [format, setFormat] = useState("csv");
  const [cut, setCut] = useState(false);
  const [every, setEvery] = useState(1);
  const shown = host.value === log.id && paths.value.length > 0;
  const part = cut && shown ? { path: paths.value, from: range.value?.[0], to: range.value?.[1] } : {};
  const seconds = log.first != null && log.last != null ? (log.last - log.first) / 1000 : null;
  return (
    <section class="card"><h2>{log.name}</h2>
      {log.state === "opening" && <p>{t("reading")} <progress aria-label={log.name} value={log.read ?? 0} max={log.bytes || 1} /></p>}
      {log.state === "failed" && <p class="bad">{t("failed")}: {log.error}</p>}
      {log.first != null && <dl>
        <dt>{t("format")}</dt><dd>{log.format}, {bytes(log.bytes)}</dd>
        <dt>{t("source")}</dt><dd>{(log.hosts ?? []).join(", ")}</dd>
        <dt>{t("records")}</dt><dd>{number(log.records)}</dd>
        <dt>{t("counters")}</dt><dd>{number(log.columns)}</dd>
        <dt>{t("begin")}</dt><dd>{moment(log.first, log.clock ?? null)}</dd>
        <dt>{t("zone")}</dt><dd>{log.clock?.zone ?? t("zoneUnknown")}</dd>
        <dt>{t("duration")}</dt><dd>{duration(seconds)}</dd>
        <dt>{t("interval")}</dt><dd>{log.interval == null ? "–" : `${number(log.interval)} s`}</dd>
        {log.state === "ready" && <><dt>{t("gaps")}</dt><Holes log={log} key={`${log.records}`} /></>}
        {(log.damage ?? 0) > 0 && <><dt>{t("damage")}</dt><dd class="bad">{number(log.damage)}<ul>{log.faults?.map((fault) => <li>{fault}</li>)}</ul></dd></>}
      </dl>}
      <p>{log.first != null && <button class="main" aria-pressed={host.value === log.id} onClick={() => openHost(log.id, "monitor")}>{t("show")}</button>}
        {log.state === "ready" && <> <label>{t("saveAs")} <select value={format} onChange={(event) => setFormat(event.currentTarget.value)}>{FORMATS.map((one) => <option>{one}</option>)}</select></label>
          <label>{t("everyNth")} <NumberField class="short" step={1} min={1} max={100000} value={every} onText={(text) => setEvery(Math.max(1, Math.round(Number(text)) || 1))} /></label>
          {shown && <label class="check"><input type="checkbox" checked={cut} onChange={(event) => setCut(event.currentTarget.checked)} /> {t("onlyShownPart")}</label>}
          <a class="button" download href={address("convert", { host: log.id, format, every: every > 1 ? every : null, ...part })}>{t("download")}</a> </>}
        {log.closable && !log.tag && <button onClick={() => { close(log).catch(fail); }}>{t("close")}</button>}</p>
    </section>
  );
}
