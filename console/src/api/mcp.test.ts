import { describe, expect, test } from "vitest";
import { errorOf } from "./errors";
import { readToolAnswer } from "./mcp";

describe("readToolAnswer", () => {
  test("reads the structured content of a result", () => {
    const body = { result: { content: [], structuredContent: { status: 200 }, isError: false } };
    expect(readToolAnswer(body)).toEqual({ kind: "result", content: { status: 200 } });
  });

  test("reads an error with its reason", () => {
    const body = { error: { code: -32002, message: "No.", data: { reason: "PAID_CALL_FAILED", outcome: "unknown" } } };
    expect(readToolAnswer(body)).toMatchObject({ kind: "refused", code: -32002, reason: "PAID_CALL_FAILED", message: "No." });
  });

  test.each([null, "text", [], {}, { result: {} }, { result: { structuredContent: [] } }, { error: 3 }])(
    "takes an answer of another shape for a refusal without a code: %#",
    (body) => expect(readToolAnswer(body)).toMatchObject({ kind: "refused", code: 0 }),
  );
});

describe("errorOf", () => {
  test("reads the code and the request id of an error of JSON-RPC", () => {
    const body = { error: { code: -32000, message: "Slow down.", data: { reason: "rate_limited", requestId: "ab12" } } };
    const error = errorOf(429, new Headers({ "retry-after": "3" }), body);
    expect([error.code, error.requestId, error.retryAfterSeconds]).toEqual(["rate_limited", "ab12", 3]);
  });

  test("keeps a body that has no error, as that of /health/ready", () => {
    const body = { status: "unavailable", parts: {} };
    expect(errorOf(503, new Headers(), body).details).toEqual(body);
  });
});
