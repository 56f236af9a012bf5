/** In place of a status: a bug of the page, and a wallet that did not sign. */
const PAGE = -1;
const WALLET = -2;

/** What went wrong, as the states of a page need it; an `ApiError` has these members. */
export interface Failure {
  /** The HTTP status; 0 when no response came. */
  status: number;
  code: string;
  message: string;
  requestId: string | null;
  retryAfterSeconds: number | null;
}

/** Reads what was thrown. A bug of the console is a failure too, without a request id. */
export function failureOf(error: unknown): Failure {
  const { status, code, message, requestId, retryAfterSeconds } = (error ?? {}) as Partial<Failure>;
  const kind = (error as { kind?: unknown } | null)?.kind;
  if (typeof kind === "string" && typeof message === "string") {
    return { status: WALLET, code: kind, message, requestId: null, retryAfterSeconds: null };
  }
  if (typeof status === "number" && typeof code === "string" && typeof message === "string") {
    return { status, code, message, requestId: requestId ?? null, retryAfterSeconds: retryAfterSeconds ?? null };
  }
  const text = typeof message === "string" && message !== "" ? message : "Something went wrong on this page.";
  return { status: PAGE, code: "console_error", message: text, requestId: null, retryAfterSeconds: null };
}

export const isOutage = (failure: Failure): boolean =>
  failure.status === 0 || failure.status === PAGE || failure.status >= 500;

const TITLES: Record<number, string> = {
  401: "You are not signed in",
  403: "This is not allowed",
  404: "This does not exist",
  409: "This cannot be done now",
  413: "This is too large",
  429: "Too many requests",
};

/** By the code, where the status alone would mislead. */
const CODE_TITLES: Record<string, string> = {
  signature_refused: "The signature was not accepted",
  challenge_not_open: "The sign-in took too long",
  settlement_pending: "The payment may be under way",
  account_mismatch: "Another account is signed in",
};

/** By the kind of a wallet's problem. */
const WALLET_TITLES: Record<string, string> = {
  not_installed: "The wallet is not installed",
  wrong_network: "The wallet is on another network",
  wrong_account: "The wallet used another account",
  cannot_sign_entries: "This wallet cannot sign this",
  declined: "Declined in the wallet",
  no_answer: "The wallet did not answer",
  undecodable: "This must not be signed",
  unfinished_payment: "A payment is not finished",
  ended_elsewhere: "Finished in another tab",
  not_kept: "Not possible in this browser",
};

export function titleOf(failure: Failure): string {
  if (failure.status === WALLET) return WALLET_TITLES[failure.code] ?? "The wallet did not sign";
  const title = CODE_TITLES[failure.code];
  if (title !== undefined) return title;
  if (failure.status === 0) return "The service cannot be reached";
  if (failure.status === PAGE) return "This page has an error";
  if (failure.status >= 500) return "The service has an outage";
  return TITLES[failure.status] ?? "The service refused this";
}

/** What a person can do about it; null where the message says it all. */
export function adviceOf(failure: Failure): string | null {
  if (failure.code === "undecodable") return "Nothing was signed. Report this to the operator of the service.";
  if (failure.status === 0) return "Check your connection, then try again.";
  if (failure.status === PAGE) return "Reload the page. If it happens again, report the sentence above.";
  if (failure.code === "challenge_not_open") return "Start again: the next challenge is a new one.";
  if (failure.code === "signature_refused") return "Choose the account's own key in the wallet, then start again.";
  if (failure.status === 401) return "Sign in, then try again: this page stays as it is.";
  if (failure.code === "account_mismatch") return "Nothing was changed, and what you typed stays. Sign in again as the account of this page, then send it again.";
  if (failure.code === "not_found") return "It was deleted, it belongs to another wallet or network, or the link is not complete.";
  if (failure.status === 429) return "Wait for the time below, then try again.";
  if (failure.status >= 500) return "Nothing that you did is wrong. Read the state later to see whether a change was made.";
  return null;
}
