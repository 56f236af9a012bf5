import type { Network } from "@/api/types";
import type { Route, Term, Wrapper } from "./wrapperDraft";

/** Base64 of the UTF-8 bytes of a text, as PAYMENT-REQUIRED carries the offer. */
export function toBase64(text: string): string {
  let binary = "";
  for (const byte of new TextEncoder().encode(text)) binary += String.fromCharCode(byte);
  return btoa(binary);
}

/** Writes the head of the answer to an unpaid request; its body is the offer as JSON. */
export function writeUnpaidHead(offer: unknown): string {
  return [
    "HTTP/1.1 402 Payment Required",
    "Content-Type: application/json",
    `PAYMENT-REQUIRED: ${toBase64(JSON.stringify(offer))}`,
  ].join("\n");
}

/** One listing as the catalog will show it. */
export interface ListingPreview {
  key: string;
  network: Network;
  method: string;
  url: string;
  description: string;
  terms: Term[];
}

function routeTerms(wrapper: Wrapper, { amount, accepts }: Route): Term[] {
  if (amount !== undefined) return wrapper.accepts.map((term) => ({ ...term, amount }));
  return accepts ?? wrapper.accepts;
}

/** The listings that enabling a wrapper makes: its own price and each route, on each network. */
export function listingsOf(wrapper: Wrapper): ListingPreview[] {
  const own =
    wrapper.routes.length === 0 || wrapper.otherPaths === "base"
      ? [{ method: wrapper.method ?? "GET", path: "", description: "", terms: wrapper.accepts }]
      : [];
  const routes = wrapper.routes.map((route) => ({
    method: route.method,
    path: route.path === "/" ? "" : route.path,
    description: route.description ?? "",
    terms: routeTerms(wrapper, route),
  }));
  return [...own, ...routes].flatMap(({ method, path, description, terms }) =>
    [...new Set(terms.map((term) => term.network))].map((network) => ({
      key: `${network} ${method} ${path}`,
      network,
      method,
      url: wrapper.endpoint + path,
      description: description || wrapper.description,
      terms: terms.filter((term) => term.network === network),
    })),
  );
}
