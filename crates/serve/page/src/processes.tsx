// The processes of the overview: sorted, filtered, below their parents, with who runs them; and what to do to one.
import { batch } from "@preact/signals";
import { act, type Overview, type Process, type Value } from "./api";
import { bytes, number, percent } from "./format";
import { key, type Key } from "./keys";
import { addPaths, fail, host, hostOf, processList, PROCESS_SORTS, said, show, type ProcessSort } from "./state";
import { t, type Word } from "./words";

/** The rows that are added at once. */
const MORE = 100;
const TITLES: Record<ProcessSort, Word | ""> = { name: "name", id: "", user: "userName", processor: "processor", memory: "memory", bytes: "io", threads: "threads", service: "service", command: "command" };
const TEXTS: ProcessSort[] = ["name", "user", "service", "command"];
/** What can be done to a process; each after a question. */
const ACTIONS = ["end SIGTERM", "kill SIGKILL", "stop SIGSTOP", "continue SIGCONT", "nice 10", "nice 0", "nice -10"];

const { sort: by, back, filter, rows, tree } = processList;
const sortBy = (sort: ProcessSort) => batch(() => { [by.value, back.value] = [sort, sort === by.value && !back.value]; });
/** What is asked for with them. */
export const processesWanted = (): Record<string, Value> => ({ sort: by.value, filter: filter.value, processes: rows.value, back: back.value ? 1 : 0, tree: tree.value ? 1 : 0, texts: 1 });

const turn = () => { tree.value = !tree.value; };
export const PROCESS_KEYS: Key[] = [
  key("S, R", "order", (name) => sortBy(name === "r" ? by.value : PROCESS_SORTS[(PROCESS_SORTS.indexOf(by.value) + 1) % PROCESS_SORTS.length]), "overview", ["s", "r"]),
  key("T", "tree", turn, "overview"),
];

async function perform(one: Process, action: string): Promise<void> {
  const [name, nice] = action.split(" ");
  if (!confirm(`${action}: ${one.name} (${one.id})?`)) return;
  try {
    await act("processes/act", { id: one.id, start: one.start, do: name, nice: name === "nice" ? nice : null });
    said.value = `${action}: ${one.name}`;
  } catch (error) { fail(error); }
}

function Cell({ one, sort }: { one: Process; sort: ProcessSort }) {
  if (sort === "user" || sort === "service" || sort === "command") return <td class="long" title={one[sort] ?? ""}>{one[sort] ?? "–"}</td>;
  const text = sort === "id" ? String(one.id ?? "–") : sort === "processor" ? percent(one.processor) : sort === "memory" ? bytes(one.memory)
    : sort === "bytes" ? (one.bytes === null ? "–" : `${bytes(one.bytes)}/s`) : number(one.threads);
  return <td class="num">{text}</td>;
}

export function Processes({ now }: { now: Overview }) {
  const own = now.processes;
  const largest = own?.largest ?? [];
  const columns = PROCESS_SORTS.filter((sort) => !TEXTS.includes(sort) || sort === "name" || largest.some((one) => one[sort as "user"]));
  const acts = hostOf(host.value)?.processes && largest.some((one) => one.start);
  return (
    <section class="card processes"><h2>{t("processes")} {own ? `(${own.found < own.count ? `${number(own.found)} / ` : ""}${number(own.count)})` : ""}</h2>
      <div class="toolbar"><label>{t("filter")} <input type="search" value={filter.value} onInput={(event) => { filter.value = event.currentTarget.value; }} /></label>
        <label class="check"><input type="checkbox" checked={tree.value} onChange={turn} /> {t("tree")}</label></div>
      <div class="scroll"><table>
        <thead><tr>{columns.map((sort) => (
          <th scope="col" class={TEXTS.includes(sort) ? "" : "num"} aria-sort={by.value !== sort ? undefined : (TEXTS.includes(sort) || sort === "id") === back.value ? "descending" : "ascending"}>
            <button class="link" onClick={() => sortBy(sort)}>{TITLES[sort] ? t(TITLES[sort] as Word) : "PID"}{by.value === sort ? (back.value ? " ▲" : " ▼") : ""}</button></th>))}{acts && <td />}</tr></thead>
        <tbody>{largest.map((one) => (
          <tr key={`${one.id}-${one.instance}`}>
            <th scope="row" style={one.depth ? { paddingInlineStart: `${0.5 + Math.min(one.depth, 8)}rem` } : undefined}><button class="link" onClick={() => { addPaths([`\\Process(${one.instance})\\% Processor Time`]); show("monitor"); }}>{one.name}</button></th>
            {columns.slice(1).map((sort) => <Cell key={sort} one={one} sort={sort} />)}
            {acts && <td>{one.start && <select aria-label={`kill, nice: ${one.name}`} onChange={({ currentTarget: chosen }) => { void perform(one, chosen.value); chosen.value = ""; }}>
              <option value="">…</option>{ACTIONS.map((each) => <option>{each}</option>)}</select>}</td>}
          </tr>))}</tbody>
      </table></div>
      {own && own.found > rows.value && <button onClick={() => { rows.value += MORE; }}>+ {number(own.found - rows.value)} {t("others")}</button>}
      {own && own.found === 0 && <p>{t("nothing")}</p>}
      {own && own.hiddenIo > 0 && <p class="soft">{t("hiddenIo").replace("{1}", number(own.hiddenIo)).replace("{2}", number(own.count))}</p>}
      {own && own.leftOut > 0 && <p class="soft">{number(own.leftOut)} {t("leftOut")}</p>}
    </section>
  );
}
