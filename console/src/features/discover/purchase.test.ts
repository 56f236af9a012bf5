import { describe, expect, test } from "vitest";
import { openOutcome } from "@/payment/outcome";
import { proven, readOutcome } from "./purchase";

const TERMS = { scheme: "exact", network: "stellar:testnet", asset: "CTOKEN", amount: "100", payTo: "GSELLER", maxTimeoutSeconds: 60 };
const result = (content: object) => ({ kind: "result" as const, content: content as Record<string, unknown> });
const refused = (code: number, reason: string, data: object = {}) =>
  ({ kind: "refused" as const, code, reason, message: "No.", data: { reason, ...data } });

const failed = (errorReason: string) => ({ paymentResponse: { success: false, errorReason } });

describe("readOutcome", () => {
  const receipt = { paymentResponse: { success: true, transaction: "ab".repeat(32) } };
  const body = { status: 200, bodyEncoding: "json", body: { a: 1 }, contentType: "application/json" };
  const sign = { isPaid: false, nextAction: "SIGN_PAYMENT_AND_RETRY" };
  const reconcile = { nextAction: "RECONCILE_BEFORE_SIGNING_AGAIN" };
  const wait = { nextAction: "WAIT_AND_RETRY_WITH_THE_SAME_PAYMENT" };

  test("reads the challenge, and of its terms those that can be prepared", () => {
    const content = { x402Version: 2, accepts: [TERMS, { ...TERMS, scheme: "upto" }, 7], nextAction: "SIGN_PAYMENT_AND_RETRY" };
    expect(readOutcome(result(content), false)).toMatchObject({ kind: "offer", challenge: { accepts: [TERMS] } });
  });

  test.each([
    [{ ...body, ...receipt, isPaid: true, nextAction: "COMPLETE" }, "answered"],
    [{ ...body, isPaid: false, ...wait, outcome: "unknown" }, "open"],
    [{ ...body, isPaid: false, nextAction: "RETRY", outcome: "not_sent" }, "open"],
    [{ ...body, isPaid: false, ...reconcile, outcome: "unknown" }, "open"],
    [{ ...body, ...receipt, isPaid: true, ...reconcile, outcome: "settled_not_delivered" }, "undelivered"],
    [{ ...body, ...receipt, isPaid: true, ...wait, outcome: "settled_not_delivered" }, "open"],
    [{ ...body, isPaid: false, ...reconcile, outcome: "settled_not_delivered" }, "open"],
    [{ accepts: [TERMS], ...sign, outcome: "not_sent" }, "offer"],
    [{ accepts: [TERMS], isPaid: false, outcome: "unknown", ...reconcile }, "open"],
    [{ ...body, ...sign, outcome: "failed" }, "refused"],
    [{ ...body, ...sign, outcome: "not_sent" }, "refused"],
    [{ something: "new" }, "open"],
    [{ ...body, isPaid: false, nextAction: "COMPLETE" }, "open"],
    [{ ...body, isPaid: true, nextAction: "COMPLETE" }, "open"],
    [{ ...body, ...receipt, ...sign, isPaid: true, outcome: "not_sent" }, "open"],
  ])("reads the answer to a payment %#", (content, kind) => {
    expect(readOutcome(result(content), true).kind).toBe(kind);
  });

  test.each([
    { ...body, status: 409, body: { error: { code: "payment_used" } }, ...sign, outcome: "not_sent" },
    { ...body, status: 503, body: { error: { code: "service_unavailable" } }, ...sign, outcome: "not_sent" },
    { accepts: [TERMS], error: "duplicate_settlement", ...sign, outcome: "not_sent" },
    { ...body, status: 402, ...failed("settle_exact_stellar_foreign_landing"), ...sign, outcome: "failed" },
    { ...body, status: 402, ...failed("settle_exact_stellar_outcome_unproven"), ...sign, outcome: "failed" },
    { ...body, status: 402, ...failed("settlement_pending"), ...sign, outcome: "failed" },
  ])("signs nothing new where the reason does not speak against a landing %#", (content) => {
    expect(readOutcome(result(content), true).kind).toBe("open");
  });

  test.each([
    [refused(-32602, "INVALID_ARGUMENTS"), "unsent"],
    [refused(-32002, "RESOURCE_NOT_CATALOGED"), "unsent"],
    [refused(-32002, "PAID_CALL_FAILED", { outcome: "not_sent", nextAction: "RETRY" }), "unsent"],
    [refused(-32002, "PAID_CALL_FAILED", { outcome: "unknown", ...wait }), "open"],
    [refused(-32002, "PAID_CALL_FAILED", { outcome: "settled_not_delivered", ...wait }), "open"],
    [refused(-32603, "internal_error"), "open"],
    [refused(-32000, "service_unavailable"), "open"],
    [refused(-32000, "service_unavailable", { outcome: "not_sent" }), "open"],
    [refused(0, ""), "open"],
  ])("reads a refusal of a payment %#", (answer, kind) => {
    expect(readOutcome(answer, true).kind).toBe(kind);
    expect(readOutcome(answer, false).kind).toBe("refused");
  });

  test("takes no transaction from a stranger's challenge, and no text that is no hash", () => {
    const challenge = { accepts: [TERMS], ...receipt, outcome: "unknown", ...reconcile };
    expect(readOutcome(result(challenge), true)).toMatchObject({ transaction: null });
    const odd = { ...body, paymentResponse: { transaction: "<b>" }, isPaid: true, nextAction: "COMPLETE" };
    expect(readOutcome(result(odd), true)).toMatchObject({ kind: "open", transaction: null });
  });
});

test("what a receipt says counts as paid when the service shows the transfer, and is reported before", () => {
  const transaction = "ab".repeat(32);
  const undelivered = { kind: "undelivered" as const, message: "Owed.", answer: null, transaction };
  expect(proven(undelivered, true)).toBe(undelivered);
  expect(proven(undelivered, false)).toMatchObject({ kind: "open", transaction, mayRepeat: false, isPaid: false });
  expect(proven(openOutcome({ message: "" }), true)).toMatchObject({ kind: "open", isPaid: true });
});
