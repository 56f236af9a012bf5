const UNITS = /^\d{1,60}$/;

/** Whether base units are at least others; false where one of the texts is no amount. */
export const isAtLeast = (amount: string, least: string): boolean =>
  UNITS.test(amount) && UNITS.test(least) && BigInt(amount) >= BigInt(least);
