// All live machines: how each answers, and its load. One that is late or gone delays nobody.
import { signal, useSignalEffect } from "@preact/signals";
import { useState } from "preact/hooks";
import { early, get, type FleetHost } from "./api";
import { brief, bytes, number } from "./format";
import { hidden } from "./live";
import { key, type Key } from "./keys";
import { connection, fail, fleetFilter, fleetOrder, FLEET_COLUMNS, isFleet, isGone, openHost, show, type FleetColumn } from "./state";
import { t, type Word } from "./words";

const answer = signal<FleetHost[] | null>(null);
const PERIOD = 1000;
/** The worst first. */
const STATES: FleetHost["state"][] = ["failed", "late", "opening", "live"];
const STATE_WORDS: Record<FleetHost["state"], Word> = { failed: "broken", late: "lateHost", opening: "connecting", live: "answers" };
const TITLES: Record<FleetColumn, Word> = {
  name: "name", state: "state", processor: "processor", memory: "memory", disk: "disk", diskBytes: "io", network: "network",
  pressure: "pressure", queue: "queue", age: "age", clock: "clockWord",
};
const SHARES: FleetColumn[] = ["processor", "memory", "disk", "pressure"];
/** Made when it is needed: that takes milliseconds which the first chart would wait for. */
let names: Intl.Collator | null = null;
const byNameOf = (one: FleetHost, other: FleetHost) => (names ??= new Intl.Collator(undefined, { numeric: true, sensitivity: "base" })).compare(one.name, other.name);

/** The largest share of the time in which tasks waited; pages a second where that is not known. */
const waits = ({ pressure }: FleetHost) => pressure.reduce((most, one) => (one === null ? most : Math.max(most ?? 0, one)), null);

function sortable(one: FleetHost, column: FleetColumn): number | null {
  if (column === "name") return 0;
  if (column === "state") return -STATES.indexOf(one.state);
  if (column === "pressure") return waits(one) ?? one.paging;
  if (column === "clock") return one.clock && Math.abs(one.clock.seconds);
  return one[column];
}

/** As the terminal sorts: names from the first on, states from the worst, numbers from the largest, those without one last. */
function sorted(all: FleetHost[]): FleetHost[] {
  const [by, back] = [fleetOrder.by.value, fleetOrder.back.value];
  const turn = back ? -1 : 1;
  return [...all].sort((one, other) => {
    const [left, right] = [sortable(one, by), sortable(other, by)];
    const byName = byNameOf(one, other);
    if (by === "name") return turn * byName;
    if (left === null || right === null) return left === right ? byName : left === null ? 1 : -1;
    return turn * (right - left) || byName;
  });
}

const level = (value: number | null) => (value === null ? "" : value >= 90 ? "bad" : value >= 70 ? "high" : "");
const share = (value: number | null) => (value === null ? "–" : value.toFixed(1));
const rate = (value: number | null) => (value === null ? "–" : `${bytes(value)}/s`);
const ahead = (clock: FleetHost["clock"]) => (clock === null ? "–" : clock.certain ? `${clock.seconds < 0 ? "−" : "+"}${brief(Math.abs(clock.seconds))}` : `±${brief(clock.error)}`);

function Row({ one }: { one: FleetHost }) {
  const old = one.state === "live" ? "" : "soft";
  const cell = (text: string, own = "") => <td class={`num ${old || own}`}>{text}</td>;
  return (
    <tr>
      <th scope="row"><button class="link" onClick={() => void openHost(one.id, "overview")}>{one.name}</button></th>
      <td class={one.state === "failed" ? "bad" : one.state === "late" ? "high" : ""}>{t(STATE_WORDS[one.state])}
        {one.why && <div class="soft">{one.why}{one.retry !== null && ` · ${t("nextTry").replace("{1}", String(Math.ceil(one.retry)))}`}</div>}</td>
      {cell(share(one.processor), level(one.processor))}{cell(share(one.memory), level(one.memory))}{cell(share(one.disk), level(one.disk))}
      {cell(rate(one.diskBytes))}{cell(rate(one.network))}
      {cell(waits(one) === null && one.paging !== null ? `${number(Math.round(one.paging))} p/s` : share(waits(one)))}
      {cell(one.queue === null ? "–" : number(Math.round(one.queue)))}
      {cell(one.age === null ? "–" : `${one.age.toFixed(one.age < 10 ? 1 : 0)} s`)}{cell(ahead(one.clock))}
    </tr>
  );
}

export const HOST_KEYS: Key[] = [
  { ...key("I", "hosts", () => show("hosts")), only: isFleet }, { shown: "↑ ↓", word: "move", on: "hosts" }, { shown: "Enter", word: "overview", on: "hosts" },
];

export function Hosts() {
  useState(() => { const came = early("fleet"); if (came) answer.value = came; });
  useSignalEffect(() => {
    if (hidden.value || isGone.value) return;
    const control = new AbortController();
    let timer = 0;
    const load = async () => {
      try {
        answer.value = await get<FleetHost[]>("fleet", {}, control.signal);
        connection.value = "there";
      } catch (error) { if (!control.signal.aborted) fail(error); }
      if (!control.signal.aborted) timer = setTimeout(load, PERIOD);
    };
    void load();
    return () => { control.abort(); clearTimeout(timer); };
  });
  const all = answer.value;
  if (!all) return <main class="empty"><p role="status">{t("connecting")}</p></main>;
  const words = fleetFilter.value.toLowerCase().split(/\s+/);
  const text = (one: FleetHost) => `${one.name} ${t(STATE_WORDS[one.state])} ${one.why ?? ""}`.toLowerCase();
  const shown = sorted(all.filter((one) => words.every((word) => text(one).includes(word))));
  const [by, back] = [fleetOrder.by.value, fleetOrder.back.value];
  const move = (event: KeyboardEvent) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    const buttons = [...(event.currentTarget as HTMLElement).querySelectorAll<HTMLElement>("tbody button")];
    const to = step && buttons[buttons.indexOf(event.target as HTMLElement) + step];
    if (to) { to.focus(); event.preventDefault(); }
  };
  return (
    <main class="fleet">
      <div class="toolbar"><h2>{t("hosts")}: {all.filter((one) => one.state === "live").length} / {all.length}</h2>
        <label>{t("filter")} <input type="search" value={fleetFilter.value} onInput={(event) => { fleetFilter.value = event.currentTarget.value; }} /></label></div>
      <div class="scroll" onKeyDown={move}><table>
        <thead><tr>{FLEET_COLUMNS.map((column) => (
          <th scope="col" class={column === "name" || column === "state" ? "" : "num"} aria-sort={by !== column ? undefined : (column === "name") === back ? "descending" : "ascending"}>
            <button class="link" onClick={() => { [fleetOrder.by.value, fleetOrder.back.value] = [column, by === column && !back]; }}>
              {t(TITLES[column])}{SHARES.includes(column) && " %"}{by === column ? (back ? " ▲" : " ▼") : ""}</button></th>))}</tr></thead>
        <tbody>{shown.map((one) => <Row key={one.id} one={one} />)}</tbody>
      </table></div>
      {shown.length === 0 && <p>{t("nothing")}</p>}
    </main>
  );
}
