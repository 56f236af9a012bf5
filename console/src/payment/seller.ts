import type { JsonObject } from "@/api/records";
import type { Outcome } from "./outcome";
import type { SignedPayment } from "./signedPayment";

/** What is bought, and how: the part of a purchase that is not the same everywhere. */
export interface Seller<R, A> {
  /** The kind of thing, as part of the name of what is kept. */
  kind: string;
  isRequest(value: JsonObject): boolean;
  /** Whether the payment takes the identifier of the offer. */
  keepsIdentifier: boolean;
  /** Asks without a payment. Throws where no answer came. */
  ask(request: R): Promise<Outcome<A>>;
  /** Sends a payment, once. Never throws: without a readable answer the outcome is open. */
  send(payment: SignedPayment<R>, paymentSignature: string): Promise<Outcome<A>>;
}

/** Why nothing was signed, or what another tab did; `kind` is for the title. */
export class PurchaseProblem extends Error {
  readonly kind: "unfinished_payment" | "ended_elsewhere" | "not_kept";
  constructor(kind: PurchaseProblem["kind"], message: string) {
    super(message);
    this.name = "PurchaseProblem";
    this.kind = kind;
  }
}
