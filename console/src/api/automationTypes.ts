/**
 * The shapes of `/v1/automations`, until `schema.d.ts` has them: then each becomes an alias of the
 * generated type. Amounts are decimal texts of base units, times are ISO 8601.
 */
import type { Network } from "./types";

export type PlanKind = "contract_call" | "dca" | "rebalance" | "disbursement";
export type AuthorityMode = "session" | "mandate" | "presigned" | "open";
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
export type MissedRuns = "skip" | "catch_up_one" | "catch_up_all";

export type Schedule =
  | { type: "once"; at: string }
  | { type: "interval"; everySeconds: number; startAt: string }
  | { type: "cron"; expr: string; timezone: string }
  | { type: "condition"; everySeconds: number };

export interface TypedArgument {
  type: string;
  value: unknown;
}

export interface TokenAmount {
  token: string;
  amount: string;
}

export interface Leg {
  to: string;
  amount: string;
  ref?: string | null;
}

export type PlanSpec = Record<string, unknown>;

export interface PlanRequest {
  network: Network;
  kind: PlanKind;
  title: string;
  schedule: Schedule;
  spec: PlanSpec;
  runLimit: number;
  authorityMode?: AuthorityMode;
  missedRuns?: MissedRuns;
  maxLatenessSeconds?: number;
  maxFeeStroops?: string;
  startsAt?: string;
  expiresAt?: string;
  allowDuplicate?: boolean;
}

export interface UpcomingRun {
  at: string;
  local: string;
  timezone: string;
  notes: string[];
}

export interface Plan {
  id: string;
  network: Network;
  account: string | null;
  accountKind: string;
  kind: PlanKind;
  title: string;
  authorityMode: AuthorityMode;
  status: PlanStatus;
  statusReason: string | null;
  isCancelling: boolean;
  schedule: Schedule;
  spec: PlanSpec;
  missedRuns: MissedRuns;
  maxLatenessSeconds: number;
  maxFeeStroops: string;
  runLimit: number;
  authorizationLimit: number;
  runsCredited: number;
  runsConsumed: number;
  runsSucceeded: number;
  authorizationsUsed: number;
  failuresInRow: number;
  policyId: string;
  policyName: string;
  delegate: string;
  targetWasmHash: string | null;
  startsAt: string;
  expiresAt: string;
  overdueAt: string | null;
  nextRuns: UpcomingRun[];
  createdAt: string;
  updatedAt: string;
}

export interface Quote {
  revision: number;
  runs: number;
  perRun: string;
  setup: string;
  total: string;
  asset: string;
  network: Network;
  payTo: string | null;
  validUntil: string;
  isFree: boolean;
  paymentIdentifier: string;
  fromCredit: number;
}

export interface InvocationShape {
  contract: string;
  function: string;
  arguments: string[];
}

export interface SignableEntry {
  runIndex: number | null;
  legIndex: number | null;
  entryXdr: string;
  preimageXdr: string;
  nonce: string;
  expirationLedger: number;
}

export interface SessionLimits {
  runLimit: number;
  authorizationLimit: number;
  minIntervalSeconds: number;
  notBefore: string;
  notAfter: string;
  validUntilLedger: number | null;
  caps: { token: string; perRun: string; total: string }[];
}

export interface Installation {
  invocations: InvocationShape[];
  unsignedTransactionXdr: string | null;
  entries: SignableEntry[];
  signWith: string[];
  expirationLedger: number;
  isFeeSponsored: boolean;
}

export interface Revocation {
  invocations: InvocationShape[];
  unsignedTransactionXdr: string | null;
}

export interface SessionContract {
  role: string;
  id: string;
  wasmHash: string | null;
  isAudited: boolean;
}

export interface PlanSession {
  mode: AuthorityMode;
  state: string;
  network: Network;
  networkPassphrase: string;
  account: string | null;
  accountGeneration: string;
  policyId: string;
  policySpec: Record<string, unknown> | null;
  policySpecXdr: string | null;
  permissions: string[];
  delegate: { type: string; publicKey: string; address: string; verifier: string | null };
  limits: SessionLimits;
  install: Installation | null;
  revoke: Revocation | null;
  contracts: SessionContract[];
  warnings: string[];
}

export interface PreflightCheck {
  code: string;
  ok: boolean;
  detail: string;
}

export interface Preflight {
  ok: boolean;
  checks: PreflightCheck[];
  estimatedFeeStroops: string | null;
  firstRun: { at: string | null; effects: TokenAmount[] } | null;
}

export interface PlanDetail {
  proposal: Plan;
  quote: Quote | null;
  session: PlanSession | null;
  preflight: Preflight | null;
}

export interface PlanPreview {
  authorityMode: AuthorityMode;
  schedule: UpcomingRun[];
  preflight: Preflight;
  quote: Quote;
  permissions: string[];
  limits: SessionLimits;
  warnings: string[];
}

export interface AutomationNetwork {
  network: Network;
  isAvailable: boolean;
  isFree: boolean;
  modes: AuthorityMode[];
  contracts: SessionContract[];
  venues: string[];
}

export interface AutomationLimits {
  openPlansPerOwner: number;
  runs: number;
  horizonSeconds: number;
  callsPerSession: number;
  receiversPerSession: number;
  receiversPerBatch: number;
  presignedEntries: number;
  shortestIntervalSeconds: number;
  shortestPollSeconds: number;
  networks: AutomationNetwork[];
}

export interface RunPayment {
  id: string;
  runs: number;
  amount: string;
  asset: string;
  payTo: string | null;
  state: "quoted" | "pending" | "confirmed" | "failed";
  transaction: string | null;
  paymentIdentifier: string;
  isTopUp: boolean;
  createdAt: string;
}

export interface RunPaymentResult {
  proposal: Plan;
  payment: RunPayment;
}

export interface Run {
  id: string;
  runIndex: number;
  legIndex: number;
  scheduledFor: string;
  deadlineAt: string;
  state: string;
  reason: string | null;
  errorClass: string | null;
  errorCode: string | null;
  attempts: number;
  transaction: string | null;
  ledger: number | null;
  feeStroops: string;
  effects: TokenAmount[];
  executedBy: string | null;
  finishedAt: string | null;
}

export interface Attempt {
  number: number;
  transaction: string;
  outcome: string;
  errorCode: string | null;
  feeLimitStroops: string;
  feeStroops: string | null;
  maxTime: string;
  sentAt: string | null;
}

export type RunDetail = Run & { attemptList: Attempt[] };

export interface PlanEvent {
  number: number;
  kind: string;
  data: Record<string, unknown>;
  at: string;
}

export interface Page<Item> {
  items: Item[];
  pagination: { limit: number; nextCursor: string | null };
}
