/**
 * Amounts. The API writes whole base units as decimal text; a person reads and writes a decimal
 * number of tokens. Nothing here is ever a `number`.
 */
const BASE_UNITS = /^-?\d{1,60}$/;
const DECIMAL = /^(\d{1,40})(?:\.(\d{0,40}))?$|^\.(\d{1,40})$/;

/** Groups the digits of a whole number by threes: `1234567` → `1,234,567`. */
const group = (digits: string): string => digits.replace(/\B(?=(\d{3})+$)/g, ",");

/** Writes base units as a decimal number without needless zeros. Null when it is no amount. */
export function formatUnits(units: string, decimals: number, isGrouped = true): string | null {
  if (!BASE_UNITS.test(units) || !Number.isInteger(decimals) || decimals < 0) return null;
  const isNegative = units.startsWith("-");
  const digits = (isNegative ? units.slice(1) : units).padStart(decimals + 1, "0");
  const whole = digits.slice(0, digits.length - decimals).replace(/^0+(?=\d)/, "");
  const fraction = digits.slice(digits.length - decimals).replace(/0+$/, "");
  const isZero = whole === "0" && fraction === "";
  const text = (isGrouped ? group(whole) : whole) + (fraction === "" ? "" : `.${fraction}`);
  return isNegative && !isZero ? `-${text}` : text;
}

/** Reads what a person typed as a number of tokens. Null when it is no amount that fits. */
export function parseUnits(text: string, decimals: number): string | null {
  const found = DECIMAL.exec(text.trim().replaceAll(",", ""));
  if (!found) return null;
  const whole = found[1] ?? "0";
  const fraction = (found[2] ?? found[3] ?? "").replace(/0+$/, "");
  if (fraction.length > decimals) return null;
  return (BigInt(whole) * 10n ** BigInt(decimals) + BigInt(fraction.padEnd(decimals, "0") || "0")).toString();
}

/** Adds amounts of one token; texts that are no amounts are refused. */
export function sumUnits(amounts: Iterable<string>): string {
  let total = 0n;
  for (const each of amounts) {
    if (!BASE_UNITS.test(each)) throw new TypeError(`no amount: ${each}`);
    total += BigInt(each);
  }
  return total.toString();
}
