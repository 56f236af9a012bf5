import { afterEach, expect, test, vi } from "vitest";
import type { JsonObject } from "@/api/records";
import { asRecord } from "@/api/records";
import type { Flow } from "@/payment/flow";
import { nextFlow, openPayment } from "@/payment/flow";
import { hasEnded } from "@/payment/ledger";
import { HASH, OVER, PAYER, SHOWN, TERMS } from "@/payment/service.testing";
import type { SignedPayment } from "@/payment/signedPayment";
import { before } from "./before.testing";
import type { CallArguments } from "./pay";
import { resource } from "./pay";
import type { Delivery } from "./purchase";
import { wordsOf } from "./purchaseWords";

/**
 * What the page says of a payment against what the ledger shows, over every answer that can reach the
 * page, settled or not, before and after the last ledger, with this machine's clock from a day slow to a day fast.
 */
const NOW = Date.parse("2026-11-25T10:00:10Z");
const CLOCKS = [-86_400_000, -3_600_000, -180_000, 0, 180_000, 3_600_000, 86_400_000];
const STATUSES = Array.from({ length: 400 }, (_, index) => 200 + index);
/** Those that a service, a proxy or a firewall often gives: at every clock. The others take turns. */
const COMMON = new Set([200, 204, 301, 302, 304, 400, 401, 402, 403, 404, 408, 409, 413, 421, 425, 429, 451, 500, 502, 503, 504, 520, 599]);
const clocksAt = (status: number, row: number): number[] => {
  const turn = CLOCKS[row % CLOCKS.length] ?? 0;
  return COMMON.has(status) ? CLOCKS : [turn];
};
const PAYMENT: SignedPayment<CallArguments> = {
  request: { url: "https://api.example.com/x" },
  terms: TERMS,
  payer: PAYER,
  paymentSignature: "signed",
  completion: null,
  expirationLedger: OVER - 24,
  expiresAt: "2026-11-25T10:01:00Z",
  attempts: 1,
  unaccounted: 1,
  transaction: null,
  isPaid: false,
  isOver: false,
};

/** An earlier sending may still be under way, in a proxy. */
const SECOND = { ...PAYMENT, attempts: 2, unaccounted: 2 };

interface World {
  isSettled: boolean;
  /** Whether the last ledger has passed. */
  isOver: boolean;
  /** Whether the service knows the settlement. */
  isKnown: boolean;
}
const NEVER = new AbortController().signal;
type Reply = { status: number; type: string; text: string | null; headers?: Record<string, string> };
type Says = "paid" | "not paid" | "unknown";
const WORLDS: World[] = [true, false].flatMap((isOver) => [
  { isSettled: true, isOver, isKnown: true },
  { isSettled: true, isOver, isKnown: false },
  { isSettled: false, isOver, isKnown: false },
]);

afterEach(() => {
  vi.unstubAllGlobals();
  vi.useRealTimers();
});

const responseOf = ({ status, type, text, headers }: Reply) => ({
  ok: status >= 200 && status < 300,
  status,
  headers: new Headers({ "content-type": type, date: "Wed, 25 Nov 2026 10:00:10 GMT", ...headers }),
  text: () => (text === null ? Promise.reject(new TypeError("cut")) : Promise.resolve(text)),
});
const json = (status: number, body: unknown): Reply => ({ status, type: "application/json", text: JSON.stringify(body) });

/** The browser's way to the service: `answer` is what comes of the paid call, in place of or from the service. */
function provideWay(world: World, answer: (id: unknown) => Reply | "no answer"): void {
  vi.spyOn(AbortSignal, "timeout").mockReturnValue(NEVER);
  vi.stubGlobal("fetch", (url: string, init: { body: string | null }) => {
    if (url === "/v1/networks") {
      const sequence = world.isOver ? OVER : OVER - 30;
      return Promise.resolve(responseOf(json(200, { networks: [{ network: TERMS.network, ledger: { sequence, secondsPerLedger: 5, closedAt: "" } }] })));
    }
    if (url.startsWith("/v1/payments/")) {
      const isShown = world.isSettled && world.isKnown;
      return Promise.resolve(responseOf(isShown ? json(200, SHOWN) : json(404, { error: { code: "not_found", message: "", requestId: "r" } })));
    }
    const reply = answer(asRecord(JSON.parse(init.body ?? "{}"))["id"]);
    return reply === "no answer" ? Promise.reject(new TypeError("opaque")) : Promise.resolve(responseOf(reply));
  });
}

async function pageAfter(payment: SignedPayment<CallArguments>): Promise<Flow<CallArguments, Delivery>> {
  const outcome = await resource.send(payment, "signed");
  return nextFlow({ step: "paying", payment }, { type: "sent", outcome, isOver: await hasEnded(payment), now: performance.now() });
}

/** What the words of a state claim, and whether they lead to another signature. */
function saysOf(flow: Flow<CallArguments, Delivery>): Says {
  const words = wordsOf(flow);
  const text = [words?.title, ...(words?.sentences ?? [])].join(" ");
  if (/^Paid|You have paid|owes you/.test(text)) return "paid";
  if (/Nothing was|failed/.test(text) || !(words && (openPayment(flow) || /reported/.test(text)))) return "not paid";
  return "unknown";
}

/** Whether this is false, or may become so: a payment that has landed or can land is not "not paid". */
const isWrong = (says: Says, { isSettled, isOver }: World, canLand: boolean): boolean =>
  says === "paid" ? !isSettled : says === "not paid" && (isSettled || (canLand && !isOver));

const HTML = "<html><h1>Refused</h1></html>";
const TRANSPORT: Record<string, (status: number) => Reply | "no answer"> = {
  html: (status) => ({ status, type: "text/html", text: HTML }),
  "html as json": (status) => ({ status, type: "application/json", text: HTML }),
  empty: (status) => ({ status, type: "application/json", text: "" }),
  "cut off": (status) => ({ status, type: "application/json", text: '{"jsonrpc": "2.0", "id": 1, "result": {"struct' }),
  "broken off": (status) => ({ status, type: "application/json", text: null }),
  "another's json": (status) => json(status, { error: { code: status, message: "Forbidden", status: "PERMISSION_DENIED" } }),
  "another's text code": (status) => json(status, { error: { code: "body_too_large", message: "Too large" } }),
  "an old answer": (status) =>
    json(status, { jsonrpc: "2.0", id: -1, result: { structuredContent: { status: 402, isPaid: false, outcome: "not_sent", nextAction: "SIGN_PAYMENT_AND_RETRY" } } }),
  opaque: () => "no answer",
};

test("whatever comes in place of the service's answer leaves the payment open, at every clock", async () => {
  const wrong: string[] = [];
  const wrongBefore = new Set<string>();
  let row = 0;
  for (const [kind, replyOf] of Object.entries(TRANSPORT)) {
    for (const status of STATUSES) {
      for (const clock of clocksAt(status, (row += 1))) {
        vi.useFakeTimers({ toFake: ["Date"], now: NOW + clock });
        for (const world of WORLDS) {
          const reply = replyOf(status);
          provideWay(world, () => reply);
          const flow = await pageAfter(PAYMENT);
          if (isWrong(saysOf(flow), world, true) || !openPayment(flow)) wrong.push(`${kind} ${status} ${JSON.stringify(world)} clock ${clock}`);
          if (isWrong(before({ status, body: null }, Date.now(), PAYMENT), world, true)) wrongBefore.add(`${kind} ${status}`);
        }
      }
    }
  }
  expect(wrong).toEqual([]);
  for (const status of [403, 404, 413]) expect(wrongBefore).toContain(`html ${status}`); // the control
}, 120_000);

const RECEIPTS: Record<string, JsonObject> = {
  none: {},
  malformed: { receiptFault: "malformed" },
  success: { isPaid: true, paymentResponse: { success: true, transaction: HASH, network: TERMS.network } },
  "success without a hash": { paymentResponse: { success: true, transaction: "", network: TERMS.network } },
  failed: { paymentResponse: { success: false, transaction: HASH, errorReason: "settle_exact_stellar_transaction_failed" } },
  foreign: { paymentResponse: { success: false, transaction: HASH, errorReason: "settle_exact_stellar_foreign_landing" } },
  pending: { paymentResponse: { success: false, transaction: HASH, errorReason: "settlement_pending" } },
};
const CODES = ["", "payment_used", "outcome_unproven", "duplicate_settlement", "settlement_pending", "service_unavailable"];

/** The advice of the service beside an answer of the seller; its own gateway alone says what was not sent. */
function adviceOf(status: number, receipt: JsonObject, isOwn: boolean, canWait: boolean): JsonObject {
  const isPaid = receipt["isPaid"] === true;
  const wait = canWait ? { retryAfterSeconds: 5 } : {};
  if (isPaid && status < 400) return { isPaid, nextAction: "COMPLETE" };
  const retry = "WAIT_AND_RETRY_WITH_THE_SAME_PAYMENT";
  const reconcile = "RECONCILE_BEFORE_SIGNING_AGAIN";
  if (isPaid) return { isPaid, outcome: "settled_not_delivered", nextAction: canWait ? retry : reconcile, ...wait };
  if (asRecord(receipt["paymentResponse"])["errorReason"] === "settlement_pending") return { isPaid, outcome: "unknown", nextAction: retry };
  if (!isOwn) return { isPaid, outcome: "unknown", nextAction: reconcile, ...wait };
  const outcome = receipt["paymentResponse"] === undefined ? "not_sent" : "failed";
  return { isPaid, outcome, nextAction: canWait ? retry : "SIGN_PAYMENT_AND_RETRY", ...wait };
}

/** Every answer of the service to a paid call, with what it means for the ledger. */
function* answers(): Generator<{ name: string; content: JsonObject; isOwn: boolean; inDoubt: boolean }> {
  for (const status of STATUSES) {
    for (const [kind, receipt] of Object.entries(RECEIPTS)) {
      for (const isOwn of [true, false]) {
        for (const canWait of [true, false]) {
          for (const code of status >= 400 && kind === "none" && isOwn ? CODES : [""]) {
            const body = code === "" ? {} : { body: { error: { code } } };
            const content = { status, bodyEncoding: "json", ...body, ...receipt, ...adviceOf(status, receipt, isOwn, canWait) };
            yield { name: `${status} ${kind} own ${isOwn} wait ${canWait} ${code}`, content, isOwn, inDoubt: code !== "" || kind === "foreign" };
          }
        }
      }
    }
  }
}

test("what the page says of every answer of the service agrees with the ledger, at every clock", async () => {
  const wrong: string[] = [];
  let [row, wrongBefore, delivered] = [0, 0, 0];
  for (const { name, content, isOwn, inDoubt } of answers()) {
    const isWord = content["nextAction"] === "SIGN_PAYMENT_AND_RETRY" && !inDoubt;
    for (const clock of clocksAt(Number(content["status"]), (row += 1))) {
      vi.useFakeTimers({ toFake: ["Date"], now: NOW + clock });
      for (const world of WORLDS) {
        // the service's own word on its own payments is true
        if (isOwn && (world.isSettled ? isWord : content["isPaid"] === true)) continue;
        provideWay(world, (id) => json(200, { jsonrpc: "2.0", id, result: { structuredContent: content } }));
        for (const payment of [PAYMENT, SECOND]) {
          const flow = await pageAfter(payment);
          const says = saysOf(flow);
          const canLand = payment === SECOND || !(isOwn && isWord);
          if (isWrong(says, world, canLand)) wrong.push(`${name} ${JSON.stringify(world)} clock ${clock}: ${says}`);
          if (says === "paid" && flow.step === "ended") delivered += 1;
        }
        if (isWrong(before({ status: 200, body: content }, Date.now(), PAYMENT), world, !(isOwn && isWord))) wrongBefore += 1;
      }
    }
  }
  expect(wrong).toEqual([]);
  expect(delivered).toBeGreaterThan(0); // and it is said where it is so
  expect(wrongBefore).toBeGreaterThan(0); // the control
}, 120_000);

test("with a clock a day fast one failure of the upstream is no debt of the seller's", async () => {
  vi.useFakeTimers({ toFake: ["Date"], now: NOW + 86_400_000 });
  const content = { status: 503, ...RECEIPTS["success"], outcome: "settled_not_delivered", nextAction: "WAIT_AND_RETRY_WITH_THE_SAME_PAYMENT", retryAfterSeconds: 5 };
  provideWay({ isSettled: true, isOver: false, isKnown: true }, (id) => json(200, { jsonrpc: "2.0", id, result: { structuredContent: content } }));
  const flow = await pageAfter(PAYMENT);
  expect([flow.step, wordsOf(flow)?.title]).toEqual(["waiting", "Paid, and not delivered yet"]);
  expect(before({ status: 200, body: content }, Date.now(), PAYMENT, true)).toBe("undelivered"); // the control
});
