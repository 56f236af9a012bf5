import { describe, expect, test } from "vitest";
import type { Draft } from "@/ui/draft";
import { addTo, idsOf, removeFrom } from "@/ui/draft";
import { changesOf, fieldsOf, readAmount } from "./wrapperBody";
import type { Wrapper } from "./wrapperDraft";
import { draftOf, NEW_ROUTE, newDraft, tagsOf } from "./wrapperDraft";
import { fieldOfRefusal, problemsOf } from "./wrapperProblems";

const USDC = `C${"U".repeat(55)}`;
const OTHER = `C${"V".repeat(55)}`;
const SELLER = `G${"S".repeat(55)}`;
const tokenOf = (_: string, asset: string) =>
  asset === USDC ? { code: "USDC", decimals: 7 } : { code: null, decimals: null };

const WRAPPER: Wrapper = {
  id: "wrp_1",
  slug: "city-forecast",
  endpoint: "https://farebox.example/gateway/city-forecast",
  scheme: "exact",
  enabled: true,
  name: "City forecast",
  description: "Tomorrow's weather",
  tags: ["weather", "cities"],
  mimeType: "application/json",
  upstreamUrl: "https://api.example.com/forecast",
  authType: "bearer",
  authHeader: null,
  secretId: "sec_1",
  accepts: [
    { network: "stellar:testnet", asset: USDC, amount: "12345678901234567890", payTo: SELLER },
    { network: "stellar:testnet", asset: OTHER, amount: "7", payTo: SELLER },
  ],
  method: "GET",
  routes: [
    { method: "GET", path: "/city/:name", description: "One city", input: { type: "object" } as never },
    { method: "POST", path: "/all", accepts: [{ network: "stellar:testnet", asset: USDC, amount: "5", payTo: SELLER }] },
  ],
  otherPaths: "refused",
  requestsPerMinute: 60,
  monthlyRequestQuota: 100_000,
  maxConcurrentRequests: 50,
  maxRequestBytes: 0,
  maxResponseBytes: 5_242_880,
  timeoutSeconds: 30,
  keepAnswerBytes: 0,
  isRepeatable: true,
  createdAt: "2026-11-23T09:30:00Z",
  updatedAt: "2026-11-23T09:30:00Z",
};

function filled(changes: Record<string, string> = {}): Draft {
  const draft = newDraft("stellar:testnet", USDC, SELLER);
  const [id] = idsOf(draft, "terms");
  return { ...draft, name: "City forecast", upstreamUrl: "https://api.example.com/x", [`terms.${id}.amount`]: "0.001", ...changes };
}

const problems = (draft: Draft) =>
  Object.entries(problemsOf(draft, tokenOf)).filter(([, text]) => text !== undefined).map(([name]) => name);

describe("a stored wrapper", () => {
  test("comes back from its draft unchanged", () => {
    const fields = fieldsOf(draftOf(WRAPPER, tokenOf), tokenOf);
    expect(changesOf(WRAPPER, fields)).toEqual({});
    expect(problems(draftOf(WRAPPER, tokenOf))).toEqual([]);
  });

  test("sends only the members that were changed", () => {
    const fields = fieldsOf({ ...draftOf(WRAPPER, tokenOf), description: "", requestsPerMinute: "5" }, tokenOf);
    expect(changesOf(WRAPPER, fields)).toEqual({ description: "", requestsPerMinute: 5 });
  });

  test("names its credential again for another host, and not for another path", () => {
    const other = { ...draftOf(WRAPPER, tokenOf), upstreamUrl: "https://new.example.com/" };
    expect(changesOf(WRAPPER, fieldsOf(other, tokenOf))).toEqual({
      upstreamUrl: "https://new.example.com/",
      authType: "bearer",
      authHeader: null,
      secretId: "sec_1",
    });
    const same = { ...draftOf(WRAPPER, tokenOf), upstreamUrl: "https://api.example.com/other" };
    expect(changesOf(WRAPPER, fieldsOf(same, tokenOf))).toEqual({ upstreamUrl: "https://api.example.com/other" });
  });

  test("clears secret and header without a credential", () => {
    const fields = fieldsOf({ ...draftOf(WRAPPER, tokenOf), authType: "none" }, tokenOf);
    expect(changesOf(WRAPPER, fields)).toEqual({ authType: "none", authHeader: null, secretId: null });
  });
});

describe("a new wrapper", () => {
  test("has the defaults of the service and base units", () => {
    const fields = fieldsOf(filled({ tags: " weather,, cities ," }), tokenOf);
    expect(fields).toMatchObject({
      accepts: [{ network: "stellar:testnet", asset: USDC, amount: "10000", payTo: SELLER }],
      tags: ["weather", "cities"],
      authType: "none",
      secretId: null,
      method: null,
      routes: [],
      otherPaths: "base",
      timeoutSeconds: 30,
      isRepeatable: false,
    });
    expect(problems(filled())).toEqual([]);
  });

  test.each([
    [{ name: "" }, "name"],
    [{ name: "Wetter für Köln" }, "name"],
    [{ slug: "A" }, "slug"],
    [{ upstreamUrl: "http://api.example.com" }, "upstreamUrl"],
    [{ upstreamUrl: "https://user:word@api.example.com" }, "upstreamUrl"],
    [{ upstreamUrl: "https://api.example.com:9000" }, "upstreamUrl"],
    [{ upstreamUrl: "javascript:alert(1)" }, "upstreamUrl"],
    [{ description: "x".repeat(501) }, "description"],
    [{ tags: "a,b,c,d,e,f" }, "tags"],
    [{ authType: "bearer" }, "secretId"],
    [{ authType: "header", secretId: "sec_1" }, "authHeader"],
    [{ timeoutSeconds: "0" }, "timeoutSeconds"],
    [{ timeoutSeconds: "1e2" }, "timeoutSeconds"],
    [{ maxResponseBytes: "99999999999" }, "maxResponseBytes"],
  ])("with %j has a problem at %s", (changes, name) => {
    expect(problems(filled(changes))).toEqual([name]);
  });

  test.each(["", "0", "-1", "0.00000001", "free"])("is not sold for %j", (amount) => {
    const draft = filled();
    const name = `terms.${idsOf(draft, "terms")[0]}.amount`;
    expect(problems({ ...draft, [name]: amount })).toEqual([name]);
  });

  test("has one price for each token and one recipient on a network", () => {
    const draft = addTo(filled(), "terms", { network: "stellar:testnet", asset: USDC, amount: "1", payTo: OTHER });
    const id = idsOf(draft, "terms")[1];
    expect(problems(draft)).toEqual([`terms.${id}.asset`, `terms.${id}.payTo`]);
    expect(problems(removeFrom(draft, "terms", id ?? ""))).toEqual([]);
  });

  test("has routes with a path, schemas that are objects and no second of a kind", () => {
    let draft = addTo(filled(), "routes", { ...NEW_ROUTE, path: "/city/:name", amount: "0.5", input: "[1]", output: "{" });
    draft = addTo(draft, "routes", { ...NEW_ROUTE, path: "/city/:town" });
    draft = addTo(draft, "routes", { ...NEW_ROUTE, path: "city", accepts: "[]" });
    const [one, two, three] = idsOf(draft, "routes");
    expect(problems(draft)).toEqual([
      `routes.${one}.input`,
      `routes.${one}.output`,
      `routes.${two}.path`,
      `routes.${three}.path`,
      `routes.${three}.accepts`,
    ]);
    expect(fieldsOf(draft, tokenOf).routes[0]).toMatchObject({ amount: "5000000", path: "/city/:name" });
  });
});

describe("fieldOfRefusal", () => {
  const draft = addTo(filled(), "routes", { ...NEW_ROUTE, path: "/a" });
  const [term] = idsOf(draft, "terms");
  const [route] = idsOf(draft, "routes");
  test.each([
    ["Look at payTo. It has no trustline.", `terms.${term}.payTo`],
    ["Look at accepts[0].asset. It is no contract address (C…).", `terms.${term}.asset`],
    ["Look at routes[0].path. It is a path as in /city/:name.", `routes.${route}.path`],
    ["Look at upstreamUrl. It cannot be called: name_not_found.", "upstreamUrl"],
    ["Look at timeoutSeconds. Send JSON of this shape: {…}", "timeoutSeconds"],
  ])("%j is shown at %s", (message, field) => {
    expect(fieldOfRefusal(draft, message)?.field).toBe(field);
  });

  test.each(["The slug is taken: choose another.", "Look at routes[7].path. No.", "Look at wrapper. It was changed.", ""])(
    "%j has no field",
    (message) => expect(fieldOfRefusal(draft, message)).toBeNull(),
  );

  test("says nothing of a term where there are several", () => {
    const two = addTo(draft, "terms", { network: "stellar:pubnet", asset: OTHER, amount: "1", payTo: SELLER });
    expect(fieldOfRefusal(two, "Look at payTo. It has no trustline.")).toBeNull();
  });
});

test("readAmount takes base units where the decimals are not known", () => {
  expect(readAmount("0.5", null)).toBeNull();
  expect(readAmount("12", null)).toBe("12");
  expect(readAmount("0.5", 7)).toBe("5000000");
});

test("tagsOf leaves empty tags out", () => expect(tagsOf(" , a,b ,")).toEqual(["a", "b"]));
