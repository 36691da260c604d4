import { chromium } from "playwright-core";
import { readFileSync } from "node:fs";
const [address, mode] = process.argv.slice(2);
const b = await chromium.launch({ executablePath: "/usr/bin/chromium", args: ["--no-sandbox"] });
const p = await (await b.newContext({ viewport: { width: 1280, height: 850 }, locale: mode === "ko" ? "ko-KR" : "en-US" })).newPage();
p.on("console", (l) => { if (["error","warning"].includes(l.type())) console.log("console:", l.text()); });
p.on("pageerror", (e) => console.log("pageerror", e.message, e.stack));
await p.goto(address);
if (address.startsWith("file:")) {
  for (const n of ["Call tree", "Flame graph", "Timeline", "Methods", "Sandwich", "Threads", "Exceptions", "Left out"]) {
    await p.getByRole("tab", { name: n, exact: true }).click(); await p.screenshot({ path: `/tmp/h22/f-${n.replace(" ", "")}.png` });
  }
} else {
  await p.locator("nav button").first().waitFor();
  await p.keyboard.press("8");
  const f = p.frameLocator("iframe");
  await f.locator("table").first().waitFor();
  await p.screenshot({ path: "/tmp/h22/s-list.png" });
  await f.locator("tbody button").first().click();
  await f.locator("table td.bar").first().waitFor();
  await p.screenshot({ path: "/tmp/h22/s-busiest.png" });
  await f.locator("input[type=search]").focus();
  await f.getByRole("tab", { selected: true }).click();
  await f.locator("main").press("]");
  await p.screenshot({ path: "/tmp/h22/s-tree.png" });
  console.log(p.url());
  await f.getByRole("tab").first().click();
  await f.locator("input[type=file]").setInputFiles("/tmp/h22/shop.prof");
  await f.locator("#facts", { hasText: "ended" }).waitFor();
  await f.getByRole("tab").last().click();
  await f.locator("main select").selectOption({ index: 1 });
  await f.locator("main table").waitFor();
  await p.screenshot({ path: "/tmp/h22/s-diff.png" });
}
await b.close();
