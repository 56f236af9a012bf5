import { ApiError } from "@/api/errors";
import { callTool } from "@/api/mcp";
import type { JsonObject } from "@/api/records";
import { complete } from "@/payment/signPayment";
import type { Challenge, Review } from "@/payment/terms";
import { readOutcome } from "./purchase";
import type { CallOutcome } from "./purchase";
import type { CallArguments, SignedPayment } from "./purchaseFlow";

const CALL_SECONDS = 45; // the service ends a call after 30

/** Calls the resource, with a payment where there is one. Throws `ApiError` where no answer came. */
export async function callResource(args: CallArguments, paymentSignature?: string): Promise<CallOutcome> {
  const members: JsonObject = { ...args, ...(paymentSignature === undefined ? {} : { paymentSignature }) };
  const answer = await callTool("paid_call", members, { deadlineSeconds: CALL_SECONDS });
  return readOutcome(answer, paymentSignature !== undefined);
}

/** Whether a request with a payment that failed like this may be sent again; others sent nothing. */
export const mayRepeat = (error: unknown): boolean =>
  !(error instanceof ApiError) || error.isOutage || [401, 408, 425, 429].includes(error.status);

/** Puts the signature into the payment of a call. The same one may be put into it again. */
export async function completePurchase(
  call: CallArguments,
  review: Review,
  signature: string,
  challenge: Challenge,
): Promise<SignedPayment> {
  const paymentSignature = await complete(review, signature, challenge);
  const { terms, payer, prepared } = review;
  const { expiresAt } = prepared;
  return { call, terms, payer, paymentSignature, expiresAt, attempts: 1, transaction: null, isPaid: false };
}
