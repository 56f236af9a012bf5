import { expect, test } from "vitest";
import { formatRelative, formatSeconds } from "./time";

const NOW = Date.parse("2026-11-25T12:00:00Z");

test.each([
  [-2_000, "just now"],
  [2_000, "just now"],
  [8_000, "in a few seconds"],
  [-30_000, "30 seconds ago"],
  [-60_000, "1 minute ago"],
  [5 * 3_600_000, "in 5 hours"],
  [-86_400_000, "yesterday"],
  [-40 * 86_400_000, "16 Oct 2026"],
])("%i ms from now is %s", (distance, expected) => {
  expect(formatRelative(NOW + distance, NOW)).toBe(expected);
});

test.each([
  [5, "5 s"],
  [60, "1 min"],
  [90, "1 min 30 s"],
  [3_700, "1 h 1 min"],
])("%i seconds are %s", (seconds, expected) => expect(formatSeconds(seconds)).toBe(expected));
