import { describe, expect, test } from "vitest";
import { ApiError } from "@/api/errors";
import type { Flow, FlowEvent } from "./flow";
import { nextFlow, openPayment, START, waitSeconds } from "./flow";
import type { Outcome } from "./outcome";
import { openOutcome, outcomeOfFailure } from "./outcome";
import type { SignedPayment } from "./signedPayment";
import { readSigned, withIdentifier } from "./signedPayment";

type TestFlow = Flow<{ url: string }, string>;
type TestEvent = FlowEvent<{ url: string }, string>;
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
const PAYMENT: SignedPayment<{ url: string }> = {
  request: CALL,
  terms: TERMS,
  payer: "GBUYER",
  paymentSignature: "signed",
  completion: null,
  expirationLedger: 900,
  expiresAt: "2026-11-25T10:01:00Z",
  attempts: 0,
  unaccounted: 0,
  transaction: null,
  isPaid: false,
  isOver: false,
};
const HASH = "ab".repeat(32);
const OPEN = openOutcome<string>({ message: "later", retryAfterSeconds: 7, transaction: HASH });
const REFUSED: Outcome<string> = { kind: "refused", message: "No.", answer: null, isFailedOnLedger: false };
const OFFER: Outcome<string> = { kind: "offer", challenge: CHALLENGE, reason: "Nothing was paid." };

const sentEvent = (outcome: Outcome<string>, isOver = false): TestEvent => ({ type: "sent", outcome, isOver, now: 1_000 });
const EVENTS: Record<TestEvent["type"], TestEvent> = {
  ask: { type: "ask", request: CALL },
  answered: { type: "answered", outcome: { kind: "offer", challenge: CHALLENGE, reason: null } },
  pay: { type: "pay", terms: TERMS },
  prepared: { type: "prepared", review: REVIEW },
  sign: { type: "sign" },
  signed: { type: "signed", payment: PAYMENT },
  completed: { type: "completed", paymentSignature: "signed" },
  sent: sentEvent(OPEN),
  looked: { type: "looked", isOver: true, isPaid: false, now: 1_000 },
  due: { type: "due", payment: { ...PAYMENT, attempts: 1, unaccounted: 1 } },
  busy: { type: "busy", now: 2_000 },
  failed: { type: "failed", problem: new Error("refused") },
  back: { type: "back" },
  resumed: { type: "resumed", payment: PAYMENT, now: 0 },
  gone: { type: "gone", problem: new Error("elsewhere") },
};
type Name = keyof typeof EVENTS;

const after = (...names: Name[]): TestFlow => names.reduce<TestFlow>((flow, name) => nextFlow(flow, EVENTS[name]), START);
const TO_PAYING: Name[] = ["ask", "answered", "pay", "prepared", "sign", "signed"];

describe("nextFlow", () => {
  test("leads from the form to the payment", () => {
    const steps = TO_PAYING.map((_, index) => after(...TO_PAYING.slice(0, index + 1)).step);
    expect(steps).toEqual(["asking", "offered", "preparing", "review", "signing", "paying"]);
  });

  test("allows in each state only the events that belong to it", () => {
    const allowed: Record<string, Name[]> = {
      form: ["ask", "resumed"],
      asking: ["answered", "failed", "resumed"],
      offered: ["ask", "pay", "back", "resumed"],
      preparing: ["prepared", "failed", "resumed"],
      review: ["sign", "back", "resumed"],
      signing: ["signed", "failed"],
      paying: ["completed", "sent"],
      waiting: ["busy", "due", "gone", "looked", "resumed"],
    };
    const paths: Name[][] = [[], ...TO_PAYING.map((_, index) => TO_PAYING.slice(0, index + 1)), [...TO_PAYING, "sent"]];
    for (const path of paths) {
      const flow = after(...path);
      const taken = (Object.keys(EVENTS) as Name[]).filter((name) => nextFlow(flow, EVENTS[name]) !== flow);
      expect([flow.step, taken.sort()]).toEqual([flow.step, [...(allowed[flow.step] ?? [])].sort()]);
    }
  });

  test("never signs again while a payment is open", () => {
    for (const path of [TO_PAYING, [...TO_PAYING, "sent"]] as Name[][]) {
      const flow = after(...path);
      expect(openPayment(flow)?.paymentSignature).toBe("signed");
      for (const name of ["ask", "pay", "prepared", "sign", "signed", "back", "failed"] as Name[]) {
        expect(nextFlow(flow, EVENTS[name])).toBe(flow);
      }
    }
  });

  test("sends the same payment again when it is due, and counts the sendings", () => {
    expect(after(...TO_PAYING, "sent", "due")).toMatchObject({ step: "paying", payment: { attempts: 2, unaccounted: 2, paymentSignature: "signed" } });
  });

  test("waits as long as it is asked to, and longer when nothing can land any more", () => {
    expect(after(...TO_PAYING, "sent")).toMatchObject({ step: "waiting", dueAt: 8_000, payment: { transaction: HASH } });
    expect([waitSeconds(1, 0, false), waitSeconds(50, 0, false), waitSeconds(1, 90, false), waitSeconds(200, 0, true)]).toEqual([4, 30, 90, 300]);
  });

  test.each([false, true])("keeps an open outcome open, whether its last ledger has passed or not: %s", (isOver) => {
    const flow = nextFlow(after(...TO_PAYING), sentEvent(OPEN, isOver));
    expect(flow).toMatchObject({ step: "waiting", payment: { isOver } });
    expect(openPayment(flow)).not.toBeNull();
  });

  test("remembers that it was paid, whatever is said afterwards", () => {
    const paid = nextFlow(after(...TO_PAYING), sentEvent({ ...OPEN, isPaid: true }));
    const again = nextFlow(paid, { type: "due", payment: openPayment(paid) ?? PAYMENT });
    for (const outcome of [OPEN, REFUSED, OFFER]) {
      expect(nextFlow(again, sentEvent(outcome, true))).toMatchObject({ step: "waiting", payment: { isPaid: true } });
    }
  });

  test("ends by the service's word where no earlier sending is unaccounted for", () => {
    expect(nextFlow(after(...TO_PAYING), sentEvent(REFUSED))).toMatchObject({ step: "ended", outcome: { kind: "refused" } });
    expect(nextFlow(after(...TO_PAYING), sentEvent(OFFER))).toMatchObject({ step: "offered", notice: "Nothing was paid." });
    const second = after(...TO_PAYING, "sent", "due");
    for (const outcome of [REFUSED, OFFER]) {
      expect(nextFlow(second, sentEvent(outcome)).step).toBe("waiting");
      expect(nextFlow(second, sentEvent(outcome, true)).step).not.toBe("waiting");
    }
  });

  test("takes a refusal that passed nothing on for the end only of a payment that was never passed on", () => {
    const refusal = outcomeOfFailure(new ApiError({ status: 413, code: "body_too_large", message: "Large.", requestId: "r", retryAfterSeconds: null, details: null, isOwn: true }));
    expect(nextFlow(after(...TO_PAYING), sentEvent(refusal))).toMatchObject({ step: "ended", outcome: { kind: "refused" } });
    expect(nextFlow(after(...TO_PAYING, "sent", "due"), sentEvent(refusal, true))).toMatchObject({ step: "waiting", payment: { unaccounted: 1 } });
  });

  test("keeps form and terms when the wallet declines", () => {
    expect(after("ask", "answered", "pay", "prepared", "sign", "failed")).toMatchObject({ step: "review", request: CALL, review: REVIEW });
    expect(after("ask", "answered", "pay", "failed")).toMatchObject({ step: "offered", request: CALL });
    expect(after("ask", "failed")).toMatchObject({ step: "form", request: CALL });
  });
});

test("a kept payment is read, and anything else is none", () => {
  expect(readSigned(JSON.stringify(PAYMENT))).toEqual(PAYMENT);
  const unsent = { ...PAYMENT, paymentSignature: null, completion: { entry: "e", signature: "s", extensions: {} } };
  expect(readSigned(JSON.stringify(unsent))).toEqual(unsent);
  const wrong = [{ terms: {} }, { request: null }, { paymentSignature: null }, { expirationLedger: "9" }, { isOver: 1 }, { payer: undefined }];
  for (const each of wrong) expect(readSigned(JSON.stringify({ ...PAYMENT, ...each }))).toBeNull();
  for (const text of [null, "", "{", "[]", "{}"]) expect(readSigned(text)).toBeNull();
});

const idOf = (value: object) => (value as { "payment-identifier": { info: { id: string } } })["payment-identifier"].info.id;

test("an identifier is drawn for each payment, or is the one of the offer where that has to stay", () => {
  expect(idOf(withIdentifier(undefined, false))).toMatch(/^pay_[0-9a-f]{32}$/);
  expect(idOf(withIdentifier(undefined, false))).not.toBe(idOf(withIdentifier(undefined, false)));
  const offered = { "payment-identifier": { info: { required: true, id: "auto_2nAbCdEfGhIjKlMn_1" } } };
  expect(withIdentifier(offered, true)).toEqual(offered);
  expect(idOf(withIdentifier(offered, false))).toMatch(/^pay_/);
});
