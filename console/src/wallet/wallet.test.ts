import { expect, test } from "vitest";
import { albedo } from "./albedo";
import type { Wallet, WalletAccount } from "./wallet";
import { connectOn, WalletProblem, withDeadline } from "./wallet";

const TESTNET = "Test SDF Network ; September 2015";
const PUBNET = "Public Global Stellar Network ; September 2015";

const walletWith = (account: WalletAccount, isInstalled = true): Wallet => ({
  ...albedo,
  name: "Example",
  isInstalled: () => Promise.resolve(isInstalled),
  connect: () => Promise.resolve(account),
});

const problemOf = async (promise: Promise<unknown>): Promise<WalletProblem> => {
  const error: unknown = await promise.catch((reason: unknown) => reason);
  if (error instanceof WalletProblem) return error;
  throw new Error("there was no problem");
};

test("a wallet on the network of the page is connected", async () => {
  const account = { address: "GADA", networkPassphrase: TESTNET };
  expect(await connectOn(walletWith(account), TESTNET)).toEqual(account);
  const silent = { address: "GADA", networkPassphrase: null };
  expect(await connectOn(walletWith(silent), TESTNET)).toEqual(silent);
});

test("each reason not to connect has one sentence that says what to do", async () => {
  const account = { address: "GADA", networkPassphrase: PUBNET };
  const other = await problemOf(connectOn(walletWith(account), TESTNET));
  expect([other.kind, other.message]).toEqual([
    "wrong_network",
    "Example is on Public network. Switch it to Testnet and try again.",
  ]);
  const none = await problemOf(connectOn(walletWith(account, false), TESTNET));
  expect([none.kind, none.message]).toEqual([
    "not_installed",
    "Example is not installed in this browser. Install it, reload this page and try again.",
  ]);
});

test("a wallet that never answers ends the wait, and one that answers keeps its answer", async () => {
  const late = await problemOf(withDeadline("Example", new Promise(() => {}), 20));
  expect(late.kind).toBe("no_answer");
  expect(late.message).toContain("Nothing was signed.");
  expect(await withDeadline("Example", Promise.resolve("signed"), 20)).toBe("signed");
});

test("Albedo says that it signs no authorization entries", async () => {
  const request = { address: "GADA", networkPassphrase: TESTNET };
  const problem = await problemOf(albedo.signAuthEntry("", request));
  expect(problem.kind).toBe("cannot_sign_entries");
});
