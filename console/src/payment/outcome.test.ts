import { expect, test } from "vitest";
import { ApiError } from "@/api/errors";
import { outcomeOfFailure } from "./outcome";

const errorOf = (code: string, isOwn = true): ApiError =>
  new ApiError({ status: 409, code, message: "No.", requestId: "1", retryAfterSeconds: null, details: null, isOwn });

test("a payment that was refused for another account's session was not passed on, and may be sent again", () => {
  expect(outcomeOfFailure(errorOf("account_mismatch"))).toMatchObject({ kind: "unsent", mayRepeat: true });
  expect(outcomeOfFailure(errorOf("account_mismatch", false)).kind).toBe("open");
  expect(outcomeOfFailure(errorOf("payment_used")).kind).toBe("open");
});
