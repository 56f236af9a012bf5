import { useState } from "react";
import type { Plan, PlanDetail, Quote } from "@/api/automationTypes";
import { changePlan } from "@/api/automations";
import { Button } from "@/ui/Button";
import { Confirm } from "@/ui/Confirm";
import { Dialog } from "@/ui/Dialog";
import { Field } from "@/ui/Field";
import { Menu } from "@/ui/Menu";
import { announce } from "@/ui/toast";
import { PayForRuns } from "./PayForRuns";
import { hasEnded, isRunning } from "./planStates";
import { usePlanChanged } from "./usePlans";

type Change = "pause" | "resume" | "cancel";

const WORDS: Record<Change, { title: string; verb: string; done: string; what: string }> = {
  pause: {
    title: "Pause",
    verb: "Pause",
    done: "is paused.",
    what: "No run starts until you resume it; one that is under way ends. The session stays on your account.",
  },
  resume: {
    title: "Resume",
    verb: "Resume",
    done: "goes on.",
    what: "The session is read back and the next run is tried without sending it. Runs that were missed follow the plan's policy.",
  },
  cancel: {
    title: "Cancel",
    verb: "Cancel the plan",
    done: "is cancelled.",
    what: "It cannot be started again. A run that is under way ends first. Unused runs become credit; the page then shows how to remove the session from your account.",
  },
};

function ChangeDialog({ plan, change, onClose }: { plan: Plan; change: Change; onClose: () => void }) {
  const changed = usePlanChanged();
  const [reason, setReason] = useState("");
  const words = WORDS[change];
  return (
    <Confirm<PlanDetail>
      title={`${words.title} “${plan.title}”?`}
      verb={words.verb}
      isDangerous={change === "cancel"}
      act={() => changePlan(plan.id, change, reason.trim())}
      onDone={(detail) => {
        changed(detail);
        announce(`“${detail.proposal.title}” ${detail.proposal.isCancelling ? "is being cancelled." : words.done}`, "good");
        onClose();
      }}
      onClose={onClose}
    >
      <p>{words.what}</p>
      <Field label="Your note" maxLength={300} placeholder="Optional; kept with the plan's events" value={reason} onChange={setReason} />
    </Confirm>
  );
}

function TopUpDialog({ plan, quote, onClose }: { plan: Plan; quote: Quote | null; onClose: () => void }) {
  const changed = usePlanChanged();
  return (
    <Dialog title="Pay for more runs" onClose={onClose} isWide>
      <p>
        {plan.runsCredited} of {plan.runLimit} runs are paid.
      </p>
      <PayForRuns
        plan={plan}
        quote={quote}
        isTopUp
        onPaid={({ proposal }) => {
          changed({ proposal });
          announce("The runs are paid.", "good");
          onClose();
        }}
      />
    </Dialog>
  );
}

/** Pause, resume, cancel and top-up; each asks first. */
export function PlanActions({ detail: { proposal: plan, quote } }: { detail: PlanDetail }) {
  const [asked, setAsked] = useState<Change | "topup" | null>(null);
  const onClose = () => setAsked(null);
  if (hasEnded(plan) || plan.isCancelling) return null;
  const takesMore = plan.runsCredited < plan.runLimit && (plan.status === "paid" || isRunning(plan) || plan.status === "paused");
  return (
    <>
      {isRunning(plan) && <Button onClick={() => setAsked("pause")}>Pause</Button>}
      {plan.status === "paused" && (
        <Button kind="primary" onClick={() => setAsked("resume")}>
          Resume
        </Button>
      )}
      <Menu
        name={`More for ${plan.title}`}
        items={[
          ...(takesMore ? [{ label: "Pay for more runs", onSelect: () => setAsked("topup") }] : []),
          { label: "Cancel the plan", isDangerous: true, onSelect: () => setAsked("cancel") },
        ]}
      />
      {asked === "topup" && <TopUpDialog plan={plan} quote={quote} onClose={onClose} />}
      {asked !== null && asked !== "topup" && <ChangeDialog plan={plan} change={asked} onClose={onClose} />}
    </>
  );
}
