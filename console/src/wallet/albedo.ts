import type { SigningRequest, Wallet, WalletAccount } from "./wallet";
import { WalletProblem, withDeadline } from "./wallet";

const NAME = "Albedo";
const load = async () => (await import("@albedo-link/intent")).default;
const REFUSED_BY_PERSON = -4;

function problemOf(error: unknown): WalletProblem {
  if (error instanceof WalletProblem) return error;
  const { code, message } = (error ?? {}) as { code?: number; message?: string };
  if (code === REFUSED_BY_PERSON) {
    return new WalletProblem("declined", `You declined in ${NAME}. Nothing was signed.`);
  }
  return new WalletProblem("failed", `${NAME} did not sign: ${message ?? "no reason given"}.`);
}

/** Albedo, a wallet on a page of its own. It signs transactions and no authorization entries. */
export const albedo: Wallet = {
  id: "albedo",
  name: NAME,
  homepage: "https://albedo.link",
  canSignEntries: false,

  isInstalled: () => Promise.resolve(true),

  async connect(): Promise<WalletAccount> {
    const intent = await load();
    try {
      const { pubkey } = await withDeadline(NAME, intent.publicKey({}));
      return { address: pubkey, networkPassphrase: null };
    } catch (error) {
      throw problemOf(error);
    }
  },

  async signTransaction(xdr: string, request: SigningRequest): Promise<string> {
    const intent = await load();
    const { address: pubkey, networkPassphrase: network } = request;
    try {
      const answer = await withDeadline(NAME, intent.tx({ xdr, pubkey, network, submit: false }));
      return answer.signed_envelope_xdr;
    } catch (error) {
      throw problemOf(error);
    }
  },

  signAuthEntry: () =>
    Promise.reject(
      new WalletProblem(
        "cannot_sign_entries",
        `${NAME} signs transactions and no authorization entries. Use Freighter to pay.`,
      ),
    ),
};
