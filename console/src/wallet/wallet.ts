/** What the console asks of a browser wallet. No key ever leaves the wallet. */
export interface Wallet {
  readonly id: string;
  readonly name: string;
  /** Where a person gets it. */
  readonly homepage: string;
  readonly canSignEntries: boolean;
  /** Whether the wallet is installed here; a wallet that is a web page always is. */
  isInstalled(): Promise<boolean>;
  /** Asks the person to show an account, and returns it with the wallet's network. */
  connect(): Promise<WalletAccount>;
  /** Signs a transaction envelope (base64 XDR) and returns the signed envelope. */
  signTransaction(xdr: string, request: SigningRequest): Promise<string>;
  /**
   * Signs a HashIDPreimage (base64 XDR, SEP-43) and returns the signature: base64 of 64 bytes for
   * an account, of the SCVal that `__check_auth` takes for a contract.
   */
  signAuthEntry(preimageXdr: string, request: SigningRequest): Promise<string>;
}

export interface WalletAccount {
  /** G… or C… */
  address: string;
  /** Null when the wallet does not say: it uses the one it is asked for. */
  networkPassphrase: string | null;
}

export interface SigningRequest {
  address: string;
  networkPassphrase: string;
}

export type WalletProblemKind =
  | "not_installed"
  | "wrong_network"
  | "wrong_account"
  | "cannot_sign_entries"
  | "declined"
  | "undecodable"
  | "no_answer"
  | "failed";

/** A wallet that did not sign. Nothing was sent anywhere, and the form stays as it is. */
export class WalletProblem extends Error {
  readonly kind: WalletProblemKind;
  constructor(kind: WalletProblemKind, message: string) {
    super(message);
    this.name = "WalletProblem";
    this.kind = kind;
  }
}

/** By CAIP-2 name: the page never takes the passphrase of what it has signed from an answer. */
export const PASSPHRASES = {
  "stellar:testnet": "Test SDF Network ; September 2015",
  "stellar:pubnet": "Public Global Stellar Network ; September 2015",
} as const;

const NAMES: Record<string, string> = {
  [PASSPHRASES["stellar:testnet"]]: "Testnet",
  [PASSPHRASES["stellar:pubnet"]]: "Public network",
};

export const nameOfPassphrase = (passphrase: string): string => NAMES[passphrase] ?? passphrase;

/** Connects and checks that the wallet is on the network. */
export async function connectOn(wallet: Wallet, passphrase: string): Promise<WalletAccount> {
  if (!(await wallet.isInstalled())) {
    throw new WalletProblem(
      "not_installed",
      `${wallet.name} is not installed in this browser. Install it, reload this page and try again.`,
    );
  }
  const account = await wallet.connect();
  if (account.networkPassphrase !== null && account.networkPassphrase !== passphrase) {
    throw new WalletProblem(
      "wrong_network",
      `${wallet.name} is on ${nameOfPassphrase(account.networkPassphrase)}. ` +
        `Switch it to ${nameOfPassphrase(passphrase)} and try again.`,
    );
  }
  return account;
}

const WAIT_MS = 180_000;

/** Ends the wait for a wallet that never answers, such as one whose window was closed. */
export async function withDeadline<T>(name: string, answer: Promise<T>, ms = WAIT_MS): Promise<T> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<never>((_, reject) => {
    const message = `${name} did not answer. Nothing was signed. Open the wallet and try again.`;
    timer = setTimeout(() => reject(new WalletProblem("no_answer", message)), ms);
  });
  try {
    return await Promise.race([answer, late]);
  } finally {
    clearTimeout(timer);
  }
}
