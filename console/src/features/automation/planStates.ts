import type { Plan, PlanKind, PlanStatus, AuthorityMode, MissedRuns } from "@/api/automationTypes";
import type { BadgeTone } from "@/ui/Badge";

export const KINDS: Record<PlanKind, { label: string; what: string }> = {
  contract_call: { label: "Contract call", what: "Call a function of a contract on a schedule." },
  dca: { label: "Regular purchase (DCA)", what: "Buy a token with a fixed amount of another on each run." },
  rebalance: { label: "Rebalancing", what: "Trade back to the weights of a portfolio when one drifts." },
  disbursement: { label: "Disbursement", what: "Pay several recipients on each run." },
};

export const STATUSES: Record<PlanStatus, { label: string; tone: BadgeTone }> = {
  proposed: { label: "Proposed", tone: "neutral" },
  payment_pending: { label: "Payment pending", tone: "accent" },
  paid: { label: "Paid", tone: "accent" },
  active: { label: "Active", tone: "good" },
  executing: { label: "Running now", tone: "good" },
  paused: { label: "Paused", tone: "warn" },
  completed: { label: "Completed", tone: "neutral" },
  cancelled: { label: "Cancelled", tone: "neutral" },
  failed: { label: "Failed", tone: "bad" },
  expired: { label: "Expired", tone: "neutral" },
};

export const MODES: Record<AuthorityMode, { label: string; what: string }> = {
  session: {
    label: "Session of a smart account",
    what: "Your smart account gets a rule that lets one key make the calls of this plan, and nothing else.",
  },
  mandate: {
    label: "Mandate",
    what: "A contract of this plan alone may spend up to the total of the plan from your account.",
  },
  presigned: {
    label: "Signed ahead",
    what: "Your wallet signs each run now. Every signature allows one exact call until its last ledger.",
  },
  open: { label: "Open", what: "The contract lets anybody make this call. Your account signs nothing." },
};

export const MISSED: Record<MissedRuns, string> = {
  skip: "Skip it; the next run is the next due time",
  catch_up_one: "Make one run for all that were missed",
  catch_up_all: "Make every missed run, one after the other",
};

const ENDED: readonly PlanStatus[] = ["completed", "cancelled", "failed", "expired"];
export const hasEnded = ({ status }: Pick<Plan, "status">): boolean => ENDED.includes(status);
export const isRunning = ({ status }: Pick<Plan, "status">): boolean => status === "active" || status === "executing";
/** Whether the state may change by itself soon, so that the page reads it again. */
export const mayMove = (plan: Pick<Plan, "status" | "isCancelling">): boolean =>
  plan.isCancelling || plan.status === "payment_pending" || isRunning(plan);

interface Explanation {
  happened: string;
  /** What to do next. */
  next: string;
  tone: "accent" | "good" | "warn" | "bad";
}

const PAUSES: Record<string, [happened: string, next: string]> = {
  owner: ["You paused this plan.", "Resume it when it may go on; due times that pass follow the missed-run policy."],
  failed_runs: ["Three runs in a row failed.", "Read in the run history why, put it right, then resume the plan."],
  low_balance: ["The account holds too little for the next run.", "Fund the account, then resume the plan."],
  fee_ceiling: [
    "The network fee was above the plan's limit twice.",
    "Resume the plan when fees are lower, or propose it again with a higher limit.",
  ],
  new_quote: [
    "A run costs the network more than you have paid for it.",
    "What was left is your credit. Pay for the runs at the new price, then resume the plan.",
  ],
  target_upgraded: [
    "The contract's code has changed since you proposed the plan.",
    "Look at what changed. If you agree with it, cancel this plan and propose it again.",
  ],
  session_drift: [
    "What is installed on your account differs from what you authorized.",
    "Look at the rules of your account. Cancel this plan if you did not change them.",
  ],
  network_unhealthy: ["The network was not reachable for more than an hour.", "Resume the plan when the network is back."],
  outcome_unknown: [
    "It could not be found out how a run ended.",
    "Look at your account's history for that run, then resume or cancel the plan.",
  ],
  operator: ["The operator of this service has stopped automation.", "Ask the operator. Only the operator can lift this stop."],
};

const ENDS: Record<string, string> = {
  owner: "You cancelled it.",
  expired: "Its last day has passed.",
  session_ended: "Its session has ended on the ledger.",
  session_revoked: "Its session was revoked on the ledger.",
};

function explainEnd({ status, statusReason, runsSucceeded, authorityMode }: Plan): Explanation {
  const runs = `${runsSucceeded} ${runsSucceeded === 1 ? "run" : "runs"} succeeded.`;
  const why = ENDS[statusReason ?? ""] ?? "";
  const said = (text: string) => [text, why, runs].filter((each) => each !== "").join(" ");
  switch (status) {
    case "completed":
      return { happened: `The plan has done all its runs. ${runs}`, next: "Nothing is left to do. Download the receipts if you keep books.", tone: "good" };
    case "cancelled":
      return {
        happened: said("The plan is cancelled."),
        next: authorityMode === "open" ? "Unused runs became credit." : "Unused runs became credit. Revoke its session below, if it has one.",
        tone: "accent",
      };
    case "failed":
      return { happened: said("The plan has failed."), next: "Unused runs became credit. Read the events for the reason, then propose it again.", tone: "bad" };
    default:
      return { happened: said("The plan has expired."), next: "Unused runs became credit. Propose it again to go on.", tone: "accent" };
  }
}

/** Says in plain words what state a plan is in and what its owner does next. */
export function explainPlan(plan: Plan): Explanation {
  if (plan.isCancelling) {
    return { happened: "The plan is being cancelled.", next: "A run is still under way; it ends first. This takes a minute at most.", tone: "warn" };
  }
  switch (plan.status) {
    case "proposed":
      return { happened: "The plan is proposed. Nothing runs yet.", next: "Pay for its runs.", tone: "accent" };
    case "payment_pending":
      return {
        happened: "The payment was sent and is not final.",
        next: "Wait: do not pay a second time. This page follows it.",
        tone: "accent",
      };
    case "paid":
      return {
        happened: "The runs are paid. Nothing runs yet.",
        next: plan.authorityMode === "open" ? "Activate the plan." : "Read what your wallet will sign, then sign and activate the plan.",
        tone: "accent",
      };
    case "active":
      return {
        happened: "The plan is active.",
        next: plan.nextRuns[0] === undefined ? "No run is left." : "Nothing to do: runs start by themselves at the times below.",
        tone: "good",
      };
    case "executing":
      return { happened: "A run is under way.", next: "Nothing to do. Its outcome appears in the run history.", tone: "good" };
    case "paused": {
      const [happened, next] = PAUSES[plan.statusReason ?? ""] ?? ["The plan is paused.", "Resume it when it may go on."];
      return { happened, next, tone: "warn" };
    }
    default:
      return explainEnd(plan);
  }
}

export const STEPS = ["Propose", "Pay", "Install", "Activate"] as const;

/** The step that is next: 4 when all are done. A plan of mode `open` installs nothing. */
export function stepOf({ status }: Pick<Plan, "status">): number {
  if (status === "proposed" || status === "payment_pending") return 1;
  return status === "paid" ? 2 : 4;
}
