// The dialog that adds counters: search, tree, instances, explanation.
import { batch, signal, useSignalEffect } from "@preact/signals";
import { get, type Chart, type CounterInfo, type Instance, type ObjectInfo } from "./api";
import { Spark } from "./chart";
import { Dialog } from "./dialog";
import { number, power } from "./format";
import type { Key } from "./keys";
import { HostPicker } from "./overview";
import { addPaths, adding, fail, host, hosts, isGone, isLive, paths, show } from "./state";
import { lang, named, t } from "./words";

const objects = signal<ObjectInfo[]>([]);
const counters = signal<CounterInfo[]>([]);
const instances = signal<Instance[]>([]);
const object = signal<ObjectInfo | null>(null);
const counter = signal<CounterInfo | null>(null);
const marked = signal<Set<string>>(new Set());
const words = signal("");
const filter = signal("");
const found = signal<CounterInfo[] | null>(null);
const ALL = "*";
/** Of which host, in which language, counters and instances were loaded. */
let loaded = "";

function pathOf(owner: string, one: CounterInfo, instance: string | null): string {
  return instance === null ? `\\${owner}\\${one.english}` : `\\${owner}(${instance})\\${one.english}`;
}

async function open(one: ObjectInfo, wanted?: number): Promise<void> {
  // What stands there is of another object.
  batch(() => { [object.value, counter.value, counters.value, instances.value, marked.value] = [one, null, [], [], new Set()]; });
  const asked = { host: host.value, object: one.index, lang: lang.value };
  // Another object may be chosen before this one has answered.
  const isChosen = () => object.peek() === one && asked.host === host.peek();
  try {
    const all = await get<CounterInfo[]>("counters", asked);
    if (!isChosen()) return;
    counters.value = all;
    counter.value = all.find((known) => known.index === wanted) ?? all.find((known) => known.default) ?? all[0] ?? null;
    const own = one.instances ? await get<Instance[]>("instances", asked) : [];
    if (!isChosen()) return;
    instances.value = own;
    const first = own.find((known) => known.name === "_Total") ?? own[0];
    marked.value = new Set(first ? [first.name] : []);
  } catch (error) { if (isChosen()) fail(error); }
}

/** The path of what is chosen; of several instances the first one. */
function shownPath(): string | null {
  const [owner, one] = [object.value, counter.value];
  if (!owner || !one) return null;
  const [first] = marked.value;
  const name = !owner.instances ? null : first === ALL ? instances.value[0]?.name : first;
  return name === undefined ? null : pathOf(owner.english, one, name);
}

/** How long a choice must rest before it is sampled, the time between looks, and seconds and points that are shown. */
const [REST, PERIOD, SECONDS, POINTS] = [400, 1000, 60, 120];
const preview = signal<{ id: string; path: string; chart: Chart } | null>(null);

/** What is chosen, as it is now, or over a log. */
function Preview() {
  useSignalEffect(() => {
    const [path, id] = [shownPath(), host.value];
    const isNow = isLive();
    if (!path || isGone.value) return;
    const control = new AbortController();
    const look = async () => {
      try {
        const from = isNow ? Date.now() - SECONDS * 1000 : null;
        preview.value = { id, path, chart: await get<Chart>("query", { host: id, path: [path], from, points: POINTS }, control.signal) };
      } catch { if (!control.signal.aborted) preview.value = null; }
      if (isNow && !control.signal.aborted) timer = setTimeout(look, PERIOD);
    };
    let timer = setTimeout(look, REST);
    return () => { control.abort(); clearTimeout(timer); };
  });
  const path = shownPath();
  const one = preview.value?.path === path && preview.value?.id === host.value ? preview.value.chart.series[0] : undefined;
  return (
    <p class="preview" title={path ?? ""}><span class="soft">{t("preview")}</span> <b>{number(one?.statistics.last)} {one?.unit}</b>
      {one && <Spark values={one.values} most={one.unit === "%" ? 100 : undefined} wide />}</p>
  );
}

/** Puts a counter before another one. */
function reorder(path: string, to: number): void {
  const others = paths.value.filter((one) => one !== path);
  const at = Math.max(0, Math.min(others.length, to));
  paths.value = [...others.slice(0, at), path, ...others.slice(at)];
}

function add(): void {
  const [owner, one] = [object.value, counter.value];
  if (!owner || !one) return;
  if (!owner.instances) addPaths([pathOf(owner.english, one, null)]);
  else addPaths([...marked.value].map((name) => pathOf(owner.english, one, name)));
  show("monitor");
  adding.value = true;
}

export const ADD_KEYS: Key[] = [{ shown: "← →", word: "order", on: "add" }];

export function Add() {
  useSignalEffect(() => {
    const asked = { host: host.value, lang: lang.value };
    get<ObjectInfo[]>("objects", asked).then((all) => {
      // Another host or language was chosen while this one worked.
      if (asked.host !== host.peek() || asked.lang !== lang.peek()) return;
      objects.value = all;
      const known = all.find((one) => one.index === object.peek()?.index);
      const first = known ?? all.find((one) => one.index === 238) ?? all[0];
      // Another host, or another language, has other counters and instances.
      const [before, now] = [loaded, `${asked.host} ${asked.lang}`];
      loaded = now;
      if (first && (!known || before !== now)) void open(first, counter.peek()?.index);
    }).catch(fail);
  });
  useSignalEffect(() => {
    const asked = { host: host.value, lang: lang.value, search: words.value };
    if (words.value.trim() === "") { found.value = null; return; }
    const timer = setTimeout(() => {
      get<CounterInfo[]>("counters", asked).then((all) => { if (words.peek() === asked.search) found.value = all; }).catch(fail);
    }, 150);
    return () => clearTimeout(timer);
  });
  const onSearch = (event: SubmitEvent) => {
    event.preventDefault();
    const text = words.value.trim();
    if (text.startsWith("\\")) { addPaths([text]); show("monitor"); } else if (found.value?.[0]) take(found.value[0]);
  };
  const take = (one: CounterInfo) => {
    const owner = objects.value.find((known) => known.index === one.object);
    if (owner) { words.value = ""; void open(owner, one.index); }
  };
  const needle = filter.value.toLowerCase();
  const fitting = instances.value.filter((one) => one.shown.toLowerCase().includes(needle)).slice(0, 500);
  const toggle = (name: string) => {
    const next = new Set(name === ALL ? [] : [...marked.value].filter((one) => one !== ALL));
    if (marked.value.has(name)) next.delete(name); else next.add(name);
    marked.value = next;
  };
  const one = counter.value;
  return (
    <Dialog open={adding} title={t("add")} class="add" head={hosts.value.length > 1 && <HostPicker stay />}>
      <form onSubmit={onSearch}>
        <input type="search" autofocus value={words.value} placeholder={t("search")} aria-label={t("search")}
          onInput={(event) => { words.value = event.currentTarget.value; }} />
      </form>
      {found.value ? (
        <ul class="hits list">{found.value.length === 0 && <li>{t("nothing")}</li>}
          {found.value.map((hit) => <li><button onClick={() => take(hit)}><b>{named(hit.objectName ?? "", hit.objectEnglish ?? "")}</b> {named(hit.name, hit.english)}<span class="soft"> {hit.help}</span></button></li>)}
        </ul>
      ) : (
        <div class="columns">
          <Column title={t("objects")}>{objects.value.map((known) => (
            <li><button aria-pressed={known.index === object.value?.index} title={known.help ?? ""} onClick={() => open(known)}>{named(known.name, known.english)}</button></li>))}
          </Column>
          <Column title={t("counters")}>{counters.value.map((known) => (
            <li><button aria-pressed={known.index === one?.index} onClick={() => { counter.value = known; }} onDblClick={add}>{named(known.name, known.english)}</button></li>))}
          </Column>
          {object.value?.instances && <Column title={t("instances")} top={
            <input value={filter.value} placeholder={t("filter")} aria-label={t("filter")} onInput={(event) => { filter.value = event.currentTarget.value; }} />}>
            <li><button aria-pressed={marked.value.has(ALL)} onClick={() => toggle(ALL)}><b>{t("all")}</b></button></li>
            {fitting.map((known) => (
              <li><button aria-pressed={marked.value.has(known.name)} onClick={() => toggle(known.name)}>{known.shown}</button></li>))}
          </Column>}
        </div>
      )}
      {one && !found.value && <div class="about">
        <p>{one.help}</p>
        <p class="soft">{one.type} · {one.meaning} {one.formula && <>· <code>{one.formula}</code></>} {one.unit && <>· {t("unit")} {one.unit}</>} · {t("scale")} {power(one.scale)}{object.value?.costly && <> · {t("costly")}</>}</p>
        <Preview />
      </div>}
      <footer>
        <button class="main" onClick={add} disabled={!one || (object.value?.instances === true && marked.value.size === 0)}>{t("add")}</button>
        <span class="soft">{t("chart")}: {number(paths.value.length)}</span>
        <ul class="chips">{paths.value.map((path, nth) => (
          <li key={path} draggable onDragStart={(event) => { event.dataTransfer?.setData("text/plain", path); }} onDragOver={(event) => event.preventDefault()}
            onDrop={(event) => { event.preventDefault(); event.stopPropagation(); const moved = event.dataTransfer?.getData("text/plain") ?? ""; if (paths.value.includes(moved)) reorder(moved, nth); }}
            onKeyDown={(event) => { const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key]; if (step) { reorder(path, nth + step); event.preventDefault(); } }}>
            {path} <button class="small" aria-label={`${t("remove")}: ${path}`} onClick={() => { paths.value = paths.value.filter((known) => known !== path); }}>×</button></li>))}
        </ul>
      </footer>
    </Dialog>
  );
}

function Column({ title, top, children }: { title: string; top?: preact.ComponentChildren; children: preact.ComponentChildren }) {
  return <section><h3>{title}</h3>{top}<ul class="list" tabIndex={0} aria-label={title}>{children}</ul></section>;
}
