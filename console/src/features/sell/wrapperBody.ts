import type { Network, Schema } from "@/api/types";
import { parseUnits } from "@/ui/money";
import type { Draft } from "@/ui/draft";
import { idsOf } from "@/ui/draft";
import type { Method, Route, Term, TokenOf, Wrapper } from "./wrapperDraft";
import { LIMITS, tagsOf } from "./wrapperDraft";

export type WrapperFields = Schema<"WrapperFields">;
/** Every member but the slug, as a new wrapper has them. */
export type AllFields = Required<Omit<WrapperFields, keyof Term>>;

const valueOf = (draft: Draft, name: string): string => draft[name] ?? "";

/** Reads what was typed as an amount: tokens, or base units where the decimals are not known. */
export function readAmount(text: string, decimals: number | null): string | null {
  const units = parseUnits(text, decimals ?? 0);
  return units === null || units === "0" ? null : units;
}

/** Reads the text of a JSON object; null where it is none. */
export function readObject(text: string): Record<string, unknown> | null {
  try {
    const value: unknown = JSON.parse(text);
    const isObject = typeof value === "object" && value !== null && !Array.isArray(value);
    return isObject ? (value as Record<string, unknown>) : null;
  } catch {
    return null;
  }
}

function readList(text: string): unknown[] | null {
  try {
    const value: unknown = JSON.parse(text);
    return Array.isArray(value) ? value : null;
  } catch {
    return null;
  }
}

function termsOf(draft: Draft, tokenOf: TokenOf): Term[] {
  return idsOf(draft, "terms").map((id) => {
    const of = (name: string) => valueOf(draft, `terms.${id}.${name}`).trim();
    const network = of("network") as Network;
    const asset = of("asset");
    const amount = readAmount(of("amount"), tokenOf(network, asset).decimals);
    return { network, asset, amount: amount ?? of("amount"), payTo: of("payTo") };
  });
}

/** The decimals in which the amount of a route is written: those of the only term. */
export function routeDecimals(draft: Draft, tokenOf: TokenOf): number | null {
  const [first] = idsOf(draft, "terms");
  return tokenOf(valueOf(draft, `terms.${first}.network`), valueOf(draft, `terms.${first}.asset`)).decimals;
}

function routesOf(draft: Draft, tokenOf: TokenOf): Route[] {
  const decimals = routeDecimals(draft, tokenOf);
  return idsOf(draft, "routes").map((id) => {
    const of = (name: string) => valueOf(draft, `routes.${id}.${name}`).trim();
    const input = readObject(of("input"));
    const output = readObject(of("output"));
    return {
      method: of("method") as Method,
      path: of("path"),
      ...(of("amount") === "" ? {} : { amount: readAmount(of("amount"), decimals) ?? of("amount") }),
      ...(of("accepts") === "" ? {} : { accepts: (readList(of("accepts")) ?? []) as Term[] }),
      ...(of("description") === "" ? {} : { description: of("description") }),
      ...(input === null ? {} : { input: input as never }),
      ...(output === null ? {} : { output: output as never }),
    };
  });
}

/** Makes the members of a wrapper from a draft in which `problemsOf` finds nothing. */
export function fieldsOf(draft: Draft, tokenOf: TokenOf): AllFields {
  const of = (name: string) => valueOf(draft, name).trim();
  const authType = of("authType") as AllFields["authType"];
  const limits = Object.fromEntries(LIMITS.map(({ name }) => [name, Number(of(name))])) as Pick<
    Wrapper,
    (typeof LIMITS)[number]["name"]
  >;
  return {
    name: of("name"),
    description: of("description"),
    tags: tagsOf(of("tags")),
    mimeType: of("mimeType"),
    upstreamUrl: of("upstreamUrl"),
    authType,
    authHeader: authType === "header" ? of("authHeader") : null,
    secretId: authType === "none" ? null : of("secretId"),
    accepts: termsOf(draft, tokenOf),
    method: of("method") === "" ? null : (of("method") as Method),
    routes: routesOf(draft, tokenOf),
    otherPaths: idsOf(draft, "routes").length === 0 ? "base" : (of("otherPaths") as AllFields["otherPaths"]),
    isRepeatable: of("isRepeatable") === "true",
    ...limits,
  };
}

/** A text that is equal for equal JSON, whatever the order of its members. */
function canonical(value: unknown): string {
  return JSON.stringify(value, (_, each: unknown) =>
    typeof each === "object" && each !== null && !Array.isArray(each)
      ? Object.fromEntries(Object.entries(each).sort(([a], [b]) => (a < b ? -1 : 1)))
      : each,
  );
}

const hostOf = (url: string): string | null => (URL.canParse(url) ? new URL(url).host : null);

/** Whether a draft sends the stored credential to another host than before. */
export const isOtherHost = (wrapper: Wrapper, upstreamUrl: string): boolean =>
  hostOf(wrapper.upstreamUrl) !== hostOf(upstreamUrl.trim());

/**
 * The members that differ from the stored wrapper. With another host of the API the credential is
 * named again: the service would remove it otherwise.
 */
export function changesOf(wrapper: Wrapper, fields: AllFields): WrapperFields {
  const changed = Object.entries(fields).filter(
    ([name, value]) => canonical(value) !== canonical(wrapper[name as keyof Wrapper]),
  );
  const changes = Object.fromEntries(changed) as WrapperFields;
  const isAuthChanged = ["authType", "authHeader", "secretId"].some((name) => name in changes);
  if (!isAuthChanged && !isOtherHost(wrapper, fields.upstreamUrl)) return changes;
  const { authType, authHeader, secretId } = fields;
  return { ...changes, authType, authHeader, secretId };
}
