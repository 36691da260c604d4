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

const ROW = 19;
const MOST_SHAPES = 20000;
const space = () => Math.max(320, $("view").clientWidth - 40);

// A picture of a tree: the callees of each call side by side below it, or above it when they are its callers.
function flames(top, { width = total, zoom = top, up = false, pick, label }) {
  const scale = space() / Math.max(1, width(zoom));
  const placed = [];
  const path = [];
  for (let node = zoom; node; node = node.parent) path.unshift(node);
  path.forEach((node, row) => placed.push({ node, x: 0, w: space(), row }));
  const pending = [[zoom, 0, path.length]];
  let hidden = 0;
  while (pending.length) {
    const [node, from, row] = pending.pop();
    let x = from;
    for (const child of [...node.children.values()].sort((a, b) => width(b) - width(a))) {
      const w = width(child) * scale;
      if (w < 0.6 || placed.length > MOST_SHAPES) { hidden++; continue; }
      placed.push({ node: child, x, w, row });
      pending.push([child, x, row + 1]);
      x += w;
    }
  }
  const deepest = placed.reduce((most, one) => Math.max(most, one.row), 0);
  const most = total(top);
  for (const one of placed) {
    const { node } = one;
    one.name = node.method === -1 && !node.parent ? t("all") : nameOf(node.method);
    one.facts = [t("{} calls", whole(node.enters)), t("total {} ({})", time(total(node)), percent(total(node), most)), t("self {}", time(own(node)))].join(" \u00b7 ");
    one.fill = node.method === -1 && !node.parent ? "#c9ced6" : colour(node.method);
    one.dim = state.search !== "" && !found(node.method);
    if (up) one.row = deepest - one.row;
  }
  const near = (one, key) => {
    const side = { ArrowLeft: -1, ArrowRight: 1 }[key];
    if (side) return placed.filter((other) => other.row === one.row && (other.x - one.x) * side > 0).sort((a, b) => (a.x - b.x) * side)[0];
    const outer = (key === "ArrowUp") !== up;
    return outer ? placed.find((other) => other.node === one.node.parent) : placed.find((other) => other.node.parent === one.node);
  };
  return { svg: shapes(placed, deepest, { pick: (one) => pick(one.node), near, label }), hidden };
}

// Draws what was placed. With the keyboard, one of them is current: `near` says which one an arrow leads to.
function shapes(placed, deepest, { pick, near, label }) {
  const groups = new Map();
  const tell = (one) => `${one.name}\n${one.facts}`;
  for (const one of placed) {
    const group = el("g", { class: one.dim ? "dim" : null, onmousemove: (event) => tip(event, tell(one)), onmouseleave: (event) => tip(event, ""), onclick: () => { tip(null, ""); pick(one); } },
      el("rect", { class: one.thrown ? "frame thrown" : "frame", x: one.x.toFixed(1), y: one.row * ROW, width: Math.max(one.w, 0.5).toFixed(1), height: ROW - 1, rx: one.w > 6 ? 2 : 0, fill: one.fill }));
    const room = Math.floor((one.w - 8) / 6.1);
    if (room > 3) group.append(el("text", { x: (one.x + 4).toFixed(1), y: one.row * ROW + 13 }, fitted(one.name, room)));
    groups.set(one, group);
  }
  let current = null;
  const move = (to) => {
    if (!to) return;
    if (current) groups.get(current).classList.remove("current");
    current = to;
    groups.get(to).classList.add("current");
    say(tell(to));
  };
  const onkeydown = (event) => {
    if (event.key === "Enter" && current) pick(current);
    else if (/^Arrow/.test(event.key)) move(current ? near(current, event.key) : placed[0]);
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  return el("svg", { height: (deepest + 1) * ROW + 4, role: "application", tabindex: 0, "aria-label": label, onkeydown }, ...groups.values());
}

function say(words) { $("said").textContent = words; }

function flameGraph() {
  const { top } = tree();
  const width = state.weight === "time" ? total : (node) => node.below;
  const pick = (node) => { state.zoom = node === top ? null : node; render(true); };
  const { svg, hidden } = flames(top, { width, zoom: state.zoom || top, pick, label: t("Flame graph") });
  const choose = el("select", { onchange: (event) => { state.weight = event.target.value; render(); } },
    ...["time", "calls"].map((one) => el("option", { value: one, ...(one === state.weight ? { selected: "" } : {}) }, t(one))));
  const bar = el("div", { class: "bar-line" }, el("label", null, t("Width by"), " ", choose), el("span", null, t("Click a call to widen it, the top row to go back. With the keyboard: arrows, Enter, Escape.")),
    hidden ? el("span", null, t("{} places are too narrow to show.", whole(hidden))) : null);
  if (state.zoom) bar.append(el("button", { class: "small", onclick: () => { state.zoom = null; render(); } }, t("Show all")));
  return [bar, svg];
}

// The events of threads in their order: what ran when.
function timeline() {
  const threads = DATA.threads.filter((thread, at) => thread.events.length && (state.thread === "all" || String(at) === state.thread));
  if (!threads.length) return [el("p", { class: "empty" }, t("No events were kept: 'tally prof run --events MIB' keeps the newest of each thread."))];
  const begin = Math.min(...threads.map((thread) => thread.events[0][0]));
  const end = Math.max(...threads.map((thread) => thread.events[thread.events.length - 1][0]), begin + 1);
  const [from, to] = state.part || [begin, end];
  const set = (low, high) => {
    const length = Math.min(Math.max(high - low, 100), end - begin);
    const start = Math.min(Math.max(low, begin), end - length);
    state.part = length >= end - begin ? null : [start, start + length];
    render(true);
  };
  state.move = (way) => set(from + way * (to - from) / 2, to + way * (to - from) / 2);
  state.scale = (factor) => { const [middle, half] = [(from + to) / 2, (to - from) * factor / 2]; set(middle - half, middle + half); };
  const button = (words, onclick) => el("button", { class: "small", onclick }, t(words));
  const parts = [el("div", { class: "bar-line" }, button("Earlier", () => state.move(-1)), button("Later", () => state.move(1)), button("Closer", () => state.scale(0.5)), button("Wider", () => state.scale(2)),
    state.part ? el("button", { class: "small", onclick: () => { state.part = null; render(); } }, t("Show all")) : null,
    el("strong", null, t("From {} to {} after the start", time(from), time(to))), el("span", null, t("Time runs to the right; a call lies below its caller.")))];
  for (const thread of threads) {
    const lost = thread.lostEvents ? ` \u00b7 ${t("{} events before these were overwritten", whole(thread.lostEvents))}` : "";
    parts.push(el("h2", null, `${thread.id} ${thread.name}`), el("p", { class: "note" }, t("{} events", whole(thread.events.length)) + lost), lane(thread, from, to, set));
  }
  return parts;
}

// The calls of one thread in a part of the time; of those that are too short to be seen, the first in each pixel.
function lane(thread, from, to, set) {
  const scale = space() / (to - from);
  const taken = new Map();
  const placed = [];
  let deepest = 0;
  for (const call of spans(thread).sort((a, b) => a.from - b.from)) {
    if (call.to < from || call.from > to || placed.length > MOST_SHAPES) continue;
    const x = Math.max(0, (call.from - from) * scale);
    const w = Math.min(space(), (call.to - from) * scale) - x;
    if (w < 1 && x < (taken.get(call.depth) ?? -1)) continue;
    if (w < 1) taken.set(call.depth, Math.floor(x) + 1);
    deepest = Math.max(deepest, call.depth);
    placed.push({ call, x, w: Math.max(w, 1), row: call.depth, name: nameOf(call.method), thrown: call.thrown, fill: call.thrown ? "#b3261e" : colour(call.method),
      dim: state.search !== "" && !found(call.method), facts: `${time(call.from)} + ${time(call.to - call.from)}` });
  }
  const near = (one, key) => {
    const side = { ArrowLeft: -1, ArrowRight: 1 }[key];
    const row = one.row + ({ ArrowUp: -1, ArrowDown: 1 }[key] || 0);
    if (side) return placed.filter((other) => other.row === row && (other.x - one.x) * side > 0).sort((a, b) => (a.x - b.x) * side)[0];
    return placed.find((other) => other.row === row && other.x < one.x + one.w && other.x + other.w > one.x);
  };
  const pick = ({ call }) => set(call.from, call.to);
  return shapes(placed, deepest, { pick, near, label: `${t("Timeline")}: ${thread.id} ${thread.name}` });
}

// Calls by their time, on a scale that doubles with each column.
function histogram(buckets) {
  const most = Math.max(...buckets.map(([, count]) => count));
  const column = Math.min(90, Math.min(760, space()) / buckets.length);
  const shapes = buckets.flatMap(([end, count], at) => {
    const h = Math.max(1, 90 * count / most);
    return [
      el("rect", { class: "column", x: at * column + 2, y: 108 - h, width: column - 4, height: h, rx: 2 }, el("title", null, t("{} calls below {}", whole(count), time(end)))),
      el("text", { class: "axis", x: at * column + 2, y: 104 - h }, count >= 1e6 ? (count / 1e6).toFixed(1) + " M" : count >= 1e4 ? Math.round(count / 1e3) + " k" : String(count)),
      el("text", { class: "axis", x: at * column + 2, y: 122 }, end > 1e15 ? "longer" : "< " + time(end).replace(/\.\d+/, "")),
    ];
  });
  return el("svg", { height: 128, style: `max-width:${Math.ceil(buckets.length * column)}px`, role: "img", "aria-label": t("Time of its calls") }, ...shapes);
}

function show(tab) {
  state.tab = tab;
  render();
}

// The names of the views in their order; a server has more of them.
const TABS = Object.keys(views);

// Draws the view again; `stay` keeps the focus in its picture.
function render(stay) {
  const back = document.activeElement && document.activeElement.closest && stay ? document.activeElement.getAttribute("aria-label") : null;
  $("tabs").replaceChildren(...TABS.map((name) => el("button", { role: "tab", id: `tab-${name}`, "aria-controls": "view", "aria-selected": String(name === state.tab), tabindex: name === state.tab ? 0 : -1, onclick: () => show(name) }, t(name))));
  $("view").setAttribute("aria-label", t(state.tab));
  $("view").replaceChildren(...views[state.tab]());
  if (back) [...$("view").querySelectorAll("[aria-label]")].find((one) => one.getAttribute("aria-label") === back)?.focus();
}

// The head of the page, of what was read.
function fill() {
  const process = DATA.process;
  const mode = t({ dormant: "dormant until switched on", user: "user code", all: "everything" }[process.mode]);
  const counts = t({ no: process.mode === "dormant" ? "while on, user modules' calls are counted, nothing is inlined" : "inlined calls are not counted", user: "counts of user modules are exact", all: "counts are exact" }[process.exact]);
  document.title = process.command.slice(0, 100) + " \u00b7 profile";
  // A compiler's command line may fill a screen: all of it is in the tip.
  const command = process.command;
  $("command").textContent = command.length > 160 ? command.slice(0, 80) + " \u2026 " + command.slice(-80) : command;
  $("command").title = command;
  const begun = new Date(process.started / 1e6).toISOString().replace("T", " ").slice(0, 19) + " UTC";
  const how = process.samples === undefined ? [t("mode: {}", mode), counts] : [t("sampled: calls are {} samples, times are estimates from them", process.samples)];
  $("facts").textContent = [process.runtimeName, t("process {}", process.pid), begun, t(process.ended ? "ended" : "running or killed"), ...how].join(" \u00b7 ");
  const figures = [["Duration", time(process.duration)], ["Calls", whole(process.enters)], ["Methods", whole(METHODS.filter((method) => method.calls > 0).length)], ["Threads", whole(DATA.threads.length)], ["Exceptions", whole(DATA.threads.reduce((sum, one) => sum + one.exceptions, 0))], ["Profiler's own work", time(process.overhead)]];
  $("figures").replaceChildren(...figures.map(([name, value]) => el("div", null, el("dt", null, t(name)), el("dd", null, value))));
  const cost = "Each call costs {} ns in its own record and {} ns in its caller's, measured at start with the {}. Corrected times have that taken out; small methods stay distorted, because a seen call is never inlined away for free.";
  $("notice").hidden = process.samples !== undefined;
  $("notice").textContent = t(cost, process.overheadInner.toFixed(1), process.overheadOuter.toFixed(1), t(process.timeStampCounter ? "time stamp counter" : "system clock"));
  // Before anybody trusts a figure.
  const faults = process.losses.map((line) => t("Lost: {}.", line));
  if (process.problem) faults.push(t("Problem: {}", process.problem));
  $("faults").hidden = !faults.length;
  $("faults").replaceChildren(...faults.map((line) => el("p", null, line)));
  const threads = [el("option", { value: "all" }, t("all")), ...DATA.threads.map((thread, at) => el("option", { value: at }, `${thread.id} ${thread.name}`))];
  if (state.thread !== "all" && !DATA.threads[state.thread]) state.thread = "all";
  $("thread").replaceChildren(...threads);
  $("thread").value = state.thread;
  trees.clear();
  state.zoom = null;
  state.part = null;
  state.open.clear();
}

const KEYS = [["[ ]", "previous, next view"], ["/", "Search methods"], ["\u2190 \u2191 \u2192 \u2193", "move in a picture"], ["Enter, Esc", "widen a call; all"], ["+ \u2212", "closer, wider"], ["?", "Keys"]];

function help() {
  const box = $("help");
  box.replaceChildren(el("h2", null, t("Keys")), el("dl", null, ...KEYS.flatMap(([key, words]) => [el("dt", null, el("kbd", null, key)), el("dd", null, t(words))])),
    el("button", { class: "small", onclick: () => box.close() }, t("Close")));
  box.showModal();
}

function pressed(event) {
  if (event.ctrlKey || event.metaKey || event.altKey || $("help").open || event.target.closest("input, select")) return;
  const step = { "[": -1, "]": 1 }[event.key];
  const inTabs = event.target.closest("[role=tab]") ? { ArrowLeft: -1, ArrowRight: 1 }[event.key] : 0;
  if (step || inTabs) {
    show(TABS[(TABS.indexOf(state.tab) + (step || inTabs) + TABS.length) % TABS.length]);
    if (inTabs) $(`tab-${state.tab}`).focus();
  } else if (event.key === "/") $("search").focus();
  else if (event.key === "?") help();
  else if (event.key === "Escape" && (state.zoom || state.part)) { state.zoom = state.part = null; render(true); }
  else if ((event.key === "+" || event.key === "-") && state.tab === "Timeline" && state.scale) state.scale(event.key === "+" ? 0.5 : 2);
  else return;
  event.preventDefault();
}

// Once: texts in the language of the page, and what the user does.
function listen() {
  document.documentElement.lang = lang;
  const theme = new URLSearchParams(location.search).get("theme");
  if (theme) document.documentElement.dataset.theme = theme;
  for (const one of document.querySelectorAll("[data-text]")) one.textContent = t(one.dataset.text);
  $("search").placeholder = t("Search methods");
  $("search").setAttribute("aria-label", t("Search methods"));
  $("thread").addEventListener("change", (event) => { state.thread = event.target.value; state.zoom = state.part = null; state.open.clear(); render(); });
  $("times").addEventListener("change", (event) => { state.times = event.target.value; render(); });
  $("without").placeholder = t("Leave out namespaces");
  $("without").setAttribute("aria-label", t("Leave out namespaces"));
  $("without").addEventListener("input", (event) => { state.without = event.target.value.toLowerCase().split(/[\s,;]+/).filter(Boolean); state.zoom = null; state.open.clear(); render(); });
  $("search").addEventListener("input", (event) => { state.search = event.target.value.trim().toLowerCase(); render(); });
  addEventListener("resize", () => { if (["Flame graph", "Timeline", "Sandwich"].includes(state.tab)) render(); });
  addEventListener("keydown", pressed);
  // A link to a view: report.html#Methods.
  const wanted = decodeURIComponent(location.hash.slice(1));
  if (views[wanted]) state.tab = wanted;
}

function start() {
  listen();
  const text = $("profile").textContent.trim();
  if (!text) return;
  use(JSON.parse(text));
  fill();
  render();
}
