import type { Authorization, Invocation } from "./decodeEntry";
import { countOf, nameArgument, nameTokens, NOTHING_ELSE } from "./sheetWords";
import type { TokenNames } from "./sheetWords";

// The sentences of src/farebox/automation/plans/run_sheet.py, letter for letter.

/** The functions of SEP-41 that move or lend tokens: how many arguments, and which is the amount. */
const MOVING: Record<string, [count: number, amount: number]> = {
  transfer: [3, 2],
  transfer_from: [4, 3],
  approve: [4, 2],
  burn: [2, 1],
  burn_from: [3, 2],
};

interface Numbered {
  call: Invocation;
  inside: number | null;
}

/** The calls in pre-order, each with the number of the call that it is inside of. */
function numberCalls(root: Invocation): Numbered[] {
  const found: Numbered[] = [];
  const add = (call: Invocation, inside: number | null) => {
    const number = found.push({ call, inside });
    for (const each of call.nested) add(each, number);
  };
  add(root, null);
  return found;
}

/** The sentences about the signature of one exact call of `account`. */
export function runSheetOf({ network, expirationLedger, root }: Authorization, account: string): string[] {
  const names = nameTokens(network, []);
  const calls = numberCalls(root);
  return [
    `This signature of the account ${account} on ${network} allows one call, exactly as written here, once, ` +
      `at any time until ledger ${expirationLedger}.`,
    names.explain(),
    ...calls.flatMap((each, index) => callLines(names, account, index + 1, each)),
    NOTHING_ELSE,
    worstCase(names, calls),
  ];
}

function callLines(names: TokenNames, account: string, number: number, { call, inside }: Numbered): string[] {
  const head = `Call ${number}${inside === null ? "" : `, inside call ${inside} and once in it`}`;
  const count = call.values.length;
  const sent = transferText(names, account, call);
  if (sent !== null) return [`${head}: ${sent}.`];
  return [
    `${head}: ${call.function} of ${names.contract(call.contract)}, with ${countOf(count, "argument")}.`,
    ...call.values.map(
      (value, place) => `Call ${number}, ${nameArgument(call.function, count, place)}: exactly ${names.show(value)}.`,
    ),
  ];
}

/** A transfer of SEP-41 from the account; null for every other call. */
export function transferText(names: TokenNames, account: string, call: Invocation): string | null {
  const [from, to, amount, ...more] = call.values;
  if (call.function !== "transfer" || more.length > 0 || to?.kind !== "address") return null;
  if (from?.kind !== "address" || from.address !== account) return null;
  if (amount?.kind !== "number" || amount.type !== "i128") return null;
  return `send exactly ${names.amount(call.contract, amount.value)}, from the account to ${to.address}`;
}

function worstCase(names: TokenNames, calls: Numbered[]): string {
  const losses = calls.flatMap(({ call }) => {
    const [count, place] = (Object.hasOwn(MOVING, call.function) && MOVING[call.function]) || [];
    const amount = count === call.values.length && place !== undefined ? call.values[place] : undefined;
    return amount?.kind === "number" ? [names.amount(call.contract, amount.value)] : [];
  });
  if (losses.length === 0) return "Worst case: the call is made at once; no token may be paid from the account.";
  return `Worst case: the call is made at once, and ${losses.join(" and ")} leave the account.`;
}
