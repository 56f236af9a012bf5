import type { Ended } from "@/payment/flow";
import type { SignedPayment } from "@/payment/signedPayment";
import type { CallFlow } from "./pay";
import type { Delivery } from "./purchase";

/** What the page says of a payment. */
export interface PurchaseWords {
  title: string;
  tone: "good" | "warn" | "bad" | "pending";
  sentences: string[];
}

const FIRST_TIME =
  "The service carries your signature to the seller and waits for the response. This takes up to half a minute.";
const AGAIN =
  "This page asks again with the same signature, which is never charged twice. You may close it: your next visit in this browser goes on.";
const NO_SECOND = "Do not pay again yet: a second signature may pay twice while the first one is valid.";
const OVER =
  "The last ledger of the signature has passed, so nothing new can be taken with it. Look at your account: the payment is there, or it was never made.";

function wordsOfOpen(payment: SignedPayment<unknown>, isFirst: boolean, mayRepeat: boolean): PurchaseWords {
  const tone = "pending";
  if (payment.paymentSignature === null) {
    const sentences = ["The wallet has signed. The service puts the signature into the payment; nothing has been sent yet."];
    return { title: "Signed, and not sent yet", tone, sentences };
  }
  if (isFirst) return { title: "The payment is on its way", tone, sentences: [FIRST_TIME] };
  if (payment.isPaid) return { title: "Paid, and not delivered yet", tone, sentences: ["You have paid.", AGAIN] };
  const doubt = payment.isOver ? [OVER] : ["It may have been settled.", NO_SECOND];
  return mayRepeat
    ? { title: "The payment is pending", tone, sentences: [...doubt, AGAIN] }
    : { title: "It is not known whether this was paid", tone: "warn", sentences: doubt };
}

function wordsOfEnded(outcome: Ended<Delivery>): PurchaseWords {
  switch (outcome.kind) {
    case "answered":
      if (outcome.isProven) return { title: "Paid and delivered", tone: "good", sentences: [] };
      return outcome.isPaid
        ? {
            title: "Delivered, and reported as paid",
            tone: "good",
            sentences: ["The receipt is the seller's word, and this service does not show the transfer. Look for its transaction on the ledger."],
          }
        : { title: "It answered, and nothing was paid", tone: "good", sentences: [] };
    case "refused":
      return outcome.isFailedOnLedger
        ? { title: "The payment failed", tone: "bad", sentences: [outcome.message] }
        : { title: "Nothing was paid", tone: "bad", sentences: [outcome.message] };
    case "undelivered":
      return {
        title: "Paid, and not delivered",
        tone: "warn",
        sentences: [outcome.message, "The seller owes you this payment. Quote the transaction when you ask for it back."],
      };
  }
}

/** What the page says in a state; null where no payment was sent and none has ended. */
export function wordsOf(flow: CallFlow): PurchaseWords | null {
  if (flow.step === "paying") return wordsOfOpen(flow.payment, flow.payment.attempts <= 1, true);
  if (flow.step === "waiting") return wordsOfOpen(flow.payment, false, flow.last.mayRepeat);
  return flow.step === "ended" ? wordsOfEnded(flow.outcome) : null;
}
