import { call } from "@/api/client";
import type { CallOptions } from "@/api/client";
import type { Network, Schema } from "@/api/types";
import type { SignedPayment } from "./signedPayment";

/** So many ledgers, about two minutes, are waited for after the last one: the service has to see it too. */
const LEDGERS_AFTER = 24;
/** Between the clock of the ledger and that of the service. */
const CLOCK_SLACK_MS = 300_000;
const LOOK: CallOptions = { deadlineSeconds: 8 };
const LANDED = new Set(["settled", "paid", "delivered", "owed", "refunded"]);

/** The latest ledger of a network, as the service knows it; null while it knows none. Throws `ApiError`. */
export async function readLedger(network: Network, options: CallOptions = {}): Promise<Schema<"LedgerBody"> | null> {
  const { networks } = await call("GET /v1/networks", {}, options);
  return networks.find((each) => each.network === network)?.ledger ?? null;
}

/** Whether the last ledger of a payment has passed; false while that is not known. */
export async function hasEnded({ terms, expirationLedger }: SignedPayment<unknown>): Promise<boolean> {
  try {
    const ledger = await readLedger(terms.network, LOOK);
    return ledger !== null && ledger.sequence >= expirationLedger + LEDGERS_AFTER;
  } catch {
    return false;
  }
}

/**
 * Whether the service shows that this transaction made the transfer: then it is on the ledger. False
 * where it does not know it: another facilitator may have sent it.
 */
export async function isOnLedger(transaction: string, { terms, payer, expiresAt }: SignedPayment<unknown>): Promise<boolean> {
  try {
    const shown = await call("GET /v1/payments/{transaction}", { path: { transaction } }, LOOK);
    const isSame =
      shown.network === terms.network &&
      shown.asset === terms.asset &&
      shown.amount === terms.amount &&
      shown.payTo === terms.payTo &&
      shown.receipt.payer === payer;
    // an earlier payment of the same price is another one
    const since = Date.parse(expiresAt) - terms.maxTimeoutSeconds * 1000 - CLOCK_SLACK_MS;
    return isSame && LANDED.has(shown.state) && Date.parse(shown.sentAt) >= since;
  } catch {
    return false;
  }
}
