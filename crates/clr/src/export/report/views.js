// The views, and what leads from one to the other. All text goes in as text, never as markup.
const $ = (id) => document.getElementById(id);
const state = { tab: "Call tree", thread: "all", times: "corrected", search: "", without: [], method: null, weight: "time", zoom: null, part: null, open: new Set(), sort: {} };
const trees = new Map();

function el(tag, attributes, ...children) {
  const svg = ["svg", "rect", "text", "g", "title"].includes(tag);
  const node = svg ? document.createElementNS("http://www.w3.org/2000/svg", tag) : document.createElement(tag);
  for (const [name, value] of Object.entries(attributes || {})) {
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (name === "part") node.style.setProperty("--part", value);
    // Rules of a server forbid the attribute, not this.
    else if (name === "style") node.style.cssText = value;
    else if (value !== null && value !== false) node.setAttribute(name, value);
  }
  node.append(...children.filter((child) => child !== null));
  return node;
}

function tree() {
  const key = [state.thread, ...state.without].join("\n");
  if (!trees.has(key)) {
    const roots = DATA.threads.filter((_, at) => state.thread === "all" || String(at) === state.thread).map((thread) => thread.root);
    const top = makeTree(roots, isHidden);
    weigh(top);
    // A large profile has large trees.
    if (trees.size > 8) trees.clear();
    trees.set(key, { top, sums: methodSums(top, state.thread === "all", isHidden) });
  }
  return trees.get(key);
}
// Whether a method is in a namespace that is left out.
const isHidden = (method) => state.without.length > 0 && state.without.some((one) => nameOf(method).toLowerCase().startsWith(one));
const total = (node) => state.times === "raw" ? node.total : node.correctedTotal;
const own = (node) => state.times === "raw" ? node.own : node.correctedOwn;
const found = (method) => state.search !== "" && nameOf(method).toLowerCase().includes(state.search);

function methodLink(method, text) {
  if (method === -2) return el("span", null, t("(thread)"));
  return el("button", { class: "link", title: method < 0 ? "" : METHODS[method].raw, onclick: () => { state.method = method; show("Sandwich"); } }, text || nameOf(method));
}

function notes(node) {
  const all = [[node.tails, "{} by tail call"], [node.unwinds, "{} unwound"], [node.dropped, "{} ended unseen"], [node.exceptions, "{} thrown"], [node.open, "still running"]];
  const text = all.filter(([count]) => count > 0).map(([count, what]) => t(what, whole(count))).join(", ");
  return text ? el("span", { class: "note" }, text) : null;
}

// A table; a column is a heading, a cell's value, its text, and whether a bar shows it as a part of `all`.
function table(id, columns, rows, limit) {
  const sort = state.sort[id];
  const column = sort && columns.find((one) => one.head === sort.head);
  if (column) {
    const value = column.value;
    rows = [...rows].sort((a, b) => {
      const [x, y] = [value(a), value(b)];
      return (typeof x === "string" ? x.localeCompare(y) : x - y) * sort.way;
    });
  }
  const head = columns.map((one) => {
    const sorted = sort && sort.head === one.head ? (sort.way > 0 ? " \u25b4" : " \u25be") : "";
    const click = () => {
      const first = one.name ? 1 : -1;
      state.sort[id] = { head: one.head, way: sort && sort.head === one.head ? -sort.way : first };
      render();
    };
    const direction = !sorted ? "none" : sort.way > 0 ? "ascending" : "descending";
    return el("th", { class: one.name ? "name" : null, "aria-sort": direction, title: one.title || null }, el("button", { onclick: click }, one.head + sorted));
  });
  const shown = limit ? rows.slice(0, limit) : rows;
  const body = shown.map((row) => el("tr", { class: row.method !== undefined && found(row.method) ? "found" : null }, ...columns.map((one) => {
    const cell = one.cell ? one.cell(row) : one.text ? one.text(one.value(row)) : one.value(row);
    const part = one.all ? Math.min(100, 100 * one.value(row) / (one.all || 1)).toFixed(1) + "%" : null;
    return el("td", { class: one.name ? "name" : part ? "bar" : null, part, title: one.name && row.method >= 0 ? METHODS[row.method].raw : null }, ...[cell].flat().filter((part) => part !== null));
  })));
  const all = el("div", { class: "scroll" }, el("table", null, el("thead", null, el("tr", null, ...head)), el("tbody", null, ...body)));
  if (shown.length < rows.length) all.append(el("p", { class: "note" }, t("{} more rows; search to narrow them down.", whole(rows.length - shown.length))));
  return all;
}

const views = {
  "Call tree"() {
    const { top } = tree();
    const all = total(top);
    const rows = [];
    const expand = (node) => {
      const children = [...node.children.values()].sort((a, b) => total(b) - total(a));
      for (let at = children.length - 1; at >= 0; at--) pending.push(children[at]);
    };
    const pending = [];
    expand(top);
    // Along the path that takes the most time the tree is open from the start.
    if (!state.open.size) for (let node = top, n = 0; node.children.size && n < 12; n++) {
      node = [...node.children.values()].reduce((a, b) => total(b) > total(a) ? b : a);
      if (total(node) < all * 0.02) break;
      state.open.add(node);
    }
    while (pending.length && rows.length < 5000) {
      const node = pending.pop();
      rows.push(node);
      if (state.open.has(node)) expand(node);
    }
    const line = (node) => {
      const twist = () => { state.open.has(node) ? state.open.delete(node) : state.open.add(node); render(); };
      const opened = state.open.has(node);
      const indent = el("span", { style: `padding-left:${Math.min(node.depth - 1, 60) * 14}px` });
      const sign = node.children.size ? el("button", { class: "twist", "aria-expanded": opened, "aria-label": t("callees"), onclick: twist }, opened ? "\u25be" : "\u25b8") : el("span", { class: "twist" });
      return [indent, sign, el("span", null, methodLink(node.method)), notes(node)];
    };
    return [table("tree", [
      { head: t("Method"), name: true, value: (node) => nameOf(node.method), cell: line },
      { head: t("Calls"), value: (node) => node.enters, text: whole },
      { head: t("Total"), value: total, text: time, all },
      { head: "%", value: total, text: (value) => percent(value, all) },
      { head: t("Self"), value: own, text: time, all },
      { head: t("Per call"), value: (node) => total(node) / Math.max(1, node.enters), text: time },
      { head: t("Longest"), value: (node) => node.longest, text: time },
    ], rows)];
  },
  "Flame graph"() { return flameGraph(); },
  Timeline() { return timeline(); },
  Methods() {
    const { top, sums } = tree();
    const all = total(top);
    const one = state.thread === "all";
    const rows = [...sums.values()].filter((row) => state.search === "" || found(row.method)).sort((a, b) => own(b) - own(a));
    if (!rows.length) return [el("p", { class: "empty" }, t("No method of that name was called."))];
    const part = (name) => (row) => row.method < 0 ? -1 : METHODS[row.method][name];
    const columns = [
      { head: t("Method"), name: true, value: (row) => nameOf(row.method), cell: (row) => [el("span", null, methodLink(row.method)), notes(row)] },
      { head: t("Calls"), value: (row) => row.enters, text: whole },
      { head: t("Total"), title: t("With callees; of recursive calls the outermost"), value: total, text: time, all },
      { head: t("Self"), value: own, text: time, all },
      { head: t("Self %"), value: own, text: (value) => percent(value, all) },
      { head: t("Per call"), value: (row) => total(row) / Math.max(1, row.enters), text: time },
      { head: t("Shortest"), value: (row) => row.shortest, text: time },
    ];
    // Percentiles are of all threads.
    if (one) for (const name of ["p50", "p90", "p99"]) columns.push({ head: name, title: t("Raw time that this part of the calls did not exceed, within a factor of two"), value: part(name), text: time });
    columns.push({ head: t("Longest"), value: (row) => row.longest, text: time });
    return [table("methods", columns, rows, 1000)];
  },
  Sandwich() {
    const { top, sums } = tree();
    if (state.method === null) state.method = [...sums.values()].sort((a, b) => own(b) - own(a))[0]?.method ?? null;
    const here = sums.get(state.method);
    if (!here) return [el("p", { class: "empty" }, t("Choose a method in another view; the chosen one was not called in this thread."))];
    const method = METHODS[here.method];
    const all = total(here);
    const facts = [t("{} calls", whole(here.enters)), t("total {} ({})", time(all), percent(all, total(top))), t("self {}", time(own(here))), t("per call {}", time(all / Math.max(1, here.enters))), t("shortest {}", time(here.shortest)), t("longest {}", time(here.longest))];
    const parts = [el("h2", null, nameOf(here.method)), el("p", null, facts.join(" \u00b7 "))];
    if (method) {
      const module = DATA.modules[method.module];
      parts.push(el("p", { class: "note" }, [method.raw, module ? module.path : "", t("compiled {} times", method.compiled), method.inlined ? t("perhaps inlined at {} places", whole(method.inlined)) : ""].filter(Boolean).join(" \u00b7 ")));
      if (state.thread === "all" && method.histogram && method.histogram.length) parts.push(el("h2", null, t("Time of its calls")), histogram(method.histogram));
    }
    const list = (title, map) => {
      const rows = [...map.values()].sort((a, b) => total(b) - total(a));
      const columns = [
        { head: title, name: true, value: (row) => nameOf(row.method), cell: (row) => methodLink(row.method) },
        { head: t("Calls"), value: (row) => row.enters, text: whole },
        { head: t("Total"), value: total, text: time, all: Math.max(all, 1) },
        { head: t("Per call"), value: (row) => total(row) / Math.max(1, row.enters), text: time },
      ];
      return el("div", null, el("h2", null, `${title} (${rows.length})`), rows.length ? table(title, columns, rows, 300) : el("p", { class: "empty" }, t("None that were seen.")));
    };
    const { above, below } = sandwich(top, here.method);
    const label = (what) => `${what}: ${nameOf(here.method)}`;
    const pick = (node) => { state.method = node.method; render(); };
    parts.push(flames(above, { up: true, pick, label: label(t("Callers")) }).svg, flames(below, { pick, label: label(t("Callees")) }).svg);
    parts.push(el("div", { class: "two" }, list(t("Callers"), here.callers), list(t("Callees"), here.callees)));
    return parts;
  },
  Threads() {
    const rows = DATA.threads.map((thread, at) => {
      const calls = makeTree([thread.root]);
      let enters = 0, depth = 0;
      visit(calls, (node) => { enters += node.enters; depth = Math.max(depth, node.depth); });
      return { ...thread, at, enters, depth, busy: total(calls) };
    });
    const pick = (row) => el("button", { class: "link", onclick: () => { state.thread = String(row.at); $("thread").value = state.thread; state.zoom = null; state.open.clear(); show("Call tree"); } }, row.name || t("(no name)"));
    return [table("threads", [
      { head: t("Thread"), name: true, value: (row) => row.name, cell: pick },
      { head: t("Id"), value: (row) => row.id },
      { head: t("State"), value: (row) => t(row.ended ? "ended" : DATA.process.ended ? "ran to the end" : "running or killed") },
      { head: t("First seen"), value: (row) => row.first, text: time },
      { head: t("Calls"), value: (row) => row.enters, text: whole },
      { head: t("Time in calls"), title: t("With waiting"), value: (row) => row.busy, text: time, all: DATA.process.duration },
      { head: t("Depth"), value: (row) => row.depth },
      { head: t("Exceptions"), value: (row) => row.exceptions, text: whole },
      { head: t("Lost"), title: t("Calls too deep or without room, and ends without a beginning"), value: (row) => row.lostCalls + row.lostNodes + row.unmatched, text: whole },
    ], rows)];
  },
  Exceptions() {
    const rows = [...tree().sums.values()].filter((row) => row.exceptions + row.unwinds + row.dropped > 0).sort((a, b) => b.exceptions - a.exceptions || b.unwinds - a.unwinds);
    const words = el("p", null, t("{} exceptions were thrown, rethrows counted.", whole(DATA.threads.reduce((sum, thread) => sum + thread.exceptions, 0))) + " " + t(DATA.process.unwindEvents ? "Unwound calls end as the runtime reports it." : "Calls that an exception ends are seen to be gone at the next event of their thread."));
    if (!rows.length) return [words, el("p", { class: "empty" }, t("No call of a method that is seen was ended by one."))];
    return [words, table("exceptions", [
      { head: t("Method"), name: true, value: (row) => nameOf(row.method), cell: (row) => methodLink(row.method) },
      { head: t("Thrown"), title: t("While it was the innermost call"), value: (row) => row.exceptions, text: whole },
      { head: t("Unwound"), title: t("Calls that an exception ended"), value: (row) => row.unwinds + row.dropped, text: whole },
      { head: t("Calls"), value: (row) => row.enters, text: whole },
      { head: t("Unwound %"), value: (row) => (row.unwinds + row.dropped) / Math.max(1, row.enters), text: (value) => percent(value, 1) },
    ], rows, 1000)];
  },
  "Left out"() {
    const rows = METHODS.map((method, at) => ({ ...method, method: at })).filter((row) => row.inlined > 0 && (state.search === "" || found(row.method)));
    rows.sort((a, b) => (a.compiled > 0) - (b.compiled > 0) || b.inlined - a.inlined);
    const parts = [el("h2", null, t("Inlined, perhaps"))];
    if (!DATA.process.inliningCounted) parts.push(el("p", null, t(DATA.process.exact === "no" ? "What the compiler inlined was not recorded in this mode." : DATA.process.exact === "all" ? "Nothing was inlined anywhere: all counts are exact." : "Nothing was inlined in user modules: their counts are exact.")));
    else parts.push(el("p", null, t("The compiler asked whether it may put these methods into their callers. Where it did, their calls are not counted and their time is their caller's. A method that was never compiled by itself was seen only so. Run with --exact to count every call.")), rows.length ? table("inlined", [
      { head: t("Method"), name: true, value: (row) => row.name, cell: (row) => methodLink(row.method) },
      { head: t("Places"), value: (row) => row.inlined, text: whole },
      { head: t("Last caller"), value: (row) => row.inlinedInto < 0 ? "" : nameOf(row.inlinedInto), cell: (row) => row.inlinedInto < 0 ? "" : methodLink(row.inlinedInto) },
      { head: t("Compiled"), title: t("By itself"), value: (row) => row.compiled, text: whole },
      { head: t("Calls counted"), value: (row) => row.calls, text: whole },
    ], rows, 500) : el("p", { class: "empty" }, t("None.")));
    parts.push(el("h2", null, t("Never seen")), el("p", null, t("Dynamic methods, calls into native code, code that was compiled ahead of time, and what the settings exclude.")), el("h2", null, t("Modules")));
    parts.push(table("modules", [
      { head: t("Module"), name: true, value: (row) => row.path },
      { head: t("Of"), value: (row) => t(row.user ? "the user" : "the framework") },
      { head: t("Methods seen"), value: (row) => row.seen, text: whole },
      { head: t("Domain"), value: (row) => row.domain },
    ], DATA.modules.map((module, at) => ({ ...module, seen: METHODS.filter((method) => method.module === at && method.calls > 0).length })).sort((a, b) => b.seen - a.seen)));
    parts.push(el("h2", null, t("Settings")), el("p", { style: "white-space:pre-line" }, DATA.process.settings));
    return parts;
  },
};
