import { describe, expect, test } from "vitest";
import { isFinal, nextFlow, openPayment, START, waitSeconds } from "./purchaseFlow";
import type { Flow, FlowEvent, SignedPayment } from "./purchaseFlow";
import { readOutcome } from "./purchase";
import { readStored } from "./purchaseStore";

const TERMS = {
  scheme: "exact" as const,
  network: "stellar:testnet" as const,
  asset: "CTOKEN",
  amount: "100",
  payTo: "GSELLER",
  maxTimeoutSeconds: 60,
};
const CALL = { url: "https://api.example.com/x" };
const CHALLENGE = { accepts: [TERMS], resource: undefined, extensions: undefined };
const REVIEW = { terms: TERMS, payer: "GBUYER", walletName: "Freighter", prepared: {} as never, statements: [] };
const NOW = Date.parse("2026-11-25T10:00:00Z");
const PAYMENT: SignedPayment = {
  call: CALL,
  terms: TERMS,
  payer: "GBUYER",
  paymentSignature: "signed",
  expiresAt: "2026-11-25T10:01:00Z",
  attempts: 1,
  transaction: null,
  isPaid: false,
};
const DELIVERY = { status: 200, contentType: "", encoding: "text" as const, body: "hello" };
const OPEN = { kind: "open" as const, message: "later", retryAfterSeconds: 7, transaction: "ab".repeat(32), isPaid: false };

const EVENTS: Record<FlowEvent["type"], FlowEvent> = {
  ask: { type: "ask", call: CALL },
  answered: { type: "answered", outcome: { kind: "challenge", challenge: CHALLENGE, reason: null } },
  pay: { type: "pay", terms: TERMS },
  prepared: { type: "prepared", review: REVIEW },
  sign: { type: "sign" },
  signed: { type: "signed", signature: "s" },
  complete: { type: "complete" },
  completed: { type: "completed", payment: PAYMENT },
  sent: { type: "sent", outcome: OPEN, now: NOW },
  unanswered: { type: "unanswered", problem: new Error("no answer"), retryAfterSeconds: null, now: NOW },
  due: { type: "due" },
  failed: { type: "failed", problem: new Error("refused"), isOutage: false },
  back: { type: "back" },
  resumed: { type: "resumed", payment: PAYMENT },
};
type Name = keyof typeof EVENTS;

const after = (...names: Name[]): Flow => names.reduce((flow, name) => nextFlow(flow, EVENTS[name]), START);
const TO_PAYING: Name[] = ["ask", "answered", "pay", "prepared", "sign", "signed", "completed"];

describe("nextFlow", () => {
  test("leads from the form to the payment", () => {
    const steps = TO_PAYING.map((_, index) => after(...TO_PAYING.slice(0, index + 1)).step);
    expect(steps).toEqual(["asking", "offered", "preparing", "review", "signing", "completing", "paying"]);
  });

  test("allows in each state only the events that belong to it", () => {
    const allowed: Record<string, Name[]> = {
      form: ["ask", "resumed"],
      asking: ["answered", "failed"],
      offered: ["ask", "pay", "back"],
      preparing: ["prepared", "failed"],
      review: ["sign", "back"],
      signing: ["signed", "failed"],
      completing: ["completed", "failed"],
      paying: ["sent", "unanswered"],
      waiting: ["due"],
    };
    const paths: Name[][] = [[], ...TO_PAYING.map((_, index) => TO_PAYING.slice(0, index + 1)), [...TO_PAYING, "sent"]];
    for (const path of paths) {
      const flow = after(...path);
      const taken = (Object.keys(EVENTS) as Name[]).filter((name) => nextFlow(flow, EVENTS[name]) !== flow);
      expect([flow.step, taken.sort()]).toEqual([flow.step, [...(allowed[flow.step] ?? [])].sort()]);
    }
  });

  test("never signs again while a payment is open", () => {
    for (const path of [TO_PAYING, [...TO_PAYING, "sent"], [...TO_PAYING, "unanswered"]] as Name[][]) {
      const flow = after(...path);
      expect(openPayment(flow)?.paymentSignature).toBe("signed");
      for (const name of ["ask", "pay", "prepared", "sign", "signed", "completed", "back", "failed"] as Name[]) {
        expect(nextFlow(flow, EVENTS[name])).toBe(flow);
      }
    }
  });

  test("sends the same payment again when it is due, and counts the attempts", () => {
    const flow = after(...TO_PAYING, "sent", "due");
    expect(flow).toMatchObject({ step: "paying", payment: { ...PAYMENT, attempts: 2, transaction: OPEN.transaction } });
  });

  test("waits as long as it is asked to", () => {
    expect(after(...TO_PAYING, "sent")).toMatchObject({ step: "waiting", dueAt: NOW + 7_000 });
    expect([waitSeconds(1, 0), waitSeconds(5, 0), waitSeconds(50, 0), waitSeconds(1, 90)]).toEqual([4, 12, 30, 90]);
  });

  test("gives up two minutes after the expiry and keeps the payment", () => {
    const flow = nextFlow(after(...TO_PAYING), { type: "sent", outcome: OPEN, now: NOW + 181_000 });
    expect(flow).toMatchObject({ step: "ended", outcome: { kind: "unclear" } });
    expect(isFinal(flow)).toBe(false);
    expect(openPayment(flow)).not.toBeNull();
    expect(nextFlow(flow, EVENTS.ask)).toBe(flow);
    expect(nextFlow(flow, EVENTS.due).step).toBe("paying");
  });

  test("remembers that it was paid, and never calls it unclear afterwards", () => {
    const paid = nextFlow(after(...TO_PAYING), { type: "sent", outcome: { ...OPEN, isPaid: true }, now: NOW });
    const lost = nextFlow(nextFlow(paid, EVENTS.due), { ...EVENTS.unanswered, now: NOW + 181_000 } as FlowEvent);
    expect(lost).toMatchObject({ step: "ended", outcome: { kind: "undelivered" }, payment: { isPaid: true } });
  });

  test.each(["answered", "not_paid", "undelivered"] as const)("ends with %s and keeps nothing", (kind) => {
    const outcome = { kind, message: "", delivery: DELIVERY, isPaid: true, transaction: null, isFailedOnLedger: false };
    const flow = nextFlow(after(...TO_PAYING), { type: "sent", outcome, now: NOW });
    expect(isFinal(flow)).toBe(true);
    expect(openPayment(flow)).toBeNull();
    expect(nextFlow(flow, EVENTS.ask).step).toBe("asking");
  });

  test("keeps form and terms when the wallet declines", () => {
    const flow = after("ask", "answered", "pay", "prepared", "sign", "failed");
    expect(flow).toMatchObject({ step: "review", call: CALL, challenge: CHALLENGE, review: REVIEW });
    expect(after("ask", "answered", "pay", "failed")).toMatchObject({ step: "offered", call: CALL });
    expect(after("ask", "failed")).toMatchObject({ step: "form", call: CALL });
  });

  test("completes the same signature again after an outage, and drops one that is refused", () => {
    const outage = nextFlow(after(...TO_PAYING.slice(0, -1)), { ...EVENTS.failed, isOutage: true } as FlowEvent);
    expect(outage).toMatchObject({ step: "completing", signature: "s" });
    expect(nextFlow(outage, EVENTS.complete)).toMatchObject({ step: "completing", signature: "s", problem: null });
    expect(after(...TO_PAYING.slice(0, -1), "failed").step).toBe("offered");
  });
});

const result = (content: object) => ({ kind: "result" as const, content: content as Record<string, unknown> });
const refused = (code: number, reason: string, data: object = {}) =>
  ({ kind: "refused" as const, code, reason, message: "No.", data: { reason, ...data } });

describe("readOutcome", () => {
  const receipt = { paymentResponse: { success: true, transaction: "ab".repeat(32) } };
  const body = { status: 200, bodyEncoding: "json", body: { a: 1 }, contentType: "application/json" };
  test("reads the challenge, and of its terms those that can be prepared", () => {
    const content = { x402Version: 2, accepts: [TERMS, { ...TERMS, scheme: "upto" }, 7], nextAction: "SIGN_PAYMENT_AND_RETRY" };
    expect(readOutcome(result(content), false)).toMatchObject({ kind: "challenge", challenge: { accepts: [TERMS] } });
  });

  test.each([
    [{ ...body, ...receipt, isPaid: true, nextAction: "COMPLETE" }, "answered"],
    [{ ...body, isPaid: false, nextAction: "WAIT_AND_RETRY_WITH_THE_SAME_PAYMENT", outcome: "unknown" }, "open"],
    [{ ...body, isPaid: false, nextAction: "RETRY", outcome: "not_sent" }, "open"],
    [{ ...body, isPaid: false, nextAction: "RECONCILE_BEFORE_SIGNING_AGAIN", outcome: "unknown" }, "unclear"],
    [{ ...body, ...receipt, isPaid: true, nextAction: "RECONCILE_BEFORE_SIGNING_AGAIN", outcome: "settled_not_delivered" }, "undelivered"],
    [{ ...body, ...receipt, isPaid: true, nextAction: "WAIT_AND_RETRY_WITH_THE_SAME_PAYMENT", outcome: "settled_not_delivered" }, "open"],
    [{ accepts: [TERMS], isPaid: false, outcome: "not_sent", nextAction: "SIGN_PAYMENT_AND_RETRY" }, "challenge"],
    [{ accepts: [TERMS], isPaid: false, outcome: "unknown", nextAction: "RECONCILE_BEFORE_SIGNING_AGAIN" }, "unclear"],
    [{ ...body, isPaid: false, outcome: "failed", nextAction: "SIGN_PAYMENT_AND_RETRY" }, "not_paid"],
    [{ something: "new" }, "unclear"],
  ])("reads the answer to a payment %#", (content, kind) => {
    expect(readOutcome(result(content), true).kind).toBe(kind);
  });

  test.each([
    [refused(-32602, "INVALID_ARGUMENTS"), "not_paid"],
    [refused(-32002, "RESOURCE_NOT_CATALOGED"), "not_paid"],
    [refused(-32002, "PAID_CALL_FAILED", { outcome: "unknown", nextAction: "WAIT_AND_RETRY_WITH_THE_SAME_PAYMENT" }), "open"],
    [refused(-32002, "PAID_CALL_FAILED", { outcome: "not_sent", nextAction: "RETRY" }), "open"],
    [refused(-32603, "internal_error"), "open"],
    [refused(-32000, "service_unavailable"), "open"],
    [refused(0, ""), "open"],
  ])("reads a refusal of a payment %#", (answer, kind) => {
    expect(readOutcome(answer, true).kind).toBe(kind);
  });

  test("takes no transaction from a stranger's challenge, and no text that is no hash", () => {
    const challenge = { accepts: [TERMS], ...receipt, outcome: "unknown", nextAction: "RECONCILE_BEFORE_SIGNING_AGAIN" };
    expect(readOutcome(result(challenge), true)).toMatchObject({ transaction: null });
    const odd = { ...body, paymentResponse: { transaction: "<b>" }, isPaid: true, nextAction: "COMPLETE" };
    expect(readOutcome(result(odd), true)).toMatchObject({ transaction: null });
  });
});

describe("readStored", () => {
  test("reads its own payment and nothing else", () => {
    expect(readStored(JSON.stringify(PAYMENT))).toEqual(PAYMENT);
    for (const text of [null, "", "{", "[]", "{}", JSON.stringify({ ...PAYMENT, terms: {} }), JSON.stringify({ ...PAYMENT, call: null })]) {
      expect(readStored(text)).toBeNull();
    }
  });
});
