import { hex } from "./bytes";
import type { ScValue } from "./decodeValue";

// The words of src/farebox/automation/plans/sheet_words.py and value_text.py, letter for letter.

export const NOTHING_ELSE = "Nothing else is allowed: no other contract, function, argument or token.";
const DECIMALS = 7; // of every Stellar asset contract

const KNOWN: Record<string, Record<string, string>> = {
  "stellar:testnet": {
    CBIELTK6YBZJU5UP2WWQEUCYKLPU6AUNZ2BQ4WWFEIE3USCIHMXQDAMA: "USDC",
    CDLZFC3SYJYDZT7K67VZ75HPJVIEUVNIXF47ZG2FB2RMQQVU2HHGCYSC: "XLM",
  },
  "stellar:pubnet": {
    CCW67TSZV3SSS2HXMBQ5JFGCKJNXKZM7UQUWUZPUTHXSTZLEO7SJMI75: "USDC",
    CAS3J7GYLGXMF6TDJBBYYSE3HQ6BBSMLNUQ34T6TZMYMW2EVH34XOWMA: "XLM",
  },
};

const ARGUMENTS: Record<string, string[]> = {
  transfer: ["from", "to", "amount"],
  transfer_from: ["spender", "from", "to", "amount"],
  approve: ["from", "spender", "amount", "last ledger"],
  burn: ["from", "amount"],
  burn_from: ["spender", "from", "amount"],
  swap_exact_tokens_for_tokens: ["amount paid", "least amount received", "tokens", "receiver", "deadline"],
  swap_chained: ["payer", "steps", "token paid", "amount paid", "least amount received"],
  autolayer_run: ["executor"],
};
const UNITS: [seconds: bigint, unit: string][] = [
  [86_400n, "day"],
  [3_600n, "hour"],
  [60n, "minute"],
];
const LAST_TIME = 253_402_300_799n; // of the year 9999

/** The names of tokens in one sheet: the known ones by their codes, the others by number. */
export interface TokenNames {
  explain: () => string;
  contract: (contract: string) => string;
  token: (token: string) => string;
  amount: (token: string, amount: bigint) => string;
  show: (value: ScValue) => string;
}

export function nameTokens(network: string, tokens: string[]): TokenNames {
  const known = new Map(Object.entries(KNOWN[network] ?? {}));
  const names = new Map(known);
  const others = new Set(tokens.filter((token) => !known.has(token)));
  for (const token of others) names.set(token, `token ${names.size - known.size + 1}`);
  const nameToken = (token: string) => names.get(token) ?? `the token ${token}`;
  return {
    explain: () => `Here ${[...names].map(([token, name]) => `${name} is the token ${token}`).join(", ")}.`,
    contract: (contract) => names.get(contract) ?? `the contract ${contract}`,
    token: nameToken,
    amount: (token, amount) => {
      const code = known.get(token);
      return code === undefined
        ? `${amount} base units of ${nameToken(token)}`
        : `${formatUnits(amount)} ${code}`;
    },
    show: (value) => showValue(value, names),
  };
}

function formatUnits(amount: bigint): string {
  const digits = (amount < 0n ? -amount : amount).toString().padStart(DECIMALS + 1, "0");
  const rest = digits.slice(-DECIMALS).replace(/0+$/, "");
  return `${amount < 0n ? "-" : ""}${digits.slice(0, -DECIMALS)}${rest && `.${rest}`}`;
}

/** An argument by its place, with its name where so many arguments are a known interface's. */
export function nameArgument(name: string, count: number, place: number): string {
  const known = Object.hasOwn(ARGUMENTS, name) ? ARGUMENTS[name] : undefined;
  return `argument ${place + 1}${known?.length === count ? ` (${known[place]})` : ""}`;
}

/** Unix seconds as a time in UTC. */
export function showTime(seconds: bigint): string {
  if (seconds > LAST_TIME) return `second ${seconds} since 1970`;
  return `${new Date(Number(seconds) * 1_000).toISOString().slice(0, 19).replace("T", " ")} UTC`;
}

/** Seconds in the largest unit that they fill. */
export function showDuration(seconds: bigint): string {
  for (const [length, unit] of UNITS) {
    if (seconds && seconds % length === 0n) return countOf(seconds / length, unit);
  }
  return countOf(seconds, "second");
}

export function countOf(count: bigint | number, noun: string): string {
  return `${count} ${noun}${BigInt(count) === 1n ? "" : "s"}`;
}

/** The whole value as text; text in it is escaped, so that no sentence can be put into it. */
export function showValue(value: ScValue, names: ReadonlyMap<string, string> = new Map()): string {
  switch (value.kind) {
    case "number":
      return value.type === "i128" ? `${value.value}` : `${value.value} (${value.type})`;
    case "address":
      return names.get(value.address) ?? value.address;
    case "bytes":
      return `bytes ${hex(value.raw)}`;
    case "string":
      return quote(value.raw);
    case "symbol":
      return `symbol ${quote(value.raw)}`;
    case "bool":
      return `${value.value}`;
    case "void":
      return "nothing";
    case "vec":
      return `[${value.items.map((each) => showValue(each, names)).join(", ")}]`;
    case "map":
      return `{${value.entries.map((entry) => entry.map((each) => showValue(each, names)).join(": ")).join(", ")}}`;
  }
}

function quote(raw: Uint8Array): string {
  const shown = Array.from(raw, (byte) => {
    if (byte < 0x20 || byte > 0x7e) return `\\x${byte.toString(16).padStart(2, "0")}`;
    const text = String.fromCharCode(byte);
    return text === '"' || text === "\\" ? `\\${text}` : text;
  });
  return `"${shown.join("")}"`;
}
