import { asRecord, isRecord } from "@/api/records";
import type { JsonObject } from "@/api/records";
import type { Challenge, Review, Terms } from "./terms";
import { isTerms } from "./terms";

export const PAYMENT_IDENTIFIER = "payment-identifier";
const ID = /^[A-Za-z0-9_-]{16,128}$/;

/** What the service needs to put a signature into a payment; the same answer comes each time. */
export interface Completion {
  entry: string;
  signature: string;
  resource?: JsonObject;
  extensions: JsonObject;
}

/**
 * A payment that the wallet has signed. It is kept until its outcome is known and sent as often as
 * needed, always in the same bytes; no other payment is signed for the same purchase meanwhile.
 */
export interface SignedPayment<R> {
  /** What is bought. */
  request: R;
  terms: Terms;
  payer: string;
  /** The value of PAYMENT-SIGNATURE; null until the service has put the signature in. */
  paymentSignature: string | null;
  /** Null from then on. */
  completion: Completion | null;
  /** The last ledger that takes it. */
  expirationLedger: number;
  /** About when that ledger closes, by the service's reckoning (ISO 8601): to be shown, never to decide by. */
  expiresAt: string;
  /** How often it was sent. */
  attempts: number;
  /** How many of these may have reached the seller, as far as the service has said. */
  unaccounted: number;
  transaction: string | null;
  /** Whether the service has shown the transfer: then only the response is missing. */
  isPaid: boolean;
  /** Whether its last ledger has passed: nothing new can land with it. */
  isOver: boolean;
}

function drawIdentifier(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return `pay_${Array.from(bytes, (each) => each.toString(16).padStart(2, "0")).join("")}`;
}

/**
 * Adds a payment identifier to the seller's extensions: a landed payment can be read on the ledger,
 * and this part of it cannot, so nobody else can repeat it. `keepsOffered`: the seller's own id stays.
 */
export function withIdentifier(extensions: JsonObject | undefined, keepsOffered: boolean): JsonObject {
  const offered = asRecord(extensions?.[PAYMENT_IDENTIFIER]);
  const info = asRecord(offered["info"]);
  const isKept = keepsOffered && typeof info["id"] === "string" && ID.test(info["id"]);
  const own = { ...info, required: info["required"] === true, id: isKept ? info["id"] : drawIdentifier() };
  return { ...extensions, [PAYMENT_IDENTIFIER]: { ...offered, info: own } };
}

/** Makes the payment of a review and the wallet's signature. */
export function signedPayment<R>(
  request: R,
  { terms, payer, prepared }: Review,
  signature: string,
  { resource, extensions }: Pick<Challenge, "resource" | "extensions">,
  keepsOffered: boolean,
): SignedPayment<R> {
  const { entry, expirationLedger, expiresAt } = prepared;
  const completion = { entry, signature, ...(resource ? { resource } : {}), extensions: withIdentifier(extensions, keepsOffered) };
  return {
    request,
    terms,
    payer,
    paymentSignature: null,
    completion,
    expirationLedger,
    expiresAt,
    attempts: 0,
    unaccounted: 0,
    transaction: null,
    isPaid: false,
    isOver: false,
  };
}

const isCompletion = (value: unknown): boolean =>
  isRecord(value) && typeof value["entry"] === "string" && typeof value["signature"] === "string" && isRecord(value["extensions"]);

/** Reads a kept payment; anything else than one of ours is none. */
export function readSigned(text: string | null): SignedPayment<JsonObject> | null {
  if (text === null) return null;
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return null;
  }
  if (!isRecord(value) || !isRecord(value["request"]) || !isTerms(value["terms"])) return null;
  const { paymentSignature, completion, transaction } = value;
  const isSendable = typeof paymentSignature === "string" || (paymentSignature === null && isCompletion(completion));
  const texts = [value["payer"], value["expiresAt"], transaction ?? ""];
  const numbers = [value["expirationLedger"], value["attempts"], value["unaccounted"]];
  const flags = [value["isPaid"], value["isOver"]];
  const isOurs =
    isSendable &&
    texts.every((each) => typeof each === "string") &&
    numbers.every((each) => Number.isInteger(each)) &&
    flags.every((each) => typeof each === "boolean");
  return isOurs ? (value as unknown as SignedPayment<JsonObject>) : null;
}
