import { readFlow, subscribe } from "./purchaseStore";

/**
 * Sends waiting payments again when they are due: also while the person looks at another page, and
 * not while the tab is hidden.
 */
const timers = new Map<string, { dueAt: number; timer: ReturnType<typeof setTimeout> }>();
const watched = new Set<string>();
let sendAgain: (key: string) => void = () => {};

function look(key: string): void {
  const flow = readFlow(key);
  if (flow.step === "waiting" && !document.hidden && Date.now() >= flow.dueAt) sendAgain(key);
}

function schedule(key: string): void {
  const flow = readFlow(key);
  const dueAt = flow.step === "waiting" ? flow.dueAt : null;
  const known = timers.get(key);
  if ((known?.dueAt ?? null) === dueAt) return;
  clearTimeout(known?.timer);
  timers.delete(key);
  if (dueAt === null) return;
  const timer = setTimeout(() => look(key), Math.max(0, dueAt - Date.now()));
  timers.set(key, { dueAt, timer });
}

/** Watches the purchase at a listing from now on; `send` sends its payment again. */
export function watchPayment(key: string, send: (key: string) => void): void {
  sendAgain = send;
  if (watched.size === 0) {
    subscribe(() => watched.forEach(schedule));
    document.addEventListener("visibilitychange", () => watched.forEach(look));
  }
  watched.add(key);
  schedule(key);
}
