import { ApiError } from "@/api/errors";
import type { Challenge } from "./terms";

/** What is known of a payment after a request; `A` is what the seller gives for it. */
export type Outcome<A> =
  /** The seller's terms. After a payment: the service says that it has not landed and never will. */
  | { kind: "offer"; challenge: Challenge; reason: string | null }
  /** The seller gave what was asked for. `isPaid`: the answer says so; `isProven`: the service has shown the transfer. */
  | { kind: "answered"; answer: A; isPaid: boolean; isProven: boolean; transaction: string | null }
  /** The service says that nothing was paid with this payment; and ever will be, unless its transaction failed on the ledger. */
  | { kind: "refused"; message: string; answer: A | null; isFailedOnLedger: boolean }
  /** The service says that this request did not pass the payment on; an earlier one may have. */
  | { kind: "unsent"; message: string; problem: unknown; mayRepeat: boolean; retryAfterSeconds: number }
  /** Everything else: the payment may have landed, or may still land. */
  | Open<A>
  /** The service has shown the transfer, and says that no response will come. */
  | { kind: "undelivered"; message: string; answer: A | null; transaction: string | null };

export interface Open<A> {
  kind: "open";
  message: string;
  /** What failed, where it was no answer of the service. */
  problem: unknown;
  answer: A | null;
  retryAfterSeconds: number;
  /** Whether the same payment is sent again by itself. */
  mayRepeat: boolean;
  transaction: string | null;
  /** Whether the service has shown the transfer. */
  isPaid: boolean;
}

/** The codes by which the service refuses a request before it reads or passes on a payment. */
const NEVER_PASSED_ON = new Set([
  "invalid_request", "malformed_http", "origin_not_allowed", "cross_site_request", "session_required",
  "scope_missing", "body_too_large", "url_too_long", "unsupported_media_type", "host_not_allowed",
  "head_too_large",
]);
/** Likewise, where the same request may pass later. */
const NOT_PASSED_ON_NOW = new Set(["unauthenticated", "account_mismatch", "too_many_requests", "too_many_connections", "request_timeout"]);

/**
 * Reasons of the service that say nothing against a landing, whatever is advised beside them: the
 * payment has landed, by whoever sent it, or it is not known whether it has.
 */
export const IN_DOUBT: ReadonlySet<string> = new Set([
  "payment_used", "duplicate_settlement", "settlement_pending", "outcome_unproven", "service_unavailable",
  "internal_error", "settle_exact_stellar_foreign_landing", "settle_exact_stellar_outcome_unproven",
  "unexpected_settle_error",
]);

const MAX_WAIT_SECONDS = 300;
const waitOf = (error: unknown): number =>
  error instanceof ApiError ? Math.min(error.retryAfterSeconds ?? 0, MAX_WAIT_SECONDS) : 0;

/** An open outcome; what is not said is not known. */
export const openOutcome = <A>(members: Partial<Open<A>> & { message: string }): Open<A> => ({
  kind: "open",
  problem: null,
  answer: null,
  retryAfterSeconds: 0,
  mayRepeat: true,
  transaction: null,
  isPaid: false,
  ...members,
});

export const unsent = (problem: unknown, mayRepeat: boolean): Outcome<never> => ({
  kind: "unsent",
  message: problem instanceof Error ? problem.message : "The request was not sent.",
  problem,
  mayRepeat,
  retryAfterSeconds: waitOf(problem),
});

/**
 * Reads what was thrown when a payment was sent. Only a refusal that is the service's own, by a code
 * that says so, tells that the payment was not passed on. Whatever else came in place of an answer
 * (another party's page, nothing, half of it), whatever its status, leaves the outcome unknown.
 * `codes` are further ones of the route.
 */
export function outcomeOfFailure(problem: unknown, codes: ReadonlySet<string> = new Set()): Outcome<never> {
  if (problem instanceof ApiError && problem.isOwn) {
    if (NOT_PASSED_ON_NOW.has(problem.code)) return unsent(problem, true);
    if (NEVER_PASSED_ON.has(problem.code) || codes.has(problem.code)) return unsent(problem, false);
  }
  return openOutcome({
    message: "It is not known yet whether the payment was settled.",
    problem,
    retryAfterSeconds: waitOf(problem),
  });
}
