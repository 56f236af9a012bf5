import { ApiError, errorOf, errorWithoutAnswer, UNREADABLE } from "./errors";
import type { Route } from "./paths";
import type { Answer, RequestOf } from "./types";

const DEADLINE_SECONDS = 20;
const CSRF_HEADER = "X-Farebox-CSRF";

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

type Listener = (route: Route) => void;
const listeners = new Set<Listener>();

/** Calls `listener` with the route of each 401 that says there is no valid session. Returns its removal. */
export function onUnauthenticated(listener: Listener): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
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
    if (error.status === 401 && error.code === "unauthenticated") {
      for (const listener of listeners) listener(route);
    }
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
