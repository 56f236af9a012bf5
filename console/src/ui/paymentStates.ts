import type { BadgeTone } from "./Badge";

export type PaymentState = "pending" | "paid" | "settled" | "delivered" | "owed" | "refunded" | "failed" | "unproven";

/** The states of a payment as every page names them. */
export const STATES: Record<PaymentState, { label: string; tone: BadgeTone }> = {
  pending: { label: "Pending", tone: "accent" },
  paid: { label: "Paid", tone: "accent" },
  settled: { label: "Settled", tone: "good" },
  delivered: { label: "Delivered", tone: "good" },
  owed: { label: "Owed", tone: "warn" },
  refunded: { label: "Refunded", tone: "neutral" },
  failed: { label: "Failed", tone: "bad" },
  unproven: { label: "Unproven", tone: "warn" },
};
