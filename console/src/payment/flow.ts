import type { Open, Outcome } from "./outcome";
import { openOutcome } from "./outcome";
import type { SignedPayment } from "./signedPayment";
import type { Challenge, Review, Terms } from "./terms";

/** An outcome that is final. */
export type Ended<A> = Exclude<Outcome<A>, { kind: "offer" | "open" | "unsent" }>;

/** What stays as it was typed and offered, when a step fails. */
interface Offered<R> {
  request: R;
  challenge: Challenge;
}

interface Waiting<R, A> {
  step: "waiting";
  payment: SignedPayment<R>;
  last: Open<A>;
  /** By the page's monotonic clock, which nobody sets. */
  dueAt: number;
  seconds: number;
}

/** The state of a purchase: `R` is what is asked for, `A` what the seller gives. */
export type Flow<R, A> =
  | { step: "form"; request: R | null; problem: unknown }
  | { step: "asking"; request: R }
  | (Offered<R> & { step: "offered"; notice: string | null; problem: unknown })
  | (Offered<R> & { step: "preparing"; terms: Terms })
  | (Offered<R> & { step: "review"; review: Review; problem: unknown })
  | (Offered<R> & { step: "signing"; review: Review })
  | { step: "paying"; payment: SignedPayment<R> }
  | Waiting<R, A>
  | { step: "ended"; payment: SignedPayment<R> | null; request: R; outcome: Ended<A> };

export type FlowEvent<R, A> =
  | { type: "ask"; request: R }
  | { type: "answered"; outcome: Outcome<A> }
  | { type: "pay"; terms: Terms }
  | { type: "prepared"; review: Review }
  | { type: "sign" }
  | { type: "signed"; payment: SignedPayment<R> }
  | { type: "completed"; paymentSignature: string }
  /** The answer to a payment. `isOver`: its last ledger has passed, as the service says. */
  | { type: "sent"; outcome: Outcome<A>; isOver: boolean; now: number }
  /** The service was asked for the ledger and for the transfer, without sending anything. */
  | { type: "looked"; isOver: boolean; isPaid: boolean; now: number }
  /** The payment, as it is kept, is sent again. */
  | { type: "due"; payment: SignedPayment<R> }
  /** Another tab is sending it. */
  | { type: "busy"; now: number }
  /** A step failed, and nothing was sent. */
  | { type: "failed"; problem: unknown }
  | { type: "back" }
  /** A kept payment was found, from before or from another tab. */
  | { type: "resumed"; payment: SignedPayment<R>; now: number }
  /** Another tab has ended it. */
  | { type: "gone"; problem: unknown };

export const START = { step: "form", request: null, problem: null } as const;

const MAX_WAIT_SECONDS = 30;
const MAX_WAIT_SECONDS_WHEN_OVER = 300;
const LOOK_SECONDS = 15;

/** How long to wait for the next sending: as asked, and longer from attempt to attempt. */
export const waitSeconds = (attempts: number, asked: number, isOver: boolean): number =>
  Math.max(asked, Math.min(2 + 2 * attempts, isOver ? MAX_WAIT_SECONDS_WHEN_OVER : MAX_WAIT_SECONDS));

/** The payment that must be kept: it was or may be sent, and its outcome is not known. */
export const openPayment = <R, A>(flow: Flow<R, A>): SignedPayment<R> | null =>
  flow.step === "paying" || flow.step === "waiting" ? flow.payment : null;

function answered<R, A>(request: R, outcome: Outcome<A>): Flow<R, A> {
  switch (outcome.kind) {
    case "offer":
      return { step: "offered", request, challenge: outcome.challenge, notice: outcome.reason, problem: null };
    case "open":
    case "unsent":
      return { step: "form", request, problem: outcome.problem ?? { message: outcome.message } };
    default:
      return { step: "ended", payment: null, request, outcome };
  }
}

function waiting<R, A>(payment: SignedPayment<R>, last: Open<A>, now: number): Flow<R, A> {
  const { attempts, isOver } = payment;
  const seconds = last.mayRepeat ? waitSeconds(attempts, last.retryAfterSeconds, isOver) : LOOK_SECONDS;
  return { step: "waiting", payment, last, dueAt: now + seconds * 1000, seconds };
}

/**
 * The state after a payment was sent. A word of the service that nothing can land ends it where no
 * earlier sending is unaccounted for: one that a proxy still holds can land until the last ledger. So
 * can an authorization whose transaction failed, because everybody reads it on the ledger.
 */
function sent<R, A>(payment: SignedPayment<R>, outcome: Outcome<A>, now: number): Flow<R, A> {
  const { request, isOver, isPaid } = payment;
  switch (outcome.kind) {
    case "open":
      return waiting({ ...payment, isPaid: isPaid || outcome.isPaid, transaction: outcome.transaction ?? payment.transaction }, outcome, now);
    case "unsent": {
      const { message, problem, mayRepeat, retryAfterSeconds } = outcome;
      const rest = { ...payment, unaccounted: payment.unaccounted - 1 };
      const isUnsent = rest.unaccounted <= 0 && !isPaid;
      if (isUnsent && (isOver || !mayRepeat)) {
        return { step: "ended", payment, request, outcome: { kind: "refused", message: `${message} Nothing was paid.`, answer: null, isFailedOnLedger: false } };
      }
      const words = isUnsent ? "Nothing has been sent yet." : "An earlier request may have been settled.";
      return waiting(rest, openOutcome<A>({ message: words, problem, retryAfterSeconds }), now);
    }
    case "offer":
    case "refused": {
      const isPublic = outcome.kind === "refused" && outcome.isFailedOnLedger;
      if (isPaid || ((isPublic || payment.unaccounted > 1) && !isOver)) {
        const message = isPublic && !isPaid ? outcome.message : "An earlier request may still be settled.";
        return waiting(payment, openOutcome<A>({ message }), now);
      }
      return outcome.kind === "offer" ? answered(request, outcome) : { step: "ended", payment, request, outcome };
    }
    default:
      return { step: "ended", payment: { ...payment, transaction: outcome.transaction ?? payment.transaction }, request, outcome };
  }
}

/** After a look: a payment that turns out to be paid is sent once more, for its response. */
function looked<R, A>(flow: Waiting<R, A>, isOver: boolean, isPaid: boolean, now: number): Flow<R, A> {
  const payment = { ...flow.payment, isOver: flow.payment.isOver || isOver, isPaid: flow.payment.isPaid || isPaid };
  const next = waiting(payment, flow.last, now);
  const isNews = isPaid && !flow.payment.isPaid;
  return isNews && next.step === "waiting" ? { ...next, last: { ...flow.last, mayRepeat: true }, dueAt: now, seconds: 0 } : next;
}

/** Where a failed step leads: nothing was sent, and what was typed and offered stays. */
function failed<R, A>(flow: Flow<R, A>, problem: unknown): Flow<R, A> {
  switch (flow.step) {
    case "asking":
      return { step: "form", request: flow.request, problem };
    case "preparing":
      return { step: "offered", request: flow.request, challenge: flow.challenge, notice: null, problem };
    case "signing":
      return { ...flow, step: "review", problem };
    default:
      return flow;
  }
}

function back<R, A>(flow: Flow<R, A>): Flow<R, A> {
  if (flow.step === "review") {
    return { step: "offered", request: flow.request, challenge: flow.challenge, notice: null, problem: null };
  }
  return flow.step === "offered" || flow.step === "ended" ? { step: "form", request: flow.request, problem: null } : flow;
}

function resumed<R, A>(flow: Flow<R, A>, payment: SignedPayment<R>, now: number): Flow<R, A> {
  // what an ended one has brought stays on the page
  if (flow.step === "paying" || flow.step === "signing" || flow.step === "ended") return flow;
  if (flow.step === "waiting") return { ...flow, payment };
  const last = openOutcome<A>({ message: "A payment from before is not finished." });
  return { step: "waiting", payment, last, dueAt: now, seconds: 0 };
}

/** One more sending; before the first one with a finished payment none has left the service. */
const again = <R>(payment: SignedPayment<R>): SignedPayment<R> => ({
  ...payment,
  attempts: payment.attempts + 1,
  unaccounted: payment.paymentSignature === null ? 1 : payment.unaccounted + 1,
});

/**
 * The next state of a purchase. An event that does not fit the state changes nothing: a second
 * click, or an answer that comes late, neither signs nor pays. From `signed` on there is one
 * signature until the outcome is final, and no clock of the page ends it.
 */
export function nextFlow<R, A>(flow: Flow<R, A>, event: FlowEvent<R, A>): Flow<R, A> {
  switch (event.type) {
    case "ask": {
      const isFree = flow.step === "form" || flow.step === "offered" || flow.step === "ended";
      return isFree ? { step: "asking", request: event.request } : flow;
    }
    case "answered":
      return flow.step === "asking" ? answered(flow.request, event.outcome) : flow;
    case "pay":
      return flow.step === "offered" ? { step: "preparing", request: flow.request, challenge: flow.challenge, terms: event.terms } : flow;
    case "prepared":
      return flow.step === "preparing"
        ? { step: "review", request: flow.request, challenge: flow.challenge, review: event.review, problem: null }
        : flow;
    case "sign":
      return flow.step === "review"
        ? { step: "signing", request: flow.request, challenge: flow.challenge, review: flow.review }
        : flow;
    case "signed":
      return flow.step === "signing" ? { step: "paying", payment: again(event.payment) } : flow;
    case "completed":
      return flow.step === "paying"
        ? { step: "paying", payment: { ...flow.payment, paymentSignature: event.paymentSignature, completion: null } }
        : flow;
    case "sent":
      return flow.step === "paying" ? sent({ ...flow.payment, isOver: flow.payment.isOver || event.isOver }, event.outcome, event.now) : flow;
    case "looked":
      return flow.step === "waiting" ? looked(flow, event.isOver, event.isPaid, event.now) : flow;
    case "due":
      return flow.step === "waiting" ? { step: "paying", payment: again(event.payment) } : flow;
    case "busy":
      return flow.step === "waiting" ? { ...flow, dueAt: event.now + flow.seconds * 1000 } : flow;
    case "failed":
      return failed(flow, event.problem);
    case "back":
      return back(flow);
    case "resumed":
      return resumed(flow, event.payment, event.now);
    case "gone":
      return flow.step === "waiting" ? { step: "form", request: flow.payment.request, problem: event.problem } : flow;
  }
}
