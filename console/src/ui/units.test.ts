import { expect, test } from "vitest";
import { isAtLeast } from "./units";

test("isAtLeast compares amounts to the last digit, and no other texts", () => {
  expect(isAtLeast("9007199254740993", "9007199254740992")).toBe(true);
  expect(isAtLeast("9007199254740992", "9007199254740993")).toBe(false);
  expect(isAtLeast("5", "5")).toBe(true);
  for (const text of ["", "-1", "1.5", "<b>", "0x10"]) expect(isAtLeast(text, "0")).toBe(false);
});
