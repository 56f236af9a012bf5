import type { ToolRefusal, ToolResult } from "@/api/mcp";
import { asRecord } from "@/api/records";
import type { JsonObject } from "@/api/records";
import type { Outcome } from "@/payment/outcome";
import { IN_DOUBT, openOutcome } from "@/payment/outcome";
import { readChallenge } from "@/payment/terms";

/** The answer of the resource. `body` is a stranger's. */
export interface Delivery {
  status: number;
  contentType: string;
  encoding: "json" | "text" | "base64";
  body: unknown;
}

/** The outcome of a call, as `docs/agents.md` defines it; what a receipt says is not proven yet. */
export type CallOutcome = Outcome<Delivery>;

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

/** Why, in a code of the receipt, of the challenge or of the service's own error. */
const reasonOf = (content: JsonObject): string | null => {
  const receipt = asRecord(content["paymentResponse"]);
  const error = asRecord(asRecord(content["body"])["error"]);
  for (const each of [receipt["errorReason"], content["error"], error["code"]]) {
    if (typeof each === "string" && each !== "") return each;
  }
  return null;
};

const SENTENCES: Record<string, string> = {
  not_sent: "Nothing was paid.",
  failed: "The payment failed on the ledger, or can no longer land. Nothing was moved.",
  unknown: "It is not known yet whether the payment was settled.",
  settled_not_delivered: "The answer says that it is paid, and it has no response that counts.",
};
const sentenceOf = (outcome: unknown): string => SENTENCES[String(outcome)] ?? "The outcome is not known.";

/** Reads the answer to a call without a payment. */
function readUnpaid(content: JsonObject, message: string): CallOutcome {
  const challenge = readChallenge(content);
  const answer = readDelivery(content);
  if (content["nextAction"] === "COMPLETE" && answer) {
    return { kind: "answered", answer, isPaid: false, isProven: false, transaction: null };
  }
  if (challenge) return { kind: "offer", challenge, reason: null };
  return { kind: "refused", message, answer, isFailedOnLedger: false };
}

/** Reads the answer to a payment. What does not say all that it has to leaves the outcome open. */
function readPaid(content: JsonObject, message: string): CallOutcome {
  const challenge = readChallenge(content);
  const answer = readDelivery(content);
  const transaction = challenge ? null : readTransaction(content); // a challenge is a stranger's object
  const { outcome, nextAction } = content;
  const isPaid = content["isPaid"] === true;
  if (nextAction === "COMPLETE" && answer && isPaid && transaction !== null) {
    return { kind: "answered", answer, isPaid, isProven: false, transaction };
  }
  if (nextAction === "SIGN_PAYMENT_AND_RETRY" && !isPaid && !IN_DOUBT.has(reasonOf(content) ?? "")) {
    if (outcome === "failed") return { kind: "refused", message, answer, isFailedOnLedger: true };
    if (outcome === "not_sent") {
      return challenge ? { kind: "offer", challenge, reason: message } : { kind: "refused", message, answer, isFailedOnLedger: false };
    }
  }
  const mayRepeat = nextAction === "WAIT_AND_RETRY_WITH_THE_SAME_PAYMENT" || nextAction === "RETRY";
  if (outcome === "settled_not_delivered" && isPaid && transaction !== null && !mayRepeat) {
    return { kind: "undelivered", message, answer, transaction };
  }
  return openOutcome({ message, answer, transaction, mayRepeat, retryAfterSeconds: waitOf(content) });
}

/** The codes of JSON-RPC whose request was refused before anything was sent. */
const NEVER_SENT_CODES = new Set([-32700, -32600, -32601, -32602]);
const CALL_ERROR = -32002;

/** Reads a refusal of the service's own; one that could not be read has the code 0. */
function readRefusal(refusal: ToolRefusal, hasPayment: boolean): CallOutcome {
  const { data, code, reason } = refusal;
  if (!hasPayment) return { kind: "refused", message: refusal.message, answer: null, isFailedOnLedger: false };
  const isFailedCall = reason === "PAID_CALL_FAILED";
  const isNeverSent = NEVER_SENT_CODES.has(code) || (code === CALL_ERROR && !isFailedCall);
  if (isNeverSent || (code === CALL_ERROR && data["outcome"] === "not_sent")) {
    return {
      kind: "unsent",
      message: refusal.message,
      problem: { message: refusal.message },
      mayRepeat: !isNeverSent,
      retryAfterSeconds: waitOf(data),
    };
  }
  const message = `${refusal.message} ${sentenceOf(isFailedCall ? data["outcome"] : "unknown")}`;
  const mayRepeat = data["nextAction"] !== "RECONCILE_BEFORE_SIGNING_AGAIN";
  return openOutcome({ message, mayRepeat, retryAfterSeconds: waitOf(data) });
}

/** Reads what the service says of a paid call; `hasPayment` says whether a signature was sent. */
export function readOutcome(answer: ToolResult | ToolRefusal, hasPayment: boolean): CallOutcome {
  if (answer.kind === "refused") return readRefusal(answer, hasPayment);
  const reason = reasonOf(answer.content);
  const sentence = sentenceOf(answer.content["outcome"]);
  const message = reason === null ? sentence : `${sentence} The reason: ${reason}.`;
  return hasPayment ? readPaid(answer.content, message) : readUnpaid(answer.content, message);
}

/** What an outcome says is paid, once the ledger was looked at; it is only reported until then. */
export function proven(outcome: CallOutcome, isOnLedger: boolean): CallOutcome {
  if (outcome.kind === "answered") return { ...outcome, isProven: isOnLedger };
  if (outcome.kind === "open") return { ...outcome, isPaid: isOnLedger };
  if (outcome.kind !== "undelivered" || isOnLedger) return outcome;
  const { message, answer, transaction } = outcome;
  return openOutcome({ message, answer, transaction, mayRepeat: false });
}

/** A response as text: JSON in lines, everything else as it came. */
export function textOf({ encoding, body }: Delivery): string {
  return encoding === "json" ? JSON.stringify(body, null, 2) : String(body ?? "");
}
