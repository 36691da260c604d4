// Compares where the lines of a chart are drawn: in slices of time on the thread of the page, as `src/plot.ts` does it, or in a
// worker with an OffscreenCanvas that has the columns already: node bench-raster.mjs [chromium|firefox]
import { spawn } from "node:child_process";
import { createServer } from "node:http";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { build } from "esbuild";

const { outputFiles: [{ text: raster }] } = await build({ entryPoints: [new URL("src/raster.ts", import.meta.url).pathname], bundle: true, minify: true, write: false, format: "iife", globalName: "own" });
const [WIDTH, HEIGHT] = [1310, 420];

/** Draws a range of columns; both ways use it. */
const shared = `const { Raster } = own;
const made = (lines, rows) => Array.from({ length: lines }, (_, nth) => Float64Array.from({ length: rows }, (_, row) => 50 + 40 * Math.sin(row / 60 + nth) + ((row * 7919 + nth * 104729) % 1000) / 100));
const COLOURS = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#8a6d00", "#56b4e9", "#e69f00", "#5d6a73"];
function* drawing(raster, columns, first, points) {
  raster.clear(0, raster.width);
  const xs = Float64Array.from({ length: points }, (_, row) => row / (points - 1) * (raster.width - 1));
  const ys = new Float64Array(points);
  for (let line = 0; line < columns.length; line += 1) {
    yield;
    for (let row = 0; row < points; row += 1) ys[row] = (100 - columns[line][first + row]) / 100 * (raster.height - 1);
    raster.line(xs, ys, 0, { color: COLOURS[line % 8], width: 1.2 }, 0, raster.width);
  }
}`;
const worker = `${raster};${shared}
let raster, columns, context, wanted = null;
const next = () => {
  const { first, points } = wanted;
  wanted = null;
  for (const _ of drawing(raster, columns, first, points));
  raster.show(context, 0, raster.width);
  postMessage(first);
};
onmessage = ({ data }) => {
  if (data.canvas) { raster = new Raster(data.canvas.width, data.canvas.height); context = data.canvas.getContext("2d"); columns = made(data.lines, data.rows); postMessage(-1); return; }
  // What came while it drew is one range: the last one.
  if (!wanted) setTimeout(next);
  wanted = data;
};`;
const page = `<!doctype html><meta charset="utf-8"><title>raster</title><body><script>${raster};${shared}
const WORKER = ${JSON.stringify(worker).replaceAll("</", "<\\/")};
const PATIENCE = 12;
async function measure(way, lines, points, seconds) {
  document.body.textContent = "";
  const canvas = document.createElement("canvas");
  Object.assign(canvas, { width: ${WIDTH}, height: ${HEIGHT} });
  document.body.append(canvas);
  const rows = points * 4;
  let [drawn, busy, ask] = [0, 0, null];
  const ages = [];
  const asked = new Map();
  if (way === "worker") {
    const own = new Worker(URL.createObjectURL(new Blob([WORKER], { type: "text/javascript" })));
    const off = canvas.transferControlToOffscreen();
    await new Promise((resolve) => { own.onmessage = resolve; own.postMessage({ canvas: off, lines, rows }, [off]); });
    own.onmessage = ({ data }) => { drawn += 1; ages.push(performance.now() - asked.get(data)); };
    ask = (first) => { asked.set(first, performance.now()); own.postMessage({ first, points }); };
    ask.end = () => own.terminate();
  } else {
    const columns = made(lines, rows);
    const own = new Raster(canvas.width, canvas.height);
    const context = canvas.getContext("2d");
    let [wanted, job] = [null, null];
    const go = () => {
      const begin = performance.now();
      for (;;) {
        if (!job) {
          if (wanted === null) break;
          job = { first: wanted, steps: drawing(own, columns, wanted, points) };
          wanted = null;
        }
        if (job.steps.next().done) { own.show(context, 0, own.width); drawn += 1; ages.push(performance.now() - asked.get(job.first)); job = null; }
        if (performance.now() - begin > PATIENCE) { requestAnimationFrame(go); break; }
      }
      busy += performance.now() - begin;
    };
    ask = (first) => { asked.set(first, performance.now()); const idle = wanted === null && job === null; wanted = first; if (idle) go(); };
    ask.end = () => {};
  }
  const frames = [];
  const begin = performance.now();
  let [last, first, step] = [begin, 0, 3];
  while (performance.now() - begin < seconds * 1000) {
    if (first + points + 3 >= rows || first + step < 0) step = -step;
    first += step;
    const before = performance.now();
    ask(first);
    if (way === "worker") busy += performance.now() - before;
    await new Promise((resolve) => requestAnimationFrame(resolve));
    frames.push(performance.now() - last);
    last = performance.now();
  }
  ask.end();
  const at = (all, share) => [...all].sort((one, other) => one - other)[Math.floor(all.length * share)] ?? NaN;
  return { frames: frames.length / seconds, late: at(frames, 0.95), drawn: drawn / seconds, age: at(ages, 0.5), busy: busy / seconds };
}
</script>`;

const server = createServer((_, response) => { response.writeHead(200, { "content-type": "text/html" }); response.end(page); }).listen(0, "127.0.0.1");
await new Promise((resolve) => server.on("listening", resolve));
const address = `http://127.0.0.1:${server.address().port}/`;
const SIZES = [[8, 600], [32, 600], [32, 1200], [64, 1200], [200, 1200], [1000, 600]];

async function inChromium() {
  const { chromium } = await import("playwright-core");
  const browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args: ["--no-sandbox"] });
  const tab = await browser.newPage({ viewport: { width: 1400, height: 900 } });
  await tab.goto(address);
  return { measure: (...what) => tab.evaluate((what) => measure(...what), what), end: () => browser.close() };
}

async function inFirefox() {
  const { createRequire } = await import("node:module");
  const { ws: WebSocket } = createRequire(import.meta.url)("playwright-core/lib/utilsBundle");
  const profile = mkdtempSync(join(tmpdir(), "tally-firefox-"));
  const browser = spawn(process.env.FIREFOX ?? "/usr/bin/firefox-esr", ["--headless", "--no-remote", "--profile", profile, "--remote-debugging-port", "0"], { stdio: ["ignore", "ignore", "pipe"], env: { ...process.env, HOME: profile } });
  const endpoint = await new Promise((resolve) => { let text = ""; browser.stderr.on("data", (piece) => { text += piece; const found = /WebDriver BiDi listening on (ws:\S+)/.exec(text); if (found) resolve(found[1]); }); });
  const socket = new WebSocket(`${endpoint}/session`);
  await new Promise((resolve) => socket.on("open", resolve));
  const waiting = new Map();
  socket.on("message", (text) => { const { id, result, message } = JSON.parse(text); const one = waiting.get(id); if (message) one?.reject(new Error(message)); else one?.resolve(result); });
  let number = 0;
  const send = (method, params) => new Promise((resolve, reject) => { number += 1; waiting.set(number, { resolve, reject }); socket.send(JSON.stringify({ id: number, method, params })); });
  await send("session.new", { capabilities: {} });
  const { contexts: [{ context }] } = await send("browsingContext.getTree", {});
  await send("browsingContext.setViewport", { context, viewport: { width: 1400, height: 900 } });
  await send("browsingContext.navigate", { context, url: address, wait: "complete" });
  return {
    measure: async (...what) => JSON.parse((await send("script.evaluate", { expression: `measure(...${JSON.stringify(what)}).then(JSON.stringify)`, target: { context }, awaitPromise: true })).result.value),
    end: async () => { socket.close(); const ended = new Promise((resolve) => browser.once("exit", resolve)); browser.kill(); await ended; rmSync(profile, { recursive: true, force: true, maxRetries: 5 }); },
  };
}

console.log("| browser, series × points | way | frames a second | 95 % | charts drawn a second | from range to chart | busy of a second of the page |");
for (const [name, open] of [["Chromium", inChromium], ["Firefox", inFirefox]].filter(([name]) => !process.argv[2] || name.toLowerCase() === process.argv[2])) {
  const browser = await open();
  for (const [lines, points] of SIZES) {
    for (const way of ["slices", "worker"]) {
      const { frames, late, drawn, age, busy } = await browser.measure(way, lines, points, Number(process.env.SECONDS ?? 4));
      console.log(`| ${name}, ${lines} × ${points} | ${way} | ${frames.toFixed(0)} | ${late.toFixed(0)} ms | ${drawn.toFixed(0)} | ${age.toFixed(0)} ms | ${busy.toFixed(0)} ms |`);
    }
  }
  await browser.end();
}
server.close();
