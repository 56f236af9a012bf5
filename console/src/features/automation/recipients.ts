import type { Leg } from "@/api/automationTypes";
import { csvText } from "@/ui/csv";
import { formatUnits, parseUnits } from "@/ui/money";

const ADDRESS = /^[GC][A-Z2-7]{55}$/;
const MOST_REFERENCE = 64;
const HEADS = new Set(["address", "to", "recipient", "account", "destination"]);

export interface RecipientLine {
  /** The line of the text, from 1 on. */
  line: number;
  to: string;
  /** As typed. */
  amount: string;
  ref: string;
  problem: string | null;
  isDuplicate: boolean;
}

/** Splits CSV text into lines of cells (RFC 4180); semicolons and tabs separate cells as well. */
export function readCells(text: string): { line: number; cells: string[] }[] {
  const rows: { line: number; cells: string[] }[] = [];
  let [cell, cells, line, start, isQuoted] = ["", [] as string[], 1, 1, false];
  const endRow = () => {
    cells.push(cell);
    if (cells.some((each) => each.trim() !== "")) rows.push({ line: start, cells: cells.map((each) => each.trim()) });
    cell = "";
    cells = [];
    start = line + 1;
  };
  for (let at = 0; at < text.length; at += 1) {
    const sign = text[at] ?? "";
    if (isQuoted) {
      if (sign === '"' && text[at + 1] === '"') {
        cell += '"';
        at += 1;
      } else if (sign === '"') isQuoted = false;
      else cell += sign;
    } else if (sign === '"' && cell.trim() === "") {
      isQuoted = true;
      cell = "";
    } else if (sign === "," || sign === ";" || sign === "\t") {
      cells.push(cell);
      cell = "";
    } else if (sign === "\n") endRow();
    else if (sign !== "\r") cell += sign;
    if (sign === "\n") line += 1;
  }
  endRow();
  return rows;
}

function problemOf(to: string, amount: string, ref: string, decimals: number | null, count: number): string | null {
  if (!ADDRESS.test(to)) return "The address is an account (G…) or a contract (C…) of 56 characters.";
  const units = parseUnits(amount, decimals ?? 0);
  if (units === null || units === "0") {
    return decimals === null ? "The amount is a whole number of base units." : `The amount is above 0, with at most ${decimals} decimals.`;
  }
  if (ref.length > MOST_REFERENCE) return `The reference has ${MOST_REFERENCE} characters at most.`;
  return count > 3 ? "A line has an address, an amount and a reference." : null;
}

/**
 * Reads recipients: a line each of address, amount and, if there is one, a reference. A first line
 * of headings is left out, and an address that is there before is marked.
 */
export function readRecipients(text: string, decimals: number | null): RecipientLine[] {
  const rows = readCells(text.replace(/^\ufeff/, ""));
  if (HEADS.has((rows[0]?.cells[0] ?? "").toLowerCase())) rows.shift();
  const seen = new Set<string>();
  return rows.map(({ line, cells }) => {
    const [to = "", amount = "", written = ""] = cells;
    const ref = written.replace(/^'(?=[=+\-@])/, ""); // as `csvCell` protects it
    const isDuplicate = seen.has(to);
    seen.add(to);
    const problem = problemOf(to, amount, ref, decimals, cells.filter((each, place) => place < 3 || each !== "").length);
    return { line, to, amount, ref, problem: problem ?? (isDuplicate ? "This recipient is there before." : null), isDuplicate };
  });
}

/** The legs of lines in which no problem was found. */
export const legsOf = (lines: readonly RecipientLine[], decimals: number | null): Leg[] =>
  lines.map(({ to, amount, ref }) => ({
    to,
    amount: parseUnits(amount, decimals ?? 0) ?? amount,
    ...(ref === "" ? {} : { ref }),
  }));

/** Writes recipients as the CSV that `readRecipients` reads. */
export const recipientsCsv = (legs: readonly Leg[], decimals: number | null): string =>
  csvText([
    ["address", "amount", "reference"],
    ...legs.map(({ to, amount, ref }) => [
      to,
      decimals === null ? amount : (formatUnits(amount, decimals, false) ?? amount),
      ref ?? "",
    ]),
  ]);
