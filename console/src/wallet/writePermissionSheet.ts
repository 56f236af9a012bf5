import type { ScValue } from "./decodeValue";
import { delegateAddress, readSessionSpec } from "./readSessionSpec";
import type { ArgumentRule, AuthorityMode, OracleFloor, SessionCall, SessionSpec, TokenCap } from "./readSessionSpec";
import { countOf, nameArgument, nameTokens, NOTHING_ELSE, showDuration, showTime } from "./sheetWords";
import type { TokenNames } from "./sheetWords";

// The sentences of src/farebox/automation/plans/permission_sheet.py, letter for letter.

interface ModeWords {
  who: (key: string, account: string, network: string) => string;
  how: string;
  actor: string;
  loss: string;
}

const BPS = 10_000;
const STOLEN = "if the key is stolen: the calls above are made as early as they may be";
const byKey: ModeWords["who"] = (key, account, network) =>
  `The service's key ${key} may act for the account ${account} on ${network}, as written here.`;
const MODES: Record<AuthorityMode, ModeWords> = {
  session: {
    who: byKey,
    how: "The account makes the calls; the session guard that is installed on it refuses every other call of the key.",
    actor: "the account",
    loss: STOLEN,
  },
  mandate: {
    who: byKey,
    how:
      "A contract for this plan alone, the mandate, makes the calls; it takes from the account what a call needs, " +
      "and refuses every other call of the key.",
    actor: "the mandate",
    loss: STOLEN,
  },
  presigned: {
    who: (key, account, network) =>
      `The service sends calls that the account ${account} signs ahead on ${network}; its key ${key} signs none of them.`,
    how:
      "The account makes the calls, each once; the network does not hold the service to the times written here, " +
      "only to the last ledger of each signature.",
    actor: "the account",
    loss: "if what is signed is stolen: the calls above are made at once",
  },
  open: {
    who: (key, account, network) =>
      `The service makes calls for the account ${account} on ${network} without its signature; the key ${key} signs none of them.`,
    how:
      "The service's executor makes the calls; it has no authority over the account, and the network does not hold " +
      "it to the times written here.",
    actor: "the service's executor",
    loss: "if the service is dishonest: the calls above are made at other times",
  },
};

/** The sentences about a SessionSpec (base64 XDR). Throws `Undecodable`. */
export const writePermissionSheet = (network: string, specXdr: string): string[] =>
  sheetOf(network, readSessionSpec(specXdr));

/** The sentences about a spec: one for each rule, and the worst case at the end. */
export function sheetOf(network: string, spec: SessionSpec): string[] {
  const names = nameTokens(
    network,
    spec.caps.map((cap) => cap.token),
  );
  return [
    ...frame(network, names, spec),
    ...spec.calls.flatMap((call, index) => callLines(names, index + 1, call, spec)),
    ...spec.caps.map((cap) => capLine(names, cap)),
    NOTHING_ELSE,
    worstCase(names, spec),
  ];
}

function frame(network: string, names: TokenNames, spec: SessionSpec): string[] {
  const words = MODES[spec.mode];
  return [
    words.who(delegateAddress(spec), spec.account, network),
    words.how,
    `The calls start from ${showTime(spec.notBefore)} until ${showTime(spec.notAfter)}.`,
    `At most ${countOf(spec.maxUses, "call")} may start in all.`,
    `The same call, or the same line of it, may start once in ${showDuration(spec.interval)}.`,
    names.explain(),
  ];
}

function callLines(names: TokenNames, number: number, call: SessionCall, spec: SessionSpec): string[] {
  const inside = call.under === null ? "" : `, only inside call ${call.under + 1} and once in it`;
  const head = `Call ${number}${inside}`;
  const transfer = transferLines(names, number, call, spec);
  if (transfer) return [`${head}: ${transfer[0]}.`, ...transfer.slice(1)];
  const counted = call.amount === null ? "" : `, of which argument ${call.amount + 1} is the amount`;
  const count = call.rules.length;
  return [
    `${head}: ${call.function} of ${names.contract(call.contract)}, with ${countOf(count, "argument")}${counted}.`,
    ...call.rules.map(
      (rule, place) =>
        `Call ${number}, ${nameArgument(call.function, count, place)}: ${ruleText(names, rule, spec)}.`,
    ),
    ...call.rows.map(
      (row, index) => `Call ${number}, line ${index + 1}: ${row.map(names.show).join(", ") || "nothing"}.`,
    ),
  ];
}

const addressOf = (value: ScValue | undefined): string | null => (value?.kind === "address" ? value.address : null);
const i128Of = (value: ScValue | undefined): bigint | null =>
  value?.kind === "number" && value.type === "i128" ? value.value : null;

/** All of a call where one sentence says it: a transfer of SEP-41 with bounded arguments. */
function transferLines(
  names: TokenNames,
  number: number,
  call: SessionCall,
  spec: SessionSpec,
): [text: string, ...lines: string[]] | null {
  const [from, to, much, ...more] = call.rules;
  if (call.function !== "transfer" || call.amount !== 2 || !from || !to || !much || more.length > 0) return null;
  if (from.kind !== "account" && from.kind !== "actor") return null;
  const payer = from.kind === "account" ? "the account" : MODES[spec.mode].actor;
  if (to.kind === "row" && to.column === 0 && much.kind === "row" && much.column === 1) {
    const lines = paymentLines(names, number, call);
    return lines && [`send ${names.token(call.contract)} from ${payer}, as one of the lines of this call says`, ...lines];
  }
  const receiver = to.kind === "equal" ? addressOf(to.value) : null;
  const text = muchText(names, call.contract, much);
  if (receiver === null || text === null || call.rows.length > 0) return null;
  return [`send ${text}, from ${payer} to ${receiver}`];
}

function muchText(names: TokenNames, token: string, rule: ArgumentRule): string | null {
  if (rule.kind === "range") return `from ${names.amount(token, rule.least)} up to ${names.amount(token, rule.most)}`;
  const amount = rule.kind === "equal" ? i128Of(rule.value) : null;
  return amount === null ? null : `exactly ${names.amount(token, amount)}`;
}

/** A line for each (receiver, amount) row; null where a row is another thing, or there is none. */
function paymentLines(names: TokenNames, number: number, call: SessionCall): string[] | null {
  const lines: string[] = [];
  for (const [index, [to, amount, ...more]] of call.rows.entries()) {
    const receiver = addressOf(to);
    const paid = i128Of(amount);
    if (receiver === null || paid === null || more.length > 0) return null;
    lines.push(`Call ${number}, line ${index + 1}: ${names.amount(call.contract, paid)} to ${receiver}.`);
  }
  return lines.length > 0 ? lines : null;
}

function ruleText(names: TokenNames, rule: ArgumentRule, spec: SessionSpec): string {
  switch (rule.kind) {
    case "any":
      return "anything";
    case "equal":
      return `exactly ${names.show(rule.value)}`;
    case "row":
      return `value ${rule.column + 1} of one of the lines, of the same line for all of them`;
    case "account":
      return `the account ${spec.account}`;
    case "actor":
      return `who makes the call, ${MODES[spec.mode].actor}`;
    case "range":
      return `a number from ${rule.least} up to ${rule.most}`;
    case "time":
      return `a time at most ${showDuration(rule.seconds)} after that of the ledger`;
    case "rate":
      return `at least ${rule.numerator} for each ${rule.denominator} of argument ${rule.argument + 1}`;
    case "floor":
      return floorText(names, rule);
  }
}

const floorText = (names: TokenNames, rule: OracleFloor): string =>
  `at least what argument ${rule.argument + 1} of ${names.token(rule.sell)} is worth in ${names.token(rule.buy)}, ` +
  `by prices of the oracle ${rule.oracle} that are not older than ${showDuration(rule.maxAge)}, ` +
  `times ${rule.numerator}/${rule.denominator} and less ${rule.bps} of ${BPS} parts`;

function capLine(names: TokenNames, { token, perRun, total }: TokenCap): string {
  if (perRun === 0n && total === 0n) {
    return `Nothing of ${names.token(token)} may be paid; what comes in goes to the account.`;
  }
  const [once, all] = [names.amount(token, perRun), names.amount(token, total)];
  return `At most ${once} may be paid with one call that starts, and ${all} in all.`;
}

function worstCase(names: TokenNames, spec: SessionSpec): string {
  const told = `Worst case, ${MODES[spec.mode].loss}`;
  const losses = spec.caps
    .filter((cap) => cap.total !== 0n)
    .map(({ token, perRun, total }) => {
      const most = perRun * BigInt(spec.maxUses);
      return names.amount(token, most < total ? most : total);
    });
  if (losses.length === 0) return `${told}; no token may be paid from the account.`;
  return `${told}, and ${losses.join(" and ")} leave the account on the terms above.`;
}
