import { expect, test } from "vitest";
import { ApiError } from "@/api/errors";
import { outcomeOf, readRefusedOrder, readStoredRuns } from "./payRuns";

const errorOf = (status: number, details: unknown = null): ApiError =>
  new ApiError({ status, code: "any", message: "Any.", requestId: null, retryAfterSeconds: null, details });
const TERMS = { scheme: "exact", network: "stellar:testnet", asset: "C", amount: "1", payTo: "G", maxTimeoutSeconds: 120 };

test("a 402 is an offer, and one without terms is a payment that has failed", () => {
  expect(readRefusedOrder(errorOf(402, { accepts: [TERMS], error: "Payment required" }), false)).toMatchObject({ kind: "offer", notice: null });
  expect(readRefusedOrder(errorOf(402, { accepts: [TERMS], error: "other terms" }), true)).toMatchObject({ kind: "offer", notice: expect.stringContaining("other terms") as string });
  expect(readRefusedOrder(errorOf(402, { error: "insufficient_funds" }), true)).toMatchObject({ kind: "ended", notice: expect.stringContaining("insufficient_funds") as string });
});

test("a signed payment is kept while it may have been settled, and given up when it was refused", () => {
  for (const status of [0, 401, 429, 500, 503]) expect(readRefusedOrder(errorOf(status), true).kind).toBe("open");
  for (const status of [400, 404, 409]) expect(readRefusedOrder(errorOf(status), true).kind).toBe("ended");
  expect(readRefusedOrder(errorOf(503), false).kind).toBe("ended");
  expect(outcomeOf({ payment: { state: "pending" } } as never).kind).toBe("open");
  expect(outcomeOf({ payment: { state: "confirmed" } } as never).kind).toBe("done");
});

test("a stored payment is read, and anything else is none", () => {
  const stored = { order: { id: "auto_1", runs: null, isTopUp: false }, paymentSignature: "x", expiresAt: "2026-12-01T08:00:00Z" };
  expect(readStoredRuns(JSON.stringify(stored))).toEqual(stored);
  for (const text of [null, "", "{}", "[]", JSON.stringify({ ...stored, order: {} })]) expect(readStoredRuns(text)).toBeNull();
});
