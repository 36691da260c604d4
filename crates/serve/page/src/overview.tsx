// The overview of a machine, now or at the time of the cursor.
import { batch, signal, useSignalEffect } from "@preact/signals";
import { useState } from "preact/hooks";
import { early, get, type Folded, type Gauge, type Overview as Answer } from "./api";
import { Spark } from "./chart";
import { bits, brief, bytes, duration, moment, number, percent } from "./format";
import { key, type Key } from "./keys";
import { hidden } from "./live";
import { processesWanted, Processes, PROCESS_KEYS } from "./processes";
import { adding, addPaths, connection, cursor, fail, host, hostOf, hosts, isFleet, isGone, isLive, openHost, show } from "./state";
import { t, type Word } from "./words";

/** The answer, and the host that it is of: what was asked of another one may come late. */
const answer = signal<{ id: string; of: Answer } | null>(null);
const PERIOD = 1000;

function toChart(paths: string[]): void {
  batch(() => { addPaths(paths.filter(Boolean)); show("monitor"); });
}

function level(value: number | null): string {
  return value === null ? "" : value >= 90 ? "bad" : value >= 70 ? "high" : "";
}

/** A gauge with its past: a share, unless it has another form. */
function Line({ name, gauge, form = percent, wide }: { name: string; gauge: Gauge; form?: (value: number | null) => string; wide?: boolean }) {
  const most = form === percent ? 100 : undefined;
  return (
    <button class="line" onClick={() => toChart([gauge.path])} title={gauge.missing ?? gauge.path} disabled={!gauge.path}>
      <span class="name">{name}</span>
      <span class={`value ${most ? level(gauge.value) : ""}`}>{gauge.value === null ? "–" : form(gauge.value)}</span>
      <Spark values={gauge.history} most={most} wide={wide} />
    </button>
  );
}

const SENSOR = {
  temperature: (value: number | null) => `${number(value === null ? null : Math.round(value))} °C`,
  charge: percent,
  power: (value: number | null) => `${number(value)} W`,
  fan: (value: number | null) => `${number(value)} rpm`,
};

/** A gauge with its word, while there is any. */
function some(word: string, gauge: Gauge, form: (value: number | null) => string): string {
  return gauge.value === null || form === percent && gauge.value < 0.05 ? "" : ` · ${word} ${form(gauge.value)}`;
}

function Idle({ folded }: { folded: Folded }) {
  if (folded.names.length === 0) return null;
  return <p class="soft" title={folded.names.join(", ")}>+ {folded.names.length} {t("idle")}: {bytes(folded.sums[0])}/s, {bytes(folded.sums[1])}/s</p>;
}

/** The milliseconds between two records. */
const step = () => Math.max(1000, Math.round((hostOf(host.value)?.interval ?? 1) * 1000));
/** Shows a time; from the end on what is there now. */
function look(at: number): void {
  const { first, last } = answer.peek()?.of ?? {};
  if (first != null && last != null) cursor.value = at > last - step() / 2 ? null : Math.max(first, at);
}

export const OVERVIEW_KEYS: Key[] = [...PROCESS_KEYS, key("← → ⇧", "time", (name) => {
  const by = step() * (name[0] === "⇧" ? 60 : 1);
  look((cursor.peek() ?? answer.peek()?.of.last ?? 0) + (name.endsWith("left") ? -by : by));
}, "overview", ["arrowleft", "arrowright", "⇧arrowleft", "⇧arrowright"])];

/** A pane, if there is anything in it; what stands behind the title. */
const Card = ({ of, more = "", is = true, children }: { of: Word; more?: string; is?: boolean; children: preact.ComponentChildren }) =>
  (is ? <section class="card"><h2>{t(of)}{more}</h2>{children}</section> : null);
const Device = ({ name, children }: { name: string; children: preact.ComponentChildren }) => <div class="device"><h3>{name}</h3>{children}</div>;

export function Overview() {
  useState(() => {
    const came = cursor.peek() === null && host.peek() === hosts.peek()[0]?.id ? early("overview") : undefined;
    if (came) answer.value = { id: host.peek(), of: came };
  });
  useSignalEffect(() => {
    const [id, at, stays, list] = [host.value, cursor.value, hidden.value, processesWanted()];
    if (!id || stays || isGone.value) return;
    const control = new AbortController();
    const load = async () => {
      try {
        answer.value = { id, of: await get<Answer>("overview", { host: id, time: at, ...list }, control.signal) };
        connection.value = "there";
      } catch (error) { if (!control.signal.aborted) fail(error); }
      if (at === null && isLive() && !control.signal.aborted) timer = setTimeout(load, PERIOD);
    };
    let timer = setTimeout(load, 0);
    return () => { control.abort(); clearTimeout(timer); };
  });
  const now = answer.value?.id === host.value ? answer.value.of : null;
  if (!now) return <main class="empty"><p role="status">{connection.value === "connecting" ? t("connecting") : t("waiting")}</p></main>;
  const { processors, memory, pressure } = now;
  const parts = memory.parts;
  const rate = (value: number | null) => `${bytes(value)}/s`;
  return (
    <main class="overview">
      <p class="when">{now.time === null ? t("waiting") : moment(now.time)}
        {cursor.value !== null && <button onClick={() => { cursor.value = null; }}>{t("go")}</button>}
        {now.first != null && now.last != null && <input type="range" aria-label={t("time")} min={now.first} max={now.last} step={step()} value={cursor.value ?? now.last} aria-valuetext={moment(now.time)}
          onInput={(event) => look(Number(event.currentTarget.value))} />}
        {processors.up.value !== null && <span class="soft">{t("up")} {duration(processors.up.value)}</span>}</p>
      <Card of="processors">
        <Line name="" gauge={processors.total} wide />
        <ul class="cores">{processors.each.map((one) => (
          <li title={`${one.name}: ${percent(one.busy.value)}`}>
            <svg viewBox="0 0 10 40" preserveAspectRatio="none" role="img" aria-label={`${one.name}: ${percent(one.busy.value)}`}>
              <rect class="back" width="10" height="40" />
              <rect class={`fill ${level(one.busy.value)}`} width="10" height={(one.busy.value ?? 0) * 0.4} y={40 - (one.busy.value ?? 0) * 0.4} />
            </svg><span>{one.name}</span></li>))}</ul>
        <p class="soft">{t("load")} {processors.load.map((one) => one.value === null ? "–" : one.value.toFixed(2)).join(" ")}
          {some(t("user"), processors.user, percent)}{some(t("kernel"), processors.kernel, percent)}
          {some(t("diskWait"), processors.waitingForDisk, percent)}{some(t("stolen"), processors.stolen, percent)}
          {some("", processors.speed, (value) => `${number(value)} MHz`)}</p>
        <p class="soft">{t("processes")} {number(processors.processes.value)} · {t("threads")} {number(processors.threads.value)} · {t("queue")} {number(processors.queue.value)}</p>
      </Card>
      <Card of="memory">
        {parts && memory.total && <>
          <svg class="parts" viewBox="0 0 100 8" preserveAspectRatio="none" role="img"
            aria-label={`${t("used")} ${bytes(parts[0])}, ${t("cached")} ${bytes(parts[1])}, ${t("free")} ${bytes(parts[2])}`}>
            <rect class="back" width="100" height="8" />
            <rect class={`fill ${level(memory.share)}`} width={parts[0] / memory.total * 100} height="8" />
            <rect class="cache" x={parts[0] / memory.total * 100} width={parts[1] / memory.total * 100} height="8" />
          </svg>
          <p class="soft">{t("used")} {bytes(parts[0])} · {t("cached")} {bytes(parts[1])} · {t("free")} {bytes(parts[2])}</p></>}
        <Line name={t("available")} gauge={memory.available} form={bytes} />
        <Line name={t("committed")} gauge={memory.committed} form={bytes} />
        <Line name={memory.swapSize ? `${t("swap")} (${t("of")} ${bytes(memory.swapSize)})` : t("swap")} gauge={memory.swap} />
      </Card>
      <Card of="disks">
        {now.disks.map((disk) => <Device name={disk.name}>
          <Line name={t("busy")} gauge={disk.busy} />
          <Line name={t("readWord")} gauge={disk.read} form={rate} />
          <Line name={t("written")} gauge={disk.write} form={rate} />
          <Line name={t("latency")} gauge={disk.latency} form={brief} /></Device>)}
        <Idle folded={now.idleDisks} />
      </Card>
      <Card of="fileSystems" is={now.fileSystems.length > 0}>
        {now.fileSystems.map((one) => <Line gauge={one.share}
          name={`${one.name}${one.used !== null && one.size !== null ? `: ${bytes(one.used)} ${t("of")} ${bytes(one.size)}` : ""}`} />)}
        {now.otherFileSystems.names.length > 0 && <p class="soft" title={now.otherFileSystems.names.join(", ")}>
          + {now.otherFileSystems.names.length} {t("others")}</p>}
      </Card>
      <Card of="network">
        {now.interfaces.map((one) => <Device name={one.name}>
          {(one.addresses.length > 0 || one.speed !== null) && <p class="soft">{[...one.addresses,
            one.speed === null ? "" : `${t("link")} ${bits(one.speed)}`].filter(Boolean).join(" · ")}</p>}
          <Line name={t("received")} gauge={one.received} form={rate} />
          <Line name={t("sent")} gauge={one.sent} form={rate} />
          {one.totals[0] !== null && <p class="soft">
            {t("sinceStart")}: {t("received")} {bytes(one.totals[0])} · {t("sent")} {bytes(one.totals[1])}</p>}</Device>)}
        <Idle folded={now.idleInterfaces} />
      </Card>
      <Card of="pressure" is={[pressure.processor, ...pressure.memory, ...pressure.disk].some((one) => one.value !== null)}>
          <Line name={t("processor")} gauge={pressure.processor} />
          <Line name={t("memory")} gauge={pressure.memory[0]} />
          <Line name={`${t("memory")}, ${t("allTasks")}`} gauge={pressure.memory[1]} />
          <Line name={t("disk")} gauge={pressure.disk[0]} />
          <Line name={`${t("disk")}, ${t("allTasks")}`} gauge={pressure.disk[1]} />
        </Card>
      <Card of="sensors" is={now.sensors.length > 0}>
        {now.sensors.map((one) => <Line name={one.name} gauge={one.gauge} form={SENSOR[one.kind]} />)}
      </Card>
      <Card of="containers" more={` (${now.containers.length})`} is={now.containers.length > 0}>
        {now.containers.slice(0, 20).map((one) => <Device name={one.name}>
          <Line name={t("processor")} gauge={one.busy} />
          <Line name={t("memory")} gauge={one.memory} form={bytes} />
          <Line name={t("received")} gauge={one.received} form={rate} />
          <Line name={t("sent")} gauge={one.sent} form={rate} /></Device>)}
        {now.containers.length > 20 && <p class="soft">+ {now.containers.length - 20} {t("others")}</p>}
      </Card>
      <Card of="graphics" is={now.graphics.length > 0}>
        {now.graphics.map((one) => <Device name={one.name}>
          {one.busy.value !== null && <Line name={t("busy")} gauge={one.busy} />}
          {one.own.value !== null && <Line name={t("memory")} gauge={one.own} form={bytes} />}
          {one.shared.value !== null && <Line name={t("sharedGraphics")} gauge={one.shared} form={bytes} />}</Device>)}
      </Card>
      <Processes now={now} />
    </main>
  );
}

/** Chooses what is looked at; the dialog that adds counters stays. */
export function HostPicker({ stay = false }: { stay?: boolean }) {
  return (
    <label class="host"><span class="hidden">{t("source")}</span>
      <select value={host.value} onChange={(event) => { void openHost(event.currentTarget.value); adding.value = stay; }}>
        {hosts.value.flatMap((one) => {
          const more = (one.hosts ?? []).slice(1).map((name) => <option value={`${one.id}/${name}`}>{one.name}: {name}</option>);
          return [<option value={one.id} disabled={one.state !== "ready" && one.first == null}>{one.kind === "live" && !isFleet() ? `${one.name} – ${t("live")}` : one.name}</option>, ...more];
        })}
      </select>
    </label>
  );
}
