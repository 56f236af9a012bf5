import { call } from "./client";
import type { CallOptions } from "./client";
import type * as Shape from "./automationTypes";
import type { Route } from "./paths";
import type { Network } from "./types";

interface Members {
  path?: Record<string, string | number>;
  query?: Record<string, string | number | undefined>;
  body?: unknown;
}

/** Calls a route of automations; its types are those of `automationTypes.ts`. */
const ask = <Result>(route: Route, members: Members = {}, options: CallOptions = {}): Promise<Result> =>
  call(route, members as never, options) as Promise<Result>;

const JUDGED_SECONDS = 40; // it simulates on a node
const SENT_SECONDS = 60; // it waits for a ledger

export interface PlanQuery {
  status?: string;
  kind?: string;
}

export const listPlans = (query: PlanQuery, cursor: string | undefined, signal: AbortSignal) =>
  ask<Shape.Page<Shape.Plan>>(
    "GET /v1/automations",
    { query: { ...query, limit: 50, ...(cursor ? { cursor } : {}) } },
    { signal },
  );

export const readPlan = (id: string, signal: AbortSignal) =>
  ask<Shape.PlanDetail>("GET /v1/automations/{id}", { path: { id } }, { signal });

export const readLimits = (signal: AbortSignal) =>
  ask<Shape.AutomationLimits>("GET /v1/automations/limits", {}, { signal });

export const readCredits = (signal: AbortSignal) =>
  ask<{ items: { network: Network; asset: string; amount: string }[] }>("GET /v1/automations/credits", {}, { signal });

export const previewPlan = (body: Shape.PlanRequest, signal: AbortSignal) =>
  ask<Shape.PlanPreview>("POST /v1/automations/preview", { body }, { signal, deadlineSeconds: JUDGED_SECONDS });

/** Proposes a plan. The same key with the same body returns the plan that it made. */
export const createPlan = (body: Shape.PlanRequest, key: string) =>
  ask<Shape.PlanDetail>(
    "POST /v1/automations",
    { body },
    { headers: { "Idempotency-Key": key }, deadlineSeconds: JUDGED_SECONDS },
  );

export const readSession = (id: string, signal?: AbortSignal) =>
  ask<Shape.PlanSession>(
    "GET /v1/automations/{id}/session",
    { path: { id } },
    { signal, deadlineSeconds: JUDGED_SECONDS },
  );

export const judgePlan = (id: string, signal: AbortSignal) =>
  ask<Shape.Preflight>(
    "POST /v1/automations/{id}/preflight",
    { path: { id } },
    { signal, deadlineSeconds: JUDGED_SECONDS },
  );

export interface RunOrder {
  id: string;
  /** How many runs; null for all of the plan. */
  runs: number | null;
  isTopUp: boolean;
}

/** Asks for runs, with a payment where there is one. A 402 is thrown, with the offer as its details. */
export const payForRuns = ({ id, runs, isTopUp }: RunOrder, paymentSignature: string | null) =>
  ask<Shape.RunPaymentResult>(
    isTopUp ? "POST /v1/automations/{id}/topup" : "POST /v1/automations/{id}/payment",
    { path: { id }, body: runs === null ? {} : { runs } },
    {
      headers: paymentSignature === null ? {} : { "PAYMENT-SIGNATURE": paymentSignature },
      deadlineSeconds: SENT_SECONDS,
    },
  );

export type Activation =
  | Record<string, never>
  | { installTxHash: string }
  | { signedEntriesXdr: string[] }
  | { presignedEntriesXdr: string[] };

export const activatePlan = (id: string, body: Activation) =>
  ask<Shape.PlanDetail>(
    "POST /v1/automations/{id}/activate",
    { path: { id }, body },
    { deadlineSeconds: SENT_SECONDS },
  );

const CHANGES = {
  pause: "POST /v1/automations/{id}/pause",
  resume: "POST /v1/automations/{id}/resume",
  cancel: "POST /v1/automations/{id}/cancel",
} as const;

export const changePlan = (id: string, change: keyof typeof CHANGES, reason: string) =>
  ask<Shape.PlanDetail>(
    CHANGES[change],
    { path: { id }, body: reason === "" ? {} : { reason } },
    { deadlineSeconds: JUDGED_SECONDS },
  );

export const listRuns = (id: string, cursor: string | undefined, signal: AbortSignal) =>
  ask<Shape.Page<Shape.Run>>(
    "GET /v1/automations/{id}/runs",
    { path: { id }, query: { limit: 100, ...(cursor ? { cursor } : {}) } },
    { signal },
  );

export const readRun = (id: string, index: number, signal: AbortSignal) =>
  ask<{ legs: Shape.RunDetail[] }>("GET /v1/automations/{id}/runs/{index}", { path: { id, index } }, { signal });

export const retryRun = (id: string, index: number) =>
  ask<Shape.Run>("POST /v1/automations/{id}/runs/{index}/retry", { path: { id, index } });

export const listEvents = (id: string, after: number, signal: AbortSignal) =>
  ask<{ items: Shape.PlanEvent[]; next: number }>(
    "GET /v1/automations/{id}/events",
    { path: { id }, query: { after, limit: 100 } },
    { signal },
  );

/** The signed receipts: JSON lines. */
export const readReceipts = (id: string) =>
  ask<string>("GET /v1/automations/{id}/receipts", { path: { id } }, { deadlineSeconds: SENT_SECONDS });
