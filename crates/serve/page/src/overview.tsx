// The overview of a machine, now or at the time of the cursor.
import { batch, signal, useSignalEffect } from "@preact/signals";
import { useState } from "preact/hooks";
import { early, get, type Folded, type Gauge, type Overview as Answer } from "./api";
import { Spark } from "./chart";
import { bits, brief, bytes, duration, moment, number, percent } from "./format";
import { hidden } from "./live";
import { adding, addPaths, connection, cursor, fail, host, hosts, isFleet, isGone, isLive, openHost, show } from "./state";
import { t } from "./words";

/** The answer, and the host that it is of: what was asked of another one may come late. */
const answer = signal<{ id: string; of: Answer } | null>(null);
const PERIOD = 1000;

function toChart(paths: string[]): void {
  batch(() => { addPaths(paths.filter(Boolean)); show("monitor"); });
}

function level(value: number | null): string {
  return value === null ? "" : value >= 90 ? "bad" : value >= 70 ? "high" : "";
}

function Line({ name, gauge, form, most, wide }: { name: string; gauge: Gauge; form: (value: number | null) => string;
  most?: number; wide?: boolean }) {
  return (
    <button class="line" onClick={() => toChart([gauge.path])} title={gauge.missing ?? gauge.path} disabled={!gauge.path}>
      <span class="name">{name}</span>
      <span class={`value ${most === 100 ? level(gauge.value) : ""}`}>{gauge.value === null ? "–" : form(gauge.value)}</span>
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

export function Overview() {
  useState(() => {
    const came = cursor.peek() === null && host.peek() === hosts.peek()[0]?.id ? early("overview") : undefined;
    if (came) answer.value = { id: host.peek(), of: came };
  });
  useSignalEffect(() => {
    const [id, at, stays] = [host.value, cursor.value, hidden.value];
    if (!id || stays || isGone.value) return;
    const control = new AbortController();
    const load = async () => {
      try {
        answer.value = { id, of: await get<Answer>("overview", { host: id, time: at }, control.signal) };
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
        {processors.up.value !== null && <span class="soft">{t("up")} {duration(processors.up.value)}</span>}</p>
      <section class="card cpu"><h2>{t("processors")}</h2>
        <Line name="" gauge={processors.total} form={percent} most={100} wide />
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
      </section>
      <section class="card"><h2>{t("memory")}</h2>
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
        <Line name={memory.swapSize ? `${t("swap")} (${t("of")} ${bytes(memory.swapSize)})` : t("swap")} gauge={memory.swap} form={percent} most={100} />
      </section>
      <section class="card"><h2>{t("disks")}</h2>
        {now.disks.map((disk) => <div class="device"><h3>{disk.name}</h3>
          <Line name={t("busy")} gauge={disk.busy} form={percent} most={100} />
          <Line name={t("readWord")} gauge={disk.read} form={rate} />
          <Line name={t("written")} gauge={disk.write} form={rate} />
          <Line name={t("latency")} gauge={disk.latency} form={brief} /></div>)}
        <Idle folded={now.idleDisks} />
      </section>
      {now.fileSystems.length > 0 && <section class="card"><h2>{t("fileSystems")}</h2>
        {now.fileSystems.map((one) => <Line gauge={one.share} form={percent} most={100}
          name={`${one.name}${one.used !== null && one.size !== null ? `: ${bytes(one.used)} ${t("of")} ${bytes(one.size)}` : ""}`} />)}
        {now.otherFileSystems.names.length > 0 && <p class="soft" title={now.otherFileSystems.names.join(", ")}>
          + {now.otherFileSystems.names.length} {t("others")}</p>}
      </section>}
      <section class="card"><h2>{t("network")}</h2>
        {now.interfaces.map((one) => <div class="device"><h3>{one.name}</h3>
          {(one.addresses.length > 0 || one.speed !== null) && <p class="soft">{[...one.addresses,
            one.speed === null ? "" : `${t("link")} ${bits(one.speed)}`].filter(Boolean).join(" · ")}</p>}
          <Line name={t("received")} gauge={one.received} form={rate} />
          <Line name={t("sent")} gauge={one.sent} form={rate} />
          {one.totals[0] !== null && <p class="soft">
            {t("sinceStart")}: {t("received")} {bytes(one.totals[0])} · {t("sent")} {bytes(one.totals[1])}</p>}</div>)}
        <Idle folded={now.idleInterfaces} />
      </section>
      {[pressure.processor, ...pressure.memory, ...pressure.disk].some((one) => one.value !== null) &&
        <section class="card"><h2>{t("pressure")}</h2>
          <Line name={t("processor")} gauge={pressure.processor} form={percent} most={100} />
          <Line name={t("memory")} gauge={pressure.memory[0]} form={percent} most={100} />
          <Line name={`${t("memory")}, ${t("allTasks")}`} gauge={pressure.memory[1]} form={percent} most={100} />
          <Line name={t("disk")} gauge={pressure.disk[0]} form={percent} most={100} />
          <Line name={`${t("disk")}, ${t("allTasks")}`} gauge={pressure.disk[1]} form={percent} most={100} />
        </section>}
      {now.sensors.length > 0 && <section class="card"><h2>{t("sensors")}</h2>
        {now.sensors.map((one) => <Line name={one.name} gauge={one.gauge} form={SENSOR[one.kind]} />)}
      </section>}
      {now.containers.length > 0 && <section class="card"><h2>{t("containers")} ({now.containers.length})</h2>
        {now.containers.slice(0, 20).map((one) => <div class="device"><h3>{one.name}</h3>
          <Line name={t("processor")} gauge={one.busy} form={percent} most={100} />
          <Line name={t("memory")} gauge={one.memory} form={bytes} />
          <Line name={t("received")} gauge={one.received} form={rate} />
          <Line name={t("sent")} gauge={one.sent} form={rate} /></div>)}
        {now.containers.length > 20 && <p class="soft">+ {now.containers.length - 20} {t("others")}</p>}
      </section>}
      {now.graphics.length > 0 && <section class="card"><h2>{t("graphics")}</h2>
        {now.graphics.map((one) => <div class="device"><h3>{one.name}</h3>
          {one.busy.value !== null && <Line name={t("busy")} gauge={one.busy} form={percent} most={100} />}
          {one.own.value !== null && <Line name={t("memory")} gauge={one.own} form={bytes} />}
          {one.shared.value !== null && <Line name={t("sharedGraphics")} gauge={one.shared} form={bytes} />}</div>)}
      </section>}
      <section class="card processes"><h2>{t("processes")} {now.processes ? `(${now.processes.count})` : ""}</h2>
        <div class="scroll"><table>
          <thead><tr><th>{t("name")}</th><th class="num">PID</th><th class="num">{t("processor")}</th><th class="num">{t("memory")}</th><th class="num">{t("io")}</th><th class="num">{t("threads")}</th></tr></thead>
          <tbody>{(now.processes?.largest ?? []).slice(0, 20).map((one) => (
            <tr key={`${one.id}-${one.instance}`}><th scope="row"><button class="link" onClick={() => toChart([`\\Process(${one.instance})\\% Processor Time`])}>{one.name}</button></th>
              <td class="num">{one.id ?? "–"}</td><td class="num">{percent(one.processor)}</td><td class="num">{bytes(one.memory)}</td>
              <td class="num">{one.bytes === null ? "–" : rate(one.bytes)}</td><td class="num">{number(one.threads)}</td></tr>))}
          </tbody>
        </table></div>
        {now.processes !== null && now.processes.hiddenIo > 0
          && <p class="soft">{t("hiddenIo").replace("{1}", number(now.processes.hiddenIo)).replace("{2}", number(now.processes.count))}</p>}
      </section>
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
