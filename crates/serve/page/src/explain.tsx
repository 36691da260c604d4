// A page for each counter: what it means, its formula with the numbers of now, its names.
import { signal, useSignalEffect } from "@preact/signals";
import { get, type Explanation } from "./api";
import { number, power } from "./format";
import { hidden } from "./live";
import { addPaths, adding, cursor, explained, fail, host, isGone, isLive, paths, show } from "./state";
import { lang, languageOf, t } from "./words";

const answer = signal<Explanation | null>(null);

export function Explain() {
  useSignalEffect(() => {
    const wanted = explained.value || paths.value[0] || "";
    const asked = { host: host.value, path: wanted, lang: lang.value, time: cursor.value };
    if (!wanted || !host.value || hidden.value || isGone.value) { if (!wanted) answer.value = null; return; }
    const control = new AbortController();
    let timer = 0;
    const load = async () => {
      try { answer.value = await get<Explanation>("explain", asked, control.signal); } catch (error) { fail(error); return; }
      if (!control.signal.aborted && (isLive() || answer.value.pending)) timer = setTimeout(load, 1000);
    };
    void load();
    return () => { control.abort(); clearTimeout(timer); };
  });
  const one = answer.value;
  if (!one) return <main class="empty"><p>{t("none")}</p><button onClick={() => { adding.value = true; }}>{t("add")}</button></main>;
  if (one.pending) return <main class="empty"><p role="status">{t("waiting")}</p></main>;
  return (
    <main class="explain">
      <h2>{one.shown}</h2>
      <p>{one.help}</p>
      {one.objectHelp && <p class="soft">{one.objectHelp}</p>}
      <p class="big">{one.value.missing ?? (one.value.number == null ? one.value.text : number(one.value.number))} {one.value.missing ? "" : one.unit}</p>
      <dl>
        <dt>{t("formula")}</dt><dd><code>{one.formula}</code></dd>
        {one.numbers && <><dt>{t("numbers")}</dt><dd><code>{one.numbers}</code></dd></>}
        <dt>{t("type")}</dt><dd>{one.type} (0x{one.typeNumber.toString(16).padStart(8, "0")}): {one.meaning}</dd>
        <dt>{t("scale")}</dt><dd>{power(one.scale)}</dd>
        <dt>{t("path")}</dt><dd><code>{one.path}</code><br /><code>{one.indexPath}</code></dd>
        {one.origin && <><dt>{t("origin")}</dt><dd><code>{one.origin}</code></dd></>}
        <dt>{t("names")}</dt><dd><ul>{one.counterNames.map((known) => <li>{languageOf(known.language)}: {one.objectNames.find((other) => other.language === known.language)?.name} · {known.name}</li>)}</ul></dd>
      </dl>
      <details><summary>{t("helps")}</summary><dl>{one.helps.map((known) => <><dt>{languageOf(known.language)}</dt><dd>{known.text}</dd></>)}</dl></details>
      <button class="main" onClick={() => { addPaths([one.path]); show("monitor"); }}>{t("chart")}</button>
    </main>
  );
}
