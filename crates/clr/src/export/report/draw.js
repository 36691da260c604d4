// The pictures, and the frame around the views.
function colour(method) {
  let hash = 7;
  const text = method < 0 ? "" : nameOf(method).split("(")[0].split(".").slice(0, -1).join(".");
  for (const c of text) hash = (hash * 31 + c.charCodeAt(0)) % 9973;
  // User code is warm, the framework cool.
  return isUser(method) ? `hsl(${18 + hash % 40} 80% ${64 + hash % 13}%)` : `hsl(${190 + hash % 50} 35% ${70 + hash % 11}%)`;
}

function tip(event, text) {
  const box = $("tip");
  box.hidden = !text;
  if (!text) return;
  box.textContent = text;
  box.style.left = Math.min(event.clientX + 14, innerWidth - box.offsetWidth - 8) + "px";
  box.style.top = Math.min(event.clientY + 14, innerHeight - box.offsetHeight - 8) + "px";
}

// A name in so many characters: the method's own name is what stays longest.
function fitted(name, room) {
  if (name.length <= room) return name;
  const open = name.indexOf("(");
  const path = open < 0 ? name : name.slice(0, open);
  const types = path.split(".");
  // From the left, namespaces and types go first; then the end of the method's name.
  while (types.length > 1 && types.join(".").length + 1 > room) types.shift();
  const short = types.join(".");
  if (short.length + 1 > room) return short.slice(0, room - 1) + "\u2026";
  return short.length < path.length ? "\u2026" + short : short + "\u2026";
}

function flameGraph() {
  const { top } = tree();
  const byTime = state.weight === "time";
  const width = (node) => byTime ? total(node) : node.below;
  const zoom = state.zoom || top;
  const [height, space] = [19, Math.max(320, $("view").clientWidth - 40)];
  const scale = space / Math.max(1, width(zoom));
  const shapes = [];
  let deepest = 0;
  const place = (node, x, w, row) => {
    deepest = Math.max(deepest, row);
    const name = node === top ? "all" : nameOf(node.method);
    const facts = node === top ? "" : `\n${whole(node.enters)} calls \u00b7 total ${time(total(node))} (${percent(total(node), total(top))}) \u00b7 self ${time(own(node))}`;
    const dim = state.search !== "" && !found(node.method);
    const group = el("g", { class: dim ? "dim" : null, onmousemove: (event) => tip(event, name + facts), onmouseleave: (event) => tip(event, ""), onclick: () => { state.zoom = node === top ? null : node; tip(null, ""); render(); } },
      el("rect", { class: "frame", x: x.toFixed(1), y: row * height, width: Math.max(w, 0.5).toFixed(1), height: height - 1, rx: 2, fill: node === top ? "#c9ced6" : colour(node.method) }));
    const room = Math.floor((w - 8) / 6.1);
    if (room > 3) group.append(el("text", { x: (x + 4).toFixed(1), y: row * height + 13 }, fitted(name, room)));
    shapes.push(group);
  };
  const path = [];
  for (let node = zoom; node; node = node.parent) path.unshift(node);
  path.forEach((node, row) => place(node, 0, space, row));
  const pending = [[zoom, 0, path.length]];
  let hidden = 0;
  while (pending.length) {
    const [node, from, row] = pending.pop();
    let x = from;
    for (const child of [...node.children.values()].sort((a, b) => width(b) - width(a))) {
      const w = width(child) * scale;
      if (w < 0.6 || shapes.length > 20000) { hidden++; continue; }
      place(child, x, w, row);
      pending.push([child, x, row + 1]);
      x += w;
    }
  }
  const choose = el("select", { onchange: (event) => { state.weight = event.target.value; render(); } },
    ...["time", "calls"].map((one) => el("option", { value: one, ...(one === state.weight ? { selected: "" } : {}) }, one)));
  const bar = el("div", { class: "bar-line" }, el("label", null, "Width by ", choose), el("span", null, "Click a call to widen it, the top row to go back."),
    hidden ? el("span", null, `${whole(hidden)} places are too narrow to show.`) : null);
  if (state.zoom) bar.append(el("button", { class: "small", onclick: () => { state.zoom = null; render(); } }, "Show all"));
  return [bar, el("svg", { height: (deepest + 1) * height + 4, role: "img", "aria-label": "Flame graph" }, ...shapes)];
}

// Calls by their time, on a scale that doubles with each column.
function histogram(buckets) {
  const most = Math.max(...buckets.map(([, count]) => count));
  const space = Math.min(760, Math.max(320, $("view").clientWidth - 40));
  const column = Math.min(90, space / buckets.length);
  const shapes = buckets.flatMap(([end, count], at) => {
    const h = Math.max(1, 90 * count / most);
    return [
      el("rect", { class: "column", x: at * column + 2, y: 108 - h, width: column - 4, height: h, rx: 2 }, el("title", null, `${whole(count)} calls below ${time(end)}`)),
      el("text", { class: "axis", x: at * column + 2, y: 104 - h }, count >= 1e6 ? (count / 1e6).toFixed(1) + " M" : count >= 1e4 ? Math.round(count / 1e3) + " k" : String(count)),
      el("text", { class: "axis", x: at * column + 2, y: 122 }, end > 1e15 ? "longer" : "< " + time(end).replace(/\.\d+/, "")),
    ];
  });
  return el("svg", { height: 128, style: `max-width:${Math.ceil(buckets.length * column)}px`, role: "img", "aria-label": "Calls by their time" }, ...shapes);
}

function show(tab) {
  state.tab = tab;
  render();
}

function render() {
  $("tabs").replaceChildren(...Object.keys(views).map((name) => el("button", { role: "tab", "aria-selected": name === state.tab, onclick: () => show(name) }, name === "Method" ? "Callers and callees" : name)));
  $("view").replaceChildren(...views[state.tab]());
}

function start() {
  const process = DATA.process;
  const calls = process.enters;
  const mode = { dormant: "dormant until switched on", user: "user code", all: "everything" }[process.mode];
  const counts = { no: process.mode === "dormant" ? "while on, user modules' calls are counted, nothing is inlined" : "inlined calls are not counted", user: "counts of user modules are exact", all: "counts are exact" }[process.exact];
  document.title = process.command.slice(0, 100) + " \u00b7 profile";
  // A compiler's command line may fill a screen: all of it is in the tip.
  const command = process.command;
  $("command").textContent = command.length > 160 ? command.slice(0, 80) + " \u2026 " + command.slice(-80) : command;
  $("command").title = command;
  const begun = new Date(process.started / 1e6).toISOString().replace("T", " ").slice(0, 19) + " UTC";
  $("facts").textContent = [process.runtimeName, `process ${process.pid}`, begun, process.ended ? "ended" : "running or killed", ...(process.samples === undefined ? [`mode: ${mode}`, counts] : [`sampled: calls are ${process.samples} samples, times are estimates from them`])].join(" \u00b7 ");
  const figures = [["Duration", time(process.duration)], ["Calls", whole(calls)], ["Methods", whole(METHODS.filter((method) => method.calls > 0).length)], ["Threads", whole(DATA.threads.length)], ["Exceptions", whole(DATA.threads.reduce((sum, one) => sum + one.exceptions, 0))], ["Profiler's own work", time(process.overhead)]];
  $("figures").append(...figures.map(([name, value]) => el("div", null, el("dt", null, name), el("dd", null, value))));
  const each = `Each call costs ${process.overheadInner.toFixed(1)} ns in its own record and ${process.overheadOuter.toFixed(1)} ns in its caller's, ${process.overheadClock > 0 ? process.overheadClock.toFixed(1) + " ns of it two looks at " : "by "}the ${process.timeStampCounter ? "time stamp counter" : "system clock"}, measured at start.`;
  const words = [each + " Corrected times have that taken out; small methods stay distorted, because a seen call is never inlined away for free."];
  $("notice").textContent = words.join(" ");
  // Before anybody trusts a figure.
  const faults = process.losses.map((line) => "Lost: " + line + ".");
  if (process.problem) faults.push("Problem: " + process.problem);
  $("faults").hidden = !faults.length;
  $("faults").append(...faults.map((line) => el("p", null, line)));
  $("thread").append(el("option", { value: "all" }, "all"), ...DATA.threads.map((thread, at) => el("option", { value: at }, `${thread.id} ${thread.name}`)));
  $("thread").addEventListener("change", (event) => { state.thread = event.target.value; state.zoom = null; state.open.clear(); render(); });
  $("times").addEventListener("change", (event) => { state.times = event.target.value; render(); });
  $("search").addEventListener("input", (event) => { state.search = event.target.value.trim().toLowerCase(); render(); });
  addEventListener("resize", () => { if (state.tab === "Flame graph") render(); });
  // A link to a view: report.html#Methods.
  const wanted = decodeURIComponent(location.hash.slice(1));
  if (views[wanted]) state.tab = wanted;
  render();
}
start();
