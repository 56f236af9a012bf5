import { isRecord } from "./records";
import type { JsonObject } from "./records";

/** The codes that the console gives itself, where no response of the service came. */
export const NO_ANSWER = "no_answer";
export const TIMEOUT = "timeout";
export const UNREADABLE = "unreadable_answer";

interface ErrorMembers {
  status: number;
  code: string;
  message: string;
  requestId: string | null;
  retryAfterSeconds: number | null;
  details: unknown;
  isOwn?: boolean;
  receipt?: JsonObject | null;
}

/** A request that did not succeed: the service's uniform error, or 0 as `status` without one. */
export class ApiError extends Error {
  readonly status: number;
  readonly code: string;
  readonly requestId: string | null;
  /** The value of `Retry-After` in seconds. */
  readonly retryAfterSeconds: number | null;
  /** `error.details` of the body: what it holds depends on the code. */
  readonly details: unknown;
  /**
   * Whether the service itself gave this error, by the form that all of its errors have. Something on
   * the way to it (a proxy, a firewall) may answer too, with any status.
   */
  readonly isOwn: boolean;
  /** The receipt of `PAYMENT-RESPONSE`; null without one that can be read. */
  readonly receipt: JsonObject | null;

  constructor(members: ErrorMembers) {
    super(members.message);
    this.name = "ApiError";
    this.status = members.status;
    this.code = members.code;
    this.requestId = members.requestId;
    this.retryAfterSeconds = members.retryAfterSeconds;
    this.details = members.details;
    this.isOwn = members.isOwn ?? false;
    this.receipt = members.receipt ?? null;
  }

  /** Whether the service or the way to it is at fault: the same request may succeed later. */
  get isOutage(): boolean {
    return this.status === 0 || this.status >= 500;
  }
}

const asText = (value: unknown): string | null =>
  typeof value === "string" && value !== "" ? value : null;

/**
 * Reads `Retry-After`: seconds, or a date, which counts from the `Date` of the same response, for the
 * clock of this machine may be wrong. Null when it is neither; at most a day.
 */
export function readRetryAfter(header: string | null, date: string | null): number | null {
  if (header === null) return null;
  const seconds = /^\d{1,9}$/.test(header.trim())
    ? Number(header)
    : Math.ceil((Date.parse(header) - Date.parse(date ?? "")) / 1000);
  if (Number.isNaN(seconds)) return null;
  return Math.min(Math.max(seconds, 0), 86_400);
}

/** Reads the receipt of a header: base64 of a JSON object. */
function readReceipt(header: string | null): JsonObject | null {
  if (header === null) return null;
  try {
    const value: unknown = JSON.parse(atob(header));
    return isRecord(value) ? value : null;
  } catch {
    return null;
  }
}

/**
 * Makes the error of a response that is not 2xx, from its headers and its parsed body. An error of
 * JSON-RPC (`/mcp`) has its code and its request id in `data`. `details` of a body without an error,
 * as `/health/ready` has it, is the body.
 */
export function errorOf(status: number, headers: Headers, body: unknown): ApiError {
  const found = isRecord(body) && isRecord(body["error"]) ? body["error"] : null;
  const error = found ?? {};
  const data = isRecord(error["data"]) ? error["data"] : {};
  const isUniform = [error["code"], error["message"], error["requestId"]].every((each) => asText(each) !== null);
  const isRpc = isRecord(body) && body["jsonrpc"] === "2.0" && Number.isInteger(error["code"]) && asText(data["reason"]) !== null;
  return new ApiError({
    status,
    code: asText(error["code"]) ?? asText(data["reason"]) ?? UNREADABLE,
    message: asText(error["message"]) ?? `The service answered ${status} without a reason.`,
    requestId: asText(error["requestId"]) ?? asText(data["requestId"]) ?? headers.get("x-request-id"),
    retryAfterSeconds: readRetryAfter(headers.get("retry-after"), headers.get("date")),
    details: found === null ? (body ?? null) : (error["details"] ?? null),
    isOwn: isUniform || isRpc,
    receipt: readReceipt(headers.get("payment-response")),
  });
}

/** Makes the error of a request that got no response. */
export function errorWithoutAnswer(cause: unknown, deadlineSeconds: number): ApiError {
  const isTimeout = cause instanceof DOMException && cause.name === "TimeoutError";
  return new ApiError({
    status: 0,
    code: isTimeout ? TIMEOUT : NO_ANSWER,
    message: isTimeout
      ? `The service did not answer within ${deadlineSeconds} seconds.`
      : "The service cannot be reached from this browser.",
    requestId: null,
    retryAfterSeconds: null,
    details: null,
  });
}
