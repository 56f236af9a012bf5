import { accountAddress } from "./decodeAddress";
import { readValue } from "./decodeValue";
import type { NumberType, ScValue } from "./decodeValue";
import { readBase64, Undecodable, XdrReader } from "./decodeXdr";

export type AuthorityMode = "session" | "mandate" | "presigned" | "open";

/** What one argument of a call may be (`ArgRule` of contracts/session-rules). */
export type ArgumentRule =
  | { kind: "any" | "account" | "actor" }
  | { kind: "equal"; value: ScValue }
  | { kind: "row"; column: number }
  | { kind: "range"; least: bigint; most: bigint }
  | { kind: "time"; seconds: bigint }
  | { kind: "rate"; argument: number; numerator: bigint; denominator: bigint }
  | OracleFloor;

export interface OracleFloor {
  kind: "floor";
  argument: number;
  oracle: string;
  sell: string;
  buy: string;
  bps: number;
  maxAge: bigint;
  numerator: bigint;
  denominator: bigint;
}

export interface SessionCall {
  contract: string;
  function: string;
  rules: ArgumentRule[];
  /** Which argument is an amount of the token `contract`. */
  amount: number | null;
  rows: ScValue[][];
  /** The root call in which this one is nested. */
  under: number | null;
}

export interface TokenCap {
  token: string;
  perRun: bigint;
  total: bigint;
}

/** Everything that a session or mandate allows; times are unix seconds, both ends included. */
export interface SessionSpec {
  account: string;
  mode: AuthorityMode;
  /** The public key, 32 bytes. */
  delegate: Uint8Array;
  calls: SessionCall[];
  caps: TokenCap[];
  /** Least seconds between two uses of one call and row. */
  interval: bigint;
  maxUses: number;
  notBefore: bigint;
  notAfter: bigint;
}

export const MAX_SPEC_BYTES = 65_536;
const VERSION = 1;
const MODES: readonly string[] = ["session", "mandate", "presigned", "open"];
const NO_SPEC = "It is no session specification of a known form.";

function refuse(): never {
  throw new Undecodable(NO_SPEC);
}

/** The members of a struct: exactly these keys, in the order of their bytes. */
function readMembers<const Keys extends readonly string[]>(
  value: ScValue,
  keys: Keys,
): Record<Keys[number], ScValue> {
  if (value.kind !== "map" || value.entries.length !== keys.length) refuse();
  const members = value.entries.map(([key, member], at) => {
    const name = textOf(key);
    return name === keys[at] ? [name, member] : refuse();
  });
  return Object.fromEntries(members) as Record<Keys[number], ScValue>;
}

const itemsOf = (value: ScValue): ScValue[] => (value.kind === "vec" ? value.items : refuse());
const addressOf = (value: ScValue): string => (value.kind === "address" ? value.address : refuse());
const numberOf = (value: ScValue, type: NumberType): bigint =>
  value.kind === "number" && value.type === type ? value.value : refuse();
const u32Of = (value: ScValue): number => Number(numberOf(value, "u32"));
const optionalOf = (value: ScValue): number | null => (value.kind === "void" ? null : u32Of(value));

/** A symbol, which is not empty. */
function textOf(value: ScValue): string {
  if (value.kind !== "symbol" || value.raw.length === 0) refuse();
  return String.fromCharCode(...value.raw);
}

function keyOf(value: ScValue): Uint8Array {
  return value.kind === "bytes" && value.raw.length === 32 ? value.raw : refuse();
}

function readFloor(value: ScValue): OracleFloor {
  const floor = readMembers(value, [
    "bps",
    "buy",
    "in_arg",
    "max_age",
    "oracle",
    "scale_den",
    "scale_num",
    "sell",
  ]);
  return {
    kind: "floor",
    argument: u32Of(floor.in_arg),
    oracle: addressOf(floor.oracle),
    sell: addressOf(floor.sell),
    buy: addressOf(floor.buy),
    bps: u32Of(floor.bps),
    maxAge: numberOf(floor.max_age, "u64"),
    numerator: numberOf(floor.scale_num, "i128"),
    denominator: numberOf(floor.scale_den, "i128"),
  };
}

type RuleReader = (...values: [ScValue, ScValue, ScValue]) => ArgumentRule;

/** By the name of the variant: how many values it has, and how they are read. */
const RULES: Record<string, [count: number, read: RuleReader]> = {
  Any: [0, () => ({ kind: "any" })],
  Account: [0, () => ({ kind: "account" })],
  Actor: [0, () => ({ kind: "actor" })],
  Eq: [1, (value) => ({ kind: "equal", value })],
  Row: [1, (column) => ({ kind: "row", column: u32Of(column) })],
  TimeWithin: [1, (seconds) => ({ kind: "time", seconds: numberOf(seconds, "u64") })],
  OracleFloor: [1, readFloor],
  Range: [2, (least, most) => ({ kind: "range", least: numberOf(least, "i128"), most: numberOf(most, "i128") })],
  MinRate: [
    3,
    (argument, numerator, denominator) => ({
      kind: "rate",
      argument: u32Of(argument),
      numerator: numberOf(numerator, "i128"),
      denominator: numberOf(denominator, "i128"),
    }),
  ],
};

function readRule(value: ScValue): ArgumentRule {
  const [name, ...values] = itemsOf(value);
  const known = name && Object.hasOwn(RULES, textOf(name)) ? RULES[textOf(name)] : undefined;
  if (!known || values.length !== known[0]) refuse();
  return known[1](...(values as [ScValue, ScValue, ScValue]));
}

function readCall(value: ScValue): SessionCall {
  const call = readMembers(value, ["amount", "args", "contract", "function", "rows", "under"]);
  return {
    contract: addressOf(call.contract),
    function: textOf(call.function),
    rules: itemsOf(call.args).map(readRule),
    amount: optionalOf(call.amount),
    rows: itemsOf(call.rows).map(itemsOf),
    under: optionalOf(call.under),
  };
}

function readCap(value: ScValue): TokenCap {
  const cap = readMembers(value, ["per_run", "token", "total"]);
  return {
    token: addressOf(cap.token),
    perRun: numberOf(cap.per_run, "i128"),
    total: numberOf(cap.total, "i128"),
  };
}

/** The spec that a contract value is. Throws `Undecodable`. */
export function specOf(value: ScValue): SessionSpec {
  const spec = readMembers(value, [
    "account",
    "calls",
    "caps",
    "delegate",
    "interval",
    "max_uses",
    "mode",
    "not_after",
    "not_before",
    "version",
  ]);
  const mode = textOf(spec.mode);
  if (u32Of(spec.version) !== VERSION || !MODES.includes(mode)) refuse();
  return {
    account: addressOf(spec.account),
    mode: mode as AuthorityMode,
    delegate: keyOf(spec.delegate),
    calls: itemsOf(spec.calls).map(readCall),
    caps: itemsOf(spec.caps).map(readCap),
    interval: numberOf(spec.interval, "u64"),
    maxUses: u32Of(spec.max_uses),
    notBefore: numberOf(spec.not_before, "u64"),
    notAfter: numberOf(spec.not_after, "u64"),
  };
}

/** Reads a SessionSpec (base64 XDR), which has no other encoding. Throws `Undecodable`. */
export function readSessionSpec(specXdr: string): SessionSpec {
  const reader = new XdrReader(readBase64(specXdr, MAX_SPEC_BYTES));
  const value = readValue(reader);
  reader.finish();
  return specOf(value);
}

/** The address of the delegate's key. */
export const delegateAddress = (spec: SessionSpec): string => accountAddress(spec.delegate);
