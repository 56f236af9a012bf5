import { expect, test } from "vitest";
import { actFor, call, onSessionRefused, urlOf } from "./client";
import { ApiError, readRetryAfter } from "./errors";
import { answerJson, pageAt, serve } from "./loopback.testing";

const failureOf = async (promise: Promise<unknown>): Promise<ApiError> => {
  const error: unknown = await promise.catch((reason: unknown) => reason);
  if (error instanceof ApiError) return error;
  throw new Error("it did not fail");
};

test("urlOf escapes path parameters and leaves out what is not set", () => {
  expect(urlOf("GET /v1/accounts/{network}/{address}", { path: { network: "stellar:testnet", address: "a/b?c" } })).toBe(
    "/v1/accounts/stellar%3Atestnet/a%2Fb%3Fc",
  );
  expect(urlOf("GET /v1/audit", { query: { limit: 20, cursor: undefined, action: "" } })).toBe("/v1/audit?limit=20");
  expect(() => urlOf("DELETE /v1/api-keys/{id}", { path: { id: ".." } })).toThrow(TypeError);
  expect(() => urlOf("DELETE /v1/api-keys/{id}", { path: {} })).toThrow(TypeError);
});

test("a change carries the CSRF header and JSON, a read neither", async () => {
  const seen: { method: string | undefined; csrf: unknown; type: unknown }[] = [];
  await serve((request, response) => {
    seen.push({ method: request.method, csrf: request.headers["x-farebox-csrf"], type: request.headers["content-type"] });
    response.setHeader("content-type", "application/json").end('{"ended": 1}');
  });
  await call("GET /v1/networks", {});
  await call("POST /v1/auth/logout", { body: { everywhere: true } });
  expect(seen).toEqual([
    { method: "GET", csrf: undefined, type: undefined },
    { method: "POST", csrf: "1", type: "application/json" },
  ]);
});

test("a refusal has the code, the message, the request id and the seconds of Retry-After", async () => {
  await serve((_, response) => {
    const error = { code: "too_many_requests", message: "Wait.", requestId: "5a1f" };
    response.writeHead(429, { "content-type": "application/json", "retry-after": "17" }).end(JSON.stringify({ error }));
  });
  const error = await failureOf(call("GET /v1/networks", {}));
  expect([error.status, error.code, error.message, error.requestId, error.retryAfterSeconds, error.isOutage]).toEqual([
    429, "too_many_requests", "Wait.", "5a1f", 17, false,
  ]);
});

test.each([
  ["<html>Bad gateway</html>", "text/html"],
  ['{"error": "text"}', "application/json"],
  ['{"error": {"code": 5}}', "application/json"],
  ["{", "application/json"],
])("an answer %j that is not the service's is an outage with its status", async (body, type) => {
  await serve((_, response) => response.writeHead(502, { "content-type": type, "x-request-id": "from-header" }).end(body));
  const error = await failureOf(call("GET /v1/networks", {}));
  expect([error.status, error.code, error.requestId, error.isOutage]).toEqual([502, "unreadable_answer", "from-header", true]);
});

test("a request ends at its deadline", async () => {
  await serve(() => {});
  const error = await failureOf(call("GET /v1/networks", {}, { deadlineSeconds: 0.2 }));
  expect([error.status, error.isOutage]).toEqual([0, true]);
});

test("a service that is not there is an outage", async () => {
  pageAt("http://127.0.0.1:9/");
  const error = await failureOf(call("GET /v1/networks", {}));
  expect([error.status, error.code]).toEqual([0, "no_answer"]);
});

const makeKey = () => call("POST /v1/api-keys", { body: { name: "robot" } });

test("a request carries the account whose page made it, and asks for nobody who is signed in", async () => {
  const sent: [string | undefined, unknown][] = [];
  await serve((request, response) => {
    sent.push([request.url, request.headers["x-farebox-account"]]);
    answerJson(response, 200, {});
  });
  await makeKey();
  actFor("user_ada");
  await makeKey();
  await call("GET /v1/audit", {});
  await call("GET /v1/auth/me", {});
  actFor(null);
  await makeKey();
  expect(sent).toEqual([
    ["/v1/api-keys", undefined],
    ["/v1/api-keys", "user_ada"],
    ["/v1/audit", "user_ada"],
    ["/v1/auth/me", undefined],
    ["/v1/api-keys", undefined],
  ]);
});

test("a missing session and that of another account are told, and no other refusal", async () => {
  let [status, code] = [401, "unauthenticated"];
  await serve((_, response) =>
    response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify({ error: { code, message: "No." } })),
  );
  const heard: string[] = [];
  const stop = onSessionRefused((refusal, route) => heard.push(`${refusal} ${route}`));
  await failureOf(call("GET /v1/audit", {}));
  for ([status, code] of [[401, "signature_refused"], [409, "account_mismatch"], [409, "name_taken"]] as const) {
    await failureOf(call("GET /v1/audit", {}));
  }
  stop();
  expect(heard).toEqual(["unauthenticated GET /v1/audit", "account_mismatch GET /v1/audit"]);
});

test("Retry-After is read as seconds or as a date and never beyond a day", () => {
  const now = "Wed, 25 Nov 2026 12:00:00 GMT"; // the `Date` of the same response, never this machine's clock
  expect(readRetryAfter("30", now)).toBe(30);
  expect(readRetryAfter("Wed, 25 Nov 2026 12:01:00 GMT", now)).toBe(60);
  expect(readRetryAfter("Wed, 25 Nov 2026 11:00:00 GMT", now)).toBe(0);
  expect(readRetryAfter("999999999", now)).toBe(86_400);
  expect(readRetryAfter("soon", now)).toBeNull();
  expect(readRetryAfter(null, now)).toBeNull();
  expect(readRetryAfter("Wed, 25 Nov 2026 12:01:00 GMT", null)).toBeNull();
});
