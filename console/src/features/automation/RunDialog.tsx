import { useQueryClient } from "@tanstack/react-query";
import type { Attempt, Plan, Run, RunDetail } from "@/api/automationTypes";
import { retryRun } from "@/api/automations";
import { keys } from "@/api/keys";
import { Answer } from "@/ui/Answer";
import { Badge } from "@/ui/Badge";
import { Button } from "@/ui/Button";
import { Actions, Dialog } from "@/ui/Dialog";
import { useForm } from "@/ui/form";
import { FormFrame } from "@/ui/FormFrame";
import { Identifier } from "@/ui/Identifier";
import { Money } from "@/ui/Money";
import { Facts } from "@/ui/Page";
import type { Column } from "@/ui/Table";
import { Table } from "@/ui/Table";
import { Time, useNow } from "@/ui/Time";
import { announce } from "@/ui/toast";
import { RunEffects } from "./RunEffects";
import { mayRetry, runState, whyOf } from "./runStates";
import { useRun } from "./usePlans";

const OUTCOMES: Record<string, string> = {
  prepared: "Prepared",
  sent: "Sent",
  success: "Succeeded",
  failed: "Failed on the ledger",
  dead: "Never taken by a ledger",
  unknown: "Not known",
};

const attemptColumns = (plan: Plan): Column<Attempt>[] => [
  { id: "number", label: "Attempt", cell: (each) => each.number },
  { id: "outcome", label: "Outcome", cell: (each) => `${OUTCOMES[each.outcome] ?? each.outcome}${each.errorCode ? ` (${each.errorCode.replaceAll("_", " ")})` : ""}` },
  { id: "hash", label: "Transaction", cell: (each) => <Identifier id={each.transaction} name="the transaction hash" network={plan.network} /> },
  { id: "sent", label: "Sent", cell: (each) => <Time at={each.sentAt} format="short" otherwise="not sent" /> },
  {
    id: "fee",
    label: "Fee (limit)",
    align: "end",
    cell: (each) => (
      <span>
        {each.feeStroops === null ? "none" : <Money amount={each.feeStroops} decimals={7} code="XLM" />}{" "}
        <span className="soft">
          (<Money amount={each.feeLimitStroops} decimals={7} code="XLM" />)
        </span>
      </span>
    ),
  },
];

function Leg({ plan, leg, isOnly }: { plan: Plan; leg: RunDetail; isOnly: boolean }) {
  const state = runState(leg.state);
  const why = whyOf(leg);
  return (
    <div className="stack">
      {!isOnly && <h3>Payment {leg.legIndex + 1}</h3>}
      <p className="row">
        <Badge tone={state.tone}>{state.label}</Badge>
        <span>
          {state.what}
          {isOnly && state.credit !== undefined && ` ${state.credit}`}
        </span>
      </p>
      {why !== null && <p className="foreign">{why}</p>}
      <Facts
        items={[
          ["Due", <Time key="due" at={leg.scheduledFor} format="short" />],
          ["May land until", <Time key="until" at={leg.deadlineAt} format="short" />],
          ["Effects", <RunEffects key="effects" effects={leg.effects} network={plan.network} />],
          ...(leg.ledger === null ? [] : [["Ledger", <span key="ledger" className="numbers">{leg.ledger}</span>] as const]),
          ...(leg.executedBy === "third_party" ? [["Executed by", "another party"] as const] : []),
          ...(leg.errorClass === null ? [] : [["Class of the error", leg.errorClass.replaceAll("_", " ")] as const]),
        ]}
      />
      {leg.attemptList.length > 0 && <Table name="Attempts" columns={attemptColumns(plan)} rows={leg.attemptList} rowKey={(each) => String(each.number)} />}
    </div>
  );
}

function Retry({ plan, index }: { plan: Plan; index: number }) {
  const client = useQueryClient();
  const form = useForm<object, Run>({
    initial: {},
    submit: () => retryRun(plan.id, index),
    onDone: () => {
      announce(`Run ${index + 1} is tried again.`, "good");
      void client.invalidateQueries({ queryKey: keys.automations });
    },
  });
  return (
    <FormFrame form={form} name="Run it again">
      <Actions>
        <Button type="submit" kind="primary" isPending={form.isPending}>
          Run it again
        </Button>
      </Actions>
    </FormFrame>
  );
}

/** One run: its legs, each with its attempts, and another try where it may still land. */
export function RunDialog({ plan, index, onClose }: { plan: Plan; index: number; onClose: () => void }) {
  const query = useRun(plan.id, index);
  const now = useNow();
  return (
    <Dialog title={`Run ${index + 1}`} onClose={onClose} isWide>
      <Answer query={query} name="the run">
        {({ legs }) => (
          <div className="stack">
            {legs.map((leg) => (
              <Leg key={leg.id} plan={plan} leg={leg} isOnly={legs.length === 1} />
            ))}
            {legs.some((leg) => mayRetry(leg, now)) && <Retry plan={plan} index={index} />}
          </div>
        )}
      </Answer>
    </Dialog>
  );
}
