import { describe, expect, test } from "vitest";
import { errorOf } from "./errors";
import { readToolAnswer } from "./mcp";

describe("readToolAnswer", () => {
  test("reads the structured content of a result", () => {
    const body = { jsonrpc: "2.0", id: 7, result: { content: [], structuredContent: { status: 200 }, isError: false } };
    expect(readToolAnswer(body, 7)).toEqual({ kind: "result", content: { status: 200 } });
  });

  test("reads an error with its reason", () => {
    const body = { jsonrpc: "2.0", id: 7, error: { code: -32002, message: "No.", data: { reason: "PAID_CALL_FAILED", outcome: "unknown" } } };
    expect(readToolAnswer(body, 7)).toMatchObject({ kind: "refused", code: -32002, reason: "PAID_CALL_FAILED", message: "No." });
  });

  test.each([
    null,
    "text",
    [],
    {},
    ...[{ result: {} }, { result: { structuredContent: [] } }, { error: 3 }].map((each) => ({ jsonrpc: "2.0", id: 7, ...each })),
    ...[{ jsonrpc: "2.0", id: 6 }, { jsonrpc: "2.0" }, { id: 7 }].map((each) => ({ ...each, result: { structuredContent: { status: 200 } } })),
    { jsonrpc: "2.0", id: null, error: { code: -32602, message: "No.", data: { reason: "INVALID_ARGUMENTS" } } },
  ])(
    "takes an answer of another shape, or to another request, for a refusal without a code: %#",
    (body) => expect(readToolAnswer(body, 7)).toMatchObject({ kind: "refused", code: 0 }),
  );
});

describe("errorOf", () => {
  test("reads the code and the request id of an error of JSON-RPC", () => {
    const body = { error: { code: -32000, message: "Slow down.", data: { reason: "rate_limited", requestId: "ab12" } } };
    const error = errorOf(429, new Headers({ "retry-after": "3" }), body);
    expect([error.code, error.requestId, error.retryAfterSeconds]).toEqual(["rate_limited", "ab12", 3]);
  });

  test("knows the service's own errors from those of something on the way to it", () => {
    const own = [
      { error: { code: "not_found", message: "No.", requestId: "ab12" } },
      { jsonrpc: "2.0", id: null, error: { code: -32000, message: "No.", data: { reason: "body_too_large", requestId: "ab12" } } },
    ];
    const others = [
      undefined,
      "<html>",
      { error: { code: 403, message: "Forbidden", status: "PERMISSION_DENIED" } },
      { error: { code: "Forbidden", message: "No." } },
      { error: "Payment Required" },
      { message: "Forbidden" },
      { jsonrpc: "1.0", error: { code: -32000, data: { reason: "body_too_large" } } },
    ];
    expect(own.map((each) => errorOf(413, new Headers(), each).isOwn)).toEqual([true, true]);
    for (const each of others) expect(errorOf(403, new Headers(), each).isOwn).toBe(false);
  });

  test("reads a receipt, and anything else as none", () => {
    const receipt = { success: false, errorReason: "insufficient_funds" };
    const headers = new Headers({ "payment-response": btoa(JSON.stringify(receipt)) });
    expect(errorOf(402, headers, {}).receipt).toEqual(receipt);
    expect(errorOf(402, new Headers({ "payment-response": "%%%" }), {}).receipt).toBeNull();
  });

  test("keeps a body that has no error, as that of /health/ready", () => {
    const body = { status: "unavailable", parts: {} };
    expect(errorOf(503, new Headers(), body).details).toEqual(body);
  });
});
