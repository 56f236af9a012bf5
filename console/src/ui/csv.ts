/** What a spreadsheet would run as a formula when a cell begins with it (OWASP, CSV injection). */
const FORMULA = /^[\s\u00a0]*[=+\-@\t\r＝＋－＠]/;
const QUOTED = /[",\r\n']/;

/** Writes one cell (RFC 4180); a text that a spreadsheet would run begins with an apostrophe. */
export function csvCell(text: string): string {
  const safe = FORMULA.test(text) ? `'${text}` : text;
  return QUOTED.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

/** Writes rows of cells as a CSV file. */
export const csvText = (rows: readonly (readonly string[])[]): string =>
  rows.map((row) => `${row.map(csvCell).join(",")}\r\n`).join("");
