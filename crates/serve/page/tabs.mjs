// More tabs than a browser opens connections to a server, each with another counter: node tabs.mjs ADDRESS FOLDER. The charts of
// all of them go on, and a question is answered.
import { mkdirSync } from "node:fs";
import { chromium } from "playwright-core";

const [address, folder] = process.argv.slice(2);
const TABS = 10;
mkdirSync(folder, { recursive: true });
const browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args: ["--no-sandbox"] });
const faults = [];
const context = await browser.newContext({ viewport: { width: 1000, height: 700 }, locale: "en-US" });
const open = async () => {
  const page = await context.newPage();
  page.setDefaultTimeout(60_000);
  page.on("pageerror", (error) => faults.push(`error: ${error.message}`));
  return page;
};

async function lookAtAll() {
  const first = await open();
  await first.goto(address);
  const base = first.url().split("#")[0];
  const names = await first.evaluate(async () => (await (await fetch("api/v1/counters?object=Memory")).json()).map((one) => one.english));
  const tabs = [];
  for (const name of names.slice(0, TABS)) {
    const tab = await open();
    await tab.goto(`${base}#monitor?path=${encodeURIComponent(`\\Memory\\${name}`)}`);
    tabs.push(tab);
  }
  if (tabs.length < TABS) faults.push(`${tabs.length} tabs only`);
  for (const tab of tabs) await tab.locator("details.table summary").click();
  const newest = (tab) => tab.evaluate(() => document.querySelector("details.table tbody th")?.textContent ?? "");
  // Each goes on twice, when all are open.
  for (let round = 0; round < 2; round += 1) {
    const before = await Promise.all(tabs.map(newest));
    await Promise.all(tabs.map((tab, nth) => tab.waitForFunction((old) => { const now = document.querySelector("details.table tbody th")?.textContent; return now && now !== old; }, before[nth])
      .catch(() => faults.push(`tab ${nth} (${names[nth]}) stands still at ${before[nth]}`))));
  }
  for (const [nth, tab] of tabs.entries()) {
    const counters = await tab.locator("table.legend tbody tr").allInnerTexts();
    if (counters.length !== 1 || !counters[0].includes(names[nth])) faults.push(`tab ${nth} shows ${counters}, not ${names[nth]}`);
    const answer = await tab.evaluate(() => Promise.race([fetch("api/v1/hosts").then((one) => one.status), new Promise((resolve) => setTimeout(() => resolve("nothing in 10 s"), 10_000))]));
    if (answer !== 200) faults.push(`a question of tab ${nth} is answered with ${answer}`);
  }
  await tabs.at(-1).screenshot({ path: `${folder}/tabs.png` });
  console.log("looked at tabs");
}

await lookAtAll().catch((error) => faults.push(error.stack));
await browser.close();
for (const fault of faults) console.error(fault);
process.exit(faults.length > 0 ? 1 : 0);
