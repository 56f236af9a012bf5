import type { ToolRefusal, ToolResult } from "@/api/mcp";
import { asRecord } from "@/api/records";
import type { JsonObject } from "@/api/records";
import { readChallenge } from "@/payment/terms";
import type { Challenge } from "@/payment/terms";

/** The answer of the resource. `body` is a stranger's. */
export interface Delivery {
  status: number;
  contentType: string;
  encoding: "json" | "text" | "base64";
  body: unknown;
}

/** The outcome of a call, as `docs/agents.md` defines it. */
export type CallOutcome =
  | { kind: "challenge"; challenge: Challenge; reason: string | null }
  /** The resource answered and there is nothing left to do. */
  | { kind: "answered"; delivery: Delivery; isPaid: boolean; transaction: string | null }
  /** Certainly nothing was paid; `delivery` is what came in place of it. */
  | { kind: "not_paid"; message: string; delivery: Delivery | null; isFailedOnLedger: boolean }
  /** The same payment is to be sent again: it may have been settled, or was never sent. */
  | { kind: "open"; message: string; retryAfterSeconds: number; transaction: string | null; isPaid: boolean }
  /** The payment may have been settled, and sending it again settles nothing. */
  | { kind: "unclear"; message: string; delivery: Delivery | null; transaction: string | null }
  /** Paid, and no answer will come. */
  | { kind: "undelivered"; message: string; delivery: Delivery | null; transaction: string | null };

const DEFAULT_WAIT_SECONDS = 5;
const HASH = /^[0-9a-f]{64}$/;

function readDelivery(content: JsonObject): Delivery | null {
  const { status, contentType, bodyEncoding, body } = content;
  if (typeof status !== "number") return null;
  const encoding = bodyEncoding === "json" || bodyEncoding === "base64" ? bodyEncoding : "text";
  return { status, contentType: typeof contentType === "string" ? contentType : "", encoding, body };
}

/** The transaction's hash in the receipt; anything but a hash is none. */
function readTransaction(content: JsonObject): string | null {
  const { transaction } = asRecord(content["paymentResponse"]);
  return typeof transaction === "string" && HASH.test(transaction) ? transaction : null;
}

const waitOf = (data: JsonObject): number => {
  const seconds = data["retryAfterSeconds"];
  return typeof seconds === "number" && seconds >= 0 ? Math.min(seconds, 3_600) : DEFAULT_WAIT_SECONDS;
};

const reasonOf = (content: JsonObject): string | null => {
  const receipt = asRecord(content["paymentResponse"]);
  for (const each of [receipt["errorReason"], content["error"]]) {
    if (typeof each === "string" && each !== "") return each;
  }
  return null;
};

const SENTENCES: Record<string, string> = {
  not_sent: "Nothing was paid.",
  failed: "The payment failed on the ledger. Nothing was moved.",
  unknown: "The payment may have been settled.",
  settled_not_delivered: "You paid, and the resource did not deliver.",
};

function readResult(content: JsonObject, hasPayment: boolean): CallOutcome {
  const challenge = readChallenge(content);
  const delivery = readDelivery(content);
  const transaction = challenge ? null : readTransaction(content); // a challenge is a stranger's object
  const { outcome, nextAction } = content;
  const isPaid = content["isPaid"] === true;
  const sentence = SENTENCES[String(outcome)] ?? "The resource answered.";
  const reason = reasonOf(content);
  const message = reason === null ? sentence : `${sentence} The reason: ${reason}.`;
  if (nextAction === "COMPLETE" && delivery) return { kind: "answered", delivery, isPaid, transaction };
  if (!hasPayment) {
    return challenge
      ? { kind: "challenge", challenge, reason: null }
      : { kind: "not_paid", message, delivery, isFailedOnLedger: false };
  }
  if (nextAction === "WAIT_AND_RETRY_WITH_THE_SAME_PAYMENT" || nextAction === "RETRY") {
    return { kind: "open", message, retryAfterSeconds: waitOf(content), transaction, isPaid };
  }
  if (outcome === "settled_not_delivered") return { kind: "undelivered", message, delivery, transaction };
  if (nextAction === "SIGN_PAYMENT_AND_RETRY" && (outcome === "not_sent" || outcome === "failed")) {
    return challenge && outcome === "not_sent"
      ? { kind: "challenge", challenge, reason: message }
      : { kind: "not_paid", message, delivery, isFailedOnLedger: outcome === "failed" };
  }
  return { kind: "unclear", message, delivery, transaction };
}

/** The codes of JSON-RPC whose request was refused before anything was sent. */
const NOT_SENT_CODES = new Set([-32700, -32600, -32601, -32602]);
const CALL_ERROR = -32002;

function readRefusal(refusal: ToolRefusal, hasPayment: boolean): CallOutcome {
  const { outcome, nextAction } = refusal.data;
  const isNeverSent =
    NOT_SENT_CODES.has(refusal.code) || (refusal.code === CALL_ERROR && refusal.reason !== "PAID_CALL_FAILED");
  if (!hasPayment || isNeverSent) {
    return { kind: "not_paid", message: refusal.message, delivery: null, isFailedOnLedger: false };
  }
  const message = `${refusal.message} ${SENTENCES[String(outcome)] ?? SENTENCES["unknown"]}`;
  if (nextAction === "RECONCILE_BEFORE_SIGNING_AGAIN") {
    return { kind: "unclear", message, delivery: null, transaction: null };
  }
  const isPaid = outcome === "settled_not_delivered";
  return { kind: "open", message, retryAfterSeconds: waitOf(refusal.data), transaction: null, isPaid };
}

/** Reads what a paid call came to; `hasPayment` says whether a signature was sent. */
export function readOutcome(answer: ToolResult | ToolRefusal, hasPayment: boolean): CallOutcome {
  return answer.kind === "refused"
    ? readRefusal(answer, hasPayment)
    : readResult(answer.content, hasPayment);
}

/** A response as text: JSON in lines, everything else as it came. */
export function textOf({ encoding, body }: Delivery): string {
  return encoding === "json" ? JSON.stringify(body, null, 2) : String(body ?? "");
}
