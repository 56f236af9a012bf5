import { isRecord } from "@/api/records";
import type { JsonObject } from "@/api/records";
import type { Schema } from "@/api/types";

/** One way to pay: a member of `accepts` of the seller's 402, unchanged. */
export type Terms = Schema<"RequirementsBody">;

export interface Challenge {
  accepts: Terms[];
  resource: JsonObject | undefined;
  extensions: JsonObject | undefined;
}

/** How amounts of the terms are written: `decimals` is null while they are not known. */
export interface TokenName {
  code: string | null;
  decimals: number | null;
}

/** What the wallet is asked to sign, after the decoder has read it. */
export interface Review {
  terms: Terms;
  payer: string;
  walletName: string;
  prepared: Schema<"PreparedBody">;
  /** What the preimage allows, in sentences made from its own bytes. */
  statements: string[];
}

export function isTerms(value: unknown): value is Terms {
  if (!isRecord(value)) return false;
  const texts = ["network", "asset", "amount", "payTo"].every((name) => typeof value[name] === "string");
  return texts && value["scheme"] === "exact" && Number.isInteger(value["maxTimeoutSeconds"]);
}

/** Reads a PaymentRequired object; null where it is none. */
export function readChallenge(content: JsonObject): Challenge | null {
  const accepts = Array.isArray(content["accepts"]) ? content["accepts"].filter(isTerms) : [];
  if (!Array.isArray(content["accepts"])) return null;
  const { resource, extensions } = content;
  return {
    accepts,
    resource: isRecord(resource) ? resource : undefined,
    extensions: isRecord(extensions) ? extensions : undefined,
  };
}
