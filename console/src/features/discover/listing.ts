import { asRecord } from "@/api/records";
import type { JsonObject } from "@/api/records";
import type { Schema } from "@/api/types";

export type Listing = Schema<"ListingBody">;
export type ListedTerms = Schema<"ListedTermsBody">;

/** A listing in the address of a page: there is one for these four. */
export function addressOf(listing: Listing): Record<string, string | undefined> {
  const { resource, method, toolName } = listing;
  return { resource, network: listing.network, method, tool: toolName, payTo: listing.accepts[0]?.payTo };
}

/** The key of a purchase: the resource and what is called there. */
export const purchaseKey = (listing: Listing): string => `${listing.network} ${listing.method ?? ""} ${listing.resource}`;

/** The page's address of a purchase key; null when it is none. */
export function readPurchaseKey(key: string): { network: string; method: string; resource: string } | null {
  const [network, method, ...rest] = key.split(" ");
  const resource = rest.join(" ");
  return network && method !== undefined && resource ? { network, method, resource } : null;
}

const isSameThing = (one: Listing, other: Listing): boolean =>
  one.resource === other.resource && one.method === other.method && one.toolName === other.toolName;

interface Wanted {
  resource: string | undefined;
  network: string | undefined;
  method: string | undefined;
  tool: string | undefined;
}

/** Finds a listing among those of a recipient. */
export function findListing(items: readonly Listing[], wanted: Wanted): Listing | undefined {
  return items.find(
    (each) =>
      each.resource === wanted.resource &&
      each.network === wanted.network &&
      each.method === wanted.method &&
      each.toolName === wanted.tool,
  );
}

/** The same resource's listings, one for each network. */
export const onEachNetwork = (items: readonly Listing[], listing: Listing): Listing[] =>
  items.filter((each) => isSameThing(each, listing));

/** A seller's name for it, else the host and path. */
export function titleOf(listing: Listing): string {
  return listing.serviceName ?? listing.toolName ?? shortAddress(listing.resource);
}

export function shortAddress(resource: string): string {
  return resource.replace(/^https?:\/\//, "").slice(0, 120);
}

export interface ListedToken {
  /** Null while it is not known. */
  code: string | null;
  decimals: number | null;
  issuer: string | null;
  /** Whether it is the USDC of the network or its native coin. */
  isKnown: boolean;
}

/**
 * What a listing's asset is called. The contract of a classic asset has seven decimals (SEP-41,
 * CAP-46-6); anybody may issue an asset with any code, so another one is never taken for a known one.
 */
export function tokenOf(
  listing: Pick<Listing, "tokens">,
  asset: string,
  known: { code: string | null; decimals: number | null },
): ListedToken {
  if (known.decimals !== null) return { ...known, issuer: null, isKnown: true };
  const token = listing.tokens?.[asset];
  if (token?.kind !== "asset_contract") return { code: null, decimals: null, issuer: null, isKnown: false };
  const issuer = token.issuer ?? null;
  return { code: token.code ?? null, decimals: 7, issuer, isKnown: issuer === null && token.code === "XLM" };
}

/** The `bazaar` block: how the resource is called. Each member is an object, perhaps empty. */
export function readBlock(listing: Pick<Listing, "extensions">): { input: JsonObject; output: JsonObject; schema: JsonObject } {
  const block = asRecord(asRecord(listing.extensions)["bazaar"]);
  const info = asRecord(block["info"]);
  return { input: asRecord(info["input"]), output: asRecord(info["output"]), schema: asRecord(block["schema"]) };
}

/** The JSON schema of a part of the request or of the output; null where the listing has none. */
export function schemaOf(schema: JsonObject, side: "input" | "output", part: string): JsonObject | null {
  const frame = asRecord(asRecord(schema["properties"])[side]);
  const found = asRecord(frame["properties"])[part];
  return typeof found === "object" && found !== null ? (found as JsonObject) : null;
}
