// The keys of the page: each screen has a part of one table, which says what a key does, and which `?` lists.
import type { Screen } from "./state";
import type { Word } from "./words";

export type Key = {
  /** As `?` shows it, and what it does in words. */
  shown: string; word: Word;
  /** The keys as events name them, in small letters. Without it the focused element (chart, list, frame) handles the key itself. */
  keys?: string[];
  /** The screen, or the dialog, in which it works; everywhere without one. */
  on?: Screen | "add";
  /** Does it; false if there was nothing to do. */
  act?: (name: string) => boolean | void;
  /** Whether the page has it at all, and whether it works just now. */
  only?: () => boolean; when?: () => boolean;
};

/** A key and what it does. */
export const key = (shown: string, word: Word, act: Key["act"], on?: Screen, keys = [shown.toLowerCase()]): Key => ({ shown, word, keys, on, act });

const isThere = (one: Key) => one.only?.() ?? true;

/** What a key does on a screen: what is of the screen comes before what works everywhere. */
export function keyOf(table: Key[], name: string, screen: Screen): Key | undefined {
  const fits = table.filter((one) => one.keys?.includes(name) && isThere(one) && (one.when?.() ?? true));
  return fits.find((one) => one.on === screen) ?? fits.find((one) => one.on === undefined);
}

/** The keys of a screen or a dialog; those that work everywhere without one. */
export const keysOf = (table: Key[], on?: Key["on"]) => table.filter((one) => one.on === on && isThere(one));
