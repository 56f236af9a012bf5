import type { Schema } from "@/api/types";
import type { BadgeTone } from "@/ui/Badge";

export type Key = Schema<"KeyBody">;
export type Scope = Schema<"Grant">;

/** The scopes of a key, with what each allows. */
export const SCOPES: Record<Scope, string> = {
  read: "Read everything of yours: payments, usage, the audit log.",
  facilitator: "Verify and settle payments.",
  wrappers: "Change wrappers and secrets, read analytics.",
  automation: "Create and run automations.",
};

export interface KeyState {
  label: string;
  tone: BadgeTone;
  /** Whether the key is accepted now. */
  isWorking: boolean;
}

/** Says whether a key works at a moment. A rotated key may work on until its overlap ends. */
export function stateOfKey(key: Key, now: number): KeyState {
  // The service's clock decides: a revoked key ended when it was changed, whatever is the time here.
  const latest = Math.max(now, Date.parse(key.updatedAt));
  const ended = (at: string | null) => at !== null && Date.parse(at) <= latest;
  if (ended(key.revokedAt)) {
    return { label: key.replacedBy === null ? "Revoked" : "Rotated", tone: "neutral", isWorking: false };
  }
  if (ended(key.expiresAt)) return { label: "Expired", tone: "neutral", isWorking: false };
  if (key.revokedAt !== null) return { label: "Ends soon", tone: "warn", isWorking: true };
  return { label: "Works", tone: "good", isWorking: true };
}

const DAY = 86_400;

/** The lives that a new key may have, in seconds; an empty text is one without an end. */
export const LIVES = [
  { value: String(30 * DAY), label: "30 days" },
  { value: String(90 * DAY), label: "90 days" },
  { value: String(365 * DAY), label: "1 year" },
  { value: "", label: "No expiry" },
];

/** How long a rotated key works on, in seconds. */
export const OVERLAPS = [
  { value: "0", label: "It stops at once" },
  { value: "3600", label: "1 hour" },
  { value: String(DAY), label: "1 day" },
  { value: String(7 * DAY), label: "7 days" },
];
