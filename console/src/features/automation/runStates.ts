import type { Run } from "@/api/automationTypes";
import type { BadgeTone } from "@/ui/Badge";

interface StateWords {
  label: string;
  tone: BadgeTone;
  what: string;
  /** Whether the run used a paid one; its payments use it together. */
  credit?: string;
}

const STATES: Record<string, StateWords> = {
  scheduled: { label: "Scheduled", tone: "neutral", what: "It waits for its time." },
  claimed: { label: "Starting", tone: "accent", what: "It is about to run." },
  checking: { label: "Checking", tone: "accent", what: "The plan and the contract are asked whether it may run." },
  building: { label: "Preparing", tone: "accent", what: "The transaction is simulated." },
  submitted: { label: "Sent", tone: "accent", what: "The transaction was sent and is not final." },
  deferred: { label: "Deferred", tone: "neutral", what: "It waits for the next poll, or for the next day of a budget." },
  retry_wait: { label: "Waiting", tone: "warn", what: "It failed for a reason that may pass, and is tried again." },
  reconciling: { label: "Being clarified", tone: "warn", what: "The outcome is not known yet; nothing is sent a second time until it is." },
  succeeded: { label: "Succeeded", tone: "good", what: "It is on the ledger.", credit: "One paid run was used." },
  partial: { label: "Partly done", tone: "warn", what: "Some payments were made.", credit: "One paid run was used." },
  failed: { label: "Failed", tone: "bad", what: "It did not happen.", credit: "No paid run was used." },
  missed: { label: "Missed", tone: "warn", what: "Its time passed.", credit: "No paid run was used." },
  skipped: { label: "Skipped", tone: "neutral", what: "It was left out.", credit: "No paid run was used." },
  abandoned: { label: "Unknown", tone: "bad", what: "It cannot be found out how it ended. Look at your account's history." },
};

export const runState = (state: string): StateWords => STATES[state] ?? { label: state, tone: "neutral", what: "" };

const REASONS: Record<string, string> = {
  deadline: "The time in which it may land has passed.",
  plan_stopped: "The plan was paused or ended.",
  owner: "You paused or cancelled the plan.",
  expired: "The plan has expired.",
  check_declined: "The contract's autolayer_check said no.",
  automation_stopped: "The operator has stopped automation.",
  no_channel: "All sending accounts of the service were busy.",
  outcome_unknown: "It is not known whether the transaction was accepted.",
  used_by_another: "Another transaction has used this run's authorization; it counts as the run.",
  target_upgraded: "The contract's code has changed.",
  low_balance: "The account holds too little.",
  fee_above_quote: "The network fee was more than was paid for the run.",
  loss_owner: "Too many of your runs have failed lately; it waits.",
  loss_new_owners: "Runs of new owners have failed lately; it waits.",
  fee_ceiling: "The network fee was above the plan's limit.",
};

/** Says why a run is where it is; null when there is nothing to say beyond its state. */
export function whyOf({ reason, errorCode }: Pick<Run, "reason" | "errorCode">): string | null {
  const code = reason ?? errorCode;
  if (code === null || code === "") return null;
  return REASONS[code] ?? `Reason: ${code.replaceAll("_", " ")}.`;
}

const OPEN = ["claimed", "checking", "building", "submitted", "reconciling", "retry_wait"];
export const isOpenRun = ({ state }: Pick<Run, "state">): boolean => OPEN.includes(state);

/** Whether the service may be asked to run it again. */
export const mayRetry = (run: Pick<Run, "state" | "deadlineAt">, now: number): boolean =>
  (run.state === "failed" || run.state === "partial") && Date.parse(run.deadlineAt) > now;

const EVENTS: Record<string, string> = {
  "plan.create": "Proposed",
  "plan.submit_payment": "Payment sent",
  "plan.refute_payment": "Payment failed",
  "plan.confirm_payment": "Paid",
  "plan.waive_payment": "Paid (the price is 0)",
  "plan.activate": "Activated",
  "plan.pause": "Paused",
  "plan.resume": "Resumed",
  "plan.complete": "Completed",
  "plan.cancel": "Cancelled",
  "plan.expire": "Expired",
  "plan.expire_unpaid": "Expired unpaid",
  "plan.expire_inactive": "Expired before it was activated",
  "plan.fail": "Failed",
  "plan.offer_top_up": "More runs were offered",
  "plan.confirm_top_up": "More runs were paid",
  "payment.confirmed": "Payment confirmed",
  "payment.failed": "Payment failed",
  "plan.shred": "The key of the plan was destroyed",
  "warning.session_ends": "Warning: the session ends soon",
  "warning.low_balance": "Warning: the balance is too low for the next run",
};

/** The title of an event; one that is not known here has its own name. */
export function eventTitle(kind: string): string {
  const text = kind.replaceAll(/[._]/g, " ");
  return EVENTS[kind] ?? text.charAt(0).toUpperCase() + text.slice(1);
}
