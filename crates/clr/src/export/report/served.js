// What a page of a server has besides: which profiles there are, what is busy now, what differs.
const server = { id: new URLSearchParams(location.search).get("id"), list: [], busiest: null, differences: null, against: "", words: "" };

async function ask(path, parameters, more) {
  const response = await fetch(`api/v1/${path}?${new URLSearchParams(parameters)}`, more);
  const answer = await response.json();
  if (!response.ok) throw new Error(answer.error);
  return answer;
}

// The page around this one keeps the address, and has keys of its own.
const tell = (message) => { if (parent !== window) parent.postMessage(message, location.origin); };
const entry = (id) => server.list.find((one) => one.id === id);
const nameIn = (one) => one.kind === "program" ? `${one.pid} ${one.command.slice(0, 80)}` : one.name;

async function list() {
  server.list = (await ask("profiles", {})).profiles;
  if (state.tab === "Profiles" || state.tab === "Differences") render(true);
}

// Reads a profile, or again what is read already.
async function read(id) {
  server.words = `${t("Reading")} \u2026`;
  if (state.tab === "Profiles") render();
  try {
    const data = await ask("profile", { id });
    server.words = "";
    use(data);
    fill();
    if (id !== server.id || TABS.length === 1) Object.assign(server, { busiest: null, differences: null, against: "" });
    server.id = id;
    TABS.splice(0, TABS.length, "Profiles", "Busiest now", ...VIEWS, "Differences");
    tell({ profile: id });
    if (state.tab === "Profiles") state.tab = entry(id)?.running ? "Busiest now" : "Call tree";
  } catch (error) { server.words = t("The profile can not be read: {}", error.message); state.tab = "Profiles"; }
  $("again").hidden = !entry(id)?.running;
  render();
}

async function take(files) {
  for (const file of files) {
    server.words = `${t("Reading")} ${file.name} \u2026`;
    show("Profiles");
    try {
      const { id, profile } = await ask("logs", { name: file.name }, { method: "POST", body: file });
      server.words = "";
      if (!profile) { tell({ log: id }); continue; }
      await list();
      await read(id);
    } catch (error) { server.words = t("The profile can not be read: {}", error.message); render(); }
  }
}

views.Profiles = () => {
  const parts = [server.words ? el("p", { role: "status" }, server.words) : null];
  if (!server.list.length) parts.push(el("p", { class: "empty" }, t("No .NET program runs under the profiler, and no profile file is open.")));
  else parts.push(table("profiles", [
    { head: t("Program"), name: true, value: nameIn, cell: (one) => el("button", { class: "link", "aria-current": one.id === server.id ? "true" : null, onclick: () => read(one.id) }, nameIn(one)) },
    { head: t("State"), value: (one) => t(one.kind === "file" ? "a file" : one.running ? "running" : "ended") },
    { head: t("Began"), value: (one) => one.started, text: (ms) => new Date(ms).toISOString().slice(0, 19).replace("T", " ") },
    { head: t("Duration"), value: (one) => one.duration * 1e9, text: time },
  ], server.list));
  const input = el("input", { type: "file", multiple: "", onchange: () => take(input.files) });
  parts.push(el("p", null, t("Start one with 'tally prof run -- PROGRAM', or drop a file of 'tally prof' here.")), el("p", null, el("label", null, t("Open a profile"), " ", input)));
  return parts.filter(Boolean);
};

views["Busiest now"] = () => {
  if (!entry(server.id)?.running) return [el("p", { class: "empty" }, t("Only a program that runs has methods that are busy now."))];
  const now = server.busiest;
  if (!now?.seconds) return [el("p", { class: "empty" }, t("The first two looks are under way."))];
  const share = (value) => (100 * value).toFixed(1);
  const words = t("In the last {}: {} calls/s, {} exceptions/s, {} threads; the profiler's own work {} %", time(now.seconds * 1e9), whole(Math.round(now.calls)), now.exceptions.toFixed(1), now.threads, share(now.work));
  const rows = now.methods.filter((row) => !state.search || row.name.toLowerCase().includes(state.search));
  return [el("p", null, words), now.hooksOn ? "" : el("p", null, t("The hooks are off; 'tally prof on' switches them on.")), table("busiest", [
    { head: t("Method"), name: true, value: (row) => row.name, cell: (row) => el("span", null, methodLink(METHODS.findIndex((one) => one.name === row.name), row.name)) },
    { head: t("Calls/s"), value: (row) => row.calls, text: (value) => value < 10 ? value.toFixed(1) : whole(Math.round(value)) },
    { head: t("Self %"), value: (row) => row.own, text: share, all: 1 },
    { head: t("Total %"), value: (row) => row.total, text: share, all: 1 },
    { head: "p50", value: (row) => row.median ?? -1, text: time },
    { head: "p99", value: (row) => row.slow ?? -1, text: time },
    { head: t("Open"), value: (row) => row.open },
    { head: t("Exceptions/s"), value: (row) => row.exceptions, text: (value) => value ? value.toFixed(1) : "" },
  ], rows, 200)];
};

async function compare(id) {
  Object.assign(server, { against: id, differences: null });
  render();
  if (!id) return;
  try { server.differences = await ask("profile/differences", { before: id, after: server.id }); server.words = ""; }
  catch (error) { server.words = t("The profile can not be read: {}", error.message); }
  render();
}

views.Differences = () => {
  const others = server.list.filter((one) => one.id !== server.id);
  if (!others.length) return [el("p", { class: "empty" }, t("Open another profile to compare this one with it."))];
  const options = [null, ...others].map((one) => el("option", { value: one ? one.id : "", ...((one ? one.id : "") === server.against ? { selected: "" } : {}) }, one ? nameIn(one) : "\u2013"));
  const parts = [el("p", null, el("label", null, t("Compare with"), " ", el("select", { onchange: (event) => compare(event.target.value) }, ...options), ` (${t("before")})`))];
  if (server.words) parts.push(el("p", { role: "status" }, server.words));
  const found = server.differences;
  if (!found) return parts;
  parts.push(el("p", null, t("Methods that changed: {} of {}", whole(found.changed), whole(found.all))));
  const signed = (row) => row.own[1] - row.own[0];
  const perCall = ({ calls, own }) => !calls[0] ? t("new") : !calls[1] ? t("gone") : own[0] ? `${((own[1] / calls[1] / (own[0] / calls[0]) - 1) * 100).toFixed(1)} %` : "\u2013";
  const rows = found.methods.filter((row) => !state.search || row.name.toLowerCase().includes(state.search));
  parts.push(table("differences", [
    { head: t("Method"), name: true, value: (row) => row.name },
    { head: t("Calls before"), value: (row) => row.calls[0], text: whole }, { head: t("Calls after"), value: (row) => row.calls[1], text: whole },
    { head: t("Self before"), value: (row) => row.own[0], text: time }, { head: t("Self after"), value: (row) => row.own[1], text: time },
    { head: t("Change"), value: signed, text: (value) => (value < 0 ? "\u2212" : "+") + time(Math.abs(value)) },
    { head: t("Per call"), value: perCall },
  ], rows, 1000));
  return parts;
};

const VIEWS = [...TABS];

// Asks what is busy while somebody looks.
async function poll() {
  const looks = () => state.tab === "Busiest now" && !document.hidden && entry(server.id)?.running;
  if (looks()) {
    try { server.busiest = await ask("profile/busiest", { id: server.id }); } catch { await list().catch(() => {}); }
    if (looks()) render(true);
  }
  setTimeout(poll, 1000);
}

async function begin() {
  listen();
  $("again").addEventListener("click", () => read(server.id));
  addEventListener("dragover", (event) => event.preventDefault());
  addEventListener("drop", (event) => { event.preventDefault(); take(event.dataTransfer.files); });
  addEventListener("keydown", (event) => { if (/^[0-9]$/.test(event.key) && !event.target.closest("input, select")) tell({ key: event.key }); });
  const wanted = state.tab;
  TABS.splice(0, TABS.length, "Profiles");
  state.tab = "Profiles";
  render();
  try { await list(); } catch (error) { server.words = error.message; render(); }
  if (server.id) { await read(server.id); if (location.hash) show(wanted); }
  poll();
}
begin();
