import type { Transfer } from "./decodePayment";

/** What the page shows as the price, and who pays it. */
export interface Price {
  network: string;
  asset: string;
  /** Base units as text. */
  amount: string;
  payTo: string;
  maxTimeoutSeconds: number;
}

/** The latest ledger as the service has observed it after it prepared the payment. */
export interface LedgerTime {
  sequence: number;
  secondsPerLedger: number;
}

export interface Expected {
  price: Price;
  payer: string;
  /** The expiry that the service states beside the preimage. */
  expirationLedger: number;
  ledger: LedgerTime;
}

/** Ledgers by which two observations of the network may differ. */
const TOLERANCE_LEDGERS = 12;
const FASTEST_SECONDS = 0.1;
const SLOWEST_SECONDS = 5;

/** The last ledger that a payment of this price may name now. */
export function latestExpiry({ price, ledger }: Pick<Expected, "price" | "ledger">): number {
  const cadence = Math.min(Math.max(ledger.secondsPerLedger, FASTEST_SECONDS), SLOWEST_SECONDS);
  return ledger.sequence + Math.ceil(price.maxTimeoutSeconds / cadence) + TOLERANCE_LEDGERS;
}

/**
 * Holds what would be signed against what the page shows. Returns a sentence for each difference:
 * one is enough to sign nothing.
 */
export function judgeTransfer(transfer: Transfer, expected: Expected): string[] {
  const { price, payer, expirationLedger, ledger } = expected;
  const rules: [holds: boolean, sentence: string][] = [
    [transfer.network === price.network, `It is for ${transfer.network}, and the price is on ${price.network}.`],
    [transfer.asset === price.asset, `It moves the token ${transfer.asset}, and the price is in ${price.asset}.`],
    [transfer.payer === payer, `It takes from ${transfer.payer}, and your account is ${payer}.`],
    [transfer.recipient === price.payTo, `It pays ${transfer.recipient}, and the price is paid to ${price.payTo}.`],
    [
      transfer.amount.toString() === price.amount,
      `It moves ${transfer.amount} base units, and the price is ${price.amount}.`,
    ],
    [
      transfer.expirationLedger === expirationLedger,
      `It ends with ledger ${transfer.expirationLedger}, and the service says ${expirationLedger}.`,
    ],
    [
      transfer.expirationLedger > ledger.sequence && transfer.expirationLedger <= latestExpiry(expected),
      `It ends with ledger ${transfer.expirationLedger}, which is not within ${price.maxTimeoutSeconds} seconds.`,
    ],
  ];
  return rules.filter(([holds]) => !holds).map(([, sentence]) => sentence);
}
