import { expect, test } from "vitest";
import { answerJson, serve } from "@/api/loopback.testing";
import type { Owner } from "@/api/session";
import vectors from "@/wallet/accountChallenge.vectors.json";
import { albedo } from "@/wallet/albedo";
import { Undecodable } from "@/wallet/decodeXdr";
import type { Wallet } from "@/wallet/wallet";
import { WalletProblem } from "@/wallet/wallet";
import { requireAsked, signIn } from "./signIn";

const { expected, issued, refused } = vectors;
const NETWORK = "stellar:testnet" as const;
const OWNER: Owner = { id: "user_1", network: NETWORK, address: expected.address, expiresAt: null };
const challengeOf = (document: string) => ({ ...expected, network: NETWORK, expiresAt: "", transactionXdr: document });

/** A wallet that tells what it was handed. */
function walletThat(handed: string[], address = expected.address): Wallet {
  return {
    ...albedo,
    isInstalled: () => Promise.resolve(true),
    connect: () => Promise.resolve({ address, networkPassphrase: null }),
    signTransaction: (xdr, request) => {
      handed.push(xdr, request.networkPassphrase, request.address);
      return Promise.resolve("signed");
    },
  };
}

/** A service at the address of the page, whose challenge is this one. Returns what it is asked. */
async function serveChallenge(document: string, members: object = {}): Promise<string[]> {
  const asked: string[] = [];
  await serve((request, response) => {
    asked.push(request.url ?? "");
    if (request.url?.endsWith("/challenge")) answerJson(response, 200, { ...challengeOf(document), ...members });
    else answerJson(response, 200, { user: { id: "user_1" }, expiresAt: "2026-11-26T00:00:00Z" });
  });
  return asked;
}

const PAGE = { hostname: "pay.example.com" };
const SERVED = { homeDomain: PAGE.hostname, webAuthDomain: PAGE.hostname };

test("a challenge is read, told in words, and then handed to the wallet", async () => {
  const handed: string[] = [];
  const told: [string, string[]][] = [];
  await serveChallenge(issued.document);
  const options = { owner: OWNER, onStep: (step: string, statements: string[]) => told.push([step, statements]) };
  const owner = await signIn(walletThat(handed), NETWORK, options);
  expect(owner).toEqual({ ...OWNER, expiresAt: "2026-11-26T00:00:00Z" });
  expect(handed).toEqual([issued.document, expected.networkPassphrase, expected.address]);
  expect(told.map(([step]) => step)).toEqual(["connecting", "challenge", "signing", "verifying"]);
  const words = told[2]?.[1].join("\n") ?? "";
  expect(words).toContain(`Sign in at localhost with the account ${expected.address} on Testnet.`);
  expect(words).toContain("its sequence number is 0");
});

test.each(refused)("$name never reaches the wallet", async ({ document }) => {
  const handed: string[] = [];
  const asked = await serveChallenge(document);
  await expect(signIn(walletThat(handed), NETWORK, { owner: null, onStep: () => {} })).rejects.toThrow(Undecodable);
  expect([handed, asked]).toEqual([[], ["/v1/auth/challenge"]]);
});

test("the host of the page, and any name of this machine on this machine, is what a challenge names", () => {
  const challenge = challengeOf(issued.document);
  const asked = (each: typeof challenge, page: { hostname: string }) => () => requireAsked(each, NETWORK, expected.address, page);
  expect(asked({ ...challenge, ...SERVED }, PAGE)).not.toThrow();
  expect(asked(challenge, { hostname: "127.0.0.1" })).not.toThrow();
});

test.each([
  [{ address: expected.signingKey }, "another network or account"],
  [{ networkPassphrase: "Public Global Stellar Network ; September 2015" }, "another network or account"],
  [{ homeDomain: "evil.example" }, "this page is pay.example.com"],
  [{ webAuthDomain: "evil.example" }, "this page is pay.example.com"],
  [{ webAuthDomain: "127.0.0.1" }, "this page is pay.example.com"],
])("a challenge with %j is not what this page asked for", (members, sentence) => {
  const challenge = { ...challengeOf(issued.document), ...SERVED, ...members };
  expect(() => requireAsked(challenge, NETWORK, expected.address, PAGE)).toThrow(sentence);
});

test("a challenge for another service than the page's never reaches the wallet", async () => {
  const handed: string[] = [];
  const asked = await serveChallenge(issued.document, { homeDomain: "evil.example" });
  const tried = signIn(walletThat(handed), NETWORK, { owner: null, onStep: () => {} });
  await expect(tried).rejects.toMatchObject({ kind: "undecodable" });
  expect([handed, asked]).toEqual([[], ["/v1/auth/challenge"]]);
});

test("a form that is open waits for its own account: another one of the wallet signs nothing", async () => {
  const handed: string[] = [];
  const asked = await serveChallenge(issued.document);
  const tried = signIn(walletThat(handed, expected.signingKey), NETWORK, { owner: OWNER, onStep: () => {} });
  await expect(tried).rejects.toThrow(WalletProblem);
  await expect(tried).rejects.toThrow("What you typed stays.");
  expect([handed, asked]).toEqual([[], []]);
});
