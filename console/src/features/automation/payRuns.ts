import type { RunPaymentResult } from "@/api/automationTypes";
import type { RunOrder } from "@/api/automations";
import { ApiError } from "@/api/errors";
import { asRecord, isRecord } from "@/api/records";
import type { Challenge, Review } from "@/payment/terms";
import { readChallenge } from "@/payment/terms";

/** A signed payment for runs: it is sent as often as needed, and no other one is made meanwhile. */
export interface SignedRuns {
  order: RunOrder;
  paymentSignature: string;
  /** ISO 8601: no later ledger takes it. */
  expiresAt: string;
}

export type PayFlow =
  | { step: "idle"; problem: unknown; notice: string | null }
  | { step: "asking" }
  | { step: "offered"; order: RunOrder; challenge: Challenge; notice: string | null; problem: unknown }
  | { step: "preparing"; order: RunOrder; challenge: Challenge }
  | { step: "review"; order: RunOrder; challenge: Challenge; review: Review; problem: unknown }
  | { step: "signing"; order: RunOrder; challenge: Challenge; review: Review }
  | { step: "completing"; order: RunOrder; challenge: Challenge; review: Review; signature: string; problem: unknown }
  | { step: "sending"; payment: SignedRuns }
  | { step: "waiting"; payment: SignedRuns; problem: unknown };

export const IDLE: PayFlow = { step: "idle", problem: null, notice: null };

/** What came of sending an order, with a payment or without one. */
export type PayOutcome =
  | { kind: "done"; result: RunPaymentResult }
  /** The same payment is to be sent again: it may have been settled. */
  | { kind: "open"; problem: unknown }
  | { kind: "offer"; challenge: Challenge; notice: string | null }
  | { kind: "ended"; problem: unknown; notice: string | null };

export const outcomeOf = (result: RunPaymentResult): PayOutcome =>
  result.payment.state === "pending" ? { kind: "open", problem: null } : { kind: "done", result };

/** Whether a request with a payment that failed like this may be sent again; others sent nothing. */
const mayRepeat = (error: unknown): boolean =>
  !(error instanceof ApiError) || error.isOutage || [401, 408, 425, 429].includes(error.status);

/** Reads a refusal of an order; a 402 has an offer, or the reason of a payment that has failed. */
export function readRefusedOrder(error: unknown, hasPayment: boolean): PayOutcome {
  if (error instanceof ApiError && error.status === 402) {
    const body = asRecord(error.details);
    const challenge = readChallenge(body);
    const reason = typeof body["error"] === "string" ? body["error"] : null;
    if (challenge === null) {
      return { kind: "ended", problem: null, notice: `The payment has failed, and nothing was moved. Reason: ${reason ?? "not stated"}.` };
    }
    const notice = hasPayment ? `This payment was not accepted, and nothing was moved. Reason: ${reason ?? "not stated"}.` : null;
    return { kind: "offer", challenge, notice };
  }
  if (hasPayment && mayRepeat(error)) return { kind: "open", problem: error };
  return { kind: "ended", problem: error, notice: null };
}

const PREFIX = "farebox.runs.";

/** Reads a stored payment; anything else than one of ours is none. */
export function readStoredRuns(text: string | null): SignedRuns | null {
  if (text === null) return null;
  try {
    const value: unknown = JSON.parse(text);
    if (!isRecord(value) || !isRecord(value["order"])) return null;
    const { id, runs, isTopUp } = value["order"];
    const isOrder = typeof id === "string" && typeof isTopUp === "boolean" && (runs === null || typeof runs === "number");
    const isSigned = typeof value["paymentSignature"] === "string" && typeof value["expiresAt"] === "string";
    return isOrder && isSigned ? (value as unknown as SignedRuns) : null;
  } catch {
    return null;
  }
}

export function loadRuns(id: string): SignedRuns | null {
  try {
    return readStoredRuns(sessionStorage.getItem(PREFIX + id));
  } catch {
    return null;
  }
}

/** Keeps a signed payment across a reload until its outcome is known. */
export function storeRuns(id: string, payment: SignedRuns | null): void {
  try {
    if (payment) sessionStorage.setItem(PREFIX + id, JSON.stringify(payment));
    else sessionStorage.removeItem(PREFIX + id);
  } catch {
    // storage is switched off: the payment lives as long as the tab is not reloaded
  }
}
