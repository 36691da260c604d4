// What the page says while something is missing: it connects, the server is gone, the tab is hidden, nobody may ask,
// a counter does not exist, nothing is charted, an upload is under way, too large, or no log.

/** Looks at each state; `open` makes a page, `look` checks it, `faults` has what is wrong. */
export async function lookAtStates({ open, look, faults, address }) {
  const page = await open();
  const says = (words) => page.getByText(words).first().waitFor();
  const silent = (words) => page.getByText(words).first().waitFor({ state: "detached" });
  const newest = () => page.evaluate(() => document.querySelector("details.table tbody th")?.textContent ?? "");
  const moves = async () => {
    const before = await newest();
    await page.waitForFunction((before) => document.querySelector("details.table tbody th")?.textContent !== before, before);
  };
  await page.goto(address);
  const base = page.url().split("#")[0];
  await page.locator(".processes tbody tr").first().waitFor();

  // Whoever may not read the processes of others sees of how many something is missing.
  await page.route("**/api/v1/overview*", async (route) => {
    const response = await route.fetch();
    const answer = await response.json();
    answer.processes.hiddenIo = answer.processes.count - 2;
    // The last one may come when nobody waits for it any longer.
    await route.fulfill({ response, json: answer }).catch(() => {});
  });
  // All but two of them.
  await page.waitForFunction(() => {
    const found = /I\/O of (\d+) of (\d+) processes is hidden: root or CAP_SYS_PTRACE/.exec(document.querySelector(".processes")?.textContent ?? "");
    return found !== null && Number(found[2]) - Number(found[1]) === 2;
  });
  await look(page, "state-rights");
  await page.unroute("**/api/v1/overview*");

  // The first chart takes long.
  let release;
  const held = new Promise((resolve) => { release = resolve; });
  await page.route("**/api/v1/query?*", async (route) => { await held; await route.continue().catch(() => {}); });
  await page.goto(`${base}#monitor?path=${encodeURIComponent("\\System\\Processes")}`);
  await says("Waiting for the first samples");
  await look(page, "state-waiting");
  release();
  await page.locator("table.legend tbody tr").first().waitFor();
  await page.unroute("**/api/v1/query?*");
  await page.locator("details.table summary").click();
  await moves();

  // The server does not answer for a while: the chart stays, and goes on.
  await page.context().setOffline(true);
  await page.evaluate(() => { location.hash += "&span=60"; });
  await says("The server does not answer");
  await page.locator("table.legend tbody tr").first().waitFor();
  await look(page, "state-gone");
  await page.context().setOffline(false);
  await silent("The server does not answer");
  await moves();

  // A hidden tab asks nothing; nothing is missing afterwards.
  const visible = (state) => page.evaluate((state) => {
    Object.defineProperty(document, "visibilityState", { value: state, configurable: true });
    document.dispatchEvent(new Event("visibilitychange"));
  }, state);
  await visible("hidden");
  await says("Paused while the tab is hidden");
  await page.waitForTimeout(500);
  const asked = [];
  const listen = (request) => { if (request.url().includes("/api/v1/")) asked.push(request.url()); };
  page.on("request", listen);
  // Findings are asked for every ten seconds by a tab that is seen.
  await page.waitForTimeout(11_000);
  page.off("request", listen);
  if (asked.length > 0) faults.push(`a hidden tab asks for ${asked}`);
  await look(page, "state-hidden");
  await visible("visible");
  await silent("Paused while the tab is hidden");
  await moves();
  const hole = await page.evaluate(async () => {
    const search = new URLSearchParams({ path: "\\System\\Processes", from: String(Date.now() - 20_000) });
    const { times } = await (await fetch(`api/v1/query?${search}`)).json();
    return Math.max(...times.slice(1).map((time, nth) => time - times[nth]));
  });
  if (hole > 5000) faults.push(`the history has a hole of ${hole} ms`);

  // A counter that does not exist says so, and what is like it.
  await page.evaluate(() => { location.hash = `#monitor?host=live&path=${encodeURIComponent("\\System\\Prozesses")}`; });
  await page.getByRole("alert").getByText("Prozesses").waitFor();
  await look(page, "state-error");
  await page.getByRole("alert").getByRole("button", { name: "Close" }).click();
  // Nothing is charted.
  await page.evaluate(() => { location.hash = `#monitor?host=live&path=${encodeURIComponent("\\System\\Processes")}`; });
  await page.getByRole("button", { name: /^Remove: Processes/ }).click();
  await page.locator("main.empty").waitFor();
  await look(page, "state-empty");

  // An upload under way, one that is too large, and one that is not a log.
  const answers = [];
  await page.route("**/api/v1/logs?*", (route) => { answers.push(route); });
  await page.getByRole("button", { name: "Logs", exact: true }).click();
  const give = (name, text) => page.locator("input[type=file]").setInputFiles({ name, mimeType: "text/csv", buffer: Buffer.from(text) });
  await give("slow.csv", "x".repeat(1000));
  await page.getByRole("progressbar", { name: "slow.csv" }).waitFor();
  await look(page, "state-uploading");
  await answers[0].fulfill({ status: 413, contentType: "application/json", body: JSON.stringify({ error: "uploads may have 1 MiB together" }) });
  await page.getByRole("alert").getByText("uploads may have 1 MiB").waitFor();
  await page.getByRole("alert").getByRole("button", { name: "Close" }).click();
  await page.unroute("**/api/v1/logs?*");
  await give("nonsense.csv", "this is not a log");
  await page.getByRole("alert").getByText(/nonsense.csv|no log|format/i).waitFor();
  await look(page, "state-failed");
  await page.getByRole("alert").getByRole("button", { name: "Close" }).click();
  await page.getByRole("button", { name: "Close" }).first().click();

  // A view that Windows' Performance Monitor saved is shown, and what it has besides is named; what is shown is saved.
  const view = `<HTML><BODY><OBJECT CLASSID="CLSID:C4D2D8E0-D1DD-11CE-940F-008029004347"><PARAM NAME="DisplayType" VALUE="3"/><PARAM NAME="BackColor" VALUE="1"/>
    <PARAM NAME="Counter00001.Path" VALUE="\\Memory\\Available Bytes"/><PARAM NAME="Counter00002.Path" VALUE="\\System\\Processes"/></OBJECT></BODY></HTML>`;
  await page.locator("input[type=file]").setInputFiles({ name: "old.htm", mimeType: "text/html", buffer: Buffer.from(view) });
  await page.locator(".report table").first().waitFor();
  await page.getByRole("alert").getByText("old.htm: left out: backcolor").waitFor();
  await look(page, "state-view");
  await page.getByRole("alert").getByRole("button", { name: "Close" }).click();
  const saved = await page.evaluate(async () => (await fetch([...document.querySelectorAll(".toolbar a.button")].find((one) => one.textContent === "Save view").href)).text());
  if (!saved.includes("scale = \"fit\"") || !saved.includes("view = 'report'") || !saved.includes("'\\Memory\\Available Bytes'")) faults.push(`the saved view is ${saved}`);
  await page.getByRole("button", { name: "Logs", exact: true }).click();
  await page.locator("input[type=file]").setInputFiles({ name: "wrong.tallymon", mimeType: "text/plain", buffer: Buffer.from("points = 'many'") });
  await page.getByRole("alert").getByText("wrong.tallymon").waitFor();
  await page.getByRole("alert").getByRole("button", { name: "Close" }).click();

  // The right to ask has ended: the server was started anew, with another token.
  await page.route("**/api/v1/**", (route) => route.fulfill({ status: 401, contentType: "application/json", body: "{}" }));
  await page.goto(`${base}#monitor`);
  await page.reload();
  await says("No right to ask");
  await look(page, "state-denied");
  await page.context().close();
  // The browser reports each answer that was refused here.
  faults.splice(0, faults.length, ...faults.filter((one) => !one.startsWith("console: Failed to load resource")));
}
