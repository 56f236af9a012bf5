import { ApiError } from "@/api/errors";
import { callTool } from "@/api/mcp";
import type { JsonObject } from "@/api/records";
import { isOnLedger } from "@/payment/ledger";
import { openOutcome, outcomeOfFailure } from "@/payment/outcome";
import type { Seller } from "@/payment/seller";
import { Purchases } from "@/payment/purchases";
import type { SignedPayment } from "@/payment/signedPayment";
import { usePurchase, Watch } from "@/payment/usePurchase";
import type { Purchase } from "@/payment/usePurchase";
import type { Flow } from "@/payment/flow";
import { announce } from "@/ui/toast";
import { proven, readOutcome } from "./purchase";
import type { CallOutcome, Delivery } from "./purchase";

/** The arguments of `paid_call`, without the payment. */
export interface CallArguments {
  url: string;
  method?: "GET" | "POST";
  pathParams?: JsonObject;
  query?: JsonObject;
  body?: unknown;
}

export type CallFlow = Flow<CallArguments, Delivery>;
export type CallPurchase = Purchase<CallArguments, Delivery>;

const CALL_SECONDS = 45; // the service ends a call after 30

async function callResource(args: CallArguments, paymentSignature?: string): Promise<CallOutcome> {
  const members: JsonObject = { ...args, ...(paymentSignature === undefined ? {} : { paymentSignature }) };
  const answer = await callTool("paid_call", members, { deadlineSeconds: CALL_SECONDS });
  return readOutcome(answer, paymentSignature !== undefined);
}

/** Sends the payment to the resource through the service, and has the service show what the answer says. */
async function send(payment: SignedPayment<CallArguments>, paymentSignature: string): Promise<CallOutcome> {
  let outcome: CallOutcome;
  try {
    outcome = await callResource(payment.request, paymentSignature);
  } catch (problem) {
    outcome = problem instanceof ApiError ? outcomeOfFailure(problem) : openOutcome({ message: "The outcome is not known.", problem });
  }
  const transaction = ("transaction" in outcome ? outcome.transaction : null) ?? payment.transaction;
  if (transaction === null) return outcome;
  return proven(outcome, await isOnLedger(transaction, payment));
}

/** A listed resource, called by the tool `paid_call`. */
export const resource: Seller<CallArguments, Delivery> = {
  kind: "call",
  isRequest: ({ url }) => typeof url === "string",
  keepsIdentifier: false,
  ask: (request) => callResource(request),
  send,
};

export const calls = new Purchases(resource);
export const callWatch = new Watch(calls, () => announce("The payment was settled.", "good"));

/** The purchase at a listing. */
export const useCallPurchase = (key: string): CallPurchase => usePurchase(calls, callWatch, key);
