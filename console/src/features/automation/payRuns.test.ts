import { describe, expect, test } from "vitest";
import { ApiError } from "@/api/errors";
import { nextFlow } from "@/payment/flow";
import type { SignedPayment } from "@/payment/signedPayment";
import { readFailedOrder, readRuns, runs } from "./payRuns";
import type { RunsFlow } from "./payRuns";

const ORDER = { id: "auto_1", runs: 4, isTopUp: false };
const TERMS = {
  scheme: "exact" as const,
  network: "stellar:testnet" as const,
  asset: "C",
  amount: "1",
  payTo: "G",
  maxTimeoutSeconds: 120,
};
const OFFER = { x402Version: 2, accepts: [TERMS], resource: { url: "https://pay.example/v1/automations/auto_1/payment" } };
const PAYMENT: SignedPayment<typeof ORDER> = {
  request: ORDER,
  terms: TERMS,
  payer: "GBUYER",
  paymentSignature: "signed",
  completion: null,
  expirationLedger: 900,
  expiresAt: "2026-11-25T10:01:00Z",
  attempts: 1,
  unaccounted: 1,
  transaction: null,
  isPaid: false,
  isOver: false,
};
const TRANSACTION_FAILED = "settle_exact_stellar_transaction_failed";
const FAILED = { details: { error: TRANSACTION_FAILED }, receipt: { success: false, errorReason: TRANSACTION_FAILED } };
const STATUSES = Array.from({ length: 400 }, (_, index) => 200 + index);

interface Members {
  code?: string;
  details?: unknown;
  isOwn?: boolean;
  receipt?: Record<string, unknown>;
}
const errorOf = (status: number, { code = "unreadable_answer", ...members }: Members = {}): ApiError =>
  new ApiError({ status, code, message: "Any.", requestId: null, retryAfterSeconds: null, details: null, ...members });

describe("an order with a payment", () => {
  test("stays open whatever comes in place of the service's answer", () => {
    const others: Members[] = [
      {},
      { details: "<html>" },
      { details: { error: "Payment Required" } },
      { details: { accepts: [TERMS], error: "pay here" } },
      { details: { ...OFFER, resource: { url: "https://proxy.example/" } } },
      { code: "illegal_transition" },
      { code: "not_found", isOwn: true },
      { code: "payment_used", isOwn: true },
      { code: "settlement_pending", isOwn: true },
    ];
    for (const status of [0, ...STATUSES]) {
      for (const each of others) expect([status, each, readFailedOrder(errorOf(status, each), ORDER).kind]).toEqual([status, each, "open"]);
    }
    for (const body of [null, "<html>", {}, { payment: { state: "confirmed" } }, { proposal: { id: "auto_2" }, payment: { state: "confirmed" } }]) {
      expect(readRuns(body, ORDER, true).kind).toBe("open");
    }
  });

  test("is ended by the service's own refusal, unless an earlier sending may have landed", () => {
    const refusal = readFailedOrder(errorOf(409, { code: "illegal_transition", isOwn: true }), ORDER);
    const after = (payment: typeof PAYMENT, isOver: boolean): RunsFlow =>
      nextFlow<typeof ORDER, never>({ step: "paying", payment }, { type: "sent", outcome: refusal as never, isOver, now: 0 });
    expect(after(PAYMENT, false)).toMatchObject({ step: "ended", outcome: { kind: "refused" } });
    for (const isOver of [false, true]) expect(after({ ...PAYMENT, attempts: 2, unaccounted: 2 }, isOver).step).toBe("waiting");
  });

  test("is answered by an offer of its own route, or by a failure with its receipt", () => {
    const offered = readFailedOrder(errorOf(402, { details: { ...OFFER, error: "insufficient_funds" } }), ORDER);
    expect(offered).toMatchObject({ kind: "offer", reason: expect.stringContaining("insufficient_funds") as string });
    expect(readFailedOrder(errorOf(402, FAILED), ORDER)).toMatchObject({ kind: "refused", isFailedOnLedger: true });
    for (const reason of ["settlement_pending", "settle_exact_stellar_foreign_landing"]) {
      const inDoubt = errorOf(402, { details: { error: reason }, receipt: { success: false, errorReason: reason } });
      expect(readFailedOrder(inDoubt, ORDER).kind).toBe("open");
    }
  });

  test("whose transaction failed on the ledger is kept until its authorization has expired", () => {
    const outcome = readFailedOrder(errorOf(402, FAILED), ORDER);
    const after = (isOver: boolean): RunsFlow =>
      nextFlow<typeof ORDER, never>({ step: "paying", payment: PAYMENT }, { type: "sent", outcome: outcome as never, isOver, now: 0 });
    expect(after(false)).toMatchObject({ step: "waiting", payment: PAYMENT, last: { mayRepeat: true } });
    expect(after(true)).toMatchObject({ step: "ended", outcome: { kind: "refused" } });
  });

  test("is paid when the service has confirmed it for this plan", () => {
    const body = { proposal: { id: "auto_1" }, payment: { state: "confirmed", transaction: "ab" } };
    expect(readRuns(body, ORDER, true)).toMatchObject({ kind: "answered", isProven: true, transaction: "ab" });
    expect(readRuns({ ...body, payment: { state: "pending", transaction: "ab" } }, ORDER, true)).toMatchObject({ kind: "open", transaction: "ab" });
  });
});

test("a kept order is read, and anything else is none", () => {
  for (const each of [ORDER, { ...ORDER, runs: null }]) expect(runs.isRequest(each)).toBe(true);
  for (const each of [{}, { ...ORDER, id: 1 }, { ...ORDER, isTopUp: 0 }, { ...ORDER, runs: "4" }]) expect(runs.isRequest(each)).toBe(false);
});
