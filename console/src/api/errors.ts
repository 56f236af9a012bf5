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

  constructor(members: ErrorMembers) {
    super(members.message);
    this.name = "ApiError";
    this.status = members.status;
    this.code = members.code;
    this.requestId = members.requestId;
    this.retryAfterSeconds = members.retryAfterSeconds;
    this.details = members.details;
  }

  /** Whether the service or the way to it is at fault: the same request may succeed later. */
  get isOutage(): boolean {
    return this.status === 0 || this.status >= 500;
  }
}

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null;
const asText = (value: unknown): string | null =>
  typeof value === "string" && value !== "" ? value : null;

/** Reads `Retry-After`: seconds, or a date. Null when it is neither; at most a day. */
export function readRetryAfter(header: string | null, now: number = Date.now()): number | null {
  if (header === null) return null;
  const seconds = /^\d{1,9}$/.test(header.trim())
    ? Number(header)
    : Math.ceil((Date.parse(header) - now) / 1000);
  if (Number.isNaN(seconds)) return null;
  return Math.min(Math.max(seconds, 0), 86_400);
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
  return new ApiError({
    status,
    code: asText(error["code"]) ?? asText(data["reason"]) ?? UNREADABLE,
    message: asText(error["message"]) ?? `The service answered ${status} without a reason.`,
    requestId: asText(error["requestId"]) ?? asText(data["requestId"]) ?? headers.get("x-request-id"),
    retryAfterSeconds: readRetryAfter(headers.get("retry-after")),
    details: found === null ? (body ?? null) : (error["details"] ?? null),
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
