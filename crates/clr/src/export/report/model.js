// The profile as the views want it: one tree for each thread and one of all threads together.
let DATA, F, METHODS;
function use(data) {
  DATA = data;
  METHODS = data.methods;
  F = Object.fromEntries(data.callFields.map((name, at) => [name, at]));
}
const nameOf = (method) => method < 0 ? "(unknown method)" : METHODS[method].name;
const isUser = (method) => method < 0 || METHODS[method].module < 0 || DATA.modules[METHODS[method].module].user;
const SUMS = ["enters", "leaves", "tails", "unwinds", "dropped", "exceptions", "total", "own", "correctedTotal", "correctedOwn", "open"];

// Adds the calls of the threads with these roots up to one tree; a node is a method at one place. What a hidden method
// calls is called by its caller, who has its own time, too.
function makeTree(roots, isHidden) {
  const top = { method: -1, parent: null, children: new Map(), depth: 0 };
  for (const field of SUMS) top[field] = 0;
  top.shortest = top.longest = -1;
  const places = new Map(roots.map((root) => [root, top]));
  // Callers stand before their callees.
  DATA.calls.forEach((row, at) => {
    const caller = places.get(row[F.parent]);
    if (places.has(at)) {
      for (const field of ["total", "correctedTotal"]) top[field] += row[F[field]];
      return;
    }
    if (!caller) return;
    if (isHidden(row[F.method])) {
      if (caller !== top) for (const field of ["own", "correctedOwn"]) caller[field] += row[F[field]];
      places.set(at, caller);
      return;
    }
    let node = caller.children.get(row[F.method]);
    if (!node) {
      node = { method: row[F.method], parent: caller, children: new Map(), depth: caller.depth + 1, shortest: -1, longest: -1 };
      for (const field of SUMS) node[field] = 0;
      caller.children.set(node.method, node);
    }
    for (const field of SUMS) node[field] += row[F[field]];
    if (row[F.shortest] >= 0 && (node.shortest < 0 || row[F.shortest] < node.shortest)) node.shortest = row[F.shortest];
    node.longest = Math.max(node.longest, row[F.longest]);
    places.set(at, node);
  });
  return top;
}

// Visits all nodes below one without recursion: real stacks may be deep.
function visit(top, down, up) {
  const open = [[top, false]];
  while (open.length) {
    const [node, done] = open.pop();
    if (done) { if (up) up(node); continue; }
    if (node !== top) { down(node); if (up) open.push([node, true]); }
    for (const child of node.children.values()) open.push([child, false]);
  }
}

// Calls below each place, itself included: the width of a flame graph by calls.
function weigh(top) {
  const order = [];
  visit(top, (node) => order.push(node));
  for (const node of [top, ...order]) node.below = node === top ? 0 : node.enters;
  for (const node of order.reverse()) node.parent.below += node.below;
}

// The two trees of a sandwich: all that a method calls, from all its places, and the ways that lead to it.
function sandwich(top, method) {
  const blank = (method, parent) => {
    const node = { method, parent, children: new Map(), depth: parent ? parent.depth + 1 : 0, shortest: -1, longest: -1 };
    for (const field of SUMS) node[field] = 0;
    return node;
  };
  const step = (from, method) => {
    if (!from.children.has(method)) from.children.set(method, blank(method, from));
    return from.children.get(method);
  };
  const add = (to, node) => { for (const field of SUMS) to[field] += node[field]; };
  const [below, above] = [blank(method, null), blank(method, null)];
  let nested = 0;
  visit(top, (node) => {
    if (node.method !== method || nested++) return;
    add(below, node);
    add(above, node);
    const places = new Map([[node, below]]);
    visit(node, (callee) => {
      const place = step(places.get(callee.parent), callee.method);
      add(place, callee);
      places.set(callee, place);
    });
    // As much of each caller's time as this method takes there.
    for (let [caller, place] = [node.parent, above]; caller !== top; caller = caller.parent) {
      place = step(place, caller.method);
      add(place, node);
    }
  }, (node) => { if (node.method === method) nested--; });
  return { below, above };
}

// The calls of a thread's events, each with its begin, its end and how deep it is. Calls that were open before the
// first event begin with it; calls that are open after the last one end with it.
function spans(thread) {
  const events = thread.events;
  if (!events.length) return [];
  const [first, last] = [events[0][0], events[events.length - 1][0]];
  const [open, all] = [[], []];
  let least = 0;
  const end = (from, at, method, depth) => all.push({ from, to: at, method, depth });
  for (const [at, method, kind] of events) {
    if (kind === "enter") open.push([at, method]);
    else if (kind === "throw") all.push({ from: at, to: at, method, depth: least + open.length, thrown: true });
    else if (open.length) {
      const [from, begun] = open.pop();
      end(from, at, begun, least + open.length);
    } else end(first, at, method, --least);
  }
  while (open.length) {
    const [from, method] = open.pop();
    end(from, last, method, least + open.length);
  }
  for (const one of all) one.depth -= least;
  return all;
}

// What each method did in a tree, and with whom; in the tree of all threads also without a place there.
function methodSums(top, all, isHidden) {
  const sums = new Map();
  const open = new Map();
  const sum = (method) => {
    let found = sums.get(method);
    if (!found) {
      found = { method, callers: new Map(), callees: new Map(), shortest: -1, longest: -1 };
      for (const field of SUMS) found[field] = 0;
      sums.set(method, found);
    }
    return found;
  };
  const pair = (map, method) => {
    let found = map.get(method);
    if (!found) map.set(method, found = { method, enters: 0, total: 0, correctedTotal: 0 });
    return found;
  };
  visit(top, (node) => {
    const here = sum(node.method);
    const nested = open.get(node.method) || 0;
    open.set(node.method, nested + 1);
    for (const field of SUMS) if (!/otal/.test(field) || !nested) here[field] += node[field];
    if (node.shortest >= 0 && (here.shortest < 0 || node.shortest < here.shortest)) here.shortest = node.shortest;
    here.longest = Math.max(here.longest, node.longest);
    const caller = node.parent === top ? -2 : node.parent.method;
    for (const edge of [pair(here.callers, caller), caller === -2 ? null : pair(sum(caller).callees, node.method)]) {
      if (!edge) continue;
      edge.enters += node.enters;
      edge.total += node.total;
      edge.correctedTotal += node.correctedTotal;
    }
  }, (node) => open.set(node.method, open.get(node.method) - 1));
  if (all) METHODS.forEach(({ elsewhere }, method) => {
    if (!elsewhere || isHidden(method)) return;
    const here = sum(method);
    here.enters += elsewhere.calls;
    for (const field of ["total", "correctedTotal"]) here[field] += elsewhere.total;
    for (const field of ["own", "correctedOwn"]) here[field] += elsewhere.own;
    here.longest = Math.max(here.longest, elsewhere.longest);
  });
  return sums;
}

const whole = (number) => number.toLocaleString("en-US");
const percent = (part, all) => all > 0 ? (100 * part / all).toFixed(1) + " %" : "";
function time(ns) {
  if (ns < 0) return "";
  if (ns < 1e3) return (ns < 10 && ns % 1 ? ns.toFixed(1) : Math.round(ns)) + " ns";
  if (ns < 1e6) return (ns / 1e3).toFixed(2) + " \u00b5s";
  if (ns < 1e9) return (ns / 1e6).toFixed(2) + " ms";
  return (ns / 1e9).toFixed(3) + " s";
}
