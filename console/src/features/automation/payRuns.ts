import type { RunPaymentResult } from "@/api/automationTypes";
import type { RunOrder } from "@/api/automations";
import { payForRuns } from "@/api/automations";
import { ApiError } from "@/api/errors";
import { asRecord } from "@/api/records";
import type { JsonObject } from "@/api/records";
import type { Flow } from "@/payment/flow";
import type { Outcome } from "@/payment/outcome";
import { IN_DOUBT, openOutcome, outcomeOfFailure } from "@/payment/outcome";
import type { Seller } from "@/payment/seller";
import { Purchases } from "@/payment/purchases";
import { readChallenge } from "@/payment/terms";
import type { Purchase } from "@/payment/usePurchase";
import { Watch } from "@/payment/usePurchase";

export type RunsOutcome = Outcome<RunPaymentResult>;
export type RunsFlow = Flow<RunOrder, RunPaymentResult>;
export type RunsPurchase = Purchase<RunOrder, RunPaymentResult>;

/** The codes of the route that refuse a payment before it is sent. */
const UNSENT = new Set([
  "invalid_payment_header", "illegal_transition", "quote_expired", "payment_in_flight", "limit_exceeded",
  "automation_unavailable", "account_not_proven",
]);

/** Reads the answer to an order. The service settles the payment itself, so its word is proof. */
export function readRuns(answer: unknown, { id }: RunOrder, hasPayment: boolean): RunsOutcome {
  const { proposal, payment } = asRecord(answer);
  const { state, transaction } = asRecord(payment);
  const known = typeof transaction === "string" && transaction !== "" ? transaction : null;
  if (asRecord(proposal)["id"] === id && state === "confirmed") {
    return { kind: "answered", answer: answer as RunPaymentResult, isPaid: hasPayment, isProven: hasPayment, transaction: known };
  }
  return openOutcome({ message: "The payment is not final yet.", transaction: known });
}

const FAILED = "Its authorization is public until it expires, and may still pay: look at your account before you pay again.";

/** Reads a 402: an offer of this order's own route, or the failure of a payment, with its receipt. */
function readRefused(error: ApiError, order: RunOrder, hasPayment: boolean): RunsOutcome | null {
  const body = asRecord(error.details);
  const reason = typeof body["error"] === "string" ? body["error"] : "not stated";
  if (hasPayment && IN_DOUBT.has(reason)) return null;
  const challenge = readChallenge(body);
  const route = `/v1/automations/${order.id}/${order.isTopUp ? "topup" : "payment"}`;
  const url = asRecord(challenge?.resource)["url"];
  if (challenge && body["x402Version"] === 2 && typeof url === "string" && url.endsWith(route)) {
    return { kind: "offer", challenge, reason: hasPayment ? `This payment was not accepted, and nothing was moved. Reason: ${reason}.` : null };
  }
  const { success, errorReason } = error.receipt ?? {};
  if (success !== false || errorReason !== reason) return null;
  return { kind: "refused", message: `The transaction of this payment has failed. Reason: ${reason}. ${FAILED}`, answer: null, isFailedOnLedger: true };
}

/** Reads what was thrown in place of an answer to an order with a payment. */
export function readFailedOrder(error: unknown, order: RunOrder): RunsOutcome {
  const read = error instanceof ApiError && error.status === 402 ? readRefused(error, order, true) : null;
  return read ?? outcomeOfFailure(error, UNSENT);
}

async function ask(order: RunOrder): Promise<RunsOutcome> {
  try {
    return readRuns(await payForRuns(order, null), order, false);
  } catch (error) {
    const read = error instanceof ApiError && error.status === 402 ? readRefused(error, order, false) : null;
    if (read) return read;
    throw error;
  }
}

const isRequest = ({ id, runs, isTopUp }: JsonObject): boolean =>
  typeof id === "string" && typeof isTopUp === "boolean" && (runs === null || typeof runs === "number");

/** The runs of a plan. Their offer names the payment by the identifier of its quote. */
export const runs: Seller<RunOrder, RunPaymentResult> = {
  kind: "runs",
  isRequest,
  keepsIdentifier: true,
  ask,
  send: async ({ request }, paymentSignature) => {
    try {
      return readRuns(await payForRuns(request, paymentSignature), request, true);
    } catch (error) {
      return readFailedOrder(error, request);
    }
  },
};

export const runPurchases = new Purchases(runs);
export const runWatch = new Watch(runPurchases);
