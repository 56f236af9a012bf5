import type { JsonObject } from "@/api/records";
import type { Challenge, Review, Terms } from "@/payment/terms";
import type { CallOutcome } from "./purchase";

/** The arguments of `paid_call`, without the payment. */
export interface CallArguments {
  url: string;
  method?: "GET" | "POST";
  pathParams?: JsonObject;
  query?: JsonObject;
  body?: unknown;
}

/** A payment that is signed: it is sent as often as needed, and no other one is made meanwhile. */
export interface SignedPayment {
  call: CallArguments;
  terms: Terms;
  payer: string;
  paymentSignature: string;
  /** ISO 8601: no later ledger takes it. */
  expiresAt: string;
  /** How often it was sent. */
  attempts: number;
  transaction: string | null;
  /** Whether a receipt has said that it was settled: what is missing then is the response. */
  isPaid: boolean;
}

type Ended = Exclude<CallOutcome, { kind: "challenge" | "open" }>;

/** What stays as it was typed and offered, when a step fails. */
interface Offered {
  call: CallArguments;
  challenge: Challenge;
}

export type Flow =
  | { step: "form"; call: CallArguments | null; problem: unknown }
  | { step: "asking"; call: CallArguments }
  | (Offered & { step: "offered"; notice: string | null; problem: unknown })
  | (Offered & { step: "preparing"; terms: Terms })
  | (Offered & { step: "review"; review: Review; problem: unknown })
  | (Offered & { step: "signing"; review: Review })
  | (Offered & { step: "completing"; review: Review; signature: string; problem: unknown })
  | { step: "paying"; payment: SignedPayment }
  | { step: "waiting"; payment: SignedPayment; message: string; problem: unknown; dueAt: number; seconds: number }
  | { step: "ended"; payment: SignedPayment | null; call: CallArguments; outcome: Ended };

export type FlowEvent =
  | { type: "ask"; call: CallArguments }
  | { type: "answered"; outcome: CallOutcome }
  | { type: "pay"; terms: Terms }
  | { type: "prepared"; review: Review }
  | { type: "sign" }
  | { type: "signed"; signature: string }
  | { type: "complete" }
  | { type: "completed"; payment: SignedPayment }
  | { type: "sent"; outcome: CallOutcome; now: number }
  | { type: "unanswered"; problem: unknown; retryAfterSeconds: number | null; now: number }
  | { type: "due" }
  /** A step failed. `isOutage`: what it asked for may be asked again. */
  | { type: "failed"; problem: unknown; isOutage: boolean }
  | { type: "back" }
  | { type: "resumed"; payment: SignedPayment };

export const START: Flow = { step: "form", call: null, problem: null };

/** After its expiry a payment is sent again for this long, to learn what happened to it. */
const AFTER_EXPIRY_MS = 120_000;
const MAX_WAIT_SECONDS = 30;

/** How long to wait for the next sending: as asked, and longer from attempt to attempt. */
export const waitSeconds = (attempts: number, asked: number): number =>
  Math.max(asked, Math.min(2 + 2 * attempts, MAX_WAIT_SECONDS));

export const isExpired = (payment: SignedPayment, now: number): boolean => now > Date.parse(payment.expiresAt);

/** Whether the outcome is final: a new signature can then not pay twice. */
export const isFinal = (flow: Flow): boolean => flow.step === "ended" && flow.outcome.kind !== "unclear";

/** The payment that must be kept across a reload: it was or may have been sent, and is not final. */
export function openPayment(flow: Flow): SignedPayment | null {
  if (flow.step === "paying" || flow.step === "waiting") return flow.payment;
  return flow.step === "ended" && flow.outcome.kind === "unclear" ? flow.payment : null;
}

function answered(call: CallArguments, outcome: CallOutcome): Flow {
  if (outcome.kind === "challenge") {
    return { step: "offered", call, challenge: outcome.challenge, notice: outcome.reason, problem: null };
  }
  if (outcome.kind === "open") return { step: "form", call, problem: { message: outcome.message } };
  return { step: "ended", payment: null, call, outcome };
}

function sent(payment: SignedPayment, outcome: CallOutcome, now: number): Flow {
  const { call } = payment;
  if (outcome.kind === "challenge") return answered(call, outcome);
  if (outcome.kind !== "open") {
    const transaction = ("transaction" in outcome ? outcome.transaction : null) ?? payment.transaction;
    return { step: "ended", payment: { ...payment, transaction }, call, outcome };
  }
  const { message, retryAfterSeconds } = outcome;
  const isPaid = outcome.isPaid || payment.isPaid;
  const kept = { ...payment, isPaid, transaction: outcome.transaction ?? payment.transaction };
  return waiting(kept, message, null, retryAfterSeconds, now);
}

function waiting(payment: SignedPayment, message: string, problem: unknown, asked: number, now: number): Flow {
  if (now > Date.parse(payment.expiresAt) + AFTER_EXPIRY_MS) {
    const { transaction, call, isPaid } = payment;
    const kind = isPaid ? ("undelivered" as const) : ("unclear" as const);
    const outcome = { kind, message, delivery: null, transaction };
    return { step: "ended", payment, call, outcome };
  }
  const seconds = waitSeconds(payment.attempts, asked);
  return { step: "waiting", payment, message, problem, dueAt: now + seconds * 1000, seconds };
}

/** Where a failed step leads: nothing was sent, and what was typed and offered stays. */
function failed(flow: Flow, problem: unknown, isOutage: boolean): Flow {
  switch (flow.step) {
    case "asking":
      return { step: "form", call: flow.call, problem };
    case "preparing":
      return { step: "offered", call: flow.call, challenge: flow.challenge, notice: null, problem };
    case "signing":
      return { ...flow, step: "review", problem };
    case "completing":
      // The signature stays, and is completed again; one that is refused is worth nothing.
      return isOutage
        ? { ...flow, problem }
        : { step: "offered", call: flow.call, challenge: flow.challenge, notice: null, problem };
    default:
      return flow;
  }
}

function back(flow: Flow): Flow {
  if (flow.step === "review") {
    return { step: "offered", call: flow.call, challenge: flow.challenge, notice: null, problem: null };
  }
  if (flow.step === "offered" || isFinal(flow)) return { step: "form", call: "call" in flow ? flow.call : null, problem: null };
  return flow;
}

const again = (payment: SignedPayment): Flow => ({
  step: "paying",
  payment: { ...payment, attempts: payment.attempts + 1 },
});

/**
 * The next state of a purchase. An event that does not fit the state changes nothing: a second
 * click, or an answer that comes late, neither signs nor pays. From `completed` on there is one
 * signature until the outcome is final.
 */
export function nextFlow(flow: Flow, event: FlowEvent): Flow {
  switch (event.type) {
    case "ask": {
      const isFree = flow.step === "form" || flow.step === "offered" || isFinal(flow);
      return isFree ? { step: "asking", call: event.call } : flow;
    }
    case "answered":
      return flow.step === "asking" ? answered(flow.call, event.outcome) : flow;
    case "pay":
      return flow.step === "offered"
        ? { step: "preparing", call: flow.call, challenge: flow.challenge, terms: event.terms }
        : flow;
    case "prepared":
      return flow.step === "preparing"
        ? { step: "review", call: flow.call, challenge: flow.challenge, review: event.review, problem: null }
        : flow;
    case "sign":
      return flow.step === "review"
        ? { step: "signing", call: flow.call, challenge: flow.challenge, review: flow.review }
        : flow;
    case "signed":
      return flow.step === "signing"
        ? { ...flow, step: "completing", signature: event.signature, problem: null }
        : flow;
    case "complete":
      return flow.step === "completing" && flow.problem !== null ? { ...flow, problem: null } : flow;
    case "completed":
      return flow.step === "completing" ? { step: "paying", payment: event.payment } : flow;
    case "sent":
      return flow.step === "paying" ? sent(flow.payment, event.outcome, event.now) : flow;
    case "unanswered":
      return flow.step === "paying"
        ? waiting(flow.payment, "It is not known yet whether the payment was settled.", event.problem, event.retryAfterSeconds ?? 0, event.now)
        : flow;
    case "due":
      if (flow.step === "waiting") return again(flow.payment);
      return flow.step === "ended" && flow.outcome.kind === "unclear" && flow.payment ? again(flow.payment) : flow;
    case "failed":
      return failed(flow, event.problem, event.isOutage);
    case "back":
      return back(flow);
    case "resumed":
      return flow.step === "form"
        ? { step: "waiting", payment: event.payment, message: "A payment from before is not finished.", problem: null, dueAt: 0, seconds: 0 }
        : flow;
  }
}
