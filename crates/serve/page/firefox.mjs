// Looks at the screens in Debian's Firefox: node firefox.mjs ADDRESS FOLDER [LOG], or the address of a report in a
// file. Playwright's own Firefox would have to be downloaded, so this speaks WebDriver BiDi with the installed
// one. It fails when a screen lacks what it must show, when axe finds something, and when the browser reports an
// error or a request to another server.
import { spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";

const require = createRequire(import.meta.url);
// The WebSocket that comes with Playwright.
const { ws: WebSocket } = require("playwright-core/lib/utilsBundle");
const axe = readFileSync(require.resolve("axe-core/axe.min.js"), "utf8");
const [address, folder, log, archive] = process.argv.slice(2);
const origin = address.startsWith("file:") ? address : new URL(address).origin;
const profile = mkdtempSync(join(tmpdir(), "tally-firefox-"));
mkdirSync(folder, { recursive: true });
const faults = [];
const WAIT = 60_000;

const browser = spawn(process.env.FIREFOX ?? "/usr/bin/firefox-esr", ["--headless", "--no-remote", "--profile", profile, "--remote-debugging-port", "0"],
  { stdio: ["ignore", "ignore", "pipe"], env: { ...process.env, HOME: profile } });
const endpoint = await new Promise((resolve, reject) => {
  let text = "";
  browser.stderr.on("data", (piece) => {
    text += piece;
    const found = /WebDriver BiDi listening on (ws:\S+)/.exec(text);
    if (found) resolve(found[1]);
  });
  browser.on("exit", () => reject(new Error(`Firefox ended: ${text}`)));
  setTimeout(() => reject(new Error(`Firefox does not listen: ${text}`)), WAIT).unref();
});
const socket = new WebSocket(`${endpoint}/session`);
await new Promise((resolve, reject) => { socket.on("open", resolve); socket.on("error", reject); });

const waiting = new Map();
let number = 0;
socket.on("message", (text) => {
  const { id, type, result, error, message, method, params } = JSON.parse(text);
  if (type === "event") return event(method, params);
  const asked = waiting.get(id);
  waiting.delete(id);
  if (error) asked?.reject(new Error(`${error}: ${message}`)); else asked?.resolve(result);
});

function event(method, params) {
  if (method === "log.entryAdded" && params.level === "error") faults.push(`error: ${params.text}`);
  if (method !== "network.beforeRequestSent") return;
  const { url } = params.request;
  if (!url.startsWith(origin) && !/^(data|blob|about):/.test(url)) faults.push(`request to ${url}`);
}

const send = (method, params) => new Promise((resolve, reject) => {
  number += 1;
  waiting.set(number, { resolve, reject });
  socket.send(JSON.stringify({ id: number, method, params }));
});

await send("session.new", { capabilities: {} });
await send("session.subscribe", { events: ["log.entryAdded", "network.beforeRequestSent"] });
const { contexts: [{ context }] } = await send("browsingContext.getTree", {});
await send("browsingContext.setViewport", { context, viewport: { width: 1280, height: 900 } });

/** What an expression is in the page. */
async function evaluate(expression) {
  const { type, result, exceptionDetails } = await send("script.evaluate", { expression, target: { context }, awaitPromise: true });
  if (type === "exception") throw new Error(exceptionDetails.text);
  return result.value;
}

async function until(expression, what) {
  for (const begin = Date.now(); !await evaluate(`Boolean(${expression})`); await new Promise((resolve) => setTimeout(resolve, 100))) {
    if (Date.now() - begin > WAIT) throw new Error(`${what} is not there: ${await evaluate("document.body.innerText.slice(0, 600)")}`);
  }
}

const there = (selector) => until(`document.querySelector(${JSON.stringify(selector)})`, selector);

async function look(name) {
  const { data } = await send("browsingContext.captureScreenshot", { context });
  writeFileSync(`${folder}/firefox-${name}.png`, Buffer.from(data, "base64"));
  await evaluate(axe);
  const found = await evaluate(`axe.run(document, { resultTypes: ["violations"] }).then(({ violations }) => JSON.stringify(violations.map((one) => one.id + ": " + one.nodes.slice(0, 3).map((node) => node.html.slice(0, 160)).join(" | "))))`);
  for (const one of JSON.parse(found)) faults.push(`${name}: ${one}`);
  console.log(`looked at ${name}`);
}

/** Keys as a user types them. */
const type = (...keys) => send("input.performActions", { context, actions: [{ type: "key", id: "keys", actions: keys.flatMap((value) => [{ type: "keyDown", value }, { type: "keyUp", value }]) }] });

async function lookAtReport() {
  await there(".paper h2");
  await there(".paper .plot");
  await look("report");
  await type("2");
  await there("table.legend tbody tr");
  await look("report-monitor");
}

/** The page of all machines, of which one is gone. */
async function lookAtFleet() {
  await until(`/^web10answers\\d/.test([...document.querySelectorAll(".fleet tbody tr")].find((row) => row.innerText.startsWith("web10"))?.innerText.replaceAll(/\\s/g, ""))`, "the load of web10");
  await there(".fleet tbody .bad");
  await evaluate(`document.querySelectorAll(".fleet thead button")[1].click()`);
  await until(`location.hash.includes("sort=state")`, "the order in the address");
  if (!await evaluate(`document.querySelector(".fleet tbody tr").innerText.includes("failed")`)) faults.push("the failed machine is not the first one");
  await look("fleet");
  await evaluate(`[...document.querySelectorAll(".fleet tbody button")].find((one) => one.innerText === "web2").click()`);
  await there(".overview .processes tbody tr");
  await until(`location.hash.includes("host=live%3Aweb2")`, "the machine in the address");
}

async function lookAtServer() {
  if (await evaluate(`location.href.includes("token")`)) faults.push("the token stays in the address");
  await there(".processes tbody tr");
  await look("overview");
  await type("2");
  await there("table.legend tbody tr");
  await evaluate(`document.querySelector("details.table summary").click()`);
  await until(`document.querySelectorAll("details.table tbody tr").length > 2`, "rows of the stream");
  await look("monitor");
  // The line is on the canvas: it has colours, and not only those of its grid.
  const colours = `(() => { const canvas = document.querySelectorAll(".chart canvas")[1]; const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
    let vivid = 0; for (let at = 0; at < data.length; at += 4) if (Math.max(data[at], data[at + 1], data[at + 2]) - Math.min(data[at], data[at + 1], data[at + 2]) > 60) vivid += 1; return vivid; })()`;
  await until(`(${colours}) > 20`, "a line");
  // Names in the language of the page, and the English ones beside them.
  const chooseLanguage = (code) => evaluate(`(() => { const own = document.querySelector(".settings select"); own.value = "${code}"; own.dispatchEvent(new Event("change", { bubbles: true })); own.blur(); })()`);
  const legend = `document.querySelector("table.legend tbody").innerText`;
  await chooseLanguage("ru");
  await until(`/[а-я]{4}/.test(${legend})`, "names in Russian");
  await type("n");
  await until(`${legend}.includes("(Available MBytes)")`, "English names");
  await look("names");
  await type("n");
  await chooseLanguage("en");
  await until(`${legend}.includes("Available MBytes") && !${legend}.includes("(Available")`, "names in English");
  await type("a");
  await there("dialog[open]");
  await look("add");
  await type("\uE00C");
  await until(`!document.querySelector("dialog[open]")`, "the end of the dialog");
  await evaluate(`document.querySelector('table.legend [aria-label^="Explain: "]').click()`);
  await there(".explain h2");
  await look("explain");
  for (const [key, name, selector] of [["5", "sessions", "main"], ["6", "providers", "main tbody tr"], ["7", "events", "main"], ["3", "logs", ".drop"]]) {
    await type(key);
    await there(selector);
    await look(name);
  }
  // Percentiles and languages of the providers.
  await type("6");
  await until(`/µs|ms/.test([...document.querySelectorAll("main tbody tr")].find((row) => row.innerText.startsWith("Memory"))?.cells[4].innerText)`, "the 99th percentile of Memory");
  if (!await evaluate(`[...document.querySelectorAll("main tbody tr")].find((row) => row.innerText.startsWith("Memory")).innerText.includes("en ko ja ru")`)) faults.push("the languages of Memory are not there");
  // The size of a session before it is started.
  await type("5");
  await there("main .toolbar button.main");
  await type("n");
  await until(`document.querySelector("form [role=status]")?.innerText.includes("71 KiB/h")`, "the size of a session");
  await look("new-session");
  await type("3");
  if (log) {
    const drop = async (file) => {
      const { result } = await send("script.evaluate", { expression: `document.querySelector("input[type=file]")`, target: { context }, awaitPromise: false });
      await send("input.setFiles", { context, element: { sharedId: result.sharedId }, files: [file] });
    };
    if (archive) {
      await drop(archive);
      await until(`document.querySelector(".host select").selectedOptions[0].text.includes("inside.blg")`, "the log in the archive");
      await there("table.legend tbody tr");
      await type("3");
      await there(".drop");
    }
    await drop(log);
    await until(`document.querySelector(".host select").selectedOptions[0].text.includes(".csv")`, "the uploaded log");
    await there("table.legend tbody tr");
    await look("log");
  }
  await type("?");
  await there("dialog[open]");
  if (!await evaluate(`[...document.querySelectorAll("dialog section")].some((one) => one.innerText.replaceAll(/\\s+/g, " ").startsWith("Sessions N New session S"))`)) faults.push("the keys of Sessions are not listed");
  await look("keys");
  await type("\uE00C");
  // The server does not answer: the page says when it tries again, and goes on when it does.
  await type("2");
  await there("table.legend tbody tr");
  await evaluate(`globalThis.asks = fetch; globalThis.fetch = () => Promise.reject(new TypeError("gone"))`);
  await evaluate(`location.hash += "&span=60"`);
  await until(`/next try in [2-9] s/.test(document.querySelector(".retry")?.innerText)`, "the time of the next try");
  await look("gone");
  await evaluate(`globalThis.fetch = asks`);
  await until(`!document.querySelector(".retry button")?.disabled`, "the button");
  await evaluate(`document.querySelector(".retry button")?.click()`);
  await until(`!document.querySelector(".retry")`, "the server");
}

try {
  await send("browsingContext.navigate", { context, url: address, wait: "complete" });
  await (address.startsWith("file:") ? lookAtReport() : address.endsWith("#hosts") ? lookAtFleet() : lookAtServer());
} catch (error) {
  faults.push(String(error));
} finally {
  socket.close();
  const ended = new Promise((resolve) => browser.once("exit", resolve));
  browser.kill();
  await ended;
  rmSync(profile, { recursive: true, force: true, maxRetries: 5 });
}
for (const fault of faults) console.error(fault);
process.exit(faults.length > 0 ? 1 : 0);
