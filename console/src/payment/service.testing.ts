import type { IncomingMessage, ServerResponse } from "node:http";
import { answerJson, serve } from "@/api/loopback.testing";
import { asRecord } from "@/api/records";
import type { JsonObject } from "@/api/records";
import type { Wallet } from "@/wallet/wallet";
import vectors from "@/wallet/decodePayment.vectors.json";
import type { Terms } from "./terms";

const [prepared] = vectors.prepared;
if (!prepared) throw new Error("no vector");
const { transfer, preimage } = prepared;

export const PAYER = transfer.payer;
export const HASH = "ab".repeat(32);
export const LEDGER_CLOSED = "2026-11-25T10:00:00Z";
export const TERMS: Terms = {
  scheme: "exact",
  network: "stellar:testnet",
  asset: transfer.asset,
  amount: transfer.amount,
  payTo: transfer.recipient,
  maxTimeoutSeconds: 60,
};
export const SHOWN = {
  transaction: HASH,
  network: TERMS.network,
  asset: TERMS.asset,
  amount: TERMS.amount,
  payTo: TERMS.payTo,
  state: "delivered",
  receipt: { success: true, transaction: HASH, network: TERMS.network, payer: PAYER },
  sentAt: "2026-11-25T10:00:02Z",
  settledAt: "2026-11-25T10:00:05Z",
  attemptsLeft: 0,
  refund: null,
};

/** A wallet that signs; `asked` counts how often, and `gate` holds it back. */
export function testWallet(): Wallet & { asked: number; gate: Promise<void> } {
  return {
    id: "test",
    name: "Test wallet",
    homepage: "https://wallet.example",
    canSignEntries: true,
    asked: 0,
    gate: Promise.resolve(),
    isInstalled: async () => true,
    connect: async () => ({ address: PAYER, networkPassphrase: null }),
    signTransaction: async () => "",
    async signAuthEntry() {
      this.asked += 1;
      await this.gate;
      return `signature ${this.asked}`;
    },
  };
}

type Reply = (request: JsonObject, response: ServerResponse) => void;

/** What a service answers over HTTP: a ledger, a payment that is prepared and completed, and calls. */
export interface TestService {
  /** The latest ledger; null while it is not known. */
  ledger: number | null;
  /** Whether `GET /v1/payments/{transaction}` shows the payment. */
  isShown: boolean;
  /** Answers a call without a payment, and one with it. */
  unpaid: Reply;
  paid: Reply;
  /** Answers `/v1/payments/complete`; null: as it should be. */
  complete: Reply | null;
  /** Every PAYMENT-SIGNATURE that was sent. */
  sent: string[];
  completions: JsonObject[];
}

/** Answers the request of this id with the result of a tool. */
export function answerTool(request: JsonObject, response: ServerResponse, content: JsonObject): void {
  answerJson(response, 200, { jsonrpc: "2.0", id: request["id"], result: { content: [], structuredContent: content, isError: false } });
}

export const DELIVERED: JsonObject = {
  status: 200,
  bodyEncoding: "text",
  body: "sunny",
  isPaid: true,
  nextAction: "COMPLETE",
  paymentResponse: { success: true, transaction: HASH },
};

async function bodyOf(request: IncomingMessage): Promise<JsonObject> {
  let text = "";
  for await (const chunk of request) text += String(chunk);
  return text === "" ? {} : asRecord(JSON.parse(text));
}

async function reply(service: TestService, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const body = await bodyOf(request);
  const path = request.url ?? "";
  if (path === "/v1/networks") {
    const ledger = service.ledger === null ? null : { sequence: service.ledger, secondsPerLedger: 5, closedAt: LEDGER_CLOSED };
    answerJson(response, 200, { networks: [{ network: TERMS.network, ledger }] });
  } else if (path.startsWith("/v1/accounts/")) answerJson(response, 200, { balances: [] });
  else if (path === "/v1/payments/prepare") {
    const { expirationLedger } = transfer;
    answerJson(response, 200, { entry: "entry", hash: "", preimage, expirationLedger, expiresAt: "2026-11-25T10:01:00Z", statements: [] });
  } else if (path === "/v1/payments/complete") {
    service.completions.push(body);
    const paymentSignature = btoa(JSON.stringify({ extensions: body["extensions"], signature: body["signature"] }));
    if (service.complete) service.complete(body, response);
    else answerJson(response, 200, { paymentSignature });
  } else if (path.startsWith("/v1/payments/")) {
    if (service.isShown) answerJson(response, 200, SHOWN);
    else answerJson(response, 404, { error: { code: "not_found", message: "No.", requestId: "r" } });
  } else {
    const { paymentSignature } = asRecord(asRecord(body["params"])["arguments"]);
    if (typeof paymentSignature === "string") service.sent.push(paymentSignature);
    (paymentSignature === undefined ? service.unpaid : service.paid)(body, response);
  }
}

/** Serves them on the loopback, as the origin of the page. */
export async function serveTestService(): Promise<TestService> {
  const service: TestService = {
    ledger: transfer.expirationLedger - 10,
    isShown: false,
    unpaid: (request, response) =>
      answerTool(request, response, { x402Version: 2, accepts: [TERMS], nextAction: "SIGN_PAYMENT_AND_RETRY" }),
    paid: (request, response) => answerTool(request, response, DELIVERED),
    complete: null,
    sent: [],
    completions: [],
  };
  await serve((request, response) => void reply(service, request, response));
  return service;
}

/** The ledger from which on nothing more can land and the service has had time to see what did. */
export const OVER = transfer.expirationLedger + 24;

/** Locks of a browser that all of its tabs share; `request` takes one only if it is free. */
export function provideLocks(): void {
  const held = new Set<string>();
  const request = async (name: string, _options: LockOptions, action: (lock: Lock | null) => Promise<unknown>): Promise<unknown> => {
    if (held.has(name)) return action(null);
    held.add(name);
    try {
      return await action({ name, mode: "exclusive" });
    } finally {
      held.delete(name);
    }
  };
  Object.defineProperty(navigator, "locks", { value: { request }, configurable: true });
}

/** Tells the other tabs of a change, as the browser does. */
export const tellTabs = (key: string): boolean => window.dispatchEvent(new StorageEvent("storage", { key }));
