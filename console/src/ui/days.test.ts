import { expect, test } from "vitest";
import { addDays, daysBetween, isDay, secondsOf } from "./days";

test("daysBetween has both ends and crosses months and leap days", () => {
  expect(daysBetween("2028-02-28", "2028-03-01")).toEqual(["2028-02-28", "2028-02-29", "2028-03-01"]);
  expect(daysBetween("2026-11-25", "2026-11-24")).toEqual([]);
  expect(daysBetween("2000-01-01", "2026-01-01")).toHaveLength(400);
});

test("addDays goes both ways", () => {
  expect(addDays("2026-12-31", 1)).toBe("2027-01-01");
  expect(addDays("2026-03-01", -1)).toBe("2026-02-28");
});

test.each(["2026-02-30", "2026-13-01", "26-01-01", "today", "", "2026-01-01T00:00:00Z"])(
  "%j is no day",
  (text) => expect(isDay(text)).toBe(false),
);

test("secondsOf is the start of the UTC day", () => {
  expect(isDay("2026-11-25")).toBe(true);
  expect(secondsOf("1970-01-02")).toBe(86_400);
});
