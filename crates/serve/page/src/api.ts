// The interface of the server (openapi.json), and the same questions to the data of a report.

export type Statistics = {
  count: number; last?: number; avg?: number; min?: number; max?: number; sum?: number;
  stddev?: number | null; p95?: number | null; slope?: number | null;
};
export type Series = {
  path: string; asked: string; object: string; counter: string; instance: string | null; parent: string | null;
  type: string; unit: string; scale: number; text: boolean; partial: string | null; objectEnglish: string; counterEnglish: string;
  missing: string | null; ended: number | null;
};
export type Column = Series & { values: (number | null)[]; statistics: Statistics };
export type Chart = { times: number[]; series: Column[]; rows: number; decimated: boolean; next: number | null };
/** The clock of a log: its zone, unless it is unknown, and from when on it is how many minutes from UTC. */
export type LogClock = { zone: string | null; changes: [number, number][] };
export type Host = {
  id: string; kind: "live" | "log"; name: string; state: "ready" | "opening" | "failed"; error?: string;
  interval?: number | null; first?: number | null; last?: number | null; records?: number; columns?: number;
  format?: string; hosts?: string[]; damage?: number; faults?: string[]; bytes?: number; read?: number; closable?: boolean;
  trouble?: string | null; clock?: LogClock;
  /** Of a live machine: its interval may be changed here, and, if it is that of the server, its processes may be. */
  control?: boolean; processes?: boolean;
  /** Of an upload on its way: what the page called it. */
  tag?: string;
};
export type ObjectInfo = {
  index: number; name: string; english: string; help: string | null; instances: boolean; costly: boolean;
  counters: number;
};
export type CounterInfo = {
  index: number; name: string; english: string; help: string | null; type: string; meaning: string | null;
  formula: string | null; unit: string; scale: number; detail: string; default: boolean;
  object?: number; objectName?: string; objectEnglish?: string; instances?: boolean;
};
export type Instance = { name: string; shown: string };
export type Gauge = { value: number | null; missing?: string; history: (number | null)[]; path: string };
export type Process = {
  name: string; instance: string; id: number | null; processor: number | null; memory: number | null;
  bytes: number | null; threads: number | null; parent: number | null; depth: number; start: string | null;
  user: string | null; command: string | null; service: string | null;
};
export type Folded = { names: string[]; sums: number[] };
export type Overview = {
  time: number | null;
  processors: Record<"total" | "user" | "kernel" | "queue" | "processes" | "threads" | "switches" | "up", Gauge>
    & Record<"waitingForDisk" | "stolen" | "speed", Gauge> & { each: { name: string; busy: Gauge }[]; load: Gauge[] };
  memory: { total: number | null; swapSize: number | null; parts: number[] | null; share: number | null } & Record<
    "available" | "committed" | "limit" | "swap" | "paging", Gauge>;
  disks: ({ name: string } & Record<"busy" | "read" | "write" | "latency" | "queue", Gauge>)[];
  idleDisks: Folded;
  fileSystems: { name: string; share: Gauge; used: number | null; free: Gauge; size: number | null }[];
  otherFileSystems: Folded;
  sensors: { name: string; kind: "temperature" | "charge" | "power" | "fan"; gauge: Gauge }[];
  containers: ({ name: string } & Record<"busy" | "memory" | "received" | "sent", Gauge>)[];
  graphics: ({ name: string } & Record<"busy" | "own" | "shared", Gauge>)[];
  interfaces: { name: string; received: Gauge; sent: Gauge; speed: number | null; totals: (number | null)[];
    addresses: string[] }[];
  idleInterfaces: Folded;
  pressure: { processor: Gauge; memory: Gauge[]; disk: Gauge[] };
  processes: { count: number; found: number; hiddenIo: number; leftOut: number; largest: Process[] } | null;
  /** From when to when there is an overview. */
  first?: number | null; last?: number | null;
};
export type Group = { title: string; english: string; unit: string; instances: { name: string; path: string; value: number }[] };
export type Contributors = { time: number | null; groups: Group[] };
export type Explanation = {
  pending?: boolean; path: string; shown: string; indexPath: string; objectHelp: string | null;
  help: string | null; type: string; typeNumber: number; meaning: string; unit: string; formula: string;
  numbers: string | null; value: { number?: number | null; text?: string; missing?: string }; scale: number;
  detail: string; objectNames: Named[]; counterNames: Named[]; helps: { language: string; text: string }[]; origin: string | null;
};
export type Named = { language: string; name: string };
/** Where a line rose above its threshold, or fell below it, in a whole log or history; the newest first. */
export type Crossing = { time: number; begins: boolean; path: string; value: number };
export type Crossings = { count: number; alerts: Crossing[]; from: number | null; to: number | null };
export type Row = { row: number; time: number; values: (number | null)[] };

export type Alert = { time: number; begins: boolean; counter: string; value: number | null; limit: string };
export type Session = {
  name: string; state: "recording" | "waiting" | "stopped" | "killed"; interval: number; counters: string[]; folder: string;
  file: string | null; logs: number; bytes: number; records: number; last: number | null; errors: number;
  lastError: string | null; limits: string[]; alerts: number; latestAlerts: Alert[];
};
export type Sessions = { control: boolean; opensLogs: boolean; sessions: Session[]; said?: string; pending?: boolean };
export type Provider = {
  name: string; title: string; kind: "library" | "sharedMemory" | "builtIn" | "elsewhere"; reason: string; remedy: string;
  state: "healthy" | "degraded" | "failed" | "unsupported" | "notAsked" | "disabled" | null; last: number | null;
  average: number | null; share: number | null; collections: number | null; errors: number | null; late: number | null;
  restarts: number | null; service: string | null; p50: number | null; p99: number | null; times: number; languages: string[] | null;
};
export type Providers = { reportsHealth: boolean; pending: boolean; control?: boolean; providers: Provider[] };
export type Event = {
  time: number | null; source: string; id: number | null; level: string; message: string; repeated: number;
  others: number; held: number;
};
export type Events = { all: number; found: number; events: Event[]; pending?: boolean };

type Side = { count: number; mean: number; min: number; max: number; p95: number | null };
export type Difference = {
  path: string; shown: string; unit: string; absolute: number; relative: number; deviations: number | null;
  first: Side; second: Side;
};
export type Comparison = {
  sides: { name: string; records: number; first: number | null; last: number | null; damage: number }[]; all: number;
  differences: Difference[]; onlyFirst: string[]; onlySecond: string[];
};

/** A live machine on the page of all. */
export type FleetHost = {
  id: string; name: string; state: "opening" | "live" | "late" | "failed"; why?: string; retry: number | null; age: number | null;
  clock: { seconds: number; error: number; certain: boolean } | null; pressure: (number | null)[];
} & Record<"processor" | "memory" | "disk" | "diskBytes" | "network" | "paging" | "queue", number | null>;

/** The answers to the first questions, which come with the page. They are old after a moment. */
type First = { hosts: Host[]; usual: string[]; chart: (Chart & { paths: string[]; lang: string }) | null; overview: Overview; fleet: FleetHost[] };
let first: Partial<First> = {};
const FRESH = 1000;
try { first = JSON.parse(document.getElementById("first")?.textContent || "{}"); } catch { /* it is asked for then */ }
setTimeout(() => { first = {}; }, FRESH);

/** An answer that came with the page; each is given once. */
export function early<Name extends keyof First>(name: Name): NonNullable<First[Name]> | undefined {
  const { [name]: answer, ...rest } = first;
  first = rest;
  return answer ?? undefined;
}

export class ApiError extends Error {
  constructor(readonly status: number, message: string, readonly nearest: string[] = []) { super(message); }
}

export type Value = string | number | null | undefined | string[];

export function address(name: string, parameters: Record<string, Value> = {}): string {
  const search = new URLSearchParams();
  for (const [key, value] of Object.entries(parameters)) {
    if (value === null || value === undefined) continue;
    for (const one of Array.isArray(value) ? value : [String(value)]) search.append(key, one);
  }
  const text = search.toString();
  return `api/v1/${name}${text ? `?${text}` : ""}`;
}

async function read<T>(response: Response): Promise<T> {
  const body = await response.json().catch(() => null);
  if (!response.ok) throw new ApiError(response.status, body?.error ?? response.statusText, body?.nearest ?? []);
  return body as T;
}

export async function get<T>(name: string, parameters: Record<string, Value> = {}, signal?: AbortSignal): Promise<T> {
  return read<T>(await fetch(address(name, parameters), { signal }));
}

/** Changes something; the server allows it only when it was started so. */
export async function act<T>(name: string, parameters: Record<string, Value>): Promise<T> {
  return read<T>(await fetch(address(name, parameters), { method: "POST" }));
}

export async function upload(file: File, tag: string, progress: (share: number) => void): Promise<{ id: string; profile?: boolean }> {
  // fetch says nothing of its progress.
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    request.open("POST", address("logs", { name: file.name, tag }));
    request.upload.onprogress = (event) => progress(event.total ? event.loaded / event.total : 0);
    request.onload = () => {
      let body: { id?: string; profile?: boolean; error?: string } = {};
      try { body = JSON.parse(request.responseText); } catch { /* the status says enough */ }
      if (request.status === 200 && body.id) resolve({ id: body.id, profile: body.profile });
      else reject(new ApiError(request.status, body.error ?? request.statusText));
    };
    request.onerror = () => reject(new ApiError(0, "the upload broke off"));
    request.send(file);
  });
}

/** What a settings file shows: one of the monitor, or a view of Windows' Performance Monitor. */
export type Settings = { counters: string[]; view: string | null; seconds: number | null; sweep: boolean | null; leftOut: string[]; axis: [number, number] | null;
  lines: { path: string; power: number | null; colour: number | null; width: number; hidden: boolean; threshold: number | null }[] };
export async function openSettings(file: File): Promise<Settings> {
  return read(await fetch(address("settings", { name: file.name }), { method: "POST", body: file }));
}

export async function closeLog(id: string): Promise<void> {
  await read(await fetch(address("logs", { id }), { method: "DELETE" }));
}
