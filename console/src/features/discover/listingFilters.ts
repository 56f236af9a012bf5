import { parseUnits } from "@/ui/money";
import { isAtLeast } from "@/ui/units";
import type { Listing } from "./listing";

/** What a person looks for; all of it stands in the address of the page. */
export interface Filters {
  query: string;
  /** A CAIP-2 id; empty: every network. */
  network: string;
  type: "" | "http" | "mcp";
  payTo: string;
  extensions: string;
  /** A number of USDC as it was typed. */
  maxPrice: string;
  /** Where the page begins: of a search its cursor, else the number of listings before it. */
  cursor: string;
  offset: number;
}

export const PAGE_SIZE = 20;
export const EVERY_NETWORK = "all";
const MAX_OFFSET = 10_000_000;

type Address = Record<string, string | undefined>;

/** Reads the filters of an address; `network` is that of the console unless the address says otherwise. */
export function readFilters(address: Address, network: string): Filters {
  const stated = address["network"];
  const offset = /^\d{1,8}$/.test(address["offset"] ?? "") ? Number(address["offset"]) : 0;
  const type = address["type"];
  return {
    query: (address["q"] ?? "").trim().slice(0, 2_000),
    network: stated === EVERY_NETWORK ? "" : stated === "stellar:testnet" || stated === "stellar:pubnet" ? stated : network,
    type: type === "http" || type === "mcp" ? type : "",
    payTo: (address["payTo"] ?? "").trim(),
    extensions: (address["extensions"] ?? "").trim(),
    maxPrice: (address["max"] ?? "").trim(),
    cursor: address["cursor"] ?? "",
    offset: Math.min(offset, MAX_OFFSET),
  };
}

/** The members of the query string that browsing and searching have in common. */
export function queryOf({ network, type, payTo, extensions }: Filters) {
  return { network, type, payTo, extensions, limit: PAGE_SIZE };
}

/** How many filters are set beside the words and the network. */
export const countFilters = ({ type, payTo, extensions, maxPrice }: Filters): number =>
  [type, payTo, extensions, maxPrice].filter((each) => each !== "").length;

/**
 * Leaves out what costs more. The service has no filter by price, so this is done page by page: a
 * listing without a price in USDC is left out too.
 */
export function withinPrice<Item extends Listing>(
  items: readonly Item[],
  maxPrice: string,
  usdcOf: (network: string) => string | undefined,
): Item[] {
  const limit = maxPrice === "" ? null : parseUnits(maxPrice, 7);
  if (limit === null) return [...items];
  return items.filter((each) =>
    each.accepts.some((terms) => terms.asset === usdcOf(terms.network) && isAtLeast(limit, terms.amount)),
  );
}

export const isPrice = (text: string): boolean => text === "" || parseUnits(text, 7) !== null;
