// The frame of the page: screens, settings, keys, and what is wrong.
import { effect, signal } from "@preact/signals";
import { render } from "preact";
import { useMemo } from "preact/hooks";
import { early, get } from "./api";
import { Add, ADD_KEYS } from "./add";
import { Dialog } from "./dialog";
import { Explain } from "./explain";
import { HOST_KEYS, Hosts } from "./hosts";
import { key, keyOf, keysOf, type Key } from "./keys";
import { PALETTES, palette } from "./chart";
import { logClock, NUMBER_FORMS, numberForm } from "./format";
import { follow, hidden } from "./live";
import { Logs, ready, take } from "./logs";
import { Events, Providers, Sessions, SESSION_KEYS } from "./machine";
import { Monitor, MONITOR_KEYS } from "./monitor";
import { report, readReport } from "./report";
import { ReportPage } from "./report-page";
import { followServer, left, tryNow } from "./retry";
import { HostPicker, Overview, OVERVIEW_KEYS } from "./overview";
import {
  adding, addPaths, connection, fail, followAddress, frozen, helping, host, hostOf, inReport, isFleet, isGone, isLive, keepAddress, loadHosts, notice, openHost,
  paths, profile, readAddress, said, screen, SCREENS, show, styling, theme, THEMES, trouble, type Screen, type Theme,
} from "./state";
import "./style.css";
import { english, lang, LANG_NAMES, remember, t, turnEnglish, type Lang, type Word } from "./words";

if (!inReport) effect(() => { logClock.value = hostOf(host.value)?.clock ?? null; });

const tabs = (): readonly Screen[] => (inReport ? ["report", "monitor"] : SCREENS.slice(0, isFleet() || screen.value === "hosts" ? -1 : -2));

function App() {
  return (
    <div onDragOver={(event) => event.preventDefault()}
      onDrop={(event) => { event.preventDefault(); if (!inReport) void take([...(event.dataTransfer?.files ?? [])]); }}>
      <header class="top">
        <h1>Tallymon</h1>
        <nav>{tabs().map((one, nth) => (
          <button aria-current={screen.value === one ? "page" : undefined} title={String(nth + 1)} onClick={() => show(one)}>{t(one)}</button>))}</nav>
        {!inReport && <HostPicker />}
        <span class="settings">
          <label><span class="hidden">{t("language")}</span><select value={lang.value} onChange={(event) => { lang.value = event.currentTarget.value as Lang; }}>
            {(Object.keys(LANG_NAMES) as Lang[]).map((one) => <option value={one}>{LANG_NAMES[one]}</option>)}</select></label>
          <label><span class="hidden">{t("theme")}</span><select value={theme.value} onChange={(event) => { theme.value = event.currentTarget.value as Theme; }}>
            {THEMES.map((one) => <option value={one}>{t(one)}</option>)}</select></label>
          <button onClick={() => { setting.value = true; }} aria-label={t("settings")}>⚙</button>
          <button onClick={() => { helping.value = true; }} aria-label={t("keys")}>?</button>
        </span>
      </header>
      <Trouble />
      {screen.value === "overview" && <Overview />}
      {screen.value === "monitor" && <Monitor />}
      {screen.value === "report" && <ReportPage />}
      {screen.value === "logs" && <Logs />}
      {screen.value === "explain" && <Explain />}
      {screen.value === "sessions" && <Sessions />}
      {screen.value === "providers" && <Providers />}
      {screen.value === "events" && <Events />}
      {screen.value === "profile" && <Profile />}
      {screen.value === "hosts" && <Hosts />}
      {adding.value && <Add />}
      {helping.value && <Keys />}
      {setting.value && <Settings />}
      <div class="hidden" role="status" aria-live="polite">{said.value}</div>
    </div>
  );
}

function Trouble() {
  const own = hostOf(host.value)?.trouble ?? null;
  const words = connection.value === "denied" ? t("denied") : isGone.value ? t("gone") : trouble.value ?? own;
  return (<>
    <div role="alert">
      {words && <p class="trouble">{words}{trouble.value && <button onClick={() => { trouble.value = null; }}>{t("close")}</button>}</p>}
      {notice.value && <p class="note">{notice.value} <button onClick={() => { notice.value = null; }}>{t("close")}</button></p>}
      {hidden.value && isLive() && <p class="note">{t("paused")}</p>}
    </div>
    {isGone.value && <aside class="note retry" aria-label={t("gone")}><span role="timer">{left.value === 0 ? t("connecting") : t("nextTry").replace("{1}", String(left.value))}</span>{" "}
      <button disabled={left.value === 0} onClick={() => void tryNow()}>{t("tryNow")}</button></aside>}
  </>);
}

const search = () => document.querySelector<HTMLElement>("main [type=search]");
/** The keys of the page. */
const table = (): Key[] => [
  key(`1 – ${tabs().length}`, "keyScreens", (name) => show(tabs()[Number(name) - 1]), undefined, tabs().map((_, nth) => String(nth + 1))),
  key("?", "keys", () => { helping.value = true; }), { ...key("A", "add", () => { adding.value = true; }), only: () => !inReport },
  key("N", "englishNames", turnEnglish), key(":", "time", () => document.querySelector<HTMLElement>("main [type=datetime-local], main [type=range]")?.focus()), { ...key("/", "filter", () => search()?.focus()), when: () => search() !== null }, { shown: "Esc", word: "close" },
  ...OVERVIEW_KEYS, ...HOST_KEYS, ...MONITOR_KEYS, ...SESSION_KEYS, ...ADD_KEYS,
  // Those of the page in the page, which lists all of its own.
  ...([["[ ]", "view"], ["← → ↑ ↓", "move"], ["Enter, + −", "zoom"]] as [string, Word][]).map(([shown, word]) => ({ shown, word, on: "profile" as const })),
];

function Keys() {
  return (
    <Dialog open={helping} title={t("keys")}>
      <div class="keys">{([undefined, "monitor", inReport ? "report" : "add", ...tabs().filter((one) => one !== "monitor")] as Key["on"][]).map((on) => {
        const own = keysOf(table(), on);
        return own.length > 0 && <section key={on}><h3>{t(on ?? "everywhere")}</h3><dl>{own.map((one) => <><dt><kbd>{one.shown}</kbd></dt><dd>{t(one.word)}</dd></>)}</dl></section>;
      })}</div>
    </Dialog>
  );
}

const setting = signal(false);
/** What is of this browser, besides language and theme. */
function Settings() {
  return (
    <Dialog open={setting} title={t("settings")} class="properties">
      <p><label>{t("palette")} <select value={palette.value} onChange={(event) => { palette.value = event.currentTarget.value as typeof palette.value; remember("palette", palette.value); }}>
        {PALETTES.map((one) => <option value={one}>{t(one)}</option>)}</select></label></p>
      <p><label class="check"><input type="checkbox" checked={english.value} onChange={turnEnglish} /> {t("englishNames")}</label></p>
      <p><label>{t("numberForm")} <select value={numberForm.value} onChange={(event) => { numberForm.value = event.currentTarget.value as typeof numberForm.value; remember("numbers", numberForm.value); }}>
        {NUMBER_FORMS.map((one) => <option value={one}>{one === "auto" ? t("auto") : one}</option>)}</select></label></p>
    </Dialog>
  );
}

/** A page of its own, for what few need: `crates/clr/src/export/report`. It says what is shown in it, and its keys. */
function Profile() {
  const source = () => `profile?${new URLSearchParams({ lang: lang.value, theme: theme.value, id: profile.peek() })}`;
  return <iframe title={t("profile")} src={useMemo(source, [lang.value, theme.value])} />;
}

addEventListener("message", ({ data, origin }) => {
  if (origin !== location.origin) return;
  if (typeof data.profile === "string") profile.value = data.profile;
  else if (typeof data.log === "string") void ready(data.log);
  else if (tabs()[Number(data.key) - 1]) show(tabs()[Number(data.key) - 1]);
});

addEventListener("keydown", (event) => {
  const target = event.target as HTMLElement;
  if (event.ctrlKey || event.metaKey || event.altKey || adding.value || helping.value || styling.value || setting.value) return;
  if (target.closest("input, select, textarea, dialog") || (event.key === " " && target.closest("button, summary"))) return;
  const name = (event.shiftKey && event.key.startsWith("Arrow") ? "⇧" : "") + event.key.toLowerCase();
  const known = keyOf(table(), name, screen.value);
  if (known?.act && known.act(name) !== false) event.preventDefault();
});

async function begin(): Promise<void> {
  readAddress();
  addEventListener("hashchange", followAddress);
  if (inReport) {
    await readReport();
    logClock.value = report?.clock ?? null;
    if (screen.value !== "monitor") show("report");
    connection.value = "there";
    if (paths.value.length === 0) paths.value = (report?.series ?? []).map((one) => one.path);
    return;
  }
  // The counters of the first chart do not wait for the list of hosts. A log that is still read is asked below.
  const named = host.value;
  const came = named && named !== "live" ? undefined : early("usual");
  const usual = came ?? (paths.value.length === 0 ? get<string[]>("usual", { host: named || null }).catch(() => null) : null);
  await loadHosts();
  if (isFleet() && !location.hash) show("hosts");
  if (screen.value === "hosts") return;
  if (paths.value.length === 0 && host.value) {
    const state = hostOf(host.value);
    if (state?.kind === "log" && !location.hash.includes("host=")) {
      if (state.state === "ready") await openHost(host.value, "monitor"); else show("logs");
    } else {
      const first = named === host.value || !named ? await usual : null;
      try { addPaths(first ?? await get<string[]>("usual", { host: host.value })); } catch (error) { fail(error); }
    }
  }
}

/** What is known within so many milliseconds is drawn at once, instead of an empty page before. */
const SOON = 100;
effect(() => {
  document.documentElement.dataset.theme = theme.value;
  remember("theme", theme.value);
});
const frame = () => render(<App />, document.getElementById("app") as HTMLElement);
let isLate = false;
const late = setTimeout(() => { isLate = true; if (!inReport) frame(); }, SOON);
void begin().then(() => {
  clearTimeout(late);
  follow();
  if (inReport || !isLate) frame();
  // The address is told when the picture is there.
  setTimeout(keepAddress);
  effect(() => { document.documentElement.lang = lang.value; remember("lang", lang.value); });
  if (inReport) return;
  followServer();
  // A source that comes back, and logs that are read.
  setInterval(() => { if (!hidden.value && (frozen.value || isFleet())) void loadHosts(); }, 3000);
});
