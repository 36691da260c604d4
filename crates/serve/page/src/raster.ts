// Lines as pixels: for each column of a picture the run of pixels that a line covers. Without a graphics
// processor this is several times faster than paths of a canvas, and what comes new is drawn without the rest.

/** How a line looks: widths and dashes in pixels of the picture. */
export type Pen = { color: string; width: number; dash?: number[] };

/** `#rrggbb` as a pixel that is still transparent. */
const inkOf = (color: string) => {
  const [red, green, blue] = [1, 3, 5].map((at) => parseInt(color.slice(at, at + 2), 16));
  return blue << 16 | green << 8 | red;
};

export class Raster {
  private readonly image: ImageData;
  private readonly pixels: Uint32Array;
  /** Of the line that is drawn: the smallest and the largest y in each column. */
  private readonly low: Float32Array;
  private readonly high: Float32Array;
  /** It is as it was made: nothing was drawn. */
  private isClear = true;

  constructor(readonly width: number, readonly height: number) {
    this.image = new ImageData(width, height);
    this.pixels = new Uint32Array(this.image.data.buffer);
    this.low = new Float32Array(width);
    this.high = new Float32Array(width);
  }

  /** Removes what is in some columns. */
  clear(from: number, to: number): void {
    if (this.isClear) { this.isClear = false; return; }
    if (from === 0 && to === this.width) { this.pixels.fill(0); return; }
    for (let start = from; start < this.pixels.length; start += this.width) this.pixels.fill(0, start, start + to - from);
  }

  /** Draws the part of a line that is in some columns, over what is there. NaN is a hole in the line, and infinite a
      row that it passes; where x goes back the line begins anew. */
  line(xs: Float64Array, ys: Float64Array, first: number, pen: Pen, from: number, to: number): void {
    const reach = Math.max(0, Math.round((pen.width - 1.2) / 2));
    const [begin, end] = [Math.max(0, from - reach - 1), Math.min(this.width, to + reach + 1)];
    this.low.fill(Infinity, begin, end);
    this.high.fill(-Infinity, begin, end);
    this.trace(xs, ys, first, begin, end);
    this.ink(pen, reach, from, to);
  }

  show(context: CanvasRenderingContext2D, from: number, to: number): void {
    context.putImageData(this.image, 0, 0, from, 0, to - from, this.height);
  }

  private trace(xs: Float64Array, ys: Float64Array, first: number, begin: number, end: number): void {
    const { low, high } = this;
    const touch = (column: number, y: number) => {
      if (column < begin || column >= end) return;
      if (y < low[column]) low[column] = y;
      if (y > high[column]) high[column] = y;
    };
    let [beforeX, beforeY] = [NaN, NaN];
    for (let row = first; row < xs.length; row += 1) {
      const [x, y] = [xs[row], ys[row]];
      if (y === Infinity) continue;
      const column = Math.floor(x);
      if (x >= beforeX && y === y) {
        const slope = (y - beforeY) / (x - beforeX);
        for (let edge = Math.max(begin, Math.floor(beforeX) + 1); edge <= column && edge <= end; edge += 1) {
          const at = beforeY + slope * (edge - beforeX);
          touch(edge - 1, at);
          touch(edge, at);
        }
      }
      if (y === y) touch(column, y);
      beforeX = y === y ? x : NaN;
      beforeY = y;
    }
  }

  private ink(pen: Pen, reach: number, from: number, to: number): void {
    const { low, high, pixels, width, height } = this;
    const ink = inkOf(pen.color);
    const full = (255 << 24 | ink) >>> 0;
    const half = pen.width / 2;
    const cycle = pen.dash?.reduce((sum, one) => sum + one) ?? 0;
    let length = from;
    for (let column = from; column < to; column += 1) {
      let [top, bottom] = [low[column], high[column]];
      for (let near = Math.max(0, column - reach); reach > 0 && near <= column + reach && near < width; near += 1) {
        if (low[near] < top) top = low[near];
        if (high[near] > bottom) bottom = high[near];
      }
      if (top > bottom) continue;
      length += Math.max(1, bottom - top);
      if (pen.dash && !isOn(pen.dash, length % cycle)) continue;
      [top, bottom] = [Math.max(0, top - half), Math.min(height, bottom + half)];
      // The ends of a run cover a part of their pixels only.
      const [begin, end] = [Math.floor(top), Math.ceil(bottom) - 1];
      const last = end * width + column;
      let at = begin * width + column;
      if (end < begin) continue;
      if (end === begin) { pixels[at] = over(pixels[at], ink, bottom - top); continue; }
      pixels[at] = over(pixels[at], ink, begin + 1 - top);
      for (at += width; at < last; at += width) pixels[at] = full;
      pixels[last] = over(pixels[last], ink, bottom - end);
    }
  }
}

/** Whether a place of a pattern of dashes is one with ink. */
function isOn(dash: number[], place: number): boolean {
  for (let nth = 0; nth < dash.length; nth += 1) {
    if (place < dash[nth]) return nth % 2 === 0;
    place -= dash[nth];
  }
  return true;
}

/** A pixel with ink that covers a part of it. */
function over(pixel: number, ink: number, part: number): number {
  const cover = part * 255 + 0.5 | 0;
  if (pixel === 0) return (cover << 24 | ink) >>> 0;
  const below = (pixel >>> 24) * (255 - cover) / 255 + 0.5 | 0;
  const alpha = cover + below;
  if (alpha === 0) return 0;
  const blue = ((ink >> 16) * cover + (pixel >> 16 & 255) * below) / alpha | 0;
  const green = ((ink >> 8 & 255) * cover + (pixel >> 8 & 255) * below) / alpha | 0;
  const red = ((ink & 255) * cover + (pixel & 255) * below) / alpha | 0;
  return (alpha << 24 | blue << 16 | green << 8 | red) >>> 0;
}
