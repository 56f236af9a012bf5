import { expect, test } from "vitest";
import { labelWriter, WHOLE_STEPS } from "./plotScale";

const seconds = (text: string) => Date.parse(text) / 1000;

test("days are written without a time, whatever the zone of the browser", () => {
  const write = labelWriter([seconds("2026-11-24T00:00:00Z"), seconds("2026-11-25T00:00:00Z")]);
  expect(write(seconds("2026-11-25T00:00:00Z"))).toBe("25 Nov");
});

test("moments of one day are written as times, and of several with their day", () => {
  const at = seconds("2026-11-25T12:30:00Z");
  expect(labelWriter([at, at + 60])(at)).toMatch(/^\d\d:\d\d$/);
  expect(labelWriter([at, at + 3 * 86_400])(at)).toMatch(/^\d+ Nov, \d\d:\d\d$/);
});

test("an axis that counts has whole steps", () => {
  expect(WHOLE_STEPS.slice(0, 5)).toEqual([1, 2, 5, 10, 20]);
  expect(WHOLE_STEPS.every(Number.isInteger)).toBe(true);
});
