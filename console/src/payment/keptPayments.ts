import type { JsonObject } from "@/api/records";
import type { SignedPayment } from "./signedPayment";
import { readSigned } from "./signedPayment";

/**
 * Signed payments whose outcome is not known, in the storage of this origin: it outlives the tab. Each
 * is kept for the account that was signed in, and shown to no other one.
 */
const PREFIX = "farebox.payment.";
/** No more than these are kept, and none is signed beyond them: an unknown outcome is never dropped. */
export const MAX_KEPT = 50;

/** Where a payment is kept. */
export interface Place {
  /** What kind of thing is bought. */
  kind: string;
  /** The id of the account that was signed in; null for nobody. */
  owner: string | null;
  /** The thing that is bought. */
  key: string;
}

export interface Kept {
  name: string;
  place: Place;
  payment: SignedPayment<JsonObject>;
}

export const nameOf = ({ kind, owner, key }: Place): string => PREFIX + JSON.stringify([kind, owner, key]);

/** Reads the name of an entry; null when it is none of ours. */
export function placeOf(name: string): Place | null {
  if (!name.startsWith(PREFIX)) return null;
  try {
    const [kind, owner, key] = JSON.parse(name.slice(PREFIX.length)) as unknown[];
    const isPlace = typeof kind === "string" && typeof key === "string" && (owner === null || typeof owner === "string");
    return isPlace ? { kind, owner, key } : null;
  } catch {
    return null;
  }
}

export function readKept(name: string): SignedPayment<JsonObject> | null {
  try {
    return readSigned(localStorage.getItem(name));
  } catch {
    return null;
  }
}

/** Keeps a payment; false where the browser does not. */
export function keep(name: string, payment: SignedPayment<unknown>): boolean {
  try {
    localStorage.setItem(name, JSON.stringify(payment));
    return true;
  } catch {
    return false;
  }
}

export function drop(name: string): void {
  try {
    localStorage.removeItem(name);
  } catch {
    // where storage is switched off there is nothing to drop
  }
}

/** All payments that are kept here, of every account. */
export function listKept(): Kept[] {
  const found: Kept[] = [];
  try {
    for (let index = 0; index < localStorage.length; index += 1) {
      const name = localStorage.key(index) ?? "";
      const place = placeOf(name);
      const payment = place && readKept(name);
      if (place && payment) found.push({ name, place, payment });
    }
  } catch {
    return found;
  }
  return found;
}

/** Whether one more payment can be kept here. */
export function canKeep(payment: SignedPayment<unknown>): boolean {
  const probe = `${PREFIX}probe`;
  const isKept = listKept().length < MAX_KEPT && keep(probe, payment);
  drop(probe);
  return isKept;
}

/** Calls `listener` with the name of each payment that another tab keeps or drops. */
export function onKeptElsewhere(listener: (name: string) => void): void {
  window.addEventListener("storage", ({ key }) => {
    if (key !== null && placeOf(key)) listener(key);
  });
}

export type Turn = "done" | "busy" | "impossible";

/**
 * Runs an action while no other tab of this browser runs one of the same name. `busy`: another one
 * does, and this one is not run; `impossible`: the browser has no locks here (they need https).
 */
export async function inTurn(name: string, action: () => Promise<void>): Promise<Turn> {
  const locks = (navigator as { locks?: LockManager }).locks;
  if (!locks) return "impossible";
  return locks.request(name, { ifAvailable: true }, async (lock) => {
    if (lock) await action();
    return lock ? "done" : "busy";
  });
}
