import type { Invocation } from "./decodeEntry";
import type { ScValue } from "./decodeValue";
import type { ArgumentRule, SessionCall, SessionSpec } from "./readSessionSpec";
import { showValue } from "./sheetWords";

const NUMBERS: readonly string[] = ["i128", "u128", "u64", "u32"];

/** Two values are the same when their texts are: `showValue` has another text for every value. */
const isSame = (one: ScValue, other: ScValue | undefined): boolean =>
  other !== undefined && showValue(one) === showValue(other);

/** Whether a run that is signed ahead may have this argument; it fixes times and rates, so none may stand here. */
function holds(rule: ArgumentRule, value: ScValue, account: string): boolean {
  switch (rule.kind) {
    case "any":
    case "row": // judged with its row
      return true;
    case "equal":
      return isSame(rule.value, value);
    case "account":
    case "actor":
      return value.kind === "address" && value.address === account;
    case "range":
      return value.kind === "number" && NUMBERS.includes(value.type) && value.value >= rule.least && value.value <= rule.most;
    default:
      return false;
  }
}

function fits(allowed: SessionCall, call: Invocation, account: string): boolean {
  const { values } = call;
  if (allowed.contract !== call.contract || allowed.function !== call.function) return false;
  if (allowed.rules.length !== values.length) return false;
  const pairs = allowed.rules.map((rule, place) => ({ rule, value: values[place] ?? { kind: "void" as const } }));
  if (!pairs.every(({ rule, value }) => holds(rule, value, account))) return false;
  if (allowed.rows.length === 0) return pairs.every(({ rule }) => rule.kind !== "row");
  return allowed.rows.some((row) =>
    pairs.every(({ rule, value }) => rule.kind !== "row" || isSame(value, row[rule.column])),
  );
}

/**
 * Whether a run is one that the spec allows: its root a root call, and every call below it, however
 * deep, another call of the spec under that root; each token stays within its cap of one run.
 */
export function isAllowedRun(spec: SessionSpec, root: Invocation): boolean {
  const spent = new Map<string, bigint>();
  const used = new Set<number>();
  const take = (call: Invocation, under: number | null): number => {
    const index = spec.calls.findIndex(
      (allowed, at) => !used.has(at) && allowed.under === under && fits(allowed, call, spec.account),
    );
    const place = spec.calls[index]?.amount ?? null;
    const amount = place === null ? undefined : call.values[place];
    if (place !== null) {
      const isAmount = amount?.kind === "number" && amount.type === "i128" && amount.value >= 0n;
      if (!isAmount) return -1;
      spent.set(call.contract, (spent.get(call.contract) ?? 0n) + amount.value);
    }
    used.add(index);
    return index;
  };
  const first = take(root, null);
  const below = (call: Invocation): boolean =>
    call.nested.every((each) => take(each, first) >= 0 && below(each));
  if (first < 0 || !below(root)) return false;
  const most = new Map(spec.caps.map((cap) => [cap.token, cap.perRun]));
  return [...spent].every(([token, amount]) => amount <= (most.get(token) ?? 0n));
}
