// What comes late, twice, or of something that is gone: node races.mjs ADDRESS FOLDER LOG PROFILE. Answers of the server are
// held back until somebody has moved on, and must not change what is shown then. Also what the page says of a server
// that is gone, of keys, and of alerts that are not in view.
import { mkdirSync } from "node:fs";
import { chromium } from "playwright-core";

const [address, folder, log, profile] = process.argv.slice(2);
mkdirSync(folder, { recursive: true });
const browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args: ["--no-sandbox"] });
const faults = [];
const page = await (await browser.newContext({ viewport: { width: 1280, height: 900 }, locale: "en-US" })).newPage();
page.setDefaultTimeout(30_000);
page.on("pageerror", (error) => faults.push(`error: ${error.message}`));

/** Holds back the answers of an address until they are let go; or, of an upload, what is sent. */
async function hold(pattern, wanted = () => true, isUpload = false) {
  const held = [];
  await page.route(pattern, async (route) => {
    if (!wanted(route.request())) { await route.fallback(); return; }
    if (isUpload) { held.push(() => route.continue().catch(() => {})); return; }
    // What the server says now comes later.
    const response = await route.fetch().catch(() => null);
    held.push(() => (response ? route.fulfill({ response }) : route.abort()).catch(() => {}));
  });
  const some = async (count) => { for (const begin = Date.now(); held.length < count; await page.waitForTimeout(50)) if (Date.now() - begin > 30_000) throw new Error(`${pattern} was not asked ${count} times`); };
  const end = () => page.unroute(pattern);
  return { held, some, end, release: async () => { for (const one of held.splice(0)) await one(); await end(); await page.waitForTimeout(300); } };
}
const check = (isRight, words) => { if (!isRight) faults.push(words); };
const text = (selector) => page.locator(selector).first().innerText();
const host = () => page.evaluate(() => document.querySelector(".host select").selectedOptions[0].text);
const rows = (count) => page.waitForFunction((count) => document.querySelectorAll("table.legend tbody tr").length >= count, count);
const screen = (name) => page.locator(`nav button[aria-current=page]`, { hasText: name }).waitFor();
const done = async (name) => { await page.screenshot({ path: `${folder}/race-${name}.png` }); console.log(`looked at ${name}`); };
const drop = async (file) => {
  await page.getByRole("button", { name: "Logs", exact: true }).click();
  await page.locator("input[type=file]").setInputFiles(file);
};

async function lookAtAll() {
await page.goto(address);
await page.locator(".processes tbody tr").first().waitFor();

// `?` lists the keys of every screen, wherever it is pressed, and what it lists does something.
for (const nth of ["1", "2", "5"]) {
  await page.keyboard.press(nth);
  await page.keyboard.press("?");
  const dialog = page.getByRole("dialog", { name: "Keys" });
  await dialog.waitFor();
  const all = await dialog.locator("section").evaluateAll((parts) => Object.fromEntries(parts.map((one) => [one.querySelector("h3").textContent, [...one.querySelectorAll("kbd")].map((key) => key.textContent)])));
  check(all.Sessions?.join(" ") === "N S D O", `keys of Sessions: ${JSON.stringify(all)}`);
  check(all.Monitor?.includes("W, Enter") && all.Everywhere?.includes("1 – 8") && all["Add counters"] && all.Profile, `keys: ${JSON.stringify(all)}`);
  if (nth === "5") await done("keys");
  await page.keyboard.press("Escape");
  await dialog.waitFor({ state: "detached" });
}

// The keys of the monitor, on the page and in the chart.
await page.keyboard.press("2");
await rows(2);
const pressed = (name) => page.getByRole("button", { name, exact: true }).getAttribute("aria-pressed");
await page.keyboard.press("v");
await page.waitForFunction(() => location.hash.includes("view=area"));
for (let nth = 0; nth < 7; nth += 1) await page.keyboard.press("v");
await page.waitForFunction(() => !location.hash.includes("view="));
await page.keyboard.press("h");
check(await pressed("Highlight") === "true", "H does not highlight");
await page.keyboard.press("h");
await page.keyboard.press(" ");
await page.getByRole("button", { name: "Continue", exact: true }).waitFor();
await page.keyboard.press(" ");
await page.waitForFunction(() => document.querySelectorAll(".plot").length === 1 && document.querySelector(".values dd")?.textContent !== "–");
await page.waitForTimeout(2000);
const said = () => page.evaluate(() => document.querySelector("[aria-live]").textContent);
await page.locator(".chart").focus();
for (const name of ["End", "Home", "PageDown", "PageUp", "ArrowRight", "ArrowLeft"]) {
  const before = await said();
  await page.keyboard.press(name);
  await page.waitForFunction((before) => document.querySelector("[aria-live]").textContent !== before || before === "", before).catch(() => faults.push(`${name} says nothing new`));
}
// Keys that are held down are not read aloud one by one.
const words = await page.evaluate(() => new Promise((resolve) => {
  let count = 0;
  const watch = new MutationObserver(() => { count += 1; });
  watch.observe(document.querySelector("[aria-live]"), { childList: true, characterData: true, subtree: true });
  const chart = document.querySelector(".chart");
  for (let nth = 0; nth < 8; nth += 1) chart.dispatchEvent(new KeyboardEvent("keydown", { key: nth % 2 ? "End" : "Home", bubbles: true }));
  setTimeout(() => resolve(count), 600);
}));
check(words <= 1, `eight keys were said ${words} times`);
await page.keyboard.press("+");
await page.waitForFunction(() => location.hash.includes("from="));
const range = () => page.evaluate(() => new URLSearchParams(location.hash.split("?")[1]).get("from"));
const start = await range();
await page.keyboard.press("Shift+ArrowLeft");
await page.waitForFunction((start) => new URLSearchParams(location.hash.split("?")[1]).get("from") !== start, start);
await page.getByRole("button", { name: "Zoom out" }).click();
// What is typed slowly stays, though samples come: they draw the dialog anew.
await page.keyboard.press("p");
const properties = page.getByRole("dialog", { name: "Properties" });
await properties.getByLabel("Alert above").focus();
await page.keyboard.type("12345.5", { delay: 400 });
check(await properties.getByLabel("Alert above").inputValue() === "12345.5", `typed became ${await properties.getByLabel("Alert above").inputValue()}`);
await properties.getByRole("checkbox", { name: "Automatic" }).uncheck();
await properties.getByLabel("Maximum").fill("");
await page.keyboard.type("250", { delay: 600 });
check(await properties.getByLabel("Maximum").inputValue() === "250", `typed became ${await properties.getByLabel("Maximum").inputValue()}`);
await page.waitForFunction(() => location.hash.includes("axis=0%7E250") && /style=[^&]*12345\.5/.test(location.hash));
await properties.getByRole("button", { name: "Reset" }).click();
check(await properties.getByLabel("Alert above").inputValue() === "", "a threshold stays after a reset");
await properties.getByRole("checkbox", { name: "Automatic" }).check();
await page.keyboard.press("Escape");
await page.waitForFunction(() => !location.hash.includes("style=") && !location.hash.includes("axis="));
// A dialog gives the focus back, however it is closed.
const settings = page.getByRole("button", { name: "Settings" });
await settings.focus();
await page.keyboard.press("Enter");
await page.getByRole("dialog").getByRole("button", { name: "Close" }).click();
await page.getByRole("dialog").waitFor({ state: "detached" });
check(await settings.evaluate((one) => document.activeElement === one), "the focus is lost with a dialog");
await settings.evaluate((one) => one.blur());
await page.keyboard.press("5");

// The keys of Sessions mean the session that is chosen: the first one without a choice.
const asked = [];
page.on("request", (request) => { if (request.method() === "POST") asked.push(new URL(request.url()).pathname.split("/v1/")[1] + new URL(request.url()).search); });
await page.locator("tbody tr", { hasText: "night" }).waitFor();
let question = "";
page.once("dialog", (dialog) => { question = dialog.message(); void dialog.dismiss(); });
await page.keyboard.press("s");
check(question === "Start: disk<b>?", `the key asks ${question}`);
await page.getByRole("button", { name: "night", exact: true }).click();
page.once("dialog", (dialog) => { question = dialog.message(); void dialog.dismiss(); });
await page.keyboard.press("s");
check(question === "Stop: night?", `the key asks ${question}`);

// A list that was asked for before a session was stopped does not bring it back.
const lists = await hold("**/api/v1/sessions", (request) => request.method() === "GET");
await lists.some(1);
page.once("dialog", (dialog) => dialog.accept());
await page.getByRole("button", { name: "Stop: night" }).click();
await page.locator("tbody tr", { hasText: "night" }).getByText("stopped").waitFor();
for (const one of lists.held.splice(0)) await one();
await page.waitForTimeout(500);
check((await text("tbody tr:has-text('night')")).includes("stopped"), "an older list starts a session again");
await lists.end();

// Whoever clicks twice opens the logs once; all of them are shown.
asked.length = 0;
await page.getByRole("button", { name: "Show: night" }).dblclick();
await screen("Monitor");
await rows(1);
check(asked.filter((one) => one.startsWith("sessions/open")).length === 1, `asked: ${asked}`);
check((await host()) === "night (3)", `shown is ${await host()}`);
await done("session");

// Another page closes the log: its counters do not stay under the name of another host, and are not undone to.
await page.evaluate(() => fetch(`api/v1/logs?id=${document.querySelector(".host select").value}`, { method: "DELETE" }));
await page.locator(".chart").focus();
await page.keyboard.press("+");
await page.getByRole("alert").getByText("night (3): closed").waitFor();
await page.waitForFunction(() => document.querySelector(".host select").value === "live");
await rows(2);
await page.keyboard.press("u");
await page.waitForTimeout(300);
check(await page.locator(".host select").inputValue() === "live", "undo shows a log that was closed");
await page.getByRole("alert").getByRole("button", { name: "Close" }).click();

// What caused a spike: the answer to the last question counts, and none of another host.
const causes = await hold("**/api/v1/contributors?*");
await page.keyboard.press("w");
await causes.some(1);
await page.keyboard.press("1");
await causes.release();
await page.keyboard.press("2");
await page.keyboard.press("w");
await page.locator(".causes").waitFor();
await page.locator(".causes").getByRole("button").first().click();

// Another object is chosen before the counters of the first one are there.
await page.keyboard.press("a");
const dialog = page.getByRole("dialog");
await dialog.getByRole("button", { name: "Processor", exact: true }).waitFor();
const counters = await hold("**/api/v1/counters?*", (request) => request.url().includes("object=4&"));
await dialog.getByRole("button", { name: "Memory", exact: true }).click();
await counters.some(1);
check(await dialog.locator("footer button.main").isDisabled(), "a counter of another object can be added");
await dialog.getByRole("button", { name: "System", exact: true }).click();
await dialog.getByRole("button", { name: "Processor Queue Length", exact: true }).waitFor();
await counters.release();
check(await dialog.getByRole("button", { name: "Available Bytes", exact: true }).count() === 0, "counters of another object are shown");
await page.keyboard.press("Escape");
await dialog.waitFor({ state: "detached" });

// Whoever looks at something else when a file has come stays there, and hears of it.
const uploads = await hold("**/api/v1/logs?*", (request) => request.method() === "POST", true);
await drop(log);
await uploads.some(1);
await page.keyboard.press("1");
await page.locator(".processes tbody tr").first().waitFor();
await uploads.release();
await page.getByRole("alert").getByText("it can be chosen at the top now").waitFor();
await screen("Overview");
check(!(await host()).includes(".csv"), `the page went to ${await host()}`);
await done("moved-on");
await page.getByRole("alert").getByRole("button", { name: "Close" }).click();

// A host in the address without counters has its own, and not those of the host before.
const id = await page.evaluate(() => [...document.querySelectorAll(".host option")].find((one) => one.text.includes(".csv")).value);
await page.evaluate((id) => { location.hash = `#monitor?host=${id}`; }, id);
await page.waitForFunction(() => document.querySelector("table.legend tbody")?.textContent.includes("Process"));
check(await page.getByRole("alert").locator(".trouble").count() === 0, `counters of the host before: ${await text("[role=alert]")}`);

// An alert that is not in view is listed, with the time that was looked through, and shown.
const shown = () => { const wanted = new URLSearchParams(location.hash.split("?")[1]); return [Number(wanted.get("from")), Number(wanted.get("to"))]; };
const path = "\\Process(<b>a&b)\\% Processor Time";
const begin = Date.UTC(2026, 2, 1);
const peak = begin + 5000 * 15_000;
const show = (threshold) => page.evaluate(([id, path, from, to, threshold]) => {
  const search = new URLSearchParams({ host: id, path, from, to });
  search.set("style", `~~~~${threshold} ${path}`);
  location.hash = `#monitor?${search}`;
}, [id, path, begin, begin + 3_600_000, threshold]);
await show(90);
const alerts = page.locator(".alerts");
await alerts.getByText("Alerts: 2").waitFor();
check((await alerts.locator("h2").innerText()).includes("Mar 1, 2026") && (await alerts.locator("h2").innerText()).includes("Mar 2, 2026"), `alerts of ${await alerts.locator("h2").innerText()}`);
await done("alert-elsewhere");
await alerts.getByRole("button").last().click();
await page.waitForFunction((peak) => { const wanted = new URLSearchParams(location.hash.split("?")[1]); return Number(wanted.get("from")) < peak && peak < Number(wanted.get("to")); }, peak);
await page.waitForFunction(() => [...document.querySelectorAll(".values dd")].some((one) => one.textContent === "98.5"));
const [from, to] = await page.evaluate(shown);
check(from < peak && peak < to, `the alert of ${peak} is not in ${from} to ${to}`);
await done("alert");
// A threshold that nothing crosses says where that was looked for.
await show(1000);
await alerts.getByText("Alerts: 0").waitFor();

// An answer of the host before is not shown under another one, and what was refused is asked again.
const answers = await hold("**/api/v1/alerts?*");
const live = `#monitor?host=live&path=${encodeURIComponent("\\System\\Processes")}&style=${encodeURIComponent("~~~~-1 \\System\\Processes")}`;
await page.evaluate((live) => { location.hash = live; }, live);
await answers.some(1);
check(await alerts.count() === 0, "alerts of the host before are shown");
await answers.end();
let refusals = 0;
await page.route("**/api/v1/alerts?*", (route) => { refusals += 1; return route.fulfill({ status: 503, contentType: "application/json", body: JSON.stringify({ error: "somebody else has the room" }) }); }, { times: 1 });
await show(90);
await page.getByRole("alert").getByText("somebody else has the room").waitFor();
await alerts.getByText("Alerts: 2").waitFor();
check(refusals === 1, "nothing was refused");

// Lists of hosts that come while an answer takes long do not ask for it anew. They come while the chart is frozen.
await page.evaluate((live) => { location.hash = live; }, live);
await page.locator(".values dd").first().waitFor();
await page.keyboard.press(" ");
await page.getByRole("button", { name: "Continue", exact: true }).waitFor();
let asks = 0;
await page.route("**/api/v1/providers?*", async (route) => {
  asks += 1;
  await page.waitForResponse("**/api/v1/hosts");
  await page.waitForResponse("**/api/v1/hosts");
  await page.waitForTimeout(300);
  await route.continue().catch(() => {});
});
await page.evaluate((id) => { location.hash = `#providers?host=${id}`; }, id);
await page.locator("main tbody tr").first().waitFor();
check(asks === 1, `providers were asked for ${asks} times`);
await page.unroute("**/api/v1/providers?*");

// A profile that is dropped is shown.
await drop(profile);
await page.frameLocator("iframe").locator("#facts", { hasText: ".NET" }).waitFor();
await screen("Profile");

// The server is gone: the page says when it tries again, later each time, and tries at once when somebody wants it.
await page.keyboard.press("1");
await page.locator(".host select").selectOption("live");
await page.keyboard.press("2");
await rows(2);
// The address follows what is shown with a delay.
await page.waitForFunction(() => location.hash.startsWith("#monitor?host=live"));
await page.route("**/api/v1/**", (route) => route.abort());
await page.evaluate(() => { location.hash += "&span=60"; });
await page.getByRole("alert").getByText("The server does not answer").waitFor();
const timer = page.locator(".retry [role=timer]");
// All that the timer says, however slowly this looks at it; 0 while the server is asked.
await page.evaluate(() => {
  window.seconds = [];
  const note = () => {
    const text = document.querySelector(".retry [role=timer]")?.textContent;
    const left = Number(/next try in (\d+) s/.exec(text ?? "")?.[1] ?? 0);
    if (text !== undefined && left !== window.seconds.at(-1)) window.seconds.push(left);
  };
  new MutationObserver(note).observe(document.body, { childList: true, characterData: true, subtree: true });
  note();
});
await timer.getByText(/next try in [67] s/).waitFor();
const seconds = await page.evaluate(() => window.seconds);
const waits = seconds.map((left, nth) => (seconds[nth - 1] > left ? null : left)).filter(Boolean);
// It may have been gone for some tries before this looked.
check(/(^|,)2,5,10$/.test(String(waits)), `the seconds until the next try are ${seconds}`);
await rows(1);
await done("gone");
await timer.getByText(/next try in ([5-9]|\d\d) s/).waitFor();
await page.unroute("**/api/v1/**");
await page.getByRole("button", { name: "Try now" }).click();
await timer.waitFor({ state: "detached" });
const last = (await page.evaluate(() => window.seconds)).findLast((left) => left > 0);
check(last > 1, `it was tried when ${last} s were left, and not at once`);
await page.locator("details.table summary").click();
const newest = () => text("details.table tbody th");
const before = await newest();
await page.waitForFunction((before) => document.querySelector("details.table tbody th")?.textContent !== before, before);
await done("back");
}

await lookAtAll().catch(async (error) => {
  await page.screenshot({ path: `${folder}/race-fault.png` });
  faults.push(error.stack, `${page.url()}: ${(await text("body")).slice(0, 1500)}`);
});
await browser.close();
for (const fault of faults) console.error(fault);
process.exit(faults.length > 0 ? 1 : 0);
