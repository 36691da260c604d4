// A server that does not answer: when it is asked again, and who waits until it does.
import { effect, signal } from "@preact/signals";
import { isGone, loadHosts } from "./state";

/** The seconds until it is asked again: longer after each time without an answer. */
const PAUSES = [1, 2, 5, 10, 20, 30];
/** The seconds that are left; 0 while it is asked. */
export const left = signal(0);
let [tries, timer, isTrying] = [0, 0, false];

/** Asks at once whether it is there again. */
export async function tryNow(): Promise<void> {
  if (isTrying) return;
  clearInterval(timer);
  left.value = 0;
  isTrying = true;
  await loadHosts();
  isTrying = false;
  if (isGone.peek()) wait();
}

function wait(): void {
  clearInterval(timer);
  const until = performance.now() + 1000 * PAUSES[Math.min(tries, PAUSES.length - 1)];
  tries += 1;
  const count = () => {
    left.value = Math.max(0, Math.ceil((until - performance.now()) / 1000));
    // A tab that nobody sees asks nothing.
    if (left.peek() === 0 && document.visibilityState !== "hidden") void tryNow();
  };
  count();
  timer = setInterval(count, 250);
}

/** Begins to ask again whenever the server is gone. */
export function followServer(): void {
  effect(() => {
    if (isGone.value) { if (!isTrying) wait(); return; }
    clearInterval(timer);
    [tries, left.value] = [0, 0];
  });
  addEventListener("online", () => { if (isGone.peek()) void tryNow(); });
}

/** Until the server answers again, or nobody waits any longer. */
export const back = (signal: AbortSignal) => new Promise<void>((resolve) => {
  if (!isGone.peek() || signal.aborted) { resolve(); return; }
  const stop = effect(() => { if (!isGone.value) end(); });
  function end(): void { queueMicrotask(() => stop()); resolve(); }
  signal.addEventListener("abort", end, { once: true });
});
