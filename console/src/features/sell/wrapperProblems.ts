import type { Draft } from "@/ui/draft";
import { idsOf } from "@/ui/draft";
import type { TokenOf } from "./wrapperDraft";
import { LIMITS, tagsOf } from "./wrapperDraft";
import { readAmount, readObject, routeDecimals } from "./wrapperBody";

const PRINTABLE = /^[ -~]{1,32}$/;
const SLUG = /^[a-z0-9][a-z0-9-]{2,62}$/;
const CONTRACT = /^C[A-Z2-7]{55}$/;
const PARTY = /^[GC][A-Z2-7]{55}$/;
const HEADER = /^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,100}$/;
const MOST_SCHEMA_BYTES = 2048;

export type Problems = Record<string, string | undefined>;

function urlProblem(text: string): string | undefined {
  if (text === "") return "Enter the URL of your API.";
  if (!URL.canParse(text)) return "This is not a URL. It begins with https://.";
  const url = new URL(text);
  if (url.protocol !== "https:") return "The URL has to begin with https://.";
  if (url.username !== "" || url.password !== "") return "Put the credential into the vault, not into the URL.";
  if (url.hash !== "") return "Leave out the part from # on.";
  return url.port === "" || url.port === "8443" ? undefined : "The port is 443 or 8443.";
}

function basicProblems(of: (name: string) => string): Problems {
  const tags = tagsOf(of("tags"));
  return {
    name: PRINTABLE.test(of("name")) ? undefined : "A name has 1 to 32 letters, digits or signs of ASCII.",
    slug: of("slug") === "" || SLUG.test(of("slug")) ? undefined : "3 to 63 lower-case letters, digits and hyphens.",
    upstreamUrl: urlProblem(of("upstreamUrl")),
    description: of("description").length > 500 ? "At most 500 characters." : undefined,
    tags:
      tags.length > 5 || tags.some((each) => !PRINTABLE.test(each))
        ? "At most 5 tags, each of at most 32 ASCII characters."
        : undefined,
    mimeType: /^[^\s/]+\/[^\s/]+/.test(of("mimeType")) ? undefined : "A media type, such as application/json.",
  };
}

function credentialProblems(of: (name: string) => string): Problems {
  const authType = of("authType");
  return {
    secretId: authType !== "none" && of("secretId") === "" ? "Choose the secret to send." : undefined,
    authHeader:
      authType === "header" && !HEADER.test(of("authHeader")) ? "The name of a header, such as X-API-Key." : undefined,
  };
}

function limitProblems(of: (name: string) => string): Problems {
  const found = LIMITS.map(({ name, least, most }) => {
    const text = of(name);
    const isInside = /^\d{1,9}$/.test(text) && Number(text) >= least && Number(text) <= most;
    return [name, isInside ? undefined : `A whole number from ${least} to ${most}.`] as const;
  });
  return Object.fromEntries(found);
}

const amountProblem = (text: string, decimals: number | null): string | undefined => {
  if (readAmount(text, decimals) !== null) return undefined;
  return decimals === null
    ? "A whole number of base units, from 1 on."
    : `A number above 0 with at most ${decimals} decimals.`;
};

function termProblems(draft: Draft, tokenOf: TokenOf): Problems {
  const found: Problems = {};
  const seen = new Set<string>();
  const recipients = new Map<string, string>();
  for (const id of idsOf(draft, "terms")) {
    const of = (name: string) => (draft[`terms.${id}.${name}`] ?? "").trim();
    const at = (name: string) => `terms.${id}.${name}`;
    const [network, asset, payTo] = [of("network"), of("asset"), of("payTo")];
    found[at("amount")] = amountProblem(of("amount"), tokenOf(network, asset).decimals);
    if (!CONTRACT.test(asset)) found[at("asset")] = "The address of the token's contract: C and 55 more characters.";
    else if (seen.has(`${network} ${asset}`)) found[at("asset")] = "Another price has the same network and token.";
    if (!PARTY.test(payTo)) found[at("payTo")] = "An account (G…) or a contract (C…), 56 characters.";
    else if ((recipients.get(network) ?? payTo) !== payTo) found[at("payTo")] = "All prices of one network have the same recipient.";
    seen.add(`${network} ${asset}`);
    recipients.set(network, payTo);
  }
  return found;
}

function schemaProblem(text: string): string | undefined {
  if (text === "") return undefined;
  const schema = readObject(text);
  if (schema === null) return "This is not a JSON object.";
  const size = new TextEncoder().encode(JSON.stringify(schema)).length;
  return size > MOST_SCHEMA_BYTES ? `It has ${size} bytes; ${MOST_SCHEMA_BYTES} are allowed.` : undefined;
}

function routeProblems(draft: Draft, tokenOf: TokenOf): Problems {
  const found: Problems = {};
  const seen = new Set<string>();
  const isOneTerm = idsOf(draft, "terms").length === 1;
  for (const id of idsOf(draft, "routes")) {
    const of = (name: string) => (draft[`routes.${id}.${name}`] ?? "").trim();
    const at = (name: string) => `routes.${id}.${name}`;
    const shape = `${of("method")} ${of("path").toLowerCase().replace(/:[^/]+/g, ":")}`;
    if (!/^\/[A-Za-z0-9_/:.\-~%]*$/.test(of("path"))) found[at("path")] = "A path such as /forecast/:city.";
    else if (seen.has(shape)) found[at("path")] = "Another route has the same method and path.";
    seen.add(shape);
    if (of("amount") !== "") {
      found[at("amount")] = isOneTerm
        ? amountProblem(of("amount"), routeDecimals(draft, tokenOf))
        : "With several prices a route has prices of its own, as JSON.";
    }
    if (of("amount") !== "" && of("accepts") !== "") found[at("accepts")] = "A price or prices as JSON, not both.";
    else if (of("accepts") !== "" && !isTermList(of("accepts"))) {
      found[at("accepts")] = "A JSON list of {network, asset, amount, payTo}, with amounts in base units as text.";
    }
    found[at("description")] = of("description").length > 500 ? "At most 500 characters." : undefined;
    found[at("input")] = schemaProblem(of("input"));
    found[at("output")] = schemaProblem(of("output"));
  }
  return found;
}

function isTermList(text: string): boolean {
  const list = readObject(`{"list":${text}}`)?.["list"];
  if (!Array.isArray(list) || list.length === 0 || list.length > 8) return false;
  return list.every(
    (each) =>
      typeof each === "object" &&
      each !== null &&
      ["network", "asset", "amount", "payTo"].every((name) => typeof each[name] === "string") &&
      Object.keys(each).length === 4,
  );
}

/** Finds what the service would refuse, by the name of the field; the service judges again. */
export function problemsOf(draft: Draft, tokenOf: TokenOf): Problems {
  const of = (name: string) => (draft[name] ?? "").trim();
  return {
    ...basicProblems(of),
    ...credentialProblems(of),
    ...limitProblems(of),
    ...termProblems(draft, tokenOf),
    ...routeProblems(draft, tokenOf),
  };
}

const TERM_MEMBERS = new Set(["network", "asset", "amount", "payTo"]);

/**
 * Finds the field of the member that a refusal names: `Look at routes[1].path. …`. Null where the
 * form has no such field.
 */
export function fieldOfRefusal(draft: Draft, message: string): { field: string; text: string } | null {
  const [, member = "", text = ""] = /^Look at ([\w.[\]]{1,100})\.\s+(.*)$/s.exec(message) ?? [];
  if (member === "") return null;
  const [terms, routes] = [idsOf(draft, "terms"), idsOf(draft, "routes")];
  const [, list = "", place = "", name = ""] = /^(accepts|routes)\[(\d+)\](?:\.(\w+))?/.exec(member) ?? [];
  const ids = list === "accepts" ? terms : routes;
  const id = list === "" ? undefined : ids[Number(place)];
  if (id !== undefined) {
    const field = `${list === "accepts" ? "terms" : "routes"}.${id}.${name || "path"}`;
    return field in draft ? { field, text } : null;
  }
  if (TERM_MEMBERS.has(member)) {
    return terms.length === 1 ? { field: `terms.${terms[0]}.${member}`, text } : null;
  }
  return member in draft && member !== "terms" && member !== "routes" ? { field: member, text } : null;
}
