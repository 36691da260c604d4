// Looks at every screen in a real browser: node shots.mjs ADDRESS FOLDER [LOG [ARCHIVES]], or, for the address of a
// report in a file, node shots.mjs ADDRESS FOLDER [TEXT...] with what it must show. It fails when a screen lacks what it must show,
// when axe finds something that people with a screen reader or without colours cannot use, or when the browser
// reports an error or a request to another server.
import { mkdirSync, readFileSync } from "node:fs";
import { spawn } from "node:child_process";
import { createRequire } from "node:module";
import { chromium } from "playwright-core";
import { lookAtStates } from "./states.mjs";

const [address, folder, log, archives] = process.argv.slice(2);
// What the screens of a report must show, one or the other.
const wanted = address.startsWith("file:") ? process.argv.slice(4) : [];
mkdirSync(folder, { recursive: true });
const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const executablePath = process.env.CHROMIUM ?? "/usr/bin/chromium";
const browser = await chromium.launch({ executablePath, args: ["--no-sandbox"] });
const faults = [];
const origin = address.startsWith("file:") ? address.split("#")[0] : new URL(address).origin;

async function open(options = {}) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, locale: "en-US", ...options });
  const page = await context.newPage();
  page.setDefaultTimeout(60_000);
  page.on("console", (line) => { if (line.type() === "error") faults.push(`console: ${line.text()}`); });
  page.on("pageerror", (error) => faults.push(`error: ${error.message}`));
  page.on("request", (request) => {
    const url = request.url();
    if (!url.startsWith(origin) && !url.startsWith("data:") && !url.startsWith("file:") && !url.startsWith("blob:")) faults.push(`request to ${url}`);
  });
  return page;
}

async function look(page, name) {
  await page.screenshot({ path: `${folder}/${name}.png` });
  // Playwright runs scripts beside the rules of the page.
  await page.evaluate(axe);
  const result = await page.evaluate(() => globalThis.axe.run(document, { resultTypes: ["violations"] }));
  for (const one of result.violations) {
    faults.push(`${name}: ${one.id}: ${one.nodes.slice(0, 3).map((node) => node.html.slice(0, 160)).join(" | ")}`);
  }
  console.log(`looked at ${name}`);
}

/** The page of profiles, which is a page in the page. */
async function lookAtProfiles(page) {
  await page.keyboard.press("8");
  const inside = page.frameLocator("iframe");
  await inside.getByRole("button", { name: /shop.prof/ }).click();
  await inside.locator("#facts", { hasText: ".NET 8" }).waitFor();
  const [, frame] = page.frames();
  const check = async (name) => {
    await page.screenshot({ path: `${folder}/${name}.png` });
    await frame.evaluate(axe);
    const result = await frame.evaluate(() => globalThis.axe.run(document, { resultTypes: ["violations"] }));
    for (const one of result.violations) faults.push(`${name}: ${one.id}: ${one.nodes.slice(0, 3).map((node) => node.html.slice(0, 160)).join(" | ")}`);
    console.log(`looked at ${name}`);
  };
  await inside.getByRole("button", { name: "Shop.Program.Main(string[])" }).waitFor();
  await check("profile-tree");
  await inside.locator("main").focus();
  await page.keyboard.press("]");
  await inside.getByRole("application", { name: "Flame graph" }).waitFor();
  await inside.locator("main").focus();
  await page.keyboard.press("[");
  await inside.getByRole("application", { name: "Flame graph" }).waitFor({ state: "hidden" });
  await page.keyboard.press("]");
  const picture = inside.getByRole("application", { name: "Flame graph" });
  await picture.focus();
  for (const key of ["ArrowDown", "ArrowDown"]) await page.keyboard.press(key);
  const said = await inside.locator("#said").textContent();
  if (!/^Shop\..*\n\d/.test(said)) faults.push(`the flame graph says ${said}`);
  await page.keyboard.press("Enter");
  await inside.getByRole("button", { name: "Show all" }).waitFor();
  await check("profile-flame");
  await page.keyboard.press("Escape");
  await inside.getByRole("button", { name: "Show all" }).waitFor({ state: "detached" });
  await page.keyboard.press("]");
  const lanes = inside.getByRole("application", { name: /^Timeline/ });
  await lanes.nth(1).waitFor();
  const whole = await inside.locator(".bar-line strong").textContent();
  await page.keyboard.press("+");
  await inside.getByRole("button", { name: "Show all" }).waitFor();
  if (await inside.locator(".bar-line strong").textContent() === whole) faults.push("the timeline stays as it was");
  await check("profile-timeline");
  await inside.getByRole("tab", { name: "Methods" }).click();
  // A namespace is left out: its methods are gone, and come back.
  const parse = inside.getByRole("button", { name: "Shop.Text.Parse(string)" });
  await parse.waitFor();
  const without = inside.getByRole("searchbox", { name: "Leave out namespaces" });
  await without.fill("System, Shop.Text");
  await parse.waitFor({ state: "detached" });
  await inside.getByRole("button", { name: "Shop.Orders.Search(string)" }).waitFor();
  await without.fill("");
  await inside.getByRole("button", { name: "Shop.Text.Parse(string)" }).click();
  await inside.getByRole("application", { name: /^Callers: Shop.Text.Parse/ }).locator("text", { hasText: "Price" }).first().waitFor();
  await check("profile-sandwich");
  await inside.getByRole("tab", { name: "Differences" }).click();
  await inside.locator("main select").selectOption({ label: "longer.prof" });
  await inside.locator("tr", { hasText: "Shop.Orders.Search(string)" }).waitFor();
  await check("profile-differences");
  if (!page.url().includes("#profile?") || !page.url().includes("id=file1")) faults.push(`the address does not say which profile: ${page.url()}`);
  await page.locator(".settings select").first().selectOption("ko");
  await inside.getByRole("tab", { name: "호출 트리" }).waitFor();
  await inside.locator("#facts", { hasText: "끝남" }).waitFor();
  await check("profile-ko");
  await page.locator(".settings select").first().selectOption("en");
  await inside.getByRole("tab", { name: "Call tree" }).waitFor();
  await page.locator(".settings select").nth(1).selectOption("contrast");
  await inside.locator("html[data-theme=contrast]").waitFor({ state: "attached" });
  await inside.getByRole("button", { name: "Shop.Program.Main(string[])" }).waitFor();
  await check("profile-contrast");
  await page.locator(".settings select").nth(1).selectOption("auto");
  await inside.locator("html[data-theme=auto]").waitFor({ state: "attached" });
  await inside.getByRole("button", { name: "Shop.Program.Main(string[])" }).waitFor();
  // Digits lead back, also from inside.
  await inside.locator("main").focus();
  await page.keyboard.press("7");
  await page.locator("iframe").waitFor({ state: "detached" });
}

const rowsIn = (page, count) => page.waitForFunction(
  (count) => document.querySelectorAll("table.legend tbody tr").length >= count, count);

const looks = address.startsWith("file:") ? lookAtReport : address.endsWith("#hosts") ? lookAtFleet : lookAtServer;
// What a page shows when something does not come.
const lookAtFault = async (error) => {
  faults.push(error.stack);
  for (const page of browser.contexts().flatMap((context) => context.pages())) faults.push(`${page.url()}: ${(await page.locator("body").innerText()).slice(0, 1500)}`);
};
await looks().catch(lookAtFault);

/** The page of all machines: two answer, one is gone and has a hostile name. */
async function lookAtFleet() {
  const page = await open();
  page.on("dialog", () => faults.push("the name of a machine ran as a script"));
  await page.goto(address.replace("#hosts", ""));
  const rows = page.locator(".fleet tbody tr");
  const names = () => page.locator(".fleet tbody th").allInnerTexts();
  const isNumber = (text) => /^\d+\.\d$/.test(text);
  for (const begin = Date.now(); ;) {
    const cells = await Promise.all(["web2", "web10"].map((name) => rows.filter({ hasText: name }).locator("td").nth(1).innerText()));
    if (cells.every(isNumber)) break;
    if (Date.now() - begin > 60_000) { faults.push(`no load: ${cells}`); break; }
  }
  if (!page.url().includes("#hosts?")) faults.push(`the page of all machines is not the first one: ${page.url()}`);
  if ((await names()).slice(-2).join() !== "web2,web10") faults.push(`names with numbers are not in their order: ${await names()}`);
  await rows.filter({ hasText: "gone.bin" }).locator(".bad").waitFor();
  if (await page.locator(".fleet img").count() > 0) faults.push("a name became an element");
  await look(page, "fleet");
  // Sorted by state the worst is first, and the other way round last; a machine without a number is always last.
  const sort = (name) => page.getByRole("columnheader", { name }).getByRole("button").click();
  for (const [title, at, place] of [["State", "sort=state", 0], ["State", "back=1", -1], ["Processor", "sort=processor", -1], ["Processor", "back=1", -1]]) {
    await sort(title);
    await page.waitForFunction((at) => location.hash.includes(at), at);
    if (!(await names()).at(place)?.startsWith("<img")) faults.push(`${title} ${at}: ${await names()}`);
  }
  // The arrows lead from host to host.
  const focused = () => page.evaluate(() => document.activeElement?.textContent);
  await rows.first().getByRole("button").focus();
  const [top, second] = await names();
  await page.keyboard.press("ArrowDown");
  if (await focused() !== second) faults.push(`the down arrow leads from ${top} to ${await focused()}`);
  await page.keyboard.press("ArrowUp");
  if (await focused() !== top) faults.push(`the up arrow leads from ${second} to ${await focused()}`);
  await page.keyboard.press("Escape");
  await page.locator("h1").click();
  await page.keyboard.press("/");
  await page.keyboard.type("WEB2");
  await page.waitForFunction(() => document.querySelectorAll(".fleet tbody tr").length === 1 && location.hash.includes("filter=WEB2"));
  // The address has it all.
  await page.reload();
  await page.waitForFunction(() => document.querySelectorAll(".fleet tbody tr").length === 1 && document.querySelector("[aria-sort]")?.textContent.startsWith("Processor"));
  await page.locator(".fleet [type=search]").fill("");
  await page.locator(".settings select").first().selectOption("ko");
  await page.getByRole("heading", { name: "모든 호스트: 2 / 3" }).waitFor();
  await look(page, "fleet-ko");
  await page.locator(".settings select").first().selectOption("en");
  for (const theme of ["dark", "contrast"]) {
    await page.locator(".settings select").nth(1).selectOption(theme);
    await look(page, `fleet-${theme}`);
  }
  await page.getByRole("button", { name: "web2", exact: true }).focus();
  await page.keyboard.press("Enter");
  await page.locator(".overview .processes tbody tr").first().waitFor();
  if (!page.url().includes("host=live%3Aweb2")) faults.push(`the address does not say which machine: ${page.url()}`);
  await page.keyboard.press("2");
  await rowsIn(page, 2);
  await page.keyboard.press("i");
  await rows.first().waitFor();
  const phone = await open({ viewport: { width: 390, height: 844 } });
  await phone.goto(address);
  await phone.locator(".fleet tbody tr").first().waitFor();
  if (await phone.evaluate(() => document.documentElement.scrollWidth > innerWidth)) faults.push("wider than a phone");
  await look(phone, "fleet-phone");
}

/** Whether the first lines of a legend differ by their dashes where colours are not enough. */
async function dashesDiffer(legend, where) {
  const told = await legend.locator(".swatch path").evaluateAll((all) => all.slice(0, 8).map((one) => one.getAttribute("stroke-dasharray") ?? ""));
  if (told.length === 0 || new Set(told).size < told.length) faults.push(`lines differ by colour only ${where}: ${told.join("; ")}`);
}

/** A report in a file: all of it is there, no name in it became a part of the page, and nothing is requested. */
async function lookAtReport() {
  const page = await open();
  page.on("dialog", () => faults.push("a name in the log ran as a script"));
  await page.goto(address);
  await page.locator(".paper h2").first().waitFor();
  await page.locator(".paper .plot").first().waitFor();
  await look(page, "report");
  const inReport = await page.locator("body").innerText();
  if (await page.locator("#app img, #app script").count() > 0) faults.push("a name in the log became an element");
  await page.getByRole("button", { name: "Monitor", exact: true }).click();
  await rowsIn(page, 1);
  const seen = inReport + await page.locator("body").innerText();
  wanted.filter((text) => !seen.includes(text)).forEach((text) => faults.push(`"${text}" is on no screen: ${seen}`));
  await look(page, "report-monitor");
  await page.keyboard.press("1");
  // Paper is narrower than a screen: nothing of it may be cut off, and only what can be read is printed.
  await page.setViewportSize({ width: 720, height: 1000 });
  await page.emulateMedia({ media: "print" });
  await page.locator(".paper .plot").first().waitFor();
  const cut = await page.evaluate(() => [...document.querySelectorAll(".paper *")].filter((one) => one.getBoundingClientRect().right > innerWidth + 1)
    .map((one) => `${one.tagName} ${one.className} ${Math.round(one.getBoundingClientRect().right)}`));
  if (cut.length > 0) faults.push(`wider than the paper: ${cut.slice(0, 5)}`);
  if (await page.locator("button:visible").count() > 0) faults.push("buttons are printed");
  for (const legend of await page.locator(".paper .key").all()) await dashesDiffer(legend, "in a printed report");
  await page.screenshot({ path: `${folder}/report-print.png`, fullPage: true });
  await page.pdf({ path: `${folder}/report.pdf`, format: "A4" });
}

/** The logs in a zip archive are shown; one that cannot be unpacked says why. */
async function lookAtArchives(page) {
  const drop = async (name) => {
    await page.getByRole("button", { name: "Logs", exact: true }).click();
    await page.locator("input[type=file]").setInputFiles(`${archives}/${name}`);
  };
  const alert = page.getByRole("alert");
  for (const [name, words] of [
    ["locked.zip", "locked.zip: of ann/inside.blg: it is encrypted; unpack it first"], ["damaged.zip", "damaged.zip: of ann/inside.blg: a browser cannot unpack it"],
    ["cut.zip", "cut.zip: a browser cannot unpack it"], ["list.zip", "list.zip: a browser cannot unpack it"], ["empty.zip", "empty.zip: there is no log in it"],
    ["bzip2.zip", "bzip2.zip: of ann/inside.blg: a browser cannot unpack it"], ["nested.zip", "good.zip"], ["text.zip", "notes.txt"],
  ]) {
    await drop(name);
    await alert.getByText(words).waitFor();
    if (name === "locked.zip") await look(page, "zip-refused");
    await alert.getByRole("button", { name: "Close" }).click();
  }
  await drop("good.zip");
  await page.waitForFunction(() => document.querySelector(".host select").selectedOptions[0].text.includes("inside.blg"));
  await rowsIn(page, 1);
  await page.getByRole("button", { name: "Logs", exact: true }).click();
  const card = page.locator("section.card", { hasText: "inside.blg" });
  await card.getByText("blg,").waitFor();
  if (await page.locator("section.card", { hasText: "readme" }).count() > 0) faults.push("what is not a log was taken from an archive");
  // Logs that failed, and the one that was shown, are closed again.
  for (const close = page.locator("section.card").getByRole("button", { name: "Close" }); await close.count() > 0;) {
    const before = await close.count();
    await close.first().click();
    await page.waitForFunction((before) => [...document.querySelectorAll("section.card button")].filter((one) => one.textContent === "Close").length < before, before);
  }
}

/** Two logs of which one counter differs, and a part of one of them as a file. */
async function lookAtTwo(page) {
  const slower = readFileSync(log, "utf8").split("\r\n").slice(0, 1000).map((line) => line.replace(/"1"$/, '"7"'));
  await page.locator("input[type=file]").setInputFiles({ name: "slower.csv", mimeType: "text/csv", buffer: Buffer.from(slower.join("\r\n")) });
  await page.waitForFunction(() => document.querySelector(".host select").selectedOptions[0].text.includes("slower.csv"));
  await rowsIn(page, 2);
  await page.getByRole("button", { name: "Logs", exact: true }).click();
  await page.getByRole("button", { name: "Compare" }).click();
  const first = page.locator(".compare tbody tr").first();
  await first.getByText("Process(sh)").waitFor();
  if (!(await first.textContent()).includes("600")) faults.push("from 1 to 7 is 600 % more");
  await page.locator(".compare .plot").waitFor();
  await page.locator(".compare").scrollIntoViewIfNeeded();
  await look(page, "compare");
  // Beside each other: a chart for each log, with one axis and one cursor.
  await page.getByRole("checkbox", { name: "side by side" }).check();
  await page.locator(".beside .plot").nth(1).waitFor();
  await look(page, "compare-beside");
  await elsewhere(page, "the comparison", (other) => other.locator(".beside .plot").nth(1).waitFor());
  const one = await page.locator(".beside .chart").first().boundingBox();
  await page.mouse.move(one.x + one.width / 2, one.y + 60);
  await page.waitForFunction(() => new Set([...document.querySelectorAll(".beside .cursor")].map((one) => one.style.transform)).size === 1 && /[1-9]/.test(document.querySelector(".beside .cursor").style.transform));
  await page.getByRole("checkbox", { name: "side by side" }).uncheck();
  await page.locator(".beside").waitFor({ state: "detached" });
  // By an event of each log; the begin is one that every log has.
  await page.getByLabel("Align").selectOption("event");
  await page.getByRole("combobox", { name: "by an event B" }).selectOption({ label: "First record" });
  await page.getByRole("button", { name: "Compare", exact: true }).click();
  await first.getByText("Process(sh)").waitFor();
  await page.locator(".compare .plot").waitFor();
  await look(page, "compare-event");
  await elsewhere(page, "the comparison by an event", async (other) => {
    await other.locator(".compare .plot").waitFor();
    if (await other.getByLabel("Align").inputValue() !== "event") throw new Error("it is by something else");
  });
  await page.getByLabel("Align").selectOption("start");
  const card = page.locator("section.card", { hasText: "slower.csv" }).first();
  await card.getByRole("combobox").selectOption("tsv");
  await card.getByRole("checkbox").check();
  const [download] = await Promise.all([page.waitForEvent("download"), card.getByRole("link", { name: "Download" }).click()]);
  const text = readFileSync(await download.path(), "utf8");
  if (download.suggestedFilename() !== "slower.tsv" || !text.startsWith('"(PDH-TSV 4.0)') || text.trim().split("\n").length !== 1000) {
    faults.push(`the download is ${download.suggestedFilename()}: ${text.slice(0, 80)}`);
  }
}

/** One more log is laid over the two, and has columns of its own. */
async function lookAtThree(page) {
  const slowest = readFileSync(log, "utf8").split("\r\n").slice(0, 500).map((line) => line.replace(/"1"$/, '"9"'));
  await page.locator("input[type=file]").setInputFiles({ name: "slowest.csv", mimeType: "text/csv", buffer: Buffer.from(slowest.join("\r\n")) });
  await page.waitForFunction(() => document.querySelector(".host select").selectedOptions[0].text.includes("slowest.csv"));
  await rowsIn(page, 2);
  await page.getByRole("button", { name: "Logs", exact: true }).click();
  await page.getByRole("button", { name: "Compare +" }).click();
  await page.getByRole("button", { name: "Compare", exact: true }).click();
  const first = page.locator(".compare tbody tr").first();
  await first.getByText("Process(sh)").waitFor();
  // Three logs have three times three columns, and two differences with their shares: from 1 to 7, and to 9.
  const cells = await first.locator("td").allTextContents();
  if (cells.length !== 13 || !cells[10].includes("600") || !cells[12].includes("800")) faults.push(`three logs: ${cells}`);
  const sides = await page.locator(".compare p").first().innerText();
  // All of them over the time of the shortest one, which has a line of names and 499 rows.
  if ((sides.match(/: 499,/g) ?? []).length !== 3) faults.push(`the parts of three logs: ${sides}`);
  await page.locator(".compare .plot").waitFor();
  await page.locator(".compare").scrollIntoViewIfNeeded();
  await look(page, "compare-three");
  await page.getByRole("button", { name: "Remove", exact: true }).click();
  if (await page.locator(".compare label select").count() !== 3) faults.push("a log stays in the comparison");
}

/** What is wrong in a log is marked in the chart, and can be opened by keys and by a click on its mark. */
async function lookAtMarks(page) {
  const rows = Array.from({ length: 600 }, (_, nth) => `"03/01/2026 00:${String(Math.floor(nth / 60)).padStart(2, "0")}:${String(nth % 60).padStart(2, "0")}.000","${nth > 200 && nth < 500 ? 98 + nth % 2 : 8 + nth % 5}","${nth > 200 && nth < 500 ? 96 : 3}"`);
  const head = '"(PDH-CSV 4.0) (UTC)(0)","\\\\WEB\\Processor(_Total)\\% Processor Time","\\\\WEB\\Process(hog)\\% Processor Time"';
  await page.getByRole("button", { name: "Logs", exact: true }).click();
  await page.locator("input[type=file]").setInputFiles({ name: "busy.csv", mimeType: "text/csv", buffer: Buffer.from([head, ...rows].join("\r\n")) });
  await page.waitForFunction(() => document.querySelector(".host select").selectedOptions[0].text.includes("busy.csv"));
  await page.locator(".marks .mark").first().waitFor();
  await page.keyboard.press("f");
  const finding = page.locator(".marks .findings li.card");
  await finding.waitFor();
  await page.waitForURL((url) => /at=17723[0-9]+/.test(url.href));
  const words = await finding.textContent();
  if (!words.includes("hog")) faults.push(`the finding says ${words}`);
  await page.locator(".toolbar select").first().selectOption("line");
  await page.locator(".plot").waitFor();
  await look(page, "marks");
  await page.locator(".marks .mark[aria-expanded=true]").click();
  await finding.waitFor({ state: "detached" });
  const plot = await page.locator(".plot").boundingBox();
  await page.mouse.click(plot.x + plot.width * 0.6, plot.y + 3);
  await finding.waitFor();
}

/** A wheel moves the range over the log, without a question for each step; one undo takes it back. */
async function lookAtMoves(page) {
  const rangeOf = () => { const wanted = new URLSearchParams(page.url().split("?")[1]); return [wanted.get("from"), wanted.get("to")].join(); };
  const moved = (before) => page.waitForURL((url) => { const wanted = new URLSearchParams(url.hash.split("?")[1]); return [wanted.get("from"), wanted.get("to")].join() !== before; });
  const plot = await page.locator(".plot").boundingBox();
  await page.mouse.move(plot.x + plot.width / 2, plot.y + 60);
  await page.locator(".chart").focus();
  const whole = rangeOf();
  await page.keyboard.press("+");
  await moved(whole);
  await page.waitForTimeout(1200);
  const before = rangeOf();
  for (let nth = 0; nth < 5; nth += 1) { await page.mouse.wheel(60, 0); await page.waitForTimeout(30); }
  await moved(before);
  await page.waitForTimeout(400);
  const [from, to] = rangeOf().split(",").map(Number);
  const [first, last] = before.split(",").map(Number);
  if (!(from > first) || Math.abs((to - from) - (last - first)) > 1) faults.push(`the range ${before} was moved to ${from},${to}`);
  // What is drawn is what is there: the values of the range that is shown.
  await page.locator("details.table summary").click();
  // A range without ten rows would not be one.
  await page.locator("details.table tbody tr").nth(9).waitFor();
  await page.keyboard.press("u");
  await page.waitForFunction((before) => { const wanted = new URLSearchParams(location.hash.split("?")[1]); return [wanted.get("from"), wanted.get("to")].join() === before; }, before);
  // By keys: to the later rows and back, and out again.
  const ends = () => rangeOf().split(",").map(Number);
  await page.locator(".chart").focus();
  await page.keyboard.press("Shift+ArrowLeft");
  await moved(before);
  await page.waitForTimeout(400);
  const left = rangeOf();
  await page.keyboard.press("Shift+ArrowRight");
  await moved(left);
  await page.waitForTimeout(400);
  if (!(ends()[0] > Number(left.split(",")[0]))) faults.push(`Shift and the right arrow lead from ${left} to ${rangeOf()}`);
  const narrow = ends();
  await page.keyboard.press("-");
  await moved(narrow.join());
  await page.waitForTimeout(400);
  if (!(ends()[1] - ends()[0] > narrow[1] - narrow[0])) faults.push(`"-" leads from ${narrow} to ${rangeOf()}`);
}

/** Pages of a browser that show the same have one stream; when its page is closed, another one goes on. */
async function lookAtTabs() {
  const streams = [];
  const first = await open();
  const context = first.context();
  context.on("request", (request) => { if (request.url().includes("/stream?")) streams.push(request.url()); });
  await first.goto(address);
  const shown = `${first.url().split("#")[0]}#monitor?path=${encodeURIComponent("\\Memory\\Available Bytes")}`;
  const pages = [first];
  await first.goto(shown);
  while (pages.length < 4) { const page = await context.newPage(); await page.goto(shown); pages.push(page); }
  const newest = (page) => page.evaluate(() => document.querySelector("details.table tbody th")?.textContent ?? "");
  for (const page of pages) { await page.locator("details.table summary").click(); await page.waitForFunction(() => document.querySelectorAll("details.table tbody tr").length > 2); }
  const goesOn = async (page, what) => {
    const before = await newest(page);
    await page.waitForFunction((before) => document.querySelector("details.table tbody th").textContent !== before, before).catch(() => faults.push(what));
  };
  for (const page of pages) await goesOn(page, "a page beside others stands still");
  const paths = new Set(streams.filter((one) => one.includes("Available")));
  if (streams.filter((one) => one.includes("Available")).length !== 1) faults.push(`four pages have the streams ${[...paths]}`);
  await pages[0].close();
  for (const page of pages.slice(1)) await goesOn(page, "a page stands still after the one with the stream was closed");
  await pages[1].context().close();
}

/** A thousand instances: the cell of each value has the colour of its share of the largest one. */
async function lookAtMany(page) {
  const [names, rows] = [1000, 60];
  const lines = [`"(PDH-CSV 4.0) (UTC)(0)",${Array.from({ length: names }, (_, nth) => `"\\\\WEB\\Process(p${nth})\\% Processor Time"`).join(",")}`];
  for (let row = 0; row < rows; row += 1) {
    // Nothing is known at two times; the last instance has the largest value at the end.
    const value = (nth) => (row === 20 || row === 21 ? " " : row * nth / 1000);
    lines.push(`"03/01/2026 00:${String(row).padStart(2, "0")}:00.000",${Array.from({ length: names }, (_, nth) => `"${value(nth)}"`).join(",")}`);
  }
  await page.getByRole("button", { name: "Logs", exact: true }).click();
  await page.locator("input[type=file]").setInputFiles({ name: "wide.csv", mimeType: "text/csv", buffer: Buffer.from(lines.join("\r\n")) });
  await page.locator(".host select option", { hasText: "wide.csv" }).waitFor({ state: "attached" });
  await page.waitForFunction(() => document.querySelector(".host select").selectedOptions[0].text.includes("wide.csv"));
  await rowsIn(page, 1);
  await page.evaluate(() => {
    // The address follows what is shown with a delay.
    const search = new URLSearchParams({ host: document.querySelector(".host select").value });
    search.append("path", "\\Process(*)\\% Processor Time");
    search.set("view", "heat");
    location.hash = `#monitor?${search}`;
  });
  await page.waitForFunction(() => document.querySelector(".heat canvas")?.height === 1000);
  const cell = (x, y) => page.evaluate(([x, y]) => [...document.querySelector(".heat canvas").getContext("2d").getImageData(x, y, 1, 1).data], [x, y]);
  for (const [x, y, expected] of [[59, 999, [253, 231, 37, 255]], [0, 500, [68, 1, 84, 255]], [20, 500, [0, 0, 0, 0]]]) {
    const found = await cell(x, y);
    if (String(found) !== String(expected)) faults.push(`the cell ${x},${y} is ${found}, not ${expected}`);
  }
  await page.locator(".heat canvas").focus();
  // A sample that comes between two keys draws the picture anew: begin at the top again.
  const says = () => document.querySelector("[aria-live]").textContent.includes("p1 0.059");
  for (let trial = 0; ; trial += 1) {
    await page.keyboard.press("End");
    await page.keyboard.press("ArrowDown");
    const said = page.waitForFunction(says, null, { timeout: trial < 10 ? 3000 : 60000 }).then(() => true, (error) => { if (trial >= 10) throw error; });
    if (await said) break;
    await page.locator(".heat canvas").focus();
    for (let nth = 0; nth < 3; nth += 1) await page.keyboard.press("ArrowUp");
  }
  await look(page, "heat-many");
}

/** The properties of the chart: its axis, and the scale, colour, width and visibility of a line, which the address has. */
async function lookAtProperties(page) {
  const color = (nth) => page.locator("table.legend tbody tr").nth(nth).locator("path").getAttribute("stroke");
  const before = await color(0);
  await page.locator("table.legend tbody tr").first().getByRole("button").first().click();
  await page.keyboard.press("p");
  const dialog = page.getByRole("dialog", { name: "Properties" });
  await dialog.getByLabel("Colour").fill("5");
  await dialog.getByLabel("Scale").selectOption({ value: "1" });
  await dialog.getByLabel("Width").selectOption("3");
  await dialog.getByRole("checkbox", { name: "Automatic" }).uncheck();
  // What is typed stays while samples come.
  await dialog.getByLabel("Maximum").fill("250");
  await page.waitForTimeout(2500);
  if (await dialog.getByLabel("Maximum").inputValue() !== "250") faults.push("a sample took away what was typed");
  await page.keyboard.press("Tab");
  await look(page, "properties");
  await page.keyboard.press("Escape");
  await dialog.waitFor({ state: "detached" });
  if (await color(0) === before) faults.push("the line has its colour still");
  await page.waitForFunction(() => location.hash.includes("axis=0%7E250") && location.hash.includes("style=1%7E5%7E3%7E"));
  if (await page.locator("table.legend tbody tr td").nth(1).innerText() !== "10") faults.push("the legend does not say the scale");
  await look(page, "properties-chart");
  const changed = await color(0);
  await page.reload();
  await rowsIn(page, 2);
  if (await color(0) !== changed) faults.push("the address does not keep the colour");
  await page.keyboard.press("p");
  await dialog.getByRole("checkbox", { name: "Visible" }).uncheck();
  await page.waitForFunction(() => document.querySelector("table.legend tbody td")?.textContent === "–");
  await dialog.getByRole("button", { name: "Reset" }).click();
  await dialog.getByRole("checkbox", { name: "Automatic" }).check();
  await page.keyboard.press("Escape");
  await page.waitForFunction(() => !location.hash.includes("style=") && !location.hash.includes("axis="));
  if (await color(0) !== before) faults.push("the line does not get its colour back");
}

/** A line has a threshold: a value above it is an alert, which the chart, the legend and a list show. */
async function lookAtThresholds(page) {
  const row = page.locator("table.legend tbody tr", { hasText: "Available Bytes" }).first();
  await row.getByRole("button").first().click();
  await page.keyboard.press("p");
  const dialog = page.getByRole("dialog", { name: "Properties" });
  await dialog.getByLabel("Alert above").fill("1000");
  await page.keyboard.press("Tab");
  await page.keyboard.press("Escape");
  await dialog.waitFor({ state: "detached" });
  await page.locator(".alerts tr", { hasText: "began" }).filter({ hasText: "Available Bytes" }).first().waitFor();
  await row.locator("td.num.bad").waitFor();
  await page.waitForFunction(() => /style=[^&]*%7E1000\+/.test(location.hash));
  await look(page, "alerts");
  await page.locator(".alerts button").first().click();
  await page.waitForFunction(() => location.hash.includes("at="));
  const saved = await page.evaluate(async (href) => (await fetch(href)).text(), await page.locator(".toolbar a.button", { hasText: "Save view" }).getAttribute("href"));
  if (!saved.includes("threshold = 1000.0")) faults.push(`the saved view has no threshold: ${saved}`);
  await page.keyboard.press("p");
  await dialog.getByLabel("Alert above").fill("1e15");
  await page.keyboard.press("Tab");
  await page.keyboard.press("Escape");
  await page.locator(".alerts", { hasText: "Alerts: 0" }).waitFor();
  await page.keyboard.press("p");
  await dialog.getByRole("button", { name: "Reset" }).click();
  await page.keyboard.press("Escape");
  await page.waitForFunction(() => !location.hash.includes("style="));
  await page.locator(".alerts").waitFor({ state: "detached" });
}

/** The table of instances: sorted by a counter, filtered, at the time of the cursor. */
async function lookAtInstances(page) {
  const before = page.url();
  await page.evaluate(() => { location.hash = "#monitor?view=table&path=" + encodeURIComponent("\\Process(*)\\ID Process") + "&path=" + encodeURIComponent("\\Process(*)\\Working Set"); });
  const table = page.locator("table.instances");
  await table.locator("tbody tr").nth(3).waitFor();
  // In one step: a locator finds the rows first and asks for their texts then, and a sample comes between.
  const texts = (nth) => page.evaluate((nth) => [...document.querySelectorAll(`table.instances tbody tr td:nth-child(${nth})`)].map((one) => one.innerText), nth);
  // A process that has begun has no number before the next sample; it is the last one both ways.
  const column = async (nth) => (await texts(nth + 2)).filter((text) => /\d/.test(text)).map((text) => Number(text.replace(/[^\d.]/g, "")));
  const sorted = (values, sign) => values.length > 3 && values.every((value, nth) => nth === 0 || (value - values[nth - 1]) * sign >= 0);
  const title = table.getByRole("columnheader", { name: "ID Process" });
  await title.getByRole("button").click();
  await page.locator("table.instances th[aria-sort=descending]").waitFor();
  const down = await column(0);
  if (!sorted(down, -1)) faults.push(`not the largest first: ${down}`);
  await title.getByRole("button").click();
  await page.locator("table.instances th[aria-sort=ascending]").waitFor();
  const up = await column(0);
  if (!sorted(up, 1)) faults.push(`not the smallest first: ${up}`);
  await look(page, "instances");
  await elsewhere(page, "the order of the table", (other) => other.locator("table.instances th[aria-sort=ascending]", { hasText: "ID Process" }).waitFor());
  await page.locator("h1").click();
  await page.keyboard.press("/");
  await page.keyboard.type("_tot");
  await page.waitForFunction(() => [...document.querySelectorAll("table.instances tbody th")].map((one) => one.textContent).join() === "_Total");
  await page.locator("main [type=search]").fill("");
  await page.goto(before);
  await page.locator(".plot, .report, .bars, .heat canvas, table.instances").first().waitFor();
}

/** Names are in the language of the page, and with N the English ones are beside them. */
async function lookAtNames(page) {
  const language = page.locator(".settings select").first();
  const legend = () => page.locator("table.legend tbody").innerText();
  const shows = (text, isThere) => page.waitForFunction(([text, isThere]) => document.querySelector("table.legend tbody")?.innerText.includes(text) === isThere, [text, isThere]);
  await language.selectOption("ru");
  await shows("Available Bytes", false);
  if (!/[а-я]{4}/.test(await legend())) faults.push(`the names are not Russian: ${await legend()}`);
  await page.locator("h1").click();
  await page.keyboard.press("n");
  await shows("(Available Bytes)", true);
  if (!(await legend()).includes("(Memory)")) faults.push(`the object has no English name: ${await legend()}`);
  await look(page, "names");
  await page.keyboard.press("a");
  const dialog = page.getByRole("dialog");
  await dialog.getByRole("button", { name: "(Processor)" }).waitFor();
  await dialog.getByRole("searchbox").fill("ram");
  await dialog.locator(".hits button", { hasText: "(Memory)" }).first().waitFor();
  // In a field of a search the key empties it first.
  await dialog.locator("header button").last().click();
  await dialog.waitFor({ state: "detached" });
  await page.keyboard.press("w");
  await page.locator(".causes caption", { hasText: "(Process: % Processor Time)" }).waitFor();
  await page.locator(".causes").getByRole("button").first().click();
  await page.reload();
  await shows("(Available Bytes)", true);
  await page.locator("h1").click();
  await page.keyboard.press("n");
  await shows("(Available Bytes)", false);
  await language.selectOption("en");
  await shows("Available Bytes", true);
}

/** A saved view keeps how lines look, and the terminal's file is shown as the terminal shows it. */
async function lookAtSavedLines(page) {
  const line = (name) => page.locator("table.legend tbody tr", { hasText: name }).first();
  const colour = (name) => line(name).locator("path").getAttribute("stroke");
  const dashes = (name) => line(name).locator("path").getAttribute("stroke-dasharray");
  const href = async () => page.locator(".toolbar a.button", { hasText: "Save view" }).getAttribute("href");
  await line("Available Bytes").getByRole("button").first().click();
  await page.keyboard.press("p");
  const dialog = page.getByRole("dialog", { name: "Properties" });
  await dialog.getByLabel("Colour").fill("20");
  await dialog.getByLabel("Scale").selectOption({ value: "-7" });
  await dialog.getByLabel("Width").selectOption("4");
  await dialog.getByRole("checkbox", { name: "Automatic" }).uncheck();
  await dialog.getByLabel("Maximum").fill("250");
  await page.keyboard.press("Escape");
  await dialog.waitFor({ state: "detached" });
  await page.locator('.toolbar a.button[href*="axis=0%7E250"]').waitFor();
  const saved = await page.evaluate(async (href) => (await fetch(href)).text(), await href());
  for (const wanted of ["minimum = 0.0", "maximum = 250.0", "path = '\\Memory\\Available Bytes'\nscale = -7\ncolour = 4\npattern = 2\nwidth = 4"]) {
    if (!saved.includes(wanted)) faults.push(`the saved view lacks ${wanted}: ${saved}`);
  }
  const [before, dashed] = [await colour("Available Bytes"), await dashes("Available Bytes")];
  const drop = async (name, text) => {
    await page.getByRole("button", { name: "Logs", exact: true }).click();
    await page.locator("input[type=file]").setInputFiles({ name, mimeType: "text/plain", buffer: Buffer.from(text) });
    await rowsIn(page, 1);
  };
  const address = page.url();
  // As the terminal writes it: colours and dashes start over, each after its own count.
  await drop("terminal.tallymon", "maximum = 0.5\ncounters = ['\\System\\Processes', '\\System\\Threads']\n[[line]]\npath = '\\System\\Processes'\nscale = 0\ncolour = 1\nthick = true\n[[line]]\npath = '\\System\\Threads'\nhidden = true\n");
  await line("Threads").locator("td", { hasText: /^–$/ }).first().waitFor();
  if (await dashes("Processes") !== "8 4") faults.push(`the terminal's second line is dashed, not ${await dashes("Processes")}`);
  await page.waitForFunction(() => location.hash.includes("axis=0%7E0.5") && location.hash.includes("style=0%7E9%7E2%7E"));
  // A line that leaves the chart above says so in the legend.
  await line("Processes").locator("td", { hasText: "▲" }).waitFor();
  await look(page, "saved-lines");
  await drop("view.tallymon", saved);
  await line("Available Bytes").waitFor();
  if (await colour("Available Bytes") !== before || await dashes("Available Bytes") !== dashed || dashed !== "3 3") faults.push(`the line is ${await colour("Available Bytes")} ${await dashes("Available Bytes")}, was ${before} ${dashed}`);
  await page.waitForFunction(() => location.hash.includes("axis=0%7E250") && location.hash.includes("style=-7%7E20%7E4%7E"));
  await page.goto(address);
  await line("Available Bytes").getByRole("button").first().click();
  await page.keyboard.press("p");
  await dialog.getByRole("button", { name: "Reset" }).click();
  await dialog.getByRole("checkbox", { name: "Automatic" }).check();
  await page.keyboard.press("Escape");
  await page.waitForFunction(() => !location.hash.includes("style=") && !location.hash.includes("axis="));
}

/** What somebody else sees who opens the address that is shown: the same. */
async function elsewhere(page, name, check) {
  await page.waitForTimeout(600);
  const other = await open();
  await other.goto(address);
  await other.goto(page.url());
  await check(other).catch((error) => faults.push(`another browser does not show ${name} at ${page.url()}: ${error.message}`));
  await other.waitForTimeout(600);
  if (other.url() !== page.url()) faults.push(`the address of ${name} became ${other.url()} of ${page.url()}`);
  await other.context().close();
}

/** Processes: sorted by click and key, filtered, below their parents, more of them, with who runs them, at any second; and stopped after a yes. */
async function lookAtProcesses(page) {
  const sleeper = spawn("sleep", ["4321"]);
  const column = (name) => page.evaluate((name) => {
    const nth = [...document.querySelectorAll(".processes thead th")].findIndex((one) => one.innerText.startsWith(name));
    return [...document.querySelectorAll(`.processes tbody tr > :nth-child(${nth + 1})`)].map((one) => one.innerText);
  }, name);
  const isSorted = (down) => page.waitForFunction((down) => {
    const all = [...document.querySelectorAll(".processes tbody tr > :nth-child(2)")].map((one) => Number(one.innerText));
    return all.length > 3 && all.every((one, at) => at === 0 || (down ? all[at - 1] >= one : all[at - 1] <= one));
  }, down);
  await page.getByRole("columnheader", { name: "Command line" }).waitFor();
  if (!(await column("User")).some((one) => /^[a-z]/.test(one))) faults.push(`nobody runs the processes: ${await column("User")}`);
  const rows = page.locator(".processes tbody tr");
  const more = page.locator(".processes > button");
  const [before, all] = [await rows.count(), Number(/\((\d+)\)/.exec(await page.locator(".processes h2").innerText())?.[1])];
  if (before !== Math.min(20, all)) faults.push(`${before} processes of ${all}`);
  await page.getByRole("columnheader", { name: "PID" }).getByRole("button").click();
  await isSorted(false);
  await page.keyboard.press("r");
  await isSorted(true);
  if (await more.count() > 0) {
    await more.click();
    await page.waitForFunction(() => document.querySelectorAll(".processes tbody tr").length > 20);
  }
  await page.locator("h1").click();
  await page.keyboard.press("/");
  await page.keyboard.type("sleep 4321");
  await page.waitForFunction(() => document.querySelectorAll(".processes tbody tr").length === 1);
  await page.locator("h1").click();
  await page.keyboard.press("t");
  await page.waitForURL((url) => ["sort=id", "back=1", "filter=sleep+4321", "tree=1"].every((part) => url.href.includes(part)));
  await elsewhere(page, "the processes", async (other) => {
    await other.waitForFunction(() => document.querySelectorAll(".processes tbody tr").length === 1);
    await other.locator(".processes [aria-sort]", { hasText: "PID" }).waitFor();
    if (!await other.getByRole("checkbox", { name: "Tree" }).isChecked()) throw new Error("it is no tree");
  });
  // Stopped only after a yes.
  const state = () => readFileSync(`/proc/${sleeper.pid}/stat`, "utf8").split(") ")[1][0];
  const act = rows.first().locator("select");
  page.once("dialog", (dialog) => dialog.dismiss());
  await act.selectOption("stop SIGSTOP");
  await page.waitForTimeout(300);
  if (state() === "T") faults.push("a process was stopped without a yes");
  let asked = "";
  page.once("dialog", (dialog) => { asked = dialog.message(); void dialog.accept(); });
  await act.selectOption("stop SIGSTOP");
  for (let nth = 0; nth < 200 && state() !== "T"; nth += 1) await page.waitForTimeout(50);
  if (state() !== "T" || !asked.includes("sleep") || !asked.includes(String(sleeper.pid))) faults.push(`a process is ${state()} after "${asked}"`);
  page.once("dialog", (dialog) => dialog.accept());
  await act.selectOption("kill SIGKILL");
  await page.locator(".processes").getByText("Nothing was found").waitFor();
  // Seconds before, by keys and by the slider: the process is there again.
  await page.locator("h1").click();
  const when = () => page.locator(".when input").inputValue();
  const last = Number(await when());
  await page.keyboard.press("Shift+ArrowLeft");
  await page.waitForURL((url) => url.href.includes("at="));
  await page.getByRole("button", { name: "Continue", exact: true }).waitFor();
  if (!(Number(await when()) < last)) faults.push(`the slider stays at ${last}`);
  const at = Number(/at=(\d+)/.exec(page.url())[1]);
  await page.keyboard.press("ArrowRight");
  await page.waitForFunction((at) => Number(/at=(\d+)/.exec(location.hash)?.[1] ?? Infinity) > at, at);
  await page.locator("main").getByRole("searchbox").fill("");
  await page.locator(".when input").focus();
  await page.keyboard.press("Home");
  await elsewhere(page, "a past second", (other) => other.getByRole("button", { name: "Continue", exact: true }).waitFor());
  await look(page, "overview-past");
  await page.getByRole("button", { name: "Continue", exact: true }).click();
  await page.locator("h1").click();
  await page.keyboard.press("t");
  await page.getByRole("columnheader", { name: "Processor" }).getByRole("button").click();
}

/** The range that is typed, the interval, and what else of the monitor is in its address. */
async function lookAtTimes(page) {
  const [begin, end] = ["Begin", "End"].map((name) => page.locator(".toolbar").getByLabel(name, { exact: true }));
  await page.locator("h1").click();
  await page.keyboard.press(":");
  if (!await begin.evaluate((one) => one === document.activeElement)) faults.push("':' does not lead to the begin of the range");
  const now = await page.evaluate(() => new Date(Date.now() - new Date().getTimezoneOffset() * 60_000).toISOString().slice(0, 17));
  await begin.fill(`${now}00`);
  await begin.blur();
  await page.waitForURL((url) => /from=\d+&to=\d+/.test(url.href));
  const [from, to] = /from=(\d+)&to=(\d+)/.exec(page.url()).slice(1).map(Number);
  if (from % 60_000 !== 0 || to <= from) faults.push(`the range begins at ${from} and ends at ${to}`);
  await end.fill(`${now}30`);
  await end.blur();
  await page.waitForFunction((from) => Number(/to=(\d+)/.exec(location.hash)?.[1]) === from + 30_000, from);
  if (!(await begin.inputValue()).startsWith(now.slice(0, 16))) faults.push(`the range says ${await begin.inputValue()}`);
  await page.getByRole("button", { name: "Zoom out" }).click();
  // The interval is that of the server.
  const interval = page.locator(".toolbar").getByLabel("Interval");
  const before = await interval.inputValue();
  const is = (seconds) => page.waitForFunction(async (seconds) => (await (await fetch("api/v1/hosts")).json())[0].interval === seconds, seconds);
  await interval.selectOption("5");
  await is(5);
  await interval.selectOption(before);
  await is(Number(before));
  // The chosen line, and that it is highlighted.
  await page.locator("table.legend tbody tr").nth(1).getByRole("button").first().click();
  await page.locator("h1").click();
  await page.keyboard.press("h");
  await page.waitForURL((url) => url.href.includes("line=") && url.href.includes("highlight=1"));
  await elsewhere(page, "the chosen line", async (other) => {
    await other.locator("table.legend tbody tr:nth-child(2)[aria-selected=true]").waitFor();
    await other.locator(".toolbar [aria-pressed=true]", { hasText: "Highlight" }).waitFor();
  });
  await page.keyboard.press("h");
  const report = await page.evaluate(async (href) => (await fetch(href)).text(), await page.locator(".toolbar a.button", { hasText: "Report" }).getAttribute("href"));
  if (!report.includes('id="data">') || report.length < 50_000) faults.push(`the report of the history is ${report.slice(0, 200)}`);
}

/** The settings of the browser: colours of lines, and how numbers are written. */
async function lookAtSettings(page) {
  const color = () => page.locator("table.legend tbody path").first().getAttribute("stroke");
  const before = await color();
  await page.getByRole("button", { name: "Settings" }).click();
  const dialog = page.getByRole("dialog", { name: "Settings" });
  await dialog.getByLabel("Colours of lines").selectOption("classic");
  await dialog.getByLabel("Numbers").selectOption("1.234,5");
  await look(page, "settings");
  await page.keyboard.press("Escape");
  await dialog.waitFor({ state: "detached" });
  if (await color() === before) faults.push("the colours stay as they were");
  await page.waitForFunction(() => [...document.querySelectorAll("table.legend td.num")].some((one) => /^\d{1,3}(\.\d{3})+\s?$/.test(one.textContent)));
  await page.reload();
  await rowsIn(page, 2);
  if (await color() === before) faults.push("the browser does not keep the colours");
  await page.getByRole("button", { name: "Settings" }).click();
  await dialog.getByLabel("Colours of lines").selectOption("distinct");
  await dialog.getByLabel("Numbers").selectOption("auto");
  await page.keyboard.press("Escape");
  await dialog.waitFor({ state: "detached" });
}

async function lookAtServer() {
const page = await open();
await page.goto(address);
if (!(page.url().includes("token"))) console.log("the token has left the address"); else faults.push("the token stays in the address");
await page.getByRole("button", { name: "Overview", exact: true }).waitFor();
await page.locator(".processes tbody tr").first().waitFor();
await lookAtProcesses(page);
await look(page, "overview");

await page.keyboard.press("2");
await rowsIn(page, 2);
await page.locator(".plot").waitFor();
await page.waitForFunction(() => document.querySelector(".values dd")?.textContent !== "–");
// Some rows make a line.
await page.locator("details.table summary").click();
await page.waitForFunction(() => document.querySelectorAll("details.table tbody tr").length > 4
  && [...document.querySelectorAll("details.table tbody td:nth-child(2)")].filter((one) => one.textContent !== "–").length > 4);
await look(page, "monitor");

await page.locator(".chart").focus();
await page.keyboard.press("Home");
await page.keyboard.press("ArrowRight");
await page.waitForFunction(() => (document.querySelector("[aria-live]")?.textContent ?? "") !== "");
await page.keyboard.press("End");
await page.keyboard.press("Enter");
await page.locator(".causes").waitFor();
await look(page, "causes");

await page.keyboard.press("a");
const dialog = page.getByRole("dialog");
await dialog.getByRole("button", { name: "Processor", exact: true }).waitFor();
// What is chosen is shown as it is now.
await dialog.getByRole("button", { name: "% Processor Time", exact: true }).click();
await dialog.locator(".preview b", { hasText: /\d %/ }).waitFor();
await dialog.locator(".preview path[d*=L]").waitFor({ state: "attached" });
await look(page, "add");
// The order of the counters can be changed.
const chips = () => dialog.locator(".chips li").evaluateAll((all) => all.map((one) => one.firstChild.textContent.trim()));
const [firstChip, secondChip] = await chips();
await dialog.locator(".chips li button").first().focus();
await page.keyboard.press("ArrowRight");
if ((await chips())[0] !== secondChip || (await chips())[1] !== firstChip) faults.push(`the order stays as it was: ${await chips()}`);
await dialog.locator(".chips li").nth(1).dragTo(dialog.locator(".chips li").first());
if ((await chips())[0] !== firstChip) faults.push(`dragging does not change the order: ${await chips()}`);
await dialog.getByRole("searchbox").fill("cpu");
await dialog.locator(".hits button").first().waitFor();
await look(page, "add-search");
await dialog.getByRole("searchbox").fill("\\Memory\\Available Bytes");
await page.keyboard.press("Enter");
await page.keyboard.press("Escape");
await dialog.waitFor({ state: "detached" });
await page.getByRole("button", { name: "Available Bytes" }).first().waitFor();

await lookAtTimes(page);
await lookAtProperties(page);
await lookAtSavedLines(page);
await lookAtThresholds(page);
await lookAtNames(page);
await lookAtInstances(page);
await lookAtSettings(page);
for (const [view, element] of [["area", ".plot"], ["stacked", ".plot"], ["split", ".split .plot"], ["heat", ".heat canvas"], ["bars", ".bars li"], ["values", ".report table"], ["table", "table.instances"]]) {
  await page.locator(".toolbar select").first().selectOption(view);
  await page.locator(element).first().waitFor();
  await look(page, view);
}
await page.locator(".toolbar select").first().selectOption("line");
await page.locator(".toolbar select").first().selectOption("split");
await page.locator(".split .plot").nth(1).waitFor();
await page.getByRole("button", { name: "Freeze", exact: true }).click();
const [upper, lower] = await Promise.all([0, 1].map((nth) => page.locator(".split .plot").nth(nth).boundingBox()));
const asked = [];
page.on("request", (request) => { if (request.url().includes("points=2&") || request.url().endsWith("points=2")) asked.push(request.url()); });
await page.mouse.move(upper.x + upper.width / 2, upper.y + 50);
const cursors = () => page.evaluate(() => [...document.querySelectorAll(".split .cursor")].map((one) => one.style.transform));
const places = await cursors();
if (places.length < 2 || new Set(places).size !== 1 || !/[1-9]/.test(places[0])) faults.push(`the cursors of the charts are at ${places}`);
await page.mouse.move(upper.x + 4, upper.y + 50);
await page.mouse.down();
await page.mouse.move(upper.x + upper.width - 4, upper.y + 60, { steps: 5 });
await page.mouse.up();
await page.locator(".panel h2", { hasText: "Selection" }).waitFor();
await page.locator(".panel td.num").first().waitFor();
if (asked.length !== 1 || !lower) faults.push(`a selection was asked for ${asked.length} times`);
await page.locator("section.panel", { hasText: "Selection" }).getByRole("button", { name: "Close" }).click();
await page.getByRole("button", { name: "Continue", exact: true }).click();
await page.locator(".toolbar select").first().selectOption("line");
page.once("dialog", (dialog) => dialog.accept("a note <b>here"));
await page.keyboard.press("m");
await page.locator(".notes li", { hasText: "a note <b>here" }).waitFor();
await page.waitForURL((url) => url.href.includes("note="));
await look(page, "note");
const before = await page.locator("table.legend tbody tr").count();
await page.getByRole("button", { name: /^Remove: Available Bytes/ }).click();
await page.waitForFunction((before) => document.querySelectorAll("table.legend tbody tr").length < before, before);
await page.keyboard.press("u");
await rowsIn(page, before);
await page.keyboard.press("u");
await page.locator(".notes").waitFor({ state: "detached" });
await page.getByRole("button", { name: "Freeze", exact: true }).click();
await page.locator(".badge").waitFor();
const chart = await page.locator(".plot").boundingBox();
await page.mouse.move(chart.x + 4, chart.y + 60);
await page.mouse.down();
await page.mouse.move(chart.x + chart.width - 4, chart.y + 90, { steps: 5 });
await page.mouse.up();
await page.locator(".panel h2", { hasText: "Selection" }).waitFor();
await look(page, "selection");
await page.getByRole("button", { name: "Continue", exact: true }).click();

await page.getByRole("button", { name: /^Explain: / }).first().click();
await page.locator(".explain h2").waitFor();
await page.locator(".explain dd", { hasText: "/proc/stat" }).waitFor();
await page.locator(".explain summary").click();
await page.locator(".explain details dd", { hasText: /[가-힣]/ }).first().waitFor();
await look(page, "explain");
await page.keyboard.press("5");
const session = page.locator("tbody tr", { hasText: "night" });
await session.getByText("recording").waitFor();
await session.getByRole("button", { name: "night", exact: true }).click();
await page.locator(".panel h3", { hasText: "Alerts" }).waitFor();
await look(page, "sessions");
page.once("dialog", (dialog) => dialog.accept());
await session.getByRole("button", { name: "Stop: night" }).click();
await session.getByText("stopped").waitFor();
page.once("dialog", (dialog) => dialog.dismiss());
await page.keyboard.press("s");
if (!(await session.textContent()).includes("stopped")) faults.push("a session was started without a yes");
await page.keyboard.press("n");
await page.locator("form input[name=name]").fill("from the page");
// How large it gets is known before it is started: by the hour, and in all.
const size = page.locator("form [role=status]");
const says = (hasText) => page.locator("form [role=status]", { hasText }).waitFor();
await says("71 KiB/h");
if ((await size.textContent()).includes("Sum")) faults.push(`a session without an end has a size: ${await size.textContent()}`);
await page.getByLabel("Begin").fill("2030-01-02T03:04");
await page.getByLabel("End", { exact: true }).fill("2030-01-03T03:04");
await page.getByLabel("New log after").fill("1h");
await page.getByLabel("New log at size").fill("100M");
await page.getByLabel("Logs kept").fill("24");
await says("Sum ≤ 1.7 MiB");
await page.getByLabel("Interval").fill("0");
await says("out of range");
await page.getByLabel("Interval").fill("2s");
await says("Sum");
await page.getByLabel("Alert when").fill("\\Memory\\Available MBytes < 200");
await page.getByLabel("Alert after").fill("30s");
await look(page, "new-session");
await page.keyboard.press("Enter");
await page.getByRole("button", { name: "from the page", exact: true }).waitFor();
await page.locator("form").waitFor({ state: "detached" });
// A session is deleted only after a yes.
const made = page.locator("tbody tr", { hasText: "from the page" });
await made.getByRole("button", { name: "Stop: from the page" }).waitFor();
page.once("dialog", (dialog) => dialog.accept());
await made.getByRole("button", { name: "Stop: from the page" }).click();
await made.getByText("stopped").waitFor();
page.once("dialog", (dialog) => dialog.dismiss());
await page.keyboard.press("d");
await made.getByText("stopped").waitFor();
page.once("dialog", (dialog) => dialog.accept());
await made.getByRole("button", { name: "Remove: from the page" }).click();
await made.waitFor({ state: "detached" });
// Its log cannot be shown where there is none yet.
await session.getByRole("button", { name: "Show: night" }).click();
await page.getByRole("alert").getByText("has no log yet").waitFor();
await page.getByRole("alert").getByRole("button", { name: "Close" }).click();
// The same by its key.
await session.getByRole("button", { name: "night", exact: true }).click();
await page.locator("h1").click();
await page.keyboard.press("o");
await page.getByRole("alert").getByText("has no log yet").waitFor();
await page.getByRole("alert").getByRole("button", { name: "Close" }).click();
await page.keyboard.press("6");
await page.locator("tbody tr", { hasText: "healthy" }).first().waitFor();
await look(page, "providers");
await page.keyboard.press("/");
await page.keyboard.type("memory");
const allOfMemory = (on) => on.waitForFunction(() => document.querySelector("main tbody tr") && [...document.querySelectorAll("main tbody tr")].every((row) => /memory/i.test(row.textContent)));
await allOfMemory(page);
await elsewhere(page, "the filter of providers", allOfMemory);
await page.getByRole("button", { name: "Events", exact: true }).click();
await page.locator("tbody tr", { hasText: "Available MBytes" }).waitFor();
await look(page, "events");
await page.keyboard.press("/");
await page.keyboard.type("no event has this");
await page.getByText("Nothing was found").waitFor();
await page.getByLabel("Level").selectOption("error");
await elsewhere(page, "the filter of events", async (other) => {
  await other.getByText("Nothing was found").waitFor();
  if (await other.getByLabel("Level").inputValue() !== "error") throw new Error("the level is another one");
});
await page.getByLabel("Level").selectOption("");
await page.getByRole("searchbox").fill("");
await page.getByRole("button", { name: "Events", exact: true }).focus();
await page.keyboard.press("?");
await page.getByRole("dialog").waitFor();
await look(page, "keys");
await page.keyboard.press("Escape");

await lookAtProfiles(page);
await lookAtTabs();
await lookAtStates({ open, look, faults, address });

if (archives) await lookAtArchives(page);
if (log) {
  await page.getByRole("button", { name: "Logs", exact: true }).click();
  await page.locator("input[type=file]").setInputFiles(log);
  await page.waitForFunction(() => document.querySelector(".host select")?.value.startsWith("log"));
  await rowsIn(page, 1);
  await look(page, "log");
  // All rows of the chart are in the table of values, a page at a time.
  await page.locator("details.table summary").click();
  await page.locator("details.table tbody tr").nth(49).waitFor();
  const times = () => page.locator("details.table tbody th").allInnerTexts();
  const newestTimes = await times();
  await page.getByRole("button", { name: "Earlier", exact: true }).click();
  await page.locator("details.table p", { hasText: /^Later Earlier 2 of \d+$/ }).waitFor();
  const earlierTimes = await times();
  if (newestTimes.length !== 50 || earlierTimes.length !== 50 || newestTimes.some((time) => earlierTimes.includes(time))) faults.push(`pages of ${newestTimes.length} and ${earlierTimes.length} values`);
  await page.getByRole("button", { name: "Later", exact: true }).click();
  await page.locator("details.table summary").click();
  await page.getByRole("button", { name: "Logs", exact: true }).click();
  await page.getByRole("button", { name: "Show", exact: true }).first().waitFor();
  await page.getByRole("button", { name: "Gaps" }).first().click();
  await page.locator("dd", { hasText: /^Objects: \d+; Gaps: 0$/ }).waitFor();
  await look(page, "logs");
  await lookAtTwo(page);
  await lookAtThree(page);
  await lookAtMany(page);
  await lookAtMarks(page);
  await lookAtMoves(page);
  await page.locator(".host select").selectOption({ index: 0 });
}

for (const theme of ["dark", "contrast"]) {
  await page.keyboard.press("1");
  await page.locator(".settings select").nth(1).selectOption(theme);
  await page.locator(".processes tbody tr").first().waitFor();
  await look(page, `overview-${theme}`);
  await page.getByRole("button", { name: "Monitor", exact: true }).click();
  await page.locator(".chart, main.empty").first().waitFor();
  if (await page.locator("table.legend").count() > 0) await dashesDiffer(page.locator("table.legend"), `with ${theme}`);
  await look(page, `monitor-${theme}`);
}
await page.locator(".settings select").nth(1).selectOption("light");
for (const [lang, word] of [["ko", "개요"], ["ja", "概要"], ["ru", "Обзор"]]) {
  await page.locator(".settings select").first().selectOption(lang);
  await page.getByRole("button", { name: word }).click();
  await look(page, `overview-${lang}`);
  await page.keyboard.press("5");
  await page.locator("tbody tr", { hasText: "night" }).first().waitFor();
  await look(page, `sessions-${lang}`);
  await page.keyboard.press("1");
}

const phone = await open({ viewport: { width: 390, height: 844 }, storageState: await page.context().storageState() });
await phone.goto(page.url());
await phone.locator(".processes tbody tr").first().waitFor();
await look(phone, "phone");
// Every screen on a narrow phone and on a usual one: nothing scrolls sideways but tables within their frames.
const screens = { 1: ["overview", ".processes tbody tr"], 2: ["monitor", "table.legend tbody tr"], 3: ["logs", ".drop"], 4: ["explain", ".explain h2"], 5: ["sessions", "tbody tr"], 6: ["providers", "tbody tr"], 7: ["events", "tbody tr"] };
for (const width of [320, 390]) {
  await phone.setViewportSize({ width, height: 844 });
  for (const [key, [name, part]] of Object.entries(screens)) {
    await phone.keyboard.press(key);
    await phone.locator(part).first().waitFor();
    if (width === 320) await look(phone, `phone-${name}`); else await phone.screenshot({ path: `${folder}/phone-${width}-${name}.png` });
    const wide = await phone.evaluate(() => document.documentElement.scrollWidth - innerWidth);
    if (wide > 0) faults.push(`${name} scrolls sideways by ${wide} pixels on a phone of ${width}`);
  }
}
await phone.keyboard.press("2");
await phone.keyboard.press("a");
await phone.getByRole("dialog").getByRole("button", { name: "Память", exact: true }).waitFor();
await look(phone, "phone-add");
const beyond = await phone.getByRole("dialog").evaluate((one) => one.scrollWidth - one.clientWidth);
if (beyond > 0) faults.push(`the dialog scrolls sideways by ${beyond} pixels`);
await phone.keyboard.press("Escape");
// On paper are the chart and its numbers, and no buttons.
await phone.setViewportSize({ width: 720, height: 1000 });
await phone.emulateMedia({ media: "print" });
await phone.locator(".plot").waitFor();
await dashesDiffer(phone.locator("table.legend"), "on paper");
await phone.screenshot({ path: `${folder}/monitor-print.png`, fullPage: true });
if (await phone.locator("button:not(.link, .mark):visible").count() > 0) faults.push("buttons of the monitor are printed");
if (!(await phone.locator("table.legend").innerText()).includes("%")) faults.push("the names of the counters are not printed");
const cut = await phone.evaluate(() => document.documentElement.scrollWidth - innerWidth);
if (cut > 0) faults.push(`the monitor is wider than the paper by ${cut} pixels`);

const stranger = await open();
await stranger.goto(page.url().split("#")[0]);
const text = await stranger.textContent("body");
if (!text.includes("token")) faults.push("a browser without the token sees more than a refusal");
faults.splice(0, faults.length, ...faults.filter((one) => !one.includes("401")));
}

await browser.close();
for (const fault of faults) console.error(fault);
process.exit(faults.length > 0 ? 1 : 0);
