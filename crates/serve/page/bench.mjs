// Measures the page in a real browser, and its server: node bench.mjs TALLY. `cargo xtask bench web` runs it.
// It prints lines of a table. The machine is noisy: times are medians, the processor's time is that of processes.
import { spawn, spawnSync } from "node:child_process";
import { closeSync, existsSync, mkdirSync, mkdtempSync, openSync, readFileSync, rmSync, statSync, writeFileSync, writeSync } from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { chromium } from "playwright-core";

const [tally, ...parts] = process.argv.slice(2);
const wants = (name) => parts.length === 0 || parts.includes(name);
const folder = mkdtempSync(join(tmpdir(), "tally-bench-"));
const running = [];
const median = (numbers) => [...numbers].sort((left, right) => left - right)[Math.floor(numbers.length / 2)];
const pause = (seconds) => new Promise((resolve) => setTimeout(resolve, seconds * 1000));
const row = (...cells) => console.log(`| ${cells.join(" | ")} |`);
const milliseconds = (number) => `${number.toFixed(number < 10 ? 1 : 0)} ms`;

/** A server, and the address of its page. */
async function serve(...more) {
  const child = spawn(tally, ["serve", "--port", "0", ...more], { stdio: ["ignore", "pipe", "ignore"], env: { ...process.env, TALLY_ROOT: join(folder, "root") } });
  running.push(child);
  const address = await new Promise((resolve, reject) => {
    let text = "";
    child.stdout.on("data", (piece) => { text += piece; if (text.includes("\n")) resolve(text.split("\n")[0]); });
    child.on("exit", () => reject(new Error("the server ended")));
  });
  return { pid: child.pid, address, child };
}

/** Seconds of processor time that a process has used. */
function used(pid) {
  const fields = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ")[1].split(" ");
  return (Number(fields[11]) + Number(fields[12])) / 100;
}

/** The largest resident memory of a process, in MB. */
const peak = (pid) => Number(/VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, "utf8"))[1]) / 1000;

/** A log of CSV with so many counters and rows, at 1 s. */
function csv(name, counters, rows) {
  const path = join(folder, name);
  const file = openSync(path, "w");
  writeSync(file, `"(PDH-CSV 4.0) (UTC)(0)",${Array.from({ length: counters }, (_, nth) => `"\\\\WEB\\Process(p${nth})\\% Processor Time"`).join(",")}`);
  for (let from = 0; from < rows; from += 1000) {
    let text = "";
    for (let second = from; second < Math.min(rows, from + 1000); second += 1) {
      const time = new Date(Date.UTC(2026, 2, 1) + second * 1000).toISOString();
      text += `\r\n"${time.slice(5, 7)}/${time.slice(8, 10)}/${time.slice(0, 4)} ${time.slice(11, 23)}"`;
      for (let nth = 0; nth < counters; nth += 1) text += `,"${(50 + 40 * Math.sin(second / 60 + nth) + ((second * 7919 + nth * 104729) % 1000) / 100).toFixed(2)}"`;
    }
    writeSync(file, text);
  }
  writeSync(file, "\r\n");
  closeSync(file);
  return path;
}

const firstChart = () => new Promise((resolve) => {
  // The chart is there when its canvas has a line that is not a line of the grid: the page tells it by the legend.
  const look = () => (document.querySelector(".plot") && document.querySelector("table.legend tbody tr")
    ? requestAnimationFrame(() => resolve(performance.now())) : setTimeout(look, 1));
  look();
});

/** Marks when a page shows what is looked for, from within: asking from outside takes time of the page. */
const observe = () => {
  const look = () => {
    const there = location.hash.startsWith("#monitor") ? document.querySelector(".plot") && document.querySelector("table.legend tbody tr") : document.querySelector(".overview .spark, canvas.empty");
    if (!there) return;
    seen.disconnect();
    requestAnimationFrame(() => performance.mark("shown"));
  };
  const seen = new MutationObserver(look);
  seen.observe(document, { childList: true, subtree: true });
};

/** A page with nothing but a canvas: what a browser takes for any page on this machine. */
const EMPTY = `<!doctype html><html lang="en"><head><meta charset="utf-8"><title>empty</title></head><body><canvas class="empty" width="800" height="400"></canvas>
<script>document.querySelector("canvas").getContext("2d").fillRect(10, 10, 100, 100);</script></body></html>`;

/** From the begin of the navigation to the first chart, and what the page weighs. */
async function first(browser) {
  const server = await serve("--live");
  const empty = createServer((_, response) => { response.writeHead(200, { "content-type": "text/html" }); response.end(EMPTY); }).listen(0, "127.0.0.1");
  await new Promise((resolve) => empty.on("listening", resolve));
  const context = await browser.newContext();
  const page = await context.newPage();
  // The page opens with the overview; the chart is on another screen.
  await page.goto(`${server.address}#monitor`);
  await page.evaluate(firstChart);
  const address = page.url().split("#")[0];
  const times = [];
  for (let nth = 0; nth < 9; nth += 1) {
    const next = await context.newPage();
    await next.goto(`${address}#monitor`, { waitUntil: "commit" });
    times.push(await next.evaluate(firstChart));
    await next.close();
  }
  row("first chart of the live machine, from the begin of the navigation, asked from outside", milliseconds(median(times)));
  await context.addInitScript(observe);
  const looks = { "first chart, told by the page": `${address}#monitor`, "overview, told by the page": address, "an empty page with a canvas": `http://127.0.0.1:${empty.address().port}/` };
  const shown = Object.fromEntries(Object.keys(looks).map((name) => [name, []]));
  for (let nth = 0; nth < 15; nth += 1) {
    for (const [name, to] of Object.entries(looks)) {
      const next = await context.newPage();
      await next.goto(to, { waitUntil: "commit" });
      // The browser has its next process ready meanwhile, as for a user.
      await pause(0.5);
      const [at, paint] = await next.evaluate(() => [performance.getEntriesByName("shown")[0]?.startTime ?? Infinity, performance.getEntriesByName("first-contentful-paint")[0]?.startTime ?? Infinity]);
      shown[name].push([at, paint]);
      await next.close();
    }
  }
  for (const [name, all] of Object.entries(shown)) row(`${name}; first paint`, milliseconds(median(all.map(([at]) => at))), milliseconds(median(all.map(([, paint]) => paint))));
  const response = await (await context.request.get(address)).body();
  row("the page with its first answers, compressed", `${(gzipSync(response, { level: 9 }).length / 1000).toFixed(1)} kB`);
  await context.close();
  empty.close();
  empty.closeAllConnections();
  server.child.kill();
}

/** Processor time of the server for one tab and for ten, with 50 counters at 1 Hz. */
async function tabs(browser) {
  const server = await serve("--live");
  const asked = spawnSync(tally, ["list", "--instances", "--json"], { maxBuffer: 1 << 28 });
  void asked;
  const context = await browser.newContext();
  const page = await context.newPage();
  await page.goto(server.address);
  const found = await page.evaluate(async () => (await (await fetch("api/v1/counters?object=Process")).json()).map((one) => one.english));
  const paths = found.slice(0, 25).flatMap((name) => ["_Total", "tally"].map((instance) => `\\Process(${instance})\\${name}`)).slice(0, 50);
  const address = page.url().split("#")[0];
  const search = new URLSearchParams(paths.map((path) => ["path", path]));
  await page.close();
  const open = [];
  const measured = [];
  for (const count of [0, 1, 10]) {
    while (open.length < count) {
      const next = await context.newPage();
      await next.goto(`${address}#monitor?${search}`);
      open.push(next);
    }
    await pause(4);
    const before = used(server.pid);
    await pause(20);
    measured.push((used(server.pid) - before) / 20 * 100);
  }
  row("the server, no tab: of a core", `${measured[0].toFixed(2)} %`);
  row(`one tab, ${paths.length} counters at 1 s`, `${measured[1].toFixed(2)} %`);
  row("ten tabs", `${measured[2].toFixed(2)} %, ${(measured[2] / Math.max(measured[1], 0.01)).toFixed(1)} times one`);
  await context.close();
  server.child.kill();
}

/** Frames while the range moves over a log: each shows another part, from the server. */
async function panning(browser) {
  for (const [counters, points] of [[8, 600], [32, 600], [32, 1200], [64, 600], [64, 1200]]) {
    const rows = points * 4;
    const server = await serve(csv(`pan-${counters}-${points}.csv`, counters, rows));
    const context = await browser.newContext({ viewport: { width: 1400, height: 900 } });
    const page = await context.newPage();
    await page.goto(`${server.address}#monitor`);
    await page.evaluate(firstChart);
    const begin = Date.UTC(2026, 2, 1);
    const moved = await page.evaluate(async ({ counters, points, rows, begin }) => {
      const search = new URLSearchParams(location.hash.split("?")[1]);
      search.delete("path");
      search.append("path", "\\Process(*)\\% Processor Time");
      const at = (row) => { search.set("from", String(begin + row * 1000)); search.set("to", String(begin + (row + points - 1) * 1000)); return `#monitor?${search}`; };
      location.hash = at(0);
      while (document.querySelectorAll("table.legend tbody tr").length < counters) await new Promise((resolve) => setTimeout(resolve, 10));
      await new Promise((resolve) => setTimeout(resolve, 500));
      // As a wheel or a touchpad moves it: to the right, and back from the end of the log.
      const plot = document.querySelector(".plot");
      const frames = [];
      let drawn = 0;
      plot.addEventListener("drawn", () => { drawn += 1; });
      const until = performance.now() + 5000;
      let last = performance.now();
      for (let row = 0, step = 3; performance.now() < until; row += step) {
        if (row + points + 3 >= rows || row < 0) step = -step;
        plot.dispatchEvent(new WheelEvent("wheel", { deltaX: plot.clientWidth * step / points, cancelable: true }));
        await new Promise((resolve) => requestAnimationFrame(resolve));
        frames.push(performance.now() - last);
        last = performance.now();
      }
      return { frames, drawn };
    }, { counters, points, rows, begin });
    const sorted = [...moved.frames].sort((left, right) => left - right);
    row(`${counters} × ${points}`, `${(moved.frames.length / 5).toFixed(0)}`, milliseconds(median(sorted)), milliseconds(sorted[Math.floor(sorted.length * 0.95)]), `${(moved.drawn / 5).toFixed(0)}`);
    await context.close();
    server.child.kill();
  }
}

/** Frames while the range moves over the heat map of a log with a thousand instances. */
async function heat(browser) {
  const [counters, points] = [1000, 300];
  const server = await serve(csv("heat.csv", counters, points * 4));
  const context = await browser.newContext({ viewport: { width: 1400, height: 900 } });
  const page = await context.newPage();
  await page.addInitScript(() => {
    const put = CanvasRenderingContext2D.prototype.putImageData;
    window.drawn = 0;
    CanvasRenderingContext2D.prototype.putImageData = function (...all) { window.drawn += 1; return put.apply(this, all); };
  });
  await page.goto(`${server.address}#monitor`);
  await page.evaluate(firstChart);
  await page.evaluate(async ({ counters, points, begin }) => {
    const search = new URLSearchParams(location.hash.split("?")[1]);
    search.delete("path");
    search.append("path", "\\Process(*)\\% Processor Time");
    search.set("view", "heat");
    search.set("from", String(begin));
    search.set("to", String(begin + (points - 1) * 1000));
    location.hash = `#monitor?${search}`;
    while (document.querySelector(".heat canvas")?.height !== counters) await new Promise((resolve) => setTimeout(resolve, 10));
    await new Promise((resolve) => setTimeout(resolve, 1000));
    const canvas = document.querySelector(".heat canvas");
    window.wheel = (step) => canvas.dispatchEvent(new WheelEvent("wheel", { deltaX: canvas.clientWidth * step / points, cancelable: true }));
    // The rows around the range come when it has begun to move.
    window.wheel(3);
    await new Promise((resolve) => setTimeout(resolve, 1500));
  }, { counters, points, begin: Date.UTC(2026, 2, 1) });
  const used = await clockOf(context, page);
  const begun = await used();
  const moved = await page.evaluate(async (points) => {
    const frames = [];
    const before = window.drawn;
    const until = performance.now() + 5000;
    let last = performance.now();
    for (let row = 3, step = 3; performance.now() < until; row += step) {
      if (row + points + 3 >= points * 4 || row < 3) step = -step;
      window.wheel(step);
      await new Promise((resolve) => requestAnimationFrame(resolve));
      frames.push(performance.now() - last);
      last = performance.now();
    }
    return { frames, drawn: window.drawn - before };
  }, points);
  const ended = await used();
  const sorted = [...moved.frames].sort((left, right) => left - right);
  row(`heat map, ${counters} × ${points}`, `${(moved.frames.length / 5).toFixed(0)}`, milliseconds(median(sorted)), milliseconds(sorted[Math.floor(sorted.length * 0.95)]), `${(moved.drawn / 5).toFixed(0)}`, milliseconds((ended.TaskDuration - begun.TaskDuration) / Math.max(1, moved.drawn)));
  await context.close();
  server.child.kill();
}

/** The page beside that of Netdata, if Debian's is installed: bytes on the wire, requests, first paint, and the first canvas
    or picture of a chart. What goes to another server is refused. */
async function peer(browser) {
  const netdata = "/usr/sbin/netdata";
  const ours = await serve("--live");
  const looks = [["tally serve, overview", ours.address], ["tally serve, chart", `${ours.address}#monitor`]];
  if (existsSync(netdata)) {
    const kept = join(folder, "netdata");
    mkdirSync(kept);
    const options = [["global", "run as user", "root"], ["db", "mode", "ram"], ["directories", "cache", kept], ["directories", "lib", kept], ["logs", "debug", "none"], ["logs", "error", "none"], ["logs", "access", "none"],
      ["plugins", "tc", "no"], ["plugins", "idlejitter", "no"], ["registry", "enabled", "no"], ["global", "pthread stack size", "256 KiB"]];
    writeFileSync(join(kept, "netdata.conf"), options.map(([part, name, value]) => `[${part}]\n${name} = ${value}`).join("\n"));
    running.push(spawn(netdata, ["-D", "-i", "127.0.0.1", "-p", "19998", "-c", join(kept, "netdata.conf"), "-P", join(kept, "pid")], { stdio: "ignore" }));
    for (let trial = 0; trial < 100 && !(await fetch("http://127.0.0.1:19998/").catch(() => null))?.ok; trial += 1) await pause(0.2);
    await pause(3);
    looks.push(["Netdata 1.37, dashboard", "http://127.0.0.1:19998/"]);
  }
  row("page", "bytes on the wire", "requests", "first paint", "first chart");
  for (const [name, address] of looks) {
    const measured = [];
    for (let nth = 0; nth < 5; nth += 1) {
      const context = await browser.newContext({ viewport: { width: 1400, height: 900 }, serviceWorkers: "block" });
      await context.route((url) => url.hostname !== "127.0.0.1", (route) => route.abort());
      const page = await context.newPage();
      const cdp = await context.newCDPSession(page);
      await cdp.send("Network.enable");
      let [bytes, requests] = [0, 0];
      cdp.on("Network.loadingFinished", ({ encodedDataLength }) => { bytes += encodedDataLength; requests += 1; });
      await page.goto(address, { waitUntil: "commit" });
      const chart = await page.evaluate(() => new Promise((resolve) => {
        // Ours: the processors of the overview, or a plot; Netdata's: the first pictures of gauges and charts.
        const look = () => (document.querySelector(".overview .spark, .plot, .netdata-container canvas, .netdata-container svg, [id^=gauge] canvas, canvas.easyPieChart, .easyPieChart canvas")
          ? requestAnimationFrame(() => resolve(performance.now())) : setTimeout(look, 2));
        setTimeout(() => resolve(Infinity), 30_000);
        look();
      }));
      await pause(2);
      const paint = await page.evaluate(() => performance.getEntriesByName("first-contentful-paint")[0]?.startTime ?? Infinity);
      measured.push({ bytes, requests, paint, chart });
      if (nth === 0 && process.env.SHOTS) await page.screenshot({ path: join(process.env.SHOTS, `${name.replace(/\W+/g, "-")}.png`) });
      await context.close();
    }
    const of = (key) => median(measured.map((one) => one[key]));
    row(name, `${(of("bytes") / 1000).toFixed(0)} kB`, of("requests"), milliseconds(of("paint")), milliseconds(of("chart")));
  }
  for (const child of running) child.kill();
}

/** Tells the milliseconds of processor time that the thread of a page has used, by kinds of work: others run beside. */
async function clockOf(context, page) {
  const cdp = await context.newCDPSession(page);
  await cdp.send("Performance.enable", { timeDomain: "threadTicks" });
  return async () => Object.fromEntries((await cdp.send("Performance.getMetrics")).metrics.map((one) => [one.name, one.value * 1000]));
}

/** What a sample of about a thousand live series costs the page. */
async function many(browser) {
  const server = await serve("--live");
  const context = await browser.newContext({ viewport: { width: 1400, height: 900 } });
  const page = await context.newPage();
  await page.goto(server.address);
  const found = await page.evaluate(async () => {
    const [counters, instances] = await Promise.all(["counters?object=Process", "instances?object=Process"].map(async (one) => (await fetch(`api/v1/${one}`)).json()));
    return { names: counters.map((one) => one.english), instances: instances.length };
  });
  const paths = found.names.slice(0, Math.ceil(1000 / Math.max(1, found.instances))).map((name) => `\\Process(*)\\${name}`);
  await page.evaluate((search) => { location.hash = `#monitor?${search}`; }, String(new URLSearchParams(paths.map((path) => ["path", path]))));
  await page.waitForFunction(() => /\d/.test(document.querySelector(".legend tfoot, .legend tbody tr:last-child")?.textContent ?? ""));
  await pause(15);
  const used = await clockOf(context, page);
  // Samples are as long as half a minute: once in it scales change.
  const before = await used();
  await pause(30);
  const after = await used();
  const [script, all] = ["ScriptDuration", "TaskDuration"].map((name) => (after[name] - before[name]) / 30);
  const series = await page.evaluate(() => document.querySelectorAll("table.legend tbody tr").length);
  const more = await page.evaluate(() => document.querySelector("table.legend tbody tr:last-child td[colspan]")?.textContent ?? "");
  row(`live series (${series}${more}): processor time of the page for a sample; its scripts`, `${milliseconds(all)}; ${milliseconds(script)}`);
  await context.close();
  server.child.kill();
}

/** A large BLG dropped on the page: until its first chart, and the memory of the server. */
async function large(browser) {
  const source = csv("large.csv", 100, 20_000);
  const one = join(folder, "one.blg");
  const made = spawnSync(tally, ["relog", source, "-o", one]);
  if (made.status !== 0) throw new Error(String(made.stderr));
  const times = Math.ceil(1e9 / statSync(one).size);
  const path = join(folder, "large.blg");
  // A longer log of the same counters: the rows again and again, each time later.
  const long = spawnSync(tally, ["relog", csv("long.csv", 100, 20_000 * times), "-o", path]);
  if (long.status !== 0) throw new Error(String(long.stderr));
  const size = statSync(path).size / 1e6;
  const server = await serve("--live", "--uploads", "4096");
  const context = await browser.newContext();
  const page = await context.newPage();
  page.setDefaultTimeout(300_000);
  await page.goto(server.address);
  await page.getByRole("button", { name: "Logs", exact: true }).click();
  const begin = performance.now();
  const seconds = () => `${((performance.now() - begin) / 1000).toFixed(1)} s`;
  await page.locator("input[type=file]").setInputFiles(path);
  await page.locator(".plot").waitFor();
  await page.locator("table.legend tbody tr").first().waitFor();
  row(`a BLG of ${size.toFixed(0)} MB, the first chart of what has come: after`, seconds());
  const state = () => page.evaluate(async () => (await (await fetch("api/v1/hosts")).json()).find((one) => one.name === "large.blg"));
  while ((await state()).tag) await pause(0.05);
  row("all has come after", seconds());
  while ((await state()).state !== "ready") await pause(0.05);
  row("all is read after", seconds());
  row("most memory of the server", `${peak(server.pid).toFixed(0)} MB`);
  await context.close();
  server.child.kill();
}

const browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args: ["--no-sandbox"] });
try {
  if (wants("first")) await first(browser);
  if (wants("tabs")) await tabs(browser);
  if (wants("many")) await many(browser);
  if (wants("peer")) await peer(browser);
  if (wants("panning")) { row("series × points", "frames a second", "median", "95 %", "charts drawn a second"); await panning(browser); }
  if (wants("heat")) { row("series × points", "frames a second", "median", "95 %", "maps drawn a second", "processor time for a map"); await heat(browser); }
  if (wants("large")) await large(browser);
  // The lines of a chart in slices of time, as they are drawn, and in a worker.
  if (wants("raster")) spawnSync(process.execPath, [new URL("bench-raster.mjs", import.meta.url).pathname], { stdio: "inherit" });
} finally {
  await browser.close();
  for (const child of running) child.kill();
  rmSync(folder, { recursive: true, force: true });
}
