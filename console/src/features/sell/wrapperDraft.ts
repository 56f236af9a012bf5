import type { Network, Schema } from "@/api/types";
import { addTo } from "@/ui/draft";
import type { Draft } from "@/ui/draft";
import { formatUnits } from "@/ui/money";

export type Wrapper = Schema<"WrapperBody">;
export type Term = Schema<"TermBody">;
export type Route = Schema<"RouteBody">;
export type TokenOf = (network: string, asset: string) => { code: string | null; decimals: number | null };

export const METHODS = ["GET", "POST", "PUT", "PATCH", "DELETE"] as const;
export type Method = (typeof METHODS)[number];

export const MAX_TERMS = 8;
export const MAX_ROUTES = 32;

interface LimitField {
  name: keyof Pick<
    Wrapper,
    | "requestsPerMinute"
    | "monthlyRequestQuota"
    | "maxConcurrentRequests"
    | "timeoutSeconds"
    | "maxRequestBytes"
    | "maxResponseBytes"
    | "keepAnswerBytes"
  >;
  label: string;
  unit: string;
  hint: string;
  otherwise: number;
  least: number;
  most: number;
}

/** The limits of a wrapper with their defaults and ranges (docs/gateway.md). */
export const LIMITS: readonly LimitField[] = [
  { name: "requestsPerMinute", label: "Paid requests", unit: "a minute", hint: "More are refused, and nothing is charged.", otherwise: 60, least: 1, most: 10_000 },
  { name: "monthlyRequestQuota", label: "Paid requests", unit: "a month", hint: "A calendar month in UTC.", otherwise: 100_000, least: 1, most: 100_000_000 },
  { name: "maxConcurrentRequests", label: "Requests at the same time", unit: "requests", hint: "So many reach your API at once.", otherwise: 50, least: 1, most: 1_000 },
  { name: "timeoutSeconds", label: "Time for a response", unit: "seconds", hint: "From the first look-up to the last byte.", otherwise: 30, least: 1, most: 300 },
  { name: "maxRequestBytes", label: "Largest request", unit: "bytes", hint: "0 allows no body.", otherwise: 1_048_576, least: 0, most: 10_485_760 },
  { name: "maxResponseBytes", label: "Largest response", unit: "bytes", hint: "A longer one is not delivered.", otherwise: 5_242_880, least: 1_024, most: 52_428_800 },
  { name: "keepAnswerBytes", label: "Largest response that is kept", unit: "bytes", hint: "Kept encrypted for 24 hours and given again to the same request. 0 keeps none.", otherwise: 65_536, least: 0, most: 65_536 },
];

/** The tags of a text: separated by commas, without empty ones. */
export const tagsOf = (text: string): string[] =>
  text.split(",").map((each) => each.trim()).filter((each) => each !== "");

const amountText = (units: string, decimals: number | null): string =>
  decimals === null ? units : (formatUnits(units, decimals, false) ?? units);

const termMembers = (term: Term, tokenOf: TokenOf): Record<string, string> => ({
  network: term.network,
  asset: term.asset,
  amount: amountText(term.amount, tokenOf(term.network, term.asset).decimals),
  payTo: term.payTo,
});

const schemaText = (schema: unknown): string => (schema === undefined ? "" : JSON.stringify(schema, null, 2));

/** The members of a route; `accepts` keeps terms of its own as JSON text, which the form shows as such. */
function routeMembers(route: Route, first: Term | undefined, tokenOf: TokenOf): Record<string, string> {
  const decimals = first ? tokenOf(first.network, first.asset).decimals : null;
  return {
    method: route.method,
    path: route.path,
    amount: route.amount === undefined ? "" : amountText(route.amount, decimals),
    accepts: route.accepts === undefined ? "" : JSON.stringify(route.accepts, null, 2),
    description: route.description ?? "",
    input: schemaText(route.input),
    output: schemaText(route.output),
  };
}

/** The draft of a new wrapper: one price, to the wallet that is signed in. */
export function newDraft(network: Network, asset: string, payTo: string): Draft {
  const draft: Draft = {
    name: "",
    slug: "",
    upstreamUrl: "",
    description: "",
    tags: "",
    mimeType: "application/json",
    authType: "none",
    authHeader: "",
    secretId: "",
    method: "",
    otherPaths: "base",
    isRepeatable: "",
    terms: "",
    routes: "",
    ...Object.fromEntries(LIMITS.map((each) => [each.name, String(each.otherwise)])),
  };
  return addTo(draft, "terms", { network, asset, amount: "", payTo });
}

/** The draft of a stored wrapper. */
export function draftOf(wrapper: Wrapper, tokenOf: TokenOf): Draft {
  const [first] = wrapper.accepts;
  let draft: Draft = {
    name: wrapper.name,
    slug: wrapper.slug,
    upstreamUrl: wrapper.upstreamUrl,
    description: wrapper.description,
    tags: wrapper.tags.join(", "),
    mimeType: wrapper.mimeType,
    authType: wrapper.authType,
    authHeader: wrapper.authHeader ?? "",
    secretId: wrapper.secretId ?? "",
    method: wrapper.method ?? "",
    otherPaths: wrapper.otherPaths,
    isRepeatable: wrapper.isRepeatable ? "true" : "",
    terms: "",
    routes: "",
    ...Object.fromEntries(LIMITS.map(({ name }) => [name, String(wrapper[name])])),
  };
  for (const term of wrapper.accepts) draft = addTo(draft, "terms", termMembers(term, tokenOf));
  for (const route of wrapper.routes) draft = addTo(draft, "routes", routeMembers(route, first, tokenOf));
  return draft;
}

/** A route as a new entry of the form. */
export const NEW_ROUTE: Record<string, string> = {
  method: "GET",
  path: "",
  amount: "",
  accepts: "",
  description: "",
  input: "",
  output: "",
};
