// Looks at every screen in a real browser: node shots.mjs ADDRESS FOLDER [LOG]. It fails when a screen lacks what it must show,
// when axe finds something that people with a screen reader or without colours can not use, or when the browser
// reports an error or a request to another server.
import { mkdirSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { chromium } from "playwright-core";

const [address, folder, log] = process.argv.slice(2);
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

const rowsIn = (page, count) => page.waitForFunction(
  (count) => document.querySelectorAll("table.legend tbody tr").length >= count, count);

if (address.startsWith("file:")) {
  await lookAtReport();
} else {
  await lookAtServer();
}

/** A report in a file: all of it is there, no name in it became a part of the page, and nothing is requested. */
async function lookAtReport() {
  const page = await open();
  page.on("dialog", () => faults.push("a name in the log ran as a script"));
  await page.goto(address);
  await page.locator(".paper h2").first().waitFor();
  await page.locator(".paper .u-over").first().waitFor();
  await look(page, "report");
  if (await page.locator("#app img, #app script").count() > 0) faults.push("a name in the log became an element");
  await page.getByRole("button", { name: "Monitor" }).click();
  await rowsIn(page, 1);
  await look(page, "report-monitor");
  await page.emulateMedia({ media: "print" });
  await page.screenshot({ path: `${folder}/report-print.png`, fullPage: true });
}

async function lookAtServer() {
const page = await open();
await page.goto(address);
if (!(page.url().includes("token"))) console.log("the token has left the address"); else faults.push("the token stays in the address");
await page.getByRole("button", { name: "Overview" }).waitFor();
await page.locator(".processes tbody tr").first().waitFor();
await look(page, "overview");

await page.keyboard.press("2");
await rowsIn(page, 2);
await page.locator(".u-over").waitFor();
await page.waitForFunction(() => document.querySelector(".values dd")?.textContent !== "–");
// Some rows make a line.
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
await look(page, "add");
await dialog.getByRole("searchbox").fill("cpu");
await dialog.locator(".hits button").first().waitFor();
await look(page, "add-search");
await dialog.getByRole("searchbox").fill("\\Memory\\Available Bytes");
await page.keyboard.press("Enter");
await page.keyboard.press("Escape");
await dialog.waitFor({ state: "detached" });
await page.getByRole("button", { name: "Available Bytes" }).first().waitFor();

for (const [view, element] of [["area", ".u-over"], ["stacked", ".u-over"], ["bars", ".bars li"], ["values", ".report table"]]) {
  await page.locator(".toolbar select").first().selectOption(view);
  await page.locator(element).first().waitFor();
  await look(page, view);
}
await page.locator(".toolbar select").first().selectOption("line");
await page.getByRole("button", { name: "Freeze" }).click();
await page.locator(".badge").waitFor();
const chart = await page.locator(".u-over").boundingBox();
await page.mouse.move(chart.x + 4, chart.y + 60);
await page.mouse.down();
await page.mouse.move(chart.x + chart.width - 4, chart.y + 90, { steps: 5 });
await page.mouse.up();
await page.locator(".panel h2", { hasText: "Selection" }).waitFor();
await look(page, "selection");
await page.getByRole("button", { name: "Continue" }).click();

await page.getByRole("button", { name: /^Explain: / }).first().click();
await page.locator(".explain h2").waitFor();
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
await look(page, "new-session");
await page.keyboard.press("Enter");
await page.getByRole("button", { name: "from the page", exact: true }).waitFor();
await page.keyboard.press("6");
await page.locator("tbody tr", { hasText: "healthy" }).first().waitFor();
await look(page, "providers");
await page.keyboard.press("/");
await page.keyboard.type("memory");
await page.waitForFunction(() => [...document.querySelectorAll("main tbody tr")].every((row) => /memory/i.test(row.textContent)));
await page.getByRole("button", { name: "Events" }).click();
await page.locator("tbody tr", { hasText: "Available MBytes" }).waitFor();
await look(page, "events");
await page.keyboard.press("/");
await page.keyboard.type("no event has this");
await page.getByText("Nothing was found").waitFor();
await page.getByRole("searchbox").fill("");
await page.getByRole("button", { name: "Events" }).focus();
await page.keyboard.press("?");
await page.getByRole("dialog").waitFor();
await look(page, "keys");
await page.keyboard.press("Escape");

if (log) {
  await page.getByRole("button", { name: "Logs" }).click();
  await page.locator("input[type=file]").setInputFiles(log);
  await page.waitForFunction(() => document.querySelector(".host select")?.value.startsWith("log"));
  await rowsIn(page, 1);
  await look(page, "log");
  await page.getByRole("button", { name: "Logs" }).click();
  await page.getByRole("button", { name: "Show" }).first().waitFor();
  await look(page, "logs");
  await page.locator(".host select").selectOption({ index: 0 });
}

for (const theme of ["dark", "contrast"]) {
  await page.keyboard.press("1");
  await page.locator(".settings select").nth(1).selectOption(theme);
  await page.locator(".processes tbody tr").first().waitFor();
  await look(page, `overview-${theme}`);
  await page.getByRole("button", { name: "Monitor" }).click();
  await page.locator(".chart, main.empty").first().waitFor();
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
await phone.keyboard.press("6");
await phone.locator("tbody tr").first().waitFor();
await look(phone, "phone-providers");
const wide = await phone.evaluate(() => document.documentElement.scrollWidth - innerWidth);
if (wide > 0) faults.push(`the phone scrolls sideways by ${wide} pixels`);

const stranger = await open();
await stranger.goto(page.url().split("#")[0]);
const text = await stranger.textContent("body");
if (!text.includes("token")) faults.push("a browser without the token sees more than a refusal");
faults.splice(0, faults.length, ...faults.filter((one) => !one.includes("401")));
}

await browser.close();
for (const fault of faults) console.error(fault);
process.exit(faults.length > 0 ? 1 : 0);
