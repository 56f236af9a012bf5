/** The shapes of `/v1/automations` by short names. Amounts are decimal texts of base units. */
import type { Schema } from "./types";

export type PlanKind = Schema<"PlanKind">;
export type AuthorityMode = Schema<"AuthorityMode">;
export type MissedRuns = Schema<"MissedRuns">;
export type PlanStatus =
  | "proposed"
  | "payment_pending"
  | "paid"
  | "active"
  | "executing"
  | "paused"
  | "completed"
  | "cancelled"
  | "failed"
  | "expired";

export type Schedule =
  | { type: "once"; at: string }
  | { type: "interval"; everySeconds: number; startAt: string }
  | { type: "cron"; expr: string; timezone: string }
  | { type: "condition"; everySeconds: number };

export interface TypedArgument {
  type: string;
  value: unknown;
}

export type TokenAmount = Schema<"EffectBody">;

export interface Leg {
  to: string;
  amount: string;
  ref?: string | null;
}

/** The payload of a plan; its shape depends on the kind. */
export type PlanSpec = Record<string, unknown>;

/** A proposal as the form makes it. */
export interface PlanRequest extends Omit<Schema<"ContractCallRequest">, "kind" | "spec" | "schedule"> {
  kind: PlanKind;
  schedule: Schedule;
  spec: PlanSpec;
}

export type UpcomingRun = Schema<"UpcomingRunBody">;

export type Plan = Omit<Schema<"ProposalBody">, "status" | "schedule" | "spec"> & {
  status: PlanStatus;
  schedule: Schedule;
  spec: PlanSpec;
};

export type Quote = Required<Schema<"QuoteBody">>;
export type InvocationShape = Schema<"InvocationBody">;
export type SignableEntry = Schema<"SignableEntryBody">;
export type Installation = Schema<"InstallBody">;
export type PlanSession = Schema<"PlanSessionBody">;
export type Preflight = Schema<"PreflightBody">;

export interface PlanDetail {
  proposal: Plan;
  quote: Quote | null;
  session: PlanSession | null;
  preflight: Preflight | null;
}

export type PlanPreview = Omit<Schema<"PreviewBody">, "quote"> & { quote: Quote };
export type AutomationNetwork = Schema<"AutomationNetworkBody">;
export type AutomationLimits = Schema<"LimitsBody">;

export interface RunPaymentResult {
  proposal: Plan;
  payment: Schema<"RunPaymentBody">;
}

export type Run = Schema<"RunBody">;
export type Attempt = Schema<"AttemptBody">;
export type RunDetail = Schema<"RunDetailBody">;
export type PlanEvent = Omit<Schema<"EventBody">, "data"> & { data: Record<string, unknown> };

export interface Page<Item> {
  items: Item[];
  pagination: { limit: number; nextCursor: string | null };
}
