// A zip archive that is dropped on the page: the logs in it, one after the other. The browser unpacks it, so that
// nothing but the logs is sent. The list of files is at the end of the archive.
import { ApiError } from "./api";
import { t, type Word } from "./words";

const [LOCAL, ENTRY, END, LOCATOR] = [0x04034b50, 0x02014b50, 0x06054b50, 0x07064b50];
/** The longest end, with a remark, and the longest list of files that is read. */
const [MOST_END, MOST_LIST] = [22 + 65_535 + 20, 16 << 20];
/** The most bytes of a file that is unpacked; the server takes less. */
const MOST_BYTES = 2 ** 31;
const VIEWS = /\.(tallymon|html?|xml)$/i;

type Entry = { name: string; flags: number; method: number; sum: number; packed: number; bytes: number; at: number };

const viewOf = async (part: Blob) => new DataView(await part.arrayBuffer());
const long = (view: DataView, at: number) => Number(view.getBigUint64(at, true));
const SUMS = Int32Array.from({ length: 256 }, (_, byte) => {
  for (let bit = 0; bit < 8; bit += 1) byte = byte & 1 ? byte >>> 1 ^ 0xedb88320 : byte >>> 1;
  return byte;
});

export const isZip = (file: Blob): Promise<boolean> => viewOf(file.slice(0, 4)).then((head) => [LOCAL, END].includes(head.getUint32(0, true))).catch(() => false);

/** What is in an archive. A number that a view does not have is a fault of the file. */
async function list(file: Blob): Promise<Entry[]> {
  const begin = Math.max(0, file.size - MOST_END);
  const tail = await viewOf(file.slice(begin));
  let end = tail.byteLength - 22;
  while (tail.getUint32(end, true) !== END) end -= 1;
  let [size, from] = [tail.getUint32(end + 12, true), tail.getUint32(end + 16, true)];
  // Of large archives the numbers stand before the end.
  if (end >= 20 && tail.getUint32(end - 20, true) === LOCATOR) {
    const large = await viewOf(file.slice(long(tail, end - 12), long(tail, end - 12) + 56));
    [size, from] = [long(large, 40), long(large, 48)];
  }
  if (size > MOST_LIST) throw new RangeError();
  const view = await viewOf(file.slice(from, from + size));
  const found: Entry[] = [];
  for (let at = 0; at < size;) {
    if (view.getUint32(at, true) !== ENTRY) throw new RangeError();
    const short = (by: number) => view.getUint16(at + by, true);
    const [names, extras] = [short(28), short(30)];
    const flags = short(8);
    const text = new TextDecoder(flags & 0x800 ? "utf-8" : "latin1").decode(new Uint8Array(view.buffer, at + 46, names));
    const numbers = [24, 20, 42].map((by) => view.getUint32(at + by, true));
    for (let extra = at + 46 + names; extra + 4 <= at + 46 + names + extras; extra += 4 + view.getUint16(extra + 2, true)) {
      if (view.getUint16(extra, true) !== 1) continue;
      let next = extra + 4;
      numbers.forEach((number, nth) => { if (number === 0xffffffff) { numbers[nth] = long(view, next); next += 8; } });
    }
    const [bytes, packed, place] = numbers;
    found.push({ name: text, flags, method: short(10), sum: view.getInt32(at + 16, true), packed, bytes, at: place });
    at += 46 + names + extras + short(32);
  }
  return found;
}

/** Unpacks a file; `told` gets how many bytes there are. One that is not what its archive says is a fault. */
async function unpacked(file: Blob, one: Entry, told: (bytes: number) => void): Promise<File> {
  const head = await viewOf(file.slice(one.at, one.at + 30));
  if (head.getUint32(0, true) !== LOCAL) throw new RangeError();
  const from = one.at + 30 + head.getUint16(26, true) + head.getUint16(28, true);
  const packed = file.slice(from, from + one.packed).stream();
  let [sum, count] = [-1, 0];
  const check = new TransformStream<Uint8Array, Uint8Array>({
    transform(piece, to) {
      for (const byte of piece) sum = SUMS[(sum ^ byte) & 255] ^ sum >>> 8;
      count += piece.length;
      if (count > one.bytes) throw new RangeError();
      told(count);
      to.enqueue(piece);
    },
    flush() { if (count !== one.bytes || ~sum !== one.sum) throw new RangeError(); },
  });
  const plain = one.method === 0 ? packed : packed.pipeThrough(new DecompressionStream("deflate-raw") as TransformStream<Uint8Array, Uint8Array>);
  const blob = await new Response(plain.pipeThrough(check)).blob();
  return new File([blob], one.name.split(/[\\/]/).pop() ?? one.name);
}

/** The files of an archive but saved views and pages; the server says of each what it is. `told` gets how far it is. One
 * that cannot be unpacked is told after the others. */
export async function* unzip(file: File, told: (share: number) => void): AsyncGenerator<File> {
  const fault = (word: Word, name = "") => new ApiError(400, `${file.name}${name && `: ${name}`}: ${t(word)}`);
  const all = (await list(file).catch(() => { throw fault("zipOther"); })).filter((one) => !/\/$|^__MACOSX\//.test(one.name));
  const chosen = all.filter((one) => !VIEWS.test(one.name));
  if (chosen.length === 0) throw fault("zipEmpty");
  const faults: ApiError[] = [];
  for (const one of chosen) {
    if (one.flags & 1) { faults.push(fault("zipLocked", one.name)); continue; }
    if ((one.method !== 0 && one.method !== 8) || one.bytes > MOST_BYTES) { faults.push(fault("zipOther", one.name)); continue; }
    const log = await unpacked(file, one, (bytes) => told(bytes / one.bytes)).catch(() => { faults.push(fault("zipOther", one.name)); });
    if (log) yield log;
  }
  if (faults.length > 0) throw new ApiError(400, faults.map((one) => one.message).join("; "));
}
