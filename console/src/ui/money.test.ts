import { describe, expect, test } from "vitest";
import { formatUnits, parseUnits, sumUnits } from "./money";

describe("formatUnits", () => {
  test.each([
    ["10000", 7, "0.001"],
    ["10000000", 7, "1"],
    ["12345678901234567890", 7, "1,234,567,890,123.456789"],
    ["0", 7, "0"],
    ["1", 7, "0.0000001"],
    ["-15000000", 7, "-1.5"],
    ["-0", 7, "0"],
    ["00012", 0, "12"],
    ["1", 18, "0.000000000000000001"],
  ])("writes %s with %i decimals as %s", (units, decimals, expected) => {
    expect(formatUnits(units, decimals)).toBe(expected);
  });

  test.each(["", "1.5", "1e7", "0x10", " 1", "١", "1".repeat(61)])("refuses %j", (units) => {
    expect(formatUnits(units, 7)).toBeNull();
  });

  test("keeps digits that a number would lose", () => {
    expect(formatUnits("90071992547409931", 7)).toBe("9,007,199,254.7409931");
  });
});

describe("parseUnits", () => {
  test.each([
    ["0.001", 7, "10000"],
    ["1", 7, "10000000"],
    [".5", 7, "5000000"],
    ["1.", 7, "10000000"],
    ["1,234.5", 7, "12345000000"],
    ["0.10000000000", 7, "1000000"],
    ["900719925474.0993", 4, "9007199254740993"],
    ["7", 0, "7"],
  ])("reads %s with %i decimals as %s", (text, decimals, expected) => {
    expect(parseUnits(text, decimals)).toBe(expected);
  });

  test.each(["", ".", "-1", "1e3", "1.00000001", "one", "1.2.3", "Infinity"])("refuses %j", (text) => {
    expect(parseUnits(text, 7)).toBeNull();
  });

  test("reads back what formatUnits writes", () => {
    for (const units of ["0", "1", "9999999", "10000001", "123456789012345678901"]) {
      expect(parseUnits(formatUnits(units, 7) ?? "", 7)).toBe(units);
    }
  });
});

test("sumUnits adds without rounding and refuses what is no amount", () => {
  expect(sumUnits(["9007199254740993", "1", "-3"])).toBe("9007199254740991");
  expect(sumUnits([])).toBe("0");
  expect(() => sumUnits(["1.5"])).toThrow(TypeError);
});
