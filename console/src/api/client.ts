import { ApiError, errorOf, errorWithoutAnswer, UNREADABLE } from "./errors";
import type { Route } from "./paths";
import type { Answer, RequestOf } from "./types";

const DEADLINE_SECONDS = 20;
const CSRF_HEADER = "X-Farebox-CSRF";
const ACCOUNT_HEADER = "X-Farebox-Account";

export interface CallOptions {
  signal?: AbortSignal | undefined;
  /** How long to wait for the whole response. */
  deadlineSeconds?: number;
  headers?: Record<string, string>;
}

type Parameter = string | number | boolean | null | undefined;
interface Members {
  path?: Record<string, Parameter>;
  query?: Record<string, Parameter | readonly Parameter[]>;
  body?: unknown;
}

/** Writes the URL of a route: path parameters are escaped, empty query members are left out. */
export function urlOf(route: Route, { path = {}, query = {} }: Members): string {
  const template = route.slice(route.indexOf(" ") + 1);
  const filled = template.replace(/\{(\w+)\}/g, (_, name: string) => {
    const value = String(path[name] ?? "");
    // An empty or dotted segment would name another route.
    if (value === "" || value === "." || value === "..") throw new TypeError(`no ${name}`);
    return encodeURIComponent(value);
  });
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    for (const each of Array.isArray(value) ? value : [value]) {
      if (each !== undefined && each !== null && each !== "") parameters.append(name, String(each));
    }
  }
  const text = parameters.toString();
  return text === "" ? filled : `${filled}?${text}`;
}

let account: string | null = null;

/** Asks who is signed in, so that it names nobody. */
const WHO: Route = "GET /v1/auth/me";

/**
 * Names the account whose pages this tab shows, null for none. Each request carries it: the cookie is the
 * whole browser's, and the service refuses what was made for another account than the cookie's.
 */
export function actFor(id: string | null): void {
  account = id;
}

/** What a refusal says of the session: there is none, or it is another account's than the page's. */
export type SessionRefusal = "unauthenticated" | "account_mismatch";
type Listener = (refusal: SessionRefusal, route: Route) => void;
const listeners = new Set<Listener>();

/** Calls `listener` for each refusal that says something of the session. Returns its removal. */
export function onSessionRefused(listener: Listener): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

function sessionRefusalOf({ status, code }: ApiError): SessionRefusal | null {
  if (status === 401 && code === "unauthenticated") return code;
  return status === 409 && code === "account_mismatch" ? code : null;
}

async function readBody(response: Response): Promise<unknown> {
  const text = await response.text();
  const type = response.headers.get("content-type") ?? "";
  if (type.includes("ndjson")) return text; // a value in each line, or no line
  if (text === "") return undefined;
  if (!type.includes("json")) return text;
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

async function send(route: Route, members: Members, options: CallOptions) {
  const method = route.slice(0, route.indexOf(" "));
  const seconds = options.deadlineSeconds ?? DEADLINE_SECONDS;
  const deadline = AbortSignal.timeout(seconds * 1000);
  const signal = options.signal ? AbortSignal.any([options.signal, deadline]) : deadline;
  const headers: Record<string, string> = { Accept: "application/json, text/*", ...options.headers };
  if (method !== "GET") headers[CSRF_HEADER] = "1";
  if (account !== null && route !== WHO) headers[ACCOUNT_HEADER] = account;
  if (members.body !== undefined) headers["Content-Type"] = "application/json";
  try {
    const response = await fetch(urlOf(route, members), {
      method,
      headers,
      body: members.body === undefined ? null : JSON.stringify(members.body),
      credentials: "same-origin",
      redirect: "error",
      cache: "no-store",
      signal,
    });
    return { response, body: await readBody(response) };
  } catch (cause) {
    if (options.signal?.aborted) throw cause; // the page is gone, or asked something else
    throw errorWithoutAnswer(cause, seconds);
  }
}

/**
 * Calls a route and returns the body of its response.
 *
 * Throws `ApiError` for every other outcome. Nothing is ever sent a second time here.
 */
export async function call<R extends Route>(
  route: R,
  request: RequestOf<R>,
  options: CallOptions = {},
): Promise<Answer<R>> {
  const { response, body } = await send(route, request as Members, options);
  if (!response.ok) {
    const error = errorOf(response.status, response.headers, body);
    const refusal = sessionRefusalOf(error);
    if (refusal !== null) for (const listener of listeners) listener(refusal, route);
    throw error;
  }
  if (body === undefined && response.status !== 204 && response.status !== 202) {
    throw new ApiError({
      status: 0,
      code: UNREADABLE,
      message: "The service's answer could not be read.",
      requestId: response.headers.get("x-request-id"),
      retryAfterSeconds: null,
      details: null,
    });
  }
  return body as Answer<R>;
}
