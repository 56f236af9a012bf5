import type { Plan, Run } from "@/api/automationTypes";
import { useAddressParameter } from "@/ui/address";
import { Answer } from "@/ui/Answer";
import { Badge } from "@/ui/Badge";
import { Button } from "@/ui/Button";
import { Identifier } from "@/ui/Identifier";
import { LoadMore } from "@/ui/LoadMore";
import { Money } from "@/ui/Money";
import { Empty } from "@/ui/PageState";
import type { Column } from "@/ui/Table";
import { Table } from "@/ui/Table";
import { Time } from "@/ui/Time";
import { RunDialog } from "./RunDialog";
import { RunEffects } from "./RunEffects";
import { runState, whyOf } from "./runStates";
import { useRuns } from "./usePlans";

const columnsOf = (plan: Plan, open: (index: number) => void): Column<Run>[] => [
  {
    id: "run",
    label: "Run",
    cell: (each) => (
      <Button kind="quiet" size="small" aria-label={`Details of run ${each.runIndex + 1}`} onClick={() => open(each.runIndex)}>
        {each.runIndex + 1}
        {each.legIndex > 0 || plan.kind === "disbursement" ? `.${each.legIndex + 1}` : ""}
      </Button>
    ),
  },
  { id: "state", label: "State", cell: (each) => <Badge tone={runState(each.state).tone}>{runState(each.state).label}</Badge> },
  { id: "due", label: "Due", cell: (each) => <Time at={each.scheduledFor} format="short" /> },
  { id: "why", label: "Why", cell: (each) => whyOf(each) ?? "" },
  {
    id: "transaction",
    label: "Transaction",
    cell: (each) => (each.transaction === null ? "" : <Identifier id={each.transaction} name="the transaction hash" network={plan.network} />),
  },
  { id: "effects", label: "Effects", align: "end", cell: (each) => each.finishedAt !== null && <RunEffects effects={each.effects} network={plan.network} /> },
  {
    id: "fee",
    label: "Network fee",
    align: "end",
    cell: (each) => (each.feeStroops === "0" ? each.finishedAt !== null && <span className="soft">none</span> : <Money amount={each.feeStroops} decimals={7} code="XLM" />),
  },
];

/** The runs of a plan, newest first; each leads to its attempts. */
export function RunHistory({ plan }: { plan: Plan }) {
  const list = useRuns(plan);
  const [shown, setShown] = useAddressParameter("run");
  const index = /^\d{1,7}$/.test(shown) ? Number(shown) - 1 : -1;
  return (
    <>
      <Answer
        query={list}
        name="the runs"
        isEmpty={(data) => data.length === 0}
        empty={<Empty title="No run yet">Runs are listed here from the time that the plan is active.</Empty>}
      >
        {(data) => (
          <div className="stack">
            <Table name="Runs" columns={columnsOf(plan, (at) => setShown(String(at + 1)))} rows={data} rowKey={(each) => each.id} />
            <LoadMore list={list} count={data.length} name="runs" />
          </div>
        )}
      </Answer>
      {index >= 0 && <RunDialog plan={plan} index={index} onClose={() => setShown("")} />}
    </>
  );
}
