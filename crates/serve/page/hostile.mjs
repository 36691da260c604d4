// A log of which every name is HTML or a script: node hostile.mjs ADDRESS FOLDER LOG OTHER. Both are dropped on the page, and every
// screen that shows their names is visited. No name may become an element, run, or make the page ask another server.
import { mkdirSync } from "node:fs";
import { chromium } from "playwright-core";

const [address, folder, log, other] = process.argv.slice(2);
mkdirSync(folder, { recursive: true });
const browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args: ["--no-sandbox"] });
const faults = [];
const page = await (await browser.newContext({ viewport: { width: 1280, height: 900 }, locale: "en-US" })).newPage();
page.setDefaultTimeout(30_000);
page.on("pageerror", (error) => faults.push(`error: ${error.message}`));
page.on("console", (line) => { if (line.type() === "error") faults.push(`console: ${line.text()}`); });
page.on("dialog", (dialog) => { faults.push(`a name ran: ${dialog.message()}`); void dialog.dismiss(); });
const origin = new URL(address).origin;
page.on("request", (request) => { if (!/^(data|blob):/.test(request.url()) && !request.url().startsWith(`${origin}/`)) faults.push(`request to ${request.url()}`); });

/** What is on a screen shows these words as text, and nothing of a name became a part of the page. */
async function look(name, ...words) {
  for (const word of words) {
    const isThere = () => page.waitForFunction((word) => document.querySelector("#app").textContent.includes(word) || [...document.querySelectorAll("#app [title]")].some((one) => one.title.includes(word)), word, { timeout: 10_000 });
    await isThere().catch(async () => faults.push(`${name} does not show ${word}: ${(await page.locator("#app").innerText()).slice(0, 800)}`));
  }
  const found = await page.evaluate(() => [...document.querySelectorAll("#app img, #app script, #app iframe, #app em, #app u, #app hr, #app svg[onload], #app [onerror], #app [href^='javascript']")].map((one) => one.outerHTML.slice(0, 100)));
  if (found.length > 0) faults.push(`${name}: a name became ${found}`);
  const raw = await page.evaluate(() => /[\u0000-\u0008\u000e-\u001f\u007f\u009b\u202a-\u202e]/.exec(document.querySelector("#app").textContent)?.[0].codePointAt(0));
  if (raw !== undefined) faults.push(`${name} has the letter ${raw.toString(16)}`);
  await page.screenshot({ path: `${folder}/hostile-${name}.png` });
  console.log(`looked at ${name}`);
}
const OBJECT = "<img src=x onerror=alert`1`>";
const COUNTER = "</script><script>alert`2`</script>";
const INSTANCE = "<svg onload=alert`3`>";
const ZONE = "<img src=x onerror=alert`5`>";
const HOST = "<em>host";

async function lookAtAll() {
  await page.goto(address);
  await page.locator("nav").waitFor();
  for (const file of [log, other]) {
    await page.getByRole("button", { name: "Logs", exact: true }).click();
    await page.locator("input[type=file]").setInputFiles(file);
    await page.waitForFunction((name) => document.querySelector(".host select").selectedOptions[0].text.includes(name), file.split("/").at(-1));
    await page.locator("table.legend tbody tr").first().waitFor();
  }
  // All series: what the usual ones are does not matter.
  await page.evaluate(async () => {
    const host = document.querySelector(".host select").value;
    const ask = async (name, more) => (await fetch(`api/v1/${name}?${new URLSearchParams({ host, ...more })}`)).json();
    const paths = [];
    for (const object of await ask("objects", {})) {
      for (const counter of await ask("counters", { object: object.english })) paths.push(`\\${object.english}${object.instances ? "(*)" : ""}\\${counter.english}`);
    }
    const search = new URLSearchParams({ host });
    paths.forEach((path) => search.append("path", path));
    location.hash = `#monitor?${search}`;
  });
  await page.locator("table.legend tbody tr").nth(2).waitFor();
  const common = await page.evaluate(() => location.hash);
  for (const view of ["line", "area", "stacked", "split", "heat", "bars", "values", "table"]) {
    await page.evaluate((to) => { location.hash = to; }, `${common}&view=${view}`);
    await page.waitForTimeout(300);
    await look(view, OBJECT, COUNTER, INSTANCE);
  }
  await page.evaluate((to) => { location.hash = to; }, `${common}&view=line`);
  await page.locator(".chart").focus();
  await page.keyboard.press("End");
  await page.keyboard.press("ArrowDown");
  for (const key of ["Home", "["]) await page.keyboard.press(key);
  await page.locator("section.panel td.num").first().waitFor();
  await look("selection", COUNTER, INSTANCE);
  await page.keyboard.press("w");
  await page.locator(".causes").waitFor();
  await look("causes");
  await page.keyboard.press("p");
  await page.getByRole("dialog").waitFor();
  await look("properties");
  await page.keyboard.press("Escape");
  await page.locator("table.legend tbody tr").first().locator(".tools button").first().click();
  await page.locator(".explain dl, .explain table, .explain code").first().waitFor();
  await look("explain", "alert`");
  await page.keyboard.press("a");
  await page.getByRole("dialog").locator(".list button").first().waitFor();
  await page.getByRole("dialog").locator(".list button", { hasText: "onerror" }).first().click();
  await look("add", OBJECT, COUNTER);
  await page.keyboard.press("Escape");
  await page.getByRole("button", { name: "Logs", exact: true }).click();
  await page.locator("section.card").nth(1).waitFor();
  await look("logs", HOST, ZONE, "alert`4`");
  await page.getByRole("button", { name: "Compare" }).click();
  await page.locator(".compare tbody tr").first().waitFor();
  await page.locator(".compare .plot").first().waitFor();
  await look("compare", "alert`4`", COUNTER);
}

await lookAtAll().catch(async (error) => {
  await page.screenshot({ path: `${folder}/hostile-fault.png` });
  faults.push(error.stack, `${page.url()}: ${(await page.locator("body").innerText()).slice(0, 1500)}`);
});
await browser.close();
for (const fault of faults) console.error(fault);
process.exit(faults.length > 0 ? 1 : 0);
