import type { JsonObject } from "@/api/records";

/**
 * The control of the table: how the page read an answer before. A status of 4xx ended a payment,
 * whoever gave it, and two minutes after the expiry by this machine's clock the page gave up.
 */
export function before(
  { status, body }: { status: number; body: JsonObject | null },
  now: number,
  { expiresAt }: { expiresAt: string },
): "paid" | "not paid" | "unknown";
export function before(
  answer: { status: number; body: JsonObject | null },
  now: number,
  payment: { expiresAt: string },
  isExact: true,
): "undelivered" | "unknown";
export function before(
  { status, body }: { status: number; body: JsonObject | null },
  now: number,
  { expiresAt }: { expiresAt: string },
  isExact = false,
): string {
  if (body === null) {
    const mayRepeat = status < 300 || status >= 500 || [401, 408, 425, 429].includes(status);
    return mayRepeat ? "unknown" : "not paid";
  }
  const { nextAction, outcome, isPaid } = body;
  if (nextAction === "COMPLETE") return isPaid === true ? "paid" : "not paid";
  if (nextAction === "WAIT_AND_RETRY_WITH_THE_SAME_PAYMENT" || nextAction === "RETRY") {
    const hasGivenUp = now > Date.parse(expiresAt) + 120_000;
    if (hasGivenUp && isPaid === true) return isExact ? "undelivered" : "paid";
    return isPaid === true ? "paid" : "unknown";
  }
  if (outcome === "settled_not_delivered") return "paid";
  return nextAction === "SIGN_PAYMENT_AND_RETRY" && (outcome === "not_sent" || outcome === "failed") ? "not paid" : "unknown";
}
