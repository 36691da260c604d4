// What a part of a log says about itself: node brush.mjs REPORT ADDRESS FOLDER LOG. A range that is selected in a report, and on the
// page of a server, has the numbers of all rows in it, which are computed here anew from the CSV; by pointer and by keys, in a
// chart and in a heat map. A chart that nobody chose a line in says numbers, too.
import { mkdirSync, readFileSync } from "node:fs";
import { chromium } from "playwright-core";

const [report, address, folder, log] = process.argv.slice(2);
mkdirSync(folder, { recursive: true });
const browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args: ["--no-sandbox"] });
const faults = [];
const check = (isRight, words) => { if (!isRight) faults.push(words); };
const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, locale: "en-US" });
const page = await context.newPage();
page.setDefaultTimeout(30_000);
page.on("pageerror", (error) => faults.push(`error: ${error.message}`));

const [head, ...lines] = readFileSync(log, "utf8").trim().split("\r\n").map((line) => line.slice(1, -1).split('","'));
const timeOf = (text) => Date.parse(`${text.slice(6, 10)}-${text.slice(0, 2)}-${text.slice(3, 5)}T${text.slice(11)}Z`);
const rows = lines.map(([time, ...values]) => ({ time: timeOf(time), values: values.map((value) => (value === " " ? null : Number(value))) }));
/** The numbers of a column in a range by their definitions, in the order of the table. */
function numbersOf(column, from, to) {
  const inside = rows.filter(({ time, values }) => time >= from && time <= to && values[column] !== null);
  const values = inside.map((one) => one.values[column]);
  const sum = values.reduce((total, value) => total + value, 0);
  const mean = sum / values.length;
  const minutes = inside.map(({ time }) => time / 60_000);
  const middle = minutes.reduce((total, one) => total + one, 0) / minutes.length;
  const products = values.reduce((total, value, nth) => total + (value - mean) * (minutes[nth] - middle), 0);
  const deviation = Math.sqrt(values.reduce((total, value) => total + (value - mean) ** 2, 0) / (values.length - 1));
  const sorted = [...values].sort((one, other) => one - other);
  return [values.at(-1), mean, sorted[0], sorted.at(-1), deviation, sorted[Math.ceil(values.length * 0.95) - 1],
    products / minutes.reduce((total, one) => total + (one - middle) ** 2, 0), sum];
}
const cells = () => page.locator("section.panel table tbody tr").evaluateAll((all) => all.map((row) => [...row.querySelectorAll("td.num")].map((cell) => cell.textContent)));
/** The range in the title of the selection, on the clock of the log, which is that of UTC, on one day. */
async function selected() {
  const title = await page.locator("section.panel h2").first().innerText();
  return [...title.matchAll(/(\d\d):(\d\d):(\d\d)/g)].map(([, hours, minutes, seconds]) => Date.UTC(2026, 2, 1, +hours, +minutes, +seconds));
}
async function compare(where) {
  await page.waitForFunction(() => { const all = [...document.querySelectorAll("section.panel td.num")]; return all.length > 0 && all.every((one) => one.textContent !== "…"); });
  // The title has whole seconds.
  const [from, to] = await selected();
  const range = [from, to + 999];
  const shown = await cells();
  check(shown.length === head.length - 1, `${where}: ${shown.length} series`);
  shown.forEach((row, column) => numbersOf(column, ...range).forEach((number, nth) => {
    const text = Number(row[nth].replaceAll(",", ""));
    // Four digits are shown, and a thousandth at least.
    check(Math.abs(text - number) <= Math.max(0.00051, Math.abs(number) * 0.00051), `${where}, ${head[column + 1]}, number ${nth}: ${row[nth]} instead of ${number}`);
  }));
  return range;
}
const said = () => page.locator(".hidden[role=status]").innerText();
const says = async (pattern, where) => { await page.waitForTimeout(300); check(pattern.test(await said()), `${where} says "${await said()}"`); };
const drag = async (selector, from, to) => {
  const box = await page.locator(selector).first().boundingBox();
  await page.mouse.move(box.x + box.width * from, box.y + box.height / 2);
  await page.mouse.down();
  await page.mouse.move(box.x + box.width * to, box.y + box.height / 2, { steps: 5 });
  await page.mouse.up();
};
const done = async (name) => { await page.screenshot({ path: `${folder}/brush-${name}.png` }); console.log(`looked at ${name}`); };
const rangeOf = () => { const search = new URLSearchParams(location.hash.split("?")[1]); return [Number(search.get("from")), Number(search.get("to"))]; };

/** Selects by pointer and by keys what is on the screen of the monitor. */
async function select(where) {
  await drag(".plot", 0.2, 0.45);
  const [from] = await compare(`${where}, by pointer`);
  await page.locator(".chart").focus();
  for (const key of ["Home", "PageDown", "PageDown", "PageDown", "["]) await page.keyboard.press(key);
  await says(/^Selection: /, where);
  for (const key of ["PageDown", "PageDown", "]"]) await page.keyboard.press(key);
  const [begin] = await compare(`${where}, by keys`);
  check(begin > from, `${where}: the keys select from ${begin}`);
  await page.keyboard.press("ArrowDown");
  await says(/% Processor Time b [\d.]+$/, where);
}

async function lookAtAll() {
  await page.goto(report);
  // A chart of the report says numbers, of the line that the arrows choose.
  await page.locator(".paper .chart").first().focus();
  await page.keyboard.press("Home");
  await says(/% Processor Time a [\d.]+$/, "the report");
  await page.keyboard.press("ArrowDown");
  await says(/% Processor Time b [\d.]+$/, "the report");
  await page.locator("nav button", { hasText: "Monitor" }).click();
  await page.locator("table.legend tbody tr").nth(1).waitFor();
  await select("the report");
  await done("report");
  // What is zoomed has the numbers of its rows as well: in the value bar, of the line that is chosen.
  await page.getByRole("button", { name: "Zoom in" }).click();
  await page.waitForFunction(() => location.hash.includes("from="));
  const [from, to] = await page.evaluate(rangeOf);
  const bar = (await page.locator(".values dd").allInnerTexts()).slice(0, 4).map(Number);
  const zoomed = numbersOf(1, from, to).slice(0, 4);
  bar.forEach((number, nth) => check(Math.abs(number - zoomed[nth]) <= Math.abs(zoomed[nth]) * 0.00051, `the value bar of the zoomed report has ${bar} instead of ${zoomed}`));

  // The page of a server says nothing of a range that is not all there, until the answer comes.
  await page.goto(address);
  await page.locator("nav").waitFor();
  await page.evaluate(() => { location.hash = `#monitor?host=log1&path=${encodeURIComponent("\\Process(*)\\% Processor Time")}`; });
  await page.locator("table.legend tbody tr").nth(1).waitFor();
  const held = [];
  await page.route("**/api/v1/query?*points=2*", (route) => { if (/points=2(&|$)/.test(route.request().url())) held.push(() => route.continue()); else void route.continue(); });
  await drag(".plot", 0.3, 0.6);
  await page.locator("section.panel td.num").first().waitFor();
  check((await cells()).flat().every((text) => text === "…"), `before the answer the page says ${await cells()}`);
  await page.waitForTimeout(200);
  for (const one of held.splice(0)) await one();
  await compare("the page");
  await page.unroute("**/api/v1/query?*points=2*");
  await select("the page");
  await done("page");

  // The heat map: selected, zoomed and moved like a chart.
  await page.evaluate(() => { location.hash += "&view=heat"; });
  await page.locator(".heat canvas").waitFor();
  await drag(".heat canvas", 0.5, 0.7);
  await compare("the heat map");
  check(await page.locator(".causes").count() === 0, "a range that is selected asks for causes");
  await page.locator(".heat canvas").focus();
  const ranges = [];
  const moved = async (act) => {
    const before = String(await page.evaluate(rangeOf));
    await act();
    // The address follows what is shown with a delay.
    for (const begin = Date.now(); String(await page.evaluate(rangeOf)) === before && Date.now() - begin < 5000;) await page.waitForTimeout(50);
    await page.waitForTimeout(400);
    ranges.push(await page.evaluate(rangeOf));
  };
  await moved(() => page.keyboard.press("+"));
  await page.waitForTimeout(500);
  await moved(() => page.keyboard.press("Shift+ArrowRight"));
  await page.waitForTimeout(500);
  await page.mouse.move(...await page.locator(".heat canvas").boundingBox().then(({ x, y, width, height }) => [x + width / 2, y + height / 2]));
  await moved(() => page.mouse.wheel(-200, 0));
  const [zoom, right, left] = ranges;
  check(Math.abs(zoom[1] - zoom[0] - 43_200_000) < 600_000, `+ shows ${zoom}`);
  check(right[0] > zoom[0] && Math.abs(right[1] - right[0] - (zoom[1] - zoom[0])) < 10, `the arrow moves ${zoom} to ${right}`);
  check(left[0] < right[0], `the wheel moves ${right} to ${left}`);
  await done("heat");
}

await lookAtAll().catch(async (error) => { faults.push(error.stack, `${page.url()}: ${(await page.locator("body").innerText()).slice(0, 1500)}`); });
await browser.close();
for (const fault of faults) console.error(fault);
process.exit(faults.length > 0 ? 1 : 0);
