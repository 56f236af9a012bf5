import type { Schema } from "@/api/types";

export type Payment = Schema<"PaymentBody">;
export type State = Payment["state"];

/** The part that the reader has in a payment. */
export type Side = "payer" | "seller" | "other";

interface Explanation {
  /** What happened. */
  happened: string;
  /** What the reader can do; that nothing is to be done is said too. */
  next: string;
  /** The same in a few words, for a list; null where nothing is to be done. */
  short: string | null;
}

/** Returns the reader's part: the payer, the recipient or the wrapper's owner, or neither. */
export function sideOf(payment: Payment, address: string | null): Side {
  if (address !== null && payment.receipt.payer === address) return "payer";
  if (payment.sale !== undefined || (address !== null && payment.payTo === address)) return "seller";
  return "other";
}

const attempts = (count: number): string => (count === 1 ? "once more" : `${count} more times`);

const NOTHING = "Nothing is left to do.";

const explainPaid = ({ attemptsLeft }: Payment, side: Side): Explanation => {
  const happened = "The money arrived. The response is not delivered yet.";
  if (attemptsLeft === 0) {
    return { happened, next: "The gateway decides soon whether the payment is owed. This page shows it.", short: null };
  }
  return side === "payer"
    ? {
        happened,
        next:
          "Send the same request with the same PAYMENT-SIGNATURE again: it is not charged again. " +
          `It can be sent ${attempts(attemptsLeft)}. Do not sign a second payment.`,
        short: "Send the same request again",
      }
    : {
        happened,
        next: `The buyer can send the same request ${attempts(attemptsLeft)}, within 24 hours. After that the payment is owed.`,
        short: null,
      };
};

const explainOwed = (payment: Payment, side: Side): Explanation => {
  const happened = "The money arrived, and the response can no longer be delivered.";
  if (payment.sale !== undefined) {
    return { happened, next: "Pay the buyer back, then record the refund below.", short: "Pay it back" };
  }
  if (side === "payer") {
    return {
      happened,
      next: "The seller owes you the amount. Ask the seller for a refund and quote the transaction hash.",
      short: "Ask the seller for a refund",
    };
  }
  return {
    happened,
    next: "The wallet that owns the wrapper pays the buyer back and records the refund.",
    short: side === "seller" ? "To be paid back" : null,
  };
};

/** Says what happened to a payment and what its reader can do. */
export function explain(payment: Payment, side: Side): Explanation {
  switch (payment.state) {
    case "pending":
      return {
        happened: "The transaction was sent. Its outcome is not known yet.",
        next:
          "Nothing is to be done: the service continues by itself, and this page follows. " +
          (side === "payer" ? "Do not pay again." : "Do not ask the buyer to pay again."),
        short: "Continues by itself",
      };
    case "failed":
      return {
        happened: "The payment failed on the ledger, or can no longer land. No money moved.",
        next:
          side === "payer"
            ? "Its authorization may still be landed by whoever has seen it: sign a new payment " +
              "only once it has expired."
            : NOTHING,
        short: null,
      };
    case "unproven":
      return {
        happened: "Nobody can prove any more whether the payment landed.",
        next: "Look at the payer's account in an explorer before you pay or deliver again.",
        short: "Look in an explorer",
      };
    case "settled":
      return { happened: "The money is in the recipient's account.", next: NOTHING, short: null };
    case "paid":
      return explainPaid(payment, side);
    case "delivered":
      return { happened: "The money arrived, and the response was delivered.", next: NOTHING, short: null };
    case "owed":
      return explainOwed(payment, side);
    case "refunded":
      return { happened: "The money arrived, and the seller paid it back.", next: NOTHING, short: null };
  }
}

/** Whether a state may still change by itself. */
export const isOpen = (state: State): boolean => state === "pending" || state === "paid";
