import type { SigningRequest, Wallet, WalletAccount } from "./wallet";
import { WalletProblem, withDeadline } from "./wallet";

const NAME = "Freighter";
const load = () => import("@stellar/freighter-api");

interface FreighterError {
  code?: number;
  message?: string;
}

/** SEP-43: -4 is a person's refusal. */
function problemOf(error: FreighterError): WalletProblem {
  const text = error.message ?? "";
  if (error.code === -4 || /declin|reject|denied/i.test(text)) {
    return new WalletProblem("declined", `You declined in ${NAME}. Nothing was signed.`);
  }
  return new WalletProblem("failed", `${NAME} did not sign: ${text.slice(0, 200) || "no reason given"}.`);
}

/** The address that signed must be the one that was asked: a person may have switched accounts. */
function requireSigner(signer: string | undefined, address: string): void {
  if (signer && signer !== address) {
    throw new WalletProblem(
      "wrong_account",
      `${NAME} signed with another account. Select ${address.slice(0, 4)}…${address.slice(-4)} in it and try again.`,
    );
  }
}

/** Freighter gives the bytes as base64, and older versions as an array or a Buffer in JSON. */
function asBase64(value: unknown): string | null {
  if (typeof value === "string" && value !== "") return value;
  const data = (value as { data?: unknown } | null)?.data ?? value;
  if (Array.isArray(data) || data instanceof Uint8Array) {
    return btoa(String.fromCharCode(...(data as number[])));
  }
  return null;
}

/** Freighter, the browser extension. Its package is loaded when it is used. */
export const freighter: Wallet = {
  id: "freighter",
  name: NAME,
  homepage: "https://www.freighter.app",
  canSignEntries: true,

  async isInstalled(): Promise<boolean> {
    const { isConnected } = await load();
    const answer = await withDeadline(NAME, isConnected(), 5_000).catch(() => null);
    return answer?.isConnected === true;
  },

  async connect(): Promise<WalletAccount> {
    const { requestAccess, getNetworkDetails } = await load();
    const access = await withDeadline(NAME, requestAccess());
    if (access.error) throw problemOf(access.error);
    const network = await withDeadline(NAME, getNetworkDetails());
    if (network.error) throw problemOf(network.error);
    return { address: access.address, networkPassphrase: network.networkPassphrase };
  },

  async signTransaction(xdr: string, request: SigningRequest): Promise<string> {
    const { signTransaction } = await load();
    const answer = await withDeadline(NAME, signTransaction(xdr, { ...request }));
    if (answer.error) throw problemOf(answer.error);
    requireSigner(answer.signerAddress, request.address);
    return answer.signedTxXdr;
  },

  async signAuthEntry(preimageXdr: string, request: SigningRequest): Promise<string> {
    const { signAuthEntry } = await load();
    const answer = await withDeadline(NAME, signAuthEntry(preimageXdr, { ...request }));
    if (answer.error) throw problemOf(answer.error);
    requireSigner(answer.signerAddress, request.address);
    const signature = asBase64(answer.signedAuthEntry);
    if (signature === null) throw problemOf({ message: "it gave no signature" });
    return signature;
  },
};
