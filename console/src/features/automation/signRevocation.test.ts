import { expect, test } from "vitest";
import type { Plan, PlanSession } from "@/api/automationTypes";
import { albedo } from "@/wallet/albedo";
import vectors from "@/wallet/readRevocation.vectors.json";
import type { Wallet } from "@/wallet/wallet";
import { WalletProblem } from "@/wallet/wallet";
import { DiffersFromPlan } from "./installSession";
import { revocationOf, signRevocation } from "./signRevocation";

const TESTNET = "Test SDF Network ; September 2015";
const [issued] = vectors.issued;
const { mode, account, policyId, contract } = issued?.expected ?? { mode: "", account: "", policyId: "", contract: "" };
const xdr = issued?.xdr ?? "";
const PLAN = { network: "stellar:testnet", authorityMode: mode, account, policyId } as Plan;
const SESSION = {
  policyId,
  account,
  // the passphrase of an answer is never used: the page has its own
  networkPassphrase: "Public Global Stellar Network ; September 2015",
  revoke: { invocations: [{ contract, function: "close", arguments: [] }], unsignedTransactionXdr: xdr },
} as unknown as PlanSession;

/** A wallet that tells what it was handed. */
const walletThat = (handed: string[], address = account): Wallet => ({
  ...albedo,
  isInstalled: () => Promise.resolve(true),
  connect: () => Promise.resolve({ address, networkPassphrase: null }),
  signTransaction: (given, request) => {
    handed.push(given, request.networkPassphrase, request.address);
    return Promise.resolve("signed");
  },
});

test("a revocation is read, told in words, and then handed to the wallet", async () => {
  expect(revocationOf(PLAN, SESSION, xdr).statements.join("\n")).toContain(policyId);
  const handed: string[] = [];
  expect(await signRevocation(PLAN, SESSION, xdr, walletThat(handed))).toBe("signed");
  expect(handed).toEqual([xdr, TESTNET, account]);
});

test.each(vectors.refused)("$name never reaches the wallet", async (each) => {
  const handed: string[] = [];
  await expect(signRevocation(PLAN, SESSION, each.xdr, walletThat(handed))).rejects.toThrow(DiffersFromPlan);
  expect(handed).toEqual([]);
});

test("a revocation for another plan, mode or account than the page shows never reaches the wallet", async () => {
  const handed: string[] = [];
  const other = vectors.issued[1]?.expected.contract ?? "";
  const invocations = [{ contract: other, function: "close", arguments: [] }];
  for (const [plan, session] of [
    [{ ...PLAN, policyId: "00".repeat(32) }, SESSION],
    [{ ...PLAN, authorityMode: "mandate" }, SESSION],
    [{ ...PLAN, authorityMode: "presigned" }, SESSION],
    [{ ...PLAN, account: other }, { ...SESSION, account: other }],
    [PLAN, { ...SESSION, revoke: { ...SESSION.revoke, invocations } }],
    [PLAN, { ...SESSION, revoke: { ...SESSION.revoke, invocations: [] } }],
  ] as [Plan, PlanSession][]) {
    await expect(signRevocation(plan, session, xdr, walletThat(handed))).rejects.toThrow(DiffersFromPlan);
  }
  expect(handed).toEqual([]);
});

test("another account of the wallet is not asked", async () => {
  const handed: string[] = [];
  await expect(signRevocation(PLAN, SESSION, xdr, walletThat(handed, contract))).rejects.toThrow(WalletProblem);
  expect(handed).toEqual([]);
});
